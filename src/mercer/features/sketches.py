"""Features of polynomials by hashing."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy import fft
from scipy.sparse import csr_array, issparse

from mercer.devices import Place
from mercer.features.approximation import VectorMap
from mercer.kernels import Constant, Kernel, Linear, Polynomial, Power, Product, Sum
from mercer.kernels.samples import row_blocks
from mercer.parameters import Number

__all__ = ["PolynomialSketch"]


class PolynomialSketch(VectorMap):
    r"""Random features of polynomials of the inner product, whose products are never written out.

    .. math::

        k(x, x') = h \prod_{j=1}^p (\gamma_j\, x \cdot x' + c_j) \approx \phi(x) \cdot \phi(x'), \qquad
        \phi(x) = \sqrt h\, F^{-1} \Bigl( \prod_{j=1}^p F S_j \bigl( \sqrt{\gamma_j}\, x, \sqrt{c_j} \bigr) \Bigr)

    :math:`S_j` throws the features, each with a random sign, into `n_components` buckets, and the Fourier transform F
    makes of the p tables what the same would have made of all products of p features (TensorSketch [1]_). Inner
    products are right on average. Their standard deviation falls with the root of `n_components`, and grows with the
    degree.

    Parameters
    ----------
    kernel : Kernel or str, default="poly"
        `Polynomial` or `Linear`, or multiples, products and powers of them, also of sums such as
        ``2 * Linear() + 1``; no constant below zero.
    n_components : int >= 1, default=100
        How many features. Larger is more exact.
    random_state : int, RandomState or None, default=0
        Draws buckets and signs.

    Attributes
    ----------
    buckets_ : ndarray of shape (n_factors, n_features + 1)
        Where each factor puts each feature, and its constant.
    signs_ : ndarray of shape (n_factors, n_features + 1)
        1 and -1.
    unexplained_, unexplained_uncertainty_ : float
        The share of the trace of the kernel matrix of the training samples that is lost, and its standard error. Below
        zero where the features are longer than they should be.
    kernel_error_, kernel_error_uncertainty_ : float
        The root mean square of :math:`k(x, x') - \phi(x) \cdot \phi(x')` over all pairs of training samples, and its
        standard error; 0 where it comes from all of them, which are up to 512.
    kernel_ : Kernel
        The kernel, with its data-dependent parameters resolved.

    See Also
    --------
    Nystroem : For any kernel, with features that look at the samples.
    mercer.kernels.Polynomial : Its method `features` writes all products out.
    sklearn.kernel_approximation.PolynomialCountSketch : The same with buckets that are drawn one by one.

    Notes
    -----
    Time O((nnz + n D log D) p) for nnz entries that are not zero, D features and p factors. Features are dense, and of
    the precision of the samples. A factor fills its buckets evenly: two features meet in one only where there
    are more features than buckets. That keeps the inner products right on average and makes their errors smaller, by
    far where features are no more than buckets and all of one sign; with one factor and no more features than buckets
    there is no error at all.

    References
    ----------
    .. [1] N. Pham, R. Pagh, Fast and scalable polynomial kernels via explicit feature maps, KDD 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import PolynomialSketch
    >>> from mercer.kernels import Polynomial
    >>> X = np.random.default_rng(0).uniform(size=(50, 10))
    >>> kernel = Polynomial(degree=3, gamma=0.1, coef0=1.0)
    >>> machine = PolynomialSketch(kernel, n_components=2000).fit(X)
    >>> features = machine.transform(X)
    >>> error = np.sqrt(np.mean((features @ features.T - kernel(X)) ** 2))
    >>> bool(abs(error - machine.kernel_error_) < 1e-12), bool(error < 0.03 * kernel(X).mean())
    (True, True)
    """

    _parameters: ClassVar[dict[str, Any]] = {"n_components": Number(1, integer=True)}

    def __init__(self, kernel="poly", n_components=100, random_state=0):
        self.kernel = kernel
        self.n_components = n_components
        self.random_state = random_state

    def _draw(self, rng: np.random.RandomState) -> None:
        _, factors = self._factors()
        shape = (len(factors), self.n_features_in_ + 1)
        self.buckets_ = np.array([_evenly(shape[1], self.n_components, rng) for _ in factors]).reshape(shape)
        self.signs_ = rng.choice([-1.0, 1.0], size=shape)

    def _factors(self) -> tuple[float, list[tuple[float, float]]]:
        found = _polynomial(self.kernel_)
        if found is None:
            raise TypeError(
                "kernel must be Polynomial or Linear, or multiples, products and powers of them, "
                f"got {self.kernel!r}; use Nystroem."
            )
        if any(constant < 0 for _, constant in found[1]):
            raise ValueError(f"kernel must have no constant below zero, got {self.kernel!r}: it is not definite.")
        return found

    @property
    def _n_features_out(self) -> int:
        return self.n_components

    def _features_of(self, X: Any) -> np.ndarray:
        height, factors = self._factors()
        m, d, dtype = self.n_components, self.n_features_in_, X.dtype
        sketches = [
            csr_array((signs.astype(dtype), (np.arange(d + 1), buckets)), shape=(d + 1, m))
            for buckets, signs in zip(self.buckets_, self.signs_, strict=True)
        ]
        features = np.empty((X.shape[0], m), dtype=dtype)
        for block in row_blocks(X.shape[0], m):
            spectrum: Any = 1.0
            for (gamma, constant), sketch in zip(factors, sketches, strict=True):
                table = X[block] @ (dtype.type(np.sqrt(gamma)) * sketch[:d])
                table = table.toarray() if issparse(table) else table
                table += dtype.type(np.sqrt(constant)) * sketch[[d]].toarray()
                if len(factors) > 1:
                    spectrum = spectrum * fft.rfft(table, axis=1)
            features[block] = fft.irfft(spectrum, n=m, axis=1) if len(factors) > 1 else table
        features *= dtype.type(np.sqrt(height))
        return features

    def _features_on(self, place: Place, dtype: str) -> Callable[[Any], Any]:
        """The same of vectors on a device."""
        torch, m, d = place.torch, self.n_components, self.n_features_in_
        height, factors = self._factors()
        parts = []
        for (gamma, constant), buckets, signs in zip(factors, self.buckets_, self.signs_, strict=True):
            where, entries = np.stack([buckets[:d], np.arange(d)]), np.sqrt(gamma) * signs[:d]
            numbers = place.tensor(where), place.tensor(entries, dtype)
            throw = torch.sparse_coo_tensor(*numbers, (m, d), check_invariants=True)  # without a word PyTorch warns
            parts.append((throw.coalesce(), int(buckets[d]), float(np.sqrt(constant) * signs[d])))

        def features(x: Any) -> Any:
            columns, spectrum = x.to(place.dtype(dtype)).T, 1.0
            for throw, bucket, more in parts:
                table = torch.sparse.mm(throw, columns).T
                table[:, bucket] += more
                if len(parts) == 1:
                    return table * float(np.sqrt(height))
                spectrum = spectrum * torch.fft.rfft(table, dim=1)
            return torch.fft.irfft(spectrum, n=m, dim=1).mul_(float(np.sqrt(height)))

        return features


def _polynomial(kernel: Kernel) -> tuple[float, list[tuple[float, float]]] | None:
    """Height and factors (gamma, c) of a kernel h prod (gamma x.x' + c); None if it is no such product."""
    if isinstance(kernel, Constant):
        return float(kernel.value), []
    if isinstance(kernel, Linear):
        return 1.0, [(1.0, 0.0)]
    if isinstance(kernel, Polynomial):
        return 1.0, [(float(kernel.gamma), float(kernel.coef0))] * kernel.degree
    if isinstance(kernel, Power):
        inside = _polynomial(kernel.kernel)
        whole = not isinstance(kernel.exponent, float | np.floating)
        return (inside[0] ** kernel.exponent, inside[1] * kernel.exponent) if inside and whole else None
    if isinstance(kernel, Product | Sum):
        parts = [_polynomial(part) for part in kernel.kernels]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        if isinstance(kernel, Product):
            return float(np.prod([height for height, _ in known])), [one for _, factors in known for one in factors]
        if all(len(factors) <= 1 for _, factors in known):
            gamma = sum(height * factors[0][0] for height, factors in known if factors)
            constant = sum(height * (factors[0][1] if factors else 1.0) for height, factors in known)
            return 1.0, [(gamma, constant)]
    return None


def _evenly(n: int, m: int, rng: np.random.RandomState) -> np.ndarray:
    """Buckets of n features, of m: each has as many as any other, or one more."""
    rounds = [rng.permutation(m) for _ in range(-(-n // m))]
    return rng.permutation(np.concatenate(rounds)[:n])
