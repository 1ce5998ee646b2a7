"""Weights of kernels by rules: from the kernel matrices and the targets, without a machine."""

from mercer.mkl.rules.alignment import Alignment
from mercer.mkl.rules.base import RuleResult, Uniform, WeightRule
from mercer.mkl.rules.divergence import DivConv, DivDC
from mercer.mkl.rules.easy import Easy

__all__ = ["Alignment", "DivConv", "DivDC", "Easy", "RuleResult", "Uniform", "WeightRule"]
