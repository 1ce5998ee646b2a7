"""The best parses of sentences of twenty words, beside the same algorithm in plain Python; and learning to parse."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.compare.trees import parse as random_tree
from benchmarks.data import shrunk
from benchmarks.real_data import DATASETS
from benchmarks.task import Quality, Task
from mercer.data import Tree
from mercer.structured import ContextFreeGrammar, Parser, StructuredSVM, Word, bracket_f1, read_conllu
from mercer.structured.grammar import Parse, Sentence

N_WORDS = 20
EWT = tuple(DATASETS / f"ud_english_ewt_{part}.conllu.gz" for part in ("dev", "test"))


class Work(NamedTuple):
    """Sentences of twenty words, a grammar, and weights of its rules."""

    grammar: ContextFreeGrammar
    weights: np.ndarray
    sentences: list[Sentence]


def little_english(_: str) -> Work:
    """Random sentences of a grammar with thirty rules."""
    rng = np.random.default_rng(0)
    found: list[Tree] = []
    while len(found) < shrunk(100, 5):
        tree = random_tree(rng)
        if len(tree.leaves) == N_WORDS:
            found.append(tree)
    grammar = ContextFreeGrammar.from_trees(found)
    return Work(grammar, rng.standard_normal(len(grammar)), [grammar.sentence(tree.leaves) for tree in found])


def web_treebank(_: str) -> Work:
    """Real sentences, as tags, and the flat rules of a treebank with the logarithms of their frequencies."""
    trees = [tree.constituents("tags", nested=False) for tree in read_conllu(EWT[0]) if tree.projective]
    grammar = ContextFreeGrammar.from_trees(trees)
    sentences = [grammar.sentence(tree.leaves) for tree in trees if len(tree.leaves) == N_WORDS]
    return Work(grammar, grammar.log_probabilities(trees), sentences[: shrunk(40, 5)])


def native(work: Work) -> list[Parse]:
    """On one thread, as the twin."""
    return work.grammar.search(work.sentences, work.weights, "best")


# --- plain Python -----------------------------------------------------------------------------------------


class PlainParser:
    """The algorithm of Cocke, Kasami and Younger with dictionaries; of unary rules without cycles."""

    def __init__(self, grammar: ContextFreeGrammar, weights: np.ndarray):
        self.start = grammar.start
        self.lexical: dict[Any, dict[Any, float]] = {}
        self.unary: list[tuple[Any, Any, float]] = []
        self.binary: dict[Any, list[tuple[Any, Any, float]]] = {}  # left -> (right, head, weight)
        self.helpers: set[Any] = set()
        for (head, body), weight in zip(grammar.rules, weights.tolist(), strict=True):
            if len(body) > 1:
                self.add_binary(head, body, weight)
            elif isinstance(body[0], Word):
                self.lexical.setdefault(body[0].label, {})[head] = weight
            else:
                self.unary.append((head, body[0], weight))

    def add_binary(self, head: Any, body: tuple[Any, ...], weight: float) -> None:
        rest = self.item(body[1]) if len(body) == 2 else body[1:]
        self.binary.setdefault(self.item(body[0]), []).append((rest, head, weight))
        if len(body) > 2 and rest not in self.helpers:
            self.helpers.add(rest)
            self.add_binary(rest, rest, 0.0)

    def item(self, item: Any) -> Any:
        if isinstance(item, Word):
            self.lexical.setdefault(item.label, {})[item] = 0.0
        return item

    def best(self, words: tuple[Any, ...]) -> tuple[float, tuple[Any, ...]]:
        """The score of the best tree, and the tree as nested tuples."""
        n = len(words)
        chart: dict[tuple[int, int], dict[Any, float]] = {}
        self.origins: dict[tuple[int, int, Any], Any] = {}
        for size in range(1, n + 1):
            for i in range(n - size + 1):
                j = i + size
                found = chart[i, j] = dict(self.lexical.get(words[i], {})) if size == 1 else {}
                for k in range(i + 1, j):
                    right = chart[k, j]
                    for symbol, value in chart[i, k].items():
                        for other, head, weight in self.binary.get(symbol, ()):
                            if other in right:
                                total = value + right[other] + weight
                                if head not in found or total > found[head]:
                                    found[head] = total
                                    self.origins[i, j, head] = k, symbol, other
                self.add_unary(found, i, j)
        (tree,) = self.below(words, 0, n, self.start)
        return chart[0, n][self.start], tree

    def below(self, words: tuple[Any, ...], i: int, j: int, symbol: Any) -> list[Any]:
        """The tree of an entry of the chart; what is below it if it only helps to make rules binary."""
        if isinstance(symbol, Word):
            return [words[i]]
        match self.origins.get((i, j, symbol)):
            case None:
                return [(symbol, words[i])]
            case (child,):
                found = self.below(words, i, j, child)
            case (k, left, right):
                found = self.below(words, i, k, left) + self.below(words, k, j, right)
        return found if symbol in self.helpers else [(symbol, *found)]

    def add_unary(self, found: dict[Any, float], i: int, j: int) -> None:
        changed = True
        while changed:
            changed = False
            for head, child, weight in self.unary:
                if child in found and (head not in found or found[child] + weight > found[head]):
                    found[head] = found[child] + weight
                    self.origins[i, j, head] = (child,)
                    changed = True


def twin(work: Work) -> list[tuple[float, tuple[Any, ...]]]:
    parser = PlainParser(work.grammar, work.weights)
    return [parser.best(sentence.words) for sentence in work.sentences]


def quality(work: Work, found: list[Any]) -> Quality:
    scores = (float(work.weights[one.rules].sum()) if isinstance(one, Parse) else one[0] for one in found)
    return {"sum of scores": sum(scores)}


# --- learning ---------------------------------------------------------------------------------------------


class Bank(NamedTuple):
    """Trees to learn from, and others."""

    trees: list[Tree]
    new: list[Tree]


def short(path: Any) -> Iterator[Tree]:
    """Sentences of at most twenty words without punctuation, as tags."""
    for tree in read_conllu(path):
        if tree.projective and 1 < len((plain := tree.without_punctuation()).words) <= N_WORDS:
            yield plain.constituents("tags")


def bank(_: str) -> Bank:
    trees, new = (list(short(path)) for path in EWT)
    return Bank(trees[: shrunk(len(trees), 50)], new)


def learnt(bank: Bank) -> StructuredSVM:
    machine = StructuredSVM(Parser(partial=True), gap_tol=0.01)
    return machine.fit([tree.leaves for tree in bank.trees], bank.trees)


def learning_quality(bank: Bank, machine: StructuredSVM) -> Quality:
    sentences = [tree.leaves for tree in bank.new]
    return {"F1": bracket_f1(bank.new, machine.predict(sentences)), "relative gap": machine.result_.relative_gap}


SAME = {"sum of scores": ("relative", 1e-10)}
TASKS = [
    Task(
        name="parsing-little-english",
        title="parses of 100 sentences of 20 words, 30 rules",
        group="Structured outputs",
        setup=little_english,
        contenders={"mercer": native, "plain Python": twin},
        quality=quality,
        tolerance=SAME,
    ),
    Task(
        name="parsing-web-treebank",
        title="parses of 40 sentences of 20 words, the rules of a treebank",
        group="Structured outputs",
        setup=web_treebank,
        contenders={"mercer": native, "plain Python": twin},
        quality=quality,
        tolerance=SAME,
        needs=EWT,
    ),
    Task(
        name="learning-to-parse",
        title="weights of a grammar, 1 500 sentences, to a gap of 1 %",
        group="Structured outputs",
        setup=bank,
        contenders={"mercer": learnt},
        quality=learning_quality,
        needs=EWT,
    ),
]
