"""Searches and weights of kernels on the workers of a joblib backend: what they find is what they find here."""

from contextlib import nullcontext

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV

import mercer
from mercer import SVC, KernelRidge, MKLClassifier, TunedSVC, TunedSVR
from mercer.kernels import RBF, FromFunction
from mercer.selection import tune
from mercer.threads import effective_n_threads, side_by_side_elsewhere


def vectors(n=120):
    return np.random.default_rng(0).normal(size=(n, 3))


def classes(X):
    return (X[:, 0] + X[:, 1] ** 2 + 0.5 * X[:, 2] > 0.5).astype(int)


def values(X):
    return np.sin(X[:, 0])


def similarity(X, Y):
    return np.exp(-0.3 * ((X[:, None] - Y) ** 2).sum(axis=2))


WIDTHS = {"kernel__gamma": [0.1, 0.3, 1.0]}
SEARCHES = {
    "TunedSVC": (lambda: TunedSVC(param_grid=WIDTHS | {"C": [0.1, 1, 10, 100]}), classes),
    "TunedSVC with probabilities": (lambda: TunedSVC(param_grid=WIDTHS | {"C": [1, 10]}, probability=True), classes),
    "TunedSVC adaptive": (lambda: TunedSVC(search="adaptive"), classes),
    "TunedSVR": (lambda: TunedSVR(param_grid=WIDTHS | {"C": [0.1, 1]}), values),
    "one by one": (lambda: tune(KernelRidge(RBF()), WIDTHS | {"alpha": [0.1, 1]}), values),
    "a kernel in Python": (
        lambda: tune(SVC(), {"kernel": [FromFunction(similarity), RBF(0.3)], "C": [1, 10]}),
        classes,
    ),
    "cells without a solution": (lambda: tune(mercer.NuSVC(RBF()), WIDTHS | {"nu": [0.2, 0.99]}), classes),
}
TABLE = [f"split{k}_test_score" for k in range(5)]


def searched(name):
    make, targets = SEARCHES[name]
    X = vectors()
    with pytest.warns(FitFailedWarning) if name == "cells without a solution" else nullcontext():
        return make().fit(X, targets(X))


def assert_same(found, wanted):
    for column in TABLE:
        assert_array_equal(found.cv_results_[column], wanted.cv_results_[column])
    assert found.best_params_ == wanted.best_params_
    assert_array_equal(found.machine_.dual_coef_, wanted.machine_.dual_coef_)


@pytest.fixture
def elsewhere(monkeypatch):
    """How many groups of cells have been sent to workers."""
    sent = []
    send = side_by_side_elsewhere

    def counting(function, tasks):
        sent.extend(tasks)
        return send(function, tasks)

    monkeypatch.setattr("mercer.selection.search.side_by_side_elsewhere", counting)
    monkeypatch.setattr("mercer.mkl.base.side_by_side_elsewhere", counting)
    return sent


@pytest.mark.parametrize("name", SEARCHES)
def test_searches_in_threads(elsewhere, name):
    wanted = searched(name)
    assert not elsewhere
    with joblib.parallel_config("threading", n_jobs=3):
        assert_same(searched(name), wanted)
    assert elsewhere


@pytest.mark.parametrize("name", SEARCHES)
def test_searches_on_workers(client, elsewhere, name):
    wanted = searched(name)
    with joblib.parallel_config("dask"):
        assert_same(searched(name), wanted)
    assert elsewhere


def test_a_search_ends_in_time():
    X = vectors()
    with (
        joblib.parallel_config("threading", n_jobs=2),
        pytest.raises(ValueError, match="None of the 12 cells has a score on every split: max_seconds is too short"),
    ):
        TunedSVC(param_grid=WIDTHS | {"C": [0.1, 1, 10, 100]}, max_seconds=1e-6).fit(X, classes(X))


def test_a_journal_keeps_a_search_here(elsewhere, tmp_path):
    X = vectors()
    with joblib.parallel_config("threading", n_jobs=2):
        TunedSVC(param_grid=WIDTHS | {"C": [1, 10]}, journal=tmp_path / "journal").fit(X, classes(X))
    assert not elsewhere


def test_weights_of_kernels_on_workers(client, elsewhere):
    X = vectors()
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    machine = MKLClassifier(multi_class="ovr", shared=False)
    wanted = machine.fit(X, y).decision_function(X)
    weights = machine.weights_
    assert not elsewhere
    for backend in ({"backend": "dask"}, {"backend": "threading", "n_jobs": 2}):
        with joblib.parallel_config(**backend):
            assert_array_equal(machine.fit(X, y).decision_function(X), wanted)
        assert_array_equal(machine.weights_, weights)
    assert len(elsewhere) == 6 and [result.status for result in machine.weights_result_] == ["solved"] * 3


def test_the_search_of_scikit_learn_on_workers(client):
    X = vectors()
    grid = GridSearchCV(SVC(RBF()), WIDTHS | {"C": [1, 10]}, cv=3)
    wanted = grid.fit(X, classes(X)).cv_results_["mean_test_score"]
    with joblib.parallel_config("dask"):
        assert_array_equal(grid.fit(X, classes(X)).cv_results_["mean_test_score"], wanted)
    with joblib.parallel_config("dask"):  # a search in a search
        inner = TunedSVC(param_grid=WIDTHS)
        assert GridSearchCV(inner, {"cv": [2, 3]}, cv=2).fit(X, classes(X)).best_score_ > 0.5


def test_tasks_do_not_take_each_others_threads(client, monkeypatch):
    """One each, unless their process says otherwise: Dask's workers do."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with joblib.parallel_config("threading", n_jobs=2):
        assert side_by_side_elsewhere(effective_n_threads, [()] * 3) == [1, 1, 1]
        monkeypatch.setenv("OMP_NUM_THREADS", "2")
        assert side_by_side_elsewhere(effective_n_threads, [()]) == [min(2, effective_n_threads(-1))]
    assert set(client.run(effective_n_threads).values()) == {1}
