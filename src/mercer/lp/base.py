"""What linear programming machines share: problems to a solver, few coefficients out."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.kernels.samples import n_samples
from mercer.machines import KernelMachine
from mercer.parameters import Number
from mercer.problems import LinearProblem
from mercer.solvers import ColumnGeneration, HiGHS, LinearCertificate, LinearResult, combine_linear, warn_unless_solved

__all__ = ["LinearProgramMachine"]

# Up to so many columns the whole programme at once is as fast.
FEW_COLUMNS = 200


class SolverChoice:
    """The name of a solver, or a solver of linear problems."""

    names = ("auto", "highs", "column_generation")

    def problem(self, value: Any) -> str | None:
        """What is wrong with the value, None when nothing is."""
        if isinstance(value, str) and value in self.names:
            return None
        if isinstance(value, (HiGHS, ColumnGeneration)):
            return None
        return f"must be {' or '.join(map(repr, self.names))} or a HiGHS or ColumnGeneration solver, got {value!r}."


class LinearProgramMachine(KernelMachine):
    """Base of the machines whose coefficients come from a linear programme."""

    _parameters: ClassVar[dict[str, Any]] = {"tol": Number(0, above=True), "solver": SolverChoice()}

    tol: float
    solver: Any
    result_: LinearCertificate

    def _solve(self, problems: Sequence[LinearProblem]) -> list[LinearResult]:
        return [self._solver_for(problem).solve(problem) for problem in problems]

    def _solver_for(self, problem: LinearProblem) -> HiGHS | ColumnGeneration:
        if not isinstance(self.solver, str):
            return self.solver
        few = len(problem.columns) <= FEW_COLUMNS
        whole = self.solver == "highs" or (self.solver == "auto" and few)
        return HiGHS(tol=self.tol) if whole else ColumnGeneration(tol=self.tol)

    def _keep_results(
        self, X: Any, index: np.ndarray, results: Sequence[LinearResult], scale: Any, intercepts: Any
    ) -> None:
        """The model, for coefficients of the samples `index` multiplied by `scale`; a warning if it is no optimum."""
        coefficients = np.zeros((len(results), n_samples(X)))
        coefficients[:, index] = np.array([result.a for result in results]) * np.reshape(scale, (-1, 1))
        self._keep_expansion(X, coefficients, intercepts)
        self.result_ = combine_linear(results)
        self.n_iter_ = self.result_.n_iter
        warn_unless_solved(self.result_, type(self).__name__)

    @property
    def sparsity_(self) -> float:
        """Share of the training samples that have no coefficient; larger means a smaller model."""
        check_is_fitted(self)
        return 1.0 - len(self.support_) / self._n_train


def in_rows(index: np.ndarray, values: np.ndarray, n: int) -> np.ndarray:
    """Values of the samples `index`, zeros for the others; one function: a vector."""
    table = np.zeros((n, values.shape[1]))
    table[index] = values
    return table[:, 0] if values.shape[1] == 1 else table


def one_or_all(values: np.ndarray) -> Any:
    """A number for one function, an array for several."""
    return float(values[0]) if len(values) == 1 else values
