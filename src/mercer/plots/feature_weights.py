"""The pieces with the largest weights."""

from typing import Any, Self

import numpy as np

from mercer.explanations import feature_weights
from mercer.parameters import Number
from mercer.plots.base import Display, ink, require_pyplot

# Letters of a name that are drawn.
LONGEST_NAME = 40


class FeatureWeightsDisplay(Display):
    """Pieces of samples with the largest weights, to either side: what a machine looks for.

    Substrings, neighbourhoods of nodes or subtrees, whatever the kernel counts, by name. Pieces on the right speak for
    the second class, those on the left for the first one.

    Parameters
    ----------
    names : sequence of str
        The pieces, from top to bottom.
    weights : array-like of shape (n,)
        Their weights.
    counts : array-like of int of shape (n,), default=None
        How often support vectors have them; None writes none.

    Attributes
    ----------
    names, weights, counts
        The numbers drawn.
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of the last drawing.
    bars_ : matplotlib BarContainer
        The weights.

    See Also
    --------
    mercer.explanations.feature_weights : The weights of all pieces.
    SequenceDisplay, GraphDisplay : Weights on the letters of a sequence, on the nodes of a graph.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.kernels import Spectrum
    >>> from mercer.plots import FeatureWeightsDisplay
    >>> machine = SVC(Spectrum(2), C=100.0).fit(["gattaca", "attack", "sips", "hips"], [1, 1, 0, 0])
    >>> display = FeatureWeightsDisplay.from_estimator(machine, n_each=2)
    >>> sorted(display.names[2:]), display.weights[2:].round(2)
    (['ip', 'ps'], array([-0.28, -0.28]))
    """

    bars_: Any

    def __init__(self, names: Any, weights: Any, counts: Any = None) -> None:
        self.names = list(map(str, names))
        self.weights = np.asarray(weights, dtype=np.float64)
        self.counts = None if counts is None else np.asarray(counts, dtype=np.intp)
        for name, given in (("weights", self.weights), ("counts", self.counts)):
            if given is not None and given.shape != (len(self.names),):
                raise ValueError(f"{name} must be one for each of {len(self.names)} names, got shape {given.shape}.")

    @classmethod
    def from_estimator(cls, machine: Any, *, n_each: int = 10, function: int = 0, ax: Any = None, **style: Any) -> Self:
        """Draw the pieces that a machine gives the largest weights.

        Parameters
        ----------
        machine : fitted machine
            With a kernel that counts pieces, see `mercer.explanations.take_apart`.
        n_each : int >= 1, default=10
            So many of the positive ones, and of the negative ones, at most.
        function : int >= 0, default=0
            Which function, a row of ``dual_coef_``, of machines that have several.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **style
            Options of the bars, for matplotlib.

        Returns
        -------
        FeatureWeightsDisplay
        """
        require_pyplot(f"{cls.__name__}.from_estimator")
        if problem := Number(1, integer=True).problem(n_each):
            raise ValueError(f"n_each {problem}")
        names, weights, counts = feature_weights(machine, function=function)
        up, down = np.flatnonzero(weights > 0)[:n_each], np.flatnonzero(weights < 0)[:n_each]
        chosen = np.concatenate([up, down[::-1]])
        return cls([names[k] for k in chosen], weights[chosen], counts[chosen]).plot(ax, **style)

    def _draw(self, ax: Any, **style: Any) -> None:
        at = np.arange(len(self.names))
        colours = ["C1" if weight > 0 else "C0" for weight in self.weights]
        self.bars_ = ax.barh(at, self.weights, **{"color": colours, "height": 0.75, **style})
        short = [name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…" for name in self.names]
        ax.set_yticks(at, short, family="monospace", fontsize="small")
        ax.set_ylim(len(at) - 0.4, -0.6)
        ax.axvline(0.0, color=ink(), linewidth=0.8)
        ax.set_xlabel("weight")
        if self.counts is not None:
            ax.set_xlabel("weight; beside it, how often support vectors have it")
            ax.margins(x=0.12)
            words = [f"{count}" for count in self.counts]
            ax.bar_label(self.bars_, words, padding=3, fontsize="x-small", color=ink())
