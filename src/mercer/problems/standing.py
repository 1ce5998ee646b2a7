"""Where a point of a quadratic programme stands among all samples, whoever has computed their decision values."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from mercer.gram import Gram
from mercer.problems.dual import DualProblem, Offsets
from mercer.sums import inner

__all__ = ["Standing"]


@dataclass(frozen=True, eq=False)
class Standing:
    """A point of a problem and its gradient: what it is worth, what is wrong with it, and what to work on next.

    The gradient needs decision values of all samples, which may come in blocks, from wherever these are. Everything
    else follows from numbers per variable: the objective, the bound and the violation over all samples, the variables
    that violate the optimality conditions most, and the problem of some of them in which the others stay as they are.

    Parameters
    ----------
    problem : DualProblem
    a : array of shape (n_variables,)
        A feasible point.
    gradient : array of shape (n_variables,)
        Q a + p.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import MatrixGram
    >>> from mercer.problems import Standing, soft_margin
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> sign = np.array([-1.0, -1.0, 1.0, 1.0])
    >>> problem = soft_margin(MatrixGram(X @ X.T), sign, np.ones(4))
    >>> a = np.array([0.0, 0.5, 0.0, 0.5])
    >>> values = [(first, X[first : first + 2] @ X.T @ (sign * a)) for first in (0, 2)]  # by blocks of two samples
    >>> standing = Standing.of_blocks(problem, a, values)
    >>> standing.objective, standing.violation, standing.worst(2)
    (-0.5, 1.0, array([1, 2]))
    """

    problem: DualProblem
    a: np.ndarray
    gradient: np.ndarray

    @classmethod
    def of_values(cls, problem: DualProblem, a: np.ndarray, values: np.ndarray) -> Self:
        """From K (s a) at all samples of the Gram matrix, without an offset."""
        return cls(problem, a, problem.sign * values[problem.index] + problem.ridge * a + problem.linear)

    @classmethod
    def of_blocks(cls, problem: DualProblem, a: np.ndarray, blocks: Iterable[tuple[int, np.ndarray]]) -> Self:
        """From K (s a) block by block: the number of the first sample, and the values of these samples."""
        values = np.full(problem.gram.n, np.nan)
        for first, part in blocks:
            values[first : first + len(part)] = part
        standing = cls.of_values(problem, a, values)
        if np.isnan(standing.gradient).any():
            raise ValueError("blocks must have a decision value for every sample of the problem.")
        return standing

    # --- what it is worth -----------------------------------------------------------------------------------

    @cached_property
    def offsets(self) -> Offsets:
        """The offsets of the decision function, as the point knows them."""
        return self.problem.offsets(self.a, self.gradient)

    @cached_property
    def objective(self) -> float:
        """The value of the programme; minus the dual objective."""
        return self.problem.objective(self.a, self.gradient)

    @cached_property
    def gap(self) -> float:
        """No feasible point has an objective that is smaller by more; infinite where nothing is proved."""
        return self.problem.gap(self.a, self.gradient, self.offsets) if self.problem.gram.definite else np.inf

    @cached_property
    def violation(self) -> float:
        """Violation of the optimality conditions over all samples."""
        return self.problem.violation(self.a, self.gradient)

    @cached_property
    def unit(self) -> float:
        """What a violation is measured in, see `DualProblem.unit`."""
        return self.problem.unit(self.a, self.offsets)

    def is_good(self, tol: float, gap_tol: float | None = None) -> bool:
        """Whether the violation, in its unit, and the relative gap are as small as wanted."""
        small = self.violation <= tol * self.unit
        return small and (gap_tol is None or self.gap <= gap_tol * abs(self.objective))

    # --- what comes next ------------------------------------------------------------------------------------

    def worst(self, most: int) -> np.ndarray:
        """The variables to work on, so many at most but two for every equality, ascending.

        In turn one whose s a is to grow, one whose s a is to shrink, and one between its bounds, each time the one
        farthest from where the optimality conditions want it. The pair (the single variable, where there is no
        equality) that violates them most comes first, in every equality.
        """
        problem, a = self.problem, self.a
        grows, shrinks = problem.movable(a)
        value = -problem.sign * self.gradient
        groups: list[Any] = [group for group, _ in problem._groups()] or [slice(None)]
        found = []
        for group in groups:
            numbers = np.arange(len(a))[group]
            above = value[numbers] - self._level(group)
            up, down = grows[numbers], shrinks[numbers]
            order = np.minimum(_rank(above, up), _rank(-above, down))
            order = np.minimum(order, 1 + _rank(np.abs(above), up & down))
            share = most * len(numbers) // len(a)
            found.append(numbers[np.argsort(order, kind="stable")[: max(2, share)]])
        return np.sort(np.concatenate(found))

    def _level(self, group: Any) -> float:
        """The offset, with its sign, that the worst on either side of an equality are equally far from."""
        if self.problem.total is None:
            return 0.0
        ends = np.array(self.problem._extremes(group, self.a, self.gradient))
        finite = ends[np.isfinite(ends)]
        return float(finite.mean()) if len(finite) else 0.0

    def part(self, which: np.ndarray, gram: Gram, index: np.ndarray) -> tuple[DualProblem, np.ndarray]:
        r"""The problem of some variables W while the others F stay as they are, and its point.

        .. math:: \min_{a_W} \tfrac12 a_W^T Q_{WW} a_W + (p_W + Q_{WF} a_F)^T a_W,

        whose linear term is the gradient less Q_WW a_W: no kernel value of the others is needed.

        Parameters
        ----------
        which : int array
            W, ascending.
        gram : Gram
            The kernel matrix of some samples, those of W among them.
        index : int array of shape (len(which),)
            The sample in `gram` of every variable of W.
        """
        problem, a = self.problem, self.a[which]
        arrays = {name: getattr(problem, name)[which] for name in ("sign", "linear", "upper", "ridge")}
        # In their own scale: what a margin is measured in, the part cannot know.
        part = replace(problem, gram=gram, index=index, scaled=False, **arrays)
        if np.count_nonzero(a) == np.count_nonzero(self.a):  # what stays is zero, and takes nothing away
            return part, a
        linear = self.gradient[which] - (part.gradient(a) - part.linear)
        total: Any = part.total
        if isinstance(total, tuple):
            total = float(a[part.sign > 0].sum()), float(a[part.sign < 0].sum())
        elif total is not None:
            total = inner(part.sign, a)
        return replace(part, linear=linear, total=total), a


def _rank(score: np.ndarray, takes_part: np.ndarray) -> np.ndarray:
    """The places of the scores, the largest first, equal ones in their order; behind all others what takes no part."""
    rank = np.empty(len(score), dtype=np.int64)
    rank[np.argsort(np.where(takes_part, -score, np.inf), kind="stable")] = np.arange(len(score))
    return np.where(takes_part, rank, len(score))
