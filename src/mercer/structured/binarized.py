"""A grammar as the native parser takes it: productions of at most two symbols, unary ones without cycles."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from graphlib import TopologicalSorter
from itertools import chain, islice
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from mercer.errors import GrammarError

__all__ = ["Binarized"]

# Most chains of unary rules within cycles: all of them are written down.
MOST_CHAINS = 20_000


class Binarized:
    """Productions that make the same trees as the rules of a grammar.

    A rule of more than two items becomes a production of its first item and of a helper that stands for the others;
    helpers are shared by all rules that end alike. A word among other items gets a helper, too.

    Chains of unary rules do not repeat a symbol. Where rules make no cycles that is so in any case. The symbols of a
    cycle are split in two: one that is made by all other rules, and one that stands above it, by a production for each
    chain within the cycle. Productions have no cycles then, and the best chain of any weights is among them.

    A label is what a constituent is known by: a symbol; within cycles, where the same symbols can be stacked in several
    orders, a symbol with what is below it in its chain.

    Parameters
    ----------
    rules : sequence of (head, body)
        The items of bodies are numbers of symbols >= 0, or of words: ~word < 0.
    n_symbols, n_words : int
    start : int
        A symbol.
    names : sequence
        Of symbols, for messages.
    """

    def __init__(
        self,
        rules: Sequence[tuple[int, tuple[int, ...]]],
        n_symbols: int,
        n_words: int,
        start: int,
        names: Sequence[Hashable],
    ):
        self._helpers: dict[Any, int] = {}
        self._n_symbols = n_symbols
        self._binary: list[tuple[int, int, int, int]] = []  # head, left, right, rule
        self._lexical: list[tuple[int, int, int]] = []  # word, symbol, rule
        unary = {(head, body[0]): r for r, (head, body) in enumerate(rules) if len(body) == 1 and body[0] >= 0}
        order = _components(n_symbols, unary)
        self.component = {symbol: k for k, members in enumerate(order) if len(members) > 1 for symbol in members}
        chains = _all_chains(order, unary, names)
        self.labels = {path: label for label, path in enumerate(path for some in chains.values() for path, _ in some)}
        made = {symbol: self._helper(("made", symbol)) if symbol in self.component else symbol for symbol in chains}
        for r, (head, body) in enumerate(rules):
            if len(body) > 1:
                self._binary.append((made[head], self._item(body[0]), self._rest(body[1:]), r))
            elif body[0] < 0:
                self._lexical.append((~body[0], made[head], r))
        stacked = self._stacked(order, unary, chains, made)
        symbol_labels = np.full(n_symbols + len(self._helpers), -1, dtype=np.int32)
        for symbol in made.keys() - self.component.keys():
            symbol_labels[symbol] = self.labels[symbol,]
        self.arrays = self._laid_out(symbol_labels, stacked, n_words, start)

    def _helper(self, key: Any) -> int:
        return self._helpers.setdefault(key, self._n_symbols + len(self._helpers))

    def _item(self, item: int) -> int:
        """The symbol that stands for an item of a body."""
        if item >= 0:
            return item
        if item not in self._helpers:
            self._lexical.append((~item, self._helper(item), -1))
        return self._helpers[item]

    def _rest(self, body: tuple[int, ...]) -> int:
        """The symbol that stands for the items of a body after the first one."""
        rest = self._item(body[-1])
        for k in range(len(body) - 2, -1, -1):
            if body[k:] not in self._helpers:
                self._binary.append((self._helper(body[k:]), self._item(body[k]), rest, -1))
            rest = self._helpers[body[k:]]
        return rest

    def _stacked(
        self, order: list[list[int]], unary: dict[tuple[int, int], int], chains: dict[int, list], made: dict[int, int]
    ) -> list[tuple[int, int, Sequence[int], Sequence[int]]]:
        """Unary productions, children first: head, child, rules and labels."""
        found: list[tuple[int, int, Sequence[int], Sequence[int]]] = []
        for members in order:
            for (head, child), rule in unary.items():
                if head in members and child not in members:
                    labels = [] if head in self.component else [self.labels[head,]]
                    found.append((made[head], child, [rule], labels))
            for symbol in members if len(members) > 1 else ():
                for path, used in chains[symbol]:
                    labels = [self.labels[path[k:]] for k in range(len(path))]
                    found.append((symbol, made[path[-1]], used, labels))
        return found

    def _laid_out(self, symbol_labels: np.ndarray, stacked: list, n_words: int, start: int) -> tuple:
        """What `_native.parse_sentences` takes for a grammar."""
        n = len(symbol_labels)
        heads, lefts, rights, rules = _columns(sorted(self._binary, key=lambda production: production[2]), 4)
        words, symbols, word_rules = _columns(sorted(self._lexical), 3)
        unary_heads, children = _columns([production[:2] for production in stacked], 2)
        return (
            symbol_labels,
            _starts(np.bincount(rights, minlength=n)),
            heads,
            lefts,
            rights,
            rules,
            _starts(np.bincount(heads, minlength=n)),
            np.argsort(heads, kind="stable").astype(np.int32),
            unary_heads,
            children,
            *_joined([production[2] for production in stacked]),
            *_joined([production[3] for production in stacked]),
            _starts(np.bincount(words, minlength=n_words)),
            symbols,
            word_rules,
            (self._n_symbols, start, len(self.labels)),
        )


def _components(n: int, unary: Iterable[tuple[int, int]]) -> list[list[int]]:
    """The symbols in groups that reach each other by unary rules, children first."""
    edges = np.array(list(unary), dtype=np.int64).reshape(-1, 2)
    graph = csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    _, component = connected_components(graph, connection="strong")
    below: dict[int, set[int]] = {int(k): set() for k in component}
    for head, child in component[edges].tolist():
        if head != child:
            below[head].add(child)
    members: dict[int, list[int]] = {}
    for symbol, k in enumerate(component.tolist()):
        members.setdefault(k, []).append(symbol)
    return [members[k] for k in TopologicalSorter(below).static_order()]


def _all_chains(
    order: list[list[int]], unary: dict[tuple[int, int], int], names: Sequence[Hashable]
) -> dict[int, list[tuple[tuple[int, ...], tuple[int, ...]]]]:
    """For every symbol the chains that begin with it and stay in its group; refused if they are too many."""
    chains, n_left = {}, MOST_CHAINS
    for members in order:
        for symbol in members:
            chains[symbol] = list(islice(_chains(symbol, members, unary), n_left + 2))
            n_left -= len(chains[symbol]) - 1  # beside the chain of the symbol alone
            if n_left < 0:
                told = ", ".join(repr(names[symbol]) for symbol in members[:5]) + ", ..." * (len(members) > 5)
                raise GrammarError(
                    f"The unary rules of {len(members)} symbols, {told}, make cycles with more than {MOST_CHAINS} "
                    "chains of different symbols, which is too many."
                )
    return chains


def _chains(
    top: int, members: list[int], unary: dict[tuple[int, int], int]
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All chains of different symbols of a group from one on, each with its rules."""
    waiting: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((top,), ())]
    while waiting:
        path, used = waiting.pop()
        yield path, used
        for child in members:
            if child not in path and (path[-1], child) in unary:
                waiting.append(((*path, child), (*used, unary[path[-1], child])))


def _columns(rows: list, width: int) -> list[np.ndarray]:
    table = np.array(rows, dtype=np.int32).reshape(-1, width)
    return [np.ascontiguousarray(table[:, k]) for k in range(width)]


def _starts(counts: Any) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def _joined(lists: list[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Where lists start, and all of them one after the other."""
    return _starts([len(some) for some in lists]), np.fromiter(chain.from_iterable(lists), dtype=np.int32)
