"""Choosing parameters: training is model selection.

Cross-validation fits the same samples again and again. Here kernel matrices are made once, folds are numbers of
samples, and every fit starts where a similar one has ended. Criteria from the training samples alone need no folds at
all.
"""

from mercer.selection.criteria import (
    AlphaSum,
    Criterion,
    LeaveOneOut,
    RadiusMargin,
    SmoothCriterion,
    SmoothSpan,
    Span,
    SupportFraction,
    XiAlpha,
    criteria_curve,
)
from mercer.selection.gradient import GradientResult, GradientTuned
from mercer.selection.grid import default_grid
from mercer.selection.missing import MissingRateFilter
from mercer.selection.tables import TablePreparation
from mercer.selection.tuned import Tuned, TunedOneClassSVM, TunedSVC, TunedSVR, tune

__all__ = [
    "AlphaSum",
    "Criterion",
    "GradientResult",
    "GradientTuned",
    "LeaveOneOut",
    "MissingRateFilter",
    "RadiusMargin",
    "SmoothCriterion",
    "SmoothSpan",
    "Span",
    "SupportFraction",
    "TablePreparation",
    "Tuned",
    "TunedOneClassSVM",
    "TunedSVC",
    "TunedSVR",
    "XiAlpha",
    "criteria_curve",
    "default_grid",
    "tune",
]
