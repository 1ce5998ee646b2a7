"""Kernels made of kernels."""

import numpy as np

from mercer import kernels
from mercer.kernels import RBF, Constant, Hamming, Linear, Polynomial

REFERENCE = np.random.default_rng(8).normal(size=(11, 3))


def decreasing(X):
    return 1 / (1 + np.abs(np.asarray(X)[:, 0]))


KERNELS = {
    "Centered": lambda: RBF(gamma=0.3).centered(REFERENCE),
    "Exp": lambda: kernels.exp(0.3 * RBF(gamma=0.4)),
    "Geometric": lambda: (RBF(gamma=0.4) + Constant(0.5)).geometric(2.5),
    "Normalized": lambda: Polynomial(degree=2, gamma=0.7, coef0=0.4).normalized(),
    "Normalized of categories": lambda: (Hamming() + 0.5).normalized(),
    "Normalized of a sum": lambda: (RBF(gamma=0.2) + 0.5 * Linear()).normalized(),
    "Normalized by logarithms": lambda: (0.7 * kernels.exp(0.3 * Linear()) ** 2 + 1.5).normalized(),
    "PolynomialOf": lambda: RBF(gamma=0.4).polynomial([0.5, 0.0, 2.0]),
    "Power fractional": lambda: (RBF(gamma=0.4) * Constant(0.3)) ** 0.7,
    "RBFOf": lambda: Polynomial(degree=2, gamma=0.5, coef0=1.0).rbf(3.0),
    "RBFOf categories": lambda: Hamming().rbf(1.5),
    "Scaled": lambda: RBF(gamma=0.6).scaled(decreasing),
    "Sum weighted": lambda: kernels.weighted_sum([Linear(), RBF(gamma=0.3)], [0.3, 0.7]),
}

SAMPLES: dict = {}
WRONG: dict = {}
HOLDS_DATA: tuple = (kernels.Centered, kernels.Scaled)
