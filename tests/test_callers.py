"""Warnings point at the line that called the library."""

import pytest
from machine_registry import lesson
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.callers import warn_caller

HASTY = [
    mercer.SVC(max_iter=2),
    mercer.SVR(max_iter=2),
    mercer.LinearSVC(max_iter=1),
    mercer.KernelRidge(memory=0.01, max_iter=1),
    mercer.KernelLogisticRegression(max_iter=1),
    mercer.RegularizedClassifier(max_iter=1),
    mercer.GaussianProcessRegressor(max_iter=1),
    mercer.AnalyticCenterMachine(soft_boundary=1.0, max_iter=1),
    mercer.BayesPointMachine(soft_boundary=1.0, max_iter=1),
    mercer.KernelKMeans(n_clusters=4, max_iter=1, n_init=1),
    mercer.KernelPCA(n_components=2, eigen_solver="lanczos", max_iter=1),
]


@pytest.mark.parametrize("machine", HASTY, ids=lambda machine: type(machine).__name__)
def test_a_machine_that_ran_out_of_steps(machine):
    for whole in (machine, make_pipeline(StandardScaler(), machine)):
        with pytest.warns(ConvergenceWarning) as caught:
            whole.fit(*lesson(machine))
        assert [warning.filename for warning in caught] == [__file__]


def test_through_scikit_learn():
    machine = mercer.KernelPCA(n_components=2, eigen_solver="lanczos", max_iter=1)
    with pytest.warns(ConvergenceWarning) as caught:
        machine.fit_transform(*lesson(machine))  # which scikit-learn wraps
    assert [warning.filename for warning in caught] == [__file__]
    machine = mercer.SVC(max_iter=2)
    with pytest.warns(ConvergenceWarning) as caught:
        cross_val_score(machine, *lesson(machine), cv=2)
    assert {warning.filename for warning in caught} == {__file__}


def test_from_outside():
    with pytest.warns(UserWarning, match="oh") as caught:
        warn_caller("oh", UserWarning)
    assert caught[0].filename == __file__
