"""New kernels from old ones.

Sums, products and power series with non-negative coefficients of positive semi-definite kernels are positive
semi-definite, and so are kernels that are moved, scaled or normalised in feature space. Differences, negative
coefficients, logarithms and, in general, fractional powers are not: they are refused.
"""

from mercer.kernels.algebra.combinations import Constant, Product, Sum, weighted_sum
from mercer.kernels.algebra.functions import Exp, Geometric, PolynomialOf, Power, exp
from mercer.kernels.algebra.geometry import Normalized, RBFOf, Scaled
from mercer.kernels.algebra.reference import Centered, EmpiricalMap

__all__ = [
    "Centered",
    "Constant",
    "EmpiricalMap",
    "Exp",
    "Geometric",
    "Normalized",
    "PolynomialOf",
    "Power",
    "Product",
    "RBFOf",
    "Scaled",
    "Sum",
    "exp",
    "weighted_sum",
]
