"""Gaussian processes: the evidence maximised from the same start."""

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier as TheirClassifier
from sklearn.gaussian_process import GaussianProcessRegressor as TheirRegressor
from sklearn.gaussian_process.kernels import RBF as TheirRBF
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel, WhiteKernel

from benchmarks.data import Samples
from benchmarks.task import Quality, Task
from mercer.gp import GaussianProcessClassifier, GaussianProcessRegressor
from mercer.kernels import RBF

FEATURES, GAMMA, NOISE = 5, 0.1, 0.1
# Length scales between 1e-5 and 1e5, as theirs by default: widths of features that do not matter go to the end.
BOUNDS = {"kernel__gamma": (0.5e-10, 0.5e10)}


def samples(n: int, classes: bool = False) -> Samples:
    """Two features of five matter, one of them twice."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, FEATURES))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=n)
    return Samples(X, (y > 0).astype(int) if classes else y, None, None)


def their_prior(widths: np.ndarray | float) -> Kernel:
    return ConstantKernel(1.0) * TheirRBF(widths / np.sqrt(2 * GAMMA))


def values(lesson: Samples) -> GaussianProcessRegressor:
    return GaussianProcessRegressor(RBF(gamma=GAMMA), amplitude=1.0, noise=NOISE).fit(lesson.X, lesson.y)


def their_values(lesson: Samples) -> TheirRegressor:
    return TheirRegressor(their_prior(1.0) + WhiteKernel(NOISE)).fit(lesson.X, lesson.y)


def wide_values(lesson: Samples) -> GaussianProcessRegressor:
    kernel = RBF(gamma=np.full(FEATURES, GAMMA))
    return GaussianProcessRegressor(kernel, amplitude=1.0, noise=NOISE, bounds=BOUNDS).fit(lesson.X, lesson.y)


def their_wide_values(lesson: Samples) -> TheirRegressor:
    return TheirRegressor(their_prior(np.ones(FEATURES)) + WhiteKernel(NOISE)).fit(lesson.X, lesson.y)


def classes(lesson: Samples) -> GaussianProcessClassifier:
    return GaussianProcessClassifier(RBF(gamma=GAMMA)).fit(lesson.X, lesson.y)


def their_classes(lesson: Samples) -> TheirClassifier:
    return TheirClassifier(their_prior(1.0)).fit(lesson.X, lesson.y)


def quality(lesson: Samples, machine) -> Quality:
    ours = hasattr(machine, "result_")
    return {"log evidence": float(machine.log_marginal_likelihood_ if ours else machine.log_marginal_likelihood_value_)}


SAME = {"log evidence": ("relative", 1e-4)}

TASKS = [
    Task(
        name="gp-2000",
        title="GaussianProcessRegressor, RBF, evidence maximised, n = 2000",
        group="Gaussian processes",
        setup=lambda _: samples(2000),
        contenders={"mercer": values, "scikit-learn": their_values},
        quality=quality,
        tolerance=SAME,
        repeats=3,
    ),
    Task(
        name="gp-widths-2000",
        title="the same with one width for each of 5 features",
        group="Gaussian processes",
        setup=lambda _: samples(2000),
        contenders={"mercer": wide_values, "scikit-learn": their_wide_values},
        quality=quality,
        tolerance=SAME,
        repeats=0,
    ),
    Task(
        name="gp-classes-1000",
        title="GaussianProcessClassifier, RBF, evidence maximised, n = 1000",
        group="Gaussian processes",
        setup=lambda _: samples(1000, classes=True),
        contenders={"mercer": classes, "scikit-learn": their_classes},
        quality=quality,
        tolerance=SAME,
        repeats=3,
    ),
]
