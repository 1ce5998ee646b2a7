"""What a criterion is: a number for a trained machine, from the samples that it was trained on."""

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer.errors import IndefiniteError
from mercer.gram import Gram, MatrixGram, make_gram
from mercer.multiclass import JointScheme, OwnMachines
from mercer.parameters import check_parameters
from mercer.problems import DualProblem
from mercer.solvers import Solver, SolverResult
from mercer.svm import SVC
from mercer.threads import limit_threads

__all__ = ["Criterion", "Derivative", "Lesson", "SmoothCriterion", "Trained"]

# Gradients of the same machine over the same samples differ by rounding, in float32 too; others by far more.
SAME_GRADIENT = 1e-3
# And so their violation of the optimality conditions, in units of the tolerance.
SAME_VIOLATION = 10.0


@dataclass(frozen=True, eq=False)
class Trained:
    """A machine for two classes as criteria see it: its problem, the solution, and how often each sample counts."""

    problem: DualProblem
    result: SolverResult
    weight: np.ndarray
    """Sample weights of the variables: a sample of weight 2 is the sample twice."""
    solver: Solver
    """What solves further problems of the same kind."""

    @property
    def size(self) -> float:
        """m, the number of samples."""
        return float(self.weight.sum())

    @property
    def loss(self) -> str:
        """ "hard margin", "squared_hinge" or "hinge"."""
        if self.problem.hard:
            return "hard margin"
        return "squared_hinge" if self.problem.ridge.any() else "hinge"

    @property
    def offset(self) -> bool:
        """Whether there is an offset b."""
        return self.problem.total is not None

    @cached_property
    def copies(self) -> np.ndarray:
        """How many there are of every sample, of which one is left out; one of a weight below 1 is left out whole."""
        return np.maximum(1.0, self.weight)

    @cached_property
    def alpha(self) -> np.ndarray:
        """The multipliers of one copy of every sample."""
        return self.result.a / self.copies

    @cached_property
    def margins(self) -> np.ndarray:
        """y f(x) of every sample."""
        slopes = self.problem.slopes(self.result.a, self.result.gradient, self.result.offsets)
        return slopes - self.problem.linear

    @cached_property
    def slack(self) -> np.ndarray:
        """The errors xi."""
        return np.maximum(0.0, 1.0 - self.margins)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """K(x, x) of one copy of every sample, ridge included: its squared length in feature space.

        The squared hinge is a hard margin in a larger feature space, in which every copy of a sample has a direction of
        its own: the kernel there is K + I / (2 C).
        """
        return self.problem.gram.diag()[self.problem.index] + self.problem.ridge * self.copies

    def share(self, chosen: np.ndarray) -> float:
        """The share of the samples that are chosen."""
        return float(self.weight[chosen].sum()) / self.size


class Lesson:
    """Samples for a machine of two classes, checked as its `fit` would; makes its problems.

    Parameters
    ----------
    machine : SVC
        It is not changed.
    X, y, sample_weight :
        As `fit` takes them.
    owner : str
        Who asks, for errors.
    """

    def __init__(self, machine: Any, X: Any, y: Any, sample_weight: Any, owner: str):
        check_machine(machine, owner)
        self.machine = copy(machine)  # what a fit notes on it stays here
        self.machine._check_all()
        self.X, y = self.machine._take_samples(X, y)
        self.weight = self.machine._weights(sample_weight, self.X)
        self.codes = self.machine._encode(y, self.weight)
        if len(self.machine.classes_) > 2:
            raise ValueError(
                f"Only binary classification is supported by {owner}. The type of the target is multiclass, with "
                f"{len(self.machine.classes_)} classes."
            )

    def gram(self, machine: Any) -> Gram:
        """The Gram matrix for the parameters of a machine; resolves its kernel."""
        return machine._make_gram(self.X, self.weight)

    def problem(self, machine: Any, gram: Gram) -> tuple[DualProblem, np.ndarray]:
        """The problem for the parameters of a machine, and the weights of its variables."""
        machine.classes_ = self.machine.classes_
        tasks = machine._scheme.plan(2, machine.loss).tasks(self.codes, self.weight)
        price = self.weight * machine._class_weights(self.codes, self.weight)
        return machine._problems(gram, tasks, price[tasks.samples])[0], self.weight[tasks.samples]

    def trained(self, fitted: Any, owner: str) -> Trained:
        """The machine that was fitted to these samples.

        Raises
        ------
        ValueError
            If it was fitted to others, or with other weights.
        """
        machine, result = self.machine, fitted.result_
        if fitted._precomputed:
            gram: Gram = MatrixGram(self.X)
        else:
            gram = make_gram(fitted.kernel_, self.X, fitted.memory)
        problem, weight = self.problem(machine, gram)
        coefficients = np.zeros(fitted._n_train)
        coefficients[fitted.support_] = fitted.dual_coef_[0]
        known = np.array_equal(fitted.classes_, machine.classes_) and len(coefficients) == gram.n
        if not known or not np.array_equal(coefficients[problem.index], problem.sign * result.a):
            self._refuse(owner)
        with limit_threads(machine.n_threads):
            gradient = problem.gradient(result.a)
        apart = np.abs(gradient - result.gradient).max() > SAME_GRADIENT * (1.0 + np.abs(result.gradient).max())
        outside = (result.a > problem.upper * (1.0 + SAME_GRADIENT)).any()
        violation = problem.violation(result.a, result.gradient)
        if apart or outside or violation > result.violation + SAME_VIOLATION * machine.tol:
            self._refuse(owner)
        return Trained(problem, result, weight, machine._solver())

    @staticmethod
    def _refuse(owner: str) -> None:
        raise ValueError(
            f"{owner} needs the samples, classes and weights that the machine was fitted to, these are others. In a "
            "search nothing is to be held out: mercer.selection.tune does that, others take cv=[(all, all)]."
        )


def check_machine(machine: Any, owner: str) -> None:
    """Refuse machines that criteria know nothing about."""
    if not isinstance(machine, SVC):
        raise TypeError(f"{owner} is for mercer.SVC, got {type(machine).__name__}.")
    if machine.probability:
        raise ValueError(f"probability must be False for {owner}, got True: calibration moves the decision values.")
    if isinstance(machine._scheme, JointScheme | OwnMachines):
        raise ValueError(
            f"multi_class must be a scheme of machines for two classes for {owner}, got {machine.multi_class!r}."
        )


class Criterion(BaseEstimator, ABC):
    """Base of the criteria that judge a machine by the samples that it was trained on.

    A criterion is a value: it has parameters and is never fitted. Called as a scorer of scikit-learn, with a fitted
    machine and its training samples, it gives minus its bound, so that larger is better; `bound` is the bound itself.
    Machines are `mercer.svm.SVC` of two classes, with and without an offset, with any kernel, class weights and sample
    weights.

    In a search the machine must be fitted to all samples and scored on the same, as ``TunedSVC(scoring=XiAlpha())`` and
    `tune` do; for `GridSearchCV` that is one split of all samples, ``cv=[(all, all)]``.

    Notes
    -----
    A new criterion states the `losses` that it holds for and computes ``_bound`` of what was trained.
    """

    losses: ClassVar[tuple[str, ...]] = ("hard margin", "squared_hinge", "hinge")
    """What it holds for: "hard margin" (``C=inf``), "squared_hinge", "hinge"."""
    _parameters: ClassVar[dict[str, Any]] = {}

    def __call__(self, estimator, X, y, sample_weight=None):
        """Minus the bound: a scorer, larger is better.

        Parameters
        ----------
        estimator : SVC
            Fitted to these samples.
        X, y, sample_weight :
            What it was fitted to.

        Returns
        -------
        float
        """
        return -self.bound(estimator, X, y, sample_weight)

    def bound(self, estimator, X, y, sample_weight=None):
        """The bound on the share of errors, or the estimate of it.

        Parameters
        ----------
        estimator : SVC
            Fitted to these samples.
        X, y, sample_weight :
            What it was fitted to.

        Returns
        -------
        float
        """
        trained = self._trained(estimator, X, y, sample_weight)
        with limit_threads(estimator.n_threads):
            return self.of(trained)

    def of(self, trained: Trained) -> float:
        """The bound, for a problem and its solution."""
        self.check(trained.loss)
        if trained.result.status == "indefinite":
            raise IndefiniteError(
                f"{type(self).__name__} needs a positive semi-definite kernel matrix: nothing is a distance in the "
                "feature space of this one."
            )
        return float(self._bound(trained))

    def check(self, loss: str) -> None:
        """Refuse wrong parameters, and a loss that the criterion does not hold for."""
        check_parameters(self)
        if loss not in self.losses:
            names = {"hard margin": "C=inf", "squared_hinge": "loss='squared_hinge'", "hinge": "loss='hinge'"}
            raise ValueError(
                f"{type(self).__name__} needs a machine with {' or '.join(names[known] for known in self.losses)}, "
                f"got {names[loss]} with a finite C."
            )

    def _trained(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> Trained:
        owner = type(self).__name__
        check_machine(estimator, owner)
        self.check("hard margin" if estimator.C == np.inf else estimator.loss)
        check_is_fitted(estimator)
        return Lesson(estimator, X, y, sample_weight, owner).trained(estimator, owner)

    @abstractmethod
    def _bound(self, trained: Trained) -> float:
        """The bound on the share of errors."""

    def __eq__(self, other):
        if not isinstance(other, Criterion):
            return NotImplemented
        return type(self) is type(other) and self.get_params() == other.get_params()

    def __hash__(self):
        return hash(type(self))


class Derivative(NamedTuple):
    """A bound, and how it changes with the kernel matrix and the ridge, the solution following."""

    value: float
    used: np.ndarray
    """The variables whose kernel values count."""
    by_kernel: np.ndarray
    """dT / dK_ij for these, shape (n_used, n_used)."""
    by_ridge: np.ndarray
    """dT / dr_i for all variables."""
    start: Any = None
    """What the next derivative nearby may start from."""


class SmoothCriterion(Criterion):
    """Base of the criteria that have derivatives, for the squared hinge: what `GradientTuned` can minimise."""

    @abstractmethod
    def derivative(self, trained: Trained, start: Any = None) -> Derivative:
        """The bound and its derivatives; `start` is that of an earlier one nearby."""
