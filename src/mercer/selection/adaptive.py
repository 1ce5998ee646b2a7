"""A search that looks where it is worth it: a coarse grid first, then around the best."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from mercer.selection.grid import plain
from mercer.selection.search import Search

__all__ = ["refine"]

# How often the steps around the best are halved beyond the grid that was given.
REFINEMENTS = 2

Point = tuple[Any, ...]


def refine(search: Search, param_grid: Mapping[str, Sequence[Any]]) -> None:
    """Run a search on every second value of each axis, on all neighbours of the best, and on ever finer steps.

    Values of an axis are numbers, of which the middle of two is the geometric one if all are positive; or anything
    else, of which all are tried.

    Parameters
    ----------
    search : Search
    param_grid : dict of sequences
    """
    names = sorted(param_grid)
    axes: list[list[Any]] = [_ordered(param_grid[name]) for name in names]
    tried: dict[Point, int] = {}

    def run(points: list[Point]) -> bool:
        """Try points that have not been tried; whether there were any, and time for them."""
        new = [point for point in dict.fromkeys(points) if point not in tried]
        for point in new:
            tried[point] = len(tried)
        if new:
            search.run([dict(zip(names, point, strict=True)) for point in new])
        return bool(new) and not search.deadline.over

    def best() -> Point | None:
        means = search.outcome.means[0]
        known = {point: means[number] for point, number in tried.items() if not np.isnan(means[number])}
        return max(known, key=lambda point: (known[point], -tried[point])) if known else None

    def around(axes: list[list[Any]], point: Point) -> list[Point]:
        return list(product(*(_near(axis, value) for axis, value in zip(axes, point, strict=True))))

    run(
        list(
            product(*([v for i, v in enumerate(a) if i % 2 == 0 or i == len(a) - 1 or not _is_scale(a)] for a in axes))
        )
    )
    for _ in range(1 + REFINEMENTS):
        while (found := best()) is not None and run(around(axes, found)):
            pass
        if found is None or search.deadline.over:
            return
        axes = [_halved(axis, value) for axis, value in zip(axes, found, strict=True)]


def _ordered(values: Sequence[Any]) -> list[Any]:
    axis = [plain(value) for value in values]
    return sorted(axis) if _is_scale(axis) else axis


def _is_scale(axis: list[Any]) -> bool:
    """Whether the values have an order and a middle."""
    return all(type(value) in (int, float) and np.isfinite(value) for value in axis)


def _near(axis: list[Any], value: Any) -> list[Any]:
    """The value and its neighbours; all values of an axis without an order."""
    place = axis.index(value)
    return axis[max(0, place - 1) : place + 2] if _is_scale(axis) else [value]


def _halved(axis: list[Any], value: Any) -> list[Any]:
    """The axis with a value in the middle between this one and each of its neighbours."""
    if not _is_scale(axis) or all(isinstance(entry, int) for entry in axis):
        return axis
    place, positive = axis.index(value), min(axis) > 0
    further = [
        float(np.sqrt(value * other)) if positive else 0.5 * (value + other)
        for other in (axis[k] for k in (place - 1, place + 1) if 0 <= k < len(axis))
    ]
    return sorted([*axis, *further])
