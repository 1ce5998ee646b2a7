"""What every test runs under."""

import os
import sys

import pytest
from hypothesis import settings

os.environ["MPLBACKEND"] = "Agg"

# The same examples on every run and every machine, however slow it is.
settings.register_profile("mercer", derandomize=True, deadline=None)
settings.load_profile("mercer")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
