"""How a learner that asks for labels has learnt."""

from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from mercer.active import ActiveLearner
from mercer.active.stopping import as_stopping_rules, name_of
from mercer.kernels.samples import n_samples
from mercer.parameters import Number
from mercer.plots.base import Display, ink, require_pyplot

# How the stopping rules are called in a picture.
WORDS = {"band": "band empty", "objective": "objective level", "mistakes": "no more mistakes", "budget": "budget spent"}


class ActiveLearningDisplay(Display):
    """Learning curve of a learner that asks: error and samples in the margin band against the number of labels. [1]_

    The error, on the left axis, is that on test samples or, without any, the share of the answers so far that had been
    predicted wrongly: those are the hardest samples, and so it is high. The number of unlabelled samples in the margin
    band is on the right axis. Vertical lines are where stopping rules speak for the first time.

    Parameters
    ----------
    n_labels : array-like of int of shape (n,)
        Numbers of labels.
    error : array-like of shape (n,)
        The error there; NaN while there is no machine.
    band_labels, band : array-like of shape (m,)
        Numbers of labels, and of unlabelled samples in the margin band there; empty for none.
    stops : dict from str to int, default=None
        Where stopping rules speak, by their names.
    error_name : str, default="test error"
        What the error is.
    name : str, default=None
        Of the learner, for a legend.

    Attributes
    ----------
    n_labels, error, band_labels, band, stops, error_name, name
        The numbers drawn.
    ax_ : matplotlib Axes
        The axes of the error.
    band_ax_ : matplotlib Axes or None
        The axes of the band, on the right.
    figure_ : matplotlib Figure
        The figure of the last drawing.
    line_, band_line_ : matplotlib Line2D
        The two curves; the second is None without a band.

    See Also
    --------
    mercer.active.ActiveLearner : Asks for labels.
    sklearn.model_selection.LearningCurveDisplay : Samples that come by chance.

    Notes
    -----
    With test samples, a machine is fitted for every point of the curve, to the first answers
    (`ActiveLearner.machine_after`): the history has no machines but the last.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, figures 1.7 and 1.8.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.active import ActiveLearner
    >>> from mercer.plots import ActiveLearningDisplay
    >>> pool = np.linspace(-1, 1, 201)[:, np.newaxis]
    >>> learner = ActiveLearner(SVC("linear", C=1e6), pool, oracle=pool[:, 0] > 0.3).learn()
    >>> display = ActiveLearningDisplay.from_learner(learner, pool, pool[:, 0] > 0.3)
    >>> display.error[-1], display.stops == {"band": len(learner.labelled_)}
    (np.float64(0.0), True)
    """

    band_ax_: Any
    line_: Any
    band_line_: Any

    def __init__(
        self,
        n_labels: Any,
        error: Any,
        *,
        band_labels: Any = (),
        band: Any = (),
        stops: dict[str, int] | None = None,
        error_name: str = "test error",
        name: str | None = None,
    ) -> None:
        self.n_labels = np.asarray(n_labels, dtype=np.intp)
        self.error = np.asarray(error, dtype=np.float64)
        self.band_labels = np.asarray(band_labels, dtype=np.intp)
        self.band = np.asarray(band, dtype=np.intp)
        self.stops = dict(stops or {})
        self.error_name = error_name
        self.name = name
        for first, second, names in (
            (self.n_labels, self.error, "n_labels and error"),
            (self.band_labels, self.band, "band_labels and band"),
        ):
            if first.shape != second.shape:
                raise ValueError(f"{names} must be of one length, got shapes {first.shape} and {second.shape}.")

    @classmethod
    def from_learner(
        cls,
        learner: ActiveLearner,
        X: Any = None,
        y: Any = None,
        *,
        n_points: int = 40,
        stop: Any = None,
        name: str | None = None,
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw what a learner's history tells.

        Parameters
        ----------
        learner : ActiveLearner
            With some answers.
        X, y : test samples and their classes, default=None
            None: the error is that on the answers.
        n_points : int >= 2, default=40
            Points of the curve on test samples, at most; each takes a fit.
        stop : as for `ActiveLearner`, default=None
            The stopping rules that are drawn; None: those of the learner.
        name : str, default=None
            For a legend.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **style
            Options of the error's line, for matplotlib.

        Returns
        -------
        ActiveLearningDisplay
        """
        require_pyplot(f"{cls.__name__}.from_learner")
        if not isinstance(learner, ActiveLearner):
            raise TypeError(f"learner must be an ActiveLearner, got {learner!r}.")
        if problem := Number(2, integer=True).problem(n_points):
            raise ValueError(f"n_points {problem}")
        if (X is None) != (y is None):
            raise ValueError("X and y must be given together, or neither.")
        history = learner.history_
        labels: Any
        error: Any
        if not history:
            raise NotFittedError(f"{cls.__name__} needs a learner with answers, {learner!r} has none.")
        if X is None:
            labels = np.arange(1, len(history) + 1)
            predicted = np.cumsum([answer.predicted is not None for answer in history])
            mistakes = np.array([answer.mistakes for answer in history], dtype=np.float64)
            with np.errstate(invalid="ignore"):
                error = mistakes / np.where(predicted > 0, predicted, np.nan)
            error_name = "share of answers predicted wrongly"
        else:
            y = np.asarray(y)
            if y.shape != (n_samples(X),):
                raise ValueError(f"y must have one class for each of {n_samples(X)} test samples, got shape {y.shape}.")
            labels = np.unique(np.linspace(2, len(history), n_points).round().astype(int)) if len(history) > 1 else [1]
            error = [_error(learner, int(n), X, y) for n in labels]
            error_name = "test error"
        known = [(k, answer.band) for k, answer in enumerate(history, 1) if answer.band is not None]
        rules = as_stopping_rules(learner.stop if stop is None else stop)
        return cls(
            labels,
            error,
            band_labels=[k for k, _ in known],
            band=[band for _, band in known],
            stops={name_of(rule): n for rule in rules if (n := _first(rule, learner)) is not None},
            error_name=error_name,
            name=name,
        ).plot(ax, **style)

    def _draw(self, ax: Any, **style: Any) -> None:
        self.band_ax_ = self.band_line_ = None
        style = {"color": "C0", "linewidth": 1.5, "label": self.name or self.error_name, **style}
        (self.line_,) = ax.plot(self.n_labels, self.error, **style)
        ax.set(xlabel="labels", ylabel=self.error_name)
        ax.set_ylim(bottom=0)
        if len(self.band):
            self.band_ax_ = ax.twinx()
            (self.band_line_,) = self.band_ax_.plot(self.band_labels, self.band, color="C1", linestyle="--")
            self.band_ax_.set_ylabel("samples left in the band", color="C1")
            self.band_ax_.tick_params(axis="y", colors="C1")
            self.band_ax_.set_ylim(bottom=0)
            ax.yaxis.label.set_color(self.line_.get_color())
            ax.tick_params(axis="y", colors=self.line_.get_color())
        # Names stand beside their lines, one below the other, so that lines close together do not mix them.
        for step, (rule, n) in enumerate(sorted(self.stops.items(), key=lambda item: item[1])):
            ax.axvline(n, color=ink(), linestyle=":", linewidth=1)
            late = n > np.mean(ax.get_xlim())
            ax.annotate(
                f"{WORDS.get(rule, rule)}, {n}",
                (n, 0.96 - 0.07 * step),
                xycoords=("data", "axes fraction"),
                xytext=(-4 if late else 4, 0),
                textcoords="offset points",
                ha="right" if late else "left",
                va="top",
                fontsize="small",
                bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.5},
            )


def _error(learner: ActiveLearner, n: int, X: Any, y: np.ndarray) -> float:
    """The share of test samples that a machine of the first n answers predicts wrongly; NaN if there is none."""
    if len(set(learner.labels_[:n].tolist())) < 2:
        return np.nan
    try:
        machine = learner.machine_after(n)
    except ValueError:  # the estimator refuses them, as the learner has warned of
        return np.nan
    pairwise = get_tags(machine).input_tags.pairwise
    return float(np.mean(machine.predict(X[:, learner.labelled_[:n]] if pairwise else X) != y))


def _first(rule: Any, learner: ActiveLearner) -> int | None:
    """The number of answers after which a rule has spoken first, from the history alone; None if it never did."""
    history = learner.history_
    for n in range(1, len(history) + 1):
        band = history[n - 1].band
        past = SimpleNamespace(
            history_=history[:n],
            labelled_=learner.labelled_[:n],
            is_fitted=band is not None,
            in_band=lambda band=band: np.array([bool(band)]),
            estimator_=learner.estimator_ if learner.is_fitted else None,
        )
        try:
            if rule(past):
                return n
        except AttributeError as error:
            raise ValueError(f"stop must be rules that need the history alone, {name_of(rule)!r} does not.") from error
    return None
