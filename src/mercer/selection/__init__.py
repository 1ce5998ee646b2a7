"""Model selection: criteria from the training samples alone, and parameters found by their gradient."""

from mercer.selection.criteria import (
    AlphaSum,
    Criterion,
    LeaveOneOut,
    RadiusMargin,
    Span,
    SupportFraction,
    XiAlpha,
    criteria_curve,
)
from mercer.selection.gradient import GradientResult, GradientTuned

__all__ = [
    "AlphaSum",
    "Criterion",
    "GradientResult",
    "GradientTuned",
    "LeaveOneOut",
    "RadiusMargin",
    "Span",
    "SupportFraction",
    "XiAlpha",
    "criteria_curve",
]
