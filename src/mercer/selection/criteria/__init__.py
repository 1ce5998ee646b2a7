"""Criteria from the training samples alone: bounds and estimates of the error of a machine for two classes."""

from mercer.selection.criteria.base import Criterion
from mercer.selection.criteria.curve import criteria_curve
from mercer.selection.criteria.leave_one_out import LeaveOneOut, Span, SupportFraction, XiAlpha
from mercer.selection.criteria.radius import AlphaSum, RadiusMargin

__all__ = [
    "AlphaSum",
    "Criterion",
    "LeaveOneOut",
    "RadiusMargin",
    "Span",
    "SupportFraction",
    "XiAlpha",
    "criteria_curve",
]
