"""LinearSVC and LinearSVR of `mercer.compat.sklearn`."""

import numpy as np
import pytest
from registry import training_set
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from mercer.compat.sklearn import LinearSVC, LinearSVR

LINEAR = [LinearSVC(), LinearSVC(penalty="l1"), LinearSVC(loss="hinge"), LinearSVR()]


@pytest.mark.parametrize("machine", LINEAR)
def test_max_iter(machine):
    X, y = training_set(machine, d=12)
    with pytest.warns(ConvergenceWarning, match="Liblinear failed to converge, increase the number") as caught:
        machine.set_params(max_iter=1).fit(X, y)
    assert len(caught) == 1
    assert machine.n_iter_ == 1
    assert isinstance(machine.n_iter_, int)


@pytest.mark.parametrize(
    "parameters",
    [{"loss": "hinge", "dual": False}, {"penalty": "l1", "dual": True}, {"penalty": "l1", "loss": "hinge"}],
)
def test_what_liblinear_cannot_do_is_refused(parameters):
    X, y = training_set(LinearSVC())
    with pytest.raises(ValueError, match="Unsupported set of arguments"):
        LinearSVC(**parameters).fit(X, y)
    with pytest.raises(ValueError, match="Unsupported set of arguments"):
        LinearSVR(dual=False).fit(X, y)


def test_other_refusals():
    X, y = training_set(LinearSVC())
    with pytest.raises(ValueError, match="The 'intercept_scaling' parameter of LinearSVC must be a float in the range"):
        LinearSVC(intercept_scaling=0).fit(X, y)
    with pytest.raises(ValueError, match="needs samples of at least 2 classes"):
        LinearSVC().fit(X, np.zeros(len(X)))


@pytest.mark.parametrize("machine", [LinearSVC(fit_intercept=False), LinearSVR(fit_intercept=False)])
def test_without_an_offset(machine):
    X, y = training_set(machine)
    machine.fit(X, y)
    assert machine.intercept_ == 0.0
    assert np.ndim(machine.intercept_) == 0
    f = machine.decision_function(X) if hasattr(machine, "decision_function") else machine.predict(X)
    assert np.allclose(f, X @ machine.coef_.ravel())


@pytest.mark.parametrize("machine", LINEAR)
def test_samples_without_weight_are_no_samples(machine):
    X, y = training_set(machine)
    machine.set_params(tol=1e-8, max_iter=1000)
    weight = np.ones(len(X))
    weight[[0, 3]], weight[[7, 20]] = 0.0, -1.0
    weighted = machine.fit(X, y, sample_weight=weight).predict(X)
    assert np.allclose(weighted, machine.fit(X[weight > 0], y[weight > 0]).predict(X), atol=1e-6)


def test_verbose_shows_the_certificate(capsys):
    X, y = training_set(LinearSVC())
    machine = LinearSVC(verbose=1).fit(X, y)
    assert str(machine.result_) in capsys.readouterr().out


def test_l1_leaves_out_features(rng):
    X, y = training_set(LinearSVC(), n=200)
    X = np.hstack([X, rng.normal(size=(200, 20))])
    for data in (X, csr_array(X)):
        few = LinearSVC(penalty="l1", C=0.05).fit(data, y)
        assert 0 < np.count_nonzero(few.coef_) < 10
        assert few.coef_[0, 0] != 0.0
