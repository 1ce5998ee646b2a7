"""Which kernels a machine has chosen, and what each is worth alone."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.validation import check_is_fitted

from mercer.kernels import FromFunction, Indexed, Kernel
from mercer.mkl.base import MultipleKernels
from mercer.plots.base import Display, require_pyplot

# How high the two bars of a kernel are together.
HEIGHT = 0.8
# How far the axes go beyond the longest bar, so that there is room for words.
ROOM = 1.15


class KernelWeightsDisplay(Display):
    """Weights of kernels as bars, beside them what a machine on each kernel alone is worth. [1]_

    Parameters
    ----------
    names : sequence of str
        Of the kernels, from top to bottom.
    weights : array-like of shape (n_kernels,)
        The weights.
    scores : array-like of shape (n_kernels,), default=None
        Scores of machines on one kernel each; None draws none.
    together : float, default=None
        The score of the machine on the combination, drawn as a line; None draws none.
    score_name : str, default="score"
        What the scores are.

    Attributes
    ----------
    names, weights, scores, together, score_name
        The numbers drawn.
    ax_ : matplotlib Axes
        The axes of the weights.
    score_ax_ : matplotlib Axes or None
        The axes of the scores, on top.
    figure_ : matplotlib Figure
        The figure of the last drawing.

    See Also
    --------
    mercer.mkl.weights_path : How weights change with a parameter.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, figures 3.1 and 3.2.

    Examples
    --------
    >>> from mercer.plots import KernelWeightsDisplay
    >>> display = KernelWeightsDisplay(["letters", "shape"], [0.7, 0.3], scores=[0.8, 0.6], together=0.9)
    >>> display.plot().ax_.get_xlabel()
    'weight'
    """

    score_ax_: Any

    def __init__(
        self,
        names: Sequence[str],
        weights: Any,
        scores: Any = None,
        together: float | None = None,
        score_name: str = "score",
    ) -> None:
        self.names = list(names)
        self.weights = np.asarray(weights, dtype=np.float64)
        self.scores = None if scores is None else np.asarray(scores, dtype=np.float64)
        self.together = together
        self.score_name = score_name
        for name, given in (("weights", self.weights), ("scores", self.scores)):
            if given is not None and given.shape != (len(self.names),):
                raise ValueError(f"{name} must be one for each of {len(self.names)} names, got shape {given.shape}.")

    @classmethod
    def from_estimator(
        cls,
        machine: Any,
        X: Any = None,
        y: Any = None,
        *,
        names: Sequence[str] | None = None,
        cv: Any = 5,
        score_name: str = "score",
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw the weights of a fitted machine and, if samples are given, cross-validated scores.

        Parameters
        ----------
        machine : MKLClassifier or MKLRegressor
            Fitted, with weights that all classes share.
        X : n samples, default=None
            None: no scores.
        y : array of shape (n,), default=None
        names : sequence of str, default=None
            Of the kernels; None: as they are written, or the name of the function, or "matrix" with the number of the
            kernel.
        cv : int or splitter, default=5
            How scores are cross-validated; weights are learnt anew in every fold.
        score_name : str, default="score"
            What the scores are.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **style
            Options of the bars, for matplotlib.

        Returns
        -------
        KernelWeightsDisplay
        """
        require_pyplot(f"{cls.__name__}.from_estimator")
        if not isinstance(machine, MultipleKernels):
            raise TypeError(f"machine must be one of mercer.mkl, such as MKLClassifier(), got {machine!r}.")
        check_is_fitted(machine)
        weights = machine.weights_
        if weights.ndim != 1:
            raise ValueError(f"machine must have one weight for each kernel, got weights_ of shape {weights.shape}.")
        names = [_name(k, kernel) for k, kernel in enumerate(machine.kernels_)] if names is None else list(names)
        if len(names) != len(weights):
            raise ValueError(f"names must have one for each of {len(weights)} kernels, got {len(names)}.")
        if X is None:
            return cls(names, weights).plot(ax, **style)
        if not hasattr(machine, "score"):
            raise TypeError(f"machine must be one with scores where X is given, got {machine!r}.")
        alone = [clone(machine).set_params(kernels=[kernel], groups=None) for kernel in machine.kernels_]
        scores = [float(cross_val_score(one, X, y, cv=cv).mean()) for one in alone]
        together = float(cross_val_score(clone(machine), X, y, cv=cv).mean())
        return cls(names, weights, scores, together, score_name).plot(ax, **style)

    def _draw(self, ax: Any, **style: Any) -> None:
        at, bars = np.arange(len(self.names)), 1 if self.scores is None else 2
        height = HEIGHT / bars
        above = 0.0 if self.scores is None else -0.5 * height
        ax.barh(at + above, self.weights, height, **{"color": "C0", **style})
        ax.set_yticks(at, self.names)
        ax.set_ylim(len(at) - 0.5, -0.5)
        ax.set_xlabel("weight", color="C0")
        self.score_ax_ = None
        if self.scores is None:
            return
        self.score_ax_ = ax.twiny()
        self.score_ax_.barh(at - above, self.scores, height, **{"color": "C1", "alpha": 0.6, **style})
        self.score_ax_.set_xlabel(f"{self.score_name} of each kernel alone", color="C1")
        known = self.scores if self.together is None else np.append(self.scores, self.together)
        low, high = min(0.0, known.min()), max(0.0, known.max())
        self.score_ax_.set_xlim(ROOM * low, ROOM * high)
        if high > 0:  # zero is at the same place on both axes, and all bars are within
            heaviest = self.weights.max() or 1.0
            left = min(low / high, self.weights.min() / heaviest)
            ax.set_xlim(ROOM * left * heaviest, ROOM * heaviest)
            self.score_ax_.set_xlim(ROOM * left * high, ROOM * high)
        if self.together is not None:
            self.score_ax_.axvline(self.together, color="C1", linestyle="--")
            self.score_ax_.annotate(
                f"together {self.together:.3g}",
                (self.together, 0.5),
                xycoords=("data", "axes fraction"),
                xytext=(3, 0),
                textcoords="offset points",
                rotation=90,
                ha="left",
                va="center",
                color="C1",
                bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.5},
            )


def _name(k: int, kernel: Kernel) -> str:
    """What stands at the bars of a kernel: one line, also where it holds a matrix or a function."""
    if isinstance(kernel, Indexed):
        return f"matrix {k}"
    if isinstance(kernel, FromFunction):
        return getattr(kernel.function, "__name__", repr(kernel.function))
    return repr(kernel)
