"""How far a search is, how long it still takes, and when it must stop."""

import math
import shutil
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Self, TextIO

import numpy as np

__all__ = ["Deadline", "Progress"]


class Progress:
    """Keeps count of the finished cells of a search, estimates the time left, and shows both if asked.

    On a terminal, and in a notebook, one line rewrites itself; elsewhere, in a log file say, a few plain
    lines are written.

    Parameters
    ----------
    costs : array-like of shape (n_cells,)
        What each cell is expected to cost, in any unit.
    kinds : sequence of hashable, default=None
        Cells of one kind, of the same C for instance, cost about the same, whatever was expected: what one took
        is what the others are expected to take. None: what was expected is all that is known.
    show : bool, default=True
        False shows nothing.
    title : str, default=""
        What the line begins with.
    file : text file, default=None
        Where to write; None is the standard error stream.
    clock : callable, default=time.monotonic
        Tells the time in seconds.

    Notes
    -----
    Let :math:`s_i` be the seconds that cell i took on its thread, :math:`c_i` its expected cost and F the cells
    finished in this run. A cell j that is not finished is expected to take the mean of :math:`s_i` over F of its
    kind, or, if there is none, :math:`c_j \\sum_F s_i / \\sum_F c_i`. Several cells may run at once: the sum over
    all j is multiplied by the time since the start over :math:`\\sum_F s_i`.

    Examples
    --------
    >>> import sys
    >>> from mercer.selection.progress import Progress
    >>> seconds = iter([0.0, 2.0, 2.0, 2.0])
    >>> progress = Progress([1.0, 1.0, 8.0], show=False, clock=lambda: next(seconds))
    >>> progress.finish([0, 1])
    >>> progress.seconds_left
    8.0
    """

    def __init__(
        self,
        costs: Any,
        *,
        kinds: Sequence[Hashable] | None = None,
        show: bool = True,
        title: str = "",
        file: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._costs = np.asarray(costs, dtype=np.float64)
        # Without kinds every cell is one of its own.
        names: dict[Hashable, int] = {}
        self._kinds = np.array([names.setdefault(kind, len(names)) for kind in kinds or range(len(self._costs))], int)
        self._pending = np.ones(len(self._costs), dtype=bool)
        self._seconds = np.full(len(self._costs), np.nan)  # nan: not finished in this run
        self._best = -math.inf
        self._clock = clock
        self._start = self._last = clock()
        self._line = _Line(file if file is not None else sys.stderr, clock) if show else None
        self._title = title

    def skip(self, cells: Iterable[int]) -> None:
        """Take cells as done that took no time: known from a journal, or not needed any more."""
        self._pending[_indices(cells)] = False
        self.refresh()

    def finish(self, cells: Iterable[int], *, seconds: Any = None, best: float | None = None) -> None:
        """Take note of finished cells.

        Parameters
        ----------
        cells : iterable of int
            Their numbers.
        seconds : array-like, default=None
            What each took on its thread; None shares the time since the last call among them, by expected cost.
        best : float, default=None
            The best score so far.
        """
        index = _indices(cells)
        now = self._clock()
        if seconds is None:
            costs = self._costs[index]
            seconds = (now - self._last) * costs / max(costs.sum(), np.finfo(float).tiny)
        self._seconds[index] = seconds
        self._pending[index] = False
        self._last = now
        if best is not None:
            self._best = max(self._best, best)  # which a nan never is
        self.refresh()

    @property
    def seconds_left(self) -> float | None:
        """How long the cells that are not finished will take; None as long as nothing is known."""
        if not self._pending.any():
            return 0.0
        finished = np.isfinite(self._seconds)
        spent = self._seconds[finished].sum()
        if not spent > 0.0:
            return None
        n_kinds = self._kinds.max() + 1
        counts = np.bincount(self._kinds[finished], minlength=n_kinds)
        totals = np.bincount(self._kinds[finished], self._seconds[finished], minlength=n_kinds)
        known = (counts > 0)[self._kinds]
        expected = self._costs * (spent / max(self._costs[finished].sum(), np.finfo(float).tiny))
        expected[known] = (totals / np.maximum(counts, 1))[self._kinds][known]
        # The clock ran for less than what the cells took together if several ran at once.
        return float(expected[self._pending].sum() * (self._last - self._start) / spent)

    def refresh(self) -> None:
        """Show how far the search is, unless that was done a moment ago."""
        if self._line is not None and self._line.is_due(self._share()):
            self._line.show(self._text(self._line.width), self._share())

    def close(self) -> None:
        """Show the last state and end the line."""
        if self._line is not None:
            self._line.show(self._text(self._line.width), self._share(), last=True)
            self._line = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _share(self) -> float:
        """The share of the expected cost that is done."""
        total = self._costs.sum()
        return 1.0 - self._costs[self._pending].sum() / total if total > 0.0 else float(not self._pending.any())

    def _text(self, width: float) -> str:
        n_cells, n_done, share = len(self._pending), int((~self._pending).sum()), self._share()
        parts = [f"{math.floor(100 * share):3d} %", f"{n_done} of {n_cells} cells"]
        if self._best > -math.inf:
            parts.append(f"best {self._best:#.4g}".rstrip("."))  # always as long, so that the bar is
        parts.append(duration(self._clock() - self._start))
        left = self.seconds_left
        if left is not None and n_done < n_cells:
            parts.append(f"about {duration(left)} left")
        text = ", ".join(parts)
        # The bar has the room that the text leaves, if it is worth it.
        room = int(min(20, width - len(self._title) - len(text) - 4))
        if room >= 5:
            filled = int(room * share)
            text = f"[{'#' * filled}{'.' * (room - filled)}] {text}"
        return f"{self._title} {text}".strip()


class Deadline:
    """The moment at which a search must stop.

    Parameters
    ----------
    seconds : float or None
        From now; None is never.
    clock : callable, default=time.monotonic
        Tells the time in seconds.

    Examples
    --------
    >>> from mercer.selection.progress import Deadline
    >>> Deadline(None).left
    inf
    >>> Deadline(0.0).over
    True
    """

    def __init__(self, seconds: float | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = math.inf if seconds is None else clock() + seconds

    @property
    def left(self) -> float:
        """The seconds left, 0 when it is over, infinite if there is no end."""
        return max(self._end - self._clock(), 0.0)

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return self.left == 0.0


def duration(seconds: float) -> str:
    """Say a time in words that fit its length.

    >>> from mercer.selection.progress import duration
    >>> [duration(seconds) for seconds in (0.31, 42.3, 185, 7500, 180000)]
    ['0.3 s', '42 s', '3 min 05 s', '2 h 05 min', '2 d 2 h']
    """
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes == 0:
        return f"{rest} s"
    hours, minutes_left = divmod(minutes, 60)
    if hours == 0:
        return f"{minutes} min {rest:02d} s"
    days, hours_left = divmod(hours, 24)
    return f"{hours} h {minutes_left:02d} min" if days == 0 else f"{days} d {hours_left} h"


class _Line:
    """A line that rewrites itself where that is possible, and is written again now and then where it is not."""

    def __init__(self, file: TextIO | None, clock: Callable[[], float]) -> None:
        self._file = file
        # A notebook's stream is no terminal, but it knows what a carriage return is.
        self._rewrites = file is not None and (file.isatty() or type(file).__module__.startswith("ipykernel"))
        self._clock = clock
        self._shown_at = -math.inf
        self._shown_share = -math.inf
        self._shown_text = ""

    @property
    def width(self) -> float:
        """The room for a line: one that wraps could not be taken back."""
        return shutil.get_terminal_size().columns - 1 if self._rewrites else math.inf

    def is_due(self, share: float) -> bool:
        since = self._clock() - self._shown_at
        if self._rewrites:
            return since >= 0.1
        # Plain lines are for logs: about one per tenth of the work, and a sign of life every ten minutes.
        return (since >= 1.0 and share >= self._shown_share + 0.1) or since >= 600.0

    def show(self, text: str, share: float, *, last: bool = False) -> None:
        if self._rewrites:
            text = text[: int(self.width)]
            # Spaces cover what was longer.
            output = "\r" + text.ljust(len(self._shown_text)) + ("\n" if last else "")
        else:
            output = text + "\n"
        try:
            if self._file is not None:
                self._file.write(output)
                self._file.flush()
        except (OSError, ValueError):
            self._file = None  # whoever watched has gone; the search goes on
        self._shown_at, self._shown_share, self._shown_text = self._clock(), share, text


def _indices(cells: Iterable[int]) -> np.ndarray:
    return np.fromiter(cells, dtype=np.intp)
