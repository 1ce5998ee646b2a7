"""Learning that asks: which samples of a pool are worth a label."""

from mercer.active.answers import Answer
from mercer.active.learner import ActiveLearner
from mercer.active.order import label_order
from mercer.active.rules import Closest, Farthest, LeastSure, Random, Spread, VersionSpace
from mercer.active.stopping import BandEmpty, Budget, MistakesLevel, ObjectiveLevel

__all__ = [
    "ActiveLearner",
    "Answer",
    "BandEmpty",
    "Budget",
    "Closest",
    "Farthest",
    "LeastSure",
    "MistakesLevel",
    "ObjectiveLevel",
    "Random",
    "Spread",
    "VersionSpace",
    "label_order",
]
