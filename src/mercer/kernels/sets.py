"""Kernels on sets: of points, of patches of an image, of strings, of anything that has a kernel or can be compared."""

from collections.abc import Hashable, Iterator, Set
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from mercer import _native
from mercer.data.features import SparseFeatures
from mercer.data.objects import listed
from mercer.data.symbols import symbol_keys
from mercer.errors import DomainError
from mercer.kernels.base import Kernel
from mercer.kernels.features import FeatureKernel
from mercer.kernels.samples import describe, n_samples, take
from mercer.parameters import Choice, check_parameters
from mercer.threads import effective_n_threads

__all__ = ["CommonElements", "Jaccard", "SetKernel"]

# Elements on each side of a block of kernel values.
BLOCK_ELEMENTS = 1024


class SetKernel(Kernel):
    r"""Kernel between sets: a kernel between their elements, averaged over all pairs.

    .. math:: k(A, B) = \frac{1}{|A|\,|B|} \sum_{a \in A} \sum_{b \in B} k_0(a, b)

    It is the inner product of the mean maps, the centres of the two sets in the feature space of :math:`k_0`: sets are
    alike where the distributions of their elements are.

    Parameters
    ----------
    base : Kernel
        The kernel :math:`k_0` between elements.
    reduce : "mean" or "sum", default="mean"
        "sum" leaves out the division by the sizes of the sets: large sets then have large values.

    See Also
    --------
    CommonElements, Jaccard : Sets of things that are equal or not.

    Notes
    -----
    A sample is a set of samples of the base: for a kernel on vectors an array or CSR matrix with one row per element,
    and n sets of equal size may come as one array of shape (n, size, d); for others a list, tuple or set. An element
    that is there twice counts twice. Empty sets are refused: they have no mean.

    The time is that of the base on all pairs of elements, in blocks that are never all in memory. Sums run over the
    elements in the order in which they stand, along rows and along columns, and the value is the mean of the two: it
    is the same for (A, B) and (B, A), and whatever sets are around them. `vjp` needs the matrix of all elements.

    References
    ----------
    .. [1] A. Smola, A. Gretton, L. Song, B. Schölkopf, A Hilbert space embedding for distributions, ALT 2007.
    .. [2] T. Gärtner et al., Multi-instance kernels, ICML 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF, SetKernel
    >>> clouds = [np.array([[0.0], [1.0]]), np.array([[0.0], [1.0], [2.0]]), np.array([[9.0]])]
    >>> SetKernel(RBF(gamma=1.0))(clouds).round(3)
    array([[0.684, 0.52 , 0.   ],
           [0.52 , 0.501, 0.   ],
           [0.   , 0.   , 1.   ]])
    """

    domain = "sets"
    _parameters: ClassVar = {"reduce": Choice("mean", "sum")}

    def __init__(self, base, reduce="mean"):
        self.base = base
        self.reduce = reduce

    @property
    def definite(self) -> bool | None:  # type: ignore[override]
        return self.base.definite

    def __repr__(self, N_CHAR_MAX=700):
        return f"SetKernel({self.base!r}{'' if self.reduce == 'mean' else f', reduce={self.reduce!r}'})"

    # --- the base -----------------------------------------------------------------------------------------

    def _check_parameters(self):
        if not isinstance(self.base, Kernel):
            raise TypeError(f"base must be a Kernel, got {self.base!r}; as_kernel turns names into kernels.")
        self.base._check_parameters()
        check_parameters(self)

    def _unresolved(self):
        return [f"base__{name}" for name in self.base._unresolved()]

    def resolve(self, X, sample_weight=None):
        self._check_parameters()
        base = self.base
        if base._unresolved():
            elements, sizes = self._stacked(X, "X")
            weight = None if sample_weight is None else np.repeat(np.asarray(sample_weight, dtype=np.float64), sizes)
            base = base.resolve(elements, weight)
        else:
            base = base.resolve(X)  # a copy, whatever the samples
        return SetKernel(base, self.reduce)

    # --- numbers ------------------------------------------------------------------------------------------

    def prepare(self, X, Y=None):
        if isinstance(X, StackedSets):
            return X, X if Y is None else Y
        of_X, sizes = self._stacked(X, "X")
        of_Y, other_sizes = (None, sizes) if Y is None or Y is X else self._stacked(Y, "Y")
        if not len(sizes) or not len(other_sizes):  # there is nothing to compute
            return StackedSets(None, np.zeros_like(sizes)), StackedSets(None, np.zeros_like(other_sizes))
        try:
            of_X, of_Y = self.base.prepare(of_X, of_Y)
        except DomainError as error:
            raise DomainError(f"SetKernel works on sets, here of samples of {self.base!r}: {error}") from error
        left = StackedSets(of_X, sizes)
        return left, left if Y is None or Y is X else StackedSets(of_Y, other_sizes)

    def _matrix(self, X, Y):
        if not len(X) or not len(Y):
            return np.zeros((len(X), len(Y)))
        K = np.empty((len(X), len(Y)))
        for rows in X.blocks():
            for columns in Y.blocks():
                if X is not Y or columns.start <= rows.start:
                    K[rows, columns] = self._sums(X, rows, Y, columns)
                    if X is Y:
                        K[columns, rows] = K[rows, columns].T
        return K / np.multiply.outer(X.sizes, Y.sizes) if self.reduce == "mean" else K

    def _diag(self, X):
        sums = np.array([self._sums(X, slice(i, i + 1), X, slice(i, i + 1))[0, 0] for i in range(len(X))])
        return sums / (X.sizes * X.sizes) if self.reduce == "mean" else sums

    def _sums(self, X: "StackedSets", rows: slice, Y: "StackedSets", columns: slice) -> np.ndarray:
        """Kernel values of all pairs of elements, summed for every pair of some sets of X and some of Y."""
        x_sets, y_sets = X.sets(rows), Y.sets(columns)
        n, m = rows.stop - rows.start, columns.stop - columns.start
        by_row = np.zeros((len(x_sets), m))
        along_rows, along_columns = np.zeros((n, m)), np.zeros((m, n))
        for right in _pieces(len(y_sets)):
            of_Y = take(Y.elements, _moved(right, Y.starts[columns.start]))
            by_column = np.zeros((n, right.stop - right.start))
            for left in _pieces(len(x_sets)):
                values = self.base._matrix(take(X.elements, _moved(left, X.starts[rows.start])), of_Y)
                values = np.ascontiguousarray(values, dtype=np.float64)
                part = by_row[left]
                _native.sets_add_block(values, x_sets[left], y_sets[right], part, by_column, effective_n_threads())
            _native.sets_add_rows(np.ascontiguousarray(by_column.T), y_sets[right], along_columns)
        _native.sets_add_rows(by_row, x_sets, along_rows)
        return 0.5 * (along_rows + along_columns.T)

    def _vjp(self, X, W):
        if self.reduce == "mean":
            W = W / np.multiply.outer(X.sizes, X.sizes)
        sets = X.sets(slice(0, len(X)))
        inner = self.base._vjp(X.elements, W[np.ix_(sets, sets)])
        return {f"base__{name}": value for name, value in inner.items()}

    # --- samples ------------------------------------------------------------------------------------------

    def _stacked(self, X: Any, name: str) -> tuple[Any, np.ndarray]:
        """The elements of all sets, one after the other, and the sizes of the sets."""
        vectors = self.base.domain == "vectors"
        refusal = f"SetKernel works on sets of {'vectors' if vectors else 'samples'} ({self.base!r}), got "
        if vectors and isinstance(X, np.ndarray) and X.ndim == 3:
            samples: list[Any] | None = list(X)
        else:
            samples = listed(X)
        if samples is None:
            raise DomainError(f"{refusal}{describe(X)} as {name}; give a list of sets.")
        sets = [
            self._elements(sample, f"{refusal}{describe(sample)} as sample {i} of {name}")
            for i, sample in enumerate(samples)
        ]
        sizes = np.array([n_samples(elements) for elements in sets], dtype=np.int64)
        if len(sizes) and not sizes.all():
            raise DomainError(f"{refusal}an empty set as sample {int(np.argmin(sizes))} of {name}; it has no mean.")
        if not vectors:
            return [element for elements in sets for element in elements], sizes
        if not sets:
            return np.empty((0, 1)), sizes
        if len({elements.shape[1] for elements in sets}) > 1:
            widths = sorted({int(elements.shape[1]) for elements in sets})
            raise DomainError(f"{refusal}elements of {widths[0]} and of {widths[-1]} features in {name}.")
        return csr_array(vstack(sets)) if any(map(issparse, sets)) else np.concatenate(sets), sizes

    def _elements(self, sample: Any, refusal: str) -> Any:
        if self.base.domain == "vectors":
            if not issparse(sample):
                if not isinstance(sample, np.ndarray | list | tuple) and not hasattr(sample, "to_numpy"):
                    raise DomainError(f"{refusal}; give one row per element.")
                try:
                    sample = np.asarray(sample)
                except ValueError as error:
                    raise DomainError(f"{refusal}; give every element the same number of features.") from error
            if sample.shape[:1] == (0,):
                return np.empty((0, 1))
            if sample.ndim != 2 or sample.dtype.kind not in "biuf":
                raise DomainError(f"{refusal}; give one row of numbers per element.")
            return sample
        if isinstance(sample, Set):  # their order is another one in every process
            elements = list(sample)
            return [elements[i] for i in np.argsort(symbol_keys(elements), kind="stable")]
        found = listed(sample)
        if found is None:
            raise DomainError(f"{refusal}; give every set as a list, tuple or set.")
        return found


class StackedSets:
    """Sets as `SetKernel` takes them: their elements one after the other, in the form of the base, and their sizes."""

    __slots__ = ("elements", "sizes", "starts")

    def __init__(self, elements: Any, sizes: np.ndarray):
        self.elements, self.sizes = elements, sizes
        self.starts = np.concatenate([[0], np.cumsum(sizes)])

    @property
    def shape(self) -> tuple[int]:
        return (len(self.sizes),)

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, rows: Any) -> "StackedSets":
        rows = np.arange(len(self))[rows]
        sizes = self.sizes[rows]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        entries = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], sizes)
        return StackedSets(None if self.elements is None else take(self.elements, entries), sizes)

    def blocks(self) -> Iterator[slice]:
        """Neighbouring sets that have some `BLOCK_ELEMENTS` elements together; a larger one stands alone."""
        first = 0
        for i in range(len(self)):
            if i > first and self.starts[i + 1] - self.starts[first] > BLOCK_ELEMENTS:
                yield slice(first, i)
                first = i
        if len(self):
            yield slice(first, len(self))

    def sets(self, rows: slice) -> np.ndarray:
        """For every element of some neighbouring sets, which of these it belongs to."""
        return np.repeat(np.arange(rows.stop - rows.start), self.sizes[rows])


def _pieces(n: int) -> list[slice]:
    return [slice(start, min(n, start + BLOCK_ELEMENTS)) for start in range(0, n, BLOCK_ELEMENTS)]


def _moved(piece: slice, by: Any) -> slice:
    return slice(piece.start + int(by), piece.stop + int(by))


class CommonElements(FeatureKernel):
    r"""The number of elements that two sets have in common.

    .. math:: k(A, B) = |A \cap B|

    See Also
    --------
    Jaccard : Relative to the size of the union.
    SetKernel : Elements that are more or less alike.
    Intersection : Of histograms.

    Notes
    -----
    Samples are sets, frozensets, lists or tuples of anything hashable; what a list has twice counts once. Reading them
    takes time linear in the elements, the matrix time in proportion to what the sets have in common.

    References
    ----------
    .. [1] J. Shawe-Taylor, N. Cristianini, Kernel Methods for Pattern Analysis, 2004, section 9.5.

    Examples
    --------
    >>> from mercer.kernels import CommonElements
    >>> CommonElements()([{"milk", "bread"}, {"milk", "eggs"}, set()])
    array([[2., 1., 0.],
           [1., 2., 0.],
           [0., 0., 0.]])
    """

    domain = "sets"

    def _features(self, X, name):
        return _elements_as_features(X, "CommonElements", name)


class Jaccard(Kernel):
    r"""Jaccard similarity: the common elements of two sets, out of all elements of either.

    .. math:: k(A, B) = \frac{|A \cap B|}{|A \cup B|}

    Two empty sets have k = 1.

    See Also
    --------
    Tanimoto : The same on sets written as vectors of zeros and ones.
    CommonElements : Not normalised.

    Notes
    -----
    Samples are those of `CommonElements`, and so is the cost.

    References
    ----------
    .. [1] L. Ralaivola et al., Graph kernels for chemical informatics, Neural Networks 18, 2005.

    Examples
    --------
    >>> from mercer.kernels import Jaccard
    >>> Jaccard()([{"milk", "bread"}, {"milk", "eggs"}, set()]).round(3)
    array([[1.   , 0.333, 0.   ],
           [0.333, 1.   , 0.   ],
           [0.   , 0.   , 1.   ]])
    """

    domain = "sets"

    def prepare(self, X, Y=None):
        of_X = X if isinstance(X, SparseFeatures) else _elements_as_features(X, "Jaccard", "X")
        if Y is None or Y is X:
            return of_X, of_X
        return of_X, Y if isinstance(Y, SparseFeatures) else _elements_as_features(Y, "Jaccard", "Y")

    def _matrix(self, X, Y):
        common = _native.features_matrix("dot", X.native(), Y.native(), effective_n_threads())
        together = np.add.outer(np.diff(X.starts), np.diff(Y.starts)) - common
        return np.divide(common, together, out=np.ones_like(common), where=together > 0)

    def _diag(self, X):
        return np.ones(len(X))


def _elements_as_features(X: Any, owner: str, name: str) -> SparseFeatures:
    """Sets of hashable elements as features that are there once."""
    sets = listed(X)
    if sets is None or not all(isinstance(elements, Set | list | tuple) for elements in sets):
        raise DomainError(
            f"{owner} works on sets of hashable elements, got {describe(X)} as {name}; give a list of sets."
        )
    try:
        unique: list[set[Hashable]] = [set(elements) for elements in sets]
    except TypeError as error:
        raise DomainError(f"{owner} works on sets of hashable elements, in {name} there is an {error}.") from error
    keys = symbol_keys(element for elements in unique for element in elements)
    found = SparseFeatures.count(keys, np.cumsum([0, *map(len, unique)]))
    return SparseFeatures(found.keys, np.ones(len(found.keys)), found.starts)
