"""What a search over parameters has found."""

import math
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier, is_regressor

from mercer.fingerprint import fingerprint
from mercer.plots.base import Display, require_pyplot

_MOST_LABELS = 12


class ScoreMapDisplay(Display):
    """Scores of a search over two of its parameters, as a map, or over one of them, as a line.

    Of the other parameters the best values count, for each cell on its own. Cells that were not scored are
    hatched. The star is the winner of the search. The line has the standard deviation over the folds as
    error bars.

    Parameters
    ----------
    x, y : list
        The values of the parameters; y is None for a line.
    scores : array-like of shape (len(y), len(x)), or (len(x),) for a line
        The scores, nan where there is none.
    x_name, y_name : str
        The names of the parameters; y_name is None for a line.
    score_name : str, default="score"
        What the scores are.
    best : tuple of int, default=None
        Where the winner is, as an index into scores; None marks none.
    errors : array-like of shape (len(x),), default=None
        The lengths of the error bars of a line; None draws none.

    Attributes
    ----------
    x, y, scores, x_name, y_name, score_name, best, errors
        The numbers drawn.
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of the last drawing.
    image_ : matplotlib AxesImage or None
        The map; None for a line.
    colorbar_ : matplotlib Colorbar or None
        The scale of the map; None for a line.
    line_ : matplotlib ErrorbarContainer or None
        The line; None for a map.
    best_point_ : matplotlib Line2D or None
        The star.

    See Also
    --------
    sklearn.model_selection.ValidationCurveDisplay : Training and test scores over one parameter.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from mercer import SVC
    >>> from mercer.plots import ScoreMapDisplay
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> grid = {"C": [0.1, 10.0], "kernel__gamma": [0.01, 0.1, 1.0]}
    >>> display = ScoreMapDisplay.from_search(GridSearchCV(SVC(), grid).fit(X, y))
    >>> display.scores.shape
    (3, 2)
    >>> display.x_name, display.y_name, display.score_name
    ('C', 'kernel__gamma', 'accuracy')
    """

    image_: Any
    colorbar_: Any
    line_: Any
    best_point_: Any

    def __init__(
        self,
        x: Any,
        y: Any,
        scores: Any,
        *,
        x_name: str,
        y_name: str | None,
        score_name: str = "score",
        best: tuple[int, ...] | None = None,
        errors: Any = None,
    ) -> None:
        self.x = x
        self.y = y
        self.scores = np.asarray(scores, dtype=np.float64)
        self.x_name = x_name
        self.y_name = y_name
        self.score_name = score_name
        self.best = best
        self.errors = errors

    @classmethod
    def from_search(
        cls,
        search: Any,
        x: str | None = None,
        y: str | None = None,
        *,
        scoring: str | None = None,
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw the scores of a search.

        Parameters
        ----------
        search : fitted search
            One of `mercer.selection` or of scikit-learn, with ``cv_results_``.
        x, y : str, default=None
            The parameters along the axes. None: the first two that have more than one value; if only one has,
            or only x is given and no other has, a line is drawn.
        scoring : str, default=None
            Which score, if the search has several; None is the one that chose the winner.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **style
            Options of the image, such as ``cmap`` or ``vmin``, or of the line.

        Returns
        -------
        ScoreMapDisplay
        """
        require_pyplot(f"{cls.__name__}.from_search")
        if not hasattr(search, "cv_results_"):
            raise ValueError(
                f"{cls.__name__} needs a fitted search with cv_results_, which {type(search).__name__} does not have."
            )
        results = search.cv_results_
        names = {name.removeprefix("param_"): name for name in results if name.startswith("param_")}
        axes = _choose_axes(names, results, x, y)
        key, score_name, winner = _choose_score(search, scoring)
        mean = np.asarray(results[f"mean_test_{key}"], dtype=np.float64)
        std = np.asarray(results.get(f"std_test_{key}", np.full(len(mean), np.nan)), dtype=np.float64)

        values, places = zip(*(_sorted_values(results[names[name]]) for name in axes), strict=True)
        scores = np.full([len(some) for some in values], np.nan)
        errors = scores.copy()
        for place, score, error in zip(zip(*places, strict=True), mean, std, strict=True):
            # A cell without a value of these parameters (-1) is of another grid.
            if min(place) >= 0 and not scores[place] >= score and not np.isnan(score):
                scores[place], errors[place] = score, error
        if winner is None and not np.isnan(mean).all():
            winner = int(np.nanargmax(mean))
        # Rows go up, columns to the right: the last axis is x.
        best = None if winner is None else tuple(int(index[winner]) for index in reversed(places))
        return cls(
            values[0],
            values[1] if len(axes) == 2 else None,
            scores.T,
            x_name=axes[0],
            y_name=axes[1] if len(axes) == 2 else None,
            score_name=score_name,
            best=None if best is None or min(best) < 0 else best,
            errors=None if len(axes) == 2 or np.isnan(errors).all() else errors,
        ).plot(ax, **style)

    def _draw(self, ax: Any, **style: Any) -> None:
        self.image_ = self.colorbar_ = self.line_ = self.best_point_ = None
        ax.set_xlabel(self.x_name)
        _label(ax.xaxis, self.x)
        if self.y is None:
            style = {"marker": "o", "markersize": 4, "capsize": 3, **style}
            self.line_ = ax.errorbar(np.arange(len(self.x)), self.scores, self.errors, **style)
            ax.set_ylabel(self.score_name)
            height = self.scores
        else:
            style = {"origin": "lower", "aspect": "auto", "interpolation": "nearest", **style}
            if np.isnan(self.scores).any():
                # What is not drawn shows the ground.
                ax.patch.set(facecolor="0.9", edgecolor="0.6", hatch="////")
            self.image_ = ax.imshow(np.ma.masked_invalid(self.scores), **style)
            self.colorbar_ = ax.figure.colorbar(self.image_, ax=ax, label=self.score_name)
            ax.set_ylabel(self.y_name)
            _label(ax.yaxis, self.y)
            height = np.broadcast_to(np.arange(len(self.y))[:, None], self.scores.shape)
        if self.best is not None:
            star = {"marker": "*", "markersize": 14, "markerfacecolor": "white", "markeredgecolor": "black"}
            (self.best_point_,) = ax.plot([self.best[-1]], [height[self.best]], linestyle="none", zorder=3, **star)


def _choose_axes(names: dict[str, str], results: Any, x: str | None, y: str | None) -> list[str]:
    """The parameters along the axes, one or two."""
    for axis, name in (("x", x), ("y", y)):
        if name is not None and name not in names:
            searched = " or ".join(map(repr, names))
            raise ValueError(f"{axis} must be one of the parameters searched over, {searched}, got {name!r}.")
    if x is not None and x == y:
        raise ValueError(f"x and y must be two parameters, got {x!r} for both.")
    free = [name for name in names if name not in (x, y) and len(_sorted_values(results[names[name]])[0]) > 1]
    if x is None:
        x = free.pop(0) if free else next((name for name in names if name != y), None)
    if y is None and free:
        y = free[0]
    axes = [name for name in (x, y) if name is not None]
    if not axes:
        raise ValueError("ScoreMapDisplay needs a search over at least one parameter, got one over none.")
    return axes


def _choose_score(search: Any, scoring: str | None) -> tuple[str, str, int | None]:
    """The name of the score in ``cv_results_``, its name for people, and the winner, None if it is not known."""
    keys = [name.removeprefix("mean_test_") for name in search.cv_results_ if name.startswith("mean_test_")]
    refit = getattr(search, "refit", None)
    winner = getattr(search, "best_index_", None)
    if keys == ["score"]:
        asked = getattr(search, "scoring", None)
        if scoring is not None and scoring not in ("score", asked):
            raise ValueError(f"scoring must be a score of the search, which is {asked or 'score'!r}, got {scoring!r}.")
        return "score", asked.replace("_", " ") if isinstance(asked, str) else _default_score(search), winner
    chosen: Any = scoring if scoring is not None else refit
    if chosen not in keys:
        raise ValueError(
            f"scoring must be one of the scores of the search, {' or '.join(map(repr, keys))}, got {chosen!r}."
        )
    return chosen, chosen.replace("_", " "), winner if chosen == refit else None


def _default_score(search: Any) -> str:
    """What an estimator's own ``score`` is, if nothing else was asked for."""
    machine = getattr(search, "estimator", search)
    if getattr(search, "scoring", None) is not None or not hasattr(machine, "__sklearn_tags__"):
        return "score"
    return "accuracy" if is_classifier(machine) else "$R^2$" if is_regressor(machine) else "score"


def _sorted_values(column: Any) -> tuple[list[Any], np.ndarray]:
    """The different values of a parameter, numbers first and in order, and which of them each entry is (-1: none)."""
    column = np.ma.asarray(column)
    missing = np.ma.getmaskarray(column)
    found: dict[Any, Any] = {}
    for value, absent in zip(column.data, missing, strict=True):
        if not absent:
            found.setdefault(_identity(value), value)
    order = sorted(found, key=lambda name: (0, name) if isinstance(name, float) else (1, 0.0))
    place = {name: i for i, name in enumerate(order)}
    index = [-1 if absent else place[_identity(value)] for value, absent in zip(column.data, missing, strict=True)]
    return [found[name] for name in order], np.array(index)


def _identity(value: Any) -> float | str:
    """What tells values apart: the number, or a fingerprint (kernels are neither compared nor written in full)."""
    return float(value) if _is_number(value) else fingerprint(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _label(axis: Any, values: Any) -> None:
    """Write values along an axis, on which they stand side by side; not all of them if they are many."""
    labels = _labels(values)
    step = math.ceil(len(labels) / _MOST_LABELS)
    axis.set_ticks(np.arange(len(labels))[::step], labels[::step])


# Powers within these bounds are read more easily as they are: 1, 2, 4, 8 and 0.1, 1, 10.
_PLAIN = {2: (1.0, 8.0), 10: (0.01, 100.0)}


def _labels(values: Any) -> list[str]:
    numbers = [float(value) for value in values if _is_number(value)]
    base = next((base for base in _PLAIN if _are_powers(numbers, base)), None)

    def text(value: Any) -> str:
        if not _is_number(value):
            return str(value) if len(str(value)) <= 24 else str(value)[:21] + "..."
        return f"{value:.3g}" if base is None else f"${base}^{{{round(math.log(value, base))}}}$"

    return [text(value) for value in values]


def _are_powers(numbers: list[float], base: int) -> bool:
    """Whether all are powers of a base, and better written as such."""
    low, high = _PLAIN[base]
    if not all(0.0 < number < math.inf for number in numbers) or all(low <= number <= high for number in numbers):
        return False
    return all(math.isclose(number, float(base) ** round(math.log(number, base)), rel_tol=1e-9) for number in numbers)
