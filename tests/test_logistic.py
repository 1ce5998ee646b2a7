"""Kernel logistic regression: what it refuses, and how it solves what it does not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from registry import LOGISTIC_SOLVERS
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer.errors import IndefiniteError
from mercer.gram import MatrixGram
from mercer.kernels import RBF, Sigmoid
from mercer.logistic import KernelLogisticRegression
from mercer.problems import logistic
from mercer.solvers import LogisticNewton
from mercer.solvers.logistic import Curvature

several = pytest.mark.parametrize("n_classes", [2, 3])


def lesson(rng, n_classes, n=90):
    X = rng.normal(size=(n, 3))
    return X, np.argmax(X[:, :n_classes] + 0.7 * rng.normal(size=(n, n_classes)), axis=1)


@several
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
def test_a_poor_preconditioner_leads_to_the_same_optimum(rng, monkeypatch, n_classes, C):
    """It takes more products with the kernel matrix; less where it may be replaced as soon as these are many."""
    X, y = lesson(rng, n_classes)
    machine = KernelLogisticRegression(RBF(gamma=0.3), C=C, tol=1e-8, memory=0.01)  # every product counts
    monkeypatch.setattr("mercer.solvers.logistic.LEAST_RANK", 3)
    values, results = [], []
    for rank, most in ((1000, 1000), (0, 1000), (0, 0)):
        monkeypatch.setattr("mercer.solvers.logistic.RANK", rank)
        monkeypatch.setattr("mercer.solvers.logistic.MOST_ROWS", most)
        values.append(machine.fit(X, y).decision_function(X))
        results.append(machine.result_)
    for other, result in zip(values, results, strict=True):
        assert_allclose(other, values[0], rtol=1e-4, atol=1e-4)
        assert result.status == "solved"
        assert_allclose(result.objective, results[0].objective, rtol=1e-9)
    exact, replaced, poor = (result.kernel_evaluations for result in results)
    if C <= 1.0:  # the preconditioner is all there is to solve: a step or two for each of Newton's
        assert exact <= len(X) ** 2 * (3 * results[0].n_iter + 2)
    assert exact <= replaced <= poor
    assert exact < replaced < poor or C < 1e4


@several
def test_a_matrix_that_is_not_kept(rng, n_classes):
    X, y = lesson(rng, n_classes)
    kept, made = (KernelLogisticRegression(memory=memory).fit(X, y) for memory in ("auto", 0.01))
    assert made.result_.kernel_evaluations > kept.result_.kernel_evaluations == len(X) ** 2
    assert_allclose(made.decision_function(X), kept.decision_function(X), rtol=1e-5, atol=1e-7)


def test_history_ends_with_the_certificate(rng):
    X, y = lesson(rng, 3)
    result = KernelLogisticRegression(C=100.0).fit(X, y).result_
    history = result.history
    assert_array_equal(history.iteration, np.arange(result.n_iter + 1))
    assert (history.gap[-1], history.violation[-1]) == (result.gap, result.violation)
    assert_allclose(history.objective[-1], result.dual_objective, rtol=1e-12)
    assert (np.diff(history.violation[-3:]) < 0).all()
    assert (history.objective <= result.primal_objective + 1e-9).all()  # every one of them is a bound
    assert "solved" in str(result)


def test_limits_are_told(rng):
    X, y = lesson(rng, 2)
    with pytest.warns(ConvergenceWarning, match=r"status max_iter.*Raise max_iter"):
        machine = KernelLogisticRegression(C=100.0, max_iter=2).fit(X, y)
    assert machine.n_iter_ == 2
    with pytest.warns(ConvergenceWarning, match=r"status stalled"):
        KernelLogisticRegression(C=100.0, tol=1e-30).fit(X, y)


def test_an_indefinite_kernel_is_refused(rng):
    X, y = lesson(rng, 2)
    with pytest.raises(
        IndefiniteError,
        match=r"KernelLogisticRegression needs .* smallest eigenvalue of this one is -",
    ):
        KernelLogisticRegression(Sigmoid(gamma=1.0, coef0=-1.0)).fit(X, y)


def test_separated_classes_have_a_solution(rng):
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    machine = KernelLogisticRegression("linear", C=1e6).fit(X, [0, 0, 1, 1])
    assert machine.result_.status == "solved"
    assert machine.predict_proba(X)[:, 1] == pytest.approx([0, 0, 1, 1], abs=1e-3)


@several
def test_large_prices_are_solved_in_their_objective_too(rng, n_classes):
    """A difference of 1e-6 in a probability is one of 1e4 in a coefficient."""
    for _ in range(4):
        X, y = lesson(rng, n_classes)
        result = KernelLogisticRegression(RBF(gamma=0.3), C=1e10).fit(X, y).result_
        assert result.status == "solved"
        assert result.relative_gap <= 1e-6


@several
def test_features_far_from_the_origin(rng, n_classes):
    """The intercepts take the distance, which is all that kernel values show at first sight."""
    X, y = lesson(rng, n_classes)
    near, far = (KernelLogisticRegression("linear").fit(X + shift, y) for shift in (0.0, 1e4))
    assert far.result_.status == "solved"
    assert_allclose(far.coef_, near.coef_, rtol=1e-5)
    assert_allclose(far.predict_proba(X + 1e4), near.predict_proba(X), atol=1e-5)
    with pytest.warns(ConvergenceWarning, match="status stalled"):  # rounding has left nothing of the features
        KernelLogisticRegression("linear").fit(X + 1e8, y)


def test_numbers_that_are_too_large(rng):
    X, y = lesson(rng, 2)
    with pytest.raises(ValueError, match="Prices, C times the weights, times kernel values are too large"):
        KernelLogisticRegression(C=1e300).fit(X, y)
    with pytest.raises(ValueError, match=r"the values of Linear\(\) overflow"):
        KernelLogisticRegression("linear").fit(1e200 * X, y)


@several
def test_rounding_in_the_preconditioner(rng, monkeypatch, n_classes):
    """It may be indefinite then; the steps are made all the same."""
    X, y = lesson(rng, n_classes)
    expected = KernelLogisticRegression().fit(X, y).decision_function(X)
    compressed = Curvature.compressed

    def off(self, F):
        found = compressed(self, F)
        return found - 2 * np.eye(len(found))

    monkeypatch.setattr(Curvature, "compressed", off)
    machine = KernelLogisticRegression().fit(X, y)
    assert machine.result_.status == "solved"
    assert_allclose(machine.decision_function(X), expected, atol=1e-4)


@several
def test_logarithms_of_probabilities(rng, n_classes):
    X, y = lesson(rng, n_classes)
    machine = KernelLogisticRegression(C=10.0).fit(X, y)
    probability = machine.predict_proba(X)
    assert_allclose(np.exp(machine.predict_log_proba(X)), probability, rtol=1e-12)
    assert_allclose(probability.sum(axis=1), 1.0)
    assert_array_equal(machine.predict(X), probability.argmax(axis=1))
    assert_allclose(machine.intercept_.mean() if n_classes > 2 else 0.0, 0.0, atol=1e-12)


@pytest.mark.parametrize("make", LOGISTIC_SOLVERS.values(), ids=LOGISTIC_SOLVERS.keys())
def test_solvers_are_values(rng, make):
    X, y = lesson(rng, 3)
    problem = logistic(MatrixGram(RBF(gamma=0.3)(X)), y, np.ones(len(y)))
    solver = make()
    before = solver.get_params()
    first, second = solver.solve(problem), clone(solver).solve(problem)
    assert_array_equal(first.coefficients, second.coefficients)
    assert solver.get_params() == before
    with pytest.raises(ValueError, match="tol must be a float > 0, got 0"):
        LogisticNewton(tol=0).solve(problem)
