"""Sequences of labels."""

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from mercer import _native
from mercer.parameters import Choice, Number, check_parameters
from mercer.segments import Segments
from mercer.structured.base import StructuredModel
from mercer.structured.rows import fitted_features, rows_of
from mercer.threads import effective_n_threads

__all__ = ["Chain"]


class Chain(StructuredModel):
    """Sequences with a label for every token.

    .. math::

        w \\cdot \\Psi(x, y) = \\sum_t u_{y_t} \\cdot x_t + \\sum_{t > 1} v_{y_{t-1} y_t} + a_{y_1} + b_{y_T}

    A label has weights u for the features of its token, there is a weight v for every label after every other, and
    weights a and b for the first and for the last label: a hidden Markov model, learnt with a large margin [1]_, or a
    max-margin Markov network on a chain [2]_.

    Parameters
    ----------
    features : transformer, Kernel or None, default=None
        What turns tokens into rows, see `mercer.structured.rows`: a vectorizer of scikit-learn, `TokenFeatures`, a
        kernel on strings. It is fitted to all tokens at once. None: samples are arrays of shape (length, n_features),
        dense or sparse.
    bias : float >= 0, default=1.0
        A further feature that is the same for all tokens: how frequent labels are. 0: none.
    window : int >= 0, default=0
        So many tokens before and after a token lend it their features, each place with weights of its own.
    cost : {"hamming", "zero-one"}, default="hamming"
        The loss. "hamming": the number of wrong labels, not divided by the length, so that every token counts the same.
        "zero-one": one, if any label is wrong.

    Attributes
    ----------
    classes_ : array
        The labels, of the resolved model.

    Notes
    -----
    Viterbi's algorithm finds the best labels of T tokens in time O(T n_labels^2), natively; so it does those with the
    largest loss-augmented score for both losses. With ``rescaling="slack"`` and the Hamming loss it runs over the
    number of errors too, in time O(T^2 n_labels^2) and memory O(T^2 n_labels).

    Predictions are arrays of labels, one for each sample. `score` is the share of right labels, or with the cost
    "zero-one" that of samples without a wrong one.

    References
    ----------
    .. [1] Y. Altun, I. Tsochantaridis, T. Hofmann, Hidden Markov support vector machines, ICML 2003.
    .. [2] B. Taskar, C. Guestrin, D. Koller, Max-margin Markov networks, NIPS 2003.

    Examples
    --------
    Articles, nouns and verbs; that a noun follows an article makes "saw" one:

    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from mercer.structured import Chain, StructuredSVM
    >>> X = [["the", "saw", "broke"], ["she", "saw", "him"], ["the", "dog", "saw", "her"]]
    >>> y = ["ANV", "NVN", "ANVN"]
    >>> machine = StructuredSVM(Chain(CountVectorizer()), C=10.0).fit(X, y)
    >>> ["".join(labels) for labels in machine.predict([["the", "saw"], ["dog", "saw", "him"]])]
    ['AN', 'NVN']
    """

    portion = 512
    _parameters: ClassVar[dict[str, Any]] = {
        "bias": Number(0),
        "window": Number(0, integer=True),
        "cost": Choice("hamming", "zero-one"),
    }

    def __init__(self, features=None, bias=1.0, window=0, cost="hamming"):
        self.features = features
        self.bias = bias
        self.window = window
        self.cost = cost

    def resolve(self, X, Y):
        check_parameters(self)
        known = type(self)(**self.get_params(deep=False))
        tokens, _ = _joined(X)
        known.features_ = fitted_features(self.features, tokens)
        known.classes_ = np.unique(_labels(Y)[0])
        known.n_columns_ = known.prepare(X[:1]).rows.shape[1]
        known.size = len(known.classes_) * (known.n_columns_ + len(known.classes_) + 2)
        if known.size > np.iinfo(np.int32).max:
            raise ValueError(
                f"features must be fewer: {known.n_columns_} of them for each of {len(known.classes_)} labels are more "
                f"than 2^31 weights."
            )
        return known

    def prepare(self, X):
        tokens, lengths = _joined(X)
        if self.features_ is None and not issparse(tokens) and isinstance(tokens[0], str):
            raise TypeError(f"features must say how tokens become rows, got None for tokens such as {tokens[0]!r}.")
        rows = rows_of(None, _with_neighbours(rows_of(self.features_, tokens), lengths, self.window), self.bias)
        if rows.shape[1] != getattr(self, "n_columns_", rows.shape[1]):
            raise ValueError(
                f"tokens of X must have {self.n_columns_} features, as those learnt from, got {rows.shape[1]}."
            )
        if not issparse(rows) and 2 * np.count_nonzero(rows) < rows.size:
            rows = csr_array(rows)  # the same sums, in half the time
        if issparse(rows) and not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        return Stretches(rows, np.cumsum(lengths) - lengths, lengths)

    def encode(self, X, Y):
        flat, lengths = _labels(Y)
        if (other := lengths != X.lengths).any():
            i = int(np.argmax(other))
            raise ValueError(_told_lengths(lengths[i], X.lengths[i], i))
        codes = np.minimum(np.searchsorted(self.classes_, flat), len(self.classes_) - 1)
        if (unseen := self.classes_[codes] != flat).any():
            raise ValueError(f"y must have the labels learnt from alone, got {flat[unseen].tolist()[0]!r}.")
        return Labels(codes.astype(np.int32), Segments.of_sizes(lengths))

    def decode(self, X, Y):
        return [self.classes_[y] for y in Y]

    def joint_feature(self, x, y):
        return self._csr(_native.chain_features(*x.native(self), np.ascontiguousarray(y, dtype=np.int32)))

    def _csr(self, parts: tuple[np.ndarray, np.ndarray, np.ndarray]) -> csr_array:
        return csr_array(parts, shape=(len(parts[2]) - 1, self.size))

    def loss(self, y, z):
        wrong = np.count_nonzero(y != z)
        return float(wrong if self.cost == "hamming" else wrong > 0)

    def predict(self, x, w):
        return self.predictions(x, w)[0]

    def oracle(self, x, y, w):
        return self.oracles(x, [y], w, "margin")[0]

    def slack_oracle(self, x, y, w):
        return self.oracles(x, [y], w, "slack")[0]

    def predictions(self, X, w):
        return X.labelled(_native.chain_paths(*X.native(self), w, "best", None, effective_n_threads()))

    def oracles(self, X, Y, w, rescaling):
        # With a loss of one both ways of rescaling are the same.
        search = rescaling if self.cost == "hamming" else "another"
        return X.labelled(_native.chain_paths(*X.native(self), w, search, Labels.of(Y).codes, 1))

    def losses(self, Y, Z):
        right = Labels.of(Y)
        wrong = right.parts.sum((right.codes != Labels.of(Z).codes).astype(np.float64))
        return wrong if self.cost == "hamming" else (wrong > 0).astype(np.float64)

    def differences(self, X, Y, Z):
        return self._csr(_native.chain_features(*X.native(self), Labels.of(Y).codes, Labels.of(Z).codes))

    def score(self, Y, predicted):
        right = []
        for i, (y, z) in enumerate(zip(Y, predicted, strict=True)):
            if len(y) != len(z):
                raise ValueError(_told_lengths(len(y), len(z), i))
            right.append(np.asarray(list(y)) == np.asarray(list(z)))
        if self.cost == "zero-one":
            return float(np.mean([every.all() for every in right]))
        return float(np.mean(np.concatenate(right)))


class Stretches:
    """Samples that are stretches of rows.

    Parameters
    ----------
    rows : array or csr_array of shape (n_tokens, n_features)
        Of all tokens; some samples share it with all.
    starts, lengths : int arrays of shape (n,)
        Which rows are those of a sample.
    """

    def __init__(self, rows: Any, starts: np.ndarray, lengths: np.ndarray):
        self.rows, self.starts, self.lengths = rows, starts, lengths
        self._native: Any = rows
        if issparse(rows):
            self._native = rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int64), rows.shape[1]

    @property
    def shape(self) -> tuple[int]:
        """As that of an array of samples."""
        return (len(self.lengths),)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, samples: int | np.ndarray) -> "Stretches":
        """Some samples, or one by itself."""
        some = object.__new__(type(self))
        some.rows, some._native = self.rows, self._native
        some.starts, some.lengths = self.starts[samples].reshape(-1), self.lengths[samples].reshape(-1)
        return some

    def native(self, model: Chain) -> tuple[Any, ...]:
        """The first arguments of native functions."""
        return self._native, len(model.classes_), self.starts, self.lengths

    def labelled(self, codes: np.ndarray) -> "Labels":
        """Codes of labels of all tokens, by sample."""
        return Labels(codes, Segments.of_sizes(self.lengths))


class Labels(Sequence[np.ndarray]):
    """Labels of samples, all in one array."""

    def __init__(self, codes: np.ndarray, parts: Segments):
        self.codes, self.parts = codes, parts

    @classmethod
    def of(cls, outputs: Sequence[np.ndarray]) -> "Labels":
        """Those of samples one by one, or what is joined already."""
        if isinstance(outputs, Labels):
            return outputs
        return cls(np.concatenate(outputs).astype(np.int32), Segments.of_sizes([len(y) for y in outputs]))

    @property
    def shape(self) -> tuple[int]:
        """As that of an array of samples."""
        return (len(self.parts),)

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, samples: Any) -> Any:
        """The labels of one sample, an array; or those of some."""
        if np.ndim(samples) == 0:
            return self.codes[self.parts[samples]]
        sizes = self.parts.sizes[samples]
        chosen = Segments.of_sizes(sizes)
        places = np.arange(chosen.starts[-1]) + np.repeat(self.parts.starts[:-1][samples] - chosen.starts[:-1], sizes)
        return Labels(self.codes[places], chosen)


def _joined(X: Any) -> tuple[Any, np.ndarray]:
    """All tokens of all samples, and how many each has."""
    X = list(X)
    lengths = np.array([x.shape[0] if hasattr(x, "shape") else len(x) for x in X], dtype=np.int64)
    if not lengths.all():
        raise ValueError(f"X must have samples of at least one token, got none for sample {np.argmin(lengths)}.")
    if not all(getattr(x, "ndim", 0) == 2 for x in X):
        return [token for x in X for token in x], lengths
    if len(widths := sorted({x.shape[1] for x in X})) > 1:
        raise ValueError(f"all samples of X must have the same number of features, got {widths[0]} and {widths[1]}.")
    return (csr_array(vstack(X, format="csr")) if any(map(issparse, X)) else np.concatenate(X)), lengths


def _labels(Y: Any) -> tuple[np.ndarray, np.ndarray]:
    """All labels of all samples, and how many each has."""
    for i, y in enumerate(Y):
        if not isinstance(y, Iterable):
            raise TypeError(f"y must have a sequence of labels for every sample, got {y!r} for sample {i}.")
    Y = [list(y) for y in Y]
    labels = [label for y in Y for label in y]
    kinds = {type(label) for label in labels}
    if not any(all(issubclass(kind, allowed) for kind in kinds) for allowed in (str, (Real, np.bool_))):
        told = ", ".join(sorted(kind.__name__ for kind in kinds))  # NumPy would make strings of numbers among strings
        raise ValueError(f"labels of y must be all numbers or all strings, got {told}.")
    return np.array(labels), np.array([len(y) for y in Y], dtype=np.int64)


def _told_lengths(n_labels: int, n_tokens: int, sample: int) -> str:
    return f"y must have a label for every token, got {n_labels} labels for the {n_tokens} tokens of sample {sample}."


def _with_neighbours(rows: Any, lengths: np.ndarray, window: int) -> Any:
    """Rows with those of the tokens around them in their sequence side by side; zeros where there are none."""
    if not window:
        return rows
    (n, d), shifts = rows.shape, np.arange(-window, window + 1)
    starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
    places = np.arange(n)[:, np.newaxis] + shifts
    inside = (places >= starts[:, np.newaxis]) & (places < (starts + np.repeat(lengths, lengths))[:, np.newaxis])
    places[~inside] = n  # a row of zeros
    if not issparse(rows):
        return np.vstack([rows, np.zeros((1, d))])[places].reshape(n, -1)
    apart = csr_array(vstack([rows, csr_array((1, d))], format="csr"))[places.ravel()]
    columns = apart.indices + np.repeat(np.tile(np.arange(len(shifts)) * d, n), np.diff(apart.indptr))
    return csr_array((apart.data, columns, apart.indptr[:: len(shifts)]), shape=(n, len(shifts) * d))
