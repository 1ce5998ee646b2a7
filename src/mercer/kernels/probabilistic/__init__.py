"""Kernels that compare samples by a probability model of them."""

from mercer.kernels.probabilistic.fisher import Fisher
from mercer.kernels.probabilistic.marginalized import MarginalizedCount

__all__ = ["Fisher", "MarginalizedCount"]
