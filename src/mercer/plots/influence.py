"""Which training samples move the solution."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.parameters import Choice, Number
from mercer.plots.base import MARKERS, Display, require_pyplot, write_beside
from mercer.selection import LeaveOneOut, Span
from mercer.svm import SVC

# What a multiplier can be: zero, between its bounds, at the upper one.
STATES = ("no support vector", "on the edge", "at the bound")
COLOURS = ("C7", "C0", "C1")


class InfluenceDisplay(Display):
    r"""What a machine says of its training samples, with and without having learnt them.

    Every sample is a point: across, what the machine makes of it; upwards, what a machine makes of it that was trained
    without it. On the diagonal nothing would change; the further away a sample is, the more the solution hangs on it
    alone. For a classifier these are margins :math:`y f(x)`. Samples that are no support vectors lie on the diagonal;
    others fall by :math:`\alpha_p S_p^2`, with their span [1]_. What falls below zero is a leave-one-out error. For
    least squares they are residuals, which leaving out makes larger by the factor :math:`1 / (1 - h_i)`, with
    the leverage :math:`h_i` [2]_.

    Parameters
    ----------
    with_sample, without_sample : array-like of shape (n,)
        Margins or residuals of machines that have learnt the sample, and that have not.
    state : array-like of int of shape (n,), default=None
        Of margins: 0 for samples that are no support vectors, 1 for those between the bounds, which lie on the edge, 2
        for those at the upper bound. None for residuals.
    n_named : int >= 0, default=5
        So many of the samples that move most have their numbers beside them.

    Attributes
    ----------
    with_sample, without_sample, state
        The numbers drawn.
    influence : ndarray of shape (n,)
        By how much the margin falls, or the size of the residual grows, if the sample is left out.
    largest : int ndarray of shape (n_named,)
        The samples that move most, the first one most of all.
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of the last drawing.
    points_ : list of matplotlib PathCollection
        The samples, by their state.

    See Also
    --------
    mercer.selection.LeaveOneOut : The errors of leaving one out, as a number.
    mercer.selection.Span : Nearly the same from one factorisation.

    References
    ----------
    .. [1] V. Vapnik, O. Chapelle, Bounds on error expectation for support vector machines, Neural Computation 12, 2000.
    .. [2] R. D. Cook, S. Weisberg, Residuals and influence in regression, 1982.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.plots import InfluenceDisplay
    >>> X = np.array([[-3.0], [-1.0], [-0.8], [1.0], [1.2], [3.0], [-0.5]])
    >>> y = np.array([0, 0, 0, 1, 1, 1, 1])
    >>> display = InfluenceDisplay.from_estimator(SVC(kernel="linear", C=1.0).fit(X, y), X, y)
    >>> display.state
    array([0, 1, 2, 1, 0, 0, 2])
    >>> display.influence.round(2)
    array([0.  , 1.  , 0.9 , 0.18, 0.  , 0.  , 0.17])
    """

    points_: list[Any]

    def __init__(self, with_sample: Any, without_sample: Any, state: Any = None, *, n_named: int = 5) -> None:
        self.with_sample = np.asarray(with_sample, dtype=np.float64)
        self.without_sample = np.asarray(without_sample, dtype=np.float64)
        self.state = None if state is None else np.asarray(state, dtype=np.intp)
        if self.with_sample.shape != self.without_sample.shape:
            raise ValueError(
                f"with_sample and without_sample must be of one length, got shapes {self.with_sample.shape} and "
                f"{self.without_sample.shape}."
            )
        if problem := Number(0, integer=True).problem(n_named):
            raise ValueError(f"n_named {problem}")
        if self.state is None:
            self.influence = np.abs(self.without_sample) - np.abs(self.with_sample)
        else:
            self.influence = self.with_sample - self.without_sample
        moved = np.flatnonzero(self.influence > 0)
        self.largest = moved[np.argsort(-self.influence[moved], kind="stable")][:n_named]

    @classmethod
    def from_estimator(
        cls,
        machine: Any,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        method: str = "exact",
        n_named: int = 5,
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw how a machine depends on each of its training samples.

        Parameters
        ----------
        machine : SVC, KernelRidge or GaussianProcessRegressor
            Fitted to these samples: two classes without probabilities, or values of one output. `KernelRidge` with
            ``leave_one_out=True`` or ``alpha="loo"``.
        X, y, sample_weight :
            What it was fitted to.
        method : {"exact", "span"}, default="exact"
            For `SVC`: a machine is trained without each of the support vectors, or that is estimated from the span,
            which is much faster for thousands of them. Least squares are exact either way.
        n_named : int >= 0, default=5
            So many of the samples that move most have their numbers beside them.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **style
            Options of the points, for matplotlib.

        Returns
        -------
        InfluenceDisplay
        """
        require_pyplot(f"{cls.__name__}.from_estimator")
        if problem := Choice("exact", "span").problem(method):
            raise ValueError(f"method {problem}")
        check_is_fitted(machine)
        if isinstance(machine, SVC):
            return cls(*_margins(machine, X, y, sample_weight, method), n_named=n_named).plot(ax, **style)
        process = callable(getattr(machine, "leave_one_out", None))
        if hasattr(machine, "classes_") or not (process or hasattr(machine, "loo_residuals_")):
            raise ValueError(
                f"{cls.__name__} needs a fitted SVC, a GaussianProcessRegressor, or a KernelRidge with "
                f"leave_one_out=True, got {machine!r}."
            )
        values = np.asarray(y, dtype=np.float64)
        residual = values - machine.predict(X)
        left_out = values - machine.leave_one_out()[0] if process else machine.loo_residuals_
        if residual.ndim != 1:
            raise ValueError(f"{cls.__name__} draws one output, got {residual.shape[1]}.")
        return cls(residual, left_out, n_named=n_named).plot(ax, **style)

    def _draw(self, ax: Any, **style: Any) -> None:
        style = {"s": 26, "alpha": 0.8, "edgecolors": "white", "linewidths": 0.3, **style}
        known = np.concatenate([self.with_sample, self.without_sample])
        known = known[np.isfinite(known)]
        low, high = known.min(initial=0.0), known.max(initial=0.0)
        reach = 0.06 * (high - low or 1.0)
        ax.plot([low, high], [low, high], color="C7", linewidth=1, linestyle="--", zorder=1)
        # What cannot be trained at all without a sample (minus infinity) stands at the lower edge.
        height = np.maximum(self.without_sample, low - 0.5 * reach)
        self.points_ = []
        if self.state is None:
            self.points_.append(ax.scatter(self.with_sample, height, color="C0", **style))
            ax.set(xlabel="residual", ylabel="residual if the sample is left out")
        else:
            for code, name in enumerate(STATES):
                some = self.state == code
                look = {"color": COLOURS[code], "marker": MARKERS[code], **style}
                label = f"{name}, {some.sum()}"
                self.points_.append(ax.scatter(self.with_sample[some], height[some], label=label, **look))
            if low < 0:
                ax.axhspan(low - reach, 0.0, color="C3", alpha=0.08, linewidth=0, zorder=0)
            title = f"{int((self.without_sample <= 0).sum())} wrong if left out"
            ax.legend(loc="upper left", fontsize="small", title=title, title_fontsize="small", alignment="left")
            ax.set(xlabel="margin $y f(x)$", ylabel="margin if the sample is left out")
        ax.set(xlim=(low - reach, high + reach), ylim=(low - reach, high + reach))
        places = np.column_stack([self.with_sample, height])[self.largest]
        write_beside(ax, places, [str(i) for i in self.largest])


def _margins(machine: Any, X: Any, y: Any, sample_weight: Any, method: str) -> tuple[np.ndarray, ...]:
    """Margins of all samples with and without having learnt them, and the states of their multipliers."""
    criterion = LeaveOneOut() if method == "exact" else Span()
    left_out = criterion.decisions(machine, X, y, sample_weight)
    trained = criterion._trained(machine, X, y, sample_weight)
    problem, a = trained.problem, trained.result.a
    with_sample, without_sample, state = np.full(len(left_out), np.nan), left_out, np.zeros(len(left_out), dtype=int)
    with_sample[problem.index] = trained.margins
    without_sample[problem.index] *= problem.sign
    state[problem.index] = np.where(a <= 0, 0, np.where(a < problem.upper, 1, 2))
    return with_sample, without_sample, state
