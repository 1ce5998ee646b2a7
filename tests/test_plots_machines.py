"""Displays of what machines have learnt: slacks, tubes and bands, matrices, components, influence."""

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    LSSVC,
    SVC,
    SVR,
    GaussianProcessRegressor,
    KernelPCA,
    KernelRidge,
    NuSVR,
    OneClassSVM,
    QuantileSVR,
    RelevanceVectorClassifier,
    RelevanceVectorRegressor,
)
from mercer.gram import center
from mercer.kernels import RBF, Linear
from mercer.plots import DecisionDisplay, GramDisplay, InfluenceDisplay, KernelPCADisplay, RegressionDisplay


@pytest.fixture
def plane(rng):
    y = np.repeat([0, 1], 20)
    return rng.normal(size=(40, 2)) + 1.5 * y[:, None], y


@pytest.fixture
def curve(rng):
    x = np.sort(rng.uniform(0, 6, 30))
    return x[:, np.newaxis], np.sin(x) + 0.2 * rng.normal(size=30)


# --- slacks -----------------------------------------------------------------------------------------------


def test_slack_lines_of_a_linear_machine_are_slacks_in_units_of_the_norm(plane):
    X, y = plane
    machine = SVC(kernel="linear", C=1.0, tol=1e-6).fit(X, y)
    display = DecisionDisplay.from_estimator(machine, X, y, slacks=True, margin=0.5)
    out = np.flatnonzero(machine.slack_ > 1e-6)
    assert 0 < len(out) < 40
    np.testing.assert_array_equal(np.flatnonzero(display.slack), out)
    segments = np.array(display.slack_lines_.get_segments())
    np.testing.assert_allclose(segments[:, 0], X[out], rtol=1e-12)
    lengths = np.linalg.norm(segments[:, 1] - segments[:, 0], axis=1)
    np.testing.assert_allclose(lengths, machine.slack_[out] / machine.norm_, rtol=1e-6)
    edge = machine.decision_function(segments[:, 1])
    np.testing.assert_allclose(edge, np.where(y[out] == 1, 1.0, -1.0), atol=1e-6)


def test_slack_lines_of_novelty_end_at_the_boundary(plane):
    X, _ = plane
    machine = OneClassSVM(nu=0.3).fit(X)
    display = DecisionDisplay.from_estimator(machine, X, slacks=True)
    ends = np.array(display.slack_lines_.get_segments())[:, 1]
    outside = machine.decision_function(X) < -machine.tol
    assert len(ends) == outside.sum() > 0
    np.testing.assert_allclose(machine.decision_function(ends), 0.0, atol=0.02 * np.abs(display.decision).max())


def test_no_slack_lines_unless_asked_for(plane):
    X, y = plane
    display = DecisionDisplay.from_estimator(SVC().fit(X, y), X, y, grid_resolution=10)
    assert display.slack is display.slack_lines_ is None


def test_slacks_of_machines_without(plane):
    X, y = plane
    with pytest.raises(ValueError, match="slacks must be False for RelevanceVectorClassifier"):
        DecisionDisplay.from_estimator(RelevanceVectorClassifier().fit(X, y), X, y, slacks=True)
    with pytest.raises(ValueError, match="slacks must be False for SVC"):
        DecisionDisplay.from_estimator(SVC().fit(X, np.arange(40) % 3), X, slacks=True)


def test_a_machine_without_margin_has_no_band(plane):
    X, y = plane
    display = DecisionDisplay.from_estimator(RelevanceVectorClassifier().fit(X, y), X, y, grid_resolution=20)
    assert display.band is None
    assert display.boundary_.levels.tolist() == [0]


def test_ink_follows_the_style(plane):
    import matplotlib.pyplot as plt

    with plt.style.context("dark_background"):
        display = DecisionDisplay.from_estimator(SVC().fit(*plane), *plane, grid_resolution=10)
    assert tuple(display.support_points_.get_edgecolors()[0]) == to_rgba("white")


# --- tubes and bands --------------------------------------------------------------------------------------


def test_tube_of_a_given_width(curve):
    machine = SVR(C=10.0, epsilon=0.25).fit(*curve)
    display = RegressionDisplay.from_estimator(machine, *curve, slacks=True, color="C3")
    np.testing.assert_array_equal(display.mean, machine.predict(display.grid[:, np.newaxis]))
    np.testing.assert_array_equal(display.half_width, np.full(300, 0.25))
    np.testing.assert_array_equal(display.support, machine.support_)
    np.testing.assert_allclose(display.slack, np.where(machine.slack_ > machine.tol, machine.slack_, 0), atol=1e-9)
    assert display.band_name == "tube, ±0.25"
    assert display.line_.get_color() == "C3"
    np.testing.assert_array_equal(display.line_.get_xydata(), np.column_stack([display.grid, display.mean]))
    edge = display.band_.get_paths()[0].vertices
    for side in (-1, 1):
        drawn = np.column_stack([display.grid, display.mean + side * 0.25])
        assert {tuple(point) for point in drawn} <= {tuple(point) for point in edge}
    np.testing.assert_array_equal(display.points_.get_offsets(), np.column_stack(curve))
    np.testing.assert_array_equal(display.support_points_.get_offsets(), np.column_stack(curve)[machine.support_])
    assert len(display.slack_lines_.get_segments()) == np.count_nonzero(display.slack)
    for (x, low), (_, high) in display.slack_lines_.get_segments():
        assert abs(abs(machine.predict([[x]])[0] - low) - 0.25) < 1e-6
        assert high in curve[1]


def test_tube_that_was_found(curve):
    machine = NuSVR(C=10.0, nu=0.3).fit(*curve)
    display = RegressionDisplay.from_estimator(machine, *curve)
    np.testing.assert_array_equal(display.half_width, np.full(300, machine.epsilon_))
    assert display.slack is display.slack_lines_ is None


@pytest.mark.parametrize("machine", [RelevanceVectorRegressor(RBF(gamma=1.0)), GaussianProcessRegressor()])
def test_error_band_is_of_new_values(curve, machine):
    machine.fit(*curve)
    noise = {"include_noise": True} if isinstance(machine, GaussianProcessRegressor) else {}
    display = RegressionDisplay.from_estimator(machine, *curve, deviations=1.5)
    mean, std = machine.predict(display.grid[:, np.newaxis], return_std=True, **noise)
    np.testing.assert_array_equal(display.mean, mean)
    np.testing.assert_allclose(display.half_width, 1.5 * std, rtol=1e-12)
    assert display.band_name == "±1.5 standard deviations"
    assert len(display.support) == (0 if len(machine.support_) == 30 else len(machine.support_))


def test_function_without_a_band_and_a_pipeline(curve):
    X, y = curve
    display = RegressionDisplay.from_estimator(QuantileSVR().fit(X, y), X, y)
    assert display.half_width is display.band_ is None
    machine = make_pipeline(StandardScaler(), GaussianProcessRegressor()).fit(100 * X, y)
    display = RegressionDisplay.from_estimator(machine, 100 * X[:, 0], y)
    np.testing.assert_allclose(display.mean, machine.predict(display.grid[:, np.newaxis]), rtol=1e-12)
    assert display.half_width.min() > 0


def test_regression_refusals(curve, plane):
    X, y = curve
    machine = SVR().fit(X, y)
    with pytest.raises(ValueError, match=r"functions of one feature, of shape \(n, 1\), got shape \(40, 2\)"):
        RegressionDisplay.from_estimator(SVR().fit(*plane), *plane)
    with pytest.raises(ValueError, match=r"y must have one value for each of 30 samples, got shape \(29,\)"):
        RegressionDisplay.from_estimator(machine, X, y[1:])
    with pytest.raises(ValueError, match="the samples that SVR was fitted on"):
        RegressionDisplay.from_estimator(machine, X[:2], y[:2])
    with pytest.raises(ValueError, match="deviations must be a float > 0, got 0"):
        RegressionDisplay.from_estimator(machine, X, y, deviations=0)
    with pytest.raises(ValueError, match="slacks must be False for QuantileSVR"):
        RegressionDisplay.from_estimator(QuantileSVR().fit(X, y), X, y, slacks=True)
    with pytest.raises(ValueError, match="a fitted regressor, which StandardScaler is not"):
        RegressionDisplay.from_estimator(StandardScaler().fit(X), X, y)
    several = SVR().fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="draws one output, SVR has 2"):
        RegressionDisplay.from_estimator(several, X, y)


# --- matrices ---------------------------------------------------------------------------------------------


def test_matrix_in_the_order_of_classes(rng):
    X, y = rng.normal(size=(12, 3)), np.array(["b", "a", "c"] * 4)
    display = GramDisplay.from_kernel(RBF(gamma=0.5), X, y, clip=5.0)
    order = [*range(1, 12, 3), *range(0, 12, 3), *range(2, 12, 3)]
    assert display.order.tolist() == order
    np.testing.assert_array_equal(display.matrix, RBF(gamma=0.5)(X)[np.ix_(order, order)])
    np.testing.assert_array_equal(display.image_.get_array(), display.matrix)
    assert (display.classes, display.borders.tolist()) == (["a", "b", "c"], [0, 4, 8, 12])
    assert [line.get_ydata()[0] for line in display.ax_.lines[::2]] == [3.5, 7.5]
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["a", "b", "c"]
    np.testing.assert_array_equal(display.ax_.get_yticks(), [1.5, 5.5, 9.5])
    off = display.matrix[~np.eye(12, dtype=bool)]
    np.testing.assert_allclose(display.limits, np.percentile(off, [5, 95]), rtol=1e-12)
    assert display.image_.get_clim() == display.limits
    assert display.image_.get_cmap().name == "viridis"
    assert display.colorbar_.extend == "both"


def test_negative_values_have_diverging_colours_about_zero(rng):
    K = center(Linear()(rng.normal(size=(10, 2))))
    display = GramDisplay.from_matrix(K, clip=0.0)
    off = K[~np.eye(10, dtype=bool)]
    assert display.limits == (-np.abs(off).max(), np.abs(off).max())
    assert display.image_.get_cmap().name == "PuOr_r"
    assert display.classes == [] and len(display.borders) == 0 and len(display.ax_.lines) == 0
    assert display.colorbar_.extend == ("max" if K.max() > off.max() else "neither")
    assert display.plot(cmap="RdBu", vmin=-1.0).image_.get_clim()[0] == -1.0


def test_matrix_of_one_value_off_the_diagonal():
    assert GramDisplay.from_matrix(np.eye(3)).limits == (0.0, 1.0)
    assert GramDisplay.from_matrix([[2.0]]).limits == (2.0, 2.0)


def test_matrix_refusals():
    with pytest.raises(ValueError, match=r"K must be a square matrix of at least one row, got shape \(2, 3\)"):
        GramDisplay.from_matrix(np.ones((2, 3)))
    with pytest.raises(ValueError, match="K contains NaN or infinity"):
        GramDisplay.from_matrix([[np.nan]])
    with pytest.raises(ValueError, match=r"y must have one class for each of 2 samples, got shape \(3,\)"):
        GramDisplay.from_matrix(np.eye(2), [0, 1, 2])
    with pytest.raises(ValueError, match="clip must be a float >= 0 and < 50, got 50"):
        GramDisplay.from_matrix(np.eye(2), clip=50)
    with pytest.raises(ValueError, match="clip must be a float"):
        GramDisplay.from_matrix(np.eye(2), clip=-1)


# --- components -------------------------------------------------------------------------------------------


def test_components_of_classes(plane):
    X, y = plane
    machine = KernelPCA(n_components=3).fit(X)
    display = KernelPCADisplay.from_estimator(machine, X, y, components=(2, 0), names=["left", "right"])
    np.testing.assert_array_equal(display.scores, machine.transform(X)[:, [2, 0]])
    np.testing.assert_array_equal(display.shares, machine.explained_variance_ratio_[[2, 0]])
    np.testing.assert_array_equal(display.points_[1].get_offsets(), display.scores[y == 1])
    assert [text.get_text() for text in display.legend_.get_texts()] == ["left", "right"]
    share = 100 * machine.explained_variance_ratio_[0]
    assert display.ax_.get_ylabel() == f"component 1, {share:.0f} % of the variance"
    assert display.ax_.get_xlabel().startswith("component 3, ")
    assert display.colorbar_ is None
    colours = [to_rgba(colour) for colour in ("C0", "C1")]
    assert [tuple(points.get_facecolor()[0]) for points in display.points_] == [(*c[:3], 0.8) for c in colours]
    # However small and pale samples are, their marks in the legend are not.
    display.plot(s=1, alpha=0.1)
    marks = display.legend_.legend_handles
    assert [mark.get_sizes().tolist() for mark in marks] == [[24.0]] * 2
    assert [tuple(mark.get_facecolor()[0]) for mark in marks] == colours


def test_components_of_numbers_and_of_nothing(plane):
    X, _ = plane
    machine = make_pipeline(StandardScaler(), KernelPCA(n_components=2)).fit(X)
    display = KernelPCADisplay.from_estimator(machine, X, X[:, 0] + 0.25)
    np.testing.assert_array_equal(display.points_[0].get_array(), X[:, 0] + 0.25)
    assert display.colorbar_ is not None and display.legend_ is None
    np.testing.assert_array_equal(display.points_[0].get_offsets(), machine.transform(X))
    display = KernelPCADisplay.from_estimator(machine, X[:5])
    np.testing.assert_array_equal(display.points_[0].get_offsets(), machine.transform(X[:5]))
    assert display.legend_ is None


def test_components_refusals(plane):
    X, y = plane
    machine = KernelPCA(n_components=2).fit(X)
    with pytest.raises(ValueError, match="with explained_variance_ratio_, which SVC does not have"):
        KernelPCADisplay.from_estimator(SVC().fit(X, y), X)
    with pytest.raises(ValueError, match=r"components must be two of the 2 found, from 0 on, got \(0, 2\)"):
        KernelPCADisplay.from_estimator(machine, X, components=(0, 2))
    with pytest.raises(ValueError, match=r"y must have one entry for each of 40 samples, got shape \(1,\)"):
        KernelPCADisplay.from_estimator(machine, X, y[:1])


# --- influence --------------------------------------------------------------------------------------------


@pytest.fixture
def overlapping(plane):
    X, y = plane
    return SVC(C=0.7, kernel=RBF(gamma=0.4), tol=1e-7).fit(X, y), X, y


def test_influence_is_what_training_without_a_sample_does(overlapping):
    machine, X, y = overlapping
    display = InfluenceDisplay.from_estimator(machine, X, y)
    side = np.where(y == 1, 1.0, -1.0)
    np.testing.assert_allclose(display.with_sample, side * machine.decision_function(X), atol=1e-6)
    for i in (*display.largest[:3], int(np.flatnonzero(display.state == 0)[0])):
        others = np.arange(40) != i
        without = SVC(C=0.7, kernel=RBF(gamma=0.4), tol=1e-7).fit(X[others], y[others])
        expected = side[i] * without.decision_function(X[[i]])[0]
        np.testing.assert_allclose(display.without_sample[i], expected, atol=1e-5)
    assert (np.diff(display.influence[display.largest]) <= 0).all() and len(display.largest) == 5
    places = np.column_stack([display.with_sample, display.without_sample])
    for code, points in enumerate(display.points_):
        np.testing.assert_array_equal(points.get_offsets(), places[display.state == code])
    named = {int(text.get_text()): text.xy for text in display.ax_.texts}
    assert set(named) == set(display.largest.tolist())
    for i, place in named.items():
        np.testing.assert_array_equal(place, places[i])
    assert all(text.get_path_effects() for text in display.ax_.texts)
    wrong = int((display.without_sample <= 0).sum())
    assert wrong != int((display.with_sample <= 0).sum())
    assert display.ax_.get_legend().get_title().get_text() == f"{wrong} wrong if left out"
    low, _ = display.ax_.get_ylim()
    (below,) = display.ax_.patches
    np.testing.assert_allclose([below.get_y(), below.get_y() + below.get_height()], [low, 0.0], atol=1e-12)


def test_states_are_those_of_the_multipliers(overlapping):
    machine, X, y = overlapping
    display = InfluenceDisplay.from_estimator(machine, X, y, method="span", n_named=0)
    multipliers = np.zeros(40)
    multipliers[machine.support_] = np.abs(machine.dual_coef_[0])
    expected = np.where(multipliers == 0, 0, np.where(multipliers < 0.7, 1, 2))
    np.testing.assert_array_equal(display.state, expected)
    assert set(expected) == {0, 1, 2}
    np.testing.assert_allclose(display.influence[display.state == 0], 0.0, atol=1e-9)
    np.testing.assert_allclose(display.with_sample[display.state == 1], 1.0, atol=1e-6)
    assert len(display.largest) == 0
    assert [len(points.get_offsets()) for points in display.points_] == np.bincount(expected).tolist()


def test_weights_of_samples_count(overlapping):
    machine, X, y = overlapping
    weight = np.where(np.arange(40) % 2, 1.0, 3.0)
    display = InfluenceDisplay.from_estimator(machine.fit(X, y, weight), X, y, weight)
    at_bound = np.abs(machine.dual_coef_[0]) >= 0.7 * weight[machine.support_]
    np.testing.assert_array_equal(machine.support_[at_bound], np.flatnonzero(display.state == 2))


def test_influence_on_least_squares(curve):
    X, y = curve
    machine = KernelRidge(RBF(gamma=0.5), alpha=0.1, leave_one_out=True).fit(X, y)
    display = InfluenceDisplay.from_estimator(machine, X, y, n_named=2)
    np.testing.assert_allclose(display.with_sample, y - machine.predict(X), rtol=1e-12)
    i = display.largest[0]
    others = np.arange(30) != i
    without = KernelRidge(RBF(gamma=0.5), alpha=0.1).fit(X[others], y[others])
    np.testing.assert_allclose(display.without_sample[i], y[i] - without.predict(X[[i]])[0], rtol=1e-6)
    assert (display.influence >= -1e-12).all() and display.state is None
    places = np.column_stack([display.with_sample, display.without_sample])
    np.testing.assert_array_equal(display.points_[0].get_offsets(), places)
    process = GaussianProcessRegressor(RBF(gamma=0.5), optimize=False).fit(X, y)
    display = InfluenceDisplay.from_estimator(process, X, y)
    np.testing.assert_allclose(display.without_sample, y - process.leave_one_out()[0], rtol=1e-12)


def test_a_class_of_one_sample_stands_at_the_edge(rng):
    X, y = rng.normal(size=(8, 2)), np.arange(8) == 0
    display = InfluenceDisplay.from_estimator(SVC().fit(X, y), X, y)
    assert display.without_sample[0] == -np.inf and display.largest[0] == 0
    low, high = display.ax_.get_ylim()
    drawn = np.concatenate([points.get_offsets().data[:, 1] for points in display.points_])
    assert (drawn >= low).all() and (drawn <= high).all()


def test_influence_refusals(overlapping, curve):
    machine, X, y = overlapping
    with pytest.raises(ValueError, match="needs the samples, classes and weights that the machine was fitted to"):
        InfluenceDisplay.from_estimator(machine, X[::-1], y)
    with pytest.raises(ValueError, match="method must be 'exact' or 'span', got 'fast'"):
        InfluenceDisplay.from_estimator(machine, X, y, method="fast")
    with pytest.raises(NotFittedError):
        InfluenceDisplay.from_estimator(SVC(), X, y)
    names = np.array(["left", "right"])[y]
    for other, samples in ((SVR(), curve), (LSSVC(leave_one_out=True), (X, names)), (KernelRidge(), curve)):
        with pytest.raises(ValueError, match=f"or a KernelRidge with leave_one_out=True, got {type(other).__name__}"):
            InfluenceDisplay.from_estimator(other.fit(*samples), *samples)
    with pytest.raises(ValueError, match=r"must be of one length, got shapes \(2,\) and \(3,\)"):
        InfluenceDisplay([1, 2], [1, 2, 3])
