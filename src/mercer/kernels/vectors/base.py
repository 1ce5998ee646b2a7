"""The base of kernels on vectors, which the native loops compute."""

from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse

from mercer import _native
from mercer.kernels.base import Kernel, NativeSpec
from mercer.kernels.samples import as_pair, native_rows, native_samples, row_blocks, weighted
from mercer.threads import effective_n_threads

# Derivatives pass over a block of rows several times: so many entries stay near.
IN_CACHE = 1 << 18


class VectorKernel(Kernel):
    """A kernel k(x, x') = transform(measure(x, x')) on vectors.

    A subclass gives its `NativeSpec` in `native`, turns words into numbers in ``_from_data`` and has, if it
    has continuous parameters, the derivatives for a block of rows in ``_vjp_rows``.
    """

    domain: ClassVar[str] = "vectors"
    plain: ClassVar[bool] = True
    """Whether any table of finite numbers will do, so that what an estimator has checked need not be checked again."""

    def prepare(self, X, Y=None):
        return as_pair(X, Y, type(self).__name__)

    def resolve(self, X, sample_weight=None):
        self._check_parameters()
        resolved = deepcopy(self)
        if waiting := self._unresolved():
            X, w = weighted(self.prepare(X)[0].astype(np.float64, copy=False), sample_weight)
            with np.errstate(over="ignore", invalid="ignore"):  # an infinite width is refused by its rule
                for name in waiting:
                    setattr(resolved, name, self._from_data(getattr(self, name), X, w))
        return resolved

    def _from_data(self, word: str, X: Any, w: np.ndarray) -> float:
        """The number that a word stands for, from float64 vectors with positive weights."""
        raise NotImplementedError

    def _matrix(self, X, Y):
        return matrix(self.native(), X, Y)

    def _diag(self, X):
        return _native.kernel_diag(*self.native().arguments(), native_samples(X))

    def _dot(self, X, Y, V):
        return product(self.native(), X, Y, V)

    def _dot_rows(self, X, Y, rows):
        spec = self.native()
        if spec is None:
            return super()._dot_rows(X, Y, rows)
        x, y = native_samples(X), native_samples(Y)
        return _native.kernel_dot_rows(*spec.arguments(), x, y, native_rows(rows), effective_n_threads(), "").T

    def _decide(self, X, Y, v, offset):
        arguments = self.native().arguments()
        return _native.kernel_decide(
            *arguments, native_samples(X), native_samples(Y), v, float(offset), effective_n_threads(), ""
        )

    def _vjp(self, X, W):
        X = X.astype(np.float64, copy=False)
        total: dict[str, Any] = {}
        for rows in row_blocks(X.shape[0], X.shape[0], IN_CACHE):
            first = rows.start if not W[rows, : rows.start].any() else 0  # a triangle of weights takes half the time
            for name, value in self._vjp_rows(X[rows], X[first:], W[rows, first:]).items():
                total[name] = total.get(name, 0.0) + value
        return total

    def _vjp_rows(self, X: Any, Y: Any, W: np.ndarray) -> dict[str, Any]:
        """sum_ij W_ij dk(x_i, y_j)/dparameter over a block of rows."""
        return {}


def matrix(spec: NativeSpec, X: Any, Y: Any) -> Any:
    """The kernel matrix of a native kernel."""
    x = native_samples(X)
    y = x if Y is X else native_samples(Y)
    return _native.kernel_matrix(*spec.arguments(), x, y, effective_n_threads(), "")


def product(spec: NativeSpec, X: Any, Y: Any, V: np.ndarray) -> Any:
    """The kernel matrix of a native kernel times V, without the matrix."""
    x, y = native_samples(X), native_samples(Y)
    return _native.kernel_dot(*spec.arguments(), x, y, V, effective_n_threads(), "")


def measure(name: str, X: Any, Y: Any, weights: np.ndarray | None = None) -> np.ndarray:
    """What the kernels are functions of: inner products ("dot"), squared distances ("l2"), and so on."""
    return matrix(NativeSpec(name, "identity", weights=weights), X, Y)


def squared_differences(D: np.ndarray, X: Any, Y: Any) -> np.ndarray:
    """sum_ij D_ij (x_if - y_jf)^2 for every feature f, with one matrix product."""
    if issparse(X):
        cross = np.asarray(X.multiply(D @ Y).sum(axis=0)).ravel()
    else:
        centre = Y.mean(axis=0)  # differences do not feel it, rounding does
        X, Y = X - centre, Y - centre
        cross = np.einsum("if,if->f", X, D @ Y)
    return D.sum(axis=1) @ X**2 + D.sum(axis=0) @ Y**2 - 2 * cross
