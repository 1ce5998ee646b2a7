"""Mutated files: every one is refused by name, or holds a model; no crash, no hang, no heap of memory."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from persist import fuzzing
from persist.corpus import SURROUNDED

import mercer

FIXTURES = Path(__file__).parent / "fixtures"
NAMED = {"DamagedFileError", "ForeignFileError", "ModelFileError", "NewerFormatError"}


def fuzz(folder, first, last):
    """What came of the mutants, counted; the process is another one, with a limit on memory and one on time."""
    for path in FIXTURES.glob("*/*.mercer"):
        (folder / path.name).write_bytes(path.read_bytes())
    for name, make in SURROUNDED.items():
        mercer.save(make()[0], folder / f"{name}.mercer")
    command = [sys.executable, fuzzing.__file__, folder, str(first), str(last)]
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"})
    assert ran.returncode == 0, ran.stderr[-2000:]
    found = json.loads(ran.stdout)
    assert sum(found.values()) == last - first
    assert all(kind in NAMED or kind.startswith("used") for kind in found)
    assert not any(kind.startswith("used: MemoryError") for kind in found)
    return found


def test_some_mutants(tmp_path):
    found = fuzz(tmp_path, 0, 300)
    assert {"DamagedFileError", "ModelFileError", "used"} <= found.keys()


@pytest.mark.slow
def test_ten_thousand_mutants(tmp_path):
    fuzz(tmp_path, 300, 10_300)


def test_a_mutant_is_another_file():
    data = (FIXTURES / "0.1" / "svm.mercer").read_bytes()
    assert fuzzing._put_together(*fuzzing._taken_apart(data))[8:40] == data[8:40]
    assert sum(fuzzing.mutant(data, number) != data for number in range(50)) >= 48
    assert fuzzing.mutant(data, 7) == fuzzing.mutant(data, 7)
