"""Parameters: copies, names of kernels, searches, and a warm start."""

import pickle

import numpy as np
from laws.machines import (
    assert_identical,
    decision,
    every_classifier,
    every_estimator,
    fitted,
    weight_vector,
)
from numpy.testing import assert_allclose, assert_array_equal
from registry import softened, training_set
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from mercer.kernels import RBF, Kernel, Linear


@every_estimator
def test_clone_and_pickle(make):
    X, y = training_set(make())
    machine = fitted(make, X, y)
    copy = pickle.loads(pickle.dumps(machine))
    assert_array_equal(decision(copy, X), decision(machine, X))
    assert_identical(copy, machine)
    fresh = clone(machine)
    assert not hasattr(fresh, "dual_coef_")
    assert fresh.get_params().keys() == machine.get_params().keys()
    assert_identical(fresh.fit(X, y), machine)
    assert repr(fresh) == repr(machine) == repr(make())


@every_estimator
def test_set_params_makes_a_kernel_of_a_name(make):
    machine = make().set_params(kernel="rbf")
    assert machine.set_params(kernel__gamma=0.25) is machine
    assert machine.kernel == RBF(gamma=0.25)
    # together, in either order
    machine = make().set_params(kernel__degree=2, kernel="poly")
    assert (machine.kernel.degree, type(machine.kernel).__name__) == (2, "Polynomial")
    # the kernel that others hold is their own
    first = make().set_params(kernel="rbf", kernel__gamma=1.0)
    second = clone(first).set_params(kernel__gamma=2.0)
    assert (first.kernel.gamma, second.kernel.gamma) == (1.0, 2.0)
    # of a composite, by position
    machine = make().set_params(kernel=RBF() + Linear())
    machine.set_params(kernel__0__gamma=4.0)
    assert machine.kernel.kernels[0].gamma == 4.0


@every_estimator
def test_fit_leaves_parameters_alone(make):
    X, y = training_set(make())
    machine = make()
    before = machine.get_params()
    kernel = RBF(gamma="scale")
    machine.set_params(kernel=kernel).fit(X, y)
    assert machine.kernel is kernel
    assert kernel.gamma == "scale"
    assert isinstance(machine.kernel_, Kernel)
    assert isinstance(machine.kernel_.gamma, float)
    after = machine.set_params(kernel=before["kernel"]).get_params()
    assert all(after[name] is value for name, value in before.items() if "__" not in name)


@every_estimator
def test_grid_search(make):
    X, y = training_set(make())
    machine = make().set_params(kernel="rbf")
    scoring = None if hasattr(machine, "score") else lambda m, X, y: float(np.mean(m.predict(X)))
    grid = {"kernel__gamma": [0.1, 1.0], "tol": [1e-3, 1e-4]}
    search = GridSearchCV(machine, grid, cv=3, scoring=scoring).fit(X, y)
    assert search.best_estimator_.kernel_.gamma in (0.1, 1.0)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert len(search.predict(X)) == len(X)


@every_classifier
def test_cross_validation_of_a_precomputed_matrix(make):
    X, y = training_set(make())
    K = RBF(gamma=3.0)(X)
    given = cross_val_score(make().set_params(kernel="precomputed"), K, y, cv=4)
    assert_array_equal(given, cross_val_score(make().set_params(kernel=RBF(gamma=3.0)), X, y, cv=4))


@every_estimator
def test_html_and_text(make):
    machine = make()
    html = machine._repr_html_()
    assert "<style>" in html
    assert type(machine).__name__ in html
    assert type(machine).__name__ in repr(machine)
    X, y = training_set(machine)
    assert "fitted" in machine.fit(X, y)._repr_html_()
    assert "solved" in str(machine.result_)


@every_estimator
def test_warm_start(make):
    X, y = training_set(make(), n=300)
    machine = softened(make())
    cold = clone(machine).fit(X, y)
    warm = clone(machine).set_params(warm_start=True).fit(X, y)
    assert_identical(cold, warm)
    steps = warm.n_iter_
    again = warm.fit(X, y)
    assert again.result_.status == "solved"
    assert again.n_iter_ <= max(1, steps // 10)
    difference = weight_vector(again, len(X)) - weight_vector(cold, len(X))
    distance = np.sqrt(max(0.0, difference @ cold.kernel_(X) @ difference))
    assert distance <= np.sqrt(2 * cold.result_.gap) + np.sqrt(2 * again.result_.gap) + 1e-6
    # other samples, another number of them, another parameter
    moved = warm.fit(X + 0.01, y)
    assert moved.result_.status == "solved"
    fewer = warm.fit(X[:200], y[:200])
    assert_identical(fewer, clone(machine).set_params(warm_start=True).fit(X[:200], y[:200]))
    if hasattr(machine, "C"):
        other = warm.set_params(C=0.1).fit(X[:200], y[:200])
        fresh = clone(machine).set_params(C=0.1).fit(X[:200], y[:200])
        assert_allclose(decision(other, X), decision(fresh, X), rtol=1e-2, atol=1e-2)


@every_classifier
def test_warm_start_with_several_classes(make):
    X, y = training_set(make(), n=150, n_classes=3)
    warm = softened(make()).set_params(warm_start=True).fit(X, y)
    steps = warm.n_iter_
    assert warm.fit(X, y).n_iter_ <= max(3, steps // 10)
    assert warm.fit(X[y > 0], y[y > 0]).result_.status == "solved"
