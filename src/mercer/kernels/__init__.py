"""Kernels: what similarity is.

A kernel turns samples into numbers. Kernels are values with parameters, are never fitted, and are combined
with ``+``, ``*`` and ``**``, on columns of tables (`On`), and by methods such as ``kernel.normalized()``.

>>> from mercer.kernels import RBF, Linear
>>> kernel = RBF(gamma=0.5) + 2 * Linear()
>>> kernel([[0.0], [2.0]]).round(3)
array([[1.   , 0.135],
       [0.135, 9.   ]])
"""

from typing import Any

from mercer.kernels.algebra import (
    Centered,
    Constant,
    EmpiricalMap,
    Exp,
    Geometric,
    Normalized,
    PolynomialOf,
    Power,
    Product,
    RBFOf,
    Scaled,
    Sum,
    exp,
    weighted_sum,
)
from mercer.kernels.base import Kernel, NativeSpec
from mercer.kernels.cached import Cached
from mercer.kernels.given import FromFunction, Indexed
from mercer.kernels.graphs import (
    EdgeHistogram,
    GraphHopper,
    Graphlet,
    RandomWalk,
    ShortestPath,
    VertexHistogram,
    WeisfeilerLehman,
    WeisfeilerLehmanOptimalAssignment,
)
from mercer.kernels.nodes import Diffusion, PStepRandomWalk, RegularizedLaplacian, VonNeumann
from mercer.kernels.permutations import Kendall, Mallows
from mercer.kernels.probabilistic import Fisher, MarginalizedCount
from mercer.kernels.sets import CommonElements, Jaccard, SetKernel
from mercer.kernels.stationary import TranslationInvariant
from mercer.kernels.strings import (
    AlignmentKernel,
    AllSubsequences,
    CommonSubstrings,
    FixedSubsequences,
    GappedKmer,
    GapWeighted,
    GlobalAlignment,
    LocalAlignment,
    Mismatch,
    Spectrum,
    WeightedDegree,
)
from mercer.kernels.tables import Mapped, On
from mercer.kernels.trees import SubsetTree, SubTree
from mercer.kernels.vectors import (
    RBF,
    Chi2,
    Cosine,
    Exponential,
    Hamming,
    Intersection,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    Tanimoto,
)

__all__ = [
    "RBF",
    "AlignmentKernel",
    "AllSubsequences",
    "Cached",
    "Centered",
    "Chi2",
    "CommonElements",
    "CommonSubstrings",
    "Constant",
    "Cosine",
    "Diffusion",
    "EdgeHistogram",
    "EmpiricalMap",
    "Exp",
    "Exponential",
    "Fisher",
    "FixedSubsequences",
    "FromFunction",
    "GapWeighted",
    "GappedKmer",
    "Geometric",
    "GlobalAlignment",
    "GraphHopper",
    "Graphlet",
    "Hamming",
    "Indexed",
    "Intersection",
    "Jaccard",
    "Kendall",
    "Kernel",
    "Laplacian",
    "Linear",
    "LocalAlignment",
    "Mallows",
    "Mapped",
    "MarginalizedCount",
    "Matern",
    "Mismatch",
    "NativeSpec",
    "Normalized",
    "On",
    "PStepRandomWalk",
    "Polynomial",
    "PolynomialOf",
    "Power",
    "Product",
    "RBFOf",
    "RandomWalk",
    "RationalQuadratic",
    "RegularizedLaplacian",
    "Scaled",
    "SetKernel",
    "ShortestPath",
    "Sigmoid",
    "Spectrum",
    "SubTree",
    "SubsetTree",
    "Sum",
    "Tanimoto",
    "TranslationInvariant",
    "VertexHistogram",
    "VonNeumann",
    "WeightedDegree",
    "WeisfeilerLehman",
    "WeisfeilerLehmanOptimalAssignment",
    "as_kernel",
    "exp",
    "weighted_sum",
]

ALIASES: dict[str, type[Kernel]] = {
    "chi2": Chi2,
    "constant": Constant,
    "cosine": Cosine,
    "exponential": Exponential,
    "hamming": Hamming,
    "intersection": Intersection,
    "laplacian": Laplacian,
    "linear": Linear,
    "matern": Matern,
    "poly": Polynomial,
    "polynomial": Polynomial,
    "rational_quadratic": RationalQuadratic,
    "rbf": RBF,
    "sigmoid": Sigmoid,
    "tanimoto": Tanimoto,
}


def as_kernel(kernel: Any) -> Kernel:
    """A kernel from its name, from a function, or from a kernel.

    Parameters
    ----------
    kernel : str, Kernel or callable
        A name gives the kernel with default parameters; a callable is wrapped in `FromFunction`; a kernel is
        returned as it is.

    Returns
    -------
    Kernel

    Examples
    --------
    >>> from mercer.kernels import as_kernel
    >>> as_kernel("poly")
    Polynomial()
    """
    if isinstance(kernel, Kernel):
        return kernel
    names = ", ".join(map(repr, sorted(ALIASES)))
    if isinstance(kernel, str):
        if kernel in ALIASES:
            return ALIASES[kernel]()
        if kernel == "precomputed":
            raise ValueError(
                "'precomputed' is no kernel but an option of estimators, which then take kernel matrices in "
                "place of samples. Indexed(K) is a kernel of row numbers of K."
            )
        raise ValueError(f"kernel must be a Kernel, a callable, 'precomputed' or one of {names}, got {kernel!r}.")
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise TypeError(f"kernel must be an instance, got the class {kernel.__name__}; write {kernel.__name__}().")
    if callable(kernel):
        return FromFunction(kernel)
    raise TypeError(f"kernel must be a Kernel, a callable, 'precomputed' or one of {names}, got {kernel!r}.")
