"""Kernels on trees."""

from kernel_registry.objects import as_objects
from mercer import kernels
from mercer.data import Tree

KERNELS = {
    "SubTree": lambda: kernels.SubTree(),
    "SubTree leaves": lambda: kernels.SubTree(leaves=True),
    "SubsetTree": lambda: kernels.SubsetTree(decay=0.6),
    "SubsetTree large fragments": lambda: kernels.SubsetTree(decay=0.95),
}


def random_tree(rng, depth):
    """A binary tree of a few labels, with words at its leaves."""
    if depth == 0 or rng.random() < 0.3:
        return Tree("ND"[rng.integers(2)], ["a", "b"][: 1 + rng.integers(2)])
    return Tree("SV"[rng.integers(2)], [random_tree(rng, depth - 1) for _ in range(rng.integers(1, 3))])


def trees(kernel, rng, n, d):
    return as_objects(random_tree(rng, min(d, 5)) for _ in range(n))


SAMPLES = {"trees": trees}
WRONG = {"trees": [["(S (NP a))", "(S b)"], [("S", "a"), ("S", "b")], [Tree("S"), "S"], [[1.0, 2.0], [3.0, 4.0]]]}
HOLDS_DATA = ()
