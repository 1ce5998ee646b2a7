"""Structured outputs: sequences, trees, taxonomies, rankings and sets of labels, learnt with a large margin."""

from mercer.structured.base import StructuredModel
from mercer.structured.multiclass import Multiclass
from mercer.structured.multilabel import Multilabel
from mercer.structured.ranking import Ranking
from mercer.structured.svm import StructuredSVM
from mercer.structured.taxonomy import Taxonomy

__all__ = ["Multiclass", "Multilabel", "Ranking", "StructuredModel", "StructuredSVM", "Taxonomy"]
