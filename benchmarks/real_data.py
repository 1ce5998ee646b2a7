"""The data sets that lie in files: every feature scaled to [0, 1], class labels as numbers."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler

from benchmarks.data import SHRINK, Samples

DATASETS = Path(os.environ.get("MERCER_DATASETS", Path(__file__).parents[2] / "shared" / "datasets"))


@dataclass(frozen=True)
class DataSet:
    """Files and how to read them."""

    name: str
    title: str
    files: tuple[str, ...]
    read: Callable[..., Samples]
    regression: bool = False

    @property
    def paths(self) -> tuple[Path, ...]:
        return tuple(DATASETS / file for file in self.files)

    def samples(self) -> Samples:
        return scaled(self.read(*self.paths))


def svmlight(path: Path, n_features: int) -> tuple[csr_matrix, np.ndarray]:
    X, y = load_svmlight_file(str(path), n_features=n_features)
    # Not every library takes indices of 64 bits.
    return csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape), y.astype(int)


def table(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Features, and the last column as it is written."""
    rows = np.loadtxt(path, delimiter=",", skiprows=1, dtype=str)
    return rows[:, :-1].astype(float), rows[:, -1]


def every(step: int, X: Any, y: np.ndarray) -> Samples:
    """Every so many-th sample is held out."""
    held_out = np.arange(len(y)) % step == step - 1
    return Samples(X[~held_out], y[~held_out], X[held_out], y[held_out])


def scaled(samples: Samples) -> Samples:
    """Features as those of the training samples ask for; zeros of sparse data stay zeros."""
    X, y, X_test, y_test = samples
    X, y = X[::SHRINK], y[::SHRINK]
    scaler = (MinMaxScaler() if isinstance(X, np.ndarray) else MaxAbsScaler()).fit(X)
    return Samples(scaler.transform(X), y, scaler.transform(X_test), y_test)


def read_sparse(train: Path, test: Path, *, n_features: int) -> Samples:
    return Samples(*svmlight(train, n_features), *svmlight(test, n_features))


def read_dense(train: Path, test: Path, *, n_features: int) -> Samples:
    X, y, X_test, y_test = read_sparse(train, test, n_features=n_features)
    return Samples(X.toarray(), y, X_test.toarray(), y_test)


def read_w8a(path: Path) -> Samples:
    return every(5, *svmlight(path, 300))


def read_covtype(path: Path) -> Samples:
    """The most frequent of the seven classes against the rest."""
    X, y = svmlight(path, 54)
    return every(10, X.toarray(), (y == 2).astype(int))


def read_letter(path: Path) -> Samples:
    """The usual split: the last 4000 are for testing."""
    X, letters = table(path)
    y = np.unique(letters, return_inverse=True)[1]
    return Samples(X[:16_000], y[:16_000], X[16_000:], y[16_000:])


def read_kin40k(path: Path) -> Samples:
    X, target = table(path)
    samples = every(5, X, target.astype(float))
    mean, deviation = samples.y.mean(), samples.y.std()
    return samples._replace(y=(samples.y - mean) / deviation, y_test=(samples.y_test - mean) / deviation)


def read_skin(path: Path) -> Samples:
    """Skin is 1, all else -1."""
    X, labels = table(path)
    return every(10, X, np.where(labels == "1", 1.0, -1.0))


LETTER = DataSet("letter", "letter, 26 classes", ("letter.csv.gz",), read_letter)
SECTOR = DataSet(
    "sector",
    "sector, 105 classes, sparse, linear kernel",
    ("sector.svm.gz", "sector_test.svm.gz"),
    partial(read_sparse, n_features=55_197),
)

SKIN = DataSet("skin_nonskin", "skin_nonskin", ("skin_nonskin.csv.gz",), read_skin, regression=True)

DATA_SETS = (
    DataSet("usps", "USPS, 10 classes", ("usps_train.svm.gz", "usps_test.svm.gz"), partial(read_dense, n_features=256)),
    DataSet(
        "mnist",
        "MNIST, the first 10 000, 10 classes",
        ("mnist_train10k.svm.gz", "mnist_test.svm.gz"),
        partial(read_dense, n_features=784),
    ),
    DataSet("a9a", "a9a, sparse", ("a9a.svm.gz", "a9a_test.svm.gz"), partial(read_sparse, n_features=123)),
    DataSet("w8a", "w8a, sparse", ("w8a.svm.gz",), read_w8a),
    DataSet("ijcnn1", "ijcnn1", ("ijcnn1.svm.gz", "ijcnn1_test.svm.gz"), partial(read_dense, n_features=22)),
    DataSet("covtype", "covtype, 90 000 rows, class 2 against the rest", ("covtype_100k.svm.gz",), read_covtype),
    LETTER,
    DataSet("kin40k", "kin40k, regression", ("kin40k.csv.gz",), read_kin40k, regression=True),
)

# For linear machines: few features of many samples, and text.
LINEAR_DATA_SETS = (
    DataSet(
        "reuters",
        "Reuters money-fx, sparse text",
        ("reuters_money_fx.svm.gz", "reuters_money_fx_test.svm.gz"),
        partial(read_sparse, n_features=8315),
    ),
    replace(SECTOR, title="sector, 105 classes, sparse text"),
    *(data_set for data_set in DATA_SETS if data_set.name in ("a9a", "w8a")),
)
