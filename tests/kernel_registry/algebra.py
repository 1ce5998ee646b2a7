"""Kernels made of kernels."""

from mercer import kernels

KERNELS = {
    "Normalized": lambda: kernels.Polynomial(degree=2, gamma=0.7, coef0=0.4).normalized(),
    "Normalized of categories": lambda: (kernels.Hamming() + 0.5).normalized(),
    "Normalized of a sum": lambda: kernels.Normalized(
        kernels.RBF(gamma=0.2) + kernels.Constant(0.5) * kernels.Linear()
    ),
}

SAMPLES: dict = {}
WRONG: dict = {}
HOLDS_DATA: tuple = ()
