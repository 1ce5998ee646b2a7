"""Kernel matrices as objects: where their numbers come from, what they cost, whether they are definite."""

from mercer.gram.linear import LinearGram
from mercer.gram.memory import memory_budget
from mercer.gram.sources import FunctionGram, Gram, MatrixGram, VectorGram, make_gram

__all__ = ["FunctionGram", "Gram", "LinearGram", "MatrixGram", "VectorGram", "make_gram", "memory_budget"]
