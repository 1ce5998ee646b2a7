"""Losses, penalties and the machines of the representer theorem: their own behaviour."""

import inspect
import re

import numpy as np
import pytest
from machine_registry.regularized import LOSSES, PENALTIES, LogCosh
from numpy.testing import assert_allclose, assert_array_equal
from registry import REGULARIZED_SOLVERS, training_set
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from mercer import regularized
from mercer.errors import IndefiniteError
from mercer.kernels import RBF, Sigmoid
from mercer.problems import RegularizedProblem
from mercer.problems.losses import NAMES as LOSS_NAMES
from mercer.problems.losses import as_loss
from mercer.regularized import (
    Hinge,
    Huber,
    Loss,
    NormPower,
    Penalty,
    Pinball,
    RegularizedClassifier,
    RegularizedRegressor,
)
from mercer.svm import SVC, SVR

every_loss = pytest.mark.parametrize("name", LOSSES)
every_penalty = pytest.mark.parametrize("name", PENALTIES)


def points(loss, n=200, seed=0):
    """Decision values and what was wanted."""
    rng = np.random.default_rng(seed)
    f = 3 * rng.normal(size=n)
    return f, np.where(rng.random(n) < 0.5, -1.0, 1.0) if loss.classes else rng.normal(size=n)


def problem(loss, n=40):
    """A machine with the loss, and samples for it."""
    if getattr(loss, "classes", False):
        return RegularizedClassifier(RBF(gamma=0.5), loss=loss), *training_set(SVC(), n=n)
    return RegularizedRegressor(RBF(gamma=0.5), loss=loss), *training_set(SVR(), n=n)


# --- laws of losses ---------------------------------------------------------------------------------------


def test_registry_is_complete():
    public = [getattr(regularized, name) for name in regularized.__all__]
    for base, registered in ((Loss, LOSSES), (Penalty, PENALTIES)):
        kinds = {kind for kind in public if issubclass(kind, base) and not inspect.isabstract(kind)}
        assert kinds <= {type(make()) for make in registered.values()}


@every_loss
def test_derivative(name):
    loss = LOSSES[name]()
    f, y = points(loss)
    step = 1e-6
    difference = (loss.value(f + step, y) - loss.value(f - step, y)) / (2 * step)
    assert_allclose(loss.derivative(f, y), difference, rtol=1e-6, atol=1e-7)
    if loss.smooth:
        difference = (loss.derivative(f + step, y) - loss.derivative(f - step, y)) / (2 * step)
        assert_allclose(loss.second_derivative(f, y), difference, rtol=1e-6, atol=1e-6)


@every_loss
def test_convex_and_never_negative(name):
    loss = LOSSES[name]()
    f, y = points(loss)
    g, _ = points(loss, seed=1)
    assert (loss.value(f, y) >= 0).all()
    tangent = loss.value(g, y) + loss.derivative(g, y) * (f - g)
    assert (loss.value(f, y) >= tangent - 1e-12 * (1 + np.abs(tangent))).all()


@every_loss
@pytest.mark.parametrize("width", [1e-3, 0.7, 30.0])
def test_smoothed(name, width):
    """Against the envelope as it is defined, and the general way against that of the loss."""
    loss = LOSSES[name]()
    z, y = points(loss, n=25)
    slope, curvature = loss.smoothed(z, y, width)
    for k in range(25):

        def envelope(g, k=k):
            return loss.value(np.array([g]), y[k : k + 1])[0] + (z[k] - g) ** 2 / (2 * width)

        at = z[k] - width * slope[k]
        best = minimize_scalar(envelope, bracket=(at - 0.1, at + 0.1), tol=1e-12)
        assert envelope(at) <= best.fun + 1e-12 * (1 + best.fun)
    general = Loss.smoothed(loss, z, y, width)
    assert_allclose(slope, general[0], rtol=1e-9, atol=1e-9)
    assert_allclose(curvature, general[1], rtol=1e-3, atol=1e-6)


@every_loss
def test_parameters_and_repr(name):
    loss = LOSSES[name]()
    assert repr(clone(loss)) == repr(loss)
    assert as_loss(loss) is loss


@pytest.mark.parametrize("name", LOSS_NAMES)
def test_names(name):
    machine, X, y = problem(as_loss(name))
    named = machine.set_params(loss=name).fit(X, y).dual_coef_
    assert_array_equal(named, machine.set_params(loss=as_loss(name)).fit(X, y).dual_coef_)


# --- laws of penalties ------------------------------------------------------------------------------------


@every_penalty
def test_penalty(name):
    penalty = PENALTIES[name]()
    norms = np.linspace(0.01, 4.0, 60)
    values = np.array([penalty.value(r) for r in norms])
    slopes = np.array([penalty.derivative(r) for r in norms])
    step = 1e-6
    assert_allclose(
        slopes, [(penalty.value(r + step) - penalty.value(r - step)) / (2 * step) for r in norms], rtol=1e-6
    )
    bends = [(penalty.derivative(r + step) - penalty.derivative(r - step)) / (2 * step) for r in norms]
    assert_allclose([penalty.second_derivative(r) for r in norms], bends, rtol=1e-5, atol=1e-6)
    assert (np.diff(values) > 0).all()
    assert (np.diff(slopes) >= 0).all()
    for r, value, slope in zip(norms, values, slopes, strict=True):
        conjugate = penalty.conjugate(slope)
        assert conjugate >= (slope * norms - values).max() - 1e-12  # Fenchel and Young
        assert conjugate == pytest.approx(slope * r - value, abs=1e-9)
        assert Penalty.conjugate(penalty, slope) == pytest.approx(conjugate, abs=1e-9)


def test_slopes_that_a_penalty_never_has():
    assert NormPower(1.0).conjugate(1.5) == Penalty.conjugate(NormPower(1.0), 1.5) == np.inf


# --- losses of others -------------------------------------------------------------------------------------


class Quartic:
    """Anything with these two functions is a loss."""

    def value(self, f, y):
        return (f - y) ** 4

    def derivative(self, f, y):
        return 4 * (f - y) ** 3


class SmoothQuartic(Quartic):
    def second_derivative(self, f, y):
        return 12 * (f - y) ** 2


def test_any_object_with_two_functions():
    machine, X, y = problem(Quartic())
    machine.fit(X, y)
    assert machine.result_.status == "solved"
    assert np.isfinite(machine.result_.bound)
    smooth = clone(machine).set_params(loss=SmoothQuartic()).fit(X, y)
    assert_allclose(machine.predict(X), smooth.predict(X), atol=1e-4)


def test_kinks_are_found():
    """The absolute error by value and derivative alone is the tube of no width."""

    class Absolute(Loss):
        def value(self, f, y):
            return np.abs(f - y)

        def derivative(self, f, y):
            return np.sign(f - y)

    machine, X, y = problem(Absolute())
    same = clone(machine).set_params(loss=Pinball(0.5), C=2.0).fit(X, y)
    assert_allclose(machine.fit(X, y).predict(X), same.predict(X), atol=1e-5)


@pytest.mark.parametrize(
    ("value", "derivative", "message"),
    [
        (lambda f, y: np.sqrt(np.abs(f - y)), lambda f, y: 0.5 * np.sign(f - y), "loss must be convex"),
        (lambda f, y: (f - y) ** 2, lambda f, y: 0.1 * (f - y), "loss must be convex, and its derivative"),
        (lambda f, y: (f - y) ** 2 - 5.0, lambda f, y: 2 * (f - y), "loss must never be negative"),
    ],
)
def test_what_is_no_loss(value, derivative, message):
    class Given:
        pass

    given = Given()
    given.value, given.derivative = value, derivative
    machine, X, y = problem(LogCosh())
    with pytest.raises(ValueError, match=message):
        machine.set_params(loss=given).fit(X, y)


# --- machines ---------------------------------------------------------------------------------------------


def test_nested_parameters():
    machine = RegularizedRegressor(loss="huber").set_params(loss__delta=0.3, penalty__power=1.5)
    assert (machine.loss.delta, machine.penalty.power) == (0.3, 1.5)
    X, y = training_set(SVR(), n=30)
    search = GridSearchCV(RegularizedRegressor(loss=Huber()), {"loss__delta": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_["loss__delta"] in (0.1, 1.0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "nonsense"}, "loss must be 'epsilon_insensitive', .* or an object with value"),
        ({"loss": Hinge}, "loss must be"),
        ({"loss": Huber(delta=0.0)}, "delta must be a float > 0, got 0.0"),
        ({"loss": "hinge"}, "loss must be one of values for regression, got 'hinge'"),
        ({"penalty": 3}, "penalty must be 'squared_norm', 'norm' or a Penalty, got 3"),
        ({"penalty": NormPower(0.5)}, "power must be a float >= 1, got 0.5"),
    ],
)
def test_bad_losses_and_penalties(parameters, message):
    X, y = training_set(SVR(), n=20)
    machine = RegularizedRegressor().fit(X, y)
    before = machine.predict(X)
    with pytest.raises(ValueError, match=message):
        machine.set_params(**parameters).fit(X, y)
    assert_array_equal(machine.predict(X), before)


def test_indefinite_kernels_are_refused():
    X, y = training_set(SVC(), n=30)
    with pytest.raises(IndefiniteError, match=r"smallest eigenvalue of this one is -\d"):
        RegularizedClassifier(Sigmoid(gamma=1.0, coef0=-1.0)).fit(X, y)


def test_memory():
    X, y = training_set(SVC(), n=400)
    with pytest.raises(MemoryError, match=re.escape("memory=1.0 allows 1")):
        RegularizedClassifier(memory=1.0).fit(X, y)


def test_too_few_steps_are_told():
    X, y = training_set(SVC(), n=60)
    with pytest.warns(ConvergenceWarning, match="RegularizedClassifier .*max_iter"):
        machine = RegularizedClassifier(max_iter=2, C=10.0).fit(X, y)
    assert machine.result_.status == "max_iter"
    assert machine.n_iter_ == 2
    assert machine.result_.history.gap[-1] == machine.result_.gap
    best = RegularizedClassifier(C=10.0).fit(X, y).result_
    assert machine.result_.dual_objective <= best.primal_objective <= machine.result_.primal_objective


@every_loss
def test_history_and_certificate(name):
    machine, X, y = problem(LOSSES[name]())
    result = machine.fit(X, y).result_
    assert result.status == "solved"
    assert result.gap <= machine.tol * abs(result.primal_objective)
    assert result.gap == pytest.approx(result.primal_objective - result.dual_objective, abs=1e-9)
    assert (np.diff(result.history.iteration) >= 0).all()
    assert result.history.gap[-1] == result.gap
    assert abs(result.imbalance) < 1e-9
    assert "duality gap" in str(result)


def test_the_middle_of_the_best_offsets():
    """Two samples of each class at the same place: every offset between the edges is as good as another."""
    X, y = np.zeros((4, 1)), np.array([0, 0, 1, 1])
    assert RegularizedClassifier("linear").fit(X, y).intercept_[0] == pytest.approx(0.0, abs=1e-9)
    values = np.array([1.0, 2.0, 4.0, 9.0])
    assert RegularizedRegressor("linear", loss="pinball").fit(X, values).intercept_[0] == pytest.approx(3.0, abs=1e-8)


def test_many_outputs():
    X, y = training_set(SVR(), n=40)
    both = RegularizedRegressor().fit(X, np.stack([y, -2 * y], axis=1))
    assert both.norm_.shape == (2,)
    assert len(both.result_.parts) == 2
    assert_allclose(both.predict(X)[:, 0], RegularizedRegressor().fit(X, y).predict(X), rtol=1e-9)


def test_constant_values():
    X, _ = training_set(SVR(), n=20)
    for loss in ("huber", "squared", "pinball", "epsilon_insensitive"):
        machine = RegularizedRegressor(loss=loss).fit(X, np.full(20, 5.0))
        assert_allclose(machine.predict(X), 5.0, atol=0.1 + 1e-9 if loss == "epsilon_insensitive" else 1e-9)


def test_outliers_do_not_move_huber():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(60, 1))
    y = X[:, 0].copy()
    y[:6] += 50.0
    robust, squared = (RegularizedRegressor("linear", loss=loss, C=10.0).fit(X, y) for loss in (Huber(0.1), "squared"))
    assert abs(robust.predict([[0.0]])[0]) < 0.1
    assert squared.predict([[0.0]])[0] > 2.0


@pytest.mark.parametrize("make", REGULARIZED_SOLVERS.values(), ids=REGULARIZED_SOLVERS.keys())
def test_solvers_are_values(make):
    X, y = training_set(SVC(), n=40)
    y = np.where(y == y[0], 1.0, -1.0)
    problem = RegularizedProblem(RBF(gamma=0.5)(X), y, np.ones(len(y)), Hinge(), NormPower(), bias=True)
    solver = make()
    before = solver.get_params()
    assert_array_equal(solver.solve(problem).a, clone(solver).solve(problem).a)
    assert solver.get_params() == before
    with pytest.raises(ValueError, match="tol must be a float > 0, got 0"):
        make().set_params(tol=0).solve(problem)


@pytest.mark.parametrize(("gamma", "C", "ratio"), [(0.5, 1e3, 1e4), (0.5, 1.0, 1e6), (0.5, 1.0, 1e8), (0.01, 1.0, 1e8)])
def test_prices_out_of_proportion(gamma, C, ratio):
    """Where some prices are constraints, all but in name, the optimum is found and proved as for equal ones."""
    X, y = training_set(SVC(), n=80)
    weight = np.where(y == y[0], ratio, 1.0)
    machine = RegularizedClassifier(RBF(gamma), C=C).fit(X, y, sample_weight=weight)
    assert machine.result_.status == "solved"
    other = SVC(RBF(gamma), C=C, tol=1e-6).fit(X, y, sample_weight=weight)
    assert_allclose(machine.decision_function(X), other.decision_function(X), atol=1e-4)
