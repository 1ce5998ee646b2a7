"""Parse trees as structured outputs."""

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from mercer.data import Tree
from mercer.errors import ParseError
from mercer.parameters import Choice, Number, check_parameters
from mercer.structured.base import StructuredModel
from mercer.structured.grammar import ContextFreeGrammar, joined
from mercer.structured.treebank import bracket_f1
from mercer.threads import effective_n_threads

__all__ = ["Parser"]


class Parser(StructuredModel):
    """Parse trees of sentences: every rule of a grammar has a weight, and the best tree the largest sum. [1]_

    The joint feature :math:`\\Psi(x, y)` counts how often each rule of the grammar occurs in the tree y of the sentence
    x, as in [CY §2.6]. Samples are sequences of words, outputs are `mercer.data.Tree` with these words as leaves.

    Parameters
    ----------
    grammar : ContextFreeGrammar or None, default=None
        None: the rules that the trees to learn from are made of.
    cost : {"constituents", "zero-one"}, default="constituents"
        The loss. "constituents": how many there are in one tree and not in the other one. A constituent is a symbol
        with the words that it stands for, tags of single words included. Within cycles of unary rules, where the same
        symbols can be stacked in several orders, it is a symbol with those below it in its chain. "zero-one": one for
        every wrong tree.
    partial : bool, default=False
        What a sentence without a tree is predicted to be: an error, or the fewest trees that cover it, of those the
        best, below a root; words that no tree covers are leaves of the root.
    unknown : hashable, default=None
        A word that stands for rare words and for those that were never seen; None: an unknown word is an error, or,
        in partial parses, a leaf. For ``grammar=None``; a grammar has its own.
    min_count : int >= 1, default=2
        Words that occur less often are rare, if `unknown` is given.

    Attributes
    ----------
    grammar_ : ContextFreeGrammar
        Of the resolved model; ``grammar_.rules`` tells what the weights are of.

    See Also
    --------
    ContextFreeGrammar : What is searched, and how; trees of maximum likelihood.

    Notes
    -----
    An oracle is the native algorithm of Cocke, Kasami and Younger, O(n³) for n words, and exact: the loss of
    constituents adds to the score of each constituent on its own, and the zero-one loss needs the best tree but one at
    most. Slack rescaling is for the zero-one loss alone, where it is the same as that of margins. `score` is the F1 of
    labelled brackets, `bracket_f1`.

    References
    ----------
    .. [1] B. Taskar, D. Klein, M. Collins, D. Koller, C. Manning, Max-margin parsing, EMNLP 2004.

    Examples
    --------
    >>> from mercer.data import Tree
    >>> from mercer.structured import Parser, StructuredSVM
    >>> trees = [
    ...     Tree.from_string("(S (NP (N Paul)) (VP (V ate) (NP (Det the) (N pie))))"),
    ...     Tree.from_string("(S (NP (Det the) (N dog)) (VP (V ate)))"),
    ... ]
    >>> machine = StructuredSVM(Parser()).fit([tree.leaves for tree in trees], trees)
    >>> print(machine.predict([["the", "dog", "ate", "the", "pie"]])[0])
    (S (NP (Det the) (N dog)) (VP (V ate) (NP (Det the) (N pie))))
    """

    portion = 64
    _parameters: ClassVar[dict[str, Any]] = {
        "cost": Choice("constituents", "zero-one"),
        "partial": Choice(True, False),
        "min_count": Number(1, integer=True),
    }

    def __init__(self, grammar=None, cost="constituents", partial=False, unknown=None, min_count=2):
        self.grammar = grammar
        self.cost = cost
        self.partial = partial
        self.unknown = unknown
        self.min_count = min_count

    def resolve(self, X, Y):
        check_parameters(self)
        if not (self.grammar is None or isinstance(self.grammar, ContextFreeGrammar)):
            raise TypeError(f"grammar must be a ContextFreeGrammar or None, got {self.grammar!r}.")
        if self.grammar is not None and self.unknown is not None:
            raise ValueError(f"unknown must be None with a grammar, which has its own, got {self.unknown!r}.")
        known = type(self)(**self.get_params(deep=False))
        if self.grammar is None:
            _check_trees(Y)
            known.grammar_ = ContextFreeGrammar.from_trees(Y, unknown=self.unknown, min_count=self.min_count)
        else:
            known.grammar_ = self.grammar
        known.size = len(known.grammar_)
        return known

    def prepare(self, X):
        return _each(X, lambda words: self.grammar_.sentence(words, self.partial), "X")

    def encode(self, X, Y):
        _check_trees(Y)
        for i, (x, y) in enumerate(zip(X, Y, strict=True)):
            if x.words != y.leaves:
                raise ParseError(f"The leaves of y[{i}] must be the words of its sentence, {x.words}, got {y.leaves}.")
        return _each(Y, self.grammar_.read, "y")

    def decode(self, X, Y):
        return [self.grammar_.tree(y.rules, x.words) for x, y in zip(X, Y, strict=True)]

    def joint_feature(self, x, y):
        rules = y.rules[y.rules >= 0]
        return csr_array((np.ones(len(rules)), rules, [0, len(rules)]), shape=(1, self.size))

    def loss(self, y, z):
        if self.cost == "zero-one":
            return 0.0 if self.same(y, z) else 1.0
        places = np.searchsorted(y.constituents, z.constituents)
        n_common = np.count_nonzero(y.constituents.take(places, mode="clip") == z.constituents)
        return float(len(y.constituents) + len(z.constituents) - 2 * n_common)

    def same(self, y, z):
        return np.array_equal(y.rules, z.rules)

    def predict(self, x, w):
        return self.predictions([x], w)[0]

    def oracle(self, x, y, w):
        return self.oracles([x], [y], w, "margin")[0]

    def slack_oracle(self, x, y, w):
        return self.oracles([x], [y], w, "slack")[0]

    def predictions(self, X, w):
        return self.grammar_.search(X, w, "partial" if self.partial else "best", n_threads=effective_n_threads())

    def oracles(self, X, Y, w, rescaling):
        if self.cost == "constituents":
            if rescaling == "slack":
                raise NotImplementedError(
                    "Parser has no slack_oracle for cost='constituents'; use rescaling='margin', or cost='zero-one'."
                )
            return self.grammar_.search(X, w, "worst", Y)
        others = self.grammar_.search(X, w, "other", Y)
        return [z if w[z.rules].sum() + 1.0 > w[y.rules].sum() else y for y, z in zip(Y, others, strict=True)]

    def differences(self, X, Y, Z):
        parts = [part.rules for y, z in zip(Y, Z, strict=True) for part in (y, z)]
        columns, starts = joined(parts, np.int32)
        signs = np.repeat(np.tile([1.0, -1.0], len(Y)), np.diff(starts))
        return csr_array((signs, columns, starts[::2]), shape=(len(Y), self.size))

    def score(self, Y, predicted):
        return bracket_f1(Y, predicted)


def _check_trees(Y: Any) -> None:
    for i, y in enumerate(Y):
        if not isinstance(y, Tree):
            raise TypeError(f"y must be trees, got {type(y).__name__} at {i}.")


def _each(values: Any, make: Any, name: str) -> list[Any]:
    """What is made of every sample; what is wrong with one is told with its number."""
    found = []
    for i, value in enumerate(values):
        try:
            found.append(make(value))
        except ParseError as error:
            raise ParseError(f"{name}[{i}]: {error}") from error
    return found
