"""Relevance vector regression: what is signal is not taken for noise."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning

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


def test_what_rounding_hides_is_told():
    """Hundreds of nearly dependent basis functions that are to follow the noise."""
    X, y = load_diabetes(return_X_y=True)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), y - y.mean()
    machine = RelevanceVectorRegressor(RBF(gamma=0.01), noise=1e-5 * y.var())
    with pytest.warns(ConvergenceWarning, match="status stalled"):
        machine.fit(X[::2], y[::2])
    assert machine.result_.violation > machine.tol
