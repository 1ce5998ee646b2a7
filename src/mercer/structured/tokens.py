"""Words as rows of features."""

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction import FeatureHasher
from sklearn.utils.validation import check_is_fitted

from mercer.parameters import Choice, Number, check_parameters

__all__ = ["TokenFeatures"]


class TokenFeatures(TransformerMixin, BaseEstimator):
    """What words look like: the word itself, without capitals, how it begins and ends, its shape.

    A token is a word, or a tuple of a word and further strings that are known of it, such as its part of speech; these
    are features as they are. Every feature is one or zero. Neighbours of a word are seen by the window of `Chain`,
    which knows the sequence.

    Parameters
    ----------
    prefixes, suffixes : int >= 0, default=3
        First and last letters, up to so many, without capitals.
    shape : bool, default=True
        Whether there are capitals, small letters, digits and other signs, in their order: "McDonald's" has the shape
        ``XxXx'x``, and "1,234.5" has ``0,0.0``.
    min_count : int >= 1, default=1
        Features of fewer tokens to learn from are left out.
    n_hashed : int >= 1 or None, default=None
        Features are hashed into so many columns, with signs, and no dictionary is kept; `min_count` is not used then.
        None: a column for every feature of the tokens to learn from, others are left out.

    Attributes
    ----------
    vocabulary_ : dict
        The column of every feature; empty if they are hashed.

    Notes
    -----
    Features are computed once for every different token.

    Examples
    --------
    >>> from mercer.structured import TokenFeatures
    >>> features = TokenFeatures(prefixes=0, suffixes=2).fit(["The", ("the", "DT")])
    >>> features.get_feature_names_out()
    array(['1=DT', 'lower=the', 'shape=Xx', 'shape=x', 'suffix=e', 'suffix=he',
           'word=The', 'word=the'], dtype=object)
    >>> features.transform(["the"]).toarray()
    array([[0., 1., 0., 1., 1., 1., 0., 1.]])
    """

    _parameters: ClassVar[dict[str, Any]] = {
        "prefixes": Number(0, integer=True),
        "suffixes": Number(0, integer=True),
        "shape": Choice(True, False),
        "min_count": Number(1, integer=True),
        "n_hashed": Number(1, integer=True, none=True),
    }

    def __init__(self, prefixes=3, suffixes=3, shape=True, min_count=1, n_hashed=None):
        self.prefixes = prefixes
        self.suffixes = suffixes
        self.shape = shape
        self.min_count = min_count
        self.n_hashed = n_hashed

    def fit(self, X, y=None):
        """Note the features that tokens have.

        Parameters
        ----------
        X : list of str or tuples of str
            Tokens.
        y : None
            Not used.

        Returns
        -------
        TokenFeatures
        """
        check_parameters(self)
        counts: Counter[str] = Counter()
        if self.n_hashed is None:
            for token, times in Counter(map(_checked, X)).items():
                for name in self._names(token):
                    counts[name] += times
        kept = sorted(name for name, times in counts.items() if times >= self.min_count)
        self.vocabulary_ = {name: column for column, name in enumerate(kept)}
        return self

    def transform(self, X):
        """Tokens as rows.

        Parameters
        ----------
        X : list of str or tuples of str

        Returns
        -------
        CSR array of shape (n_tokens, n_features)
        """
        check_is_fitted(self)
        places: dict[Hashable, int] = {}
        rows = np.array([places.setdefault(_checked(token), len(places)) for token in X], dtype=np.int64)
        return self._table(places)[rows]

    def _table(self, tokens: Iterable[Any]) -> csr_array:
        if self.n_hashed is not None:
            hasher = FeatureHasher(self.n_hashed, input_type="string")
            return csr_array(hasher.transform([list(self._names(token)) for token in tokens]))
        found = [sorted(self._columns(token)) for token in tokens]
        ends = np.cumsum([0, *map(len, found)])
        columns = np.array([column for row in found for column in row], dtype=np.int32)
        return csr_array((np.ones(len(columns)), columns, ends), shape=(len(found), len(self.vocabulary_)))

    def _columns(self, token: Any) -> Iterator[int]:
        return (self.vocabulary_[name] for name in self._names(token) if name in self.vocabulary_)

    def _names(self, token: Any) -> Iterator[str]:
        word, *others = (token,) if isinstance(token, str) else token
        lower = word.lower()
        yield f"word={word}"
        yield f"lower={lower}"
        for k in range(1, min(self.prefixes, len(word)) + 1):
            yield f"prefix={lower[:k]}"
        for k in range(1, min(self.suffixes, len(word)) + 1):
            yield f"suffix={lower[-k:]}"
        if self.shape:
            yield f"shape={_shape(word)}"
        for k, other in enumerate(others, 1):
            yield f"{k}={other}"

    def get_feature_names_out(self, input_features=None):
        """What the columns are.

        Parameters
        ----------
        input_features : None
            Not used.

        Returns
        -------
        array of str
        """
        check_is_fitted(self)
        if self.n_hashed is not None:
            raise ValueError(f"hashed features have no names; n_hashed must be None, got {self.n_hashed}.")
        return np.array(list(self.vocabulary_), dtype=object)


def _checked(token: Any) -> Any:
    """A token, as what can be looked up."""
    if isinstance(token, str):
        return token
    if not (isinstance(token, (tuple, list)) and token and all(isinstance(part, str) for part in token)):
        raise TypeError(f"tokens must be strings, or tuples of a word and further strings, got {token!r}.")
    return tuple(token)


def _shape(word: str) -> str:
    """The kinds of signs in their order, runs as one."""
    return re.sub(r"(X|x|0)\1+", r"\1", "".join(map(_kind, word)))


def _kind(sign: str) -> str:
    return "X" if sign.isupper() else "x" if sign.isalpha() else "0" if sign.isdigit() else sign
