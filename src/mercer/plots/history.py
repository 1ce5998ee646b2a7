"""How a solver came to its result."""

from typing import Any, Self

import numpy as np

from mercer.plots.base import Display, require_pyplot


class HistoryDisplay(Display):
    r"""Dual objective and duality gap during training.

    The dual objective :math:`W` (left axis) rises to its maximum while the duality gap (right axis,
    logarithmic) falls to zero [1]_. Growth of :math:`W` without an end is the sign of a problem without a
    solution.

    Parameters
    ----------
    iteration : array-like of shape (n_samples,)
        The iterations at which the solver took stock.
    objective : array-like of shape (n_samples,)
        The dual objective there.
    gap : array-like of shape (n_samples,)
        The duality gap there.

    Attributes
    ----------
    iteration, objective, gap : ndarray of shape (n_samples,)
        The numbers drawn.
    ax_ : matplotlib Axes
        The axes of the objective.
    gap_ax_ : matplotlib Axes
        The axes of the gap, on the right.
    figure_ : matplotlib Figure
        The figure of the last drawing.

    See Also
    --------
    DecisionDisplay : What came of it, for samples in the plane.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 1.6, eq. 1.12.

    Examples
    --------
    >>> from mercer.plots import HistoryDisplay
    >>> display = HistoryDisplay([0, 100, 200], objective=[0.0, 8.0, 9.0], gap=[20.0, 2.0, 0.01])
    >>> display.plot().ax_.get_xlabel()
    'iteration'
    """

    gap_ax_: Any

    def __init__(self, iteration: Any, objective: Any, gap: Any) -> None:
        self.iteration = np.asarray(iteration)
        self.objective = np.asarray(objective, dtype=np.float64)
        self.gap = np.asarray(gap, dtype=np.float64)

    @classmethod
    def from_result(cls, result: Any, *, ax: Any = None, **style: Any) -> Self:
        """Draw the history in a solver's result.

        Parameters
        ----------
        result : SolverResult
            For instance the attribute ``result_`` of a fitted machine.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **style
            Options of the two lines, for matplotlib.

        Returns
        -------
        HistoryDisplay
        """
        require_pyplot(f"{cls.__name__}.from_result")
        history: Any = getattr(result, "history", None)
        if not all(hasattr(history, name) for name in ("iteration", "objective", "gap")):
            raise TypeError(f"result must have a history of objectives and gaps, got {type(result).__name__}.")
        return cls(history.iteration, history.objective, history.gap).plot(ax, **style)

    def _draw(self, ax: Any, **style: Any) -> None:
        # A logarithmic axis has no place for a gap that is infinite, or that rounding has closed.
        gap = np.where((self.gap > 0) & np.isfinite(self.gap), self.gap, np.nan)
        self.gap_ax_ = ax.twinx()
        (objective,) = ax.plot(self.iteration, self.objective, **{"color": "C0", **style})
        (line,) = self.gap_ax_.plot(self.iteration, gap, **{"color": "C1", "linestyle": "--", **style})
        ax.set(xlabel="iteration", ylabel="dual objective $W$")
        self.gap_ax_.set(ylabel="duality gap", yscale="log")
        # Each axis has the colour of its line, which stands in for a legend.
        for axes, drawn in ((ax, objective), (self.gap_ax_, line)):
            axes.yaxis.label.set_color(drawn.get_color())
            axes.tick_params(axis="y", which="both", colors=drawn.get_color())
