"""Structured outputs: sequences, trees, taxonomies, rankings and sets of labels, learnt with a large margin."""

from mercer.structured.base import StructuredModel
from mercer.structured.chain import Chain
from mercer.structured.grammar import ContextFreeGrammar, Rule, Word
from mercer.structured.metrics import chunk_f1
from mercer.structured.multiclass import Multiclass
from mercer.structured.multilabel import Multilabel
from mercer.structured.parser import Parser
from mercer.structured.ranking import Ranking
from mercer.structured.svm import StructuredSVM
from mercer.structured.taxonomy import Taxonomy
from mercer.structured.tokens import TokenFeatures
from mercer.structured.treebank import DependencyTree, bracket_f1, brackets, read_conllu

__all__ = [
    "Chain",
    "ContextFreeGrammar",
    "DependencyTree",
    "Multiclass",
    "Multilabel",
    "Parser",
    "Ranking",
    "Rule",
    "StructuredModel",
    "StructuredSVM",
    "Taxonomy",
    "TokenFeatures",
    "Word",
    "bracket_f1",
    "brackets",
    "chunk_f1",
    "read_conllu",
]
