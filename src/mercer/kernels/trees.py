"""Kernels on trees: what two trees are built of, counted."""

from typing import Any, ClassVar

import numpy as np

from mercer import _native
from mercer.data.features import SparseFeatures
from mercer.data.objects import listed
from mercer.data.symbols import symbol_keys
from mercer.data.tree import Tree
from mercer.errors import DomainError
from mercer.kernels.base import Kernel
from mercer.kernels.features import FeatureKernel
from mercer.kernels.samples import describe
from mercer.parameters import Choice, Number
from mercer.threads import effective_n_threads

__all__ = ["SubTree", "SubsetTree"]


class SubTree(FeatureKernel):
    r"""Subtree kernel: the complete subtrees that two trees have in common.

    .. math:: k(T, T') = \sum_S \#_S(T)\, \#_S(T')

    over all trees S, where :math:`\#_S(T)` counts the nodes of T below which everything down to the leaves is S.

    Parameters
    ----------
    leaves : bool, default=False
        Whether leaves count as subtrees too; if not, S has at least two nodes.

    See Also
    --------
    SubsetTree : Counts fragments that end above the leaves as well.

    Notes
    -----
    Samples are trees (`mercer.data.Tree`). Every subtree gets a key by hashing, from the leaves up: time and memory are
    linear in the number of nodes, and the matrix takes time in proportion to what the trees have in common. `features`
    gives the counts as a sparse matrix, for linear machines.

    References
    ----------
    .. [1] S. V. N. Vishwanathan, A. J. Smola, Fast kernels for string and tree matching, NIPS 2002.

    Examples
    --------
    >>> from mercer.data import Tree
    >>> from mercer.kernels import SubTree
    >>> trees = ["(S (NP (N Paul)) (VP (V runs)))", "(S (NP (N Paul)) (VP (V sleeps)))"]
    >>> SubTree()([Tree.from_string(tree) for tree in trees])
    array([[5., 2.],
           [2., 5.]])
    """

    domain = "trees"
    _parameters: ClassVar = {"leaves": Choice(False, True)}

    def __init__(self, leaves=False):
        self.leaves = leaves

    def _features(self, X, name):
        labels, arities, starts = _flat(X, type(self).__name__, name)
        keys = _native.trees_subtrees(labels, arities, starts)
        if self.leaves:
            return SparseFeatures.count(keys, starts)
        inner = arities > 0
        before = np.concatenate([[0], np.cumsum(inner)])
        return SparseFeatures.count(keys[inner], before[starts])


class SubsetTree(Kernel):
    r"""Subset-tree kernel: the fragments that two trees have in common.

    .. math:: k(T, T') = \sum_F \lambda^{|F|}\, \#_F(T)\, \#_F(T')

    over all fragments F: connected parts of a tree that contain, with a node, all of its children or none, and that
    have at least one production. :math:`|F|` is the number of productions, nodes with their children, in F. It is

    .. math:: k(T, T') = \sum_{a \in T} \sum_{b \in T'} C(a, b), \quad
              C(a, b) = \lambda \prod_c \bigl(1 + C(a_c, b_c)\bigr)

    with the product over the children where a and b have the same production, that is the same label and the same
    labels of children; else, and for leaves, C = 0.

    Parameters
    ----------
    decay : float, default=0.4
        The factor :math:`\lambda` of every production, above 0 and at most 1. Smaller counts large fragments less: at 1
        a tree is like itself and nothing else, close to 0 only productions count.

    See Also
    --------
    SubTree : Complete subtrees only, in linear time.

    Notes
    -----
    Samples are trees (`mercer.data.Tree`). Only pairs of nodes with the same production are visited, of which parse
    trees have few: nodes are sorted by production once, then a pair of trees takes time linear in their nodes and in
    these pairs, and memory in these pairs. There is no recursion: trees may be as deep as they like.

    The number of fragments grows exponentially with the tree. Where values are too large for float64 they are refused;
    the normalised kernel, from logarithms, still has its value.

    References
    ----------
    .. [1] M. Collins, N. Duffy, Convolution kernels for natural language, NIPS 2001.
    .. [2] A. Moschitti, Making tree kernels practical for natural language learning, EACL 2006.

    Examples
    --------
    >>> from mercer.data import Tree
    >>> from mercer.kernels import SubsetTree
    >>> trees = ["(NP (D the) (N cat))", "(NP (D the) (N dog))"]
    >>> SubsetTree(decay=1.0)([Tree.from_string(tree) for tree in trees])
    array([[6., 3.],
           [3., 6.]])
    """

    domain = "trees"
    _parameters: ClassVar = {"decay": Number(0, 1, above=True)}

    def __init__(self, decay=0.4):
        self.decay = decay

    def prepare(self, X, Y=None):
        of_X = X if isinstance(X, PackedTrees) else PackedTrees.of(X, type(self).__name__, "X")
        if Y is None or Y is X:
            return of_X, of_X
        return of_X, Y if isinstance(Y, PackedTrees) else PackedTrees.of(Y, type(self).__name__, "Y")

    def _matrix(self, X, Y):
        return self._finite(self._native_matrix("value", X, Y))

    def _diag(self, X):
        return self._finite(self._native_diag("value", X))

    def _log_matrix(self, X, Y):
        return self._native_matrix("logarithm", X, Y)

    def _log_diag(self, X):
        return self._native_diag("logarithm", X)

    def _vjp(self, X, W):
        slopes = self._finite(self._native_matrix("derivative", X, X))
        return {"decay": float((W * slopes).sum())}

    def _native_matrix(self, want: str, X: "PackedTrees", Y: "PackedTrees") -> Any:
        return _native.subset_tree_matrix(want, float(self.decay), X.native(), Y.native(), effective_n_threads())

    def _native_diag(self, want: str, X: "PackedTrees") -> Any:
        return _native.subset_tree_diag(want, float(self.decay), X.native(), effective_n_threads())

    def _finite(self, values: np.ndarray) -> np.ndarray:
        if not np.isfinite(values).all():
            raise ValueError(
                f"The number of common fragments is too large for float64 in {self!r}; "
                "use kernel.normalized(), which has its value, or a smaller decay."
            )
        return values


class PackedTrees:
    """Trees as the subset-tree kernel takes them: their productions, and which of the trees are meant."""

    __slots__ = ("productions", "rows")

    def __init__(self, productions: tuple[np.ndarray, ...], rows: np.ndarray):
        self.productions, self.rows = productions, rows

    @classmethod
    def of(cls, X: Any, owner: str, name: str) -> "PackedTrees":
        labels, arities, starts = _flat(X, owner, name)
        productions: Any = _native.trees_pack(labels, arities, starts)
        return cls(productions, np.arange(len(starts) - 1))

    @property
    def shape(self) -> tuple[int]:
        return (len(self.rows),)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Any) -> "PackedTrees":
        return PackedTrees(self.productions, np.ascontiguousarray(self.rows[rows]))

    def native(self) -> tuple[np.ndarray, ...]:
        return *self.productions, self.rows


def _flat(X: Any, owner: str, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keys of labels and numbers of children of all nodes in preorder, and where trees start."""
    trees = listed(X)
    if trees is None or not all(isinstance(tree, Tree) for tree in trees):
        raise DomainError(
            f"{owner} works on trees (mercer.data.Tree), got {describe(X)} as {name}; "
            "Tree.from_string, Tree.from_nltk and Tree.from_tuple make them."
        )
    labels = symbol_keys(label for tree in trees for label, _ in tree.preorder())
    arities = np.array([arity for tree in trees for _, arity in tree.preorder()], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum([tree.n_nodes for tree in trees], dtype=np.int64)])
    return labels, arities, starts
