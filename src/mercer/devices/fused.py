"""K v in one kernel of a GPU, whose values are made and used in registers: by Triton, which comes with PyTorch."""

from functools import cache
from importlib.util import find_spec
from typing import Any

from mercer.devices.arrays import Tensor, full_precision
from mercer.devices.values import DeviceKernel, transformed
from mercer.kernels.base import Kernel, NativeSpec

__all__ = ["FusedProduct", "fused_product", "has_triton"]

# Transforms of squared distances and of inner products, by their numbers in the kernels.
TRANSFORMS = {("l2", "exp"): 0, ("l2", "matern32"): 1, ("l2", "matern52"): 2, ("dot", "identity"): 3}
# Most features of a vector that registers hold.
WIDEST = 128
# Rows and columns of a tile, and warps that make it.
ROWS, COLUMNS, WARPS = 128, 64, 4
EXACT_ROWS, EXACT_COLUMNS = 64, 32
# Programs there should be, so that all processors are busy to the end: what rows do not make up, columns do.
PROGRAMS = 2048
# How products of float32 are made: of three products of tensor cores, which err no more than float32.
PRECISION = "tf32x3"


@cache
def has_triton() -> bool:
    """Whether kernels can be written in Triton."""
    return find_spec("triton") is not None


def fused_product(kernel: DeviceKernel, X: Tensor) -> "FusedProduct | None":
    """The product of K(X, X) with a vector, where a GPU has it in one kernel."""
    if not kernel.place.on_gpu or not has_triton() or not isinstance(kernel.kernel, Kernel):
        return None
    spec = kernel.kernel.native()
    if spec is None or (spec.measure, spec.transform) not in TRANSFORMS or X.shape[1] > WIDEST:
        return None
    return FusedProduct(kernel, spec, X)


class FusedProduct:
    """K(X[rows], X[columns]) @ coefficients, and the values themselves of a few samples.

    Parameters
    ----------
    kernel : DeviceKernel
    spec : NativeSpec
        That of the kernel, one of those in `TRANSFORMS`.
    X : tensor of shape (n, d)

    Notes
    -----
    In float32 distances come from inner products, and sums over a tile's columns are float32, those over tiles
    float64. In float64 squares of differences are summed.
    """

    def __init__(self, kernel: DeviceKernel, spec: NativeSpec, X: Tensor):
        torch = kernel.place.torch
        ready = X - kernel.centre if spec.centre and kernel.centre is not None else X
        if spec.weights is not None:
            ready = ready * kernel.place.tensor(spec.weights)
        self.torch, self.spec = torch, spec
        self.transform = TRANSFORMS[spec.measure, spec.transform]
        # As a tensor, since numbers come to a kernel in float32.
        self.scale = torch.tensor(spec.parameters[:1], dtype=torch.float64, device=X.device)
        width = max(16, 1 << (X.shape[1] - 1).bit_length())
        self.exact = torch.zeros((len(X), width), dtype=torch.float64, device=X.device)
        self.exact[:, : X.shape[1]] = ready
        self.single = self.exact.float()
        self.squares = (self.single * self.single).sum(dim=1)

    def __call__(self, columns: Tensor, coefficients: Tensor, dtype: str, rows: Tensor | None = None) -> Tensor:
        torch, single = self.torch, dtype == "float32"
        vectors = self.single if single else self.exact
        x, x_squares = (vectors, self.squares) if rows is None else (vectors[rows], self.squares[rows])
        n, m, width = len(x), len(columns), vectors.shape[1]
        f = torch.zeros(n, dtype=torch.float64, device=vectors.device)
        if not n or not m:
            return f
        tile = (ROWS, COLUMNS) if single else (EXACT_ROWS, EXACT_COLUMNS)
        n_blocks = -(-n // tile[0])
        parts = max(1, min(-(-m // tile[1]), PROGRAMS // n_blocks))
        sums = torch.empty((parts, n), dtype=torch.float64, device=f.device)
        _product_kernel()[(n_blocks, parts)](
            x,
            x_squares,
            vectors[columns],
            self.squares[columns],
            coefficients.to(vectors.dtype),
            sums,
            n,
            m,
            self.scale,
            TRANSFORM=self.transform,
            WIDTH=width,
            ROWS=tile[0],
            COLUMNS=tile[1],
            SINGLE=single,
            PRECISION=PRECISION,
            num_warps=WARPS,
        )
        return sums[0] if parts == 1 else sums.sum(dim=0)

    def square(self, which: Tensor) -> Tensor:
        """K(X[which], X[which]) in float32."""
        x, squares = self.single[which], self.squares[which]
        with full_precision(self.torch):
            if self.spec.measure == "dot":
                t = x @ x.T
            else:
                t = self.torch.addmm(squares, x, x.T, alpha=-2.0).add_(squares[:, None]).clamp_(min=0.0)
        return transformed(self.spec, t, x, x)


@cache
def _product_kernel() -> Any:
    import triton
    import triton.language as tl

    @triton.jit(do_not_specialize=["n", "m"])
    def product(
        x, x_squares, z, z_squares, c, sums, n, m, scale,
        TRANSFORM: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
        SINGLE: tl.constexpr, PRECISION: tl.constexpr,
    ):  # fmt: skip
        row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
        feature = tl.arange(0, WIDTH)
        inside = row < n
        total = tl.zeros([ROWS], dtype=tl.float64)
        if SINGLE:
            a = tl.load(x + row[:, None] * WIDTH + feature[None, :], mask=inside[:, None], other=0.0)
            a_squares = tl.load(x_squares + row, mask=inside, other=0.0)
            rate = tl.load(scale).to(tl.float32)
        else:
            rate = tl.load(scale)
        for start in range(tl.program_id(1) * COLUMNS, m, COLUMNS * tl.num_programs(1)):
            column = start + tl.arange(0, COLUMNS)
            there = column < m
            factor = tl.load(c + column, mask=there, other=0.0)
            if SINGLE:
                b = tl.load(z + column[None, :] * WIDTH + feature[:, None], mask=there[None, :], other=0.0)
                t = tl.dot(a, b, input_precision=PRECISION)
                if TRANSFORM < 3:
                    b_squares = tl.load(z_squares + column, mask=there, other=0.0)
                    t = tl.maximum(a_squares[:, None] + b_squares[None, :] - 2.0 * t, 0.0)
            else:
                t = tl.zeros([ROWS, COLUMNS], dtype=tl.float64)
                for k in range(WIDTH):
                    p = tl.load(x + row * WIDTH + k, mask=inside, other=0.0)
                    q = tl.load(z + column * WIDTH + k, mask=there, other=0.0)
                    if TRANSFORM < 3:
                        difference = p[:, None] - q[None, :]
                        t += difference * difference
                    else:
                        t += p[:, None] * q[None, :]
            if TRANSFORM == 0:
                k_xz = tl.exp(-rate * t)
            elif TRANSFORM == 1:
                u = rate * tl.sqrt(t)
                k_xz = (1.0 + u) * tl.exp(-u)
            elif TRANSFORM == 2:
                u = rate * tl.sqrt(t)
                k_xz = (1.0 + u * (1.0 + u / 3.0)) * tl.exp(-u)
            else:
                k_xz = rate * t
            total += tl.sum(k_xz * factor[None, :], axis=1).to(tl.float64)
        tl.store(sums + tl.program_id(1) * n + row, total, mask=inside)

    return product
