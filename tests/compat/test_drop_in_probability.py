"""Probabilities of the drop-in classes."""

import numpy as np
import pytest
from registry import training_set
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.svm import _base, _classes

from mercer import svm
from mercer.compat.layout import pairs_of
from mercer.compat.sklearn import SVC, NuSVC
from mercer.compat.sklearn.probability import class_probabilities, folds
from mercer.svm import margins

# scikit-learn 1.9 deprecates the parameter and its attributes.
pytestmark = pytest.mark.filterwarnings("ignore:.*prob:FutureWarning")


def platt(f, first):
    """A and B by a general minimiser: the sigmoid is the probability of the first class."""
    n, m = first.sum(), (~first).sum()
    t = np.where(first, (n + 1) / (n + 2), 1 / (m + 2))

    def loss(parameters):
        z = parameters[0] * f + parameters[1]
        return np.sum(np.logaddexp(0, z) - (1 - t) * z)

    return minimize(loss, [0.0, 0.0], tol=1e-12).x


@pytest.mark.parametrize("machine", [SVC(C=2.0, tol=1e-6), NuSVC(nu=0.4, tol=1e-6)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sigmoids_against_scikit_learn_fold_by_fold(machine, n_classes):
    X, y = training_set(machine, n=120, n_classes=n_classes)
    machine.set_params(probability=True, random_state=3, gamma=0.4).fit(X, y)
    seed = np.random.RandomState(3).randint(np.iinfo("i").max)
    theirs = getattr(_classes, type(machine).__name__)(**machine.get_params()).set_params(probability=False)
    for k, (i, j) in enumerate(pairs_of(n_classes)):
        f = np.full(len(y), np.nan)
        for train, test in folds(seed)(X, y, np.ones(len(y)), np.arange(n_classes)):
            train, test = train[np.isin(y[train], (i, j))], test[np.isin(y[test], (i, j))]
            f[test] = -theirs.fit(X[train], y[train]).decision_function(X[test])
        pair = np.isin(y, (i, j))
        assert np.allclose([machine.probA_[k], machine.probB_[k]], platt(f[pair], y[pair] == i), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_probabilities_from_the_sigmoids_are_libsvms(n_classes):
    X, y = training_set(SVC(), n=120, n_classes=n_classes)
    theirs = _classes.SVC(probability=True, random_state=0).fit(X, y)
    machine = SVC(probability=True, random_state=0).fit(X, y)
    for name in ("support_", "support_vectors_", "_n_support", "_dual_coef_", "_intercept_", "_probA", "_probB"):
        setattr(machine, name, getattr(theirs, name))
    # LIBSVM's coupling is an iteration that ends at an error of 0.005 / n_classes.
    assert np.abs(machine.predict_proba(X) - theirs.predict_proba(X)).max() < 0.005


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities(n_classes):
    X, y = training_set(SVC(), n=300, n_classes=n_classes)
    machine = SVC(probability=True, random_state=0).fit(X, y)
    p = machine.predict_proba(X)
    assert p.shape == (300, n_classes)
    assert np.allclose(p.sum(axis=1), 1.0)
    assert np.mean(p.argmax(axis=1) == machine.predict(X)) > 0.9
    assert np.allclose(machine.predict_log_proba(X), np.log(p))
    theirs = _classes.SVC(probability=True, random_state=0).fit(X, y)
    assert np.abs(p - theirs.predict_proba(X)).mean() < 0.03  # other folds
    assert np.array_equal(SVC(probability=True, random_state=0).fit(X, y).predict_proba(X), p)
    assert not np.array_equal(SVC(probability=True, random_state=1).fit(X, y).predict_proba(X), p)
    sparse = SVC(probability=True, random_state=0).fit(csr_array(X), y)
    assert np.allclose(sparse.predict_proba(csr_array(X)), p, atol=1e-4)
    given = SVC(probability=True, random_state=0, tol=1e-6, kernel=lambda A, B: A @ B.T).fit(X, y)
    linear = SVC(probability=True, random_state=0, tol=1e-6, kernel="linear").fit(X, y)
    assert np.allclose(given.predict_proba(X), linear.predict_proba(X), atol=1e-4)


def test_no_call_into_libsvm(monkeypatch):
    monkeypatch.setattr(_base, "libsvm", None)
    monkeypatch.setattr(_base, "libsvm_sparse", None)
    X, y = training_set(SVC(), n_classes=3)
    for data in (X, csr_array(X)):
        assert SVC(probability=True).fit(data, y).predict_proba(data).shape == (60, 3)


def test_the_model_is_that_without_probabilities():
    X, y = training_set(SVC(), n_classes=3)
    plain, machine = SVC().fit(X, y), SVC(probability=True).fit(X, y)
    assert np.array_equal(machine.dual_coef_, plain.dual_coef_)
    assert np.array_equal(machine.decision_function(X), plain.decision_function(X))
    assert len(plain.probA_) == len(plain.probB_) == 0


def test_weights_move_the_machines_and_not_the_sigmoids():
    X, y = training_set(SVC())
    twice = SVC(C=0.5, probability=True, random_state=0).fit(X, y, sample_weight=np.full(len(y), 2.0))
    once = SVC(C=1.0, probability=True, random_state=0).fit(X, y)
    assert twice.probA_ == once.probA_
    assert twice.probB_ == once.probB_


def test_folds():
    codes = np.array([0, 1, -1, 1, 1, 2, 1, 1, 1])
    splits = folds(0)(None, codes, np.ones(9), np.arange(3))
    assert sorted(np.concatenate([test for _, test in splits])) == [1, 3, 4, 6, 7, 8]
    for train, test in splits:
        assert {0, 5} <= set(train)
        assert sorted([*train, *test]) == [0, 1, 3, 4, 5, 6, 7, 8]


def test_no_warning_but_scikit_learns(monkeypatch):
    told = []
    monkeypatch.setattr(margins, "warn_unless_solved", lambda *about: told.append(about))
    X, y = training_set(SVC())
    SVC(probability=True).fit(X, y)
    assert not told
    svm.SVC(probability=True).fit(X, y)
    assert told  # of the folds


def test_classes_of_one_sample():
    X = np.array([[0.0], [1.0], [1.2], [1.4], [3.0]])
    machine = SVC(probability=True, random_state=0).fit(X, [1, 2, 2, 2, 3])
    assert np.allclose(machine.predict_proba(X).sum(axis=1), 1.0)
    assert machine.probA_[1] == machine.probB_[1] == 0.0  # no sample of 1 or 3 can be held out
    alone = SVC(probability=True).fit([[0.0], [1.0]], [0, 1])
    assert np.allclose(alone.predict_proba([[0.0], [3.0]]), 0.5)


def test_a_class_without_weight_is_improbable():
    X, y = training_set(SVC(), n=90, n_classes=3)
    machine = SVC(probability=True, random_state=0).fit(X, y, sample_weight=y != 1)
    p = machine.predict_proba(X)
    assert p[:, 1].max() < 1e-5
    two = SVC(probability=True, random_state=0, gamma=machine._gamma).fit(X[y != 1], y[y != 1])
    assert np.abs(p[:, [0, 2]] - two.predict_proba(X)).mean() < 0.05  # other folds


def test_not_fitted_for_probabilities():
    X, y = training_set(SVC())
    machine = SVC().fit(X, y)
    assert not hasattr(machine, "predict_proba")
    machine.probability = True
    with pytest.raises(NotFittedError, match="not available when fitted with probability=False"):
        machine.predict_proba(X)


def test_coupling_of_two_classes_is_the_sigmoid():
    values = np.array([[-1.0], [0.0], [2.0]])
    p = class_probabilities(values, np.array([-2.0]), np.array([0.5]), 2)
    assert np.allclose(p[:, 0], 1 / (1 + np.exp(-2.0 * values[:, 0] + 0.5)))
