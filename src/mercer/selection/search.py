"""The search itself: every cell of a grid on every fold, with everything reused that can be."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from queue import SimpleQueue
from threading import Lock
from time import perf_counter, time
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from mercer.errors import InfeasibleError, NotSeparableError
from mercer.gram import Gram, MatrixGram
from mercer.kernels.samples import take
from mercer.kernels.vectors.base import VectorKernel
from mercer.segments import Segments, joined
from mercer.selection.grams import Grams
from mercer.selection.grid import Group, grouped, is_shared
from mercer.selection.journal import Journal
from mercer.selection.outcome import Outcome
from mercer.selection.progress import Deadline, Progress
from mercer.selection.scores import HeldOutValues, Scoring
from mercer.selection.splits import Split
from mercer.solvers import SMO, SolverResults
from mercer.solvers.base import Interrupt, side_by_side
from mercer.svm.base import SparseRows
from mercer.svm.study import Lesson
from mercer.threads import effective_n_threads, limit_threads, n_workers, side_by_side_elsewhere

__all__ = ["SOLUTIONS", "Search", "with_parameters", "with_preprocess"]

# From so many folds on they start from the solution for all samples, as many at a time as have so many variables.
MANY_FOLDS = 20
TOGETHER = 1_000_000
# The share of multipliers at their bounds from which on a solution is a first point for other kernel values.
MOSTLY = 0.8
# The solution of the last cell of a path, which the next one goes on from, and what probabilities are learnt from.
SOLUTIONS, VALUES = "solutions", "values"


class Stretch(NamedTuple):
    """Cells of a path that are solved in one go, and the last one before them with its solutions by fold."""

    cells: list[int]
    before: int | None = None
    solutions: dict[int, np.ndarray] | None = None

    @property
    def all_cells(self) -> list[int]:
        """With the one before."""
        return self.cells if self.before is None else [self.before, *self.cells]


class Block(NamedTuple):
    """A stretch on a fold."""

    stretch: Stretch
    fold: int
    lessons: dict[int, Lesson]
    gram: Gram


class Solved(NamedTuple):
    """A cell on a fold, or on several."""

    cell: int
    lesson: Lesson
    results: SolverResults


class Search:
    """The cells of a grid on the folds of the samples.

    Parameters
    ----------
    estimator : machine
    study : Study or Labelled
    preprocess : transformer or None
    splits : list of (train, test)
    scoring : Scoring
    grams : Grams
    weighted : bool
        Whether weights count in the scores.
    keep : bool
        Keep the values of the decision functions.
    deadline : Deadline
    journal : Journal or None
    show : bool
        Show the progress.
    """

    def __init__(
        self,
        estimator: Any,
        study: Any,
        preprocess: Any,
        splits: list[Split],
        scoring: Scoring,
        grams: Grams,
        *,
        weighted: bool = False,
        keep: bool = False,
        deadline: Deadline,
        journal: Journal | None = None,
        show: bool = False,
    ):
        self.estimator, self.study, self.preprocess = estimator, study, preprocess
        self.splits, self.scoring, self.grams = splits, scoring, grams
        self.weighted, self.keep, self.deadline, self.journal, self.show = weighted, keep, deadline, journal, show
        self.cells: list[dict[str, Any]] = []
        self.outcome = Outcome.unknown(len(scoring.names), 0, len(splits))
        self.progress = Progress([], show=False)
        self._solutions: dict[int, dict[int, np.ndarray]] = {}
        self._machines: dict[int, Any] = {}
        self._heads: dict[tuple[int, str], np.ndarray] = {}
        self._lock: AbstractContextManager[Any] = Lock()

    def machine(self, cell: int) -> Any:
        """The machine with the parameters of a cell."""
        if cell not in self._machines:
            machine = with_parameters(self.estimator, self.cells[cell])
            machine.n_threads = None  # threads are the affair of the search
            if "checkpoint" in machine.get_params(deep=False):
                machine.checkpoint = None  # a file is of one fit; the journal keeps those that are finished
            self._machines[cell] = machine
        return self._machines[cell]

    def run(self, cells: Sequence[dict[str, Any]]) -> None:
        """Solve and score further cells, until there is no time left."""
        first = len(self.cells)
        self.cells += cells
        self.outcome = self.outcome.with_more(len(cells))
        prices = [cell.get("C", 1.0) for cell in cells]
        costs = [1.0 if not np.isfinite(price) else max(price, 1.0) ** 0.25 for price in prices]
        with Progress(costs, kinds=prices, show=self.show, title="search") as self.progress:
            self._first = first
            groups = [
                Group(group.shared, [[first + number for number in path] for path in group.paths])
                for group in grouped(list(cells))
            ]
            self._first_group = {cell for path in groups[0].paths for cell in path}
            if self.journal is None and len(groups) > 1 and n_workers() > 1:
                self._run_elsewhere(groups)
                return
            if self._may_run_side_by_side():
                self._run_side_by_side(groups)
                return
            for group in groups:
                self._run_group(group, self.grams)
                if self.deadline.over:
                    return

    def _may_run_side_by_side(self) -> bool:
        """Whether groups of cells may run at once, each with a share of the threads: folds alone do not keep all busy.

        Code that is not ours is called by one thread at a time, so that a kernel or score in Python forbids it.
        """
        kernels = [self.estimator.kernel, *(cell["kernel"] for cell in self.cells if "kernel" in cell)]
        ours = all(isinstance(kernel, str | VectorKernel) for kernel in kernels)
        plain = self.journal is None and self.preprocess is None and self.scoring.ours
        plain = plain and isinstance(self.estimator.solver, str)
        return ours and plain and effective_n_threads() > 1 and len(self.splits) < MANY_FOLDS

    def _run_side_by_side(self, groups: list[Group]) -> None:
        kernels = [self.machine(group.paths[0][0]).kernel for group in groups]
        if any(self.grams.stores(kernel) for kernel in kernels):
            # The first one shows where the others begin, and computes what they share.
            self._run_group(groups[0], self.grams)
            teams = self.grams.teams(min(effective_n_threads(), max(1, len(groups) - 1)))
            tasks: list[tuple[Group, list[int] | None]] = [(group, None) for group in groups[1:]]
        else:
            teams = min(effective_n_threads(), len(groups) * len(self.splits))
            tasks = [(group, [fold]) for group in groups for fold in range(len(self.splits))]
        interrupted, idle = Interrupt(), SimpleQueue[Grams]()
        for _ in range(teams):
            idle.put(self.grams.another())
        threads = max(1, effective_n_threads() // teams)

        def run(group: Group, folds: list[int] | None) -> None:
            grams = idle.get()
            try:
                with limit_threads(threads):
                    if not self.deadline.over and not interrupted.is_set():
                        self._run_group(group, grams, folds)
            finally:
                idle.put(grams)

        side_by_side(run, tasks, teams, interrupted)

    def _run_elsewhere(self, groups: list[Group]) -> None:
        """Groups of cells on the workers of a joblib backend, each as it would run here."""
        if any(self.grams.stores(self.machine(group.paths[0][0]).kernel) for group in groups if self._has_kernel):
            # The first one shows where the others begin.
            self._run_group(groups[0], self.grams)
            groups = groups[1:]
        everyone, ends = list(range(len(self.splits))), time() + self.deadline.left
        alone = self._alone()
        for group, found in zip(
            groups, side_by_side_elsewhere(_run_alone, [(alone, group, ends) for group in groups]), strict=True
        ):
            self.outcome.take_over(found)
            self._finish([cell for path in group.paths for cell in path], everyone)

    def _alone(self) -> "Search":
        """A copy for another process or thread, which knows nothing but where paths begin."""
        other = copy(self)
        other.grams, other._machines, other._lock = self.grams.afresh(), {}, nullcontext()
        other.outcome = Outcome.unknown(len(self.scoring.names), len(self.cells), len(self.splits))
        other.progress = Progress(np.ones(len(self.cells) - self._first), show=False)
        return other

    @property
    def _has_kernel(self) -> bool:
        return "kernel" in self.estimator.get_params(deep=False)

    def _run_group(self, group: Group, grams: Grams, folds: list[int] | None = None) -> None:
        if self._is_known(group.paths):
            return
        preprocess = with_preprocess(self.preprocess, group.shared)
        for alike, gram in grams.of(self.machine(group.paths[0][0]), preprocess, folds):
            for stretches in self._stretches(group.paths, alike):
                solve = self._solve_seeded if self._may_seed(stretches, alike) else self._solve
                solve(stretches, alike, gram)
                self._finish([cell for stretch in stretches for cell in stretch.cells], alike)
                if self.deadline.over:
                    return

    # --- what is solved at once, and what is known already -------------------------------------------------

    def _stretches(self, paths: list[list[int]], folds: list[int]) -> Iterator[list[Stretch]]:
        """All paths whole; with a journal cell by cell, so that no more than one is lost."""
        if self.journal is None:
            yield [Stretch(path) for path in paths]
            return
        for path in paths:
            before: int | None = None
            for cell in path:
                if not self._recall(cell, folds):
                    yield [Stretch([cell], before, None if before is None else self._solutions[before])]
                before = cell if cell in self._solutions else None

    def _is_known(self, paths: list[list[int]]) -> bool:
        """Whether the journal has all cells, so that no kernel matrix is needed."""
        if self.journal is None:
            return False
        everyone = list(range(len(self.splits)))
        single = all(self._recall(cell, everyone) for path in paths for cell in path)
        return single or all(self._recall(cell, [k]) for path in paths for cell in path for k in everyone)

    def _recall(self, cell: int, folds: list[int]) -> bool:
        """Take a cell from the journal, if it has it."""
        record = None if self.journal is None else self.journal.finished.get(_name(cell, folds))
        if record is None:
            return False
        self.outcome.scores[:, cell, folds] = record["scores"]
        self.outcome.fit_seconds[cell, folds] = record["fit_seconds"]
        self.outcome.score_seconds[cell, folds] = record["score_seconds"]
        self.outcome.status[cell, folds] = record["status"]
        if record["failure"] is not None:
            self.outcome.failures[cell] = record["failure"]
        if record.get(SOLUTIONS) is not None:
            self._solutions[cell] = dict(zip(folds, record[SOLUTIONS], strict=True))
        if record.get(VALUES) is not None:
            self.outcome.values.update({(cell, k): v for k, v in zip(folds, record[VALUES], strict=True)})
        self.progress.skip([cell - self._first])
        return True

    def _finish(self, cells: list[int], folds: list[int]) -> None:
        """Note what has been found."""
        known = [cell for cell in cells if (self.outcome.status[cell, folds] != "").all()]
        if self.journal is not None:
            self.journal.write_many({_name(cell, folds): self._record(cell, folds) for cell in known})
        done = self.outcome.done
        cells = [cell for cell in known if done[cell]]
        seconds = self.outcome.fit_seconds[cells].sum(axis=1)
        with np.errstate(invalid="ignore"):
            best = np.max(self.outcome.means[0][done], initial=-np.inf, where=~np.isnan(self.outcome.means[0][done]))
        with self._lock:
            self.progress.finish([cell - self._first for cell in cells], seconds=seconds, best=float(best))

    def _record(self, cell: int, folds: list[int]) -> dict[str, Any]:
        solutions = self._solutions.get(cell)
        return {
            "scores": self.outcome.scores[:, cell, folds],
            "fit_seconds": self.outcome.fit_seconds[cell, folds],
            "score_seconds": self.outcome.score_seconds[cell, folds],
            "status": self.outcome.status[cell, folds].tolist(),
            "failure": self.outcome.failures.get(cell),
            SOLUTIONS: None if solutions is None else [solutions[k] for k in folds],
            VALUES: [self.outcome.values[cell, k] for k in folds] if self.keep else None,
        }

    # --- along paths --------------------------------------------------------------------------------------

    def _solve(self, stretches: list[Stretch], folds: list[int], gram: Gram) -> None:
        """Cells on folds that share a kernel matrix."""
        blocks: dict[Any, list[Block]] = {}
        for stretch in stretches:
            machines = {cell: self.machine(cell) for cell in stretch.all_cells}
            lessons = {fold: self._lessons(machines, gram, self.splits[fold][0]) for fold in folds}
            possible = [cell for cell in machines if cell not in self.outcome.failures]
            if not possible:
                continue
            solver = repr(machines[possible[0]]._solver())
            for fold in folds:
                own = {cell: lessons[fold][cell] for cell in possible}
                width = len(own[possible[0]].problems)
                hard = any(getattr(machines[cell], "C", None) == np.inf for cell in possible)
                block = Block(stretch, fold, own, gram)
                blocks.setdefault((solver, hard, len(possible), width), []).append(block)
        solved: dict[int, list[Solved]] = {}
        for (_, _, steps, width), members in blocks.items():
            try:
                results = self._solve_paths(members, steps, width)
            except NotSeparableError as error:  # of hard margins, which are paths of one cell
                for block in members:
                    self._fail(block.stretch.cells, error)
                continue
            first = 0
            for block in members:
                for cell, lesson in block.lessons.items():
                    own_results, first = results[first : first + width], first + width
                    if cell != block.stretch.before:
                        solved.setdefault(block.fold, []).append(Solved(cell, lesson, own_results))
        if self.deadline.over:  # what ran into our limit is not known
            solved = {
                k: [one for one in s if not (one.results.status == "max_seconds").any()] for k, s in solved.items()
            }
        for fold, of_fold in ((fold, of_fold) for fold, of_fold in solved.items() if of_fold):
            self._judge([fold], gram, of_fold)

    def _lessons(self, machines: dict[int, Any], gram: Gram, train: np.ndarray) -> dict[int, Lesson]:
        """The lessons of the machines that have one."""
        lessons = {}
        for cell, machine in machines.items():
            try:
                lessons[cell] = self.study.lesson(machine, gram, train)
            except InfeasibleError as error:
                self._fail([cell], error)
        return lessons

    def _fail(self, cells: list[int], error: Exception) -> None:
        for cell in cells:
            self.outcome.failures[cell] = str(error)
            self.outcome.status[cell] = "failed"
            self.outcome.scores[:, cell] = np.nan

    def _solve_paths(self, blocks: list[Block], steps: int, width: int) -> SolverResults:
        """The problems of all blocks, path beside path, from where the cells before have ended."""
        problems = joined([lesson.problems for block in blocks for lesson in block.lessons.values()])
        starts: list[np.ndarray | None] = []
        for block in blocks:
            known = self._start(block)
            parts = next(iter(block.lessons.values())).problems.parts
            starts += [None] * width if known is None else [known[part] for part in parts]
            starts += [None] * (width * (steps - 1))
        machine = next(iter(blocks[0].lessons.values())).machine
        results = self._solved(machine, problems, None if all(a is None for a in starts) else starts, steps, width)
        self._keep_heads(blocks, results, steps * width, width)
        return results

    def _start(self, block: Block) -> np.ndarray | None:
        """Where a path begins: at the cell before, or where the same path over other kernel values has begun."""
        if block.stretch.solutions is not None:
            return block.stretch.solutions[block.fold]
        return self._heads.get((block.fold, self._head(block)))

    def _head(self, block: Block) -> str:
        cell = self.cells[next(iter(block.lessons))]
        return repr({name: value for name, value in cell.items() if not is_shared(name)})

    def _keep_heads(self, blocks: list[Block], results: SolverResults, size: int, width: int) -> None:
        """The first solutions of paths, where most multipliers are at their bounds: so they are for other kernels.

        Those of the first group of cells, that is, whatever the order of the others. With a journal every path begins
        afresh, so that it does not matter what has been solved before.
        """
        if self.journal is not None or not isinstance(blocks[0].gram, MatrixGram):
            return
        if next(iter(blocks[0].lessons)) not in self._first_group:
            return
        for k, block in enumerate(blocks):
            first = results[k * size : k * size + width]
            upper = next(iter(block.lessons.values())).problems.upper
            if np.mean(first.a >= upper) >= MOSTLY:
                self._heads.setdefault((block.fold, self._head(block)), first.a)

    def _solved(self, machine: Any, problems: Any, starts: Any, steps: int = 1, width: int = 1) -> SolverResults:
        solver = machine._solver()
        solver.check(problems[0])
        if not isinstance(solver, SMO):
            return SolverResults.of(solver.solve_many(problems, starts, None))
        told = (lambda finished: self.progress.refresh()) if self.show else None
        return SolverResults.of(
            solver.solve_many(
                problems,
                starts,
                None,
                steps=steps,
                width=width,
                rough=True,
                seconds=self.deadline.left,
                finished=told,
            )
        )

    # --- many folds ---------------------------------------------------------------------------------------

    def _may_seed(self, stretches: list[Stretch], folds: list[int]) -> bool:
        """Whether folds are so many that each is better off to start from the solution for all samples."""
        return len(folds) >= MANY_FOLDS and isinstance(self.machine(stretches[0].cells[0])._solver(), SMO)

    def _solve_seeded(self, stretches: list[Stretch], folds: list[int], gram: Gram) -> None:
        """Solve for all samples; a fold whose samples have no say in that keeps it, the others go on from there.

        A sample without a multiplier can be left out: what is optimal stays so. [CY §3.3]
        """
        for stretch in stretches:
            machines = {cell: self.machine(cell) for cell in stretch.cells}
            everyone = np.unique(np.concatenate([part for k in folds for part in self.splits[k]]))
            whole = self._lessons(machines, gram, everyone)
            example = self._lessons(machines, gram, self.splits[folds[0]][0])
            alike = all(
                cell in example
                and whole[cell].is_restriction(example[cell])
                and all(len(train) + len(test) == len(everyone) for train, test in self.splits)
                for cell in whole
            )
            if not alike or len(whole) < len(machines):
                self._solve([stretch], folds, gram)
                continue
            for cell, lesson in whole.items():
                results = self._solved(lesson.machine, lesson.problems, None, 1, 1)
                self._leave_out(cell, lesson, results, folds, gram)
                if self.deadline.over:
                    return

    def _leave_out(self, cell: int, lesson: Lesson, results: SolverResults, folds: list[int], gram: Gram) -> None:
        """One cell on many folds, from its solution for all samples."""
        support = np.zeros(gram.n, dtype=bool)
        support[lesson.problems.samples[results.a > 0]] = True
        touched = [k for k in folds if support[self.splits[k][1]].any()]
        same = [k for k in folds if not support[self.splits[k][1]].any()]
        if same:
            self._judge(same, gram, [Solved(cell, lesson, results)])
        size = max(1, TOGETHER // len(lesson.problems.samples))
        for some in (touched[first : first + size] for first in range(0, len(touched), size)):
            parts = lesson.without([self.splits[k][1] for k in some])
            start = shared_out(parts.problems, np.tile(results.a, len(some)))
            found = self._solved(lesson.machine, parts.problems, start)
            self._judge(some, gram, [Solved(cell, parts, found)])

    # --- judging ------------------------------------------------------------------------------------------

    def _judge(self, folds: list[int], gram: Gram, solved: list[Solved]) -> None:
        """Decision values of what the folds hold out, over kernel values fetched once, and scores.

        A cell has been solved once for all of the folds, or for each of them, fold by fold in one lesson.
        """
        began = perf_counter()
        tests = Segments.of_sizes([len(self.splits[k][1]) for k in folds])
        everyone = np.concatenate([self.splits[k][1] for k in folds])
        functions = [one.lesson.functions(one.results) for one in solved]
        rows = SparseRows(
            Segments.of_sizes(np.concatenate([one.coefficients.parts.sizes for one in functions])),
            np.concatenate([one.coefficients.columns for one in functions]),
            np.concatenate([one.coefficients.values for one in functions]),
        )
        values = gram.values_at(rows.table(gram.n), everyone).T + np.concatenate([one.offset for one in functions])
        diagonal, first = gram.diag()[everyone], 0
        for one, own in zip(solved, functions, strict=True):
            mine, each = values[:, first : first + len(own.offset)], len(own.offset) // one.lesson.n_lessons
            first += len(own.offset)
            for i, fold in enumerate(folds):
                part = slice(i * each, (i + 1) * each) if one.lesson.n_lessons > 1 else slice(None)
                raw = mine[tests[i], part]
                held = HeldOutValues(
                    one.lesson,
                    one.lesson.decision(raw, diagonal[tests[i]]),
                    own.coefficients.values,
                    *self._truth(fold),
                )
                self.outcome.scores[:, one.cell, fold] = self.scoring.of(held)
                self._note(one, fold, part, raw)
        self.outcome.score_seconds[np.ix_([one.cell for one in solved], folds)] = (perf_counter() - began) / (
            len(folds) * len(solved)
        )

    def _note(self, one: Solved, fold: int, part: slice, raw: np.ndarray) -> None:
        """What is kept of a cell on a fold besides its scores; its problems are a part of those solved."""
        self.outcome.fit_seconds[one.cell, fold] = one.results.seconds[part].sum()
        status = one.results.status[part]
        self.outcome.status[one.cell, fold] = next((state for state in status if state != "solved"), "solved")
        if self.keep:
            self.outcome.values[one.cell, fold] = np.ascontiguousarray(raw)
        if self.journal is not None:
            self._solutions.setdefault(one.cell, {})[fold] = one.results.a

    def _truth(self, fold: int) -> tuple[Any, Any, Any]:
        """Of what the fold holds out: targets, weights, and the samples, when somebody asks for them."""
        test, y = self.splits[fold][1], self.study.y
        weight = self.study.weight[test] if self.weighted else None
        return None if y is None else take(y, test), weight, lambda: take(self.grams.X, test)


def _run_alone(search: Search, group: Group, ends: float) -> Outcome:
    """What a copy of a search finds of a group of cells, until a time of the clock on the wall."""
    search, left = search._alone(), ends - time()  # what came may be shared with others
    search.deadline = Deadline(left if np.isfinite(left) else None)
    search._run_group(group, search.grams)
    return search.outcome


def shared_out(problems: Any, a: np.ndarray) -> np.ndarray:
    """Points for problems in which some variables are held at zero: the heavier side gives, from its free variables.

    Where these have too little, all of the side give. Sums of zero only.
    """
    parts, a = problems.parts, np.where(problems.upper > 0, a, 0.0)
    plus, minus = (parts.sum(np.where(problems.sign * side > 0, a, 0.0)) for side in (1, -1))
    excess = np.where(problems.equality == 1, plus - minus, 0.0)
    heavy = problems.sign * parts.repeat(excess) > 0
    free = heavy & (a < problems.upper)
    mass = parts.sum(np.where(free, a, 0.0))
    enough = mass > np.abs(excess)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_free = parts.repeat(np.where(enough, 1.0 - np.abs(excess) / mass, 1.0))
        of_all = parts.repeat(np.where(enough, 1.0, np.minimum(plus, minus) / np.maximum(plus, minus)))
    return np.where(free, a * of_free, a) * np.where(heavy, of_all, 1.0)


def with_parameters(estimator: Any, cell: dict[str, Any]) -> Any:
    """A copy of the machine with the parameters of a cell; those of the preprocessing are not its own."""
    own = {name: value for name, value in cell.items() if not name.startswith("preprocess")}
    return clone(estimator).set_params(**own)


def with_preprocess(preprocess: Any, shared: dict[str, Any]) -> Any:
    """The preprocessing with the parameters of a cell."""
    preprocess = shared.get("preprocess", preprocess)
    own = {name.partition("__")[2]: value for name, value in shared.items() if name.startswith("preprocess__")}
    return clone(preprocess).set_params(**own) if own else preprocess


def _name(cell: int, folds: list[int]) -> str:
    return f"cell {cell}, folds {','.join(map(str, folds))}"
