"""Packages that a part of the library needs and all the others do without."""

from importlib import import_module
from typing import Any

__all__ = ["require"]

# Package -> the extra in pyproject.toml that brings it. Others are installed by their own names.
EXTRA_OF = {
    "clarabel": "conic",
    "click": "cli",
    "dask": "dask",
    "matplotlib": "plots",
    "networkx": "graphs",
    "onnx": "onnx",
    "rich": "cli",
    "torch": "gpu",
}


def require(module: str, who: str) -> Any:
    """Import a module, or say who needs its package and which command installs it.

    Parameters
    ----------
    module : str
        For example ``"matplotlib.pyplot"``.
    who : str
        The class or function that cannot do without.

    Returns
    -------
    module

    Examples
    --------
    >>> from mercer.extras import require
    >>> require("json", "This example").dumps([1, 2])
    '[1, 2]'
    >>> require("a_package_of_next_year", "This example")
    Traceback (most recent call last):
    ...
    ImportError: This example needs a_package_of_next_year: pip install a_package_of_next_year.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        wanted = f'"mercer[{EXTRA_OF[package]}]"' if package in EXTRA_OF else package
        raise ImportError(f"{who} needs {package}: pip install {wanted}.") from error
