"""Kernels of the difference of two vectors, given as a function, and Bochner's test of whether it is one."""

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse

from mercer.errors import DomainError, IndefiniteError
from mercer.kernels.base import Kernel
from mercer.kernels.frequencies import Draws, SpectralMeasure, places
from mercer.kernels.samples import BLOCK_ENTRIES, as_pair, weighted
from mercer.parameters import Choice

__all__ = ["TranslationInvariant"]

# Points of a line at which the function is sampled, and multiples of the span of the data that the line reaches over.
GRID, REACHES = 2048, (1.0, 8.0)
# Lines through the origin beside the axes, and axes at most.
DIRECTIONS, AXES = 8, 16
# Points of a cloud whose kernel matrix is looked at where there are several features.
CLOUD = 200
# What rounding may do to values and spectra, in units of psi(0).
ROUNDING = 1e-8
# For the measure along an axis: points, the standard deviation of the window in spans of the data, and how many of
# these the points reach over. At the span the window takes off 0.2 %.
LINE, WINDOW, WINDOWS = 1 << 16, 16.0, 6.0
# Differences at which it is looked whether the function is a product, and how far they reach in spans of the data.
TRIES, SCALES = 256, (1.0, 0.1, 0.01)


class TranslationInvariant(Kernel):
    r"""A kernel of the difference of two vectors, given as a function.

    .. math:: k(x, x') = \psi(x - x')

    By Bochner's theorem this is a kernel if and only if the Fourier transform of :math:`\psi` is nowhere negative. When
    the kernel is resolved this is tested numerically on the scale of the data, and a function that fails is refused.

    Parameters
    ----------
    psi : callable
        ``psi(D)`` takes an array of differences of shape (..., n_features) and returns numbers of shape (...). It must
        be even, psi(-d) = psi(d).
    check : bool, default=True
        Whether `resolve` tests the spectrum. False: whether it is positive semi-definite is left to who uses it.

    See Also
    --------
    RBF, Laplacian, Matern, RationalQuadratic : Functions of the difference that are known to be kernels, and fast.
    FromFunction : Any function of two samples.

    Notes
    -----
    Time O(nmd) and a block of differences in memory. The test samples the function on lines along the axes and in some
    other directions, tapers it to a finite range by a factor that is a kernel itself, so that no spectrum can turn
    negative by it, and looks at its discrete Fourier transform; with several features also at the eigenvalues of the
    kernel matrix of a cloud of points. A negative value proves that the function is no kernel; passing proves nothing,
    so that `definite` is None.

    `mercer.features.RandomFourier` has features of one that is a product of functions of one feature each, or of a
    single feature: the measure of every factor is the discrete Fourier transform of 65 536 of its values, under a wide
    window that is a kernel itself. Differences up to the span of the data are seen with an error of 0.2 % for each
    feature, and details down to a 300th part of it; `kernel_error_` has what this makes together with the drawing.

    References
    ----------
    .. [1] J.-P. Vert, K. Tsuda, B. Schölkopf, A primer on kernel methods, 2004, section 1.7.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import TranslationInvariant
    >>> def tent(D):
    ...     return np.maximum(0, 1 - np.abs(D)).prod(axis=-1)
    >>> X = [[0.0], [0.25], [0.5]]
    >>> TranslationInvariant(tent).resolve(X)(X)
    array([[1.  , 0.75, 0.5 ],
           [0.75, 1.  , 0.75],
           [0.5 , 0.75, 1.  ]])
    >>> def box(D):
    ...     return (np.abs(D) < 0.3).all(axis=-1).astype(float)
    >>> TranslationInvariant(box).resolve(X)
    Traceback (most recent call last):
    ...
    mercer.errors.IndefiniteError: psi is no kernel: its spectrum is negative at the frequency 18.8, with -0.05...
    """

    domain = "vectors"
    definite = None
    _span: np.ndarray | None = None  # of the data that it was resolved on
    _parameters: ClassVar = {"check": Choice(True, False)}

    def __init__(self, psi, check=True):
        self.psi = psi
        self.check = check

    def _check_parameters(self):
        super()._check_parameters()
        if not callable(self.psi):
            raise TypeError(f"psi must be callable as psi(differences), got {self.psi!r}.")

    def resolve(self, X, sample_weight=None):
        resolved = super().resolve(X, sample_weight)
        X, _ = weighted(_dense(self.prepare(X)[0]), sample_weight)
        span = np.ptp(X, axis=0).astype(np.float64)
        resolved._span = np.where(span > 0, span, 1.0)
        if self.check:
            self._refuse_negative_spectrum(resolved._span)
        return resolved

    def prepare(self, X, Y=None):
        return as_pair(X, Y, type(self).__name__)

    def _matrix(self, X, Y):
        X, Y = _dense(X), _dense(Y)
        K = np.empty((len(X), len(Y)), dtype=X.dtype)
        step = max(1, BLOCK_ENTRIES // max(1, Y.size))
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            K[rows] = self._values(X[rows, np.newaxis] - Y)
        return K

    def _diag(self, X):
        return np.ascontiguousarray(self._values(np.zeros(X.shape, X.dtype)), dtype=X.dtype)

    def _values(self, D: np.ndarray) -> np.ndarray:
        values = np.asarray(self.psi(D))
        if values.shape != D.shape[:-1]:
            raise ValueError(f"psi returned shape {values.shape} for differences of shape {D.shape}.")
        if not np.isfinite(values).all():
            raise ValueError("psi returned NaN or infinity.")
        return values

    def spectrum(self, direction, reach):
        r"""The spectrum of the function along a line.

        Parameters
        ----------
        direction : array of shape (n_features,)
        reach : float
            How far along the line the function is looked at, in lengths of `direction`.

        Returns
        -------
        frequencies : ndarray
            From 0 on, in radians per length of `direction`.
        density : ndarray
            The discrete Fourier transform of :math:`\psi(t\, \mathrm{direction}) (1 - |t| / \mathrm{reach})`; nowhere
            negative for a kernel, and psi(0) on average.
        """
        t = np.linspace(0.0, reach, GRID, endpoint=False)
        values = self._values(t[:, np.newaxis] * np.asarray(direction, dtype=np.float64)).astype(np.float64)
        tapered = values * (1 - t / reach)
        even = np.concatenate([tapered, [0.0], tapered[:0:-1]])
        return np.fft.rfftfreq(len(even), t[1]) * 2 * np.pi, np.fft.rfft(even).real

    def _spectral_measure(self, d):
        span = self._span
        if span is None or len(span) != d:
            return None
        height = float(self._values(np.zeros((1, d)))[0])
        if d > 1 and height > 0 and not self._is_product(span, height):
            raise DomainError(
                "kernel must be a product of functions of one feature each, or of a single feature, for its "
                f"frequencies to be drawn, got {self!r}; use Nystroem."
            )
        factors = [self._axis_measure(axis, height) for axis in np.diag(span)]

        def draw(draws: Draws) -> np.ndarray:
            return np.column_stack([at[places(shares, draws.uniform())] for at, shares in factors]) / span

        return SpectralMeasure(height, draw)

    def _is_product(self, span: np.ndarray, height: float) -> bool:
        """Whether psi(d) / psi(0) is the product of what it is for each entry of d alone, at all differences tried."""
        rng = np.random.default_rng(0)
        for scale in SCALES:
            D = scale * span * rng.uniform(-1.0, 1.0, size=(TRIES, len(span)))
            product = np.ones(TRIES)
            for axis in np.eye(len(span)):
                product *= self._values(D * axis) / height
            if np.abs(self._values(D) / height - product).max() > ROUNDING:
                return False
        return True

    def _axis_measure(self, axis: np.ndarray, height: float) -> tuple[np.ndarray, np.ndarray]:
        """Frequencies per length of an axis, ascending, and their shares in the measure along it.

        Of the values under a window that is a kernel, so that no share of a kernel turns negative by it. What is
        repeated is equal to them at the points, up to what the window leaves at its ends.
        """
        t = (np.arange(LINE) - LINE // 2) * (2 * WINDOWS * WINDOW / LINE)
        values = self._values(t[:, np.newaxis] * axis).astype(np.float64) * np.exp(-0.5 * (t / WINDOW) ** 2)
        shares = np.fft.fftshift(np.fft.fft(np.fft.ifftshift(values)).real)
        if (least := shares.min()) < -ROUNDING * LINE * abs(height):
            raise IndefiniteError(
                f"psi is no kernel: its spectrum is negative, with {least / shares.max():.3g} of its largest value."
            )
        return np.fft.fftshift(np.fft.fftfreq(LINE, t[1] - t[0])) * 2 * np.pi, np.maximum(shares, 0.0)

    def _refuse_negative_spectrum(self, span: np.ndarray) -> None:
        d, rng = len(span), np.random.default_rng(0)
        top = float(self._values(np.zeros((1, d)))[0])
        axes = np.eye(d)[:AXES]
        directions = axes if d == 1 else np.vstack([axes, rng.normal(size=(DIRECTIONS, d))])
        for direction in directions * span:
            line = np.linspace(0.0, 1.0, GRID)[:, np.newaxis] * direction
            if np.abs(self._values(line) - self._values(-line)).max() > ROUNDING * abs(top):
                raise ValueError("psi must be even: psi(-d) = psi(d).")
            for reach in REACHES:
                frequencies, density = self.spectrum(direction, reach)
                if (least := density.min()) < -ROUNDING * abs(top):
                    at = frequencies[density.argmin()] / np.linalg.norm(direction)
                    raise IndefiniteError(
                        f"psi is no kernel: its spectrum is negative at the frequency {at:.3g}, with "
                        f"{least / density.max():.3g} of its largest value (Bochner). check=False lets it pass."
                    )
        if d > 1:
            points = rng.uniform(size=(CLOUD, d)) * span
            least = np.linalg.eigvalsh(self._matrix(points, points)).min()
            if least < -ROUNDING * abs(top):
                raise IndefiniteError(
                    f"psi is no kernel: a matrix of {CLOUD} points within the span of the data has the eigenvalue "
                    f"{least / top:.3g} psi(0). check=False lets it pass."
                )


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if issparse(X) else X
