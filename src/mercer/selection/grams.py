"""The kernel matrices of a search: made once where folds and cells can share them."""

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone

from mercer import _native
from mercer.devices.arrays import Place
from mercer.devices.grams import DeviceGram
from mercer.gram import Gram, MatrixGram, make_gram, memory_budget
from mercer.kernels import Kernel, as_kernel
from mercer.kernels.base import NativeSpec
from mercer.kernels.samples import n_samples, take
from mercer.kernels.vectors.base import VectorKernel, measure
from mercer.selection.splits import Split
from mercer.threads import effective_n_threads

__all__ = ["Grams"]

# A stored matrix is worth it if a kernel value takes more features than this, or if, in float32, it fits a cache.
CHEAP_FEATURES, NEAR = 64, 32 * 2**20
# Kernels that are no function of the measure of two samples alone.
NEED_NORMS = ("cosine", "tanimoto")


class Grams:
    """Kernel matrices over all samples, as every fold is to see them.

    What enters a kernel or a preprocessing step from the data comes from the training part of a fold alone. Where that
    makes no difference, and there is no preprocessing, all folds share one matrix. Matrices are stored in float64 if
    they fit the budget; those that are functions of the same distances, or inner products, share these, too.

    Parameters
    ----------
    X : samples
    y : targets or None
        For preprocessing that looks at them.
    weight : array of shape (n,)
    splits : list of (train, test)
    memory : float or "auto"
        Megabytes, see `mercer.gram.memory_budget`.
    place : Place or None, default=None
        The device that computes them; None: the native core.
    """

    def __init__(
        self, X: Any, y: Any, weight: np.ndarray, splits: list[Split], memory: Any, place: Place | None = None
    ):
        self.X, self.y, self.weight, self.splits, self.memory = X, y, weight, splits, memory
        self.place = place
        self._measured: tuple[Any, np.ndarray] | None = None
        self._room: np.ndarray | None = None

    def stores(self, kernel: Any) -> bool:
        """Whether matrices of a kernel are stored, and not computed where they are needed."""
        n, budget = n_samples(self.X), memory_budget(self.memory)
        if n**2 * 16 > budget:
            return False
        if self.place is not None:  # what solves the problems of a search is elsewhere
            return True
        kernel = None if isinstance(kernel, str) and kernel == "precomputed" else as_kernel(kernel)
        if not isinstance(kernel, VectorKernel) or kernel.native is None or not hasattr(self.X, "shape"):
            return True
        entries = self.X.nnz / max(1, n) if issparse(self.X) else self.X.shape[1]
        return entries > CHEAP_FEATURES or n**2 * 4 <= NEAR

    def teams(self, most: int) -> int:
        """How many matrices may be stored at once, for as many who work on them."""
        return max(1, min(most, (memory_budget(self.memory) // n_samples(self.X) ** 2 - 8) // 12))

    def another(self) -> "Grams":
        """The same for somebody who works beside us; distances that are there are shared."""
        other = copy(self)
        other._room = None
        return other

    def afresh(self) -> "Grams":
        """The same for another process, with nothing computed."""
        other = self.another()
        other._measured = None
        return other

    def of(self, machine: Any, preprocess: Any, folds: list[int] | None = None) -> Iterator[tuple[list[int], Gram]]:
        """Folds, all or some, with their matrix, for the kernel of a machine.

        The matrix is good until the next one is asked for.
        """
        everyone = list(range(len(self.splits))) if folds is None else folds
        if preprocess is None and machine._precomputed:
            yield everyone, machine._make_gram(self.X, self.weight)
            return
        kernel = as_kernel(machine.kernel)
        if preprocess is None:
            if isinstance(kernel, VectorKernel) and not kernel._unresolved():
                yield everyone, self._gram(kernel.resolve(self.X, self.weight), self.X, shared=True)
                return
            resolved = [self._resolved(kernel, self.X, self.splits[k][0]) for k in everyone]
            if all(one == resolved[0] for one in resolved[1:]):
                yield everyone, self._gram(resolved[0], self.X, shared=True)
                return
            for k, one in zip(everyone, resolved, strict=True):
                yield [k], self._gram(one, self.X, shared=True)
            return
        for k in everyone:
            train = self.splits[k][0]
            X = machine._take_samples(self.preprocessed(preprocess, train))
            yield [k], self._gram(self._resolved(kernel, X, train), X, shared=False)

    def _resolved(self, kernel: Kernel, X: Any, train: np.ndarray) -> Kernel:
        return kernel.resolve(take(X, train), self.weight[train])

    def preprocessed(self, preprocess: Any, train: np.ndarray) -> Any:
        """All samples, after a preprocessing that has seen the training part alone."""
        targets = () if self.y is None else (take(self.y, train),)
        return clone(preprocess).fit(take(self.X, train), *targets).transform(self.X)

    def _gram(self, kernel: Kernel, X: Any, shared: bool) -> Gram:
        if self.place is not None:
            gram = DeviceGram(kernel, X, self.place)
            whole = np.arange(gram.n)
            return MatrixGram.of_checked(gram.square(whole), kernel.definite) if self.stores(kernel) else gram
        if not self.stores(kernel):
            return make_gram(kernel, X, self.memory)
        spec = kernel.native() if isinstance(kernel, VectorKernel) else None
        if spec is None:
            return MatrixGram(kernel(X), kernel.definite)
        X = kernel.prepare(X)[0].astype(np.float64, copy=False)
        # The matrix, its working copy in float32 and the distances.
        if not shared or spec.transform in NEED_NORMS or n_samples(X) ** 2 * 20 > memory_budget(self.memory):
            return MatrixGram(kernel(X), kernel.definite)
        return MatrixGram.of_checked(self._transformed(spec, X), kernel.definite)

    def _transformed(self, spec: NativeSpec, X: Any) -> np.ndarray:
        """The kernel matrix from what it is a function of."""
        key = (spec.measure, None if spec.weights is None else spec.weights.tobytes())
        if self._measured is None or self._measured[0] != key:
            self._measured = key, measure(spec.measure, X, X, spec.weights)
        values = self._measured[1]
        if self._room is None:
            self._room = np.empty_like(values)
        _native.kernel_transform(
            spec.measure, spec.transform, spec.parameters, values, self._room, effective_n_threads()
        )
        return self._room
