"""Sets of labels."""

from functools import lru_cache
from itertools import chain, combinations
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, hstack, issparse
from scipy.sparse.csgraph import minimum_spanning_tree

from mercer.kernels.samples import row_blocks
from mercer.parameters import Number, check_parameters
from mercer.structured.base import StructuredModel
from mercer.structured.classes import as_names
from mercer.structured.rows import fitted_features, paired_rows, rows_of, scores_of

__all__ = ["Multilabel"]

# Labels that are tried together: a table of 2^20 numbers for each sample, 8 MB.
MOST_TRIED = 20
# Labels of which all sets are written down.
MOST_WRITTEN = 16
# Of a pair of labels, for one sample.
AGREE = np.eye(2)[np.newaxis]
# Mutual information up to which labels are taken as independent: rounding.
INDEPENDENT = 1e-12


class Multilabel(StructuredModel):
    """Sets of labels, with weights for every label and for pairs of labels that go together or exclude each other.

    .. math:: w \\cdot \\Psi(x, y) = \\sum_l y_l\\, w_l \\cdot x + b \\sum_{(l, m)} v_{lm} [y_l = y_m], \\qquad
              \\Delta(y, z) = \\sum_l c_l [y_l \\neq z_l]

    with :math:`y_l` one for the labels of a sample and zero for others. Without pairs, `StructuredSVM` is one machine
    for each label on its own. The best set and the worst one are always exact. [1]_

    Parameters
    ----------
    pairs : "tree", "full", None or list of pairs of labels, default="tree"
        Which labels have a weight in common. "tree": a tree of the pairs that tell most about each other in the samples
        learnt from, that is the tree of Chow and Liu [2]_; labels that are independent there are not tied. "full": all.
    coupling : float > 0, default=1.0
        b. Larger means cheaper weights of pairs.
    costs : array of shape (n_labels,) or None, default=None
        c > 0, what it costs to be wrong about each label, labels being sorted; None: one, the Hamming loss times their
        number.
    features : transformer, Kernel or None, default=None
        What turns samples into rows, see `mercer.structured.rows`; None: they are rows of numbers.
    bias : float >= 0, default=0.0
        A further feature that is the same for all samples; its weights are regularised as all others. Larger means
        cheaper offsets. Pairs say how often two labels agree, and only with a bias how often each is there.

    Attributes
    ----------
    labels_ : array of shape (n_labels,)
        Of the resolved model.
    pairs_ : array of shape (n_pairs, 2)
        Of the resolved model, as places in `labels_`.

    Notes
    -----
    Outputs are an array, also a sparse one, of zeros and ones with a column for each label, or a sequence of sets or
    other collections of labels; predictions are of the same form, with sets. `score` is the share of labels that are
    right.

    Labels are maximised over one after the other [3]_, those with the fewest neighbours first. For a tree, an oracle
    costs O(n_labels) besides that of the scores. For other pairs it is exponential in the number of labels that have to
    be tried together, which is all of them for "full"; more than 20 are refused. Slack rescaling writes down
    all sets, of up to 16 labels.

    References
    ----------
    .. [1] T. Finley, T. Joachims, Training structural SVMs when exact inference is intractable, ICML 2008.
    .. [2] C. Chow, C. Liu, Approximating discrete probability distributions with dependence trees, IEEE Transactions on
       Information Theory 14, 1968.
    .. [3] U. Bertelè, F. Brioschi, Nonserial dynamic programming, 1972.

    Examples
    --------
    >>> from mercer.structured import Multilabel, StructuredSVM
    >>> X, y = [[1.0, 0.0], [1.0, 1.0], [-1.0, 1.0]], [{"sea"}, {"sea", "sun"}, {"sun"}]
    >>> machine = StructuredSVM(Multilabel(), C=10.0).fit(X, y)
    >>> machine.predict([[2.0, -1.0], [-2.0, 2.0]])
    [{'sea'}, {'sun'}]
    """

    portion = 512
    _parameters: ClassVar[dict[str, Any]] = {"coupling": Number(0, above=True), "bias": Number(0)}

    def __init__(self, pairs="tree", *, coupling=1.0, costs=None, features=None, bias=0.0):
        self.pairs = pairs
        self.coupling = coupling
        self.costs = costs
        self.features = features
        self.bias = bias

    # --- data ---------------------------------------------------------------------------------------------

    def resolve(self, X, Y):
        check_parameters(self)
        known = type(self)(**self.get_params(deep=False))
        known._of_sets = not is_matrix(Y)
        known.labels_ = labels_of(Y)
        known._places = {label: place for place, label in enumerate(known.labels_.tolist())}
        known.pairs_ = known._chosen_pairs(known.encode(None, Y))
        known._plan = elimination_plan(len(known.labels_), known.pairs_)
        known._n_tried = max(1 + len(later) for _, later in known._plan)
        if known._n_tried > MOST_TRIED:
            raise ValueError(
                f"pairs must leave at most {MOST_TRIED} labels to be tried together, got {known._n_tried} with "
                f"{self.pairs!r}; pairs='tree' has no limit."
            )
        known.costs_ = known._checked_costs()
        known.features_ = fitted_features(self.features, X)
        known.n_columns_ = known.prepare(X).shape[1]
        known.size = len(known.labels_) * known.n_columns_ + len(known.pairs_)
        return known

    def _chosen_pairs(self, Y: np.ndarray) -> np.ndarray:
        n = len(self.labels_)
        if self.pairs is None:
            return np.empty((0, 2), dtype=np.int64)
        if isinstance(self.pairs, str):
            if self.pairs not in ("tree", "full"):
                raise ValueError(
                    f"pairs must be 'tree', 'full', None or a list of pairs of labels, got {self.pairs!r}."
                )
            return chow_liu(Y) if self.pairs == "tree" else np.column_stack(np.triu_indices(n, 1))
        chosen = set()
        for pair in self.pairs:
            if len(pair) != 2 or pair[0] == pair[1]:
                raise ValueError(f"pairs must be of two different labels each, got {pair!r}.")
            unknown = [label for label in pair if label not in self._places]
            if unknown:
                raise ValueError(f"pairs must be of the labels learnt from, got {unknown[0]!r}.")
            chosen.add(tuple(sorted(self._places[label] for label in pair)))
        return np.array(sorted(chosen), dtype=np.int64).reshape(-1, 2)

    def _checked_costs(self) -> np.ndarray:
        n = len(self.labels_)
        costs = np.ones(n) if self.costs is None else np.asarray(self.costs, dtype=np.float64)
        if costs.shape != (n,) or not ((costs > 0) & np.isfinite(costs)).all():
            raise ValueError(f"costs must be numbers > 0, finite, one for each of {n} labels, got {self.costs!r}.")
        return costs

    def prepare(self, X):
        rows = rows_of(self.features_, X, self.bias)
        if rows.shape[1] != getattr(self, "n_columns_", rows.shape[1]):
            raise ValueError(f"X must have {self.n_columns_} features, as those learnt from, got {rows.shape[1]}.")
        return rows

    def encode(self, X, Y):
        n = len(self.labels_)
        if is_matrix(Y):
            indicators = np.asarray(Y.toarray() if issparse(Y) else Y)
            if indicators.shape[1] != n or not np.isin(indicators, (0, 1)).all():
                raise ValueError(
                    f"y must be zeros and ones with {n} columns, got an array of shape {indicators.shape}."
                )
            return indicators.astype(bool)
        indicators = np.zeros((len(Y), n), dtype=bool)
        for row, labels in zip(indicators, Y, strict=True):
            unknown = [label for label in labels if label not in self._places]
            if unknown:
                raise ValueError(f"y must be of the labels learnt from, got {unknown[0]!r}.")
            row[[self._places[label] for label in labels]] = True
        return indicators

    def decode(self, X, Y):
        if self._of_sets:
            return [set(self.labels_[y].tolist()) for y in Y]
        return np.asarray(Y).astype(np.int64)

    def score(self, Y, predicted):
        if is_matrix(Y):
            indicators = np.asarray(Y.toarray() if issparse(Y) else Y)
            return float(np.mean(indicators == np.asarray(predicted)))
        n_labels = len(set(self.labels_.tolist()).union(*Y))
        wrong = [len(set(y) ^ set(z)) for y, z in zip(Y, predicted, strict=True)]
        return 1.0 - float(np.mean(wrong)) / n_labels

    # --- the model ----------------------------------------------------------------------------------------

    def _agreements(self, Y: Any) -> np.ndarray:
        Y = np.asarray(Y)
        return self.coupling * (Y[:, self.pairs_[:, 0]] == Y[:, self.pairs_[:, 1]])

    def _weights(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of labels, in rows, and what it is worth that the labels of a pair agree."""
        of_labels = len(self.labels_) * self.n_columns_
        return w[:of_labels].reshape(len(self.labels_), -1), self.coupling * w[of_labels:]

    def joint_feature(self, x, y):
        rows, y = csr_array(x.reshape(1, -1)), np.asarray(y)[np.newaxis]
        alone = paired_rows(csr_array(y.astype(np.float64)), rows)
        return hstack([alone, csr_array(self._agreements(y))], format="csr")

    def differences(self, X, Y, Z):
        Y, Z = np.asarray(Y), np.asarray(Z)
        alone = paired_rows(csr_array(Y.astype(np.float64) - Z), csr_array(X))
        return hstack([alone, csr_array(self._agreements(Y) - self._agreements(Z))], format="csr")

    def loss(self, y, z):
        return float(self.costs_ @ (np.asarray(y) != z))

    def losses(self, Y, Z):
        return (np.asarray(Y) != np.asarray(Z)) @ self.costs_

    def predict(self, x, w):
        return self.predictions(x.reshape(1, -1), w)[0]

    def oracle(self, x, y, w):
        return self.oracles(x.reshape(1, -1), np.asarray(y)[np.newaxis], w, "margin")[0]

    def slack_oracle(self, x, y, w):
        return self.oracles(x.reshape(1, -1), np.asarray(y)[np.newaxis], w, "slack")[0]

    def predictions(self, X, w):
        of_labels, of_pairs = self._weights(w)
        return self._best(scores_of(X, of_labels), of_pairs)

    def oracles(self, X, Y, w, rescaling):
        of_labels, of_pairs = self._weights(w)
        scores = scores_of(X, of_labels)
        if rescaling == "slack":
            return self._worst_rescaled(scores, of_pairs, np.asarray(Y))
        # The cost of a label, for taking it where it is not, or for leaving it out: up to a number the same.
        return self._best(scores + np.where(Y, -self.costs_, self.costs_), of_pairs)

    def _best(self, scores: np.ndarray, of_pairs: np.ndarray) -> np.ndarray:
        """The sets of labels with the largest sums of scores and weights of pairs that agree."""
        found = np.empty(scores.shape, dtype=bool)
        for some in row_blocks(len(scores), 1 << self._n_tried):
            found[some] = best_labels(scores[some], self.pairs_, of_pairs, self._plan)
        return found

    def _worst_rescaled(self, scores: np.ndarray, of_pairs: np.ndarray, Y: np.ndarray) -> np.ndarray:
        n = len(self.labels_)
        if n > MOST_WRITTEN:
            raise ValueError(
                f"rescaling='slack' tries all sets of at most {MOST_WRITTEN} labels, got {n}; use rescaling='margin'."
            )
        sets = all_sets(n)
        together = (sets[:, self.pairs_[:, 0]] == sets[:, self.pairs_[:, 1]]) @ of_pairs
        found = np.empty(Y.shape, dtype=bool)
        for some in row_blocks(len(scores), 1 << n):
            ahead = scores[some] @ sets.T + together
            right = Y[some] @ (1 << np.arange(n))
            ahead -= ahead[np.arange(len(ahead)), right][:, np.newaxis]
            losses = np.where(Y[some], -self.costs_, self.costs_) @ sets.T + (Y[some] @ self.costs_)[:, np.newaxis]
            found[some] = sets[np.argmax(losses * (1.0 + ahead), axis=1)] > 0
        return found


@lru_cache(maxsize=1)
def all_sets(n_labels: int) -> np.ndarray:
    """All sets of labels, row k being the binary digits of k."""
    sets = (np.arange(1 << n_labels)[:, np.newaxis] >> np.arange(n_labels) & 1).astype(np.float64)
    sets.flags.writeable = False
    return sets


def is_matrix(Y: Any) -> bool:
    """Whether labels are columns of a matrix, and not members of collections."""
    return len(getattr(Y, "shape", ())) == 2


def labels_of(Y: Any) -> np.ndarray:
    """All labels, sorted; of a matrix, the numbers of columns."""
    if is_matrix(Y):
        labels = list(range(Y.shape[1]))
    else:
        for labels in Y:
            if isinstance(labels, str) or not hasattr(labels, "__iter__"):
                raise ValueError(f"y must be a matrix of zeros and ones or collections of labels, got {labels!r}.")
        labels = list(set(chain.from_iterable(Y)))
        try:
            labels.sort()
        except TypeError:  # of several kinds
            labels.sort(key=lambda label: (type(label).__name__, repr(label)))
    if not labels:
        raise ValueError("y must have at least one label, got none.")
    return as_names(labels)


def chow_liu(Y: np.ndarray) -> np.ndarray:
    """The pairs of the tree, or forest, of most mutual information between the columns of an indicator matrix."""
    n, ones = len(Y), Y.astype(np.float64)
    present = ones.mean(axis=0)
    both = ones.T @ ones / n
    only = present[:, np.newaxis] - both
    information = np.zeros_like(both)
    for joint, a, b in [
        (both, present, present),
        (only, present, 1.0 - present),
        (only.T, 1.0 - present, present),
        (1.0 - both - only - only.T, 1.0 - present, 1.0 - present),
    ]:
        chance = np.outer(a, b)
        seen = (joint > 0) & (chance > 0)
        information[seen] += joint[seen] * np.log(joint[seen] / chance[seen])
    information[information < INDEPENDENT] = 0.0
    tree = minimum_spanning_tree(csr_array(-np.triu(information, 1))).tocoo()
    pairs = np.sort(np.column_stack([tree.row, tree.col]).astype(np.int64), axis=1)
    return pairs[np.lexsort(pairs.T[::-1])]


def elimination_plan(n_labels: int, pairs: np.ndarray) -> list[tuple[int, tuple[int, ...]]]:
    """Labels in the order in which they are maximised over, each with those that its best value depends on.

    The next one is that with the fewest neighbours, which then become neighbours of each other: of a tree, a leaf.
    """
    neighbours: dict[int, set[int]] = {label: set() for label in range(n_labels)}
    for a, b in pairs.tolist():
        neighbours[a].add(b)
        neighbours[b].add(a)
    steps = []
    while neighbours:
        label = min(neighbours, key=lambda one: (len(neighbours[one]), one))
        later = neighbours.pop(label)
        for other in later:
            neighbours[other].discard(label)
        for a, b in combinations(later, 2):
            neighbours[a].add(b)
            neighbours[b].add(a)
        steps.append((label, later))
    place = {label: k for k, (label, _) in enumerate(steps)}
    return [(label, tuple(sorted(later, key=place.__getitem__))) for label, later in steps]


def best_labels(
    scores: np.ndarray, pairs: np.ndarray, of_pairs: np.ndarray, plan: list[tuple[int, tuple[int, ...]]]
) -> np.ndarray:
    """The sets of labels with the largest sums of scores and weights of pairs that agree, by elimination.

    A table has an axis for samples and one of length two for each of its labels, in the order of elimination, and waits
    at the label that goes first.
    """
    n = len(scores)
    place = {label: k for k, (label, _) in enumerate(plan)}
    waiting: list[list[tuple[tuple[int, ...], np.ndarray]]] = [[] for _ in plan]
    for (a, b), weight in zip(pairs.tolist(), of_pairs.tolist(), strict=True):
        waiting[min(place[a], place[b])].append(((a, b), weight * AGREE))
    choices = []
    for k, (label, later) in enumerate(plan):
        total = np.zeros((n, *(2,) * (1 + len(later))))
        total[:, 1] += scores[:, label].reshape(n, *(1,) * len(later))
        for scope, table in waiting[k]:
            total += table.reshape(len(table), *(2 if one in scope else 1 for one in (label, *later)))
        choices.append(total[:, 1] > total[:, 0])
        if later:
            waiting[place[later[0]]].append((later, np.maximum(total[:, 0], total[:, 1])))
    found = np.zeros(scores.shape, dtype=np.intp)
    for (label, later), choice in zip(reversed(plan), reversed(choices), strict=True):
        found[:, label] = choice[(np.arange(n), *(found[:, other] for other in later))]
    return found.astype(bool)
