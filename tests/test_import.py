"""What `import mercer` brings, and what it leaves until it is asked for."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import mercer

PACKAGE = Path(mercer.__file__).parent
ROOMS = sorted(
    path.stem
    for path in PACKAGE.iterdir()
    if path.name[0] not in "_." and (path.suffix == ".py" or (path / "__init__.py").exists())
)
PUBLIC_ROOMS = [room for room in ROOMS if hasattr(import_module(f"mercer.{room}"), "__all__")]


def test_import_loads_nothing_else():
    code = "import sys, mercer; print(*(name for name in sys.modules if name.partition('.')[0] in "
    code += "{'mercer', 'numpy', 'scipy', 'sklearn', 'matplotlib'}))"
    output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert output.split() == ["mercer"]


@pytest.mark.parametrize("name", mercer.__all__)
def test_public_names(name):
    assert getattr(mercer, name) is not None
    assert name in dir(mercer)


def test_unknown_name():
    with pytest.raises(AttributeError, match="module 'mercer' has no attribute 'SVX'"):
        _ = mercer.SVX


@pytest.mark.parametrize("room", PUBLIC_ROOMS)
def test_names_of_each_room(room):
    module = import_module(f"mercer.{room}")
    assert len(module.__all__) == len(set(module.__all__))
    for name in module.__all__:
        assert getattr(module, name).__doc__, f"mercer.{room}.{name} has no docstring"


def test_stub_mirrors_the_names():
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    names = set()
    for node in stub.body:
        if isinstance(node, ast.ImportFrom):
            names |= {(node.module, alias.asname) for alias in node.names}
        elif isinstance(node, ast.AnnAssign):
            names.add((None, node.target.id))
    rooms = {(None, name) for name in ("__version__", *mercer._ROOMS)}
    assert names == rooms | {(room, name) for name, room in mercer._ROOM_OF.items()}


def test_estimators_come_from_their_rooms():
    for name, room in mercer._ROOM_OF.items():
        assert getattr(mercer, name) is getattr(import_module(f"mercer.{room}"), name)


def test_version_is_told_once():
    from importlib.metadata import version

    assert version("mercer") == mercer.__version__
    citation = Path(__file__).parents[1] / "CITATION.cff"
    assert f"\nversion: {mercer.__version__}\n" in citation.read_text(encoding="utf-8")


def test_typed():
    assert (PACKAGE / "py.typed").exists()
    assert (PACKAGE / "_native.pyi").exists()
