"""What the estimators of all rooms are made of; there is no estimator in here.

A `Machine` checks its parameters and samples; a `KernelMachine` sees samples through a kernel and learns functions that
are expansions over some of them. What such functions are good for is told by `KernelClassifier`, `KernelRegressor`,
`KernelDetector` and `KernelTransformer`.
"""

from mercer.machines.base import VECTORS, KernelMachine, Machine
from mercer.machines.checkpointed import CheckpointedMachine
from mercer.machines.expansions import (
    KernelClassifier,
    KernelDetector,
    KernelRegressor,
    KernelTransformer,
    LogOddsClassifier,
    WeightedClassifier,
)
from mercer.machines.labels import ClassWeight, Labelled
from mercer.machines.landmarks import FullCertificate, LandmarkMachine, Landmarks
from mercer.machines.spectral import SpectralMachine

__all__ = [
    "VECTORS",
    "CheckpointedMachine",
    "ClassWeight",
    "FullCertificate",
    "KernelClassifier",
    "KernelDetector",
    "KernelMachine",
    "KernelRegressor",
    "KernelTransformer",
    "Labelled",
    "LandmarkMachine",
    "Landmarks",
    "LogOddsClassifier",
    "Machine",
    "SpectralMachine",
    "WeightedClassifier",
]
