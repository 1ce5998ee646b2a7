"""scikit-learn's own tests of its support vector machines, run against mercer's classes.

    python -m benchmarks.sklearn_tests [options of pytest]

The installed tests are taken as they are. What fails is listed, and explained in docs/guide/drop_in.rst.
"""

import os
import sys

import pytest

import mercer


class Count:
    """The outcome of every test."""

    def __init__(self):
        self.outcome = {}

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.rpartition("svm/tests/")[2]
        if report.failed:
            self.outcome[name] = "failed"
        elif report.when == "call" or report.skipped:
            self.outcome.setdefault(name, report.outcome)

    def lines(self) -> list[str]:
        """The failures, and how many of the tests that were not skipped passed."""
        outcomes = list(self.outcome.values())
        passed, failed = outcomes.count("passed"), outcomes.count("failed")
        share = 100 * passed / max(1, passed + failed)
        return [
            *sorted(f"failed: {name}" for name, outcome in self.outcome.items() if outcome == "failed"),
            f"{passed} of {passed + failed} passed ({share:.1f} %), {outcomes.count('skipped')} skipped",
        ]


def main(arguments: list[str]) -> int:
    mercer.patch_sklearn()  # before the tests import the names
    count = Count()
    # scikit-learn's fixtures, and none of our settings.
    options = ["-c", os.devnull, "--noconftest", "-p", "sklearn.conftest", "-p", "no:cacheprovider", "-q"]
    pytest.main([*options, "--pyargs", "sklearn.svm", *arguments], plugins=[count])
    print(*count.lines(), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
