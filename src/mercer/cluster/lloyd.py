"""k-means in feature space: starts, and the steps from a start to a local minimum."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.gram import FeatureGram, Gram, LinearGram, MatrixGram

__all__ = ["Clusters", "Run", "best_of", "drawn_starts", "lloyd", "nearest_mean", "nearest_of"]

# Rows of a stored matrix that are summed in its own precision; the sums of such blocks are added in float64.
BLOCK = 512
# Distances that differ by so many units in the last place of the kernel values are equal.
ROUNDING = 16
# Runs whose objectives differ by less than this share have ended at the same clusters.
SAME = 1e-6


@dataclass(eq=False)
class Clusters:
    """Clusters of the samples of a Gram matrix, and what is known of their means in feature space."""

    diag: np.ndarray
    """k(x_i, x_i)."""
    weight: np.ndarray
    """Of the samples."""
    labels: np.ndarray
    """The cluster of every sample."""
    sums: np.ndarray
    """K @ (weights of the samples, each in the column of its cluster), shape (n, n_clusters)."""
    eps: float
    """Relative rounding of the kernel values."""

    @cached_property
    def totals(self) -> np.ndarray:
        """The weight of every cluster."""
        return np.bincount(self.labels, weights=self.weight, minlength=self.sums.shape[1])

    @cached_property
    def norms(self) -> np.ndarray:
        """The squared lengths of the means; infinite where there is no mean."""
        own = np.take_along_axis(self.sums, self.labels[:, np.newaxis], axis=1)[:, 0]
        squares = np.bincount(self.labels, weights=self.weight * own, minlength=self.sums.shape[1])
        return np.divide(squares, self.totals**2, out=np.full(len(squares), np.inf), where=self.totals > 0)

    @cached_property
    def squares(self) -> np.ndarray:
        """Squared distances of all samples to all means, shape (n, n_clusters). [A eq 10.66]"""
        with_means = np.divide(self.sums, self.totals, out=np.zeros_like(self.sums), where=self.totals > 0)
        return self.diag[:, np.newaxis] - 2.0 * with_means + self.norms

    @cached_property
    def own_squares(self) -> np.ndarray:
        """Squared distances of the samples to the means of their own clusters."""
        return np.take_along_axis(self.squares, self.labels[:, np.newaxis], axis=1)[:, 0]

    @property
    def objective(self) -> float:
        """The weighted sum of the squared distances to the own means."""
        return float((self.weight * self.own_squares).sum())

    @cached_property
    def rounding(self) -> np.ndarray:
        """What rounding can do to the squared distances of every sample."""
        largest = np.max(self.norms, where=self.totals > 0, initial=0.0)
        return ROUNDING * self.eps * (np.abs(self.diag) + largest)

    def reassigned(self) -> np.ndarray:
        """The nearest mean of every sample, its own one in doubt; no cluster is left empty.

        An empty one gets the sample that is farthest from its mean.
        """
        nearest = self.squares.argmin(axis=1)
        gain = self.own_squares - self.squares.min(axis=1)
        labels = np.where(gain > self.rounding, nearest, self.labels)
        counted = self.weight > 0
        sizes = np.bincount(labels[counted], minlength=self.sums.shape[1])
        if sizes.all():
            return labels
        distance = np.take_along_axis(self.squares, labels[:, np.newaxis], axis=1)[:, 0]
        for empty in np.flatnonzero(sizes == 0):
            able = np.flatnonzero(counted & (sizes[labels] > 1))
            farthest = able[np.argmax(distance[able])]
            sizes[labels[farthest]] -= 1
            labels[farthest], sizes[empty] = empty, 1
        return labels

    @cached_property
    def best_single_move(self) -> tuple[int, int, float]:
        r"""The sample and the cluster that lower the objective most when the one moves to the other, and by how much.

        The means follow: from cluster a to b the objective changes by :math:`w (\frac{W_b}{W_b + w} d_b^2 -
        \frac{W_a}{W_a - w} d_a^2)`. What is lost in rounding is no gain.
        """
        w, own = self.weight[:, np.newaxis], self.totals[self.labels] - self.weight
        alone = own <= ROUNDING * np.finfo(float).eps * self.totals[self.labels]  # of its cluster nothing would be left
        leaving = np.divide(self.totals[self.labels] * self.own_squares, own, out=np.zeros_like(own), where=~alone)
        joining = self.totals / (self.totals + np.where(w > 0, w, 1.0)) * self.squares
        gain = w * (leaving[:, np.newaxis] - joining - self.rounding[:, np.newaxis])
        gain[alone] = -np.inf
        np.put_along_axis(gain, self.labels[:, np.newaxis], -np.inf, axis=1)
        sample, cluster = np.unravel_index(int(np.argmax(gain)), gain.shape)
        return int(sample), int(cluster), max(0.0, float(gain[sample, cluster]))


@dataclass(eq=False)
class Run:
    """The way from a start to a local minimum."""

    clusters: Clusters
    """Where it is."""
    n_iter: int = 0
    """Steps made."""
    status: str = "max_iter"
    """"local": no sample is nearer to another mean; "max_iter": it has not come so far."""


def lloyd(
    gram: Gram,
    weight: np.ndarray,
    starts: Sequence[np.ndarray],
    n_clusters: int,
    max_iter: int,
    single_moves: bool,
    begun: Sequence[tuple[int, str]] | None = None,
    keep: Callable[[list[Run]], None] | None = None,
) -> list[Run]:
    """From every start, labels of all samples, to clusters that each sample is in the nearest of.

    The sums that distances are made of are kept; a step adds the samples that have moved to one of them and takes them
    from another, so that K[:, moved] is all of K that it looks at. Without a stored matrix all starts make their steps
    together, and each kernel value is computed once for all of them. Over features that approximate a kernel the means
    are those in their span, and distances to them are those in the space of the kernel.

    Runs that have begun already go on where they are, with the steps made and the status that each has; `keep` is shown
    all of them after every step.
    """
    diag, eps = gram.exact_diag(), float(np.finfo(gram.dtype).eps)
    changes = {r: _columns(labels, weight, n_clusters) for r, labels in enumerate(starts)}
    sums = np.split(_product(gram, np.hstack(list(changes.values()))), len(starts), axis=1)
    begun = [(0, Run.status)] * len(starts) if begun is None else begun
    clusters = [Clusters(diag, weight, *pair, eps) for pair in zip(starts, sums, strict=True)]
    runs = [Run(at, *known) for at, known in zip(clusters, begun, strict=True)]
    # Those that have not ended have made the same number of steps.
    for _ in range(max_iter - max(run.n_iter for run in runs)):
        before = {r: run.clusters for r, run in enumerate(runs) if run.status != "local"}
        after = {r: _step(clusters, single_moves) for r, clusters in before.items()}
        changes.clear()
        for r, labels in after.items():
            runs[r].n_iter += 1
            moved = weight * (labels != before[r].labels)
            if moved.any():
                changes[r] = _columns(labels, moved, n_clusters) - _columns(before[r].labels, moved, n_clusters)
            else:
                runs[r] = Run(Clusters(diag, weight, labels, before[r].sums, eps), runs[r].n_iter, "local")
        if not changes:
            break
        for group in [[r] for r in changes] if isinstance(gram, MatrixGram) else [list(changes)]:
            products = np.split(_product(gram, np.hstack([changes[r] for r in group])), len(group), axis=1)
            for r, product in zip(group, products, strict=True):
                runs[r].clusters = Clusters(diag, weight, after[r], before[r].sums + product, eps)
        if keep is not None:
            keep(runs)
    return runs


def best_of(runs: Sequence[Run]) -> tuple[Run, np.ndarray]:
    """The run that ended best, the first of equal ones, and the objectives of all."""
    objectives = np.array([run.clusters.objective for run in runs])
    lowest = objectives.min()
    return runs[np.flatnonzero(objectives <= lowest + SAME * abs(lowest))[0]], objectives


def _step(clusters: Clusters, single_moves: bool) -> np.ndarray:
    """Labels after one step: all samples to their nearest means; if they are there, perhaps one sample to another."""
    labels = clusters.reassigned()
    if single_moves and not clusters.weight[labels != clusters.labels].any():
        sample, cluster, gain = clusters.best_single_move
        if gain > 0:
            labels[sample] = cluster
    return labels


def _columns(labels: np.ndarray, weight: np.ndarray, n_clusters: int) -> np.ndarray:
    """The weight of every sample in the column of its cluster, zeros elsewhere."""
    table = np.zeros((len(labels), n_clusters))
    table[np.arange(len(labels)), labels] = weight
    return table


def _product(gram: Gram, V: np.ndarray) -> np.ndarray:
    """K @ V in float64; of K only the columns are looked at that meet something."""
    rows = np.flatnonzero(V.any(axis=1))
    everything = len(rows) == gram.n
    if isinstance(gram, FeatureGram) and not isinstance(gram, LinearGram):  # several columns in one pass
        return gram.products(gram.sums(V) if everything else gram.sums(V[rows], rows))
    if not isinstance(gram, MatrixGram):
        return gram.dot(V) if everything else gram.dot_part(np.arange(gram.n), rows, V[rows])
    total, single = np.zeros(V.shape), V.astype(gram.dtype, copy=False)
    for start in range(0, len(rows), BLOCK):
        some = slice(start, start + BLOCK) if everything else rows[start : start + BLOCK]
        total += gram.matrix[some].T @ single[some]  # K is symmetric, and rows lie side by side
    return total


# --- starts -----------------------------------------------------------------------------------------------


def nearest_of(gram: Gram, centres: np.ndarray) -> np.ndarray:
    """For all samples, the nearest of some samples, by its place among them; the first of equal ones."""
    return _squares_to(gram, gram.diag(), centres).argmin(axis=0)


def nearest_mean(gram: FeatureGram, means: np.ndarray) -> np.ndarray:
    """For all samples, the nearest of the points whose features are the columns of `means`."""
    return (gram.products(means) - 0.5 * (means**2).sum(axis=0)).argmax(axis=1)


def drawn_starts(
    gram: Gram, weight: np.ndarray, n_clusters: int, n_starts: int, rng: Any, *, greedy: bool = True
) -> list[np.ndarray]:
    """Labels by the nearest of some samples that are drawn one after the other.

    If `greedy`, by k-means++ in feature space: a sample has a chance in proportion to its squared distance from those
    before it, and of some draws the best is kept. Else all that do not coincide with one before them have the same.
    """
    # On the stretch that a random number points into, samples are sorted by their mean similarity to all: the order in
    # which they came makes no difference.
    order = np.argsort(gram.dot(weight.astype(gram.dtype)), kind="stable")
    diag = gram.diag()
    return [_drawn_start(gram, diag, weight, order, n_clusters, rng, greedy) for _ in range(n_starts)]


def _drawn_start(
    gram: Gram, diag: np.ndarray, weight: np.ndarray, order: np.ndarray, n_clusters: int, rng: Any, greedy: bool
) -> np.ndarray:
    n_trials = 2 + int(np.log(n_clusters)) if greedy else 1
    left, labels = np.full(gram.n, np.inf), np.zeros(gram.n, dtype=np.int64)
    for k in range(n_clusters):
        chance = weight * (left if greedy and k else left > 0)
        if not chance.any():  # no sample is left that is not there already
            break
        heights = np.cumsum(chance[order])
        places = np.searchsorted(heights, rng.random_sample(n_trials if k else 1) * heights[-1], side="right")
        squares = _squares_to(gram, diag, order[np.minimum(places, gram.n - 1)])
        best = squares[np.argmin((weight * np.minimum(left, squares)).sum(axis=1))]
        labels[best < left] = k
        left = np.minimum(left, best)
    return labels


def _squares_to(gram: Gram, diag: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Squared distances of some samples to all, shape (len(which), n); zero where they are rounding."""
    sizes = diag[which][:, np.newaxis] + diag
    squares = sizes - 2.0 * gram.rows(which)
    return np.where(squares > ROUNDING * np.finfo(gram.dtype).eps * np.abs(sizes), squares, 0.0)
