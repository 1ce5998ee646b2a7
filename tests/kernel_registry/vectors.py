"""Kernels on vectors, categories and row numbers, and the algebra on top of them."""

import numpy as np

from mercer import kernels

STORED = np.random.default_rng(7).normal(size=(200, 9))
STORED = STORED @ STORED.T


def smaller_first_feature(X, Y):
    return np.minimum.outer(np.asarray(X)[:, 0], np.asarray(Y)[:, 0]).astype(np.float64)


KERNELS = {
    "Chi2": lambda: kernels.Chi2(gamma=0.4),
    "Constant": lambda: kernels.Constant(1.7),
    "Cosine": lambda: kernels.Cosine(),
    "Exponential": lambda: kernels.Exponential(gamma=0.7),
    "FromFunction": lambda: kernels.FromFunction(smaller_first_feature),
    "Hamming": lambda: kernels.Hamming(),
    "Hamming normalized": lambda: kernels.Hamming(normalize=True),
    "Indexed": lambda: kernels.Indexed(STORED),
    "Intersection": lambda: kernels.Intersection(),
    "Laplacian": lambda: kernels.Laplacian(gamma=0.3),
    "Linear": lambda: kernels.Linear(),
    "Matern nu=1/2": lambda: kernels.Matern(length_scale=1.3, nu=0.5),
    "Matern nu=3/2": lambda: kernels.Matern(length_scale=1.3, nu=1.5),
    "Matern nu=5/2": lambda: kernels.Matern(length_scale=1.3, nu=2.5),
    "Matern nu=inf": lambda: kernels.Matern(length_scale=1.3, nu=np.inf),
    "Matern nu=0.8": lambda: kernels.Matern(length_scale=1.3, nu=0.8),
    "Matern per feature": lambda: kernels.Matern(length_scale=np.array([0.7, 1.5, 3.0]), nu=2.2),
    "Polynomial": lambda: kernels.Polynomial(degree=3, gamma=0.5, coef0=1.0),
    "Polynomial homogeneous": lambda: kernels.Polynomial(degree=2, gamma=1.0),
    "Power": lambda: kernels.Power(kernels.RBF(gamma=0.2) + kernels.Constant(0.5), 3),
    "Product": lambda: 2.0 * kernels.RBF(gamma=0.3) * (kernels.Linear() + 1),
    "RBF": lambda: kernels.RBF(gamma=0.5),
    "RBF per feature": lambda: kernels.RBF(gamma=np.array([0.1, 0.0, 0.9])),
    "RationalQuadratic": lambda: kernels.RationalQuadratic(length_scale=1.2, alpha=0.6),
    "Sigmoid": lambda: kernels.Sigmoid(gamma=0.4, coef0=-0.3),
    "Sum": lambda: kernels.Linear() + 0.5 * kernels.Laplacian(gamma=0.6) + 2.0,
    "Tanimoto": lambda: kernels.Tanimoto(),
}


def n_features(kernel):
    """The number of features that a kernel is made for: by a parameter for each, vectors to compare to, or a model."""
    values = kernel.get_params().values()
    lengths = [np.shape(value)[-1] for value in values if np.ndim(value) in (1, 2)]
    lengths += [value.n_features for value in values if hasattr(value, "n_features")]
    return lengths[0] if lengths else None


def vectors(kernel, rng, n, d):
    X = rng.normal(size=(n, n_features(kernel) or d))
    return np.abs(X) if isinstance(kernel, (kernels.Chi2, kernels.Intersection)) else X


def categories(kernel, rng, n, d):
    return np.array([["red", "green", "blue"][i] for i in rng.integers(3, size=n * d)]).reshape(n, d)


def indices(kernel, rng, n, d):
    return rng.permutation(len(STORED))[:n]


SAMPLES = {"any": vectors, "categories": categories, "indices": indices, "vectors": vectors}

WORDS = ["GATTACA", "TATA"]
WRONG = {
    "categories": [WORDS],
    "indices": [WORDS, np.array([[0.5], [1.5]]), np.array([[0, 1], [1, 0]]), [0, len(STORED)], [-1, 0]],
    "vectors": [WORDS, np.array([["a", "b"], ["c", "d"]]), [["a", 1.0], ["b", 2.0]], np.array(["a", "b"])],
}

HOLDS_DATA = (kernels.FromFunction, kernels.Indexed)
