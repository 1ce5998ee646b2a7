"""Small data sets that come with the package, each with its origin and licence beside it."""

from mercer.datasets.bundled import load_ionosphere

__all__ = ["load_ionosphere"]
