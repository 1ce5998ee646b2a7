"""What all support vector machines share: samples in, a Gram matrix and problems to the solver, a model out."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, _check_y, check_array, check_is_fitted, validate_data

from mercer.errors import DomainError
from mercer.gram import Gram, MatrixGram, make_gram
from mercer.gram.memory import check_memory
from mercer.kernels import Linear, as_kernel
from mercer.kernels.samples import describe, n_samples, take
from mercer.kernels.vectors.base import VectorKernel
from mercer.parameters import Choice, Number, check_parameters
from mercer.problems import DualProblem, DualProblems
from mercer.segments import Segments
from mercer.solvers import SMO, SimpleSMO, Solver, SolverResult, combine, warn_unless_solved
from mercer.threads import effective_n_threads, limit_threads

__all__ = ["Machine", "SupportVectorMachine"]

SOLVERS = ("smo", "simple")
# How scikit-learn is to check vectors: float32 stays what it is.
VECTORS: dict[str, Any] = {
    "dtype": [np.float64, np.float32],
    "accept_sparse": "csr",
    "order": "C",
    "accept_large_sparse": True,
}


class Machine(BaseEstimator, ABC):
    """Base of machines that are fitted by a solver of problems: parameters, samples, weights, warm starts."""

    _parameters: ClassVar[dict[str, Any]] = {
        "tol": Number(0, above=True),
        "gap_tol": Number(0, above=True, none=True),
        "max_iter": Number(1, integer=True, none=True),
        "max_seconds": Number(0, above=True, none=True),
        "warm_start": Choice(True, False),
    }

    result_: Any
    _warns: bool = True  # False: whoever built the machine tells what its result means

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """A fit that fails, or is interrupted, leaves the machine as it was."""
        before = self.__dict__.copy()
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _check_all(self) -> None:
        """Everything that can be refused before any kernel value is computed."""
        check_parameters(self)
        effective_n_threads(self.n_threads)
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback must be callable or None, got {self.callback!r}.")
        self._solver()

    @abstractmethod
    def _solver(self) -> Solver:
        """The solver that the parameters ask for."""

    def _limits(self) -> dict[str, Any]:
        """What every solver is told: how exact the solution is to be, and what it may take."""
        names = ("tol", "gap_tol", "max_iter", "max_seconds", "n_threads")
        return {name: getattr(self, name) for name in names}

    def _given_solver(self, names: Iterable[str]) -> Solver:
        """The solver that was given as such and not by one of the names."""
        if isinstance(self.solver, Solver) and not isinstance(self.solver, type):
            return self.solver
        raise ValueError(f"solver must be {' or '.join(map(repr, names))} or a solver, got {self.solver!r}.")

    def _vectors(self) -> bool:
        """Whether scikit-learn's checks of numeric tables apply to the samples."""
        return True

    def _take_samples(self, X: Any, y: Any = "no_validation", **check_y: Any) -> Any:
        """Check training samples (and labels) and note the number and names of features."""
        if self._vectors():
            if isinstance(X, Mapping):
                raise DomainError(
                    f"{type(self).__name__} takes vectors with this kernel, got {describe(X)} as X; "
                    "On(columns, kernel) reads columns of a table."
                )
            if isinstance(X, np.ndarray) and not X.dtype.isnative:  # else float32 of another byte order becomes float64
                X = X.astype(X.dtype.newbyteorder("="))
            return (
                validate_data(self, X, **VECTORS)
                if isinstance(y, str)
                else validate_data(self, X, y, **VECTORS, **check_y)
            )
        if not hasattr(X, "__len__") and not hasattr(X, "shape"):
            raise TypeError(f"X must be a sequence of samples, got {X!r}.")
        if n_samples(X) == 0:
            raise ValueError("Found array with 0 sample(s), a machine needs at least one.")
        if getattr(X, "ndim", 1) == 2:
            self.n_features_in_ = X.shape[1]
        if isinstance(y, str):
            return X
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        y = _check_y(y, estimator=self, **check_y)
        if len(y) != n_samples(X):
            raise ValueError(f"X has {n_samples(X)} samples, y has {len(y)}.")
        return X, y

    def _weights(self, sample_weight: Any, X: Any) -> np.ndarray:
        """Sample weights in float64; zero is allowed, negative is not."""
        n = n_samples(X)
        if sample_weight is None:
            return np.ones(n)
        weight = _check_sample_weight(sample_weight, np.empty((n, 1)), dtype=np.float64, ensure_non_negative=True)
        if not weight.any():
            raise ValueError("sample_weight must have at least one positive entry, all are zero.")
        return weight

    def _fit_problems(
        self, problems: Sequence[DualProblem], first: int = 0, n_further: int = 0
    ) -> Sequence[SolverResult]:
        """Solve, from the last solutions if the machine is warm; these are the problems from the `first` on.

        The last `n_further` of them, such as folds, always start afresh.
        """
        solver = self._solver()
        if isinstance(problems, DualProblems):
            sizes, some = problems.parts.sizes.tolist(), problems[:1]  # they are of one kind
        else:
            sizes, some = [len(problem.index) for problem in problems], problems
        for problem in some:
            solver.check(problem)
        before = self._solutions(sizes[: len(sizes) - n_further], first)
        starts = None if before is None else [*before, *([None] * n_further)]
        return solver.solve_many(problems, starts, self.callback)

    def _solutions(self, sizes: list[int], first: int) -> list[np.ndarray] | None:
        """Points to start from: the last solutions, if the machine is warm and the problems are of the same size."""
        if not self.warm_start or not isinstance(getattr(self, "result_", None), SolverResult):
            return None
        before = (self.result_.parts or (self.result_,))[first : first + len(sizes)]
        return [r.a for r in before] if [len(r.a) for r in before] == sizes else None


class SupportVectorMachine(Machine):
    """Base of the support vector machines.

    The decision values are ``K(X, support_vectors_) @ dual_coef_.T + intercept_``. A machine builds its
    problems (`_fit_problems` takes them to the solver) and keeps what it needs of their results.
    """

    kernel: Any
    kernel_: Any
    dual_coef_: Any
    support_: np.ndarray

    # --- parameters ---------------------------------------------------------------------------------------

    def set_params(self, **params):
        """Set parameters, those of the kernel as ``kernel__name``.

        A kernel given by its name becomes a kernel object first.
        """
        nested = any(name.startswith("kernel__") for name in params)
        kernel = params.get("kernel", self.kernel)
        if nested and isinstance(kernel, str) and kernel != "precomputed":
            params = {"kernel": as_kernel(kernel), **{k: v for k, v in params.items() if k != "kernel"}}
        return super().set_params(**params)

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = not self._precomputed
        return tags

    # --- samples in ---------------------------------------------------------------------------------------

    def _check_all(self) -> None:
        check_memory(self.memory)
        super()._check_all()

    def _solver(self) -> Solver:
        if isinstance(self.solver, str) and self.solver in SOLVERS:
            if self.solver == "simple":
                solver: Any = SimpleSMO(tol=self.tol)
                return solver.set_params(max_iter=self.max_iter) if self.max_iter else solver
            return SMO(memory=self.memory, **self._limits())
        return self._given_solver(SOLVERS)

    def _vectors(self) -> bool:
        """Whether scikit-learn's checks of numeric tables apply to the samples."""
        return self._precomputed or as_kernel(self.kernel).domain == "vectors"

    def _make_gram(self, X: Any, weight: np.ndarray) -> Gram:
        """The Gram matrix of the training samples; resolves the kernel."""
        if self._precomputed:
            self.kernel_ = "precomputed"
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    f"A precomputed kernel matrix for training must be square, got shape {X.shape}; rows and columns "
                    "are the training samples."
                )
            return MatrixGram(X)
        self.kernel_ = as_kernel(self.kernel).resolve(X, weight)
        return make_gram(self.kernel_, X, self.memory)

    def _keep_model(
        self,
        X: Any,
        coefficients: "SparseRows",
        intercepts: Sequence[float] | np.ndarray,
        results: Sequence[SolverResult],
    ) -> None:
        """Support vectors, coefficients of every problem and the certificate."""
        table: Any = coefficients.one_or_all(n_samples(X))
        if issparse(table):
            moved = np.bincount(table.indices, minlength=n_samples(X)) > 0
            self.support_ = np.flatnonzero(moved)
            columns, shape = (np.cumsum(moved) - 1)[table.indices], (table.shape[0], len(self.support_))
            self.dual_coef_ = csr_array((table.data, columns, table.indptr), shape=shape)
        else:
            self.support_ = np.flatnonzero(table)
            self.dual_coef_ = table[np.newaxis, self.support_]
        self.intercept_ = np.ascontiguousarray(intercepts, dtype=np.float64)
        self._n_train = n_samples(X)
        self.support_vectors_ = np.empty((0, 0)) if self._precomputed else take(X, self.support_)
        self.result_ = combine(results)
        self.n_iter_ = self.result_.n_iter

    def _warn_unless_solved(self) -> None:
        """Tell whoever called `fit` what is wrong with its result, if something is."""
        if self._warns:
            warn_unless_solved(self.result_, type(self).__name__)

    # --- the model ----------------------------------------------------------------------------------------

    def _raw_decision(self, X: Any) -> np.ndarray:
        """Decision values of all problems, shape (n, n_problems)."""
        check_is_fitted(self)
        with limit_threads(self.n_threads):
            return self._decision_of(*self._compared(self._check_new(X)))

    def _compared(self, X: Any) -> tuple[Any, Any]:
        """Checked new samples and the support vectors, as the kernel takes them; None where there are kernel values."""
        return (X, None) if self._precomputed or not len(self.support_) else self._prepared(X)

    def _decision_of(self, X: Any, Y: Any) -> np.ndarray:
        """Decision values of all problems for what `_compared` gives."""
        rows = self.dual_coef_
        if self._precomputed:
            return (X @ rows.T if not issparse(rows) else np.asarray((rows @ X.T).T)) + self.intercept_
        if Y is None:
            return np.zeros((n_samples(X), 1)) + self.intercept_
        if issparse(rows):
            return self.kernel_._dot_rows(X, Y, rows) + self.intercept_
        return self.kernel_._dot(X, Y, np.ascontiguousarray(rows.T)) + self.intercept_

    def _signs(self, X: Any) -> np.ndarray:
        """Numbers of the sign of the one decision function there is, for predictions."""
        if self._precomputed or not hasattr(self, "support_") or not len(self.support_):
            return self._raw_decision(X)[:, 0]
        with limit_threads(self.n_threads):
            X, Y = self._prepared(self._check_new(X))
            return self.kernel_._decide(X, Y, self.dual_coef_[0], self.intercept_[0])

    def _prepared(self, X: Any) -> tuple[Any, Any]:
        """Checked new samples and the support vectors, as the kernel takes them."""
        Y = self.support_vectors_
        plain = isinstance(self.kernel_, VectorKernel) and self.kernel_.plain
        if plain and isinstance(X, np.ndarray) and isinstance(Y, np.ndarray) and X.dtype == Y.dtype:
            return np.ascontiguousarray(X), np.ascontiguousarray(Y)  # both have been checked when they came in
        return self.kernel_.prepare(X, Y)

    def _check_new(self, X: Any) -> Any:
        """Samples to predict for, checked; of a precomputed matrix, the support columns."""
        if self._precomputed:
            K = check_array(X, dtype=np.float64, input_name="X")
            if K.shape[1] not in (self._n_train, len(self.support_)):
                raise ValueError(
                    f"X has {K.shape[1]} features, but {type(self).__name__} is expecting {self._n_train} features as "
                    "input: a precomputed kernel matrix for prediction has a column for every training sample, or for "
                    f"every one of the {len(self.support_)} support vectors."
                )
            return K[:, self.support_] if K.shape[1] == self._n_train else K
        if not self._vectors():
            return X
        return validate_data(self, X, reset=False, **VECTORS)

    @property
    def coef_(self):
        """Weights of the features, shape (n_problems, n_features); linear kernels only."""
        kernel = getattr(self, "kernel_", None)
        if not isinstance(kernel, Linear):
            raise AttributeError("coef_ exists for kernel='linear' only.")
        weights = self.dual_coef_ @ self.support_vectors_
        return weights.toarray() if issparse(weights) else weights

    @property
    def sparsity_(self) -> float:
        """Share of the training samples that are not support vectors; larger means a smaller model."""
        check_is_fitted(self)
        return 1.0 - len(self.support_) / self._n_train

    def influence(self, k: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """The training samples with the largest multipliers.

        They are unusual or wrongly labelled samples, worth a look when data is cleaned. [CY §1.2]

        Parameters
        ----------
        k : int >= 1, default=10
            How many at most.

        Returns
        -------
        samples : int array
            Their numbers, the most influential first.
        multipliers : array
            The largest absolute multiplier of each.
        """
        check_is_fitted(self)
        if problem := Number(1, integer=True).problem(k):
            raise ValueError(f"k {problem}")
        size = abs(self.dual_coef_).max(axis=0)
        size = np.asarray(size.todense() if issparse(size) else size).ravel()
        order = np.argsort(-size, kind="stable")[:k]
        return self.support_[order], size[order]


def dense_row(columns: np.ndarray, values: np.ndarray, n_columns: int) -> np.ndarray:
    """The values in their columns, zeros elsewhere."""
    row = np.zeros(n_columns)
    row[columns] = values
    return row


class SparseRows(NamedTuple):
    """Rows of a table, one per problem: in flat arrays their columns, ascending in each row, and values."""

    parts: Segments
    columns: np.ndarray
    values: np.ndarray

    def table(self, n_columns: int) -> csr_array:
        """As a sparse matrix; zeros are left out."""
        kept = self.values != 0
        before = np.concatenate([[0], np.cumsum(kept)])  # how many are kept before each entry
        shape = (len(self.parts), n_columns)
        return csr_array((self.values[kept], self.columns[kept], before[self.parts.starts]), shape=shape)

    def one_or_all(self, n_columns: int) -> csr_array | np.ndarray:
        """The only row there is, dense, or a sparse matrix."""
        one = len(self.parts) == 1
        return dense_row(self.columns, self.values, n_columns) if one else self.table(n_columns)


def one_or_all(values: Sequence[Any] | np.ndarray) -> Any:
    """A number for one problem, an array for several."""
    return float(values[0]) if len(values) == 1 else np.asarray(values)
