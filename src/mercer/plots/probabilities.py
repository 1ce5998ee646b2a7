"""From decision values to probabilities, and how far these can be relied on."""

from typing import Any, Self

import numpy as np
from scipy.special import expit
from scipy.stats import norm
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer.calibration import calibration_error, fit_sigmoid
from mercer.parameters import Choice, Number
from mercer.plots.base import Display, ink, require_pyplot

# Of the intervals around shares.
LEVEL = 0.95


class SigmoidDisplay(Display):
    """The map from decision values to probabilities that a calibration has learnt, over what it was learnt for. [1]_

    Samples of the one class stand at the top, those of the other at the bottom. Points are shares of the first class
    among neighbours: samples in order of their decision values, in groups of equal size, with 95 % intervals. Where
    they lie on the curve, probabilities are what they say.

    Parameters
    ----------
    decision : array-like of shape (n,)
        Decision values of samples.
    positive : array-like of bool of shape (n,)
        Whether the samples are of the class whose probability is drawn.
    grid, probability : array-like of shape (m,)
        Decision values, and the probabilities there.
    class_names : tuple of str, default=("0", "1")
        The other class, and the one whose probability is drawn.
    n_groups : int >= 1, default=10
        Groups of neighbours; 0 for none.

    Attributes
    ----------
    decision, positive, grid, probability, class_names
        The numbers drawn.
    group_decision, group_share, group_size : ndarray
        Mean decision value, share of the class and number of samples of every group.
    group_interval : ndarray of shape (2, n_groups)
        Lower and upper ends of the intervals.
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of the last drawing.
    line_ : matplotlib Line2D
        The curve.
    points_ : list of matplotlib Line2D
        The samples of the other class and of this one.

    See Also
    --------
    ReliabilityDisplay : Shares against probabilities.
    mercer.calibration.Calibrated : Learns the map.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, figure 2.1.

    Examples
    --------
    >>> from mercer.plots import SigmoidDisplay
    >>> display = SigmoidDisplay.from_decision([-2.0, -1.0, 0.0, 1.0, 2.0], [0, 0, 1, 0, 1], n_groups=1)
    >>> display.probability[[0, -1]].round(2), display.group_share
    (array([0.2 , 0.67]), array([0.4]))
    """

    line_: Any
    points_: list[Any]

    def __init__(
        self,
        decision: Any,
        positive: Any,
        *,
        grid: Any,
        probability: Any,
        class_names: Any = ("0", "1"),
        n_groups: int = 10,
    ) -> None:
        self.decision = np.asarray(decision, dtype=np.float64)
        self.positive = np.asarray(positive, dtype=bool)
        self.grid = np.asarray(grid, dtype=np.float64)
        self.probability = np.asarray(probability, dtype=np.float64)
        self.class_names = tuple(class_names)
        if problem := Number(0, integer=True).problem(n_groups):
            raise ValueError(f"n_groups {problem}")
        groups = np.array_split(np.argsort(self.decision, kind="stable"), n_groups) if n_groups else []
        groups = [group for group in groups if len(group)]
        self.group_decision = np.array([self.decision[group].mean() for group in groups])
        self.group_share = np.array([self.positive[group].mean() for group in groups])
        self.group_size = np.array([len(group) for group in groups], dtype=np.intp)
        self.group_interval = share_interval(self.group_share, self.group_size)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, n_groups: int = 10, ax: Any = None, **style: Any
    ) -> Self:
        """Draw the map of a machine with probabilities of two classes.

        Parameters
        ----------
        estimator : Calibrated, or SVC or NuSVC with probability=True
            Fitted, without an ensemble.
        X, y : samples and their classes
            Better others than those of training, whose decision values are too good.
        n_groups : int >= 0, default=10
            Groups of neighbours whose shares are drawn; 0 for none.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **style
            Options of the curve, for matplotlib.

        Returns
        -------
        SigmoidDisplay
        """
        require_pyplot(f"{cls.__name__}.from_estimator")
        check_is_fitted(estimator)
        if not hasattr(estimator, "calibration_"):
            raise ValueError(
                f"{cls.__name__} needs a calibrated machine, such as Calibrated(...) or SVC(probability=True), got "
                f"{estimator!r}."
            )
        if not hasattr(estimator, "estimator_"):
            raise ValueError(f"{cls.__name__} needs one machine, an ensemble has several.")
        classes = estimator.classes_
        if len(classes) != 2:
            raise ValueError(f"{cls.__name__} draws one map, of two classes, got {len(classes)} classes.")
        decision = estimator.estimator_.decision_function(X)
        grid = _wide(decision)
        probability = expit(estimator.calibration_.maps[0].log_odds(grid))
        names = [str(name) for name in classes.tolist()]
        return cls._of(decision, y, classes, grid, probability, names, n_groups).plot(ax, **style)

    @classmethod
    def from_decision(cls, decision: Any, y: Any, *, n_groups: int = 10, ax: Any = None, **style: Any) -> Self:
        """Fit a sigmoid to decision values, and draw it.

        Parameters
        ----------
        decision : array-like of shape (n,)
            Decision values of any machine, of samples that it was not trained on.
        y : array-like of shape (n,)
            Two classes; the probability is that of the second one in their order.
        n_groups, ax, **style
            As for `from_estimator`.

        Returns
        -------
        SigmoidDisplay
        """
        require_pyplot(f"{cls.__name__}.from_decision")
        decision, y = np.asarray(decision, dtype=np.float64), np.asarray(y)
        classes = np.unique(y)
        if len(classes) != 2:
            raise ValueError(f"y must have two classes, got {len(classes)}.")
        fitted = fit_sigmoid(decision, y == classes[1])
        grid = _wide(decision)
        names = [str(name) for name in classes.tolist()]
        return cls._of(decision, y, classes, grid, expit(fitted.log_odds(grid)), names, n_groups).plot(ax, **style)

    @classmethod
    def _of(cls, decision, y, classes, grid, probability, names, n_groups) -> Self:
        y = np.asarray(y)
        if y.shape != decision.shape:
            raise ValueError(f"y must have one class for each of {len(decision)} samples, got shape {y.shape}.")
        return cls(decision, y == classes[1], grid=grid, probability=probability, class_names=names, n_groups=n_groups)

    def _draw(self, ax: Any, **style: Any) -> None:
        (self.line_,) = ax.plot(self.grid, self.probability, **{"color": ink(), "linewidth": 1.5, **style})
        self.points_ = []
        for side, level in ((False, -0.04), (True, 1.04)):
            values = self.decision[self.positive == side]
            look = {"color": f"C{int(side)}", "markersize": 9, "alpha": 0.6, "label": self.class_names[side]}
            self.points_ += ax.plot(values, np.full(len(values), level), "|", **look)
        if len(self.group_share):
            low, high = self.group_interval
            ax.errorbar(
                self.group_decision,
                self.group_share,
                np.maximum(0.0, [self.group_share - low, high - self.group_share]),
                fmt="o",
                color="C7",
                markersize=4,
                linewidth=1,
                capsize=2,
                zorder=3,
            )
        ax.set(xlabel="decision value", ylabel=f"probability of {self.class_names[1]}", ylim=(-0.09, 1.09))
        ax.legend(loc="center right")


class ReliabilityDisplay(Display):
    """Reliability curve: how often what is given a probability comes true, with the number of samples of every bin.

    On the diagonal, probabilities are what they say. For two classes the probability is that of the second one; for
    more, that of the predicted class, and what comes true is that the prediction is right. Bars have 95 % intervals
    (Wilson's [1]_), so that one sees which deviations are more than chance.

    Parameters
    ----------
    probability, share : array-like of shape (n_bins,)
        Mean probability and share of what came true, of the bins that have samples.
    counts : array-like of int of shape (n_bins,)
        Numbers of samples.
    edges : array-like of shape (n_bins, 2)
        Where the bins begin and end.
    error : float
        The expected calibration error over these bins.
    meaning : str, default="probability"
        What the probability is of.

    Attributes
    ----------
    probability, share, counts, edges, error, meaning
        The numbers drawn.
    interval : ndarray of shape (2, n_bins)
        Lower and upper ends of the intervals.
    ax_ : matplotlib Axes
        The axes of the last drawing.
    count_ax_ : matplotlib Axes
        The axes of the numbers of samples, below.
    figure_ : matplotlib Figure
        The figure of the last drawing.
    line_ : matplotlib ErrorbarContainer
        The curve.

    See Also
    --------
    SigmoidDisplay : The map from decision values to probabilities.
    mercer.calibration.reliability : Three measures of probabilities.
    sklearn.calibration.CalibrationDisplay : Without numbers and intervals.

    References
    ----------
    .. [1] L. D. Brown, T. T. Cai, A. DasGupta, Interval estimation for a binomial proportion, Statistical Science 16,
       2001.

    Examples
    --------
    >>> from mercer.plots import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_predictions([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.2, 0.7, 0.8, 0.9], n_bins=2)
    >>> display.counts, display.share.round(2), round(display.error, 3)
    (array([3, 3]), array([0.33, 0.67]), 0.15)
    """

    count_ax_: Any
    line_: Any

    def __init__(
        self, probability: Any, share: Any, counts: Any, edges: Any, error: float, meaning: str = "probability"
    ) -> None:
        self.probability = np.asarray(probability, dtype=np.float64)
        self.share = np.asarray(share, dtype=np.float64)
        self.counts = np.asarray(counts, dtype=np.intp)
        self.edges = np.asarray(edges, dtype=np.float64)
        self.error = error
        self.meaning = meaning
        self.interval = share_interval(self.share, self.counts)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        n_bins: int = 10,
        strategy: str = "uniform",
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw how reliable the probabilities of a classifier are.

        Parameters
        ----------
        estimator : fitted classifier
            With ``predict_proba``.
        X, y : samples and their classes
            Others than those of training.
        n_bins, strategy, ax, **style
            As for `from_predictions`.

        Returns
        -------
        ReliabilityDisplay
        """
        require_pyplot(f"{cls.__name__}.from_estimator")
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"{cls.__name__} needs a classifier with predict_proba, which {type(estimator).__name__} does not "
                "have; Calibrated(...) gives it one."
            )
        return cls.from_predictions(
            y,
            estimator.predict_proba(X),
            classes=estimator.classes_,
            n_bins=n_bins,
            strategy=strategy,
            ax=ax,
            **style,
        )

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        probabilities: Any,
        *,
        classes: Any = None,
        n_bins: int = 10,
        strategy: str = "uniform",
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw how reliable probabilities are, whoever gave them.

        Parameters
        ----------
        y : array-like of shape (n,)
            The true classes.
        probabilities : array-like of shape (n, n_classes), or (n,) for the second of two
        classes : array-like of shape (n_classes,), default=None
            What the columns are; None: the classes that y has, in order.
        n_bins : int >= 1, default=10
            More see finer errors, and more noise.
        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of equal width, or of equal numbers of samples.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **style
            Options of the curve, for matplotlib.

        Returns
        -------
        ReliabilityDisplay
        """
        require_pyplot(f"{cls.__name__}.from_predictions")
        for name, rule, value in (
            ("n_bins", Number(1, integer=True), n_bins),
            ("strategy", Choice("uniform", "quantile"), strategy),
        ):
            if problem := rule.problem(value):
                raise ValueError(f"{name} {problem}")
        y, p = column_or_1d(y), np.asarray(probabilities, dtype=np.float64)
        if p.ndim == 1:
            p = np.column_stack([1.0 - p, p])
        labels = np.unique(y) if classes is None else column_or_1d(classes)
        # Also checks what was given.
        error = calibration_error(y, p, classes=labels, n_bins=n_bins, strategy=strategy)
        if len(labels) == 2:
            of, true, meaning = p[:, 1], y == labels[1], f"probability of {labels[1]}"
        else:
            of, true, meaning = p.max(axis=1), labels[p.argmax(axis=1)] == y, "probability of the prediction"
        steps = np.linspace(0.0, 1.0, n_bins + 1)
        ends = steps if strategy == "uniform" else np.quantile(of, steps)
        bins = np.searchsorted(ends[1:-1], of, side="left")
        counts = np.bincount(bins, minlength=n_bins)
        seen = counts > 0
        sums, hits = (np.bincount(bins, weights=values, minlength=n_bins)[seen] for values in (of, true))
        if len(labels) == 2:
            error = float(np.abs(sums - hits).sum() / len(y))
        edges = np.column_stack([ends[:-1], ends[1:]])[seen]
        return cls(sums / counts[seen], hits / counts[seen], counts[seen], edges, error, meaning).plot(ax, **style)

    def _draw(self, ax: Any, **style: Any) -> None:
        ax.plot([0, 1], [0, 1], color="C7", linewidth=1, linestyle="--", zorder=1)
        low, high = self.interval
        reach = np.maximum(0.0, [self.share - low, high - self.share])
        look = {"color": "C0", "marker": "o", "markersize": 4, "capsize": 2, "linewidth": 1.5, "elinewidth": 1, **style}
        label = look.pop("label", f"calibration error {self.error:.3f}")
        self.line_ = ax.errorbar(self.probability, self.share, reach, label=label, **look)
        self.count_ax_ = ax.inset_axes([0.0, 0.0, 1.0, 0.2], sharex=ax)
        widths = self.edges[:, 1] - self.edges[:, 0]
        self.count_ax_.bar(
            self.edges[:, 0], self.counts, widths, align="edge", color=look["color"], edgecolor="white", linewidth=0.5
        )
        self.count_ax_.set_ylabel("samples")
        self.count_ax_.tick_params(labelbottom=False, bottom=False)
        # The lowest fifth belongs to the numbers of samples.
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.34, 1.04), xlabel=self.meaning, ylabel="share that came true")
        ax.set_yticks(np.linspace(0.0, 1.0, 6))
        ax.legend(loc="upper left", fontsize="small", framealpha=0.6)


def share_interval(share: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Wilson's intervals around shares of n samples, shape (2, len(n))."""
    z = float(norm.ppf(0.5 + 0.5 * LEVEL))
    n = np.asarray(n, dtype=np.float64)
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return np.array([middle - reach, middle + reach])


def _wide(decision: np.ndarray) -> np.ndarray:
    """Decision values to draw a curve at: beyond those there are, and to both sides of zero."""
    reach = 1.1 * max(float(np.abs(decision).max(initial=0.0)), 1e-3)
    return np.linspace(-reach, reach, 401)
