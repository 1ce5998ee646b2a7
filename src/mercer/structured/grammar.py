"""Context-free grammars with weights of their rules."""

import re
from collections import Counter, deque
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from mercer import _native
from mercer.data import Tree
from mercer.errors import GrammarError, ParseError
from mercer.structured.binarized import Binarized
from mercer.threads import effective_n_threads

__all__ = ["ContextFreeGrammar", "Parse", "Rule", "Sentence", "Word"]

# An arrow, a bar, a word in quotes, a remark, or a symbol.
TOKEN = re.compile(r"""\s*(?:(->)|(\|)|'([^']+)'|"([^"]+)"|(\#.*)|([^\s|'"\#]+))""")
# Bits of a constituent's number for its label, and for each end of its span, as in cky.hpp.
SPAN_BITS = 21


@dataclass(frozen=True, slots=True)
class Word:
    """A word in the body of a rule, to be told from a symbol of the same name."""

    label: Hashable

    def __str__(self) -> str:
        return repr(self.label)


class Rule(NamedTuple):
    """A symbol, and the symbols and words that it may stand for."""

    head: Hashable
    body: tuple[Hashable, ...]

    def __str__(self) -> str:
        return f"{self.head} -> {' '.join(map(str, self.body))}"


class Sentence(NamedTuple):
    """Words, and their numbers in a grammar; -1: it does not know the word."""

    words: tuple[Hashable, ...]
    numbers: np.ndarray


@dataclass(eq=False, slots=True)
class Parse:
    """The numbers of the rules of a tree, parents before children, and of its constituents, sorted."""

    rules: np.ndarray
    constituents: np.ndarray


class ContextFreeGrammar:
    """A context-free grammar: what trees there are, and which of them is best for weights of its rules.

    Rules have bodies of any length, of symbols and words in any order. Of rules that lead from a symbol to another one
    alone, a tree has no chain in which a symbol comes twice: unary rules may make cycles, and with weights of any sign
    the best tree exists and is found.

    Parameters
    ----------
    rules : str or iterable of (head, body)
        As text, lines of the form ``NP -> Det N | NP 'of' NP``, words being in quotes; what follows a # is left out. Or
        pairs of a symbol and a sequence: what is the head of a rule is a symbol there, everything else, and every
        `Word`, is a word.
    start : hashable, default=None
        The symbol at the root of every tree; None: the head of the first rule.
    unknown : hashable, default=None
        The word of the grammar that stands for all words that it does not know; None: there is none.

    Attributes
    ----------
    rules : tuple of Rule
    start, unknown : hashable
    symbols : tuple
        In order of appearance.
    words : tuple
        In order of appearance.

    Raises
    ------
    GrammarError
        If rules contradict each other: a symbol that cannot be reached from the start, or that never becomes words; a
        rule that is there twice, is empty, or leads from a symbol to itself; unary rules with too many cycles.

    See Also
    --------
    Parser : Learns the weights.
    mercer.models.StochasticGrammar : Probabilities of sequences; the sum over all trees, in place of the best one.

    Notes
    -----
    Parsing is the algorithm of Cocke, Kasami and Younger, natively, with threads over sentences: time O(n³ P) for n
    words and P productions, less where only few symbols can stand for a span.

    References
    ----------
    .. [1] D. H. Younger, Recognition and parsing of context-free languages in time n³, Information and Control 10,
       1967.

    Examples
    --------
    >>> from mercer.structured import ContextFreeGrammar
    >>> grammar = ContextFreeGrammar('''
    ...     S -> NP VP
    ...     NP -> N | Det N
    ...     VP -> V NP
    ...     N -> 'Paul' | 'pie'
    ...     V -> 'ate'
    ...     Det -> 'the'
    ... ''')
    >>> print(grammar.parse([["Paul", "ate", "the", "pie"]])[0])
    (S (NP (N Paul)) (VP (V ate) (NP (Det the) (N pie))))
    """

    def __init__(self, rules: Any, start: Hashable = None, unknown: Hashable = None):
        self.rules = tuple(_rules_of_text(rules) if isinstance(rules, str) else _rules_of_pairs(rules))
        if not self.rules:
            raise GrammarError("A grammar must have rules, got none.")
        self.start = self.rules[0].head if start is None else start
        self.unknown = unknown
        self._symbols = {head: k for k, head in enumerate(dict.fromkeys(rule.head for rule in self.rules))}
        words = dict.fromkeys(item.label for rule in self.rules for item in rule.body if isinstance(item, Word))
        self._words = {word: k for k, word in enumerate(words)}
        self._check()
        self._numbers = {rule: r for r, rule in enumerate(self.rules)}
        numbered = [(self._symbols[rule.head], tuple(map(self._item, rule.body))) for rule in self.rules]
        self._binarized = Binarized(
            numbered, len(self._symbols), len(self._words), self._symbols[self.start], self.symbols
        )

    def _file_parts(self) -> dict[str, Any]:
        return {"rules": self.rules, "start": self.start, "unknown": self.unknown}

    @classmethod
    def _from_file_parts(cls, parts: dict[str, Any]) -> "ContextFreeGrammar":
        return cls(**parts)

    def _item(self, item: Hashable) -> int:
        return ~self._words[item.label] if isinstance(item, Word) else self._symbols[item]

    def _check(self) -> None:
        if self.start not in self._symbols:
            raise GrammarError(f"start must be the head of a rule, got {self.start!r}.")
        if self.unknown is not None and self.unknown not in self._words:
            raise GrammarError(f"unknown must be a word of the grammar, got {self.unknown!r}.")
        for rule, times in Counter(self.rules).items():
            if times > 1:
                raise GrammarError(f"Every rule must be there once, got {rule} {times} times.")
            if not rule.body:
                raise GrammarError(f"The body of a rule must have a symbol or a word, got none for {rule.head!r}.")
            if rule.body == (rule.head,):
                raise GrammarError(f"A rule must not lead from a symbol to itself, got {rule}.")
            for item in rule.body:
                if not isinstance(item, Word) and item not in self._symbols:
                    raise GrammarError(f"The symbol {item!r} in the rule {rule} has no rules; words are in quotes.")
        reached = self._reached()
        if lost := [symbol for symbol in self._symbols if symbol not in reached]:
            raise GrammarError(f"The symbol {lost[0]!r} cannot be reached from {self.start!r}.")
        productive = self._productive()
        if wordless := [symbol for symbol in self._symbols if symbol not in productive]:
            raise GrammarError(f"The symbol {wordless[0]!r} never becomes words: all its rules lead to such symbols.")

    def _reached(self) -> set[Hashable]:
        """The symbols that trees may have."""
        bodies: dict[Hashable, list[Hashable]] = {}
        for head, body in self.rules:
            bodies.setdefault(head, []).extend(item for item in body if not isinstance(item, Word))
        reached, waiting = {self.start}, [self.start]
        while waiting:
            new = set(bodies[waiting.pop()]) - reached
            reached |= new
            waiting.extend(new)
        return reached

    def _productive(self) -> set[Hashable]:
        """The symbols that become words."""
        found: set[Hashable] = set()
        left = list(self.rules)
        while True:
            ready = [r for r in left if all(isinstance(item, Word) or item in found for item in r.body)]
            if not ready:
                return found
            found.update(rule.head for rule in ready)
            left = [rule for rule in left if rule.head not in found]

    @classmethod
    def from_trees(
        cls, trees: Iterable[Tree], start: Hashable = None, unknown: Hashable = None, min_count: int = 2
    ) -> "ContextFreeGrammar":
        """The grammar of the rules that trees are made of: inner nodes are symbols, leaves are words.

        Parameters
        ----------
        trees : iterable of Tree
        start : hashable, default=None
            None: the label of the roots, which must be one.
        unknown : hashable, default=None
            If given, words that occur fewer than `min_count` times become this word, and so do all that are not there.
        min_count : int, default=2

        Returns
        -------
        ContextFreeGrammar
        """
        trees = list(trees)
        roots = dict.fromkeys(tree.label for tree in trees)
        if start is None and len(roots) > 1:
            told = ", ".join(map(repr, list(roots)[:5]))
            raise GrammarError(f"The roots of trees must have one label, got {told}; or give start.")
        seen = Counter(word for tree in trees for word in tree.leaves)
        rare = set() if unknown is None else {word for word, times in seen.items() if times < min_count}
        rules: dict[Rule, None] = {}
        for tree in trees:
            for rule in productions(tree):
                rules[_renamed(rule, rare, unknown)] = None
        if unknown is not None and not rare:
            raise GrammarError(f"unknown needs words that occur fewer than min_count={min_count} times, got none.")
        return cls(rules, start, unknown)

    @property
    def symbols(self) -> tuple[Hashable, ...]:
        """The symbols, in order of appearance."""
        return tuple(self._symbols)

    @property
    def words(self) -> tuple[Hashable, ...]:
        """The words, in order of appearance."""
        return tuple(self._words)

    def __len__(self) -> int:
        return len(self.rules)

    def __repr__(self) -> str:
        sizes = f"{len(self)} rules over {len(self._symbols)} symbols and {len(self._words)} words"
        return f"<ContextFreeGrammar of {sizes}>"

    def __str__(self) -> str:
        """The rules as text, a line for each, the start symbol first."""
        ordered = sorted(self.rules, key=lambda rule: rule.head != self.start)
        return "\n".join(map(str, ordered))

    # --- trees and rules ----------------------------------------------------------------------------------

    def counts(self, tree: Tree) -> np.ndarray:
        """How often each rule occurs in a tree: the features of [CY §2.6].

        Parameters
        ----------
        tree : Tree

        Returns
        -------
        array of shape (n_rules,)
        """
        return np.bincount(self.read(tree).rules, minlength=len(self)).astype(np.float64)

    def log_probabilities(self, trees: Iterable[Tree], pseudo_count: float = 0.0) -> np.ndarray:
        """Logarithms of the shares of rules among those with the same head: with these weights, the maximum of
        likelihood, the best tree is the most probable one.

        Parameters
        ----------
        trees : iterable of Tree
        pseudo_count : float >= 0, default=0.0
            Added to the count of every rule.

        Returns
        -------
        array of shape (n_rules,)
            Minus infinity for rules that do not occur.
        """
        total = np.full(len(self), float(pseudo_count))
        for tree in trees:
            total += self.counts(tree)
        heads = np.array([self._symbols[rule.head] for rule in self.rules])
        of_head = np.bincount(heads, weights=total)[heads]
        shares = np.divide(total, of_head, out=np.zeros(len(self)), where=of_head > 0)
        return np.log(shares, out=np.full(len(self), -np.inf), where=shares > 0)

    def read(self, tree: Tree) -> Parse:
        """A tree as numbers of rules and constituents.

        Parameters
        ----------
        tree : Tree

        Returns
        -------
        Parse

        Raises
        ------
        ParseError
            With the first rule that the grammar does not have, or a chain of unary rules in which a symbol comes twice.
        """
        if not isinstance(tree, Tree):
            raise TypeError(f"A parse must be a Tree, got {type(tree).__name__}.")
        if tree.label != self.start:
            raise ParseError(f"The root of a parse must be {self.start!r}, got {tree.label!r}.")
        strange = () if self.unknown is None else {word for word in tree.leaves if word not in self._words}
        rules = [_renamed(rule, strange, self.unknown) for rule in productions(tree)]
        for rule in rules:
            if rule not in self._numbers:
                raise ParseError(f"The grammar has no rule {rule}.")
        if not rules:
            raise ParseError(f"A parse must have words below its root, got the tree {tree}.")
        numbers = np.array([self._numbers[rule] for rule in rules], dtype=np.int32)
        return Parse(numbers, self._constituents(rules))

    def _constituents(self, rules: Sequence[Rule]) -> np.ndarray:
        """The constituents of a tree, by its rules in preorder: begin, end and label as one number each."""
        sizes = [0] * len(rules)
        paths: list[tuple[int, ...]] = [()] * len(rules)
        below: list[list[int]] = [[] for _ in rules]
        waiting: list[int] = []
        component, labels = self._binarized.component, self._binarized.labels
        for k in range(len(rules) - 1, -1, -1):
            head, body = rules[k]
            below[k] = [waiting.pop() for item in body if not isinstance(item, Word)]
            waiting.append(k)
            sizes[k] = len(body) - len(below[k]) + sum(sizes[child] for child in below[k])
            symbol = self._symbols[head]
            paths[k] = (symbol,)
            if len(body) == len(below[k]) == 1 and component.get(symbol, -1) == component.get(paths[below[k][0]][0]):
                paths[k] += paths[below[k][0]]
            if paths[k] not in labels:
                raise ParseError(f"A chain of unary rules must not come back to a symbol, got {head!r} twice.")
        found, starts = [], [0] * len(rules)
        for k, (_, body) in enumerate(rules):
            found.append(((starts[k] << SPAN_BITS) | (starts[k] + sizes[k])) << SPAN_BITS | labels[paths[k]])
            place, children = starts[k], iter(below[k])
            for item in body:
                if isinstance(item, Word):
                    place += 1
                else:
                    child = next(children)
                    starts[child] = place
                    place += sizes[child]
        return np.sort(np.array(found, dtype=np.int64))

    def tree(self, rules: np.ndarray, words: Sequence[Hashable]) -> Tree:
        """The tree of the numbers of its rules, parents before children, with words as leaves.

        Several trees in a row, -1 standing for a word that belongs to none, are put below a root.

        Parameters
        ----------
        rules : array of int
        words : sequence

        Returns
        -------
        Tree
        """
        numbers, leaves = deque(rules.tolist()), iter(words)

        def node(item: Any) -> tuple[Hashable, tuple[Hashable, ...]]:
            number = -1 if isinstance(item, Word) else numbers.popleft()
            return self.rules[number] if number >= 0 else (next(leaves), ())

        pieces = []
        while numbers:
            pieces.append(Tree._walked(None, node))
        whole = len(pieces) == 1 and pieces[0].label == self.start and rules[0] >= 0
        return pieces[0] if whole else Tree(self.start, pieces)

    # --- sentences ----------------------------------------------------------------------------------------

    def sentence(self, words: Sequence[Hashable], strange: bool = False) -> Sentence:
        """A sentence as numbers of words.

        Parameters
        ----------
        words : sequence of hashable
        strange : bool, default=False
            Whether there may be words that the grammar does not know.

        Returns
        -------
        Sentence

        Raises
        ------
        ParseError
            If there is no word, or one that the grammar does not know.
        """
        if isinstance(words, str):
            raise TypeError(f"A sentence must be a list of words, got the str {words!r}.")
        words = tuple(words)
        if not words:
            raise ParseError("A sentence must have at least one word, got none.")
        other = -1 if self.unknown is None else self._words[self.unknown]
        numbers = np.array([self._words.get(word, other) for word in words], dtype=np.int32)
        if not strange and (numbers < 0).any():
            raise ParseError(f"The grammar does not know the word {words[int(np.argmin(numbers))]!r}.")
        return Sentence(words, numbers)

    def parse(
        self, sentences: Iterable[Sequence[Hashable]], weights: Any = None, *, partial: bool = False, n_threads=None
    ) -> list[Tree]:
        """The best tree of every sentence: that with the largest sum of the weights of its rules.

        Parameters
        ----------
        sentences : iterable of sequences of words
        weights : array of shape (n_rules,), default=None
            Finite, or minus infinity for rules that are not to be used; None: zeros, all trees are equal.
        partial : bool, default=False
            What a sentence without a tree becomes: an error, or the fewest trees that cover it, of those the best,
            below a root; words that no tree covers are leaves of the root.
        n_threads : int or None, default=None
            See `mercer.threads.effective_n_threads`.

        Returns
        -------
        list of Tree

        Raises
        ------
        ParseError
            If a sentence has no tree, and `partial` is False.
        """
        known = [self.sentence(words, partial) for words in sentences]
        weights = np.zeros(len(self)) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        if weights.shape != (len(self),) or np.isnan(weights).any() or (weights == np.inf).any():
            raise ValueError(f"weights must be {len(self)} numbers < infinity, one for each rule.")
        found = self.search(known, weights, "partial" if partial else "best", n_threads=effective_n_threads(n_threads))
        return [self.tree(parse.rules, one.words) for one, parse in zip(known, found, strict=True)]

    def search(
        self,
        sentences: Sequence[Sentence],
        weights: np.ndarray,
        search: str,
        right: Sequence[Parse] | None = None,
        n_threads: int = 1,
    ) -> list[Parse]:
        """Parses of sentences, natively.

        Parameters
        ----------
        sentences : sequence of Sentence
        weights : array of shape (n_rules,)
        search : {"best", "partial", "worst", "other"}
            "best": the largest score, the sum of weights. "partial": or the best cover, where there is no tree.
            "worst": the largest score with one more for every constituent that is not right, and one less for every
            one that is. "other": the largest score of a parse that is not the right one, which itself is returned
            where there is no other.
        right : sequence of Parse, default=None
            For "worst" and "other".
        n_threads : int, default=1

        Returns
        -------
        list of Parse
        """
        words, starts = joined([one.numbers for one in sentences], np.int32)
        constituents = rules = None
        if search == "worst" and right is not None:
            constituents = joined([one.constituents for one in right], np.int64)
        elif search == "other" and right is not None:
            rules = joined([one.rules for one in right], np.int32)
        wanted = "best" if search == "worst" else search
        found: Any = _native.parse_sentences(
            self._binarized.arrays, weights, words, starts, wanted, constituents, rules, n_threads
        )
        parses = list(map(Parse, _divided(*found[0]), _divided(*found[1])))
        for k in np.flatnonzero(np.diff(found[0][1]) == 0).tolist():
            if search != "other" or right is None:
                raise ParseError(f"The grammar has no parse of sentence {k}: {_told(sentences[k].words)}.")
            parses[k] = right[k]
        return parses


def productions(tree: Tree) -> list[Rule]:
    """The rules that a tree is made of, parents before children; leaves are words."""
    found: list[Rule] = []
    waiting: list[Hashable] = []
    for label, arity in reversed(list(tree.preorder())):
        if arity:
            found.append(Rule(label, tuple(waiting.pop() for _ in range(arity))))
        waiting.append(label if arity else Word(label))
    return found[::-1]


def joined(parts: Sequence[np.ndarray], dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Arrays one after the other, and where each starts."""
    starts = np.zeros(len(parts) + 1, dtype=np.int64)
    np.cumsum([len(part) for part in parts], out=starts[1:])
    return np.concatenate([*parts, np.empty(0, dtype)]).astype(dtype, copy=False), starts


def _divided(values: np.ndarray, starts: np.ndarray) -> list[np.ndarray]:
    """The parts of an array that start at some places."""
    return [values[first:last] for first, last in pairwise(starts.tolist())]


def _renamed(rule: Rule, words: Any, unknown: Hashable) -> Rule:
    """A rule with some words replaced by the one for what is unknown."""
    if not words:
        return rule
    body = (Word(unknown) if isinstance(item, Word) and item.label in words else item for item in rule.body)
    return Rule(rule.head, tuple(body))


def _told(words: Sequence[Hashable]) -> str:
    return " ".join(map(str, words[:12])) + (" ..." if len(words) > 12 else "")


def _rules_of_pairs(pairs: Iterable[Any]) -> Iterable[Rule]:
    rules = [Rule(head, tuple(body)) for head, body in pairs]
    heads = {rule.head for rule in rules}
    for head, body in rules:
        yield Rule(head, tuple(item if isinstance(item, Word) or item in heads else Word(item) for item in body))


def _rules_of_text(text: str) -> Iterable[Rule]:
    for number, line in enumerate(text.splitlines(), 1):
        bodies: list[list[Hashable]] = [[]]
        tokens = [found.groups() for found in TOKEN.finditer(line)]
        tokens = [token for token in tokens if token[4] is None]
        if not tokens:
            continue
        fits = "".join(TOKEN.sub("", line).split()) == "" and len(tokens) > 2
        fits = fits and tokens[0][5] is not None and tokens[1][0] is not None
        for arrow, bar, single, double, _, symbol in tokens[2:]:
            if bar:
                bodies.append([])
            elif arrow:
                fits = False
            else:
                bodies[-1].append(Word(single or double) if single or double else symbol)
        if not (fits and all(bodies)):
            raise GrammarError(
                f"Line {number} of the grammar must read like NP -> Det N | 'Paul', got {line.strip()!r}."
            )
        yield from (Rule(tokens[0][5], tuple(body)) for body in bodies)
