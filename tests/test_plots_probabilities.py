"""Displays of probabilities, and of learners that ask."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binomtest
from sklearn.exceptions import NotFittedError

from mercer import SVC, Calibrated
from mercer.active import ActiveLearner
from mercer.active.stopping import MistakesLevel
from mercer.calibration import calibration_error, fit_sigmoid
from mercer.kernels import RBF
from mercer.plots import ActiveLearningDisplay, ReliabilityDisplay, SigmoidDisplay


@pytest.fixture
def overlapping(rng):
    y = np.repeat(["no", "yes"], 60)
    return rng.normal(size=(120, 2)) + (y == "yes")[:, None], y


@pytest.mark.parametrize("machine", [SVC(probability=True), Calibrated(SVC()), Calibrated(SVC(), method="isotonic")])
def test_map_of_a_calibrated_machine(overlapping, machine):
    X, y = overlapping
    machine.fit(X, y)
    display = SigmoidDisplay.from_estimator(machine, X, y, n_groups=4)
    raw = machine.estimator_.decision_function(X)
    np.testing.assert_array_equal(display.decision, raw)
    np.testing.assert_array_equal(display.positive, y == "yes")
    order = np.argsort(raw)
    own = machine.predict_proba(X)[order, 1]
    above = np.searchsorted(display.grid, raw[order])  # a curve that rises passes between its points
    assert (display.probability[above - 1] <= own + 1e-12).all() and (own <= display.probability[above] + 1e-12).all()
    np.testing.assert_allclose(display.group_share, (y == "yes")[order].reshape(4, 30).mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(display.group_decision, raw[order].reshape(4, 30).mean(axis=1), rtol=1e-12)
    assert display.group_size.tolist() == [30] * 4
    for points, side, level in zip(display.points_, ("no", "yes"), (-0.04, 1.04), strict=True):
        np.testing.assert_array_equal(points.get_xdata(), raw[y == side])
        assert set(points.get_ydata()) == {level} and points.get_label() == side
    np.testing.assert_array_equal(display.line_.get_xydata(), np.column_stack([display.grid, display.probability]))
    (groups,) = display.ax_.containers
    np.testing.assert_array_equal(
        groups[0].get_xydata(), np.column_stack([display.group_decision, display.group_share])
    )
    bars = np.array(groups[2][0].get_segments())[:, :, 1]
    np.testing.assert_allclose(bars, display.group_interval.T, atol=1e-12)
    assert display.ax_.get_ylabel() == "probability of yes"


def test_sigmoid_is_fitted_to_decision_values(rng):
    decision = rng.normal(size=50)
    y = decision + rng.normal(size=50) > 0
    display = SigmoidDisplay.from_decision(decision, y, n_groups=0, linestyle="--")
    fitted = fit_sigmoid(decision, y)
    np.testing.assert_array_equal(display.probability, expit(fitted.log_odds(display.grid)))
    assert display.grid.min() < decision.min() and display.grid.max() > decision.max()
    assert len(display.group_share) == 0 and display.line_.get_linestyle() == "--"


def test_intervals_are_wilsons(overlapping):
    X, y = overlapping
    display = SigmoidDisplay.from_decision(X[:, 0], y, n_groups=5)
    for share, size, low, high in zip(display.group_share, display.group_size, *display.group_interval, strict=True):
        expected = binomtest(round(share * size), int(size)).proportion_ci(method="wilson")
        np.testing.assert_allclose([low, high], [expected.low, expected.high], atol=1e-12)


def test_sigmoid_refusals(overlapping):
    X, y = overlapping
    with pytest.raises(ValueError, match=r"needs a calibrated machine, such as Calibrated\(...\)"):
        SigmoidDisplay.from_estimator(SVC().fit(X, y), X, y)
    with pytest.raises(ValueError, match="needs one machine, an ensemble has several"):
        SigmoidDisplay.from_estimator(Calibrated(SVC(), ensemble=True).fit(X, y), X, y)
    three = Calibrated(SVC()).fit(X, np.arange(120) % 3)
    with pytest.raises(ValueError, match="of two classes, got 3 classes"):
        SigmoidDisplay.from_estimator(three, X, y)
    with pytest.raises(ValueError, match=r"y must have one class for each of 120 samples, got shape \(1,\)"):
        SigmoidDisplay.from_estimator(Calibrated(SVC()).fit(X, y), X, y[:1])
    with pytest.raises(ValueError, match="y must have two classes, got 1"):
        SigmoidDisplay.from_decision([0.0, 1.0], [1, 1])
    with pytest.raises(ValueError, match="n_groups must be an int >= 0, got -1"):
        SigmoidDisplay.from_decision([0.0, 1.0], [1, 0], n_groups=-1)


def test_reliability_of_two_classes(rng):
    p = rng.random(400)
    y = rng.random(400) < p**2
    display = ReliabilityDisplay.from_predictions(y, p, n_bins=5)
    bins = np.minimum((5 * p).astype(int), 4)
    assert display.counts.tolist() == np.bincount(bins).tolist()
    np.testing.assert_allclose(display.probability, [p[bins == b].mean() for b in range(5)], rtol=1e-12)
    np.testing.assert_allclose(display.share, [y[bins == b].mean() for b in range(5)], rtol=1e-12)
    expected = sum(abs(y[bins == b].sum() - p[bins == b].sum()) for b in range(5)) / 400
    np.testing.assert_allclose(display.error, expected, rtol=1e-12)
    assert [bar.get_height() for bar in display.count_ax_.patches] == display.counts.tolist()
    np.testing.assert_array_equal(display.line_[0].get_xydata(), np.column_stack([display.probability, display.share]))
    np.testing.assert_allclose(np.array(display.line_[2][0].get_segments())[:, :, 1], display.interval.T, atol=1e-12)
    np.testing.assert_array_equal(display.ax_.lines[0].get_xydata(), [[0, 0], [1, 1]])
    np.testing.assert_allclose(display.edges, [[b / 5, (b + 1) / 5] for b in range(5)], rtol=1e-12)
    assert display.ax_.get_xlabel() == "probability of True"


def test_reliability_of_more_classes_is_that_of_predictions(overlapping):
    X, _ = overlapping
    y = np.arange(120) % 3
    machine = Calibrated(SVC()).fit(X, y)
    display = ReliabilityDisplay.from_estimator(machine, X, y, n_bins=4, strategy="quantile")
    p = machine.predict_proba(X)
    np.testing.assert_allclose(display.error, calibration_error(y, p, n_bins=4, strategy="quantile"), rtol=1e-12)
    measured = np.sum(display.counts * np.abs(display.share - display.probability)) / 120
    np.testing.assert_allclose(measured, display.error, rtol=1e-9)
    assert display.counts.sum() == 120 and display.meaning == "probability of the prediction"


def test_bins_without_samples_are_left_out():
    display = ReliabilityDisplay.from_predictions([0, 1], [0.05, 0.95])
    assert display.counts.tolist() == [1, 1]
    np.testing.assert_allclose(display.edges, [[0.0, 0.1], [0.9, 1.0]])


def test_reliability_refusals(overlapping):
    X, y = overlapping
    with pytest.raises(ValueError, match=r"with predict_proba, which SVC does not have; Calibrated\(...\)"):
        ReliabilityDisplay.from_estimator(SVC().fit(X, y), X, y)
    with pytest.raises(ValueError, match="strategy must be 'uniform' or 'quantile', got 'equal'"):
        ReliabilityDisplay.from_predictions([0, 1], [0.1, 0.9], strategy="equal")
    with pytest.raises(ValueError, match="probabilities has shape"):
        ReliabilityDisplay.from_predictions([0, 1], np.ones((2, 3)))


# --- learners that ask ------------------------------------------------------------------------------------


@pytest.fixture
def learner(rng):
    X = rng.normal(size=(80, 2))
    return ActiveLearner(SVC(RBF(gamma=0.5), C=10.0), X, oracle=(X[:, 0] > 0).astype(int), stop=None).learn(60)


def test_curve_on_test_samples(learner, rng):
    X = rng.normal(size=(50, 2))
    y = (X[:, 0] > 0).astype(int)
    display = ActiveLearningDisplay.from_learner(learner, X, y, n_points=7, stop=("band", MistakesLevel(5)))
    assert display.n_labels[0] == 2 and display.n_labels[-1] == 60 and len(display.n_labels) == 7
    assert display.error[-1] == np.mean(learner.predict(X) != y)
    n = int(display.n_labels[3])
    machine = SVC(RBF(gamma=0.5), C=10.0).fit(learner.pool[learner.labelled_[:n]], learner.labels_[:n])
    assert display.error[3] == np.mean(machine.predict(X) != y)
    history = learner.history_
    known = [(a.n_labels, a.band) for a in history if a.band is not None]
    assert list(zip(display.band_labels, display.band, strict=True)) == known
    np.testing.assert_array_equal(display.line_.get_xydata(), np.column_stack([display.n_labels, display.error]))
    np.testing.assert_array_equal(display.band_line_.get_xydata(), known)
    right = [a.predicted == a.answer for a in history]
    level = next(n for n in range(5, 61) if all(right[n - 5 : n]))
    empty = next((n for n, band in known if band == 0), None)
    assert display.stops == {"mistakes": level} | ({} if empty is None else {"band": empty})
    assert [line.get_xdata()[0] for line in display.ax_.lines[1:]] == sorted(display.stops.values())


def test_curve_without_test_samples(learner):
    display = ActiveLearningDisplay.from_learner(learner)
    predicted = [a.predicted is not None for a in learner.history_]
    np.testing.assert_allclose(display.error[-1], learner.history_[-1].mistakes / sum(predicted), rtol=1e-12)
    assert np.isnan(display.error[0])
    assert display.stops == {} and display.error_name == "share of answers predicted wrongly"


def test_stopping_point_is_where_the_learner_stopped(rng):
    X = rng.normal(size=(200, 1))
    learner = ActiveLearner(SVC("linear", C=1e3), X, oracle=X[:, 0] > 0.2).learn()
    assert learner.stopped_ == "band"
    assert ActiveLearningDisplay.from_learner(learner).stops == {"band": len(learner.labelled_)}


def test_precomputed_kernels(rng):
    X = rng.normal(size=(60, 2))
    y = X[:, 0] > 0
    K = RBF(gamma=0.5)(X)
    by_matrix = ActiveLearner(SVC("precomputed"), K[:40, :40], oracle=y[:40], stop=None).learn(20)
    by_kernel = ActiveLearner(SVC(RBF(gamma=0.5)), X[:40], oracle=y[:40], stop=None).learn(20)
    displays = [
        ActiveLearningDisplay.from_learner(by_matrix, K[40:, :40], y[40:], n_points=5),
        ActiveLearningDisplay.from_learner(by_kernel, X[40:], y[40:], n_points=5),
    ]
    np.testing.assert_array_equal(displays[0].error, displays[1].error)


def test_machine_after_some_answers(learner):
    machine = learner.machine_after(60)
    np.testing.assert_allclose(
        machine.decision_function(learner.pool), learner.estimator_.decision_function(learner.pool), atol=1e-2
    )
    with pytest.raises(ValueError, match="n must be an int >= 2 and <= 60, got 61"):
        learner.machine_after(61)


def test_learner_refusals(learner):
    with pytest.raises(TypeError, match=r"learner must be an ActiveLearner, got SVC\(\)"):
        ActiveLearningDisplay.from_learner(SVC())
    with pytest.raises(NotFittedError, match="needs a learner with answers"):
        ActiveLearningDisplay.from_learner(ActiveLearner(SVC(), np.zeros((3, 1))))
    with pytest.raises(ValueError, match="X and y must be given together"):
        ActiveLearningDisplay.from_learner(learner, learner.pool)
    with pytest.raises(ValueError, match=r"y must have one class for each of 80 test samples, got shape \(1,\)"):
        ActiveLearningDisplay.from_learner(learner, learner.pool, [0])
    with pytest.raises(ValueError, match="n_points must be an int >= 2, got 1"):
        ActiveLearningDisplay.from_learner(learner, n_points=1)
    with pytest.raises(ValueError, match="stop must be rules that need the history alone, 'greedy' does not"):
        ActiveLearningDisplay.from_learner(learner, stop=greedy)
    with pytest.raises(ValueError, match=r"n_labels and error must be of one length, got shapes \(2,\) and \(1,\)"):
        ActiveLearningDisplay([1, 2], [0.5])


def greedy(learner):
    return learner.decision().max() > 3
