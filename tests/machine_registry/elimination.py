"""Features that are taken away one after the other."""

from mercer.features import KernelRFE, elimination
from mercer.svm import SVC

ROOMS = (elimination,)

MACHINES = {
    "KernelRFE": lambda: KernelRFE(),
    "KernelRFE batches": lambda: KernelRFE(SVC(), step=0.5, n_features_to_select=2),
}

NO_EXPANSION = (KernelRFE,)
ON_VECTORS = (KernelRFE,)
