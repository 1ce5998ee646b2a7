"""What every solver promises: certified points, honest limits, the same optimum from any start."""

import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from reference.conic import conic_optimum, random_problem
from registry import (
    DEFINITE_SOLVERS,
    JOINT_SOLVERS,
    LINEAR_JOINT_SOLVERS,
    LINEAR_SOLVERS,
    LOGISTIC_SOLVERS,
    LP_SOLVERS,
    REGULARIZED_SOLVERS,
    ROUGH_SOLVERS,
    SHARING_SOLVERS,
    SOLVERS,
    SPARSE_BAYES_SOLVERS,
    SPARSE_SOLVERS,
)
from sklearn.base import clone
from solving import (
    assert_certified,
    assert_same_bits,
    every_formulation,
    every_solver,
    labelled,
    several_problems,
)

from mercer import solvers
from mercer.errors import IndefiniteError
from mercer.gram import MatrixGram, VectorGram
from mercer.kernels import RBF
from mercer.problems import soft_margin
from mercer.solvers import SMO, Progress, Solver


def test_registry_is_complete():
    public = {getattr(solvers, name) for name in solvers.__all__}
    public = {item for item in public if isinstance(item, type) and hasattr(item, "solve") and item is not Solver}
    registered = SOLVERS | LINEAR_SOLVERS | ROUGH_SOLVERS | JOINT_SOLVERS | LINEAR_JOINT_SOLVERS | SPARSE_SOLVERS
    registered |= LP_SOLVERS | LOGISTIC_SOLVERS | REGULARIZED_SOLVERS | SPARSE_BAYES_SOLVERS
    assert {type(make()) for make in registered.values()} == public
    assert all(name.split()[0] == type(make()).__name__ for name, make in registered.items())


@every_solver
def test_solver_is_a_value(make):
    solver = make()
    assert isinstance(solver, Solver)
    for copy in (clone(solver), pickle.loads(pickle.dumps(solver))):
        assert copy.get_params() == solver.get_params()
    problem = random_problem("hinge", 1)
    before = solver.get_params()
    assert_same_bits(solver.solve(problem), clone(solver).solve(problem))
    assert solver.get_params() == before


def test_assert_certified_can_fail():
    problem = random_problem("hinge", 1)
    result, optimum = SMO(tol=1e-6).solve(problem), conic_optimum(problem)
    assert_certified(problem, result, optimum)
    for wrong in (
        {"a": result.a + 1e-3},
        {"a": np.where(np.arange(len(result.a)) == result.a.argmax(), 0.0, result.a)},
        {"violation": result.violation + 1e-3},
        {"bound": result.bound + 1e-3},
        {"objective": result.objective - 1e-3},
    ):
        with pytest.raises(AssertionError):
            assert_certified(problem, replace(result, **wrong), optimum)


@every_solver
@every_formulation
def test_solves(make, formulation):
    problem = random_problem(formulation, 5)
    result = make().set_params(tol=1e-4).solve(problem)
    assert result.status == "solved" and result.violation <= 1e-4
    assert_certified(problem, result, conic_optimum(problem))


@every_solver
@every_formulation
def test_warm_start(make, formulation):
    """From the optimum, from a point near it, and from one that is not feasible: the same optimum."""
    problem = random_problem(formulation, 8)
    solver = make().set_params(tol=1e-5)
    cold, optimum = solver.solve(problem), conic_optimum(problem)
    size = np.minimum(problem.upper, 1 + cold.a.max())
    rng = np.random.default_rng(0)
    for start in (cold.a, 0.9 * cold.a, rng.uniform(-1, 2, size=len(cold.a)) * size):
        given = start.copy()
        warm = solver.solve(problem, start)
        assert_array_equal(start, given)
        assert warm.status == "solved"
        assert_certified(problem, warm, optimum)
    assert solver.solve(problem, cold.a).n_iter <= max(1, cold.n_iter // 2)


@every_solver
def test_start_of_a_wrong_shape_is_refused(make):
    problem = random_problem("hinge", 1)
    n = len(problem.index)
    for shape in [(n + 1,), (n - 1,), (1,), (n, 1), ()]:
        with pytest.raises(ValueError, match=f"start has shape .*, the problem has {n} variables"):
            make().solve(problem, np.zeros(shape))


@every_solver
@pytest.mark.parametrize("max_iter", [1, 7])
def test_max_iter(make, max_iter):
    problem = random_problem("hinge", 1)
    max_iter = min(max_iter, make().set_params(tol=1e-6).solve(problem).n_iter - 1)  # some take few large steps
    assert max_iter > 0
    result = make().set_params(max_iter=max_iter, tol=1e-6).solve(problem)
    assert result.status == "max_iter" and result.n_iter == max_iter and result.violation > 1e-6
    assert_certified(problem, result, conic_optimum(problem))


@every_solver
@pytest.mark.parametrize("formulation", ["hinge", "hinge, no bias", "squared hinge", "hard margin"])
@pytest.mark.parametrize("seed", range(3))
def test_a_limit_is_reported_only_where_it_was_in_the_way(make, formulation, seed):
    problem = random_problem(formulation, seed)
    solver = make().set_params(tol=1e-3)
    steps = solver.solve(problem).n_iter
    for max_iter in {1, 2, 5, steps // 2, steps - 1, steps, steps + 1} - {0, -1}:
        result = solver.set_params(max_iter=max_iter).solve(problem)
        assert result.n_iter <= max_iter
        assert result.status == ("solved" if result.violation <= 1e-3 else "max_iter")


@every_solver
def test_callback(make):
    problem, told = random_problem("hinge", 1), []

    def stop(progress):
        told.append(progress)
        return progress.n_iter >= 5

    result = make().set_params(tol=1e-12).solve(problem, callback=stop)
    assert result.status == "stopped" and result.n_iter == told[-1].n_iter
    assert all(isinstance(progress, Progress) for progress in told)
    assert_certified(problem, result, conic_optimum(problem))
    told.clear()
    result = make().solve(problem, callback=told.append)  # returns None: goes on
    assert result.status == "solved" and told
    for before, after in pairwise(told):
        assert before.n_iter <= after.n_iter and before.seconds <= after.seconds
        assert after.objective <= before.objective + 1e-12 * abs(before.objective)


@every_solver
def test_exception_in_a_callback_comes_through(make):
    def fail(progress):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        make().solve(random_problem("hinge", 1), callback=fail)


@every_solver
@every_formulation
def test_history(make, formulation):
    problem = random_problem(formulation, 2)
    result = make().set_params(tol=1e-6).solve(problem)
    history = result.history
    assert len(history) == len(history.objective) == len(history.gap) == len(history.violation) >= 1
    assert history.iteration[0] == 0 and history.iteration[-1] == result.n_iter
    assert (np.diff(history.iteration) >= 0).all()
    assert history.objective[-1] == pytest.approx(result.dual_objective, rel=1e-12, abs=1e-12)
    assert history.violation[-1] == pytest.approx(result.violation, rel=1e-12, abs=1e-12)
    assert history.gap[-1] == result.gap
    assert (np.diff(history.objective) >= -1e-12 * max(1.0, np.abs(history.objective).max())).all()


@every_solver
@pytest.mark.parametrize(
    ("parameter", "value"), [("tol", 0.0), ("tol", -1.0), ("tol", np.nan), ("tol", "small"), ("max_iter", 0)]
)
def test_wrong_parameters_are_refused(make, parameter, value):
    problem = random_problem("hinge", 1)
    solver = make().set_params(**{parameter: value})
    for call in (solver.check, solver.solve, lambda problem: solver.solve_many([problem])):
        with pytest.raises(ValueError, match=f"{parameter} must be"):
            call(problem)


@every_solver
def test_indefinite(make):
    """A stationary point, and no bound; or refused by name."""
    K = np.array([[1.0, 0.9, 0.2], [0.9, 1.0, 0.9], [0.2, 0.9, 1.0]])
    assert np.linalg.eigvalsh(K).min() < -0.05
    problem = soft_margin(MatrixGram(K), np.array([1.0, -1.0, 1.0]), np.full(3, 2.0))
    if isinstance(make(), DEFINITE_SOLVERS):
        with pytest.raises(IndefiniteError, match="positive semi-definite"):
            make().check(problem)
        return
    result = make().solve(problem)
    assert result.status == "indefinite"
    assert result.bound == -np.inf and result.gap == np.inf and result.violation <= 1e-3
    limited = make().set_params(max_iter=1, tol=1e-9).solve(problem)
    assert limited.bound == -np.inf


@every_solver
def test_solve_many_is_solve_one_by_one(make):
    problems, starts = several_problems(VectorGram(RBF(gamma=0.5), labelled(90)[0]))
    together = make().solve_many(problems, starts)
    for problem, start, result in zip(problems, starts, together, strict=True):
        alone = make().solve(problem, start)
        if isinstance(make(), SHARING_SOLVERS):
            assert abs(alone.objective - result.objective) <= alone.gap + result.gap + 1e-9 * abs(alone.objective)
        else:
            assert_same_bits(alone, result)
    assert make().solve_many([]) == []
