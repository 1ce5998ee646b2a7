"""What samples are, where arrays do not say it."""

from mercer.data.blocks import RowBlocks

__all__ = ["RowBlocks"]
