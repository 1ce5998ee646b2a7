"""Kernels between the nodes of one graph."""

from abc import abstractmethod
from collections.abc import Callable, Hashable
from typing import Any, ClassVar

import numpy as np
from scipy.fft import dct
from scipy.sparse import csr_array, diags_array, eye_array

from mercer.data.graph import Graph
from mercer.errors import DomainError
from mercer.kernels.base import Kernel
from mercer.kernels.samples import describe
from mercer.kernels.vectors import Linear
from mercer.parameters import Choice, Number, told_bound
from mercer.sums import inner

__all__ = ["Diffusion", "PStepRandomWalk", "RegularizedLaplacian", "VonNeumann"]

# Graphs of up to so many nodes have their matrix decomposed.
MOST_DECOMPOSED = 2000
# Numbers that are held at once for columns of functions of a large matrix (64 MB).
COLUMN_ENTRIES = 1 << 23
# Steps towards the spectral radius of a large graph, at most.
POWER_STEPS = 200
EPS = np.finfo(np.float64).eps
# Terms of a series in Chebyshev's polynomials, at most.
MOST_TERMS = 1 << 20


class NodeNumbers:
    """Nodes of a graph, by their numbers."""

    __slots__ = ("numbers",)

    def __init__(self, numbers: np.ndarray):
        self.numbers = numbers

    @property
    def shape(self) -> tuple[int]:
        """Number of samples, as an array of samples would have it."""
        return self.numbers.shape

    def __getitem__(self, rows: Any) -> "NodeNumbers":
        return NodeNumbers(self.numbers[rows])


class _NodeKernel(Kernel):
    """A function f of a symmetric matrix M that describes the graph: K = f(M).

    A subclass says which matrix, and what f and its derivatives by parameters are at its eigenvalues.
    """

    domain = "nodes"
    _parameters: ClassVar = {"method": Choice("auto", "eigen", "products")}

    graph: Graph
    method: str

    @abstractmethod
    def _which(self) -> str:
        """The matrix M: "adjacency", "laplacian" or "normalized laplacian"."""

    @abstractmethod
    def _function(self, t: np.ndarray) -> np.ndarray:
        """f, which is not negative where eigenvalues may be."""

    @abstractmethod
    def _slopes(self, t: np.ndarray) -> dict[str, np.ndarray]:
        """Derivatives of f by parameters."""

    def _check_parameters(self):
        name = type(self).__name__
        if not isinstance(self.graph, Graph):
            raise TypeError(f"graph must be a mercer.data.Graph, got {type(self.graph).__name__}.")
        if self.graph.directed:
            raise ValueError(f"{name} needs a graph without directions, got {self.graph!r}.")
        if self.graph.weights is not None and (self.graph.weights < 0).any():
            raise ValueError(f"{name} needs a graph with weights >= 0, the smallest is {self.graph.weights.min():g}.")
        super()._check_parameters()

    def prepare(self, X, Y=None):
        of_X = self._numbers(X, "X")
        return of_X, of_X if Y is None or Y is X else self._numbers(Y, "Y")

    def _numbers(self, X: Any, name: str) -> NodeNumbers:
        if isinstance(X, NodeNumbers):
            return X
        nodes: Any = X.to_list() if hasattr(X, "to_list") else X  # a column of a data frame
        if isinstance(nodes, np.ndarray):
            nodes = (nodes[:, 0] if nodes.shape[1:] == (1,) else nodes).tolist()
        if not isinstance(nodes, (list, tuple, range)):
            raise DomainError(f"{type(self).__name__} works on nodes of its graph, got {describe(X)} as {name}.")
        number_of = _number_of(self.graph)
        numbers = np.empty(len(nodes), dtype=np.intp)
        for i, node in enumerate(nodes):
            try:
                numbers[i] = number_of[node]
            except (KeyError, TypeError) as error:
                called = "by name" if self.graph.names else f"by number, below {self.graph.n_nodes}"
                raise DomainError(
                    f"{type(self).__name__} works on nodes of its graph, {called}, got {node!r} in {name}."
                ) from error
        return NodeNumbers(numbers)

    # --- K = f(M) -----------------------------------------------------------------------------------------

    def _decomposed(self) -> bool:
        return self.method == "eigen" or (self.method == "auto" and self.graph.n_nodes <= MOST_DECOMPOSED)

    def _matrix(self, X, Y):
        if self._decomposed():
            features = self._node_features()
            return Linear()._matrix(features[X.numbers], features[Y.numbers])
        return self._entries(X.numbers, Y.numbers, self._function)

    def _diag(self, X):
        if self._decomposed():
            return Linear()._diag(self._node_features()[X.numbers])
        found, where = np.unique(X.numbers, return_inverse=True)
        return self._column_entries(found, self._function, lambda column, _: column)[where]

    def _dot(self, X, Y, V):
        if self._decomposed():
            return super()._dot(X, Y, V)
        # f(M) times one vector for every column of V: none for each node.
        spread = np.zeros((self.graph.n_nodes, V.shape[1]))
        np.add.at(spread, Y.numbers, V)
        return self._applied(self._function, spread)[X.numbers]

    def _vjp(self, X, W):
        if self._decomposed():
            values, vectors = self._eigen()
            rows = vectors[X.numbers]
            weights = np.einsum("ik,ik->k", rows, W @ rows)
            return {name: float(slope @ weights) for name, slope in self._slopes(values).items()}
        slopes = self._slopes(np.zeros(1))
        return {
            name: float(np.vdot(W, self._entries(X.numbers, X.numbers, lambda t, name=name: self._slopes(t)[name])))
            for name in slopes
        }

    def _applied(self, function: Callable, V: np.ndarray) -> np.ndarray:
        """f(M) V"""
        M, low, high = _operator(self.graph, self._which())
        return _sum_of_chebyshev(M, low, high, chebyshev_series(function, low, high), V)

    def _eigen(self) -> tuple[np.ndarray, np.ndarray]:
        return _eigen(self.graph, self._which())

    def _node_features(self) -> np.ndarray:
        """Rows whose inner products are the kernel values."""
        values, vectors = self._eigen()
        return np.ascontiguousarray(vectors * np.sqrt(self._function(values)))

    def _entries(self, rows: np.ndarray, columns: np.ndarray, function: Callable) -> np.ndarray:
        """Entries of f(M) from its columns: (f(M)_ij + f(M)_ji) / 2, whatever the order of the two nodes."""
        if len(rows) == 0 or len(columns) == 0:
            return np.zeros((len(rows), len(columns)))
        x, i = np.unique(rows, return_inverse=True)
        y, j = np.unique(columns, return_inverse=True)
        F = self._column_entries(y, function, lambda _, block: block[x])
        # No entry between two nodes of the same side is held: one side may be the whole graph.
        mirrored = F if np.array_equal(x, y) else self._column_entries(x, function, lambda _, block: block[y])
        return (F[np.ix_(i, j)] + mirrored.T[np.ix_(i, j)]) / 2

    def _column_entries(self, nodes: np.ndarray, function: Callable, read: Callable) -> np.ndarray:
        """What `read` takes of the columns of f(M) that belong to some nodes.

        Columns are computed some at a time, each by itself, from products of M with vectors.
        """
        step = max(1, COLUMN_ENTRIES // max(1, self.graph.n_nodes))
        parts = []
        for start in range(0, len(nodes), step):
            some = nodes[start : start + step]
            block = np.zeros((self.graph.n_nodes, len(some)))
            block[some, np.arange(len(some))] = 1.0
            block = self._applied(function, block)
            parts.append(read(block[some, np.arange(len(some))], block))
        return np.concatenate(parts, axis=-1) if parts else np.zeros(0)


class _LaplacianKernel(_NodeKernel):
    """A function of the Laplacian of a graph, or of the normalised one, with a time beta."""

    _parameters: ClassVar = _NodeKernel._parameters | {"beta": Number(0), "normalize": Choice(True, False)}

    def __init__(self, graph, beta=1.0, normalize=False, method="auto"):
        self.graph = graph
        self.beta = beta
        self.normalize = normalize
        self.method = method

    def _which(self):
        return "normalized laplacian" if self.normalize else "laplacian"


class Diffusion(_LaplacianKernel):
    r"""Diffusion kernel: how much of what starts at one node has come to another.

    .. math:: K = e^{\beta H}, \qquad H = A - D

    with A the (weighted) adjacency matrix and D the diagonal matrix of its row sums, so that :math:`-H` is the
    Laplacian of the graph. It solves the diffusion equation :math:`dK/d\beta = HK`, :math:`K(0) = I`.

    Parameters
    ----------
    graph : Graph
        Without directions. Clones share it, and what was computed of it.
    beta : float >= 0, default=1.0
        How long it diffuses. Larger makes distant nodes more alike; 0 gives the identity.
    normalize : bool, default=False
        Whether the Laplacian is :math:`I - D^{-1/2} A D^{-1/2}`.
    method : {"auto", "eigen", "products"}, default="auto"
        By the eigenvalues of the matrix, or column by column by a series in Chebyshev's polynomials, which needs
        products of the sparse matrix with vectors alone. ``"auto"`` takes the first for up to 2000 nodes.

    See Also
    --------
    RegularizedLaplacian : Further reach, for the same nodes nearby.
    RandomWalk : A kernel between graphs.

    Notes
    -----
    Samples are the names of nodes if the graph has names, else their numbers. Weights, which must not be negative,
    count; labels and attributes of nodes and loops do not. By eigenvalues, time :math:`O(n^3)` once for a graph of n
    nodes and then O(n) for every entry; by products, time :math:`O(m \sqrt{\beta d})` for every different node among
    the samples, in a graph of m edges with at most d at a node. LAPACK is used, so that two machines may differ in the
    last bits.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 3.28-3.32.
    .. [2] R. I. Kondor, J. D. Lafferty, Diffusion kernels on graphs and other discrete structures, 2002.

    Examples
    --------
    >>> from mercer.data import Graph
    >>> from mercer.kernels import Diffusion
    >>> friends = Graph.from_edges([("Ann", "Bob"), ("Bob", "Eve"), ("Eve", "Joe")])
    >>> Diffusion(friends, beta=0.5)(["Ann", "Bob", "Joe"]).round(3)
    array([[0.674, 0.258, 0.01 ],
           [0.258, 0.474, 0.058],
           [0.01 , 0.058, 0.674]])
    """

    def _function(self, t):
        return np.exp(-self.beta * t)

    def _slopes(self, t):
        return {"beta": -t * np.exp(-self.beta * t)}


class RegularizedLaplacian(_LaplacianKernel):
    r"""Regularised Laplacian kernel.

    .. math:: K = (I + \beta L)^{-1}

    with L the Laplacian of the graph.

    Parameters
    ----------
    graph : Graph
        Without directions.
    beta : float >= 0, default=1.0
        Larger makes distant nodes more alike; 0 gives the identity.
    normalize : bool, default=False
        Whether the Laplacian is :math:`I - D^{-1/2} A D^{-1/2}`.
    method : {"auto", "eigen", "products"}, default="auto"
        As for `Diffusion`.

    See Also
    --------
    Diffusion : The exponential of the Laplacian.

    Notes
    -----
    Samples, what counts and cost are as for `Diffusion`; by products, time :math:`O(m \sqrt{\beta d})` for every
    different node.

    References
    ----------
    .. [1] A. J. Smola, R. Kondor, Kernels and regularization on graphs, 2003.

    Examples
    --------
    >>> from mercer.data import Graph
    >>> from mercer.kernels import RegularizedLaplacian
    >>> path = Graph(3, [(0, 1), (1, 2)])
    >>> RegularizedLaplacian(path)([0, 1, 2])
    array([[0.625, 0.25 , 0.125],
           [0.25 , 0.5  , 0.25 ],
           [0.125, 0.25 , 0.625]])
    """

    def _function(self, t):
        return 1 / (1 + self.beta * t)

    def _slopes(self, t):
        return {"beta": -t / (1 + self.beta * t) ** 2}


class PStepRandomWalk(_NodeKernel):
    r"""p-step random walk kernel.

    .. math:: K = (a I - \tilde L)^p = ((a - 1) I + D^{-1/2} A D^{-1/2})^p

    with :math:`\tilde L` the normalised Laplacian: up to scaling, p steps of a walk that may stay where it is.

    Parameters
    ----------
    graph : Graph
        Without directions.
    p : int >= 1, default=2
        Steps. Nodes that are further apart have the value 0.
    a : float >= 2, default=2.0
        Larger stays at a node more often.
    method : {"auto", "eigen", "products"}, default="auto"
        As for `Diffusion`.

    See Also
    --------
    Diffusion : The limit of many small steps.

    Notes
    -----
    Samples are as for `Diffusion`. Weights and loops count; a node without edges stays where it is. By products, time
    O(mp) for every different node.

    References
    ----------
    .. [1] A. J. Smola, R. Kondor, Kernels and regularization on graphs, 2003.

    Examples
    --------
    >>> from mercer.data import Graph
    >>> from mercer.kernels import PStepRandomWalk
    >>> ring = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    >>> PStepRandomWalk(ring, p=2)([0, 1, 2, 3]).round(3)
    array([[1.5, 1. , 0.5, 1. ],
           [1. , 1.5, 1. , 0.5],
           [0.5, 1. , 1.5, 1. ],
           [1. , 0.5, 1. , 1.5]])
    """

    _parameters: ClassVar = _NodeKernel._parameters | {"p": Number(1, integer=True), "a": Number(2)}

    def __init__(self, graph, p=2, a=2.0, method="auto"):
        self.graph = graph
        self.p = p
        self.a = a
        self.method = method

    def _which(self):
        return "normalized laplacian"

    def _function(self, t):
        return np.maximum(self.a - t, 0.0) ** self.p

    def _slopes(self, t):
        return {"a": self.p * np.maximum(self.a - t, 0.0) ** (self.p - 1)}


class VonNeumann(_NodeKernel):
    r"""von Neumann kernel: walks from one node to another.

    .. math:: K = (I - \alpha A)^{-1} = \sum_{n=0}^{\infty} \alpha^n A^n

    with A the (weighted) adjacency matrix: every walk of n steps counts :math:`\alpha^n`, times its weights.

    Parameters
    ----------
    graph : Graph
        Without directions.
    decay : float >= 0, default=0.01
        The number :math:`\alpha`. Larger counts longer walks more. It must be below the inverse of the spectral radius
        of A; a larger one is refused, with the bound.
    method : {"auto", "eigen", "products"}, default="auto"
        As for `Diffusion`.

    See Also
    --------
    RandomWalk : The same sum for two graphs.

    Notes
    -----
    Samples are as for `Diffusion`. Weights, which must not be negative, and loops count. By products, time
    :math:`O(m / \sqrt{1 - \alpha \rho})` for every different node, with :math:`\rho` the spectral radius.

    References
    ----------
    .. [1] J. Kandola, J. Shawe-Taylor, N. Cristianini, Learning semantic similarity, 2003.

    Examples
    --------
    >>> from mercer.data import Graph
    >>> from mercer.kernels import VonNeumann
    >>> ring = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    >>> VonNeumann(ring, decay=0.25)([0, 1, 2]).round(4)
    array([[1.1667, 0.3333, 0.1667],
           [0.3333, 1.1667, 0.3333],
           [0.1667, 0.3333, 1.1667]])
    >>> VonNeumann(ring, decay=0.6)([0, 1])
    Traceback (most recent call last):
    ...
    ValueError: decay must be a float >= 0 and below 0.5, the inverse of the spectral radius of the graph, got 0.6.
    """

    _parameters: ClassVar = _NodeKernel._parameters | {"decay": Number(0)}

    def __init__(self, graph, decay=0.01, method="auto"):
        self.graph = graph
        self.decay = decay
        self.method = method

    def _which(self):
        return "adjacency"

    def _check_parameters(self):
        super()._check_parameters()
        radius = _radius(self.graph)
        if not self.decay * radius < 1:
            raise ValueError(
                f"decay must be a float >= 0 and below {told_bound(1 / radius)}, the inverse of the spectral radius of "
                f"the graph, got {self.decay}."
            )

    def _function(self, t):
        return 1 / (1 - self.decay * t)

    def _slopes(self, t):
        return {"decay": t / (1 - self.decay * t) ** 2}


def _number_of(graph: Graph) -> dict[Hashable, int]:
    """Numbers of nodes by what samples call them."""
    names = range(graph.n_nodes) if graph.names is None else graph.names
    return graph._compute_once("numbers", lambda: {name: i for i, name in enumerate(names)})


# --- matrices of graphs -----------------------------------------------------------------------------------


def _sparse(graph: Graph, which: str) -> csr_array:
    A = graph.adjacency()
    if which == "adjacency":
        return A
    degrees = A.sum(axis=1)
    if which == "laplacian":
        return csr_array(diags_array(degrees) - A)
    roots = np.sqrt(np.divide(1.0, degrees, out=np.zeros_like(degrees), where=degrees > 0))
    # A node without edges has the row 0.
    return csr_array(diags_array((degrees > 0).astype(float)) - diags_array(roots) @ A @ diags_array(roots))


def _eigen(graph: Graph, which: str) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, within their bounds, and eigenvectors; computed once for a graph."""

    def compute() -> tuple[np.ndarray, np.ndarray]:
        values, vectors = np.linalg.eigh(_sparse(graph, which).toarray())
        if which != "adjacency":
            values = np.clip(values, 0.0, 2.0 if which == "normalized laplacian" else None)
        return values, vectors

    return graph._compute_once(f"eigenvalues of the {which}", compute)


def _operator(graph: Graph, which: str) -> tuple[csr_array, float, float]:
    """The matrix, and an interval that holds its eigenvalues."""

    def compute() -> tuple[csr_array, float, float]:
        M = _sparse(graph, which)
        if which == "adjacency":
            radius = _radius(graph)
            return M, -radius, radius
        largest = 2.0 if which == "normalized laplacian" else 2 * float(M.diagonal().max(initial=0.0))
        return M, 0.0, largest

    return graph._compute_once(which, compute)


def _radius(graph: Graph) -> float:
    """Largest eigenvalue of the adjacency matrix; of a large one an upper bound."""

    def compute() -> float:
        if graph.n_edges == 0:
            return 0.0
        if graph.n_nodes <= MOST_DECOMPOSED:
            return float(np.abs(_eigen(graph, "adjacency")[0]).max())
        return _bound_of_radius(graph.adjacency())

    return graph._compute_once("spectral radius", compute)


def _bound_of_radius(A: csr_array) -> float:
    """For every x > 0 the radius of A is at most max_i (A x)_i / x_i (Collatz and Wielandt).

    x comes from the power method for I + A, which does not swing between the sides of a bipartite graph.
    """
    x = np.ones(A.shape[0])
    bound = np.inf
    for _ in range(POWER_STEPS):
        product = A @ x
        bound = min(bound, float((product / x).max()))
        if bound * inner(x, x) <= (1 + 1e-12) * inner(x, product):
            break
        x = x + product
        x = np.maximum(x / x.max(), 1e-200)  # far from where the walks are
    return bound


# --- functions of large matrices --------------------------------------------------------------------------


def chebyshev_series(function: Callable[[np.ndarray], np.ndarray], low: float, high: float) -> np.ndarray:
    """Coefficients of Chebyshev's polynomials on [low, high] that give a smooth function to rounding."""
    ends = function(np.array([low, high]))
    size = 16
    while size <= MOST_TERMS:
        # The points (high + low) / 2 + (high - low) / 2 cos(angle), by half angles: their distances to `low`, where
        # functions are steep, are right to the last digits.
        half_angles = np.pi * (np.arange(size)[::-1] + 0.5) / (2 * size)
        points = low + (high - low) * np.sin(half_angles) ** 2
        values = function(points)
        coefficients = dct(values, type=2) / size
        coefficients[0] /= 2
        change = np.abs(function(points * (1 + EPS)) - values)  # by the rounding of a point
        rounding = 1e-15 * np.abs(coefficients).max() + 2 * change.mean()
        above_rounding = np.flatnonzero(np.abs(coefficients) > rounding)
        last = above_rounding[-1] if len(above_rounding) else 0
        if last < size - size // 4:  # what comes after it is rounding alone
            found = coefficients[: last + 1]
            # A function that is large at one end alone may have no point where it is.
            sums = np.array([found[::2].sum() - found[1::2].sum(), found.sum()])
            if np.abs(sums - ends).max() <= 1e-9 * max(np.abs(ends).max(), np.abs(values).max()):
                return found
        size *= 2
    raise ValueError("The function of the matrix needs too many products; take a parameter further from its bound.")


def _sum_of_chebyshev(M: csr_array, low: float, high: float, coefficients: np.ndarray, V: np.ndarray) -> np.ndarray:
    """sum_k c_k T_k(x(M)) V with x from [low, high] to [-1, 1], by the recursion of the polynomials."""
    total = coefficients[0] * V
    if len(coefficients) == 1 or high == low:
        return total
    # twice x(M), as the recursion T_k+1 = 2 x T_k - T_k-1 has it
    twice = csr_array((M - (high + low) / 2 * eye_array(M.shape[0])) * (4 / (high - low)))
    before, now = V, twice @ V / 2
    total += coefficients[1] * now
    for coefficient in coefficients[2:]:
        following = twice @ now
        following -= before
        before, now = now, following
        total += coefficient * now
    return total
