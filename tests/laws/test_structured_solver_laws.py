"""What every solver of structured outputs obeys, on every kind of outputs."""

import inspect
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from registry import EXACT_STRUCTURED_SOLVERS, STRUCTURED_SOLVERS
from sklearn.base import clone
from sklearn.datasets import load_iris

from mercer.solvers import structured
from mercer.solvers.structured import NSlack, StructuredSolver
from mercer.structured import Multiclass, StructuredSVM
from mercer.structured.problem import ModelProblem
from mercer.structured.svm import ALGORITHMS

every_solver = pytest.mark.parametrize("make", STRUCTURED_SOLVERS.values(), ids=STRUCTURED_SOLVERS.keys())
every_exact_solver = pytest.mark.parametrize(
    "make", EXACT_STRUCTURED_SOLVERS.values(), ids=EXACT_STRUCTURED_SOLVERS.keys()
)

X, Y = load_iris(return_X_y=True)
X = (X - X.mean(axis=0))[::3]
Y = Y[::3]
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]

# Models, samples, outputs, and how losses are scaled: kinds of outputs to come have their place here.
LESSONS = {
    "classes": lambda: (Multiclass(bias=1.0), X, NAMES, "margin"),
    "classes with costs": lambda: (Multiclass(cost_matrix=[[0, 1, 3], [1, 0, 2], [4, 1, 0]]), X, NAMES, "margin"),
    "classes, slack": lambda: (Multiclass(cost_matrix=[[0, 1, 3], [1, 0, 2], [4, 1, 0]]), X, NAMES, "slack"),
}
every_lesson = pytest.mark.parametrize("lesson", LESSONS.values(), ids=LESSONS.keys())


def posed(lesson, cost=0.3, order=None, pool=None, threads=1):
    """The problem of a lesson, samples in some order, or some of them twice."""
    model, samples, outputs, rescaling = lesson()
    order = np.arange(len(outputs)) if order is None else order
    samples, outputs = ([part[i] for i in order] for part in (samples, outputs))
    model = model.resolve(samples, outputs)
    samples = model.prepare(samples)
    costs = np.broadcast_to(cost, len(order)).astype(float)
    return ModelProblem(model, samples, model.encode(samples, outputs), costs, rescaling, pool, threads)


def solved(make, problem, start=None, callback=None, **limits):
    return make().set_params(**limits).solve(problem, start, callback)


def test_registries_are_complete():
    public = {
        item
        for item in vars(structured).values()
        if isinstance(item, type) and issubclass(item, StructuredSolver) and not inspect.isabstract(item)
    }
    assert public == set(ALGORITHMS.values()) == {type(make()) for make in STRUCTURED_SOLVERS.values()}


@every_lesson
def test_all_exact_learners_agree(lesson):
    """To 1e-3, each by its own proof."""
    problem = posed(lesson)
    results = [solved(make, problem) for make in EXACT_STRUCTURED_SOLVERS.values()]
    for result in results:
        assert result.status == "solved" and 0.0 <= result.relative_gap <= 1e-3
    primal, dual = ([getattr(r, name) for r in results] for name in ("primal_objective", "dual_objective"))
    assert max(dual) <= min(primal) * (1 + 1e-12)
    assert max(primal) - min(primal) <= 1e-3 * max(primal)


@every_lesson
@every_solver
def test_a_result_is_what_it_says(make, lesson):
    problem = posed(lesson)
    told = []
    result = solved(make, problem, callback=told.append, max_iter=20)
    values = problem.planes(result.w, np.arange(problem.n)).values(result.w)
    np.testing.assert_allclose(result.losses, np.maximum(0.0, values), atol=1e-12)
    primal = 0.5 * result.w @ result.w + problem.cost @ result.losses
    assert result.primal_objective == pytest.approx(primal, rel=1e-12)
    assert result.gap == pytest.approx(result.primal_objective - result.dual_objective)
    assert result.violation == pytest.approx(result.gap / problem.cost.sum())
    assert result.n_iter == -(-result.n_calls // problem.n)
    history = result.history
    assert len(history) == len(told) and history.n_calls[-1] <= result.n_calls
    assert (np.diff(history.primal_objective) <= 0).all() and (np.diff(history.dual_objective) >= 0).all()
    assert (np.diff(history.n_calls) > 0).all() and (np.diff(history.seconds) >= 0).all()
    assert history.primal_objective[-1] == result.primal_objective
    assert (history.gap >= 0).all()
    assert str(result).splitlines()[0].split() == ["status", result.status]


@every_lesson
@every_solver
def test_the_hinge_bounds_the_loss_of_every_sample(make, lesson):
    """[CY eq 2.56]; with slack rescaling, too, since the margin of what is predicted is negative."""
    problem = posed(lesson, cost=0.003)
    result = solved(make, problem, max_iter=15)
    predicted = problem.model.predictions(problem.X, result.w)
    losses = problem.model.losses(problem.Y, predicted)
    assert losses.any()
    assert (losses <= result.losses + 1e-9).all()


@every_solver
def test_bounds_are_of_one_optimum(make):
    problem = posed(LESSONS["classes"])
    optimum = NSlack(gap_tol=1e-10).solve(problem)
    for most in (1, 2, 5, 20):
        result = solved(make, problem, max_iter=most)
        assert result.dual_objective <= optimum.primal_objective * (1 + 1e-9)
        assert result.primal_objective >= optimum.dual_objective * (1 - 1e-9)


@every_exact_solver
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_any_start_is_good(make, scale):
    problem = posed(LESSONS["classes"])
    optimum = NSlack(gap_tol=1e-10).solve(problem)
    start = np.random.default_rng(1).normal(scale=scale, size=problem.size)
    result = solved(make, problem, start, gap_tol=1e-5)
    assert result.status == "solved"
    assert result.primal_objective == pytest.approx(optimum.primal_objective, rel=1e-5)


@every_exact_solver
def test_the_optimum_is_a_good_start(make):
    problem = posed(LESSONS["classes"])
    optimum = NSlack(gap_tol=1e-10).solve(problem)
    result = solved(make, problem, optimum.w)
    assert result.primal_objective <= optimum.primal_objective
    assert result.n_iter <= solved(make, problem).n_iter


@every_solver
def test_limits_say_so_and_prove_what_there_is(make):
    problem = posed(LESSONS["classes"], cost=10.0)
    tired = solved(make, problem, max_iter=2, gap_tol=1e-9)
    assert tired.status == "max_iter" and tired.n_iter >= 2
    hurried = solved(make, problem, max_seconds=1e-9, gap_tol=1e-9)
    assert hurried.status == "max_seconds"
    stopped = solved(make, problem, callback=lambda told: told.n_iter >= 2, gap_tol=1e-9)
    assert stopped.status == "stopped"
    for result in (tired, hurried, stopped):
        assert 0.0 <= result.dual_objective < result.primal_objective <= problem.cost.sum()
        assert np.isfinite(result.gap) and result.gap > 0.0


@pytest.mark.parametrize("make", [structured.NSlack, structured.OneSlack], ids=["NSlack", "OneSlack"])
def test_rounding_ends_cutting_planes(make):
    result = solved(make, posed(LESSONS["classes"]), gap_tol=1e-300, max_iter=None)
    assert result.status in ("stalled", "solved")  # solved: the gap is zero
    assert result.relative_gap <= 1e-12


@every_solver
def test_a_sample_twice_is_its_weight_doubled(make):
    once, twice = np.arange(len(Y)), np.sort(np.concatenate([np.arange(len(Y)), np.arange(0, len(Y), 2)]))
    weighted = posed(LESSONS["classes"], cost=0.1 * np.where(once % 2, 1.0, 2.0))
    repeated = posed(LESSONS["classes"], cost=0.1, order=twice)
    a, b = (solved(make, problem, max_iter=60) for problem in (weighted, repeated))
    assert max(a.dual_objective, b.dual_objective) <= min(a.primal_objective, b.primal_objective) * (1 + 1e-12)
    assert abs(a.primal_objective - b.primal_objective) <= max(a.gap, b.gap)


@every_solver
def test_the_order_of_samples_is_within_the_gap(make):
    order = np.random.default_rng(3).permutation(len(Y))
    a, b = (solved(make, posed(LESSONS["classes"], order=some), max_iter=60) for some in (None, order))
    assert max(a.dual_objective, b.dual_objective) <= min(a.primal_objective, b.primal_objective) * (1 + 1e-12)
    assert abs(a.primal_objective - b.primal_objective) <= max(a.gap, b.gap)


@every_lesson
@every_solver
def test_threads_make_no_difference(make, lesson):
    alone = solved(make, posed(lesson), max_iter=10)
    with ThreadPoolExecutor(3) as pool:
        three = solved(make, posed(lesson, pool=pool, threads=3), max_iter=10)
    assert_array_equal(alone.w, three.w)
    assert (alone.primal_objective, alone.dual_objective) == (three.primal_objective, three.dual_objective)


@every_solver
def test_the_same_again(make):
    problem = posed(LESSONS["classes"])
    solver = make().set_params(max_iter=10)
    assert_array_equal(solver.solve(problem).w, clone(solver).solve(problem).w)


@every_exact_solver
def test_one_sample(make):
    """Its class ahead of two others by one: half of 2/3 over the square of the length of x."""
    problem = posed(LESSONS["classes"])
    alone = ModelProblem(problem.model, problem.X[:1], problem.Y[:1], np.array([2.0]))
    result = solved(make, alone, gap_tol=1e-9)
    assert result.status == "solved"
    assert result.primal_objective == pytest.approx(1.0 / 3.0 / np.sum(problem.X[0] ** 2))


@every_solver
@pytest.mark.parametrize("start", [np.zeros(3), np.full(15, np.nan), np.zeros((15, 1))])
def test_starts_that_are_none(make, start):
    with pytest.raises(ValueError, match="start must be 15 finite numbers, one for every feature"):
        solved(make, posed(LESSONS["classes"]), start)


@every_solver
@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"gap_tol": 0.0}, "gap_tol must be a float > 0, got 0.0"),
        ({"max_iter": 0}, "max_iter must be an int >= 1"),
        ({"max_seconds": -1.0}, "max_seconds must be a float > 0"),
    ],
)
def test_limits_that_are_none(make, limits, message):
    with pytest.raises(ValueError, match=message):
        solved(make, posed(LESSONS["classes"]), **limits)


@pytest.mark.skipif(os.name != "posix", reason="signals of a terminal")
@every_solver
def test_control_c(make):
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            while True:
                solved(make, posed(LESSONS["classes"], cost=100.0), gap_tol=1e-12, max_iter=50)
    finally:
        timer.cancel()
        timer.join()


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_every_algorithm_has_a_name(algorithm):
    machine = StructuredSVM(Multiclass(bias=1.0), algorithm=algorithm, gap_tol=0.1, max_iter=None).fit(X, NAMES)
    assert machine.result_.status == "solved" and machine.score(X, NAMES) > 0.8
    again = StructuredSVM(
        Multiclass(bias=1.0), algorithm=ALGORITHMS[algorithm](gap_tol=0.1, max_iter=None), gap_tol=1e-9
    )
    assert_array_equal(again.fit(X, NAMES).coef_, machine.coef_)
    first = machine.result_.history.primal_objective[0]
    machine.set_params(warm_start=True).fit(X, NAMES)
    assert machine.result_.history.primal_objective[0] < first
