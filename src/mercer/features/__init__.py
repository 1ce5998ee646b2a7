"""Features whose inner products are a kernel, exactly or nearly; and which features to keep."""

from mercer.features.backward import EliminationResult
from mercer.features.elimination import KernelRFE
from mercer.features.explicit import ExplicitFeatures
from mercer.features.fourier import RandomFourier
from mercer.features.landmarks import Nystroem
from mercer.features.spectral import MercerMap

__all__ = ["EliminationResult", "ExplicitFeatures", "KernelRFE", "MercerMap", "Nystroem", "RandomFourier"]
