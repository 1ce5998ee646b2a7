"""Kernel matrices."""

from typing import Any, Self

import numpy as np

from mercer.kernels import as_kernel
from mercer.parameters import Number
from mercer.plots.base import DIVERGING, Display, ink, require_pyplot

# Classes up to which their names stand in a row, and the letters that then fit.
IN_A_ROW = 6


class GramDisplay(Display):
    """A kernel matrix as a heat map, with the samples of a class one after the other and lines between classes.

    Blocks of larger values along the diagonal are classes that the kernel brings together. Values within the clipped
    range have a colour of their own; the few beyond, such as a diagonal that outshines everything, have that of its
    end. A matrix with negative values has diverging colours, with nothing at zero.

    Parameters
    ----------
    matrix : array-like of shape (n, n)
        The matrix, in the order in which it is drawn.
    order : array-like of int of shape (n,)
        Which samples these are.
    classes : list, default=()
        The classes, from top to bottom; empty for none.
    borders : array-like of int of shape (len(classes) + 1,), default=()
        Where classes begin, and where the last one ends.
    limits : tuple of float
        The smallest and the largest value that have a colour of their own.

    Attributes
    ----------
    matrix, order, classes, borders, limits
        The numbers drawn.
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of the last drawing.
    image_ : matplotlib AxesImage
        The map.
    colorbar_ : matplotlib Colorbar
        The scale; its ends are pointed where values lie beyond.

    See Also
    --------
    mercer.gram.diagnose : What is wrong with a matrix, in numbers.
    mercer.gram.alignment : How much a matrix is like the classes, as one number.
    KernelPCADisplay : The samples as points.

    Notes
    -----
    Time and memory of the whole matrix, O(n^2).

    Examples
    --------
    >>> from mercer.kernels import Spectrum
    >>> from mercer.plots import GramDisplay
    >>> display = GramDisplay.from_kernel(Spectrum(2), ["gattaca", "sips", "attack", "hips"], ["dna", "x", "dna", "x"])
    >>> display.matrix
    array([[6., 4., 0., 0.],
           [4., 5., 0., 0.],
           [0., 0., 3., 2.],
           [0., 0., 2., 3.]])
    >>> display.order, display.borders, display.limits
    (array([0, 2, 1, 3]), array([0, 2, 4]), (0.0, 4.0))
    """

    image_: Any
    colorbar_: Any

    def __init__(
        self, matrix: Any, order: Any, *, limits: tuple[float, float], classes: Any = (), borders: Any = ()
    ) -> None:
        self.matrix = np.asarray(matrix, dtype=np.float64)
        self.order = np.asarray(order)
        self.classes = list(classes)
        self.borders = np.asarray(borders, dtype=np.intp)
        self.limits = limits

    @classmethod
    def from_kernel(
        cls, kernel: Any, X: Any, y: Any = None, *, clip: float = 1.0, ax: Any = None, **style: Any
    ) -> Self:
        """Draw the matrix of a kernel.

        Parameters
        ----------
        kernel : Kernel, str or callable
            Parameters that are taken from the data are taken from these samples.
        X : n samples
            As the kernel takes them.
        y : array-like of shape (n,), default=None
            Their classes; None leaves the samples in their order.
        clip, ax, **style
            As for `from_matrix`.

        Returns
        -------
        GramDisplay
        """
        require_pyplot(f"{cls.__name__}.from_kernel")
        return cls.from_matrix(as_kernel(kernel)(X), y, clip=clip, ax=ax, **style)

    @classmethod
    def from_matrix(cls, K: Any, y: Any = None, *, clip: float = 1.0, ax: Any = None, **style: Any) -> Self:
        """Draw a matrix.

        Parameters
        ----------
        K : array-like of shape (n, n)
            Without NaN or infinity; not necessarily positive semi-definite.
        y : array-like of shape (n,), default=None
            The classes of the samples; None leaves them in their order.
        clip : float >= 0 and < 50, default=1.0
            So many percent of the values off the diagonal may lie beyond either end of the colours; 0: none does.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **style
            Options of the image, such as ``cmap`` or ``vmin``, for matplotlib.

        Returns
        -------
        GramDisplay
        """
        require_pyplot(f"{cls.__name__}.from_matrix")
        if (problem := Number(0, 50).problem(clip)) or clip == 50:
            raise ValueError(f"clip {problem or 'must be a float >= 0 and < 50, got 50.'}")
        K = np.asarray(K, dtype=np.float64)
        if K.ndim != 2 or K.shape[0] != K.shape[1] or not len(K):
            raise ValueError(f"K must be a square matrix of at least one row, got shape {K.shape}.")
        if not np.isfinite(K).all():
            raise ValueError("K contains NaN or infinity.")
        order, classes, borders = np.arange(len(K)), [], [0, len(K)]
        if y is not None:
            y = np.asarray(y)
            if y.shape != (len(K),):
                raise ValueError(f"y must have one class for each of {len(K)} samples, got shape {y.shape}.")
            found, codes = np.unique(y, return_inverse=True)
            order, classes = np.argsort(codes, kind="stable"), found.tolist()
            borders = np.concatenate([[0], np.cumsum(np.bincount(codes))]).tolist()
        return cls(
            K[np.ix_(order, order)], order, limits=_limits(K, clip), classes=classes, borders=borders if classes else ()
        ).plot(ax, **style)

    def _draw(self, ax: Any, **style: Any) -> None:
        n, (low, high) = len(self.matrix), self.limits
        signed = low < 0
        style = {"cmap": DIVERGING if signed else "viridis", "vmin": low, "vmax": high, **style}
        self.image_ = ax.imshow(self.matrix, **{"interpolation": "nearest", **style})
        vmin, vmax = self.image_.get_clim()
        below, above = self.matrix.min() < vmin, self.matrix.max() > vmax
        extend = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}
        # The scale is as high as the map, which is square whatever the shape of the axes.
        beside = ax.inset_axes([1.04, 0.0, 0.05, 1.0])
        self.colorbar_ = ax.figure.colorbar(
            self.image_, cax=beside, label="kernel value", extend=extend[bool(below), bool(above)]
        )
        for border in self.borders[1:-1]:
            for line in (ax.axhline, ax.axvline):
                line(border - 0.5, color=ink() if signed else "white", linewidth=0.8)
        ax.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5))
        if self.classes:
            middles, names = (self.borders[:-1] + self.borders[1:] - 1) / 2, list(map(str, self.classes))
            upright = len(names) <= IN_A_ROW and max(map(len, names)) * len(names) <= 40
            ax.set_xticks(middles, names, rotation=0 if upright else 90)
            ax.set_yticks(middles, names)
            ax.tick_params(length=0)
        else:
            ax.set(xlabel="sample", ylabel="sample")


def _limits(K: np.ndarray, clip: float) -> tuple[float, float]:
    """The range of most values off the diagonal; the same to both sides of zero where some are negative."""
    others = K[~np.eye(len(K), dtype=bool)] if len(K) > 1 else K.ravel()
    low, high = np.percentile(others, [clip, 100.0 - clip])
    if low < 0:
        high = max(abs(low), abs(high))
        low = -high
    if low == high:  # one value off the diagonal
        low, high = min(low, K.min()), max(high, K.max())
    return float(low), float(high)
