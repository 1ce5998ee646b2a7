"""The command as a process of its own: installed, without its extra, interrupted, in a pipe."""

import os
import signal
import subprocess
import sys
import time
from importlib.resources import files

import numpy as np
import pytest

from mercer.data import write_svmlight

IONOSPHERE = str(files("mercer.datasets") / "data" / "ionosphere.csv")


def test_the_module_is_the_command(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mercer", "train", IONOSPHERE, "-t", "class", "-o", "m.mercer"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0 and "test error" in done.stdout and done.stderr == ""
    assert "\x1b" not in done.stdout  # no colours where nobody sees them
    bad = subprocess.run([sys.executable, "-m", "mercer", "inspect", IONOSPHERE], capture_output=True, text=True)
    assert bad.returncode == 4 and "Traceback" not in bad.stderr


@pytest.mark.parametrize("package", ["click", "rich"])
def test_without_the_extra_one_line_says_what_installs_it(package):
    code = f"import sys; sys.modules[{package!r}] = None; from mercer.cli import main; main(['train'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == f'The command mercer needs {package}: pip install "mercer[cli]".\n'


def test_parquet_without_pyarrow(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    code = "import sys; sys.modules['pyarrow'] = None; from mercer.cli import main; "
    code += "main(['train', 't.parquet', '-t', 'y'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "mercer: A Parquet file needs pyarrow: pip install pyarrow.\n")


@pytest.mark.skipif(os.name != "posix", reason="signals are sent otherwise there")
def test_ctrl_c_leaves_nothing(tmp_path):
    rng = np.random.default_rng(0)
    # Noise at a high price for a wide kernel: half a minute of work.
    write_svmlight(rng.normal(size=(6000, 30)), rng.choice([-1, 1], size=6000), tmp_path / "noise.svm")
    # What is imported late is imported before, so that the signal comes while there is work, on a slow machine, too.
    code = "import mercer.cli.learning, mercer.svm; from mercer.cli import main; print('ready', flush=True); "
    code += "main(['train', 'noise.svm', '-C', '1e6', '--kernel', 'RBF(gamma=0.001)', '-o', 'm.mercer'])"
    command = [sys.executable, "-c", code]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert (out, err.strip()) == ("", "mercer: Interrupted; nothing has been written.")
    assert [path.name for path in tmp_path.iterdir()] == ["noise.svm"]


@pytest.mark.skipif(os.name != "posix", reason="there is no head")
def test_ctrl_c_is_told_whatever_it_was_made_of(mercer, monkeypatch):
    """Modules written in C make an ImportError of an interrupt while they are imported."""

    def fail(*_):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise ImportError("initialization failed") from error

    monkeypatch.setattr("mercer.cli.inspecting.show_kernels", fail)
    assert mercer("kernels") == (130, "", "mercer: Interrupted; nothing has been written.\n")


def test_a_pipe_that_ends_is_no_failure():
    command = f"set -o pipefail; {sys.executable} -m mercer kernels | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "" and done.stdout.startswith("kernel")


def test_completion_in_bash(tmp_path):
    environment = {**os.environ, "_MERCER_COMPLETE": "bash_complete", "COMP_WORDS": "mercer tr", "COMP_CWORD": "1"}
    code = "import sys; sys.argv[0] = 'mercer'; from mercer.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert "plain,train" in done.stdout.split()
