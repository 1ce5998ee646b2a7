"""Decision values of the pool follow the machine."""

import tracemalloc

import numpy as np
import pytest
import sklearn.svm
from scipy.sparse import csr_array
from sklearn.naive_bayes import GaussianNB

from mercer import SVC, KernelLogisticRegression, LinearSVC, NuSVC, ParzenClassifier
from mercer.active import ActiveLearner
from mercer.active import pool as module
from mercer.kernels import RBF, Spectrum
from mercer.kernels.samples import take

ESTIMATORS = {
    "SVC": lambda: SVC(RBF(0.3)),
    "SVC of scale": lambda: SVC("rbf"),
    "SVC hard": lambda: SVC(RBF(2.0), C=np.inf),
    "SVC probability": lambda: SVC(RBF(0.3), probability=True),
    "NuSVC": lambda: NuSVC(RBF(0.3), nu=0.1),
    "LinearSVC": lambda: LinearSVC(),
    "KernelLogisticRegression": lambda: KernelLogisticRegression(RBF(0.3)),
    "ParzenClassifier": lambda: ParzenClassifier(RBF(0.3)),
    "SVC of scikit-learn": lambda: sklearn.svm.SVC(gamma=0.3),
    "SVC ovr": lambda: SVC(RBF(0.3), multi_class="ovr"),
    "SVC dag": lambda: SVC(RBF(0.3), multi_class="dag"),
    "SVC ecoc": lambda: SVC(RBF(0.3), multi_class="ecoc"),
    "SVC crammer_singer": lambda: SVC(RBF(0.3), multi_class="crammer_singer"),
}


def data(rng, n_classes=2, n=150):
    X = rng.standard_normal((n, 3))
    return X, np.digitize(X[:, 0] + 0.5 * X[:, 1] ** 2, np.quantile(X[:, 0], np.arange(1, n_classes) / n_classes))


def first_of_each(y, n=6):
    return np.concatenate([np.flatnonzero(y == label)[:n] for label in np.unique(y)])


@pytest.mark.parametrize("memory", ["auto", 0.01])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_values_are_those_of_the_machine(name, n_classes, memory, rng):
    X, y = data(rng, n_classes)
    learner = ActiveLearner(ESTIMATORS[name](), X, y, stop=None, memory=memory)
    learner.tell(first_of_each(y), y[first_of_each(y)])
    for _ in range(3):
        learner.learn(4)
        machine = learner.estimator_
        np.testing.assert_allclose(learner.decision(), machine.decision_function(X), rtol=0, atol=1e-9)
        rest = np.setdiff1d(np.arange(len(y)), learner.labelled_)
        assert (learner.label_pool()[rest] == machine.predict(X)[rest]).all()
        assert (learner.label_pool()[learner.labelled_] == y[learner.labelled_]).all()
        assert (learner.predict(X) == machine.predict(X)).all()


def test_columns_that_do_not_fit_are_made_again(rng, monkeypatch):
    """Most columns are not kept, and their part is corrected many times before it is computed afresh."""
    X, y = data(rng)
    learner = ActiveLearner(SVC(RBF(0.3)), X, y, stop=None, memory=150 * 8 * 5.5 / 2**20)
    learner.learn(60)
    assert len(learner._lessons.follower.scores()._columns) == 5
    np.testing.assert_allclose(learner.decision(), learner.estimator_.decision_function(X), rtol=0, atol=1e-9)
    learner._lessons.follower.scores()._sums += 1.0  # an error, as rounding might make one: it goes away by itself
    monkeypatch.setattr(module, "UPDATES", 3)
    learner.learn(4)
    np.testing.assert_allclose(learner.decision(), learner.estimator_.decision_function(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", ["decision_function", "_raw_decision", "_decision_of", "_expansions_of"])
def test_machines_that_decide_in_their_own_way_are_asked(method, rng):
    """Of an heir whose decision values are not the sums of before, they are its own."""

    def twice(self, *samples):
        return 2.0 * getattr(KernelLogisticRegression, method)(self, *samples)

    X, y = data(rng, n=60)
    heir = type("Heir", (KernelLogisticRegression,), {"__init__": KernelLogisticRegression.__init__, method: twice})
    learner = ActiveLearner(heir(RBF(0.3)), X, y, stop=None).learn(15)
    np.testing.assert_array_equal(learner.decision(), learner.estimator_.decision_function(X))


def test_an_interrupted_update_starts_afresh(rng, monkeypatch):
    X, y = data(rng)
    learner = ActiveLearner(SVC(RBF(0.3)), X, y, stop=None).learn(20)

    def interrupted(self, samples, changes):
        self._sums += 1.0
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module.ExpansionScores, "_add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            learner.learn(1)
    assert len(learner.labelled_) == 21
    np.testing.assert_allclose(learner.decision(), learner.estimator_.decision_function(X), rtol=0, atol=1e-9)
    assert learner.history_[-1].band == learner.in_band().sum()


def test_kernel_values_are_computed_once(rng):
    """One column for every support vector there has been, and no more."""
    X, y = data(rng)
    calls = []

    class Counting(RBF):
        def _matrix(self, A, B):
            if len(B) == len(X):
                calls.append(len(A))
            return super()._matrix(A, B)

    learner = ActiveLearner(SVC(Counting(0.3)), X, y, stop=None).learn(40)
    learner.decision(), learner.query(), learner.in_band()
    assert sum(calls) == len(learner._lessons.follower.scores()._columns) <= 40


@pytest.mark.parametrize("batch", [1, 5])
def test_any_samples(batch, rng):
    """Vectors, sparse vectors, a kernel matrix and strings, one after the other asked for the same."""
    X, y = data(rng)
    settings = {"stop": None, "batch": batch}
    plain = ActiveLearner(SVC(RBF(0.3)), X, y, **settings).learn(30)
    sparse = ActiveLearner(SVC(RBF(0.3)), csr_array(X), y, **settings).learn(30)
    matrix = ActiveLearner(SVC("precomputed"), RBF(0.3)(X), y, **settings).learn(30)
    theirs = ActiveLearner(sklearn.svm.SVC(kernel="precomputed"), RBF(0.3)(X), y, **settings).learn(30)
    assert (
        plain.labelled_.tolist() == sparse.labelled_.tolist() == matrix.labelled_.tolist() == theirs.labelled_.tolist()
    )
    assert (matrix.predict(RBF(0.3)(X)) == plain.predict(X)).all()

    strings = ["".join(rng.choice(list("acgt"), 12)) for _ in range(100)]
    labels = ["cg" in string for string in strings]
    learner = ActiveLearner(SVC(Spectrum(2)), strings, labels, start="spread", **settings).learn(30)
    np.testing.assert_allclose(learner.decision(), learner.estimator_.decision_function(strings), rtol=0, atol=1e-9)
    assert len(set(learner.labelled_.tolist())) == 30


def test_closeness_is_to_the_hyperplane_that_decides(rng):
    X, y = data(rng, 4)
    learner = ActiveLearner(SVC(RBF(0.3)), X, y, stop=None)
    learner.tell(first_of_each(y), y[first_of_each(y)])
    machine = learner.estimator_
    raw, scores = machine._raw_decision(X), machine.decision_function(X)
    for i in range(len(X)):
        a, b = sorted(np.argsort(scores[i])[-2:])
        pair = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)].index((a, b))
        assert learner.closeness()[i] == pytest.approx(abs(raw[i, pair]), abs=1e-9)

    learner = ActiveLearner(SVC(RBF(0.3), multi_class="ovr"), X, y, stop=None)
    learner.tell(first_of_each(y), y[first_of_each(y)])
    best = np.sort(learner.estimator_.decision_function(X), axis=1)
    np.testing.assert_allclose(learner.closeness(), 0.5 * (best[:, -1] - best[:, -2]), atol=1e-9)


def test_band(rng):
    X, y = data(rng)
    learner = ActiveLearner(SVC(RBF(0.3)), X, y, stop=None).learn(30)
    learner.skip(learner.query())
    open_ = np.ones(len(X), dtype=bool)
    open_[learner.seen_] = False
    inside = open_ & (np.abs(learner.estimator_.decision_function(X)) < 1 - 1e-3)
    assert (learner.in_band() == inside).all()
    assert 0 < inside.sum() < open_.sum()


def test_estimators_of_probabilities_alone(rng):
    X, y = data(rng)
    learner = ActiveLearner(GaussianNB(), X, y, stop=None).learn(20)
    chances = learner.estimator_.predict_proba(X)
    np.testing.assert_allclose(learner.closeness(), abs(chances[:, 1] - chances[:, 0]))
    assert learner.history_[-1].band is None
    with pytest.raises(ValueError, match="margin band needs an estimator with decision_function"):
        learner.in_band()
    with pytest.raises(ValueError, match="stop='band' needs an estimator with decision_function"):
        ActiveLearner(GaussianNB(), X, y)


# --- large pools ------------------------------------------------------------------------------------------

MILLION = 1_000_000


@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_a_million_samples_within_the_memory(container, rng):
    """Beyond the columns that `memory` allows for, some vectors as long as the pool, however many answers there are."""
    X = rng.standard_normal((MILLION, 3), dtype=np.float32)
    y = X[:, 0] > 0.3
    X[np.abs(X) < 1] = 0
    pool, memory = container(X), 32
    tracemalloc.start()
    learner = ActiveLearner(SVC(RBF(0.5)), pool, y, stop=None, memory=memory, start="spread", batch=4).learn(32)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    vector = 8 * MILLION / 2**20
    assert len(learner.estimator_.support_) > 16  # kernel values of which would take more
    assert memory < peak / 2**20 < memory + 9 * vector
    some = rng.integers(0, MILLION, 1000)
    np.testing.assert_allclose(
        learner.decision()[some], learner.estimator_.decision_function(take(pool, some)), atol=1e-5
    )
    closest = np.argmin(np.where(np.isin(np.arange(MILLION), learner.labelled_), np.inf, np.abs(learner.decision())))
    assert learner.query(1) == closest


def test_other_estimators_see_the_pool_in_blocks(rng, monkeypatch):
    monkeypatch.setattr("mercer.kernels.samples.BLOCK_ENTRIES", 256 * 100)
    X, y = data(rng, n=950)
    seen = []

    class Watched(GaussianNB):
        def predict_proba(self, X):
            seen.append(len(X))
            return super().predict_proba(X)

    learner = ActiveLearner(Watched(), X, y, stop=None, rule="probability").learn(10)
    assert max(seen) == 100
    assert len(learner.probabilities()) == len(learner.decision()) == len(learner.label_pool()) == 950
    np.testing.assert_array_equal(learner.probabilities(), learner.estimator_.predict_proba(X))
    rest = np.setdiff1d(np.arange(950), learner.labelled_)
    assert (learner.label_pool()[rest] == learner.estimator_.predict(X)[rest]).all()


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_several_classes_in_blocks(scheme, rng, monkeypatch):
    X, y = data(rng, 4)
    learner = ActiveLearner(SVC(RBF(0.3), multi_class=scheme), X, y, stop=None, memory=0.01)
    learner.tell(first_of_each(y), y[first_of_each(y)])
    expected, values = learner.closeness(), learner.decision()
    monkeypatch.setattr("mercer.kernels.samples.BLOCK_ENTRIES", 70)
    again = ActiveLearner(SVC(RBF(0.3), multi_class=scheme), X, y, stop=None, memory=0.01)
    again.tell(first_of_each(y), y[first_of_each(y)])
    np.testing.assert_allclose(again.closeness(), expected, atol=1e-12)
    np.testing.assert_allclose(again.decision(), values, atol=1e-12)
