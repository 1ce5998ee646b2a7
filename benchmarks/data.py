"""The data sets of the benchmarks."""

from functools import cache

import numpy as np
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler


@cache
def cls(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes of four clusters each in 20 standardised features, 5 % of the labels flipped."""
    X, y = make_classification(
        n,
        20,
        n_informative=12,
        n_redundant=4,
        n_clusters_per_class=4,
        class_sep=0.8,
        flip_y=0.05,
        random_state=0,
    )
    return StandardScaler().fit_transform(X), y


def cls_split(n: int, n_new: int = 5000) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """`cls(n)` for training; for testing, samples of it moved by a tenth of a standard deviation."""
    X, y = cls(n)
    rng = np.random.default_rng(0)
    chosen = rng.integers(0, n, n_new)
    return X, y, X[chosen] + 0.1 * rng.standard_normal((n_new, X.shape[1])), y[chosen]
