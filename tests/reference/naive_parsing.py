"""Random grammars, and all their trees, one by one: what the parser is compared with."""

from itertools import product

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from mercer.data import Tree
from mercer.structured import ContextFreeGrammar, Word

SYMBOLS, WORDS = ("S", "A", "B", "C"), ("a", "b")
ITEMS = [*SYMBOLS, *map(Word, WORDS)]
BODIES = [body for size in (1, 2, 3) for body in product(ITEMS, repeat=size)]


def useful(rules):
    """The rules whose symbols become words and can be reached from S."""
    while True:
        heads = {head for head, _ in rules}
        words = set()
        for _ in heads:
            words |= {head for head, body in rules if all(isinstance(item, Word) or item in words for item in body)}
        reached = {"S"}
        for _ in heads:
            reached |= {item for head, body in rules if head in reached for item in body}
        kept = [
            (head, body)
            for head, body in rules
            if head in reached and all(isinstance(item, Word) or item in words for item in body) and body != (head,)
        ]
        if kept == rules:
            return kept
        rules = kept


@st.composite
def grammars(draw):
    """Grammars of up to four symbols and two words, with weights of their rules."""
    short = st.tuples(st.sampled_from(SYMBOLS), st.sampled_from(BODIES[: len(ITEMS)]))
    longer = st.tuples(st.sampled_from(SYMBOLS), st.sampled_from(BODIES))
    rules = draw(st.lists(short, min_size=3, max_size=8)) + draw(st.lists(longer, min_size=1, max_size=8))
    rules = useful(list(dict.fromkeys(rules)))
    assume(any(head == "S" for head, _ in rules))
    weights = draw(st.lists(st.integers(-8, 8), min_size=len(rules), max_size=len(rules)))
    return ContextFreeGrammar(rules, "S"), np.array(weights) / 4.0


sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4)


def all_trees(grammar, words, symbol=None, above=()):
    """All trees of words below a symbol, no chain of unary rules having a symbol twice."""
    symbol = grammar.start if symbol is None else symbol
    for head, body in grammar.rules:
        if head != symbol:
            continue
        if len(body) == 1 and not isinstance(body[0], Word):
            if body[0] not in (*above, symbol):
                yield from (Tree(symbol, [t]) for t in all_trees(grammar, words, body[0], (*above, symbol)))
        else:
            yield from (Tree(symbol, below) for below in all_rows(grammar, words, body))


def all_rows(grammar, words, body):
    """All rows of trees of words, one for each item of a body."""
    first, rest = body[0], body[1:]
    if isinstance(first, Word):
        if words and words[0] == first.label and bool(rest) == bool(words[1:]):
            yield from ([words[0], *row] for row in (all_rows(grammar, words[1:], rest) if rest else [[]]))
    elif not rest:
        yield from ([tree] for tree in all_trees(grammar, words, first))
    else:
        for k in range(1, len(words)):
            rows = list(all_rows(grammar, words[k:], rest))
            if rows:
                for tree in all_trees(grammar, words[:k], first):
                    yield from ([tree, *row] for row in rows)


def score(grammar, weights, tree):
    """The sum of the weights of the rules of a tree, of which any symbol may be the root."""
    if not tree.children:
        return 0.0
    body = tuple(child.label if child.children else Word(child.label) for child in tree.children)
    here = weights[grammar.rules.index((tree.label, body))]
    return here + sum(score(grammar, weights, child) for child in tree.children)


def constituents(grammar, tree):
    """Symbols with spans; within a cycle of unary rules, with the symbols below them."""
    unary = {(head, body[0]) for head, body in grammar.rules if len(body) == 1}
    for via in SYMBOLS:
        unary |= {(a, b) for a in SYMBOLS for b in SYMBOLS if (a, via) in unary and (via, b) in unary}

    def below(node, place):
        if not node.children:
            return (), set(), place + 1
        found, end, chain = set(), place, (node.label,)
        for child in node.children:
            of_child, more, end = below(child, end)
            found |= more
        if len(node.children) == 1 and of_child and {(node.label, of_child[0]), (of_child[0], node.label)} <= unary:
            chain += of_child
        return chain, found | {(chain, place, end)}, end

    return below(tree, 0)[1]


def loss(grammar, tree, other):
    """Constituents of one tree and not of the other one."""
    return len(constituents(grammar, tree) ^ constituents(grammar, other))
