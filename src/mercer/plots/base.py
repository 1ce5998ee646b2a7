"""What all displays share."""

from typing import Any, Self

from mercer.extras import require


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
    HistoryDisplay : Dual objective and gap during training.
    ScoreMapDisplay : Scores of a search over parameters.
    TreeDisplay : A parse tree above its sentence.

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
            _, ax = require_pyplot(type(self).__name__).subplots()
        self._draw(ax, **style)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw(self, ax: Any, **style: Any) -> None:
        raise NotImplementedError


def require_pyplot(caller: str) -> Any:
    """Import ``matplotlib.pyplot``, or say which extra of the package brings it."""
    return require("matplotlib.pyplot", caller)
