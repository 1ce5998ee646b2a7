"""Features from random frequencies."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from mercer.devices import Place
from mercer.features.approximation import VectorMap
from mercer.kernels.frequencies import RULES
from mercer.parameters import Number

__all__ = ["RandomFourier"]


class RandomFourier(VectorMap):
    r"""Random Fourier features of a kernel that depends on the difference of two vectors.

    .. math::

        k(x - x') = k(0)\, \mathbb{E}_w \cos(w \cdot (x - x')) \approx \phi(x) \cdot \phi(x'), \qquad
        \phi(x) = \sqrt{2 k(0) / m}\, (\cos w_1 \cdot x, \ldots, \cos w_{m/2} \cdot x,
        \sin w_1 \cdot x, \ldots, \sin w_{m/2} \cdot x)

    By Bochner's theorem such a kernel is the Fourier transform of a measure, from which the frequencies are drawn. The
    inner products are right on average, and exactly right for a sample with itself; elsewhere their standard deviation
    is at most :math:`k(0) \sqrt{2 / m}` where frequencies are independent. With an odd number m of features the last
    one is a cosine with a random phase.

    Parameters
    ----------
    kernel : Kernel or str, default="rbf"
        `RBF`, `Laplacian`, `Exponential`, `Matern`, `RationalQuadratic`, a `TranslationInvariant` of one feature or of
        a product over features, or what is made of them and constants: sums, products and multiples, whole powers,
        polynomials, `exp`, `Geometric`, normalised kernels, `RBFOf`.
    n_components : int >= 1, default=100
        How many features, a cosine and a sine of each frequency. Larger is more exact.
    frequencies : {"independent", "orthogonal", "quasi-random"}, default="independent"
        How frequencies hang together; each alone has the same distribution.

        - "independent": not at all;
        - "orthogonal": in groups of as many as there are features of X, at right angles to each other [3]_. For
          `RBF` above all, and from some features on: with one it makes no difference;
        - "quasi-random": they fill space evenly, by a scrambled Sobol sequence through the inverse distribution
          functions [4]_. The most exact for some dozens of features of X at most; with more, about as exact as
          "orthogonal".
    random_state : int, RandomState or None, default=0
        Draws the frequencies, and the samples that errors are estimated at.

    Attributes
    ----------
    frequencies_ : ndarray of shape (ceil(n_components / 2), n_features)
        w.
    phase_ : float or None
        The angle that is added for the last frequency of an odd number of features; None if it is even.
    height_ : float
        k(0), what the kernel is for a sample with itself.
    kernel_error_, kernel_error_uncertainty_ : float
        The root mean square of :math:`k(x, x') - \phi(x) \cdot \phi(x')` over all pairs of training samples, and its
        standard error: from the pairs of 512 draws, or exactly where there are no more samples.
    unexplained_, unexplained_uncertainty_ : float
        The share of the trace of the kernel matrix of the training samples that is lost, and its standard error: 0 up
        to rounding for an even number of features, which says nothing of other pairs.
    kernel_ : Kernel
        The kernel, with its data-dependent parameters resolved.

    See Also
    --------
    Nystroem : Features that look at the samples: fewer are needed where samples lie close together.
    PolynomialSketch : For polynomials of the inner product.
    mercer.kernels.TranslationInvariant : A kernel of the difference, given as a function.
    sklearn.kernel_approximation.RBFSampler : Cosines with random phases, for `RBF`.

    Notes
    -----
    Time O(n d) for every feature; nothing of the samples is kept. They are dense, and of the precision of the samples.
    Orthogonal frequencies take O(d^2) more time each. Of kernels whose frequencies are sums of a random number of
    others (`exp`, `Geometric`, `RBFOf`), only the usual number of terms is quasi-random.

    References
    ----------
    .. [1] A. Rahimi, B. Recht, Random features for large-scale kernel machines, NIPS 2007.
    .. [2] D. J. Sutherland, J. Schneider, On the error of random Fourier features, UAI 2015, eq. 5.
    .. [3] F. X. Yu, A. T. Suresh, K. Choromanski, D. Holtmann-Rice, S. Kumar, Orthogonal random features, NIPS 2016.
    .. [4] J. Yang, V. Sindhwani, H. Avron, M. W. Mahoney, Quasi-Monte Carlo feature maps for shift-invariant kernels,
       ICML 2014.

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

    _parameters: ClassVar[dict[str, Any]] = {"n_components": Number(1, integer=True), "frequencies": RULES}

    def __init__(self, kernel="rbf", n_components=100, frequencies="independent", random_state=0):
        self.kernel = kernel
        self.n_components = n_components
        self.frequencies = frequencies
        self.random_state = random_state

    def _draw(self, rng: np.random.RandomState) -> None:
        measure = self.kernel_._spectral_measure(self.n_features_in_)
        if measure is None:
            raise TypeError(
                "kernel must have a known spectral measure, as RBF, Laplacian, Exponential, Matern, "
                "RationalQuadratic, and sums, products, whole powers and power series of them have, "
                f"got {self.kernel!r}; use Nystroem."
            )
        self.frequencies_ = measure.frequencies(self.frequencies, rng, (self.n_components + 1) // 2)
        self.height_ = measure.height
        self.phase_ = float(rng.uniform(0.0, 2 * np.pi)) if self.n_components % 2 else None

    @property
    def _n_features_out(self) -> int:
        return 2 * len(self.frequencies_) - (self.phase_ is not None)

    def _features_of(self, X: Any) -> np.ndarray:
        angles = np.asarray(X @ self.frequencies_.astype(X.dtype, copy=False).T)
        m = self._n_features_out
        angles[:, -1] += self.phase_ or 0.0
        features = np.hstack([np.cos(angles), np.sin(angles[:, : m // 2])])
        features *= np.sqrt(2 * self.height_ / m)
        return features

    def _features_on(self, place: Place, dtype: str) -> Callable[[Any], Any]:
        """The same of vectors on a device."""
        torch, m = place.torch, self._n_features_out
        across = place.tensor(np.ascontiguousarray(self.frequencies_.T), dtype)
        size, phase = float(np.sqrt(2 * self.height_ / m)), self.phase_ or 0.0

        def features(x: Any) -> Any:
            angles = x.to(across.dtype) @ across
            angles[:, -1] += phase
            return torch.cat([angles.cos(), angles[:, : m // 2].sin()], dim=1).mul_(size)

        return features
