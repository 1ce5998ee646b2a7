"""Structured outputs: sequences, trees, taxonomies, rankings and sets of labels, learnt with a large margin."""

from mercer.structured.base import StructuredModel
from mercer.structured.chain import Chain
from mercer.structured.metrics import chunk_f1
from mercer.structured.multiclass import Multiclass
from mercer.structured.svm import StructuredSVM
from mercer.structured.tokens import TokenFeatures

__all__ = ["Chain", "Multiclass", "StructuredModel", "StructuredSVM", "TokenFeatures", "chunk_f1"]
