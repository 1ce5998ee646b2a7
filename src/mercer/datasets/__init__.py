"""Small data sets that come with the package, each with its origin and licence beside it."""

from mercer.datasets.bundled import (
    load_glass,
    load_ionosphere,
    load_leukemia,
    load_promoters,
    load_sonar,
    load_splice,
    load_vehicle,
)

__all__ = [
    "load_glass",
    "load_ionosphere",
    "load_leukemia",
    "load_promoters",
    "load_sonar",
    "load_splice",
    "load_vehicle",
]
