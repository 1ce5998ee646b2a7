"""What all machines that choose their own parameters share."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

import mercer
from mercer.calibration.calibration import fit_calibration, pairs_of
from mercer.calibration.folds import HeldOut as Calibrating
from mercer.callers import warn_caller
from mercer.fingerprint import fingerprint
from mercer.gram.memory import check_memory
from mercer.kernels.samples import take
from mercer.parameters import Choice, Number, check_parameters
from mercer.selection.adaptive import refine
from mercer.selection.criteria import Criterion
from mercer.selection.grams import Grams
from mercer.selection.grid import default_grid, listed
from mercer.selection.journal import Journal
from mercer.selection.one_by_one import Labelled, OneByOne
from mercer.selection.outcome import Outcome
from mercer.selection.progress import Deadline
from mercer.selection.scores import Scoring
from mercer.selection.search import SOLUTIONS, Search, with_parameters, with_preprocess
from mercer.selection.splits import Split, arranged, make_splits
from mercer.svm.study import Study, study
from mercer.threads import effective_n_threads, limit_threads

__all__ = ["Tuner"]

# How fits end that no limit has stopped; what no convex problem is has local optima.
ENDED = ("solved", "local", "given")


def fitted_has(name: str) -> Any:
    """Whether the machine that was chosen, or the one that will be, has a method."""

    def has(self: Any) -> bool:
        getattr(getattr(self, "best_estimator_", None) or self._machine(), name)
        return True

    return has


class Tuner(BaseEstimator, ABC):
    """What all machines that choose their own parameters share."""

    _parameters: ClassVar[dict[str, Any]] = {
        "search": Choice("grid", "adaptive"),
        "progress": Choice(True, False),
        "max_seconds": Number(0, above=True, none=True),
    }

    @abstractmethod
    def _machine(self) -> Any:
        """The machine, with the parameters that are not chosen."""

    # --- learning -----------------------------------------------------------------------------------------

    def fit(self, X, y=None, sample_weight=None, groups=None):
        """Choose the parameters, and learn with them from all samples.

        Parameters
        ----------
        X : n samples
            As the machine takes them, or the preprocessing if there is one.
        y : array of shape (n,) or (n, n_outputs), default=None
            Targets.
        sample_weight : array of shape (n,), default=None
            Non-negative; they count in training and in the scores.
        groups : array of shape (n,), default=None
            For splitters that ask for groups.

        Returns
        -------
        self
        """
        before = self.__dict__.copy()
        try:
            with limit_threads(self.n_threads):
                self._fit(X, y, sample_weight, groups)
        except BaseException:  # a fit that fails leaves the machine as it was
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        check_parameters(self)
        check_memory(self.memory)
        effective_n_threads(self.n_threads)
        deadline = Deadline(self.max_seconds)
        machine = self._machine()
        grid = default_grid(machine) if self.param_grid is None else self.param_grid
        cells = listed(grid, machine)
        for cell in cells:
            check_cell(machine, cell)
        what = self._study(machine, X, y, sample_weight)
        self._note(machine, X)
        everyone, by_itself = np.arange(len(what.weight)), isinstance(self.scoring, Criterion)
        if by_itself:  # judged by what it has been trained on
            splits = [(everyone, everyone)]
        else:
            splits = make_splits(self.cv, machine, everyone, what.y, groups, self.random_state)
        order, splits = arranged(splits, getattr(what, "codes", None), len(everyone))
        samples = take(what.X if self.preprocess is None else X, order)
        if machine_takes_values(machine) and self.preprocess is None:
            samples = samples[:, order]
        what = what.taken(samples, order)
        scoring = Scoring(machine, self.scoring, what.y is not None)
        self._chosen_score(scoring)
        kind = OneByOne if by_itself or isinstance(what, Labelled) else Search
        with self._open_journal(machine, grid, X, y, sample_weight, splits) as journal:
            search = kind(
                machine,
                what,
                self.preprocess,
                splits,
                scoring,
                Grams(samples, what.y, what.weight, splits, self.memory, getattr(machine, "_place", None)),
                weighted=sample_weight is not None,
                keep=self._calibrates,
                deadline=deadline,
                journal=journal,
                show=bool(self.progress),
            )
            if self.search == "adaptive":
                refine(search, one_grid(grid))
            else:
                search.run(cells)
            if journal is not None and search.outcome.done.all():
                journal.forget(SOLUTIONS)
        self._keep_results(search.cells, search.outcome, scoring, splits)
        self._warn(search.cells, search.outcome)
        if self.refit is not False:
            self._refit(machine, X, y, sample_weight, what, splits, search.outcome)

    @property
    def _calibrates(self) -> bool:
        return bool(getattr(self, "probability", False))

    def _study(self, machine: Any, X: Any, y: Any, sample_weight: Any) -> Any:
        """The samples, checked as the machine checks them."""
        targets = () if y is None else (y,)
        seen = X if self.preprocess is None else clone(self.preprocess).fit(X, *targets).transform(X)
        what = study(machine, seen, y, sample_weight)
        if what is not None:
            return what
        if self._calibrates:
            raise ValueError(
                f"probability must be False for {machine!r}, got True: its values for held-out samples are not kept. "
                "Tune a machine that has probabilities of its own."
            )
        machine._check_all()
        if y is None and not get_tags(machine).target_tags.required:
            X = machine._take_samples(seen)
        else:
            X, y = machine._take_samples(seen, y)
        weight = machine._weights(sample_weight, X)
        if is_classifier(machine):
            machine._encode(y, weight)
        return Labelled(X, y, weight)

    def _open_journal(
        self, machine: Any, grid: Any, X: Any, y: Any, sample_weight: Any, splits: list[Split]
    ) -> AbstractContextManager[Journal | None]:
        if self.journal is None:
            return nullcontext()
        neutral = {"n_threads": None, "memory": "auto"}  # they change nothing
        known = machine.get_params(deep=False)
        machine = clone(machine).set_params(**{name: value for name, value in neutral.items() if name in known})
        return Journal.open(
            self.journal,
            {
                "version": mercer.__version__,
                "data": fingerprint(X, y, sample_weight),
                "estimator": fingerprint(machine, self._calibrates),
                "preprocess": fingerprint(self.preprocess),
                "grid": fingerprint([*listed(grid, machine)], self.search),
                "cv": fingerprint(splits),
                "scoring": fingerprint(self.scoring),
            },
        )

    def _note(self, machine: Any, X: Any) -> None:
        """What has been seen of the samples."""
        if hasattr(machine, "classes_"):
            self.classes_ = machine.classes_
        if self.preprocess is None:
            for name in ("n_features_in_", "feature_names_in_"):
                if hasattr(machine, name):
                    setattr(self, name, getattr(machine, name))
        elif len(getattr(X, "shape", ())) == 2:
            self.n_features_in_ = X.shape[1]

    def _keep_results(
        self, cells: list[dict[str, Any]], outcome: Outcome, scoring: Scoring, splits: list[Split]
    ) -> None:
        self.scorer_, self.n_splits_, self.multimetric_ = scoring.scorer, len(splits), scoring.several
        self.cv_results_ = cv_results(cells, outcome, scoring.names)
        chosen = self._chosen_score(scoring)
        if chosen is None:
            return
        means = self.cv_results_[f"mean_test_{chosen}"]
        if np.isnan(means).all():
            reasons = "; ".join(sorted(set(outcome.failures.values()))) or "max_seconds is too short for any of them"
            raise ValueError(f"None of the {len(cells)} cells has a score on every split: {reasons.rstrip('.')}.")
        self.best_index_ = int(np.nanargmax(means))
        self.best_params_ = cells[self.best_index_]
        self.best_score_ = float(means[self.best_index_])

    def _chosen_score(self, scoring: Scoring) -> str | None:
        """The score that decides; None where nothing does."""
        if not scoring.several:
            return "score"
        if isinstance(self.refit, str) and self.refit in scoring.names:
            return self.refit
        if self.refit is False:
            return None
        raise ValueError(
            f"refit must be the name of the score that decides, one of {scoring.names}, or False, got {self.refit!r}."
        )

    def _warn(self, cells: list[dict[str, Any]], outcome: Outcome) -> None:
        self.complete_ = bool(outcome.done.all())
        if outcome.failures:
            cell, reason = next(iter(outcome.failures.items()))
            message = (
                f"{len(outcome.failures)} of {len(cells)} cells have no solution and score NaN; {cells[cell]}: {reason}"
            )
            warn_caller(message, FitFailedWarning)
        if not self.complete_:
            known = np.count_nonzero(outcome.done)
            message = (
                f"The search ran into max_seconds={self.max_seconds:g}: {known} of {len(cells)} cells are known, and "
                "the best of them is taken. Raise max_seconds, or use a smaller grid."
            )
            warn_caller(message, ConvergenceWarning)
        known = outcome.status[(outcome.status != "") & (outcome.status != "failed")]
        unsolved = known[~np.isin(known, ENDED)]
        if len(unsolved):
            worst = sorted(set(unsolved.tolist()))
            message = (
                f"{len(unsolved)} of {outcome.status.size} fits of the search did not end as solved "
                f"({', '.join(worst)}): their scores are those of what they reached."
            )
            warn_caller(message, ConvergenceWarning)

    def _refit(
        self, machine: Any, X: Any, y: Any, sample_weight: Any, what: Study, splits: list[Split], outcome: Outcome
    ) -> None:
        began, cell = perf_counter(), self.best_params_
        best = with_parameters(machine, cell)
        preprocess = with_preprocess(self.preprocess, cell)
        steps = [] if preprocess is None else [clone(preprocess)]
        targets = () if y is None else (y,)
        for step in steps:
            X = step.fit(X, *targets).transform(X)
        best.fit(X, *targets, **({} if sample_weight is None else {"sample_weight": sample_weight}))
        if self._calibrates:
            self._calibrate(best, what, splits, outcome)
        self.machine_ = best
        self.best_estimator_ = make_pipeline(*steps, best) if steps else best
        self.refit_time_ = perf_counter() - began

    def _calibrate(self, best: Any, what: Any, splits: list[Split], outcome: Outcome) -> None:
        """Probabilities, from the values of the samples that the folds have held out."""
        tests = [test[what.weight[test] > 0] for _, test in splits]
        values = np.concatenate(
            [outcome.values[self.best_index_, k][what.weight[test] > 0] for k, (_, test) in enumerate(splits)]
        )
        held = np.concatenate(tests)
        codes, weight = what.codes[held], what.weight[held]
        pairs = pairs_of(best, len(best.classes_))
        values = values if pairs else best._plan.decision(values)
        weight = weight * best._class_weights(codes, weight)
        seen = Calibrating(values, codes, weight)
        best.calibration_ = fit_calibration(seen, len(best.classes_), "sigmoid", "corrected", pairs)
        best.probability = True

    # --- the model ----------------------------------------------------------------------------------------

    def _best(self) -> Any:
        check_is_fitted(self, "cv_results_")
        if not hasattr(self, "best_estimator_"):
            raise NotFittedError(
                f"This {type(self).__name__} has refit=False: nothing has been learnt from all samples."
            )
        return self.best_estimator_

    def predict(self, X):
        """Predictions of the machine that was chosen.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray
        """
        return self._best().predict(X)

    @available_if(fitted_has("decision_function"))
    def decision_function(self, X):
        """Decision values of the machine that was chosen.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray
        """
        return self._best().decision_function(X)

    @available_if(fitted_has("score_samples"))
    def score_samples(self, X):
        """How usual samples are.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._best().score_samples(X)

    @available_if(fitted_has("predict_proba"))
    def predict_proba(self, X):
        """Probabilities of the classes.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        return self._best().predict_proba(X)

    @available_if(fitted_has("predict_log_proba"))
    def predict_log_proba(self, X):
        """Logarithms of the probabilities.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        return self._best().predict_log_proba(X)

    def score(self, X, y=None):
        """The score that has decided, on other samples.

        Parameters
        ----------
        X : n samples
        y : array of shape (n,), default=None

        Returns
        -------
        float
        """
        scorer = self.scorer_[self.refit] if self.multimetric_ else self.scorer_
        return scorer(self._best(), X, y)

    @property
    def result_(self):
        """The certificate of the machine that was chosen."""
        return self.machine_.result_


def machine_takes_values(machine: Any) -> bool:
    """Whether what it takes are kernel values, with a column for every sample."""
    return bool(get_tags(machine).input_tags.pairwise)


def check_cell(machine: Any, cell: dict[str, Any]) -> None:
    """Refuse wrong parameters before anything is computed."""
    one = with_parameters(machine, cell)
    if hasattr(one, "_check_all"):
        one._check_all()


def one_grid(param_grid: Any) -> Any:
    """The only grid there is."""
    grids = [param_grid] if isinstance(param_grid, Mapping) else list(param_grid)
    if len(grids) != 1:
        raise ValueError(f"search must be 'grid' for a list of {len(grids)} grids, got 'adaptive'.")
    return grids[0]


def cv_results(cells: list[dict[str, Any]], outcome: Outcome, names: list[str]) -> dict[str, Any]:
    """The table of a search in the form of scikit-learn's `GridSearchCV`."""
    table: dict[str, Any] = {}
    for name, seconds in (("fit", outcome.fit_seconds), ("score", outcome.score_seconds)):
        table[f"mean_{name}_time"], table[f"std_{name}_time"] = seconds.mean(axis=1), seconds.std(axis=1)
    for name in sorted({name for cell in cells for name in cell}):
        table[f"param_{name}"] = column(cells, name)
    table["params"] = cells
    for name, scores in zip(names, outcome.scores, strict=True):
        for k in range(scores.shape[1]):
            table[f"split{k}_test_{name}"] = scores[:, k]
        means = scores.mean(axis=1)
        table[f"mean_test_{name}"], table[f"std_test_{name}"] = means, scores.std(axis=1)
        # As scikit-learn does: NaN comes last.
        worst = np.nanmin(means) - 1 if not np.isnan(means).all() else 0.0
        ranked = rankdata(-np.where(np.isnan(means), worst, means), method="min")
        table[f"rank_test_{name}"] = ranked.astype(np.int32)
    return table


def column(cells: list[dict[str, Any]], name: str) -> np.ma.MaskedArray:
    """The values of one parameter, masked where a cell has none."""
    values = [cell.get(name) for cell in cells]
    mask = [name not in cell for cell in cells]
    kinds = {type(value) for value, missing in zip(values, mask, strict=True) if not missing}
    dtype = kinds.pop() if len(kinds) == 1 else object
    numeric = dtype in (int, float, bool)
    if numeric:
        return np.ma.MaskedArray(
            [0 if missing else v for v, missing in zip(values, mask, strict=True)], mask, dtype=dtype
        )
    found = np.ma.MaskedArray(np.empty(len(cells), dtype=object), mask=mask)
    for k, (value, missing) in enumerate(zip(values, mask, strict=True)):
        if not missing:
            found[k] = value
    return found
