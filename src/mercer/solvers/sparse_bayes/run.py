"""One run of a solver: what happened, and when to stop."""

import time
from collections.abc import Callable

from mercer.solvers.base import Progress

__all__ = ["Run"]


class Run:
    """Limits, and a record of every accepted step.

    Parameters
    ----------
    tol : float
        The least growth of the log evidence that is worth a step.
    max_iter : int
        Most steps.
    max_seconds : float or None
        Most seconds.
    callback : callable or None
        Told about the progress; it stops the run by returning True.
    shift : float, default=0.0
        Added to every value: the targets are in units of their own.
    """

    def __init__(
        self, tol: float, max_iter: int, max_seconds: float | None, callback: Callable | None, shift: float = 0.0
    ):
        self.shift = shift
        self.tol, self.max_iter, self.max_seconds, self.callback = tol, max_iter, max_seconds, callback
        self.began = time.perf_counter()
        self.n_iter = 0
        self.status = ""
        self.worst = float(
            "inf"
        )  # the growth that the best step promises, or the largest slope: what callbacks are told
        self.jitter = 0.0
        self.records: list[tuple[int, float, str, int]] = []

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.perf_counter() - self.began

    def record(self, value: float, kind: str, size: int, steps: int = 1) -> None:
        """Note an accepted step."""
        self.n_iter += steps
        self.records.append((self.n_iter, value + self.shift, kind, size))

    def settle(self, value: float) -> None:
        """The last value, computed anew: where it is less than what was kept up to date, that was rounding."""
        value += self.shift
        self.records = [(at, min(noted, value), kind, size) for at, noted, kind, size in self.records]
        self.records[-1] = (self.records[-1][0], value, *self.records[-1][2:])

    def note_jitter(self, jitter: float) -> None:
        """The largest that was needed."""
        self.jitter = max(self.jitter, jitter)

    def over(self, value: float) -> bool:
        """Whether a limit is reached."""
        if self.n_iter >= self.max_iter:
            self.status = "max_iter"
        elif self.max_seconds is not None and self.seconds >= self.max_seconds:
            self.status = "max_seconds"
        elif self.callback is not None and self.callback(
            Progress(self.n_iter, value + self.shift, self.worst, self.seconds)
        ):
            self.status = "stopped"
        return bool(self.status)
