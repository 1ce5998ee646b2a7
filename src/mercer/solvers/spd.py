"""Symmetric positive definite systems (K + diag(ridge)) X = B of a kernel matrix."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from mercer.devices import DeviceGram
from mercer.devices.arrays import Tensor
from mercer.errors import SingularError
from mercer.gram import Gram, MatrixGram, VectorGram, memory_budget
from mercer.gram.checks import require_definite
from mercer.gram.low_rank import partial_cholesky
from mercer.kernels.samples import row_blocks, to_numpy
from mercer.parameters import Choice, Number

__all__ = ["SystemResult", "solve_spd"]

METHODS = Choice("auto", "cholesky", "low_rank")
# Up to so many samples float32 saves nothing.
SMALL = 500
# Diagonals of so different entries are scaled.
DISPARATE = 1e3
# A factor in float32 that has not helped after so many steps will not.
FLOAT32_STEPS = 30
MAX_ITER = 1000
# What is off by more than this part of the right side is no solution, even if rounding is to blame.
DIGITS = 1e-3
# Steps on a float32 matrix in memory: n over this many, for all columns together, take half the time of its factor.
STEPS_FOR_A_FACTOR = 80
# They are to make residuals smaller by this each time, which is what float32 can do, ...
INNER_REDUCTION = 1e-4
# ... and are watched from here on.
WATCHED = 8
# Rank of the preconditioner, in roots of n: its making then costs about as much as some tens of products with K, that
# for a matrix in memory less, as products with it do.
RANK, RANK_IN_MEMORY = 10, 6
# Bytes for every entry of the preconditioner while it is made: the factor, its copy, and what goes into them.
BYTES_PER_ENTRY = 32
EPS = float(np.finfo(np.float64).eps)
# Steps that the norm of an inverse takes at most; two or three are usual.
HAGER_STEPS = 5

Map = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class SystemResult:
    """The solution of a system of linear equations, and how well it solves them."""

    x: np.ndarray = field(repr=False)
    """The solution, one column for each right side."""
    residual: np.ndarray = field(repr=False)
    """B - (K + diag(ridge)) X, in float64."""
    relative_residual: float
    """Norm of the residual over that of the right side; the largest of all columns."""
    method: str
    """What steps were preconditioned with: "cholesky float32", "cholesky float64", "low rank", or "low rank float32":
    steps of their own on the matrix in float32."""
    rank: int
    """Rank of the preconditioner."""
    n_iter: int
    """Steps of conjugate gradients, each with one product with K."""
    status: str
    """"solved": to the tolerance or, where rounding does not let it, as far as a product with K is exact, but to three
    digits at least; "stalled" or "max_iter"."""
    seconds: float
    """Wall-clock time."""


def solve_spd(
    gram: Gram,
    ridge: Any,
    B: Any,
    *,
    tol: float = 1e-10,
    max_iter: int | None = None,
    method: str = "auto",
    memory: float | str = "auto",
    random_state: Any = 0,
) -> SystemResult:
    r"""Solve a system with a kernel matrix and a ridge, for all right sides together.

    .. math:: (K + \mathrm{diag}(r)) X = B

    Conjugate gradients in float64, on products with K that need no stored K, with one of two preconditioners. A
    Cholesky factor in float32 leaves them two or three steps, each of which is a step of iterative refinement; where
    float32 is too coarse the factor is made anew in float64. When no such factor fits the memory, the preconditioner
    is the randomly pivoted partial Cholesky factor of K [1]_, which takes out the large eigenvalues. Where that alone
    makes a well-conditioned system, steps on the matrix in float32 take less time than its factor and stand in for it.

    Parameters
    ----------
    gram : Gram
        K, positive semi-definite.
    ridge : float or array of shape (n,)
        r >= 0.
    B : array of shape (n,) or (n, k)
    tol : float > 0, default=1e-10
        Largest norm of the residual, relative to that of the right side.
    max_iter : int >= 1 or None, default=None
        Most steps; None: 1000.
    method : {"auto", "cholesky", "low_rank"}, default="auto"
        The preconditioner; "auto" lets the memory decide.
    memory : float > 0 or "auto", default="auto"
        Megabytes for factors of K, see `mercer.gram.memory_budget`.
    random_state : int, RandomState or None, default=0
        Draws the pivots.

    Returns
    -------
    SystemResult

    Raises
    ------
    SingularError
        When K + diag(r) is singular to working precision.
    IndefiniteError
        When K has negative eigenvalues that rounding does not explain, and the ridge does not outweigh them.

    Notes
    -----
    Time O(n^3) and 4 n^2 bytes (8 n^2 in float64) for "cholesky". For "low_rank" of rank q: O(n q^2) and some
    16 n q bytes, and n^2 kernel values for every step. By BLAS and LAPACK: equal up to `tol` for any number of threads.

    References
    ----------
    .. [1] M. Díaz, E. N. Epperly, Z. Frangella, J. A. Tropp, R. J. Webber, Robust, randomized preconditioning for
       kernel ridge regression, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import MatrixGram
    >>> from mercer.solvers import solve_spd
    >>> result = solve_spd(MatrixGram([[2.0, 1.0], [1.0, 2.0]]), 1.0, [4.0, 4.0])
    >>> result.x.round(12), result.status
    (array([1., 1.]), 'solved')
    """
    for name, value, rule in (
        ("tol", tol, Number(0, above=True)),
        ("max_iter", max_iter, Number(1, integer=True, none=True)),
        ("method", method, METHODS),
    ):
        if problem := rule.problem(value):
            raise ValueError(f"{name} {problem}")
    began = time.perf_counter()
    ridge = np.array(np.broadcast_to(np.asarray(ridge, dtype=np.float64), gram.n))
    if not (np.isfinite(ridge).all() and (ridge >= 0).all()):
        raise ValueError("ridge must be finite and >= 0.")
    B = np.asarray(B, dtype=np.float64)
    if B.ndim not in (1, 2) or len(B) != gram.n:
        raise ValueError(f"B has shape {B.shape}, it needs one row for each of the {gram.n} samples.")
    if not np.isfinite(B).all():
        raise ValueError("B must be finite.")
    steps, system, entry = max_iter or MAX_ITER, _System, 8
    if isinstance(gram, DeviceGram):  # which keeps the matrix beside its factor
        budget, system, entry = gram.place.budget(), _DeviceSystem, 16
    else:
        budget = memory_budget(memory)
    if method == "auto":
        method = "cholesky" if entry * gram.n**2 <= budget else "low_rank"
    unit = 2.0 ** np.frexp(np.abs(B).max(initial=0.0))[1]  # else squares may be too large or too small for floats
    run = system(gram, ridge, B.reshape(gram.n, -1) / unit, tol)
    result = run.by_cholesky(steps) if method == "cholesky" else run.by_low_rank(steps, budget, random_state)
    return replace(
        result,
        x=result.x.reshape(B.shape) * unit,
        residual=result.residual.reshape(B.shape) * unit,
        seconds=time.perf_counter() - began,
    )


class _System:
    """One system, and the ways to solve it."""

    def __init__(self, gram: Gram, ridge: np.ndarray, B: np.ndarray, tol: float):
        self.gram, self.ridge, self.B, self.tol = gram, ridge, B, tol
        self.sizes = _norms(B)
        diagonal = np.abs(gram.diag())
        self.trace = float(diagonal.sum())
        # Where the diagonal has entries of very different size, as small weights make them, factors are of the matrix
        # with ones on the diagonal.
        whole = diagonal + ridge
        self.scale = None
        if whole.max() > DISPARATE * whole.min():
            self.scale = 1.0 / np.sqrt(np.where(whole > 0, whole, 1.0))

    def product(self, V: np.ndarray) -> np.ndarray:
        """(K + diag(ridge)) V."""
        return self.gram.dot(V) + self.ridge[:, np.newaxis] * V

    # --- preconditioners ----------------------------------------------------------------------------------

    def by_cholesky(self, steps: int) -> SystemResult:
        """Refinement of the solution by a factor in float32 or, where that is too coarse, in float64."""
        n = self.gram.n
        if n > SMALL:
            matrix = self._matrix32()
            if (quick := self._by_float32_steps(matrix, steps)) is not None:
                return quick
            factor, failed = lapack.spotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
            if not failed and np.isfinite(np.diagonal(factor)).all():
                result = self.iterate(self._by_factor(lapack.spotrs, factor), min(steps, FLOAT32_STEPS))
                if result.status == "solved" or steps <= FLOAT32_STEPS:
                    return replace(result, method="cholesky float32", rank=n)
            del matrix, factor
        matrix = self._with_ridge(self.gram.rows(np.arange(n)))
        norm = _one_norm(matrix)
        factor, failed = lapack.dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
        self._require_regular(0.0 if failed else float(lapack.dpocon(factor, norm, uplo="L")[0]))
        result = self.iterate(self._by_factor(lapack.dpotrs, factor), steps)
        return replace(result, method="cholesky float64", rank=n)

    def _by_float32_steps(self, matrix: np.ndarray, steps: int) -> SystemResult | None:
        """Refinement by conjugate gradients on the matrix in float32; None where its factor is the better way."""
        n, n_columns = self.B.shape
        most = n // (STEPS_FOR_A_FACTOR * n_columns)
        if most < WATCHED or self.scale is not None or not self.ridge.all():
            return None
        if not np.isfinite(np.diagonal(matrix)).all():  # its largest values
            return None
        precondition, rank = self._low_rank(min(n, int(RANK_IN_MEMORY * np.sqrt(n))))
        # With this reduction by each of them, all digits that are wanted take `most` steps.
        rate = min(self.tol, INNER_REDUCTION) ** (1 / most)

        def product(V: np.ndarray) -> np.ndarray:
            columns = [blas.ssymv(1.0, matrix.T, v, lower=1) for v in V.T.astype(np.float32)]
            return np.column_stack(columns).astype(np.float64)

        def solve(R: np.ndarray) -> np.ndarray:
            sizes = np.maximum(_norms(R), np.finfo(float).tiny)
            step = count(1)

            def reached(X: np.ndarray, R: np.ndarray) -> bool:
                left, taken = _norms(R).max(), next(step)
                if taken >= WATCHED and not left <= max(INNER_REDUCTION, rate**taken):
                    raise _TooSlow
                return bool(left <= INNER_REDUCTION)

            X = np.zeros_like(R)
            _descend(product, precondition, X, R / sizes, reached, most)
            return X * sizes

        try:
            result = self.iterate(solve, min(steps, FLOAT32_STEPS))
        except _TooSlow:
            return None
        return replace(result, method="low rank float32", rank=rank) if result.status == "solved" else None

    def by_low_rank(self, steps: int, budget: int, random_state: Any) -> SystemResult:
        """Conjugate gradients that are spared the eigenvalues which some samples account for."""
        n = self.gram.n
        if not self.ridge.all():
            self._refuse("it has no ridge, without which the preconditioner of low rank does not work")
        most = max(1, min(n, int(RANK * np.sqrt(n)), budget // (BYTES_PER_ENTRY * n)))
        precondition, rank = self._low_rank(most, random_state)
        return replace(self.iterate(precondition, steps), method="low rank", rank=rank)

    def _low_rank(self, rank: int, random_state: Any = 0) -> tuple[Map, int]:
        """The inverse of F F' + diag(ridge), with a partial Cholesky factor F of K, and its rank."""
        # When the trace of what is left is below the ridge, the condition number is below two.
        enough = float(self.ridge.min()) / max(float(self.gram.diag().sum()), np.finfo(float).tiny)
        F = partial_cholesky(self.gram, rank, tol=enough, random_state=random_state)[0].factor
        root = np.sqrt(self.ridge)[:, np.newaxis]
        if not F.shape[1]:  # the ridge outweighs all of K
            return lambda R: R / root**2, 0
        F /= root
        core = F.T @ F
        _add_to_diagonal(core, 1.0)
        factor, _ = lapack.dpotrf(core.T, lower=1, clean=0, overwrite_a=1)

        def precondition(R: np.ndarray) -> np.ndarray:
            # (F F' + I)^-1 = I - F (I + F' F)^-1 F', between the roots of the ridge.
            S = R / root
            return (S - F @ lapack.dpotrs(factor, F.T @ S, lower=1)[0]) / root

        return precondition, F.shape[1]

    def _matrix32(self) -> np.ndarray:
        """K + diag(ridge) in float32, symmetric, in memory that may be written over."""
        gram = self.gram
        with np.errstate(over="ignore"):  # what is too large for float32 is left to float64
            if isinstance(gram, VectorGram):
                spec, X = gram.kernel.native(), gram.X
                # Differences of vectors far from the origin would be lost.
                moved = X - X.mean(axis=0) if spec is not None and spec.centre and isinstance(X, np.ndarray) else X
                matrix = gram.kernel(moved.astype(np.float32))
            elif isinstance(gram, MatrixGram):
                matrix = gram.matrix.astype(np.float32)
            else:
                matrix = np.empty((gram.n, gram.n), dtype=np.float32)
                for block in row_blocks(gram.n, gram.n):
                    matrix[block] = gram.rows(np.arange(block.start, block.stop))
        return self._with_ridge(matrix)

    def _with_ridge(self, K: np.ndarray) -> np.ndarray:
        """K + diag(ridge), scaled if need be; K is written over."""
        if self.scale is None:
            _add_to_diagonal(K, self.ridge)
            return K
        K *= self.scale.astype(K.dtype)
        K *= self.scale.astype(K.dtype)[:, np.newaxis]
        K.reshape(-1)[:: len(K) + 1] = self.scale**2 * (self.gram.diag() + self.ridge)
        return K

    def _by_factor(self, solve: Any, factor: np.ndarray) -> Map:
        """Solutions by a Cholesky factor, whose precision may be less than that of the right sides."""
        scale = 1.0 if self.scale is None else self.scale[:, np.newaxis]

        def apply(R: np.ndarray) -> np.ndarray:
            R = scale * R
            sizes = np.maximum(_norms(R), np.finfo(float).tiny)  # float32 would underflow
            solution = solve(factor, (R / sizes).astype(factor.dtype, order="F"), lower=1, overwrite_b=1)[0]
            return scale * (solution * sizes)

        return apply

    def _require_regular(self, condition: float) -> None:
        """Refuse a system of a reciprocal condition number that is rounding."""
        if condition < EPS:
            self._refuse(f"its reciprocal condition number is {condition:.2g}")

    def _refuse(self, reason: str) -> None:
        require_definite(self.gram, "The system")
        raise SingularError(
            f"The system of {self.gram.n} equations is singular: {reason}. Some samples are linear combinations of "
            "others in feature space, and nothing regularises them; raise the ridge (alpha)."
        )

    # --- steps --------------------------------------------------------------------------------------------

    def iterate(self, precondition: Map, steps: int) -> SystemResult:
        """Preconditioned conjugate gradients for all columns side by side.

        What counts is the residual computed afresh from the solution, not the one updated along the way: when the
        latter is small enough and the former is not, the iteration starts again from there, as long as that helps.
        Where it does not, rounding is to blame, and the system is solved if the residual is what rounding may leave.
        """
        wanted = np.maximum(self.tol * self.sizes, np.finfo(float).tiny)
        X, R, n_iter, before = np.zeros_like(self.B), self.B, 0, np.inf
        kept = X, R
        while True:
            left = float((_norms(R) / wanted).max(initial=0.0))
            if left <= 1.0:
                status = "solved"
                break
            if n_iter >= steps or not left <= 0.5 * before:  # or no number at all
                if not left <= before:
                    X, R = kept
                status = "solved" if self._near(X, R) else "max_iter" if n_iter >= steps else "stalled"
                break
            before, kept = left, (X.copy(), R)
            near = partial(self._near, share=0.5)
            n_iter += _descend(self.product, precondition, X, R.copy(), near, steps - n_iter)
            R = self.B - self.product(X)
        relative = np.divide(_norms(R), self.sizes, out=np.zeros_like(self.sizes), where=self.sizes > 0)
        return SystemResult(X, R, float(relative.max(initial=0.0)), "", 0, n_iter, status, 0.0)

    def _near(self, X: np.ndarray, R: np.ndarray, share: float = 1.0) -> bool:
        """Whether the residuals are as small as wanted, or as what rounding in a product with X may leave."""
        rounding = EPS * (self.trace * _norms(X) + _norms(self.ridge[:, np.newaxis] * X))
        enough = np.maximum(self.tol, DIGITS) * self.sizes
        return bool((_norms(R) <= share * np.clip(rounding, self.tol * self.sizes, enough)).all())


class _TooSlow(Exception):
    """Another way takes less time."""


class _DeviceSystem(_System):
    """A system whose matrix and factors are on a device; vectors come and go."""

    gram: DeviceGram

    def by_cholesky(self, steps: int) -> SystemResult:
        n, cholesky = self.gram.n, self.gram.place.torch.linalg.cholesky_ex
        if n > SMALL:
            factor, failed = cholesky(self._on_device("float32"))
            if not int(failed) and bool(factor.diagonal().isfinite().all()):
                result = self.iterate(self._by_tensor(factor), min(steps, FLOAT32_STEPS))
                if result.status == "solved" or steps <= FLOAT32_STEPS:
                    return replace(result, method="cholesky float32", rank=n)
            del factor
        matrix = self._on_device("float64")
        norm = float(matrix.abs().sum(dim=0).max())
        factor, failed = cholesky(matrix)
        del matrix
        solve = self._by_tensor(factor)
        self._require_regular(0.0 if int(failed) else 1.0 / (norm * self._inverse_norm(factor)))
        return replace(self.iterate(solve, steps), method="cholesky float64", rank=n)

    def _on_device(self, dtype: str) -> Tensor:
        """K + diag(ridge), scaled if need be."""
        tensor, matrix = self.gram.place.tensor, self.gram.matrix(dtype)
        if self.scale is None:
            matrix.diagonal().add_(tensor(self.ridge, dtype))
            return matrix
        scale = tensor(self.scale, dtype)
        matrix.mul_(scale).mul_(scale[:, None])
        matrix.diagonal().copy_(tensor(self.scale**2 * (self.gram.diag() + self.ridge), dtype))
        return matrix

    def _by_tensor(self, factor: Tensor) -> Map:
        """Solutions by a Cholesky factor, whose precision may be less than that of the right sides."""
        place, scale = self.gram.place, 1.0 if self.scale is None else self.scale[:, np.newaxis]

        def apply(R: np.ndarray) -> np.ndarray:
            R = scale * R
            sizes = np.maximum(_norms(R), np.finfo(float).tiny)
            right = place.tensor(R / sizes, "float64").to(factor.dtype)
            return scale * (to_numpy(place.torch.cholesky_solve(right, factor)).astype(np.float64) * sizes)

        return apply

    def _inverse_norm(self, factor: Tensor) -> float:
        """The largest column sum of absolute values of the inverse, nearly always, by Hager's method."""
        torch, n = self.gram.place.torch, self.gram.n
        x, found = factor.new_full((n, 1), 1.0 / n), 0.0
        for _ in range(HAGER_STEPS):
            y = torch.cholesky_solve(x, factor)
            found = max(found, float(y.abs().sum()))
            z = torch.cholesky_solve(torch.where(y >= 0, 1.0, -1.0).to(y.dtype), factor)
            largest = int(z.abs().argmax())
            if float(z.abs()[largest]) <= float((z * x).sum()):
                break
            x = torch.zeros_like(x)
            x[largest] = 1.0
        return found


def _descend(
    product: Map, precondition: Map, X: np.ndarray, R: np.ndarray, reached: Callable[..., bool], steps: int
) -> int:
    """Steps of conjugate gradients on X, with residual R, until R is small enough; how many. Both are written over."""
    Z = precondition(R)
    P, rz, n_iter = Z.copy(), _inner(R, Z), 0
    while n_iter < steps:
        n_iter += 1
        image = product(P)
        length = _quotient(rz, _inner(P, image))
        X += length * P
        R -= length * image
        if reached(X, R):
            break
        Z = precondition(R)
        rz, last = _inner(R, Z), rz
        P = Z + _quotient(rz, last) * P
    return n_iter


def _add_to_diagonal(matrix: np.ndarray, values: Any) -> None:
    matrix.reshape(-1)[:: len(matrix) + 1] += values


def _one_norm(matrix: np.ndarray) -> float:
    """The largest sum of absolute values of a row, without a copy of the matrix."""
    return max(float(np.abs(matrix[block]).sum(axis=1).max()) for block in row_blocks(*matrix.shape))


def _norms(V: np.ndarray) -> np.ndarray:
    return np.sqrt(_inner(V, V))


def _inner(V: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Inner products of the columns."""
    return np.einsum("ij,ij->j", V, W)


def _quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a / b, zero where a column is solved already."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
