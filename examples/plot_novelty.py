"""
Novelty: a hyperplane, a ball, and when they are the same
=========================================================

A few of the samples are strays. Both machines draw a line around the others, and ``nu`` bounds the share of training
samples that may be left outside. `OneClassSVM` separates the data from the origin of feature space, `SVDD` puts the
smallest ball around it. With the Gaussian kernel all samples lie on a sphere, and the two draw the same line. With the
linear kernel they do not: the ball is a circle in the plane, while a hyperplane cannot surround anything.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVDD, OneClassSVM
from mercer.kernels import RBF
from mercer.plots import DecisionDisplay

rng = np.random.default_rng(0)
cluster = rng.normal(size=(90, 2)) * [1.0, 0.5] + [4.0, 3.0]
strays = rng.uniform([0.0, 0.0], [8.0, 6.0], size=(10, 2))
X = np.concatenate([cluster, strays])

machines = [
    ("OneClassSVM, Gaussian kernel", OneClassSVM(kernel=RBF(gamma=0.3), nu=0.1)),
    ("SVDD, Gaussian kernel", SVDD(kernel=RBF(gamma=0.3), nu=0.1)),
    ("SVDD, linear kernel", SVDD(kernel="linear", nu=0.1)),
]
figure, axes = plt.subplots(ncols=3, figsize=(12, 4), sharex=True, sharey=True, layout="constrained")
for ax, (name, machine) in zip(axes, machines, strict=True):
    outside = np.sum(machine.fit(X).predict(X) < 0)
    DecisionDisplay.from_estimator(machine, X, ax=ax)
    ax.set(title=f"{name}: {outside} of {len(X)} outside", aspect="equal")

plt.show()
