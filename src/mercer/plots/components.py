"""Samples along leading directions of feature space."""

from typing import Any, Self

import numpy as np
from sklearn.utils.multiclass import type_of_target

from mercer.parameters import Number
from mercer.plots.base import MARKERS, Display, class_colour, last_step, require_pyplot


class KernelPCADisplay(Display):
    """Samples in the plane of two principal components, whose shares of the variance stand on the axes. [1]_

    Parameters
    ----------
    scores : array-like of shape (n, 2)
        The coordinates.
    shares : tuple of float
        The shares of the two directions in the variance of all.
    components : tuple of int, default=(0, 1)
        Which directions they are.
    y : array-like of shape (n,), default=None
        Classes, which have colours and markers, or numbers, which have colours; None: all alike.
    names : dict, default=None
        What classes are called in the legend; None: as they are.

    Attributes
    ----------
    scores, shares, components, y, names
        The numbers drawn.
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of the last drawing.
    points_ : list of matplotlib PathCollection
        The samples, class by class.
    legend_ : matplotlib Legend or None
        The classes.
    colorbar_ : matplotlib Colorbar or None
        The scale of numbers.

    See Also
    --------
    mercer.decomposition.KernelPCA : Finds the directions.
    GramDisplay : The kernel values themselves.

    References
    ----------
    .. [1] B. Schölkopf, A. Smola, K.-R. Müller, Nonlinear component analysis as a kernel eigenvalue problem, Neural
       Computation 10, 1998, figure 2.

    Examples
    --------
    >>> from mercer import KernelPCA
    >>> from mercer.kernels import Spectrum
    >>> from mercer.plots import KernelPCADisplay
    >>> words, kinds = ["gattaca", "attack", "tacocat", "sips", "hips"], ["dna", "dna", "dna", "x", "x"]
    >>> machine = KernelPCA(Spectrum(2).normalized(), n_components=2).fit(words)
    >>> display = KernelPCADisplay.from_estimator(machine, words, kinds)
    >>> display.scores.shape, display.ax_.get_xlabel()
    ((5, 2), 'component 1, 65 % of the variance')
    """

    points_: list[Any]
    legend_: Any
    colorbar_: Any

    def __init__(self, scores: Any, shares: Any, *, components: Any = (0, 1), y: Any = None, names: Any = None) -> None:
        self.scores = np.asarray(scores, dtype=np.float64)
        self.shares = tuple(shares)
        self.components = tuple(components)
        self.y = None if y is None else np.asarray(y)
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        components: tuple[int, int] = (0, 1),
        names: Any = None,
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw samples, of training or new, along directions that were found.

        Parameters
        ----------
        estimator : fitted transformer
            `KernelPCA`, or another with ``transform`` and ``explained_variance_ratio_``, or a pipeline that ends in
            one.
        X : n samples
            As the estimator takes them.
        y : array-like of shape (n,), default=None
            Classes or numbers; None: all alike.
        components : tuple of two int, default=(0, 1)
            Which directions, from 0 on.
        names : dict or sequence, default=None
            What classes are called: by class, or in their order.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **style
            Options of the scatter, such as ``s`` or ``alpha``, for matplotlib.

        Returns
        -------
        KernelPCADisplay
        """
        require_pyplot(f"{cls.__name__}.from_estimator")
        machine = last_step(estimator)
        shares = getattr(machine, "explained_variance_ratio_", None)
        if shares is None or not hasattr(machine, "transform"):
            raise ValueError(
                f"{cls.__name__} needs a fitted transformer with explained_variance_ratio_, which "
                f"{type(machine).__name__} does not have."
            )
        rule = Number(0, len(shares) - 1, integer=True)
        if len(components) != 2 or any(rule.problem(k) for k in components):
            raise ValueError(f"components must be two of the {len(shares)} found, from 0 on, got {components!r}.")
        scores = estimator.transform(X)[:, list(components)]
        if y is not None:
            y = np.asarray(y)
            if y.shape != (len(scores),):
                raise ValueError(f"y must have one entry for each of {len(scores)} samples, got shape {y.shape}.")
        if names is not None and not hasattr(names, "keys"):
            names = dict(zip(np.unique(y).tolist(), names, strict=True))
        shares = [float(shares[k]) for k in components]
        return cls(scores, shares, components=components, y=y, names=names).plot(ax, **style)

    def _draw(self, ax: Any, **style: Any) -> None:
        style = {"s": 24, "alpha": 0.8, "edgecolors": "white", "linewidths": 0.3, **style}
        self.points_, self.legend_, self.colorbar_ = [], None, None
        if self.y is None:
            self.points_.append(ax.scatter(*self.scores.T, **style))
        elif type_of_target(self.y) == "continuous":
            self.points_.append(ax.scatter(*self.scores.T, c=self.y, **style))
            self.colorbar_ = ax.figure.colorbar(self.points_[0], ax=ax)
        else:
            for code, label in enumerate(np.unique(self.y).tolist()):
                look = {"color": class_colour(code), "marker": MARKERS[code % len(MARKERS)], **style}
                name = str(label if self.names is None else self.names[label])
                self.points_.append(ax.scatter(*self.scores[self.y == label].T, label=name, **look))
            self.legend_ = ax.legend()
            for handle in self.legend_.legend_handles:  # to be seen, however small or pale the samples are
                handle.set_sizes([24.0])
                handle.set_alpha(1.0)
        for axis, component, share in zip((ax.xaxis, ax.yaxis), self.components, self.shares, strict=True):
            axis.set_label_text(f"component {component + 1}, {_percent(share)} of the variance")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.1f} %"
