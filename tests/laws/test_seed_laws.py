"""What the books say about support vector machines, one statement at a time.

[CY] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011. [B] C. M. Bishop, Pattern Recognition and
Machine Learning, 2006. [A] C. C. Aggarwal, Data Mining: The Textbook, 2015.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from registry import training_set

from mercer.datasets import load_ionosphere
from mercer.errors import NotSeparableError
from mercer.gram import MatrixGram
from mercer.kernels import RBF, Cosine, Laplacian, Linear, Matern, Polynomial
from mercer.problems import DualProblem
from mercer.solvers import SMO
from mercer.svm import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM

RBF_WIDTHS = [0.3, 3.0]
NUS = [0.1, 0.3, 0.5, 0.9]


def classes(n=80, seed=0):
    """Overlapping classes with labels -1 and 1."""
    X, y = training_set(SVC(), n=n, d=2, seed=seed)
    return X, np.where(y == 1, 1, -1)


def separable(n=40, seed=0):
    """Classes with a gap between them."""
    X, y = classes(n, seed)
    X[:, 0] = np.abs(X[:, 0]) * y + 0.3 * y
    return X, y


def values(n=80, seed=0):
    X, y = training_set(SVR(), n=n, d=2, seed=seed)
    return X, y


def multipliers(machine, n):
    """alpha over all samples, of the problem as it is stated in the book (SVC, SVR)."""
    alpha = np.zeros(n)
    alpha[machine.support_] = np.abs(machine.dual_coef_[0])
    return alpha


hard_margins = pytest.mark.parametrize(
    ("kernel", "data"),
    [
        (Linear(), separable),
        (Polynomial(degree=2, gamma=0.5, coef0=1.0), separable),
        (RBF(gamma=3.0), classes),
        (Laplacian(gamma=1.0), classes),
    ],
    ids=["linear", "polynomial", "rbf", "laplacian"],
)


# --- the margin -------------------------------------------------------------------------------------------


@hard_margins
@pytest.mark.parametrize("seed", range(3))
def test_hard_margin_is_told_in_four_ways(kernel, data, seed):
    """1/margin^2 = sum alpha = 2 W = |w|^2. [CY eqs 1.62, 3.19; B eqs 7.123-7.125]"""
    X, y = data(seed=seed)
    machine = SVC(kernel=kernel, C=np.inf).fit(X, y)
    # W is off by the gap at most, the others, which are linear in alpha, by its root.
    gap = machine.result_.relative_gap
    root = 2 * np.sqrt(gap) + 1e-9
    squared_norm = machine.norm_**2
    assert 1 / machine.margin_**2 == pytest.approx(squared_norm, rel=1e-9)
    assert 2 * machine.result_.dual_objective == pytest.approx(squared_norm, rel=root)
    assert np.abs(machine.dual_coef_).sum() == pytest.approx(squared_norm, rel=root)
    assert 2 * machine.result_.primal_objective >= 2 * machine.result_.dual_objective
    # The margin is the distance of the nearest points of both classes from the hyperplane.
    distance = y * machine.distance(X)
    assert distance[y > 0].min() == pytest.approx(machine.margin_, rel=root)
    assert distance[y < 0].min() == pytest.approx(machine.margin_, rel=root)


@hard_margins
def test_hard_margin_is_met(kernel, data):
    """|f(x_i)| >= 1 for all training points, and sum alpha_i y_i = 0. [CY §1.6]"""
    X, y = data()
    machine = SVC(kernel=kernel, C=np.inf).fit(X, y)
    assert (y * machine.decision_function(X) >= 1 - machine.tol).all()
    assert machine.result_.margin >= 1 - machine.tol
    assert abs(machine.dual_coef_.sum()) <= 1e-9 * np.abs(machine.dual_coef_).sum()
    assert machine.result_.imbalance == pytest.approx(abs(machine.dual_coef_.sum()), abs=1e-8)


def test_a_large_price_is_a_hard_margin():
    X, y = separable()
    hard, soft = SVC("linear", C=np.inf).fit(X, y), SVC("linear", C=1e6).fit(X, y)
    assert_allclose(soft.decision_function(X), hard.decision_function(X), rtol=1e-5, atol=1e-6)
    assert not soft.slack_.max() > 1e-5


@pytest.mark.parametrize("make", [lambda: SVC(C=np.inf), lambda: SVC(C=1e4), lambda: NuSVC(nu=1.0)])
@pytest.mark.parametrize("kernel", [Linear(), RBF(gamma=0.7), Laplacian(gamma=0.2)])
def test_one_point_per_class_suffices(make, kernel):
    """The hyperplane is half way between the two in feature space, normal to the line that joins them. [CY §1.2]"""
    X, y = np.array([[1.0, 2.0], [4.0, -2.0]]), np.array([-1, 1])
    machine = make().set_params(kernel=kernel).fit(X, y)
    K = kernel(X)
    apart = np.sqrt(K[0, 0] + K[1, 1] - 2 * K[0, 1])
    assert machine.margin_ == pytest.approx(apart / 2, rel=1e-9)
    assert_allclose(machine.distance(X), [-apart / 2, apart / 2], rtol=1e-9)
    assert_allclose(machine.decision_function(X), [-1, 1], rtol=1e-9)


@pytest.mark.parametrize("gamma", [1e-4, 0.03, 2.0, 1e5])
@hard_margins
def test_any_constant_in_place_of_one(kernel, data, gamma):
    """The 1 in [B eq 7.5] may be any gamma > 0: the hyperplane is the same. (B, exercise 7.3)"""
    X, y = data()
    K, n = kernel(X), len(X)
    one, other = (
        SMO(tol=1e-6 * right).solve(
            DualProblem(
                gram=MatrixGram(K, definite=True),
                index=np.arange(n),
                sign=y,
                linear=np.full(n, -right),
                upper=np.full(n, np.inf),
                ridge=np.zeros(n),
                total=0.0,
            )
        )
        for right in (1.0, gamma)
    )
    assert other.status == "solved"
    assert_allclose(other.a / gamma, one.a, rtol=1e-4, atol=1e-4 * one.a.max())
    f, g = (K @ (y * result.a) + result.offsets.plus for result in (one, other))
    assert_allclose(g / gamma, f, rtol=1e-4, atol=1e-4)
    assert other.objective / gamma**2 == pytest.approx(one.objective, rel=1e-6)


# --- who matters ------------------------------------------------------------------------------------------

# With nu machines the sums are nu times the number of samples, so nu grows when samples go.
removable = pytest.mark.parametrize(
    ("machine", "data"),
    [
        (SVC(RBF(gamma=0.5)), classes),
        (SVC("linear", C=0.3), classes),
        (SVC(RBF(gamma=3.0), C=np.inf), classes),
        (SVC("linear", C=np.inf), separable),
        (SVC(RBF(gamma=0.5), loss="squared_hinge"), separable),
        (SVC(RBF(gamma=0.5) + 1, fit_intercept=False), classes),
        (NuSVC(RBF(gamma=0.5), nu=0.5), classes),
        (SVR(RBF(gamma=0.5), epsilon=0.3), values),
        (SVR(RBF(gamma=0.5), epsilon=0.3, loss="quadratic"), values),
        (NuSVR(RBF(gamma=0.5), nu=0.4), values),
        (OneClassSVM(RBF(gamma=0.5), nu=0.3), values),
        (SVDD(RBF(gamma=0.5), nu=0.3), values),
        (SVDD("linear", nu=0.3), values),
    ],
    ids=lambda value: repr(value) if hasattr(value, "fit") else "",
)


def function_of(machine, X):
    return machine.decision_function(X) if hasattr(machine, "decision_function") else machine.predict(X)


@removable
def test_others_can_be_removed(machine, data):
    """Samples that are no support vectors play no part in the solution. [CY §1.2, B §7.1]"""
    X, y = data()
    machine.fit(X, y)
    kept = machine.support_
    assert 0 < len(kept) < len(X)
    expected = function_of(machine, X)
    if hasattr(machine, "nu"):
        machine.set_params(nu=machine.nu * len(X) / len(kept))
    alone = machine.fit(X[kept], y[kept])
    assert_allclose(function_of(alone, X), expected, rtol=1e-6, atol=1e-7)
    if hasattr(machine, "nu"):
        machine.set_params(nu=machine.nu * len(kept) / len(X))


@removable
def test_others_can_be_moved(machine, data):
    """Outside the margin band (inside the tube, inside the ball) they may be anywhere."""
    X, y = data()
    machine.fit(X, y)
    expected, moved, wanted = function_of(machine, X), X.copy(), y.copy()
    others = np.setdiff1d(np.arange(len(X)), machine.support_)
    rng = np.random.default_rng(1)
    candidates = rng.normal(size=(4000, 2)) * 2.0
    f = function_of(machine, candidates)
    for i in others:
        if data is values and isinstance(machine, (SVR, NuSVR)):
            width = machine.epsilon_ if isinstance(machine, NuSVR) else machine.epsilon
            moved[i] = candidates[i]
            wanted[i] = f[i] + rng.uniform(-0.95, 0.95) * width
        else:
            edge = 0.0 if isinstance(machine, (OneClassSVM, SVDD)) else 1.0
            sign = 1 if edge == 0 else y[i]
            moved[i] = candidates[rng.choice(np.flatnonzero(sign * f > edge + 0.02))]
    assert not np.array_equal(moved, X)
    assert_allclose(function_of(machine.fit(moved, wanted), X), expected, rtol=1e-6, atol=1e-7)


# --- slacks and multipliers -------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_slacks_bound_the_number_of_errors(kernel, C):
    """xi_i > 1 for every sample on the wrong side, so their sum is at least the number of these. [CY §1.4, B §7.1.1]"""
    X, y = classes()
    for loss, power in (("hinge", 1), ("squared_hinge", 2)):
        machine = SVC(kernel, C=C, loss=loss).fit(X, y)
        wrong = machine.predict(X) != y
        assert wrong.any() or kernel != "linear"
        assert (machine.slack_**power).sum() >= wrong.sum()
        assert (machine.slack_[wrong] >= 1 - 1e-9).all()


@pytest.mark.parametrize("class_weight", [None, {-1: 0.5, 1: 3.0}])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_conditions_of_the_soft_margin(C, class_weight):
    """xi > 0 puts alpha at its bound; alpha between the bounds puts the sample on the margin. [CY eqs 1.24-1.26]"""
    X, y = classes()
    machine = SVC(C=C, class_weight=class_weight).fit(X, y)
    alpha, price = multipliers(machine, len(X)), np.full(len(X), C)
    if class_weight:
        price *= np.where(y > 0, class_weight[1], class_weight[-1])
    distance = y * machine.decision_function(X)
    assert (machine.slack_ > machine.tol).any()
    assert_array_equal(alpha[machine.slack_ > machine.tol], price[machine.slack_ > machine.tol])
    free = (alpha > 0) & (alpha < price)
    assert free.any()
    assert_allclose(distance[free], 1.0, atol=machine.tol)
    assert (distance[alpha == 0] >= 1 - machine.tol).all()
    assert (distance[alpha == price] <= 1 + machine.tol).all()


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_slacks_of_the_quadratic_soft_margin_are_multipliers(C):
    """With the price C xi^2, xi = alpha / 2C. [CY eqs 1.28-1.31]"""
    X, y = classes()
    machine = SVC(C=C, loss="squared_hinge").fit(X, y)
    assert_allclose(machine.slack_, multipliers(machine, len(X)) / (2 * C), rtol=1e-6, atol=1e-8)
    X, y = values()
    machine = SVR(C=C, epsilon=0.2, loss="quadratic").fit(X, y)
    assert_allclose(machine.slack_, multipliers(machine, len(X)) / (2 * C), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("n", [80, 700])
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.5])
def test_at_most_one_multiplier_of_a_sample_is_positive(epsilon, n):
    """alpha_i alpha^_i = 0: a sample is not above and below the tube. [CY §2.6, B §7.1.4]"""
    X, y = values(n)
    a = SVR(epsilon=epsilon).fit(X, y).result_.a
    assert not np.minimum(a[:n], a[n:]).any()
    a = SVR(epsilon=epsilon, loss="quadratic").fit(X, y).result_.a
    assert np.minimum(a[:n], a[n:]).max() <= 1e-3 * a.max()
    result = NuSVR(nu=0.4).fit(X, y).result_
    assert not np.minimum(result.a[:n], result.a[n:]).any()


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_conditions_of_the_tube(C):
    """Outside the tube multipliers are at their bound, inside zero, free ones on its edge. [B eqs 7.65-7.68]"""
    X, y = values()
    for machine in (SVR(C=C, epsilon=0.2), NuSVR(C=C, nu=0.4)):
        machine.fit(X, y)
        alpha = multipliers(machine, len(X))
        width = machine.epsilon if isinstance(machine, SVR) else machine.epsilon_
        error = np.abs(y - machine.predict(X))
        assert (error > width + machine.tol).any()
        assert_array_equal(alpha[error > width + machine.tol], C)
        assert not alpha[error < width - machine.tol].any()
        assert_allclose(error[(alpha > 0) & (alpha < C)], width, atol=machine.tol)


# --- nu ---------------------------------------------------------------------------------------------------


# A wide kernel and nu = 0.1 leave no margin: rho would be zero.
@pytest.mark.parametrize(("gamma", "nu"), [(0.3, 0.3), (0.3, 0.5), (0.3, 0.9), *((3.0, nu) for nu in NUS)])
def test_nu_of_classification(gamma, nu):
    """Margin errors <= nu m <= support vectors, where rho > 0. [CY §1.4, B §7.1.1]"""
    X, y = classes()
    machine = NuSVC(RBF(gamma=gamma), nu=nu).fit(X, y)
    assert machine.rho_ > 0
    errors = machine.slack_ > machine.tol
    assert errors.sum() <= nu * len(X) + 1e-9
    assert len(machine.support_) >= nu * len(X) - 1e-9
    assert machine.margin_errors_ == pytest.approx(errors.mean())
    # In the scale of the problem the multipliers are at most 1 and add up to nu m, half of it on each side.
    a = np.abs(machine.dual_coef_[0]) * machine.rho_
    assert a.max() <= 1 + 1e-9
    assert a[y[machine.support_] > 0].sum() == pytest.approx(nu * len(X) / 2)
    assert a.sum() == pytest.approx(nu * len(X))
    alpha = np.zeros(len(X))
    alpha[machine.support_] = a
    assert_allclose(alpha[errors], 1.0, rtol=1e-9)


@pytest.mark.parametrize("nu", [*NUS, 1.0])
@pytest.mark.parametrize("gamma", RBF_WIDTHS)
@pytest.mark.parametrize("C", [0.3, 10.0, 1000.0])
def test_nu_of_regression(nu, gamma, C):
    """Samples outside the tube <= nu m <= support vectors. [CY §2.6, B §7.1.4]"""
    X, y = values()
    machine = NuSVR(RBF(gamma=gamma), nu=nu, C=C).fit(X, y)
    assert machine.epsilon_ >= 0
    outside = np.abs(y - machine.predict(X)) > machine.epsilon_ + machine.tol
    assert outside.sum() <= nu * len(X) + 1e-9
    assert len(machine.support_) >= nu * len(X) - 1e-9
    assert machine.margin_errors_ == pytest.approx(outside.mean())


@pytest.mark.parametrize("nu", [0.05, *NUS, 1.0])
@pytest.mark.parametrize("make", [OneClassSVM, SVDD])
@pytest.mark.parametrize("kernel", ["rbf", "linear", RBF(gamma=20.0)], ids=["rbf", "linear", "narrow"])
def test_nu_of_novelty(make, nu, kernel):
    """Outliers <= nu m <= support vectors. [CY §2.4, B §7.1.3]"""
    X, _ = values(100)
    machine = make(kernel, nu=nu).fit(X + 3.0)
    assert (machine.predict(X + 3.0) == -1).sum() <= nu * len(X) + 1e-9
    assert len(machine.support_) >= nu * len(X) - 1e-9
    assert machine.margin_errors_ <= nu + 1e-9


@pytest.mark.parametrize("make", [NuSVC, NuSVR, OneClassSVM, SVDD])
def test_nu_counts_weights(make):
    data = classes if make is NuSVC else values
    X, y = data()
    weight = np.random.default_rng(0).uniform(0.1, 3.0, size=len(X))
    machine = make(nu=0.3).fit(X, y, sample_weight=weight)
    assert weight[machine.slack_ > machine.tol].sum() <= 0.3 * weight.sum() + 1e-9
    assert weight[machine.support_].sum() >= 0.3 * weight.sum() - 1e-9
    assert machine.margin_errors_ == pytest.approx(weight @ (machine.slack_ > machine.tol) / weight.sum())


def test_sums_of_nu_are_rightly_equalities():
    """The books have sum alpha >= nu [CY eq 1.48] and sum (alpha + alpha^) <= C nu [CY eq 2.52].

    The optimum under the inequality is the best of those under equalities that it allows; as the optimal value
    grows (falls) with the sum, that is the one on the edge.
    """
    X, y = classes()
    costs = [NuSVC(RBF(gamma=0.5), nu=nu).fit(X, y).result_.objective for nu in (0.3, 0.31, 0.5, 0.8, 1.0)]
    assert (np.diff(costs) > 0).all()
    X, y = values()
    costs = [NuSVR(RBF(gamma=0.5), nu=nu).fit(X, y).result_.objective for nu in (0.1, 0.3, 0.6, 0.8, 1.0)]
    assert (np.diff(costs) <= 1e-9).all()


def test_nu_and_price_are_two_ways_to_one_machine():
    """nu-SVC with rho is SVC with C = 1/rho; nu-SVR with its epsilon is SVR. [B §7.1.1; Schölkopf et al. 2000]"""
    X, y = classes()
    machine = NuSVC(RBF(gamma=0.5), nu=0.4).fit(X, y)
    same = SVC(RBF(gamma=0.5), C=1 / machine.rho_).fit(X, y)
    assert_allclose(same.decision_function(X), machine.decision_function(X), rtol=1e-6, atol=1e-6)
    X, y = values()
    machine = NuSVR(RBF(gamma=0.5), nu=0.4).fit(X, y)
    same = SVR(RBF(gamma=0.5), epsilon=machine.epsilon_).fit(X, y)
    assert_allclose(same.predict(X), machine.predict(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("nu", [0.05, 0.3, 0.7])
@pytest.mark.parametrize("kernel", [RBF(gamma=0.5), Laplacian(gamma=0.5), Matern(), Cosine()], ids=repr)
def test_hyperplane_and_ball_accept_the_same_set(kernel, nu):
    """Where k(x, x) is constant. [B §7.1.3]"""
    X, _ = values(100)
    X = X + 2.0
    plane, ball = OneClassSVM(kernel, nu=nu).fit(X), SVDD(kernel, nu=nu).fit(X)
    tau = nu * len(X)
    assert_allclose(ball.dual_coef_[0], 2 / tau * plane.dual_coef_[0], rtol=1e-6, atol=1e-9)
    new = np.random.default_rng(1).normal(size=(500, 2)) * 3.0 + 2.0
    assert_allclose(ball.decision_function(new), 2 / tau * plane.decision_function(new), rtol=1e-6, atol=1e-8)
    clear = np.abs(ball.decision_function(new)) > 1e-7
    assert_array_equal(ball.predict(new[clear]), plane.predict(new[clear]))
    # On the edge w . phi(x) = rho; the centre is w / tau: R^2 = k(x, x) - 2 rho / tau + |w|^2 / tau^2.
    squared_radius = kernel.diag(X[:1])[0] - 2 * plane.offset_ / tau + (plane.norm_ / tau) ** 2
    assert ball.radius_**2 == pytest.approx(squared_radius, rel=1e-6)


# --- offsets, each by its own equation --------------------------------------------------------------------


@hard_margins
def test_offset_of_the_hard_margin(kernel, data):
    """Half way between the lowest f of one class and the highest of the other. [CY eq 1.14]"""
    X, y = data()
    machine = SVC(kernel, C=np.inf).fit(X, y)
    f = kernel(X, machine.support_vectors_) @ machine.dual_coef_[0]
    assert machine.intercept_[0] == pytest.approx(-(f[y < 0].max() + f[y > 0].min()) / 2, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_offset_of_the_soft_margin(C):
    """The average of y_k - f_k over the samples with multipliers between the bounds. [CY eq 1.27, B eq 7.37]"""
    X, y = classes()
    machine = SVC(RBF(gamma=0.5), C=C).fit(X, y)
    alpha = multipliers(machine, len(X))
    f = machine.decision_function(X) - machine.intercept_[0]
    free = (alpha > 0) & (alpha < C)
    assert machine.intercept_[0] == pytest.approx(np.mean(y[free] - f[free]), rel=1e-7)
    # squared errors: every positive multiplier is free, and y_k (f_k + b) = 1 - alpha_k / 2C
    machine = SVC(RBF(gamma=0.5), C=C, loss="squared_hinge").fit(X, y)
    alpha = multipliers(machine, len(X))
    f, free = machine.decision_function(X) - machine.intercept_[0], alpha > 0
    expected = np.mean(y[free] * (1 - alpha[free] / (2 * C)) - f[free])
    assert machine.intercept_[0] == pytest.approx(expected, rel=1e-7)


def test_offset_where_no_multiplier_is_free():
    """The middle of the interval that the conditions leave."""
    X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([-1, -1, 1, 1])
    machine = SVC("linear", C=0.01).fit(X, y)
    assert_allclose(np.abs(machine.dual_coef_), 0.01)
    f = machine.decision_function(X) - machine.intercept_[0]
    # all at the bound: y_i (f_i + b) <= 1 for all i
    largest, smallest = np.min(1 - f[y > 0]), np.max(-1 - f[y < 0])
    assert machine.intercept_[0] == pytest.approx((largest + smallest) / 2, rel=1e-9)


def test_offset_of_the_nu_margin():
    """b and rho from the samples between the bounds, on each side. [CY eq 1.50]"""
    X, y = classes()
    machine = NuSVC(RBF(gamma=0.5), nu=0.5).fit(X, y)
    rho = machine.rho_
    alpha = multipliers(machine, len(X)) * rho
    f = (machine.decision_function(X) - machine.intercept_[0]) * rho
    free = (alpha > 1e-12) & (alpha < 1 - 1e-12)
    plus, minus = f[free & (y > 0)].mean(), f[free & (y < 0)].mean()
    assert machine.intercept_[0] * rho == pytest.approx(-(plus + minus) / 2, rel=1e-7)
    assert rho == pytest.approx((plus - minus) / 2, rel=1e-7)
    assert machine.margin_ == pytest.approx(rho / (machine.norm_ * rho), rel=1e-9)


def test_offset_of_regression():
    """The average of t_n -+ epsilon - f_n over both edges of the tube. [B eq 7.69]"""
    X, y = values()
    machine = SVR(RBF(gamma=0.5), epsilon=0.2).fit(X, y)
    coefficients = np.zeros(len(X))
    coefficients[machine.support_] = machine.dual_coef_[0]
    f = machine.predict(X) - machine.intercept_[0]
    upper, lower = (coefficients > 0) & (coefficients < 1), (coefficients < 0) & (coefficients > -1)
    each = np.concatenate([(y - 0.2 - f)[upper], (y + 0.2 - f)[lower]])
    assert machine.intercept_[0] == pytest.approx(each.mean(), rel=1e-7)
    machine = NuSVR(RBF(gamma=0.5), nu=0.4).fit(X, y)
    coefficients[:] = 0.0
    coefficients[machine.support_] = machine.dual_coef_[0]
    f = machine.predict(X) - machine.intercept_[0]
    upper, lower = (coefficients > 0) & (coefficients < 1), (coefficients < 0) & (coefficients > -1)
    above, below = (y - f)[upper].mean(), (y - f)[lower].mean()
    assert machine.intercept_[0] == pytest.approx((above + below) / 2, rel=1e-7)
    assert machine.epsilon_ == pytest.approx((above - below) / 2, rel=1e-7)


@pytest.mark.parametrize("kernel", [RBF(gamma=0.5), Linear()], ids=["rbf", "linear"])
def test_radius_of_the_ball(kernel):
    """R^2 from the samples whose multipliers are between the bounds. [CY eq 2.16]"""
    X, _ = values()
    machine = SVDD(kernel, nu=0.3).fit(X)
    alpha = np.zeros(len(X))
    alpha[machine.support_] = machine.dual_coef_[0] / 2
    assert alpha.sum() == pytest.approx(1.0)
    bound = 1 / (len(X) * 0.3)
    assert alpha.max() <= bound * (1 + 1e-9)
    K = kernel(X)
    squared_distance = np.diagonal(K) - 2 * K @ alpha + alpha @ K @ alpha
    free = (alpha > 1e-12) & (alpha < bound * (1 - 1e-9))
    assert free.any()
    assert machine.radius_**2 == pytest.approx(squared_distance[free].mean(), rel=1e-7)
    assert_allclose(machine.decision_function(X), machine.radius_**2 - squared_distance, atol=1e-8)
    # outliers have multipliers at the bound
    assert_allclose(alpha[squared_distance > machine.radius_**2 + machine.tol], bound)


def test_offset_of_the_hyperplane_before_the_origin():
    X, _ = values()
    machine = OneClassSVM(RBF(gamma=0.5), nu=0.3).fit(X)
    alpha = multipliers(machine, len(X))
    f = RBF(gamma=0.5)(X) @ alpha
    free = (alpha > 0) & (alpha < 1)
    assert machine.offset_ == pytest.approx(f[free].mean(), rel=1e-7)
    assert_allclose(alpha[f < machine.offset_ - machine.tol], 1.0)


def test_bias_by_an_augmented_feature():
    """A constant feature in place of b: no equality is needed. [A §10.6.1.1]"""
    X, y = classes()
    ones = np.column_stack([X, np.ones(len(X))])
    kernel = SVC(Linear() + 1, fit_intercept=False).fit(X, y)
    feature = SVC("linear", fit_intercept=False).fit(ones, y)
    assert_allclose(kernel.decision_function(X), feature.decision_function(ones), rtol=1e-7, atol=1e-8)
    assert kernel.intercept_[0] == feature.intercept_[0] == 0.0
    # The same function with the equality is another machine: there the bias is free.
    free = SVC("linear").fit(X, y)
    assert abs(free.intercept_[0] - feature.coef_[0, -1]) > 1e-6
    assert free.norm_ <= feature.norm_


# --- the case study ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ionosphere():
    X, y = load_ionosphere(return_X_y=True)
    return X[:300], y[:300], X[300:], y[300:]


def test_ionosphere_is_not_linearly_separable(ionosphere):
    """[CY §1.6]"""
    X, y, *_ = ionosphere
    with pytest.raises(NotSeparableError, match="not separable"):
        SVC("linear", C=np.inf).fit(X, y)


def test_ionosphere_with_the_gaussian_kernel(ionosphere):
    """Zero training error, 5.9 % of the 51 test samples wrong. [CY §1.6]"""
    X, y, X_test, y_test = ionosphere
    machine = SVC(RBF.from_sigma(1.0), C=np.inf).fit(X, y)
    assert machine.score(X, y) == 1.0
    assert (machine.predict(X_test) != y_test).sum() == 3
    assert (np.where(y == 1, 1, -1) * machine.decision_function(X) >= 1 - machine.tol).all()
    assert abs(machine.dual_coef_.sum()) < 1e-8
    assert machine.result_.status == "solved"
    assert machine.result_.relative_gap < 1e-2
    # W rises to its maximum
    W = machine.result_.history.objective
    assert (np.diff(W) >= -1e-9 * W[-1]).all()
    assert W[-1] == pytest.approx(machine.result_.dual_objective)
