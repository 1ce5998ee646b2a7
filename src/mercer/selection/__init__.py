"""Choosing parameters."""

from mercer.selection.grid import default_grid
from mercer.selection.tuned import Tuned, tune

__all__ = ["Tuned", "default_grid", "tune"]
