"""Kernels made of kernels, of functions and of columns of a table."""

import tempfile

import numpy as np

from mercer import kernels
from mercer.kernels import RBF, Constant, Hamming, Laplacian, Linear, Mapped, On, Polynomial, Sigmoid

REFERENCE = np.random.default_rng(8).normal(size=(11, 3))
FOLDER = tempfile.TemporaryDirectory()


def decreasing(X):
    return 1 / (1 + np.abs(np.asarray(X)[:, 0]))


def waves(X):
    X = np.asarray(X)
    return np.hstack([np.sin(X), np.cos(X)])


def tent(D):
    return np.maximum(0, 1 - 0.3 * np.abs(D)).prod(axis=-1)


KERNELS = {
    "Cached": lambda: kernels.Cached(RBF(gamma=0.3) + Linear(), FOLDER.name),
    "Centered": lambda: RBF(gamma=0.3).centered(REFERENCE),
    "Centered weighted": lambda: kernels.Centered(Polynomial(degree=2, gamma=0.3), REFERENCE, np.arange(11.0)),
    "EmpiricalMap": lambda: kernels.EmpiricalMap(Sigmoid(gamma=0.3, coef0=-0.4), REFERENCE),
    "EmpiricalMap weighted": lambda: kernels.EmpiricalMap(RBF(gamma=0.3), REFERENCE, np.arange(11.0)),
    "Exp": lambda: kernels.exp(0.3 * RBF(gamma=0.4)),
    "Geometric": lambda: (RBF(gamma=0.4) + Constant(0.5)).geometric(2.5),
    "Kendall": lambda: kernels.Kendall(),
    "Mallows": lambda: kernels.Mallows(decay=0.3),
    "Mapped": lambda: Mapped(waves, RBF(gamma=0.7)),
    "Normalized": lambda: Polynomial(degree=2, gamma=0.7, coef0=0.4).normalized(),
    "Normalized by logarithms": lambda: (0.7 * kernels.exp(0.3 * Linear()) ** 2 + 1.5).normalized(),
    "Normalized of a sum": lambda: (RBF(gamma=0.2) + 0.5 * Linear()).normalized(),
    "Normalized of categories": lambda: (Hamming() + 0.5).normalized(),
    "On": lambda: On(["age", "bmi"], Laplacian(gamma=0.2)),
    "On a column": lambda: On("colour", Hamming() + 0.3),
    "PolynomialOf": lambda: RBF(gamma=0.4).polynomial([0.5, 0.0, 2.0]),
    "Power fractional": lambda: (RBF(gamma=0.4) * Constant(0.3)) ** 0.7,
    "Power of rankings": lambda: kernels.Mallows(decay=0.3) ** 0.4,
    "Product of columns": lambda: (1 + On("age", RBF(gamma=0.2))) * On(["colour", "size"], Hamming()).normalized(),
    "RBFOf": lambda: Polynomial(degree=2, gamma=0.5, coef0=1.0).rbf(3.0),
    "RBFOf categories": lambda: Hamming().rbf(1.5),
    "Scaled": lambda: RBF(gamma=0.6).scaled(decreasing),
    "Sum of columns": lambda: On(["age", "bmi"], RBF(gamma=0.2)) + 2 * On("colour", Hamming()),
    "Sum weighted": lambda: kernels.weighted_sum([Linear(), RBF(gamma=0.3)], [0.3, 0.7]),
    "TranslationInvariant": lambda: kernels.TranslationInvariant(tent),
}


def permutations(kernel, rng, n, d):
    return rng.permuted(np.tile(np.arange(d), (n, 1)), axis=1)


def table(kernel, rng, n, d):
    """A structured array: the one kind of table that can be split, joined and made read-only as arrays are."""
    rows = np.empty(n, [("age", "f8"), ("bmi", "f8"), ("colour", "U5"), ("size", "i8")])
    rows["age"], rows["bmi"] = rng.normal(size=(2, n))
    rows["colour"], rows["size"] = rng.choice(["red", "green", "blue"], size=n), rng.integers(3, size=n)
    return rows


SAMPLES = {"permutations": permutations, "table": table}
WRONG: dict = {
    "permutations": [["GATTACA", "TATA"], np.array([[0, 1, 1]]), np.array([[1.5, 0.5]]), [0, 1], [[2, 3]], [[np.nan]]],
    "table": [np.zeros((3, 2)), ["GATTACA", "TATA"]],
}
HOLDS_DATA: tuple = (
    kernels.Cached,
    kernels.Centered,
    kernels.EmpiricalMap,
    kernels.Mapped,
    kernels.Scaled,
    kernels.TranslationInvariant,
)
