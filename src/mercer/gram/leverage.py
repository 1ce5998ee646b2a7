"""How much each sample matters for functions of small norm, from kernel values with some samples."""

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import brentq

from mercer.gram.sources import Gram
from mercer.kernels.samples import row_blocks

__all__ = ["approximate_leverage", "drawn_without_replacement"]

# Where no ridge is given, the effective dimension at it is this share of the number of samples that are to be drawn.
EFFECTIVE_SHARE = 0.25
# No sample is without a chance: what the scores know of it is not exact.
LEAST = 1e-30


def approximate_leverage(
    gram: Gram, size: int, ridge: float | None, weight: np.ndarray, rng: np.random.RandomState
) -> tuple[np.ndarray, float]:
    r"""Ridge leverage scores of all samples, approximately, and the ridge.

    .. math:: \ell_i = (K (K + \lambda W^{-1})^{-1})_{ii}

    for the weights W of the samples. By recursion [1]_: half of the samples, drawn at random, have scores by
    the same recipe, and `size` of these, drawn with chances in proportion to the scores, stand for K in

    .. math:: \ell_i \approx \frac{w_i}{\lambda} \bigl( k_{ii} - k_{iS} (K_{SS} + \lambda C^{-1})^{-1} k_{Si} \bigr)

    with C the weights over the chances. Time O(n size^2) and 2 n size kernel values.

    References
    ----------
    .. [1] C. Musco, C. Musco, Recursive sampling for the Nyström method, NIPS 2017, algorithm 2.
    """
    order = rng.permutation(np.flatnonzero(weight))
    sizes = [len(order)]
    while sizes[-1] > size:
        sizes.append((sizes[-1] + 1) // 2)
    some, inverse_chance = order[: sizes[-1]], np.ones(sizes[-1])
    diagonal, scores = gram.diag(), np.ones(gram.n)
    for n_rows in reversed(sizes[:-1] or sizes):
        rows = order[:n_rows]
        root = np.sqrt(weight[some] * inverse_chance)
        values, vectors = eigh(root[:, np.newaxis] * gram.square(some) * root)
        values = np.maximum(values, 0.0)
        at = _ridge_of(values, EFFECTIVE_SHARE * min(size, n_rows)) if ridge is None else ridge
        # Of k_iS C^(1/2) U (Lambda + ridge)^(-1/2) the squares are what is taken off.
        directions = root[:, np.newaxis] * vectors / np.sqrt(values + at)
        found = np.empty(n_rows)
        for block in row_blocks(n_rows, len(some)):
            known = gram.part(rows[block], some) @ directions
            found[block] = diagonal[rows[block]] - np.einsum("ij,ij->i", known, known)
        found = np.clip(weight[rows] * found / at, LEAST, 1.0)
        chance = _chances(found, size)
        taken = rng.random_sample(n_rows) < chance
        some, inverse_chance = rows[taken], 1.0 / chance[taken]
    scores = np.zeros(gram.n)
    scores[order] = found
    return scores, float(at)


def drawn_without_replacement(weights: np.ndarray, size: int, rng: np.random.RandomState) -> np.ndarray:
    """Numbers drawn one after the other with chances in proportion to weights; none twice, none of weight 0."""
    size = min(size, int(np.count_nonzero(weights)))
    with np.errstate(divide="ignore"):
        times = rng.standard_exponential(len(weights)) / weights
    return np.argsort(times, kind="stable")[:size]


def _ridge_of(values: np.ndarray, dimension: float) -> float:
    """The ridge at which eigenvalues have an effective dimension, sum of v / (v + ridge)."""
    largest = float(values.max(initial=0.0))
    if largest == 0.0:
        return 1.0
    # From where eigenvalues are rounding to where the dimension is below one share.
    low, high = np.log(len(values) * np.finfo(np.float64).eps * largest), np.log(len(values) * largest / dimension)

    def excess(t: float) -> float:
        return float(np.sum(values / (values + np.exp(t)))) - dimension

    return float(np.exp(low if excess(low) <= 0 else brentq(excess, low, high)))


def _chances(scores: np.ndarray, size: int) -> np.ndarray:
    """Chances min(1, c s) of which `size` are drawn on average."""
    if size >= len(scores):
        return np.ones(len(scores))
    sure = np.zeros(len(scores), dtype=bool)
    while True:
        rest = size - np.count_nonzero(sure)
        chance = np.where(sure, 1.0, rest * scores / scores[~sure].sum())
        if not (more := (chance > 1.0) & ~sure).any():
            return np.minimum(chance, 1.0)
        sure |= more
