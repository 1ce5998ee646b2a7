"""scikit-learn's own tests, and the page that explains what fails with which version."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import sklearn
from sklearn.utils.fixes import parse_version

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_what_fails_is_explained():
    run = subprocess.run([sys.executable, "-m", "benchmarks.sklearn_tests"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
    failed = {name.partition("[")[0] for name in re.findall(r"^failed: .*::(\S+)", run.stdout, re.MULTILINE)}
    page = (ROOT / "docs" / "guide" / "drop_in.rst").read_text(encoding="utf-8")
    rows = re.findall(r"\* - ``(test_\w+)``\n     - (all|before (\S+))\n", page)
    assert len(rows) == len(re.findall(r"``test_\w+``", page))
    here = parse_version(sklearn.__version__)
    assert failed == {name for name, which, end in rows if which == "all" or here < parse_version(end)}


@pytest.mark.slow
def test_a_version_that_nobody_has_looked_at():
    """It says so: its tests may be others."""
    code = "from benchmarks import sklearn_tests as t; t.sklearn.__version__ = '9.9.0'; t.main(['--collect-only'])"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert "The tests of 9.9.0 differ" in run.stdout, run.stderr
