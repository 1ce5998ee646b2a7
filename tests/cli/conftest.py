"""Files to learn from, and the command in this process."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from mercer.cli.app import run


class Said(NamedTuple):
    """What a command has said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def mercer(capsys, monkeypatch, tmp_path) -> Callable[..., Said]:
    """Run the command in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> Said:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        return Said(code, *capsys.readouterr())

    return call


@pytest.fixture
def mixed(tmp_path):
    """A table with columns of all kinds, some of it missing, and a target that two of them tell."""
    rng = np.random.default_rng(3)
    lines = ["id,age,bmi,city,note,ill"]
    for k in range(60):
        ill = k % 2
        age = "" if k == 7 else f"{rng.normal(40 + 25 * ill, 8):.1f}"
        city = "" if k == 11 else ["Rome", "Oslo", "Bern"][k % 3]
        note = "".join(rng.choice(list("abcd" if ill else "cdef"), size=rng.integers(6, 12)))
        lines.append(f"{k},{age},{rng.normal(25, 4):.2f},{city},{note},{'yes' if ill else 'no'}")
    path = tmp_path / "mixed.csv"
    path.write_text("\n".join(lines) + "\n")
    return path
