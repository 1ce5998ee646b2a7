"""What all linear machines share."""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils.validation import (
    check_is_fitted,
    validate_data,
)

from mercer.data import RowBlocks
from mercer.gram import LinearGram
from mercer.kernels import Linear
from mercer.machines import VECTORS
from mercer.multiclass import Model
from mercer.problems import DualProblem
from mercer.solvers import (
    CoordinateDescent,
    LinearSolver,
    ProximalNewton,
    Solver,
    SolverResult,
    SparseNewton,
    combine,
    warn_unless_solved,
)
from mercer.svm.base import SolverMachine, one_or_all
from mercer.threads import limit_threads

__all__ = ["LinearFunction", "LinearMachine", "PricedMachine", "function_of"]

SOLVERS: dict[str, Any] = {"auto": LinearSolver, "newton": ProximalNewton, "descent": CoordinateDescent}


class LinearFunction(NamedTuple):
    """A decision function, as it has been learnt from some of the samples."""

    weights: np.ndarray
    """Of all features of the Gram matrix, the constant one included."""
    offset: float
    """The free one."""
    norm: float
    result: SolverResult


class LinearMachine(SolverMachine):
    """What the linear machines share: weights of features, the kinds of offset, the solver."""

    _parameters = SolverMachine._parameters

    coef_: np.ndarray
    intercept_: np.ndarray
    penalty = "l2"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _solver(self) -> Solver:
        if isinstance(self.solver, str) and self.solver in SOLVERS:
            return SOLVERS[self.solver](**self._limits())
        return self._given_solver(SOLVERS)

    @property
    def _free(self) -> bool:
        """Whether there is an offset without a price."""
        return self.intercept == "free"

    def _make_gram(self, X: Any) -> LinearGram:
        return LinearGram(X, float(self.intercept_scaling) ** 2 if self.intercept == "penalised" else 0.0)

    def _learn(
        self,
        gram: LinearGram,
        problems: Sequence[DualProblem],
        model: Callable[[DualProblem, SolverResult], Model] | None = None,
        further: Sequence[DualProblem] = (),
    ) -> list[LinearFunction]:
        """Keep weights, offsets and the certificate of the problems; what `further` ones give is returned."""
        every = [*problems, *further]
        if self.penalty == "l2":
            results = self._fit_problems(every, 0, len(further))
            functions = [function_of(gram, p, r, model) for p, r in zip(every, results, strict=True)]
        else:
            found = [self._sparse_solver().solve(problem, self.callback) for problem in every]
            functions = [LinearFunction(w, offset, float(np.abs(w).sum()), result) for w, offset, result in found]
        self._keep(gram, problems, functions[: len(problems)])
        return functions[len(problems) :]

    def _sparse_solver(self) -> SparseNewton:
        return SparseNewton(**self._limits())

    def _check_penalty(self, squared: str) -> None:
        """The L1 penalty needs the squared loss and has a solver of its own."""
        if self.penalty == "l1":
            self._refuse_checkpoint("with penalty='l1', whose solver goes to the end in one go")
        if self.penalty == "l1" and self.loss != squared:
            raise ValueError(f"penalty='l1' needs loss={squared!r}, got {self.loss!r}.")
        if self.penalty == "l1" and not (isinstance(self.solver, str) and self.solver == "auto"):
            raise ValueError(f"penalty='l1' needs solver='auto', got {self.solver!r}.")

    def _keep(self, gram: LinearGram, problems: Sequence[DualProblem], functions: Sequence[LinearFunction]) -> None:
        """The weights, the offsets and the certificate."""
        table, constant = np.array([function.weights for function in functions]), np.sqrt(gram.constant)
        offsets = np.array([function.offset for function in functions])
        self.coef_ = table[:, :-1] if constant else table
        self.intercept_ = offsets + constant * table[:, -1] if constant else offsets
        self.result_ = combine([function.result for function in functions])
        self.n_iter_ = self.result_.n_iter
        self.norm_ = one_or_all([function.norm for function in functions])
        used = [p.index[function.result.a > 0] for p, function in zip(problems, functions, strict=True)]
        self.support_ = np.unique(np.concatenate(used))
        if self._warns:
            warn_unless_solved(self.result_, type(self).__name__)

    def _reads_blocks(self) -> bool:
        return True

    def _raw_decision(self, X: Any) -> np.ndarray:
        """Decision values of all problems, shape (n, n_problems)."""
        check_is_fitted(self)
        if isinstance(X, RowBlocks):
            return np.concatenate([self._raw_decision(block) for _, block in X])
        X = validate_data(self, X, reset=False, **VECTORS)
        with limit_threads(self.n_threads):
            if len(self.coef_) == 1:
                return LinearGram(X).products(self.coef_[0])[:, np.newaxis] + self.intercept_
            return (X @ self.coef_.T if issparse(X) else Linear()(X, self.coef_)) + self.intercept_


class PricedMachine(LinearMachine):
    """A linear machine whose errors have a price C."""

    C: float

    def _solutions(self, sizes, first):
        solutions, before = super()._solutions(sizes, first), getattr(self, "_fitted_C", self.C)
        # Multipliers grow with the price of errors, those of a hard margin with nothing.
        factor = self.C / before if max(self.C, before) < np.inf else 1.0
        return None if solutions is None else [factor * solution for solution in solutions]

    def fit_path(self, X, y, C, sample_weight=None):
        """Machines for several prices of errors, each started from the one before.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        C : sequence of floats > 0
            The prices, in the order in which they are used; ascending is fastest.

        Returns
        -------
        list
            A fitted machine for each price. This one is not changed.
        """
        machines: list[Any] = []
        for price in C:
            machine = copy(machines[-1]) if machines else clone(self)
            machine.set_params(C=price, warm_start=True)
            machines.append(machine.fit(X, y, sample_weight))
        for machine in machines:
            machine.set_params(warm_start=self.warm_start)
        return machines


def function_of(
    gram: LinearGram,
    problem: DualProblem,
    result: SolverResult,
    model: Callable[[DualProblem, SolverResult], Model] | None,
) -> LinearFunction:
    """The function of a solution, scaled as a model says."""
    scale, offset, _ = model(problem, result) if model else Model(1.0, result.offsets.plus, 1.0)
    w = gram.sums(np.bincount(problem.index, weights=problem.sign * result.a, minlength=gram.n))
    norm = scale * float(np.sqrt(problem.squared_norm(result.a, result.gradient)))
    return LinearFunction(scale * w, offset, norm, result)
