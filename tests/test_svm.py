"""How the support vector machines behave: limits, callbacks, solvers, classes, units."""

import re
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from registry import ESTIMATORS, softened, training_set
from sklearn.base import clone, is_classifier, is_outlier_detector
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import svm
from mercer.kernels import RBF, Linear
from mercer.solvers import SMO, SimpleSMO, Solver
from mercer.svm import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM, QuantileSVR

every_estimator = pytest.mark.parametrize("make", ESTIMATORS.values(), ids=ESTIMATORS.keys())
every_soft_machine = pytest.mark.parametrize(
    "make", [lambda make=make: softened(make()) for make in ESTIMATORS.values()], ids=ESTIMATORS.keys()
)


def function_of(machine, X):
    return machine.decision_function(X) if hasattr(machine, "decision_function") else machine.predict(X)


# --- names ------------------------------------------------------------------------------------------------


def test_estimators_are_imported_from_the_top():
    for name in svm.__all__:
        assert getattr(mercer, name) is getattr(svm, name)


@every_estimator
def test_default_kernel_is_a_name(make):
    """A kernel object as default would be one shared mutable value."""
    assert type(make())().kernel == "rbf"
    assert type(make())(RBF(gamma=2.0)).get_params()["kernel__gamma"] == 2.0


def test_precomputed_has_no_parameters():
    with pytest.raises((ValueError, AttributeError)):
        SVC(kernel="precomputed").set_params(kernel__gamma=1.0)


# --- limits -----------------------------------------------------------------------------------------------


@every_soft_machine
def test_max_iter(make):
    X, y = training_set(make(), n=300)
    machine = make().set_params(max_iter=3, tol=1e-8)
    with pytest.warns(ConvergenceWarning, match=rf"{type(machine).__name__} did not reach .*status max_iter.*max_iter"):
        machine.fit(X, y)
    assert machine.result_.status == "max_iter"
    assert machine.n_iter_ <= 3
    assert machine.result_.violation > machine.tol
    assert machine.result_.gap > 0
    assert np.isfinite(function_of(machine, X)).all()
    longer = make().set_params(max_iter=3, tol=1e-8)
    with pytest.warns(ConvergenceWarning):
        assert_array_equal(function_of(longer.fit(X, y), X), function_of(machine, X))


@every_soft_machine
def test_max_seconds(make):
    X, y = training_set(make(), n=300)
    machine = make().set_params(max_seconds=1e-9, tol=1e-8)
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        machine.fit(X, y)
    assert machine.result_.status == "max_seconds"
    assert make().set_params(max_seconds=60.0).fit(X, y).result_.status == "solved"


@every_soft_machine
def test_a_callback_can_stop(make):
    X, y = training_set(make(), n=300)
    seen = []

    def callback(progress):
        seen.append(progress)
        return len(seen) == 2

    machine = make().set_params(callback=callback, tol=1e-8)
    with pytest.warns(ConvergenceWarning, match="The callback stopped it"):
        machine.fit(X, y)
    assert machine.result_.status == "stopped"
    assert len(seen) == 2
    assert seen[0].n_iter <= seen[1].n_iter
    assert seen[0].objective >= seen[1].objective
    assert all(np.isfinite([p.objective, p.violation, p.seconds]).all() for p in seen)


@every_soft_machine
def test_a_callback_changes_nothing(make):
    X, y = training_set(make(), n=300)
    seen = []
    machine = make().set_params(callback=seen.append).fit(X, y)
    assert seen
    assert_array_equal(function_of(machine, X), function_of(make().fit(X, y), X))


def test_a_callback_sees_every_problem():
    X, y = training_set(SVC(), n=150, n_classes=3)
    seen = []
    machine = SVC(callback=seen.append).fit(X, y)
    # steps are counted anew in every problem
    assert sum(later.n_iter < earlier.n_iter for earlier, later in pairwise(seen)) == 2
    assert_array_equal(machine.predict(X), SVC().fit(X, y).predict(X))


@every_soft_machine
def test_gap_tol(make):
    X, y = training_set(make(), n=400)
    machine = make().set_params(tol=0.1, gap_tol=1e-6).fit(X, y)
    assert machine.result_.status == "solved"
    assert machine.result_.relative_gap <= 1e-6
    coarse = clone(machine).set_params(gap_tol=None).fit(X, y)
    assert machine.result_.n_iter >= coarse.result_.n_iter
    assert machine.result_.objective <= coarse.result_.objective + 1e-9 * abs(coarse.result_.objective)


@pytest.mark.parametrize("make", [SVC, SVR, NuSVR, QuantileSVR, OneClassSVM, SVDD])
def test_smaller_tolerances_are_closer(make):
    X, y = training_set(make(), n=600)
    gaps = [make(tol=tol).fit(X, y).result_.relative_gap for tol in (1e-1, 1e-3, 1e-5)]
    assert gaps[0] > gaps[1] > gaps[2]


# --- results ----------------------------------------------------------------------------------------------


@every_soft_machine
def test_history(make):
    X, y = training_set(make(), n=300)
    result = make().fit(X, y).result_
    history = result.history
    assert len(history) >= 2
    assert len(history.iteration) == len(history.objective) == len(history.gap) == len(history.violation)
    assert history.iteration[0] == 0
    assert history.iteration[-1] == result.n_iter
    assert (np.diff(history.iteration) >= 0).all()
    assert (np.diff(history.objective) >= -1e-6 * max(1.0, abs(history.objective[-1]))).all()
    assert history.objective[-1] == pytest.approx(result.dual_objective, rel=1e-9)
    assert history.gap[-1] == result.gap
    assert history.violation[-1] == pytest.approx(result.violation, rel=1e-6, abs=1e-12)


def test_result_of_several_problems():
    X, y = training_set(SVC(), n=150, n_classes=4)
    machine = SVC().fit(X, y)
    parts = machine.result_.parts
    assert len(parts) == 6
    assert machine.result_.objective == pytest.approx(sum(part.objective for part in parts))
    assert machine.result_.gap == pytest.approx(sum(part.gap for part in parts))
    assert machine.n_iter_ == sum(part.n_iter for part in parts)
    assert machine.result_.violation == max(part.violation for part in parts)
    assert machine.result_.margin == min(part.margin for part in parts)
    assert str(machine.result_).startswith("problems           6")


def test_one_bad_problem_among_several_is_told():
    X, y = training_set(SVC(), n=150, n_classes=3)
    machine = SVC(max_iter=50, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        machine.fit(X, y)
    assert machine.result_.status == "max_iter"


def test_text_of_the_certificate():
    X, y = training_set(SVC())
    text = str(SVC().fit(X, y).result_)
    for label in ("status", "primal objective", "dual objective", "duality gap", "KKT violation", "smallest y f"):
        assert re.search(rf"^{label}", text, re.MULTILINE)


def test_hard_margin_counts_all_steps():
    """A narrow hard margin is found by way of the convex hulls; what that took is part of the result."""
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(100, 3)), rng.randint(0, 2, size=100)
    machine = SVC(C=np.inf).fit(X, y)
    assert machine.result_.status == "solved"
    assert machine.score(X, y) == 1.0
    assert machine.n_iter_ > 1000
    assert machine.result_.seconds > 0.0
    assert machine.result_.kernel_evaluations >= 2 * 100**2


# --- solvers ----------------------------------------------------------------------------------------------


@every_soft_machine
def test_solvers_agree(make):
    X, y = training_set(make(), n=40)
    expected = function_of(make().set_params(tol=1e-6).fit(X, y), X)
    for solver in ("simple", SimpleSMO(tol=1e-6), SMO(tol=1e-6), SMO(tol=1e-6, pair_rule="violation", shrinking=False)):
        machine = make().set_params(solver=solver, tol=1e-6).fit(X, y)
        assert_allclose(function_of(machine, X), expected, rtol=1e-3, atol=1e-3)
        if not isinstance(solver, str):
            assert machine.solver is solver


def test_a_solver_of_ones_own():
    class Counting(SMO):
        calls = 0

        def solve_many(self, problems, starts=None, callback=None):
            type(self).calls += len(problems)
            return super().solve_many(problems, starts, callback)

    X, y = training_set(SVC(), n_classes=3)
    assert isinstance(Counting(), Solver)
    machine = SVC(solver=Counting()).fit(X, y)
    assert Counting.calls == 3
    assert_array_equal(machine.predict(X), SVC().fit(X, y).predict(X))


# --- classes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [SVC, lambda: NuSVC(nu=0.5)], ids=["SVC", "NuSVC"])
@pytest.mark.parametrize(
    "names",
    [["no", "yes"], [False, True], [-1, 1], [10, 20], [0.0, 1.0], np.array(["b", "a"], dtype=object)],
    ids=str,
)
def test_labels_of_all_kinds(make, names):
    X, y = training_set(make())
    names = np.asarray(names)
    machine = make().fit(X, names[y])
    order = np.argsort(names)
    assert_array_equal(machine.classes_, names[order])
    assert machine.predict(X).dtype == names.dtype
    # positive speaks for classes_[1]
    sign = 1 if order[0] == 0 else -1
    assert_allclose(machine.decision_function(X), sign * make().fit(X, y).decision_function(X), rtol=1e-6, atol=1e-8)
    assert machine.score(X, names[y]) > 0.7


def test_balanced_class_weights():
    X, y = training_set(SVC(), n=90)
    y = (np.arange(90) < 20).astype(int)
    X[:, 0] += y
    kernel = RBF(gamma=0.3)  # "scale" would see the sample weights, but not those of the classes
    balanced = SVC(kernel, class_weight="balanced").fit(X, y)
    explicit = SVC(kernel, class_weight={0: 90 / (2 * 70), 1: 90 / (2 * 20)}).fit(X, y)
    weights = SVC(kernel).fit(X, y, sample_weight=np.where(y == 1, 90 / 40, 90 / 140))
    for machine in (explicit, weights):
        assert_allclose(balanced.decision_function(X), machine.decision_function(X), rtol=1e-7, atol=1e-8)
    assert (balanced.predict(X) == 1).sum() > (SVC(kernel).fit(X, y).predict(X) == 1).sum()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_asymmetric_margins(loss):
    """A larger price for one class moves the boundary away from it. [CY §1.4]"""
    X, y = training_set(SVC(), n=200)
    caught = [
        (SVC("linear", loss=loss, class_weight={1: price}).fit(X, y).predict(X)[y == 1] == 1).mean()
        for price in (0.1, 1.0, 10.0)
    ]
    assert caught[0] < caught[1] < caught[2]


def test_weights_of_one_are_no_weights():
    X, y = training_set(SVC())
    for make in ESTIMATORS.values():
        assert_array_equal(
            function_of(make().fit(X, y, sample_weight=np.ones(len(X))), X), function_of(make().fit(X, y), X)
        )


def test_a_class_without_weight_is_none():
    X, y = training_set(SVC(), n_classes=3)
    machine = SVC().fit(X, y, sample_weight=(y < 2).astype(float))
    assert_array_equal(machine.classes_, [0, 1])
    assert machine.decision_function(X).ndim == 1


# --- units and degenerate margins -------------------------------------------------------------------------


@pytest.mark.parametrize("n", [80, 600])
@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3])
def test_units_do_not_matter(scale, n):
    """Machines without a price have no scale: samples in other units give the same machine in other units."""
    X, y = training_set(SVC(), n=n)
    X = X + 3.0
    for machine, power in ((SVDD("linear", nu=0.3), 2), (OneClassSVM("linear", nu=0.3), 2)):
        here = clone(machine).fit(X)
        there = clone(machine).fit(scale * X)
        assert there.result_.status == "solved"
        values, other = here.decision_function(X), there.decision_function(scale * X) / scale**power
        assert_allclose(other, values, atol=0.02 * np.ptp(values))
    near, far = (NuSVC("linear", nu=0.8, tol=1e-4).fit(factor * X, y) for factor in (1.0, scale))
    assert far.result_.status == "solved"
    assert far.margin_ / scale == pytest.approx(near.margin_, rel=1e-2)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_of_the_values_do_not_matter(scale):
    X, y = training_set(SVR(), n=80)
    near = SVR(C=1.0, epsilon=0.1).fit(X, y)
    far = SVR(C=scale, epsilon=0.1 * scale, tol=1e-3 * scale).fit(X, scale * y)
    assert_allclose(far.predict(X) / scale, near.predict(X), rtol=1e-3, atol=1e-3)


def mixed_up(n=200):
    """Labels that have nothing to do with the samples."""
    X, y = training_set(SVC(), n=n)
    return X, np.random.default_rng(0).permutation(y)


def test_a_tiny_nu_margin_is_found():
    """A Gaussian kernel separates any samples: the margin is there, a millionth of the others."""
    X, y = mixed_up()
    machine = NuSVC(RBF(gamma=0.3), nu=0.1).fit(X, y)
    assert machine.result_.status == "solved" and 0 < machine.rho_ < 1e-5
    assert machine.result_.violation <= machine.tol * machine.rho_
    assert machine.result_.relative_gap <= 1e-5
    assert machine.margin_errors_ <= 0.1 + 1e-9


def test_a_nu_margin_that_is_none_is_told():
    """Where the classes overlap too much for nu, rho and w vanish: solved it is not."""
    X, y = mixed_up()
    machine = NuSVC("linear", nu=0.1, max_iter=300_000)
    with pytest.warns(ConvergenceWarning, match="NuSVC did not reach a proved optimum"):
        machine.fit(X, y)
    assert machine.result_.status != "solved"
    assert np.isfinite(machine.decision_function(X)).all()


@pytest.mark.parametrize("nu", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("n", [80, 700])
def test_solved_nu_margins_hold_what_they_promise(nu, n):
    X, y = training_set(SVC(), n=n)
    machine = NuSVC(RBF(gamma=2.0), nu=nu).fit(X, y)
    assert machine.result_.status == "solved"
    # in units of the margin, as the decision values are
    assert machine.result_.violation <= machine.tol * machine.rho_
    assert machine.margin_errors_ <= nu + 1e-9
    fine = NuSVC(RBF(gamma=2.0), nu=nu, tol=1e-6).fit(X, y)
    assert_allclose(machine.decision_function(X), fine.decision_function(X), atol=0.02)


def test_a_hyperplane_through_the_origin_is_told_quickly():
    """The origin is inside the data: no hyperplane lies between."""
    X = StandardScaler().fit_transform(training_set(OneClassSVM(), n=100)[0])
    machine = OneClassSVM("linear", nu=0.3, max_iter=300_000)
    with pytest.warns(ConvergenceWarning, match="degenerate"):
        machine.fit(X)


# --- novelty ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [OneClassSVM, SVDD])
@pytest.mark.parametrize("nu", [0.1, 0.5])
def test_the_edge_is_inside(make, nu):
    """Support vectors between the bounds lie on the edge, and are accepted whatever the rounding."""
    X, _ = training_set(make(), n=100)
    machine = make(nu=nu).fit(X)
    a = machine.result_.a
    free = (a > 1e-9) & (a < 1 - 1e-9)
    assert free.sum() > 1
    assert (machine.predict(X)[free] == 1).all()
    assert_allclose(machine.decision_function(X)[free], 0.0, atol=1e-6)


def test_novelties_are_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    far = np.array([[6.0, 0.0], [0.0, -7.0], [5.0, 5.0]])
    for make in (OneClassSVM, SVDD):
        machine = make(nu=0.05).fit(X)
        assert_array_equal(machine.predict(far), -1)
        assert (machine.predict(X) == 1).mean() >= 0.95
        assert machine.score_samples(far).max() < machine.score_samples(X).min() + 1e-9


def test_smallest_ball():
    """Without outliers it is the smallest ball around the points."""
    machine = SVDD("linear", nu=1e-3).fit([[0.0, 0.0], [4.0, 0.0], [2.0, 1.0], [2.0, -1.0]])
    assert machine.radius_ == pytest.approx(2.0, rel=1e-6)
    assert_allclose(machine.coef_ / 2, [[2.0, 0.0]], atol=1e-6)
    assert_array_equal(machine.predict([[0.0, 0.0], [2.0, 1.9], [4.1, 0.0]]), [1, 1, -1])


# --- the rest ---------------------------------------------------------------------------------------------


def test_bias_free_machines():
    X, y = training_set(SVC(), n_classes=3)
    machine = SVC(fit_intercept=False).fit(X, y)
    assert_array_equal(machine.intercept_, 0.0)
    machine = SVC(fit_intercept=False, kernel=RBF(gamma=5.0), C=np.inf).fit(X, y)
    assert machine.score(X, y) == 1.0


def test_scores():
    X, y = training_set(SVC(), n=100)
    assert SVC().fit(X, y).score(X, y) == np.mean(SVC().fit(X, y).predict(X) == y)
    X, y = training_set(SVR(), n=100)
    assert 0.5 < SVR(C=10.0).fit(X, y).score(X, y) < 1.0
    assert 0.5 < NuSVR(C=10.0).fit(X, y).score(X, y) < 1.0


@every_estimator
def test_tags(make):
    machine = make()
    tags = machine.__sklearn_tags__()
    assert tags.input_tags.sparse
    assert not tags.input_tags.pairwise
    kinds = {"classifier": is_classifier(machine), "outlier_detector": is_outlier_detector(machine)}
    expected = next((kind for kind, is_it in kinds.items() if is_it), "regressor")
    assert tags.estimator_type == expected
    tags = machine.set_params(kernel="precomputed").__sklearn_tags__()
    assert tags.input_tags.pairwise
    assert not tags.input_tags.sparse


def test_only_the_support_vectors_are_kept():
    X, y = training_set(SVC(), n=200, d=2)
    machine = SVC("linear", C=0.1).fit(X, y)
    assert machine.support_vectors_.shape == (len(machine.support_), 2)
    assert 0 < machine.sparsity_ < 1
    assert SVC(kernel="precomputed").fit(Linear()(X), y).support_vectors_.shape == (0, 0)


def test_influence_finds_a_wrong_label():
    """Mislabelled samples have the largest multipliers. [CY §1.2]"""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(40, 2)) - 3, rng.normal(size=(40, 2)) + 3])
    y = np.repeat([0, 1], 40)
    y[7] = 1
    samples, multipliers = SVC(RBF(gamma=0.2), C=1000.0).fit(X, y).influence(3)
    assert samples[0] == 7
    assert multipliers[0] > multipliers[1]
