"""Kernels on vectors: inner products, distances, histograms and categories."""

from mercer.kernels.vectors.counts import Chi2, Hamming, Intersection
from mercer.kernels.vectors.distances import RBF, Exponential, Laplacian, Matern, RationalQuadratic
from mercer.kernels.vectors.products import Cosine, Linear, Polynomial, Sigmoid, Tanimoto

__all__ = [
    "RBF",
    "Chi2",
    "Cosine",
    "Exponential",
    "Hamming",
    "Intersection",
    "Laplacian",
    "Linear",
    "Matern",
    "Polynomial",
    "RationalQuadratic",
    "Sigmoid",
    "Tanimoto",
]
