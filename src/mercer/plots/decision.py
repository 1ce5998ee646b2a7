"""What a machine has learnt, for samples in the plane."""

from typing import Any, Self

import numpy as np

from mercer.plots.base import Display, require_pyplot


class DecisionDisplay(Display):
    """Decision boundary, margin band and support vectors of a machine on samples in the plane.

    The plane is coloured by the predicted class. For a machine that separates two classes, or inliers from
    outliers, the solid line is the decision boundary; for two classes the dashed lines on either side of it
    are the edges of the margin band, where the decision value is plus or minus ``margin_ * norm_`` (1 for
    most machines). Support vectors have a black edge.

    Parameters
    ----------
    xx, yy : ndarray of shape (n, n)
        The grid, as from :func:`numpy.meshgrid`.
    decision : ndarray of shape (n, n)
        The decision values on the grid; for more than two classes the index of the predicted class.
    X : ndarray of shape (n_samples, 2)
        The samples.
    y : ndarray of shape (n_samples,) or None
        Their classes, None if they have none.
    support : ndarray of shape (n_support,)
        Which of the samples are support vectors.
    band : float or None
        The decision value on the edge of the margin band; None draws no band.
    classes : ndarray of shape (n_classes,), default=None
        The classes of a classifier, in the order of their indices.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of the last drawing.
    surface_ : matplotlib QuadContourSet
        The coloured regions.
    boundary_ : matplotlib QuadContourSet or None
        The boundary and the edges of the band; None for more than two classes, or if the picture has none.
    points_, support_points_ : matplotlib PathCollection
        The samples, and the edges around the support vectors.

    See Also
    --------
    sklearn.inspection.DecisionBoundaryDisplay : The regions of any estimator.
    HistoryDisplay : How the machine came to it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.plots import DecisionDisplay
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 3.0]])
    >>> y = np.array([0, 0, 1, 1])
    >>> machine = SVC(kernel="linear", C=np.inf).fit(X, y)
    >>> DecisionDisplay.from_estimator(machine, X, y).support
    array([0, 2])
    """

    surface_: Any
    boundary_: Any
    points_: Any
    support_points_: Any

    def __init__(
        self, xx: Any, yy: Any, decision: Any, *, X: Any, y: Any, support: Any, band: Any, classes: Any = None
    ) -> None:
        self.xx = xx
        self.yy = yy
        self.decision = decision
        self.X = X
        self.y = y
        self.support = support
        self.band = band
        self.classes = classes

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        grid_resolution: int = 200,
        margin: float = 0.1,
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw a fitted machine on its training samples.

        Parameters
        ----------
        estimator : fitted estimator
            A support vector machine with ``decision_function``, or a pipeline that ends in one.
        X : array-like of shape (n_samples, 2)
            The samples it was fitted on.
        y : array-like of shape (n_samples,), default=None
            Their classes, which colour the samples.
        grid_resolution : int, default=200
            Points of the grid along each side, at least 2; larger is smoother, and costs its square in time.
        margin : float, default=0.1
            How far the picture reaches beyond the samples, as a fraction of their range, at least 0.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **style
            Options for the filled contours, such as ``cmap`` or ``alpha``.

        Returns
        -------
        DecisionDisplay
        """
        require_pyplot(f"{cls.__name__}.from_estimator")
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != 2:
            raise ValueError(f"DecisionDisplay draws samples in the plane, of shape (n, 2), got shape {X.shape}.")
        machine = estimator[-1] if hasattr(estimator, "steps") else estimator
        for attribute in ("decision_function", "support_"):
            if not hasattr(machine, attribute):
                raise ValueError(
                    f"DecisionDisplay needs a fitted machine with {attribute}, which"
                    f" {type(machine).__name__} does not have."
                )
        if machine.support_.max(initial=-1) >= len(X):
            raise ValueError(
                f"X must hold the samples that {type(machine).__name__} was fitted on: sample"
                f" {machine.support_.max()} is a support vector, got {len(X)} samples."
            )
        low, high = X.min(axis=0), X.max(axis=0)
        # A feature that never varies still gets a width.
        reach = margin * np.where(high > low, high - low, 1.0)
        sides = np.linspace(low - reach, high + reach, grid_resolution)
        xx, yy = np.meshgrid(sides[:, 0], sides[:, 1])
        grid = np.column_stack([xx.ravel(), yy.ravel()])
        classes = getattr(machine, "classes_", None)
        band = None
        if classes is not None and len(classes) > 2:
            decision = np.searchsorted(classes, estimator.predict(grid))
        else:
            decision = estimator.decision_function(grid)
            if classes is not None and not hasattr(machine, "calibration_"):  # log-odds know no margin
                band = float(machine.margin_ * machine.norm_)
        return cls(
            xx,
            yy,
            decision.reshape(xx.shape),
            X=X,
            y=None if y is None else np.asarray(y),
            support=machine.support_,
            band=band,
            classes=classes,
        ).plot(ax, **style)

    def _draw(self, ax: Any, **style: Any) -> None:
        if self.classes is not None and len(self.classes) > 2:
            edges = np.arange(len(self.classes) + 1) - 0.5
            style = {"cmap": "tab10", "vmin": 0, "vmax": 9, "alpha": 0.25, **style}
            self.surface_ = ax.contourf(self.xx, self.yy, self.decision, levels=edges, **style)
            self.boundary_ = None
        else:
            extreme = max(np.abs(self.decision).max(), np.finfo(np.float64).tiny)
            style = {"colors": ["C0", "C1"], "alpha": 0.25, **style}
            if "cmap" in style:
                del style["colors"]
            self.surface_ = ax.contourf(self.xx, self.yy, self.decision, levels=[-extreme, 0, extreme], **style)
            lines = {0.0: "-"} if self.band is None else {-self.band: "--", 0.0: "-", self.band: "--"}
            low, high = self.decision.min(), self.decision.max()
            levels = [level for level in lines if low < level < high]
            self.boundary_ = None
            if levels:
                styles = [lines[level] for level in levels]
                self.boundary_ = ax.contour(
                    self.xx, self.yy, self.decision, levels=levels, linestyles=styles, colors="black", linewidths=1.2
                )
        colours: Any = "C7"
        if self.y is not None:
            names = self.classes if self.classes is not None else np.unique(self.y)
            colours = [f"C{index % 10}" for index in np.searchsorted(names, self.y)]
        self.points_ = ax.scatter(*self.X.T, c=colours, s=30, edgecolors="white", linewidths=0.5)
        self.support_points_ = ax.scatter(
            *self.X[self.support].T, facecolors="none", edgecolors="black", s=34, linewidths=1.2
        )
