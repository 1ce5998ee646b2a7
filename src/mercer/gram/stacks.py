"""Kernel matrices of several kernels on the same samples, for machines that learn a combination of them."""

from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array, issparse

from mercer import _native
from mercer.gram.checks import indefinite
from mercer.gram.memory import memory_budget
from mercer.gram.repair import Repair
from mercer.gram.sources import LARGEST_SINGLE, FunctionGram, Gram, MatrixGram, make_gram
from mercer.kernels.algebra import weighted_sum
from mercer.kernels.base import Kernel, NativeSpec
from mercer.kernels.given import Indexed
from mercer.kernels.samples import n_samples, native_rows, native_samples, row_blocks, take
from mercer.kernels.tables import On
from mercer.sums import inner
from mercer.threads import effective_n_threads

__all__ = ["REPAIRS", "GramStack"]

REPAIRS = ("clip", "flip", "shift", "square")
"""What can be done about an indefinite matrix."""
# Kernels that are no function of the measure of two samples alone.
NEED_NORMS = ("cosine", "tanimoto")
# Parts of the budget: for matrices that are kept, and for their sum.
KEPT, SUMMED = 1 / 2, 1 / 2
# Of rows that are computed together: no more than caches hold, but some in any case, within this part of the budget.
BLOCK_BYTES, BLOCK_ROWS, BLOCK = 1 << 23, 32, 1 / 8
# Rows that native loops take together.
ROW_GROUP = 4


class GramStack:
    """The kernel matrices of several kernels.

    Parameters
    ----------
    kernels : sequence of Kernel
        Resolved on X.
    X : n samples
    scale : {"trace", "variance"} or None, default="trace"
        What every matrix is divided by: the mean of its diagonal, its variance in feature space, or nothing. A matrix
        where that is zero stays as it is.
    ridge : float >= 0, default=0.0
        Added to the diagonal of every matrix, once it is scaled [CY eq 3.65].
    memory : float or "auto", default="auto"
        Megabytes for kernel values, see `memory_budget`.
    sample_weight : array of shape (n,), default=None
        Weights of the samples in the sizes of the matrices.
    repair : {"clip", "flip", "shift", "square"} or None, default=None
        What is done to an `Indexed` kernel whose matrix is not positive semi-definite, see `Repair`: to the whole
        matrix that was given, so that training samples and others see the same kernel. Kernels that are asked for new
        samples are not repaired.

    Raises
    ------
    IndefiniteError
        If a matrix is not positive semi-definite and not repaired.

    Notes
    -----
    Half of the memory is for matrices that are computed once and kept, as lower halves in float32, 2 n^2 bytes each:
    first those of kernels that are no function of vectors, these also in float64 if there is room in the end. The
    others are computed again in blocks of rows for every sum in which they have weight, and on the samples with a
    coefficient for energies. The other half is for the sum of the matrices; where it does not fit, its rows are
    computed when a solver asks for them. Rows that are computed again, some at a time, take an eighth at most besides.
    Kernels on the same vectors that are functions of one distance, or of inner products, share these. A matrix is kept
    relative to a power of two of the size of its diagonal, so that values of any scale have a place in float32.

    Every sum of numbers has an order of its own: results depend neither on the threads nor on what is kept.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import GramStack
    >>> from mercer.kernels import Linear, RBF
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> stack = GramStack([Linear(), RBF(gamma=1.0)], X)
    >>> stack.factors
    array([0.6, 1. ])
    >>> stack.combination(np.array([0.5, 0.5])).rows(np.array([2])).round(3)
    array([[0.009, 0.784, 1.7  ]])
    """

    def __init__(
        self,
        kernels: Sequence[Kernel],
        X: Any,
        *,
        scale: str | None = "trace",
        ridge: float = 0.0,
        memory: float | str = "auto",
        sample_weight: np.ndarray | None = None,
        repair: str | None = None,
    ):
        self.kernels, self.X, self.n = list(kernels), X, n_samples(X)
        self.ridge, self.memory, self._budget = float(ridge), memory, memory_budget(memory)
        self.factors = np.ones(len(self.kernels))
        """What every matrix is multiplied by."""
        self._largest = np.zeros(len(self.kernels))  # the largest entry of every matrix
        self._powers = np.ones(len(self.kernels))  # the power of two that its values are kept relative to
        self._kept: dict[tuple[int, type], np.ndarray] = {}
        self._met: tuple[csr_array, np.ndarray] | None = None  # the last coefficients, and what they were multiplied to
        self._sources: list[Source] = []
        families: dict[Any, Family] = {}
        shares = np.full(self.n, 1.0 / self.n) if sample_weight is None else sample_weight / sample_weight.sum()
        kept = self._places()
        for k in range(len(self.kernels)):
            spec = vector_spec(self.kernels[k])
            gram = self._examined(k, spec, repair)
            self.factors[k] = _factor(gram, scale, shares)
            self._largest[k] = self.factors[k] * float(gram.diag().max(initial=0.0))
            self._powers[k] = _power_of_two(self._largest[k])
            if spec is None:
                prepared, _ = self.kernels[k].prepare(X)
                self._sources.append(Single(k, self.kernels[k], prepared))
                for dtype in (np.float32, np.float64):
                    if (k, dtype) in kept:
                        self._kept[k, dtype] = _lower_half(gram, self._relative(k), dtype)
                continue
            key = k if spec.transform in NEED_NORMS else _shared_by(self.kernels[k], spec)
            if key not in families:
                families[key] = Family(_vectors(gram.X))  # type: ignore[attr-defined]
            families[key].specs[k] = spec
        self._sources.extend(families.values())
        for family in families.values():
            members = [k for k in family.specs if (k, np.float32) in kept]
            halves = list(np.empty((len(members), _start(self.n)), dtype=np.float32))  # large pages, if there are any
            family.fill(members, [self._relative(k) for k in members], slice(0, self.n), halves)
            self._kept.update({(k, np.float32): half for k, half in zip(members, halves, strict=True)})

    def _places(self) -> set[tuple[int, type]]:
        """Which matrices are kept, and in which precision: all in float32 first, dear ones also in float64."""
        dear = [k for k, kernel in enumerate(self.kernels) if vector_spec(kernel) is None]
        cheap = [k for k, kernel in enumerate(self.kernels) if vector_spec(kernel) is not None]
        wanted: list[tuple[int, type]] = [(k, np.float32) for k in dear + cheap]
        wanted += [(k, np.float64) for k in dear if not isinstance(self.kernels[k], Indexed)]
        sizes = np.array([np.dtype(dtype).itemsize for _, dtype in wanted]) * (self.n * (self.n + 1) // 2)
        return set(wanted[: int(np.searchsorted(np.cumsum(sizes), KEPT * self._budget, side="right"))])

    def _examined(self, k: int, spec: NativeSpec | None, repair: str | None) -> Gram:
        """The matrix of a kernel, which is known to be positive semi-definite and finite."""
        kernel = self.kernels[k]
        if repair is not None and isinstance(kernel, Indexed):
            whole = MatrixGram(kernel._stored())
            if not whole.definite:
                kernel = self.kernels[k] = Indexed(Repair(repair).fit_transform(whole))
        if spec is not None and kernel.native() is None:  # vectors in a table: no need to store the matrix
            gram: Gram = FunctionGram(kernel, self.X)
        else:
            gram = make_gram(kernel, self.X, self.memory)
        if not np.isfinite(gram.diag()).all():
            raise ValueError(
                f"The features are too large: the values of kernel {k}, {kernel!r}, overflow. Rescale them."
            )
        if isinstance(kernel, Indexed) and repair is not None:
            return gram
        if not gram.definite:
            what = f"Indexed(K) of {len(kernel._stored())} samples" if isinstance(kernel, Indexed) else repr(kernel)
            instead = " or set repair" if isinstance(kernel, Indexed) else ""
            if repair is not None:
                instead = f", or EmpiricalMap: repair={repair!r} is for Indexed kernels alone"
            raise indefinite("A combination of kernels", gram.lowest_eigenvalue(), f"kernel {k}, {what},", instead)
        return gram

    def __len__(self) -> int:
        return len(self.kernels)

    # --- sums ---------------------------------------------------------------------------------------------

    def kernel(self, weights: np.ndarray) -> Kernel:
        """The combination as a kernel, without the ridge; kernels of weight zero are left out.

        With weights of either sign it is one on the rows of stored matrices alone: their sum, stored.
        """
        used = np.flatnonzero(weights)
        if (weights < 0).any():
            factors = weights * self.factors
            return Indexed(sum(factors[k] * self.kernels[k]._stored().astype(np.float64) for k in used))
        if not len(used):
            used = np.array([0])
        return weighted_sum([self.kernels[k] for k in used], (weights * self.factors)[used])

    def combination(self, weights: np.ndarray) -> Gram:
        """The weighted sum of the matrices, in float32 if there is room for it and it has a place there."""
        largest = float(weights @ self._largest)
        if 4 * self.n**2 > SUMMED * self._budget:
            return self.on_demand(weights)
        if largest > 0 and not 1 / LARGEST_SINGLE <= largest <= LARGEST_SINGLE:
            return self.exact(weights)
        return MatrixGram.of_checked(self._sum(weights, np.float32, self.ridge), True)

    @property
    def stores_exact_sums(self) -> bool:
        """Whether there is room for a sum in float64."""
        return 8 * self.n**2 <= SUMMED * self._budget

    def exact(self, weights: np.ndarray, *, ridged: bool = True) -> Gram:
        """The weighted sum of the matrices in float64."""
        if not self.stores_exact_sums:
            return self.on_demand(weights, ridged=ridged)
        return MatrixGram.of_checked(self._sum(weights, np.float64, self.ridge if ridged else 0.0), True)

    def on_demand(self, weights: np.ndarray, *, ridged: bool = True) -> Gram:
        """The weighted sum of the matrices in float64, of which nothing is computed before it is asked for."""
        return SumGram(self, weights, self.ridge * float(weights.sum()) if ridged else 0.0)

    def matrix(self, k: int) -> np.ndarray:
        """One of the matrices in float64, scaled and with its ridge."""
        return self._sum(np.eye(1, len(self), k)[0], np.float64, self.ridge)

    def square(self, weights: np.ndarray, which: np.ndarray) -> np.ndarray:
        """The weighted sum on some samples, K[which, which], from values as they are kept: rounded to float32."""
        samples, places = np.unique(which, return_inverse=True)
        unit = _power_of_two(float(weights @ self._largest))  # any scale has a place in float32
        total = self._sum(weights / unit, np.float32, self.ridge, samples)
        if len(samples) < len(which) or not np.array_equal(samples, which):
            total = total[np.ix_(places, places)]
        square = total.astype(np.float64)
        square *= unit
        return square

    def _sum(self, weights: np.ndarray, dtype: type, ridge: float, samples: np.ndarray | None = None) -> np.ndarray:
        """The weighted sum, on some of the samples in ascending order."""
        used = np.flatnonzero(weights).tolist()
        n = self.n if samples is None else len(samples)
        scaled, added = (weights * self._powers)[used], ridge * float(weights.sum())
        total: np.ndarray = (np.empty if used else np.zeros)((n, n), dtype=dtype)
        kept = {k: self._kept[k, dtype] for k in used if (k, dtype) in self._kept}
        if samples is not None:
            places = (_start(samples)[:, np.newaxis] + samples)[np.tri(n, dtype=bool)]
            kept = {k: half[places] for k, half in kept.items()}
        streamed = [k for k in used if k not in kept]
        for rows, found in self._streams(streamed, dtype, samples) if used else ():
            part = slice(_start(rows.start), _start(rows.stop))
            halves = [found[k] if k in found else kept[k][part] for k in used]
            _native.combine_halves(halves, scaled, rows.start, rows.stop, added, total, effective_n_threads())
        return total

    # --- energies -----------------------------------------------------------------------------------------

    def energies(self, coefficients: csr_array, *, exact: bool = False) -> np.ndarray:
        """Half of c'Kc for every matrix, summed over the rows c of coefficients, shape (n_kernels,).

        From kernel values in float32, or exactly: in float64.
        """
        dtype = np.float64 if exact else np.float32
        support = np.unique(coefficients.indices).astype(np.int64)
        m, rows_of_c = len(support), native_rows(coefficients[:, support])
        by_row, everyone, threads = np.zeros((len(self), m)), np.arange(m), effective_n_threads()
        kept, streamed = self._kept_and_not(dtype)
        if kept:
            halves = [self._kept[k, dtype] for k in kept]
            by_row[kept] = _native.energies_of_halves(halves, support, rows_of_c, 0, m, True, threads)
        if streamed:
            # Newton's method asks for products with the same coefficients next: what is computed serves both.
            alone = not exact and coefficients.shape[0] == 1
            c, products = coefficients.data[np.argsort(coefficients.indices)], np.zeros((len(streamed), m))
            for rows, found in self._streams(streamed, dtype, support):
                halves, part = list(found.values()), (rows.start, rows.stop, False)
                by_row[streamed, rows] = _native.energies_of_halves(halves, everyone, rows_of_c, *part, threads)
                if alone:
                    _native.add_products_of_halves(halves, everyone, c, *part, products, threads)
            if alone:
                self._met = coefficients, products
        ridge = 0.5 * self.ridge * float((coefficients.data**2).sum())
        return np.maximum(self._powers * by_row.sum(axis=1) + ridge, 0.0)

    def products(self, coefficients: csr_array, samples: np.ndarray) -> np.ndarray:
        """K c at some samples for every matrix, for one row c of coefficients, shape (n_kernels, len(samples))."""
        met = np.union1d(coefficients.indices, samples).astype(np.int64)
        c, threads = np.zeros(len(met)), effective_n_threads()
        c[np.searchsorted(met, coefficients.indices)] = coefficients.data
        kept, streamed = self._kept_and_not(np.float32)
        found = np.zeros((len(self), len(met)))
        if kept:
            halves, part = [self._kept[k, np.float32] for k in kept], np.zeros((len(kept), len(met)))
            _native.add_products_of_halves(halves, met, c, 0, len(met), True, part, threads)
            found[kept] = part
        if streamed:
            found[streamed] = self._streamed_products(streamed, coefficients, met, c)
        return (self._powers[:, np.newaxis] * found + self.ridge * c)[:, np.searchsorted(met, samples)]

    def _streamed_products(
        self, streamed: list[int], coefficients: csr_array, met: np.ndarray, c: np.ndarray
    ) -> np.ndarray:
        """K c on the samples that are met, of matrices that are not kept."""
        if self._met is not None:
            last, products = self._met
            same = np.array_equal(last.indices, coefficients.indices) and np.array_equal(last.data, coefficients.data)
            if same and products.shape[1] == len(met):
                return products
        products, everyone = np.zeros((len(streamed), len(met))), np.arange(len(met))
        for rows, halves in self._streams(streamed, np.float32, met):
            _native.add_products_of_halves(
                list(halves.values()), everyone, c, rows.start, rows.stop, False, products, effective_n_threads()
            )
        return products

    # --- values -------------------------------------------------------------------------------------------

    def _kept_and_not(self, dtype: type) -> tuple[list[int], list[int]]:
        """The numbers of matrices that are kept in some precision, and of the others."""
        everyone = range(len(self))
        return [k for k in everyone if (k, dtype) in self._kept], [k for k in everyone if (k, dtype) not in self._kept]

    def _streams(
        self, numbers: list[int], dtype: type, samples: np.ndarray | None = None
    ) -> Iterator[tuple[slice, dict[int, np.ndarray]]]:
        """Rows of the lower halves of matrices, all or on some samples, a block at a time in the same place."""
        n = self.n if samples is None else len(samples)
        sources = [(source, [k for k in numbers if k in source]) for source in self._sources]
        sources = [(source if samples is None else source.at(samples), mine) for source, mine in sources if mine]
        blocks = self._blocks(n, len(numbers), dtype)
        room = np.empty(
            (len(numbers), max((_start(rows.stop) - _start(rows.start) for rows in blocks), default=0)), dtype
        )
        for rows in blocks:
            halves = dict(zip(numbers, room[:, : _start(rows.stop) - _start(rows.start)], strict=True))
            for source, mine in sources:
                source.fill(mine, [self._relative(k) for k in mine], rows, [halves[k] for k in mine])
            yield rows, halves

    def _relative(self, k: int) -> float:
        """What kernel values are multiplied by to be kept."""
        return float(self.factors[k] / self._powers[k])

    def _blocks(self, n: int, n_streamed: int, dtype: type) -> list[slice]:
        """Rows of lower halves that are computed together, so that those of all matrices have room."""
        if not n_streamed:
            return [slice(0, n)]
        # Native loops take rows in groups: sums are the same to the last bit if no group is divided.
        itemsize = np.dtype(dtype).itemsize
        wanted = max(BLOCK_BYTES, BLOCK_ROWS * n * n_streamed * itemsize)
        entries = int(min(wanted, BLOCK * self._budget)) // itemsize
        groups = row_blocks(-(-n // ROW_GROUP), n * n_streamed * ROW_GROUP, entries)
        return [slice(ROW_GROUP * group.start, min(n, ROW_GROUP * group.stop)) for group in groups]


class Source(Protocol):
    """Where the values of some kernels of a stack come from."""

    def __contains__(self, k: int) -> bool: ...

    def fill(self, numbers: Sequence[int], factors: Sequence[float], rows: slice, halves: list[np.ndarray]) -> None:
        """Make `halves` rows of the lower halves of matrices, each times its factor."""
        ...

    def add_rows(self, factors: np.ndarray, which: np.ndarray, total: np.ndarray) -> None:
        """Add rows of the matrices, times the factors of all kernels of the stack."""
        ...

    def at(self, support: np.ndarray) -> "Source":
        """The same kernels on some of the samples."""
        ...


class Family:
    """Kernels on vectors that are functions of one measure, which is computed once for all of them.

    Parameters
    ----------
    X : n vectors
    """

    def __init__(self, X: Any):
        self.X, self.specs = X, dict[int, NativeSpec]()

    def __contains__(self, k: int) -> bool:
        return k in self.specs

    def _arguments(
        self, numbers: Sequence[int], factors: Sequence[float]
    ) -> tuple[str, np.ndarray | None, list[tuple[str, list[float]]], list[float], Any]:
        specs = [self.specs[k] for k in numbers]
        kernels = [(spec.transform, list(spec.parameters)) for spec in specs]
        return specs[0].measure, specs[0].weights, kernels, list(factors), native_samples(self.X)

    def fill(self, numbers: Sequence[int], factors: Sequence[float], rows: slice, halves: list[np.ndarray]) -> None:
        if halves:
            arguments = self._arguments(numbers, factors)
            _native.family_halves(*arguments, rows.start, rows.stop, halves, effective_n_threads())

    def add_rows(self, factors: np.ndarray, which: np.ndarray, total: np.ndarray) -> None:
        numbers = [k for k in self.specs if factors[k]]
        if numbers:
            arguments = self._arguments(numbers, [float(factors[k]) for k in numbers])
            _native.add_family_rows(*arguments, which, total, effective_n_threads())

    def at(self, support: np.ndarray) -> "Family":
        part = copy(self)
        part.X = take(self.X, support)
        return part


class Single:
    """A kernel of any kind.

    Parameters
    ----------
    k : int
        Its number.
    kernel : Kernel
    X : n samples
        As the kernel has prepared them.
    """

    def __init__(self, k: int, kernel: Kernel, X: Any):
        self.k, self.kernel, self.X = k, kernel, X

    def __contains__(self, k: int) -> bool:
        return k == self.k

    def fill(self, numbers: Sequence[int], factors: Sequence[float], rows: slice, halves: list[np.ndarray]) -> None:
        block = self.kernel._some_rows(self.X, rows, take(self.X, slice(0, rows.stop)))
        halves[0][:] = _packed(block, factors[0], rows)

    def add_rows(self, factors: np.ndarray, which: np.ndarray, total: np.ndarray) -> None:
        if factors[self.k]:
            total += factors[self.k] * self.kernel._some_rows(self.X, which, self.X)

    def at(self, support: np.ndarray) -> "Single":
        return Single(self.k, self.kernel, take(self.X, support))


class SumGram(FunctionGram):
    """The weighted sum of the matrices of a stack, computed where it is asked for.

    Parameters
    ----------
    stack : GramStack
    weights : array of shape (n_kernels,)
    ridge : float
        On the diagonal of the sum.
    """

    def __init__(self, stack: GramStack, weights: np.ndarray, ridge: float):
        Gram.__init__(self, stack.n, True)  # every matrix has been examined
        self.kernel, self._samples = stack.kernel(weights), stack.X
        self._sources, self._factors, self._ridge = stack._sources, weights * stack.factors, ridge

    @cached_property
    def X(self) -> Any:
        return self.kernel.prepare(self._samples)[0]

    def rows(self, which):
        which = np.ascontiguousarray(which, dtype=np.int64)
        total = np.zeros((len(which), self.n))
        for source in self._sources:
            source.add_rows(self._factors, which, total)
        total[np.arange(len(which)), which] += self._ridge
        return total

    def diag(self):
        return super().diag() + self._ridge

    def dot_part(self, rows, columns, V):
        product = super().dot_part(rows, columns, V)
        if self._ridge:
            spread = np.zeros((self.n, V.shape[1]))
            spread[columns] = V.toarray() if issparse(V) else V
            product = product + self._ridge * spread[rows]
        return product


def vector_spec(kernel: Kernel) -> NativeSpec | None:
    """How native loops compute a kernel on vectors, or on vectors in columns of a table."""
    while isinstance(kernel, On):
        kernel = kernel.kernel
    return kernel.native()


def _vectors(prepared: Any) -> Any:
    """What `On` has prepared, as the kernel inside sees it."""
    while hasattr(prepared, "parts"):
        (prepared,) = prepared.parts
    return prepared


def _shared_by(kernel: Kernel, spec: NativeSpec) -> Any:
    """Equal for kernels of one measure on the same vectors."""
    columns = []
    while isinstance(kernel, On):
        columns.append(kernel.columns if isinstance(kernel.columns, str) else tuple(kernel.columns))
        kernel = kernel.kernel
    weights = None if spec.weights is None else spec.weights.tobytes()
    return tuple(columns), type(kernel).prepare, spec.measure, weights


def _power_of_two(size: float) -> float:
    """The largest one up to a number, whose inverse is one as well; 1 where the number is zero."""
    return float(np.exp2(np.floor(np.log2(max(size, np.finfo(float).tiny))))) if size > 0 else 1.0


def _start(row: Any) -> Any:
    """Where a row of a lower half begins."""
    return row * (row + 1) // 2


def _packed(block: np.ndarray, factor: float, rows: slice) -> np.ndarray:
    """Rows of a lower half from the rows of a matrix, of which columns beyond the last row are not used."""
    block = block[:, : rows.stop]
    values = block[np.tri(len(block), rows.stop, rows.start, dtype=bool)]
    return factor * values.astype(np.float64, copy=False)


def _lower_half(gram: Gram, factor: float, dtype: type) -> np.ndarray:
    half: np.ndarray = np.empty(_start(gram.n), dtype=dtype)
    for rows in row_blocks(gram.n, gram.n):
        block = gram.rows(np.arange(rows.start, rows.stop))
        half[_start(rows.start) : _start(rows.stop)] = _packed(block, factor, rows)
    return half


def _factor(gram: Gram, scale: str | None, shares: np.ndarray) -> float:
    """One over the size of a matrix."""
    if scale is None:
        return 1.0
    size = inner(gram.diag(), shares)
    if scale == "variance":
        size -= inner(gram.dot(shares), shares)
    return 1.0 / size if size > np.finfo(float).tiny else 1.0
