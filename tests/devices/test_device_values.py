"""Kernel values on a device are those of the native loops."""

import numpy as np
import pytest
from kernel_registry import KERNELS, samples
from scipy.sparse import csr_array

from mercer.devices import DeviceKernel
from mercer.devices.values import check_on_device
from mercer.errors import DomainError
from mercer.kernels import RBF, Chi2, Exponential, Hamming, Laplacian, Linear, Polynomial, Spectrum

torch = pytest.importorskip("torch")


def on_device(name):
    try:
        check_on_device(KERNELS[name]())
    except DomainError:
        return False
    return True


SUPPORTED = [name for name in KERNELS if on_device(name)]
VECTORS = [name for name, make in KERNELS.items() if name in SUPPORTED and make().domain in ("vectors", "any")]


def test_every_native_kernel_is_computed():
    native = {name for name, make in KERNELS.items() if make().native() is not None}
    assert native <= {*SUPPORTED}
    made = {"Sum", "Product", "Power", "Exp", "Geometric", "PolynomialOf", "Normalized", "RBFOf", "Constant"}
    assert made <= {*SUPPORTED}


@pytest.mark.parametrize("name", VECTORS)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-5)])
def test_values_are_those_of_the_native_loops(name, dtype, tolerance):
    kernel = KERNELS[name]()
    X, Z = samples(kernel, 40), samples(kernel, 17, seed=1)
    Z[3] = X[5]
    on = DeviceKernel(kernel, "cpu", dtype)
    x, z = on.vectors(X), on.vectors(Z)
    for found, wanted in ((on.values(x, z), kernel(X, Z)), (on.values(x, x), kernel(X)), (on.diag(x), kernel.diag(X))):
        assert found.dtype == getattr(torch, dtype)
        assert np.abs(found.numpy() - wanted).max() <= tolerance * max(1.0, np.abs(wanted).max())


@pytest.mark.parametrize("kernel", [RBF(gamma=0.5), Laplacian(gamma=0.5), Exponential(gamma=0.5), 2 * RBF(gamma=0.5)])
def test_differences_survive_far_from_the_origin(kernel):
    X = 1e6 + np.random.default_rng(0).normal(size=(30, 4))
    on = DeviceKernel(kernel, "cpu", "float32")
    x = on.vectors(X)
    assert np.abs(on.values(x, x[:7]).numpy() - kernel(X, X[:7])).max() < 1e-5
    lost = on.values(x.float(), x[:7].float())  # in float32 to begin with
    assert np.abs(lost.numpy() - kernel(X, X[:7])).max() > 1e-3


def test_the_root_of_a_distance_of_zero_is_zero():
    X = 100 + np.random.default_rng(0).normal(size=(30, 4))
    on = DeviceKernel(Exponential(gamma=3.0), "cpu", "float32")
    assert bool((on.values(on.vectors(X), on.vectors(X)).diagonal() == 1).all())


def test_categories_beyond_float32_differ():
    X = np.array([[2**24], [2**24 + 1]])
    on = DeviceKernel(Hamming(), "cpu", "float32")
    assert (on.values(on.vectors(X), on.vectors(X)).numpy() == np.eye(2)).all()


def test_sparse_vectors_and_tensors_are_vectors():
    X = np.random.default_rng(0).poisson(0.4, size=(20, 6)).astype(float)
    kernel = Chi2(gamma=0.3) + Polynomial(degree=2, gamma=0.1, coef0=1.0)
    on = DeviceKernel(kernel, "cpu")
    for given in (csr_array(X), torch.tensor(X)):
        x = on.vectors(given)
        np.testing.assert_allclose(on.values(x, x).numpy(), kernel(X), rtol=1e-12)


def test_empty_sides_are_empty():
    on = DeviceKernel(RBF(gamma=1.0), "cpu")
    x = torch.ones((3, 2), dtype=torch.float64)
    assert on.values(x[:0], x).shape == (0, 3) and on.values(x, x[:0]).shape == (3, 0)


@pytest.mark.parametrize("kernel", [Spectrum(3), Hamming(normalize=True), Linear().scaled(len)])
def test_other_kernels_are_refused_by_name(kernel):
    with pytest.raises(DomainError, match=r"device must be None with .*(Spectrum|Hamming|Scaled)"):
        DeviceKernel(kernel, "cpu")


def test_what_kernels_refuse_is_refused():
    with pytest.raises(DomainError, match="negative entry"):
        DeviceKernel(1 + Chi2(gamma=1.0), "cpu").vectors(-np.ones((2, 2)))
    with pytest.raises(DomainError, match="got a tensor of shape"):
        DeviceKernel(Linear(), "cpu").vectors(torch.ones(3))
    with pytest.raises(DomainError, match="Hamming works on vectors"):
        DeviceKernel(Hamming(), "cpu").vectors(np.array([["red"], ["blue"]]))


# --- kernels called with tensors --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_kernels_of_tensors_are_tensors(dtype):
    kernel = 0.5 * RBF(gamma=0.3) + Laplacian(gamma=0.2)
    X, Z = torch.randn(30, 3, dtype=dtype), torch.randn(8, 3, dtype=dtype)
    V = torch.randn(8, 2, dtype=dtype)
    tolerance = {"atol": 1e-12 if dtype == torch.float64 else 1e-5}
    for found, wanted in (
        (kernel(X), kernel(X.numpy())),
        (kernel(X, Z), kernel(X.numpy(), Z.numpy())),
        (kernel(X, Z.numpy()), kernel(X.numpy(), Z.numpy())),
        (kernel.diag(X), kernel.diag(X.numpy())),
        (kernel.dot(X, Z, V), kernel.dot(X.numpy(), Z.numpy(), V.numpy())),
        (kernel.dot(X, Z, V[:, 0]), kernel.dot(X.numpy(), Z.numpy(), V[:, 0].numpy())),
    ):
        assert found.dtype == dtype and found.shape == wanted.shape
        np.testing.assert_allclose(found.numpy(), wanted, **tolerance)


def test_float32_with_float64_is_float64():
    X = torch.randn(5, 3)
    assert RBF(gamma=0.3)(X, X.double()).dtype == torch.float64


def test_words_of_kernels_are_read_off_the_tensor():
    X = torch.randn(20, 3, dtype=torch.float64)
    np.testing.assert_allclose(RBF()(X).numpy(), RBF()(X.numpy()), atol=1e-12)
    with pytest.raises(ValueError, match="takes gamma from the data"):
        RBF()(X, X)


def test_tensors_of_other_sizes_are_refused():
    with pytest.raises(ValueError, match="X has 3 features, Y has 4"):
        Linear()(torch.ones((2, 3)), torch.ones((2, 4)))


def test_products_have_no_gradient():
    X = torch.ones((3, 2)).requires_grad_()
    product = RBF(gamma=1.0).dot(X, None, torch.ones(3))
    assert not product.requires_grad and (product == 3).all()
