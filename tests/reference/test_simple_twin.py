"""The fast against the obvious: SMO against its naive twin, and the certificate against a few lines of NumPy."""

import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from reference.conic import FORMULATIONS, random_problem
from sklearn.exceptions import ConvergenceWarning

from mercer.gram import make_gram
from mercer.kernels import RBF, Linear, Polynomial
from mercer.problems import enclosing_ball, epsilon_tube, nu_margin, nu_tube, one_class, soft_margin
from mercer.solvers import SMO, SimpleSMO
from mercer.svm import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM

every_formulation = pytest.mark.parametrize("formulation", FORMULATIONS)

# --- the naive twin ---------------------------------------------------------------------------------------


def assert_same_optimum(first, second):
    """Each objective lies in what the other's certificate leaves open."""
    assert {first.status, second.status} <= {"solved", "degenerate"}
    rounding = 1e-12 * max(1.0, abs(first.objective))
    for one, other in ((first, second), (second, first)):
        assert one.bound - rounding <= other.objective
        assert abs(one.objective - other.objective) <= max(one.gap, other.gap) + rounding


@every_formulation
@pytest.mark.parametrize("seed", range(4))
def test_smo_agrees_with_its_twin(formulation, seed):
    problem = random_problem(formulation, seed)
    twin = SimpleSMO(tol=1e-3).solve(problem)
    for pair_rule in ("gain", "violation"):
        for shrinking in (True, False):
            for precision in ("auto", "float64"):
                solver = SMO(tol=1e-3, pair_rule=pair_rule, shrinking=shrinking, precision=precision)
                assert_same_optimum(solver.solve(problem), twin)


def problems_above_512_points(kernel):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(700, 3))
    labels = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=700) > 0, 1.0, -1.0)
    values = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=700)
    ones, gram = np.ones(700), make_gram(kernel, X)
    return [
        soft_margin(gram, labels, 10 * ones),
        soft_margin(gram, labels, 10 * ones, bias=False),
        soft_margin(gram, labels, 10 * ones, squared=True),
        soft_margin(gram, np.sign(X[:, 0]), np.full(700, np.inf)),
        nu_margin(gram, labels, 0.7, ones),
        epsilon_tube(gram, values, ones, 0.1),
        epsilon_tube(gram, values, ones, 0.1, squared=True),
        nu_tube(gram, values, ones, 0.4),
        one_class(gram, 0.2, ones),
        enclosing_ball(gram, 0.2, ones),
    ]


@pytest.mark.parametrize("kernel", [RBF(gamma=0.5), Polynomial(degree=3, gamma=0.2, coef0=1.0)])
def test_single_precision_rows_change_nothing(kernel):
    for problem in problems_above_512_points(kernel):
        exact = SMO(tol=1e-3, precision="float64").solve(problem)
        assert exact.precision == "float64"
        for pair_rule in ("gain", "violation"):
            assert_same_optimum(SMO(tol=1e-3, pair_rule=pair_rule).solve(problem), exact)


def test_assert_same_optimum_can_fail():
    problem = random_problem("hinge", 1)
    result = SMO(tol=1e-6).solve(problem)
    better = replace(result, objective=result.objective - 1e-3, bound=result.bound - 1e-3)
    early = SMO(tol=1e-6, max_iter=2).solve(problem)
    for wrong in (better, early, replace(early, status="solved", gap=0.0, bound=early.objective)):
        for pair in ((result, wrong), (wrong, result)):
            with pytest.raises(AssertionError):
                assert_same_optimum(*pair)


# --- the certificate from the public attributes -----------------------------------------------------------


class Recomputed(NamedTuple):
    primal: float
    dual: float
    violation: float
    value_error: float  # what rounding may do to a decision value
    objective_error: float  # and to the objectives


# Novelty detectors move their offset by 1e-10 of itself, so that samples on the boundary are inside: this many
# units of the twelfth digit.
INSIDE = 200


def recompute(machine, X, y=None) -> Recomputed:
    """The certificate of a fitted machine, in float64, from dual_coef_, support_, intercept_ and the kernel.

    What the problem has beside w and b is taken from the machine too: rho_ (NuSVC) and epsilon_ (NuSVR).
    """
    n, K = len(X), kernel_matrix(machine.kernel_, X.astype(np.float64))
    beta = np.zeros(n)
    beta[machine.support_] = machine.dual_coef_.ravel()
    b, C = machine.intercept_[0], getattr(machine, "C", 1.0)
    total = getattr(machine, "nu", 0.0) * C * n
    if isinstance(machine, NuSVC):  # the coefficients are divided by rho
        beta, b = beta * machine.rho_, b * machine.rho_
    if isinstance(machine, SVDD):  # the coefficients are those of twice the centre, the problem's those times nu n
        beta, b = beta * total / 2, b * total / 2
    at_bound = np.isclose(np.abs(beta), C, rtol=1e-13, atol=0)
    beta[at_bound] = C * np.sign(beta[at_bound])
    f = K @ beta
    half = 0.5 * beta @ f  # half of |w|^2
    # A sum is as exact as its largest terms: eps sum_j |K_ij beta_j|, here with a factor for the sum's length.
    value_error = 8 * np.finfo(float).eps * float((np.abs(K) @ np.abs(beta)).max())

    if isinstance(machine, (SVC, NuSVC)):
        s = np.where(y == machine.classes_[1], 1.0, -1.0)
        parts = classification(machine, s, np.abs(beta), s * f, s * (f + b), half, C, total)
    elif isinstance(machine, (SVR, NuSVR)):
        parts = regression(machine, y, beta, f, f + b, half, C, total)
    elif isinstance(machine, OneClassSVM):
        primal = half + total * b + np.maximum(0, -b - f).sum()
        parts = primal, -half, worst_pair(np.ones(n), beta, f, 1.0), n, INSIDE * n * abs(b)
    else:
        assert isinstance(machine, SVDD)
        diagonal, squared_centre = np.diag(K), 2 * half / total**2
        squared_radius = 2 * b / total + squared_centre
        outside = np.maximum(0, diagonal - 2 * f / total + squared_centre - squared_radius)
        primal = total**2 / 2 * (squared_radius + outside.sum() / total)
        dual = total / 2 * diagonal @ beta - half
        violation = worst_pair(np.ones(n), beta, f - total / 2 * diagonal, 1.0)
        parts = primal, dual, violation, n, n * total * (INSIDE * squared_radius + diagonal.max())
    primal, dual, violation, slope, size = parts
    terms = (abs(primal) if np.isfinite(primal) else 0.0) + abs(dual) + half + np.abs(beta).sum() + size
    leverage = np.abs(beta).sum() + slope  # how decision values enter the objectives
    return Recomputed(primal, dual, violation, value_error, 1e-12 * terms + 2 * leverage * value_error)


def classification(machine, s, a, g, margins, half, C, total):
    """Primal, dual, violation; the slope of the losses and the size of further terms."""
    if isinstance(machine, NuSVC):
        rho = machine.rho_
        primal = half - total * rho + np.maximum(0, rho - margins).sum()
        violation = max(worst_pair(s[k], a[k], g[k], 1.0) for k in (s > 0, s < 0))
        return primal, -half, violation, len(a), total * rho
    if np.isinf(C):  # w and b are scaled until the smallest margin is 1, if it is not negative
        smallest = margins.min()
        primal, slope = (half / smallest**2, 4 * half / smallest**3) if smallest > 0 else (np.inf, 0.0)
        return primal, a.sum() - half, worst_pair(s, a, g - 1, np.inf), slope, 0.0
    slack = np.maximum(0, 1 - margins)
    if machine.loss == "squared_hinge":
        upper, ridge, loss, slope = np.inf, 1 / (2 * C), C * slack @ slack, 2 * C * slack.sum()
    else:
        upper, ridge, loss, slope = C, 0.0, C * slack.sum(), C * len(a)
    dual = a.sum() - half - 0.5 * ridge * a @ a
    gradient = g - 1 + ridge * a
    if machine.fit_intercept:
        violation = worst_pair(s, a, gradient, upper)
    else:
        violation = float(np.concatenate([-gradient[a < upper], gradient[a > 0], [0.0]]).max())
    return half + loss, dual, violation, slope, 0.0


def regression(machine, y, beta, f, values, half, C, total):
    """Primal, dual, violation; the slope of the losses and the size of further terms."""
    epsilon = machine.epsilon if isinstance(machine, SVR) else machine.epsilon_
    outside = np.maximum(0, np.concatenate([y - values - epsilon, values - y - epsilon]))
    a, s = np.concatenate([np.maximum(beta, 0), np.maximum(-beta, 0)]), np.repeat([1.0, -1.0], len(y))
    gradient = s * np.tile(f - y, 2)
    size = np.abs(y) @ np.abs(beta)
    if isinstance(machine, NuSVR):
        violation = max(worst_pair(s[k], a[k], gradient[k], C) for k in (s > 0, s < 0))
        return half + total * epsilon + C * outside.sum(), y @ beta - half, violation, C * len(y), size
    if machine.loss == "quadratic":
        upper, ridge, loss, slope = np.inf, 1 / (2 * C), C * outside @ outside, 2 * C * outside.sum()
    else:
        upper, ridge, loss, slope = C, 0.0, C * outside.sum(), C * len(y)
    dual = y @ beta - epsilon * a.sum() - half - 0.5 * ridge * a @ a
    return half + loss, dual, worst_pair(s, a, gradient + epsilon + ridge * a, upper), slope, size


def worst_pair(s, a, gradient, upper) -> float:
    """The largest -s G among those whose s a may grow, minus the smallest among those where it may shrink."""
    v = -s * gradient
    grows, shrinks = np.where(s > 0, a < upper, a > 0), np.where(s > 0, a > 0, a < upper)
    return max(0.0, float(v[grows].max() - v[shrinks].min())) if grows.any() and shrinks.any() else 0.0


def kernel_matrix(kernel, X):
    if isinstance(kernel, Linear):
        return X @ X.T
    return np.exp(-kernel.gamma * np.sum((X[:, np.newaxis] - X) ** 2, axis=2))


def assert_certificate(machine, X, y=None):
    """The certificate agrees with its recomputation up to the rounding of float64.

    Twelve digits of the terms of the objectives, plus what the rounding of decision values does to them. That
    matters for linear kernels far from the origin: with X + 1e4 and C = 1e5 a decision value is the small sum of
    products of 1e8 and 1e5, and no float64 computation has it to more than two digits.
    """
    result, there = machine.result_, recompute(machine, X, y)
    assert result.gap >= 0
    assert abs(result.dual_objective - there.dual) <= there.objective_error
    assert np.isfinite(result.gap) == np.isfinite(there.primal)
    if np.isfinite(result.gap):
        assert abs(result.primal_objective - there.primal) <= there.objective_error
        assert abs(result.gap - (there.primal - there.dual)) <= 2 * there.objective_error
    # Before the end both multipliers of a sample of NuSVR may be positive; the coefficients do not tell.
    if not isinstance(machine, NuSVR) or result.status == "solved":
        assert abs(result.violation - there.violation) <= 1e-12 + 2 * there.value_error


def fit_quietly(machine, X, y):
    """Hard problems may end at a limit: the certificate is right all the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return machine.fit(X, y)


def data(n=150, d=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.4 * rng.normal(size=n) > 0.3, 1.0, -1.0)
    return X, y, np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n)


INPUTS = {
    "plain": lambda X: X,
    "unscaled": lambda X: X * [1.0, 1e3, 1e-3] + [0.0, -5e3, 1.0],
    "shifted": lambda X: X + 1e4,
    "float32": lambda X: X.astype(np.float32),
    "float32 shifted": lambda X: (X + 1e4).astype(np.float32),
}
MACHINES = {
    "SVC": lambda **options: SVC(**options),
    "SVC squared": lambda **options: SVC(loss="squared_hinge", **options),
    "SVC bias-free": lambda **options: SVC(fit_intercept=False, **options),
    "SVR": lambda **options: SVR(**options),
    "SVR no tube": lambda **options: SVR(epsilon=0.0, **options),
    "SVR quadratic": lambda **options: SVR(loss="quadratic", **options),
    "NuSVR": lambda **options: NuSVR(nu=0.4, **options),
}
WITHOUT_PRICE = {
    "NuSVC": lambda **options: NuSVC(nu=0.5, **options),
    "OneClassSVM": lambda **options: OneClassSVM(nu=0.2, **options),
    "SVDD": lambda **options: SVDD(nu=0.2, **options),
}
LIMITS = {"max_iter": 100_000}


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("C", [1.0, 1e3, 1e5])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("form", INPUTS)
def test_certificate(name, C, kernel, form):
    X, labels, values = data()
    X = INPUTS[form](X)
    y = values if "SVR" in name else labels
    assert_certificate(fit_quietly(MACHINES[name](kernel=kernel, C=C, **LIMITS), X, y), X, y)


@pytest.mark.parametrize("name", WITHOUT_PRICE)
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("form", INPUTS)
def test_certificate_without_price(name, kernel, form):
    X, labels, _ = data()
    X = INPUTS[form](X)
    assert_certificate(fit_quietly(WITHOUT_PRICE[name](kernel=kernel, **LIMITS), X, labels), X, labels)


@pytest.mark.parametrize("form", INPUTS)
def test_certificate_of_a_hard_margin(form):
    X, labels, _ = data()
    X[:, 0] += 3 * labels
    X = INPUTS[form](X)
    for kernel in ("rbf", "linear"):
        assert_certificate(fit_quietly(SVC(kernel=kernel, C=np.inf, **LIMITS), X, labels), X, labels)


@pytest.mark.parametrize("form", ["plain", "shifted", "float32"])
def test_certificate_from_single_precision_rows(form):
    X, labels, values = data(n=600)
    X = INPUTS[form](X)
    for C in (1.0, 1e3):
        for name, make in MACHINES.items():
            y = values if "SVR" in name else labels
            machine = fit_quietly(make(C=C, **LIMITS), X, y)
            assert machine.result_.precision == "float32" or C == 1e3
            assert_certificate(machine, X, y)
    for make in WITHOUT_PRICE.values():
        assert_certificate(fit_quietly(make(**LIMITS), X, labels), X, labels)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda r: {"objective": r.objective * (1 + 1e-6)},
        lambda r: {"bound": r.bound * (1 + 1e-6)},
        lambda r: {"gap": 0.0},
        lambda r: {"violation": r.violation + 1e-9},
        lambda r: {"violation": 0.0},
    ],
)
def test_assert_certificate_can_fail(wrong):
    X, labels, _ = data()
    machine = SVC(tol=1e-2, solver="simple").fit(X, labels)
    assert_certificate(machine, X, labels)
    machine.result_ = replace(machine.result_, **wrong(machine.result_))
    with pytest.raises(AssertionError):
        assert_certificate(machine, X, labels)


def test_assert_certificate_can_fail_for_another_model():
    X, labels, _ = data()
    machine = SVC(tol=1e-2, solver="simple").fit(X, labels)
    machine.intercept_ = machine.intercept_ + 1e-3
    with pytest.raises(AssertionError):
        assert_certificate(machine, X, labels)
