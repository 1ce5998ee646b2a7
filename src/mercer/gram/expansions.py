"""Functions in the space of a kernel: what they are worth at a sample, how long they are."""

from numbers import Real
from typing import Any

import numpy as np

from mercer.gram.checks import roots
from mercer.kernels import as_kernel
from mercer.kernels.samples import n_samples, together
from mercer.sums import inner

__all__ = ["Expansion"]


class Expansion:
    r"""A function in the reproducing kernel Hilbert space of a kernel. [P eqs 1.9-1.12]

    .. math::

        f(x) = \sum_i a_i k(x_i, x), \qquad \langle f, g \rangle = \sum_{ij} a_i b_j k(x_i, x'_j), \qquad
        \|f\|^2 = \sum_{ij} a_i a_j k(x_i, x_j)

    Its value at a sample is an inner product, :math:`f(x) = \langle f, k(x, \cdot) \rangle`; so
    :math:`|f(x) - f(x')| \le \|f\| \, \|\phi(x) - \phi(x')\|`: the norm says how much a function can vary between
    similar samples. Functions of the same kernel can be added, subtracted and multiplied by numbers.

    Parameters
    ----------
    kernel : Kernel, str or callable
        Resolved on the points where it takes parameters from data.
    points : n samples
        x_i.
    coefficients : array of shape (n,)
        a_i.

    Attributes
    ----------
    kernel : Kernel
        The kernel, resolved.
    points, coefficients
        As given.

    See Also
    --------
    distances : Distances in the same space, between samples.

    Notes
    -----
    Time O(n) kernel values for the value at one sample, O(n^2) for the norm; the matrix is never stored.

    Examples
    --------
    The decision function of a support vector machine, without its offset, is one; its norm is one over the margin.

    >>> from mercer import SVC
    >>> from mercer.gram import Expansion
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1]
    >>> machine = SVC(kernel="linear", C=float("inf")).fit(X, y)
    >>> f = Expansion(machine.kernel_, machine.support_vectors_, machine.dual_coef_[0])
    >>> f([[1.0], [4.0]]) + machine.intercept_
    array([-1.,  1.])
    >>> 1 / f.norm
    1.5
    """

    __array_ufunc__ = None  # NumPy scalars on the left leave the product to us

    def __init__(self, kernel: Any, points: Any, coefficients: Any):
        self.kernel = as_kernel(kernel).resolve(points)
        self.points = points
        self.coefficients = np.ascontiguousarray(coefficients, dtype=np.float64)
        if self.coefficients.shape != (n := n_samples(points),):
            raise ValueError(f"coefficients have shape {self.coefficients.shape}, for {n} points they must be {(n,)}.")
        if not np.isfinite(self.coefficients).all():
            raise ValueError("coefficients must be finite.")

    def __call__(self, X: Any) -> np.ndarray:
        """Values of the function.

        Parameters
        ----------
        X : m samples

        Returns
        -------
        ndarray of shape (m,)
        """
        return self.kernel.dot(X, self.points, self.coefficients)

    def inner(self, other: "Expansion") -> float:
        """The inner product with another function of the same kernel.

        Parameters
        ----------
        other : Expansion

        Returns
        -------
        float
        """
        self._check_kernel(other)
        return inner(self.coefficients, other(self.points))

    @property
    def squared_norm(self) -> float:
        """The inner product of the function with itself; for an indefinite kernel it may be negative."""
        return self.inner(self)

    @property
    def norm(self) -> float:
        """The length of the function.

        Raises
        ------
        IndefiniteError
            If the kernel is indefinite and gives it none.
        """
        sizes = np.abs(self.coefficients) * np.sqrt(np.abs(self.kernel.diag(self.points)))
        return float(roots(self.squared_norm, sizes.sum() ** 2, "the squared norm of the function"))

    # --- algebra ------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> "Expansion":
        if not isinstance(other, Expansion):
            return NotImplemented
        self._check_kernel(other)
        if other.points is self.points:
            return self._like(self.points, self.coefficients + other.coefficients)
        return self._like(together(self.points, other.points), np.concatenate([self.coefficients, other.coefficients]))

    def __sub__(self, other: Any) -> "Expansion":
        return self + -other if isinstance(other, Expansion) else NotImplemented

    def __mul__(self, factor: Any) -> "Expansion":
        if not isinstance(factor, Real) or isinstance(factor, bool):
            return NotImplemented
        return self._like(self.points, float(factor) * self.coefficients)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> "Expansion":
        return self * (1.0 / divisor) if isinstance(divisor, Real) else NotImplemented

    def __neg__(self) -> "Expansion":
        return self * -1.0

    def __repr__(self) -> str:
        return f"Expansion({self.kernel!r}, {n_samples(self.points)} points)"

    def _like(self, points: Any, coefficients: np.ndarray) -> "Expansion":
        return type(self)(self.kernel, points, coefficients)

    def _check_kernel(self, other: "Expansion") -> None:
        if self.kernel != other.kernel:
            raise ValueError(f"Both functions must be of one kernel, got {self.kernel!r} and {other.kernel!r}.")
