"""Criteria from the training samples alone: closed forms, laws, searches, curves, refusals."""

import pickle
import warnings
from inspect import isabstract

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from registry import CRITERIA
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from mercer import SVC, SVR, LinearSVC, NuSVC, selection
from mercer.errors import IndefiniteError
from mercer.kernels import RBF, FromFunction, Linear, Sigmoid
from mercer.selection import (
    AlphaSum,
    Criterion,
    LeaveOneOut,
    RadiusMargin,
    SmoothSpan,
    Span,
    SupportFraction,
    XiAlpha,
    criteria_curve,
)

every_criterion = pytest.mark.parametrize("make", CRITERIA.values(), ids=CRITERIA.keys())
LOSSES = {
    "hinge": {"loss": "hinge", "C": 2.0},
    "squared_hinge": {"loss": "squared_hinge", "C": 2.0},
    "hard margin": {"C": np.inf},
}


def two_classes(n=40, seed=0):
    """Classes that overlap a little."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] + 0.4 * rng.normal(size=n) > 0, "yes", "no")


def machines_for(criterion, **parameters):
    """A machine for every loss that the criterion holds for."""
    losses = [*criterion.losses, *(["hinge"] if getattr(criterion, "delta", None) else [])]
    return [SVC(kernel=RBF(gamma=1.0), tol=1e-10, **LOSSES[loss], **parameters) for loss in losses]


def test_registry_has_them_all():
    public = {getattr(selection, name) for name in selection.__all__}
    classes = {c for c in public if isinstance(c, type) and issubclass(c, Criterion) and not isabstract(c)}
    assert {type(make()) for make in CRITERIA.values()} == classes
    assert all(key.split()[0] == type(make()).__name__ for key, make in CRITERIA.items())


# --- closed forms -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.5, 4.0, np.inf])
def test_two_points(C):
    """x = -1, 1: with r = 1 / (2 C), alpha = 1 / (2 + r) for both and R^2 = 1 + r / 2."""
    X, y = np.array([[-1.0], [1.0]]), [0, 1]
    machine = SVC(kernel="linear", loss="squared_hinge", C=C, tol=1e-12).fit(X, y)
    r = 1 / (2 * C)
    assert_allclose(RadiusMargin().bound(machine, X, y), 0.5)
    assert_allclose(AlphaSum().bound(machine, X, y), (1 + r) / (2 + r))
    assert SupportFraction().bound(machine, X, y) == 1.0
    # alpha (K(x, x) + r - K(x, x')) = 1
    assert XiAlpha().bound(machine, X, y) == XiAlpha(rho=1.01).bound(machine, X, y) == 1.0
    assert XiAlpha(rho=0.99).bound(machine, X, y) == 0.0
    # each is the only sample of its class
    assert LeaveOneOut().bound(machine, X, y) == 1.0
    # the span is the distance of the two: 1 - alpha (4 + 2 r) = -1
    assert_allclose(Span().decisions(machine, X, y), [1.0, -1.0])


@pytest.mark.parametrize(
    ("points", "radius"),
    [
        ([[0.0, 0.0], [2.0, 0.0]], 1.0),
        ([[0.0, 0.0], [2.0, 0.0], [1.0, 0.1]], 1.0),  # obtuse
        ([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]], 1 / np.sqrt(3)),  # equilateral
        ([[0.0, 0.0], [0.0, 3.0], [4.0, 0.0], [4.0, 3.0], [2.0, 1.0]], 2.5),
    ],
)
def test_radius_of_points_in_the_plane(points, radius):
    """Far from the origin, which the ball does not feel; the radius is all that is left if the margin is known."""
    X = np.array(points) + 100.0
    y = np.arange(len(X)) == 0
    machine = SVC(kernel="linear", C=np.inf, tol=1e-10, gap_tol=1e-10).fit(X, y)
    expected = radius**2 / (len(X) * machine.margin_**2)
    assert_allclose(RadiusMargin().bound(machine, X, y), expected, rtol=1e-6)


def test_gaussian_hard_margin_is_the_sum_of_alpha():
    X, y = two_classes()
    machine = SVC(kernel=RBF(gamma=2.0), C=np.inf, tol=1e-9).fit(X, y)
    alpha = np.abs(machine.dual_coef_[0])
    assert_allclose(AlphaSum().bound(machine, X, y), alpha.sum() / len(X))
    K = machine.kernel_(X)
    close = 1.0 - K.min()
    assert_allclose(XiAlpha().bound(machine, X, y), np.sum(2 * alpha * close >= 1) / len(X))
    assert RadiusMargin().bound(machine, X, y) <= AlphaSum().bound(machine, X, y) * (1 + 1e-6)


def test_xi_alpha_of_the_hinge():
    """[CY eq 3.22], from public attributes."""
    X, y = two_classes()
    machine = SVC(kernel=RBF(gamma=1.0), C=0.4, tol=1e-10).fit(X, y)
    alpha = np.zeros(len(X))
    alpha[machine.support_] = np.abs(machine.dual_coef_[0])
    reach = 1.0 - machine.kernel_(X).min()
    for rho in (0.5, 1.0, 2.0):
        counted = np.mean(rho * alpha * reach + machine.slack_ >= 1)
        assert XiAlpha(rho=rho).bound(machine, X, y) == counted
    assert XiAlpha().bound(machine, X, y) == counted
    assert 0 < XiAlpha(rho=0.5).bound(machine, X, y) < counted < SupportFraction().bound(machine, X, y)


def test_modified_bound_of_the_hinge():
    X, y = two_classes()
    hinge = SVC(kernel=RBF(gamma=1.0), C=3.0, tol=1e-10).fit(X, y)
    hard = SVC(kernel=RBF(gamma=1.0), C=np.inf, tol=1e-10).fit(X, y)
    squared_radius = RadiusMargin().bound(hard, X, y) / (-2 * hard.result_.bound)
    expected = (squared_radius + 0.5 / 3.0 / len(X)) * (hinge.norm_**2 + 2 * 3.0 * hinge.slack_.sum())
    assert_allclose(RadiusMargin(delta=0.5).bound(hinge, X, y), expected, rtol=1e-6)
    # delta is for the hinge alone
    assert RadiusMargin(delta=0.5).bound(hard, X, y) == RadiusMargin().bound(hard, X, y)


# --- laws -------------------------------------------------------------------------------------------------


@every_criterion
def test_scorer_is_minus_the_bound(make):
    X, y = two_classes()
    for machine in machines_for(make()):
        before = pickle.dumps(machine.fit(X, y))
        bound = make().bound(machine, X, y)
        assert isinstance(bound, float)
        assert bound > 0
        assert make()(machine, X, y) == -bound
        assert pickle.dumps(machine) == before  # the machine is as it was


@every_criterion
def test_values(make):
    criterion = make()
    assert (
        criterion == clone(criterion) == pickle.loads(pickle.dumps(criterion)) == eval(repr(criterion), vars(selection))
    )
    assert hash(criterion) == hash(clone(criterion))
    assert criterion != "criterion"
    assert set(criterion.losses) <= set(LOSSES)
    for other in CRITERIA.values():
        assert (criterion == other()) == (repr(criterion) == repr(other()))


@every_criterion
def test_order_of_samples_and_names_of_classes(make):
    X, y = two_classes()
    order = np.random.default_rng(1).permutation(len(X))
    for machine in machines_for(make()):
        bound = make().bound(machine.fit(X, y), X, y)
        assert_allclose(make().bound(machine.fit(X[order], y[order]), X[order], y[order]), bound, rtol=1e-6)
        other = np.where(y == "yes", 0, 1)
        assert_allclose(make().bound(machine.fit(X, other), X, other), bound, rtol=1e-6)


@every_criterion
def test_threads(make):
    X, y = two_classes(n=80)
    for machine in machines_for(make()):
        bounds = [make().bound(clone(machine).set_params(n_threads=k).fit(X, y), X, y) for k in (1, 2, 5)]
        assert bounds[0] == bounds[1] == bounds[2]


@every_criterion
def test_given_matrix_and_no_offset(make):
    X, y = two_classes()
    for fit_intercept in (True, False):
        for machine in machines_for(make(), fit_intercept=fit_intercept):
            bound = make().bound(machine.fit(X, y), X, y)
            K = RBF(gamma=1.0)(X)
            given = clone(machine).set_params(kernel="precomputed").fit(K, y)
            assert_allclose(make().bound(given, K, y), bound, rtol=1e-7)


@every_criterion
def test_weight_zero_is_no_sample(make):
    X, y = two_classes()
    weight = np.random.default_rng(2).integers(0, 2, size=len(X)).astype(float)
    some = weight > 0
    for machine in machines_for(make(), class_weight={"no": 1.0, "yes": 3.0}):
        if getattr(make(), "delta", None) and machine.loss == "hinge" and machine.C < np.inf:
            continue  # no single C
        fewer = make().bound(machine.fit(X[some], y[some]), X[some], y[some])
        assert_allclose(make().bound(machine.fit(X, y, weight), X, y, weight), fewer, rtol=1e-7)


@pytest.mark.parametrize("name", CRITERIA)
def test_weight_two_is_the_sample_twice(name):
    """Where the solution tells copies apart from one sample: the hinge may give all to one copy."""
    X, y = two_classes()
    weight = np.random.default_rng(3).integers(0, 4, size=len(X))
    times = np.repeat(np.arange(len(X)), weight)
    criterion = CRITERIA[name]()
    for machine in machines_for(criterion):
        if machine.loss == "hinge" and name not in ("AlphaSum", "LeaveOneOut", "RadiusMargin", "RadiusMargin modified"):
            continue
        repeated = clone(machine).fit(X[times], y[times])
        weighted = clone(machine).fit(X, y, weight)
        expected = criterion.bound(repeated, X[times], y[times])
        assert_allclose(criterion.bound(weighted, X, y, weight), expected, rtol=1e-6)
        if hasattr(criterion, "decisions"):
            expected = criterion.decisions(repeated, X[times], y[times])
            assert_allclose(criterion.decisions(weighted, X, y, weight)[times], expected, rtol=1e-5, atol=1e-6)


@every_criterion
def test_weight_below_one_is_a_price(make):
    """Such a sample is left out whole: half of all weights is half of C."""
    X, y = two_classes()
    for machine in machines_for(make()):
        full = make().bound(clone(machine).fit(X, y), X, y)
        half = np.full(len(X), 0.5)
        light = clone(machine).set_params(C=2 * machine.C).fit(X, y, half)
        # The margin is that of all samples, whose number is that of their weights.
        times = 2.0 if isinstance(make(), RadiusMargin) else 1.0
        if times == 2.0 and machine.loss == "hinge" and machine.C < np.inf:
            continue  # R^2 + delta / C knows the C before weights
        assert_allclose(make().bound(light, X, y, half), times * full, rtol=1e-6)


@every_criterion
def test_single_precision(make):
    X, y = two_classes(n=80)
    single = X.astype(np.float32)
    K = RBF(gamma=1.0)(single)
    assert K.dtype == np.float32
    for machine in machines_for(make()):
        if machine.C == np.inf:
            continue
        machine.set_params(tol=1e-6)
        bound = make().bound(machine.fit(single.astype(float), y), single.astype(float), y)
        assert_allclose(make().bound(machine.fit(single, y), single, y), bound, rtol=1e-3)
        given = clone(machine).set_params(kernel="precomputed").fit(K, y)
        assert_allclose(make().bound(given, K, y), bound, rtol=1e-3)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_radius_margin_is_proved(fit_intercept):
    """However inexact the solutions are, never below that of exact ones."""
    X, y = two_classes(n=500)
    machine = SVC(kernel=RBF(gamma=3.0), loss="squared_hinge", fit_intercept=fit_intercept, tol=1e-8)
    exact = clone(machine).fit(X, y)
    least = RadiusMargin().bound(exact, X, y)
    gaps = []
    for tol in (0.5, 0.1, 1e-3):
        rough = clone(machine).set_params(tol=tol).fit(X, y)
        gaps.append(rough.result_.relative_gap)
        # The ball does not know the machine; what is proved of the margin is the primal objective.
        worse = rough.result_.primal_objective / exact.result_.primal_objective
        assert worse > 1 - 1e-8
        assert RadiusMargin().bound(rough, X, y) >= least * worse * (1 - 1e-7)
    assert gaps[0] > 1e-3


# --- leave-one-out ----------------------------------------------------------------------------------------


def test_decisions_of_samples_that_are_no_support_vectors():
    X, y = two_classes(n=80)
    machine = SVC(kernel=RBF(gamma=1.0), C=2.0, tol=1e-10).fit(X, y)
    others = np.setdiff1d(np.arange(len(X)), machine.support_)
    assert len(others) > 10
    for criterion in (LeaveOneOut(), Span()):
        values = criterion.decisions(machine, X, y)
        assert_allclose(values[others], machine.decision_function(X[others]), rtol=1e-7)
        sign = np.where(y == "yes", 1, -1)
        assert criterion.bound(machine, X, y) == np.mean(sign * values <= 0)
        # leaving a sample out never helps it
        assert (sign * values <= sign * machine.decision_function(X) + 1e-6).all()


def test_decisions_of_samples_without_weight():
    X, y = two_classes()
    weight = np.ones(len(X))
    weight[[3, 8]] = 0
    machine = SVC(kernel=RBF(gamma=1.0)).fit(X, y, weight)
    assert_array_equal(np.flatnonzero(np.isnan(LeaveOneOut().decisions(machine, X, y, weight))), [3, 8])


def test_the_only_sample_of_its_class():
    X, y = np.array([[0.0], [1.0], [2.0], [9.0]]), [0, 0, 0, 1]
    machine = SVC(kernel="linear").fit(X, y)
    assert LeaveOneOut().decisions(machine, X, y)[3] == -np.inf
    assert LeaveOneOut().bound(machine, X, y) == 0.25
    # but there are two of them if it counts twice
    weight = [1, 1, 1, 2]
    assert LeaveOneOut().bound(machine.fit(X, y, weight), X, y, weight) == 0.0


def test_an_offset_that_a_sample_without_multiplier_bounds():
    """Both support vectors are at C: b is the middle of what they and the third sample leave, -0.2 to 0.88."""
    X, y = np.array([[-1.0], [1.0], [10.0]]), [0, 1, 1]
    machine = SVC(kernel="linear", C=0.06, tol=1e-10).fit(X, y)
    assert_array_equal(machine.support_, [0, 1])
    assert_allclose(machine.decision_function([[0.0], [10.0]]), [0.34, 1.54])
    assert_allclose(LeaveOneOut().decisions(machine, X, y)[2], 1.2)


def test_span_where_nobody_is_on_the_edge():
    """All multipliers at their bound: without an offset the span is the distance from the origin."""
    X, y = two_classes()
    machine = SVC(kernel=RBF(gamma=1.0), C=1e-3, fit_intercept=False, tol=1e-10).fit(X, y)
    assert (np.abs(machine.dual_coef_) == 1e-3).all()
    expected = np.where(y == "yes", 1, -1) * machine.decision_function(X) - 1e-3
    assert_allclose(np.where(y == "yes", 1, -1) * Span().decisions(machine, X, y), expected, atol=1e-9)
    balanced = np.concatenate([np.flatnonzero(y == side)[:15] for side in ("yes", "no")])
    machine = SVC(kernel=RBF(gamma=1.0), C=1e-3, tol=1e-10).fit(X[balanced], y[balanced])
    assert Span().bound(machine, X[balanced], y[balanced]) == 1.0


def test_span_of_repeated_samples():
    """The same sample twice on the edge: the distance to the other is zero, up to rounding."""
    X, y = two_classes(n=20)
    X, y = np.concatenate([X, X]), np.concatenate([y, y])
    machine = SVC(kernel=RBF(gamma=1.0), C=10.0, tol=1e-10).fit(X, y)
    edge = [i for i in machine.support_ if (i + 20) % 40 in machine.support_]
    values = Span().decisions(machine, X, y)
    assert np.isfinite(values[edge]).all()


def test_smooth_span_becomes_the_span():
    X, y = two_classes()
    for fit_intercept in (True, False):
        machine = SVC(kernel=RBF(gamma=1.0), loss="squared_hinge", fit_intercept=fit_intercept, tol=1e-10).fit(X, y)
        near = np.abs(Span().decisions(machine, X, y)).min()  # nobody is on the line
        limit = SmoothSpan(steepness=100 / near, smoothing=1e-3 * near)
        assert_allclose(limit.bound(machine, X, y), Span().bound(machine, X, y), rtol=1e-9)
        assert Span().bound(machine, X, y) > 0


# --- searches and curves ----------------------------------------------------------------------------------


@every_criterion
def test_search(make):
    X, y = two_classes()
    everyone = np.arange(len(X))
    gammas = [0.05, 0.5, 5.0]
    for machine in machines_for(make()):
        if machine.C == np.inf:
            continue
        search = GridSearchCV(
            machine, {"kernel__gamma": gammas}, scoring=make(), cv=[(everyone, everyone)], error_score="raise"
        ).fit(X, y)
        curve = criteria_curve(machine, X, y, param_name="kernel__gamma", param_range=gammas, criteria=make())
        assert curve.shape == (1, 3)
        assert_allclose(search.cv_results_["mean_test_score"], -curve[0], rtol=1e-6)


def test_held_out_samples_are_refused():
    X, y = two_classes()
    with pytest.raises(ValueError, match="XiAlpha needs the samples, classes and weights that the machine was fitted"):
        cross_val_score(SVC(), X, y, scoring=XiAlpha(), cv=2, error_score="raise")


def test_curve_starts_warm_over_one_matrix():
    X, y = two_classes()
    calls = []

    def gaussian(A, B):
        calls.append(len(A))
        return RBF(gamma=1.0)(A, B)

    prices = [0.1, 1.0, 10.0]
    machine = SVC(kernel=FromFunction(gaussian), tol=1e-8)
    curve = criteria_curve(machine, X, y, param_name="C", param_range=prices, criteria=[SupportFraction(), Span()])
    assert sum(calls) <= 2 * len(X)  # the matrix, and its diagonal
    for k, C in enumerate(prices):
        alone = SVC(kernel=RBF(gamma=1.0), C=C, tol=1e-8).fit(X, y)
        assert_allclose(curve[:, k], [c.bound(alone, X, y) for c in (SupportFraction(), Span())], atol=1e-9)


def test_curve_where_classes_cannot_be_separated():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 1, 0, 1]
    curve = criteria_curve(
        SVC(C=np.inf), X, y, param_name="kernel", param_range=["linear", RBF(gamma=3.0)], criteria=[AlphaSum()]
    )
    assert curve[0, 0] == np.inf
    assert np.isfinite(curve[0, 1])


def test_curve_takes_weights():
    X, y = two_classes()
    weight = np.random.default_rng(0).integers(0, 3, size=len(X))
    machine = SVC(kernel=RBF(gamma=1.0), loss="squared_hinge", tol=1e-8)
    curve = criteria_curve(
        machine, X, y, param_name="C", param_range=[2.0], criteria=LeaveOneOut(), sample_weight=weight
    )
    alone = clone(machine).set_params(C=2.0).fit(X, y, weight)
    assert_allclose(curve, [[LeaveOneOut().bound(alone, X, y, weight)]])


# --- refusals ---------------------------------------------------------------------------------------------


@every_criterion
def test_machines_that_are_refused(make):
    X, y = two_classes()
    name = type(make()).__name__
    for machine in (NuSVC(nu=0.2), LinearSVC(), SVR()):
        labels = (y == "yes").astype(float)
        with pytest.raises(TypeError, match=f"{name} is for mercer.SVC, got {type(machine).__name__}"):
            make()(machine.fit(X, labels), X, labels)
    squared = {"loss": "squared_hinge"}
    with pytest.raises(ValueError, match="probability must be False"):
        make()(SVC(probability=True, **squared).fit(X, y), X, y)
    with pytest.raises(ValueError, match="multi_class must be a scheme of machines for two"):
        make()(SVC(multi_class="crammer_singer").fit(X, y), X, y)
    with pytest.raises(NotFittedError):
        make()(SVC(**squared), X, y)
    three = np.arange(len(X)) % 3
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        make()(SVC(**squared).fit(X, three), X, three)


@pytest.mark.parametrize("criterion", [AlphaSum(), RadiusMargin(), SmoothSpan()])
def test_the_hinge_is_refused(criterion):
    X, y = two_classes()
    rule = "needs a machine with .*loss='squared_hinge', got loss='hinge' with a finite C"
    with pytest.raises(ValueError, match=rule):
        criterion.bound(SVC(), X, y)  # before anything else is looked at
    with pytest.raises(ValueError, match=rule):
        criteria_curve(SVC(), X, y, param_name="C", param_range=[1.0], criteria=criterion)


@every_criterion
def test_other_samples_are_refused(make):
    X, y = two_classes()
    for machine in machines_for(make()):
        machine.fit(X, y)
        rule = "needs the samples, classes and weights that the machine was fitted to"
        with pytest.raises(ValueError, match=rule):
            make()(machine, X[:-1], y[:-1])
        with pytest.raises(ValueError, match=rule):
            make()(machine, X + 1e-1 * np.arange(len(X))[:, np.newaxis], y)
        with pytest.raises(ValueError, match=rule):
            make()(machine, X, np.where(y == "yes", "no", "yes"))
        with pytest.raises(ValueError, match=rule):
            make()(machine, X, np.where(y == "yes", 1, 0))
        if machine.C < np.inf:
            with pytest.raises(ValueError, match=rule):
                make()(machine.fit(X, y, np.full(len(X), 3.0)), X, y)


@pytest.mark.parametrize(
    ("criterion", "rule"),
    [
        (XiAlpha(rho=0.0), "rho must be a float > 0 or None, got 0.0"),
        (XiAlpha(rho="two"), "rho must be a float > 0 or None, got 'two'"),
        (RadiusMargin(delta=-1.0), "delta must be a float > 0 or None, got -1.0"),
        (SmoothSpan(steepness=0.0), "steepness must be a float > 0, got 0.0"),
        (SmoothSpan(smoothing=None), "smoothing must be a float > 0, got None"),
    ],
)
def test_parameters_are_checked(criterion, rule):
    X, y = two_classes()
    with pytest.raises(ValueError, match=rule):
        criterion.bound(SVC(loss="squared_hinge").fit(X, y), X, y)


def test_what_has_no_meaning_is_refused():
    X, y = two_classes()
    heavy = SVC(class_weight={"no": 2.0}).fit(X, y)
    with pytest.raises(ValueError, match="delta must be None where classes have weights"):
        RadiusMargin(delta=1.0).bound(heavy, X, y)
    with pytest.raises(TypeError, match="criteria must be criteria, such as Span"):
        criteria_curve(SVC(), X, y, param_name="C", param_range=[1.0], criteria=["span"])
    with pytest.raises(TypeError, match=r"criteria_curve is for mercer\.SVC, got NuSVC"):
        criteria_curve(NuSVC(), X, y, param_name="nu", param_range=[0.1], criteria=Span())


@every_criterion
def test_an_indefinite_kernel_is_refused(make):
    X, y = two_classes()
    for machine in machines_for(make()):
        if machine.C == np.inf:
            continue
        machine.set_params(kernel=Sigmoid(gamma=2.0, coef0=-1.0), tol=1e-3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine.fit(X, y)
        assert machine.result_.status == "indefinite"
        with pytest.raises(IndefiniteError, match=f"{type(make()).__name__} needs a positive semi-definite"):
            make()(machine, X, y)


def test_a_ball_that_is_not_found_is_told():
    X, y = two_classes(n=300)
    machine = SVC(kernel=Linear() + RBF(gamma=1.0), loss="squared_hinge").fit(X, y)
    machine.set_params(max_iter=1)
    with pytest.warns(ConvergenceWarning, match="The smallest ball of RadiusMargin did not reach"):
        RadiusMargin().bound(machine, X, y)
