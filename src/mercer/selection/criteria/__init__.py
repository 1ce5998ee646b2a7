"""Criteria from the training samples alone: bounds and estimates of the error of a machine for two classes."""

from mercer.selection.criteria.base import Criterion, SmoothCriterion
from mercer.selection.criteria.curve import criteria_curve
from mercer.selection.criteria.leave_one_out import LeaveOneOut, SupportFraction, XiAlpha
from mercer.selection.criteria.radius import AlphaSum, RadiusMargin
from mercer.selection.criteria.span import SmoothSpan, Span

__all__ = [
    "AlphaSum",
    "Criterion",
    "LeaveOneOut",
    "RadiusMargin",
    "SmoothCriterion",
    "SmoothSpan",
    "Span",
    "SupportFraction",
    "XiAlpha",
    "criteria_curve",
]
