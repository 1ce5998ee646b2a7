"""Relevance vector regression: what is signal is not taken for noise."""

import numpy as np
import pytest

from mercer.kernels import RBF
from mercer.rvm import RelevanceVectorRegressor


@pytest.mark.parametrize("gamma", [0.03, 0.06, 0.1, 0.3, 1.0])
def test_wide_kernels_find_the_noise_of_a_curve(gamma):
    rng = np.random.default_rng(0)
    X = rng.uniform(-5, 5, size=(100, 1))
    y = np.sin(X[:, 0]) / X[:, 0] + 0.1 * rng.normal(size=100)
    machine = RelevanceVectorRegressor(RBF(gamma=gamma)).fit(X, y)
    assert 0.08 < np.sqrt(machine.noise_variance_) < 0.12


def test_a_wave_of_many_periods_is_no_noise():
    X = np.random.default_rng(0).uniform(-10, 10, size=(150, 1))
    assert RelevanceVectorRegressor("rbf").fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.999
