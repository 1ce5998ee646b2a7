"""Arrays on a device: which one is meant, how numbers get there and back, and how many fit."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer.extras import require
from mercer.gram.memory import memory_budget
from mercer.kernels.samples import is_tensor, row_blocks, to_numpy

__all__ = ["Device", "OnDevice", "Place", "from_device", "full_precision", "place_of"]

# Entries of a matrix that are made and used up at once on a GPU: so many that it takes longer than to ask for them.
TILE_ENTRIES = 1 << 26
# The part of the free memory of a device that what is kept there may take.
SHARE = 0.5

Tensor = Any


class Device:
    """The rule of the parameter `device`: None, the name of a device, or a `torch.device`."""

    @staticmethod
    def problem(value: Any) -> str | None:
        """What is wrong with the value, None when nothing is."""
        if value is None or re.fullmatch(r"cpu(:0)?|cuda(:\d+)?", str(value)):
            return None
        return f"must be None, 'cpu', 'cuda', 'cuda:1', ... or a torch.device of these, got {value!r}."


class Place:
    """A device that is there, and what moves numbers to it.

    Parameters
    ----------
    device : str or torch.device
        "cpu", "cuda", "cuda:1", ...

    Attributes
    ----------
    torch : module
        PyTorch.
    device : torch.device

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.devices import Place
    >>> place = Place("cpu")
    >>> place.tensor(np.array([1.0, 2.0])).sum().item()
    3.0
    """

    def __init__(self, device: Any):
        if problem := Device.problem(device):
            raise ValueError(f"device {problem}")
        if device is None:
            raise ValueError("device must name one, got None.")
        self.torch = require("torch", f"device={str(device)!r}")
        self.device = self.torch.device("cpu" if str(device) == "cpu:0" else device)  # as its tensors say
        if self.device.type == "cuda":
            there = self.torch.cuda.device_count() if self.torch.cuda.is_available() else 0
            if (self.device.index or 0) >= there:
                seen = "no GPU" if not there else f"{there} GPU{'s' if there > 1 else ''}, numbered from 0"
                raise ValueError(f"device must be one that PyTorch can use, which sees {seen}; got {str(device)!r}.")

    def __repr__(self) -> str:
        return f"Place({str(self.device)!r})"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return Place, (str(self.device),)  # modules are not pickled

    @property
    def on_gpu(self) -> bool:
        """Whether it is a GPU."""
        return self.device.type == "cuda"

    # --- numbers in and out -------------------------------------------------------------------------------

    def tensor(self, X: Any, dtype: Any = None) -> Tensor:
        """An array, a CSR matrix (as a dense tensor) or a tensor on the device, of a dtype, None: its own."""
        if not is_tensor(X):
            X = X.toarray() if issparse(X) else np.ascontiguousarray(X)
            # PyTorch takes no memory that is read-only without a warning; on the CPU tensor and array share it.
            X = self.torch.from_numpy(X if X.flags.writeable else X.copy())
        return X.to(self.device, self.dtype(dtype))

    def dtype(self, name: Any) -> Any:
        """The dtype of tensors of the name, or like the dtype of NumPy."""
        if name is None or isinstance(name, self.torch.dtype):
            return name
        return getattr(self.torch, np.dtype(name).name)

    def empty(self, *shape: int, dtype: Any = "float64") -> Tensor:
        """A tensor to be filled."""
        return self.torch.empty(shape, dtype=self.dtype(dtype), device=self.device)

    def zeros(self, *shape: int, dtype: Any = "float64") -> Tensor:
        """A tensor of zeros."""
        return self.torch.zeros(shape, dtype=self.dtype(dtype), device=self.device)

    def identity(self, n: int) -> Tensor:
        """The identity, in float64."""
        return self.torch.eye(n, dtype=self.torch.float64, device=self.device)

    def holds(self, X: Tensor) -> bool:
        """Whether a tensor is on the device already."""
        return X.device.type == self.device.type and (X.device.index or 0) == (self.device.index or 0)

    # --- memory -------------------------------------------------------------------------------------------

    def budget(self) -> int:
        """Bytes that may be kept on the device."""
        if not self.on_gpu:
            return memory_budget()
        free = self.torch.cuda.mem_get_info(self.device)[0]
        # What PyTorch has set aside and does not use is free, too.
        unused = self.torch.cuda.memory_reserved(self.device) - self.torch.cuda.memory_allocated(self.device)
        return int(SHARE * (free + unused))

    def tiles(self, n: int, m: int, least: int = 1) -> Iterator[slice]:
        """Slices over n rows such that a tile of an (n, m) matrix stays near; of `least` rows, but for the last."""
        entries = TILE_ENTRIES if self.on_gpu else None
        step = max(rows.stop - rows.start for rows in row_blocks(n, m, entries)) if n else 1
        return row_blocks(n, 1, max(step, least))


class OnDevice:
    """Vectors that are on a device already, with the attributes that samples have elsewhere."""

    def __init__(self, tensor: Tensor):
        self.tensor = tensor.detach()  # machines learn and answer without derivatives
        self.shape = tuple(tensor.shape)

    def __getitem__(self, rows: Any) -> "OnDevice":
        return OnDevice(self.tensor[rows])


def from_device(X: Any) -> Any:
    """Vectors that are on a device in the memory of the CPU; anything else as it is."""
    return to_numpy(X.tensor) if isinstance(X, OnDevice) else X


def place_of(device: Any) -> Place | None:
    """The place of the parameter `device`; None for None, the native core."""
    return None if device is None else Place(device)


@contextmanager
def full_precision(torch: Any) -> Iterator[None]:
    """Products of float32 matrices are rounded to float32 in here, whatever the process allows elsewhere.

    TF32, the mode of tensor cores that goes by float32, keeps ten binary digits: of squared distances, formed of
    products, it would leave hardly any.
    """
    matmul = torch.backends.cuda.matmul
    name, exact = ("fp32_precision", "ieee") if hasattr(matmul, "fp32_precision") else ("allow_tf32", False)
    before = getattr(matmul, name)
    if before in ("none", exact):  # "none" is the default, which is exact
        yield
        return
    setattr(matmul, name, exact)
    try:
        yield
    finally:
        setattr(matmul, name, before)
