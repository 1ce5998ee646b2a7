"""The generated data sets of the benchmarks."""

import os
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits, make_classification, make_friedman1
from sklearn.preprocessing import StandardScaler

# Every data set is so many times smaller: to see whether the benchmarks run, not how fast.
SHRINK = int(os.environ.get("MERCER_BENCH_SHRINK", "1"))


class Samples(NamedTuple):
    """For training and for testing; y is None where there is nothing to predict."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


def shrunk(n: int, least: int = 200) -> int:
    return n if SHRINK == 1 else max(least, n // SHRINK)


@cache
def cls(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes of four clusters each in 20 standardised features, 5 % of the labels flipped."""
    X, y = make_classification(
        shrunk(n),
        20,
        n_informative=12,
        n_redundant=4,
        n_clusters_per_class=4,
        class_sep=0.8,
        flip_y=0.05,
        random_state=0,
    )
    return StandardScaler().fit_transform(X), y


def cls_split(n: int, n_new: int = 5000, dtype: type = np.float64) -> Samples:
    """`cls(n)` for training; for testing, samples of it moved by a tenth of a standard deviation."""
    X, y = cls(n)
    return Samples(X.astype(dtype), y, *moved(X, y, n_new))


def cls_shaped(n: int, d: int, minority: float = 0.5, dtype: type = np.float64) -> Samples:
    """As `cls`, in another number of features and with other shares of the classes."""
    informative = min(40, max(2, 3 * d // 5))
    X, y = make_classification(
        shrunk(n, 500),
        d,
        n_informative=informative,
        n_redundant=min(8, (d - informative) // 2),
        n_clusters_per_class=4 if informative > 2 else 2,
        class_sep=0.8,
        flip_y=0.1 * minority,
        weights=[1.0 - minority],
        random_state=0,
    )
    X = StandardScaler().fit_transform(X)
    return Samples(X.astype(dtype), y, *moved(X, y, 5000))


def moved(X: np.ndarray, y: np.ndarray, n_new: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples to test with: those of training, moved by a tenth of a standard deviation."""
    rng = np.random.default_rng(0)
    chosen = rng.integers(0, len(X), n_new)
    return X[chosen] + 0.1 * rng.standard_normal((n_new, X.shape[1])), y[chosen]


def digits() -> Samples:
    """Ten classes of 8 x 8 pixels from 0 to 1; the samples for training are those for testing."""
    X, y = load_digits(return_X_y=True)
    return Samples(X / 16.0, y, X / 16.0, y)


def friedman(n: int, n_new: int = 5000) -> Samples:
    """Friedman's first function of ten standardised features, with noise of variance 1."""
    X, y = make_friedman1(shrunk(n), 10, noise=1.0, random_state=0)
    X_test, y_test = make_friedman1(n_new, 10, noise=1.0, random_state=1)
    scaler = StandardScaler().fit(X)
    return Samples(scaler.transform(X), y, scaler.transform(X_test), y_test)
