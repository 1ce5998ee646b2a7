"""Machines whose functions some landmarks span, in place of all training samples."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted

from mercer.data import RowBlocks
from mercer.gram import Gram, LandmarkGram
from mercer.kernels import Indexed
from mercer.kernels.samples import n_samples, take
from mercer.machines.base import KernelMachine
from mercer.machines.checkpointed import CheckpointedMachine
from mercer.parameters import Number
from mercer.threads import limit_threads

__all__ = ["FullCertificate", "LandmarkMachine", "Landmarks"]

# Landmarks are chosen among so many samples for each of them.
SAMPLES_PER_LANDMARK = 4


class Landmarks:
    """The rule of the parameter `approximation`: None, how many landmarks, or a `Nystroem` that chooses them."""

    @staticmethod
    def problem(value: Any) -> str | None:
        """What is wrong with the value, None when nothing is."""
        if value is None or isinstance(value, _nystroem()) or Number(1, integer=True).problem(value) is None:
            return None
        return f"must be None, an int >= 1 (how many landmarks) or a Nystroem, got {value!r}."


def _nystroem() -> type:
    from mercer.features import Nystroem  # it is a machine, too

    return Nystroem


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
    """Base of machines that may look for their functions in the span of some landmarks.

    The landmarks are their support vectors then.
    """

    approximation: Any = None
    approximation_: Any
    _dense_coefficients: bool = True

    def _reads_blocks(self) -> bool:
        return self.approximation is not None

    def _make_gram(self, X: Any, weight: np.ndarray) -> Gram:
        if self.approximation is None:
            return super()._make_gram(X, weight)
        chooser = self.approximation
        if not isinstance(chooser, _nystroem()):
            chooser = _nystroem()(n_components=int(chooser))
        kept = None if self._saved is None else self._saved.recall("landmarks")
        rows = self._candidates(weight, chooser) if kept is None else kept["candidates"]
        if isinstance(X, RowBlocks):
            some = X[rows]
            self._resolve_kernel(some, weight[rows])
        else:
            self._resolve_kernel(X, weight)
            some = X[np.ix_(rows, rows)] if self._precomputed else take(X, rows)
        chooser = clone(chooser).set_params(kernel=self.kernel_, memory=self.memory, n_threads=self.n_threads)
        if kept is None:
            chooser.fit(some, sample_weight=weight[rows])
        else:
            chooser._choose_again(some, kept)
        if self._saved is not None:
            self._saved.note("landmarks", {**chooser._choice(), "candidates": rows})
        self.approximation_ = chooser
        order = np.argsort(chooser.support_, kind="stable")
        numbers = rows[chooser.support_[order]]
        return self._landmark_gram(X, numbers if self._precomputed else take(chooser.support_vectors_, order), numbers)

    def _landmark_gram(self, X: Any, landmarks: Any, numbers: np.ndarray) -> LandmarkGram:
        """The Gram matrix; of a precomputed one the landmarks are numbers of columns."""
        if self._precomputed:
            return LandmarkGram(Indexed(X), np.arange(len(X)), landmarks, self.memory, numbers)
        return LandmarkGram(self.kernel_, X, landmarks, self.memory, numbers)

    def _candidates(self, weight: np.ndarray, chooser: Any) -> np.ndarray:
        """Ascending numbers of the samples that may become landmarks."""
        used = np.flatnonzero(weight)
        most = SAMPLES_PER_LANDMARK * int(chooser.n_components)
        if len(used) <= most:
            return used
        return np.sort(check_random_state(chooser.random_state).choice(used, size=most, replace=False))

    def _keep_landmarks(self, gram: LandmarkGram, rows: csr_array) -> None:
        """The model without offsets, from coefficients of all samples, a row for each function."""
        self._keep_weights(gram, gram.weights_of(rows))

    def _keep_weights(self, gram: LandmarkGram, weights: np.ndarray) -> None:
        """The model without offsets, from weights of the features of the landmarks, a row for each function."""
        coefficients = np.ascontiguousarray(gram.coefficients(weights.T).T)
        self.dual_coef_ = (
            coefficients if self._dense_coefficients or len(coefficients) == 1 else csr_array(coefficients)
        )
        self.support_, self._n_train = gram.numbers, gram.n
        self.support_vectors_ = np.empty((0, 0)) if self._precomputed else gram.Z

    def _duals(self) -> tuple[np.ndarray, np.ndarray, csr_array]:
        """Objectives and bounds of all problems, as certified, and what the kernel sees of the points of the dual.

        That are rows c of coefficients over the training samples, with half of c' K c in the dual objective; one for
        each problem, or all of the only one.
        """
        raise ValueError(f"{type(self).__name__} has no certificate for the full problem.")

    def full_certificate(self, X, *, exact=True):
        r"""How far the machine is from the best one with the whole kernel matrix.

        The functions of the landmarks are functions in the space of the kernel, with the same norm, so that they have
        the same objective there. The point of the dual is one, too, and its bound is lower by

        .. math:: \tfrac12 c^T (K - \tilde K) c \le \tfrac12 \Big(\sum_i |c_i| \sqrt{r_i}\Big)^2,

        with the squared distances r of the samples from the span of the landmarks.

        Parameters
        ----------
        X : samples
            Those of `fit` once more, in the same order.
        exact : bool, default=True
            True computes the left side: the kernel values of all pairs of support vectors of the dual, in one pass that
            stores none of them. False the right side, O(n m^2).

        Returns
        -------
        FullCertificate
            With `objective`, `bound`, `gap` and `relative_gap`; a number each, or an array where there are several
            problems, as for classes in pairs.
        """
        check_is_fitted(self)
        if self.approximation is None:
            raise ValueError("full_certificate is for machines with an approximation; result_ has the certificate.")
        if n_samples(X) != self._n_train:
            raise ValueError(f"X must have the {self._n_train} samples of fit, got {n_samples(X)}.")
        objective, bound, rows = self._duals()
        if self._precomputed:
            X = check_array(X, dtype=[np.float64, np.float32], input_name="X")
        elif not isinstance(X, RowBlocks):
            X = self._check_new(X)
        with limit_threads(self.n_threads):
            gram = self._landmark_gram(X, self.support_ if self._precomputed else self.support_vectors_, self.support_)
            lost = 0.5 * gram.lost_energies(rows, exact=bool(exact))
        bound = bound - (lost if len(lost) == len(bound) else lost.sum())
        if len(objective) == 1:
            return FullCertificate(float(objective[0]), float(bound[0]), bool(exact))
        return FullCertificate(objective, bound, bool(exact))
