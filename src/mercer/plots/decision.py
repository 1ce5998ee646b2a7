"""What a machine has learnt, for samples in the plane."""

from typing import Any, Self

import numpy as np

from mercer.plots.base import Display, check_support, class_colour, ink, last_step, require_pyplot, widened


class DecisionDisplay(Display):
    """Decision boundary, margin band and support vectors of a machine on samples in the plane.

    The plane is coloured by the predicted class. For a machine that separates two classes, or inliers from
    outliers, the solid line is the decision boundary; for two classes the dashed lines on either side of it
    are the edges of the margin band, where the decision value is plus or minus ``margin_ * norm_`` (1 for
    most machines). Support vectors have a black edge. Slacks are lines from the samples that are not on the right side
    of the edge of their class to the nearest point of it [1]_.

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
    slack : ndarray of shape (n_samples,), default=None
        By how much the decision values of the samples miss the edge of their class, or for novelty the boundary; those
        above zero get a line. None draws none.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of the last drawing.
    surface_ : matplotlib QuadContourSet, or QuadMesh for more than two classes
        The coloured regions.
    boundary_ : matplotlib QuadContourSet or None
        The boundary and the edges of the band; None for more than two classes, or if the picture has none.
    points_, support_points_ : matplotlib PathCollection
        The samples, and the edges around the support vectors.
    slack_lines_ : matplotlib LineCollection or None
        The slacks, in the order of the samples that have any; None without.

    See Also
    --------
    sklearn.inspection.DecisionBoundaryDisplay : The regions of any estimator.
    RegressionDisplay : Functions in place of classes.
    HistoryDisplay : How the machine came to it.

    References
    ----------
    .. [1] C. M. Bishop, Pattern Recognition and Machine Learning, 2006, figures 7.2 to 7.4.

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

    With a price on errors, some samples are within the band, and have a slack:

    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.8], [0.0, 2.0], [1.0, 3.0]])
    >>> y = np.array([0, 0, 0, 1, 1])
    >>> machine = SVC(kernel="linear").fit(X, y)
    >>> DecisionDisplay.from_estimator(machine, X, y, slacks=True).slack.round(2)
    array([0.  , 0.  , 1.2 , 0.67, 0.  ])
    """

    surface_: Any
    boundary_: Any
    points_: Any
    support_points_: Any
    slack_lines_: Any

    def __init__(
        self,
        xx: Any,
        yy: Any,
        decision: Any,
        *,
        X: Any,
        y: Any,
        support: Any,
        band: Any,
        classes: Any = None,
        slack: Any = None,
    ) -> None:
        self.xx = xx
        self.yy = yy
        self.decision = decision
        self.X = X
        self.y = y
        self.support = support
        self.band = band
        self.classes = classes
        self.slack = slack

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        grid_resolution: int = 200,
        margin: float = 0.1,
        slacks: bool = False,
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw a fitted machine on its training samples.

        Parameters
        ----------
        estimator : fitted estimator
            A machine with ``decision_function`` and ``support_``, or a pipeline that ends in one: classifiers, with a
            band if they have margins, and novelty detectors.
        X : array-like of shape (n_samples, 2)
            The samples it was fitted on.
        y : array-like of shape (n_samples,), default=None
            Their classes, which colour the samples.
        grid_resolution : int, default=200
            Points of the grid along each side, at least 2; larger is smoother, and costs its square in time.
        margin : float, default=0.1
            How far the picture reaches beyond the samples, as a fraction of their range, at least 0.
        slacks : bool, default=False
            Whether to draw slacks, for machines that have them: two classes, or novelty.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **style
            Options for the coloured regions, such as ``cmap`` or ``alpha``.

        Returns
        -------
        DecisionDisplay
        """
        require_pyplot(f"{cls.__name__}.from_estimator")
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != 2:
            raise ValueError(f"DecisionDisplay draws samples in the plane, of shape (n, 2), got shape {X.shape}.")
        machine = last_step(estimator)
        for attribute in ("decision_function", "support_"):
            if not hasattr(machine, attribute):
                raise ValueError(
                    f"DecisionDisplay needs a fitted machine with {attribute}, which"
                    f" {type(machine).__name__} does not have."
                )
        check_support(machine, len(X))
        sides = np.linspace(*widened(X.min(axis=0), X.max(axis=0), margin), grid_resolution)
        xx, yy = np.meshgrid(sides[:, 0], sides[:, 1])
        grid = np.column_stack([xx.ravel(), yy.ravel()])
        classes = getattr(machine, "classes_", None)
        band = None
        if classes is not None and len(classes) > 2:
            decision = np.searchsorted(classes, estimator.predict(grid))
        else:
            decision = estimator.decision_function(grid)
            # Log-odds know no margin, and not every machine has one.
            if classes is not None and not hasattr(machine, "calibration_") and hasattr(machine, "margin_"):
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
            slack=_slack(machine, len(X), band) if slacks else None,
        ).plot(ax, **style)

    def _draw(self, ax: Any, **style: Any) -> None:
        line = ink()
        if self.classes is not None and len(self.classes) > 2:
            from matplotlib.colors import ListedColormap

            # Contours would pass through all classes between two that touch.
            colours = ListedColormap([class_colour(code) for code in range(len(self.classes))])
            style = {"cmap": colours, "vmin": -0.5, "vmax": len(self.classes) - 0.5, "alpha": 0.25, **style}
            self.surface_ = ax.pcolormesh(self.xx, self.yy, self.decision, shading="nearest", rasterized=True, **style)
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
                    self.xx, self.yy, self.decision, levels=levels, linestyles=styles, colors=[line], linewidths=1.2
                )
        of_points: Any = "C7"
        if self.y is not None:
            names = self.classes if self.classes is not None else np.unique(self.y)
            of_points = [class_colour(code) for code in np.searchsorted(names, self.y)]
        self.slack_lines_ = self._draw_slacks(ax, line)
        self.points_ = ax.scatter(*self.X.T, c=of_points, s=30, edgecolors="white", linewidths=0.5)
        self.support_points_ = ax.scatter(
            *self.X[self.support].T, facecolors="none", edgecolors=line, s=34, linewidths=1.2
        )

    def _draw_slacks(self, ax: Any, colour: Any) -> Any:
        """Lines from samples with a slack to the nearest points of the lines that they should be beyond."""
        if self.slack is None or self.boundary_ is None:
            return None
        from matplotlib.collections import LineCollection

        wanted = np.zeros(len(self.X))
        if self.band is not None:
            wanted = self.band * np.where(self.y == self.classes[1], 1.0, -1.0)
        lines = []
        for level, parts in zip(self.boundary_.levels, self.boundary_.allsegs, strict=True):
            for i in np.flatnonzero((self.slack > 0) & (wanted == level)):
                if len(parts):  # else the edge is outside the picture
                    lines.append((i, [self.X[i], _nearest(parts, self.X[i])]))
        drawn = LineCollection([ends for _, ends in sorted(lines, key=lambda entry: entry[0])])
        drawn.set(color=colour, linewidth=0.8, linestyle=":")
        return ax.add_collection(drawn)


def _slack(machine: Any, n: int, band: float | None) -> np.ndarray:
    """The slacks of a machine that has one for each of n samples; what its tolerance forgives is none."""
    found = getattr(machine, "slack_", None)
    if not isinstance(found, np.ndarray) or found.shape != (n,) or hasattr(machine, "calibration_"):
        raise ValueError(
            f"slacks must be False for {type(machine).__name__}: it has no slack_ of {n} samples from one boundary."
        )
    return np.where(found > machine.tol * (band or 1.0), found, 0.0)


def _nearest(lines: Any, point: np.ndarray) -> np.ndarray:
    """The point of some polygonal lines that is nearest to a point."""
    starts, ends = (np.concatenate([part[cut] for part in lines]) for cut in (slice(None, -1), slice(1, None)))
    along = ends - starts
    lengths = np.einsum("ij,ij->i", along, along)
    shares = np.einsum("ij,ij->i", point - starts, along) / np.where(lengths > 0, lengths, 1.0)
    feet = starts + np.clip(shares, 0.0, 1.0)[:, np.newaxis] * along
    return feet[np.argmin(((feet - point) ** 2).sum(axis=1))]
