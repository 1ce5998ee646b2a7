"""What all machines share: parameters, samples in, a kernel matrix, a model out."""

from abc import ABC
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from inspect import isfunction
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import (
    _check_feature_names,
    _check_sample_weight,
    _check_y,
    check_array,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from mercer.data import RowBlocks
from mercer.devices.arrays import Device, OnDevice, Place, from_device, place_of
from mercer.devices.grams import DeviceGram
from mercer.devices.values import DeviceKernel, check_on_device, resolved_on_device
from mercer.distributed.engine import is_lazy
from mercer.distributed.predictions import by_blocks
from mercer.distributed.rows import DaskRows, in_memory
from mercer.errors import DomainError
from mercer.gram import Gram, MatrixGram, make_gram
from mercer.gram.memory import check_memory
from mercer.kernels import Linear, as_kernel
from mercer.kernels.samples import describe, in_full, is_tensor, n_samples, take, to_numpy
from mercer.kernels.vectors.base import VectorKernel
from mercer.parameters import check_parameters
from mercer.threads import effective_n_threads, limit_threads

__all__ = ["KernelMachine", "Machine", "answering_tensors"]

# How scikit-learn is to check vectors: float32 stays what it is.
VECTORS: dict[str, Any] = {
    "dtype": [np.float64, np.float32],
    "accept_sparse": "csr",
    "order": "C",
    "accept_large_sparse": True,
}
# Machines that read blocks, by what others are.
READERS = {
    "classifier": "SVC and LinearSVC take blocks",
    "regressor": "SVR and LinearSVR take blocks",
    "outlier_detector": "OneClassSVM and LinearOneClassSVM take blocks",
    "clusterer": "KernelKMeans takes blocks, with an approximation",
}
# What a fitted machine says of every sample by itself: of the rows of a Dask collection it says it lazily.
OF_SAMPLES = (
    "predict",
    "decision_function",
    "score_samples",
    "predict_proba",
    "predict_log_proba",
    "transform",
    "distance",
)


# What machines answer for samples; with a device, for tensors there in tensors.
ANSWERS = {
    "decision_function",
    "predict",
    "predict_log_proba",
    "predict_proba",
    "score_samples",
    "transform",
}


def answering_tensors(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a machine that gives tensors where it is given tensors, if the machine has a device."""

    @wraps(method)
    def answer(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_tensor(X) or getattr(self, "device", None) is None:
            return method(self, X, *args, **kwargs)
        place = Place(X.device)
        found = method(self, OnDevice(X), *args, **kwargs)

        def back(part: Any) -> Any:
            return place.tensor(part) if isinstance(part, np.ndarray) and part.dtype.kind in "biuf" else part

        return tuple(map(back, found)) if isinstance(found, tuple) else back(found)

    return answer


def _in_numpy(values: Any) -> Any:
    """A tensor of PyTorch as an array; anything else as it is."""
    return to_numpy(values) if is_tensor(values) else values


class Machine(BaseEstimator, ABC):
    """Base of all that is fitted: parameters, samples, weights."""

    _parameters: ClassVar[dict[str, Any]] = {}

    n_threads: int | None = None

    def __init_subclass__(cls, **known: Any):
        super().__init_subclass__(**known)
        for name in OF_SAMPLES:
            if isfunction(method := cls.__dict__.get(name)):
                setattr(cls, name, by_blocks(method))

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """A fit that fails, or is interrupted, leaves the machine as it was."""
        before = self.__dict__.copy()
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _check_all(self) -> None:
        """Everything that can be refused before any kernel value is computed."""
        check_parameters(self)
        effective_n_threads(self.n_threads)

    def _vectors(self) -> bool:
        """Whether scikit-learn's checks of numeric tables apply to the samples."""
        return True

    def _reads_blocks(self) -> bool:
        """Whether samples may come in blocks of rows."""
        return False

    def _check_reads(self, X: Any, what: str) -> None:
        """Refuse samples in blocks where they may not be."""
        if not self._reads_blocks():
            advice = READERS.get(get_tags(self).estimator_type, "it can be fitted to a part of them")
            if "approximation" in self.get_params(deep=False):
                advice = "with an approximation it takes blocks of vectors"
            raise TypeError(f"{type(self).__name__} needs X in memory, got {what}; {advice}.")

    def _take_samples(self, X: Any, y: Any = "no_validation", **check_y: Any) -> Any:
        """Check training samples (and labels) and note the number and names of features."""
        y = in_memory(y)
        if isinstance(X, Iterator) or isfunction(X):
            raise TypeError(
                f"X must be samples in memory or RowBlocks, got a {type(X).__name__}; mercer.data.RowBlocks(function) "
                "reads the blocks that a generator function yields, in every pass anew."
            )
        if is_lazy(X):
            self._check_reads(X, "a Dask collection")
            like, X = X, DaskRows(X, getattr(self, "memory", "auto"))
            _check_feature_names(self, like._meta, reset=True)
        if isinstance(X, RowBlocks):
            return self._take_blocks(X, y, **check_y)
        X, y = _in_numpy(X), _in_numpy(y)
        if self._vectors():
            if isinstance(X, Mapping):
                raise DomainError(
                    f"{type(self).__name__} takes vectors with this kernel, got {describe(X)} as X; "
                    "On(columns, kernel) reads columns of a table."
                )
            if isinstance(X, np.ndarray) and not X.dtype.isnative:  # else float32 of another byte order becomes float64
                X = X.astype(X.dtype.newbyteorder("="))
            return (
                validate_data(self, X, **VECTORS)
                if isinstance(y, str)
                else validate_data(self, X, y, **VECTORS, **check_y)
            )
        if not hasattr(X, "__len__") and not hasattr(X, "shape"):
            raise TypeError(f"X must be a sequence of samples, got {X!r}.")
        if n_samples(X) == 0:
            raise ValueError("Found array with 0 sample(s), a machine needs at least one.")
        if getattr(X, "ndim", 1) == 2:
            self.n_features_in_ = X.shape[1]
        return self._with_labels(X, y, **check_y)

    def _with_labels(self, X: Any, y: Any, **check_y: Any) -> Any:
        """Samples that have been checked, and labels if there are to be some."""
        if isinstance(y, str):
            return X
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        y = _check_y(y, estimator=self, **check_y)
        if len(y) != n_samples(X):
            raise ValueError(f"X has {n_samples(X)} samples, y has {len(y)}.")
        return X, y

    def _take_blocks(self, X: RowBlocks, y: Any, **check_y: Any) -> Any:
        """Samples in blocks, which have been checked, and labels."""
        self._check_reads(X, "RowBlocks")
        self.n_features_in_ = X.shape[1]
        if isinstance(y, str):
            return X
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        y = _check_y(y, estimator=self, **check_y)
        check_consistent_length(X, y)
        return X, y

    def _take_targets(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Checked training samples and their values, of one output or several, in float64."""
        X, y = self._take_samples(X, y, multi_output=True, y_numeric=True)
        return X, check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")

    def _weights(self, sample_weight: Any, X: Any) -> np.ndarray:
        """Sample weights in float64; zero is allowed, negative is not."""
        n, sample_weight = n_samples(X), _in_numpy(in_memory(sample_weight))
        if sample_weight is None:
            return np.ones(n)
        weight = _check_sample_weight(sample_weight, np.empty((n, 1)), dtype=np.float64, ensure_non_negative=True)
        if not weight.any():
            raise ValueError("sample_weight must have at least one positive entry, all are zero.")
        return weight


class KernelMachine(Machine):
    """Base of machines that see samples through a kernel, and whose functions are expansions over some of them.

    They learn ``K(X, support_vectors_) @ dual_coef_.T + intercept_``, one function for each row of `dual_coef_`.
    """

    kernel: Any
    kernel_: Any
    device: Any = None
    _fits_tensors: ClassVar[bool] = False  # whether tensors on the device of the machine stay there in a fit
    memory: float | str = "auto"
    dual_coef_: Any
    intercept_: np.ndarray
    support_: np.ndarray

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in ANSWERS & cls.__dict__.keys():
            setattr(cls, name, answering_tensors(cls.__dict__[name]))

    # --- parameters ---------------------------------------------------------------------------------------

    def set_params(self, **params):
        """Set parameters, those of the kernel as ``kernel__name``.

        A kernel given by its name becomes a kernel object first.
        """
        if any(name.startswith("kernel__") for name in params):
            kernel = params.get("kernel", self.kernel)
            if isinstance(kernel, str) and kernel != "precomputed":
                params = {"kernel": as_kernel(kernel), **{k: v for k, v in params.items() if k != "kernel"}}
        return super().set_params(**params)

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = not self._precomputed
        return tags

    @property
    def _mapped(self) -> bool:
        """Whether functions are linear in features of a map, which `_compared` gives in place of samples."""
        return False

    # --- samples in ---------------------------------------------------------------------------------------

    def _check_all(self) -> None:
        check_memory(self.memory)
        super()._check_all()
        if problem := Device.problem(self.device):
            raise ValueError(f"device {problem}")
        if self._place is not None and (self._precomputed or not self._vectors()):
            raise DomainError(f"device must be None with kernel={self.kernel!r}: devices compute kernels on vectors.")

    @property
    def _place(self) -> Place | None:
        """The device that is to compute, None: the native core."""
        return place_of(self.device)

    def _vectors(self) -> bool:
        """Whether scikit-learn's checks of numeric tables apply to the samples."""
        return self._precomputed or as_kernel(self.kernel).domain == "vectors"

    def _take_samples(self, X: Any, y: Any = "no_validation", **check_y: Any) -> Any:
        if is_tensor(X) and self._fits_tensors and self._vectors() and (place := self._place) is not None:
            X = OnDevice(X) if place.holds(X) else X
        if not isinstance(X, OnDevice):
            return super()._take_samples(X, y, **check_y)
        if not self._fits_tensors:
            return super()._take_samples(from_device(X), y, **check_y)
        if X.tensor.ndim != 2 or 0 in X.shape:
            raise ValueError(f"X must be vectors, one in each row, got a tensor of shape {X.shape}.")
        if X.tensor.element_size() < 4 or not X.tensor.is_floating_point():
            X = OnDevice(X.tensor.double())
        self.n_features_in_ = X.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        return self._with_labels(self._check_moved(X), _in_numpy(in_memory(y)), **check_y)

    def _make_gram(self, X: Any, weight: np.ndarray) -> Gram:
        """The Gram matrix of the training samples; resolves the kernel."""
        self._resolve_kernel(X, weight)
        return MatrixGram(X) if self._precomputed else self._gram_over(X)

    def _gram_over(self, X: Any) -> Gram:
        """The Gram matrix of samples with the resolved kernel."""
        place = self._place
        return make_gram(self.kernel_, X, self.memory) if place is None else DeviceGram(self.kernel_, X, place)

    def _resolve_kernel(self, X: Any, weight: np.ndarray) -> None:
        """The kernel with the parameters that it takes from the training samples."""
        if not self._precomputed:
            kernel = as_kernel(self.kernel)
            moved = isinstance(X, OnDevice)
            self.kernel_ = resolved_on_device(kernel, X, weight) if moved else kernel.resolve(X, weight)
            if self.device is not None:
                check_on_device(self.kernel_)
            return
        self.kernel_ = "precomputed"
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"A precomputed kernel matrix for training must be square, got shape {X.shape}; rows and columns "
                "are the training samples."
            )

    def _keep_expansion(
        self, X: Any, coefficients: np.ndarray, intercepts: Any, support: np.ndarray | None = None
    ) -> None:
        """The model: coefficients of shape (n_functions, n) over the training samples, those that have any.

        A machine that needs some samples for more than their coefficients names them as the support.
        """
        self.support_ = np.flatnonzero(coefficients.any(axis=0)) if support is None else support
        self.dual_coef_ = np.ascontiguousarray(coefficients[:, self.support_])
        self.intercept_ = np.array(np.broadcast_to(intercepts, len(coefficients)), dtype=np.float64)
        self._keep_support(X)

    def _keep_support(self, X: Any) -> None:
        """The training samples that the model needs."""
        self._n_train = n_samples(X)
        self.support_vectors_ = np.empty((0, 0)) if self._precomputed else from_device(take(X, self.support_))

    # --- the model ----------------------------------------------------------------------------------------

    def _raw_decision(self, X: Any) -> np.ndarray:
        """Decision values of all problems, shape (n, n_problems)."""
        check_is_fitted(self)
        with limit_threads(self.n_threads):
            found = [self._decision_of(*self._compared(self._check_new(part))) for part in self._portions(X)]
        return found[0] if len(found) == 1 else np.concatenate(found)

    def _portions(self, X: Any) -> Iterable[Any]:
        """New samples, as many at once as predictions are made for: blocks one by one, anything else together."""
        return (block for _, block in X) if isinstance(X, RowBlocks) else (X,)

    def _compared(self, X: Any) -> tuple[Any, Any]:
        """Checked new samples and the support vectors, as the kernel takes them; None where there are kernel values."""
        return (X, None) if self._precomputed or not len(self.support_) else self._prepared(X)

    def _diag_of_new(self, X: Any) -> np.ndarray:
        """k(x, x) of new samples in float64; the kernel is no precomputed one."""
        with limit_threads(self.n_threads):
            return np.concatenate([self._diagonal_of(self._check_new(part)) for part in self._portions(X)])

    def _decision_of(self, X: Any, Y: Any) -> np.ndarray:
        """Decision values of all problems for what `_compared` gives."""
        return self._expansions_of(X, Y, self.dual_coef_) + self.intercept_

    def _expansions_of(self, X: Any, Y: Any, rows: Any) -> np.ndarray:
        """K(X, support_vectors_) @ rows.T for what `_compared` gives."""
        if self._precomputed or self._mapped:
            return X @ rows.T if not issparse(rows) else np.asarray((rows @ X.T).T)
        if Y is None:
            return np.zeros((n_samples(X), rows.shape[0]))
        if (on := self._on_device(X)) is not None:
            return on.expansions(X, Y, rows)
        if issparse(rows):
            return self.kernel_._dot_rows(X, Y, rows)
        return self.kernel_._dot(X, Y, np.ascontiguousarray(rows.T))

    def _signs(self, X: Any) -> np.ndarray:
        """Numbers of the sign of the one decision function there is, for predictions."""
        if isinstance(X, RowBlocks):
            return np.concatenate([self._signs(block) for _, block in X])
        plain = self.device is None and not self._precomputed
        if not plain or not hasattr(self, "support_") or not len(self.support_):
            return self._raw_decision(X)[:, 0]
        with limit_threads(self.n_threads):
            X, Y = self._prepared(self._check_new(X))
            return self.kernel_._decide(X, Y, self.dual_coef_[0], self.intercept_[0])

    def _prepared(self, X: Any) -> tuple[Any, Any]:
        """Checked new samples and the support vectors, as the kernel takes them."""
        Y = self.support_vectors_
        if isinstance(X, OnDevice) or self.device is not None:
            return X, Y  # prepared on the device, where sums and products take vectors as they are
        plain = isinstance(self.kernel_, VectorKernel) and self.kernel_.plain
        if plain and isinstance(X, np.ndarray) and isinstance(Y, np.ndarray) and X.dtype == Y.dtype:
            return np.ascontiguousarray(X), np.ascontiguousarray(Y)  # both have been checked when they came in
        return self.kernel_.prepare(X, Y)

    def _check_new(self, X: Any) -> Any:
        """Samples to predict for, checked; of a precomputed matrix, the support columns."""
        if self._precomputed:
            K = check_array(X, dtype=np.float64, input_name="X")
            if K.shape[1] not in (self._n_train, len(self.support_)):
                raise ValueError(
                    f"X has {K.shape[1]} features, but {type(self).__name__} is expecting {self._n_train} features as "
                    "input: a precomputed kernel matrix for prediction has a column for every training sample, or for "
                    f"every one of the {len(self.support_)} support vectors."
                )
            return K[:, self.support_] if K.shape[1] == self._n_train else K
        if isinstance(X, OnDevice):
            return self._check_moved(X)
        if not self._vectors():
            return X
        return validate_data(self, X, reset=False, **VECTORS)

    def _check_moved(self, X: OnDevice) -> OnDevice:
        """Vectors on a device, checked there."""
        if len(X.shape) != 2 or X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X must have the {self.n_features_in_} features that {type(self).__name__} was fitted to, got a "
                f"tensor of shape {X.shape}."
            )
        if not bool(X.tensor.isfinite().all()):
            raise ValueError("Input X contains NaN or infinity.")
        return X

    def _on_device(self, X: Any) -> DeviceKernel | None:
        """The kernel where new samples are, or on the device of the machine; None: natively."""
        device = X.tensor.device if isinstance(X, OnDevice) else self.device
        return None if device is None else DeviceKernel(self.kernel_, device)

    def _diagonal_of(self, X: Any) -> np.ndarray:
        """k(x, x) of checked new samples."""
        if (on := self._on_device(X)) is not None:
            return to_numpy(on.diag(on.vectors(X)))
        return np.asarray(self.kernel_.diag(in_full(X)), dtype=np.float64)

    @property
    def coef_(self):
        """Weights of the features, shape (n_problems, n_features); linear kernels only."""
        kernel = getattr(self, "kernel_", None)
        if not isinstance(kernel, Linear):
            raise AttributeError("coef_ exists for kernel='linear' only.")
        weights = self.dual_coef_ @ self.support_vectors_
        return weights.toarray() if issparse(weights) else weights
