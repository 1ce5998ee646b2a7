"""Kernels from probability models, on sequences and on vectors."""

import numpy as np

from kernel_registry.objects import as_objects
from mercer import kernels, models

COINS = models.HiddenMarkovModel(
    [0.4, 0.6], [[0.8, 0.2], [0.3, 0.7]], [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], "abc", coordinates="probabilities"
)
PAIRS = models.StochasticGrammar.from_string("""
    S -> S S [0.3] | A U [0.2] | 'a' [0.2] | 'b' [0.2] | 'c' [0.1]
    U -> S B [1.0]
    A -> 'a' [0.7] | 'c' [0.3]
    B -> 'b' [0.9] | 'a' [0.1]
""")
LETTERS = models.Multinomial([0.5, 0.3, 0.2], "abc")
CLOUD = models.GaussianModel([0.3, -0.2, 0.1], [[1.0, 0.3, 0.0], [0.3, 2.0, 0.4], [0.0, 0.4, 0.5]])
MIXTURE = models.GaussianMixtureModel(
    [0.6, 0.4], [[0.0, 0.0, 1.0], [1.0, -1.0, 0.0]], [[1.0, 0.5, 2.0], [0.7, 1.5, 1.0]]
)
# As `resolve` makes it from data.
SECOND_MOMENTS = np.random.default_rng(3).normal(size=(40, 12))
SECOND_MOMENTS = SECOND_MOMENTS.T @ SECOND_MOMENTS / 40

KERNELS = {
    "MarginalizedCount of neighbours": lambda: kernels.MarginalizedCount(COINS, order=2, frequencies=False),
    "MarginalizedCount": lambda: kernels.MarginalizedCount(COINS),
    "Fisher of a hidden Markov model": lambda: kernels.Fisher(COINS, SECOND_MOMENTS),
    "Fisher of a grammar": lambda: kernels.Fisher(PAIRS, "identity"),
    "Fisher of letters": lambda: kernels.Fisher(LETTERS, "exact"),
    "Fisher of a Gaussian": lambda: kernels.Fisher(CLOUD, "exact"),
    "Fisher of a mixture": lambda: kernels.Fisher(MIXTURE, "identity"),
    "MarginalizedCount of a grammar": lambda: kernels.MarginalizedCount(PAIRS, order=2),
}


def samples_of(kernel, rng, n, d):
    """What the model of a kernel works on."""
    if kernel.domain == "vectors":
        return rng.normal(size=(n, kernel.model.n_features))
    lengths = rng.integers(1, 2 + min(d, 12), size=n)
    return as_objects("".join("abc"[i] for i in rng.integers(3, size=length)) for length in lengths)


OWN_SAMPLES = {kernels.Fisher: samples_of, kernels.MarginalizedCount: samples_of}
SAMPLES = {}
WRONG = {}
HOLDS_DATA = (kernels.Fisher, kernels.MarginalizedCount)
