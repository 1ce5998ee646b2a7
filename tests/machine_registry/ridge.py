"""Least squares machines."""

from mercer import kernels, ridge

ROOMS = (ridge,)

MACHINES = {
    "KernelRidge": lambda: ridge.KernelRidge(alpha=0.3),
    "KernelRidge landmarks": lambda: ridge.KernelRidge(alpha=0.3, approximation=500),
    "KernelRidge bound": lambda: ridge.KernelRidge(norm_bound=3.0, fit_intercept=True),
    "KernelRidge leaving one out": lambda: ridge.KernelRidge(alpha="loo", fit_intercept=True),
    "KernelRidge linear": lambda: ridge.KernelRidge(kernels.Linear(), alpha=[0.1, 1.0, 10.0], fit_intercept=True),
    "LSSVC": lambda: ridge.LSSVC(),
    "LSSVC balanced": lambda: ridge.LSSVC(alpha="loo", class_weight="balanced"),
}
