"""The subset-tree kernel on parse trees, beside its recursion in plain Python."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.data import shrunk
from benchmarks.task import Quality, Task
from mercer.data import Tree
from mercer.kernels import SubsetTree

DECAY = 0.4
# A little English; of the rules of a symbol, the first ones end soon.
GRAMMAR = {
    "S": [("NP", "VP")],
    "NP": [("D", "N"), ("D", "A", "N"), ("N",), ("NP", "PP")],
    "VP": [("V",), ("V", "NP"), ("V", "NP", "PP"), ("V", "S")],
    "PP": [("P", "NP")],
    "D": [("the",), ("a",), ("no",)],
    "N": [("dog",), ("cat",), ("house",), ("bird",), ("tree",), ("man",), ("woman",), ("book",)],
    "V": [("sees",), ("hears",), ("reads",), ("says",), ("likes",)],
    "A": [("old",), ("green",), ("small",), ("bright",)],
    "P": [("in",), ("on",), ("with",), ("under",)],
}


def parse(rng: np.random.Generator, symbol: str = "S", depth: int = 0) -> Tree:
    """A random tree of the grammar, of some forty nodes in the mean."""
    if symbol not in GRAMMAR:
        return Tree(symbol)
    rules = GRAMMAR[symbol]
    rule = rules[rng.integers(len(rules) if depth < 7 else 1)]
    return Tree(symbol, [parse(rng, child, depth + 1) for child in rule])


def trees(_: str) -> list[Tree]:
    rng = np.random.default_rng(0)
    found: list[Tree] = []
    while len(found) < shrunk(500, 50):
        tree = parse(rng)
        if 20 <= tree.n_nodes <= 80:
            found.append(tree)
    return found


class Node:
    """A node as the recursion wants it."""

    def __init__(self, tree: Tree):
        self.children = [Node(child) for child in tree.children]
        self.production = (tree.label, *(child.label for child in tree.children))

    def below(self) -> Iterator["Node"]:
        yield self
        for child in self.children:
            yield from child.below()


def common(a: Node, b: Node) -> float:
    """Collins and Duffy's recursion."""
    if not a.children or not b.children or a.production != b.production:
        return 0.0
    value = DECAY
    for child, other in zip(a.children, b.children, strict=True):
        value *= 1.0 + common(child, other)
    return value


def twin(samples: list[Tree]) -> np.ndarray:
    """Over all pairs of nodes of all pairs of trees."""
    nodes = [[node for node in Node(tree).below() if node.children] for tree in samples]
    K = np.empty((len(nodes), len(nodes)))
    for i, first in enumerate(nodes):
        for j, second in enumerate(nodes[: i + 1]):
            K[i, j] = K[j, i] = sum(common(a, b) for a in first for b in second)
    return K


def quality(_: Any, K: np.ndarray) -> Quality:
    return {"sum": float(K.sum()), "trace": float(np.trace(K)), "largest": float(K.max())}


TASKS = [
    Task(
        name="subset-trees",
        title="subset-tree kernel, 500 parse trees",
        group="Trees",
        setup=trees,
        contenders={"mercer": SubsetTree(DECAY), "plain Python": twin},
        quality=quality,
        tolerance=dict.fromkeys(("sum", "trace", "largest"), ("relative", 1e-10)),
    )
]
