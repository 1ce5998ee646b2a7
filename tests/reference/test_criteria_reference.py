"""Criteria against what they mean: machines that are really trained without a sample, a conic solver, plain algebra."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference.conic import minimise
from sklearn.base import clone

from mercer import SVC
from mercer.kernels import RBF, Linear, Polynomial
from mercer.selection import AlphaSum, LeaveOneOut, RadiusMargin, SmoothSpan, Span, SupportFraction, XiAlpha

KERNELS = [RBF(gamma=0.5), RBF(gamma=3.0), Linear(), Polynomial(degree=2, gamma=1.0, coef0=1.0)]
SEEDS = range(16)
MACHINES = {
    "hinge": {"loss": "hinge"},
    "hinge, no offset": {"loss": "hinge", "fit_intercept": False},
    "hinge, heavy class": {"loss": "hinge", "class_weight": {0: 3.0}},
    "squared hinge": {"loss": "squared_hinge"},
    "squared hinge, no offset": {"loss": "squared_hinge", "fit_intercept": False},
    "squared hinge, heavy class": {"loss": "squared_hinge", "class_weight": {0: 3.0}},
    "hard margin": {"C": np.inf},
    "hard margin, no offset": {"C": np.inf, "fit_intercept": False},
}
every_machine = pytest.mark.parametrize("options", MACHINES.values(), ids=MACHINES.keys())
every_seed = pytest.mark.parametrize("seed", SEEDS)


def random_machine(options, seed):
    """A few samples of two classes, at least two of each, and a machine for them; hard margins have a gap."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 36)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d))
    y = (X[:, 0] + rng.choice([0.0, 0.5, 1.5]) * rng.normal(size=n) > 0).astype(int)
    y[:2], y[2:4] = 0, 1
    options = {"C": float(10 ** rng.uniform(-1, 2)), **options}
    kernel = KERNELS[seed % 4]
    if options["C"] == np.inf:
        y = (X[:, 0] > 0).astype(int)
        X[:, 0] += np.where(y == 1, 0.4, -0.4)
        X[:2, 0], X[2:4, 0] = -np.abs(X[:2, 0]), np.abs(X[2:4, 0])
        y[:2], y[2:4] = 0, 1
    return SVC(kernel=kernel, tol=1e-9, **options).fit(X, y), X, y


def trained_without_each(machine, X, y):
    """The machines, and the decision values for what they have not seen."""
    machines = [clone(machine).fit(np.delete(X, p, axis=0), np.delete(y, p)) for p in range(len(X))]
    values = np.array([other.decision_function(X[[p]])[0] for p, other in enumerate(machines)])
    return machines, values


def multipliers(machine, n):
    alpha = np.zeros(n)
    alpha[machine.support_] = np.abs(machine.dual_coef_[0])
    return alpha


def prices(machine, y):
    """C of every sample."""
    return machine.C * np.where(y == 0, (machine.class_weight or {}).get(0, 1.0), 1.0)


def larger_matrix(machine, X, y):
    """K, with the ridge of the squared hinge."""
    K = machine.kernel_(X)
    return K + np.diag(1 / (2 * prices(machine, y))) if machine.loss == "squared_hinge" else K


def on_the_edge(machine, y):
    """Multipliers between their bounds."""
    alpha = multipliers(machine, len(y))
    upper = prices(machine, y) if machine.loss == "hinge" else np.inf
    return (alpha > 1e-9) & (alpha < upper * (1 - 1e-9))


@every_seed
@every_machine
def test_leave_one_out_is_what_it_says(options, seed):
    machine, X, y = random_machine(options, seed)
    _, values = trained_without_each(machine, X, y)
    found = LeaveOneOut().decisions(machine, X, y)
    assert_allclose(found, values, rtol=1e-5, atol=1e-5)
    wrong = np.where(y == 1, 1, -1) * values <= 0
    assert LeaveOneOut().bound(machine, X, y) == np.mean(wrong)


@every_seed
@every_machine
def test_bounds_are_bounds(options, seed):
    machine, X, y = random_machine(options, seed)
    machines, values = trained_without_each(machine, X, y)
    errors = np.mean(np.where(y == 1, 1, -1) * values <= 0)
    if machine.fit_intercept and machine.C < np.inf and machine.loss == "hinge":
        # what the proofs suppose: somebody knows the offset
        labels = [np.delete(y, p) for p in range(len(y))]
        if not all(on_the_edge(m, of).any() for m, of in zip([machine, *machines], [y, *labels], strict=True)):
            pytest.skip("no support vector on the edge of the margin")
    assert errors <= XiAlpha().bound(machine, X, y) <= SupportFraction().bound(machine, X, y)
    if machine.loss == "squared_hinge" or machine.C == np.inf:
        proved = 4 if machine.fit_intercept else 1
        assert errors <= proved * RadiusMargin().bound(machine, X, y) * (1 + 1e-6)
        assert RadiusMargin().bound(machine, X, y) <= AlphaSum().bound(machine, X, y) * (1 + 1e-5)


def test_bounds_are_close():
    """They are close enough for the test above to notice."""
    ratios = []
    for seed in SEEDS:
        machine, X, y = random_machine({"loss": "squared_hinge", "fit_intercept": False}, seed)
        _, values = trained_without_each(machine, X, y)
        ratios.append(np.mean(np.where(y == 1, 1, -1) * values <= 0) / XiAlpha().bound(machine, X, y))
    assert max(ratios) > 0.5


@every_seed
@every_machine
def test_radius_against_a_conic_solver(options, seed):
    machine, X, y = random_machine(options, seed)
    if machine.loss == "hinge" and machine.C < np.inf:
        machine.set_params(loss="squared_hinge").fit(X, y)
    K = larger_matrix(machine, X, y)
    n = len(X)
    if machine.fit_intercept:
        optimum = minimise(K, -0.5 * np.diag(K), np.full(n, np.inf), equal=[(np.ones(n), 1.0)])
        squared_radius = -2 * optimum.value
    else:
        squared_radius = np.diag(K).max()
    sign = np.where(y == 1, 1.0, -1.0)
    equal = [(sign, 0.0)] if machine.fit_intercept else []
    margin = minimise(np.outer(sign, sign) * K, -np.ones(n), np.full(n, np.inf), equal=equal)
    assert_allclose(RadiusMargin().bound(machine, X, y), squared_radius * -2 * margin.value / n, rtol=1e-5)


def squared_distance_to_hull(Phi, p, others, affine):
    """From one row to the affine hull, or the linear span, of others, by least squares."""
    target, basis = Phi[p], Phi[others]
    if affine:
        target, basis = target - basis[0], basis[1:] - basis[0]
    rest = target - basis.T @ np.linalg.lstsq(basis.T, target, rcond=1e-10)[0]
    return rest @ rest


@every_machine
def test_span_by_plain_geometry(options):
    """And exactly the value of a machine without the sample, where the others stay on their side of the bounds."""
    assert sum(exact_spans(*random_machine(options, seed)) for seed in SEEDS) > 40


def exact_spans(machine, X, y):
    """How many samples have no influence on which of the others are support vectors, after all checks."""
    K = larger_matrix(machine, X, y)
    eigenvalues, vectors = np.linalg.eigh(K)
    Phi = vectors * np.sqrt(np.maximum(0.0, eigenvalues))
    alpha, edge, sign = multipliers(machine, len(X)), on_the_edge(machine, y), np.where(y == 1, 1, -1)
    margins = sign * machine.decision_function(X)
    if machine.loss == "squared_hinge":
        margins = margins + alpha * (np.diag(K) - np.diag(machine.kernel_(X)))  # the edge of the larger space
    found = sign * Span().decisions(machine, X, y)
    machines, values = trained_without_each(machine, X, y)
    exact = 0
    for p in range(len(X)):
        others = np.flatnonzero(edge & (np.arange(len(X)) != p))
        if alpha[p] == 0:
            assert_allclose(found[p], margins[p], rtol=1e-5, atol=1e-5)
        elif len(others) or not machine.fit_intercept:
            squared = squared_distance_to_hull(Phi, p, others, machine.fit_intercept) if len(others) else K[p, p]
            assert_allclose(found[p], margins[p] - alpha[p] * squared, rtol=1e-4, atol=1e-4)
        else:
            assert found[p] == -np.inf
        rest = np.delete(np.arange(len(X)), p)
        same_edge = np.array_equal(on_the_edge(machines[p], y[rest]), edge[rest])
        same_support = np.array_equal(multipliers(machines[p], len(rest)) > 0, alpha[rest] > 0)
        if len(others) and same_edge and same_support:
            assert_allclose(found[p], sign[p] * values[p], rtol=1e-4, atol=1e-4)
            exact += 1
    return exact


@every_seed
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_smooth_span_as_it_is_defined(fit_intercept, seed):
    """The smallest |phi_p - sum lambda_i phi_i|^2 + eta sum lambda_i^2 / alpha_i, sample by sample."""
    machine, X, y = random_machine({"loss": "squared_hinge", "fit_intercept": fit_intercept}, seed)
    steepness, eta = 3.0, 0.2
    K, alpha = larger_matrix(machine, X, y), multipliers(machine, len(X))
    total = 0.0
    for p in range(len(X)):
        others = np.flatnonzero((alpha > 0) & (np.arange(len(X)) != p))
        size = len(others) + fit_intercept
        system, side = np.zeros((size, size)), np.ones(size)
        system[: len(others), : len(others)] = K[np.ix_(others, others)] + np.diag(eta / alpha[others])
        if fit_intercept:
            system[-1, :-1] = system[:-1, -1] = 1.0
        side[: len(others)] = K[others, p]
        weights = np.linalg.solve(system, side)[: len(others)]
        distance = K[p, p] - 2 * weights @ K[others, p] + weights @ K[np.ix_(others, others)] @ weights
        span = distance + eta * np.sum(weights**2 / alpha[others])
        total += 1 / (1 + np.exp(-steepness * (alpha[p] * span - 1)))
    found = SmoothSpan(steepness=steepness, smoothing=eta).bound(machine, X, y)
    assert_allclose(found, total / len(X), rtol=1e-8)
