"""Several samples at once, that tell different things."""

import numpy as np

from mercer.active.pool import Pool

__all__ = ["next_batch"]

# A batch is chosen from so many times as many samples, those that the rule likes best.
SHORTLIST, LEAST_SHORTLIST = 4, 64
# Decimals of what a rule says: differences below are rounding, and the sample of the smaller number comes first.
DECIMALS = 9


def next_batch(
    pool: Pool, candidates: np.ndarray, scores: np.ndarray, k: int, asked: list[int], diversity: float
) -> np.ndarray:
    """The samples to ask for next.

    Parameters
    ----------
    pool : Pool
    candidates : int array of shape (m,)
        Numbers of the samples that may be asked for.
    scores : array of shape (m,)
        What a rule says of them; smaller is better.
    k : int from 1 to m
        How many are wanted.
    asked : list of int
        Samples that are asked for already.
    diversity : float from 0 to 1
        How much small angles are avoided.

    Returns
    -------
    int ndarray of shape (k,)

    Notes
    -----
    O(m) for the rule's favourites, and O(k^2) kernel values for the angles between them.
    """
    scores = np.round(scores, DECIMALS)
    if diversity == 0.0 or (k == 1 and not asked):
        return candidates[smallest(scores, k)]
    short = smallest(scores, max(SHORTLIST * k, LEAST_SHORTLIST))
    return candidates[short[diverse(pool, candidates[short], scores[short], k, asked, diversity)]]


def diverse(
    pool: Pool, samples: np.ndarray, scores: np.ndarray, k: int, asked: list[int], diversity: float
) -> list[int]:
    """Places of samples, one after the other, that the rule likes and that are at an angle to those before.

    Always the smallest (1 - d) score + d max cos(x, chosen), with scores brought to [0, 1]. [Brinker 2003]
    """
    spread = float(scores[-1] - scores[0])
    disliked = (scores - scores[0]) / spread if spread > 0 else np.zeros(len(scores))
    gram = pool.part(np.concatenate([samples, np.array(asked, dtype=np.int64)]))
    m, length = len(samples), np.sqrt(np.maximum(gram.diag(), np.finfo(float).tiny))
    cosine = np.zeros(m)  # the largest, with any that was chosen
    chosen: list[int] = []

    def avoid(place: int) -> None:
        row = gram.rows(np.array([place]))[0, :m]
        np.maximum(cosine, np.abs(row) / (length[:m] * length[place]), out=cosine)

    for place in range(m, m + len(asked)):
        avoid(place)
    while len(chosen) < k:
        value = (1.0 - diversity) * disliked + diversity * cosine
        value[chosen] = np.inf
        chosen.append(int(np.argmin(np.round(value, DECIMALS))))
        avoid(chosen[-1])
    return chosen


def smallest(values: np.ndarray, k: int) -> np.ndarray:
    """The places of the k smallest numbers, in their order, equal ones by their places."""
    if k == 1:
        return np.array([np.argmin(values)])
    if k < len(values):
        limit = np.partition(values, k - 1)[k - 1]
        places = np.flatnonzero(values <= limit)
    else:
        places = np.arange(len(values))
    return places[np.argsort(values[places], kind="stable")][:k]
