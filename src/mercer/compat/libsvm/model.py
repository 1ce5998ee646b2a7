"""What a LIBSVM model file says, as data."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from mercer.calibration import couple
from mercer.compat.layout import pairs_of
from mercer.kernels import RBF, Kernel, Linear, Polynomial, Sigmoid

__all__ = ["KERNELS", "MARKS", "TYPES", "Model", "density_marks"]

# In the order of svm-train's -s and -t.
TYPES = ("c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr")
KERNELS = ("linear", "polynomial", "rbf", "sigmoid", "precomputed")
# Of the decision values of one-class machines, as LIBSVM has them since 3.3.
MARKS = 10


@dataclass(frozen=True, eq=False)
class Model:
    """A LIBSVM model, in its order of classes and its signs.

    The functions are :math:`f_p(x) = \\sum_s c_{ps} k(x, x_s) - \\rho_p`. Of several classes there is one for every
    pair (i, j), i < j, in lexicographic order; positive values speak for i.

    See Also
    --------
    mercer.compat.libsvm.read_model : A machine of mercer from a file.
    """

    type: str
    """"c_svc", "nu_svc", "one_class", "epsilon_svr" or "nu_svr"."""
    kernel: str
    """"linear", "polynomial", "rbf", "sigmoid" or "precomputed"."""
    rho: np.ndarray
    """Minus the offsets, one for every function."""
    coefficients: np.ndarray
    """Shape (n_classes - 1, n_support), see `mercer.compat.layout`; one row where there are no classes."""
    vectors: csr_array
    """The support vectors; for a precomputed kernel one column, their numbers among the training samples, from 1."""
    degree: int = 3
    gamma: float = 0.0
    coef0: float = 0.0
    labels: tuple[int, ...] = ()
    """The classes; none for regression and one-class machines."""
    n_support: tuple[int, ...] = ()
    """How many of the support vectors belong to each class, in this order."""
    prob_a: np.ndarray | None = None
    """Slopes of the sigmoids of all pairs, or the width of a regressor's errors."""
    prob_b: np.ndarray | None = None
    """Offsets of the sigmoids."""
    density_marks: np.ndarray | None = None
    """Of a one-class machine, the decision values between bins of normality."""

    @property
    def classifies(self) -> bool:
        """Whether there are classes."""
        return self.type in ("c_svc", "nu_svc")

    @property
    def of_class(self) -> np.ndarray:
        """The number of the class of every support vector."""
        return np.repeat(np.arange(len(self.labels)), self.n_support)

    def kernel_object(self) -> Kernel | str:
        """The kernel as mercer has it."""
        if self.kernel == "linear":
            return Linear()
        if self.kernel == "rbf":
            return RBF(self.gamma)
        if self.kernel == "sigmoid":
            return Sigmoid(self.gamma, self.coef0)
        if self.kernel == "polynomial":  # x^0 = 1
            return Polynomial(self.degree, self.gamma, self.coef0) if self.degree else Polynomial(1, 0.0, 1.0)
        return "precomputed"

    # --- LIBSVM's predictions from decision values ---------------------------------------------------------

    def winners(self, values: np.ndarray) -> np.ndarray:
        """The class with most votes, the first of equals, from the values of all pairs, shape (n, n_pairs)."""
        one = np.eye(len(self.labels))
        i, j = pairs_of(len(self.labels)).T
        wins = values > 0
        return np.array(self.labels)[(wins @ one[i] + ~wins @ one[j]).argmax(axis=1)]

    def probabilities(self, values: np.ndarray) -> np.ndarray:
        """Probabilities of the classes, shape (n, n_classes), from the values of all pairs."""
        assert self.prob_a is not None and self.prob_b is not None
        least = 1e-7  # as in LIBSVM, no pair is surer than this
        second = np.clip(expit(self.prob_a * values + self.prob_b), least, 1.0 - least)
        pairs: list[Any] = [(i, j) for i, j in pairs_of(len(self.labels))]
        return couple(second, pairs, len(self.labels))

    def normality(self, values: np.ndarray) -> np.ndarray:
        """How probable it is that samples are no outliers, from the values of a one-class machine."""
        assert self.density_marks is not None
        share = np.searchsorted(self.density_marks, values, side="right") / MARKS
        return np.clip(share, 0.001, 0.999)  # as in LIBSVM, none is surer than this


def density_marks(values: np.ndarray) -> np.ndarray | None:
    """Marks between ten bins of normality: five for outliers and five for the others, of about as many samples each.

    Parameters
    ----------
    values : array of shape (n,)
        Decision values of the training samples of a one-class machine.

    Returns
    -------
    array of shape (10,) or None
        None where fewer than five samples are on one side.
    """
    values = np.sort(values)
    n_out = int(np.count_nonzero(values < 0))
    n_in = len(values) - n_out
    if min(n_out, n_in) < MARKS // 2:
        return None
    steps = np.arange(MARKS // 2)
    outer, inner = values[steps * n_out // (MARKS // 2)], values[n_out - 1 + (steps + 1) * n_in // (MARKS // 2)]
    edges = np.concatenate([outer, [0.0], inner])
    return (edges[:-1] + edges[1:]) / 2
