"""Parameters found by the gradient of the radius-margin bound."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from registry import GRADIENT_TUNED, TUNED
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from mercer import SVC, GradientTuned, NuSVC, selection
from mercer.kernels import RBF, GapWeighted, Indexed, Linear, Matern, Polynomial, RationalQuadratic, weighted_sum
from mercer.selection import RadiusMargin, SmoothSpan, Span
from mercer.selection.criteria.base import Lesson
from mercer.selection.gradient import Bound

STARTS = {
    "RBF": RBF(gamma=0.4),
    "RBF per feature": RBF(gamma=np.array([0.5, 0.3, 0.2])),
    "Matern": Matern(length_scale=1.2, nu=2.5),
    "RationalQuadratic": RationalQuadratic(length_scale=1.3, alpha=0.7),
    "Polynomial": Polynomial(degree=2, gamma=0.5, coef0=1.0),
    "Sum": 0.7 * RBF(gamma=0.3) + 0.2 * Linear() + 0.5,
    "weighted sum, normalised": weighted_sum([RBF(gamma=0.3), Linear()], [0.7, 0.3]).normalized(),
    "RBF of a polynomial": Polynomial(degree=2, gamma=0.5, coef0=1.0).rbf(3.0),
}


def ring(n=80, d=3, seed=0, blurred=0.0):
    """Inside and outside of a circle in the first two features; the others are noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] ** 2 + X[:, 1] ** 2 + blurred * rng.normal(size=n) > 1.4


def squared(kernel="rbf", **parameters):
    return SVC(kernel=kernel, loss="squared_hinge", **parameters)


def test_registry_has_them_all():
    public = {getattr(selection, name) for name in selection.__all__}
    estimators = {one for one in public if isinstance(one, type) and hasattr(one, "predict")}
    assert {type(make()) for make in TUNED.values()} == estimators


# --- the gradient -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", [RadiusMargin(), SmoothSpan()], ids=["radius", "span"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kernel", STARTS.values(), ids=STARTS.keys())
def test_gradient_is_that_of_the_bound(kernel, fit_intercept, criterion):
    """By finite differences, with weights of samples and classes."""
    X, y = ring(n=60)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0, 3.0], size=len(X))
    machine = squared(kernel, C=3.0, fit_intercept=fit_intercept, class_weight={False: 1.0, True: 2.0}, tol=1e-10)
    lesson = Lesson(machine, X, y, weight, "test")
    packed = GradientTuned()._start(lesson, machine)
    bound = Bound(criterion, lesson, machine, packed)
    value, slope = bound(packed.start)
    assert_allclose(np.exp(value), criterion.bound(machine.fit(X, y, weight), X, y, weight), rtol=1e-8)
    step = 1e-5
    differences = [
        (bound(packed.start + move)[0] - bound(packed.start - move)[0]) / (2 * step)
        for move in step * np.eye(len(slope))
    ]
    assert_allclose(slope, differences, rtol=1e-6, atol=1e-8)
    assert np.abs(slope).max() > 0.1


# --- what is found ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", [RadiusMargin(), SmoothSpan()], ids=["radius", "span"])
def test_a_minimum_of_the_bound(criterion):
    X, y = ring(blurred=1.0)
    tuned = GradientTuned(squared(C=1.0), criterion=criterion, tol=1e-4).fit(X, y)
    assert tuned.result_.status == "local"
    assert tuned.result_.at_limit == ()
    best = tuned.best_estimator_
    assert_allclose(criterion.bound(best, X, y), tuned.result_.bound, rtol=1e-3)
    exact = clone(best).set_params(tol=1e-9)
    found = criterion.bound(clone(exact).fit(X, y), X, y)
    assert_allclose(found, tuned.result_.bound, rtol=1e-6)
    for factor_C in (0.95, 1.0, 1.05):
        for factor_gamma in (0.95, 1.0, 1.05):
            near = clone(exact).set_params(C=best.C * factor_C, kernel__gamma=best.kernel.gamma * factor_gamma)
            assert criterion.bound(near.fit(X, y), X, y) >= found * (1 - 1e-5)


@pytest.mark.parametrize("criterion", [None, SmoothSpan()])
def test_features_of_noise_are_found(criterion):
    X, y = ring(n=200, d=6)
    tuned = GradientTuned(criterion=criterion, per_feature=True).fit(X, y)
    gamma = tuned.best_params_["kernel__gamma"]
    assert gamma.shape == (6,)
    assert gamma[2:].max() < gamma[:2].min() / 10
    other, labels = ring(n=500, d=6, seed=1)
    assert tuned.score(other, labels) > squared().fit(X, y).score(other, labels) + 0.05
    assert tuned.result_.bound < GradientTuned(criterion=criterion).fit(X, y).result_.bound


@pytest.mark.parametrize("make", GRADIENT_TUNED.values(), ids=GRADIENT_TUNED.keys())
def test_history(make):
    X, y = ring()
    tuned = make().fit(X, y)
    result = tuned.result_
    assert len(result.bounds) == result.n_iter + 1 == tuned.n_iter_ + 1
    assert (np.diff(result.bounds) < 0).all()
    assert result.bounds[-1] == result.bound
    assert result.n_fits >= result.n_iter
    assert result.seconds > 0
    machine = make()._machine()
    assert result.parameters["C"][0] == pytest.approx(machine.C)
    gamma = RBF().resolve(X).gamma
    assert_allclose(result.parameters["kernel__gamma"][0], np.full(3, gamma) if make().per_feature else gamma)
    for name, values in result.parameters.items():
        assert_array_equal(values[-1], tuned.best_params_[name])
        assert_array_equal(tuned.best_estimator_.get_params()[name], tuned.best_params_[name])


def test_some_parameters_only():
    X, y = ring()
    kernel = 0.7 * RBF(gamma=0.3) + 0.2 * Linear()
    tuned = GradientTuned(squared(kernel, C=2.0), parameters=["kernel__0__1__gamma"]).fit(X, y)
    assert list(tuned.best_params_) == ["kernel__0__1__gamma"]
    best = tuned.best_estimator_
    assert best.C == 2.0
    assert best.kernel.get_params()["0__0__value"] == 0.7
    assert best.kernel.get_params()["0__1__gamma"] != 0.3
    assert kernel == 0.7 * RBF(gamma=0.3) + 0.2 * Linear()  # it was cloned


def test_per_feature_inside_of_sums():
    X, y = ring()
    tuned = GradientTuned(squared(Matern(nu=1.5) + 0.5 * RBF()), per_feature=True, max_iter=200).fit(X, y)
    assert tuned.best_params_["kernel__0__length_scale"].shape == (3,)
    assert tuned.best_params_["kernel__1__1__gamma"].shape == (3,)
    assert np.ndim(tuned.best_params_["kernel__1__0__value"]) == 0


def test_parameters_at_zero_are_left_alone():
    X, y = ring()
    tuned = GradientTuned(squared(Polynomial(degree=2, gamma=1.0, coef0=0.0))).fit(X, y)
    assert list(tuned.best_params_) == ["C", "kernel__gamma"]


@pytest.mark.parametrize("kernel", ["precomputed", "indexed"])
def test_kernels_without_parameters(kernel):
    X, y = ring()
    K = RBF(gamma=0.5)(X)
    expected = GradientTuned(squared(RBF(gamma=0.5)), parameters=["C"]).fit(X, y)
    machine = squared("precomputed") if kernel == "precomputed" else squared(Indexed(K))
    samples = K if kernel == "precomputed" else np.arange(len(X)).reshape(-1, 1)
    tuned = GradientTuned(machine).fit(samples, y)
    assert list(tuned.best_params_) == ["C"]
    assert_allclose(tuned.best_params_["C"], expected.best_params_["C"], rtol=1e-5)
    assert_array_equal(tuned.predict(samples), expected.predict(X))


@pytest.mark.parametrize("criterion", [RadiusMargin(), SmoothSpan()], ids=["radius", "span"])
def test_a_rough_machine_does_not_make_the_gradient_rough(criterion):
    X, y = ring(n=400, blurred=1.0)
    rough = GradientTuned(squared(tol=0.3), criterion=criterion).fit(X, y)
    exact = GradientTuned(squared(tol=1e-8), criterion=criterion).fit(X, y)
    assert rough.result_.status == "local"
    assert rough.best_estimator_.tol == 0.3
    assert_allclose(rough.result_.bound, exact.result_.bound, rtol=1e-5)


# --- laws -------------------------------------------------------------------------------------------------


def same(first, second, **tolerance):
    assert first.best_params_.keys() == second.best_params_.keys()
    for name, value in first.best_params_.items():
        assert_allclose(value, second.best_params_[name], **tolerance)
    assert_allclose(first.result_.bound, second.result_.bound, **tolerance)


def test_order_of_samples_and_weights():
    X, y = ring()
    tuned = GradientTuned(tol=1e-5)
    order = np.random.default_rng(1).permutation(len(X))
    same(clone(tuned).fit(X, y), clone(tuned).fit(X[order], y[order]), rtol=1e-4)
    weight = np.random.default_rng(3).integers(0, 4, size=len(X))
    times = np.repeat(np.arange(len(X)), weight)
    start = clone(tuned).set_params(estimator=squared(RBF(gamma=0.3)))
    same(clone(start).fit(X, y, weight), clone(start).fit(X[times], y[times]), rtol=1e-4)


def test_threads_copies_and_sparse_samples():
    X, y = ring()
    tuned = GradientTuned(squared(n_threads=1), per_feature=True).fit(X, y)
    again = clone(tuned).fit(X, y)
    same(tuned, again, rtol=0)
    assert_array_equal(pickle.loads(pickle.dumps(tuned)).decision_function(X), again.decision_function(X))
    same(tuned, GradientTuned(squared(n_threads=3), per_feature=True).fit(X, y), rtol=1e-6)
    same(tuned, GradientTuned(squared(), per_feature=True).fit(csr_array(X), y), rtol=1e-4)
    assert tuned.estimator.kernel == "rbf"


def test_predictions_are_those_of_the_best():
    X, y = ring()
    names = np.where(y, "out", "in")
    tuned = GradientTuned().fit(X, names)
    assert_array_equal(tuned.classes_, ["in", "out"])
    assert_array_equal(tuned.decision_function(X), tuned.best_estimator_.decision_function(X))
    assert_array_equal(tuned.predict(X), np.where(tuned.decision_function(X) > 0, "out", "in"))
    assert tuned.score(X, names) == tuned.best_estimator_.score(X, names) > 0.9


# --- honesty ----------------------------------------------------------------------------------------------


def test_too_few_steps_are_told():
    X, y = ring()
    with pytest.warns(ConvergenceWarning, match=r"did not reach a stationary point \(status max_iter\)"):
        tuned = GradientTuned(max_iter=2, per_feature=True).fit(X, y)
    assert tuned.result_.status == "max_iter"
    assert tuned.result_.n_iter == 2
    assert tuned.result_.stationarity > tuned.tol


def test_more_than_rounding_allows_is_told():
    X, y = ring()
    with pytest.warns(ConvergenceWarning, match="status stalled"):
        tuned = GradientTuned(tol=1e-300).fit(X, y)
    assert tuned.result_.status == "stalled"


def test_limits_are_told():
    X, y = ring()
    free = GradientTuned(squared(RBF(gamma=5.0))).fit(X, y)
    tuned = GradientTuned(squared(RBF(gamma=5.0)), factor=2.0).fit(X, y)
    assert free.best_params_["kernel__gamma"] < 2.5
    assert tuned.result_.status == "local"
    assert "kernel__gamma" in tuned.result_.at_limit
    assert_allclose(tuned.best_params_["kernel__gamma"], 2.5)
    assert free.result_.at_limit == ()


@pytest.mark.parametrize(
    ("tuned", "error", "rule"),
    [
        (GradientTuned(SVC()), ValueError, "loss of the estimator must be 'squared_hinge', got 'hinge'"),
        (GradientTuned(squared(C=np.inf)), ValueError, "C of the estimator must be a float > 0, got inf"),
        (GradientTuned(NuSVC()), TypeError, r"GradientTuned is for mercer\.SVC, got NuSVC"),
        (GradientTuned(squared(probability=True)), ValueError, "probability must be False for GradientTuned"),
        (GradientTuned(squared(tol=-1.0)), ValueError, "tol must be a float > 0, got -1.0"),
        (GradientTuned(criterion=Span()), TypeError, r"criterion must be RadiusMargin\(\), SmoothSpan\(\) or None"),
        (GradientTuned(criterion=SmoothSpan(smoothing=-1.0)), ValueError, "smoothing must be a float > 0, got -1.0"),
        (GradientTuned(tol=0.0), ValueError, "tol must be a float > 0, got 0.0"),
        (GradientTuned(max_iter=0), ValueError, "max_iter must be an int >= 1, got 0"),
        (GradientTuned(factor=1.0), ValueError, "factor must be a float > 1, got 1.0"),
        (GradientTuned(per_feature=3), ValueError, "per_feature must be True or False, got 3"),
        (GradientTuned(parameters=["kernel__sigma"]), ValueError, "names out of C, kernel__gamma, got"),
        (GradientTuned(parameters="C"), ValueError, "parameters must be None or a list of names"),
        (GradientTuned(parameters=[]), ValueError, "parameters must be None or a list of names"),
        (
            GradientTuned(squared(Polynomial(gamma=1.0, coef0=0.0)), parameters=["kernel__coef0"]),
            ValueError,
            "kernel__coef0 must start > 0 to be tuned in its logarithm, got 0.0",
        ),
    ],
)
def test_refusals(tuned, error, rule):
    X, y = ring()
    with pytest.raises(error, match=rule):
        tuned.fit(X, y)
    assert not hasattr(tuned, "best_estimator_")


def test_several_classes_and_no_fit_are_refused():
    X, _ = ring()
    with pytest.raises(ValueError, match="Only binary classification is supported by GradientTuned"):
        GradientTuned().fit(X, np.arange(len(X)) % 3)
    with pytest.raises(NotFittedError):
        GradientTuned().predict(X)


def test_parameters_stay_where_their_kernel_allows_them(rng):
    """The decay of a string kernel is at most one."""
    words = ["".join(rng.choice(list("ab"), size=10)) for _ in range(30)]
    y = np.array([word[:5].count("a") > word[5:].count("a") for word in words])  # far apart is as good as close
    tuned = GradientTuned(SVC(GapWeighted(2, decay=0.95).normalized(), loss="squared_hinge")).fit(words, y)
    assert tuned.best_params_["kernel__kernel__decay"] == 1.0
    assert tuned.result_.at_limit == ("kernel__kernel__decay",)
