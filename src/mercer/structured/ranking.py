"""Rankings of the items of a query."""

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from mercer import _native
from mercer.structured.base import StructuredModel
from mercer.structured.rows import fitted_features, rows_of

__all__ = ["Ranking"]


class Ranking(StructuredModel):
    """Items of queries, to be ranked by scores :math:`w \\cdot x_i` so that relevant ones come first.

    A sample is a query: the features of its m items, one row for each. Its output is their relevance, a number for
    each; larger is to come first, and equal ones may come in any order. For the set P of all pairs of items (i, j), i
    more relevant than j,

    .. math:: \\Psi(x, z) = \\frac{1}{2 |P|} \\sum_{(i, j) \\in P} z_{ij} (x_i - x_j), \\qquad
              \\Delta(y, z) = \\frac{|\\{z_{ij} = -1\\}|}{|P|},

    where :math:`z_{ij} = \\pm 1` says whether i is ahead of j. The best z is the order of scores, and the loss is the
    share of pairs in the wrong order: for relevances of two kinds, one minus the area under the ROC curve. What is
    learnt from is the mean of :math:`\\max(0, 1 - w \\cdot (x_i - x_j))` over the pairs of a query [1]_, and each query
    counts once. The worst z is looked for among all z; with more than two relevances some of them are no order, and the
    loss of the worst one bounds that of orders [3]_.

    `predict` gives the scores of the items of every query, ``np.argsort(-scores)`` is their order. `score` is the share
    of pairs in the right order, ties counting half, in the mean over queries that have such pairs.

    Parameters
    ----------
    features : transformer, Kernel or None, default=None
        What turns items into rows, see `mercer.structured.rows`; None: they are rows of numbers.

    See Also
    --------
    Taxonomy : Classes of which some are nearer to each other than others.

    Notes
    -----
    An oracle costs O(m n_features + m log(m)) for any number of different relevances, by sorting [2]_ [3]_. With slack
    rescaling it looks at all pairs, O(m^2 log(m)).

    References
    ----------
    .. [1] T. Joachims, Optimizing search engines using clickthrough data, KDD 2002.
    .. [2] T. Joachims, A support vector method for multivariate performance measures, ICML 2005.
    .. [3] T. Joachims, Training linear SVMs in linear time, KDD 2006.

    Examples
    --------
    Three items of one query and two of another:

    >>> from mercer.structured import Ranking, StructuredSVM
    >>> X = [[[3.0, 1.0], [2.0, 5.0], [1.0, 2.0]], [[0.0, 1.0], [4.0, 0.0]]]
    >>> machine = StructuredSVM(Ranking(), C=10.0).fit(X, [[2, 1, 0], [0, 1]])
    >>> machine.predict([[[1.0, 1.0], [2.0, 1.0]]])[0].argsort().tolist()
    [0, 1]
    >>> machine.score(X, [[2, 1, 0], [0, 1]])
    1.0
    """

    portion = 512

    def __init__(self, features=None):
        self.features = features

    def resolve(self, X, Y):
        orders = [PairOrder.of(levels_of(y, f"y[{k}]")) for k, y in enumerate(Y)]
        if not any(order.n_pairs for order in orders):
            raise ValueError("y must have different relevances for some items of a query, got none.")
        known = type(self)(**self.get_params(deep=False))
        known.features_ = fitted_features(self.features, Items.of(X).rows)
        known.size = known.prepare(X).rows.shape[1]
        return known

    def prepare(self, X):
        items = Items.of(X)
        rows = rows_of(self.features_, items.rows)
        if rows.shape[1] != (self.size or rows.shape[1]):
            raise ValueError(f"X must have {self.size} features, as those learnt from, got {rows.shape[1]}.")
        return Items(rows, items.starts)

    def encode(self, X, Y):
        orders = [PairOrder.of(levels_of(y, f"y[{k}]")) for k, y in enumerate(Y)]
        for k, (order, m) in enumerate(zip(orders, np.diff(X.starts).tolist(), strict=True)):
            if len(order.levels) != m:
                raise ValueError(f"y[{k}] must have a relevance for each of {m} items, got {len(order.levels)}.")
        return orders

    def joint_feature(self, x, y):
        return x.T @ (y.wins / (2.0 * max(1, y.n_pairs)))

    def same(self, y, z):
        return np.array_equal(y.wins, z.wins)

    def loss(self, y, z):
        """The share of pairs in the wrong order, z being from an oracle or scores."""
        return float(self.losses([y], [z])[0])

    def predict(self, x, w):
        return x @ w

    def oracle(self, x, y, w):
        return self.oracles(Items.of([x]), [y], w, "margin")[0]

    def slack_oracle(self, x, y, w):
        return self.oracles(Items.of([x]), [y], w, "slack")[0]

    def predictions(self, X, w):
        return X.split(X.rows @ w)

    def oracles(self, X, Y, w, rescaling):
        scores = X.rows @ w
        if rescaling == "slack":
            return [_worst_rescaled(y, s) for y, s in zip(Y, X.split(scores), strict=True)]
        net, totals = _native.wrong_pairs(scores, np.concatenate([y.levels for y in Y]), X.starts, 1.0, False)
        return [y.swapped(*found) for y, *found in zip(Y, X.split(net), totals.tolist(), strict=True)]

    def losses(self, Y, Z):
        if all(isinstance(z, PairOrder) for z in Z):
            wrong = np.array([z.n_wrong for z in Z], dtype=np.float64)
        else:
            wrong = _wrong_by_scores([y.levels for y in Y], Z)
        return wrong / np.maximum(1, [y.n_pairs for y in Y])

    def differences(self, X, Y, Z):
        moved = [(y.wins - z.wins) / (2.0 * max(1, y.n_pairs)) for y, z in zip(Y, Z, strict=True)]
        weights = csr_array((np.concatenate(moved), np.arange(X.starts[-1]), X.starts), (len(X), X.rows.shape[0]))
        return csr_array(weights @ X.rows)

    def score(self, Y, predicted):
        orders = [PairOrder.of(levels_of(y, f"y[{k}]")) for k, y in enumerate(Y)]
        used = np.array([order.n_pairs > 0 for order in orders])
        if not used.any():
            raise ValueError("y must have different relevances for some items of a query, got none.")
        return 1.0 - float(self.losses(orders, predicted)[used].mean())


@dataclass(frozen=True, eq=False)
class PairOrder:
    """Which item is ahead, for all pairs of items with different relevance, as far as anybody asks.

    Parameters
    ----------
    levels : int64 array of shape (m,)
        Of relevance, from 0 on.
    wins : int64 array of shape (m,)
        Of every item, the pairs in which it is ahead minus those in which it is behind.
    n_wrong, n_pairs : int
        The pairs in which the less relevant one is ahead, and all.
    """

    levels: np.ndarray
    wins: np.ndarray
    n_wrong: int
    n_pairs: int

    @classmethod
    def of(cls, levels: np.ndarray) -> "PairOrder":
        """The right one."""
        counts = np.bincount(levels)
        below = np.cumsum(counts) - counts
        wins = below - (len(levels) - counts - below)
        return cls(levels, wins[levels], 0, int(below @ counts))

    def swapped(self, net: np.ndarray, n_wrong: int) -> "PairOrder":
        """Other pairs wrong: how many, and of every item those that it loses minus those that it wins by that."""
        return PairOrder(self.levels, self.wins - 2 * net, n_wrong, self.n_pairs)

    def __repr__(self) -> str:
        return f"order with {self.n_wrong} of {self.n_pairs} pairs wrong"


@dataclass(frozen=True, eq=False)
class Items:
    """The items of all queries, one query after the other; a sequence of queries.

    Parameters
    ----------
    rows : array or CSR array with a row for every item, or a list of items
    starts : int64 array of shape (n + 1,)
        Where queries begin.
    """

    rows: Any
    starts: np.ndarray

    @classmethod
    def of(cls, X: Sequence[Any]) -> "Items":
        """From queries: arrays of rows, or lists of items of any kind."""
        sizes = [x.shape[0] if issparse(x) else len(x) for x in X]
        if 0 in sizes:
            raise ValueError(f"X[{sizes.index(0)}] must have at least one item, got none.")
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        if not all(hasattr(x, "shape") for x in X):
            return cls([item for x in X for item in x], starts)
        for k, x in enumerate(X):
            if x.ndim != 2 or x.shape[1] != X[0].shape[1]:
                raise ValueError(f"X[{k}] must have shape (items, {X[0].shape[-1]}), got {x.shape}.")
        sparse = any(map(issparse, X))
        return cls(csr_array(vstack([csr_array(x) for x in X])) if sparse else np.vstack(list(X)), starts)

    @property
    def shape(self) -> tuple[int]:
        return (len(self.starts) - 1,)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, which: Any) -> Any:
        """The rows of one query, or some queries."""
        if np.ndim(which) == 0:
            k = range(len(self))[operator.index(which)]
            return self.rows[self.starts[k] : self.starts[k + 1]]
        sizes = np.diff(self.starts)[which]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        shifts = np.repeat(self.starts[:-1][which] - starts[:-1], sizes)
        return Items(self.rows[np.arange(starts[-1]) + shifts], starts)

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def split(self, values: np.ndarray) -> list[np.ndarray]:
        """Values of all items, query by query."""
        return np.split(values, self.starts[1:-1])


def levels_of(relevance: Any, name: str) -> np.ndarray:
    """Relevances of the items of a query as ranks from 0 on, equal ones the same."""
    values = np.asarray(relevance)
    if values.ndim != 1 or values.dtype.kind not in "biuf" or not np.isfinite(values).all():
        raise ValueError(f"{name} must be numbers, one for every item, all finite, got {relevance!r}.")
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _wrong_by_scores(levels: list[np.ndarray], scores: Sequence[Any]) -> np.ndarray:
    """Pairs that scores put in the wrong order, and half of those that they put in none."""
    starts = np.concatenate([[0], np.cumsum([len(one) for one in levels])]).astype(np.int64)
    for k, (one, other) in enumerate(zip(levels, scores, strict=True)):
        if np.shape(other) != one.shape or not np.isfinite(other).all():
            raise ValueError(f"query {k} must have scores of shape {one.shape}, all finite, got {other!r}.")
    all_scores, all_levels = np.concatenate(list(scores)).astype(np.float64), np.concatenate(levels)
    wrong, not_right = (_native.wrong_pairs(all_scores, all_levels, starts, 0.0, closed)[1] for closed in (False, True))
    return 0.5 * (wrong + not_right)


def _worst_rescaled(y: PairOrder, scores: np.ndarray) -> PairOrder:
    """The pairs whose number, times one minus the mean by which they are in the right order, is largest.

    Of so many pairs, those with the smallest differences of scores are the worst, and all numbers of them are tried.
    """
    ahead, behind = np.nonzero(y.levels[:, np.newaxis] > y.levels)
    difference = scores[ahead] - scores[behind]
    order = np.argsort(difference, kind="stable")
    numbers = np.arange(1, y.n_pairs + 1)
    values = numbers * (1.0 - np.cumsum(difference[order]) / max(1, y.n_pairs))
    best = int(np.argmax(values)) + 1 if y.n_pairs and values.max() > 0 else 0
    m, chosen = len(scores), order[:best]
    net = np.bincount(ahead[chosen], minlength=m) - np.bincount(behind[chosen], minlength=m)
    return y.swapped(net, best)
