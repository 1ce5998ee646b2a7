"""A search that is killed goes on where it stopped: same result to the last bit, at most one cell redone each time."""

import json
import signal
import subprocess
import sys
import time
from textwrap import dedent

import numpy as np
import pytest

# Every call of the solver is told to a file before it is made, so that it can be counted what was solved twice.
SEARCH = dedent(
    """
    import sys
    import numpy as np
    from sklearn.preprocessing import StandardScaler
    from mercer.selection import TunedSVC
    from mercer.solvers import SMO

    journal, log, output, settings = sys.argv[1:]
    solve_many = SMO.solve_many

    def told(self, problems, *args, **kwargs):
        with open(log, "a") as file:
            print(len(problems), file=file)
        return solve_many(self, problems, *args, **kwargs)

    SMO.solve_many = told

    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 4))
    y = np.where(np.sin(2 * X[:, 0]) * X[:, 1] + 0.3 * rng.normal(size=800) > 0, "in", "out")
    grid = {"C": 2.0 ** np.arange(-3, 9), "kernel__gamma": 2.0 ** np.arange(-6, 2)}
    search = TunedSVC(param_grid=grid, cv=3, journal=journal, **eval(settings)).fit(X, y)
    np.savez(
        output,
        scores=np.array([search.cv_results_[f"split{fold}_test_score"] for fold in range(3)]),
        best=np.array([search.best_params_["C"], search.best_params_["kernel__gamma"]]),
        decision=search.decision_function(X),
    )
    """
)


def start(folder, settings):
    arguments = [folder / "search.jsonl", folder / "log", folder / "result.npz", settings]
    return subprocess.Popen([sys.executable, "-c", SEARCH, *map(str, arguments)])


def n_lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.parametrize(
    ("settings", "n_kills"),
    [
        pytest.param("{}", 2),
        pytest.param("{}", 10, marks=pytest.mark.slow),
        # A kernel matrix for every fold.
        pytest.param("{'preprocess': StandardScaler()}", 4, marks=pytest.mark.slow),
        # What is searched next depends on what was found.
        pytest.param("{'search': 'adaptive'}", 4, marks=pytest.mark.slow),
    ],
)
def test_killed_at_random_moments(tmp_path, rng, settings, n_kills):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder in (whole, broken):
        folder.mkdir()
    assert start(whole, settings).wait() == 0
    n_cells = n_lines(whole / "search.jsonl") - 1

    killed = []
    for kill in range(n_kills):
        # So many lines and a moment more: the kills are spread over the search, and wherever it happens to be then.
        enough = 1 + (n_cells - 5) * (kill + rng.random()) / n_kills
        child = start(broken, settings)
        while n_lines(broken / "search.jsonl") < enough:
            assert child.poll() in (None, 0)
            time.sleep(0.0005)
        time.sleep(rng.uniform(0.0, 0.005))
        child.send_signal(signal.SIGKILL)
        killed.append(child.wait() == -signal.SIGKILL)
    assert start(broken, settings).wait() == 0
    assert killed[0]  # the last ones may come too late on a busy machine

    with np.load(whole / "result.npz") as expected, np.load(broken / "result.npz") as found:
        for name in expected:
            np.testing.assert_array_equal(found[name], expected[name], err_msg=name)
    keys = [json.loads(line)["cell"] for line in (broken / "search.jsonl").read_text().splitlines()[1:]]
    assert len(keys) == len(set(keys)) == n_cells
    # A call for every cell, and one for the winner on all samples.
    assert n_lines(whole / "log") == n_cells + 1
    assert n_lines(broken / "log") <= n_cells + 1 + n_kills
    assert sorted(path.name for path in broken.iterdir()) == ["log", "result.npz", "search.jsonl"]
