"""How good predictions of held-out samples are."""

from collections.abc import Callable
from functools import cached_property
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.metrics import check_scoring, get_scorer_names

__all__ = ["HeldOut", "HeldOutValues", "Scoring", "consistency"]


class HeldOut:
    """What a machine says of the samples of a fold.

    Parameters
    ----------
    machine : machine
        Its parameters; `speaks` tells whether it has been fitted.
    y : array of shape (m,) or (m, n_outputs) or None
        The truth.
    weight : array of shape (m,) or None
        None: all the same.
    X : callable
        The samples, when somebody asks for them.
    """

    def __init__(self, machine: Any, y: Any, weight: Any, X: Callable[[], Any]):
        self.machine, self.y, self.weight, self.X = machine, y, weight, X

    @cached_property
    def prediction(self) -> np.ndarray:
        """What `predict` gives."""
        return self.machine.predict(self.X())

    @cached_property
    def support(self) -> float:
        """The share of the training samples that are support vectors."""
        return 1.0 - self.machine.sparsity_

    @property
    def speaker(self) -> Any:
        """An estimator that can be asked about the samples."""
        return self.machine


class HeldOutValues(HeldOut):
    """The same from decision values; there is no fitted machine.

    Parameters
    ----------
    lesson : Lesson
        Of the fold.
    decision : array of shape (m,) or (m, k)
        What `decision_function` gives.
    coefficients : array
        Of the training samples.
    y, weight, X :
        As in `HeldOut`.
    """

    def __init__(
        self, lesson: Any, decision: np.ndarray, coefficients: np.ndarray, y: Any, weight: Any, X: Callable[[], Any]
    ):
        super().__init__(lesson.machine, y, weight, X)
        self.lesson, self.decision, self.coefficients = lesson, decision, coefficients

    @cached_property
    def prediction(self):
        return self.lesson.predict(self.decision)

    @cached_property
    def support(self):
        return np.count_nonzero(self.coefficients) / max(1, len(self.coefficients))

    @property
    def speaker(self):
        if is_classifier(self.machine):
            return SpokenClassifier(self)
        return SpokenRegressor(self) if is_regressor(self.machine) else SpokenDetector(self)


def mean(values: np.ndarray, weight: Any) -> float:
    """The mean of what is true or false, or of numbers."""
    return float(values.mean() if weight is None else (values * weight).sum() / weight.sum())


def accuracy(held: HeldOut) -> float:
    """The share of samples that are right."""
    return mean(held.prediction == held.y, held.weight)


def squared_error(held: HeldOut) -> float:
    """Minus the mean squared error. [CY §2.5]"""
    errors = (held.prediction - held.y) ** 2
    return -mean(errors if errors.ndim == 1 else errors.mean(axis=1), held.weight)


def absolute_error(held: HeldOut) -> float:
    """Minus the mean absolute error."""
    errors = np.abs(held.prediction - held.y)
    return -mean(errors if errors.ndim == 1 else errors.mean(axis=1), held.weight)


def consistency(held: HeldOut) -> float:
    """How complex a description of one class is, if it holds for samples not seen; else how far it does not.

    A machine that rejects more of the samples held out than its nu, by more than two standard deviations of such a
    share, has fitted itself to its training samples: its score is minus the excess. Of the others the most complex one,
    with the largest share of support vectors, describes the class most closely. (D. M. J. Tax, K.-R. Müller, A
    consistency-based model selection for one-class classification, 2004.)
    """
    rejected, nu, m = mean(held.prediction < 0, held.weight), held.machine.nu, len(held.prediction)
    allowed = nu + 2.0 * np.sqrt(nu * (1.0 - nu) / m)
    return held.support if rejected <= allowed else allowed - rejected


# Those that need no more than the predictions, without the checks that scikit-learn makes for every call.
QUICK: dict[str, Callable[[HeldOut], float]] = {
    "accuracy": accuracy,
    "neg_mean_squared_error": squared_error,
    "neg_mean_absolute_error": absolute_error,
}


class Scoring:
    """One score, or several by name.

    Parameters
    ----------
    estimator : estimator
    scoring : str, callable, list, dict or None
        As in scikit-learn's `GridSearchCV`. None: accuracy for classifiers, the estimator's own `score` for others; for
        novelty detection without labels `consistency`.
    labelled : bool
        Whether there is something to compare with.
    """

    def __init__(self, estimator: Any, scoring: Any, labelled: bool):
        self.several = isinstance(scoring, (list, tuple, set, dict))
        named = scoring if isinstance(scoring, dict) else {name: name for name in scoring} if self.several else {}
        self._scores = {str(name): self._one(estimator, one, labelled) for name, one in named.items()}
        if not self.several:
            self._scores = {"score": self._one(estimator, scoring, labelled)}
        elif not named:
            raise ValueError("scoring must name at least one score, got none.")

    @property
    def names(self) -> list[str]:
        """The names of the scores; "score" if there is but one."""
        return list(self._scores)

    @property
    def scorer(self) -> Any:
        """As scikit-learn's searches keep it in `scorer_`."""
        return self._scorers if self.several else self._scorers["score"]

    @property
    def ours(self) -> bool:
        """Whether no code of others is called."""
        return all(score in QUICK.values() for score in self._scores.values())

    def of(self, held: HeldOut) -> list[float]:
        """All scores of a fold."""
        return [score(held) for score in self._scores.values()]

    def _one(self, estimator: Any, scoring: Any, labelled: bool) -> Callable[[HeldOut], float]:
        self._scorers: dict[str, Any] = getattr(self, "_scorers", {})
        if scoring is None and is_classifier(estimator):
            scoring = "accuracy"
        if scoring is None and not (is_classifier(estimator) or is_regressor(estimator)):
            if not labelled:
                self._scorers["score"] = consistency
                return consistency
            scoring = "accuracy"
        if isinstance(scoring, str) and scoring not in get_scorer_names():
            raise ValueError(
                f"scoring must be the name of a score, see sklearn.metrics.get_scorer_names, got {scoring!r}."
            )
        name = scoring if isinstance(scoring, str) and self.several else "score"
        self._scorers[name] = scorer = check_scoring(estimator, scoring)
        return QUICK[scoring] if isinstance(scoring, str) and scoring in QUICK else Asked(scorer)


class Asked:
    """A scorer of scikit-learn's kind, which asks an estimator for predictions."""

    def __init__(self, scorer: Any):
        self.scorer = scorer
        self.weighted = "sample_weight" in signature(getattr(scorer, "_score_func", scorer)).parameters

    def __call__(self, held: HeldOut) -> float:
        weights = {"sample_weight": held.weight} if self.weighted and held.weight is not None else {}
        return float(self.scorer(held.speaker, held.X(), held.y, **weights))


class Spoken(BaseEstimator):
    """The base of estimators that know the answers for some samples."""

    def __init__(self, held):
        self.held = held

    def __sklearn_is_fitted__(self):
        return True

    def __getattr__(self, name):
        """The parameters of the machine."""
        if name == "held" or name.startswith("_") or name.endswith("_"):
            raise AttributeError(f"{name} of the machine of a fold is not kept.")
        return getattr(self.held.machine, name)

    def predict(self, X):
        """Predictions for the samples of the fold."""
        return self.held.prediction


class Decided(Spoken):
    """One that has decision values, too."""

    def decision_function(self, X):
        """Decision values of the samples of the fold."""
        return self.held.decision


class SpokenRegressor(RegressorMixin, Spoken):
    """Values."""


class SpokenDetector(OutlierMixin, Decided):
    """Inside or outside."""

    def score_samples(self, X):
        """As the decision values, but for a constant."""
        return self.held.decision


class SpokenClassifier(ClassifierMixin, Decided):
    """Classes."""

    @property
    def classes_(self):
        """The classes of the fold."""
        return self.held.lesson.classes
