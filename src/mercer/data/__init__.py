"""What samples are, where arrays do not say it."""

from mercer.data.blocks import RowBlocks
from mercer.data.graph import Graph
from mercer.data.proteins import residue_composition, residue_distribution, residue_order
from mercer.data.sequences import Sequences, Series
from mercer.data.tree import Tree
from mercer.data.tu_dortmund import read_tu_dortmund

__all__ = [
    "Graph",
    "RowBlocks",
    "Sequences",
    "Series",
    "Tree",
    "read_tu_dortmund",
    "residue_composition",
    "residue_distribution",
    "residue_order",
]
