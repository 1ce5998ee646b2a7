"""Whether two sets of samples come from one distribution: the distance of their means in feature space, and tests."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import gamma, norm
from sklearn.utils import check_random_state

from mercer.gram.checks import as_weights, roots
from mercer.kernels import as_kernel
from mercer.kernels.base import Kernel
from mercer.kernels.samples import BLOCK_ENTRIES, in_full, n_samples, take
from mercer.parameters import Choice, Number

__all__ = ["TwoSampleTest", "mmd", "mmd_test", "squared_mmd"]

# Pairs of samples whose kernel values are read off one small kernel matrix.
PAIRS_AT_ONCE = 32
# Statistics of permutations that differ from the observed one by less than this, relative to the kernel values, are
# equal to it: sums in another order.
EQUAL = 1e-12


@dataclass(frozen=True, eq=False)
class TwoSampleTest:
    """The outcome of a test of two samples."""

    statistic: float
    """The squared MMD, by the estimator of the method."""
    p_value: float
    """The chance of a statistic at least as large if both sets come from one distribution."""
    method: str
    """"permutation", "gamma" or "linear"."""
    null: np.ndarray = field(repr=False)
    """The statistics of the permutations; empty for other methods."""


def mmd(kernel: Any, X: Any, Y: Any, *, weight_X: Any = None, weight_Y: Any = None) -> float:
    r"""The distance between the means of two sets in feature space: the maximum mean discrepancy. [P §1.3.2]

    .. math::

        \Bigl\| \frac1n \sum_i \phi(x_i) - \frac1m \sum_j \phi(y_j) \Bigr\|
        = \max_{\|f\| \le 1}\ \frac1n \sum_i f(x_i) - \frac1m \sum_j f(y_j)

    Parameters
    ----------
    kernel : Kernel, str or callable
        With numbers as parameters, or resolved on both sets together. `mercer.kernels.Indexed` for a stored matrix.
    X, Y : n and m samples
    weight_X, weight_Y : arrays of shape (n,) and (m,), default=None
        What the samples count, on any scale.

    Returns
    -------
    float

    See Also
    --------
    squared_mmd : Estimators of the square for the distributions behind the sets.
    mmd_test : Whether it is more than chance.

    Examples
    --------
    >>> from mercer.gram import mmd
    >>> mmd("linear", [[0.0], [2.0]], [[4.0], [5.0], [6.0]])
    4.0
    """
    kernel, X, Y = as_kernel(kernel), in_full(X), in_full(Y)
    u, v = as_weights(weight_X, n_samples(X), "weight_X"), as_weights(weight_Y, n_samples(Y), "weight_Y")
    within_X, within_Y = (u * kernel.dot(X, X, u)).sum(), (v * kernel.dot(Y, Y, v)).sum()
    across = (u * kernel.dot(X, Y, v)).sum()
    sizes = abs(within_X) + abs(within_Y) + 2.0 * abs(across)
    return float(roots(within_X + within_Y - 2.0 * across, sizes, "the squared distance of the means"))


def squared_mmd(kernel: Any, X: Any, Y: Any, *, estimator: str = "unbiased") -> float:
    r"""The squared maximum mean discrepancy of two distributions, estimated from samples of them.

    Parameters
    ----------
    kernel : Kernel, str or callable
        With numbers as parameters, or resolved on both sets together.
    X, Y : n and m samples
    estimator : {"unbiased", "biased", "linear"}, default="unbiased"
        "biased" is the square of `mmd`, never negative and too large on average. "unbiased" leaves out the kernel
        values of samples with themselves, n, m >= 2 [1]_ (lemma 6). "linear" averages :math:`k(x, x') + k(y, y') -
        k(x, y') - k(x', y)` over disjoint pairs of neighbouring samples, unbiased and in linear time, with more
        variance [1]_ (lemma 14); it depends on the order of the samples.

    Returns
    -------
    float

    References
    ----------
    .. [1] A. Gretton, K. Borgwardt, M. Rasch, B. Schölkopf, A. Smola, A kernel two-sample test, JMLR 13, 2012.

    Examples
    --------
    >>> from mercer.gram import squared_mmd
    >>> X, Y = [[0.0], [2.0]], [[4.0], [6.0]]
    >>> [squared_mmd("linear", X, Y, estimator=name) for name in ("biased", "unbiased", "linear")]
    [16.0, 14.0, 16.0]
    """
    if problem := Choice("unbiased", "biased", "linear").problem(estimator):
        raise ValueError(f"estimator {problem}")
    kernel = as_kernel(kernel)
    if estimator == "linear":
        return float(_pair_terms(kernel, X, Y, 1).mean())
    return _Pooled.of(kernel, X, Y).observed(unbiased=estimator == "unbiased")


def mmd_test(
    kernel: Any,
    X: Any,
    Y: Any,
    *,
    method: str = "permutation",
    n_permutations: int = 999,
    random_state: Any = None,
) -> TwoSampleTest:
    """Test whether two sets of samples come from one distribution.

    Parameters
    ----------
    kernel : Kernel, str or callable
        With numbers as parameters, or resolved on both sets together. A kernel chosen by looking for a large statistic
        on the same samples makes the test wrong.
    X, Y : n and m samples
    method : {"permutation", "gamma", "linear"}, default="permutation"
        "permutation" compares the unbiased statistic with those of random splits of the pooled samples, and keeps its
        level for any kernel and any number of samples. "gamma" fits two moments of the biased statistic by a gamma
        distribution [2]_: fast, for sets of the same size, and near its level for many samples. "linear" takes the
        linear-time statistic for normal [1]_, for sets that are too large for a kernel matrix; their order must mean
        nothing.
    n_permutations : int >= 1, default=999
        More make the p-value finer, which is at least 1 / (n_permutations + 1).
    random_state : int, RandomState or None, default=None
        Draws the permutations.

    Returns
    -------
    TwoSampleTest

    Notes
    -----
    The p-value of a permutation test is the share of the splits, the observed one included, with a statistic at least
    as large. Time O((n + m)^2 n_permutations), memory O((n + m)^2); O((n + m)^2) for "gamma", O(n + m) for "linear".

    References
    ----------
    .. [1] A. Gretton, K. Borgwardt, M. Rasch, B. Schölkopf, A. Smola, A kernel two-sample test, JMLR 13, 2012.
    .. [2] A. Gretton, K. Fukumizu, Z. Harchaoui, B. Sriperumbudur, A fast, consistent kernel two-sample test, NIPS
       2009.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import mmd_test
    >>> from mercer.kernels import RBF
    >>> rng = np.random.default_rng(0)
    >>> narrow, wide = rng.normal(size=(50, 1)), 2 * rng.normal(size=(50, 1))
    >>> mmd_test(RBF(gamma=0.5), narrow, wide, random_state=0).p_value < 0.01
    True
    >>> mmd_test(RBF(gamma=0.5), narrow, rng.normal(size=(50, 1)), random_state=0).p_value > 0.1
    True
    """
    if problem := Choice("permutation", "gamma", "linear").problem(method):
        raise ValueError(f"method {problem}")
    if problem := Number(1, integer=True).problem(n_permutations):
        raise ValueError(f"n_permutations {problem}")
    kernel = as_kernel(kernel)
    if method == "linear":
        return _linear_test(_pair_terms(kernel, X, Y, 2))
    pooled = _Pooled.of(kernel, X, Y)
    if method == "gamma":
        return _gamma_test(pooled)
    observed = pooled.observed(unbiased=True)
    null = pooled.permuted(int(n_permutations), check_random_state(random_state))
    as_large = int(np.sum(null >= observed - EQUAL * float(np.abs(pooled.K).max())))
    return TwoSampleTest(observed, (1 + as_large) / (1 + len(null)), "permutation", null)


class _Pooled(NamedTuple):
    """The kernel matrix of both sets, the first `n` of it being X."""

    K: np.ndarray
    n: int

    @classmethod
    def of(cls, kernel: Kernel, X: Any, Y: Any) -> "_Pooled":
        n, m = n_samples(X), n_samples(Y)
        for name, size in (("X", n), ("Y", m)):
            if size < 2:
                raise ValueError(f"{name} must have at least two samples, got {size}.")
        X, Y = in_full(X), in_full(Y)
        across = kernel(X, Y)  # refuses a kernel that is not resolved
        return cls(np.block([[kernel(X), across], [across.T, kernel(Y)]]), n)

    @property
    def m(self) -> int:
        return len(self.K) - self.n

    def observed(self, unbiased: bool) -> float:
        """The statistic of the sets as they are."""
        K = self.K - np.diag(np.diag(self.K)) if unbiased else self.K
        first = slice(self.n)
        within_X, within_Y, across = K[first, first].sum(), K[self.n :, self.n :].sum(), K[first, self.n :].sum()
        return float(self._statistic(within_X, within_Y, across, unbiased))

    def permuted(self, times: int, rng: np.random.RandomState) -> np.ndarray:
        """The unbiased statistics of random splits."""
        K = self.K - np.diag(np.diag(self.K))
        N, rows, total = len(K), K.sum(axis=1), K.sum()
        found, at_once = [], max(1, BLOCK_ENTRIES // N)
        for start in range(0, times, at_once):
            chosen = np.zeros((N, min(at_once, times - start)))
            for column in chosen.T:
                column[rng.permutation(N)[: self.n]] = 1.0
            within_X, with_all = np.einsum("ib,ib->b", chosen, K @ chosen), rows @ chosen
            found.append(self._statistic(within_X, total - 2.0 * with_all + within_X, with_all - within_X, True))
        return np.concatenate(found)

    def _statistic(self, within_X: Any, within_Y: Any, across: Any, unbiased: bool) -> Any:
        n, m = self.n, self.m
        pairs_X, pairs_Y = (n * (n - 1), m * (m - 1)) if unbiased else (n * n, m * m)
        return within_X / pairs_X + within_Y / pairs_Y - 2.0 * across / (n * m)


def _gamma_test(pooled: _Pooled) -> TwoSampleTest:
    """Two moments of n times the biased statistic if the distributions are equal. [2]"""
    n = pooled.n
    if pooled.m != n:
        raise ValueError(f"The method 'gamma' needs sets of the same size, X has {n} samples and Y has {pooled.m}.")
    own_X, own_Y, across = pooled.K[:n, :n], pooled.K[n:, n:], pooled.K[:n, n:]
    terms = own_X + own_Y - across - across.T
    mean = float(np.trace(terms)) / n**2
    variance = 2.0 * float((terms**2).sum() - (np.diag(terms) ** 2).sum()) / (n * (n - 1)) ** 2
    statistic = pooled.observed(unbiased=False)
    if mean <= 0 or variance <= 0:  # equal sets, or a constant kernel
        return TwoSampleTest(statistic, 1.0, "gamma", np.empty(0))
    p_value = float(gamma.sf(statistic, mean**2 / variance, scale=variance / mean))
    return TwoSampleTest(statistic, p_value, "gamma", np.empty(0))


def _linear_test(terms: np.ndarray) -> TwoSampleTest:
    statistic, spread = float(terms.mean()), float(terms.std(ddof=1))
    error = spread / np.sqrt(len(terms))
    p_value = float(norm.sf(statistic / error)) if error > 0 else float(statistic <= 0)
    return TwoSampleTest(statistic, p_value, "linear", np.empty(0))


def _pair_terms(kernel: Kernel, X: Any, Y: Any, fewest: int) -> np.ndarray:
    """k(x, x') + k(y, y') - k(x, y') - k(x', y) of neighbouring samples: the first with the second, and so on."""
    pairs = min(n_samples(X), n_samples(Y)) // 2
    if pairs < fewest:
        sizes = f"{n_samples(X)} and {n_samples(Y)}"
        raise ValueError(f"X and Y must have at least {2 * fewest} samples each for pairs of them, got {sizes}.")
    X, Y = in_full(X), in_full(Y)
    terms = np.empty(pairs)
    for start in range(0, pairs, PAIRS_AT_ONCE):
        stop = min(start + PAIRS_AT_ONCE, pairs)
        x, x_next = take(X, slice(2 * start, 2 * stop, 2)), take(X, slice(2 * start + 1, 2 * stop, 2))
        y, y_next = take(Y, slice(2 * start, 2 * stop, 2)), take(Y, slice(2 * start + 1, 2 * stop, 2))
        values = [np.diagonal(kernel(a, b)) for a, b in ((x, x_next), (y, y_next), (x, y_next), (x_next, y))]
        terms[start:stop] = values[0] + values[1] - values[2] - values[3]
    return terms
