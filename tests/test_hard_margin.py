"""Hard margins: found however small, and refused where there is none."""

import numpy as np
import pytest
from solving import assert_same_bits, every_solver, labelled

from mercer.errors import NotSeparableError
from mercer.gram import make_gram
from mercer.kernels import RBF, Linear
from mercer.problems import soft_margin
from mercer.solvers import SMO
from mercer.svm import SVC

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
