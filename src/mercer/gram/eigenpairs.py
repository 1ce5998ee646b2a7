"""The largest eigenvalues of kernel matrices with their eigenvectors, from few products with the matrix."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer import _native
from mercer.checkpoints import Bookmark
from mercer.gram.checks import as_matrix, as_weights
from mercer.gram.features import FeatureGram
from mercer.gram.sources import Gram, MatrixGram
from mercer.parameters import Choice, Number
from mercer.threads import effective_n_threads, one_blas_thread

__all__ = ["Eigenpairs", "leading_directions", "leading_eigenpairs"]

METHODS = Choice("auto", "dense", "lanczos")
# All eigenpairs at once for up to so many samples, or where more than one in so many is wanted.
FEW_SAMPLES, MANY_WANTED = 200, 8
# Blocks of directions that are kept at most, beside some directions for each pair that is wanted.
ROOM, ROOM_PER_PAIR = 16, 6
# Directions that a product takes at once, where the matrix is in memory and where it is made anew for every product:
# four pass through the matrix in the time of one, and to make it is dearer than to read it.
BLOCK_STORED, BLOCK_MADE = 4, 16
# Products with blocks of fresh directions before nothing is taken to be missed.
DOUBTS = 3
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
    bookmark: Bookmark | None = None,
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
    bookmark : Bookmark or None, default=None
        Where Lanczos' method goes on from, and keeps how far it is.

    Returns
    -------
    Eigenpairs

    See Also
    --------
    spectrum : All eigenvalues, and what they tell.
    low_rank : From some columns, cheaper and less exact.

    Notes
    -----
    Lanczos' method takes O(n^2) for a product and O(n m) for the m directions it keeps, 16 blocks and 6 k at most: then
    it goes on from the best of them [1]_. A block is four directions, which go through one half of the matrix together:
    that costs little more than one of them, and half as many passes are needed. It is 16 where the matrix is not in
    memory. A block sees no more eigenvectors of an eigenvalue than it has directions. So once the pairs have converged,
    a fresh one is drawn outside of what has been seen; when it has nothing to add after some products, the pairs are
    returned. Directions are made orthogonal by BLAS: equal up to rounding for any number of threads.

    References
    ----------
    .. [1] K. Wu, H. Simon, Thick-restart Lanczos method for large symmetric eigenvalue problems, SIAM Journal on Matrix
       Analysis and Applications 22, 2000; in blocks: G. Golub, R. Underwood, The block Lanczos method for computing
       eigenvalues, Mathematical Software III, 1977.

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
    block = BLOCK_STORED if isinstance(gram, MatrixGram) else BLOCK_MADE
    seen = Weighing(gram, center, sample_weight)
    return _pairs(seen, gram.n, k, block, method, tol, max_iter, random_state, bookmark, started)


def leading_directions(
    gram: FeatureGram,
    k: int,
    weight: np.ndarray,
    *,
    method: str = "auto",
    tol: float = 1e-10,
    max_iter: int | None = None,
    random_state: Any = 0,
    bookmark: Bookmark | None = None,
) -> Eigenpairs:
    r"""The k directions in the space of features along which samples vary most.

    .. math:: A v = \lambda v, \qquad A = \sum_i \omega_i (\phi_i - \bar\phi) (\phi_i - \bar\phi)^T, \qquad
              \bar\phi = \frac{\sum_i \omega_i \phi_i}{\sum_i \omega_i}

    Parameters
    ----------
    gram : FeatureGram
        Of m features.
    k : int >= 1
        How many; m at most.
    weight : array of shape (n,)
        omega >= 0.
    method : {"auto", "dense", "lanczos"}, default="auto"
        "dense": all second moments, O(n m^2), and LAPACK. "lanczos": some products with A, a pass over the samples
        each. "auto": dense for up to 200 features, or where more than one direction in eight is wanted.
    tol, max_iter, random_state, bookmark
        As for `leading_eigenpairs`.

    Returns
    -------
    Eigenpairs
        With `vectors` of shape (m, k).

    See Also
    --------
    leading_eigenpairs : Of the kernel matrix itself.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import LandmarkGram, leading_directions
    >>> from mercer.kernels import Linear
    >>> X = np.array([[1.0, 2.0], [3.0, 2.0], [5.0, 2.0]])
    >>> leading_directions(LandmarkGram(Linear(), X, X), 1, np.ones(3)).values.round(6)
    array([8.])
    """
    return _pairs(Spread(gram, weight), gram.n_weights, k, BLOCK_MADE, method, tol, max_iter, random_state, bookmark)


def _pairs(
    seen: "Weighing | Spread",
    n: int,
    k: int,
    block: int,
    method: str,
    tol: float,
    max_iter: int | None,
    random_state: Any,
    bookmark: Bookmark | None,
    started: float | None = None,
) -> Eigenpairs:
    """The k largest eigenvalues of a symmetric matrix of size n, by one method or the other."""
    started = time.perf_counter() if started is None else started
    if bookmark is not None and bookmark.state is not None:
        started -= bookmark.state["seconds"]
    if method == "auto":
        method = "dense" if n <= FEW_SAMPLES or k * MANY_WANTED > n else "lanczos"
    if method == "dense":
        A = seen.matrix()
        values, vectors = np.linalg.eigh(A)
        lowest, n_iter, status = float(values[0]) if n else 0.0, 0, "solved"
        values, vectors = values[::-1][:k], np.ascontiguousarray(vectors[:, ::-1][:, :k])
        product = A @ vectors
    else:
        limit = max_iter or PATIENCE * n
        with one_blas_thread():
            values, vectors, lowest, n_iter, status = _lanczos(
                seen.product, n, k, block, tol, limit, check_random_state(random_state), bookmark, started
            )
            product = seen.product(vectors)
    residuals = np.linalg.norm(product - vectors * values, axis=0)
    return Eigenpairs(values, vectors, residuals, lowest, method, status, n_iter, time.perf_counter() - started)


class Spread:
    """Second moments of features about their mean."""

    def __init__(self, gram: FeatureGram, weight: np.ndarray):
        self.gram, self.weight, self.total = gram, weight, float(weight.sum())
        self.sums = gram.sums(weight)

    def product(self, V: np.ndarray) -> np.ndarray:
        """A @ V for columns V, in one pass over the samples."""
        product = self.gram.moments_times(np.ascontiguousarray(V), self.weight)
        return product - np.outer(self.sums, self.sums @ V / self.total)

    def matrix(self) -> np.ndarray:
        """A itself."""
        A = self.gram.moments(self.weight) - np.outer(self.sums, self.sums / self.total)
        return 0.5 * (A + A.T)


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
    """K @ V; of a matrix in memory one triangle is read only."""
    V = np.ascontiguousarray(V)
    if isinstance(gram, MatrixGram) and gram.matrix.dtype == np.float64:
        return np.asarray(_native.symmetric_product(gram.matrix, V, effective_n_threads()))
    return gram.dot(V)


def _lanczos(
    product: Callable[[np.ndarray], np.ndarray],
    n: int,
    k: int,
    block: int,
    tol: float,
    limit: int,
    rng: Any,
    bookmark: Bookmark | None,
    started: float,
) -> tuple[np.ndarray, np.ndarray, float, int, str]:
    """The k largest Ritz values and their vectors, the lowest that was seen, the number of products, and a status."""
    block = min(block, n)
    kept = None if bookmark is None else bookmark.state
    # More memory than before may have made blocks larger.
    room = ROOM * block + ROOM_PER_PAIR * k if kept is None else kept["Q"].shape[1] + block
    basis = _Basis(product, n, min(n, max(room, ROOM * block + ROOM_PER_PAIR * k)))
    settled: np.ndarray | None = None  # the values that a fresh direction is to leave as they are
    if kept is None:
        basis.draw(rng, block)
        look, active, last = k, basis.waiting(), (0, np.inf)
    else:
        basis.go_on_from(kept)
        settled, look, active = kept.get("settled"), kept["look"], kept["active"]
        last = kept["n_before"], float(kept["before"][0])
        # What is drawn from here on is to be other than what has been drawn.
        rng = np.random.RandomState([basis.n_products, basis.size])

    def keep() -> None:
        assert bookmark is not None
        found = {} if settled is None else {"settled": settled}
        at = {"look": int(look), "active": active, "n_before": int(last[0]), "before": np.array([last[1]])}
        bookmark.note({"seconds": time.perf_counter() - started, **basis.state(), **found, **at})

    while basis.n_products < limit:
        if bookmark is not None and bookmark.is_due():
            keep()
        children = basis.expand(active[: min(block, limit - basis.n_products)])
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
                return top, basis.vectors(Y[:, :k]), basis.lowest, basis.n_products, "solved"
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
    if bookmark is not None:
        keep()
    values, Y, _ = basis.ritz()
    return values[:k], basis.vectors(Y[:, :k]), basis.lowest, basis.n_products, "max_iter"


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
        self.lowest = np.inf  # of all Ritz values: each is an upper bound of the smallest eigenvalue

    def state(self) -> dict[str, Any]:
        """What it needs to go on from here."""
        size, scales = self.size, np.array([self.scale, self.lowest])
        arrays = {"Q": self.Q[:, :size], "H": self.H[:size, :size], "seen": self.seen[:size], "scales": scales}
        return {"n_products": self.n_products, **{name: array.copy() for name, array in arrays.items()}}

    def go_on_from(self, state: dict[str, Any]) -> None:
        """Take what an empty basis needs from the state of another one."""
        size = self.size = len(state["seen"])
        self.Q[:, :size], self.H[:size, :size], self.seen[:size] = state["Q"], state["H"], state["seen"]
        self.n_products, (self.scale, self.lowest) = state["n_products"], state["scales"].tolist()

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
        images = self.product(self.Q[:, which])
        self.n_products += len(which)
        self.scale = max(self.scale, float(np.linalg.norm(images, axis=0).max()))
        projected = self._adopt(images, self.scale)
        self.H[: self.size, which] = projected
        self.H[which, : self.size] = projected.T
        self.seen[which] = True
        return np.arange(known, self.size)

    def _adopt(self, W: np.ndarray, scale: float) -> np.ndarray:
        """What the columns of W add to the span, as new directions; gives Q'W.

        A column that adds less than rounding makes of vectors of length `scale` adds nothing.
        """
        known, Q = self.size, self.Q[:, : self.size]
        along, across = np.zeros((known, W.shape[1])), np.eye(W.shape[1])
        # Once is not orthogonal enough. The second time they start from length one: what has lost half of it was noise.
        for least in (4 * len(W) ** 0.5 * EPS * scale, 0.5):
            parts = Q.T @ W
            along += parts @ across
            W, sizes, turn = _svd(W - Q @ parts)
            new = sizes > least
            W, across = W[:, new], (sizes[:, np.newaxis] * turn)[new] @ across
        self.size = min(known + W.shape[1], self.Q.shape[1])
        self.Q[:, known : self.size] = W[:, : self.size - known]
        return np.vstack([along, across[: self.size - known]])

    def draw(self, rng: Any, count: int, *restart: Any) -> np.ndarray:
        """Fresh random directions outside of the span; makes room for them, with what `restart` takes."""
        if restart and self.full((DOUBTS + 1) * count):
            self.restart(*restart)
        known, (n, capacity) = self.size, self.Q.shape
        while missing := min(known + count, capacity) - self.size:
            self._adopt(rng.standard_normal((missing, n)).T / np.sqrt(n), 1.0)
        return np.arange(known, self.size)

    def ritz(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ritz values over the seen directions, descending, their coefficients, and what couples them to the others."""
        seen = np.flatnonzero(self.seen[: self.size])
        values, Y = np.linalg.eigh(self.H[np.ix_(seen, seen)])
        values, Y = values[::-1], Y[:, ::-1]
        self.lowest = min(self.lowest, float(values[-1]))
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


def _svd(W: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The singular value decomposition of a tall matrix, from that of its small triangular factor."""
    Q, R = np.linalg.qr(W)
    U, sizes, turn = np.linalg.svd(R)
    return Q @ U, sizes, turn
