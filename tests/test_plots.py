import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, OneClassSVM
from mercer.plots import DecisionDisplay, Display, HistoryDisplay


@pytest.fixture
def plane():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    return rng.normal(size=(40, 2)) + 2 * y[:, None], y


def test_decision_of_two_classes(plane):
    X, y = plane
    machine = SVC(kernel="linear").fit(X, y)
    display = DecisionDisplay.from_estimator(machine, X, y, grid_resolution=30)
    assert display.decision.shape == display.xx.shape == display.yy.shape == (30, 30)
    np.testing.assert_allclose(display.boundary_.levels, [-1, 0, 1])
    np.testing.assert_array_equal(display.support, machine.support_)
    np.testing.assert_array_equal(display.support_points_.get_offsets(), X[machine.support_])
    assert len(display.points_.get_offsets()) == 40
    assert display.figure_ is display.ax_.figure


def test_decision_in_given_axes_and_again(plane):
    import matplotlib.pyplot as plt

    X, y = plane
    _, (left, right) = plt.subplots(ncols=2)
    machine = SVC().fit(X, y)
    display = DecisionDisplay.from_estimator(machine, X, y, grid_resolution=10, ax=left, alpha=0.5)
    assert display.ax_ is left
    assert display.plot(right, cmap="viridis").ax_ is right


def test_decision_of_a_pipeline(plane):
    X, y = plane
    machine = make_pipeline(StandardScaler(), SVC()).fit(100 * X, y)
    display = DecisionDisplay.from_estimator(machine, 100 * X, y, grid_resolution=10)
    np.testing.assert_array_equal(display.support_points_.get_offsets(), 100 * X[machine[-1].support_])


def test_decision_of_three_classes(plane):
    X, _ = plane
    y = np.array(["a", "b", "c"])[np.arange(40) % 3]
    display = DecisionDisplay.from_estimator(SVC().fit(X, y), X, y, grid_resolution=10)
    assert display.boundary_ is None
    assert set(np.unique(display.decision)) <= {0, 1, 2}


def test_decision_of_a_calibrated_machine(plane):
    """Log-odds of -1 and 1 are no edges of a margin."""
    X, y = plane
    display = DecisionDisplay.from_estimator(SVC(probability=True).fit(X, y), X, y, grid_resolution=30)
    assert display.boundary_.levels.tolist() == [0]


def test_decision_of_one_class(plane):
    X, _ = plane
    display = DecisionDisplay.from_estimator(OneClassSVM(nu=0.3).fit(X), X, grid_resolution=30)
    assert display.boundary_.levels.tolist() == [0]


def test_boundary_outside_the_picture():
    xx, yy = np.meshgrid([0.0, 1.0], [0.0, 1.0])
    display = DecisionDisplay(xx, yy, np.ones((2, 2)), X=np.zeros((1, 2)), y=None, support=[0], band=1.0)
    assert display.plot().boundary_ is None


def test_decision_refusals(plane):
    X, y = plane
    machine = SVC().fit(X, y)
    with pytest.raises(ValueError, match=r"samples in the plane, of shape \(n, 2\), got shape \(40, 1\)"):
        DecisionDisplay.from_estimator(machine, X[:, :1], y)
    with pytest.raises(ValueError, match="with decision_function, which StandardScaler does not have"):
        DecisionDisplay.from_estimator(StandardScaler().fit(X), X)
    with pytest.raises(ValueError, match="the samples that SVC was fitted on"):
        DecisionDisplay.from_estimator(machine, X[:1], y[:1])


def test_history(plane):
    result = SVC().fit(*plane).result_
    display = HistoryDisplay.from_result(result)
    np.testing.assert_array_equal(display.iteration, result.history.iteration)
    np.testing.assert_array_equal(display.ax_.lines[0].get_ydata(), result.history.objective)
    assert display.gap_ax_.get_yscale() == "log"
    assert display.ax_.get_xlabel() == "iteration"


def test_history_with_a_closed_gap():
    history = SimpleNamespace(iteration=[0, 1, 2], objective=[0.0, 1.0, 1.5], gap=[np.inf, 0.5, 0.0])
    display = HistoryDisplay.from_result(SimpleNamespace(history=history))
    np.testing.assert_array_equal(display.gap_ax_.lines[0].get_ydata(), [np.nan, 0.5, np.nan])


@pytest.mark.parametrize("draw", [DecisionDisplay.from_estimator, HistoryDisplay.from_result])
def test_without_matplotlib(draw, plane, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    arguments = (SVC(), *plane) if draw == DecisionDisplay.from_estimator else (None,)
    with pytest.raises(ImportError, match=r'needs matplotlib: pip install "mercer\[plots\]"'):
        draw(*arguments)


def test_base_draws_nothing():
    with pytest.raises(NotImplementedError):
        Display().plot()
