"""The largest eigenvalues of kernel matrices with their eigenvectors, from few products with the matrix."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg.blas import dgemm, dsymv
from sklearn.utils import check_random_state

from mercer.gram.checks import as_matrix, as_weights
from mercer.gram.sources import Gram, MatrixGram
from mercer.parameters import Choice, Number

__all__ = ["Eigenpairs", "leading_eigenpairs"]

METHODS = Choice("auto", "dense", "lanczos")
# All eigenpairs at once for up to so many samples, or where more than one in so many is wanted.
FEW_SAMPLES, MANY_WANTED = 200, 8
# Directions that are kept at most, beside some for each pair that is wanted.
ROOM, ROOM_PER_PAIR = 64, 6
# Directions that a product takes at once where the matrix is made anew for every product.
BLOCK = 16
# Products with fresh directions before nothing is taken to be missed.
DOUBTS = 4
# So many products for every sample, and no more.
PATIENCE = 10
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Some eigenvalues and eigenvectors of a symmetric matrix A, with the proof of how good they are.

    Within `residuals[i]` of `values[i]` there is an eigenvalue of A, whatever the method did. That no larger one was
    missed is certain where the method is "dense"; else it has been looked for in fresh random directions.

    See Also
    --------
    leading_eigenpairs : Makes it.
    """

    values: np.ndarray
    """Eigenvalues, from the largest on."""
    vectors: np.ndarray = field(repr=False)
    """Their eigenvectors, orthonormal, shape (n, k)."""
    residuals: np.ndarray
    """Length of A v - value v for every pair, in float64 for what is returned."""
    lowest: float
    """The smallest eigenvalue of A, or an upper bound of it where the method is "lanczos"."""
    method: str
    """"dense" or "lanczos"."""
    status: str
    """"solved", or "max_iter" where it ran out of products."""
    n_iter: int
    """Products of A with a vector."""
    seconds: float
    """Wall-clock time."""

    @property
    def objective(self) -> float:
        """The sum of the eigenvalues: what the best k orthonormal directions explain."""
        return float(self.values.sum())

    @property
    def gap(self) -> float:
        """By how much the sum of as many true eigenvalues near by can differ from the objective, at most."""
        return float(self.residuals.sum())

    @property
    def bound(self) -> float:
        """objective + gap."""
        return self.objective + self.gap

    @property
    def violation(self) -> float:
        """The largest residual over the largest eigenvalue; if solved, about `tol` at most."""
        scale = float(np.abs(self.values).max(initial=0.0))
        return float(self.residuals.max(initial=0.0)) / scale if scale else 0.0

    def __str__(self) -> str:
        lines = [
            f"status             {self.status}",
            f"eigenpairs         {len(self.values)}",
            f"largest            {self.values.max(initial=0.0):.10g}",
            f"largest residual   {self.residuals.max(initial=0.0):.3g} (relative {self.violation:.2g})",
            f"method             {self.method}",
            f"products           {self.n_iter}",
            f"seconds            {self.seconds:.3g}",
        ]
        return "\n".join(lines)


def leading_eigenpairs(
    K: Any,
    k: int,
    *,
    center: bool = False,
    sample_weight: Any = None,
    method: str = "auto",
    tol: float = 1e-10,
    max_iter: int | None = None,
    random_state: Any = 0,
) -> Eigenpairs:
    r"""The k largest eigenvalues of a kernel matrix, with their eigenvectors.

    .. math:: A v = \lambda v, \qquad A = D^{1/2} (I - 1 \omega^T)\, K\, (I - \omega 1^T) D^{1/2}

    with the weights of the samples in D and, where the matrix is centred, their shares :math:`\omega`; else without the
    brackets. The centred matrix is never formed.

    Parameters
    ----------
    K : array of shape (n, n), or Gram
        Of a Gram only products with some vectors are asked for, unless the method is "dense".
    k : int >= 1
        How many; n at most.
    center : bool, default=False
        Whether the origin is moved to the mean of the samples in feature space.
    sample_weight : array of shape (n,), default=None
        A weight of 2 is the sample twice, one of 0 no sample.
    method : {"auto", "dense", "lanczos"}, default="auto"
        "dense": all eigenpairs by LAPACK, in O(n^3). "lanczos": Lanczos' method with full orthogonalisation, a handful
        of products for every pair. "auto": dense for up to 200 samples, or where more than one pair in eight is wanted.
    tol : float >= 0, default=1e-10
        Largest residual, as a share of the largest eigenvalue. 0: as small as rounding lets it be.
    max_iter : int >= 1 or None, default=None
        Most products of the matrix with a vector; None: ten for every sample.
    random_state : int, RandomState or None, default=0
        Draws the direction to start from.

    Returns
    -------
    Eigenpairs

    See Also
    --------
    spectrum : All eigenvalues, and what they tell.
    low_rank : From some columns, cheaper and less exact.

    Notes
    -----
    Lanczos' method takes O(n^2) for a product and O(n m) for the m directions it keeps, 6 k + 64 at most: then it goes
    on from the best of them. A single direction sees one eigenvector of every eigenvalue only. So once the pairs have
    converged, a fresh direction is drawn outside of what has been seen; when it has nothing to add after some products,
    the pairs are returned. Where the matrix is not in memory, products are with 16 directions at once. By BLAS: equal
    up to rounding for any number of threads.

    References
    ----------
    .. [1] K. Wu, H. Simon, Thick-restart Lanczos method for large symmetric eigenvalue problems, SIAM Journal on Matrix
       Analysis and Applications 22, 2000.

    Examples
    --------
    >>> from mercer.gram import leading_eigenpairs
    >>> found = leading_eigenpairs([[2.0, 1.0], [1.0, 2.0]], 1)
    >>> found.values.round(6), abs(found.vectors[:, 0]).round(6)
    (array([3.]), array([0.707107, 0.707107]))
    """
    for name, rule, value in (
        ("k", Number(1, integer=True), k),
        ("center", Choice(True, False), center),
        ("method", METHODS, method),
        ("tol", Number(0), tol),
        ("max_iter", Number(1, integer=True, none=True), max_iter),
    ):
        if problem := rule.problem(value):
            raise ValueError(f"{name} {problem}")
    started = time.perf_counter()
    gram = K if isinstance(K, Gram) else MatrixGram.of_checked(as_matrix(K), None)
    if isinstance(gram, MatrixGram):  # once, not for every product
        gram = MatrixGram.of_checked(gram.matrix.astype(np.float64, copy=False), None)
    if k > gram.n:
        raise ValueError(f"k must be at most the number of samples, {gram.n}, got {k}.")
    seen = Weighing(gram, center, sample_weight)
    if method == "auto":
        method = "dense" if gram.n <= FEW_SAMPLES or k * MANY_WANTED > gram.n else "lanczos"
    if method == "dense":
        A = seen.matrix()
        values, vectors = np.linalg.eigh(A)
        vectors, n_iter, status = np.ascontiguousarray(vectors[:, ::-1][:, :k]), 0, "solved"
        product = A @ vectors
    else:
        block = 1 if isinstance(gram, MatrixGram) else BLOCK
        limit = max_iter or PATIENCE * gram.n
        values, vectors, n_iter, status = _lanczos(
            seen.product, gram.n, k, block, tol, limit, check_random_state(random_state)
        )
        product = seen.product(vectors)
    lowest, values = float(values.min()), np.sort(values)[::-1][:k]
    residuals = np.linalg.norm(product - vectors * values, axis=0)
    return Eigenpairs(values, vectors, residuals, lowest, method, status, n_iter, time.perf_counter() - started)


class Weighing:
    """A kernel matrix seen from the mean of its samples, with their weights: A = D^(1/2) H K H' D^(1/2)."""

    def __init__(self, gram: Gram, center: bool, sample_weight: Any):
        self.gram = gram
        share = as_weights(sample_weight, gram.n)
        self.root = None if sample_weight is None else np.sqrt(np.asarray(sample_weight, dtype=np.float64))
        self.share = share if center else None

    def product(self, V: np.ndarray) -> np.ndarray:
        """A @ V for columns V."""
        if self.root is not None:
            V = self.root[:, np.newaxis] * V
        if self.share is not None:
            V = V - np.outer(self.share, V.sum(axis=0))
        P = symmetric_product(self.gram, V)
        if self.share is not None:
            P -= self.share @ P
        return P if self.root is None else self.root[:, np.newaxis] * P

    def matrix(self) -> np.ndarray:
        """A itself."""
        A = self.gram.square(np.arange(self.gram.n))
        A = 0.5 * (A + A.T)
        if self.share is not None:
            with_mean = A @ self.share
            A -= with_mean
            A -= with_mean[:, np.newaxis] - self.share @ with_mean
        if self.root is not None:
            A *= self.root
            A *= self.root[:, np.newaxis]
        return A


def symmetric_product(gram: Gram, V: np.ndarray) -> np.ndarray:
    """K @ V; of a matrix in memory and for one column one triangle is read only."""
    if not isinstance(gram, MatrixGram) or gram.matrix.dtype != np.float64:
        return gram.dot(np.ascontiguousarray(V))
    if V.shape[1] == 1:
        return dsymv(1.0, gram.matrix.T, V[:, 0], lower=1)[:, np.newaxis]
    return dgemm(1.0, gram.matrix.T, np.asfortranarray(V))  # columns of K are its rows: the layout that BLAS likes


def _lanczos(
    product: Callable[[np.ndarray], np.ndarray], n: int, k: int, block: int, tol: float, limit: int, rng: Any
) -> tuple[np.ndarray, np.ndarray, int, str]:
    """All Ritz values, descending, the vectors of the first k, the number of products, and a status."""
    block = min(block, n)
    basis = _Basis(product, n, min(n, max(ROOM + ROOM_PER_PAIR * k, 4 * block + 2 * k)))
    basis.draw(rng, block)
    settled: np.ndarray | None = None  # the values that a fresh direction is to leave as they are
    look, active, last = k, basis.waiting(), (0, np.inf)
    while basis.n_products < limit:
        children = basis.expand(active[:block])
        if basis.n_seen < look and len(children) and not basis.full(block):
            active = children
            continue
        values, Y, couplings = basis.ritz()
        wanted = couplings[:, :k]
        # In units of what is asked for; what rounding leaves counts as nothing.
        size = max(tol, EPS) * float(np.abs(values).max()) or 1.0
        residual = float(np.linalg.norm(wanted, axis=0).max(initial=0.0)) / size
        complete = basis.n_seen == n
        if complete or (residual <= 1.0 and basis.n_seen >= k):
            top, scale = values[:k], max(tol, n * EPS) * np.abs(values).max()
            if complete or (settled is not None and np.all(top - settled <= scale)):
                return values, basis.vectors(Y[:, :k]), basis.n_products, "solved"
            settled = top
            fresh = basis.draw(rng, block, values, Y, couplings, k)
            active = fresh if len(fresh) else basis.waiting()
            look = basis.n_seen + DOUBTS * block
            continue
        if basis.full(block):
            basis.restart(values, Y, couplings, k)
            wanted = couplings[:, :k]
        waiting = basis.waiting()
        active = waiting[np.argsort(-np.linalg.norm(wanted, axis=1), kind="stable")] if len(waiting) else waiting
        if not len(active):
            active = basis.draw(rng, block)
        look = basis.n_seen + _steps(basis.n_seen, residual, *last)
        last = basis.n_seen, residual
    values, Y, _ = basis.ritz()
    k = min(k, len(values))
    return values, basis.vectors(Y[:, :k]), basis.n_products, "max_iter"


def _steps(n_seen: int, residual: float, n_before: int, before: float) -> int:
    """How many more directions are to be seen before it is worth a look at the Ritz values.

    Residuals fall exponentially once they fall: as many as it would take at the last rate to reach 1.
    """
    most = max(2, n_seen // 8)
    if not 0.0 < residual < before < np.inf:
        return most
    needed = np.log(residual) * (n_seen - n_before) / np.log(before / residual)
    return int(np.clip(np.ceil(needed), 1, most))


class _Basis:
    """Orthonormal directions Q, and H = Q'AQ as far as it is known.

    A has been applied to the directions that are *seen*; its images lie in the span of all directions, those that are
    *waiting* included. Over the seen ones, H gives Ritz values and vectors; its rows of the waiting ones give their
    residuals, exactly.
    """

    def __init__(self, product: Callable[[np.ndarray], np.ndarray], n: int, capacity: int):
        self.product = product
        self.Q = np.empty((n, capacity), order="F")
        self.H = np.zeros((capacity, capacity))
        self.seen = np.zeros(capacity, dtype=bool)
        self.size = self.n_products = 0
        self.scale = 0.0  # of the images: what is much smaller is rounding

    @property
    def n_seen(self) -> int:
        return int(self.seen.sum())

    def waiting(self) -> np.ndarray:
        return np.flatnonzero(~self.seen[: self.size])

    def full(self, block: int) -> bool:
        """Whether there is no room for the children of another block."""
        n, capacity = self.Q.shape
        return capacity < n and self.size + block > capacity

    def expand(self, which: np.ndarray) -> np.ndarray:
        """Apply A to waiting directions; gives the new directions that come of it."""
        known = self.size
        images = np.asfortranarray(self.product(self.Q[:, which]))
        self.n_products += len(which)
        self.scale = max(self.scale, float(np.linalg.norm(images, axis=0).max()))
        Q = self.Q[:, :known]
        projected = Q.T @ images
        images -= Q @ projected
        self.H[:known, which] = projected
        self.H[which, :known] = projected.T
        self.seen[which] = True
        for j, image in zip(which, images.T, strict=True):
            self._append(image, j, known)
        return np.arange(known, self.size)

    def _append(self, w: np.ndarray, parent: int | None, known: int) -> None:
        """What a vector adds to the span, as a new direction; what it has of those above `known` is written down."""
        before = float(np.linalg.norm(w))
        for _ in range(2):  # once is not orthogonal enough
            Q = self.Q[:, : self.size]
            parts = Q.T @ w
            w = w - Q @ parts
            if parent is not None:
                new = np.arange(known, self.size)
                self.H[new, parent] += parts[new]
                self.H[parent, new] += parts[new]
            after = float(np.linalg.norm(w))
            if after > 0.5 * before:
                break
            before = after
        if after <= 4 * len(w) ** 0.5 * EPS * (self.scale if parent is not None else 1.0):
            return
        if self.size == self.Q.shape[1]:
            return
        self.Q[:, self.size] = w / after
        if parent is not None:
            self.H[self.size, parent] = self.H[parent, self.size] = after
        self.size += 1

    def draw(self, rng: Any, count: int, *restart: Any) -> np.ndarray:
        """Fresh random directions outside of the span; makes room for them, with what `restart` takes."""
        if restart and self.full(count + 1):
            self.restart(*restart)
        known, (n, capacity) = self.size, self.Q.shape
        while self.size < min(known + count, capacity):
            self._append(rng.standard_normal(n) / np.sqrt(n), None, known)
        return np.arange(known, self.size)

    def ritz(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ritz values over the seen directions, descending, their coefficients, and what couples them to the others."""
        seen = np.flatnonzero(self.seen[: self.size])
        values, Y = np.linalg.eigh(self.H[np.ix_(seen, seen)])
        values, Y = values[::-1], Y[:, ::-1]
        return values, Y, self.H[np.ix_(self.waiting(), seen)] @ Y

    def vectors(self, Y: np.ndarray) -> np.ndarray:
        """Ritz vectors from their coefficients."""
        return self.Q[:, np.flatnonzero(self.seen[: self.size])] @ Y

    def restart(self, values: np.ndarray, Y: np.ndarray, couplings: np.ndarray, k: int) -> None:
        """Keep the best Ritz vectors, and the directions that wait."""
        waiting = self.waiting()
        keep = min(len(values), (k + self.Q.shape[1] - len(waiting)) // 2)
        fresh = np.column_stack([self.vectors(Y[:, :keep]), self.Q[:, waiting]])
        self.size = fresh.shape[1]
        self.Q[:, : self.size] = fresh
        self.seen[:] = False
        self.seen[:keep] = True
        self.H[:] = 0.0
        self.H[np.arange(keep), np.arange(keep)] = values[:keep]
        self.H[keep : self.size, :keep] = couplings[:, :keep]
        self.H[:keep, keep : self.size] = couplings[:, :keep].T
