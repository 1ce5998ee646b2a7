"""What is taken for what, at one depth of a taxonomy."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mercer.plots.base import Display, require_pyplot

# Classes up to which every cell has its number written into it.
WRITTEN = 12


class TaxonomyDisplay(Display):
    """Confusion matrix at one depth of a taxonomy, with frames around classes that have a parent in common.

    Colours are shares of the true class. What is wrong within a frame is right one level higher.

    Parameters
    ----------
    names : sequence of str
        Of the classes at this depth, those of a parent one after the other.
    counts : array-like of shape (n_classes, n_classes)
        How often the class of the row was taken for that of the column.
    groups : sequence of int
        The sizes of the frames, from top to bottom; they add up to n_classes.

    Attributes
    ----------
    names, counts, groups
        The numbers drawn.
    image_ : matplotlib AxesImage
        The shares.
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of the last drawing.

    See Also
    --------
    mercer.structured.Taxonomy : Classes in a taxonomy.

    Examples
    --------
    >>> from mercer.plots import TaxonomyDisplay
    >>> from mercer.structured import Taxonomy
    >>> y = ["animal:bird", "animal:fish", "plant"]
    >>> model = Taxonomy().resolve([[0.0]] * 3, y)
    >>> display = TaxonomyDisplay.from_predictions(model, y, ["animal:bird", "animal:bird", "plant"], depth=2)
    >>> display.counts.tolist(), display.groups
    ([[1, 0, 0], [1, 0, 0], [0, 0, 1]], [2, 1])
    """

    image_: Any

    def __init__(self, names: Sequence[str], counts: Any, groups: Sequence[int]) -> None:
        self.names = list(names)
        self.counts = np.asarray(counts)
        self.groups = list(groups)

    @classmethod
    def from_estimator(cls, machine: Any, X: Any, y: Any, *, depth: int = 1, ax: Any = None, **style: Any) -> Self:
        """Draw what a fitted machine takes samples for.

        Parameters
        ----------
        machine : StructuredSVM
            Fitted, of a `Taxonomy` that is a tree.
        X, y : samples and their classes
        depth : int >= 1, default=1
            1: the classes below the root, or the roots themselves if there are several.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **style
            Options of the image, for matplotlib.

        Returns
        -------
        TaxonomyDisplay
        """
        require_pyplot(f"{cls.__name__}.from_estimator")
        return cls.from_predictions(machine.model_, y, machine.predict(X), depth=depth, ax=ax, **style)

    @classmethod
    def from_predictions(
        cls, model: Any, y: Any, predicted: Any, *, depth: int = 1, ax: Any = None, **style: Any
    ) -> Self:
        """Draw what classes were taken for, whoever predicted them.

        Parameters
        ----------
        model : Taxonomy
            Resolved, such as ``machine.model_``; a tree.
        y, predicted : sequences of length n
            Classes of the taxonomy.
        depth : int >= 1, default=1
            See `from_estimator`.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **style
            Options of the image, for matplotlib.

        Returns
        -------
        TaxonomyDisplay
        """
        require_pyplot(f"{cls.__name__}.from_predictions")
        fine = model.at_depth(model.classes_, depth)
        coarse = model.at_depth(model.classes_, depth - 1) if depth > 1 else fine
        parent = dict(zip(fine.tolist(), coarse.tolist(), strict=True))
        names = sorted(parent, key=lambda name: (str(parent[name]), str(name)))
        place = {name: k for k, name in enumerate(names)}
        right, taken = ([place[name] for name in model.at_depth(Y, depth).tolist()] for Y in (y, predicted))
        counts = np.zeros((len(names), len(names)), dtype=np.int64)
        np.add.at(counts, (right, taken), 1)
        above = [parent[name] for name in names]
        groups = [above.count(name) for name in dict.fromkeys(above)] if depth > 1 else [1] * len(names)
        return cls(list(map(str, names)), counts, groups).plot(ax, **style)

    def _draw(self, ax: Any, **style: Any) -> None:
        n, totals = len(self.names), self.counts.sum(axis=1, keepdims=True)
        shares = self.counts / np.maximum(totals, 1)
        self.image_ = ax.imshow(shares, **{"cmap": "Blues", "vmin": 0.0, "vmax": 1.0, **style})
        size = {"fontsize": 5.5} if n > WRITTEN else {}
        ax.set_xticks(np.arange(n), self.names, rotation=90, **size)
        ax.set_yticks(np.arange(n), self.names, **size)
        ax.set(xlabel="taken for", ylabel="class")
        if n <= WRITTEN:
            for row, column in zip(*np.nonzero(self.counts), strict=True):
                dark = shares[row, column] > 0.5
                ax.text(column, row, self.counts[row, column], ha="center", va="center", color="w" if dark else "k")
        first = -0.5
        for size_of_group in self.groups:
            corner = [first, first + size_of_group]
            ax.plot(np.take(corner, [0, 1, 1, 0, 0]), np.take(corner, [0, 0, 1, 1, 0]), color="C3", linewidth=1.0)
            first += size_of_group
        ax.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5))
