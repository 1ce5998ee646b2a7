"""Progress of a search: the count, the estimate, and what is shown where."""

import io

import numpy as np
import pytest

from mercer.selection import progress as module
from mercer.selection.progress import Deadline, Progress, duration


class Clock:
    """A clock that is set by hand."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    def isatty(self):
        return True

    @property
    def screen(self):
        """What is to be seen: text after a carriage return covers what was there."""
        line = ""
        for text in self.getvalue().rstrip("\n").split("\r"):
            line = text + line[len(text) :]
        return line.rstrip()


@pytest.fixture
def clock():
    return Clock()


def test_estimate_weighs_cells_by_their_cost(clock):
    progress = Progress([1, 1, 2, 6], show=False, clock=clock)
    assert progress.seconds_left is None
    clock.now += 3
    progress.finish([0])
    assert progress.seconds_left == pytest.approx(3 * (1 + 2 + 6))
    clock.now += 3
    progress.finish([2])  # cost 2 took 3 as well: 2 per unit now
    assert progress.seconds_left == pytest.approx(2 * (1 + 6))
    progress.finish([1, 3])
    assert progress.seconds_left == 0


def test_what_was_known_before_took_no_time(clock):
    progress = Progress([1, 1, 1, 1], show=False, clock=clock)
    progress.skip([0, 1])
    assert progress.seconds_left is None
    clock.now += 5
    progress.finish([2])
    assert progress.seconds_left == pytest.approx(5)
    progress.skip([3])
    assert progress.seconds_left == 0


def test_estimate_learns_what_a_kind_takes(clock):
    """All cells were expected to cost the same; those of the second kind take ten times as long."""
    progress = Progress(np.ones(6), kinds=["C=1", "C=100", "C=1", "C=100", "C=1", "C=10"], show=False, clock=clock)
    clock.now += 1
    progress.finish([0])
    clock.now += 10
    progress.finish([1])
    # One more of each known kind and one more cheap one; the last kind is known only by its expected cost.
    assert progress.seconds_left == pytest.approx(1 + 10 + 1 + 11 / 2)


def test_several_cells_at_once(clock):
    """Two threads: the cells took 8 seconds each, the clock ran for 8."""
    progress = Progress(np.ones(6), show=False, clock=clock)
    clock.now += 8
    progress.finish([0, 1], seconds=[8.0, 8.0])
    assert progress.seconds_left == pytest.approx(16)


@pytest.mark.parametrize("costs", [np.zeros(3), []])
def test_no_cost(clock, costs):
    progress = Progress(costs, file=Terminal(), clock=clock)
    clock.now += 1
    progress.finish(range(len(costs)))
    assert progress.seconds_left == 0
    progress.close()


def test_nothing_is_shown_unless_asked(capsys):
    with Progress([1, 1], show=False) as progress:
        progress.finish([0, 1], best=0.5)
    assert capsys.readouterr() == ("", "")


def test_the_line_on_a_terminal(clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    file = Terminal()
    progress = Progress([1, 1, 2], title="TunedSVC", file=file, clock=clock)
    clock.now += 5
    progress.finish([0], best=0.91237)
    assert file.screen == "TunedSVC [#####...............]  25 %, 1 of 3 cells, best 0.9124, 5.0 s, about 15 s left"
    assert "\n" not in file.getvalue()
    clock.now += 5
    progress.finish([1], best=np.nan)
    assert file.screen == "TunedSVC [##########..........]  50 %, 2 of 3 cells, best 0.9124, 10 s, about 10 s left"
    clock.now += 0.05
    progress.finish([2], best=0.9)
    assert "  50 %" in file.screen  # too soon to be drawn again
    progress.close()
    progress.close()
    assert file.screen == "TunedSVC [####################] 100 %, 3 of 3 cells, best 0.9124, 10 s"
    assert file.getvalue().endswith("\n")
    assert file.getvalue().count("\n") == 1


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        (80, "TunedSVC [#####.....]  50 %, 1 of 2 cells, best 0.5000, 5.0 s, about 5.0 s left"),
        (70, "TunedSVC  50 %, 1 of 2 cells, best 0.5000, 5.0 s, about 5.0 s left"),
        (40, "TunedSVC  50 %, 1 of 2 cells, best 0.50"),
    ],
)
def test_a_narrow_terminal(clock, monkeypatch, columns, line):
    """The bar makes room for the text; no line is so long that it wraps."""
    monkeypatch.setenv("COLUMNS", str(columns))
    file = Terminal()
    progress = Progress([1, 1], title="TunedSVC", file=file, clock=clock)
    clock.now += 5
    progress.finish([0], best=0.5)
    assert file.screen == line
    assert len(line) < columns


def test_few_lines_in_a_log(clock):
    file = io.StringIO()
    with Progress(np.ones(1000), file=file, clock=clock) as progress:
        for cell in range(1000):
            clock.now += 0.5
            progress.finish([cell])
    lines = file.getvalue().splitlines()
    assert 10 <= len(lines) <= 12
    assert "\r" not in file.getvalue()
    assert lines[-1] == "[####################] 100 %, 1000 of 1000 cells, 8 min 20 s"


def test_a_sign_of_life_in_a_log(clock):
    file = io.StringIO()
    progress = Progress(np.ones(1000), file=file, clock=clock)
    for _ in range(100):
        clock.now += 60
        progress.refresh()
    assert len(file.getvalue().splitlines()) == 10


def test_a_notebook_rewrites(clock):
    stream = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    progress = Progress([1, 1], file=stream, clock=clock)
    clock.now += 5
    progress.finish([0])
    assert stream.getvalue().startswith("\r")


def test_stopped_early(clock):
    file = io.StringIO()
    with pytest.raises(KeyboardInterrupt), Progress([1, 1], file=file, clock=clock) as progress:
        clock.now += 5
        progress.finish([0])
        clock.now += 1
        raise KeyboardInterrupt
    assert file.getvalue().splitlines()[-1].endswith("50 %, 1 of 2 cells, 6.0 s, about 5.0 s left")


def test_the_watcher_goes_away(clock):
    class Gone(Terminal):
        def write(self, text):
            raise BrokenPipeError

    with Progress([1, 1], file=Gone(), clock=clock) as progress:
        clock.now += 1
        progress.finish([0])
        clock.now += 1
        progress.finish([1])
    assert progress.seconds_left == 0


def test_no_standard_error(clock, monkeypatch):
    monkeypatch.setattr(module.sys, "stderr", None)
    with Progress([1], clock=clock) as progress:
        progress.finish([0])


def test_standard_error_is_the_default(capsys):
    with Progress([1]) as progress:
        progress.finish([0], best=-12.5)
    output = capsys.readouterr()
    assert output.out == ""
    assert "1 of 1 cells, best -12.50, " in output.err


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (3599, "59 min 59 s"),
        (3599.9, "1 h 00 min"), (86399, "23 h 59 min"), (86400, "1 d 0 h"),
    ],
)  # fmt: skip
def test_duration(seconds, text):
    assert duration(seconds) == text


def test_deadline(clock):
    deadline = Deadline(10.0, clock=clock)
    assert deadline.left == 10
    assert not deadline.over
    clock.now += 9.5
    assert deadline.left == 0.5
    clock.now += 1
    assert deadline.left == 0
    assert deadline.over


def test_no_deadline(clock):
    deadline = Deadline(None, clock=clock)
    clock.now += 1e9
    assert deadline.left == np.inf
    assert not deadline.over
