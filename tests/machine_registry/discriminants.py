"""Classifiers from means and mistakes."""

from mercer import discriminant

ROOMS = (discriminant,)

MACHINES = {
    "KernelFisherDiscriminant": lambda: discriminant.KernelFisherDiscriminant(),
    "KernelFisherDiscriminant linear": lambda: discriminant.KernelFisherDiscriminant(
        "linear", alpha=0.1, priors="uniform"
    ),
    "KernelNearestCentroid": lambda: discriminant.KernelNearestCentroid(),
    "KernelPerceptron": lambda: discriminant.KernelPerceptron(),
    "KernelPerceptron averaged": lambda: discriminant.KernelPerceptron(
        averaged=True, fit_intercept=False, max_iter=5, shuffle=False
    ),
    "ParzenClassifier": lambda: discriminant.ParzenClassifier(),
    "ParzenClassifier priors": lambda: discriminant.ParzenClassifier(priors="empirical"),
}

ORDERED = (discriminant.KernelPerceptron,)
