"""Problems along a path: each begins where the one before has ended."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from mercer.gram import MatrixGram, make_gram
from mercer.kernels import RBF
from mercer.problems import DualProblems, epsilon_tube, nu_margin, one_class, soft_margin
from mercer.solvers import SMO

PRICES = 4.0 ** np.arange(-3, 5)
NUS = np.linspace(0.7, 0.1, 6)


def samples(n, seed=0):
    X, y = make_classification(n, 6, n_informative=4, flip_y=0.1, random_state=seed)
    return X, np.where(y == 1, 1.0, -1.0)


def tube_of(gram, y, index, price):
    return epsilon_tube(gram, y[index], np.full(len(index), price), 0.3, index=index)


PATHS = {
    "hinge": lambda gram, y, index: [soft_margin(gram, y[index], np.full(len(index), C), index=index) for C in PRICES],
    "squared hinge": lambda gram, y, index: [
        soft_margin(gram, y[index], np.full(len(index), C), squared=True, index=index) for C in PRICES
    ],
    "no offset": lambda gram, y, index: [
        soft_margin(gram, y[index], np.full(len(index), C), bias=False, index=index) for C in PRICES
    ],
    "falling prices": lambda gram, y, index: [
        soft_margin(gram, y[index], np.full(len(index), C), index=index) for C in PRICES[::-1]
    ],
    "uneven prices": lambda gram, y, index: [
        soft_margin(gram, y[index], C * (1.0 + index % 3), index=index) for C in PRICES
    ],
    "a tube": lambda gram, y, index: [tube_of(gram, y, index, C) for C in PRICES],
    "nu": lambda gram, y, index: [nu_margin(gram, y[index], nu, np.ones(len(index)), index=index) for nu in NUS],
    "one class": lambda gram, y, index: [one_class(gram, nu, np.ones(len(index)), index=index) for nu in NUS],
}


@pytest.fixture(params=[120, 700], ids=["small", "large"])
def data(request):
    return samples(request.param)


@pytest.mark.parametrize("kind", PATHS)
@pytest.mark.parametrize("stored", [False, True])
def test_every_step_of_a_path_is_solved(data, kind, stored):
    X, y = data
    kernel = RBF(gamma=0.3)
    gram = MatrixGram(kernel(X), True) if stored else make_gram(kernel, X)
    parts = [np.flatnonzero(np.arange(len(y)) % 3 != k) for k in range(3)]
    problems = [problem for index in parts for problem in PATHS[kind](gram, y, index)]
    steps = len(problems) // 3
    followed = SMO().solve_many(problems, steps=steps)
    alone = SMO().solve_many(problems)
    for problem, result, reference in zip(problems, followed, alone, strict=True):
        assert result.status == "solved"
        assert problem.imbalance(result.a) <= 1e-9 * (1.0 + result.a.sum())
        assert (result.a >= 0).all() and (result.a <= problem.upper).all()
        # What is returned is certified afresh, whatever came before it on the path.
        gradient = problem.gradient(result.a)
        np.testing.assert_allclose(result.gradient, gradient, rtol=1e-9, atol=1e-9 * (1.0 + result.a.sum()))
        assert abs(result.objective - reference.objective) <= result.gap + reference.gap + 1e-12 * abs(
            reference.objective
        )


def test_what_is_solved_takes_no_further_step():
    X, y = samples(700)
    gram = MatrixGram(RBF(gamma=0.05)(X), True)
    first, second = SMO().solve_many([soft_margin(gram, y, np.full(len(y), 4.0))] * 2, steps=2)
    assert first.n_iter > 100 and second.n_iter == 0
    np.testing.assert_allclose(second.a, first.a, rtol=1e-3, atol=1e-3)


def test_where_nothing_is_at_its_bound_a_higher_price_changes_nothing():
    X, y = samples(200)
    gram = MatrixGram(RBF(gamma=20.0)(X), True)
    first, second = SMO().solve_many(
        [soft_margin(gram, y, np.full(len(y), C)) for C in (1e3, 1e5)],
        steps=2,
    )
    assert first.a.max() < 1e3
    np.testing.assert_allclose(second.a, first.a, rtol=1e-12)


def test_paths_do_not_depend_on_threads_or_memory():
    X, y = samples(900)
    parts = [np.flatnonzero(np.arange(len(y)) % 4 != k) for k in range(4)]
    grams = make_gram(RBF(gamma=0.1), X), MatrixGram(RBF(gamma=0.1)(X), True)
    for gram in grams:
        problems = DualProblems.of([problem for index in parts for problem in PATHS["hinge"](gram, y, index)])
        results = [
            SMO(n_threads=threads, memory=memory).solve_many(problems, steps=len(PRICES))
            for threads, memory in ((1, "auto"), (3, "auto"), (2, 1.0))
        ]
        for other in results[1:]:
            np.testing.assert_array_equal(other.a, results[0].a)
            np.testing.assert_array_equal(other.gradient, results[0].gradient)


def test_a_path_is_of_one_set_of_variables():
    X, y = samples(60)
    gram = make_gram(RBF(gamma=0.1), X)
    whole, part = (soft_margin(gram, y[:n], np.ones(n), index=np.arange(n)) for n in (60, 50))
    with pytest.raises(ValueError, match="must be alike"):
        SMO().solve_many([whole, part], steps=2)
    with pytest.raises(ValueError, match="whole paths"):
        SMO().solve_many([whole, whole, whole], steps=2)


def test_prices_far_apart_and_dear():
    """From a hard problem to a much dearer one in small steps, from an easy one afresh."""
    X, y = samples(900, seed=3)
    gram = make_gram(RBF(gamma=0.02), X)
    for prices in ([1e-3, 1.0], [1e3, 1e6], [1e2, 1e4, 1e2]):
        problems = [soft_margin(gram, y, np.full(len(y), C)) for C in prices]
        followed, alone = SMO().solve_many(problems, steps=len(prices)), SMO().solve_many(problems)
        for problem, result, reference in zip(problems, followed, alone, strict=True):
            assert result.status == "solved" and problem.violation(result.a, problem.gradient(result.a)) <= 1.01e-3
            assert abs(result.objective - reference.objective) <= result.gap + reference.gap


@pytest.mark.parametrize("stored", [False, True])
def test_rough_is_within_the_tolerance(stored):
    X, y = samples(900)
    gram = MatrixGram(RBF(gamma=0.1)(X), True) if stored else make_gram(RBF(gamma=0.1), X)
    problems = PATHS["hinge"](gram, y, np.arange(len(y)))
    rough = SMO().solve_many(problems, steps=len(problems), rough=True)
    for problem, result in zip(problems, rough, strict=True):
        gradient = problem.gradient(result.a)
        assert np.abs(result.gradient - gradient).max() <= 0.25e-3
        assert problem.violation(result.a, gradient) <= 1.5e-3


def test_paths_side_by_side_are_those_alone():
    X, y = samples(300)
    gram = make_gram(RBF(gamma=0.1), X)
    halves = np.arange(0, 300, 2), np.arange(1, 300, 2)
    first, second = (PATHS["hinge"](gram, y, index) for index in halves)
    side_by_side = SMO().solve_many([p for pair in zip(first, second, strict=True) for p in pair], steps=8, width=2)
    one_by_one = [SMO().solve_many(path, steps=8) for path in (first, second)]
    for k in range(8):
        for j in range(2):
            np.testing.assert_array_equal(side_by_side[2 * k + j].a, one_by_one[j][k].a)


def test_paths_have_a_time_and_tell_how_far_they_are():
    X, y = samples(900)
    gram, told = make_gram(RBF(gamma=0.1), X), []
    problems = PATHS["hinge"](gram, y, np.arange(len(y)))
    SMO(n_threads=1).solve_many(problems, steps=len(problems), finished=told.append)
    assert told == list(range(1, len(problems) + 1))
    late = SMO().solve_many(problems, steps=len(problems), seconds=0.0)
    assert {result.status for result in late} == {"max_seconds"}


def test_starts_of_all_variables():
    X, y = samples(120)
    problems = DualProblems.of(PATHS["hinge"](make_gram(RBF(gamma=0.1), X), y, np.arange(len(y))))
    solved = SMO().solve_many(problems)
    again = SMO().solve_many(problems, solved.a)
    np.testing.assert_allclose(again.a, solved.a, rtol=1e-6, atol=1e-9)
    with pytest.raises(ValueError, match="must satisfy the constraints"):
        SMO().solve_many(problems, solved.a + 1e-3)
    with pytest.raises(ValueError, match="the problems have"):
        SMO().solve_many(problems, solved.a[1:])
