"""Features of which too much is missing."""

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.parameters import Number, check_parameters

__all__ = ["MissingRateFilter"]


class MissingRateFilter(SelectorMixin, BaseEstimator):
    """Leaves out features of which too many values are missing.

    What is left can be imputed; a feature that is mostly guessed tells more about the guess than about the samples. For
    the ``preprocess`` of a search, which fits it to the training part of every fold.

    Parameters
    ----------
    most : float in [0, 1], default=0.5
        The largest share of missing values (NaN) that a feature may have.

    Attributes
    ----------
    missing_rate_ : ndarray of shape (n_features,)
        The share of missing values of every feature.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    sklearn.impute.KNNImputer : Values for what is missing, from the nearest samples.

    Notes
    -----
    O(n d).

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, sections 1.6 and 1.7.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection import MissingRateFilter
    >>> X = [[1.0, np.nan, 3.0], [4.0, np.nan, np.nan], [7.0, 8.0, 9.0]]
    >>> MissingRateFilter().fit_transform(X)
    array([[ 1.,  3.],
           [ 4., nan],
           [ 7.,  9.]])
    """

    _parameters: ClassVar[dict[str, Any]] = {"most": Number(0, 1)}

    def __init__(self, most=0.5):
        self.most = most

    def fit(self, X, y=None):
        """Count what is missing.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)
            Missing values are NaN.
        y : ignored

        Returns
        -------
        self
        """
        check_parameters(self)
        X = validate_data(self, X, accept_sparse="csc", dtype="numeric", ensure_all_finite="allow-nan")
        self.missing_rate_ = missing_rates(X)
        if (self.missing_rate_ > self.most).all():
            raise ValueError(
                f"most={self.most:g} leaves no feature: the smallest share of missing values is "
                f"{self.missing_rate_.min():g}."
            )
        return self

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.missing_rate_ <= self.most

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def missing_rates(X: Any) -> np.ndarray:
    """The share of NaN in every column."""
    if X.dtype.kind != "f":
        return np.zeros(X.shape[1])
    if not issparse(X):
        return np.isnan(X).mean(axis=0)
    columns = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
    return np.bincount(columns[np.isnan(X.data)], minlength=X.shape[1]) / X.shape[0]
