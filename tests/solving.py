"""Problems for the solvers, and what their results owe."""

from dataclasses import fields

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from reference.conic import FORMULATIONS, equalities_of, naive_violation
from registry import SOLVERS

from mercer.gram import make_gram
from mercer.kernels import RBF
from mercer.problems import enclosing_ball, epsilon_tube, nu_margin, nu_tube, one_class, soft_margin

every_solver = pytest.mark.parametrize("make", SOLVERS.values(), ids=SOLVERS.keys())
every_formulation = pytest.mark.parametrize("formulation", FORMULATIONS)


def labelled(n, d=3, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + noise * rng.normal(size=n) > 0, 1.0, -1.0)


def hinge(n=400, C=10.0, **options):
    X, y = labelled(n, **options)
    return soft_margin(make_gram(RBF(gamma=0.5), X), y, np.full(n, C))


def assert_certified(problem, result, optimum):
    """A feasible point, its own violation, and the optimum between bound and objective."""
    assert (result.a >= 0).all() and (result.a <= problem.upper).all()
    for row, value in equalities_of(problem):
        assert abs(row @ result.a - value) <= 1e-10 * max(1.0, result.a.sum())
    assert abs(result.violation - naive_violation(problem, result.a)) <= 1e-9 * max(1.0, result.violation)
    assert result.bound - optimum.accuracy <= optimum.value <= result.objective + optimum.accuracy


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
