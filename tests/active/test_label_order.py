"""The order in which labelled samples are best learnt."""

import numpy as np
import pytest

from mercer import SVC
from mercer.active import ActiveLearner, label_order
from mercer.kernels import RBF


def noisy(rng, n=400, wrong=0.1):
    X = rng.standard_normal((n, 2))
    truth = (X[:, 0] + X[:, 1] > 0).astype(int)
    return X, truth, np.where(rng.random(n) < wrong, 1 - truth, truth)


def test_order(rng):
    X, _, y = noisy(rng, 100, 0.0)
    machine = SVC("linear", C=1e4)
    order, n_learnt = label_order(machine, X, y, start=2)
    assert sorted(order.tolist()) == list(range(100))
    assert np.bincount(y[order[:4]]).tolist() == [2, 2]
    assert n_learnt < 40
    fitted = machine.fit(X[order[:n_learnt]], y[order[:n_learnt]])
    rest = np.abs(fitted.decision_function(X[order[n_learnt:]]))
    assert rest.min() >= 1
    assert (np.diff(rest) >= -1e-9).all()
    assert (fitted.predict(X) == y).all()


def test_given_starts(rng):
    X, _, y = noisy(rng, 60, 0.0)
    first = [int(np.flatnonzero(y == 1)[0]), int(np.flatnonzero(y == 0)[0])]
    order, n_learnt = label_order(SVC("linear", C=1e4), X, y, start=first)
    assert order[:2].tolist() == first
    learner = ActiveLearner(SVC("linear", C=1e4), X, y)
    learner.tell(first, y[first])
    assert order[:n_learnt].tolist() == learner.learn().labelled_.tolist()


def test_it_is_drawn_by_chance(rng):
    X, _, y = noisy(rng, 60, 0.0)
    machine = SVC(RBF(0.5))
    assert label_order(machine, X, y).order.tolist() == label_order(machine, X, y).order.tolist()
    assert label_order(machine, X, y).order.tolist() != label_order(machine, X, y, random_state=3).order.tolist()


def test_bad_input(rng):
    X, _, y = noisy(rng, 20)
    with pytest.raises(ValueError, match="start must be an int >= 1, got 0"):
        label_order(SVC(), X, y, start=0)
    with pytest.raises(ValueError, match=r"y must have one class for each of 20 samples, got shape \(19,\)"):
        label_order(SVC(), X, y[:-1])
    with pytest.raises(ValueError, match=r"y must have at least two classes, got \[1\]"):
        label_order(SVC(), X, np.ones(20, dtype=int))
    with pytest.raises(ValueError, match="y must be a str, int, bool or whole float, got None"):
        label_order(SVC(), X, [None] * 20)
    for start in ([0.5], [20], [-1], [[0, 1]], y == 1):
        with pytest.raises(ValueError, match="start must be an int >= 1 or numbers of samples from 0 to 19, got"):
            label_order(SVC(), X, y, start=start)


@pytest.mark.parametrize("seed", range(5))
def test_a_hard_margin_stays(seed):
    """What is inside the band of separable samples can be separated from both sides, whatever its label."""
    X, _, y = noisy(np.random.default_rng(seed), 100, 0.4)
    order, n_learnt = label_order(SVC("linear", C=np.inf), X, y, start=1)
    machine = SVC("linear", C=np.inf).fit(X[order[:n_learnt]], y[order[:n_learnt]])
    assert (machine.predict(X[order[:n_learnt]]) == y[order[:n_learnt]]).all()
    assert np.abs(machine.decision_function(X[order[n_learnt:]])).min() > 1 - 1e-3
