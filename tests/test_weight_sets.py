"""Sets of weights of kernels: the two questions they answer, against a general solver and their own conditions."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer.problems import Elastic, Groups, NormBall, Simplex

SETS = {
    "simplex": Simplex(),
    "ball of 1.1": NormBall(1.1),
    "ball of 3": NormBall(3.0),
    "ball of infinity": NormBall(np.inf),
    "elastic 0.01": Elastic(0.01),
    "elastic 0.5": Elastic(0.5),
    "elastic 1": Elastic(1.0),
    "groups of 2-norms": Groups([0, 1, 1, 2, 2, 2], 2.0),
    "groups of infinite norms": Groups([0, 1, 1, 2, 2, 2], np.inf),
}
every_set = pytest.mark.parametrize("weights", SETS.values(), ids=SETS)


def size(weights, d):
    """What is at most one in the set, by its definition."""
    if isinstance(weights, Elastic):
        return (1 - weights.mix) * d.sum() + weights.mix * (d**2).sum()
    if isinstance(weights, Groups):
        return sum(np.linalg.norm(d[weights.members == g], weights.p) for g in range(3))
    return np.linalg.norm(d, getattr(weights, "p", 1))


def random_member(weights, rng):
    return weights.scaled(rng.gamma(0.5, size=6) + 1e-9)


@every_set
def test_largest_multiple(weights):
    rng = np.random.default_rng(0)
    for _ in range(20):
        d = rng.gamma(1.0, size=6) * 10.0 ** rng.integers(-8, 8)
        scaled = weights.scaled(d)
        assert size(weights, scaled) == pytest.approx(1.0, abs=1e-12)
        assert np.ptp(scaled / d) <= 1e-12 * (scaled / d).max()


@every_set
def test_none_takes_more_or_is_cheaper(weights):
    rng = np.random.default_rng(1)
    for _ in range(20):
        energies, squares = rng.gamma(0.5, size=(2, 6))
        best, cheapest = weights.best(energies), weights.cheapest(squares)
        assert size(weights, best) == pytest.approx(1.0, abs=1e-12)
        assert size(weights, cheapest) == pytest.approx(1.0, abs=1e-12)
        for _ in range(50):
            d = random_member(weights, rng)
            assert best @ energies >= d @ energies * (1 - 1e-12)
            assert (squares / cheapest).sum() <= (squares / d).sum() * (1 + 1e-12)


@pytest.mark.parametrize("mix", [1e-6, 1e-3, 0.3, 1.0])
def test_elastic_conditions(mix):
    weights, rng = Elastic(mix), np.random.default_rng(2)
    squares = rng.gamma(0.3, size=500)
    squares[:100], squares[100] = 0.0, 1e-290
    d = weights.cheapest(squares)
    assert (d[:100] == 0).all()
    d, squares = d[101:], squares[101:]
    nu = squares / d**2 / (1 - mix + 2 * mix * d)
    np.testing.assert_allclose(nu, nu[0], rtol=1e-12)
    energies = rng.gamma(1.0, size=500)
    d = weights.best(energies)
    nu = energies / (1 - mix + 2 * mix * d)
    np.testing.assert_allclose(nu[d > 0], nu.max(), rtol=1e-12)
    assert (d > 0).any()  # of the others no nu is larger


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")  # of older SciPy
def test_elastic_by_a_general_solver():
    weights, squares = Elastic(0.3), np.array([1.0, 0.2, 3.0])
    found = minimize(
        lambda d: (squares / d).sum(),
        np.full(3, 0.3),
        bounds=[(1e-6, None)] * 3,
        constraints={"type": "ineq", "fun": lambda d: 1 - size(weights, d)},
        options={"ftol": 1e-14},
    )
    np.testing.assert_allclose(weights.cheapest(squares), found.x, atol=1e-5)


@every_set
def test_nothing_to_choose_by(weights):
    energies = np.zeros(6)
    assert size(weights, weights.best(energies)) == pytest.approx(1.0, abs=1e-12)
    assert size(weights, weights.uniform(6)) == pytest.approx(1.0, abs=1e-12)
