"""Solvers for the weights of kernels on the simplex: bounds, limits, starts, and the pieces they are made of."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from threadpoolctl import ThreadpoolController

from mercer import MKLClassifier
from mercer.errors import NotSeparableError
from mercer.gram import GramStack
from mercer.kernels import RBF, Constant, Linear, On, Polynomial
from mercer.mkl.algorithms import solver_for
from mercer.problems import (
    Elastic,
    Groups,
    KernelWeightsProblem,
    NormBall,
    Simplex,
    epsilon_tube,
    nu_margin,
    one_class,
    soft_margin,
)
from mercer.solvers import SMO
from mercer.solvers.kernel_weights import (
    Accelerated,
    Alternating,
    FixedWeights,
    JointSMO,
    LevelMethod,
    NewtonMethod,
    ProjectedGradient,
    ReducedGradient,
    SemiInfinite,
    newton,
)
from mercer.solvers.kernel_weights.base import KernelWeightsSolver, Search
from mercer.solvers.kernel_weights.cuts import Cuts
from mercer.solvers.kernel_weights.level import level_step
from mercer.solvers.kernel_weights.newton import newton_step, second_derivatives
from mercer.solvers.kernel_weights.simple import reduced_direction

SOLVERS = (NewtonMethod, LevelMethod, SemiInfinite, ReducedGradient, ProjectedGradient, Accelerated)
every_solver = pytest.mark.parametrize("Solver", SOLVERS, ids=lambda solver: solver.__name__)
any_set_too = pytest.mark.parametrize("Solver", [*SOLVERS, Alternating, JointSMO], ids=lambda solver: solver.__name__)


def samples(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + 0.7 * X[:, 1] ** 2 - 0.5 + 0.4 * rng.normal(size=n) > 0, 1.0, -1.0)


def over(kernels, X, make, **options):
    """The problem of weights for machines that are made from a Gram matrix."""
    stack = GramStack([kernel.resolve(X) for kernel in kernels], X, **options)
    made = make(stack.combination(np.full(len(stack), 1.0 / len(stack))))
    return KernelWeightsProblem(stack, made if isinstance(made, list) else [made], Simplex())


@cache
def widths(n=60, C=1.0, seed=0, squared=False, **options):
    X, y = samples(n, seed=seed)
    kernels = [RBF(gamma=gamma) for gamma in np.logspace(-2, 1, 6)]
    return over(kernels, X, lambda gram: soft_margin(gram, y, np.full(n, C), squared=squared), **options)


@cache
def by(Solver, gap_tol, **options):
    return Solver(gap_tol=gap_tol).solve(widths(**options))


def machines_at(problem, weights):
    """J, by machines that are solved to the last digits over the exact matrix."""
    results = SMO(tol=1e-10, gap_tol=1e-12).solve_many(problem.over(problem.stack.exact(weights)))
    return -sum(result.objective for result in results)


# --- the optimum ------------------------------------------------------------------------------------------


@every_solver
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_reaches_a_small_gap(Solver, C):
    problem = widths(C=C)
    result = Solver(gap_tol=1e-6).solve(problem)
    assert result.status == "solved" and 0 <= result.relative_gap <= 1e-6
    assert abs(result.weights.sum() - 1.0) <= 1e-12 and (result.weights >= 0).all()
    assert_allclose(machines_at(problem, result.weights), result.objective, rtol=1e-6)
    reference = by(NewtonMethod, 1e-9, C=C)
    assert result.bound <= reference.objective * (1 + 1e-12) and reference.bound <= result.objective * (1 + 1e-12)


@every_solver
@pytest.mark.parametrize("squared", [False, True])
def test_agrees_at_equal_ridge(Solver, squared):
    problem = widths(ridge=1e-2, squared=squared)
    reference, without = by(LevelMethod, 1e-7, ridge=1e-2, squared=squared), by(LevelMethod, 1e-7, squared=squared)
    assert_allclose(Solver(gap_tol=1e-6).solve(problem).objective, reference.objective, rtol=1e-5)
    assert abs(reference.objective / without.objective - 1) > 1e-4


@every_solver
def test_several_machines_share_the_weights(Solver):
    X, y = samples()
    shifted = [np.roll(y, k) for k in (0, 1, 5)]
    kernels = [RBF(gamma=gamma) for gamma in (0.05, 0.5, 5.0)]
    problem = over(kernels, X, lambda gram: [soft_margin(gram, sign, np.ones(len(X))) for sign in shifted])
    result = Solver(gap_tol=1e-5).solve(problem)
    assert result.status == "solved"
    assert_allclose(machines_at(problem, result.weights), result.objective, rtol=1e-5)


@every_solver
def test_regression(Solver):
    X, _ = samples()
    target = np.sin(2.0 * X[:, 0]) + 0.1 * X[:, 1]
    kernels = [RBF(gamma=gamma) for gamma in (0.05, 0.5, 5.0)]
    problem = over(kernels, X, lambda gram: epsilon_tube(gram, target, np.full(len(X), 10.0), 0.1))
    assert Solver(gap_tol=1e-5).solve(problem).status == "solved"


@every_solver
@pytest.mark.parametrize(
    "kernels",
    [
        [RBF(gamma=0.5)],
        [RBF(gamma=0.5)] * 3,
        [RBF(gamma=0.5), Constant(0.0)],
        [RBF(gamma=0.5), Constant(1.0)],
        [RBF(gamma=0.5)] * 2 + [Linear()] * 2,
    ],
    ids=["one", "identical", "zero", "constant", "pairs"],
)
def test_degenerate_kernels(Solver, kernels):
    X, y = samples()
    problem = over(kernels, X, lambda gram: soft_margin(gram, y, np.ones(len(X))))
    result = Solver(gap_tol=1e-5).solve(problem)
    assert result.status == "solved"
    best = min(machines_at(problem, corner) for corner in np.eye(len(kernels)))
    assert result.objective <= best * (1 + 1e-5)
    for k, kernel in enumerate(kernels):
        assert len({result.weights[j] for j, other in enumerate(kernels) if other == kernel}) == 1, k  # twins share


@pytest.mark.parametrize("Solver", [NewtonMethod, LevelMethod, ProjectedGradient])
def test_edges_of_the_objective(Solver):
    """Kernels of rank one: the solution of the machine is not unique, and only several together prove the optimum."""
    X, y = samples(100, 6)
    columns = {str(j): X[:, j] for j in range(6)}
    kernels = [On(name, Linear()) for name in columns]
    problem = over(kernels, columns, lambda gram: soft_margin(gram, y, np.full(100, 100.0)))
    assert Solver(gap_tol=1e-5).solve(problem).status == "solved"


def around_the_origin():
    X, _ = samples(20)
    X = np.concatenate([X, -X])
    return {str(j): X[:, j] for j in range(4)}


@any_set_too
def test_no_weights_have_a_margin(Solver):
    """The origin is within the samples of one class: every distance from it is zero, and no gap is small beside that.

    So it is for the hulls of two classes with the same samples.
    """
    columns = around_the_origin()
    kernels = [On(name, Linear()) for name in columns]
    ring = over(kernels, columns, lambda gram: one_class(gram, 0.5, np.ones(40)))
    twice = {name: np.tile(values[:20], 2) for name, values in columns.items()}
    sign = np.repeat([1.0, -1.0], 20)
    overlap = over(
        [On(name, RBF(gamma=1.0)) for name in twice], twice, lambda gram: nu_margin(gram, sign, 0.5, sign**2)
    )
    for problem in (ring, overlap):
        found = Solver(gap_tol=1e-6).solve(problem)
        assert found.status == "degenerate" and found.n_iter <= 3
        assert -1e-6 <= found.bound <= found.objective <= 1e-6


@any_set_too
def test_one_kernel_has_a_margin(Solver):
    """At first weights that leave it out there is none."""
    columns = around_the_origin()
    kernels = [*(On(name, Linear()) for name in columns), On("0", RBF(gamma=1.0))]
    problem = over(kernels, columns, lambda gram: one_class(gram, 0.5, np.ones(40)))
    found = Solver(gap_tol=1e-6).solve(problem, np.eye(5)[0])
    assert found.status == "solved" and found.weights[4] > 0.999 and found.objective < -1


@any_set_too
@pytest.mark.parametrize("first", [None, 0])
def test_hard_margins_of_some_kernels(Solver, first):
    """Weights without a margin, where the objective is infinite, are on the way; they are not the end of it."""
    X, y = samples(30)[0], np.tile([1.0, -1.0], 15)
    columns = {"pairs": np.repeat(X[:15, 0], 2), "0": X[:, 0], "1": X[:, 1]}
    kernels = [On("pairs", RBF(gamma=1.0)), On("0", RBF(gamma=100.0)), On("1", RBF(gamma=100.0))]
    problem = over(kernels, columns, lambda gram: soft_margin(gram, y, np.full(30, np.inf)))
    with pytest.raises(NotSeparableError):
        machines_at(problem, np.eye(3)[0])
    found = Solver(gap_tol=1e-5).solve(problem, None if first is None else np.eye(3)[first])
    assert found.status == "solved"
    assert_allclose(machines_at(problem, found.weights), found.objective, rtol=1e-5)
    assert found.history.weights.min() >= 0 and abs(found.weights.sum() - 1) <= 1e-12


@pytest.mark.parametrize("Solver", [NewtonMethod, Alternating, JointSMO])
@pytest.mark.parametrize("start", [None, [1.0, 0.0]])
def test_no_weights_separate(Solver, start):
    """Two pairs of samples that are alike, with different labels."""
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([1.0, -1.0, 1.0, -1.0])
    problem = over([RBF(gamma=1.0), Linear()], X, lambda gram: soft_margin(gram, y, np.full(4, np.inf)))
    with pytest.raises(NotSeparableError):
        Solver().solve(problem, start)


# --- rounding ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("Solver", [NewtonMethod, LevelMethod, SemiInfinite])
def test_goes_on_in_float64_where_float32_is_too_coarse(Solver):
    problem, solver = widths(C=100.0), Solver(gap_tol=1e-10)
    search = Search(problem, solver, None)
    search.try_weights(Simplex().uniform(6))
    solver._run(search)
    search.certify()
    assert not search.solved  # by what was kept
    found = solver.solve(problem)
    assert found.status == "solved"
    history = found.history
    assert ((np.diff(history.objective) > 0) | (np.diff(history.bound) < 0)).sum() <= 1  # then, if at all
    rounding = np.finfo(np.float32).eps * history.objective  # of kernel values that were kept
    assert (history.bound <= history.objective + rounding).all()
    assert found.bound <= found.objective


# --- limits -----------------------------------------------------------------------------------------------


@every_solver
@pytest.mark.parametrize("trials", [1, 2, 4])
def test_ends_at_max_iter(Solver, trials):
    result = Solver(gap_tol=1e-9, max_iter=trials).solve(widths())
    assert result.status == "max_iter" and result.n_iter == len(result.history) == trials


@every_solver
def test_ends_at_max_seconds(Solver):
    result = Solver(gap_tol=1e-9, max_seconds=1e-9).solve(widths())
    assert result.status == "max_seconds" and result.n_iter == 1


@every_solver
def test_a_callback_is_told_and_stops(Solver):
    told = []

    def stop(progress):
        told.append(progress)
        return len(told) == 3

    result = Solver(gap_tol=1e-9).solve(widths(), callback=stop)
    assert result.status == "stopped" and [progress.n_iter for progress in told] == [1, 2, 3]
    assert_array_equal([progress.violation for progress in told], result.history.gap)
    assert_array_equal([-progress.objective for progress in told], result.history.objective)


@every_solver
def test_what_was_found_before_a_limit_is_certified(Solver):
    problem = widths()
    optimum = by(NewtonMethod, 1e-9).objective
    result = Solver(gap_tol=1e-9, max_iter=3).solve(problem)
    assert result.bound <= optimum <= result.objective
    assert_allclose(machines_at(problem, result.weights), result.objective, rtol=1e-6)


@every_solver
def test_bounds_are_monotone_in_the_history(Solver):
    history = Solver(gap_tol=1e-5).solve(widths()).history
    assert (np.diff(history.objective) <= 0).all() and (np.diff(history.bound) >= 0).all()
    assert (np.diff(history.seconds) >= 0).all() and (history.bound <= history.objective).all()
    assert_allclose(history.weights.sum(axis=1), 1.0, rtol=1e-12)


@every_solver
@pytest.mark.parametrize(
    ("name", "value"), [("gap_tol", 0.0), ("tol", -1.0), ("max_iter", 0), ("max_seconds", 0.0), ("memory", -1)]
)
def test_bad_parameters_are_named(Solver, name, value):
    with pytest.raises(ValueError, match=f"{name} must.*{value}"):
        Solver(**{name: value}).solve(widths())


@every_solver
def test_other_sets_are_refused(Solver):
    with pytest.raises(ValueError, match=rf"{Solver.__name__} needs weights on the simplex, got NormBall"):
        Solver().solve(replace(widths(), weights=NormBall(2.0)))


# --- starts and threads -----------------------------------------------------------------------------------


@every_solver
def test_starts(Solver):
    problem = widths()
    reference = by(NewtonMethod, 1e-9)
    for start in (np.eye(6)[5], np.eye(6)[0], reference.weights):
        result = Solver(gap_tol=1e-5).solve(problem, start)
        assert_array_equal(result.history.weights[0], start)
        assert result.status == "solved"
        assert_allclose(result.objective, reference.objective, rtol=1.1e-5)
    assert result.n_iter <= 3  # from the optimum


@any_set_too
def test_begins_at_a_kernel_of_zero(Solver):
    """Its matrix has no factor, and the weight of the other is zero at first."""
    X, y = samples()
    problem = over([Constant(0.0), RBF(gamma=1.0)], X, lambda gram: soft_margin(gram, y, np.linspace(1, 2, 60)))
    found = Solver(gap_tol=1e-4).solve(problem, np.array([1.0, 0.0]))
    assert found.status == "solved" and found.weights[1] > 0.999


def test_groups_begin_with_equal_sizes():
    groups = Groups([0, 1, 1, 1, 1, 1])
    begun = Alternating(gap_tol=1e-9, max_iter=1).solve(replace(widths(), weights=groups)).history.weights[0]
    assert_array_equal(begun, groups.uniform(6))
    assert_allclose(begun[0], 0.5)


@pytest.mark.parametrize(
    "weights", [Groups([0, 0, 1, 1, 2, 2, 3], 1.0), Elastic(0.01), Simplex()], ids=["groups", "elastic", "simplex"]
)
@pytest.mark.parametrize("seed", [4, 9, 11, 19])
def test_steps_in_turn_find_weights_that_mixing_had_made_too_small(weights, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    sign = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=60) > 0, 1.0, -1.0)
    target = np.sin(2.0 * X[:, 0]) + X[:, 1]
    kernels = [*(RBF(gamma=gamma) for gamma in (0.01, 0.1, 0.5, 2.0, 20.0)), Linear(), Polynomial(degree=2)]
    for make in (
        lambda gram: soft_margin(gram, sign, np.ones(60)),
        lambda gram: epsilon_tube(gram, target, np.ones(60), 0.1),
    ):
        problem = replace(over(kernels, X, make, scale="trace"), weights=weights)
        found = Alternating(gap_tol=1e-3).solve(problem)
        assert found.status == "solved" and found.relative_gap <= 1e-3
        assert found.n_iter <= 40


@pytest.mark.parametrize("Solver", [LevelMethod, Alternating, JointSMO, FixedWeights])
@pytest.mark.parametrize(
    ("start", "rule"),
    [
        ([1.0, 2.0], r"start must have shape \(6,\), .* got \(2,\)"),
        ([0.0] * 6, "one of them > 0, got"),
        ([1.0, -0.5, 1.0, 1.0, 1.0, 1.0], ">= 0.*-0.5"),
        ([1.0, np.nan, 1.0, 1.0, 1.0, 1.0], "finite.*nan"),
    ],
)
def test_bad_starts_are_named(Solver, start, rule):
    with pytest.raises(ValueError, match=rule):
        Solver().solve(widths(), start)


def test_bad_problems_are_named():
    problem = widths()
    with pytest.raises(ValueError, match="problems must be at least one, got none"):
        replace(problem, problems=[])
    with pytest.raises(ValueError, match="weights must have a group for each of 6 kernels, got 2"):
        replace(problem, weights=Groups([0, 1]))
    for labels in ([], [[0, 1]], 3):
        with pytest.raises(ValueError, match="labels must be one for each kernel"):
            Groups(labels)


@every_solver
def test_any_number_of_threads(Solver):
    one, two = (Solver(gap_tol=1e-3, n_threads=threads).solve(widths(200)) for threads in (1, 2))
    assert_array_equal(one.weights, two.weights)
    assert_array_equal(one.history.objective, two.history.objective)
    assert (one.objective, one.bound) == (two.objective, two.bound)


# --- pieces -----------------------------------------------------------------------------------------------


def searched(problem, trials=5, **limits):
    search = Search(problem, NewtonMethod(**limits), None)
    tried = [search.try_weights(d) for d in np.random.default_rng(0).dirichlet(np.full(6, 0.5), size=trials)]
    return search, tried


@pytest.mark.parametrize("gap_tol", [1e-1, 1e-6])
@pytest.mark.parametrize("squared", [False, True])
def test_trials_and_their_averages_are_cuts_below_the_objective(gap_tol, squared):
    problem = widths(squared=squared)
    search, tried = searched(problem, gap_tol=gap_tol)
    shares = np.random.default_rng(1).dirichlet(np.ones(len(tried)))
    search.proof = None
    search.prove([sum(share * trial.points[0] for share, trial in zip(shares, tried, strict=True))])
    for d in np.random.default_rng(2).dirichlet(np.full(6, 0.5), size=20):
        J = machines_at(problem, d)
        for cut in [*tried, search.proof]:
            assert cut.linear - d @ cut.energies <= J * (1 + 1e-6)
    together = search.proof.linear - search.proof.energies.max()
    separate = shares @ [trial.linear for trial in tried] - (shares @ [trial.energies for trial in tried]).max()
    assert together >= separate


def test_machines_are_rough_first_and_sharper_when_asked():
    search, _ = searched(widths(), trials=1, gap_tol=1e-8)
    asked = [search._machines.gap_tol]
    search.best, search.proof = None, None
    assert search.sharpen()
    search.try_weights(Simplex().uniform(6))
    asked.append(search._machines.gap_tol)
    search.certify()
    asked.append(search._machines.gap_tol)
    assert_allclose(asked, [1e-3, 1e-4, 1e-9])
    assert [search.sharpen() for _ in range(3)] == [True, True, False]


def cut_arrays(tried):
    return np.array([trial.linear for trial in tried]), np.array([trial.energies for trial in tried])


def cuts_of(search, tried):
    cuts = Cuts(search)
    cuts._cuts, cuts._idle = list(tried), [0] * len(tried)
    return cuts


def test_lowest_point_of_cuts():
    search, tried = searched(widths(), gap_tol=1e-6)
    linear, energies = cut_arrays(tried)
    lowest = cuts_of(search, tried).lowest()
    value = (linear - energies @ lowest).max()
    others = np.random.default_rng(3).dirichlet(np.full(6, 0.3), size=2000)
    assert value <= (linear - others @ energies.T).max(axis=1).min()
    assert_allclose(search.lower, value, rtol=1e-9)


def test_nearest_point_below_a_level():
    search, tried = searched(widths(), gap_tol=1e-6)
    linear, energies = cut_arrays(tried)
    cuts, near = cuts_of(search, tried), search.best.weights
    lowest = cuts.lowest()
    level = search.lower + 0.3 * (search.upper - search.lower)
    found = cuts.nearest_below(level, near, lowest)
    assert (linear - energies @ found).max() <= level * (1 + 1e-9)
    below = {"type": "ineq", "fun": lambda d: (level - linear + energies @ d) / level}
    whole = {"type": "eq", "fun": lambda d: d.sum() - 1.0}
    slow = minimize(
        lambda d: (d - near) @ (d - near),
        lowest,
        bounds=[(0, 1)] * 6,
        constraints=[below, whole],
        options={"ftol": 1e-14},
    )
    assert_allclose(found, slow.x, atol=1e-5)


def test_points_are_below_a_level_however_roughly_they_are_found(monkeypatch):
    search, tried = searched(widths(), gap_tol=1e-6)
    linear, energies = cut_arrays(tried)
    cuts = cuts_of(search, tried)
    lowest = cuts.lowest()
    level = search.lower + 0.3 * (search.upper - search.lower)
    monkeypatch.setattr("mercer.solvers.kernel_weights.cuts.EXACT", {"maxiter": 1})
    found = cuts.nearest_below(level, search.best.weights, lowest)
    assert (linear - energies @ found).max() <= level * (1 + 1e-9)


def test_programmes_of_cuts_have_one_thread_of_blas(monkeypatch):
    """Its threads would go on spinning on the cores of the machines."""
    search, tried = searched(widths(), gap_tol=1e-6)
    libraries, seen = ThreadpoolController().select(user_api="blas"), []

    def watched(*args, **options):
        seen.append({library["num_threads"] for library in libraries.info()})
        return minimize(*args, **options)

    monkeypatch.setattr("mercer.solvers.kernel_weights.cuts.minimize", watched)
    with libraries.limit(limits=2):
        level_step(search, cuts_of(search, tried))
    assert seen == [{1}]


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_second_derivatives(squared, bias):
    """By differences of the energies, where no variable meets a bound on the way."""
    X, _ = samples()
    y, kernels = np.where(X[:, 0] > 0.9, 1.0, -1.0), [Linear(), RBF(gamma=0.5), RBF(gamma=0.02)]
    problem = over(kernels, X + 1.0, lambda gram: soft_margin(gram, y, np.full(60, 3.0), squared=squared, bias=bias))
    search = Search(problem, NewtonMethod(gap_tol=1e-10), None)
    while search.sharpen():
        pass
    d, step = np.array([0.2, 0.3, 0.5]), 1e-4
    search._exact = True
    search._machines.set_params(tol=1e-11)
    here = search.try_weights(d)
    differences = [
        (search.try_weights(d - step * e).energies - search.try_weights(d + step * e).energies) / (2 * step)
        for e in np.eye(3)
    ]
    H = second_derivatives(problem, here)
    assert_allclose(H, differences, rtol=1e-4)


def test_a_newton_step_promises_what_its_model_says():
    search, tried = searched(widths(squared=True), gap_tol=1e-9)
    at = max(tried, key=lambda trial: trial.upper)
    weights, promised = newton_step(search.problem, at)
    assert promised > 0 and abs(weights.sum() - 1) <= 1e-12
    shorter = at.weights + 1e-3 * (weights - at.weights)
    fallen = at.value - search.try_weights(shorter).value
    assert fallen >= 1e-3 * promised  # a parabola falls by at least its share of all at every part of the way


def test_some_of_the_free_variables_are_enough(monkeypatch):
    """They make the second derivatives too small, never too large, and so the steps too long: trials mend that."""
    problem = widths(squared=True)
    at = searched(problem, trials=1, gap_tol=1e-6)[1][0]
    whole = second_derivatives(problem, at)
    monkeypatch.setattr(newton, "MOST_FREE", 10)
    part = second_derivatives(problem, at)
    assert 0 < np.linalg.eigvalsh(part).max() < np.linalg.eigvalsh(whole).max()
    assert np.linalg.eigvalsh(whole - part).min() >= -1e-9 * np.abs(whole).max()
    assert NewtonMethod(gap_tol=1e-5).solve(problem).status == "solved"


def test_reduced_directions_descend_within_the_simplex():
    d, gradient = np.array([0.5, 0.3, 0.2, 0.0, 0.0]), np.array([-1.0, -3.0, -0.5, -4.0, -0.2])
    direction = reduced_direction(d, gradient)
    assert abs(direction.sum()) <= 1e-15 and gradient @ direction < 0
    assert direction[3] > 0 and direction[4] == 0  # one of zero grows, the other would shrink


# --- in the machines --------------------------------------------------------------------------------------


def test_auto_on_the_simplex():
    assert isinstance(solver_for("auto", Simplex(), joint=False, limits={}), NewtonMethod)


def test_nesterov_brings_its_ridge():
    X, y = samples()
    kernels = [RBF(gamma=0.1), RBF(gamma=2.0)]
    options = {"kernels": kernels, "algorithm": "nesterov", "gap_tol": 1e-6}
    own, same, other = (
        MKLClassifier(**options, **ridge).fit(X, y).weights_result_.objective
        for ridge in ({}, {"ridge": Accelerated.default_ridge}, {"ridge": 0.0})
    )
    assert own == same and abs(own - other) > 1e-5 * other


def test_solvers_are_told_apart_by_their_ridge_alone():
    assert KernelWeightsSolver.default_ridge == NewtonMethod.default_ridge == 0.0 < Accelerated.default_ridge
