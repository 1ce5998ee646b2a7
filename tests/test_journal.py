"""The journal of a search: what is written comes back, whatever happens to the process or to the last line."""

import json
import os
import signal
import subprocess
import sys
import time
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import lines
from mercer.errors import JournalError
from mercer.selection import journal as module
from mercer.selection.journal import Journal

SEARCH = {"data": "0123abcd", "estimator": "SVC", "grid": {"C": [1.0, 2.0]}, "cv": "KFold(5)", "version": "0.1.0"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "search.jsonl"


def read(path):
    with Journal.open(path, SEARCH) as journal:
        return journal.finished


def written(path, n_cells):
    """The bytes of a journal of some cells."""
    with Journal.open(path, SEARCH) as journal:
        for cell in range(n_cells):
            journal.write(f"cell {cell}", {"score": cell / 7, "alpha": np.arange(float(cell))})
    return path.read_bytes()


# ---- what is written comes back ---------------------------------------------------------------------------


def test_round_trip(path):
    record = {
        "floats": [0.1, -0.0, 5e-324, 1e308, np.pi],
        "odd": [np.inf, -np.inf],
        "text": 'ein "Kern"\n€',
        "nothing": None,
        "flags": [True, False],
        "whole": 2**80,
        "nested": {"inner": [{"deep": -np.inf}]},
    }
    with Journal.open(path, SEARCH) as journal:
        journal.write("a", record)
        journal.write("b", {"score": np.nan, "single": np.float32(0.1), "count": np.int64(3), "flag": np.bool_(True)})
        here = journal.finished
    there = read(path)
    assert there["a"] == here["a"] == record
    assert str(there["a"]["floats"][1]) == "-0.0"
    assert np.isnan(there["b"].pop("score"))
    assert there["b"] == {"single": float(np.float32(0.1)), "count": 3, "flag": True}
    assert there["b"]["flag"] is True


def test_every_line_is_json(path):
    with Journal.open(path, SEARCH) as journal:
        journal.write("a", {"score": np.nan, "alpha": np.array([np.nan, np.inf])})

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    lines = [json.loads(line, parse_constant=refuse) for line in path.read_text("ascii").splitlines()]
    assert lines[0]["search"] == SEARCH
    assert lines[1]["cell"] == "a"


@pytest.mark.parametrize(
    "array",
    [
        np.array([0.0, -0.0, np.nan, np.inf, 5e-324]),
        np.frombuffer(b"\x01\x00\x00\x00\x00\x00\xf8\x7f", np.float64),  # a nan with something in it
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(10.0)[::3],
        np.arange(4, dtype=">i4"),
        np.zeros((0, 3)),
        np.array(2.5),
        np.array([True, False]),
        np.array(["ä", "longer"]),
        np.array([b"ab", b"c"]),
        np.array([1 + 2j]),
        np.array(["2020-01-01"], dtype="datetime64[ns]"),
    ],
    ids=str,
)
def test_arrays_come_back_bit_for_bit(path, array):
    with Journal.open(path, SEARCH) as journal:
        journal.write("a", {"array": array})
    back = read(path)["a"]["array"]
    assert back.shape == array.shape
    assert back.dtype == array.dtype.newbyteorder("=")
    assert back.tobytes() == array.astype(array.dtype.newbyteorder("=")).tobytes()
    assert back.flags.writeable


@given(st.floats(), st.lists(st.floats(width=32)), st.text("aÄ€_\\\"'\n\r\t\0\ud800🂡"))
def test_any_number_and_text(number, numbers, text):
    content = {"number": number, "numbers": numbers, text.strip("_"): text}
    # repr tells nan from nan and -0.0 from 0.0 as == does not.
    assert repr(lines.read_line(lines.as_line(content))) == repr(content)


def test_a_cell_written_again_replaces_the_first(path):
    with Journal.open(path, SEARCH) as journal:
        journal.write("a", {"score": 1})
        journal.write("a", {"score": 2})
        assert journal.finished == {"a": {"score": 2}}
    assert read(path) == {"a": {"score": 2}}


def test_many_at_once(path):
    with Journal.open(path, SEARCH) as journal:
        journal.write_many({"a": {"score": 1}, "b": {"score": 2}})
        journal.write("c", {"score": 3})
    assert read(path) == {"a": {"score": 1}, "b": {"score": 2}, "c": {"score": 3}}


@pytest.mark.parametrize("value", [object(), {1: 2}, {"__array__": 1}, np.array([None]), {1, 2}, np.datetime64("now")])
def test_what_a_journal_does_not_hold(path, value):
    with Journal.open(path, SEARCH) as journal:
        with pytest.raises(TypeError, match="A journal holds"):
            journal.write("a", {"value": value})
        with pytest.raises(TypeError, match="key of a cell must be a string, got 3"):
            journal.write(3, {})
        journal.write("b", {"score": 1})
    assert read(path) == {"b": {"score": 1}}


# ---- forgetting -------------------------------------------------------------------------------------------


def test_forget(path):
    link = path.with_name("link.jsonl")
    link.symlink_to(path)
    with Journal.open(link, SEARCH) as journal:
        path.chmod(0o640)
        for cell in "abc":
            journal.write(cell, {"score": 0.5, "alpha": np.random.default_rng(0).random(500)})
        size = path.stat().st_size
        journal.forget("alpha")
        assert path.stat().st_size < size / 10
        assert journal.finished == {cell: {"score": 0.5} for cell in "abc"}
        with pytest.raises(JournalError, match="in use"):  # still
            Journal.open(path, SEARCH)
        journal.write("d", {"score": 0.6})
    assert read(path) == {cell: {"score": 0.6 if cell == "d" else 0.5} for cell in "abcd"}
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(path.parent.iterdir()) == [link, path]


def test_forget_nothing(path):
    content = written(path, 2)
    with Journal.open(path, SEARCH) as journal:
        inode = path.stat().st_ino
        journal.forget("beta")
        assert path.stat().st_ino == inode
    assert path.read_bytes() == content


def test_a_failed_replacement_leaves_the_old_journal(path, monkeypatch):
    content = written(path, 3)

    def fail(*_):
        raise OSError("no space")

    with Journal.open(path, SEARCH) as journal:
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", fail)
            with pytest.raises(OSError, match="no space"):
                journal.forget("alpha")
        assert path.read_bytes() == content
        assert list(path.parent.iterdir()) == [path]
        journal.write("more", {"score": 1})
    assert len(read(path)) == 4


def test_a_failed_write_leaves_whole_lines(path, monkeypatch):
    """A disk that is full takes half a line; what is written later must not be added to it."""

    def half(file, text):
        file.seek(0, os.SEEK_END)
        file.write(text[: len(text) // 2])
        raise OSError("no space")

    with Journal.open(path, SEARCH) as journal:
        journal.write("a", {"score": 1})
        with monkeypatch.context() as patch:
            patch.setattr(module, "append", half)
            with pytest.raises(OSError, match="no space"):
                journal.write("b", {"score": 2})
        assert list(journal.finished) == ["a"]
        journal.write("c", {"score": 3})
    assert read(path) == {"a": {"score": 1}, "c": {"score": 3}}


# ---- damage -----------------------------------------------------------------------------------------------


def test_cut_at_every_byte(path):
    content = written(path, 4)
    for end in range(len(content) + 1):
        path.write_bytes(content[:end])
        complete = max(content[:end].count(b"\n") - 1, 0)
        assert list(read(path)) == [f"cell {cell}" for cell in range(complete)]
        # Only what was incomplete has gone, and it can be gone on from there.
        kept = path.read_bytes()
        assert content.startswith(kept)
        assert kept.count(b"\n") == complete + 1
        if end % 50 == 0:
            with Journal.open(path, SEARCH) as journal:
                journal.write("more", {"score": 1})
            assert len(read(path)) == complete + 1


@pytest.mark.parametrize("garbage", [b"garbage\n", b"\0" * 100, b"\xff\xfe\n", b'{"cell": "x"}\n', b"\n", b"a\rb\n"])
def test_a_damaged_last_line_is_dropped(path, garbage):
    content = written(path, 2)
    path.write_bytes(content + garbage)
    assert list(read(path)) == ["cell 0", "cell 1"]
    assert path.read_bytes() == content


def test_any_changed_byte_is_noticed(path):
    content = written(path, 2)
    last = content.rindex(b"\n", 0, -1) + 1
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 1
        path.write_bytes(damaged)
        if position < last - 1:
            with pytest.raises(JournalError, match=r"is damaged in line|is not the journal"):
                read(path)
            assert path.read_bytes() == damaged
        else:
            # Without the newline before it, the last line begins where the one before did.
            assert list(read(path)) == (["cell 0"] if position >= last else [])


def test_damage_before_the_last_line(path):
    lines = written(path, 3).splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b"garbage\n", *lines[3:]]))
    with pytest.raises(JournalError, match=r"search\.jsonl' is damaged in line 3 of 4; repair it, or begin a new one"):
        read(path)


# ---- refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": "4567"}, "is of other data; to search anew, give another file as journal or remove this one"),
        ({"estimator": "SVR"}, "is of another estimator;"),
        ({"preprocess": "scaled"}, r"is of another preprocessing \(preprocess\);"),
        ({"grid": {"C": [1.0, 4.0]}}, "is of another grid;"),
        ({"cv": "KFold(3)"}, r"is of another splitting into folds \(cv\);"),
        ({"scoring": "f1"}, r"is of another score \(scoring\);"),
        ({"version": "0.2.0"}, "was written by version 0.1.0 of mercer, this is 0.2.0;"),
        ({"weights": "ab"}, "differs in weights;"),
        ({"data": "4567", "grid": {"C": [2.0, 1.0]}}, "is of other data, is of another grid;"),
    ],
)
def test_another_search(path, change, message):
    content = written(path, 2)
    with pytest.raises(JournalError, match=rf"Journal '.*search\.jsonl' {message}"):
        Journal.open(path, SEARCH | change)
    assert path.read_bytes() == content
    assert len(read(path)) == 2  # and it is not locked


def test_a_search_with_less(path):
    written(path, 1)
    with pytest.raises(JournalError, match="is of another splitting"):
        Journal.open(path, {name: value for name, value in SEARCH.items() if name != "cv"})


def test_the_same_search_in_other_words(path):
    search = {"grid": {"C": (1.0, np.float64(2.0))}, "limit": np.nan}
    Journal.open(path, search).close()
    Journal.open(path, {"limit": np.nan, "grid": {"C": [1, 2]}}).close()


@pytest.mark.parametrize(
    "content", [b"x,y\n1,2\n", b"x,y", b"\n", b"\x89PNG\r\n", b'{"a": 1}\n', b'{"journal": "mine"}\n']
)
def test_not_a_journal(path, content):
    path.write_bytes(content)
    with pytest.raises(JournalError, match=r"search\.jsonl' is not the journal of a search and is left as it is"):
        read(path)
    assert path.read_bytes() == content


def test_missing_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        Journal.open(tmp_path / "nowhere" / "search.jsonl", SEARCH)


# ---- other processes --------------------------------------------------------------------------------------

WRITER = dedent(
    """
    import sys
    import numpy as np
    from mercer.selection.journal import Journal

    with Journal.open(sys.argv[1], {"data": "0123abcd"}) as journal:
        for cell in range(len(journal.finished), 10**9):
            journal.write(f"cell {cell}", {"alpha": np.arange(float(cell % 1000)), "score": cell / 7})
            print(cell, flush=True)
            if cell % 50 == 49:
                journal.forget("alpha")
    """
)


def start_writer(path, stdout):
    return subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=stdout)


def test_killed_at_random_moments(path, rng):
    """Ten times a writer is killed; every cell it told of is there, and the next goes on from there."""
    told_file = path.with_name("told")
    n_finished = 0
    for _ in range(10):
        before = path.stat().st_size if path.exists() else 0
        with open(told_file, "wb") as told:
            writer = start_writer(path, told)
        while (path.stat().st_size if path.exists() else 0) == before:
            assert writer.poll() is None
            time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.1))
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        told = told_file.read_text().rpartition("\n")[0].splitlines()
        with Journal.open(path, {"data": "0123abcd"}) as journal:
            finished = journal.finished
        promised = int(told[-1]) + 1 if told else n_finished
        n_finished = len(finished)
        assert n_finished - 1 <= promised <= n_finished  # one may be on disk that was not told of yet
        for cell, (key, record) in enumerate(finished.items()):
            assert (key, record["score"]) == (f"cell {cell}", cell / 7)
            if "alpha" in record:
                np.testing.assert_array_equal(record["alpha"], np.arange(float(cell % 1000)))
    assert n_finished > 50


@pytest.mark.skipif(not lines.LOCKS, reason="no locks here")
def test_one_process_at_a_time(path):
    writer = start_writer(path, subprocess.PIPE)
    try:
        writer.stdout.readline()
        with pytest.raises(JournalError, match=r"search\.jsonl' is in use by another process; wait for it"):
            Journal.open(path, {"data": "0123abcd"})
        assert writer.poll() is None
    finally:
        writer.kill()
        writer.stdout.close()
        writer.wait()
    # The lock dies with its process.
    with Journal.open(path, {"data": "0123abcd"}) as journal:
        assert journal.finished


def test_closed_after_an_error(path):
    with pytest.raises(ZeroDivisionError), Journal.open(path, SEARCH) as journal:
        journal.write("a", {"score": 1 / 0})
    assert read(path) == {}


def test_replaced_while_it_was_being_opened(path, monkeypatch):
    """The file that was opened is not the one of that name any more: the new one counts."""
    written(path, 3)
    lock, calls = lines.lock, []

    def replace_and_lock(file, name):
        if not calls:
            calls.append("replaced")
            content = path.read_bytes()
            path.unlink()
            path.write_bytes(content + module._cell("late", {"score": 1}))
        lock(file, name)

    monkeypatch.setattr(lines, "lock", replace_and_lock)
    assert "late" in read(path)


def test_without_locks(path, monkeypatch):
    """Where there is no fcntl, all but the lock works."""
    monkeypatch.setattr(lines, "LOCKS", False)
    monkeypatch.setattr(module, "LOCKS", False)
    with Journal.open(path, SEARCH) as journal:
        journal.write("a", {"score": 1, "alpha": np.arange(3.0)})
        journal.forget("alpha")
        journal.write("b", {"score": 2})
    assert read(path) == {"a": {"score": 1}, "b": {"score": 2}}
