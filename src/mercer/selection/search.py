"""The search itself: every cell of a grid on every fold, with everything reused that can be."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from mercer.errors import InfeasibleError, NotSeparableError
from mercer.gram import Gram
from mercer.kernels.samples import take
from mercer.segments import Segments, joined
from mercer.selection.grams import Grams
from mercer.selection.grid import Group, grouped
from mercer.selection.scores import HeldOut, HeldOutValues, Scoring
from mercer.selection.splits import Split
from mercer.solvers import SMO, SolverResults
from mercer.svm.base import SparseRows
from mercer.svm.study import Lesson

__all__ = ["Labelled", "OneByOne", "Outcome", "Search", "with_parameters", "with_preprocess"]


@dataclass
class Outcome:
    """What is known of the cells; NaN where a cell could not be fitted, or was not."""

    scores: np.ndarray
    """Shape (n_scores, n_cells, n_folds)."""
    fit_seconds: np.ndarray
    """Shape (n_cells, n_folds)."""
    score_seconds: np.ndarray
    """Shape (n_cells, n_folds)."""
    status: np.ndarray
    """"solved" or why not, shape (n_cells, n_folds); None where nothing was tried."""
    failures: dict[int, str] = field(default_factory=dict)
    """Of cells that have no solution, why."""
    values: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)
    """Values of all functions for what fold k holds out, by (cell, k), where they are kept."""

    @classmethod
    def unknown(cls, n_scores: int, n_cells: int, n_folds: int) -> "Outcome":
        """Nothing is known."""
        shape = (n_cells, n_folds)
        return cls(
            np.full((n_scores, *shape), np.nan), np.zeros(shape), np.zeros(shape), np.full(shape, None, dtype=object)
        )

    @property
    def done(self) -> np.ndarray:
        """Which cells are known on every fold, shape (n_cells,)."""
        return (self.status != None).all(axis=1)  # noqa: E711


class Stretch(NamedTuple):
    """Cells of a path that are solved in one go, and the last one before them with its solutions by fold."""

    cells: list[int]
    before: int | None = None
    solutions: dict[int, list[np.ndarray]] | None = None


class Solved(NamedTuple):
    """A cell on a fold."""

    cell: int
    lesson: Lesson
    results: SolverResults


class Search:
    """The cells of a grid on the folds of the samples.

    Parameters
    ----------
    estimator : machine
    cells : list of dicts
    study : Study or Labelled
    preprocess : transformer or None
    splits : list of (train, test)
    scoring : Scoring
    grams : Grams
    weighted : bool
        Whether weights count in the scores.
    keep : bool
        Keep the values of the decision functions.
    clock : Clock
        Tells how much time is left, and whoever waits how much is done.
    """

    def __init__(
        self,
        estimator: Any,
        cells: list[dict[str, Any]],
        study: Any,
        preprocess: Any,
        splits: list[Split],
        scoring: Scoring,
        grams: Grams,
        weighted: bool,
        keep: bool,
        clock: Any,
    ):
        self.estimator, self.cells, self.study, self.preprocess = estimator, cells, study, preprocess
        self.splits, self.scoring, self.grams = splits, scoring, grams
        self.weighted, self.keep, self.clock = weighted, keep, clock
        self.outcome = Outcome.unknown(len(scoring.names), len(cells), len(splits))

    def machine(self, cell: int) -> Any:
        """The machine with the parameters of a cell."""
        return with_parameters(self.estimator, self.cells[cell])

    def run(self, wanted: Sequence[int] | None = None) -> None:
        """Solve and score the cells, all or some of them, until there is no time left."""
        numbers = range(len(self.cells)) if wanted is None else wanted
        for group in grouped([self.cells[number] for number in numbers]):
            paths = [[numbers[place] for place in path] for path in group.paths]
            self._run_group(Group(group.shared, paths))
            if self.clock.over:
                return

    def _run_group(self, group: Group) -> None:
        machine = self.machine(group.paths[0][0])
        for folds, gram in self.grams.of(machine, with_preprocess(self.preprocess, group.shared)):
            for stretches in self._stretches(group.paths, folds):
                self._solve(stretches, folds, gram)
                if self.clock.over:
                    return

    def _stretches(self, paths: list[list[int]], folds: list[int]) -> Iterator[list[Stretch]]:
        """What is solved at once: all paths whole."""
        yield [Stretch(path) for path in paths]

    # --- solving ------------------------------------------------------------------------------------------

    def _solve(self, stretches: list[Stretch], folds: list[int], gram: Gram) -> None:
        """Cells on folds that share a kernel matrix."""
        blocks: dict[Any, list[tuple[Stretch, int, list[Lesson]]]] = {}
        for stretch in stretches:
            cells = ([] if stretch.before is None else [stretch.before]) + stretch.cells
            machines = {cell: self.machine(cell) for cell in cells}
            for fold in folds:
                lessons = self._lessons(machines, gram, fold)
                for cell in list(machines):
                    if cell in self.outcome.failures:
                        del machines[cell]
                lessons = {cell: lesson for cell, lesson in lessons.items() if cell in machines}
                if lessons:
                    any_lesson = next(iter(lessons.values()))
                    key = (len(lessons), len(any_lesson.problems), repr(any_lesson.machine._solver()), _is_hard(lessons))
                    left = Stretch([cell for cell in lessons if cell != stretch.before], stretch.before, stretch.solutions)
                    blocks.setdefault(key, []).append((left, fold, list(lessons.values())))
        solved: dict[int, list[Solved]] = {}
        for (steps, width, _, _), members in blocks.items():
            try:
                results = self._solve_paths(members, steps, width)
            except NotSeparableError as error:  # hard margins, a path of one cell each
                for stretch, fold, _ in members:
                    for cell in stretch.cells:
                        self._fail(cell, fold, error)
                continue
            for number, (stretch, fold, lessons) in enumerate(members):
                for step, (cell, lesson) in enumerate(zip(_cells(stretch), lessons, strict=True)):
                    if cell == stretch.before:
                        continue
                    first = (number * steps + step) * width
                    solved.setdefault(fold, []).append(Solved(cell, lesson, results[first : first + width]))
        for fold, of_fold in solved.items():
            self._judge(fold, gram, of_fold)

    def _lessons(self, machines: dict[int, Any], gram: Gram, fold: int) -> dict[int, Lesson]:
        lessons = {}
        for cell, machine in machines.items():
            try:
                lessons[cell] = self.study.lesson(machine, gram, self.splits[fold][0])
            except InfeasibleError as error:
                self._fail(cell, fold, error)
        return lessons

    def _fail(self, cell: int, fold: int, error: Exception) -> None:
        self.outcome.failures[cell] = str(error)
        self.outcome.status[cell] = "failed"

    def _solve_paths(self, members: list[Any], steps: int, width: int) -> SolverResults:
        """The problems of all members, path beside path, and what they start from."""
        problems = joined([lesson.problems for _, _, lessons in members for lesson in lessons])
        starts: list[np.ndarray | None] | None = None
        if any(stretch.solutions for stretch, _, _ in members):
            starts = []
            for stretch, fold, _ in members:
                known: list[np.ndarray | None] = list(stretch.solutions[fold]) if stretch.solutions else [None] * width
                starts += known + [None] * (width * (steps - 1))
        solver = members[0][2][0].machine._solver()
        solver.check(problems[0])
        if isinstance(solver, SMO):
            paths = {"steps": steps, "width": width, "seconds": self.clock.left, "finished": self.clock.tell}
            results = solver.solve_many(problems, starts, None, **paths)
        else:
            results = solver.solve_many(problems, starts, None)
        return SolverResults.of(results)

    # --- judging ------------------------------------------------------------------------------------------

    def _judge(self, fold: int, gram: Gram, solved: list[Solved]) -> None:
        """Decision values of what the fold holds out, over kernel values fetched once for all cells, and scores."""
        began = perf_counter()
        test = self.splits[fold][1]
        functions = [one.lesson.functions(one.results) for one in solved]
        rows = SparseRows(
            Segments.of_sizes(np.concatenate([one.coefficients.parts.sizes for one in functions])),
            np.concatenate([one.coefficients.columns for one in functions]),
            np.concatenate([one.coefficients.values for one in functions]),
        )
        offsets = np.concatenate([one.offset for one in functions])
        values = gram.values_at(rows.table(gram.n), test).T + offsets
        diagonal = gram.diag()[test]
        first = 0
        late = self.clock.over
        for one, own in zip(solved, functions, strict=True):
            last = first + len(own.offset)
            raw = values[:, first:last]
            first = last
            status = _worst(one.results.status)
            if late and status == "max_seconds":  # our limit: the cell is not known
                continue
            held = HeldOutValues(
                one.lesson, one.lesson.decision(raw, diagonal), own.coefficients.values, *self._truth(fold)
            )
            self.outcome.scores[:, one.cell, fold] = self.scoring.of(held)
            self.outcome.fit_seconds[one.cell, fold] = one.results.seconds.sum()
            self.outcome.score_seconds[one.cell, fold] = (perf_counter() - began) / len(solved)
            self.outcome.status[one.cell, fold] = status
            if self.keep:
                self.outcome.values[one.cell, fold] = raw


    def _truth(self, fold: int) -> tuple[Any, Any, Any]:
        """Of what the fold holds out: targets, weights, and the samples, when somebody asks for them."""
        test = self.splits[fold][1]
        y, weight = self.study.y, self.study.weight
        return (
            None if y is None else take(y, test),
            weight[test] if self.weighted else None,
            lambda: take(self.grams.X, test),
        )


class OneByOne(Search):
    """A search over machines that are not problems over a kernel matrix: each is fitted on its own.

    Those of ours with a kernel still share the kernel matrices.
    """

    def run(self, wanted=None):
        if hasattr(self.estimator, "kernel") and hasattr(self.estimator, "_make_gram"):
            super().run(wanted)
            return
        for cell in range(len(self.cells)) if wanted is None else wanted:
            for fold, (train, test) in enumerate(self.splits):
                X = self.grams.X
                preprocess = with_preprocess(self.preprocess, self.cells[cell])
                if preprocess is not None:
                    X = self.grams.preprocessed(preprocess, train)
                self._fit(cell, fold, self.machine(cell), take(X, train), take(X, test))
            if self.clock.over:
                return

    def _solve(self, stretches, folds, gram):
        for fold in folds:
            train, test = self.splits[fold]
            K, across = gram.square(train), gram.rows(test)[:, train]
            for stretch in stretches:
                for cell in stretch.cells:
                    self._fit(cell, fold, self.machine(cell).set_params(kernel="precomputed"), K, across)
                    if self.clock.over:
                        return

    def _fit(self, cell: int, fold: int, machine: Any, X: Any, X_test: Any) -> None:
        """One cell on one fold."""
        train, began = self.splits[fold][0], perf_counter()
        machine._warns = False
        weights = {"sample_weight": self.study.weight[train]} if self.weighted else {}
        try:
            machine.fit(X, *(() if self.study.y is None else (take(self.study.y, train),)), **weights)
        except (InfeasibleError, NotSeparableError) as error:
            self._fail(cell, fold, error)
            return
        fitted = perf_counter()
        y, weight, _ = self._truth(fold)
        self.outcome.scores[:, cell, fold] = self.scoring.of(HeldOut(machine, y, weight, lambda: X_test))
        self.outcome.fit_seconds[cell, fold] = fitted - began
        self.outcome.score_seconds[cell, fold] = perf_counter() - fitted
        self.outcome.status[cell, fold] = getattr(getattr(machine, "result_", None), "status", "solved")


class Labelled(NamedTuple):
    """Samples of a machine that has no study of its own."""

    X: Any
    y: Any
    weight: np.ndarray


def with_parameters(estimator: Any, cell: dict[str, Any]) -> Any:
    """A copy of the machine with the parameters of a cell; those of the preprocessing are not its own."""
    own = {name: value for name, value in cell.items() if not name.startswith("preprocess")}
    return clone(estimator).set_params(**own)


def with_preprocess(preprocess: Any, shared: dict[str, Any]) -> Any:
    """The preprocessing with the parameters of a cell."""
    preprocess = shared.get("preprocess", preprocess)
    own = {name.partition("__")[2]: value for name, value in shared.items() if name.startswith("preprocess__")}
    return clone(preprocess).set_params(**own) if own else preprocess


def _cells(stretch: Stretch) -> list[int]:
    return ([] if stretch.before is None else [stretch.before]) + stretch.cells


def _is_hard(lessons: dict[int, Lesson]) -> bool:
    return any(getattr(lesson.machine, "C", None) == np.inf for lesson in lessons.values())


def _worst(status: np.ndarray) -> str:
    return next((one for one in status if one != "solved"), "solved")

