"""Completion in the shells themselves, where they are installed."""

import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
import time

import pytest

from mercer.cli.app import run

# What is typed, and what a shell must offer.
ASKED = [
    ("mercer t", ["train", "tune"]),
    ("mercer train --te", ["--test", "--test-data", "--text"]),
    ("mercer train --task ", ["classification", "regression"]),
    ("mercer libsvm train ir", ["iris.csv", "iris.tsv"]),
    ("mercer demo s", ["sonar", "splice"]),
    ("mercer train iris.csv --machine Nu", ["NuLPClassifier", "NuSVC", "NuSVR"]),
]


# Completion of zsh as its manual sets it up, that lists what it finds at the first tab, and a word when all is ready.
SETUP = b"fpath=(~ $fpath); autoload -Uz compinit; compinit -u -D; unsetopt listambiguous; print RE''ADY\n"


def needs(shell):
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with two files, a command mercer in the path, and a home without settings."""
    for name in ("bin", "home", "work"):
        (tmp_path / name).mkdir()
    command = tmp_path / "bin" / "mercer"
    code = "import sys; sys.argv[0] = 'mercer'; from mercer.cli import main; main()"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{code}" "$@"\n')
    command.chmod(0o755)
    for name in ("iris.csv", "iris.tsv"):
        (tmp_path / "work" / name).write_text("")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def script_for(shell, capsys, path):
    capsys.readouterr()
    assert run(["completion", shell]) == 0
    path.write_text(capsys.readouterr().out)
    return path


@needs("bash")
@pytest.mark.parametrize(("line", "offered"), ASKED)
def test_bash(folder, capsys, line, offered):
    script = script_for("bash", capsys, folder / "mercer.bash")
    words = line.split(" ")
    code = f"source {script}; COMP_WORDS=({shlex.join(words)}); "
    code += f"COMP_CWORD={len(words) - 1}; _mercer_completion mercer; "
    # Where it offers files, bash is told to complete them itself.
    code += 'printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "--norc", "-c", code], capture_output=True, text=True)
    found = done.stdout.split()
    assert found == offered or (not found and offered == ["iris.csv", "iris.tsv"]), done


@needs("fish")
@pytest.mark.parametrize(("line", "offered"), ASKED)
def test_fish(folder, capsys, line, offered):
    script = script_for("fish", capsys, folder / "mercer.fish")
    code = f"source {script}; complete -C '{line}'"
    done = subprocess.run(["fish", "--no-config", "-c", code], capture_output=True, text=True)
    found = [row.split("\t") for row in done.stdout.splitlines()]
    assert sorted(row[0] for row in found) == offered, done
    if line == "mercer t":  # descriptions are whole, commas and all
        assert ["train", "Learn from a file, test, save the model."] in found


@needs("zsh")
@pytest.mark.parametrize(("line", "offered"), ASKED)
def test_zsh(folder, capsys, line, offered):
    script_for("zsh", capsys, folder / "home" / "_mercer")
    process, terminal = pty.fork()
    if process == 0:
        os.execvp("zsh", ["zsh", "-f", "-i"])
    try:
        os.write(terminal, SETUP)
        _read_until(terminal, lambda said: "\nREADY" in said)
        os.write(terminal, f"{line}\t".encode())
        said = _read_until(terminal, lambda said: all(name in said for name in offered))
        assert all(name in said for name in offered), said
    finally:
        os.close(terminal)
        os.waitpid(process, 0)


def _read_until(terminal, done):
    """What a terminal says until it has said enough, or nothing comes any more."""
    said, end = "", time.monotonic() + 30
    while not done(said) and time.monotonic() < end:
        if select.select([terminal], [], [], 1)[0]:
            said += os.read(terminal, 65536).decode(errors="replace")
    return said
