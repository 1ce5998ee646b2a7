"""What every algorithm for weights of kernels obeys, and every rule."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import mkl, problems
from mercer.kernels import RBF, Linear, Polynomial
from mercer.mkl import MKLClassifier, MKLOneClass, MKLRegressor, WeightRule
from mercer.mkl.algorithms import ALGORITHMS, RULES
from mercer.problems import Elastic, Groups, NormBall, Simplex, WeightSet
from mercer.solvers import kernel_weights
from mercer.solvers.kernel_weights import FixedWeights, KernelWeightsSolver

TERMS = [Linear(), Polynomial(degree=2), RBF(gamma=0.1), RBF(gamma=1.0)]
GAP = 1e-4
# "sdp" has a problem of its own, see the reference tests.
every_algorithm = pytest.mark.parametrize("algorithm", sorted(ALGORITHMS.keys() - {"sdp"}))
every_rule = pytest.mark.parametrize("rule", sorted(RULES))
OPTIONS = {
    "simplex": {},
    "ball": {"norm": 1.5},
    "elastic": {"elastic": 0.3},
    "groups": {"groups": [0, 0, 1, 1], "norm": 2.0},
}


def lesson(n=50):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=n) > 1).astype(int)


def machine(algorithm, **options):
    """With the ridge that "nesterov" has by itself, so that all have the same problem."""
    if algorithm == "qclp":
        pytest.importorskip("clarabel")
    return MKLClassifier(TERMS, algorithm=algorithm, gap_tol=GAP, ridge=1e-3, **options)


def is_kind(item, base):
    return isinstance(item, type) and issubclass(item, base) and not inspect.isabstract(item)


def test_registries_are_complete():
    solvers = {item for item in vars(kernel_weights).values() if is_kind(item, KernelWeightsSolver)}
    assert solvers == {*ALGORITHMS.values(), FixedWeights}
    assert set(RULES.values()) == {item for item in vars(mkl).values() if is_kind(item, WeightRule)}
    sets = {item for item in vars(problems).values() if is_kind(item, WeightSet)}
    assert sets == {Elastic, Groups, NormBall, Simplex}


@every_algorithm
def test_bounds_hold(algorithm):
    """No algorithm finds weights below the bound of another."""
    X, y = lesson()
    optimum = machine("newton").set_params(gap_tol=1e-8, tol=1e-8).fit(X, y).weights_result_
    found = machine(algorithm).fit(X, y).weights_result_
    slack = 1e-9 * optimum.objective
    assert found.bound <= optimum.objective + slack
    assert optimum.bound <= found.objective + slack
    assert found.relative_gap <= GAP and found.status == "solved"
    assert abs(found.weights.sum() - 1) <= 1e-12 and (found.weights >= 0).all()


@every_algorithm
def test_threads_make_no_difference(algorithm):
    X, y = lesson()
    alone, three = (machine(algorithm, n_threads=n).fit(X, y) for n in (1, 3))
    assert_array_equal(alone.weights_, three.weights_)
    assert_array_equal(alone.dual_coef_, three.dual_coef_)


@every_algorithm
def test_order_of_kernels(algorithm):
    X, y = lesson()
    order = np.array([2, 0, 3, 1])
    plain = machine(algorithm).fit(X, y)
    other = machine(algorithm).set_params(kernels=[TERMS[k] for k in order]).fit(X, y)
    assert_allclose(other.weights_result_.objective, plain.weights_result_.objective, rtol=2 * GAP)
    assert_allclose(other.decision_function(X), plain.decision_function(X), atol=3 * GAP**0.5)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@every_algorithm
def test_limits_are_told(algorithm):
    X, y = lesson()
    hasty = machine(algorithm).set_params(max_iter=1, gap_tol=1e-13).fit(X, y).weights_result_
    assert hasty.status == "max_iter" and hasty.n_iter == 1
    assert hasty.bound <= hasty.objective


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@every_algorithm
def test_weights_are_in_their_set_or_the_set_is_refused(algorithm, options):
    X, y = lesson()
    made = machine(algorithm, **options)
    if options and ALGORITHMS[algorithm]._simplex_only:
        with pytest.raises(ValueError, match="simplex"):
            made.fit(X, y)
        return
    d = made.fit(X, y).weights_
    sizes = {
        "simplex": d.sum(),
        "ball": (d**1.5).sum(),
        "elastic": 0.7 * d.sum() + 0.3 * (d * d).sum(),
        "groups": np.hypot(*d[:2]) + np.hypot(*d[2:]),
    }
    name = next(name for name, same in OPTIONS.items() if same is options)
    assert_allclose(sizes[name], 1.0, rtol=1e-9)
    found, other = made.weights_result_, machine("alternating", **options).fit(X, y).weights_result_
    assert found.bound <= other.objective * (1 + 1e-9)
    assert other.bound <= found.objective * (1 + 1e-9)
    assert found.status == "solved" and found.relative_gap <= GAP


@every_rule
def test_rules_share_out_one(rule):
    X, y = lesson()
    for made, target in ((MKLClassifier, (y,)), (MKLRegressor, (X[:, 0],)), (MKLOneClass, ())):
        if (RULES[rule].needs == "classes" and made is not MKLClassifier) or (RULES[rule].needs and not target):
            with pytest.raises(ValueError, match="algorithm must not be"):
                made(TERMS, algorithm=rule).fit(X, *target)
            continue
        fitted = made(TERMS, algorithm=rule).fit(X, *target)
        assert abs(fitted.weights_.sum() - 1) <= 1e-12 and (fitted.weights_ >= 0).all()
        assert fitted.weights_result_.status == "fixed"
        assert fitted.weights_result_.bound <= fitted.weights_result_.objective
