"""Classifiers that may learn all classes from one objective."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.gram import BlocksGram, Gram
from mercer.multiclass import JointScheme
from mercer.problems import JointProblem
from mercer.solvers import BlockDescent, JointResult
from mercer.svm.labels import Schemed

__all__ = ["JointlyLabelled"]

# What `solver` is when nobody has chosen one.
DEFAULTS = ("smo", "auto")


class JointlyLabelled(Schemed):
    """What classifiers share that have schemes of machines for two and schemes of one objective, a `JointScheme`."""

    C: float
    loss: str
    solver: Any
    # Solvers of one objective; the first of them if nobody has chosen one.
    _joint_solvers: tuple[type, ...] = (BlockDescent,)

    def _check_all(self) -> None:
        super()._check_all()
        if not isinstance(self._scheme, JointScheme):
            return
        machine, scheme = type(self).__name__, self.multi_class
        self._refuse_checkpoint(f"with multi_class={scheme!r}, whose one objective is solved in one go")
        if not hasattr(self, "C"):
            raise ValueError(
                f"multi_class must be a scheme of several machines for {machine}, got {scheme!r}, whose one objective "
                "has a price of errors; use SVC."
            )
        if self.loss != "hinge":
            raise ValueError(f"loss must be 'hinge' for multi_class={scheme!r}, got {self.loss!r}.")
        if not self.C < np.inf:
            raise ValueError(
                f"C must be finite for multi_class={scheme!r}, which has no hard margin, got {float(self.C)!r}."
            )

    def _solver(self) -> Any:
        if not isinstance(self._scheme, JointScheme):
            return super()._solver()
        if isinstance(self.solver, self._joint_solvers):
            return self.solver
        if isinstance(self.solver, str) and self.solver in DEFAULTS:
            limits = ("tol", "gap_tol", "memory", "max_iter", "max_seconds", "n_threads")
            return self._joint_solvers[0](**{name: getattr(self, name) for name in limits if hasattr(self, name)})
        names = " or a ".join(kind.__name__ for kind in self._joint_solvers)
        raise ValueError(
            f"solver must be left at its default or be a {names} for multi_class={self.multi_class!r}, got "
            f"{self.solver!r}."
        )

    def _solve_jointly(
        self, scheme: JointScheme, gram: Gram, lessons: Sequence[tuple[np.ndarray, np.ndarray]], bias: bool
    ) -> list[tuple[JointProblem, JointResult]]:
        """The problem of each lesson (class numbers and weights of all samples) and its solution.

        Only the first starts warm.
        """
        if isinstance(gram, BlocksGram):
            raise ValueError(
                "multi_class must be a scheme of several machines for more samples than memory has room for, got "
                f"{self.multi_class!r}, whose one objective needs them in memory."
            )
        solved, solver = [], self._solver()
        for k, (codes, weight) in enumerate(lessons):
            index = np.flatnonzero(codes >= 0)
            problem = scheme.problem(gram, codes[index], self.C * weight[index], bias=bias, index=index)
            start = self._joint_start(problem) if k == 0 else None
            solved.append((problem, solver.solve(problem, start, self.callback)))
        return solved

    def _joint_start(self, problem: JointProblem) -> Any:
        """The last multipliers, if the machine is warm and the problem is of the same size."""
        before: Any = getattr(self, "result_", None)
        if not (self.warm_start and isinstance(before, JointResult)):
            return None
        if before.a.shape != (len(problem.index), problem.n_classes):
            return None
        # Multipliers grow with the price of errors, where the last one is known.
        return before.a * (self.C / getattr(self, "_fitted_C", self.C))
