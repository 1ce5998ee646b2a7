"""Relevance vector machines: how a search for the width ends, what is refused, what is told."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer.kernels import RBF
from mercer.rvm import RelevanceVectorRegressor, base


@pytest.fixture
def curve():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 6, size=(40, 1))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=40)


@pytest.fixture
def fits(monkeypatch):
    """What every solver was asked for."""
    found = []

    class Counting(base.SparseBayes):
        def solve(self, *args):
            found.append(self.max_seconds)
            return super().solve(*args)

    monkeypatch.setattr(base, "SparseBayes", Counting)
    return found


@pytest.mark.parametrize("limit", [{"max_seconds": 1e-9}, {"callback": lambda _: True}])
def test_a_fit_that_is_ended_ends_the_search_for_the_width(curve, fits, limit):
    with pytest.warns(ConvergenceWarning):
        machine = RelevanceVectorRegressor(RBF(gamma=0.1), gamma="evidence", **limit).fit(*curve)
    assert len(fits) == 2  # at the start, and the model that is returned
    assert machine.kernel_.gamma == 0.1


def test_all_outputs_together_have_max_seconds(curve, fits):
    X, y = curve
    RelevanceVectorRegressor(max_seconds=1000.0).fit(X, np.column_stack([y, -y, y**2]))
    assert fits == sorted(fits, reverse=True)
    assert len(set(fits)) == 3


def test_a_width_is_a_parameter_of_the_kernel(curve):
    with pytest.raises(ValueError, match=r"gamma must be None or 'evidence', got 0\.5; .*RBF\(gamma=0\.5\)"):
        RelevanceVectorRegressor(gamma=0.5).fit(*curve)


def test_a_design_matrix_has_all_its_columns_in_predictions(curve):
    X, y = curve
    machine = RelevanceVectorRegressor(basis="precomputed").fit(X ** np.arange(6), y)
    with pytest.raises(ValueError, match=r"X has 2 features, but RelevanceVectorRegressor is expecting 6"):
        machine.predict(X ** np.arange(2))


def test_augmented_spreads_need_a_fit_that_keeps_the_samples(curve):
    machine = RelevanceVectorRegressor().fit(*curve).set_params(variance="augmented")
    with pytest.raises(ValueError, match="variance='augmented' needs the training samples"):
        machine.predict(curve[0], return_std=True)


def test_a_result_is_told_in_plain_numbers(curve):
    assert "np." not in repr(RelevanceVectorRegressor().fit(*curve).result_)
