"""What samples are, where arrays do not say it."""

from mercer.data.blocks import RowBlocks
from mercer.data.fasta import read_fasta
from mercer.data.graph import Graph
from mercer.data.proteins import residue_composition, residue_distribution, residue_order
from mercer.data.sequences import Sequences, Series
from mercer.data.svmlight import read_svmlight, write_svmlight
from mercer.data.tables import Columns, column_kinds, read_table
from mercer.data.tree import Tree
from mercer.data.tu_dortmund import read_tu_dortmund

__all__ = [
    "Columns",
    "Graph",
    "RowBlocks",
    "Sequences",
    "Series",
    "Tree",
    "column_kinds",
    "read_fasta",
    "read_svmlight",
    "read_table",
    "read_tu_dortmund",
    "residue_composition",
    "residue_distribution",
    "residue_order",
    "write_svmlight",
]
