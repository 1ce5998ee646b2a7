"""Asking, telling, and what is known of it."""

import pickle

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning, NotFittedError

from mercer import SVC, SVR, LinearSVC, NuSVC
from mercer.active import ActiveLearner
from mercer.kernels import RBF, Spectrum


def data(rng, n=200, n_classes=2):
    X = rng.standard_normal((n, 3))
    value = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.2 * rng.standard_normal(n)
    return X, np.digitize(value, np.quantile(value, np.arange(1, n_classes) / n_classes))


# --- the same questions as an obvious loop would ask ------------------------------------------------------


def naive_queries(machine, X, y, first, n, closeness):
    """Fit from nothing, look at all, ask for the closest; n times."""
    labelled = list(first)
    while len(labelled) < n:
        fitted = clone(machine).fit(X[labelled], y[labelled])
        distance = np.round(closeness(fitted, X), 9)
        distance[labelled] = np.inf
        labelled.append(int(distance.argmin()))
    return labelled


def to_the_hyperplane(machine, X):
    values = machine.decision_function(X)
    if values.ndim == 1:
        return abs(values)
    best = np.sort(values, axis=1)
    return 0.5 * (best[:, -1] - best[:, -2])


@pytest.mark.parametrize(
    "machine",
    [SVC(RBF(0.3), tol=1e-9), SVC("linear", C=10.0, tol=1e-9), NuSVC(RBF(0.3), nu=0.1, tol=1e-9)],
    ids=["rbf", "linear", "nu"],
)
def test_queries_of_a_naive_twin(machine, rng):
    X, y = data(rng)
    learner = ActiveLearner(machine, X, y, stop=None)
    first = np.concatenate([np.flatnonzero(y == 0)[:3], np.flatnonzero(y == 1)[:3]])
    learner.tell(first, y[first])
    learner.learn(50)
    assert learner.labelled_.tolist() == naive_queries(machine, X, y, first, 56, to_the_hyperplane)


def test_queries_of_a_naive_twin_for_several_classes(rng):
    X, y = data(rng, n_classes=3)
    machine = SVC(RBF(0.3), multi_class="ovr", tol=1e-9)
    first = np.concatenate([np.flatnonzero(y == k)[:2] for k in range(3)])
    learner = ActiveLearner(machine, X, y, stop=None)
    learner.tell(first, y[first])
    learner.learn(30)
    assert learner.labelled_.tolist() == naive_queries(machine, X, y, first, 36, to_the_hyperplane)


# --- asking and telling -----------------------------------------------------------------------------------


def test_asked_again_it_gives_the_same(rng):
    X, y = data(rng)
    learner = ActiveLearner(SVC(RBF(0.3)), X)
    assert (learner.query(3) == learner.query(3)).all()
    first = np.array([np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]])
    learner.tell(first, y[first])
    three = learner.query(3)
    assert (learner.query(3) == three).all()
    assert (learner.query(2) == three[:2]).all()
    assert (learner.query(5)[:3] == three).all()
    assert len(set(learner.query(5).tolist())) == 5
    learner.tell(three[0], y[three[0]])
    assert three[0] not in learner.query(5)


def test_one_by_one_and_together_learn_the_same(rng):
    X, y = data(rng)
    one, many = (ActiveLearner(SVC(RBF(0.3), tol=1e-9), X) for _ in range(2))
    for i in range(20):
        one.tell(i, y[i])
    many.tell(np.arange(20), y[:20])
    np.testing.assert_allclose(one.decision(), many.decision(), atol=1e-6)
    assert one.labels_.tolist() == many.labels_.tolist() == y[:20].tolist()
    assert [answer.n_labels for answer in many.history_] == list(range(1, 21))
    assert one.gain_.sum() == pytest.approx(many.gain_.sum()) == pytest.approx(one.history_[-1].objective)


def test_fits_go_on_from_the_last_one(rng):
    X, y = data(rng)
    learner = ActiveLearner(SVC(RBF(0.3), tol=1e-9), X, y, stop=None).learn(60)
    cold = clone(learner.estimator_).fit(X[learner.labelled_], learner.labels_)
    assert learner.estimator_.n_iter_ < cold.n_iter_


def test_the_machine_is_one_like_any_other(rng):
    """Who fits it to other samples has a fit from nothing."""
    X, y = data(rng)
    machine = ActiveLearner(SVC(RBF(0.3)), X, y, stop=None).learn(40).estimator_
    cold = clone(machine).fit(X[:50], y[:50])
    assert machine.fit(X[:50], y[:50]).n_iter_ == cold.n_iter_
    assert (machine.dual_coef_ == cold.dual_coef_).all()


def test_labels_by_their_places(rng):
    """A series with an index of its own is read from its first entry to its last."""
    X, y = data(rng, 30)
    learner = ActiveLearner(SVC(RBF(0.3)), X, pandas.Series(y, index=np.arange(30)[::-1])).learn(10)
    assert (learner.labels_ == y[learner.labelled_]).all()


def test_skipped_samples_are_not_asked_for(rng):
    X, y = data(rng, 30)
    learner = ActiveLearner(SVC(RBF(0.3)), X, lambda i: None if i % 3 == 0 else y[i], stop=None).learn()
    assert learner.stopped_ == "pool"
    assert (learner.labelled_ % 3 != 0).all()
    assert (np.sort(learner.skipped_) == np.arange(0, 30, 3)).all()
    assert len(learner.query()) == 0
    learner.skip(0)  # once more is not an error
    learner.tell(0, y[0])  # somebody could tell after all
    assert 0 not in learner.skipped_
    assert learner.labelled_[-1] == 0


def test_a_corrected_answer(rng):
    X, y = data(rng)
    wrong = y.copy()
    wrong[10:12] = 1 - wrong[10:12]
    learner, right = (ActiveLearner(SVC(RBF(0.3), tol=1e-9), X) for _ in range(2))
    for i in range(30):
        learner.tell(i, wrong[i])
        right.tell(i, y[i])
    before, n_mistakes = learner.query(), learner.history_[-1].mistakes
    for i in (10, 11):
        learner.correct(i, y[i])
    np.testing.assert_allclose(learner.decision(), right.decision(), atol=1e-6)
    assert (learner.query() == right.query()).all()
    assert (learner.query() != before).any()
    assert learner.labels_.tolist() == y[:30].tolist()
    assert [answer.answer for answer in learner.history_] == y[:30].tolist()
    mistakes = sum(a.predicted is not None and a.predicted != y[a.index] for a in learner.history_)
    assert learner.history_[-1].mistakes == mistakes != n_mistakes
    learner.tell(30, y[30])
    assert learner.history_[-1].gain == pytest.approx(learner.history_[-1].objective - right.history_[-1].objective)


def test_corrected_to_what_it_was(tmp_path):
    learner = ActiveLearner(SVC("linear"), np.arange(5.0)[:, np.newaxis], path=tmp_path / "answers")
    learner.tell([0, 4], ["a", "b"])
    machine, written = learner.estimator_, (tmp_path / "answers").read_bytes()
    learner.correct(4, "b")
    assert learner.estimator_ is machine
    assert (tmp_path / "answers").read_bytes() == written


def test_corrected_to_one_class():
    learner = ActiveLearner(SVC("linear"), np.arange(5.0)[:, np.newaxis])
    learner.tell([0, 4], ["a", "b"])
    learner.correct(4, "a")
    assert not learner.is_fitted
    assert learner.stopped_ == ""
    assert learner.classes_.tolist() == ["a"]
    assert len(learner.query()) == 1


def test_a_new_class_appears(rng):
    X, y = data(rng, n_classes=3)
    learner = ActiveLearner(SVC(RBF(0.3), tol=1e-9), X)
    order = np.argsort(y, kind="stable")[::10]
    for i in order:
        learner.tell(int(i), y[i])
    assert learner.classes_.tolist() == learner.estimator_.classes_.tolist() == [0, 1, 2]
    cold = SVC(RBF(0.3), tol=1e-9).fit(X[order], y[order])
    np.testing.assert_allclose(learner.decision(), cold.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("labels", [["no", "yes"], [0, 1], [-1.0, 2.0], [False, True], list(np.array(["u", "v"]))])
def test_kinds_of_labels(labels):
    learner = ActiveLearner(SVC("linear"), np.arange(7.0)[:, np.newaxis], classes=labels)
    learner.tell([0, 6], labels)
    learner.tell(1, np.array(labels)[0])
    assert learner.classes_.tolist() == list(labels)
    assert learner.labels_.tolist() == [labels[0], labels[1], labels[0]]
    assert learner.label_pool().tolist() == [labels[0]] * 4 + [labels[1]] * 3
    assert type(learner.history_[-1].answer) in (str, int, float, bool)


def test_answers_are_kept_as_their_classes_are():
    learner = ActiveLearner(SVC("linear"), np.arange(7.0)[:, np.newaxis], classes=[0, 1])
    learner.tell([0, 6], [False, 1.0])
    learner.correct(0, True)
    assert [type(answer.answer) for answer in learner.history_] == [int, int]


def test_the_only_answer_may_become_of_another_kind():
    learner = ActiveLearner(SVC("linear"), np.arange(7.0)[:, np.newaxis])
    learner.tell(0, "a")
    learner.correct(0, 1)
    learner.tell(6, 2)
    assert learner.classes_.tolist() == [1, 2]


def test_before_there_are_two_classes(rng):
    X, _ = data(rng)
    learner = ActiveLearner(SVC(RBF(0.3)), X)
    learner.tell(0, "a")
    learner.tell(1, "a")
    assert learner.history_[-1].predicted is None
    assert learner.history_[-1].objective == learner.history_[-1].gain == 0.0
    assert learner.history_[-1].band is None
    for ask in (learner.decision, learner.in_band, learner.label_pool, lambda: learner.predict(X)):
        with pytest.raises(NotFittedError, match="answers of two classes are needed, there are 1 among 2 answers"):
            ask()
    assert len(learner.query(3)) == 3
    learner.tell(2, "b")
    assert learner.history_[-1].gain == learner.history_[-1].objective > 0


def test_learn_takes_so_many_answers(rng):
    X, y = data(rng)
    learner = ActiveLearner(SVC(RBF(0.3)), X, y, stop=None, batch=4)
    assert len(learner.learn(6).labelled_) == 6
    assert len(learner.learn(3).labelled_) == 9


def test_a_callback_is_told_and_stops(rng):
    X, y = data(rng)
    seen = []

    def callback(learner):
        seen.append((len(learner.labelled_), learner.is_fitted, len(learner.history_)))
        return len(seen) == 4

    learner = ActiveLearner(SVC(RBF(0.3)), X, lambda i: None if i % 7 == 0 else y[i], stop=None, batch=3)
    learner.tell([1, 2], y[1:3])
    learner.learn(20, callback)
    assert seen[-1] == (len(learner.labelled_), True, len(learner.history_))
    assert len(learner.labelled_) + len(learner.skipped_) == 2 + 4 * 3
    assert len(learner.learn(2, lambda learner: False).labelled_) == seen[-1][0] + 2
    nobody = ActiveLearner(SVC(RBF(0.3)), X, lambda i: None)
    assert nobody.learn(callback=lambda learner: 1 / 0).stopped_ == "pool"  # nothing was learnt
    with pytest.raises(TypeError, match="callback must be callable or None, got 3"):
        learner.learn(2, 3)


@pytest.mark.parametrize("fault", [KeyboardInterrupt, "no class"])
def test_an_oracle_that_fails_within_a_batch(fault, rng):
    """What it has said before is learnt."""
    X, y = data(rng)
    asked = []

    def oracle(i):
        asked.append(i)
        if len(asked) == 8 and fault is KeyboardInterrupt:
            raise fault
        return fault if len(asked) == 8 else None if len(asked) == 6 else y[i]

    learner = ActiveLearner(SVC(RBF(0.3)), X, oracle, batch=4, classes=[0, 1])
    with pytest.raises((KeyboardInterrupt, ValueError)):
        learner.learn()
    assert learner.labelled_.tolist() == [*asked[:5], asked[6]]
    assert learner.skipped_.tolist() == asked[5:6]
    assert learner.is_fitted


def test_answers_that_the_machine_refuses(tmp_path):
    """A hard margin that there is not: the answers are kept, and put right."""
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    learner = ActiveLearner(SVC("linear", C=np.inf), X, path=tmp_path / "answers")
    learner.tell([0, 2], [0, 1])
    with pytest.warns(FitFailedWarning, match=r"SVC refuses the 3 answers so far, .* not separable"):
        learner.tell(3, 0)
    for same in (learner, ActiveLearner.load(tmp_path / "answers", SVC("linear", C=np.inf), X)):
        assert same.labelled_.tolist() == [0, 2, 3]
        assert not same.is_fitted
        assert same.stopped_ == ""
        assert same.query().tolist() == [1]
        assert np.isnan(same.history_[-1].objective)
        assert same.history_[-1].predicted == 1
        with pytest.raises(NotFittedError, match="the estimator refuses the 3 answers: The classes are not"):
            same.decision()
    learner.correct(3, 1)
    np.testing.assert_allclose(learner.decision(), [-1, 0, 1, 2], atol=1e-6)


@pytest.mark.parametrize("machine", [NuSVC(RBF(0.3), nu=0.5), SVC(RBF(0.3), probability=True)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_machines_that_need_more_than_two_answers(machine, rng):
    X, y = data(rng)
    learner = ActiveLearner(machine, X, y, stop=None).learn(25)
    assert learner.is_fitted
    assert learner.history_[-1].predicted is not None


def test_pickled_it_goes_on(rng):
    X, y = data(rng)
    learner = ActiveLearner(SVC(RBF(0.3)), X, y, stop=None).learn(10)
    again = pickle.loads(pickle.dumps(learner)).learn(10)
    assert again.labelled_.tolist() == learner.learn(10).labelled_.tolist()


def test_the_estimator_given_stays_as_it_was(rng):
    X, y = data(rng)
    machine = SVC("rbf")
    ActiveLearner(machine, X, y).learn(10)
    assert not hasattr(machine, "support_")
    assert machine.kernel == "rbf"


# --- what the dual objective does [CY eqs 1.62-1.63] ------------------------------------------------------


@pytest.mark.parametrize("machine", [SVC(RBF(2.0), C=np.inf), SVC(RBF(0.5), C=1.0), SVC("linear", C=0.5)])
def test_the_objective_rises_inside_the_band_whatever_the_label(machine, rng):
    X = rng.standard_normal((60, 2))
    y = (X[:, 0] > 0).astype(int)
    machine = clone(machine).set_params(tol=1e-10)
    inside = outside = 0
    for i in range(20, 60):
        for label in (0, 1):
            learner = ActiveLearner(machine, X)
            learner.tell(np.arange(20), y[:20])
            value = learner.decision()[i]
            predicted = int(value > 0)
            learner.tell(i, label)
            gain, record = learner.gain_[-1], learner.history_[-1]
            assert record.was_inside_band == (abs(value) < 1 - 1e-3)
            assert record.predicted == predicted
            if abs(value) < 1 - 1e-6 or predicted != label:
                assert gain > 0
                inside += abs(value) < 1
            elif abs(value) > 1 + 1e-6:
                assert gain == pytest.approx(0.0, abs=1e-7)
                outside += 1
    assert inside
    assert outside


def test_the_gain_is_that_of_the_margin(rng):
    """Hard margin: half the difference of 1 / margin^2."""
    X = rng.standard_normal((60, 2))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    learner = ActiveLearner(SVC("linear", C=np.inf, tol=1e-10), X, y, stop=None).learn(10)
    before = learner.estimator_.margin_
    learner.learn(1)
    expected = 0.5 * (1 / learner.estimator_.margin_**2 - 1 / before**2)
    assert expected > 0
    assert learner.gain_[-1] == pytest.approx(expected, rel=1e-6)


# --- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rule": "nearest"}, "rule must be 'closest' or 'random' .* got 'nearest'"),
        ({"stop": "empty"}, "stop must be 'band' or 'objective' .* got 'empty'"),
        ({"stop": ("band", 3)}, "stop must be .* got 3"),
        ({"start": "far"}, "start must be 'random' or 'spread' or a rule, got 'far'"),
        ({"budget": 0}, "budget must be an int >= 1 or None, got 0"),
        ({"batch": 1.5}, "batch must be an int >= 1, got 1.5"),
        ({"diversity": 2}, "diversity must be a float >= 0 and <= 1, got 2"),
        ({"classes": ["a"]}, r"classes must be at least two, got \['a'\]"),
        ({"classes": 2}, "classes must be a sequence of at least two, got 2"),
        ({"classes": ["a", 1]}, r"classes must be all strings or all numbers, got \['a', 1\]"),
        ({"memory": -1}, "memory must be"),
        ({"n_threads": 0}, "n_threads must be"),
        ({"random_state": -1}, r"random_state must be an int >= 0 and < 2\*\*32, .* got -1"),
        ({"oracle": [1, 2]}, "oracle must be callable or have one label for each of 4 samples"),
        ({"pool": np.empty((0, 2))}, "pool must have at least one sample"),
        ({"estimator": SVC("precomputed")}, "pool must be the square kernel matrix"),
        ({"estimator": SVC(C=-1.0)}, "C must be a float > 0, got -1.0"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        ActiveLearner(**{"estimator": SVC(), "pool": np.zeros((4, 2)), **settings})


def test_bad_estimators_and_pools():
    with pytest.raises(TypeError, match=r"estimator must be a classifier, got SVR\(\)"):
        ActiveLearner(SVR(), np.zeros((4, 2)))
    for other in ("svc", SVC):
        with pytest.raises(TypeError, match=f"estimator must be a classifier, got {other!r}"):
            ActiveLearner(other, np.zeros((4, 2)))
    with pytest.raises(TypeError, match="pool must be a sequence of samples, got 3"):
        ActiveLearner(SVC(), 3)


@pytest.mark.parametrize(
    ("estimator", "pool", "message"),
    [
        (SVC(RBF(0.3)), [[0.0], [np.nan], [1.0]], "Input X contains NaN"),
        (LinearSVC(), [[0.0], [np.nan], [1.0]], "Input X contains NaN"),
        (SVC(RBF(0.3)), [0.0, 1.0, 2.0], "Expected 2D array, got 1D array"),
        (SVC(Spectrum(2)), ["abc", None, "abd"], "got None as sample 1"),
        (SVC("precomputed"), [[1.0, 0.0], [0.5, 1.0]], "must be symmetric"),
    ],
)
def test_pools_that_no_fit_would_take(estimator, pool, message):
    """They are refused at once, and not after some answers."""
    pool = pool if isinstance(pool[0], str) else np.array(pool)
    with pytest.raises(ValueError, match=rf"pool must be samples that \w+ takes: .*{message}"):
        ActiveLearner(estimator, pool)


@pytest.mark.parametrize(
    ("i", "y", "message"),
    [
        (4, "a", "i must be from 0 to 3, the samples of the pool, got 4"),
        (-1, "a", "i must be from 0 to 3, the samples of the pool, got -1"),
        (1.0, "a", "i must be the number of a sample or an array of them, got 1.0"),
        ([2, 2], ["a", "a"], r"i must name every sample once, got \[2, 2\]"),
        (0, "a", r"Sample 0 has been answered already, as 'a'; correct\(0, ...\) changes an answer"),
        (0, "b", r"Sample 0 has been answered already, as 'a'; correct\(0, ...\) changes an answer"),
        (1, "c", r"y must be one of the classes \['a', 'b'\], got 'c'"),
        (1, None, "y must be a str, int, bool or whole float, got None"),
        (1, np.nan, "y must be a str, int, bool or whole float, got nan"),
        (1, 0.5, "y must be a str, int, bool or whole float, got 0.5"),
        ([1, 2], ["a"], "y must have one class for each of 2 samples, got 1"),
        ([1, 2], "a", "y must have one class for each of 2 samples, got 1"),
        ([1, 2], {"a", "b"}, "y must be a class, or an array of classes in the order of i, got {"),
        ([1, 2], {1: "a", 2: "b"}, "y must be a class, or an array of classes in the order of i, got {1"),
    ],
)
def test_bad_answers(i, y, message):
    learner = ActiveLearner(SVC(), np.arange(8.0).reshape(4, 2), classes=["a", "b"])
    learner.tell(0, "a")
    with pytest.raises(ValueError, match=message):
        learner.tell(i, y)
    assert learner.labelled_.tolist() == [0]


def test_other_bad_calls():
    learner = ActiveLearner(SVC(), np.arange(8.0).reshape(4, 2))
    learner.tell(0, "a")
    with pytest.raises(ValueError, match="y must be all strings or all numbers"):
        learner.tell(1, 1)
    with pytest.raises(ValueError, match="y must be all strings or all numbers"):
        learner.tell([1, 2], ["b", 2.0])
    with pytest.raises(ValueError, match=r"Sample 0 has been answered already"):
        learner.skip(0)
    with pytest.raises(ValueError, match=r"Sample 1 has not been answered yet; tell\(1, ...\) does that"):
        learner.correct(1, "a")
    with pytest.raises(ValueError, match=r"i must be the number of one sample, got \[0, 1\]"):
        learner.correct([0, 1], ["a", "a"])
    with pytest.raises(ValueError, match="learn must be True or False, got 'no'"):
        learner.tell(1, "a", learn="no")
    with pytest.raises(ValueError, match="k must be an int >= 1, got 0"):
        learner.query(0)
    with pytest.raises(ValueError, match="learn needs an oracle"):
        learner.learn()
    with pytest.raises(ValueError, match="n must be an int >= 1 or None, got 0"):
        ActiveLearner(SVC(), np.zeros((4, 2)), [0, 1, 0, 1]).learn(0)
    assert learner.classes_.tolist() == ["a"]
