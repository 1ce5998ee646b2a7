"""Scores of single features by how well each tells classes apart: filters, for scikit-learn's `SelectKBest` and others.

A larger score is better. Neither the unit of a feature nor the order of the samples matters, up to rounding. A feature
that is constant scores 0, with a p-value of 1. One that is constant in every class, but not the same in all, has no
spread to compare with: `fisher_score` and `t_test` give it an infinite score, before all others.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array, diags_array, issparse
from scipy.special import ndtr, stdtr
from sklearn.utils import check_X_y
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from mercer.kernels.samples import row_blocks
from mercer.parameters import Choice

__all__ = ["fisher_score", "mann_whitney", "t_test"]

# Values are brought near 1 where their squares might leave the range of floats.
LARGEST_EXPONENT = 200
# Up to so many samples in both classes, the distribution of U is counted.
COUNTED = 50
# Ranks take several tables over the same entries: so many of them stay near.
IN_CACHE = 1 << 15


def fisher_score(X: Any, y: Any) -> np.ndarray:
    r"""Fisher scores: the squared difference of the means of the classes over the sum of their variances. [CY §1.7]

    .. math:: F = \frac{(\mu_+ - \mu_-)^2}{\sigma_+^2 + \sigma_-^2}, \qquad
              F = \frac{\sum_{k<l} (\mu_k - \mu_l)^2}{\sum_{k<l} (\sigma_k^2 + \sigma_l^2)}

    for two and for more classes, which count the same whatever their sizes. It is led by the magnitude of a difference:
    a feature that is far off in some samples only has a large variance, and `mann_whitney` may think better of it.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, n_features)
        Finite numbers.
    y : array of shape (n,)
        Two classes or more.

    Returns
    -------
    ndarray of shape (n_features,)
        0 where the means are equal, infinite where they are not and no class has any variance.

    See Also
    --------
    t_test : The same difference, compared with what chance makes of it.
    mann_whitney : From the ranks of the samples alone.
    selection_curve : How many of the best features to take.

    Notes
    -----
    Variances are those of the samples, divided by their number, so that one sample makes a class. Time and memory
    O(n n_features), or by the stored entries of a sparse matrix.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 1.7.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import fisher_score
    >>> X = np.array([[1.0, 7.0], [3.0, 7.0], [6.0, 7.0], [8.0, 7.0]])
    >>> fisher_score(X, [0, 0, 1, 1])
    array([12.5,  0. ])
    """
    moments = _moments(*_classified("fisher_score", X, y))
    n_classes = len(moments.size)
    means = moments.mean - moments.mean[0]  # so that the differences of equal ones are exactly zero
    between = n_classes * ((means - means.mean(axis=0)) ** 2).sum(axis=0)
    return _ratio(between, (n_classes - 1) * moments.variance.sum(axis=0))


def t_test(X: Any, y: Any, *, equal_variance: bool = False) -> tuple[np.ndarray, np.ndarray]:
    r"""Student's test of whether the means of two classes differ, of every feature. [CY §1.7]

    .. math:: t = \frac{\mu_+ - \mu_-}{\sqrt{s_+^2 / n_+ + s_-^2 / n_-}}

    with the unbiased variances s of the samples, and Welch's degrees of freedom for the p-value. With
    ``equal_variance=True`` both classes are taken to have the same variance, estimated from both, with n - 2 degrees of
    freedom.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, n_features)
        Finite numbers.
    y : array of shape (n,)
        Two classes, with two samples each at least; if the variances are equal, three samples in all.
    equal_variance : bool, default=False
        Whether both classes have the same variance. ``functools.partial`` gives it to `SelectKBest`.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The absolute values of t: 0 where the means are equal, infinite where they are not and neither class has any
        variance.
    p_values : ndarray of shape (n_features,)
        The chances of such a value or a larger one where the means are the same and noise is Gaussian, on both sides.

    See Also
    --------
    fisher_score : The same difference, whatever the number of samples, also of several classes.
    mann_whitney : From the ranks of the samples alone.
    sklearn.feature_selection.f_classif : The square of t for equal variances.

    Notes
    -----
    Time and memory O(n n_features), or by the stored entries of a sparse matrix.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 1.7.
    .. [2] B. L. Welch, The generalization of "Student's" problem when several different population variances are
       involved, Biometrika 34, 1947, 28-35.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import t_test
    >>> from sklearn.feature_selection import SelectKBest
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 1000))
    >>> X[:, 7] += 3 * y
    >>> SelectKBest(t_test, k=1).fit(X, y).get_support(indices=True)
    array([7])
    """
    if problem := Choice(True, False).problem(equal_variance):
        raise ValueError(f"equal_variance {problem}")
    X, codes = _classified("t_test", X, y, two=True)
    moments = _moments(X, codes)
    n, m = moments.size
    if min(n, m) < 2 and not (equal_variance and n + m > 2):
        least = "three samples" if equal_variance else "two samples of each class"
        raise ValueError(f"t_test needs {least} at least to know a variance, y has {n} and {m} of its classes.")
    if equal_variance:
        squared_error = moments.size @ moments.variance / (n + m - 2) * (1 / n + 1 / m)
        freedom = np.full(X.shape[1], n + m - 2.0)
    else:
        parts = moments.variance / (moments.size[:, np.newaxis] - 1)
        squared_error = parts.sum(axis=0)
        share = np.divide(parts[0], squared_error, out=np.ones(X.shape[1]), where=squared_error > 0)
        freedom = 1 / (share**2 / (n - 1) + (1 - share) ** 2 / (m - 1))
    scores = _ratio(np.abs(moments.mean[1] - moments.mean[0]), np.sqrt(squared_error))
    return scores, 2 * stdtr(freedom, -scores)


def mann_whitney(X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    r"""Mann and Whitney's test of whether samples of one class tend to be larger than those of the other. [CY §1.7]

    U counts the pairs of a sample of each class in which that of the second class is the larger one, a tie as one half.
    Where the classes do not differ it is :math:`n_+ n_- / 2` on average, and has the variance

    .. math:: \sigma^2 = \frac{n_+ n_-}{12} \left( n + 1 - \frac{\sum_g (t_g^3 - t_g)}{n (n - 1)} \right)

    with groups g of :math:`t_g` equal values. Only the order of the samples counts: the score is led by how consistent
    a difference is, however small, and does not feel outliers.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, n_features)
        Finite numbers.
    y : array of shape (n,)
        Two classes.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        :math:`z = (|U - n_+ n_- / 2| - \tfrac12) / \sigma`, and 0 where that is negative or all values are equal.
    p_values : ndarray of shape (n_features,)
        The chances of such a U or one farther from the average, on both sides: exact for features without ties if both
        classes have 50 samples at most, else from the normal distribution of z.

    See Also
    --------
    t_test : By the magnitude of the difference.
    fisher_score : The same for several classes.
    scipy.stats.mannwhitneyu : The test itself, with more options.

    Notes
    -----
    Time O(n log n) for a feature; the columns of X are sorted together, so many at a time as fit a few megabytes. Those
    of a sparse matrix are made dense for it.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 1.7.
    .. [2] H. B. Mann, D. R. Whitney, On a test of whether one of two random variables is stochastically larger than the
       other, Annals of Mathematical Statistics 18, 1947, 50-60.

    Examples
    --------
    All values of the first feature are larger in one class, if by little; the second one has the larger difference:

    >>> import numpy as np
    >>> from mercer.features import mann_whitney
    >>> X = np.array([[0.9] * 4 + [1.1] * 4, [1.0, 1.0, 0.1, 0.1, 1.0, 1.0, 5.0, 5.0]]).T
    >>> scores, p_values = mann_whitney(X, np.repeat([0, 1], 4))
    >>> scores.round(2), p_values.round(3)
    (array([2.48, 1.71]), array([0.013, 0.086]))
    """
    X, codes = _classified("mann_whitney", X, y, two=True)
    n, m = np.bincount(codes)
    if issparse(X):
        X = csc_array(X)
    u, ties = np.empty(X.shape[1]), np.empty(X.shape[1])
    for columns in row_blocks(X.shape[1], n + m, IN_CACHE):
        block = X[:, columns]
        u[columns], ties[columns] = _count_pairs(block.toarray() if issparse(block) else block, codes)
    distance = np.abs(u - n * m / 2)
    variance = n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1)))
    scores = np.divide(np.maximum(0.0, distance - 0.5), np.sqrt(variance), out=np.zeros(X.shape[1]), where=distance > 0)
    p_values = 2 * ndtr(-scores)
    if max(n, m) <= COUNTED and (exact := ties == 0).any():
        # n m / 2 may be a half, and then all distances are.
        p_values[exact] = np.minimum(1.0, 2 * _upper_tail(n, m)[(n * m / 2 + distance[exact]).astype(int)])
    return scores, p_values


def _classified(name: str, X: Any, y: Any, two: bool = False) -> tuple[Any, np.ndarray]:
    """Checked samples in float64, and the numbers of their classes."""
    X, y = check_X_y(X, y, accept_sparse="csr", dtype=np.float64)
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2 or (two and len(classes) > 2):
        others = " fisher_score takes several, too." if len(classes) > 2 else ""
        raise ValueError(f"{name} compares {'two' if two else 'two or more'} classes, y has {len(classes)}.{others}")
    return X, codes


# --- by moments -------------------------------------------------------------------------------------------


class Moments(NamedTuple):
    """Of the classes, a row for each, up to a factor of every feature."""

    size: np.ndarray
    mean: np.ndarray
    variance: np.ndarray


def _moments(X: Any, codes: np.ndarray) -> Moments:
    largest = abs(X).max(axis=0)
    exponent = np.frexp(largest.toarray().ravel() if issparse(largest) else largest)[1]
    if np.abs(exponent).max() > LARGEST_EXPONENT:
        factors = np.ldexp(1.0, np.clip(-exponent, -1000, 1000))
        X = X @ diags_array(factors) if issparse(X) else X * factors
    size = np.bincount(codes)
    found = [_mean_and_variance(X[codes == k]) for k in range(len(size))]
    mean, variance = map(np.array, zip(*found, strict=True))
    return Moments(size, mean, variance)


def _mean_and_variance(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Of the columns; those of constant ones are exact, where sums would round."""
    if issparse(X):
        (mean, variance), (low, high) = mean_variance_axis(X, axis=0), min_max_axis(X, axis=0)
    else:
        mean, variance, low, high = X.mean(axis=0), X.var(axis=0), X.min(axis=0), X.max(axis=0)
    constant = low == high
    return np.where(constant, low, mean), np.where(constant, 0.0, variance)


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """0 where the numerator is, infinite where only the denominator is 0."""
    ratio = np.where(numerator > 0, np.inf, 0.0)
    return np.divide(numerator, denominator, out=ratio, where=denominator > 0)


# --- by ranks ---------------------------------------------------------------------------------------------


def _count_pairs(X: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """U of every column, and the sums of t^3 - t over its groups of t equal values."""
    n, of_second = len(codes), int(codes.sum())
    small: Any = np.int16 if n <= 2**14 else np.int64  # numbers of places, of which there are several tables
    order = np.argsort(X, axis=0)
    second = codes.astype(np.int8)[order]
    values = np.take_along_axis(X, order, axis=0)
    begins = np.ones(X.shape, dtype=bool)  # another value begins here
    np.not_equal(values[1:], values[:-1], out=begins[1:])
    place: Any = np.arange(n, dtype=small)[:, np.newaxis]
    if begins.all():
        ranks, ties = (place * second).sum(axis=0) + of_second, np.zeros(X.shape[1])
    else:
        first = np.maximum.accumulate(begins * place, axis=0)
        ends = np.vstack([begins[1:], np.ones((1, X.shape[1]), dtype=bool)])
        last = np.minimum.accumulate(np.where(ends, place, small(n))[::-1], axis=0)[::-1]
        ranks = ((first + last) * second).sum(axis=0) / 2 + of_second
        size = last - first + 1
        ties = np.multiply(size, size, dtype=np.int64).sum(axis=0) - n  # of a group t times t^2 - 1
    return ranks - of_second * (of_second + 1) / 2, ties


@lru_cache(maxsize=256)
def _upper_tail(n: int, m: int) -> np.ndarray:
    """The chances of U >= u for u = 0, ..., n m, where all orders of n and m different values are as likely.

    Mann and Whitney's recursion: the largest of all values is of the one class, and larger than all m of the other, or
    it is of the other.
    """
    counts = [np.ones(1) for _ in range(m + 1)]
    for i in range(1, n + 1):
        row = [np.ones(1)]
        for j in range(1, m + 1):
            together = np.zeros(i * j + 1)
            together[j:] += counts[j]
            together[: i * (j - 1) + 1] += row[j - 1]
            row.append(together)
        counts = row
    return np.cumsum(counts[m][::-1])[::-1] / counts[m].sum()
