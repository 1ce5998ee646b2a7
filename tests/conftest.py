"""What every test runs under."""

import os
import sys

import numpy as np
import pytest
from hypothesis import settings

os.environ["MPLBACKEND"] = "Agg"

# The same examples on every run and every machine, however slow it is.
settings.register_profile("mercer", derandomize=True, deadline=None)
settings.load_profile("mercer")


@pytest.fixture
def rng():
    """A generator of the test's own: what it draws does not depend on the tests before it."""
    return np.random.default_rng(0)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
