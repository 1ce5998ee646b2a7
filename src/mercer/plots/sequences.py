"""Letters with weights."""

from typing import Any, Self

import numpy as np

from mercer.explanations import explain, positional_weights
from mercer.parameters import Number
from mercer.plots.base import PALETTE, Display, ink, require_pyplot

# What the letters below take of the height of a line, and what is left free between lines.
CAPTION, GAP = 0.22, 0.12


class SequenceDisplay(Display):
    """Letters as high as their weights: those above the line speak for the second class, those below for the first.

    `from_estimator` draws one sequence, whose letters share what its pieces add to the decision value
    (`mercer.explanations.explain`). `from_positions` draws, for kernels that see places, what every letter is worth at
    every place (`mercer.explanations.positional_weights`), those of a place upon each other, the heaviest furthest
    out [1]_.

    Parameters
    ----------
    letters : sequence of str of length n, or of n sequences of str
        The letters of every place.
    heights : array-like of shape (n,), or (n, n_letters)
        Their weights.
    per_line : int >= 1, default=60
        Letters in a line.
    height_name : str, default="share of the decision value"
        What the weights are.

    Attributes
    ----------
    letters : list of lists of str
        The letters of every place.
    heights : ndarray of shape (n, n_letters)
        Their weights.
    per_line, height_name
        As given.
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of the last drawing.
    letters_ : list of matplotlib PathPatch
        The letters drawn, those of weight zero left out.

    See Also
    --------
    FeatureWeightsDisplay : The pieces with the largest weights.
    GraphDisplay : Nodes with weights.

    References
    ----------
    .. [1] T. D. Schneider, R. M. Stephens, Sequence logos: a new way to display consensus sequences, Nucleic Acids
       Research 18, 1990.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.kernels import Spectrum
    >>> from mercer.plots import SequenceDisplay
    >>> machine = SVC(Spectrum(2), C=100.0).fit(["gattaca", "attack", "sips", "hips"], [1, 1, 0, 0])
    >>> display = SequenceDisplay.from_estimator(machine, "tips")
    >>> display.heights[:, 0].round(2)
    array([ 0.  , -0.14, -0.28, -0.14])
    """

    letters_: list[Any]

    def __init__(
        self,
        letters: Any,
        heights: Any,
        *,
        per_line: int = 60,
        height_name: str = "share of the decision value",
    ) -> None:
        heights = np.asarray(heights, dtype=np.float64)
        self.heights = heights[:, np.newaxis] if heights.ndim == 1 else heights
        self.letters = [list(map(str, [some] if heights.ndim == 1 else some)) for some in letters]
        self.height_name = height_name
        self.per_line = per_line
        if problem := Number(1, integer=True).problem(per_line):
            raise ValueError(f"per_line {problem}")
        if [len(some) for some in self.letters] != [self.heights.shape[1]] * len(self.heights):
            raise ValueError(
                f"heights must have a number for each letter of {len(self.letters)} places, got shape {heights.shape}."
            )

    @classmethod
    def from_estimator(
        cls,
        machine: Any,
        sequence: Any,
        *,
        function: int = 0,
        per_line: int = 60,
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw what the letters of one sequence add to its decision value.

        Parameters
        ----------
        machine : fitted machine
            With a kernel on sequences that counts pieces, see `mercer.explanations.take_apart`.
        sequence : str, bytes or sequence of symbols
        function : int >= 0, default=0
            Which function, a row of ``dual_coef_``, of machines that have several.
        per_line : int >= 1, default=60
            Letters in a line.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **style
            Options of the letters, for matplotlib.

        Returns
        -------
        SequenceDisplay
        """
        require_pyplot(f"{cls.__name__}.from_estimator")
        explanation = explain(machine, sequence, function=function)
        letters = [chr(one) for one in sequence] if isinstance(sequence, bytes) else list(sequence)
        return cls(letters, explanation.shares, per_line=per_line).plot(ax, **style)

    @classmethod
    def from_positions(
        cls,
        machine: Any,
        *,
        background: Any = None,
        function: int = 0,
        per_line: int = 60,
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw what every letter is worth at every place.

        Parameters
        ----------
        machine, background, function
            As for `mercer.explanations.positional_weights`.
        per_line, ax, **style
            As for `from_estimator`.

        Returns
        -------
        SequenceDisplay
        """
        require_pyplot(f"{cls.__name__}.from_positions")
        symbols, weights = positional_weights(machine, background=background, function=function)
        letters = [symbols] * len(weights)
        name = "weight of a letter at its place"
        return cls(letters, weights, per_line=per_line, height_name=name).plot(ax, **style)

    def _draw(self, ax: Any, **style: Any) -> None:
        from matplotlib.patches import PathPatch

        n, line = len(self.heights), self.per_line
        top = np.maximum(self.heights, 0.0).sum(axis=1).max(initial=0.0)
        low = np.minimum(self.heights, 0.0).sum(axis=1).min(initial=0.0)
        size = top - low or 1.0
        single = self.heights.shape[1] == 1
        lines = max(1, -(-n // line))
        pitch = size * (1.0 + GAP + (CAPTION if single else 0.0))
        colour = self._colours()
        self.letters_ = []
        for place in range(n):
            row, x = divmod(place, line)
            base = -row * pitch
            for side in (1.0, -1.0):
                y = base
                # The heaviest is furthest from the line.
                for k in np.argsort(np.abs(self.heights[place]), kind="stable"):
                    height = self.heights[place, k]
                    if side * height <= 0:
                        continue
                    letter = self.letters[place][k]
                    path = _glyph(letter, x, min(y, y + height), abs(height))
                    look = {"facecolor": colour(letter, height), "linewidth": 0, **style}
                    self.letters_.append(ax.add_patch(PathPatch(path, **look)))
                    y += height
            if single:
                ax.text(
                    x + 0.5,
                    base + low - 0.08 * size,
                    self.letters[place][0],
                    ha="center",
                    va="top",
                    fontsize=7,
                    family="monospace",
                )
        for row in range(lines):
            ax.plot([0, min(line, n - row * line)], [-row * pitch] * 2, color=ink(), linewidth=0.6)
        below = (lines - 1) * pitch + (CAPTION * size if single else 0.0)
        ax.set(xlim=(-0.3, min(n, line) + 0.3), ylim=(low - below - 0.05 * size, top + 0.05 * size))
        for edge in ("top", "right"):
            ax.spines[edge].set_visible(False)
        if lines == 1:
            ax.set(xlabel="place", ylabel=self.height_name)
            step = 10 if n > 20 else 5 if n > 10 else 1
            places = np.arange(0, n, step)
            ax.set_xticks(places + 0.5, places)
        else:  # every line tells where it begins
            ax.set_xticks([])
            ax.spines["bottom"].set_visible(False)
            ax.set_yticks([-row * pitch for row in range(lines)], [row * line for row in range(lines)])
            ax.set_ylabel("place at which a line begins")

    def _colours(self) -> Any:
        """Letters have colours where there are several at a place; else the colour is that of the class."""
        kinds = sorted({letter for some in self.letters for letter in some})
        if self.heights.shape[1] == 1 or len(kinds) > len(PALETTE):
            return lambda letter, height: "C1" if height > 0 else "C0"
        return lambda letter, height: PALETTE[kinds.index(letter)]


def _glyph(letter: str, x: float, y: float, height: float) -> Any:
    """The outline of a letter, stretched over a place."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath
    from matplotlib.transforms import Affine2D

    font = FontProperties(family="monospace", weight="bold")
    path = TextPath((0, 0), letter.strip() or "_", size=1, prop=font)  # a blank has no outline
    box = path.get_extents()
    move = Affine2D().translate(-box.x0, -box.y0).scale(0.9 / box.width, height / box.height)
    return move.translate(x + 0.05, y).transform_path(path)
