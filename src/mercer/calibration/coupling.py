"""One probability per class from those of all pairs of classes."""

from collections.abc import Sequence

import numpy as np

__all__ = ["couple"]

# Probabilities of pairs are kept this far from 0 and 1, as LIBSVM does: what lies beyond is rounding, and would decide
# between classes that are all but impossible.
SMALLEST = 1e-7
# Entries of the linear systems that are held at once (32 MB).
BLOCK_ENTRIES = 1 << 22


def couple(probability: np.ndarray, pairs: Sequence[tuple[int, int]], n_classes: int) -> np.ndarray:
    """The class probabilities that fit those of all pairs best, by the second method of Wu, Lin and Weng [1]_.

    With r_ij the probability of class i among i and j,

    .. math::

        \\min_p \\sum_i \\sum_{j \\ne i} (r_{ji} p_i - r_{ij} p_j)^2 \\quad\\text{s.t.}\\quad \\sum_i p_i = 1,

    whose solution is never negative. It is one linear system per sample, of n_classes + 1 unknowns (eq. 21 of [1]_);
    all samples are solved in one call.

    Parameters
    ----------
    probability : array of shape (n, n_pairs)
        Of the second class of each pair; kept at least 1e-7 away from 0 and 1.
    pairs : sequence of (int, int)
        All pairs of classes, each once.
    n_classes : int

    Returns
    -------
    ndarray of shape (n, n_classes)
        Rows that add up to 1, without zeros: with pairs kept from 0 and 1, no class falls below 1e-7 / (n_classes - 1).

    Notes
    -----
    Time O(n K^3) for K classes.

    References
    ----------
    .. [1] T.-F. Wu, C.-J. Lin, R. C. Weng, Probability estimates for multi-class classification by pairwise coupling,
       JMLR 5, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.calibration import couple
    >>> couple(np.array([[0.4, 0.25, 1 / 3]]), [(0, 1), (0, 2), (1, 2)], 3).round(3)
    array([[0.5  , 0.333, 0.167]])
    """
    first, second = np.array([i for i, _ in pairs]), np.array([j for _, j in pairs])
    coupled = np.empty((len(probability), n_classes))
    step = max(1, BLOCK_ENTRIES // (n_classes + 1) ** 2)
    for start in range(0, len(probability), step):
        r = np.clip(probability[start : start + step], SMALLEST, 1.0 - SMALLEST)
        system = np.zeros((len(r), n_classes + 1, n_classes + 1))
        system[:, first, second] = system[:, second, first] = -r * (1.0 - r)
        for i in range(n_classes):
            # The squares of the probabilities against i of its rivals.
            system[:, i, i] = (r[:, first == i] ** 2).sum(axis=1) + ((1.0 - r[:, second == i]) ** 2).sum(axis=1)
        system[:, :n_classes, n_classes] = system[:, n_classes, :n_classes] = 1.0
        wanted = np.zeros((len(r), n_classes + 1, 1))
        wanted[:, n_classes] = 1.0
        coupled[start : start + step] = np.linalg.solve(system, wanted)[:, :n_classes, 0]
    return coupled / coupled.sum(axis=1, keepdims=True)
