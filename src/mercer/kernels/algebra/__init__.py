"""New kernels from old ones.

Sums, products and powers with positive integer exponents of positive semi-definite kernels are positive semi-definite,
and so is a kernel that is normalised. Negative factors and fractional powers are not in general, and are refused.
"""

from mercer.kernels.algebra.combinations import Constant, Product, Sum
from mercer.kernels.algebra.functions import Power
from mercer.kernels.algebra.geometry import Normalized

__all__ = ["Constant", "Normalized", "Power", "Product", "Sum"]
