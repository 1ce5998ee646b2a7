"""How wrong predictions are, with an interval."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Judgement", "bootstrap", "judge", "wilson"]

# The quantile of the normal distribution for intervals of 95 %.
Z = 1.959963984540054
RESAMPLES = 2000
# From so many samples on, drawing them again tells nothing new.
MANY = 2000


@dataclass(frozen=True)
class Judgement:
    """An error with its interval of 95 %, and what a constant would have reached."""

    name: str
    """"error", "rmse" or "outside"."""
    value: float
    low: float
    high: float
    n: int
    """How many predictions were judged."""
    wrong: int | None = None
    """How many were wrong, where that is counted."""
    trivial: float | None = None
    """The error of the best constant prediction, known from these samples."""
    r2: float | None = None
    """The share of the variance that is explained, of values."""


def wilson(count: int, n: int) -> tuple[float, float]:
    """Wilson's interval for a proportion. [1]_

    .. math:: \\frac{p + z^2 / 2n \\pm z \\sqrt{p (1 - p) / n + z^2 / 4 n^2}}{1 + z^2 / n}

    References
    ----------
    .. [1] E. B. Wilson, Probable inference, the law of succession, and statistical inference, 1927.

    Examples
    --------
    >>> from mercer.cli.judging import wilson
    >>> [round(end, 4) for end in wilson(5, 88)]
    [0.0245, 0.1262]
    """
    p, square = count / n, Z * Z / n
    middle = p + square / 2
    spread = Z * math.sqrt(p * (1 - p) / n + square / (4 * n))
    return max(0.0, (middle - spread) / (1 + square)), min(1.0, (middle + spread) / (1 + square))


def bootstrap(squares: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """The percentile interval of a root mean square, from samples drawn again; that of the normal law for many.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cli.judging import bootstrap
    >>> low, high = bootstrap(np.arange(100.0))
    >>> bool(6 < low < np.sqrt(49.5) < high < 8)
    True
    """
    n = len(squares)
    if n > MANY:
        spread = Z * float(np.std(squares)) / math.sqrt(n)
        return math.sqrt(max(0.0, squares.mean() - spread)), math.sqrt(squares.mean() + spread)
    drawn = np.random.default_rng(seed).integers(n, size=(RESAMPLES, n))
    low, high = np.sqrt(np.quantile(squares[drawn].mean(axis=1), [0.025, 0.975]))
    return float(low), float(high)


def judge(task: str, y: Any, predicted: np.ndarray) -> Judgement:
    """The error of predictions, or, without classes, the share that is outside."""
    n = len(predicted)
    if task == "novelty":
        wrong = int(np.count_nonzero(predicted == -1))
        return Judgement("outside", wrong / n, *wilson(wrong, n), n, wrong)
    if task == "classification":
        wrong = int(np.count_nonzero(np.asarray(predicted) != np.asarray(y)))
        _, counts = np.unique(y, return_counts=True)
        return Judgement("error", wrong / n, *wilson(wrong, n), n, wrong, trivial=float(1 - counts.max() / n))
    y = np.asarray(y, dtype=np.float64)
    squares = (y - predicted) ** 2
    spread = float(np.std(y))
    r2 = 1.0 - float(squares.mean()) / spread**2 if spread > 0 else None
    rmse = float(np.sqrt(squares.mean()))
    return Judgement("rmse", rmse, *bootstrap(squares), n, trivial=spread, r2=r2)
