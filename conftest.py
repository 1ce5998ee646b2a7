"""What every test and every example in docstrings, docs and README runs under."""

import os
import sys

import pytest

os.environ["MPLBACKEND"] = "Agg"
collect_ignore = ["docs/conf.py"]  # which needs what the documentation is built with


@pytest.fixture(autouse=True)
def close_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
