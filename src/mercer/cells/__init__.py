"""Many samples in cells: a machine for each, and each sample to the machine of its cell."""

from mercer.cells.machine import Cells
from mercer.cells.voronoi import Voronoi

__all__ = ["Cells", "Voronoi"]
