"""Kernels on strings, other sequences of symbols, and series."""

import numpy as np

from kernel_registry.objects import as_objects
from mercer import kernels

KERNELS = {
    "AlignmentKernel": lambda: kernels.AlignmentKernel(beta=0.3),
    "AlignmentKernel of a table": lambda: kernels.AlignmentKernel(beta=0.2, substitution="BLOSUM62", gap_open=11.0),
    "AllSubsequences": lambda: kernels.AllSubsequences(),
    "CommonSubstrings": lambda: kernels.CommonSubstrings(),
    "CommonSubstrings of some lengths": lambda: kernels.CommonSubstrings(decay=0.7, shortest=2, longest=5),
    "FixedSubsequences": lambda: kernels.FixedSubsequences(2),
    "GapWeighted": lambda: kernels.GapWeighted(3, decay=0.6),
    "GapWeighted blended": lambda: kernels.GapWeighted(6, decay=0.4, blended=True),
    "GappedKmer": lambda: kernels.GappedKmer(g=4, k=2),
    "GlobalAlignment": lambda: kernels.GlobalAlignment(sigma=1.3),
    "GlobalAlignment near the diagonal": lambda: kernels.GlobalAlignment(sigma=1.3, triangle=5),
    "LocalAlignment": lambda: kernels.LocalAlignment(match=2.0),
    "LocalAlignment of a table": lambda: kernels.LocalAlignment("BLOSUM62", gap_open=11.0),
    "Mismatch": lambda: kernels.Mismatch(k=4, m=1),
    "Spectrum": lambda: kernels.Spectrum(2),
    "Spectrum blended": lambda: kernels.Spectrum(3, blended=True),
    "WeightedDegree": lambda: kernels.WeightedDegree(4),
    "WeightedDegree with shifts": lambda: kernels.WeightedDegree(3, shift=2),
}


def strings(kernel, rng, n, d):
    """DNA of up to twice d letters, some of it empty; of d letters where all must have one length."""
    lengths = np.full(n, d) if isinstance(kernel, kernels.WeightedDegree) else rng.integers(0, 2 * d + 1, size=n)
    return as_objects("".join(rng.choice(list("ACGT"), size=length)) for length in lengths)


def series(kernel, rng, n, d):
    return as_objects(tuple(rng.normal(size=rng.integers(d + 1)).round(3).tolist()) for _ in range(n))


SAMPLES = {"series": series, "strings": strings}

WRONG = {
    "series": ["word", ["GATTACA", "TATA"], [np.zeros((2, 2, 2))], [None], [np.zeros((2, 1)), np.zeros((2, 3))]],
    "strings": ["GATTACA", np.zeros((3, 4)), [1.0, 2.0], [None, "TATA"], [["GATTACA", ["unhashable"]]], [{"a", "b"}]],
}

HOLDS_DATA = ()
