"""Machines whose functions some landmarks span, in place of all training samples."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.utils.validation import check_array, check_is_fitted

from mercer.data import RowBlocks
from mercer.devices.arrays import OnDevice, from_device
from mercer.devices.landmarks import DeviceLandmarkGram
from mercer.devices.maps import DeviceFeatureMatrix, DeviceMapGram, DeviceSpanGram
from mercer.distributed.engine import is_lazy
from mercer.distributed.landmark_matrix import DaskLandmarkMatrix
from mercer.distributed.rows import DaskRows
from mercer.gram import Gram, LandmarkGram, LandmarkMatrix, MapGram, SpanGram
from mercer.kernels import Indexed
from mercer.kernels.samples import in_full, is_tensor, n_samples, row_blocks, take, to_numpy
from mercer.machines.base import KernelMachine
from mercer.machines.checkpointed import CheckpointedMachine
from mercer.machines.identity import identity_of
from mercer.parameters import Number
from mercer.threads import limit_threads

__all__ = ["FullCertificate", "LandmarkMachine", "Landmarks"]


class Landmarks:
    """The rule of the parameter `approximation`: None, how many landmarks, or the map that makes features.

    Parameters
    ----------
    names : sequence of str
        Classes of `mercer.features` whose maps are taken.
    """

    def __init__(self, names: Sequence[str] = ("Nystroem", "MercerMap", "RandomFourier", "PolynomialSketch")):
        self.names = tuple(names)

    def problem(self, value: Any) -> str | None:
        """What is wrong with the value, None when nothing is."""
        if value is None or Number(1, integer=True).problem(value) is None or isinstance(value, _maps(*self.names)):
            return None
        names = ", ".join(self.names[:-1]) + f" or {self.names[-1]}"
        return f"must be None, an int >= 1 (how many landmarks), or a {names}, got {value!r}."


# Those whose features are functions in the space of the kernel.
WITHIN = ("Nystroem", "MercerMap")


def _maps(*names: str) -> tuple[type, ...]:
    from mercer import features  # they are machines, too

    return tuple(getattr(features, name) for name in names)


@dataclass(frozen=True)
class FullCertificate:
    """How good a machine over landmarks is among all with its kernel; arrays where it has several problems."""

    objective: float | np.ndarray
    """What the machine minimises, with the whole kernel matrix, whose functions those of the landmarks are among."""
    bound: float | np.ndarray
    """Nothing has a smaller objective."""
    exact: bool
    """Whether the kernel values of all pairs were computed, or bounded by distances from the landmarks."""

    @property
    def gap(self) -> float | np.ndarray:
        """objective - bound."""
        return self.objective - self.bound

    @property
    def relative_gap(self) -> float | np.ndarray:
        """The gap in units of the objective."""
        size = np.abs(self.objective)
        found = np.divide(self.gap, size, out=np.zeros_like(size, dtype=float), where=np.asarray(size) > 0)
        return float(found) if np.ndim(found) == 0 else found


class LandmarkMachine(CheckpointedMachine, KernelMachine):
    """Base of machines that may look for their functions among those of few features.

    Landmarks are their support vectors then. Features of frequencies and sketches have none: the rows of `dual_coef_`
    are weights of the features.
    """

    approximation: Any = None
    approximation_: Any
    _fitted_to: str | None = None  # which samples; not known of models from files of version 0.1
    _dense_coefficients: bool = True
    _fits_tensors = True

    def _reads_blocks(self) -> bool:
        return self.approximation is not None

    def _make_gram(self, X: Any, weight: np.ndarray) -> Gram:
        self.__dict__.pop("approximation_", None)  # of an earlier fit
        if self.approximation is None:
            return super()._make_gram(X, weight)
        self._fitted_to = identity_of(X)
        chooser = self.approximation
        if not isinstance(chooser, _maps(*Landmarks().names)):
            chooser = _maps("Nystroem")[0](n_components=int(chooser))
        kept = None if self._saved is None else self._saved.recall("landmarks")
        rows, draws = chooser._candidates(weight) if kept is None else (kept["candidates"], kept["draws"])
        if not isinstance(X, RowBlocks):
            self._resolve_kernel(X, weight)
        some, judges = self._fetch(X, rows, draws)
        if isinstance(X, RowBlocks):
            self._resolve_kernel(some, weight[rows])
        given = {"kernel": self.kernel_, "device": self.device, "memory": self.memory, "n_threads": self.n_threads}
        known = chooser.get_params(deep=False)
        chooser = clone(chooser).set_params(**{name: value for name, value in given.items() if name in known})
        again = isinstance(chooser, _maps("Nystroem"))  # others make the same features of the same samples
        if kept is None or not again:
            chooser.fit(some, sample_weight=weight[rows])
            if len(draws):  # landmarks explain the candidates, among which they are, better than other samples
                judges = from_device(judges)
                values = X[np.ix_(draws, draws)] if self._precomputed else self.kernel_(in_full(judges))
                chooser._judge_drawn(judges, values.astype(np.float64, copy=False))
        else:
            chooser._choose_again(some, kept)
        if self._saved is not None:
            choice = chooser._choice() if again else {}
            self._saved.note("landmarks", {**choice, "candidates": rows, "draws": draws})
        self.approximation_ = chooser
        if not self._spans:
            return self._map_gram(X)
        order = np.argsort(chooser.support_, kind="stable")
        numbers = rows[chooser.support_[order]]
        directions = None if isinstance(chooser, _maps("Nystroem")) else chooser.dual_coef_[:, order]
        Z = numbers if self._precomputed else take(chooser.support_vectors_, order)
        return self._landmark_gram(X, Z, numbers, directions)

    @property
    def _spans(self) -> bool:
        """Whether the functions are expansions over landmarks, in the space of the kernel."""
        return isinstance(self.approximation_, _maps(*WITHIN))

    @property
    def _mapped(self) -> bool:
        return hasattr(self, "approximation_") and not self._spans

    def _map_gram(self, X: Any) -> MapGram:
        features = self.approximation_
        if (place := self._place) is not None:
            return DeviceMapGram(features, self.kernel_, X, place)
        return MapGram(features._features_of, features._n_features_out, self.kernel_, X, self.memory)

    def _landmark_gram(
        self, X: Any, landmarks: Any, numbers: np.ndarray, directions: np.ndarray | None = None
    ) -> LandmarkGram:
        """The Gram matrix; of a precomputed one the landmarks are numbers of columns."""
        kernel, X = (Indexed(X), np.arange(len(X))) if self._precomputed else (self.kernel_, X)
        if (place := self._place) is not None:
            if directions is not None:
                return DeviceSpanGram(kernel, X, landmarks, directions, place, numbers)
            return DeviceLandmarkGram(kernel, X, landmarks, place, numbers)
        matrix_of = DaskLandmarkMatrix if isinstance(X, DaskRows) else LandmarkMatrix
        if directions is not None:
            return SpanGram(kernel, X, landmarks, directions, self.memory, numbers, matrix_of)
        return LandmarkGram(kernel, X, landmarks, self.memory, numbers, matrix_of)

    def _fetch(self, X: Any, rows: np.ndarray, draws: np.ndarray) -> tuple[Any, Any]:
        """The candidates and what is compared with them, of blocks in one pass; parts of a precomputed matrix."""
        if self._precomputed:
            return X[np.ix_(rows, rows)], X[np.ix_(draws, rows)]
        if not isinstance(X, RowBlocks):
            return take(X, rows), take(X, draws)
        both = X[np.concatenate([rows, draws])]
        return both[: len(rows)], both[len(rows) :]

    def _keep_weights(self, gram: LandmarkGram | MapGram, weights: np.ndarray) -> None:
        """The model without offsets, from weights of the features, a row for each function."""
        self._n_train = gram.n
        if isinstance(gram, MapGram):
            rows = weights
            self.support_, self.support_vectors_ = np.empty(0, dtype=np.int64), np.empty((0, self.n_features_in_))
        else:
            rows, self.support_ = gram.coefficients(weights.T).T, gram.numbers
            self.support_vectors_ = np.empty((0, 0)) if self._precomputed else gram.Z
        sparse = not self._dense_coefficients and len(rows) > 1
        self.dual_coef_ = csr_array(rows) if sparse else np.ascontiguousarray(rows)

    # --- predictions ----------------------------------------------------------------------------------------

    def _compared(self, X: Any) -> tuple[Any, Any]:
        if self._mapped and self._on_device(X) is not None:
            return X, None  # its features are made on the device
        return (self.approximation_._features_of(in_full(X)), None) if self._mapped else super()._compared(X)

    def _expansions_of(self, X: Any, Y: Any, rows: Any) -> np.ndarray:
        if not self._mapped or (on := self._on_device(X)) is None:
            return super()._expansions_of(X, Y, rows)
        weights = rows.toarray() if issparse(rows) else rows
        return DeviceFeatureMatrix(self.approximation_, self.kernel_, X, on.place).forward(weights.T)

    def _portions(self, X: Any) -> Iterable[Any]:
        if not self._mapped or not (isinstance(X, np.ndarray) or issparse(X)) or not X.shape[0]:
            return super()._portions(X)
        rows = X.tocsr() if issparse(X) else X
        return (rows[part] for part in row_blocks(X.shape[0], self.approximation_._n_features_out))

    @property
    def coef_(self):
        """Weights of the features, shape (n_problems, n_features), of a linear kernel; else of those of a map."""
        if not self._mapped:
            return super().coef_
        return self.dual_coef_.toarray() if issparse(self.dual_coef_) else self.dual_coef_

    # --- the full problem -----------------------------------------------------------------------------------

    def _duals(self) -> tuple[np.ndarray, np.ndarray, csr_array]:
        """Objectives and bounds of all problems, as certified, and what the kernel sees of the points of the dual.

        That are rows c of coefficients over the training samples, with half of c' K c in the dual objective; one for
        each problem, or all of the only one.
        """
        raise ValueError(f"{type(self).__name__} has no certificate for the full problem.")

    def _full_objectives(self, gram: Gram, F: np.ndarray, energies: np.ndarray) -> np.ndarray:
        """Objectives of all problems with a kernel matrix, at the functions F of the coefficients that `_duals` gives.

        Their squared norms are the `energies`.
        """
        raise ValueError(f"{type(self).__name__} has no certificate for the full problem.")

    def full_certificate(self, X, *, exact=True):
        r"""How far the machine is from the best one with the whole kernel matrix.

        The functions of the landmarks are functions in the space of the kernel, with the same norm, so that they have
        the same objective there. The point of the dual is one, too, and its bound is lower by

        .. math:: \tfrac12 c^T (K - \tilde K) c \le \tfrac12 \Big(\sum_i |c_i| \sqrt{r_i}\Big)^2,

        with the squared distances r of the samples from the span of the landmarks. The functions of `RandomFourier` and
        `PolynomialSketch` are in another space. Their point of the dual is a point of the full one all the same, and so
        is the function with its coefficients, :math:`\\sum_i c_i k(x_i, \\cdot)`: between the two is the optimum.

        Parameters
        ----------
        X : samples
            Those of `fit` once more, in the same order; others are refused.
        exact : bool, default=True
            True computes the left side: the kernel values of all pairs of support vectors of the dual, in one pass that
            stores none of them. False the right side, O(n m^2), for landmarks only.

        Returns
        -------
        FullCertificate
            With `objective`, `bound`, `gap` and `relative_gap`; a number each, or an array where there are several
            problems, as for classes in pairs.
        """
        X = self._certifiable(X)
        objective, bound, rows = self._duals()
        with limit_threads(self.n_threads):
            gram = self._gram_again(X)
            if isinstance(gram, MapGram):
                if not exact:
                    raise ValueError(f"exact must be True with a {type(self.approximation_).__name__}, got {exact!r}.")
                whole, C = gram.full(self.memory), rows.toarray().T
                F = whole.dot(C)
                energies = np.maximum(0.0, np.einsum("ij,ij->j", C, F))
                objective = self._full_objectives(whole, F, energies)
                lost = 0.5 * (energies - (gram.weights_of(rows) ** 2).sum(axis=1))
            else:
                lost = 0.5 * gram.lost_energies(rows, exact=bool(exact))
        bound = bound - (lost if len(lost) == len(bound) else lost.sum())
        if len(objective) == 1:
            return FullCertificate(float(objective[0]), float(bound[0]), bool(exact))
        return FullCertificate(objective, bound, bool(exact))

    def _certifiable(self, X: Any) -> Any:
        """The samples of `fit`, checked."""
        check_is_fitted(self)
        if self.approximation is None:
            raise ValueError("full_certificate is for machines with an approximation; result_ has the certificate.")
        if is_lazy(X):
            X = DaskRows(X, self.memory)
        if is_tensor(X):
            X = to_numpy(X) if self.device is None else OnDevice(X)
        if n_samples(X) != self._n_train:
            raise ValueError(f"X must have the {self._n_train} samples of fit, got {n_samples(X)}.")
        if self._precomputed:
            X = check_array(X, dtype=[np.float64, np.float32], input_name="X")
        elif not isinstance(X, RowBlocks):
            X = self._check_new(to_numpy(X) if is_tensor(X) else X)
        if self._fitted_to not in (None, identity_of(X)):
            raise ValueError(
                "X must have the samples of fit, in the same order: a certificate holds for these only; got others."
            )
        return X

    def _gram_again(self, X: Any) -> LandmarkGram | MapGram:
        """The Gram matrix of `fit`, from the same samples."""
        if not self._spans:
            return self._map_gram(X)
        directions = None
        if not isinstance(self.approximation_, _maps("Nystroem")):
            directions = self.approximation_.dual_coef_[:, np.argsort(self.approximation_.support_, kind="stable")]
        Z = self.support_ if self._precomputed else self.support_vectors_
        return self._landmark_gram(X, Z, self.support_, directions)
