"""Kernel matrices as objects: where their numbers come from, what they cost, what they tell, how they are repaired.

What is about matrices takes a kernel matrix K, an array or a `Gram`: `spectrum`, `diagnose`, `center`, `alignment`, the
repair of indefinite similarities (`clip`, ..., `Repair`). What is about samples in feature space takes a kernel and
samples: `Expansion`, `distances`, `mmd_test`, ...; for a stored matrix there is the kernel `mercer.kernels.Indexed`.
"""

from mercer.gram.alignments import alignment, alignment_gradient, centered_alignment, ideal_kernel
from mercer.gram.blocks import BlocksGram
from mercer.gram.centering import center, normalize
from mercer.gram.designs import Design, KernelDesign, MatrixDesign, StackedDesign, kernel_design
from mercer.gram.diagnosis import Diagnosis, Finding, diagnose
from mercer.gram.eigenpairs import Eigenpairs, leading_eigenpairs
from mercer.gram.expansions import Expansion
from mercer.gram.feature_space import Centrality, centrality, distances, distances_to_mean
from mercer.gram.features import FeatureGram
from mercer.gram.landmark_matrix import LandmarkMatrix
from mercer.gram.landmarks import LandmarkGram
from mercer.gram.linear import LinearGram
from mercer.gram.low_rank import LowRank, low_rank
from mercer.gram.memory import memory_budget
from mercer.gram.proxy import ProxyKernel, proxy_kernel
from mercer.gram.repair import Repair, clip, flip, shift, square
from mercer.gram.sources import FunctionGram, Gram, MatrixGram, VectorGram, make_gram
from mercer.gram.spectra import MatrixSpectrum, eigenvalues, is_conditionally_psd, is_psd, spectrum
from mercer.gram.stacks import GramStack
from mercer.gram.two_samples import TwoSampleTest, mmd, mmd_test, squared_mmd

__all__ = [
    "BlocksGram",
    "Centrality",
    "Design",
    "Diagnosis",
    "Eigenpairs",
    "Expansion",
    "FeatureGram",
    "Finding",
    "FunctionGram",
    "Gram",
    "GramStack",
    "KernelDesign",
    "LandmarkGram",
    "LandmarkMatrix",
    "LinearGram",
    "LowRank",
    "MatrixDesign",
    "MatrixGram",
    "MatrixSpectrum",
    "ProxyKernel",
    "Repair",
    "StackedDesign",
    "TwoSampleTest",
    "VectorGram",
    "alignment",
    "alignment_gradient",
    "center",
    "centered_alignment",
    "centrality",
    "clip",
    "diagnose",
    "distances",
    "distances_to_mean",
    "eigenvalues",
    "flip",
    "ideal_kernel",
    "is_conditionally_psd",
    "is_psd",
    "kernel_design",
    "leading_eigenpairs",
    "low_rank",
    "make_gram",
    "memory_budget",
    "mmd",
    "mmd_test",
    "normalize",
    "proxy_kernel",
    "shift",
    "spectrum",
    "square",
    "squared_mmd",
]
