"""What every rule of active learning obeys."""

import inspect
import pickle

import numpy as np
import pytest

from mercer import SVC, active
from mercer.active import ActiveLearner
from mercer.active.rules import RULES, STARTS
from mercer.active.stopping import NAMES
from mercer.kernels import RBF
from tests.registry import QUERY_RULES, STOPPING_RULES


@pytest.fixture
def learner(rng):
    X = rng.standard_normal((60, 2))
    learner = ActiveLearner(SVC(RBF(1.0), C=100.0, probability=True), X, (X[:, 0] > 0).astype(int), stop=None)
    learner.tell(np.arange(20), (X[:20, 0] > 0).astype(int))
    return learner


def test_every_rule_is_here():
    public = {getattr(active, name) for name in active.__all__}
    rules = {rule for rule in public if inspect.isclass(rule) and "__call__" in vars(rule)}
    assert {type(make()) for make in (*QUERY_RULES.values(), *STOPPING_RULES.values())} == rules


def test_rules_are_called_what_they_are():
    assert all(make().name == name for name, make in (*RULES.items(), *STARTS.items(), *NAMES.items()))


@pytest.mark.parametrize("name", QUERY_RULES)
def test_query_rules(name, learner):
    """A finite number for every candidate, the same when asked again, whoever else is a candidate."""
    rule = QUERY_RULES[name]()
    everyone = np.flatnonzero(np.isin(np.arange(60), learner.labelled_, invert=True))
    values = rule(learner, everyone)
    assert values.shape == everyone.shape
    assert np.isfinite(values).all()
    assert (rule(learner, everyone) == values).all()
    if not name.startswith("VersionSpace"):  # which tries the closest candidates
        assert (rule(learner, everyone[::2]) == values[::2]).all()
    assert (pickle.loads(pickle.dumps(rule))(learner, everyone) == values).all()
    first = everyone[np.argmin(np.round(values, 9))]
    learner._rule = rule
    assert learner.query()[0] == first


@pytest.mark.parametrize("name", STOPPING_RULES)
def test_stopping_rules(name, rng):
    """They are silent without answers, and speak in the end; the name is told."""
    X = rng.standard_normal((150, 2))
    rule = STOPPING_RULES[name]()
    learner = ActiveLearner(SVC(RBF(1.0), C=100.0), X, (X[:, 0] > 0).astype(int), stop=rule)
    assert not rule(learner)
    assert learner.learn().stopped_ == rule.name
    assert 2 <= len(learner.labelled_) < 150
