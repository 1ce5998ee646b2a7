"""Where a point stands among all samples, and the problem of some variables."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.gram import MatrixGram
from mercer.kernels import RBF
from mercer.problems import Standing, enclosing_ball, epsilon_tube, nu_margin, one_class, soft_margin
from mercer.solvers import SMO, certify
from mercer.solvers.base import History

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
SIGN = np.where(X[:, 0] + 0.5 * RNG.normal(size=60) > 0, 1.0, -1.0)
K = RBF(gamma=0.5)(X)
GRAM = MatrixGram(K)
PROBLEMS = {
    "hinge": soft_margin(GRAM, SIGN, np.full(60, 2.0)),
    "squared hinge": soft_margin(GRAM, SIGN, np.full(60, 2.0), squared=True),
    "no offset": soft_margin(GRAM, SIGN, np.full(60, 2.0), bias=False),
    "some samples": soft_margin(GRAM, SIGN[::2], np.full(30, 2.0), index=np.arange(0, 60, 2)),
    "nu": nu_margin(GRAM, SIGN, 0.4, np.ones(60)),
    "tube": epsilon_tube(GRAM, X[:, 1], np.full(60, 3.0), 0.1),
    "one class": one_class(GRAM, 0.3, np.ones(60)),
    "ball": enclosing_ball(GRAM, 0.3, np.ones(60)),
}


def some_point(problem):
    """Feasible, with variables at both bounds and between them."""
    upper = np.where(np.isfinite(problem.upper), problem.upper, 2.0)
    return problem.feasible(np.random.default_rng(1).uniform(-0.5, 1.5, size=len(upper)) * upper)


def standing_of(problem, a):
    values = K @ problem.expansion(a)[0]
    return Standing.of_blocks(problem, a, [(0, values[:17]), (40, values[40:]), (17, values[17:40])])


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_certificate_is_that_of_the_problem(name):
    problem = PROBLEMS[name]
    a = some_point(problem)
    standing, gradient = standing_of(problem, a), problem.gradient(a)
    assert_allclose(standing.gradient, gradient, atol=1e-12)
    history = History(np.zeros(1, dtype=np.int64), *np.zeros((3, 1)))
    wanted = certify(
        problem, a, gradient, status="solved", n_iter=0, seconds=0.0, kernel_evaluations=0, history=history
    )
    assert_allclose(
        [standing.objective, standing.gap, standing.violation], [wanted.objective, wanted.gap, wanted.violation]
    )
    assert not standing.is_good(1e-3)
    best = SMO(tol=1e-6).solve(problem)
    solved = standing_of(problem, best.a)
    assert solved.is_good(1e-3, 1e-3) and not solved.is_good(1e-3, 1e-300)
    # No point is better by more than the gap.
    assert standing.objective - standing.gap <= best.objective + 1e-9


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_worst_have_the_pair_that_violates_most(name):
    problem = PROBLEMS[name]
    standing = standing_of(problem, some_point(problem))
    worst = standing.worst(4)
    assert len(worst) == 4 and (np.diff(worst) > 0).all()
    # The violation of the first alone is that of all.
    first = standing.worst(2)
    part, a = standing.part(first, GRAM, problem.index[first])
    assert_allclose(part.violation(a, part.gradient(a)), standing.violation, atol=1e-9)
    assert_array_equal(standing.worst(10**6), np.arange(len(problem.index)))


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_problem_of_a_part_is_the_problem_while_the_others_stay(name):
    problem = PROBLEMS[name]
    a = some_point(problem)
    standing = standing_of(problem, a)
    samples = np.sort(RNG.choice(60, size=20, replace=False))
    which = np.flatnonzero(np.isin(problem.index, samples))
    small = MatrixGram(K[np.ix_(samples, samples)])
    part, begin = standing.part(which, small, np.searchsorted(samples, problem.index[which]))
    assert_allclose(part.gradient(begin), standing.gradient[which], atol=1e-10)
    result = SMO(tol=1e-9).solve(part, begin)
    moved = a.copy()
    moved[which] = result.a
    assert problem.imbalance(moved) < 1e-9
    gradient = problem.gradient(moved)
    assert_allclose(gradient[which], result.gradient, atol=1e-8)
    # What the part has gained is what the whole has gained.
    gained = part.objective(begin, part.gradient(begin)) - result.objective
    assert gained > 0
    assert_allclose(standing.objective - problem.objective(moved, gradient), gained, rtol=1e-6)


def test_a_part_is_left_alone_by_what_is_zero():
    problem = PROBLEMS["hinge"]
    a = np.zeros(60)
    a[:30] = some_point(problem)[:30]
    a = problem.feasible(a)
    which = np.flatnonzero(a)
    part, _ = standing_of(problem, a).part(which, GRAM, which)
    assert_array_equal(part.linear, problem.linear[which])
    assert part.total == problem.total


def test_a_block_that_is_missing_is_told():
    problem = PROBLEMS["hinge"]
    with pytest.raises(ValueError, match="a decision value for every sample"):
        Standing.of_blocks(problem, np.zeros(60), [(0, np.zeros(30))])
    # Samples that no variable belongs to may be missing.
    Standing.of_blocks(PROBLEMS["some samples"], np.zeros(30), [(k, np.zeros(1)) for k in range(0, 60, 2)])
