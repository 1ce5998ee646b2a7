"""Weights of kernels against conic programmes: all exact routes find one optimum, and their certificates hold it."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference.conic import FORMULATIONS, equalities_of
from reference.naive_kernel_weights import (
    bound_of,
    energies_of,
    qclp_optimum,
    random_matrices,
    random_weights_problem,
    value_of,
)

from mercer import SVC, MKLClassifier
from mercer.errors import NotSeparableError
from mercer.gram import GramStack
from mercer.kernels import RBF, Indexed, Linear
from mercer.problems import Elastic, Groups, KernelWeightsProblem, NormBall, Simplex, WeightSet, soft_margin
from mercer.solvers.cones import ConicProgramme
from mercer.solvers.kernel_weights import (
    Accelerated,
    Alternating,
    Conic,
    JointSMO,
    LevelMethod,
    NewtonMethod,
    ProjectedGradient,
    ReducedGradient,
    SemiInfinite,
)

# The routes to the optimum over the simplex, each of which owes nothing to the others.
ROUTES = {
    "qclp": Conic,
    "silp": SemiInfinite,
    "simple": ReducedGradient,
    "level": LevelMethod,
    "newton": NewtonMethod,
    "projected": ProjectedGradient,
}
every_route = pytest.mark.parametrize("route", ROUTES.values(), ids=ROUTES.keys())

MACHINES = {
    name: [name]
    for name in (
        "hinge",
        "hinge, asymmetric",
        "hinge, no bias",
        "squared hinge",
        "epsilon tube",
        "epsilon tube, squared",
        "one class",
    )
} | {"three that share the weights": ["hinge", "hinge, asymmetric", "squared hinge, no bias"]}
every_machine = pytest.mark.parametrize("machines", MACHINES.values(), ids=MACHINES.keys())

SETS = {
    "1.2-norm": NormBall(1.2),
    "2-norm": NormBall(2.0),
    "4-norm": NormBall(4.0),
    "largest": NormBall(np.inf),
    "elastic 0.2": Elastic(0.2),
    "elastic 1": Elastic(1.0),
    "groups of a 1-norm": Groups([0, 1, 0, 1, 2], 1.0),
    "groups of a 2-norm": Groups([0, 1, 0, 1, 2], 2.0),
}
every_set = pytest.mark.parametrize("weights", SETS.values(), ids=SETS.keys())

TOL = 1e-6
AGREEMENT = 1e-5


def solve(route, problem, gap_tol=TOL, **options):
    return route(gap_tol=gap_tol, tol=TOL, max_iter=300, **options).solve(problem)


def labelled_problem(matrices, labels, C=1.0, weights=None, **options):
    """A soft margin over given matrices."""
    n = len(labels)
    stack = GramStack([Indexed(matrix) for matrix in matrices], np.arange(n), **options)
    uniform = stack.combination(np.full(len(matrices), 1.0 / len(matrices)))
    return KernelWeightsProblem(stack, [soft_margin(uniform, labels, np.full(n, C))], weights or Simplex())


def labelled_matrices(n, n_kernels, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    labels = np.where(X[:, 0] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    labels[:2] = 1.0, -1.0
    return random_matrices(RBF(gamma=0.5)(X), n_kernels, rng), labels


# --- one optimum ------------------------------------------------------------------------------------------


@every_machine
@pytest.mark.parametrize("seed", range(3))
def test_routes_agree(machines, seed):
    problem = random_weights_problem(machines, seed, Simplex())
    optimum = qclp_optimum(problem)
    for name, route in ROUTES.items():
        found = solve(route, problem)
        assert abs(found.objective - optimum.value) <= AGREEMENT * abs(optimum.value), name


@every_machine
@pytest.mark.parametrize("ridge", [0.01, 0.1])
def test_routes_agree_on_matrices_with_a_ridge(machines, ridge):
    """Among them the one that needs it."""
    problem = random_weights_problem(machines, 2, Simplex(), ridge=ridge)
    optimum = qclp_optimum(problem)
    assert optimum.value < qclp_optimum(random_weights_problem(machines, 2, Simplex())).value
    for name, route in (ROUTES | {"nesterov": Accelerated}).items():
        found = solve(route, problem)
        assert abs(found.objective - optimum.value) <= AGREEMENT * abs(optimum.value), name


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("seed", [0, 1, 3])
def test_the_conic_route_on_kernels_that_are_not_normalised(formulation, seed):
    problem = random_weights_problem(formulation, seed, Simplex(), scale=None)
    optimum = qclp_optimum(problem)
    found = solve(Conic, problem)
    assert abs(found.objective - optimum.value) <= AGREEMENT * abs(optimum.value) + optimum.accuracy
    assert found.status == "solved"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("formulation", ["hinge", "epsilon tube", "quantile"])
def test_the_conic_route_proves_many_digits(formulation, seed):
    """Its own point does: the machines on the learnt kernel have other solutions, which prove less."""
    found = Conic(gap_tol=1e-8).solve(random_weights_problem(formulation, seed, Simplex()))
    assert found.status == "solved"


@every_set
@every_machine
def test_the_conic_route_in_every_set(machines, weights):
    problem = random_weights_problem(machines, 5, weights)
    found = solve(Conic, problem)
    upper, accuracy = value_of(problem, found.weights)
    assert abs(found.objective - upper) <= AGREEMENT * abs(upper) + accuracy
    # What the machines on the learnt kernel prove over all weights, from plain formulas.
    lower = bound_of(problem, [part.a for part in found.parts])
    assert upper - lower <= AGREEMENT * abs(upper) + accuracy


@every_set
@pytest.mark.parametrize("route", [Alternating, JointSMO])
@pytest.mark.parametrize("machines", [["hinge"], ["epsilon tube", "squared hinge"]], ids=["hinge", "two"])
def test_routes_of_any_set_find_the_optimum_of_the_conic_one(machines, route, weights):
    problem = random_weights_problem(machines, 7, weights)
    optimum, found = solve(Conic, problem), solve(route, problem, gap_tol=AGREEMENT)
    # Groups and elastic sets have weights of zero, which are approached slowly: there the route's own bound tells.
    allowed = max(AGREEMENT * abs(optimum.objective), found.gap)
    assert -TOL * abs(optimum.objective) <= found.objective - optimum.objective <= allowed


# --- certificates -----------------------------------------------------------------------------------------


@every_route
@every_machine
def test_the_certificate_is_what_it_says(machines, route):
    """Roughly solved, the bounds are apart; they hold the optimum nevertheless, and are those of the weights."""
    problem = random_weights_problem(machines, 4, Simplex())
    optimum = qclp_optimum(problem)
    found = solve(route, problem, gap_tol=1e-2)
    points = [part.a for part in found.parts]
    rounding = 1e-9 * abs(optimum.value)
    for machine, a in zip(problem.problems, points, strict=True):
        assert (a >= 0).all() and (a <= machine.upper).all()
        for row, value in equalities_of(machine):
            assert abs(row @ a - value) <= 1e-10 * max(1.0, a.sum())
    at_weights, accuracy = value_of(problem, found.weights)
    assert at_weights - accuracy <= found.objective <= at_weights + found.gap + accuracy
    assert found.bound - rounding <= optimum.value + optimum.accuracy
    assert optimum.value - optimum.accuracy <= found.objective + rounding
    assert bound_of(problem, points) <= found.bound + rounding  # of all points, the best proof counts
    assert found.gap == pytest.approx(found.objective - found.bound, abs=rounding)
    energies = energies_of(problem, points)
    assert_allclose(found.energies, energies, rtol=1e-6, atol=1e-9 * energies.max())
    missed = (energies.max() - found.weights @ energies) / abs(found.objective)
    assert found.violation == pytest.approx(missed, rel=1e-6, abs=1e-9)


@every_route
def test_the_certificate_of_a_machine_from_its_public_attributes(route):
    """The primal objective is the upper bound, the multipliers and the energies of the kernels a lower one."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=40) > 0
    C = 2.0
    solver = route(gap_tol=1e-4, tol=1e-5)
    machine = MKLClassifier([Linear(), RBF(gamma=0.1), RBF(gamma=1.0)], C=C, algorithm=solver).fit(X, y)
    labels, found = np.where(y, 1.0, -1.0), machine.weights_result_
    c = np.zeros(40)
    c[machine.support_] = machine.dual_coef_.ravel()
    hinge = np.maximum(0.0, 1.0 - labels * machine.decision_function(X))
    upper = 0.5 * c @ machine.kernel_(X) @ c + C * hinge.sum()
    matrices = [kernel(X) for kernel in machine.kernels_]
    energies = np.array([0.5 * c @ K @ c / np.diag(K).mean() for K in matrices])
    lower = np.abs(c).sum() - energies.max()
    assert_allclose(found.energies, energies, rtol=1e-8)
    assert found.objective == pytest.approx(upper, rel=1e-8)
    assert lower <= found.bound + 1e-8 * upper
    optimum = qclp_optimum(labelled_problem(matrices, labels, C))
    assert found.bound - optimum.accuracy <= optimum.value <= upper + optimum.accuracy
    assert found.status == "solved" and found.relative_gap <= 1e-4


# --- laws -------------------------------------------------------------------------------------------------


@every_route
@every_machine
def test_weights_lie_on_the_simplex(machines, route):
    weights = solve(route, random_weights_problem(machines, 2, Simplex()), gap_tol=1e-3).weights
    assert (weights >= 0).all()
    assert abs(weights.sum() - 1.0) <= 1e-12


@pytest.mark.parametrize("size", [0.1, 1.0, 1e6, 1e17])
def test_the_nearest_point_of_the_simplex(size, rng):
    """No other point of the simplex lies on the same side of it as what is projected."""
    for _ in range(50):
        v = size * rng.normal(size=6)
        d = Simplex().project(v)
        assert (d >= 0).all() and abs(d.sum() - 1.0) <= 1e-12
        away = v - d
        assert away.max() - away @ d <= 1e-12 * max(1.0, size)


def test_what_is_zero_but_for_rounding_is_zero():
    assert_array_equal(Simplex().project(np.array([-1.0, -0.2, -0.2, -0.7])), [0.0, 0.5, 0.5, 0.0])
    assert_array_equal(np.flatnonzero(Simplex().project(np.array([-0.7, -0.5, -0.3, -2.5 / 3]))), [0, 1, 2])


@pytest.mark.parametrize("mix", [1e-6, 0.01, 0.3, 0.9, 1.0])
def test_the_cheapest_elastic_weights(mix, rng):
    """What one more of a weight saves is in one ratio to what it takes of the set, and nothing of that is left."""
    weights = Elastic(mix)
    for _ in range(20):
        squares = 10.0 ** rng.uniform(-12, 0, size=7)
        squares[rng.integers(7)] = 0.0
        d, some = weights.cheapest(squares), squares > 0
        assert weights.size(d) == pytest.approx(1.0, abs=1e-12) and not d[~some].any()
        ratio = squares[some] / d[some] ** 2 / (1 - mix + 2 * mix * d[some])
        assert_allclose(ratio, ratio[0], rtol=1e-10)


@pytest.mark.parametrize("name", SETS)
def test_weights_lie_in_their_set(name):
    weights = SETS[name]
    found = solve(Conic, random_weights_problem("hinge", 2, weights)).weights
    assert (found >= 0).all()
    if isinstance(weights, Groups):
        size = sum(np.linalg.norm(found[part], weights.p) for part in weights.parts)
    else:
        size = weights.size(found) if isinstance(weights, Elastic) else np.linalg.norm(found, weights.p)
    assert abs(size - 1.0) <= 1e-12


@every_route
def test_permuted_kernels_have_permuted_weights(route, rng):
    matrices, labels = labelled_matrices(40, 6)
    order = rng.permutation(6)
    plain = solve(route, labelled_problem(matrices, labels), gap_tol=1e-7)
    permuted = solve(route, labelled_problem([matrices[k] for k in order], labels), gap_tol=1e-7)
    assert 0 < np.count_nonzero(plain.weights) < 6
    assert_allclose(permuted.weights, plain.weights[order], atol=1e-3)
    assert permuted.objective == pytest.approx(plain.objective, rel=1e-6)


@every_route
def test_identical_kernels_share_the_weight_of_one(route):
    matrices, labels = labelled_matrices(40, 3)
    once = solve(route, labelled_problem(matrices, labels))
    used = int(np.argmax(once.weights))
    thrice = solve(route, labelled_problem([*matrices, matrices[used], matrices[used]], labels))
    assert thrice.objective == pytest.approx(once.objective, rel=AGREEMENT)
    assert thrice.weights[[used, 3, 4]].sum() == pytest.approx(once.weights[used], abs=1e-2)


@pytest.mark.parametrize("weights", [NormBall(2.0), Elastic(0.3)], ids=["2-norm", "elastic"])
def test_identical_kernels_have_equal_weights_where_they_are_not_sparse(weights):
    matrices, labels = labelled_matrices(40, 3)
    found = solve(Conic, labelled_problem([*matrices, matrices[0]], labels, weights=weights)).weights
    assert found[0] > 0 and found[3] == pytest.approx(found[0], rel=1e-4)


@pytest.mark.parametrize("route", [Conic, Alternating])
def test_identical_kernels_in_different_groups(route):
    """They are of different worth there: the weights stay in their set."""
    matrices, labels = labelled_matrices(40, 3)
    weights = Groups(["a", "a", "b", "b"], 2.0)
    found = solve(
        route, labelled_problem([matrices[0], matrices[1], matrices[0], matrices[2]], labels, weights=weights)
    )
    assert sum(np.linalg.norm(found.weights[part]) for part in weights.parts) == pytest.approx(1.0, abs=1e-12)
    assert found.weights[0] != pytest.approx(found.weights[2], rel=1e-2)


@every_route
def test_kernels_without_information_have_no_weight(route):
    """Of zero, and constant ones: the offset does all that they could."""
    matrices, labels = labelled_matrices(30, 3)
    alone = solve(route, labelled_problem(matrices, labels))
    more = solve(route, labelled_problem([np.zeros((30, 30)), *matrices, np.full((30, 30), 7.0)], labels))
    assert more.objective == pytest.approx(alone.objective, rel=AGREEMENT)
    assert_allclose(more.weights[[0, 4]], 0.0, atol=1e-4)


@every_route
def test_kernels_without_information_alone(route):
    """Nothing to learn: the machine is its offset, and every weight is as good as any other."""
    _, labels = labelled_matrices(20, 1)
    found = solve(route, labelled_problem([np.zeros((20, 20)), np.ones((20, 20))], labels))
    assert found.objective == pytest.approx(2.0 * min((labels > 0).sum(), (labels < 0).sum()))
    assert found.status == "solved" and abs(found.weights.sum() - 1.0) <= 1e-12


@every_route
def test_one_kernel_is_a_plain_machine(route):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 2))
    y = X[:, 0] + 0.5 * rng.normal(size=50) > 0
    learnt = MKLClassifier([RBF(gamma=0.7)], C=3.0, algorithm=route(tol=1e-8, gap_tol=1e-9)).fit(X, y)
    plain = SVC(kernel=RBF(gamma=0.7), C=3.0, tol=1e-8).fit(X, y)
    assert_array_equal(learnt.weights_, [1.0])
    assert_array_equal(learnt.support_, plain.support_)
    assert_allclose(learnt.decision_function(X), plain.decision_function(X), atol=1e-6)


@every_route
def test_more_kernels_than_samples(route):
    matrices, labels = labelled_matrices(15, 40)
    problem = labelled_problem(matrices, labels)
    optimum = qclp_optimum(problem)
    found = solve(route, problem)
    assert abs(found.objective - optimum.value) <= AGREEMENT * optimum.value


# --- the programme ----------------------------------------------------------------------------------------


def test_the_conic_route_needs_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(ImportError, match=r'Conic needs clarabel: pip install "mercer\[conic\]"'):
        solve(Conic, random_weights_problem("hinge", 0, Simplex()))


def test_the_conic_route_refuses_sets_that_it_does_not_know():
    class Shrunk(Simplex):
        pass

    class Other(WeightSet):
        best, cheapest, norm = Simplex.best, Simplex.cheapest, Simplex.norm

    assert solve(Conic, random_weights_problem("hinge", 0, Shrunk())).status == "solved"
    with pytest.raises(TypeError, match="Conic needs weights in a set that it knows, got Other"):
        solve(Conic, random_weights_problem("hinge", 0, Other()))


@pytest.mark.parametrize("status", ["NumericalError", "InsufficientProgress", "DualInfeasible"])
def test_a_programme_that_the_package_gives_up(status, monkeypatch):
    """Nothing of it is used: what was known before is returned, and the status says that it is not the optimum."""
    asked, solve_it = [], ConicProgramme.solve

    def give_up(self, tolerance, max_seconds):
        found = solve_it(self, tolerance, max_seconds)
        asked.append(tolerance)
        return replace(found, status=status)

    monkeypatch.setattr(ConicProgramme, "solve", give_up)
    found = solve(Conic, random_weights_problem("hinge", 0, Simplex()))
    assert found.status == "stalled" and found.n_iter == 1 and asked
    assert_allclose(found.weights, 0.2)


def test_a_hard_margin_that_no_kernel_has():
    labels = np.array([1.0, -1.0, 1.0, -1.0])
    twins = np.kron(np.eye(2), np.ones((2, 2)))
    with pytest.raises(NotSeparableError):
        solve(Conic, labelled_problem([twins, 2 * twins + 1], labels, C=np.inf))


def test_limits_of_the_conic_route():
    problem = random_weights_problem("hinge", 2, Simplex())
    seen = []
    found = Conic(gap_tol=1e-9).solve(problem, callback=lambda progress: seen.append(progress) or True)
    assert found.status == "stopped" and len(seen) == found.n_iter == 1
    assert Conic(gap_tol=1e-9, max_iter=1).solve(problem).status == "max_iter"
    assert Conic(gap_tol=1e-9, max_seconds=1e-9).solve(problem).status == "max_seconds"
