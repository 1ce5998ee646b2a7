"""Runs of the solver: honest limits, the same bits however it was run, and exact gradients."""

from dataclasses import replace

import numpy as np
import pytest
from reference.conic import random_problem
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from solving import assert_same_bits, hinge, labelled, python_gaussian, several_problems

from mercer.gram import FunctionGram, MatrixGram, VectorGram, make_gram
from mercer.kernels import RBF, FromFunction, Linear, Polynomial
from mercer.problems import epsilon_tube, nu_margin, soft_margin
from mercer.solvers import SMO, combine, warn_unless_solved
from mercer.svm import SVC, SVR, NuSVC

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


@pytest.mark.parametrize("kind", ["matrix", "matrix float32", "vectors", "function"])
def test_solve_many_over_every_gram(kind):
    X, _ = labelled(560)  # the whole is solved from float32 rows, its parts from float64
    gram = {
        "matrix": lambda: MatrixGram(RBF(gamma=0.5)(X), definite=True),
        "matrix float32": lambda: MatrixGram(RBF(gamma=0.5)(X).astype(np.float32), definite=True),
        "vectors": lambda: make_gram(RBF(gamma=0.5), X),
        "function": lambda: make_gram(FromFunction(python_gaussian), X, memory=1),
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
        return csr_array(rng.normal(size=(n, 300)) * (rng.random((n, 300)) < 0.3))
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
        soft_margin(FunctionGram(FromFunction(python_gaussian), X), y, np.full(len(y), 1.0)),
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
        SMO(memory=1).solve(soft_margin(FunctionGram(FromFunction(kernel), X), y, np.ones(600)))


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
