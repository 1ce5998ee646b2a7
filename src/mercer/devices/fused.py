"""K v in one kernel of the GPU: every value is made, used and forgotten in registers. By Triton, which PyTorch brings."""

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

from mercer.devices.arrays import Tensor
from mercer.devices.values import DeviceKernel
from mercer.kernels.base import Kernel

__all__ = ["FusedProduct", "fused_product", "has_triton"]

# Transforms of squared distances and of inner products, by their numbers in the kernel.
TRANSFORMS = {("l2", "exp"): 0, ("l2", "matern32"): 1, ("l2", "matern52"): 2, ("dot", "identity"): 3}
# Most features of a vector that registers hold.
WIDEST = 128
# Rows and columns of a tile, and warps that make it.
ROWS, COLUMNS, WARPS = 128, 64, 4
# Rounds of columns for one program, so that there are programs for all processors.
PROGRAMS = 2048


@cache
def has_triton() -> bool:
    """Whether kernels can be written in Triton."""
    return find_spec("triton") is not None


def fused_product(kernel: DeviceKernel, X: Tensor) -> "FusedProduct | None":
    """The product of K(X, X), in float32, with a vector, where a GPU has it in one kernel."""
    if not kernel.place.on_gpu or not has_triton() or not isinstance(kernel.kernel, Kernel):
        return None
    spec = kernel.kernel.native()
    if spec is None or (spec.measure, spec.transform) not in TRANSFORMS or X.shape[1] > WIDEST:
        return None
    return FusedProduct(kernel, X)


class FusedProduct:
    """K(X, X[columns]) @ coefficients.

    Parameters
    ----------
    kernel : DeviceKernel
        In float32.
    X : tensor of shape (n, d)

    Notes
    -----
    Inner products are made of three products of tensor cores (TF32 with its remainder), whose error is that of float32;
    sums over a tile's columns are float32, those over tiles float64.
    """

    def __init__(self, kernel: DeviceKernel, X: Tensor):
        torch, spec = kernel.place.torch, kernel.kernel.native()
        ready = X - kernel.centre if spec.centre and kernel.centre is not None else X
        if spec.weights is not None:
            ready = ready * kernel.place.tensor(spec.weights)
        self.torch, self.transform = torch, TRANSFORMS[spec.measure, spec.transform]
        self.scale = float(spec.parameters[0])
        width = max(16, 1 << (X.shape[1] - 1).bit_length())
        self.vectors = torch.zeros((len(X), width), dtype=torch.float32, device=X.device)
        self.vectors[:, : X.shape[1]] = ready
        self.squares = (self.vectors * self.vectors).sum(dim=1)
        self._kernel: Callable[..., Any] = _product_kernel()

    def __call__(self, columns: Tensor, coefficients: Tensor) -> Tensor:
        n, m, width = len(self.vectors), len(columns), self.vectors.shape[1]
        f = self.torch.zeros(n, dtype=self.torch.float64, device=self.vectors.device)
        if not m:
            return f
        n_blocks = -(-n // ROWS)
        parts = max(1, min(-(-m // COLUMNS), PROGRAMS // n_blocks))
        sums = self.torch.empty((parts, n), dtype=self.torch.float64, device=f.device)
        self._kernel[(n_blocks, parts)](
            self.vectors,
            self.squares,
            self.vectors[columns],
            self.squares[columns],
            coefficients.float(),
            sums,
            n,
            m,
            self.scale,
            TRANSFORM=self.transform,
            WIDTH=width,
            ROWS=ROWS,
            COLUMNS=COLUMNS,
            num_warps=WARPS,
        )
        return sums[0] if parts == 1 else self.torch.sum(sums, dim=0, out=f)


@cache
def _product_kernel() -> Any:
    import triton
    import triton.language as tl

    @triton.jit
    def product(
        x, x_squares, z, z_squares, c, sums, n, m, scale,
        TRANSFORM: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    ):  # fmt: skip
        row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
        feature = tl.arange(0, WIDTH)
        inside = row < n
        a = tl.load(x + row[:, None] * WIDTH + feature[None, :], mask=inside[:, None], other=0.0)
        a_squares = tl.load(x_squares + row, mask=inside, other=0.0)
        total = tl.zeros([ROWS], dtype=tl.float64)
        first = tl.program_id(1) * COLUMNS
        for start in range(first, m, COLUMNS * tl.num_programs(1)):
            column = start + tl.arange(0, COLUMNS)
            there = column < m
            b = tl.load(z + column[None, :] * WIDTH + feature[:, None], mask=there[None, :], other=0.0)
            b_squares = tl.load(z_squares + column, mask=there, other=0.0)
            factor = tl.load(c + column, mask=there, other=0.0)
            t = tl.dot(a, b, input_precision="tf32x3")
            if TRANSFORM < 3:
                t = tl.maximum(a_squares[:, None] + b_squares[None, :] - 2.0 * t, 0.0)
            if TRANSFORM == 0:
                k = tl.exp(-scale * t)
            elif TRANSFORM == 1:
                u = scale * tl.sqrt(t)
                k = (1.0 + u) * tl.exp(-u)
            elif TRANSFORM == 2:
                u = scale * tl.sqrt(t)
                k = (1.0 + u * (1.0 + u / 3.0)) * tl.exp(-u)
            else:
                k = scale * t
            total += tl.sum(k * factor[None, :], axis=1).to(tl.float64)
        tl.store(sums + tl.program_id(1) * n + row, total, mask=inside)

    return product
