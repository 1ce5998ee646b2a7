"""Kernels on strings, other sequences of symbols, and time series."""

from mercer.kernels.strings.alignment import AlignmentKernel, LocalAlignment
from mercer.kernels.strings.positions import WeightedDegree
from mercer.kernels.strings.series import GlobalAlignment
from mercer.kernels.strings.spectrum import GappedKmer, Mismatch, Spectrum
from mercer.kernels.strings.subsequences import AllSubsequences, FixedSubsequences, GapWeighted
from mercer.kernels.strings.substrings import CommonSubstrings

__all__ = [
    "AlignmentKernel",
    "AllSubsequences",
    "CommonSubstrings",
    "FixedSubsequences",
    "GapWeighted",
    "GappedKmer",
    "GlobalAlignment",
    "LocalAlignment",
    "Mismatch",
    "Spectrum",
    "WeightedDegree",
]
