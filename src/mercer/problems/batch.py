"""Many quadratic programmes over one kernel matrix, in flat arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.gram import Gram
from mercer.problems.dual import DualProblem
from mercer.segments import Segments

__all__ = ["DualProblems"]

# The arrays of a problem and of many.
ARRAYS = {"index": "samples", "sign": "sign", "linear": "linear", "upper": "upper", "ridge": "ridge"}
# The kinds of equality, by their numbers in native code.
EQUALITIES = ("none", "total", "per_sign")
# How far a given point may be from an equality, relative to its size.
FEASIBLE = 1e-9


@dataclass(frozen=True, eq=False)
class DualProblems(Sequence[DualProblem]):
    """Problems over one Gram matrix, one after the other in flat arrays; each is made when it is asked for.

    Half a million small problems so take as much room as their variables. `of` makes them from problems, `split` from
    one that has been written down for all of their variables.

    Parameters
    ----------
    gram : Gram
    parts : Segments
        The variables of every problem.
    samples, sign, linear, upper, ridge : arrays of shape (n,)
        Of all variables, see `DualProblem`, where the samples are the `index`.
    equality : int8 array of shape (n_problems,)
        0: none, 1: one, 2: one per sign.
    totals : array of shape (n_problems, 2)
        The values of the equalities.
    scaled : bool array of shape (n_problems,)
        See `DualProblem`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import MatrixGram
    >>> from mercer.problems import DualProblems, soft_margin
    >>> from mercer.segments import Segments
    >>> sign, samples = np.array([-1.0, 1.0, -1.0, 1.0]), np.array([0, 1, 0, 2])
    >>> both = soft_margin(MatrixGram(np.eye(3)), sign, np.ones(4), index=samples)
    >>> problems = DualProblems.split(both, Segments.of_sizes([2, 2]))
    >>> len(problems), problems[1].index
    (2, array([0, 2]))
    """

    gram: Gram
    parts: Segments
    samples: np.ndarray
    sign: np.ndarray
    linear: np.ndarray
    upper: np.ndarray
    ridge: np.ndarray
    equality: np.ndarray
    totals: np.ndarray
    scaled: np.ndarray

    @classmethod
    def of(cls, problems: Sequence[DualProblem]) -> "DualProblems":
        """Problems that are there, of whatever kinds."""
        if isinstance(problems, DualProblems):
            return problems
        if any(problem.gram is not problems[0].gram for problem in problems):
            raise ValueError("solve_many needs problems over one and the same Gram matrix.")
        parts = Segments.of_sizes([len(problem.index) for problem in problems])
        return cls._of_arrays(
            problems[0].gram,
            parts,
            {ours: _one_after_the_other([getattr(p, its) for p in problems]) for its, ours in ARRAYS.items()},
            [problem.total for problem in problems],
            [problem.scaled for problem in problems],
        )

    @classmethod
    def split(cls, problem: DualProblem, parts: Segments) -> "DualProblems":
        """Problems of one kind, each with the same total, from one with the variables of all."""
        arrays = {ours: getattr(problem, its) for its, ours in ARRAYS.items()}
        return cls._of_arrays(problem.gram, parts, arrays, [problem.total], [problem.scaled])

    @classmethod
    def _of_arrays(
        cls, gram: Gram, parts: Segments, arrays: dict[str, np.ndarray], totals: list[Any], scaled: list[bool]
    ) -> "DualProblems":
        """Totals and scales are those of every problem, or one for all."""
        kinds = [0 if total is None else 2 if isinstance(total, tuple) else 1 for total in totals]
        pairs = [total if isinstance(total, tuple) else (total or 0.0, 0.0) for total in totals]
        m = len(parts)
        return cls(
            gram=gram,
            parts=parts,
            equality=np.broadcast_to(np.array(kinds, dtype=np.int8), m).copy(),
            totals=np.broadcast_to(np.array(pairs, dtype=np.float64), (m, 2)).copy(),
            scaled=np.broadcast_to(np.array(scaled, dtype=bool), m).copy(),
            **arrays,
        )

    def native(self) -> tuple:
        """What native solvers are given, but for the Gram matrix."""
        return (
            self.parts.starts,
            self.samples,
            self.sign,
            self.linear,
            self.upper,
            self.ridge,
            self.equality,
            self.totals,
            self.scaled,
        )

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[i] for i in range(len(self))[k]]
        k = range(len(self))[k]
        part, (plus, minus) = self.parts[k], self.totals[k].tolist()
        total = (None, plus, (plus, minus))[self.equality[k]]
        arrays = {its: getattr(self, ours)[part] for its, ours in ARRAYS.items()}
        return DualProblem.of_checked(gram=self.gram, **arrays, total=total, scaled=bool(self.scaled[k]))

    def feasible(self, starts: Sequence[np.ndarray | None] | np.ndarray | None = None) -> np.ndarray:
        """Points that satisfy the constraints, one after the other: as `DualProblem.feasible` for every problem.

        An array with the values of all variables must satisfy them.
        """
        if isinstance(starts, np.ndarray):
            return self._checked(starts)
        a = np.zeros(len(self.samples))
        given = np.array([False] if starts is None else [start is not None for start in starts])
        for k in np.flatnonzero(given | self.totals.any(axis=1)).tolist():  # the others begin at zero
            a[self.parts[k]] = self[k].feasible(None if starts is None else starts[k])
        return a

    def _checked(self, a: np.ndarray) -> np.ndarray:
        """Values of all variables, if they satisfy the constraints."""
        if a.shape != self.samples.shape:
            raise ValueError(f"starts have shape {a.shape}, the problems have {len(self.samples)} variables.")
        sides = [self.parts.sum(np.where(self.sign * side > 0, a, 0.0)) for side in (1, -1)]
        excess = np.where(self.equality == 1, sides[0] - sides[1] - self.totals[:, 0], 0.0)
        for side, total in zip(sides, self.totals.T, strict=True):
            excess = np.where(self.equality == 2, np.maximum(np.abs(excess), np.abs(side - total)), excess)
        if not ((a >= 0) & (a <= self.upper)).all() or (np.abs(excess) > FEASIBLE * (1.0 + sum(sides))).any():
            raise ValueError("starts of all variables must satisfy the constraints.")
        return np.ascontiguousarray(a, dtype=np.float64)

    def without(self, tests: Sequence[np.ndarray]) -> "DualProblems":
        """The problems again for every set of samples, each time with these held at zero: all problems, set by set.

        So they take no part, and all sets share the kernel matrix as it lies.
        """
        taking_part = np.ones((len(tests), self.gram.n), dtype=bool)
        for k, test in enumerate(tests):
            taking_part[k, test] = False
        upper = np.where(taking_part[:, self.samples], self.upper, 0.0).ravel()
        return replace(self._repeated(len(tests)), upper=upper)

    def on_blocks(self, gram: Gram, times: int) -> "DualProblems":
        """The problems again for every block of a Gram matrix of so many blocks, each of as many samples as ours."""
        problems = self._repeated(times)
        before = np.repeat(np.arange(times) * (gram.n // times), len(self.samples))
        return replace(problems, gram=gram, samples=problems.samples + before)

    def _repeated(self, times: int) -> "DualProblems":
        names = ("samples", "sign", "linear", "upper", "ridge", "equality", "totals", "scaled")
        repeated = {name: np.concatenate([getattr(self, name)] * times) for name in names}
        return DualProblems(gram=self.gram, parts=Segments.of_sizes(np.tile(self.parts.sizes, times)), **repeated)

    @property
    def wanted(self) -> np.ndarray:
        """How far the wanted decision values of every problem spread."""
        values = np.where(self.parts.repeat(self.equality) == 0, -np.abs(self.linear), self.sign * self.linear)
        return np.where(self.equality == 0, 0.0, -self.parts.min(-values)) - self.parts.min(values)


def _one_after_the_other(arrays: list[np.ndarray]) -> np.ndarray:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
