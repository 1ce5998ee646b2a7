"""The features of a kernel as a table, for linear machines."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer.data.features import SparseFeatures
from mercer.kernels import as_kernel

__all__ = ["ExplicitFeatures"]


class ExplicitFeatures(TransformerMixin, BaseEstimator):
    r"""Samples as the sparse feature vectors of a kernel, for a linear machine.

    .. math:: k(x, x') = \phi(x) \cdot \phi(x')

    A machine with the kernel k and a linear machine on the vectors :math:`\phi` are the same machine; the linear one
    needs no kernel matrix, and learns from a million short strings in seconds.

    Parameters
    ----------
    kernel : Kernel
        One that counts features, such as `mercer.kernels.Spectrum`, or a combination of such: sums, multiples,
        normalised ones, and those on columns of a table.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel, resolved on the training samples.
    keys_ : uint64 array
        Keys of the columns: the features that training samples have.

    See Also
    --------
    mercer.svm.LinearSVC : Learns from the vectors.

    Notes
    -----
    Features that no training sample has are left out of new samples: the weight of a linear machine for them is zero
    anyhow. Time and memory O(number of features that the samples have).

    Examples
    --------
    >>> from mercer import LinearSVC
    >>> from mercer.features import ExplicitFeatures
    >>> from mercer.kernels import Spectrum
    >>> from sklearn.pipeline import make_pipeline
    >>> words = ["gattaca", "cattaga", "tacocat", "mississippi", "mission", "sips"]
    >>> machine = make_pipeline(ExplicitFeatures(Spectrum(2)), LinearSVC())
    >>> machine.fit(words, [0, 0, 0, 1, 1, 1]).predict(["attack", "missing"])
    array([0, 1])
    """

    def __init__(self, kernel):
        self.kernel = kernel

    def fit(self, X: Any, y: Any = None) -> "ExplicitFeatures":
        """Note the features that samples have.

        Parameters
        ----------
        X : n samples
            Of the kind that the kernel works on.
        y : None
            Not used.

        Returns
        -------
        ExplicitFeatures
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Note the features that samples have, and give them as vectors.

        Parameters
        ----------
        X : n samples
        y : None
            Not used.

        Returns
        -------
        CSR array of shape (n, n_components)
        """
        return self._fit(X).table(self.keys_)

    def transform(self, X: Any) -> Any:
        """Give samples as vectors of the features that the training samples have.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        CSR array of shape (n, n_components)
        """
        check_is_fitted(self)
        return self._found(X).table(self.keys_)

    def _fit(self, X: Any) -> Any:
        self.kernel_ = as_kernel(self.kernel).resolve(X)
        found = self._found(X)
        self.keys_ = np.unique(found.keys)
        return found

    def _found(self, X: Any) -> SparseFeatures:
        found = self.kernel_._sparse_features(self.kernel_.prepare(X)[0])
        if found is None:
            raise TypeError(f"kernel must have explicit sparse features, {self.kernel!r} has none; use its values.")
        return found
