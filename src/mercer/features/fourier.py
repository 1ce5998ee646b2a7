"""Features from random frequencies."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.errors import DomainError
from mercer.kernels import as_kernel
from mercer.machines import KernelTransformer
from mercer.parameters import Number

__all__ = ["RandomFourier"]


class RandomFourier(KernelTransformer):
    r"""Random Fourier features of a kernel that depends on the difference of two vectors.

    .. math::

        k(x - x') = k(0)\, \mathbb{E}_w \cos(w \cdot (x - x')) \approx \phi(x) \cdot \phi(x'), \qquad
        \phi(x) = \sqrt{2 k(0) / m}\, (\cos w_1 \cdot x, \ldots, \cos w_{m/2} \cdot x,
        \sin w_1 \cdot x, \ldots, \sin w_{m/2} \cdot x)

    By Bochner's theorem such a kernel is the Fourier transform of a measure, from which the frequencies are drawn. The
    inner products are right on average, and exactly right for a sample with itself; elsewhere their standard deviation
    is at most :math:`k(0) \sqrt{2 / m}`. With an odd number m of features the last one is a cosine with a random phase.

    Parameters
    ----------
    kernel : Kernel or str, default="rbf"
        `RBF`, `Laplacian`, `Exponential`, `Matern`, `RationalQuadratic`, `Constant`, or sums, products and multiples of
        them.
    n_components : int >= 1, default=100
        How many features, a cosine and a sine of each frequency. Larger is more exact.
    random_state : int, RandomState or None, default=0
        Draws the frequencies.

    Attributes
    ----------
    frequencies_ : ndarray of shape (ceil(n_components / 2), n_features)
        w.
    phase_ : float or None
        The angle that is added for the last frequency of an odd number of features; None if it is even.
    height_ : float
        k(0), what the kernel is for a sample with itself.
    kernel_ : Kernel
        The kernel, with its data-dependent parameters resolved.

    See Also
    --------
    Nystroem : Features that look at the samples: fewer are needed where samples lie close together.
    mercer.kernels.TranslationInvariant : Any such kernel, given as a function.
    sklearn.kernel_approximation.RBFSampler : Cosines with random phases, for `RBF`.

    Notes
    -----
    Time O(n d) for every feature; nothing of the samples is kept. They are dense, and of the precision of the samples.

    References
    ----------
    .. [1] A. Rahimi, B. Recht, Random features for large-scale kernel machines, NIPS 2007.
    .. [2] D. J. Sutherland, J. Schneider, On the error of random Fourier features, UAI 2015, eq. 5.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import RandomFourier
    >>> from mercer.kernels import Matern
    >>> X = np.array([[0.0, 0.0], [1.0, 0.5]])
    >>> kernel = 2 * Matern(length_scale=1.0, nu=2.5)
    >>> features = RandomFourier(kernel, n_components=20_000).fit_transform(X)
    >>> bool(np.abs(features @ features.T - kernel(X)).max() < 0.03)
    True
    """

    _parameters: ClassVar[dict[str, Any]] = {"n_components": Number(1, integer=True)}

    def __init__(self, kernel="rbf", n_components=100, random_state=0):
        self.kernel = kernel
        self.n_components = n_components
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = False
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_all(self) -> None:
        super()._check_all()
        if self._precomputed or not self._vectors():
            raise DomainError(f"RandomFourier works on vectors, got kernel={self.kernel!r}; use Nystroem.")

    def fit(self, X, y=None):
        """Draw frequencies.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)
            They make the width of the kernel, where that is to be taken from the data.
        y : None
            Not used.

        Returns
        -------
        self
        """
        with self._all_or_nothing():
            self._check_all()
            X = self._take_samples(X)
            self.kernel_ = as_kernel(self.kernel).resolve(X)
            self.kernel_.prepare(X[:1])  # a width for each of other features is refused here
            rng = check_random_state(self.random_state)
            drawn = self.kernel_._frequencies(rng, (self.n_components + 1) // 2, self.n_features_in_)
            if drawn is None:
                raise TypeError(
                    "kernel must have a known spectral measure, as RBF, Laplacian, Exponential, Matern, "
                    "RationalQuadratic, and sums, products and multiples of them have, "
                    f"got {self.kernel!r}; use Nystroem."
                )
            self.frequencies_, self.height_ = drawn
            self.phase_ = float(rng.uniform(0.0, 2 * np.pi)) if self.n_components % 2 else None
        return self

    @property
    def _n_features_out(self) -> int:
        return 2 * len(self.frequencies_) - (self.phase_ is not None)

    def transform(self, X):
        """The features.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n, n_components)
        """
        check_is_fitted(self)
        X = self._check_new(X)
        angles = np.asarray(X @ self.frequencies_.astype(X.dtype, copy=False).T)
        m = self._n_features_out
        angles[:, -1] += self.phase_ or 0.0
        features = np.hstack([np.cos(angles), np.sin(angles[:, : m // 2])])
        features *= np.sqrt(2 * self.height_ / m)
        return features
