"""Kernels between graphs: what they have in common, counted."""

from mercer.kernels.graphs.attributes import GraphHopper
from mercer.kernels.graphs.counts import EdgeHistogram, Graphlet, VertexHistogram
from mercer.kernels.graphs.paths import ShortestPath
from mercer.kernels.graphs.walks import RandomWalk
from mercer.kernels.graphs.weisfeiler_lehman import WeisfeilerLehman, WeisfeilerLehmanOptimalAssignment

__all__ = [
    "EdgeHistogram",
    "GraphHopper",
    "Graphlet",
    "RandomWalk",
    "ShortestPath",
    "VertexHistogram",
    "WeisfeilerLehman",
    "WeisfeilerLehmanOptimalAssignment",
]
