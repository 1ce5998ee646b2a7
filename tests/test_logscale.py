"""Descents in the logarithms of parameters."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gp.base import Prior
from mercer.kernels import GapWeighted
from mercer.logscale import _corrected, _least_in_box, descend, descend_curved

HESSIAN = np.array([[2.0, 0.9], [0.9, 0.5]])
CENTRE = np.array([1.0, -3.0])
FREE = np.full(2, -50.0), np.full(2, 50.0)


def quadratic(x):
    g = HESSIAN @ (x - CENTRE)
    return 0.5 * g @ (x - CENTRE), g, HESSIAN


def banana(x):
    """Rosenbrock's function, with the curvature of Gauss and Newton."""
    J = np.array([[-20 * x[0], 10.0], [-1.0, 0.0]])
    r = np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]])
    return 0.5 * r @ r, J.T @ r, J.T @ J


def test_a_quadratic_takes_one_step():
    ended = descend_curved(quadratic, CENTRE + np.array([1.5, -1.0]), *FREE, tol=1e-12, max_iter=9)
    assert (ended.status, ended.n_iter) == ("local", 1)
    assert_allclose(ended.theta, CENTRE, atol=1e-12)


def test_both_descents_end_where_limits_let_them():
    """The least value over x0 <= 0 is not the least value overall with x0 cut off."""
    low, high = np.array([-50.0, -50.0]), np.array([0.0, 50.0])
    newton = descend_curved(quadratic, np.array([-2.0, 2.0]), low, high, tol=1e-9, max_iter=50)
    expected = [0.0, CENTRE[1] + HESSIAN[0, 1] / HESSIAN[1, 1] * CENTRE[0]]
    first = descend(
        lambda x: quadratic(x)[:2], np.array([-2.0, 2.0]), low, high, tol=1e-9, max_iter=50, smallest_step=1e-16
    )
    for ended in (newton, first):
        assert_allclose(ended.theta, expected, atol=1e-8)
        assert (ended.status, ended.stopped.tolist()) == ("local", [True, False])


def test_a_valley_is_followed_to_its_end():
    ended = descend_curved(banana, np.array([-1.2, 1.0]), *FREE, tol=1e-9, max_iter=100)
    assert ended.status == "local"
    assert_allclose(ended.theta, 1.0, atol=1e-7)
    values = [banana(x)[0] for x in ended.way]
    assert all(after < before for before, after in pairwise(values))


def test_a_correction_is_what_the_last_step_has_shown():
    step, change = np.array([0.5, -1.0]), np.array([0.3, -0.2])
    corrected = _corrected(HESSIAN, step, change)
    assert_allclose(corrected @ step, change)
    assert np.linalg.eigvalsh(corrected)[0] > 0
    assert _corrected(HESSIAN, step, -change) is HESSIAN  # the curvature would be negative
    assert _corrected(HESSIAN, step, np.full(2, np.nan)) is HESSIAN


def test_a_direction_of_which_nothing_is_known_gets_no_long_step():
    step = _least_in_box(np.diag([2.0, 0.0]), np.array([1.0, 1e-6]), np.full(2, -2.0), np.full(2, 2.0))
    assert_allclose(step, [-0.5, -1e-2])
    nothing = _least_in_box(np.zeros((2, 2)), np.array([1.0, -1e-6]), np.full(2, -2.0), np.full(2, 2.0))
    assert_allclose(nothing, [-2.0, 2.0])


def test_walls_and_ends_are_told():
    def walled(x):
        return (np.inf, np.full(2, np.nan), None) if x[0] > 0.5 else quadratic(x)

    ended = descend_curved(walled, np.zeros(2), *FREE, tol=1e-9, max_iter=500)
    assert ended.status == "stalled"
    assert 0.499 < ended.theta[0] <= 0.5
    assert descend_curved(banana, np.array([-1.2, 1.0]), *FREE, tol=1e-9, max_iter=3).status == "max_iter"


@pytest.mark.parametrize("decay", [0.5, 1.0])
def test_differences_stay_where_the_kernel_allows_them(decay):
    """A decay of one cannot grow."""
    words = ["abab", "aabb", "bbba"]
    V, kernel = np.array([[1.0], [2.0], [-1.0]]), GapWeighted(2, decay=decay)
    changes = Prior(kernel, words).changes({"kernel__decay": decay}, V, kernel(words) @ V)
    W = np.zeros((3, 3))
    W[1] = V[:, 0]
    assert_allclose(changes["kernel__decay"][0][1, 0], decay * kernel.vjp(words, W)["decay"], rtol=1e-4)
