"""Kernels: what similarity is.

A kernel turns samples into numbers. Kernels are values with parameters, are never fitted, and are combined
with ``+``, ``*`` and ``**``.

>>> from mercer.kernels import RBF, Linear
>>> kernel = RBF(gamma=0.5) + 2 * Linear()
>>> kernel([[0.0], [2.0]]).round(3)
array([[1.   , 0.135],
       [0.135, 9.   ]])
"""

from typing import Any

from mercer.kernels.algebra import Constant, Power, Product, Sum
from mercer.kernels.base import Kernel, NativeSpec
from mercer.kernels.given import Function, Indexed
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
    "Chi2",
    "Constant",
    "Cosine",
    "Diffusion",
    "EdgeHistogram",
    "Exponential",
    "Function",
    "GraphHopper",
    "Graphlet",
    "Hamming",
    "Indexed",
    "Intersection",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "NativeSpec",
    "PStepRandomWalk",
    "Polynomial",
    "Power",
    "Product",
    "RandomWalk",
    "RationalQuadratic",
    "RegularizedLaplacian",
    "ShortestPath",
    "Sigmoid",
    "Sum",
    "Tanimoto",
    "VertexHistogram",
    "VonNeumann",
    "WeisfeilerLehman",
    "WeisfeilerLehmanOptimalAssignment",
    "as_kernel",
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
        A name gives the kernel with default parameters; a callable is wrapped in `Function`; a kernel is
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
        return Function(kernel)
    raise TypeError(f"kernel must be a Kernel, a callable, 'precomputed' or one of {names}, got {kernel!r}.")
