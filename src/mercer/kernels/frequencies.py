"""Random numbers that frequencies of kernels are made of.

By Bochner's theorem k(x - x') = k(0) E[cos(w . (x - x'))] for a random frequency w. A kernel makes its frequencies of
standard normal vectors and uniform numbers; how these hang together from one frequency to the next is told here. Each
of them alone has the distribution that it should have, so that features are right on average whatever the rule.
"""

from collections.abc import Callable, Sequence
from copy import copy
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import poisson, qmc

from mercer.parameters import Choice

__all__ = ["RULES", "Draws", "SpectralMeasure", "exponential_series", "mixture", "places", "series"]

# Uniform numbers stay so far from 0 and 1: the normal ones made of them are finite.
LEAST = 2.0**-33


class Draws:
    """Independent random numbers, n rows of them."""

    def __init__(self, rng: np.random.RandomState, n: int):
        self.rng, self.n = rng, n
        self.taken = [0]  # columns so far, in all parts together

    def normal(self, d: int) -> np.ndarray:
        """Standard normal vectors, shape (n, d)."""
        self.taken[0] += d
        return self.rng.standard_normal((self.n, d))

    def uniform(self) -> np.ndarray:
        """Numbers between 0 and 1, shape (n,)."""
        self.taken[0] += 1
        return np.clip(self.rng.random_sample(self.n), LEAST, 1 - LEAST)

    def cauchy(self, d: int) -> np.ndarray:
        """Vectors of d independent numbers with Cauchy's distribution, shape (n, d)."""
        z = self.normal(d)
        return np.sign(z) / np.tan(np.pi * np.maximum(ndtr(-np.abs(z)), LEAST))

    def some(self, which: np.ndarray) -> "Draws":
        """Numbers for some of the rows, by a mask."""
        part = copy(self)
        part.n = int(np.count_nonzero(which))
        return part


class Orthogonal(Draws):
    """Normal vectors in groups that are orthogonal to each other [1]_.

    References
    ----------
    .. [1] F. X. Yu, A. T. Suresh, K. Choromanski, D. Holtmann-Rice, S. Kumar, Orthogonal random features, NIPS 2016.
    """

    def normal(self, d):
        self.taken[0] += d
        rows = np.empty((self.n, d))
        for start in range(0, self.n, d):
            group = rows[start : start + d]
            Q, R = np.linalg.qr(self.rng.standard_normal((d, len(group))))
            group[:] = (Q * np.where(np.diagonal(R) < 0, -1.0, 1.0)).T  # with these signs it is uniformly distributed
        return rows * np.sqrt(self.rng.chisquare(d, size=(self.n, 1)))


class QuasiRandom(Draws):
    """Rows that fill the cube evenly: a scrambled sequence of Sobol's, through the inverse distribution functions [1]_.

    Columns beyond those that were asked for in advance are independent.

    References
    ----------
    .. [1] J. Yang, V. Sindhwani, H. Avron, M. W. Mahoney, Quasi-Monte Carlo feature maps for shift-invariant kernels,
       ICML 2014.
    """

    def __init__(self, rng: np.random.RandomState, n: int, n_columns: int):
        super().__init__(rng, n)
        n_columns = min(n_columns, qmc.Sobol.MAXDIM)
        sequence = qmc.Sobol(n_columns, seed=rng.randint(2**31 - 1))
        self.points = sequence.random_base2(max(n - 1, 0).bit_length())[:n]

    def normal(self, d):
        return ndtri(self._next(d))

    def uniform(self):
        return self._next(1)[:, 0]

    def some(self, which):
        part = super().some(which)
        part.points = self.points[which]
        return part

    def _next(self, k: int) -> np.ndarray:
        columns = self.points[:, self.taken[0] : self.taken[0] + k]
        self.taken[0] += k
        others = self.rng.random_sample((self.n, k - columns.shape[1]))
        return np.clip(np.hstack([columns, others]), LEAST, 1 - LEAST)


class SpectralMeasure(NamedTuple):
    """The measure of a kernel of differences."""

    height: float
    """k(0), the whole of the measure."""
    draw: Callable[[Draws], np.ndarray]
    """Makes frequencies, one for each row of the numbers it is given, shape (n, d)."""

    def frequencies(self, rule: str, rng: np.random.RandomState, n: int) -> np.ndarray:
        """n frequencies by one of the `RULES`."""
        if rule == "quasi-random":
            self.draw(counting := Draws(rng, 0))
            return self.draw(QuasiRandom(rng, n, max(1, counting.taken[0])))
        return self.draw((Orthogonal if rule == "orthogonal" else Draws)(rng, n))


RULES = Choice("independent", "orthogonal", "quasi-random")


def mixture(measures: Sequence[SpectralMeasure | None]) -> SpectralMeasure | None:
    """The measure of a sum of kernels: each with the share of its height; None if one of them is not known."""
    known = [measure for measure in measures if measure is not None]
    if len(known) < len(measures):
        return None
    heights = np.array([measure.height for measure in known])

    def draw(draws: Draws) -> np.ndarray:
        which = places(heights, draws.uniform())
        parts = [measure.draw(draws.some(which == r)) for r, measure in enumerate(known)]
        found = np.empty((draws.n, parts[0].shape[1]))
        for r, part in enumerate(parts):
            found[which == r] = part
        return found

    return SpectralMeasure(float(heights.sum()), draw)


def series(
    measure: SpectralMeasure, height: float, powers: Callable[[np.ndarray], np.ndarray], usual: int
) -> SpectralMeasure:
    """The measure of a power series of a kernel: sums of as many frequencies as a random power says.

    `powers` makes powers of uniform numbers: power r has the share of its term, c_r k(0)^r, in the height. Columns of
    quasi-random numbers are kept for as many frequencies as are `usual`.
    """

    def draw(draws: Draws) -> np.ndarray:
        times = powers(draws.uniform())
        first = measure.draw(draws.some(times > 0))
        total = np.zeros((draws.n, first.shape[1]))
        total[times > 0] = first
        for r in range(1, max(usual, times.max(initial=0))):
            total[times > r] += measure.draw(draws.some(times > r))
        return total

    return SpectralMeasure(height, draw)


def exponential_series(measure: SpectralMeasure | None) -> SpectralMeasure | None:
    """The measure of the exponential of a kernel: powers have Poisson's distribution."""
    if measure is None:
        return None
    mean = measure.height
    with np.errstate(over="ignore"):  # a kernel that overflows says so when it is computed
        height = float(np.exp(mean))
    return series(measure, height, lambda u: poisson.ppf(u, mean).astype(int), round(mean))


def places(weights: np.ndarray, u: np.ndarray) -> np.ndarray:
    """For numbers between 0 and 1, where they fall among weights >= 0."""
    heights = np.cumsum(weights)
    if heights[-1] == 0:  # one is as good as another
        return np.zeros(len(u), dtype=int)
    return np.minimum(np.searchsorted(heights, u * heights[-1], side="right"), np.flatnonzero(weights)[-1])
