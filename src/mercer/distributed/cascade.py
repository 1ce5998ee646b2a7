"""A cascade of exact solvers: blocks on their workers, what supports them up a tree, a certificate over all samples."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from mercer.distributed.engine import computed, kept, sent_once, task, task_memory
from mercer.distributed.gram import DaskGram
from mercer.gram import make_gram
from mercer.kernels.base import Kernel
from mercer.kernels.samples import n_samples, take, together
from mercer.problems import DualProblem, DualProblems
from mercer.solvers import SMO, StreamingSMO
from mercer.solvers.base import Callback, SolverResult

__all__ = ["Cascade"]

# How exactly problems of a part of the samples are solved: which samples support them does not take more.
ROUGH_TOL = 1e-2
# Of a part with one class alone nothing is learnt: so many of its samples are handed on as they are.
WITHOUT_OTHERS = 64


class Cascade(StreamingSMO):
    r"""A cascade of exact solvers, for samples in blocks on workers. [1]_

    1. Every block is a problem of its own, which `SMO` solves on the worker that has the block.
    2. What supports two neighbouring solutions makes the next problem, which begins at these, and so on up a tree, as
       long as what comes together is no more than `memory` has room for. Multipliers of different blocks are
       multipliers of all, and satisfy the constraints.
    3. From there on it is `StreamingSMO`: a pass over all blocks says where these stand among all samples, and what
       violates the optimality conditions is fetched and worked on, again and again, until violation and duality gap
       over all samples are as small as wanted.

    Problems whose equality has another value than zero have no multipliers of a block alone: they begin with the third
    part.

    Parameters
    ----------
    tol, gap_tol, size, pair_rule, shrinking, memory, max_iter, max_seconds, n_threads, precision
        As those of `StreamingSMO`. Tasks on workers have one thread each.

    See Also
    --------
    mercer.solvers.StreamingSMO : The same on one machine, beginning with some of the samples.

    Notes
    -----
    Blocks of b samples take O(b d n_support) each, side by side. Samples that support nothing never travel.

    References
    ----------
    .. [1] H. P. Graf, E. Cosatto, L. Bottou, I. Dourdanovic, V. Vapnik, Parallel support vector machines: the cascade
       SVM, NIPS 2004.

    Examples
    --------
    >>> import dask.array
    >>> import numpy as np
    >>> from mercer.distributed import Cascade, DaskGram, DaskRows
    >>> from mercer.kernels import Linear
    >>> from mercer.problems import soft_margin
    >>> X = dask.array.from_array(np.array([[0.0], [3.0], [1.0], [2.0]]), chunks=(2, 1))
    >>> gram = DaskGram(Linear(), DaskRows(X))
    >>> problem = soft_margin(gram, np.array([-1.0, 1.0, -1.0, 1.0]), np.full(4, 10.0))
    >>> Cascade().solve(problem).a.round(3)
    array([0., 0., 2., 2.])
    """

    def solve_many(  # type: ignore[override]
        self,
        problems: Sequence[DualProblem],
        starts: Sequence[np.ndarray | None] | None = None,
        callback: Callback | None = None,
    ) -> list[SolverResult]:
        """Solve problems over one `DaskGram`, side by side.

        Parameters as in `solve`.
        """
        if not len(problems):
            return []
        self.check(problems[0])
        every = DualProblems.of(problems)
        if not isinstance(every.gram, DaskGram):
            raise ValueError(f"Cascade needs a DaskGram, got a {type(every.gram).__name__}; see StreamingSMO.")
        known = starts is not None and any(start is not None for start in starts)
        if known or every.totals.any():
            return super().solve_many(every, starts, callback)
        began = time.perf_counter()
        first, n_iter, evaluations = _Tree(self, every).climb()
        rest = clone(self)
        if self.max_seconds is not None:
            rest.max_seconds = max(1e-9, self.max_seconds - (time.perf_counter() - began))
        seconds = time.perf_counter() - began
        results = StreamingSMO.solve_many(rest, every, first, callback)
        return [
            replace(
                result,
                n_iter=result.n_iter + int(n_iter[k]),
                kernel_evaluations=result.kernel_evaluations + int(evaluations[k]),
                seconds=result.seconds + seconds,
                history=replace(result.history, iteration=result.history.iteration + n_iter[k]),
            )
            for k, result in enumerate(results)
        ]


class Part(NamedTuple):
    """Some variables of a problem."""

    variables: np.ndarray
    """Their numbers in the problem."""
    samples: np.ndarray
    """Those of the node that they belong to."""
    sign: np.ndarray
    linear: np.ndarray
    upper: np.ndarray
    ridge: np.ndarray
    a: np.ndarray
    """Where they are."""

    def some(self, which: np.ndarray) -> "Part":
        """Some of them."""
        return Part(*(values[which] for values in self))


@dataclass(frozen=True, eq=False)
class Node:
    """Samples, and of every problem the variables of these."""

    X: Any
    parts: list[Part]
    n_iter: np.ndarray
    evaluations: np.ndarray

    def without_idle_samples(self) -> "Node":
        """The same with the samples that some variable has."""
        used = np.unique(np.concatenate([part.samples for part in self.parts]))
        parts = [part._replace(samples=np.searchsorted(used, part.samples)) for part in self.parts]
        return replace(self, X=take(self.X, used), parts=parts)


class Task(NamedTuple):
    """What all nodes are solved with."""

    kernel: Kernel
    bias: list[bool]
    """Whether the problems have an equality."""
    solver: SMO
    memory: float | str


class _Tree:
    """The nodes of a level, on the workers, and what is solved with them."""

    def __init__(self, solver: Cascade, problems: DualProblems):
        self.solver, self.problems = solver, problems
        self.gram: DaskGram = problems.gram  # type: ignore[assignment]
        self.began = time.perf_counter()
        names = ("pair_rule", "shrinking", "precision", "max_iter")
        parameters = {name: getattr(solver, name) for name in names}
        smo = SMO(tol=max(ROUGH_TOL, solver.tol), n_threads=1, **parameters)
        bias = (problems.equality != 0).tolist()
        self.task = Task(self.gram.kernel, bias, smo, solver.memory)

    def climb(self) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
        """Multipliers for all problems, with the steps and kernel values that they took."""
        nodes, most = self._leaves(), max(2, self.gram.room(self.solver.memory))
        while True:
            nodes = kept(nodes)
            sizes = computed([task(_size, node) for node in nodes])
            pairs = [(k, k + 1) for k in range(0, len(nodes) - 1, 2) if sizes[k] + sizes[k + 1] <= most]
            if not pairs or self._over:
                break
            joined = dict(pairs)
            merged, shared = [], sent_once(self._limited)
            for k, node in enumerate(nodes):
                if k in joined:
                    merged.append(task(_merged, shared, node, nodes[joined[k]]))
                elif k - 1 not in joined:
                    merged.append(node)
            nodes = merged
        found = [np.zeros(len(problem.index)) for problem in self.problems]
        counts = np.zeros((2, len(found)), dtype=np.int64)
        for n_iter, evaluations, points in computed([task(_points, node) for node in nodes]):
            counts += n_iter, evaluations
            for a, (variables, values) in zip(found, points, strict=True):
                a[variables] = values
        return found, *counts

    @property
    def _over(self) -> bool:
        limit = self.solver.max_seconds
        return limit is not None and time.perf_counter() - self.began > limit

    @property
    def _limited(self) -> Task:
        """The task with what is left of the time."""
        if self.solver.max_seconds is None:
            return self.task
        left = max(1e-9, self.solver.max_seconds - (time.perf_counter() - self.began))
        return self.task._replace(solver=clone(self.task.solver).set_params(max_seconds=left))

    def _leaves(self) -> list[Any]:
        """A node for every block, solved where the block is."""
        shared = sent_once(self._limited)
        return [made for _, made in self.gram.X.each(_leaf, lambda k, place, own: (shared, self._parts(place)))]

    def _parts(self, place: slice) -> list[Part]:
        """The variables of a stretch of samples."""
        parts = []
        for problem in self.problems:
            which = np.flatnonzero((problem.index >= place.start) & (problem.index < place.stop))
            whole = Part(
                np.arange(len(problem.index)),
                problem.index - place.start,
                problem.sign,
                problem.linear,
                problem.upper,
                problem.ridge,
                np.zeros(len(problem.index)),
            )
            parts.append(whole.some(which))
        return parts


# --- on workers -------------------------------------------------------------------------------------------


def _leaf(block: Any, shared: Task, parts: list[Part]) -> Node:
    nothing = np.zeros(len(parts), dtype=np.int64)
    return _solved(shared, Node(block, parts, nothing, nothing))


def _merged(shared: Task, one: Node, other: Node) -> Node:
    shift = n_samples(one.X)
    parts = [
        Part(*map(np.concatenate, zip(a, b._replace(samples=b.samples + shift), strict=True)))
        for a, b in zip(one.parts, other.parts, strict=True)
    ]
    counts = one.n_iter + other.n_iter, one.evaluations + other.evaluations
    return _solved(shared, Node(together(one.X, other.X), parts, *counts))


def _solved(shared: Task, node: Node) -> Node:
    """The node with what supports the solutions of its problems."""
    node = node.without_idle_samples()
    # Without the other side, an equality leaves nothing but zero.
    able = [
        k
        for k, (part, bias) in enumerate(zip(node.parts, shared.bias, strict=True))
        if len(part.a) and (not bias or part.sign.min() < part.sign.max())
    ]
    parts, n_iter, evaluations = list(node.parts), node.n_iter.copy(), node.evaluations.copy()
    memory = task_memory(shared.memory)
    if able:
        gram = make_gram(shared.kernel, node.X, memory)
        problems = [
            DualProblem(gram, p.samples, p.sign, p.linear, p.upper, p.ridge, 0.0 if shared.bias[k] else None)
            for k, p in ((k, parts[k]) for k in able)
        ]
        solver = clone(shared.solver).set_params(memory=memory)
        for k, result in zip(able, solver.solve_many(problems, [parts[k].a for k in able]), strict=True):
            n_iter[k] += result.n_iter
            evaluations[k] += result.kernel_evaluations
            parts[k] = parts[k]._replace(a=result.a).some(np.flatnonzero(result.a))
    for k in set(range(len(parts))) - set(able):
        evenly = np.linspace(0, len(parts[k].a) - 1, min(WITHOUT_OTHERS, len(parts[k].a)))
        parts[k] = parts[k].some(np.unique(evenly.astype(np.int64)))
    return Node(node.X, parts, n_iter, evaluations).without_idle_samples()


def _size(node: Node) -> int:
    return n_samples(node.X)


def _points(node: Node) -> tuple[np.ndarray, np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    return node.n_iter, node.evaluations, [(part.variables, part.a) for part in node.parts]
