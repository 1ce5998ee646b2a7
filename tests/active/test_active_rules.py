"""What is asked for, one at a time and in batches."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import SVC, KernelLogisticRegression, NuSVC
from mercer.active import ActiveLearner, Farthest, VersionSpace
from mercer.active.batches import smallest
from mercer.kernels import RBF


def data(rng, n=120, n_classes=2):
    X = rng.standard_normal((n, 3))
    value = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.2 * rng.standard_normal(n)
    return X, np.digitize(value, np.quantile(value, np.arange(1, n_classes) / n_classes))


def started(X, y, rule, machine=None, n=20, **settings):
    learner = ActiveLearner(SVC(RBF(0.3)) if machine is None else machine, X, y, rule=rule, stop=None, **settings)
    learner.tell(np.arange(n), y[:n])
    return learner


def rest_of(learner, X):
    return np.setdiff1d(np.arange(len(X)), learner.labelled_)


def test_random_is_an_order_of_its_own(rng):
    X, y = data(rng)
    one, same = (started(X, y, "random").learn(30).labelled_ for _ in range(2))
    other = started(X, y, "random", random_state=1).learn(30).labelled_
    assert (one == same).all()
    assert (one != other).any()
    assert len(set(one.tolist())) == 50


def test_farthest_is_the_surest_of_a_class(rng):
    X, y = data(rng)
    learner = started(X, y, "farthest")
    rest, values = rest_of(learner, X), learner.estimator_.decision_function(X)
    assert learner.query()[0] == rest[np.argmax(values[rest])]
    assert started(X, y, Farthest(0)).query()[0] == rest[np.argmin(values[rest])]

    X, y = data(rng, n_classes=3)
    learner = started(X, y, Farthest(1))
    rest, values = rest_of(learner, X), learner.estimator_.decision_function(X)
    assert learner.query()[0] == rest[np.argmax(values[rest, 1])]
    with pytest.raises(ValueError, match=r"wanted must be one of the classes \[0, 1, 2\], got 7"):
        started(X, y, Farthest(7)).query()


def test_farthest_of_a_class_nobody_has_seen(rng):
    X, y = data(rng)
    learner = ActiveLearner(SVC(RBF(0.3)), X, rule="farthest", classes=[0, 1, 2])
    learner.tell(np.arange(20), y[:20])
    rest = rest_of(learner, X)
    assert learner.query()[0] == rest[np.argmin(abs(learner.decision()[rest]))]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probability_is_the_least_sure(n_classes, rng):
    X, y = data(rng, n_classes=n_classes)
    learner = started(X, y, "probability", KernelLogisticRegression(RBF(0.3)))
    rest = rest_of(learner, X)
    assert learner.query()[0] == rest[np.argmin(learner.estimator_.predict_proba(X[rest]).max(axis=1))]
    with pytest.raises(ValueError, match="rule='probability' needs an estimator with predict_proba"):
        started(X, y, "probability").query()


@pytest.mark.parametrize(
    "machine",
    [
        SVC(RBF(0.3), tol=1e-9),
        SVC(RBF(3.0), C=np.inf, tol=1e-9),
        SVC(RBF(0.3), loss="squared_hinge", class_weight={0: 2.0}, tol=1e-9),
        NuSVC(RBF(0.3), nu=0.2, tol=1e-9),
    ],
    ids=["soft", "hard", "squared", "nu"],
)
@pytest.mark.parametrize("criterion", ["maxmin", "ratio"])
def test_version_space_is_halved(criterion, machine, rng):
    """Against machines that are fitted one by one."""
    X, y = data(rng)
    learner = started(X, y, VersionSpace(criterion, shortlist=8), machine)
    rest = rest_of(learner, X)
    tried = rest[np.argsort(learner.closeness()[rest])[:8]]
    worth = []
    for i in tried:
        margins = [clone(learner.estimator_).fit(X[[*range(20), i]], [*y[:20], label]).margin_ for label in (0, 1)]
        worth.append(min(margins) if criterion == "maxmin" else min(margins) / max(margins))
    assert learner.query()[0] == tried[np.argmax(worth)]
    np.testing.assert_allclose(-VersionSpace(criterion, 8)(learner, tried), worth, rtol=1e-5)


def test_version_space_without_a_margin():
    """A hard margin that a label would leave nothing of is the smaller of the two: zero."""
    X = np.array([[0.0], [3.0], [-1.0], [1.5], [4.0]])
    learner = ActiveLearner(SVC("linear", C=np.inf), X, rule="maxmin")
    learner.tell([0, 1], [0, 1])
    minus, plus = VersionSpace().margins(learner, np.array([2, 3, 4]))
    np.testing.assert_allclose(minus, [1.5, 0.75, 0.0], atol=1e-6)
    np.testing.assert_allclose(plus, [0.0, 0.75, 1.5], atol=1e-6)
    assert learner.query()[0] == 3
    assert ActiveLearner(SVC("linear", C=np.inf), X, [0, 1, 0, 0, 1], rule="ratio").learn().stopped_ == "band"


def test_version_space_is_of_two_classes(rng):
    X, y = data(rng, n_classes=3)
    for machine in (SVC(RBF(0.3)), KernelLogisticRegression(RBF(0.3))):
        with pytest.raises(ValueError, match="rule='ratio' needs SVC or NuSVC with two classes, got"):
            started(X, y, "ratio", machine).query()
    with pytest.raises(ValueError, match="criterion must be 'maxmin' or 'ratio', got 'half'"):
        VersionSpace("half")
    with pytest.raises(ValueError, match="shortlist must be an int >= 1, got 0"):
        VersionSpace(shortlist=0)


def test_a_rule_of_ones_own(rng):
    X, y = data(rng)

    def to_the_right(learner, candidates):
        return -X[candidates, 0]

    learner = started(X, y, to_the_right, diversity=0)
    rest = rest_of(learner, X)
    assert learner.query(3).tolist() == rest[np.argsort(-X[rest, 0])[:3]].tolist()
    with pytest.raises(ValueError, match=r"rule must give a number for each of 100 samples, .* of shape \(2,\)"):
        started(X, y, lambda learner, candidates: np.zeros(2)).query()
    with pytest.raises(ValueError, match="with NaN"):
        started(X, y, lambda learner, candidates: np.full(len(candidates), np.nan)).query()


# --- before there is a machine ----------------------------------------------------------------------------


def test_spread_goes_from_corner_to_corner():
    corners = np.array([[0.0, 0.0], [0.0, 9.0], [9.0, 0.0], [9.0, 9.0]])
    X = np.concatenate([corners, corners + 0.1, corners + 0.2])
    learner = ActiveLearner(SVC("linear"), X, start="spread")
    for _ in range(4):
        learner.tell(learner.query(), "a")
    assert len({i % 4 for i in learner.labelled_.tolist()}) == 4


def test_random_start_is_drawn_by_chance(rng):
    X, _ = data(rng)
    orders = [ActiveLearner(SVC(), X, random_state=seed).query(10).tolist() for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]


# --- batches ----------------------------------------------------------------------------------------------


def brinker(K, scores, k, diversity):
    """One by one, with all cosines at hand."""
    scores = (scores - scores.min()) / (scores.max() - scores.min())
    cosine = abs(K) / np.sqrt(np.outer(np.diag(K), np.diag(K)))
    chosen = [int(np.argmin(scores))]
    while len(chosen) < k:
        value = (1 - diversity) * scores + diversity * cosine[:, chosen].max(axis=1)
        value[chosen] = np.inf
        chosen.append(int(np.argmin(value)))
    return chosen


@pytest.mark.parametrize("kernel", [RBF(0.3), "linear", "precomputed"])
@pytest.mark.parametrize("diversity", [0.3, 1.0])
def test_batches_avoid_small_angles(kernel, diversity, rng):
    X, y = data(rng, 80)
    K = X @ X.T if kernel == "linear" else RBF(0.3)(X)
    pool = K if kernel == "precomputed" else X
    learner = started(pool, y, "closest", SVC(kernel, C=0.5), diversity=diversity)
    rest = rest_of(learner, X)
    expected = rest[brinker(K[np.ix_(rest, rest)], learner.closeness()[rest], 10, diversity)]
    assert learner.query(10).tolist() == expected.tolist()


@pytest.mark.parametrize(("k", "n_best"), [(4, 64), (20, 80)])
def test_a_batch_is_chosen_from_the_best(k, n_best, rng):
    """Of four times as many samples as are wanted, and of 64 at least."""
    X, y = data(rng, 150)
    learner = started(X, y, "closest", diversity=0.9)
    rest = rest_of(learner, X)
    best = rest[np.argsort(learner.closeness()[rest])[:n_best]]
    expected = best[brinker(RBF(0.3)(X[best]), learner.closeness()[best], k, 0.9)]
    assert learner.query(k).tolist() == expected.tolist()
    assert brinker(RBF(0.3)(X[rest]), learner.closeness()[rest], k, 0.9) != [rest.tolist().index(i) for i in expected]


def test_copies_are_not_asked_for_together(rng):
    X, y = data(rng, 60)
    twice = np.concatenate([X, X])
    plain = started(twice, np.tile(y, 2), "closest", n=60, diversity=0.0).query(2)
    other = started(twice, np.tile(y, 2), "closest", n=60, diversity=0.5).query(2)
    assert plain[0] == other[0]

    def distance(pair):
        return np.linalg.norm(twice[pair[0]] - twice[pair[1]])

    assert distance(other) > distance(plain)


@pytest.mark.parametrize("n", [0, 20])
def test_batches_of_chance_are_chance_alone(n, rng):
    """What other rules are compared with: the samples that come one by one come together, before and after a fit."""
    X, y = data(rng)
    learner = started(X, y, "random", n=n)
    assert learner.query(15).tolist() == started(X, y, "random", n=n, diversity=0.0).query(15).tolist()


def test_a_batch_goes_on_from_what_is_asked_for(rng):
    X, y = data(rng, 80)
    learner = started(X, y, "closest")
    four = learner.query(4).tolist()
    rest = np.setdiff1d(rest_of(learner, X), four)
    scores = learner.closeness()[rest]
    scores = (scores - scores.min()) / (scores.max() - scores.min())
    cosine = RBF(0.3)(X[rest], X[four]).max(axis=1)
    assert learner.query(5).tolist() == [*four, rest[np.argmin(0.5 * scores + 0.5 * cosine)]]


def test_rounding_makes_no_difference(rng):
    """Samples that a rule likes alike come in the order of their numbers."""
    X, y = data(rng)
    learner = started(X, y, lambda learner, candidates: 1e-12 * rng.random(len(candidates)), diversity=0.0)
    assert learner.query(3).tolist() == [20, 21, 22]


def test_a_batch_takes_what_is_left(rng):
    X, y = data(rng, 30)
    learner = started(X, y, "closest", n=20)
    assert sorted(learner.query(50).tolist()) == list(range(20, 30))


def test_the_smallest_come_in_order(rng):
    values = rng.integers(0, 5, 50).astype(float)
    for k in (1, 7, 50, 80):
        assert smallest(values, k).tolist() == np.argsort(values, kind="stable")[:k].tolist()
