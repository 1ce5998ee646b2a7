"""What all support vector machines share: problems to the solver, support vectors out."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import check_is_fitted

from mercer.data import RowBlocks
from mercer.distributed import Cascade, DaskGram, DaskRows
from mercer.fingerprint import fingerprint
from mercer.gram import BlocksGram, Gram, LandmarkGram, MapGram, memory_budget
from mercer.gram.blocks import resolved_on_blocks
from mercer.kernels import as_kernel
from mercer.kernels.samples import n_samples
from mercer.machines import CheckpointedMachine, LandmarkMachine
from mercer.parameters import Choice, Number
from mercer.problems import DualProblem, DualProblems, JointProblem
from mercer.segments import Segments
from mercer.solvers import (
    SMO,
    DeviceSMO,
    JointResult,
    LinearSolver,
    SimpleSMO,
    Solver,
    SolverResult,
    StreamingSMO,
    combine,
    warn_unless_solved,
)
from mercer.solvers.kept import solve_kept

__all__ = ["SolverMachine", "SupportVectorMachine"]

SOLVERS = ("smo", "simple")
# What tells problems over the same samples apart.
WRITTEN_DOWN = ("index", "sign", "linear", "upper", "ridge", "total")


class SolverMachine(CheckpointedMachine):
    """Base of machines that are fitted by a solver of problems: its parameters, limits, warm starts, checkpoints."""

    _parameters: ClassVar[dict[str, Any]] = {
        "tol": Number(0, above=True),
        "gap_tol": Number(0, above=True, none=True),
        "max_iter": Number(1, integer=True, none=True),
        "max_seconds": Number(0, above=True, none=True),
        "warm_start": Choice(True, False),
    }

    result_: Any
    _warns: bool = True  # False: whoever built the machine tells what its result means

    def _check_all(self) -> None:
        super()._check_all()
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback must be callable or None, got {self.callback!r}.")
        self._solver()

    @abstractmethod
    def _solver(self) -> Solver:
        """The solver that the parameters ask for."""

    def _solver_for(self, gram: Gram) -> Solver:
        """The solver for problems over this matrix."""
        return self._solver()

    def _limits(self) -> dict[str, Any]:
        """What every solver is told: how exact the solution is to be, and what it may take."""
        names = ("tol", "gap_tol", "max_iter", "max_seconds", "n_threads")
        return {name: getattr(self, name) for name in names}

    def _given_solver(self, names: Iterable[str]) -> Solver:
        """The solver that was given as such and not by one of the names."""
        if isinstance(self.solver, Solver) and not isinstance(self.solver, type):
            return self.solver
        raise ValueError(f"solver must be {' or '.join(map(repr, names))} or a solver, got {self.solver!r}.")

    def _fit_problems(
        self, problems: Sequence[DualProblem], first: int = 0, n_further: int = 0
    ) -> Sequence[SolverResult]:
        """Solve, from the last solutions if the machine is warm; these are the problems from the `first` on.

        The last `n_further` of them, such as folds, always start afresh.
        """
        solver = self._solver_for(problems.gram if isinstance(problems, DualProblems) else problems[0].gram)
        if isinstance(problems, DualProblems):
            sizes, some = problems.parts.sizes.tolist(), problems[:1]  # they are of one kind
        else:
            sizes, some = [len(problem.index) for problem in problems], problems
        for problem in some:
            solver.check(problem)
        before = self._starts(problems, sizes[: len(sizes) - n_further], first)
        starts = None if before is None else [*before, *([None] * n_further)]
        if self._saved is None:
            return solver.solve_many(problems, starts, self.callback)
        results = []
        for k, problem in enumerate(problems):
            bookmark = self._saved.bookmark(fingerprint(*(getattr(problem, name) for name in WRITTEN_DOWN)))
            results.append(solve_kept(solver, problem, None if starts is None else starts[k], self.callback, bookmark))
        return results

    def _starts(self, problems: Sequence[DualProblem], sizes: list[int], first: int) -> list[np.ndarray] | None:
        """Points to start from, for the problems of these sizes; they come first among those given."""
        return self._solutions(sizes, first)

    def _solutions(self, sizes: list[int], first: int) -> list[np.ndarray] | None:
        """Points to start from: the last solutions, if the machine is warm and the problems are of the same size."""
        if not self.warm_start or not isinstance(getattr(self, "result_", None), SolverResult):
            return None
        before = (self.result_.parts or (self.result_,))[first : first + len(sizes)]
        return [r.a for r in before] if [len(r.a) for r in before] == sizes else None


class SupportVectorMachine(SolverMachine, LandmarkMachine):
    """Base of the support vector machines.

    A machine builds its problems (`_fit_problems` takes them to the solver) and keeps what it needs of their results.
    """

    sample_coef_: csr_array
    _noted: list[dict[str, Any]]
    _dense_coefficients = False

    def _solver(self) -> Solver:
        if isinstance(self.solver, str) and self.solver in SOLVERS:
            if self.solver == "simple":
                solver: Any = SimpleSMO(tol=self.tol)
                return solver.set_params(max_iter=self.max_iter) if self.max_iter else solver
            if self.approximation is not None:
                return LinearSolver(**self._limits())
            if self.device is not None:
                return DeviceSMO(self.device, memory=self.memory, **self._limits())
            return SMO(memory=self.memory, **self._limits())
        return self._given_solver(SOLVERS)

    def _fit_problems(self, problems, first=0, n_further=0):
        results = super()._fit_problems(problems, first, n_further)
        if not self._mapped:
            self.__dict__.pop("_noted", None)  # of an earlier fit
        else:
            self._note_problems([problems[k] for k in range(len(problems) - n_further)], first)
        return results

    def _note_problems(self, problems: Sequence[Any], first: int = 0) -> None:
        """What the full problems are beside their kernel matrix, of those from the `first` on."""
        noted = [
            {it.name: getattr(problem, it.name) for it in fields(problem) if it.name != "gram"} for problem in problems
        ]
        self._noted = [*(self._noted[:first] if first else []), *noted]

    def _full_objectives(self, gram, F, energies):
        found, parts = [], getattr(self.result_, "parts", None) or (self.result_,)
        for k, (noted, part) in enumerate(zip(self._noted, parts, strict=True)):
            if isinstance(part, JointResult):
                joint = JointProblem(gram, **noted)
                a, f = part.a.toarray(), F[joint.index]
                found.append(joint.gap(a, joint.slopes(f, part.intercepts)) - joint.objective(a, f))
            else:
                problem = DualProblem(gram, **noted)
                gradient = problem.sign * F[problem.index, k] + problem.ridge * part.a + problem.linear
                offsets = problem.offsets(part.a, gradient)
                found.append(problem.gap(part.a, gradient, offsets) - problem.objective(part.a, gradient))
        return np.array(found)

    def _solver_for(self, gram):
        if isinstance(gram, BlocksGram) and isinstance(self.solver, str) and self.solver == "smo":
            solver = Cascade if isinstance(gram, DaskGram) else StreamingSMO
            return solver(memory=self.memory, **self._limits())
        return super()._solver_for(gram)

    # --- samples beyond memory ------------------------------------------------------------------------------

    def _reads_blocks(self) -> bool:
        on_vectors = not self._precomputed and as_kernel(self.kernel).domain in ("vectors", "any")
        return on_vectors or super()._reads_blocks()

    def _take_samples(self, X: Any, y: Any = "no_validation", **check_y: Any) -> Any:
        mapped = isinstance(X, np.memmap) and X.ndim == 2 and self.approximation is None
        mapped = mapped and self._vectors() and self._reads_blocks()
        if mapped and X.nbytes > memory_budget(self.memory):
            X = RowBlocks.from_array(X)  # solvers would make a copy in their working precision
        return super()._take_samples(X, y, **check_y)

    def _make_gram(self, X: Any, weight: np.ndarray) -> Gram:
        if not isinstance(X, RowBlocks) or self.approximation is not None:
            return super()._make_gram(X, weight)
        far = isinstance(X, DaskRows)
        if not far and len(X) <= BlocksGram.room_for(X, self.memory):
            return super()._make_gram(X[np.arange(len(X))], weight)
        self.kernel_ = resolved_on_blocks(as_kernel(self.kernel), X, weight)
        return (DaskGram if far else BlocksGram)(self.kernel_, X, self.memory)

    def _keep_model(
        self,
        X: Any,
        gram: Gram,
        coefficients: "SparseRows",
        intercepts: Sequence[float] | np.ndarray,
        results: Sequence[SolverResult],
    ) -> None:
        """Support vectors, coefficients of every problem and the certificate."""
        self.intercept_ = np.ascontiguousarray(intercepts, dtype=np.float64)
        if isinstance(gram, LandmarkGram | MapGram):
            self.sample_coef_ = coefficients.table(n_samples(X))
            self._keep_weights(gram, gram.weights_of(self.sample_coef_))
        else:
            self._keep_support_vectors(X, coefficients)
        self.result_ = combine(results)
        self.n_iter_ = self.result_.n_iter

    def _keep_support_vectors(self, X: Any, coefficients: "SparseRows") -> None:
        table: Any = coefficients.one_or_all(n_samples(X))
        if issparse(table):
            moved = np.bincount(table.indices, minlength=n_samples(X)) > 0
            self.support_ = np.flatnonzero(moved)
            columns, shape = (np.cumsum(moved) - 1)[table.indices], (table.shape[0], len(self.support_))
            self.dual_coef_ = csr_array((table.data, columns, table.indptr), shape=shape)
        else:
            self.support_ = np.flatnonzero(table)
            self.dual_coef_ = table[np.newaxis, self.support_]
        self._keep_support(X)

    def _dual_scale(self) -> Any:
        """Coefficients of the machine in units of those of its problems, a number or one for each."""
        return 1.0

    def _duals(self):
        parts = getattr(self.result_, "parts", None) or (self.result_,)
        rows = csr_array(self.sample_coef_ / np.reshape(self._dual_scale(), (-1, 1)))
        return -np.array([part.bound for part in parts]), -np.array([part.objective for part in parts]), rows

    def _warn_unless_solved(self) -> None:
        """Tell whoever called `fit` what is wrong with its result, if something is."""
        if self._warns:
            warn_unless_solved(self.result_, type(self).__name__)

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
        landmarks = self.approximation is not None
        size = abs(self.sample_coef_ if landmarks else self.dual_coef_).max(axis=0)
        size = np.asarray(size.todense() if issparse(size) else size).ravel()
        order = np.argsort(-size, kind="stable")[:k]
        return order if landmarks else self.support_[order], size[order]


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
