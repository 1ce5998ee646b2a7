"""Machines whose functions are the leading eigenvectors of a kernel matrix."""

from typing import Any, ClassVar

import numpy as np

from mercer.gram import Eigenpairs, Gram, leading_eigenpairs
from mercer.gram.checks import indefinite
from mercer.gram.eigenpairs import METHODS, symmetric_product
from mercer.gram.sources import stored
from mercer.machines.checkpointed import CheckpointedMachine
from mercer.machines.expansions import KernelTransformer
from mercer.parameters import Number
from mercer.solvers import warn_unless_solved
from mercer.threads import limit_threads, one_blas_thread

__all__ = ["SpectralMachine", "negligible", "rounding", "signs_of"]


# Units in the last place that count as rounding.
ROUNDING = 16


class SpectralMachine(CheckpointedMachine, KernelTransformer):
    """Base of maps onto leading eigenvectors: coordinates are projections onto unit vectors of feature space."""

    _parameters: ClassVar[dict[str, Any]] = {
        "n_components": Number(1, integer=True, none=True),
        "eigen_solver": METHODS,
        "tol": Number(0),
        "max_iter": Number(1, integer=True, none=True),
    }
    _centred: ClassVar[bool]

    n_components: int | None
    eigen_solver: str
    tol: float
    max_iter: int | None
    random_state: Any
    eigenvalues_: np.ndarray
    result_: Eigenpairs

    def fit(self, X, y=None, sample_weight=None):
        """Find the directions.

        Parameters
        ----------
        X : samples of shape (n, n_features), or as the kernel takes them
            The n x n kernel matrix if ``kernel="precomputed"``.
        y : None
            Not used.
        sample_weight : array of shape (n,), default=None
            Non-negative; weight 2 is the sample twice, weight 0 is no sample.

        Returns
        -------
        self
        """
        with self._all_or_nothing():
            self._fit(X, sample_weight)
        return self

    def fit_transform(self, X, y=None, sample_weight=None):
        """Find the directions, and give the coordinates of the training samples.

        Parameters
        ----------
        X : samples of shape (n, n_features), or as the kernel takes them
            The n x n kernel matrix if ``kernel="precomputed"``.
        y : None
            Not used.
        sample_weight : array of shape (n,), default=None
            Non-negative; weight 2 is the sample twice, weight 0 is no sample.

        Returns
        -------
        ndarray of shape (n, n_components)
        """
        with self._all_or_nothing():
            scores = self._fit(X, sample_weight)
        return scores if scores is not None and len(self.support_) == self._n_train else self.transform(X)

    def _fit(self, X: Any, sample_weight: Any) -> np.ndarray | None:
        """The coordinates of the samples of positive weight, where they come for nothing."""
        self._check_all()
        X = self._take_samples(X)
        weight = self._weights(sample_weight, X)
        with limit_threads(self.n_threads):
            scores = self._learn(X, weight)
        warn_unless_solved(self.result_, type(self).__name__)
        return scores

    def _learn(self, X: Any, weight: np.ndarray) -> np.ndarray | None:
        gram = stored(self._make_gram(X, weight), self.memory)
        scores = self._diagonalize(gram, weight)
        self._keep_support(X)
        self._learn_more(X, scores, weight[self.support_])
        return scores

    def _diagonalize(self, gram: Gram, weight: np.ndarray) -> np.ndarray:
        """Eigenpairs and the functions that they make; gives the coordinates of the samples of positive weight."""
        used = self.support_ = np.flatnonzero(weight)
        plain = bool(np.all(weight == 1.0))
        share = weight / weight.sum()
        with_mean = symmetric_product(gram, share[:, np.newaxis])[:, 0] if self._centred else np.zeros(gram.n)
        moved = float(weight.sum() * (share @ with_mean))
        self._total = float(weight @ gram.diag()) - moved
        # No residual can be smaller than what rounding has done to the matrix.
        least = negligible(gram, 0.0, moved) / self._total if self._total > 0 else 0.0
        found = leading_eigenpairs(
            gram,
            min(self.n_components or len(used), len(used)),
            center=self._centred,
            sample_weight=None if plain else weight,
            method=self.eigen_solver,
            tol=max(self.tol, least),
            max_iter=self.max_iter,
            random_state=self.random_state,
            bookmark=self._bookmark(),
        )
        zero = negligible(gram, float(np.abs(found.values).max(initial=0.0)), moved)
        if found.lowest < -zero:
            of = "this one, seen from its mean," if self._centred else "this one"
            raise indefinite(type(self).__name__, found.lowest, of)
        kept = found.values > zero  # directions without any variance are none
        self.result_, self.eigenvalues_ = found, found.values[kept]
        self.n_iter_ = max(1, found.n_iter)
        root = np.sqrt(weight[used])[:, np.newaxis]
        vectors, lengths = found.vectors[used][:, kept], np.sqrt(self.eigenvalues_)
        scores = vectors * lengths / root
        signs = signs_of(scores)
        scores *= signs
        self.eigenvectors_ = vectors * signs
        self.dual_coef_ = (self.eigenvectors_ / lengths * root).T.copy()
        self.intercept_ = np.zeros(len(lengths))
        if self._centred:
            # <v, phi(x) - m>, with v as a combination of the phi(x_i) - m
            sums = self.dual_coef_.sum(axis=1)
            self.dual_coef_ -= np.outer(sums, share[used])
            with one_blas_thread():
                self.intercept_ = -self.dual_coef_ @ with_mean[used]
        return scores

    def _learn_more(self, X: Any, scores: np.ndarray, weight: np.ndarray) -> None:
        """What else a machine learns from the coordinates of its samples of positive weight."""

    @property
    def explained_variance_ratio_(self) -> np.ndarray:
        """The share of every direction in the squared lengths of all samples, shape (n_components,)."""
        return self.eigenvalues_ / self._total if self._total > 0 else np.zeros_like(self.eigenvalues_)


def rounding(gram: Gram) -> float:
    """Eigenvalues up to this share of the largest one may be what rounding has made of zero."""
    return ROUNDING * (gram.n * float(np.finfo(np.float64).eps) + np.sqrt(gram.n) * float(np.finfo(gram.dtype).eps))


def negligible(gram: Gram, largest: float, moved: float) -> float:
    """Eigenvalues up to this may be what rounding has made of zero.

    `moved` is what centring has taken away, the weight of all samples times the squared length of their mean (below
    zero for similarities that are kernels only once they are centred): far from the origin the centred matrix is a
    small difference of large numbers, and has the rounding of these.
    """
    return rounding(gram) * largest + ROUNDING * float(np.finfo(gram.dtype).eps) * abs(moved)


def signs_of(scores: np.ndarray) -> np.ndarray:
    """What columns are multiplied by so that the largest number of each is positive: either sign of them is right."""
    return np.where(scores[np.abs(scores).argmax(axis=0), np.arange(scores.shape[1])] < 0, -1.0, 1.0)
