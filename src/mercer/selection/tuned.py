"""Machines that choose their own parameters."""

from typing import Any

from sklearn.base import ClassifierMixin, MetaEstimatorMixin, OutlierMixin, RegressorMixin, clone
from sklearn.utils import get_tags

from mercer.selection.tuner import Tuner
from mercer.svm import SVC, SVR, OneClassSVM

__all__ = ["Tuned", "TunedOneClassSVM", "TunedSVC", "TunedSVR", "tune"]


class Tuned(MetaEstimatorMixin, Tuner):
    """Any of our machines, with parameters chosen by cross-validation."""

    def __init__(
        self,
        estimator,
        param_grid=None,
        *,
        cv=5,
        scoring=None,
        search="grid",
        preprocess=None,
        refit=True,
        journal=None,
        max_seconds=None,
        progress=False,
        memory="auto",
        n_threads=None,
        random_state=0,
    ):
        self.estimator = estimator
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.search = search
        self.preprocess = preprocess
        self.refit = refit
        self.journal = journal
        self.max_seconds = max_seconds
        self.progress = progress
        self.memory = memory
        self.n_threads = n_threads
        self.random_state = random_state

    def _machine(self):
        return clone(self.estimator)

    def __sklearn_tags__(self):
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = own.estimator_type
        tags.classifier_tags, tags.regressor_tags = own.classifier_tags, own.regressor_tags
        tags.target_tags = own.target_tags
        tags.input_tags.pairwise, tags.input_tags.sparse = own.input_tags.pairwise, own.input_tags.sparse
        return tags


def tune(estimator: Any, param_grid: Any = None, cv: Any = 5, scoring: Any = None, **options: Any) -> Tuned:
    """Any of our machines."""
    return Tuned(estimator, param_grid, cv=cv, scoring=scoring, **options)


class OwnMachine(Tuner):
    """A tuner that builds its machine from its own parameters."""

    _kind: Any
    _passed: tuple[str, ...]

    def _machine(self):
        return self._kind(**{name: getattr(self, name) for name in self._passed})

    def __sklearn_tags__(self):
        tags, own = super().__sklearn_tags__(), get_tags(self._machine())
        tags.input_tags.pairwise, tags.input_tags.sparse = own.input_tags.pairwise, own.input_tags.sparse
        tags.target_tags = own.target_tags
        return tags


class TunedSVC(ClassifierMixin, OwnMachine):
    """Support vector classifier with parameters chosen by cross-validation."""

    _kind = SVC
    _passed = ("kernel", "loss", "class_weight", "multi_class", "tol", "memory", "n_threads")

    def __init__(
        self,
        kernel="rbf",
        *,
        param_grid=None,
        cv=5,
        scoring=None,
        search="grid",
        preprocess=None,
        loss="hinge",
        class_weight=None,
        multi_class="ovo",
        probability=False,
        tol=1e-3,
        refit=True,
        journal=None,
        max_seconds=None,
        progress=False,
        memory="auto",
        n_threads=None,
        random_state=0,
    ):
        self.kernel = kernel
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.search = search
        self.preprocess = preprocess
        self.loss = loss
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.probability = probability
        self.tol = tol
        self.refit = refit
        self.journal = journal
        self.max_seconds = max_seconds
        self.progress = progress
        self.memory = memory
        self.n_threads = n_threads
        self.random_state = random_state


class TunedSVR(RegressorMixin, OwnMachine):
    """Support vector regression with parameters chosen by cross-validation."""

    _kind = SVR
    _passed = ("kernel", "loss", "tol", "memory", "n_threads")

    def __init__(
        self,
        kernel="rbf",
        *,
        param_grid=None,
        cv=5,
        scoring="neg_mean_squared_error",
        search="grid",
        preprocess=None,
        loss="linear",
        tol=1e-3,
        refit=True,
        journal=None,
        max_seconds=None,
        progress=False,
        memory="auto",
        n_threads=None,
        random_state=0,
    ):
        self.kernel = kernel
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.search = search
        self.preprocess = preprocess
        self.loss = loss
        self.tol = tol
        self.refit = refit
        self.journal = journal
        self.max_seconds = max_seconds
        self.progress = progress
        self.memory = memory
        self.n_threads = n_threads
        self.random_state = random_state


class TunedOneClassSVM(OutlierMixin, OwnMachine):
    """Novelty detection with parameters chosen by cross-validation."""

    _kind = OneClassSVM
    _passed = ("kernel", "nu", "tol", "memory", "n_threads")

    def __init__(
        self,
        kernel="rbf",
        *,
        nu=0.1,
        param_grid=None,
        cv=5,
        scoring=None,
        search="grid",
        preprocess=None,
        tol=1e-3,
        refit=True,
        journal=None,
        max_seconds=None,
        progress=False,
        memory="auto",
        n_threads=None,
        random_state=0,
    ):
        self.kernel = kernel
        self.nu = nu
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.search = search
        self.preprocess = preprocess
        self.tol = tol
        self.refit = refit
        self.journal = journal
        self.max_seconds = max_seconds
        self.progress = progress
        self.memory = memory
        self.n_threads = n_threads
        self.random_state = random_state
