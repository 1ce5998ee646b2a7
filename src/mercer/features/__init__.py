"""Features: those whose inner products are a kernel, and which ones to choose among those there are.

Explicit features of a kernel, exact or nearly so, are for linear machines and other libraries. Of given features,
filters score each by how it tells classes apart, recursive elimination takes away those that a machine misses least,
and a selection curve shows how many of the best to take.
"""

from mercer.features.backward import EliminationResult
from mercer.features.curves import SelectionCurve, selection_curve
from mercer.features.elimination import KernelRFE
from mercer.features.explicit import ExplicitFeatures
from mercer.features.fourier import RandomFourier
from mercer.features.landmarks import Nystroem
from mercer.features.scores import fisher_score, mann_whitney, t_test
from mercer.features.sketches import PolynomialSketch
from mercer.features.spectral import MercerMap

__all__ = [
    "EliminationResult",
    "ExplicitFeatures",
    "KernelRFE",
    "MercerMap",
    "Nystroem",
    "PolynomialSketch",
    "RandomFourier",
    "SelectionCurve",
    "fisher_score",
    "mann_whitney",
    "selection_curve",
    "t_test",
]
