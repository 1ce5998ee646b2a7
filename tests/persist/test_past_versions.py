"""Files that past versions have written can be loaded, and say what they said then."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from persist.corpus import MODELS, answer, as_json
from sklearn import __version__ as SKLEARN

import mercer
from mercer.persist import describe

FIXTURES = Path(__file__).parent / "fixtures"
FILES = sorted(FIXTURES.glob("*/*.mercer"))
VERSIONS = sorted(path.name for path in FIXTURES.iterdir())


def release(version):
    return tuple(map(int, version.split(".")[:2]))


def assert_close(said, expected):
    """Numbers to rounding, everything else exactly."""
    said, expected = np.asarray(said), np.asarray(expected)
    if expected.dtype.kind == "f":
        assert_allclose(said, expected, rtol=1e-9, atol=1e-9)
    else:
        assert_array_equal(said, expected)


def test_this_version_has_files():
    assert mercer.__version__.rpartition(".")[0] in VERSIONS
    assert {path.stem for path in FILES} == set(MODELS)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name} {path.stem}")
def test_files_of_past_versions(path):
    if path.stem == "compat" and release(SKLEARN) < release(describe(path)["versions"]["scikit-learn"]):
        pytest.skip(
            "Drop-ins have the parameters of the scikit-learn that they were made with, which is later than this."
        )
    expected = json.loads((path.parent / "answers.json").read_text(encoding="utf-8"))[path.stem]
    model, (_, samples) = mercer.load(path), MODELS[path.stem]()
    said = as_json(answer(model, samples))
    if said is None or path.stem.startswith("structured"):
        assert said == expected
    else:
        assert_close(said, expected)
    assert describe(path)["versions"]["mercer"].startswith(path.parent.name)


def test_files_are_enough():
    """A process that has imported nothing of mercer loads all of them."""
    code = "import sys, mercer; print(*(type(mercer.load(path)).__name__ for path in sys.argv[1:]))"
    command = [sys.executable, "-W", "error", "-c", code, *map(str, FILES)]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert names == [describe(path)["class"].rpartition(".")[2] for path in FILES]


def test_closeness_can_fail():
    with pytest.raises(AssertionError):
        assert_close([1.0, 2.0], [1.0, 2.0 + 1e-7])
    with pytest.raises(AssertionError):
        assert_close(["ash"], ["elm"])
