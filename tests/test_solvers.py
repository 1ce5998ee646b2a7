"""What every solver promises: certified points, honest limits, the same bits however it was run."""

import pickle
from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from reference.conic import FORMULATIONS, conic_optimum, equalities_of, naive_violation, random_problem
from registry import LINEAR_SOLVERS, SOLVERS
from scipy.sparse import csr_array, random_array
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from mercer import solvers
from mercer.errors import NotSeparableError
from mercer.gram import FunctionGram, MatrixGram, VectorGram, make_gram
from mercer.kernels import RBF, Function, Linear, Polynomial
from mercer.problems import enclosing_ball, epsilon_tube, nu_margin, nu_tube, one_class, soft_margin
from mercer.solvers import SMO, Progress, Solver, combine, warn_unless_solved
from mercer.svm import SVC, SVR, NuSVC

every_solver = pytest.mark.parametrize("make", SOLVERS.values(), ids=SOLVERS.keys())
every_formulation = pytest.mark.parametrize("formulation", FORMULATIONS)


def labelled(n, d=3, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + noise * rng.normal(size=n) > 0, 1.0, -1.0)


def hinge(n=400, C=10.0, **options):
    X, y = labelled(n, **options)
    return soft_margin(make_gram(RBF(gamma=0.5), X), y, np.full(n, C))


# --- the registry -----------------------------------------------------------------------------------------


def test_registry_is_complete():
    public = {getattr(solvers, name) for name in solvers.__all__}
    public = {item for item in public if isinstance(item, type) and issubclass(item, Solver) and item is not Solver}
    registered = SOLVERS | LINEAR_SOLVERS
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


# --- laws -------------------------------------------------------------------------------------------------


def assert_certified(problem, result, optimum):
    """A feasible point, its own violation, and the optimum between bound and objective."""
    assert (result.a >= 0).all() and (result.a <= problem.upper).all()
    for row, value in equalities_of(problem):
        assert abs(row @ result.a - value) <= 1e-10 * max(1.0, result.a.sum())
    assert abs(result.violation - naive_violation(problem, result.a)) <= 1e-9 * max(1.0, result.violation)
    assert result.bound - optimum.accuracy <= optimum.value <= result.objective + optimum.accuracy


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
    """A stationary point, and no bound."""
    K = np.array([[1.0, 0.9, 0.2], [0.9, 1.0, 0.9], [0.2, 0.9, 1.0]])
    assert np.linalg.eigvalsh(K).min() < -0.05
    problem = soft_margin(MatrixGram(K), np.array([1.0, -1.0, 1.0]), np.full(3, 2.0))
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
        assert_same_bits(make().solve(problem, start), result)
    assert make().solve_many([]) == []


# --- not separable ----------------------------------------------------------------------------------------


LINEAR = Linear()


def hard(X, y, kernel=LINEAR, **options):
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    return soft_margin(make_gram(kernel, X), y, np.full(len(y), np.inf), **options)


XOR = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [1, 1, -1, -1]


@every_solver
def test_not_separable(make):
    solver = make()
    for problem in (
        hard(*XOR),
        hard([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0]], [1, -1, 1]),
        hard([[1.0], [1.0]], [1, -1]),
        hard([[1.0], [2.0], [3.0]], [1, -1, 1]),
    ):
        with pytest.raises(NotSeparableError, match="not separable with this kernel"):
            solver.solve(problem)
    assert solver.solve(hard(*XOR, kernel=RBF(gamma=1.0))).status == "solved"


@pytest.mark.parametrize("n", [20, 200, 1000, 3000])
@pytest.mark.parametrize("bias", [True, False])
def test_overlapping_classes_are_not_separable(n, bias):
    with pytest.raises(NotSeparableError):
        SMO(max_iter=1_000_000).solve(hard(*labelled(n, noise=1.0), bias=bias))


@pytest.mark.parametrize("repeats", [1, 20, 1000])
def test_same_sample_with_both_labels_is_not_separable(repeats):
    X = np.random.default_rng(0).normal(size=(4, 5))
    X = np.concatenate([X, X[:1], np.tile(X[1:2], (repeats, 1))])
    y = np.array([1, 1, -1, -1, -1] + [1] * repeats)
    for kernel in (Linear(), RBF(gamma=1.0)):
        with pytest.raises(NotSeparableError):
            SMO(max_iter=1_000_000).solve(hard(X, y, kernel))


def test_not_separable_without_bias():
    """-1 and +1 to the right of the origin: a plane separates them, but none through the origin."""
    X, y = [[1.0], [2.0]], [-1, 1]
    assert SMO().solve(hard(X, y)).status == "solved"
    with pytest.raises(NotSeparableError):
        SMO(max_iter=1_000_000).solve(hard(X, y, bias=False))
    result = SMO().solve(hard([[-1.0], [2.0]], y, bias=False))
    assert result.status == "solved" and result.objective == pytest.approx(-0.5)


@pytest.mark.parametrize(("margin", "bias"), [(0.1, False), (0.01, False), (0.1, True), (1e-2, True), (1e-4, True)])
@pytest.mark.parametrize("n", [10, 200, 1000, 2500])
def test_a_tiny_margin_is_a_margin(margin, bias, n):
    """The gap between the classes, in the largest norm, is tiny but there; the margin found is as large at least."""
    X, y = labelled(n, d=2, noise=0.0)
    X *= np.minimum(1.0, 1.0 / np.linalg.norm(X, axis=1, keepdims=True))
    X[:, 0] += margin * y
    problem = hard(X, y, bias=bias)
    result = SMO(gap_tol=1e-3).solve(problem)
    assert result.status == "solved" and result.relative_gap <= 1e-3
    assert 1 / np.sqrt(problem.squared_norm(result.a, result.gradient)) >= 0.99 * margin


def test_a_tiny_margin_from_far_away():
    X, y = labelled(100, d=2, noise=0.0)
    X[:, 0] += 0.1 * y
    result = SMO().solve(hard(X + 100.0, y))
    assert result.status == "solved"
    assert result.objective == pytest.approx(SMO().solve(hard(X, y)).objective, rel=1e-3)


def test_not_separable_beside_others():
    """One problem without a solution ends the call; a soft one beside a hard one is what it is alone."""
    X, y = labelled(60, noise=0.0)
    X[:, 0] += 0.3 * y
    gram, other = make_gram(Linear(), X), labelled(60, noise=1.0, seed=3)[1]
    good, soft = soft_margin(gram, y, np.full(60, np.inf)), soft_margin(gram, other, np.full(60, 1e4))
    for result, problem in zip(SMO().solve_many([good, soft]), [good, soft], strict=True):
        assert_same_bits(result, SMO().solve(problem))
    with pytest.raises(NotSeparableError):
        SMO(max_iter=1_000_000).solve_many([good, soft_margin(gram, other, np.full(60, np.inf))])


def test_estimator_says_not_separable():
    with pytest.raises(NotSeparableError, match="Choose a finite C or a richer kernel"):
        SVC(kernel="linear", C=np.inf).fit(*XOR)


def test_hard_margin_counts_all_its_work():
    """What was done before a margin was in doubt, and to settle the doubt, is part of the run."""
    X, y = labelled(1000, d=2, noise=0.0)
    X[:, 0] += 1e-3 * y
    result = SMO().solve(hard(X, y))
    assert result.n_iter > 10
    assert result.history.iteration[0] == 0 and result.history.iteration[-1] == result.n_iter
    assert result.history.objective[0] == 0.0


# --- limits -----------------------------------------------------------------------------------------------


def test_max_seconds():
    result = SMO(max_seconds=1e-9).solve(hinge())
    assert result.status == "max_seconds" and result.n_iter == 0
    assert SMO(max_seconds=600.0).solve(hinge()).status == "solved"


@pytest.mark.parametrize("n", [400, 700])
@pytest.mark.parametrize("gap_tol", [1e-2, 1e-5, 1e-9])
def test_gap_tol(n, gap_tol):
    problem = hinge(n, C=100.0)
    result = SMO(tol=0.1, gap_tol=gap_tol).solve(problem)
    assert result.status == "solved" and result.relative_gap <= gap_tol and result.violation <= 0.1
    assert result.history.iteration[-1] == result.n_iter and (np.diff(result.history.iteration) >= 0).all()
    # up to rounding: the gap may be as small as that
    assert SMO(tol=1e-6).solve(problem).objective >= result.bound - 1e-13 * abs(result.bound)


def test_gap_tol_that_cannot_be_reached_is_not_solved():
    result = SMO(gap_tol=1e-17).solve(hinge(700, C=100.0))
    assert result.status == "stalled" and result.relative_gap > 1e-17


def test_limits_are_for_the_whole_run():
    problem = hinge(700, C=100.0)
    steps = SMO().solve(problem).n_iter
    result = SMO(gap_tol=1e-9, max_iter=steps + 50).solve(problem)
    assert result.status == "max_iter" and result.n_iter <= steps + 50


@pytest.mark.parametrize(
    ("options", "status", "advice"),
    [
        ({"max_iter": 3}, "max_iter", "Raise max_iter"),
        ({"max_seconds": 1e-9}, "max_seconds", "Raise max_seconds"),
        ({"callback": lambda progress: True}, "stopped", "The callback stopped it"),
    ],
)
def test_a_limit_becomes_a_warning(options, status, advice):
    X, y = labelled(100)
    for machine in (SVC(**options), SVR(**options), NuSVC(nu=0.3, **options)):
        name = type(machine).__name__
        with pytest.warns(ConvergenceWarning, match=rf"{name} .*status {status}.*duality gap .*{advice}") as caught:
            machine.fit(X, y)
        assert len(caught) == 1 and caught[0].filename == __file__
        assert machine.result_.status == status


def test_warn_unless_solved_is_silent_where_it_should():
    warn_unless_solved(SMO().solve(hinge(50)), "nobody")


def test_combine():
    problems, starts = several_problems(VectorGram(RBF(gamma=0.5), labelled(90)[0]))
    results = SMO().solve_many(problems, starts)
    whole = combine(results)
    assert whole.objective == pytest.approx(sum(r.objective for r in results))
    assert whole.gap == pytest.approx(sum(r.gap for r in results))
    assert whole.violation == max(r.violation for r in results)
    assert whole.n_iter == sum(r.n_iter for r in results) and whole.parts == tuple(results)
    assert combine(results[:1]) is results[0]
    limited = SMO(max_iter=1).solve(problems[0])
    assert combine([results[0], limited]).status == "max_iter"


# --- the same bits ----------------------------------------------------------------------------------------

RUN_DEPENDENT = {"seconds", "kernel_evaluations"}


def assert_same_bits(first, second):
    """Everything but the time, and the number of kernel values, which a cache may spare."""
    for field in fields(first):
        one, other = getattr(first, field.name), getattr(second, field.name)
        if field.name == "history":
            for column in ("iteration", "objective", "gap", "violation"):
                assert_array_equal(getattr(one, column), getattr(other, column))
        elif field.name not in RUN_DEPENDENT:
            assert_array_equal(one, other, err_msg=field.name)


def test_assert_same_bits_can_fail():
    result = SMO().solve(hinge(50))
    assert_same_bits(result, replace(result, seconds=0.0))
    for wrong in (
        {"objective": np.nextafter(result.objective, 0)},
        {"a": np.nextafter(result.a, 1)},
        {"n_iter": result.n_iter + 1},
        {"status": "stalled"},
        {"history": replace(result.history, gap=result.history.gap + 1)},
    ):
        with pytest.raises(AssertionError):
            assert_same_bits(result, replace(result, **wrong))


def python_gaussian(A, B):
    return np.exp(-0.5 * np.sum((A[:, np.newaxis] - B) ** 2, axis=2))


def several_problems(gram, seed=0):
    """Problems of many kinds over one Gram matrix, on parts of its samples, and starts for some of them."""
    rng = np.random.default_rng(seed)
    n = gram.n
    labels, values = np.where(rng.random(n) < 0.5, 1.0, -1.0), rng.normal(size=n)
    parts = [rng.permutation(n)[: n // 2], np.arange(n), np.arange(5)]
    problems = []
    for index in parts:
        ones = np.ones(len(index))
        problems += [
            soft_margin(gram, labels[index], 3.0 * ones, index=index),
            soft_margin(gram, labels[index], ones, squared=True, bias=False, index=index),
            nu_margin(gram, np.where(np.arange(len(index)) % 2, 1.0, -1.0), 0.6, ones, index=index),
            epsilon_tube(gram, values[index], ones, 0.1, index=index),
            nu_tube(gram, values[index], ones, 0.5, index=index),
            one_class(gram, 0.4, ones, index=index),
            enclosing_ball(gram, 0.4, ones, index=index),
        ]
    starts = [None if k % 2 else rng.uniform(0, 1, size=len(p.index)) for k, p in enumerate(problems)]
    return problems, starts


@pytest.mark.parametrize("kind", ["matrix", "matrix float32", "vectors", "function"])
def test_solve_many_over_every_gram(kind):
    X, _ = labelled(560)  # the whole is solved from float32 rows, its parts from float64
    gram = {
        "matrix": lambda: MatrixGram(RBF(gamma=0.5)(X), definite=True),
        "matrix float32": lambda: MatrixGram(RBF(gamma=0.5)(X).astype(np.float32), definite=True),
        "vectors": lambda: make_gram(RBF(gamma=0.5), X),
        "function": lambda: make_gram(Function(python_gaussian), X, memory=1),
    }[kind]()
    assert type(gram) is {"vectors": VectorGram, "function": FunctionGram}.get(kind, MatrixGram)
    problems, starts = several_problems(gram)
    solver = SMO(memory=4, n_threads=1)
    alone = [solver.solve(problem, start) for problem, start in zip(problems, starts, strict=True)]
    for n_threads in (1, 3):
        together = SMO(memory=4, n_threads=n_threads).solve_many(problems, starts)
        for one, other in zip(alone, together, strict=True):
            assert_same_bits(one, other)
    callback = SMO(memory=4).solve_many(problems[:3], starts[:3], lambda progress: False)
    for one, other in zip(alone, callback, strict=False):
        assert_same_bits(one, other)


def test_solve_many_refuses_different_grams():
    first, second = random_problem("hinge", 1), random_problem("hinge", 1)
    for problems in ([first, second], [second, first, first]):
        with pytest.raises(ValueError, match="problems over one and the same Gram matrix"):
            SMO().solve_many(problems)
    with pytest.raises(ValueError):
        SMO().solve_many([first, first], [None])


def samples_of(kind, n):
    rng = np.random.default_rng(4)
    if kind == "sparse":
        return random_array((n, 300), density=0.3, format="csr", rng=rng, data_sampler=rng.standard_normal)
    X = rng.normal(size=(n, 100 if "wide" in kind else 5))
    return X.astype(np.float32) if "float32" in kind else X


RUNS = [(2, "auto"), (3, 50), (1, 0.5), (2, 0.5), (3, "auto")]


@pytest.mark.parametrize("kind", ["narrow", "narrow float32", "wide", "sparse"])
@pytest.mark.parametrize("precision", ["auto", "float64"])
def test_threads_and_memory_change_no_bit(kind, precision):
    """3000 points: blocks, shrinking, and, above 64 features or entries, cached rows where the budget has room."""
    n = 3000
    X = samples_of(kind, n)
    rng = np.random.default_rng(5)
    gamma = 0.1 if kind.startswith("narrow") else 0.01 if kind == "wide" else 0.05
    first = X[:, [0]].toarray()[:, 0] if kind == "sparse" else X[:, 0]
    y = np.where(first + rng.normal(size=n) > 0, 1.0, -1.0)
    problem = soft_margin(make_gram(RBF(gamma=gamma), X), y, np.full(n, 10.0))
    options = {"precision": precision, "tol": 1e-2}
    expected = SMO(n_threads=1, memory="auto", **options).solve(problem)
    assert expected.status == "solved" and expected.n_iter > 1000
    for n_threads, memory in RUNS if precision == "auto" else RUNS[1:3]:
        result = SMO(n_threads=n_threads, memory=memory, **options).solve(problem)
        assert_same_bits(expected, result)
        if memory == 0.5:  # no room for a cache, which the others have used
            cached = not kind.startswith("narrow")
            assert (result.kernel_evaluations > expected.kernel_evaluations) == cached


@pytest.mark.parametrize("formulation", ["tube", "bias-free", "nu"])
def test_threads_and_memory_change_no_bit_of_other_forms(formulation):
    n = 2500
    X = samples_of("wide", n)
    y = X[:, 0] + 0.3 * np.random.default_rng(6).normal(size=n)
    gram, ones = make_gram(RBF(gamma=0.01), X), np.ones(n)
    problem = {
        "tube": lambda: epsilon_tube(gram, y, ones, 0.2),
        "bias-free": lambda: soft_margin(gram, np.sign(y), 10 * ones, bias=False),
        "nu": lambda: nu_margin(gram, np.sign(y), 0.4, ones),
    }[formulation]()
    expected = SMO(n_threads=1).solve(problem)
    for n_threads, memory in RUNS[:3]:
        assert_same_bits(expected, SMO(n_threads=n_threads, memory=memory).solve(problem))


@pytest.mark.parametrize("degree", [2, 3, 4, 5])
def test_memory_changes_no_bit_of_a_power(degree):
    """Powers are made in several ways; a stored row and one that is made again are the same in all of them."""
    n = 2100
    X = samples_of("wide", n)
    y = np.where(X[:, 0] + np.random.default_rng(5).normal(size=n) > 0, 1.0, -1.0)
    problem = soft_margin(make_gram(Polynomial(degree=degree, gamma=0.01, coef0=1.0), X), y, np.ones(n))
    runs = [SMO(n_threads=1, memory=memory, tol=1e-2).solve(problem) for memory in ("auto", 0.5)]
    assert runs[0].kernel_evaluations < runs[1].kernel_evaluations
    assert_same_bits(*runs)


def test_memory_changes_no_bit_of_a_python_kernel():
    X, y = labelled(2100)
    problems = [
        soft_margin(FunctionGram(Function(python_gaussian), X), y, np.full(len(y), 1.0)),
        soft_margin(MatrixGram(python_gaussian(X, X)), y, np.full(len(y), 1.0)),
    ]
    expected = SMO(memory=200, n_threads=1).solve(problems[0])
    assert_same_bits(expected, SMO(memory=1, n_threads=2).solve(problems[0]))
    assert_same_bits(expected, SMO(memory=50, n_threads=3).solve(problems[1]))


def test_exception_in_a_kernel_comes_through():
    calls = []

    def kernel(A, B):
        calls.append(len(A))
        if len(calls) > 3:
            raise ArithmeticError("no more")
        return python_gaussian(A, B)

    X, y = labelled(600)
    with pytest.raises(ArithmeticError, match="no more"):
        SMO(memory=1).solve(soft_margin(FunctionGram(Function(kernel), X), y, np.ones(600)))


def test_shrinking_changes_the_work_not_the_optimum():
    problem = hinge(3000, C=100.0, noise=0.3)
    runs = [SMO(tol=1e-4, shrinking=shrinking).solve(problem) for shrinking in (True, False)]
    assert runs[0].kernel_evaluations < runs[1].kernel_evaluations
    for run in runs:
        assert run.status == "solved" and run.violation <= 1e-4
        gradient = problem.gradient(run.a)
        assert problem.violation(run.a, gradient) == pytest.approx(run.violation, abs=1e-9)
    assert abs(runs[0].objective - runs[1].objective) <= max(run.gap for run in runs)


def test_history_of_a_long_run():
    """Single precision rows: W may lose as much as their rounding where the exact gradient takes over."""
    problem = hinge(3000, C=100.0, noise=0.3)
    result = SMO(tol=1e-4).solve(problem)
    history = result.history
    assert result.precision == "float32" and 10 <= len(history) <= 300
    assert (np.diff(history.iteration) >= 0).all() and history.iteration[-1] == result.n_iter
    assert history.objective[-1] == pytest.approx(result.dual_objective, rel=1e-12)
    assert (np.diff(history.objective) >= -1e-6 * history.objective[-1]).all()
    assert history.gap[-1] == result.gap < history.gap[1]


def test_single_precision_is_left_where_it_is_too_coarse():
    """Distances that float32 cannot see beside the norms: the rows are float64 from the start."""
    X, y = labelled(700)
    far = soft_margin(make_gram(Linear(), X + 1e3), y, np.full(700, 1.0))
    result = SMO().solve(far)
    assert result.precision == "float64" and result.status == "solved"
    assert result.objective == pytest.approx(
        SMO().solve(soft_margin(make_gram(Linear(), X), y, np.ones(700))).objective, rel=1e-4
    )


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("shift", [10.0, 30.0])
@pytest.mark.parametrize("kind", ["classes", "values"])
def test_rounding_of_the_rows_does_not_add_up(degree, shift, kind):
    """Large kernel values, far from the origin: cut short, a run is better than its start, W = 0, and as told."""
    X, y = labelled(600, d=5)
    kernel = Polynomial(degree=degree, gamma="scale", coef0=1.0).resolve(X + shift)
    gram, cost = make_gram(kernel, X + shift), np.full(600, 150.0)
    problem = soft_margin(gram, y, cost) if kind == "classes" else epsilon_tube(gram, np.sin(2 * X[:, 0]), cost, 0.1)
    result = SMO(max_iter=100_000).solve(problem)
    assert result.dual_objective > 0
    assert result.dual_objective >= 0.9 * result.history.objective.max()


def test_an_unreachable_gap_of_a_nu_margin_is_not_a_missing_margin():
    """Classes well apart, and a gap that rounding forbids: the solver has stalled, the margin is there."""
    X, y = labelled(300, noise=0.0)
    X[:, 0] += y
    problem = nu_margin(make_gram(RBF(gamma=0.5), X), y, 0.3, np.ones(300))
    assert SMO().solve(problem).status == "solved"
    assert SMO(gap_tol=1e-18).solve(problem).status == "stalled"


def test_vectors_far_from_the_origin_are_centred():
    """float32 rows see differences: far away they are as good as at home, and give way to float64 no sooner."""
    X, y = labelled(700)
    near, far = (
        SMO().solve(soft_margin(make_gram(RBF(gamma=0.5), X + shift), y, np.ones(700))) for shift in (0.0, 1e4)
    )
    assert near.precision == far.precision == "float32"
    assert far.kernel_evaluations <= 1.1 * near.kernel_evaluations


# --- large prices and wide kernels: Newton steps ----------------------------------------------------------


def classes(n):
    """Standardised samples with some labels that are wrong; in a wide kernel they are all alike."""
    X, y = make_classification(n_samples=n, n_features=20, flip_y=0.05, random_state=0)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.where(y > 0, 1.0, -1.0)


WIDE = RBF(gamma=1 / 160)


def wide(form, n, C, gram=None):
    X, y = classes(n)
    values = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * np.random.default_rng(0).normal(size=n)
    gram, ones = make_gram(WIDE, X) if gram is None else gram, np.ones(n)
    return {
        "hinge": lambda: soft_margin(gram, y, C * ones),
        "hinge, no bias": lambda: soft_margin(gram, y, C * ones, bias=False),
        "squared hinge": lambda: soft_margin(gram, y, C * ones, squared=True),
        "tube": lambda: epsilon_tube(gram, values, C * ones, 0.1),
        "squared tube": lambda: epsilon_tube(gram, values, C * ones, 0.1, squared=True),
        "nu margin": lambda: nu_margin(gram, y, 0.2, ones),
        "nu tube": lambda: nu_tube(gram, values, C * ones, 0.3),
    }[form]()


WIDE_FORMS = ["hinge", "hinge, no bias", "squared hinge", "tube", "squared tube", "nu margin", "nu tube"]


def assert_as_told(problem, result):
    """The numbers of the certificate, for the point that was returned, from scratch."""
    a, gradient = result.a, problem.gradient(result.a)
    assert (a >= 0).all() and (a <= problem.upper).all()
    for row, value in equalities_of(problem):
        assert abs(row @ a - value) <= 1e-10 * max(1.0, a.sum())
    assert result.violation == pytest.approx(problem.violation(a, gradient), abs=1e-6)
    assert result.objective == pytest.approx(problem.objective(a, gradient), rel=1e-9)


def test_assert_as_told_can_fail():
    problem = wide("hinge", 50, 1e4)
    result = SMO().solve(problem)
    assert_as_told(problem, result)
    for wrong in (
        {"a": result.a + 1e-3},
        {"a": 2 * result.a},
        {"violation": result.violation + 1e-5},
        {"objective": result.objective * (1 + 1e-8)},
    ):
        with pytest.raises(AssertionError):
            assert_as_told(problem, replace(result, **wrong))


@pytest.mark.parametrize("form", WIDE_FORMS)
@pytest.mark.parametrize("C", [1e4, 1e5])
def test_large_prices(form, C):
    problem = wide(form, 600, C)
    result = SMO().solve(problem)
    assert result.status == "solved" and result.violation <= 1e-3
    assert_as_told(problem, result)


@pytest.mark.parametrize("form", [form for form in WIDE_FORMS if "nu" not in form])
def test_large_prices_against_the_conic_solver(form):
    """Without those of two equalities, which are too much for it here."""
    problem = wide(form, 200, 1e4)
    result, optimum = SMO().solve(problem), conic_optimum(problem)
    assert result.status == "solved"
    assert_certified(problem, result, optimum)
    assert result.objective == pytest.approx(optimum.value, rel=1e-8)


@pytest.mark.parametrize("form", ["hinge", "squared hinge", "tube", "nu margin"])
def test_large_prices_over_every_gram(form):
    """Where rows come from changes what Newton's matrix is made of, not what it leads to."""
    X, _ = classes(600)
    grams = [make_gram(WIDE, X), make_gram(WIDE, csr_array(X)), MatrixGram(WIDE(X), definite=True)]
    objectives = []
    for gram in grams:
        problem = wide(form, 600, 1e4, gram)
        result = SMO(tol=1e-6).solve(problem)
        assert result.status == "solved" and result.violation <= 1e-6
        assert_as_told(problem, result)
        objectives.append(result.objective)
    assert objectives == pytest.approx([objectives[0]] * len(grams), rel=1e-7)


@pytest.mark.parametrize("form", ["hinge", "hinge, no bias", "squared tube", "tube"])
def test_limits_hold_among_newton_steps(form):
    """The last steps of these runs are Newton's: wherever a limit falls among them, each further one leads down.

    The very last one polishes, from a point that may do already.
    """
    problem, before = wide(form, 200, 1e4), np.inf
    steps = SMO().solve(problem).n_iter
    for max_iter in range(steps - 9, steps - 1):
        result = SMO(max_iter=max_iter).solve(problem)
        assert result.n_iter == max_iter and result.status == "max_iter"
        assert_as_told(problem, result)
        assert result.objective <= before + 1e-9 * abs(result.objective)
        before = result.objective


@pytest.mark.parametrize(
    "model",
    [
        SVC(kernel=WIDE, C=1e5),
        SVC(kernel=WIDE, C=1e4, loss="squared_hinge"),
        NuSVC(kernel=WIDE, nu=0.2),
        SVR(kernel=WIDE, C=1e4),
    ],
    ids=["SVC", "SVC squared", "NuSVC", "SVR"],
)
def test_estimators_at_large_prices(model):
    """No warning, and the same function from vectors, sparse vectors and a precomputed kernel."""
    X, y = classes(600)
    y = X[:, 0] * X[:, 1] if isinstance(model, SVR) else y
    model = clone(model).set_params(tol=1e-6)
    value = SVR.predict if isinstance(model, SVR) else type(model).decision_function
    expected = value(model.fit(X, y), X)
    assert model.result_.status == "solved" and model.result_.violation <= 1e-6
    np.testing.assert_allclose(value(clone(model).fit(csr_array(X), y), csr_array(X)), expected, rtol=1e-4, atol=1e-4)
    K = WIDE(X)
    precomputed = clone(model).set_params(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(value(precomputed, K), expected, rtol=1e-4, atol=1e-4)
