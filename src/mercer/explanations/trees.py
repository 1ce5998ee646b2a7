"""Trees as subtrees, and as what is rooted at each node."""

import numpy as np

from mercer.data.tree import Tree
from mercer.explanations.base import Pieces, take_apart
from mercer.kernels import SubsetTree, SubTree

__all__ = ["subtrees"]


def subtrees(tree: Tree) -> list[Tree]:
    """The complete subtrees below all nodes.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    list of Tree
        In preorder: the tree itself, then those of its children, from left to right.

    Examples
    --------
    >>> from mercer.data import Tree
    >>> from mercer.explanations import subtrees
    >>> [str(part) for part in subtrees(Tree.from_string("(NP (D the) cat)"))]
    ['(NP (D the) cat)', '(D the)', '(the)', '(cat)']
    """
    found, waiting = [], [tree]
    while waiting:
        found.append(waiting.pop())
        waiting.extend(reversed(found[-1].children))
    return found


@take_apart.register(SubTree)
@take_apart.register(SubsetTree)
def _rooted(kernel, X, support, coefficients):
    """A kernel that is a sum over pairs of nodes: a node adds what its subtree is as a sample, less its children."""
    kernel.prepare(X, support)  # checks them
    parts = [subtrees(tree) for tree in X]
    everything = [part for of_tree in parts for part in of_tree]
    # Equal subtrees are computed once.
    number: dict[Tree, int] = {}
    which = np.array([number.setdefault(part, len(number)) for part in everything], dtype=np.intp)
    values = kernel.dot(list(number), support, coefficients[:, np.newaxis])[:, 0] if number else np.empty(0)
    worth = values - np.array([sum(values[number[child]] for child in part.children) for part in number])
    whole = isinstance(kernel, SubTree)
    owner = np.repeat(np.arange(len(X)), [len(of_tree) for of_tree in parts])
    # A complete subtree is all of its nodes; fragments of all sizes have the root in common.
    places = [np.arange(v, v + (part.n_nodes if whole else 1)) for of_tree in parts for v, part in enumerate(of_tree)]
    return [Pieces(owner, list(map(str, everything)), places, worth[which], np.ones(len(which)))]
