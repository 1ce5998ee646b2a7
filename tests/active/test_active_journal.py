"""Answers on disk: a learner goes on where it stopped."""

import shutil
import signal
import subprocess
import sys
import time
from textwrap import dedent

import numpy as np
import pytest

from mercer import SVC, KernelLogisticRegression
from mercer.active import ActiveLearner, MistakesLevel
from mercer.active.lessons import Lessons
from mercer.errors import JournalError
from mercer.kernels import RBF

MACHINE = SVC(RBF(0.3))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "answers.jsonl"


@pytest.fixture
def data(rng):
    X = rng.standard_normal((150, 3))
    return X, np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.4, "hit", "none")


@pytest.mark.parametrize(
    "settings", [{}, {"rule": "random"}, {"start": "spread", "batch": 3}, {"rule": "random", "random_state": None}]
)
def test_goes_on_with_the_same_question(settings, path, data):
    X, y = data
    learner = ActiveLearner(MACHINE, X, y, path=path, **settings).learn(20)
    learner.skip(learner.query())
    learner.correct(int(learner.labelled_[3]), "none")
    two = learner.query(2)
    learner.tell(two, y[two])
    for again in (ActiveLearner.load(path, MACHINE, X, y), ActiveLearner(MACHINE, X, y, path=path, **settings)):
        assert again.labelled_.tolist() == learner.labelled_.tolist()
        assert again.labels_.tolist() == learner.labels_.tolist()
        assert again.skipped_.tolist() == learner.skipped_.tolist()
        assert again.history_ == learner.history_
        assert again.stopped_ == learner.stopped_
        assert (again.query(5) == learner.query(5)).all()
        assert (again.estimator_.dual_coef_ == learner.estimator_.dual_coef_).all()
        np.testing.assert_allclose(again.decision(), learner.decision(), atol=1e-12)


@pytest.mark.parametrize(
    ("turns", "skips", "repeated"),
    [(33, False, 2), (33, True, 2), (64, False, 33), (64, True, 1), (65, False, 2), (100, True, 5)],
)
def test_few_fits_are_repeated(turns, skips, repeated, path, data, monkeypatch):
    """Every 32nd fit is one from nothing: those from there on are repeated, to the last bit, and no others."""
    X, y = data
    learner = ActiveLearner(MACHINE, X, y, path=path, stop=None).learn(turns - 2)
    learner.correct(int(learner.labelled_[3]), "none" if learner.labels_[3] == "hit" else "hit")
    learner.skip(learner.query())
    learner.learn(1)
    if skips:  # the line of which tells what came of the last answer
        learner.skip(learner.query())
    fits, fit = [], SVC.fit
    with monkeypatch.context() as patch:
        patch.setattr(SVC, "fit", lambda self, X, y: fits.append(len(y)) or fit(self, X, y))
        again = ActiveLearner.load(shutil.copy(path, path.with_name("copy")), MACHINE, X, y)
    assert len(fits) == repeated
    assert again.history_ == learner.history_
    assert (again.estimator_.dual_coef_ == learner.estimator_.dual_coef_).all()
    assert (again.query(3) == learner.query(3)).all()
    assert again.learn(10).labelled_.tolist() == learner.learn(10).labelled_.tolist()
    assert (again.estimator_.dual_coef_ == learner.estimator_.dual_coef_).all()


def test_other_estimators_are_fitted_for_the_last_answers(path, data, monkeypatch):
    X, y = data
    ActiveLearner(MACHINE, X, y, path=path).learn(20)
    fits, fit = [], KernelLogisticRegression.fit
    monkeypatch.setattr(KernelLogisticRegression, "fit", lambda self, X, y: fits.append(len(y)) or fit(self, X, y))
    again = ActiveLearner.load(path, KernelLogisticRegression(RBF(0.3)), X, y)
    assert fits == [19, 20]
    expected = KernelLogisticRegression(RBF(0.3)).fit(X[again.labelled_], again.labels_).decision_function(X)
    np.testing.assert_allclose(again.decision(), expected, atol=1e-9)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_answer_is_on_disk_before_it_is_learnt(error, path, data, monkeypatch):
    """A fit that is interrupted is made up for, by those who go on and by those who come back."""
    X, y = data
    learner, whole = (ActiveLearner(MACHINE, X, y, path=where).learn(12) for where in (path, None))

    def interrupted(self, X, y):
        raise error

    i, other = learner.query(2).tolist()
    with monkeypatch.context() as patch:
        patch.setattr(SVC, "fit", interrupted)
        with pytest.raises(error):
            learner.tell(i, y[i])
        with pytest.raises(error):
            learner.tell(other, y[other])
        assert learner.labelled_[-2:].tolist() == [i, other]
        assert np.isnan(learner.gain_[-2:]).all()
    whole.tell([i, other], y[[i, other]])  # what is learnt together is as if it was told together
    again = ActiveLearner.load(path, MACHINE, X, y)
    for one in (again, learner):
        assert (one.query(3) == whole.query(3)).all()
        assert one.history_ == whole.history_

    other = int(learner.labelled_[5])
    with monkeypatch.context() as patch:
        patch.setattr(SVC, "fit", interrupted)
        with pytest.raises(error):
            learner.correct(other, "none" if y[other] == "hit" else "hit")
        learner.skip(149)  # for which nothing is fitted
    whole.skip(149)
    whole.correct(other, "none" if y[other] == "hit" else "hit")
    again = ActiveLearner.load(path, MACHINE, X, y)
    for one in (again, learner):
        assert (one.estimator_.dual_coef_ == whole.estimator_.dual_coef_).all()
        assert one.history_ == whole.history_


@pytest.mark.parametrize("n", [1, 20, 40])
def test_answers_that_wait_are_on_disk_and_learnt_the_same(n, path, data, monkeypatch):
    """Also if the turns that begin with a fit from nothing are among those that nobody has fitted."""
    X, y = data
    learner = ActiveLearner(MACHINE, X, y, path=path, stop=None)
    learner.tell(0, y[0])
    fits, fit = [], SVC.fit
    with monkeypatch.context() as patch:
        patch.setattr(SVC, "fit", lambda self, X, y: fits.append(len(y)) or fit(self, X, y))
        for k in range(n):
            (i,) = learner.query(1) if k % 5 < 2 else learner.query(2)[1:]
            if k % 7 == 3:
                learner.skip(int(np.setdiff1d(np.arange(150), [*learner.seen_, i])[-1]))
            learner.tell(i, y[i], learn=k % 3 == 2)  # the turns 32 and 64 are not
            j = int(np.setdiff1d(np.arange(150), learner.seen_)[0])
            learner.tell(j, y[j], learn=False)
        if n > 1:
            learner.correct(int(learner.labelled_[-1]), "hit")
            learner.tell(int(np.setdiff1d(np.arange(150), learner.seen_)[0]), "none", learn=False)
    assert len(fits) < 2 * n
    again = ActiveLearner.load(shutil.copy(path, path.with_name("copy")), MACHINE, X, y)
    assert (again.query(3) == learner.query(3)).all()
    assert again.history_ == learner.history_
    assert not np.isnan(learner.gain_).any()
    if n > 1:
        assert (again.estimator_.dual_coef_ == learner.estimator_.dual_coef_).all()


def test_an_interrupted_correction_is_learnt_with_what_is_told_next(path, data, monkeypatch):
    X, y = data
    learner = ActiveLearner(MACHINE, X, y, path=path, stop=None).learn(25)
    (i,) = learner.query()
    with monkeypatch.context() as patch:
        patch.setattr(SVC, "fit", lambda self, X, y: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            learner.correct(int(learner.labelled_[3]), "none" if learner.labels_[3] == "hit" else "hit")
    learner.tell(i, y[i])
    again = ActiveLearner.load(path, MACHINE, X, y)
    assert again.history_ == learner.history_
    assert (again.estimator_.dual_coef_ == learner.estimator_.dual_coef_).all()


def test_gains_add_up_also_if_the_band_could_not_be_counted(data, monkeypatch):
    X, y = data
    learner = ActiveLearner(MACHINE, X, y, stop=None).learn(25)
    before, (i, j) = learner.history_[-1].objective, learner.query(2).tolist()
    with monkeypatch.context() as patch:
        patch.setattr(Lessons, "in_band", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            learner.tell(i, y[i])
    learner.tell(j, y[j])
    assert learner.gain_[-2:].sum() == pytest.approx(learner.history_[-1].objective - before)
    assert learner.gain_[-1] > 0.1


def test_before_two_classes_are_known(path, data):
    X, _ = data
    learner = ActiveLearner(MACHINE, X, path=path)
    learner.tell(learner.query(), "hit")
    learner.skip(learner.query())
    assert (ActiveLearner.load(path, MACHINE, X).query(4) == learner.query(4)).all()


def test_skipped_again_nothing_is_written(path, data):
    X, _ = data
    learner = ActiveLearner(MACHINE, X, path=path)
    learner.skip([3, 5])
    written = path.read_bytes()
    learner.skip([5, 3])
    assert path.read_bytes() == written


def test_settings_come_back(path, data):
    X, y = data
    ActiveLearner(MACHINE, X, path=path, rule="farthest", stop=("band", "mistakes"), budget=9, classes=["hit", "none"])
    again = ActiveLearner.load(path, MACHINE, X, y)
    assert (again.rule, again.stop, again.budget) == ("farthest", ["band", "mistakes"], 9)
    assert again.classes_.tolist() == ["hit", "none"]
    assert ActiveLearner.load(path, MACHINE, X, budget=5).budget == 5


def test_rules_of_ones_own_have_to_be_given(path, data):
    X, _ = data
    ActiveLearner(MACHINE, X, path=path, stop=MistakesLevel(3))
    with pytest.raises(ValueError, match=r"stop must be given: the learner of '.*answers.jsonl' had one of its own"):
        ActiveLearner.load(path, MACHINE, X)
    assert ActiveLearner.load(path, MACHINE, X, stop=None).stop is None


@pytest.mark.parametrize("labels", [["no", "yes"], [0, 1], [0.0, 1.0], [False, True]])
def test_labels_come_back_as_they_were(labels, path):
    X = np.arange(5.0)[:, np.newaxis]
    learner = ActiveLearner(SVC("linear"), X, path=path)
    learner.tell([0, 4], np.array(labels))
    again = ActiveLearner.load(path, SVC("linear"), X)
    assert again.labels_.tolist() == labels
    assert [type(label) for label in again.labels_.tolist()] == [type(label) for label in labels]


def test_another_estimator_learns_the_answers(path, data):
    X, y = data
    learner = ActiveLearner(MACHINE, X, y, path=path).learn(20)
    again = ActiveLearner.load(path, SVC("linear"), X, y)
    assert again.history_[:-1] == learner.history_[:-1]
    before = SVC("linear").fit(X[learner.labelled_[:-1]], learner.labels_[:-1]).result_.dual_objective
    assert again.history_[-1].objective == again.estimator_.result_.dual_objective
    assert again.gain_[-1] == pytest.approx(again.history_[-1].objective - before, abs=1e-2)
    expected = SVC("linear").fit(X[learner.labelled_], learner.labels_)
    np.testing.assert_allclose(again.decision(), expected.decision_function(X), atol=1e-2)


# --- what can go wrong ------------------------------------------------------------------------------------


@pytest.mark.parametrize("lost", [1, 20])
def test_a_torn_last_line_is_dropped(lost, path, data):
    X, y = data
    learner = ActiveLearner(MACHINE, X, y, path=path).learn(10)
    whole = path.read_bytes()
    path.write_bytes(whole[:-lost])
    with pytest.warns(RuntimeWarning, match=r"last line of journal '.*answers.jsonl' is damaged"):
        again = ActiveLearner.load(path, MACHINE, X, y)
    assert again.labelled_.tolist() == learner.labelled_[:9].tolist()
    assert again.query()[0] == learner.labelled_[9]
    again.tell(again.query(), y[again.query()])
    assert path.read_bytes() == whole


def test_a_torn_first_line_is_begun_again(path, data):
    X, _ = data
    ActiveLearner(MACHINE, X, path=path)
    whole = path.read_bytes()
    path.write_bytes(whole[:30])
    assert len(ActiveLearner(MACHINE, X, path=path).labelled_) == 0
    assert path.read_bytes() == whole


def test_another_pool_is_refused(path, data):
    X, y = data
    ActiveLearner(MACHINE, X, y, path=path).learn(5)
    before, other = path.read_bytes(), X.copy()
    other[7, 1] += 1e-9
    with pytest.raises(JournalError, match=r"'.*answers.jsonl' is of other samples; give another file"):
        ActiveLearner.load(path, MACHINE, other)
    with pytest.raises(JournalError, match="is of a pool of 150 samples, this one has 149"):
        ActiveLearner(MACHINE, X[:-1], path=path)
    assert path.read_bytes() == before


def test_other_classes_are_refused(path, data):
    X, _ = data
    ActiveLearner(MACHINE, X, path=path, classes=["hit", "none"])
    with pytest.raises(JournalError, match=r"is of the classes \['hit', 'none'\], got classes=\['a', 'b'\]"):
        ActiveLearner(MACHINE, X, path=path, classes=["a", "b"])


def test_damage_and_other_files_are_refused(path, data):
    X, y = data
    ActiveLearner(MACHINE, X, y, path=path).learn(5)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], lines[2].replace(b"tell", b"told"), *lines[3:]]))
    with pytest.raises(JournalError, match="damaged in line 3 of 6"):
        ActiveLearner.load(path, MACHINE, X)
    path.write_text("my notes\n")
    for make in (ActiveLearner.load, lambda path, machine, X: ActiveLearner(machine, X, path=path)):
        with pytest.raises(JournalError, match="is not the journal of an active learner"):
            make(path, MACHINE, X)
    assert path.read_text() == "my notes\n"
    with pytest.raises(FileNotFoundError, match="There is no journal"):
        ActiveLearner.load(path.with_name("other"), MACHINE, X)


def test_two_learners_on_one_file(path, data):
    X, y = data
    one = ActiveLearner(MACHINE, X, y, path=path).learn(5)
    two = ActiveLearner(MACHINE, X, y, path=path)
    two.learn(1)
    labelled = one.labelled_.tolist()
    with pytest.raises(JournalError, match="has been written to by another learner meanwhile; load it again"):
        one.learn(1)
    assert one.labelled_.tolist() == labelled
    assert ActiveLearner.load(path, MACHINE, X).labelled_.tolist() == two.labelled_.tolist()


def half(file, text):
    """What a disk does that is full."""
    file.seek(0, 2)
    file.write(text[: len(text) // 2])
    raise OSError("no space")


def test_a_full_disk_at_the_second_answer(path, monkeypatch):
    """The first machine there would have been is not taken for another one that comes instead."""
    X = np.arange(4.0)[:, np.newaxis]
    learner = ActiveLearner(SVC("linear"), X, path=path)
    learner.tell(0, 0)
    with monkeypatch.context() as patch:
        patch.setattr("mercer.active.journal.append", half)
        with pytest.raises(OSError, match="no space"):
            learner.tell(1, 1)
    learner.tell(3, 1)
    np.testing.assert_allclose(learner.decision(), learner.estimator_.decision_function(X), atol=1e-9)


def test_a_full_disk_loses_nothing(path, data, monkeypatch):
    X, y = data
    learner = ActiveLearner(MACHINE, X, y, path=path).learn(5)
    question = learner.query()
    with monkeypatch.context() as patch:
        patch.setattr("mercer.active.journal.append", half)
        with pytest.raises(OSError, match="no space"):
            learner.tell(question, y[question])
    assert len(learner.labelled_) == len(learner.history_) == 5
    assert (learner.query() == question).all()
    other = learner.query(2)[1]
    learner.tell(other, y[other])
    np.testing.assert_allclose(learner.decision(), learner.estimator_.decision_function(X), atol=1e-9)
    assert ActiveLearner.load(path, MACHINE, X).labelled_.tolist() == learner.labelled_.tolist()


def test_killed_while_it_learns(path):
    """Answers that were told are there, whenever the process dies, and the questions go on as without it."""
    script = dedent(
        """
        import sys, time
        import numpy as np
        from mercer import SVC, KernelLogisticRegression
        from mercer.kernels import RBF
        from mercer.active import ActiveLearner
        X = np.random.default_rng(5).standard_normal((200, 3))
        oracle = lambda i: bool(X[i, 0] > 0)
        learner = ActiveLearner(SVC(RBF(0.3)), X, oracle, stop=None, path=sys.argv[1] or None)
        learner.learn(int(sys.argv[2]))
        print(learner.labelled_.tolist())
        """
    )

    def start(path, n):
        return subprocess.Popen([sys.executable, "-c", script, str(path), str(n)], stdout=subprocess.PIPE, text=True)

    running = start(path, 190)
    while not path.exists() or path.read_bytes().count(b"\n") < 12:
        assert running.poll() is None
        time.sleep(0.002)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    told = path.read_bytes().count(b"\n") - 1
    assert 11 <= told < 190
    resumed, whole = start(path, 60 - told) if told < 60 else start(path, 1), start("", 190)
    resumed, whole = eval(resumed.communicate()[0]), eval(whole.communicate()[0])
    assert resumed == whole[: len(resumed)]
