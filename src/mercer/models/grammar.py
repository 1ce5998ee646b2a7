"""Stochastic context-free grammars."""

import re
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from mercer import _native
from mercer.data.features import SparseFeatures
from mercer.models.base import Model
from mercer.models.hidden_markov import check_possible, dense_features
from mercer.models.sequences import encode
from mercer.threads import effective_n_threads

__all__ = ["StochasticGrammar"]

# One alternative of a rule: two symbols, or a letter in quotes, and its probability in brackets.
ALTERNATIVE = re.compile(r"""\s*(?:(\w+)\s+(\w+)|'([^']+)'|"([^"]+)")\s*\[([^\]]*)\]\s*""")


class StochasticGrammar(Model):
    r"""A stochastic context-free grammar in Chomsky normal form.

    .. math:: p(x) = \sum_{\text{parses of } x} \prod_{\text{rules used}} p(\text{rule})

    Parameters
    ----------
    rules : iterable of (head, body, probability)
        The body of a rule is a pair of symbols, or a tuple of one letter. What is the head of a rule is a symbol. The
        probabilities of the rules of a head sum to one.
    start : hashable, default="S"
        The symbol that every parse begins with.

    Attributes
    ----------
    rules : tuple of (head, body, probability)
    alphabet : tuple
        The letters, in order of appearance.

    See Also
    --------
    HiddenMarkovModel : Chains in place of trees.
    mercer.kernels.Fisher, mercer.kernels.MarginalizedCount : Kernels from this model.

    Notes
    -----
    Expected uses of rules come from the inside-outside algorithm, natively, with threads over sequences: time
    O(m³ R) for a sequence of length m and R rules, memory O(m²) for every symbol. Scores are derivatives by the logits
    of the probabilities, in the order of the rules: the expected uses of a rule, less its probability times those of
    all rules of its head.

    References
    ----------
    .. [1] K. Lari, S. J. Young, The estimation of stochastic context-free grammars using the inside-outside algorithm,
       Computer Speech and Language 4, 1990.
    .. [2] R. Durbin et al., Biological Sequence Analysis, 1998, chapter 9.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.models import StochasticGrammar
    >>> pairs = StochasticGrammar.from_string('''
    ...     S -> L S [0.2] | A U [0.4] | 'c' [0.4]
    ...     L -> 'a' [0.5] | 'u' [0.5]
    ...     A -> 'a' [1.0]
    ...     U -> S B [1.0]
    ...     B -> 'u' [1.0]
    ... ''')
    >>> np.exp(pairs.log_likelihood(["c", "acu", "ac"]))
    array([0.4 , 0.16, 0.04])
    """

    domain = "strings"
    _parts = ("rules", "start")

    rules: tuple[tuple[Hashable, tuple[Hashable, ...], float], ...]
    start: Hashable
    alphabet: tuple[Hashable, ...]

    def __init__(self, rules: Iterable[Any], start: Hashable = "S"):
        kept = tuple((head, tuple(body), float(probability)) for head, body, probability in rules)
        symbols: dict[Hashable, int] = {}
        for head, _, _ in kept:
            symbols.setdefault(head, len(symbols))
        letters: dict[Hashable, int] = {}
        for head, body, probability in kept:
            if len(body) == 1:
                letters.setdefault(body[0], len(letters))
            elif len(body) != 2:
                raise ValueError(f"The rule of {head!r} must have two symbols or one letter, got {body!r}.")
            elif missing := [symbol for symbol in body if symbol not in symbols]:
                raise ValueError(f"The symbol {missing[0]!r} in the rule of {head!r} has no rules.")
            if not 0 <= probability <= 1:
                raise ValueError(f"The probability of a rule of {head!r} must be from 0 to 1, got {probability}.")
        if start not in symbols:
            raise ValueError(f"start must be the head of a rule, got {start!r}.")
        if len({(head, body) for head, body, _ in kept}) < len(kept):
            raise ValueError("Every rule must be there once.")
        for symbol in symbols:
            total = sum(probability for head, _, probability in kept if head == symbol)
            if abs(total - 1.0) > 1e-6:
                raise ValueError(f"The probabilities of the rules of {symbol!r} must sum to 1, got {total}.")
        self._keep(rules=kept, start=start, alphabet=tuple(letters), _symbols=symbols)
        binary = [(symbols[h], symbols[b[0]], symbols[b[1]], p) for h, b, p in kept if len(b) == 2]
        lexical = np.zeros((len(symbols), len(letters)))
        for head, body, probability in kept:
            if len(body) == 1:
                lexical[symbols[head], letters[body[0]]] = probability
        sides = [np.array([rule[side] for rule in binary], dtype=np.int32) for side in range(3)]
        self._keep(_sides=tuple(sides), _probabilities=np.array([rule[3] for rule in binary], dtype=np.float64))
        self._keep(_lexical=lexical, _letters=letters)

    _symbols: dict[Hashable, int]
    _letters: dict[Hashable, int]
    _sides: tuple[np.ndarray, np.ndarray, np.ndarray]
    _probabilities: np.ndarray
    _lexical: np.ndarray

    def __repr__(self) -> str:
        return f"<StochasticGrammar of {len(self.rules)} rules over {len(self.alphabet)} letters>"

    # --- from other forms ---------------------------------------------------------------------------------

    @classmethod
    def from_string(cls, text: str, start: Hashable | None = None) -> "StochasticGrammar":
        """A grammar from its rules as text, as nltk writes them.

        Parameters
        ----------
        text : str
            Lines of the form ``S -> L S [0.4] | 'a' [0.6]``: letters are in quotes, probabilities in brackets. What
            follows a # is left out.
        start : hashable, default=None
            None: the head of the first rule.

        Returns
        -------
        StochasticGrammar
        """
        rules: list[tuple[str, tuple[str, ...], float]] = []
        for number, line in enumerate(text.splitlines(), 1):
            line = line.partition("#")[0].strip()
            if not line:
                continue
            head, arrow, bodies = (part.strip() for part in line.partition("->"))
            for alternative in bodies.split("|"):
                found = ALTERNATIVE.fullmatch(alternative)
                try:
                    left, right, single, double, probability = found.groups()  # type: ignore[union-attr]
                    body = (left, right) if left else (single or double,)
                    rules.append((head, body, float(probability)))
                except (AttributeError, ValueError) as error:
                    raise ValueError(
                        f"Line {number} of the grammar must read like S -> L S [0.4] | 'a' [0.6], got {line!r}."
                    ) from error
            if not (arrow and re.fullmatch(r"\w+", head)):
                raise ValueError(f"Line {number} of the grammar needs one symbol before ->, got {line!r}.")
        if not rules:
            raise ValueError("The grammar has no rules.")
        return cls(rules, rules[0][0] if start is None else start)

    @classmethod
    def from_nltk(cls, grammar: Any) -> "StochasticGrammar":
        """A grammar from one of nltk in normal form (``nltk.PCFG``).

        Parameters
        ----------
        grammar : nltk.PCFG

        Returns
        -------
        StochasticGrammar
        """

        def name(item: Any) -> Hashable:
            return item.symbol() if hasattr(item, "symbol") else item

        rules = [(name(p.lhs()), tuple(map(name, p.rhs())), p.prob()) for p in grammar.productions()]
        return cls(rules, name(grammar.start()))

    def refined(self, X, *, pseudo_count: float = 0.1, max_iter: int = 20, tol: float = 1e-4) -> "StochasticGrammar":
        """The same rules with probabilities that make sequences more likely, by the inside-outside algorithm.

        Parameters
        ----------
        X : n sequences
        pseudo_count : float, default=0.1
            Added to the expected number of uses of every rule.
        max_iter : int, default=20
        tol : float, default=1e-4
            Ends where a step improves the log-likelihood per letter by less.

        Returns
        -------
        StochasticGrammar
        """
        grammar, before = self, -np.inf
        letters, starts = encode(X, self.alphabet, type(self).__name__)
        for _ in range(max_iter):
            logarithms, uses = grammar._uses(letters, starts)
            check_possible(logarithms, grammar)
            now = float(logarithms.sum() / max(1, len(letters)))
            if now - before < tol:
                break
            before = now
            total = uses.sum(axis=0) + pseudo_count
            of_head = self._of_head(total)
            # What is never used says nothing, and stays as it was.
            shares = np.divide(
                total, of_head, out=np.array([share for _, _, share in grammar.rules]), where=of_head > 0
            )
            grammar = StochasticGrammar(
                [(head, body, share) for (head, body, _), share in zip(self.rules, shares.tolist(), strict=True)],
                self.start,
            )
        return grammar

    # --- numbers ------------------------------------------------------------------------------------------

    def log_likelihood(self, X):
        """Logarithm of the probability of every sequence; minus infinity for one that has no parse.

        Parameters
        ----------
        X : n sequences

        Returns
        -------
        ndarray of shape (n,)
        """
        letters, starts = encode(X, self.alphabet, type(self).__name__)
        return _native.grammar_likelihoods(*self._arrays(), letters, starts, effective_n_threads())

    def scores(self, X):
        """Derivatives of the log-likelihoods by the logits of the rules.

        Parameters
        ----------
        X : n sequences

        Returns
        -------
        ndarray of shape (n, number of rules)
        """
        logarithms, uses = self._uses(*encode(X, self.alphabet, type(self).__name__))
        check_possible(logarithms, self)
        return uses - np.array([probability for _, _, probability in self.rules]) * self._of_head(uses)

    def expected_counts(self, X, order: int = 1) -> SparseFeatures:
        """How often letters are expected below symbols, or symbols beside each other, given the sequences.

        Parameters
        ----------
        X : n sequences
        order : 1 or 2, default=1
            1: a letter and the symbol that it comes from; 2: two neighbouring symbols and the one they come from.

        Returns
        -------
        SparseFeatures
        """
        logarithms, rules, lexical = self._counts(*encode(X, self.alphabet, type(self).__name__))
        check_possible(logarithms, self)
        return dense_features(lexical.reshape(len(lexical), self._lexical.size) if order == 1 else rules)

    def _counts(self, letters: np.ndarray, starts: np.ndarray) -> Any:
        """Log-likelihoods, and expected uses of rules with two symbols and of [symbol, letter]."""
        heads, lefts, rights, probabilities, lexical, start = self._arrays()
        return _native.grammar_counts(
            heads, lefts, rights, probabilities, lexical, start, letters, starts, effective_n_threads()
        )

    def _arrays(self) -> Any:
        return *self._sides, self._probabilities, self._lexical, self._symbols[self.start]

    def _uses(self, letters: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log-likelihoods, and expected uses of all rules in their order."""
        logarithms, of_pairs, lexical = self._counts(letters, starts)
        uses = np.empty((len(logarithms), len(self.rules)))
        pairs = 0
        for r, (head, body, _) in enumerate(self.rules):
            if len(body) == 2:
                uses[:, r] = of_pairs[:, pairs]
                pairs += 1
            else:
                uses[:, r] = lexical[:, self._symbols[head], self._letters[body[0]]]
        return logarithms, uses

    def _of_head(self, uses: np.ndarray) -> np.ndarray:
        """For every rule, the sum over the rules of its head."""
        heads = np.array([self._symbols[head] for head, _, _ in self.rules])
        sums = [np.ascontiguousarray(uses[..., heads == head]).sum(axis=-1) for head in range(len(self._symbols))]
        return np.stack(sums, axis=-1)[..., heads]
