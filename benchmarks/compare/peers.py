"""Which other libraries are here, and the versions of all."""

import importlib.util
from importlib.metadata import PackageNotFoundError, version

DISTRIBUTIONS = {
    "mercer": "mercer",
    "scikit-learn": "scikit-learn",
    "intelex": "scikit-learn-intelex",
}


def installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def versions() -> dict[str, str]:
    found = {}
    for name, distribution in DISTRIBUTIONS.items():
        try:
            found[name] = version(distribution)
        except PackageNotFoundError:
            continue
    return found
