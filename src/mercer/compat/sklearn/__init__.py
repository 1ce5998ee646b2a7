"""scikit-learn's support vector machines, and other kernel machines, with mercer's engine."""

from mercer.compat.sklearn.kernel_machines import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.compat.sklearn.kernel_pca import KernelPCA
from mercer.compat.sklearn.kernel_ridge import KernelRidge
from mercer.compat.sklearn.linear_machines import LinearSVC, LinearSVR
from mercer.compat.sklearn.patching import patch_sklearn, unpatch_sklearn

__all__ = [
    "SVC",
    "SVR",
    "KernelPCA",
    "KernelRidge",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "patch_sklearn",
    "unpatch_sklearn",
]
