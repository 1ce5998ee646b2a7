"""The kernel of common walks."""

from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh_tridiagonal

from mercer import _native
from mercer.data.graph import Graph
from mercer.kernels.base import Kernel
from mercer.kernels.graphs.base import (
    NODE_LABELS,
    GraphSamples,
    as_graphs,
    check_graphs,
    check_node_labels,
    pack,
)
from mercer.parameters import Choice, Number, told_bound
from mercer.threads import effective_n_threads

__all__ = ["RandomWalk"]

# Graphs of more nodes have so many values of a Gauss quadrature in the place of their eigenvalues.
MOST_EIGENVALUES = 512
QUADRATURE = 256


class RandomWalk(Kernel):
    r"""Random-walk kernel: the walks that two graphs have in common.

    .. math:: k(G, G') = \sum_{i,j} \Bigl[\sum_{n=0}^{\infty} \lambda^n A_\times^n\Bigr]_{ij}
              = 1^T (I - \lambda A_\times)^{-1} 1
              \qquad\text{or}\qquad
              1^T e^{\lambda A_\times} 1

    for ``kind="geometric"`` and ``kind="exponential"``. :math:`A_\times` is the adjacency matrix of the direct product
    of the two graphs: its nodes are pairs of nodes with the same label, its edges pairs of edges with the same label,
    and weights are multiplied. Walks over n edges with the same labels along the way count :math:`\lambda^n`, or
    :math:`\lambda^n / n!`.

    Parameters
    ----------
    decay : float >= 0, default=0.01
        The number :math:`\lambda`. Larger counts longer walks more. The geometric sum of a graph with itself exists
        for decays below the inverse of the spectral radius of :math:`A_\times`, which without labels is the square of
        that of the graph; a larger decay is refused, with the largest one that the graphs admit. Where all graphs with
        themselves have a sum, all pairs have.
    kind : {"geometric", "exponential"}, default="geometric"
        The exponential sum always exists.
    node_labels : bool, default=True
        Whether labels of nodes count; then every graph must have them. False: all nodes are alike.

    See Also
    --------
    WeisfeilerLehman : Much cheaper, and counts no walk that only goes to and fro.
    Diffusion : A kernel between the nodes of one graph, by walks over it.

    Notes
    -----
    Labels of nodes, labels of edges, weights (which must not be negative) and directions count; attributes of nodes do
    not. Edges without labels are alike, and different from all that have one. Over a loop a walk stays where it is. A
    graph without nodes has the value 0 with every graph.

    The matrix :math:`A_\times` is never made. Graphs without directions: conjugate gradients over the pairs of nodes
    with the same label, until the sum is right to about 15 digits; time O(m m') per step at most, without labels O(n
    n') altogether, from the eigenvalues of each graph. Directed graphs, and the exponential kind with labels: the
    series, term by term. Graphs of more than 512 nodes without labels have a Gauss quadrature of 256 points in the
    place of their eigenvalues.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eq. 3.33.
    .. [2] S. V. N. Vishwanathan, N. N. Schraudolph, R. Kondor, K. M. Borgwardt, Graph kernels, 2010.

    Examples
    --------
    >>> from mercer.data import Graph
    >>> from mercer.kernels import RandomWalk
    >>> water = Graph(3, [(0, 1), (0, 2)], node_labels="OHH")
    >>> peroxide = Graph(4, [(0, 1), (0, 2), (1, 3)], node_labels="OOHH")
    >>> RandomWalk(decay=0.1)([water, peroxide]).round(3)
    array([[6.042, 6.939],
           [6.939, 9.438]])
    >>> RandomWalk(decay=0.6)([water, peroxide])
    Traceback (most recent call last):
    ...
    ValueError: decay must be below 0.5 for the geometric sum of these graphs to exist, X[0] has the ..., got 0.6.
    """

    domain = "graphs"
    _parameters: ClassVar = {
        "decay": Number(0),
        "kind": Choice("geometric", "exponential"),
        "node_labels": NODE_LABELS,
    }

    def __init__(self, decay=0.01, kind="geometric", node_labels=True):
        self.decay = decay
        self.kind = kind
        self.node_labels = node_labels

    def prepare(self, X, Y=None):
        of_X = self._samples(X, "X")
        return of_X, of_X if Y is None or Y is X else self._samples(Y, "Y")

    def _samples(self, X: Any, name: str) -> GraphSamples:
        if isinstance(X, GraphSamples):
            return X
        graphs = as_graphs(X, "RandomWalk", name)
        if self.node_labels:
            check_node_labels(graphs, "RandomWalk", name, optional=True)
        rule = "RandomWalk works on graphs with weights >= 0"
        check_graphs(graphs, name, rule, lambda graph: graph.weights is None or not (graph.weights < 0).any())
        samples = GraphSamples(graphs)
        if self.kind == "geometric":
            threads = effective_n_threads()
            radii: Any = _native.graph_walks_diverging(*self._native(samples), float(self.decay), threads)
            if radii.any():
                worst = int(np.argmax(radii))
                bound = told_bound(1 / radii[worst])
                raise ValueError(
                    f"decay must be below {bound} for the geometric sum of these graphs to exist, "
                    f"{name}[{worst}] has the most walks, got {self.decay}."
                )
        return samples

    def _native(self, samples: GraphSamples) -> tuple[Any, Any]:
        """Graphs and spectra as the native functions take them."""
        packed = samples.packed("walks", lambda graphs: pack(graphs, node_labels=self.node_labels, weights=True))
        return packed, None if self.node_labels else samples.packed("spectra", _spectra)

    def _matrix(self, X, Y):
        K = _native.graph_walks(*self._native(X), *self._native(Y), *self._numbers(), False, effective_n_threads())
        return _checked(K)

    def _diag(self, X):
        return _checked(_native.graph_walks_diag(*self._native(X), *self._numbers(), effective_n_threads()))

    def _vjp(self, X, W):
        graphs = self._native(X)
        slopes = _native.graph_walks(*graphs, *graphs, *self._numbers(), True, effective_n_threads())
        return {"decay": float(np.vdot(W, _checked(slopes)))}

    def _numbers(self) -> tuple[float, bool]:
        return float(self.decay), self.kind == "exponential"


def _checked(values: np.ndarray) -> np.ndarray:
    if not np.isfinite(values).all():
        raise ValueError(
            "The sum over common walks is too large for float64, or too close to its bound to be found; "
            "use a smaller decay."
        )
    return values


def _spectra(graphs: list[Graph]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues with their weights, for graphs without labels and directions; none for others."""
    none = np.empty(0), np.empty(0)
    plain = [not graph.directed and graph.edge_labels is None for graph in graphs]
    each = [
        graph._compute_once("walk spectrum", partial(_spectrum, graph)) if is_plain else none
        for graph, is_plain in zip(graphs, plain, strict=True)
    ]
    starts = np.concatenate([[0], np.cumsum([len(values) for values, _ in each], dtype=np.int64)])
    values, weights = (np.concatenate([np.empty(0), *(parts[part] for parts in each)]) for part in (0, 1))
    return values, weights, starts.astype(np.int64)


def _spectrum(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Values t and weights w such that 1' f(A) 1 = sum w f(t): eigenvalues, and squared sums of eigenvectors."""
    n = graph.n_nodes
    if n <= MOST_EIGENVALUES:
        values, vectors = np.linalg.eigh(graph.adjacency().toarray())
        weights = vectors.sum(axis=0) ** 2
    else:
        values, weights = _quadrature(graph.adjacency(), QUADRATURE)
    kept = weights > 1e-30 * n
    return values[kept], weights[kept]


def _quadrature(A: Any, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss quadrature of 1' f(A) 1 by the method of Lanczos, exact for polynomials of degree 2 size - 1."""
    n = A.shape[0]
    basis = np.zeros((size, n))
    diagonal, beside = np.zeros(size), np.zeros(size)
    basis[0] = 1 / np.sqrt(n)
    for j in range(size):
        following = A @ basis[j]
        diagonal[j] = basis[j] @ following
        for _ in range(2):  # once more: the basis must be orthogonal
            following -= basis[: j + 1].T @ (basis[: j + 1] @ following)
        beside[j] = np.linalg.norm(following)
        if beside[j] <= 1e-12 * max(1.0, abs(diagonal[j])) or j + 1 == size:
            break
        basis[j + 1] = following / beside[j]
    values, vectors = eigh_tridiagonal(diagonal[: j + 1], beside[:j])
    return values, n * vectors[0] ** 2
