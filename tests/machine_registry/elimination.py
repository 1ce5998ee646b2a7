"""Features that are taken away one after the other."""

from mercer.features import KernelRFE, elimination
from mercer.svm import SVC, SVR

ROOMS = (elimination,)

MACHINES = {
    "KernelRFE": lambda: KernelRFE(),
    "KernelRFE batches": lambda: KernelRFE(SVC(), step=0.5, n_features_to_select=2),
    "KernelRFE of values": lambda: KernelRFE(SVR("linear", tol=1e-9)),
}

NO_EXPANSION = (KernelRFE,)
ON_VECTORS = (KernelRFE,)
