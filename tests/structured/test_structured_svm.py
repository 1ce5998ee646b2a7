"""`StructuredSVM`, what it shares with all estimators, and what it refuses."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV

from mercer.errors import LossError
from mercer.kernels import Spectrum
from mercer.structured import Multiclass, StructuredSVM

X, Y = load_iris(return_X_y=True)
X = X - X.mean(axis=0)
MIXED = np.random.default_rng(0).permutation(len(Y))
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


def test_it_learns_and_proves_it():
    machine = StructuredSVM(Multiclass(bias=1.0)).fit(X, NAMES)
    assert machine.result_.status == "solved" and machine.result_.relative_gap <= 1e-3
    assert machine.score(X, NAMES) > 0.9
    assert set(machine.predict(X)) == set(NAMES)


def test_the_certificate_is_that_of_the_weights():
    machine = StructuredSVM(Multiclass(), C=0.5).fit(X, Y)
    scores = X @ machine.coef_.reshape(3, 4).T
    ahead = scores - scores[np.arange(len(Y)), Y][:, np.newaxis]
    losses = (ahead + (1.0 - np.eye(3))[Y]).max(axis=1)
    np.testing.assert_allclose(machine.result_.losses, losses, atol=1e-12)
    primal = 0.5 * machine.coef_ @ machine.coef_ + 0.5 * losses.sum()
    assert machine.result_.primal_objective == pytest.approx(primal, rel=1e-12)


def test_the_price_of_losses_can_be_searched():
    search = GridSearchCV(StructuredSVM(Multiclass(bias=1.0)), {"C": [1e-3, 1.0], "model__bias": [0.0, 1.0]}, cv=3)
    search.fit(X[MIXED], NAMES[MIXED])
    assert search.best_params_ == {"C": 1.0, "model__bias": 1.0}
    assert clone(search.best_estimator_).get_params()["C"] == 1.0


def test_classes_that_were_never_seen_are_wrong():
    machine = StructuredSVM(Multiclass(bias=1.0)).fit(X[Y > 0], NAMES[Y > 0])
    assert machine.score(X[Y == 0], NAMES[Y == 0]) == 0.0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": -1.0}, "C must be a float > 0, got -1.0"),
        ({"algorithm": "best"}, "algorithm must be one of .*, or a solver, got 'best'"),
        ({"rescaling": "none"}, "rescaling must be 'margin' or 'slack', got 'none'"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        StructuredSVM(Multiclass(), **parameters).fit(X, Y)


@pytest.mark.parametrize(
    ("costs", "error", "message"),
    [
        ([[0, 1], [1, 0]], ValueError, r"cost_matrix must have shape \(3, 3\) for 3 classes, got \(2, 2\)"),
        ([[0, 1, 1], [1, 2, 1], [1, 1, 0]], LossError, r"cost_matrix must be 0 on its diagonal, got \[0.0, 2.0, 0.0\]"),
        ([[0, 1, 0], [1, 0, 1], [1, 1, 0]], LossError, "cost_matrix must be finite and > 0 off its diagonal"),
        ([[0, 1, -1], [1, 0, 1], [1, 1, 0]], LossError, "cost_matrix must be finite and > 0 off its diagonal"),
        ([[0, 1, np.nan], [1, 0, 1], [1, 1, 0]], LossError, "cost_matrix must be finite and > 0 off its diagonal"),
    ],
)
def test_costs_that_are_no_loss(costs, error, message):
    with pytest.raises(error, match=message):
        StructuredSVM(Multiclass(cost_matrix=costs)).fit(X, Y)


def test_no_samples():
    machine = StructuredSVM(Multiclass())
    with pytest.raises(ValueError, match="X must have at least one sample, got none"):
        machine.fit([], [])
    with pytest.raises(ValueError, match="X must have at least one sample, got none"):
        machine.fit(X, Y).predict(X[:0])


def test_a_model_is_needed():
    with pytest.raises(TypeError, match="model must be a StructuredModel, got 3"):
        StructuredSVM(3).fit(X, Y)


def test_samples_of_any_kind_by_features():
    words, kinds = ["gattaca", "cattaga", "tacocat", "mississippi", "mission", "sips"], [0, 0, 0, 1, 1, 1]
    for features in (Spectrum(2), CountVectorizer(analyzer="char", ngram_range=(2, 2))):
        machine = StructuredSVM(Multiclass(features)).fit(words, kinds)
        assert_array_equal(machine.predict(["attack", "missing"]), [0, 1])
    with pytest.raises(TypeError, match="features must be a transformer, a kernel with features or None, got 'words'"):
        StructuredSVM(Multiclass("words")).fit(words, kinds)


def test_any_number_of_threads_gives_the_same():
    found = [StructuredSVM(Multiclass(bias=1.0), n_threads=n).fit(X, Y).coef_ for n in (1, 2, 5)]
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])


def test_weights_of_samples():
    weight = np.random.default_rng(1).integers(0, 3, len(Y))
    weighed = StructuredSVM(Multiclass(), gap_tol=1e-6).fit(X, Y, weight)
    repeated = StructuredSVM(Multiclass(), gap_tol=1e-6).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    assert weighed.result_.primal_objective == pytest.approx(repeated.result_.primal_objective, rel=2e-6)
    np.testing.assert_allclose(weighed.coef_, repeated.coef_, atol=0.02)


def test_limits_and_callbacks():
    with pytest.warns(ConvergenceWarning, match="StructuredSVM .* Raise max_iter or gap_tol"):
        machine = StructuredSVM(Multiclass(), gap_tol=1e-9, max_iter=3).fit(X, Y)
    assert machine.result_.status == "max_iter" and machine.result_.gap > 0
    seen = []
    with pytest.warns(ConvergenceWarning, match="The callback stopped it"):
        StructuredSVM(Multiclass(), gap_tol=1e-9, callback=lambda progress: seen.append(progress) or True).fit(X, Y)
    assert len(seen) == 1 and seen[0].n_iter == 1
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        StructuredSVM(Multiclass(), gap_tol=1e-9, max_seconds=1e-9).fit(X, Y)
