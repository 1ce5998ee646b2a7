"""Samples that are no vectors go straight into every machine and every tool of scikit-learn."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from kernel_registry import KERNELS, samples
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import Pipeline

from mercer import SVC, SVR, NuSVC, OneClassSVM
from mercer.selection import tune

# Every kind of samples but numbers in rows, with every kernel that is definite.
structured = {
    name: make
    for name, make in KERNELS.items()
    if make().domain not in ("vectors", "categories", "any") and make().definite is True
}
first_of_each_domain = {make().domain: make for make in reversed(list(structured.values()))}
every_kernel = pytest.mark.parametrize("make", structured.values(), ids=structured.keys())
every_domain = pytest.mark.parametrize("make", first_of_each_domain.values(), ids=first_of_each_domain.keys())


def as_given(kernel, X):
    """Samples as people have them: a list, but a table is a table."""
    return X if kernel.domain == "table" else list(X)


def lesson(kernel, n=24, seed=0):
    """Samples that the kernel tells apart, and labels that say something of them."""
    X = samples(kernel, 2 * n, 6, seed)
    X = X[np.sort(np.unique(kernel(X).round(6), axis=0, return_index=True)[1])[:n]]
    K = kernel(X)
    closeness = K[:, 0] - K.mean(axis=1)
    return as_given(kernel, X), np.where(closeness > np.median(closeness), "near", "far")


@every_kernel
def test_a_machine_on_samples_is_that_on_their_matrix(make):
    kernel = make()
    X, y = lesson(kernel)
    new = as_given(kernel, samples(kernel, 9, 6, seed=1))
    machine = SVC(kernel, C=3.0, tol=1e-8).fit(X, y)
    given = SVC("precomputed", C=3.0, tol=1e-8).fit(kernel(X), y)
    scale = np.abs(given.decision_function(kernel(X))).max()
    assert_allclose(machine.decision_function(new), given.decision_function(kernel(new, X)), atol=1e-6 * scale)
    assert machine.result_.gap >= 0
    again = pickle.loads(pickle.dumps(machine))
    assert_array_equal(again.predict(new), machine.predict(new))


@every_kernel
def test_memory_makes_no_difference(make):
    kernel = make()
    X, y = lesson(kernel, 40)
    much, little = (SVC(kernel, memory=memory).fit(X, y) for memory in ("auto", 1e-3))
    assert_array_equal(much.decision_function(X), little.decision_function(X))
    assert_array_equal(much.dual_coef_, little.dual_coef_)


@every_domain
@pytest.mark.parametrize("contain", [tuple, pd.Series, lambda X: X], ids=["tuple", "Series", "list"])
def test_any_container_will_do(make, contain):
    kernel = make()
    if kernel.domain in ("table", "permutations"):
        pytest.skip("rows of a table are no samples by themselves")
    array = samples(kernel, 8, 6)
    X = list(array)
    assert_array_equal(kernel(contain(X)), kernel(array))
    assert_array_equal(kernel(contain(X), X[:3]), kernel(array, array[:3]))


@every_domain
def test_a_column_of_polars(make):
    kernel = make()
    if kernel.domain != "strings":
        pytest.skip("polars holds them as objects of its own")
    array = samples(kernel, 8, 6)
    assert_array_equal(kernel(pl.Series(list(array))), kernel(array))


@every_domain
def test_scikit_learn_splits_and_clones(make):
    kernel = make().rbf("median")  # of whole numbers, decision values may be zero
    X, y = lesson(make(), 30)
    search = GridSearchCV(Pipeline([("machine", SVC(kernel, tol=1e-8))]), {"machine__C": [0.1, 1.0, 10.0]}, cv=3).fit(
        X, y
    )
    assert set(search.predict(X)) <= {"near", "far"}
    tuned = tune(SVC(kernel, tol=1e-8), {"C": [0.1, 1.0, 10.0]}, cv=3).fit(X, y)
    assert tuned.best_params_["C"] == search.best_params_["machine__C"]
    assert_array_equal(tuned.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"])
    assert cross_val_score(clone(search.best_estimator_), X, y, cv=3).shape == (3,)
    train, test, y_train, y_test = train_test_split(X, y, random_state=0)
    assert 0.0 <= SVC(kernel, probability=True).fit(train, y_train).score(test, y_test) <= 1.0


@every_domain
def test_all_machines(make):
    kernel = make().rbf("median")
    X, y = lesson(make())
    value = (y == "near") * 1.0
    several = np.where(value > 0, "near", np.where(np.arange(len(y)) % 2, "far", "farther"))
    for machine in (NuSVC(kernel, nu=0.3), SVC(kernel, multi_class="crammer_singer"), SVC(kernel, multi_class="ovr")):
        assert set(machine.fit(X, several).predict(X)) <= set(several)
    assert np.isfinite(SVR(kernel).fit(X, value).predict(X)).all()
    assert set(OneClassSVM(kernel, nu=0.3).fit(X).predict(X)) <= {-1, 1}
