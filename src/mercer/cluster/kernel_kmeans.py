"""k-means in feature space."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.callers import warn_caller
from mercer.checkpoints import Bookmark
from mercer.cluster.lloyd import Clusters, Run, best_of, drawn_starts, lloyd, nearest_mean, nearest_of
from mercer.errors import IndefiniteError
from mercer.gram import Gram, LandmarkGram, MatrixGram
from mercer.gram.checks import roots
from mercer.gram.sources import stored
from mercer.machines import KernelTransformer, LandmarkMachine, Landmarks
from mercer.machines.landmarks import WITHIN
from mercer.parameters import Choice, Number
from mercer.threads import limit_threads

__all__ = ["ClusteringResult", "KernelKMeans"]

# Up to so many samples the matrix is stored in float64, above that in float32.
FULL_SIZE = 4096
# Over landmarks starts are followed on so many samples first, at least, and on so many for each cluster.
PART, PART_PER_CLUSTER = 4096, 4
# The stages of a fit: in the working precision, and in float64.
FIRST, LAST = "first", "last"
# Squared distances below minus so many times what rounding can do to them are not rounding.
NEGATIVE = 64


@dataclass(frozen=True, eq=False)
class ClusteringResult:
    """What is known of clusters: a local minimum, never more, since the problem is not convex."""

    objective: float
    """The weighted sum of the squared distances of the samples to their means, in float64."""
    violation: float
    """By how much the objective falls when the best sample moves to the best other cluster; 0: no move lowers it."""
    n_iter: int
    """Steps from the start that was the best."""
    status: str
    """"local": no sample is nearer to the mean of another cluster; "max_iter": it was not given the time."""
    seconds: float
    """Wall-clock time."""
    objectives: np.ndarray = field(repr=False)
    """Where each of the starts ended, in the working precision; with an `approximation`, where the best one did."""


class Start:
    """A word for how starts are drawn, or whole numbers: samples or labels, told apart by how many there are."""

    words = ("k-means++", "random")

    def problem(self, value: Any) -> str | None:
        """What is wrong with the value, None when nothing is."""
        if isinstance(value, str):
            good = value in self.words
        else:
            numbers = np.asarray(value)
            good = numbers.ndim == 1 and numbers.size > 0 and numbers.dtype.kind in "iu" and numbers.min() >= 0
        words = " or ".join(map(repr, self.words))
        return None if good else f"must be {words}, numbers of samples or a label for every sample, got {value!r}."


class KernelKMeans(ClusterMixin, KernelTransformer, LandmarkMachine):
    r"""k-means in feature space: clusters of samples about their means.

    .. math::

        \min_{c} \sum_i \omega_i \| \phi(x_i) - m_{c_i} \|^2, \qquad
        m_c = \frac{\sum_{c_i = c} \omega_i \phi(x_i)}{\sum_{c_i = c} \omega_i}

    Samples go to the nearest mean and means follow, until nothing moves (Lloyd). Distances need kernel values only
    [2]_ [3]_, so that clusters may have any shape and samples may be anything that has a kernel. It is a local minimum:
    the best of several starts is kept.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`; positive semi-definite. "precomputed": X is the kernel matrix.
    n_clusters : int >= 1, default=8
        How many clusters.
    init : {"k-means++", "random"} or array of ints, default="k-means++"
        How starts are found. "k-means++": samples far from each other in feature space are likely to be drawn, and the
        best of some draws is kept [1]_; "random": any. Or the start itself: the numbers of `n_clusters` samples, or a
        label for every sample.
    n_init : int >= 1, default=10
        How many starts, over the same kernel values; one if `init` is a start.
    max_iter : int >= 1, default=300
        Most steps from a start.
    single_moves : bool, default=False
        Where Lloyd's steps end, go on with moves of single samples as long as they lower the objective, the means
        following each (Hartigan): never a worse end, often a better one.
    approximation : int >= 1, Nystroem, MercerMap or None, default=None
        For many samples: how many of them, the landmarks, means are expanded over, or the `Nystroem` or
        `MercerMap` that chooses them; more is more exact. None: all samples.
    device : str, torch.device or None, default=None
        Where kernel values are made, and sums of them: "cuda", a GPU, by PyTorch, or "cpu", by the same code. None: the
        native core.
    random_state : int, RandomState or None, default=0
        Draws the starts.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values.
    n_threads : int or None, default=None
        Threads of the kernel.
    checkpoint : path, Checkpoint or None, default=None
        A file that keeps a long fit while it runs, so that the same fit goes on from it after a kill; see
        `mercer.checkpoints.Checkpoint`.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        The cluster of every sample.
    inertia_ : float
        The objective. With an `approximation`, that of the points in the span of the landmarks that are nearest to the
        means, with distances in the whole feature space: never less than the clusters have about their means.
    result_ : ClusteringResult
        Objective, status, whether a single move would lower it, where all starts ended.
    n_iter_ : int
        Steps from the start that was the best.
    dual_coef_, intercept_ : ndarray of shape (n_clusters, n_support), (n_clusters,)
        The means as expansions over the samples, and minus half their squared lengths: the largest of
        ``K(X, support_vectors_) @ dual_coef_.T + intercept_`` is the nearest mean.
    support_, support_vectors_ : ndarray, samples
        Numbers of the samples of positive weight, and these samples; with an `approximation`, the landmarks.
    approximation_ : Nystroem or MercerMap
        How the landmarks were chosen; with an `approximation` only.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.

    See Also
    --------
    SpectralClustering : Cuts the graph of similarities; for clusters that hang together without a middle.
    sklearn.cluster.KMeans : For vectors and the linear kernel, for many more samples.

    Notes
    -----
    Time O(n^2) kernel values once, O(n^2) additions for the first step from a start and O(n m) for a step in which m
    samples move. Values are stored in float32 (float64 up to 4096 samples) where half of `memory` is enough, else
    computed when they are needed, for all starts at once. The end of the best start is gone over in float64. By BLAS:
    equal up to rounding for any number of threads. A cluster that loses all samples gets the one that is farthest from
    its mean. Where a random number points does not depend on the order of the samples, and a sample of weight 2 is one
    that is there twice; one of weight 0 does not count, and gets a label.

    Over m landmarks a step takes two passes over the samples, of n m kernel values that are stored nowhere, and memory
    O(n n_clusters + m^2). All starts are followed on some thousand samples; the best goes on with all of them, first in
    float32. Samples may come in blocks (`mercer.data.RowBlocks`).

    References
    ----------
    .. [1] D. Arthur, S. Vassilvitskii, k-means++: the advantages of careful seeding, 2007.
    .. [2] I. S. Dhillon, Y. Guan, B. Kulis, Kernel k-means, spectral clustering and normalized cuts, 2004.
    .. [3] C. C. Aggarwal, Data Mining: The Textbook, 2015, eq. 10.66.

    Examples
    --------
    >>> from mercer import KernelKMeans
    >>> from mercer.kernels import Spectrum
    >>> words = ["banana", "ananas", "bandana", "street", "tree", "trees"]
    >>> machine = KernelKMeans(Spectrum(2).normalized(), n_clusters=2).fit(words)
    >>> machine.labels_, machine.predict(["savanna"])
    (array([0, 0, 0, 1, 1, 1]), array([0]))
    >>> machine.result_.status
    'local'
    """

    _parameters: ClassVar[dict[str, Any]] = {
        "n_clusters": Number(1, integer=True),
        "init": Start(),
        "n_init": Number(1, integer=True),
        "max_iter": Number(1, integer=True),
        "single_moves": Choice(True, False),
        "approximation": Landmarks(WITHIN),
    }

    def __init__(
        self,
        kernel="rbf",
        *,
        n_clusters=8,
        init="k-means++",
        n_init=10,
        max_iter=300,
        single_moves=False,
        approximation=None,
        device=None,
        random_state=0,
        memory="auto",
        n_threads=None,
        checkpoint=None,
    ):
        self.kernel = kernel
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.single_moves = single_moves
        self.approximation = approximation
        self.device = device
        self.random_state = random_state
        self.memory = memory
        self.n_threads = n_threads
        self.checkpoint = checkpoint

    def fit(self, X, y=None, sample_weight=None):
        """Find clusters.

        Parameters
        ----------
        X : samples of shape (n, n_features), or as the kernel takes them
            The n x n kernel matrix if ``kernel="precomputed"``.
        y : ignored
        sample_weight : array of shape (n,), default=None
            Non-negative; weight 2 is the sample twice, weight 0 is no sample.

        Returns
        -------
        self
        """
        with self._all_or_nothing():
            self._fit(X, sample_weight)
        return self

    def _fit(self, X: Any, sample_weight: Any) -> None:
        self._check_all()
        X = self._take_samples(X)
        weight = self._weights(sample_weight, X)
        if (counted := np.count_nonzero(weight)) < self.n_clusters:
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than there are samples of positive weight, n_samples={counted}."
            )
        stages, unit = _Stages(self._bookmark()), float(weight.max())
        with limit_threads(self.n_threads):
            gram = self._make_gram(X, weight)
            if isinstance(gram, LandmarkGram):
                run, objectives = self._run_over_landmarks(gram, weight / unit, stages)
            else:
                run, objectives = self._best_run(gram, weight / unit, stages)
        clusters = run.clusters
        # Landmarks have been looked at already.
        if self.approximation is None and (clusters.own_squares < -NEGATIVE * clusters.rounding)[weight > 0].any():
            raise IndefiniteError(
                "KernelKMeans needs a positive semi-definite kernel: the squared distance of a sample to its mean is "
                f"{clusters.own_squares.min():.3g}; repair it, see mercer.gram.Repair."
            )
        self.labels_, self.n_iter_ = clusters.labels, run.n_iter
        self.inertia_ = unit * max(0.0, clusters.objective)
        self._keep_means(X, gram, clusters)
        self._constant_diagonal = float(clusters.diag[0]) if np.ptp(clusters.diag) <= clusters.rounding[0] else None
        self.result_ = ClusteringResult(
            objective=self.inertia_,
            violation=unit * clusters.best_single_move[2],
            n_iter=run.n_iter,
            status=run.status,
            seconds=time.perf_counter() - stages.began,
            objectives=unit * objectives,
        )
        if run.status == "max_iter":
            warn_caller(
                f"KernelKMeans was not given the time to reach a local minimum: after {run.n_iter} steps samples still "
                "change clusters. Raise max_iter.",
                ConvergenceWarning,
            )

    def _keep_means(self, X: Any, gram: Gram, clusters: Clusters) -> None:
        """The model: the largest of its functions is that of the nearest mean."""
        if isinstance(gram, LandmarkGram):
            with limit_threads(self.n_threads):
                means = gram.sums(_shares(clusters.labels, clusters.weight, self.n_clusters).T)
            self._keep_weights(gram, means.T)
            self.intercept_ = -0.5 * (means**2).sum(axis=0)
        else:
            self._keep_expansion(X, _shares(clusters.labels, clusters.weight, self.n_clusters), -0.5 * clusters.norms)

    def _run_over_landmarks(self, gram: LandmarkGram, weight: np.ndarray, stages: "_Stages") -> tuple[Run, np.ndarray]:
        """From the best start on, with all samples: in float32, and in float64 to the end."""
        working = gram.in_single()

        def start() -> list[np.ndarray]:
            if not isinstance(self.init, str):
                return self._starts(gram, weight)
            return [nearest_mean(working, self._means_of_part(gram, weight))]

        starts, n_iter = start, 0
        if (kept := stages.kept(LAST)) is not None:
            n_iter = kept["before"]
        elif working is not gram:
            (rough,) = stages.lloyd(FIRST, working, weight, start, self.n_clusters, self.max_iter, False)
            starts, n_iter = lambda: [rough.clusters.labels], rough.n_iter
        left = max(1, self.max_iter - n_iter)
        (run,) = stages.lloyd(LAST, gram, weight, starts, self.n_clusters, left, self.single_moves, before=n_iter)
        run.n_iter += n_iter
        return run, np.array([run.clusters.objective])

    def _means_of_part(self, gram: LandmarkGram, weight: np.ndarray) -> np.ndarray:
        """Features of the means that the best start leads to on some of the samples, in columns."""
        rows, size = np.flatnonzero(weight), max(PART, PART_PER_CLUSTER * self.n_clusters)
        if len(rows) > size:
            rows = np.sort(check_random_state(self.random_state).choice(rows, size=size, replace=False))
        features, some = gram.some(rows), weight[rows]
        part = MatrixGram.of_checked(features @ features.T, True)
        starts = self._starts(part, some)
        best, _ = best_of(lloyd(part, some, starts, self.n_clusters, self.max_iter, self.single_moves))
        return features.T @ _shares(best.clusters.labels, some, self.n_clusters).T

    def _best_run(self, gram: Gram, weight: np.ndarray, stages: "_Stages") -> tuple[Run, np.ndarray]:
        """The best of all starts, in float64, and where all of them ended."""
        if (kept := stages.kept(LAST)) is not None:
            labels, n_iter, objectives = kept["labels"][0], kept["before"], kept["objectives"]
        else:
            working = stored(gram, self.memory, np.float64 if gram.n <= FULL_SIZE else np.float32)
            runs = stages.lloyd(
                FIRST,
                working,
                weight,
                lambda: self._starts(working, weight),
                self.n_clusters,
                self.max_iter,
                self.single_moves,
            )
            best, objectives = best_of(runs)
            if working is gram or working.dtype == np.float64:
                return best, objectives
            labels, n_iter = best.clusters.labels, best.n_iter
        left, known = max(1, self.max_iter - n_iter), {"before": n_iter, "objectives": objectives}
        (exact,) = stages.lloyd(LAST, gram, weight, lambda: [labels], self.n_clusters, left, self.single_moves, **known)
        exact.n_iter += n_iter
        return exact, objectives

    def _starts(self, gram: Gram, weight: np.ndarray) -> list[np.ndarray]:
        """Labels to start from."""
        if not isinstance(self.init, str):
            return [self._given_start(gram, np.asarray(self.init, dtype=np.int64))]
        rng = check_random_state(self.random_state)
        return drawn_starts(gram, weight, self.n_clusters, self.n_init, rng, greedy=self.init == "k-means++")

    def _given_start(self, gram: Gram, init: np.ndarray) -> np.ndarray:
        if len(init) == self.n_clusters and init.max() < gram.n:
            return nearest_of(gram, init)
        if len(init) == gram.n and init.max() < self.n_clusters:
            return init.copy()
        raise ValueError(
            f"init must have the numbers of {self.n_clusters} of the {gram.n} samples, or a label below "
            f"{self.n_clusters} for each of them, got {len(init)} numbers up to {init.max()}."
        )

    def predict(self, X):
        """The nearest mean.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,)
            Numbers of clusters.
        """
        return self._raw_decision(X).argmax(axis=1)

    def transform(self, X, diagonal=None):
        """Distances to the means in feature space.

        Parameters
        ----------
        X : n samples
        diagonal : array of shape (n,), default=None
            k(x, x) of the samples, for ``kernel="precomputed"``, which does not know it. It can be left out where it is
            the same for all training samples.

        Returns
        -------
        ndarray of shape (n, n_clusters)
        """
        check_is_fitted(self)
        scores, norms = self._raw_decision(X), -2.0 * self.intercept_
        own = self._own_similarity(X, len(scores), diagonal)[:, np.newaxis]
        sizes = np.abs(own) + np.abs(2.0 * scores + norms) + np.abs(norms)
        return roots(own - 2.0 * scores, sizes, "a squared distance to a mean")

    def fit_transform(self, X, y=None, sample_weight=None):
        """Find clusters and give the distances to their means.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        ndarray of shape (n, n_clusters)
        """
        self.fit(X, y, sample_weight)
        return self.transform(X, np.diagonal(np.asarray(X)) if self._precomputed else None)

    def _own_similarity(self, X: Any, n: int, diagonal: Any) -> np.ndarray:
        """k(x, x) of n samples."""
        if not self._precomputed:
            return self._diag_of_new(X)
        if diagonal is None and self._constant_diagonal is None:
            raise ValueError(
                "A precomputed kernel does not tell k(x, x) of new samples, and it differs between those of training: "
                "give it as diagonal."
            )
        own = np.asarray(self._constant_diagonal if diagonal is None else diagonal, dtype=np.float64)
        if diagonal is not None and own.shape != (n,):
            raise ValueError(f"diagonal must have one number for each of the {n} samples, got shape {own.shape}.")
        return np.broadcast_to(own, n)


class _Stages:
    """The two stages of a fit, runs of Lloyd's steps in the working precision and to the end, kept on disk."""

    def __init__(self, bookmark: Bookmark | None):
        self.bookmark, self.began = bookmark, time.perf_counter()
        self.state = None if bookmark is None else bookmark.state
        if self.state is not None:
            self.began -= self.state["seconds"]

    def kept(self, stage: str) -> dict[str, Any] | None:
        """What is on disk if a fit that was killed has come to this stage."""
        return self.state if self.state is not None and self.state["stage"] == stage else None

    def lloyd(
        self,
        stage: str,
        gram: Gram,
        weight: np.ndarray,
        starts: Callable[[], list[np.ndarray]],
        n_clusters: int,
        max_iter: int,
        single_moves: bool,
        **known: Any,
    ) -> list[Run]:
        """The runs of a stage, from what is kept of them, or from their starts."""

        def keep(runs: list[Run]) -> None:
            labels = np.stack([run.clusters.labels for run in runs])
            words = {"n_iter": [run.n_iter for run in runs], "status": [run.status for run in runs]}
            seconds = time.perf_counter() - self.began
            assert self.bookmark is not None
            self.bookmark.note({"stage": stage, "seconds": seconds, "labels": labels, **words, **known})

        kept, how = self.kept(stage), (n_clusters, max_iter, single_moves)
        if self.bookmark is None:
            return lloyd(gram, weight, starts(), *how)
        if kept is None:
            return lloyd(gram, weight, starts(), *how, keep=keep)
        begun = list(zip(kept["n_iter"], kept["status"], strict=True))
        return lloyd(gram, weight, list(kept["labels"]), *how, begun, keep)


def _shares(labels: np.ndarray, weight: np.ndarray, n_clusters: int) -> np.ndarray:
    """The means of clusters as combinations of their samples, shape (n_clusters, n)."""
    found = np.zeros((n_clusters, len(labels)))
    totals = np.bincount(labels, weights=weight, minlength=n_clusters)
    found[labels, np.arange(len(labels))] = np.divide(
        weight, totals[labels], out=np.zeros_like(weight), where=weight > 0
    )
    return found
