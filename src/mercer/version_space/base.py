"""What the machines in version space share: the space, a point inside, the function of a direction."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.errors import NotSeparableError
from mercer.gram import MatrixGram
from mercer.gram.checks import as_matrix, require_definite
from mercer.machines import KernelClassifier
from mercer.parameters import Choice, Number
from mercer.problems import soft_margin
from mercer.solvers import SMO

__all__ = ["VersionSpace", "VersionSpaceMachine"]


@dataclass(frozen=True, eq=False)
class VersionSpace:
    """The directions w with :math:`w \\cdot a_i \\ge 0` for all i, where :math:`a_i = y_i \\phi(x_i) / |\\phi(x_i)|`.

    How long the samples are in feature space makes no difference to it, nor to its centres. A direction is written as
    :math:`w = \\sum_i \\beta_i a_i`.
    """

    cosines: np.ndarray
    """Of the angles between the walls' normals, :math:`a_i \\cdot a_j`."""

    def inside(self) -> np.ndarray:
        """The beta of the centre of the largest ball inside: a support vector machine. [CY §A.2]

        Raises
        ------
        NotSeparableError
            If there is nothing inside.
        """
        n = len(self.cosines)
        problem = soft_margin(
            MatrixGram(self.cosines, definite=True), np.ones(n), np.full(n, np.inf), bias=False
        )  # the labels are in the normals
        beta = SMO(tol=1e-6).solve(problem).a
        if not (self.cosines @ beta > 0).all():
            raise NotSeparableError("What is inside is lost in rounding.")
        return beta


class VersionSpaceMachine(KernelClassifier):
    """Base of classifiers whose direction is a centre of version space."""

    _parameters: ClassVar[dict[str, Any]] = {
        "soft_boundary": Number(0),
        "fit_intercept": Choice(True, False),
        "max_iter": Number(1, integer=True),
    }

    soft_boundary: float
    fit_intercept: bool

    @abstractmethod
    def _center(self, space: VersionSpace) -> tuple[np.ndarray, Any]:
        """The beta of the centre, and what is known of it."""

    @abstractmethod
    def _keep_results(self, results: list[Any]) -> None:
        """What is known of the centres, and a warning where they have not been found."""

    def fit(self, X, y):
        """Learn from samples with classes: two, or more, each against the others.

        Parameters
        ----------
        X : samples of shape (n, n_features), or as the kernel takes them
            The n x n kernel matrix if ``kernel="precomputed"``.
        y : array of shape (n,)
            Classes, numbers or strings.

        Returns
        -------
        self

        Raises
        ------
        NotSeparableError
            If ``soft_boundary`` is too small for classes that overlap in feature space: there is no version space.
        IndefiniteError
            If the kernel matrix has negative eigenvalues that ``soft_boundary`` does not outweigh.
        """
        return super().fit(X, y)

    def _fit_classes(self, X: Any, codes: np.ndarray, weight: np.ndarray) -> None:
        gram = self._make_gram(X, weight)
        require_definite(gram, type(self).__name__, self.soft_boundary, "soft_boundary")
        K = as_matrix(gram)
        if self.fit_intercept:
            K = K + 1.0
        found = [self._direction(K, sign) for sign in self._signs_of(codes).T]
        coefficients = np.array([direction for direction, _ in found])
        self._keep_expansion(X, coefficients, coefficients.sum(axis=1) if self.fit_intercept else 0.0)
        self._keep_results([result for _, result in found])

    def _direction(self, K: np.ndarray, sign: np.ndarray) -> tuple[np.ndarray, Any]:
        """The coefficients of a centre of length one, and what is known of it."""
        size = np.sqrt(np.maximum(K.diagonal() + self.soft_boundary, 0.0))
        used = np.flatnonzero(size > 0)  # the origin of feature space is on every hyperplane
        normal = sign[used] / size[used]
        cosines = K[np.ix_(used, used)] * np.outer(normal, normal)
        np.fill_diagonal(cosines, 1.0)
        try:
            beta, result = self._center(VersionSpace(cosines))
        except NotSeparableError:
            raise NotSeparableError(
                f"No hyperplane in feature space separates the classes with soft_boundary={self.soft_boundary:g}: "
                "version space is empty. Raise soft_boundary or use a richer kernel."
            ) from None
        coefficients = np.zeros(len(K))
        coefficients[used] = normal * beta
        length = np.sqrt(max(float(coefficients @ (K @ coefficients)), np.finfo(float).tiny))
        return coefficients / length, result
