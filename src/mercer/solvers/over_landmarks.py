"""What solvers share that go over the samples of a `LandmarkGram` in passes."""

from collections.abc import Callable

import numpy as np

from mercer.gram import FeatureGram

__all__ = ["Precondition", "sampled_inverse"]

Precondition = Callable[[np.ndarray], np.ndarray]

# Second moments are made of so many samples for every feature, at least and at most; in between of so many that it
# takes about as long as some passes over all samples.
LEAST_SAMPLES, MOST_SAMPLES, AS_MANY_PASSES = 4, 32, 100


def sampled_inverse(
    gram: FeatureGram,
    weight: np.ndarray,
    ridge: float,
    *,
    bias: bool,
    rng: np.random.RandomState,
    rows: np.ndarray | None = None,
    times: int = 1,
) -> Precondition:
    r"""Nearly the inverse of the second moments of features and a ridge.

    .. math:: \Big(\rho I + \sum_i d_i \phi_i \phi_i^T - \frac{s s^T}{\sum_i d_i}\Big)^{-1}, \qquad
              s = \sum_i d_i \phi_i

    Of many samples some are drawn, each with a chance in proportion to its weight d, so that those that are drawn count
    alike; a chance is never above 1.

    Parameters
    ----------
    gram : FeatureGram
    weight : array of shape (n,)
        d >= 0, of all samples or of `rows`.
    ridge : float > 0
        rho.
    bias : bool
        Whether the last term is there: what an offset takes off.
    rng : RandomState
        Draws the samples.
    rows : int array or None, default=None
        The numbers of the samples, ascending; None: all.
    times : int >= 1, default=1
        How many such matrices are wanted: there are so many times fewer samples for each.

    Returns
    -------
    callable
        From a vector of weights of the features, or several in columns, to its product with the inverse.
    """
    n, m, total = len(weight), gram.n_weights, float(weight.sum())
    size = max(LEAST_SAMPLES * m, min(MOST_SAMPLES * m, AS_MANY_PASSES * n // max(1, m)) // times)
    drawn = np.flatnonzero(weight)
    d = weight[drawn]
    if len(drawn) > size:
        chance = np.minimum(1.0, size / total * d)
        seen = rng.random_sample(len(drawn)) < chance
        drawn, d = drawn[seen], d[seen] / chance[seen]
    which = drawn if rows is None else rows[drawn]
    return gram.inverse_moments(d, which, ridge, float(d.sum()) if bias else None)
