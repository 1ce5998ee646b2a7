"""The base of kernels that are sums over explicit, sparse features: what two samples have in common, counted."""

from abc import abstractmethod
from typing import Any, ClassVar, Literal

from mercer import _native
from mercer.data.features import SparseFeatures
from mercer.kernels.base import Kernel
from mercer.threads import effective_n_threads

__all__ = ["FeatureKernel"]


class FeatureKernel(Kernel):
    r"""A kernel that is a sum over the features that two samples have in common.

    .. math:: k(x, x') = \sum_f \phi_f(x)\, \phi_f(x') \quad\text{or}\quad \sum_f \min(\phi_f(x), \phi_f(x'))

    A subclass says in ``_features`` which features samples have. The matrix comes from lists of who has which feature,
    in time that grows with the number of common features of all pairs.
    """

    join: ClassVar[Literal["dot", "min"]] = "dot"

    @abstractmethod
    def _features(self, X: Any, name: str) -> SparseFeatures:
        """The features of samples as they are given; `name` is the argument ("X" or "Y"), for messages."""

    def prepare(self, X, Y=None):
        of_X = X if isinstance(X, SparseFeatures) else self._features(X, "X")
        if Y is None or Y is X:
            return of_X, of_X
        return of_X, Y if isinstance(Y, SparseFeatures) else self._features(Y, "Y")

    def _matrix(self, X, Y):
        return _native.features_matrix(self.join, X.native(), Y.native(), effective_n_threads())

    def _sparse_features(self, X):
        return X if self.join == "dot" else None

    def _diag(self, X):
        return _native.features_diag(self.join, X.native())
