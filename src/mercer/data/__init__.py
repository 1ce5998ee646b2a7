"""What samples are, where arrays do not say it."""

from mercer.data.blocks import RowBlocks
from mercer.data.tree import Tree

__all__ = ["RowBlocks", "Tree"]
