"""Classifiers by margins: the problems of a scheme in, decision functions and margins out."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mercer.calibration.calibration import pairs_of
from mercer.calibration.folds import HeldOut
from mercer.gram import Gram
from mercer.kernels.samples import n_samples, row_blocks, take
from mercer.multiclass import JointScheme, OwnMachines, Plan, Scheme, Tasks
from mercer.problems import DualProblems
from mercer.segments import Segments, joined
from mercer.solvers import SolverResults, warn_unless_solved
from mercer.solvers.base import summary
from mercer.svm.base import SparseRows, SupportVectorMachine, dense_row, one_or_all
from mercer.svm.folds import Folds, decide, naming_the_fold
from mercer.svm.joint import JointlyLabelled
from mercer.svm.probabilities import Probabilities
from mercer.threads import limit_threads

__all__ = ["Functions", "MarginClassifier", "Models"]

# Variables of problems that are written down at once: a thousand classes have half a million problems.
AT_ONCE = 1_000_000


class Models(NamedTuple):
    """What machines make of the solutions a of their problems, see `mercer.multiclass.Model`; an entry per machine."""

    scale: np.ndarray
    offset: np.ndarray
    edge: np.ndarray


@dataclass(frozen=True, eq=False)
class Functions:
    """Decision functions, as they have been learnt from some of the samples each; flat arrays of all."""

    parts: Segments
    """The samples of every function."""
    samples: np.ndarray
    values: np.ndarray
    """The coefficients of the samples."""
    slack: np.ndarray
    errors: np.ndarray
    """Whether the slack of a sample is more than the tolerance."""
    offset: np.ndarray
    norm: np.ndarray
    """|w| in feature space."""
    margin: np.ndarray
    """The distance of the edge of the margin from the hyperplane."""

    @property
    def coefficients(self) -> SparseRows:
        """A row for every function."""
        return SparseRows(self.parts, self.samples, self.values)


class MarginClassifier(ClassifierMixin, JointlyLabelled, Probabilities, SupportVectorMachine, ABC):
    """What support vector classifiers share: classes, the scheme for several of them, margins."""

    multi_class: Any
    _plan: Plan
    # True: the samples of the last fit are the first of the next one, which is to go on from its solution; the classes
    # are the same, though single samples may have another one.
    _grows: bool = False

    @abstractmethod
    def _problems(self, gram: Gram, tasks: Tasks, weight: np.ndarray) -> DualProblems:
        """The problems of machines for two; weight is that of the samples of the tasks."""

    @abstractmethod
    def _models(self, results: SolverResults) -> Models:
        """What machines for two make of the solutions of their problems."""

    def fit(self, X, y, sample_weight=None):
        """Learn from labelled samples.

        Parameters
        ----------
        X : samples of shape (n, n_features), or as the kernel takes them
            The n x n kernel matrix if ``kernel="precomputed"``.
        y : array of shape (n,)
            Classes, numbers or strings.
        sample_weight : array of shape (n,), default=None
            Non-negative; weight 2 is the sample twice, weight 0 is no sample.

        Returns
        -------
        self
        """
        with self._all_or_nothing():
            self.__dict__.pop("calibration_", None)
            if self.probability:
                self._fit_calibrated(X, y, sample_weight)
            else:
                self._fit(X, y, sample_weight)
        return self

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, split: Any = None, coupled: bool = True, whole: bool = True
    ) -> tuple[list[Self], list[HeldOut]]:
        self._check_all()
        X, y = self._take_samples(X, y)
        weight = self._weights(sample_weight, X)
        codes = self._encode(y, weight)
        plan = self._scheme.plan(len(self.classes_), getattr(self, "loss", "hinge"))
        of_scheme = Folds(codes, weight, plan.splits(codes, weight, self.classes_))
        asked_for = Folds(codes, weight, [] if split is None else split(X, codes, weight, self.classes_))
        with limit_threads(self.n_threads):
            gram = self._make_gram(X, weight)
            folds = (*of_scheme.taught, *asked_for.taught)
            everyone = (codes, *folds) if whole else folds
            lessons = [(some, weight * self._class_weights(some, weight)) for some in everyone]
            learnt = self._learn(plan, gram, weight, lessons, whole)
            of_folds = learnt[1:] if whole else learnt
            functions = [functions for functions, _ in of_folds]
            raw = partial(decide, gram)
            if of_scheme.splits:
                seen = HeldOut.joined(of_scheme.held_out(functions[: len(of_scheme.splits)], raw))
                plan = plan.learn_maps(seen, self._class_weights(seen.codes, seen.weight))
            self._plan = plan
            pairs = coupled and bool(pairs_of(self, plan.n_classes))
            values = raw if pairs else lambda some, test: plan.decision(raw(some, test))
            held_out = asked_for.held_out(functions[len(of_scheme.splits) :], values)
        if whole:
            self._keep_functions(X, gram, codes, weight, *learnt[0])
            self._warn_unless_solved()
        if of_folds and self._warns and (not whole or self.result_.status == "solved"):
            all_folds = summary([summary(results) for _, results in of_folds])
            warn_unless_solved(all_folds, f"A fold of {type(self).__name__}")
        if whole:
            return [self], held_out
        own = of_folds[len(of_scheme.splits) :]
        return [copy(self)._keep_functions(X, gram, codes, weight, *of_fold) for of_fold in own], held_out

    def _keep_functions(
        self,
        X: Any,
        gram: Gram,
        codes: np.ndarray,
        weight: np.ndarray,
        functions: Functions,
        results: Sequence[Any],
    ) -> Self:
        """The model, from the functions that were learnt and their certificates."""
        self.norm_, self.margin_ = one_or_all(functions.norm), one_or_all(functions.margin)
        self.slack_ = SparseRows(functions.parts, functions.samples, functions.slack).one_or_all(len(codes))
        seen = weight[functions.samples]
        self.margin_errors_ = one_or_all(functions.parts.sum(seen * functions.errors) / functions.parts.sum(seen))
        self._keep_model(X, gram, functions.coefficients, functions.offset, results)
        self.n_support_ = np.bincount(codes[self.support_[self.support_ >= 0]], minlength=len(self.classes_))
        return self

    def _learn(
        self,
        plan: Plan,
        gram: Gram,
        sample_weight: np.ndarray,
        lessons: Sequence[tuple[np.ndarray, np.ndarray]],
        whole: bool,
    ) -> list[tuple[Functions, Sequence[Any]]]:
        """The decision functions of a scheme, in the order of its code, and the certificates of what was solved.

        For every lesson, the class numbers and the weights of all samples. If the first has the `whole` of them, and is
        no fold, it may start warm.
        """
        if isinstance(plan.scheme, JointScheme):
            return self._learn_jointly(plan.scheme, gram, lessons)
        learnt: list[list[tuple[Functions, SolverResults]]] = [[] for _ in lessons]
        for machines in stretches(np.sum([plan.sizes(codes) for codes, _ in lessons], axis=0)):
            tasks, problems = [], []
            for k, (codes, weight) in enumerate(lessons):
                with naming_the_fold(k >= whole):
                    tasks.append(plan.tasks(codes, sample_weight, machines))
                    problems.append(self._problems_of(plan.scheme, gram, tasks[-1], weight[tasks[-1].samples]))
            n = len(machines)
            solved = self._fit_problems(joined(problems), machines.start, n * (len(lessons) - whole))
            results = SolverResults.of(solved)
            for k, of_lesson in enumerate(learnt):
                of_lesson.append(self._functions(plan.scheme, tasks[k], problems[k], results[k * n : (k + 1) * n]))
        return [tuple(map(joined, zip(*of_lesson, strict=True))) for of_lesson in learnt]

    def _starts(self, problems, sizes, first):
        if not self._grows or isinstance(self._scheme, OwnMachines):  # whose scale is their own
            return super()._starts(problems, sizes, first)
        # Multipliers are coefficients times signs, over the scale of the machine: those of new samples are zero.
        scale = self._models(SolverResults.of(self.result_.parts or (self.result_,))).scale
        starts = []
        for k, problem in enumerate(problems[: len(sizes)], first):
            row = self.dual_coef_[[k]]
            support, values = (row.indices, row.data) if issparse(row) else (slice(None), row[0])
            last = dense_row(self.support_[support], values, problem.gram.n)[problem.index]
            starts.append(np.maximum(0.0, problem.sign * last) / scale[k])
        return starts

    def _problems_of(self, scheme: Scheme, gram: Gram, tasks: Tasks, weight: np.ndarray) -> DualProblems:
        """The problems of the machines of a scheme, be they its own or ours."""
        if not isinstance(scheme, OwnMachines):
            return self._problems(gram, tasks, weight)
        return DualProblems.of(
            [scheme.problem(gram, task, weight[part]) for task, part in zip(tasks, tasks.parts, strict=True)]
        )

    def _functions(
        self, scheme: Scheme, tasks: Tasks, problems: DualProblems, results: SolverResults
    ) -> tuple[Functions, SolverResults]:
        """The decision functions, and the results with the margins."""
        if isinstance(scheme, OwnMachines):
            found = [scheme.model(problem, result) for problem, result in zip(problems, results, strict=True)]
            models, wanted = Models(*map(np.array, zip(*found, strict=True))), np.zeros(len(tasks.sign))
        else:
            models = self._models(results)
            wanted = tasks.parts.repeat(models.edge) * tasks.target
        parts, sign, scale = problems.parts, problems.sign, problems.parts.repeat(models.scale)
        # From the gradient: f = s (G - p - ridge a) + b, scaled; times the sign it is to be `wanted` at least.
        own = results.gradient - problems.linear - problems.ridge * results.a
        reached = own * scale + sign * parts.repeat(models.offset)
        slack = np.maximum(0.0, wanted - reached)
        norm = models.scale * np.sqrt(np.maximum(0.0, parts.sum(results.a * own)))
        with np.errstate(divide="ignore", invalid="ignore"):
            margin = np.where(norm > 0, models.edge / norm, np.inf)
        functions = Functions(
            parts=parts,
            samples=problems.samples,
            values=sign * results.a * scale,
            slack=slack,
            errors=slack > self.tol * parts.repeat(np.maximum(models.edge, np.finfo(float).tiny)),
            offset=models.offset,
            norm=norm,
            margin=margin,
        )
        return functions, replace(results, margin=parts.min(reached))

    def _learn_jointly(
        self, scheme: JointScheme, gram: Gram, lessons: Sequence[tuple[np.ndarray, np.ndarray]]
    ) -> list[tuple[Functions, Sequence[Any]]]:
        """The function of every class, from one objective; for every lesson, with its certificate."""
        learnt: list[tuple[Functions, Sequence[Any]]] = []
        for problem, result in self._solve_jointly(scheme, gram, lessons, getattr(self, "fit_intercept", True)):
            slack = result.errors.toarray().T.ravel()
            functions = Functions(
                parts=Segments.of_sizes([len(problem.index)] * problem.n_classes),
                samples=np.tile(problem.index, problem.n_classes),
                values=result.coefficients.toarray()[:, problem.index].ravel(),
                slack=slack,
                errors=slack > self.tol,
                offset=result.intercepts,
                norm=result.norms,
                margin=result.margins,
            )
            learnt.append((functions, [result]))
        return learnt

    def decision_function(self, X):
        """Decision values.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            Two classes: positive values speak for ``classes_[1]``. More: the scores that the scheme gives the classes;
            `predict` takes the largest, the first of equal ones. With ``probability=True`` calibrated log-odds of
            ``classes_[1]``, or the logarithms of the probabilities.
        """
        check_is_fitted(self)
        return self.calibration_.decision(self._calibrated_values(X)) if self._calibrated else self._values(X)

    def _values(self, X: Any, *, pairs: bool = False) -> np.ndarray:
        """Decision values before calibration: the only ones, those of all pairs of classes, or scores."""
        if pairs:
            return self._raw_decision(X)
        if self._plan.n_machines == 1:
            return self._raw_decision(X)[:, 0]
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def _scores(self, X: Any) -> np.ndarray:
        """One score per class, shape (n, n_classes)."""
        with limit_threads(self.n_threads):
            X, Y = self._compared(self._check_new(X))
            kernel = None if Y is None else self.kernel_
            if self.device is None:
                found = self._plan.scheme.shortcut(kernel, X, Y, self.dual_coef_, self.intercept_, self._plan)
                if found is not None:
                    return found
            scores = np.empty((n_samples(X), len(self.classes_)))
            for rows in row_blocks(len(scores), self._plan.n_machines):
                scores[rows] = self._plan.scores(self._decision_of(take(X, rows), Y))
            return scores

    def predict(self, X):
        """Classes.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        if self._calibrated:
            return self.classes_[self.calibration_.codes(self._calibrated_values(X))]
        codes = (self._signs(X) > 0).astype(int) if self._plan.n_machines == 1 else self._scores(X).argmax(axis=1)
        return self.classes_[codes]

    def distance(self, X):
        """Signed distance to the separating hyperplane in feature space.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,) or (n, n_problems)
            One column per machine if there are several, a pair of classes each unless `multi_class` says otherwise;
            one per class, to where its function is zero, if there is one objective for all.
        """
        check_is_fitted(self)
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = self._raw_decision(X) / self.norm_
        return distance[:, 0] if self._plan.n_machines == 1 else distance


def stretches(sizes: np.ndarray) -> Iterator[range]:
    """Neighbouring machines, as many at once as have `AT_ONCE` variables together, but one at least."""
    ends, first = np.cumsum(sizes), 0
    while first < len(sizes):
        before = ends[first] - sizes[first]
        last = max(first + 1, int(np.searchsorted(ends, before + AT_ONCE, side="right")))
        yield range(first, last)
        first = last
