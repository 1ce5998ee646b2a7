"""Who needs a package that is not there says which command installs it."""

import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer.compat.onnx import to_onnx
from mercer.data import Graph
from mercer.devices import Place
from mercer.distributed import DaskRows
from mercer.extras import EXTRA_OF
from mercer.plots import DecisionDisplay
from mercer.solvers import InteriorPoint

X, Y = np.arange(8.0)[:, np.newaxis], np.arange(8) > 3
NEEDS = {
    "clarabel": lambda: mercer.SVC(solver=InteriorPoint()).fit(X, Y),
    "dask": lambda: DaskRows(X),
    "matplotlib": lambda: DecisionDisplay.from_estimator(mercer.SVC().fit(X, Y), X, Y),
    "networkx": lambda: Graph.from_networkx(None),
    "onnx": lambda: to_onnx(mercer.SVC().fit(X, Y)),
    "torch": lambda: Place("cpu"),
}
OF_COMMAND = ("click", "rich")


@pytest.mark.parametrize("package", NEEDS)
def test_missing_packages_are_named(package, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf'needs {package}: pip install "mercer\[{EXTRA_OF[package]}\]"\.$'):
        NEEDS[package]()


@pytest.mark.parametrize("package", OF_COMMAND)
def test_the_command_names_what_is_missing(package):
    code = f"import sys; sys.modules['{package}'] = None; from mercer.cli import main; "
    code += "sys.argv = ['mercer', 'demo']; main()"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode != 0 and "Traceback" not in ran.stderr
    assert f'needs {package}: pip install "mercer[cli]".' in ran.stderr


def test_every_package_is_tried():
    assert EXTRA_OF.keys() == {*NEEDS, *OF_COMMAND}
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for package, extra in EXTRA_OF.items():
        assert any(line.startswith((f"{package}>=", f"{package}[")) for line in project["optional-dependencies"][extra])


# Nothing of these packages can be found; None in sys.modules is what SciPy takes for a package that is there.
WITHOUT = """
import sys
class Absent:
    def find_spec(name, path, target=None):
        if name.partition(".")[0] in {packages}:
            raise ImportError(name)
sys.meta_path.insert(0, Absent)
"""


def test_everything_imports_without_extras():
    code = WITHOUT.format(packages=(*EXTRA_OF, "pandas", "polars", "pyarrow"))
    code += "import mercer; [getattr(mercer, name) for name in mercer.__all__]; "
    code += "print(mercer.SVC().fit([[0.0], [1.0]], [0, 1]).predict([[0.9]]))"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == "[1]"
