"""Features whose inner products are a kernel, exactly or nearly: for linear machines and other libraries."""

from mercer.features.explicit import ExplicitFeatures
from mercer.features.fourier import RandomFourier
from mercer.features.landmarks import Nystroem
from mercer.features.spectral import MercerMap

__all__ = ["ExplicitFeatures", "MercerMap", "Nystroem", "RandomFourier"]
