"""What all displays share."""

from typing import Any, Self

import numpy as np

from mercer.extras import require

# Classes keep these colours in all displays. People who see no red or no green, and grey print, tell them apart; the
# first two are those of matplotlib's style in use.
PALETTE = ("C0", "C1", "#009E73", "#CC79A7", "#56B4E9", "#F0E442", "#7F3F00", "#888888")
# Beyond colour, classes of a scatter have these markers.
MARKERS = "osD^vP*X"
# From negative through nothing to positive; neither red nor green.
DIVERGING = "PuOr_r"


class Display:
    """Base of the displays: the numbers of a picture, and how to draw them.

    A subclass stores its numbers in ``__init__``, has a ``from_...`` class method that computes them and
    calls ``plot``, and implements ``_draw(ax, ...)``.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of the last drawing.

    See Also
    --------
    DecisionDisplay : Decision boundary, margin band and support vectors.
    RegressionDisplay : A function with its tube or error band.
    HistoryDisplay : Dual objective and gap during training.
    ScoreMapDisplay : Scores of a search over parameters.

    Examples
    --------
    >>> from mercer.plots import Display
    >>> class Diagonal(Display):
    ...     def __init__(self, length):
    ...         self.length = length
    ...
    ...     def _draw(self, ax, **style):
    ...         ax.plot([0, self.length], [0, self.length], **style)
    >>> display = Diagonal(3).plot(color="black")
    >>> len(display.ax_.lines)
    1
    """

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None, **style: Any) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **style
            Options of this display, as its ``from_...`` constructor takes them.

        Returns
        -------
        self
        """
        if ax is None:
            _, ax = require_pyplot(type(self).__name__).subplots(layout="constrained")
        self._draw(ax, **style)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw(self, ax: Any, **style: Any) -> None:
        raise NotImplementedError


def require_pyplot(caller: str) -> Any:
    """Import ``matplotlib.pyplot``, or say which extra of the package brings it."""
    return require("matplotlib.pyplot", caller)


def class_colour(code: int) -> str:
    """The colour of the class of this number."""
    return PALETTE[code % len(PALETTE)]


def ink() -> Any:
    """The colour of text in the style in use: black on white, white on black."""
    from matplotlib import rcParams

    return rcParams["text.color"]


def is_dark(colours: Any) -> Any:
    """Whether white letters are read more easily than black ones on colours, given as arrays of shape (..., 4)."""
    return np.asarray(colours)[..., :3] @ [0.299, 0.587, 0.114] < 0.5


def last_step(estimator: Any) -> Any:
    """The machine at the end of a pipeline, or the estimator itself."""
    return estimator[-1] if hasattr(estimator, "steps") else estimator


def widened(low: Any, high: Any, margin: float) -> tuple[Any, Any]:
    """A range with a margin on both sides, as a share of it; what does not vary still gets a width."""
    reach = margin * np.where(np.asarray(high) > low, np.asarray(high) - low, 1.0)
    return low - reach, high + reach


def check_support(machine: Any, n: int) -> None:
    """Refuse samples that cannot be those that a machine was fitted on."""
    last = int(machine.support_.max(initial=-1))
    if last >= n:
        raise ValueError(
            f"X must hold the samples that {type(machine).__name__} was fitted on: sample {last} is a support vector, "
            f"got {n} samples."
        )


def write_beside(ax: Any, places: np.ndarray, texts: Any) -> list[Any]:
    """Write short texts to the right of points, one above the other where they would overlap; limits must be set."""
    from matplotlib.patheffects import withStroke

    height = 10.0  # of a line, in points
    around = [withStroke(linewidth=2.5, foreground=ax.get_facecolor())]  # so that they are read where they meet points
    at = ax.transData.transform(places) * 72.0 / ax.figure.dpi if len(places) else places
    written: list[tuple[float, float]] = []
    drawn = []
    for k in np.argsort(places[:, 1], kind="stable"):
        x, y = at[k]
        while any(abs(x - left) < 8.0 * len(texts[k]) and abs(y - top) < height for left, top in written):
            y += 1.0
        written.append((x, y))
        offset = (5, y - at[k][1])
        look = {"fontsize": 8, "va": "center", "path_effects": around}
        drawn.append(ax.annotate(texts[k], places[k], offset, textcoords="offset points", **look))
    return drawn
