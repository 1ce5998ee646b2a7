"""scikit-learn's own tests, and the page that explains what fails."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_what_fails_is_explained():
    run = subprocess.run([sys.executable, "-m", "benchmarks.sklearn_tests"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
    failed = {name.partition("[")[0] for name in re.findall(r"^failed: .*::(\S+)", run.stdout, re.MULTILINE)}
    page = (ROOT / "docs" / "guide" / "drop_in.rst").read_text(encoding="utf-8")
    assert failed == set(re.findall(r"``(test_\w+)``", page))
