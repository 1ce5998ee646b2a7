import sys
from functools import partial
from inspect import signature
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.text import Text
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer.plots
from mercer import SVC, SVR, MKLClassifier, MKLOneClass, OneClassSVM
from mercer.data import Graph, Tree
from mercer.kernels import RBF, FromFunction, Indexed, Linear
from mercer.plots import (
    ActiveLearningDisplay,
    DecisionDisplay,
    Display,
    FeatureWeightsDisplay,
    GramDisplay,
    GraphDisplay,
    HistoryDisplay,
    InfluenceDisplay,
    KernelPCADisplay,
    KernelWeightsDisplay,
    RegressionDisplay,
    ReliabilityDisplay,
    ScoreMapDisplay,
    SequenceDisplay,
    SigmoidDisplay,
    TaxonomyDisplay,
    TreeDisplay,
)


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
    np.testing.assert_array_equal(display.points_.get_offsets(), X)
    assert display.figure_ is display.ax_.figure
    grid = np.column_stack([display.xx.ravel(), display.yy.ravel()])
    np.testing.assert_allclose(display.decision.ravel(), machine.decision_function(grid), rtol=1e-12)
    # The line is whole, the edges of the band are dashed; regions and samples have the colours of the classes.
    assert [dashes is not None for _, dashes in display.boundary_.get_linestyle()] == [True, False, True]
    colours = [to_rgba("C0"), to_rgba("C1")]
    assert [tuple(colour) for colour in display.points_.get_facecolor()] == [colours[label] for label in y]
    assert [tuple(colour) for colour in display.surface_.get_facecolor()] == [(*c[:3], 0.25) for c in colours]


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
    np.testing.assert_array_equal(display.surface_.get_array(), display.decision)
    colours = [to_rgba(colour) for colour in ("C0", "C1", "#009E73")]
    assert [tuple(colour) for colour in display.points_.get_facecolor()] == [colours[k % 3] for k in range(40)]
    assert [to_rgba(colour) for colour in display.surface_.get_cmap().colors] == colours


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


def test_history_refusals(plane):
    with pytest.raises(TypeError, match="result must have a history of objectives and gaps, got SVC"):
        HistoryDisplay.from_result(SVC().fit(*plane))


def searched(grid, scores, *, spread=None, **attributes):
    """A search as it is after fit; grid is a list of dicts of parameters, one per cell."""
    names = sorted({name for cell in grid for name in cell})
    results = {"params": grid, "mean_test_score": np.array(scores, dtype=float)}
    for name in names:
        column = np.ma.MaskedArray(np.empty(len(grid), dtype=object), mask=True)
        for i, cell in enumerate(grid):
            if name in cell:
                column[i] = cell[name]
        results[f"param_{name}"] = column
    if spread is not None:
        results["std_test_score"] = np.array(spread, dtype=float)
    return SimpleNamespace(cv_results_=results, **attributes)


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_map_of_a_grid_search(plane):
    grid = {"C": [2.0**-5, 2.0**0, 2.0**5], "kernel__gamma": [1.0, 0.01]}
    search = GridSearchCV(SVC(), grid, cv=2).fit(*plane)
    display = ScoreMapDisplay.from_search(search)
    assert (display.x_name, display.y_name, display.score_name) == ("C", "kernel__gamma", "accuracy")
    assert (list(display.x), list(display.y)) == ([2.0**-5, 1.0, 2.0**5], [0.01, 1.0])
    for cell, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        row, column = display.y.index(cell["kernel__gamma"]), display.x.index(cell["C"])
        assert display.scores[row, column] == score
    row, column = display.best
    assert (display.x[column], display.y[row]) == (search.best_params_["C"], search.best_params_["kernel__gamma"])
    np.testing.assert_array_equal(display.best_point_.get_xydata(), [[column, row]])
    np.testing.assert_array_equal(display.image_.get_array(), display.scores)
    assert display.image_.origin == "lower"
    assert labels(display.ax_.xaxis) == ["$2^{-5}$", "$2^{0}$", "$2^{5}$"]
    assert labels(display.ax_.yaxis) == ["0.01", "1"]
    assert display.ax_.get_xlabel() == "C"
    assert display.ax_.get_ylabel() == "kernel__gamma"
    assert display.colorbar_.ax.get_ylabel() == "accuracy"
    assert display.line_ is None
    assert display.ax_.patch.get_hatch() is None


def test_map_the_other_way_round_and_again(plane):
    import matplotlib.pyplot as plt

    search = GridSearchCV(SVC(), {"C": [1.0, 2.0, 3.0], "kernel__gamma": [1.0, 0.01]}, cv=2).fit(*plane)
    display = ScoreMapDisplay.from_search(search, x="kernel__gamma", cmap="magma")
    np.testing.assert_array_equal(display.scores, ScoreMapDisplay.from_search(search).scores.T)
    assert display.image_.get_cmap().name == "magma"
    assert (display.x_name, display.y_name) == ("kernel__gamma", "C")
    assert ScoreMapDisplay.from_search(search, y="C").x_name == "kernel__gamma"
    _, ax = plt.subplots()
    assert display.plot(ax).ax_ is ax


def test_map_takes_the_best_over_other_parameters():
    grid = [{"C": C, "degree": degree, "gamma": gamma} for C in (1, 2) for degree in (2, 3) for gamma in (5, 6)]
    search = searched(grid, [0.1, 0.2, 0.3, np.nan, 0.8, 0.6, 0.7, np.nan], best_index_=4)
    display = ScoreMapDisplay.from_search(search, x="C", y="gamma")
    np.testing.assert_array_equal(display.scores, [[0.3, 0.8], [0.2, 0.6]])
    assert display.best == (0, 1)
    assert ScoreMapDisplay.from_search(search).y_name == "degree"


def test_map_with_missing_cells():
    grid = [{"C": C, "gamma": gamma} for C in (1, 2) for gamma in (5, 6)]
    display = ScoreMapDisplay.from_search(searched(grid, [0.1, np.nan, 0.3, 0.4], best_index_=3))
    assert display.image_.get_array().mask.tolist() == [[False, False], [True, False]]
    assert display.ax_.patch.get_hatch() == "////"


def test_map_of_nothing_but_missing_cells():
    grid = [{"C": C, "gamma": gamma} for C in (1, 2) for gamma in (5, 6)]
    display = ScoreMapDisplay.from_search(searched(grid, [np.nan] * 4))
    assert display.best is display.best_point_ is None


def test_map_of_several_grids():
    """Cells without one of the parameters have no place; a winner among them has none either."""
    grid = [{"kernel": "linear", "C": 1}, {"kernel": "linear", "C": 2}]
    grid += [{"kernel": "rbf", "C": C, "gamma": gamma} for C in (2, 4) for gamma in (5, 6)]
    search = searched(grid, [0.9, 0.8, 0.1, 0.2, 0.3, 0.4], best_index_=0)
    display = ScoreMapDisplay.from_search(search, x="C", y="kernel")
    np.testing.assert_array_equal(display.scores, [[0.9, 0.8, np.nan], [np.nan, 0.2, 0.4]])
    assert display.best == (0, 0)
    display = ScoreMapDisplay.from_search(search, x="C", y="gamma")
    np.testing.assert_array_equal(display.scores, [[np.nan, 0.1, 0.3], [np.nan, 0.2, 0.4]])
    assert display.best is None


def test_values_that_are_no_numbers():
    kernels = ["scale", RBF(gamma=0.25) + 2.0 * Linear(), 0.5, True, None, 0.125, "auto"]
    display = ScoreMapDisplay.from_search(searched([{"gamma": kernel} for kernel in kernels], np.arange(7)))
    assert labels(display.ax_.xaxis) == [
        "$2^{-3}$", "$2^{-1}$", "scale", "RBF(gamma=0.25) + (Co...", "True", "None", "auto",
    ]  # fmt: skip
    np.testing.assert_array_equal(display.scores, [5, 2, 0, 1, 3, 4, 6])


def test_values_that_look_the_same():
    one, other = np.ones((40, 40)), np.ones((40, 40))
    other[20, 20] = 2.0
    kernels = [Indexed(one), Indexed(other), Indexed(one.copy())]
    assert repr(kernels[0]) == repr(kernels[1])  # the middle of a matrix is not written
    display = ScoreMapDisplay.from_search(searched([{"kernel": kernel} for kernel in kernels], [0.1, 0.2, 0.3]))
    np.testing.assert_array_equal(display.scores, [0.3, 0.2])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2, 4, 8], ["1", "2", "4", "8"]),
        ([1, 4, 16], ["$2^{0}$", "$2^{2}$", "$2^{4}$"]),
        ([0.1, 1, 10], ["0.1", "1", "10"]),
        ([1e-3, 1.0, 1e3], ["$10^{-3}$", "$10^{0}$", "$10^{3}$"]),
        ([0.0, 0.25, 0.5], ["0", "0.25", "0.5"]),
        ([-0.5, 1 / 3, 12345], ["-0.5", "0.333", "1.23e+04"]),
    ],
)
def test_labels_of_numbers(values, expected):
    display = ScoreMapDisplay(values, None, np.zeros(len(values)), x_name="C", y_name=None).plot()
    assert labels(display.ax_.xaxis) == expected


def test_labels_of_many_values():
    values = np.arange(30.0)
    display = ScoreMapDisplay(values, None, values, x_name="C", y_name=None).plot()
    assert labels(display.ax_.xaxis) == [f"{value:g}" for value in values[::3]]
    np.testing.assert_array_equal(display.ax_.get_xticks(), values[::3])


def test_line_over_one_parameter():
    search = searched([{"C": 3, "tol": 1}, {"C": 1, "tol": 1}, {"C": 2, "tol": 1}], [0.3, 0.5, 0.2], spread=[1, 2, 3])
    search.best_index_ = 1
    display = ScoreMapDisplay.from_search(search, color="C3")
    np.testing.assert_array_equal(display.line_.lines[0].get_xydata(), [[0, 0.5], [1, 0.2], [2, 0.3]])
    assert display.line_.lines[0].get_color() == "C3"
    np.testing.assert_array_equal(display.errors, [2, 3, 1])
    np.testing.assert_array_equal(display.best_point_.get_xydata(), [[0, 0.5]])
    assert display.ax_.get_ylabel() == "score"
    assert display.image_ is display.colorbar_ is display.y is None


def test_line_without_errors():
    display = ScoreMapDisplay.from_search(searched([{"C": 1}], [0.5]))
    assert display.errors is None
    assert display.best == (0,)


@pytest.mark.parametrize(
    ("machine", "scoring", "name"),
    [(SVC(), None, "accuracy"), (SVR(), None, "$R^2$"), (SVC(), "balanced_accuracy", "balanced accuracy")],
)
def test_names_of_scores(plane, machine, scoring, name):
    search = GridSearchCV(machine, {"C": [1.0, 2.0]}, cv=2, scoring=scoring).fit(*plane)
    assert ScoreMapDisplay.from_search(search).score_name == name
    search.set_params(scoring=lambda *_: 1.0)
    assert ScoreMapDisplay.from_search(search).score_name == "score"


def test_several_scores(plane):
    X, y = plane
    scoring = {"hits": "accuracy", "misses": lambda machine, X, y: float(machine.C)}
    search = GridSearchCV(SVC(), {"C": [0.01, 1.0, 100.0]}, cv=2, scoring=scoring, refit="hits").fit(X, y)
    display = ScoreMapDisplay.from_search(search)
    assert display.score_name == "hits"
    assert display.x[display.best[0]] == search.best_params_["C"] != 100.0
    display = ScoreMapDisplay.from_search(search, scoring="misses")
    np.testing.assert_array_equal(display.scores, [0.01, 1.0, 100.0])
    assert display.best == (2,)
    search.refit = False
    with pytest.raises(ValueError, match="scores of the search, 'hits' or 'misses', got False"):
        ScoreMapDisplay.from_search(search)


def test_map_refusals():
    search = searched([{"C": 1, "gamma": 1}, {"C": 2, "gamma": 2}], [1, 2], scoring="accuracy")
    with pytest.raises(ValueError, match="fitted search with cv_results_, which SVC does not have"):
        ScoreMapDisplay.from_search(SVC())
    with pytest.raises(ValueError, match="x must be one of the parameters searched over, 'C' or 'gamma', got 'nu'"):
        ScoreMapDisplay.from_search(search, x="nu")
    with pytest.raises(ValueError, match="y must be one of"):
        ScoreMapDisplay.from_search(search, y="nu")
    with pytest.raises(ValueError, match="x and y must be two parameters, got 'C' for both"):
        ScoreMapDisplay.from_search(search, x="C", y="C")
    with pytest.raises(ValueError, match="scoring must be a score of the search, which is 'accuracy', got 'f1'"):
        ScoreMapDisplay.from_search(search, scoring="f1")
    with pytest.raises(ValueError, match="over at least one parameter, got one over none"):
        ScoreMapDisplay.from_search(searched([{}], [1.0]))


def lengths(bars):
    return [bar.get_width() for bar in bars]


@pytest.fixture
def two_kernels(plane):
    return MKLClassifier([Linear(), RBF(gamma=5.0)], norm=2.0).fit(*plane)


def test_weights_with_scores(plane, two_kernels):
    X, y = plane
    display = KernelWeightsDisplay.from_estimator(two_kernels, X, y, cv=3, score_name="accuracy")
    alone = [cross_val_score(MKLClassifier([kernel]), X, y, cv=3).mean() for kernel in two_kernels.kernels_]
    np.testing.assert_array_equal(display.weights, two_kernels.weights_)
    np.testing.assert_allclose(display.scores, alone, rtol=1e-12)
    assert display.together == cross_val_score(two_kernels, X, y, cv=3).mean()
    assert lengths(display.ax_.patches) == display.weights.tolist()
    assert lengths(display.score_ax_.patches) == display.scores.tolist()
    np.testing.assert_array_equal(display.score_ax_.lines[0].get_xdata(), [display.together] * 2)
    assert display.score_ax_.texts[0].get_text() == f"together {display.together:.3g}"
    assert labels(display.ax_.yaxis) == ["Linear()", "RBF(gamma=5.0)"]
    assert display.ax_.get_xlabel() == "weight"
    assert display.score_ax_.get_xlabel() == "accuracy of each kernel alone"


def test_weights_without_scores(two_kernels):
    display = KernelWeightsDisplay.from_estimator(two_kernels, names=["one", "other"], color="C3")
    assert labels(display.ax_.yaxis) == ["one", "other"]
    assert lengths(display.ax_.patches) == two_kernels.weights_.tolist()
    assert display.scores is display.together is display.score_ax_ is None
    assert display.ax_.patches[0].get_facecolor() == to_rgba("C3")


def test_matrices_and_functions_have_short_names(plane):
    X, y = plane

    def products(A, B):
        return A @ B.T

    half = partial(products)
    stored = MKLClassifier([Indexed(np.eye(40)), Indexed(X @ X.T)]).fit(np.arange(40), y)
    assert labels(KernelWeightsDisplay.from_estimator(stored).ax_.yaxis) == ["matrix 0", "matrix 1"]
    computed = MKLClassifier([FromFunction(products), FromFunction(half), "linear"]).fit(X, y)
    assert labels(KernelWeightsDisplay.from_estimator(computed).ax_.yaxis) == ["products", repr(half), "Linear()"]


def test_the_first_kernel_is_on_top_on_axes_that_are_shared_too():
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(ncols=2, sharey=True)
    display = KernelWeightsDisplay(["a", "b"], [0.7, 0.3], scores=[0.8, 0.6])
    for ax in axes:
        assert display.plot(ax).ax_ is ax
    for ax in axes:
        bottom, top = ax.get_ylim()
        assert top < 0 < 1 < bottom
    assert len(display.score_ax_.lines) == 0


def test_a_score_below_zero_is_seen():
    display = KernelWeightsDisplay(["a", "b"], [0.5, 0.25], scores=[0.8, -0.4], together=0.9).plot()
    low, high = display.score_ax_.get_xlim()
    assert low < -0.4 < 0.9 < high
    weights = display.ax_.get_xlim()
    assert weights[1] > 0.5
    np.testing.assert_allclose(weights[0] / weights[1], low / high, rtol=1e-12)  # bars begin at the same place


def test_a_weight_below_zero_is_seen():
    display = KernelWeightsDisplay(["a", "b"], [-0.4, 0.8], scores=[0.5, 0.6], together=0.7).plot()
    low, high = display.ax_.get_xlim()
    assert low < -0.4 < 0.8 < high
    scores = display.score_ax_.get_xlim()
    assert scores[1] > 0.7
    np.testing.assert_allclose(scores[0] / scores[1], low / high, rtol=1e-12)


def test_weights_refusals(plane, two_kernels):
    X, _ = plane
    with pytest.raises(TypeError, match=r"machine must be one of mercer.mkl.*got SVC\(\)"):
        KernelWeightsDisplay.from_estimator(SVC().fit(X, np.arange(40) % 2))
    with pytest.raises(NotFittedError):
        KernelWeightsDisplay.from_estimator(MKLClassifier())
    with pytest.raises(TypeError, match="machine must be one with scores where X is given, got MKLOneClass"):
        KernelWeightsDisplay.from_estimator(MKLOneClass(["linear", "rbf"]).fit(X), X)
    with pytest.raises(ValueError, match=r"weights must be one for each of 1 names, got shape \(2,\)"):
        KernelWeightsDisplay(["a"], [0.5, 0.5])
    with pytest.raises(ValueError, match=r"scores must be one for each of 2 names, got shape \(1,\)"):
        KernelWeightsDisplay(["a", "b"], [0.5, 0.5], scores=[1.0])
    with pytest.raises(ValueError, match="names must have one for each of 2 kernels, got 3"):
        KernelWeightsDisplay.from_estimator(two_kernels, names=["a", "b", "c"])
    own = MKLClassifier([Linear(), RBF()], multi_class="ovr", shared=False, norm=2.0).fit(X, np.arange(40) % 3)
    with pytest.raises(ValueError, match=r"one weight for each kernel, got weights_ of shape \(3, 2\)"):
        KernelWeightsDisplay.from_estimator(own)


@pytest.mark.parametrize(
    "draw",
    [
        method
        for name in mercer.plots.__all__
        for method in (getattr(getattr(mercer.plots, name), key) for key in dir(getattr(mercer.plots, name)))
        if getattr(method, "__name__", "").startswith("from_")
    ],
    ids=lambda method: method.__qualname__,
)
def test_without_matplotlib(draw, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    needed = [p for p in signature(draw).parameters.values() if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    with pytest.raises(ImportError, match=rf'{draw.__qualname__} needs matplotlib: pip install "mercer\[plots\]"'):
        draw(*[None] * len(needed))


def test_every_display_can_be_made_from_something():
    for name in set(mercer.plots.__all__) - {"Display"}:
        display = getattr(mercer.plots, name)
        assert issubclass(display, Display)
        assert any(key.startswith("from_") for key in vars(display)), f"{name} has no from_... constructor"


ONCE = {
    ActiveLearningDisplay: lambda make: make([2, 9], [0.4, 0.1], band_labels=[2, 5], band=[7, 0], stops={"band": 5}),
    DecisionDisplay: lambda make: make(
        *np.meshgrid([0.0, 1.0], [0.0, 1.0]), np.eye(2) - 0.5, X=np.eye(2), y=None, support=[0], band=0.2
    ),
    FeatureWeightsDisplay: lambda make: make(["a", "b"], [1.0, -1.0], [3, 4]),
    GramDisplay: lambda make: make.from_matrix(np.eye(4) + 0.5, [0, 1, 0, 1]),
    GraphDisplay: lambda make: make(Graph(3, [(0, 1), (1, 2)], node_labels="COC", edge_labels="=-"), [1.0, 0.0, -1.0]),
    HistoryDisplay: lambda make: make([0, 1], [0.0, 1.0], [1.0, 0.1]),
    InfluenceDisplay: lambda make: make([1.0, 0.5, 0.2], [0.9, -0.5, 0.1], state=[0, 1, 2]),
    KernelPCADisplay: lambda make: make(np.eye(2), [0.5, 0.25], y=[0, 1]),
    KernelWeightsDisplay: lambda make: make(["a", "b"], [0.5, 0.25], scores=[0.8, 0.4], together=0.9),
    RegressionDisplay: lambda make: make(
        [0.0, 1.0], [0.0, 1.0], [0.1, 0.1], X=[0.5], y=[0.9], support=[0], slack=[0.3]
    ),
    ReliabilityDisplay: lambda make: make.from_predictions([0, 1], [0.1, 0.9]),
    ScoreMapDisplay: lambda make: make([1, 2], [3, 4], np.eye(2), x_name="C", y_name="gamma"),
    SequenceDisplay: lambda make: make("AB", [1.0, -1.0]),
    SigmoidDisplay: lambda make: make.from_decision([-1.0, 0.5, 1.0, -0.2], [0, 1, 1, 0], n_groups=2),
    TaxonomyDisplay: lambda make: make(["a", "b"], [[3, 1], [0, 2]], [2]),
    TreeDisplay: lambda make: make.from_tree(Tree("S", ["a", "b"])),
}


@pytest.mark.parametrize("display", ONCE, ids=lambda display: display.__name__)
def test_drawn_again_is_the_same_picture(display):
    import matplotlib.pyplot as plt

    def artists(figure):
        return sorted((type(one).__name__, one.get_text() if isinstance(one, Text) else "") for one in figure.findobj())

    display = ONCE[display](display)
    first = artists(display.figure_ if hasattr(display, "figure_") else display.plot().figure_)
    _, ax = plt.subplots(layout="constrained")
    assert display.plot(ax) is display
    assert display.ax_ is ax and display.figure_ is ax.figure
    assert artists(display.figure_) == first and len(first) > 20


def test_all_displays_are_drawn_again():
    assert {display.__name__ for display in ONCE} == set(mercer.plots.__all__) - {"Display"}


def test_all_displays_have_a_page_in_the_gallery():
    pages = "".join(page.read_text() for page in (Path(__file__).parents[1] / "examples").glob("plot_*.py"))
    assert [name for name in mercer.plots.__all__ if name != "Display" and f"{name}.from_" not in pages] == []


def test_base_draws_nothing():
    with pytest.raises(NotImplementedError):
        Display().plot()


def test_a_tree_stands_above_its_leaves():
    tree = Tree.from_string("(S (NP (N Paul)) (VP (V ate) (NP (Det the) (N pie))))")
    display = TreeDisplay.from_tree(tree, fontsize=7)
    assert [text.get_text() for text in display.texts_] == [label for label, _ in tree.preorder()]
    assert display.parents == [-1, 0, 1, 2, 0, 4, 5, 4, 7, 8, 7, 10]
    leaves = [k for k, (_, arity) in enumerate(tree.preorder()) if arity == 0]
    np.testing.assert_array_equal(display.positions[leaves], [[0, 0], [1, 0], [2, 0], [3, 0]])
    np.testing.assert_array_equal(display.positions[:5], [[0.875, 4], [0, 2], [0, 1], [0, 0], [1.75, 3]])
    assert len(display.edges_) == tree.n_nodes - 1 and not display.wrong.any()
    assert display.texts_[0].get_fontsize() == 7


def test_wrong_nodes_of_a_tree_have_another_colour():
    right = Tree.from_string("(S (A a) (X (B b) (C c)))")
    display = TreeDisplay.from_tree(Tree.from_string("(S (X (A a) (B b)) (C c))"), right)
    assert [label for label, wrong in zip(display.labels, display.wrong, strict=True) if wrong] == ["X"]
    assert to_rgba(display.texts_[1].get_color()) == to_rgba("C3")
    assert to_rgba(display.edges_[0].get_color()) == to_rgba("C3")
    twice = TreeDisplay.from_tree(Tree.from_string("(S (S a))"), Tree.from_string("(S a)"))
    assert twice.wrong.tolist() == [False, True, False]
    with pytest.raises(ValueError, match=r"right must have the leaves \('a',\), got \('b',\)"):
        TreeDisplay.from_tree(Tree("S", ["a"]), Tree("S", ["b"]))
