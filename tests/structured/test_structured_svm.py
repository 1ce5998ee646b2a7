"""`StructuredSVM`, what it shares with all estimators, and what it refuses."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

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


def test_a_model_is_needed():
    with pytest.raises(TypeError, match="model must be a StructuredModel, got 3"):
        StructuredSVM(3).fit(X, Y)
