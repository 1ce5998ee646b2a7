"""A search that is killed goes on where it stopped: same result to the last bit, at most one cell redone each time."""

import json
import signal
import subprocess
import sys
import time
from textwrap import dedent

import numpy as np
import pytest

# Every score that is computed is told to a file, so that it can be counted what was computed twice.
SEARCH = dedent(
    """
    import sys
    import numpy as np
    from sklearn.metrics import accuracy_score
    from mercer.selection import TunedSVC

    journal, log, output = sys.argv[1:]

    def score(machine, X, y):
        value = accuracy_score(y, machine.predict(X))
        with open(log, "a") as told:
            print(value, file=told)
        return value

    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 4))
    y = np.where(np.sin(2 * X[:, 0]) * X[:, 1] + 0.3 * rng.normal(size=1000) > 0, "in", "out")
    grid = {"C": 2.0 ** np.arange(-3, 9), "kernel__gamma": 2.0 ** np.arange(-6, 2)}
    search = TunedSVC(param_grid=grid, cv=3, scoring=score, journal=journal or None).fit(X, y)
    results = search.cv_results_
    np.savez(
        output,
        scores=np.array([results[f"split{fold}_test_score"] for fold in range(3)]),
        best=np.array([search.best_params_["C"], search.best_params_["kernel__gamma"]]),
        decision=search.decision_function(X),
    )
    """
)
N_CELLS, N_FOLDS, N_KILLS = 12 * 8, 3, 10


def start(folder, journal=""):
    arguments = [journal, folder / "log", folder / "result.npz"]
    return subprocess.Popen([sys.executable, "-c", SEARCH, *map(str, arguments)])


def n_lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.slow
def test_killed_at_ten_random_moments(tmp_path, rng):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder in (whole, broken):
        folder.mkdir()
    assert start(whole).wait() == 0

    journal = broken / "search.jsonl"
    for kill in range(N_KILLS):
        # So many lines, and a moment more: the kills are spread over the search, at moments that are not told by it.
        enough = 1 + (N_CELLS - 5) * (kill + rng.random()) / N_KILLS
        child = start(broken, journal)
        while n_lines(journal) < enough:
            assert child.poll() is None, "the search was over before it was killed"
            time.sleep(0.0005)
        time.sleep(rng.uniform(0.0, 0.005))
        child.send_signal(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
    assert start(broken, journal).wait() == 0

    with np.load(whole / "result.npz") as expected, np.load(broken / "result.npz") as found:
        for name in expected:
            np.testing.assert_array_equal(found[name], expected[name], err_msg=name)
    keys = [json.loads(line)["cell"] for line in journal.read_text().splitlines()[1:]]
    assert len(keys) == len(set(keys))
    assert n_lines(whole / "log") == N_CELLS * N_FOLDS
    assert n_lines(broken / "log") <= (N_CELLS + N_KILLS) * N_FOLDS
    assert sorted(path.name for path in broken.iterdir()) == ["log", "result.npz", "search.jsonl"]
