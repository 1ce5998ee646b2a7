"""Logistic regression."""

from mercer import logistic

ROOMS = (logistic,)
MACHINES = {
    "KernelLogisticRegression": lambda: logistic.KernelLogisticRegression(),
    "KernelLogisticRegression landmarks": lambda: logistic.KernelLogisticRegression(tol=1e-9, approximation=500),
    "KernelLogisticRegression everything": lambda: logistic.KernelLogisticRegression(
        C=10.0, fit_intercept=False, class_weight="balanced", tol=1e-9, memory=0.01
    ),
}
