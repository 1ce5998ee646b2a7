"""Quantile regression against scikit-learn's linear programme, and against what quantiles are."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from registry import training_set
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import GridSearchCV

from mercer import QuantileSVR, Tuned
from mercer.kernels import RBF
from mercer.svm import SVR

QUANTILES = [0.1, 0.25, 0.5, 0.8, 0.95]
every_quantile = pytest.mark.parametrize("quantile", QUANTILES)


def noisy(n, seed=0):
    """Values whose spread grows with the first feature."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 3.0, size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * X[:, 0] * rng.normal(size=n)


@every_quantile
def test_large_price_is_linear_quantile_regression(quantile):
    """Without a penalty it is the linear programme of scikit-learn's QuantileRegressor."""
    X, y = noisy(101)
    machine = QuantileSVR("linear", quantile=quantile, C=200.0, tol=1e-6).fit(X, y)
    peer = QuantileRegressor(quantile=quantile, alpha=0.0).fit(X, y)
    ours, theirs = (mean_pinball_loss(y, m.predict(X), alpha=quantile) for m in (machine, peer))
    assert theirs <= ours * (1 + 1e-9) <= theirs * (1 + 1e-4)
    assert_allclose(machine.coef_[0], peer.coef_, atol=0.02)


@every_quantile
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_share_of_values_below(quantile, C):
    """At most tau m below, at most (1 - tau) m above, whatever the penalty. [Takeuchi et al. 2006, lemma 3]"""
    X, y = noisy(120)
    machine = QuantileSVR(RBF(gamma=1.0), quantile=quantile, C=C, tol=1e-9).fit(X, y)
    off = y - machine.predict(X)
    below, above = np.mean(off < -1e-6), np.mean(off > 1e-6)
    assert below <= quantile + 1e-12
    assert above <= 1 - quantile + 1e-12
    assert machine.margin_errors_ == pytest.approx(below + above)


@every_quantile
def test_without_features_it_is_the_quantile_of_the_values(quantile):
    y = np.random.default_rng(3).normal(size=37)
    weight = np.random.default_rng(4).integers(0, 4, size=37)
    found = QuantileSVR("linear", quantile=quantile).fit(np.zeros((37, 1)), y, sample_weight=weight).intercept_[0]
    assert found == pytest.approx(np.quantile(np.repeat(y, weight), quantile, method="averaged_inverted_cdf"), abs=1e-9)


def test_the_median_is_a_tube_of_no_width():
    """tau = 1/2 prices both sides at C / 2."""
    X, y = training_set(SVR())
    median = QuantileSVR(RBF(gamma=0.5), C=3.0).fit(X, y)
    assert_allclose(median.predict(X), SVR(RBF(gamma=0.5), C=1.5, epsilon=0.0).fit(X, y).predict(X), atol=1e-6)


def test_mirrored_values_have_mirrored_quantiles():
    X, y = training_set(SVR())
    low = QuantileSVR(RBF(gamma=0.5), quantile=0.2).fit(X, y)
    high = QuantileSVR(RBF(gamma=0.5), quantile=0.8).fit(X, -y)
    assert_allclose(low.predict(X), -high.predict(X), atol=1e-6)


def test_tuning():
    """The whole grid over one kernel matrix finds what scikit-learn's search finds."""
    X, y = noisy(80)
    grid = {"C": [0.3, 3.0, 30.0], "quantile": [0.5, 0.8]}
    kernel = RBF(gamma=0.5)
    ours = Tuned(QuantileSVR(kernel), grid, cv=3).fit(X, y)
    theirs = GridSearchCV(QuantileSVR(kernel), grid, cv=3).fit(X, y)
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_score_ == pytest.approx(theirs.best_score_, rel=1e-3)
