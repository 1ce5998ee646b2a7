"""Kernels of a difference, and Bochner's test."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from mercer import SVC, KernelRidge, RandomFourier
from mercer.errors import DomainError, IndefiniteError
from mercer.kernels import RBF, Laplacian, TranslationInvariant

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(15, 3)), rng.normal(size=(9, 3))


def gaussian(D):
    return np.exp(-0.5 * (D**2).sum(axis=-1))


def tent(D):
    return np.maximum(0, 1 - 0.4 * np.abs(D)).prod(axis=-1)


def radial_tent(D):
    return np.maximum(0, 1 - 0.4 * np.sqrt((D**2).sum(axis=-1)))


def box(D):
    return (np.abs(D) < 1).all(axis=-1).astype(float)


def cosine(D):
    return np.cos(D.sum(axis=-1))


def parabola(D):
    return 1 - 0.01 * (D**2).sum(axis=-1)


def test_values():
    assert_allclose(TranslationInvariant(gaussian)(X, Y), RBF(gamma=0.5)(X, Y), rtol=1e-12)
    assert_allclose(TranslationInvariant(gaussian)(csr_array(X)), RBF(gamma=0.5)(X), rtol=1e-12)
    assert_allclose(
        TranslationInvariant(lambda D: np.exp(-np.abs(D).sum(axis=-1)))(X, Y), Laplacian(gamma=1.0)(X, Y), rtol=1e-12
    )


def test_blocks_of_rows(monkeypatch):
    expected = TranslationInvariant(gaussian)(X, Y)
    monkeypatch.setattr("mercer.kernels.stationary.BLOCK_ENTRIES", 60)
    assert_array_equal(TranslationInvariant(gaussian)(X, Y), expected)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("psi", [gaussian, tent, cosine, lambda D: np.ones(D.shape[:-1])])
def test_kernels_pass(psi, scale):
    for samples in (scale * X, scale * X[:, :1], np.ones((2, 2))):
        kernel = TranslationInvariant(psi)
        assert kernel.resolve(samples) == kernel
    assert kernel.definite is None


def test_what_is_no_kernel_is_refused():
    for psi in (box, parabola, lambda D: 0.2 - tent(D), lambda D: np.abs(D).sum(axis=-1)):
        with pytest.raises(IndefiniteError, match=r"psi is no kernel: its spectrum is negative at the frequency"):
            TranslationInvariant(psi).resolve(X[:, :1])
        assert TranslationInvariant(psi, check=False).resolve(X[:, :1]).psi is psi
    with pytest.raises(IndefiniteError, match="Bochner"):
        SVC(kernel=TranslationInvariant(box)).fit(X, np.arange(15) % 2)


def test_a_kernel_on_the_line_that_is_none_in_space():
    kernel, many = TranslationInvariant(radial_tent), rng.uniform(-1, 1, size=(50, 6))
    assert kernel.resolve(many[:, :1]) == kernel
    with pytest.raises(IndefiniteError, match="200 points within the span of the data has the eigenvalue -"):
        kernel.resolve(many)


def test_the_test_looks_at_samples_that_count():
    # On a range of 0.5 the box is constant, and a kernel.
    kernel, samples = TranslationInvariant(box), np.array([[0.0], [0.05], [50.0]])
    with pytest.raises(IndefiniteError):
        kernel.resolve(samples)
    assert kernel.resolve(samples, [1.0, 1.0, 0.0]) == kernel


def test_spectrum():
    frequencies, density = TranslationInvariant(gaussian).spectrum([1.0], 30.0)
    # The Fourier transform of exp(-t^2 / 2), sampled every 30 / 2048
    expected = np.sqrt(2 * np.pi) * np.exp(-(frequencies**2) / 2) * 2048 / 30
    assert_allclose(density[frequencies < 1.5], expected[frequencies < 1.5], rtol=0.05)
    assert density.min() > -1e-9
    assert np.average(density, weights=[1, *[2] * (len(density) - 2), 1]) == pytest.approx(1.0)  # psi(0)


def test_powers_are_even_up_to_rounding():
    """NumPy rounds d ** 4 and (-d) ** 4 differently."""
    with pytest.raises(IndefiniteError, match="psi is no kernel"):
        TranslationInvariant(lambda D: np.exp(-(D**4).sum(axis=-1))).resolve(X)


def test_errors():
    with pytest.raises(ValueError, match="psi must be even"):
        TranslationInvariant(lambda D: np.exp(-((D.sum(axis=-1) - 1) ** 2))).resolve(X)
    with pytest.raises(ValueError, match=r"psi returned shape \(15, 15, 3\) for differences of shape \(15, 15, 3\)"):
        TranslationInvariant(np.cos)(X)
    with pytest.raises(ValueError, match="psi returned NaN or infinity"):
        TranslationInvariant(lambda D: np.full(D.shape[:-1], np.nan))(X)
    with pytest.raises(TypeError, match="psi must be callable"):
        TranslationInvariant("gaussian")(X)
    with pytest.raises(ValueError, match="check must be True or False, got 1"):
        TranslationInvariant(gaussian, check=1)(X)
    with pytest.raises(DomainError, match="TranslationInvariant works on vectors"):
        TranslationInvariant(gaussian)(["a", "b"])


def triangle_of_sums(D):
    return np.maximum(0, 1 - 0.2 * np.abs(D.sum(axis=-1)))


@pytest.mark.parametrize("rule", ["independent", "orthogonal", "quasi-random"])
@pytest.mark.parametrize(
    ("psi", "d"),
    [(tent, 1), (tent, 3), (gaussian, 3), (cosine, 1), (triangle_of_sums, 1), (lambda D: 3.0 * tent(D), 2)],
)
def test_random_frequencies(psi, d, rule):
    """Features of the measure that is computed from values: right on average, for differences up to the span."""
    features = RandomFourier(TranslationInvariant(psi), n_components=20_000, frequencies=rule)
    samples = rng.uniform(-2.0, 2.0, size=(40, d))
    F = features.fit_transform(samples)
    K = TranslationInvariant(psi)(samples)
    assert features.height_ == K[0, 0]
    assert np.abs(F @ F.T - K).max() < (0.05 if rule == "independent" else 0.04) * K[0, 0]
    assert features.kernel_error_ == pytest.approx(np.sqrt(np.mean((F @ F.T - K) ** 2)), rel=1e-6)


def test_frequencies_have_the_density_of_the_kernel():
    """A tent has the density (1 - cos w) / (pi w^2); all of it is here, but for the tails beyond the grid."""
    features = RandomFourier(TranslationInvariant(lambda D: np.maximum(0, 1 - np.abs(D[..., 0]))), n_components=40_000)
    w = np.abs(features.fit(np.array([[0.0], [1.0]])).frequencies_[:, 0])
    for end in (1.0, 3.0, 10.0):
        at = (np.arange(4000) + 0.5) * end / 4000
        wanted = 2 * end * np.mean((1 - np.cos(at)) / (np.pi * at**2))
        assert np.mean(w < end) == pytest.approx(wanted, abs=4 * np.sqrt(0.25 / len(w)) + 2e-3)


def test_frequencies_in_sums_and_of_data_without_a_span():
    samples = np.column_stack([rng.normal(size=30), np.ones(30)])
    kernel = TranslationInvariant(tent) + RBF(gamma=0.5)
    F = RandomFourier(kernel, n_components=20_000).fit_transform(samples)
    assert np.abs(F @ F.T - kernel(samples)).max() < 0.1
    machine = KernelRidge(TranslationInvariant(tent), alpha=0.1, approximation=RandomFourier(n_components=4000))
    machine.fit(X, X[:, 0])
    assert_allclose(
        machine.predict(Y), KernelRidge(TranslationInvariant(tent), alpha=0.1).fit(X, X[:, 0]).predict(Y), atol=0.1
    )


def test_measures_that_are_not_known_are_refused():
    for psi in (radial_tent, cosine, triangle_of_sums):
        with pytest.raises(DomainError, match="kernel must be a product of functions of one feature each"):
            RandomFourier(TranslationInvariant(psi, check=False)).fit(X[:, :2])
    with pytest.raises(IndefiniteError, match="psi is no kernel: its spectrum is negative"):
        RandomFourier(TranslationInvariant(box, check=False)).fit(X)
