"""When to stop asking."""

from types import SimpleNamespace

import numpy as np
import pytest
import sklearn.svm

from mercer import SVC
from mercer.active import ActiveLearner, BandEmpty, Budget, MistakesLevel, ObjectiveLevel
from mercer.kernels import RBF


@pytest.fixture
def line():
    X = np.linspace(-1, 1, 101)[:, np.newaxis]
    return X, (X[:, 0] > 0.2).astype(int)


def test_band(line):
    """It stops as soon as nobody is in the band, and not before."""
    X, y = line
    learner = ActiveLearner(SVC("linear", C=1e6), X, y).learn()
    assert learner.stopped_ == "band"
    assert not learner.in_band().any()
    assert learner.history_[-1].band == 0
    assert learner.history_[-2].band > 0
    assert (learner.label_pool() == y).all()
    assert len(learner.labelled_) < 20


def test_copies_of_support_vectors_are_on_the_edge(line):
    """They are not inside the band by rounding, and nobody is asked about them."""
    X, y = line
    once = ActiveLearner(SVC("linear", C=1e6), X, y).learn()
    twice = ActiveLearner(SVC("linear", C=1e6), np.repeat(X, 20, axis=0), np.repeat(y, 20)).learn()
    assert once.stopped_ == twice.stopped_ == "band"
    assert (twice.label_pool() == np.repeat(y, 20)).all()
    asked = np.unique(twice.labelled_ // 20)
    assert len(asked) == len(twice.labelled_) < 20


def test_budget(line):
    X, y = line
    learner = ActiveLearner(SVC("linear"), X, y, stop=None, budget=7, batch=3).learn()
    assert len(learner.labelled_) == 7
    assert learner.stopped_ == "budget"
    assert ActiveLearner(SVC("linear"), X, np.zeros(101), stop=None, budget=5).learn().stopped_ == "budget"
    learner.tell(learner.query(), [0, 0, 0])  # who asks on is answered
    assert len(learner.labelled_) == 10


def test_objective(line):
    X, y = line
    learner = ActiveLearner(SVC("linear", C=1e6), X, y, stop=ObjectiveLevel(last=4, tol=1e-3)).learn()
    assert learner.stopped_ == "objective"
    objective = np.array([answer.objective for answer in learner.history_])
    rises = objective[4:] - objective[:-4]
    assert rises[-1] <= 1e-3 * objective[-1]
    known = [answer.predicted is not None for answer in learner.history_[:-4]]
    assert (rises[:-1][known[:-1]] > 1e-3 * objective[4:-1][known[:-1]]).all()
    with pytest.raises(ValueError, match="stop='objective' needs a machine with a dual objective, such as SVC,"):
        ActiveLearner(sklearn.svm.SVC(), X, y, stop="objective").learn()


def test_objective_is_level_by_its_own_size(monkeypatch):
    monkeypatch.setattr("mercer.active.stopping.objective_of", lambda machine: 0.0)

    def speaks(*values):
        history = [SimpleNamespace(objective=value) for value in values]
        return ObjectiveLevel(last=2)(SimpleNamespace(is_fitted=True, estimator_=None, history_=history))

    assert speaks(5.0, 5.0, 5.0)
    assert not speaks(5.0, 5.0)
    assert speaks(1000.0, 1000.0, 1000.5)
    assert not speaks(1e-4, 1e-4, 2e-4)


def test_mistakes(line):
    X, y = line
    learner = ActiveLearner(SVC("linear", C=1e6), X, y, stop=MistakesLevel(last=5)).learn()
    assert learner.stopped_ == "mistakes"
    mistakes = [answer.mistakes for answer in learner.history_]
    assert mistakes[-1] == mistakes[-6] or learner.history_[-6].predicted is None
    right = [answer.predicted == answer.answer for answer in learner.history_]
    assert all(right[-5:])
    assert not any(all(right[k : k + 5]) for k in range(len(right) - 5))
    assert mistakes[-1] == sum(a.predicted is not None and a.predicted != a.answer for a in learner.history_)


def test_whichever_speaks_first(line):
    X, y = line

    def many(learner):
        return len(learner.labelled_) >= 5

    learner = ActiveLearner(SVC("linear", C=1e6), X, y, stop=["mistakes", many], budget=50).learn()
    assert learner.stopped_ == "many"
    assert len(learner.labelled_) == 5
    assert ActiveLearner(SVC("linear", C=1e6), X, y, stop=(BandEmpty(), Budget(4))).learn().stopped_ == "budget"


def test_nothing_left(line):
    X, y = line
    learner = ActiveLearner(SVC("linear"), X, y, stop=None, batch=30).learn()
    assert learner.stopped_ == "pool"
    assert len(learner.labelled_) == 101


def test_majority_rule():
    """The experiment of [CY fig 1.7]: of 200 strings of 20 bits some 60 are enough."""
    error = {"closest": 0.0, "random": 0.0}
    for run in range(5):
        bits = np.random.default_rng(run).integers(0, 2, (400, 20))
        y = np.where(bits.sum(axis=1) > 10, 1, -1)
        X = 2.0 * bits - 1
        for rule in error:
            learner = ActiveLearner(SVC("linear", C=np.inf), X[:200], y[:200], stop=None, budget=60, rule=rule).learn()
            error[rule] += np.mean(learner.predict(X[200:]) != y[200:]) / 5
        learner = ActiveLearner(SVC("linear", C=np.inf), X[:200], y[:200]).learn()  # the band says so, too
        assert 45 < len(learner.labelled_) < 70
        assert (learner.label_pool() == y[:200]).all()
    assert error["closest"] < 0.02
    assert error["random"] > 0.08


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ObjectiveLevel(last=0), "last must be an int >= 1, got 0"),
        (lambda: ObjectiveLevel(tol=-1.0), "tol must be a float >= 0, got -1.0"),
        (lambda: MistakesLevel(last=1.5), "last must be an int >= 1, got 1.5"),
        (lambda: Budget(0), "budget must be an int >= 1, got 0"),
    ],
)
def test_bad_numbers(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_rbf_kernels_stop_too(rng):
    X = rng.standard_normal((300, 2))
    y = (X**2).sum(axis=1) > 1.2
    learner = ActiveLearner(SVC(RBF(1.0), C=1e4), X, y).learn()
    assert learner.stopped_ == "band"
    assert len(learner.labelled_) < 120
    assert np.mean(learner.label_pool() == y) > 0.98
