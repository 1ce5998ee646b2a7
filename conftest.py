"""What every test and every example in docstrings, docs and README runs under."""

import os
import signal
import sys

import pytest

os.environ["MPLBACKEND"] = "Agg"
# What a shell runs in the background ignores Ctrl-C, and so would the tests that send it to themselves, for ever.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
collect_ignore = ["docs/conf.py"]  # which needs what the documentation is built with


@pytest.fixture(autouse=True)
def close_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
