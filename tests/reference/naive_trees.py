"""Kernels on trees as their definitions say: by writing down every part of a tree."""

from itertools import product

from mercer.data import Tree


def nodes(tree):
    """All subtrees, from the root down."""
    yield tree
    for child in tree.children:
        yield from nodes(child)


def complete_subtrees(tree, leaves):
    return [node for node in nodes(tree) if node.children or leaves]


def subtree_kernel(s, t, leaves=False):
    """Pairs of equal complete subtrees."""
    return sum(a == b for a in complete_subtrees(s, leaves) for b in complete_subtrees(t, leaves))


def fragments_at(tree):
    """Every fragment whose root is that of the tree, with the number of its productions: (fragment, size)."""
    if not tree.children:
        return []
    # A child stays a bare label, or is the root of a fragment of its own.
    choices = [[((child.label,), 0), *fragments_at(child)] for child in tree.children]
    return [
        ((tree.label, *(part for part, _ in chosen)), 1 + sum(size for _, size in chosen))
        for chosen in product(*choices)
    ]


def fragments(tree):
    return [fragment for node in nodes(tree) for fragment in fragments_at(node)]


def subset_tree_kernel(s, t, decay):
    """Pairs of equal fragments, each weighted by decay to the power of its size."""
    others = fragments(t)
    return sum(decay**size for fragment, size in fragments(s) for other, _ in others if fragment == other)


def production(tree):
    return (tree.label, *(child.label for child in tree.children))


def recursive_subset_tree_kernel(s, t, decay):
    """The recursion of Collins and Duffy, over all pairs of nodes."""

    def common(a, b):
        if not a.children or not b.children or production(a) != production(b):
            return 0.0
        value = decay
        for child, other in zip(a.children, b.children, strict=True):
            value *= 1.0 + common(child, other)
        return value

    return sum(common(a, b) for a in nodes(s) for b in nodes(t))


def random_parse(grammar, rng, label="S", depth=0, max_depth=12):
    """A tree of a grammar {label: [children, ...]}; what has no rules is a word. Deep down the first rule is taken."""
    if label not in grammar:
        return label
    rules = grammar[label]
    rule = rules[0] if depth >= max_depth else rules[rng.integers(len(rules))]
    return Tree(label, [random_parse(grammar, rng, child, depth + 1, max_depth) for child in rule])
