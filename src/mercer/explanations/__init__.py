"""Which parts of a sample carry a decision: expansions over pieces that have names.

A kernel that counts pieces has a machine whose function is a sum over the pieces of a sample, each with a weight.
`explain` takes one sample apart, `feature_weights` lists the pieces that a machine knows, `positional_weights` says
what a letter at a place is worth.
"""

from mercer.explanations.base import Explanation, FeatureWeights, Pieces, explain, feature_weights, take_apart
from mercer.explanations.graphs import neighbourhoods
from mercer.explanations.positions import PositionalWeights, positional_weights
from mercer.explanations.strings import substrings
from mercer.explanations.trees import subtrees

__all__ = [
    "Explanation",
    "FeatureWeights",
    "Pieces",
    "PositionalWeights",
    "explain",
    "feature_weights",
    "neighbourhoods",
    "positional_weights",
    "substrings",
    "subtrees",
    "take_apart",
]
