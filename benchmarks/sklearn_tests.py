"""scikit-learn's own tests of its kernel machines, run against mercer's classes.

    python -m benchmarks.sklearn_tests [options of pytest]

The installed tests are taken as they are, and every version of scikit-learn has others. What fails is listed; for the
versions that have been looked at it is explained in docs/guide/drop_in.rst.
"""

import os
import sys

import pytest
import sklearn

import mercer

TESTS = ("sklearn.svm", "sklearn.decomposition.tests.test_kernel_pca", "sklearn.tests.test_kernel_ridge")
# The least share, in per cent, that may pass.
BAR = 97.0
# The versions whose failures are explained.
EXPLAINED = ("1.6", "1.7", "1.8", "1.9")


class Count:
    """The outcome of every test."""

    def __init__(self):
        self.outcome = {}

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.rpartition("tests/")[2]
        if report.failed:
            self.outcome[name] = "failed"
        elif report.when == "call" or report.skipped:
            self.outcome.setdefault(name, report.outcome)

    def names(self, outcome: str) -> list[str]:
        """The tests with this outcome."""
        return sorted(name for name, known in self.outcome.items() if known == outcome)

    @property
    def share(self) -> float:
        """How many of the tests that were not skipped passed, in per cent."""
        return 100 * len(self.names("passed")) / max(1, len(self.outcome) - len(self.names("skipped")))


def main(arguments: list[str]) -> int:
    mercer.patch_sklearn()  # before the tests import the names
    count = Count()
    # scikit-learn's fixtures, and none of our settings.
    options = ["-c", os.devnull, "--noconftest", "-p", "sklearn.conftest", "-p", "no:cacheprovider", "-q"]
    pytest.main([*options, "--pyargs", *TESTS, *arguments], plugins=[count])
    print(*(f"failed: {name}" for name in count.names("failed")), sep="\n")
    tried = len(count.outcome) - len(count.names("skipped"))
    version = sklearn.__version__
    print(f"scikit-learn {version}: {len(count.names('passed'))} of {tried} passed ({count.share:.1f} %)")
    if ".".join(version.split(".")[:2]) not in EXPLAINED:
        known = ", ".join(EXPLAINED)
        print(
            f"docs/guide/drop_in.rst explains what fails with scikit-learn {known}. The tests of {version} differ from "
            "theirs: what else fails may be new in scikit-learn, or a fault of mercer.compat.sklearn."
        )
    return int(count.share < BAR)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
