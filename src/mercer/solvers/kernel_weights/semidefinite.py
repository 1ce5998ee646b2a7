"""Weights of either sign: a semi-definite programme."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigvalsh
from scipy.sparse import coo_array, eye_array

from mercer.errors import InfeasibleError
from mercer.extras import require
from mercer.kernels import Indexed
from mercer.problems import DualProblem, KernelWeightsProblem
from mercer.solvers.base import Callback
from mercer.solvers.cones import ConicProgramme, tolerances
from mercer.solvers.kernel_weights.base import KernelWeightsResult, KernelWeightsSolver, Search

__all__ = ["DefiniteSums", "SemiDefinite"]

# Rows for which a programme has room in memory and ends within minutes.
MOST_ROWS = 100
# What is less than this share of the largest is taken for zero: directions of samples, differences of matrices,
# negative eigenvalues.
RANK = 1e-9


class SemiDefinite(KernelWeightsSolver):
    r"""Weights of either sign, of which the sum of the matrices alone is positive semi-definite. [CY §3.7] [1]_

    .. math::

        \min_{d} J(d) \quad\text{s.t.}\quad K = \sum_k d_k K_k \succeq 0, \quad \operatorname{tr} K = N

    over weights of `Indexed` kernels. The constraints are on all N rows of the matrices, also on those that are no
    training samples: what is learnt is a kernel on every row, and on nothing else. That is why no other kernels will
    do. By the conic solver Clarabel; needs the extra ``conic`` (``pip install mercer[conic]``).

    Parameters
    ----------
    gap_tol, tol, max_iter, max_seconds, memory, n_threads
        See `KernelWeightsSolver`.

    Notes
    -----
    Machines have decision values :math:`f_t`, the columns of F, and losses l. The programme is

    .. math::

        \min_{d, F, \Theta}\ \tfrac12 \operatorname{tr} \Theta + \sum_t l_t(f_t), \qquad
        \begin{pmatrix} K & F \\ F^T & \Theta \end{pmatrix} \succeq 0, \quad \operatorname{tr} K = N,

    written in a basis of the r directions that the matrices have, and of their own differences. Time O(r^6) per step,
    memory O(r^4): seconds for 50 rows, minutes and 1.5 GB for 100, which is the limit. What is less than 1e-9 of the
    largest counts as zero, negative eigenvalues of the sum, too. Of weights with the same sum the shortest are taken.

    The set of the problem must be the simplex. It is widened here, and the bound of the result is one for all weights
    of the wider set: the multipliers Z of K prove it, by
    :math:`d^T S \le \lambda` where :math:`S_k + \langle Z, K_k \rangle = \lambda \operatorname{tr} K_k / N` and
    :math:`Z \succeq 0`. Where the package leaves a residual, Z is moved by a combination of the matrices until the
    equations hold, and by a positive definite matrix that satisfies such equations until it is positive semi-definite:
    the bound holds however far the package has come.

    References
    ----------
    .. [1] G. R. G. Lanckriet, N. Cristianini, P. Bartlett, L. El Ghaoui, M. I. Jordan, Learning the kernel matrix with
       semidefinite programming, JMLR 5, 2004.
    """

    _simplex_only = True
    _joint_too = False

    def check(self, problem: KernelWeightsProblem) -> None:
        super().check(problem)
        self.check_kernels(problem.stack.kernels)
        if problem.stack.ridge:
            raise ValueError(f"ridge must be 0 for {type(self).__name__}, got {problem.stack.ridge!r}.")
        require("clarabel", type(self).__name__)

    @staticmethod
    def check_kernels(kernels: Sequence[Any]) -> None:
        """Refuse what are not matrices of the same rows, and of few."""
        for k, kernel in enumerate(kernels):
            if not isinstance(kernel, Indexed):
                raise ValueError(
                    f"kernels must be Indexed matrices for SemiDefinite ('sdp'), number {k} is {kernel!r}: with "
                    "weights of either sign a sum is known to be positive semi-definite on stored rows alone."
                )
            n_rows, first = len(kernel._stored()), len(kernels[0]._stored())
            if n_rows != first:
                raise ValueError(
                    f"kernels must be matrices of the same rows for SemiDefinite ('sdp'), number {k} has {n_rows}, "
                    f"number 0 has {first}."
                )
            if n_rows > MOST_ROWS:
                raise ValueError(
                    f"kernels must be matrices of at most {MOST_ROWS} rows for SemiDefinite ('sdp'), whose time grows "
                    f"with the sixth power of their number, got {n_rows}; other algorithms learn weights >= 0."
                )

    def solve(
        self, problem: KernelWeightsProblem, start: Any = None, callback: Callback | None = None
    ) -> KernelWeightsResult:
        self.check(problem)
        stack = problem.stack
        units = 1.0 / stack.factors
        stored = [kernel._stored().astype(np.float64) for kernel in stack.kernels]
        sums = DefiniteSums([0.5 * (K + K.T) for K in stored])
        search = SumsSearch(problem, self, callback, sums, units)
        rows = stack.kernels[0].prepare(stack.X)[0]
        for tolerance in tolerances(self.gap_tol):
            found = sums.solve(problem.problems, rows, tolerance, search.seconds_left)
            search.multipliers = found.multipliers
            search.prove(found.points)
            search.try_weights(found.weights * units, found.points)
            if search.status is not None:
                break
        return search.result(search.status or "stalled", search.certify(as_tried=True))

    def _run(self, search):
        """All is done in `solve`."""


class SumsSearch(Search):
    """A search over all weights with positive semi-definite sums.

    Parameters
    ----------
    problem, solver, callback
        See `Search`.
    sums : DefiniteSums
        Of the matrices that were given.
    units : array of shape (n_kernels,)
        Weights in the problem over those of the matrices that were given.
    """

    def __init__(self, problem: Any, solver: Any, callback: Any, sums: "DefiniteSums", units: np.ndarray):
        super().__init__(problem, solver, callback)
        self._exact = True  # there are few samples, and weights of either sign cancel digits
        self._sums, self._units = sums, units
        self.multipliers = Multipliers(*np.zeros((2, len(sums.terms))))

    def most(self, energies: np.ndarray) -> float:
        return self._sums.most(energies * self._units, self.multipliers)


@dataclass(frozen=True, eq=False)
class SumsPoint:
    """Where the package has ended."""

    weights: np.ndarray
    """Weights with a positive semi-definite sum, of the mean diagonal one."""
    points: list[np.ndarray] = field(repr=False)
    """The solutions a of all machines."""
    multipliers: "Multipliers" = field(repr=False)
    """What proves how good the weights are."""


class Multipliers(NamedTuple):
    """Those of the sum of the matrices, as triangles."""

    whole: np.ndarray
    """Of the block of the programme."""
    rest: np.ndarray
    """Z: without the part that is the energies of the machines."""


class DefiniteSums:
    """The positive semi-definite sums of some matrices, with a mean diagonal of one.

    Parameters
    ----------
    matrices : sequence of arrays of shape (N, N)
        Symmetric, definite or not.
    """

    def __init__(self, matrices: Sequence[np.ndarray]):
        self.matrices, self.n = list(matrices), len(matrices[0])
        self.sizes = np.array([np.linalg.norm(K, 2) or 1.0 for K in self.matrices])
        scaled = [K / size for K, size in zip(self.matrices, self.sizes, strict=True)]
        self.basis = _directions(np.hstack(scaled))[0]
        """Directions of the samples outside of which all matrices are zero, as columns."""
        triangles = np.array([_triangle(self.basis.T @ K @ self.basis) for K in scaled]).T
        self.terms, lengths, turn = _directions(triangles)
        """Triangles, orthonormal, of which all sums are made, as columns."""
        self.inverse = turn.T / lengths  # weights of the matrices from coordinates of a sum
        self.traces = self.terms.T @ _triangle(np.eye(self.basis.shape[1])) / self.n
        """The mean diagonals of the terms."""
        self.equal = self.terms.T @ triangles.sum(axis=1)
        """The coordinates of the plain sum of the matrices, each of the size one."""

    def total(self, weights: np.ndarray) -> np.ndarray:
        """The weighted sum of the matrices as they were given."""
        return np.tensordot(weights, np.array(self.matrices), 1)

    def most(self, energies: np.ndarray, multipliers: "Multipliers") -> float:
        """No weights of a sum take more of the energies than this; the multipliers are a guess of what proves it."""
        rest, level = self._exact(multipliers.rest, self.inverse.T @ (energies / self.sizes))
        whole, size = self._exact(multipliers.whole, np.zeros(len(self.traces)))
        # The rest is lifted by multiples of what is positive definite, mostly of the whole, which is large where the
        # rest is a small difference. Without a whole there is the identity, whose products are the traces.
        identity = np.eye(self.basis.shape[1])
        for shift, price in ((whole + size / self.n * identity, 2.0 * size), (identity, float(self.n))):
            try:
                return level + max(0.0, -float(eigvalsh(rest, shift)[0])) * price
            except np.linalg.LinAlgError:
                continue
        raise AssertionError

    def _exact(self, triangle: np.ndarray, energies: np.ndarray) -> tuple[np.ndarray, float]:
        """A matrix Z nearby with energies + <Z, K_k> = level * trace of K_k / N for all terms, and the level."""
        proved = energies + self.terms.T @ triangle
        level = float(proved @ self.traces / (self.traces @ self.traces))
        return _matrix(triangle + self.terms @ (level * self.traces - proved)), level

    def solve(
        self, machines: Sequence[DualProblem], rows: np.ndarray, tolerance: float, max_seconds: float = np.inf
    ) -> SumsPoint:
        """The weights with which machines are best.

        Parameters
        ----------
        machines : sequence of DualProblem
            Over any Gram matrix.
        rows : int array
            The row of every sample of the machines.
        tolerance : float
            What the package is asked for.
        max_seconds : float

        Raises
        ------
        InfeasibleError
            If no sum is positive semi-definite with a positive trace.
        """
        (length, n_terms), r = self.terms.shape, self.basis.shape[1]
        nothing = InfeasibleError("No weighted sum of the matrices is positive semi-definite with a positive trace.")
        if not n_terms:
            raise nothing
        programme = ConicProgramme("SemiDefinite")
        place = programme.variables(np.zeros(n_terms))
        programme.require("zero", [-float(self.n)], (0, self.n * self.traces[np.newaxis], place))
        terms: list[tuple[int, Any, np.ndarray]] = [(0, self.terms, place)]
        margins, first = [], length
        for t, machine in enumerate(machines):
            along = programme.variables(np.zeros(r))  # the decision values are the basis times these
            margins.append(_require_margins(programme, machine, self.basis[rows[machine.index]], along))
            squares = programme.variables(np.append(np.zeros(t), 0.5))  # of Theta
            root = np.append(np.full(t, np.sqrt(2.0)), 1.0)
            terms += [(first, np.sqrt(2.0) * eye_array(r), along), (first + r, np.diag(root), squares)]
            first += r + t + 1
        block = programme.require("semidefinite", np.zeros(first), *terms)
        found = programme.solve(tolerance, max_seconds)
        if found.status.endswith("PrimalInfeasible"):
            raise nothing
        points = [
            machine.balanced(np.clip(found.multiplier[number], 0.0, machine.upper))
            for machine, number in zip(machines, margins, strict=True)
        ]
        whole = found.multiplier[block][:length]
        C = np.array(
            [self.basis[rows].T @ machine.expansion(a)[0] for machine, a in zip(machines, points, strict=True)]
        )
        multipliers = Multipliers(whole, whole - _triangle(0.5 * C.T @ C))
        return SumsPoint(self._weights(found.x[place]), points, multipliers)

    def _weights(self, place: np.ndarray) -> np.ndarray:
        """The shortest weights of the sum at some coordinates, made positive semi-definite if it is not."""
        equal = self.equal / (self.equal @ self.traces)
        place = place / (place @ self.traces) if place @ self.traces > 0 else equal
        A, B = _matrix(self.terms @ place), _matrix(self.terms @ equal)
        least = RANK * np.linalg.norm(A, 2) * np.eye(len(A))
        try:
            lowest = min(0.0, float(eigvalsh(A + least, B + least)[0]))
        except np.linalg.LinAlgError:  # among indefinite matrices equal weights may be no help
            lowest = 0.0
        # (1 - s) A + s B has no negative eigenvalue from s = -lowest / (1 - lowest) on.
        return self.inverse @ (place - lowest * equal) / (1.0 - lowest) / self.sizes


def _require_margins(programme: ConicProgramme, machine: DualProblem, rows: np.ndarray, along: np.ndarray) -> int:
    """The primal problem of a machine but for its norm; the multipliers of the cone that is returned are its a.

    s_i (f_i + b) + xi_i + ridge_i e_i >= -linear_i, at the price of upper_i xi_i + ridge_i e_i^2 / 2 and of
    b times the value that s'a is to have.
    """
    m, sign = len(machine.index), machine.sign[:, np.newaxis]
    terms: list[tuple[int, Any, np.ndarray]] = [(0, sign * rows, along)]
    for group, target in machine._groups():
        column = np.zeros((m, 1))
        column[group] = sign[group]
        terms.append((0, column, programme.variables(target)))
    bounded, soft = np.flatnonzero(np.isfinite(machine.upper)), np.flatnonzero(machine.ridge)
    if len(bounded):
        slack = programme.variables(machine.upper[bounded])
        programme.require("nonnegative", np.zeros(len(bounded)), (0, eye_array(len(bounded)), slack))
        terms.append((0, _selected(np.ones(len(bounded)), bounded, m), slack))
    if len(soft):
        errors = programme.variables(np.zeros(len(soft)), machine.ridge[soft])
        terms.append((0, _selected(machine.ridge[soft], soft, m), errors))
    return programme.require("nonnegative", machine.linear, *terms)


def _selected(values: np.ndarray, rows: np.ndarray, m: int) -> Any:
    """A matrix of m rows with one value in each column, in a row of its own."""
    return coo_array((values, (rows, np.arange(len(rows)))), shape=(m, len(rows)))


def _directions(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """An orthonormal basis of the space that columns span: the singular value decomposition, but for zeros."""
    vectors, lengths, turn = np.linalg.svd(columns, full_matrices=False)
    used = lengths > RANK * lengths.max(initial=0.0)
    return vectors[:, used], lengths[used], turn[used]


def _triangle(K: np.ndarray) -> np.ndarray:
    """The upper triangle of a matrix, column by column, with the length of the whole matrix."""
    row, column = np.tril_indices(len(K))
    return np.where(row == column, 1.0, np.sqrt(2.0)) * K[row, column]


def _matrix(triangle: np.ndarray) -> np.ndarray:
    """The matrix of a triangle."""
    r = int(np.sqrt(2 * len(triangle)))
    row, column = np.tril_indices(r)
    K = np.zeros((r, r))
    K[row, column] = K[column, row] = np.where(row == column, 1.0, np.sqrt(0.5)) * triangle
    return K
