"""What every test runs under."""

import os
import shutil

import numpy as np
import pytest
from hypothesis import settings

# The same examples on every run and every machine, however slow it is.
settings.register_profile("mercer", derandomize=True, deadline=None)
settings.load_profile("mercer")


@pytest.fixture
def rng():
    """A generator of the test's own: what it draws does not depend on the tests before it."""
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def browser():
    """Debian's chromium, without a screen; what needs it skips where it is not there, and says so."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install 'mercer[test]'")
    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    if not all(programs.values()):
        pytest.skip("needs chromium and chromedriver: make browser")
    options = webdriver.ChromeOptions()
    options.binary_location = programs["chromium"]
    arguments = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,900"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        arguments.append("--no-sandbox")  # chromium has none for root
    for argument in arguments:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.chrome.service.Service(programs["chromedriver"])
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()
