"""Functions of one feature, with a tube or an error band."""

from inspect import signature
from typing import Any, Self

import numpy as np

from mercer.parameters import Number
from mercer.plots.base import Display, check_support, ink, last_step, require_pyplot, widened


class RegressionDisplay(Display):
    """A function of one feature with its tube or its error band, and the samples it was learnt from.

    Support vector machines have a tube of half width epsilon around the function, in which errors are free [1]_.
    Relevance vector machines and Gaussian processes have a spread: the band reaches some standard deviations of a new
    value to either side [2]_. Other machines have the function alone. Support vectors, or relevance vectors, have
    a ring, unless all samples are.

    Parameters
    ----------
    grid : array-like of shape (n,)
        Places along the feature.
    mean : array-like of shape (n,)
        The function there.
    half_width : array-like of shape (n,) or None
        Half the width of the tube or the band there; None draws none.
    X, y : array-like of shape (n_samples,)
        The samples.
    support : array-like of int
        Which of the samples get a ring.
    band_name : str, default=""
        What the band is.
    slack : array-like of shape (n_samples,), default=None
        By how much the samples lie outside; those above zero get a line to the band. None draws none.

    Attributes
    ----------
    grid, mean, half_width, X, y, support, band_name, slack
        The numbers drawn.
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of the last drawing.
    line_ : matplotlib Line2D
        The function.
    band_ : matplotlib FillBetweenPolyCollection or None
        The tube or the band.
    points_, support_points_ : matplotlib PathCollection
        The samples, and the rings.
    slack_lines_ : matplotlib LineCollection or None
        The slacks.

    See Also
    --------
    DecisionDisplay : Classes in place of values.

    References
    ----------
    .. [1] C. M. Bishop, Pattern Recognition and Machine Learning, 2006, figures 7.7 and 7.8.
    .. [2] C. M. Bishop, Pattern Recognition and Machine Learning, 2006, figure 7.9.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR
    >>> from mercer.plots import RegressionDisplay
    >>> X = np.arange(6.0)[:, np.newaxis]
    >>> y = np.array([0.0, 1.1, 2.0, 2.9, 4.0, 9.0])
    >>> machine = SVR(kernel="linear", C=1.0, epsilon=0.5).fit(X, y)
    >>> display = RegressionDisplay.from_estimator(machine, X, y, slacks=True)
    >>> display.band_name, display.half_width[0], display.slack.argmax()
    ('tube, ±0.5', np.float64(0.5), np.int64(5))
    """

    line_: Any
    band_: Any
    points_: Any
    support_points_: Any
    slack_lines_: Any

    def __init__(
        self,
        grid: Any,
        mean: Any,
        half_width: Any,
        *,
        X: Any,
        y: Any,
        support: Any = (),
        band_name: str = "",
        slack: Any = None,
    ) -> None:
        self.grid = np.asarray(grid, dtype=np.float64)
        self.mean = np.asarray(mean, dtype=np.float64)
        self.half_width = None if half_width is None else np.asarray(half_width, dtype=np.float64)
        self.X = np.asarray(X, dtype=np.float64)
        self.y = np.asarray(y, dtype=np.float64)
        self.support = np.asarray(support, dtype=np.intp)
        self.band_name = band_name
        self.slack = None if slack is None else np.asarray(slack, dtype=np.float64)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        deviations: float = 2.0,
        grid_resolution: int = 300,
        margin: float = 0.05,
        slacks: bool = False,
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw a fitted machine on its training samples.

        Parameters
        ----------
        estimator : fitted regressor
            Such as `SVR`, `NuSVR`, `RelevanceVectorRegressor`, `GaussianProcessRegressor`, or a pipeline that ends in
            one; of one output.
        X : array-like of shape (n_samples, 1) or (n_samples,)
            The samples it was fitted on.
        y : array-like of shape (n_samples,)
            Their values.
        deviations : float > 0, default=2.0
            Standard deviations of a new value, noise included, from the function to either edge of an error band.
        grid_resolution : int >= 2, default=300
            Points at which the function is computed; larger is smoother.
        margin : float >= 0, default=0.05
            How far the function is drawn beyond the samples, as a fraction of their range.
        slacks : bool, default=False
            Whether to draw by how much samples are outside the tube or the band.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **style
            Options of the function's line, for matplotlib.

        Returns
        -------
        RegressionDisplay
        """
        require_pyplot(f"{cls.__name__}.from_estimator")
        for name, rule, value in (
            ("deviations", Number(0, above=True), deviations),
            ("grid_resolution", Number(2, integer=True), grid_resolution),
            ("margin", Number(0), margin),
        ):
            if problem := rule.problem(value):
                raise ValueError(f"{name} {problem}")
        X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        if X.ndim == 1:
            X = X[:, np.newaxis]
        if X.ndim != 2 or X.shape[1] != 1:
            raise ValueError(f"{cls.__name__} draws functions of one feature, of shape (n, 1), got shape {X.shape}.")
        if y.shape != (len(X),):
            raise ValueError(f"y must have one value for each of {len(X)} samples, got shape {y.shape}.")
        machine = last_step(estimator)
        if not hasattr(machine, "predict"):
            raise ValueError(f"{cls.__name__} needs a fitted regressor, which {type(machine).__name__} is not.")
        support = getattr(machine, "support_", np.empty(0, dtype=np.intp))
        if hasattr(machine, "support_"):
            check_support(machine, len(X))
        grid = np.linspace(*widened(X.min(), X.max(), margin), grid_resolution)
        (mean, half_width), name = _predicted(estimator, machine, grid[:, np.newaxis], deviations)
        if mean.ndim != 1:
            raise ValueError(f"{cls.__name__} draws one output, {type(machine).__name__} has {mean.shape[1]}.")
        slack = None
        if slacks:
            (at_samples, width), _ = _predicted(estimator, machine, X, deviations)
            if width is None:
                raise ValueError(f"slacks must be False for {type(machine).__name__}, which has no tube and no band.")
            slack = np.maximum(0.0, np.abs(y - at_samples) - width)
            slack[slack <= getattr(machine, "tol", 0.0)] = 0.0
        return cls(
            grid,
            mean,
            half_width,
            X=X[:, 0],
            y=y,
            support=() if len(support) == len(X) else support,
            band_name=name,
            slack=slack,
        ).plot(ax, **style)

    def _draw(self, ax: Any, **style: Any) -> None:
        self.band_ = self.slack_lines_ = None
        (self.line_,) = ax.plot(self.grid, self.mean, **{"color": "C0", "linewidth": 1.5, **style})
        if self.half_width is not None:
            low, high = self.mean - self.half_width, self.mean + self.half_width
            colour = self.line_.get_color()
            self.band_ = ax.fill_between(
                self.grid, low, high, color=colour, alpha=0.2, linewidth=0, label=self.band_name or None
            )
            if self.slack is not None:
                out = np.flatnonzero(self.slack > 0)
                above = self.y[out] > np.interp(self.X[out], self.grid, self.mean)
                edge = self.y[out] - np.where(above, 1.0, -1.0) * self.slack[out]
                self.slack_lines_ = ax.vlines(self.X[out], edge, self.y[out], color=ink(), linewidth=0.8, linestyle=":")
        self.points_ = ax.scatter(self.X, self.y, s=22, color="C1", edgecolors="white", linewidths=0.5, zorder=3)
        self.support_points_ = ax.scatter(
            self.X[self.support], self.y[self.support], s=60, facecolors="none", edgecolors=ink(), zorder=3
        )


def _predicted(estimator: Any, machine: Any, X: np.ndarray, deviations: float) -> tuple[tuple[Any, Any], str]:
    """The function and half the width of its tube or band, None for none; and what that is."""
    options = signature(machine.predict).parameters
    if "return_std" in options:
        noise = {"include_noise": True} if "include_noise" in options else {}
        mean, std = estimator.predict(X, return_std=True, **noise)
        return (mean, deviations * std), f"±{deviations:g} standard deviations"
    mean = estimator.predict(X)
    # A machine for quantiles has a parameter of another name, and no tube.
    epsilon = getattr(machine, "epsilon_", getattr(machine, "epsilon", None))
    if not isinstance(epsilon, float | int):
        return (mean, None), ""
    return (mean, np.full(len(mean), float(epsilon))), f"tube, ±{epsilon:.3g}"
