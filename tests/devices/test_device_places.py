"""Which device is meant, and what goes there and comes back."""

import pickle

import numpy as np
import pytest

from mercer.devices import Device, Place
from mercer.devices.arrays import full_precision, place_of
from mercer.kernels.samples import is_tensor, to_numpy

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    "device", [None, "cpu", "cpu:0", "cuda", "cuda:1", torch.device("cpu"), torch.device("cuda", 0)]
)
def test_devices_have_names(device):
    assert Device.problem(device) is None


@pytest.mark.parametrize("device", ["gpu", "mps", 0, True, "cuda:", "cpu:1"])
def test_what_is_no_device_is_refused(device):
    with pytest.raises(ValueError, match=r"^device must be None, 'cpu', 'cuda'.* got"):
        Place(device)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("device", ["cuda", "cuda:3"])
def test_a_gpu_that_is_not_there_is_named(device):
    with pytest.raises(
        ValueError, match=rf"^device must be one that PyTorch can use, which sees no GPU; got '{device}'"
    ):
        Place(device)


def test_the_native_core_has_no_place():
    assert place_of(None) is None and repr(place_of("cpu")) == "Place('cpu')"
    assert pickle.loads(pickle.dumps(Place("cpu"))).device == torch.device("cpu")
    for name in ("cpu:0", torch.device("cpu", 0)):
        place = Place(name)
        assert place.device == place.zeros(2).device == torch.device("cpu")


def test_arrays_go_there_and_come_back():
    place = Place("cpu")
    X = np.arange(6.0).reshape(2, 3).astype(np.float32)
    X.setflags(write=False)
    tensor = place.tensor(X, "float64")
    assert is_tensor(tensor) and not is_tensor(X) and tensor.dtype == torch.float64
    assert (to_numpy(tensor) == X).all()


def test_tiles_cover_all_rows():
    place = Place("cpu")
    for n, m, least in ((0, 5, 1), (10, 3, 1), (5000, 10**4, 1), (5000, 10**4, 2048)):
        tiles = list(place.tiles(n, m, least))
        assert [i for rows in tiles for i in range(n)[rows]] == list(range(n))
        assert all(rows.stop - rows.start >= least for rows in tiles[:-1])
    assert place.budget() > 0


def test_float32_is_float32_whatever_the_process_allows():
    matmul = torch.backends.cuda.matmul
    name = "fp32_precision" if hasattr(matmul, "fp32_precision") else "allow_tf32"
    before = getattr(matmul, name)
    allowed = "tf32" if name == "fp32_precision" else True
    setattr(matmul, name, allowed)
    try:
        with full_precision(torch):
            assert getattr(matmul, name) in ("ieee", False)
        assert getattr(matmul, name) == allowed
    finally:
        setattr(matmul, name, before)
