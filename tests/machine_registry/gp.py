"""Gaussian processes."""

from mercer import gp

ROOMS = (gp,)
MACHINES = {
    "GaussianProcessRegressor": lambda: gp.GaussianProcessRegressor(),
    "GaussianProcessRegressor given": lambda: gp.GaussianProcessRegressor(
        amplitude=2.0, noise=0.05, optimize=False, normalize_y=True
    ),
    "GaussianProcessRegressor noise": lambda: gp.GaussianProcessRegressor(optimize=["amplitude", "noise"]),
    "GaussianProcessClassifier": lambda: gp.GaussianProcessClassifier(),
    "GaussianProcessClassifier given": lambda: gp.GaussianProcessClassifier(amplitude=4.0, optimize=False),
}
OWN_KERNEL = ("GaussianProcessRegressor", "GaussianProcessClassifier")
NO_EXPANSION = (gp.GaussianProcessClassifier,)  # log-odds, which take the spread into account
