"""What machines share that learn their kernel: a list of kernels in, weights out."""

from collections.abc import Sequence
from copy import copy
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier, is_outlier_detector

from mercer.gram import Gram, GramStack
from mercer.gram.stacks import REPAIRS
from mercer.kernels import Indexed, Kernel, Linear, Sum, as_kernel
from mercer.kernels.samples import n_samples, take
from mercer.mkl.algorithms import rule_for, solver_for
from mercer.mkl.families import Widths
from mercer.mkl.rules import WeightRule
from mercer.parameters import Choice, Number, check_parameters
from mercer.problems import (
    DualProblem,
    Elastic,
    Groups,
    KernelWeightsProblem,
    NormBall,
    Simplex,
    WeightSet,
)
from mercer.solvers import SMO, BlockDescent, SolverResult, warn_unless_solved
from mercer.solvers.base import REMEDIES
from mercer.solvers.kernel_weights import KernelWeightsResult, KernelWeightsSolver, SemiDefinite
from mercer.svm.base import SupportVectorMachine
from mercer.threads import n_workers, side_by_side_elsewhere

__all__ = ["MultipleKernels", "SharedShelf"]

# What to do with kernel matrices.
FOR_MATRICES = "for kernel matrices use [Indexed(K1), Indexed(K2), ...] and give row numbers as X."
# The part of the largest weight that is added to all when a search begins at the weights of another.
RESTART = 1e-3
# What helps a search for weights where it is not what helps a machine.
SEARCH_REMEDIES = REMEDIES | {
    "stalled": "Nothing got better. Take algorithm='auto' or 'smo', lower tol, or raise {tol}",
    "max_iter": "It ran into max_iter. Raise max_iter or {tol}, or fit again with warm_start=True",
    "max_seconds": "It ran into max_seconds. Raise max_seconds or {tol}, or fit again with warm_start=True",
}


class Shelf:
    """Kernel matrices, made for every fit."""

    def stack(self, kernels: list[Kernel], X: Any, weight: np.ndarray, options: dict[str, Any]) -> GramStack:
        """The matrices of kernels, with the options of `GramStack`."""
        return GramStack(kernels, X, sample_weight=weight, **options)


class SharedShelf(Shelf):
    """Those of the last fit are taken again if nothing but the problem has changed; the samples must be the same."""

    def __init__(self) -> None:
        self._last: tuple[Any, GramStack] | None = None

    def stack(self, kernels, X, weight, options):
        if self._last is None or self._last[0] != (kernels, options):
            self._last = ((kernels, options), super().stack(kernels, X, weight, options))
        return self._last[1]


class MultipleKernels(SupportVectorMachine):
    """A support vector machine on a weighted sum of kernels whose weights are learnt with it."""

    kernels: Any
    weights_: np.ndarray
    weights_result_: Any

    _parameters: ClassVar[dict[str, Any]] = SupportVectorMachine._parameters | {
        "norm": Number(1, infinite=True),
        "elastic": Number(0, 1),
        "normalize": Choice("trace", "variance", None),
        "ridge": Number(0, none=True),
        "repair": Choice(*REPAIRS, None),
        "gap_tol": Number(0, above=True),
    }

    # What lives during a fit: the kernel matrices, the weights of the samples, the targets.
    _stack: GramStack
    _counts: np.ndarray
    _targets: Any = None
    # What fits of the same samples have in common, see `weights_path`.
    _shelf: Shelf = Shelf()
    _first_weights: np.ndarray | None = None

    # --- parameters ---------------------------------------------------------------------------------------

    @property
    def _terms(self) -> list[Any]:
        """The kernels, and families of them, that were given."""
        given = self.kernels
        if given is None:
            return [Linear(), Widths()]
        if isinstance(given, Sum):
            return list(given.kernels)
        if isinstance(given, (Kernel, Widths, str)) or callable(given):
            given = [given]
        if hasattr(given, "shape"):
            raise TypeError(f"kernels must be kernels, got an array of shape {given.shape}; {FOR_MATRICES}")
        if not isinstance(given, (list, tuple)) or not given:
            raise TypeError(f"kernels must be a list of kernels, a sum of kernels or None, got {given!r}.")
        return [self._term(k, term) for k, term in enumerate(given)]

    @staticmethod
    def _term(k: int, term: Any) -> Any:
        """One of the kernels in a list."""
        if isinstance(term, Widths):
            return term
        if hasattr(term, "shape"):
            raise TypeError(f"kernels must be kernels, number {k} is an array of shape {term.shape}; {FOR_MATRICES}")
        if isinstance(term, (list, tuple)):
            raise TypeError(f"kernels must be kernels, number {k} is a {type(term).__name__}; {FOR_MATRICES}")
        try:
            return as_kernel(term)
        except (TypeError, ValueError) as error:
            raise type(error)(f"kernels must be kernels, number {k} is none: {error}") from error

    @property
    def kernel(self) -> Kernel:
        """The plain sum of all kernels, to tell what samples they take."""
        return Sum(*(term._kernel if isinstance(term, Widths) else term for term in self._terms))

    @property
    def _precomputed(self) -> bool:
        return False

    def get_params(self, deep=True):
        """Parameters, those of the kernels as ``kernels__0__gamma``.

        Parameters
        ----------
        deep : bool, default=True

        Returns
        -------
        dict
        """
        params = super().get_params(deep=deep)
        if deep and isinstance(self.kernels, (list, tuple)):
            for k, term in enumerate(self.kernels):
                params[f"kernels__{k}"] = term
                if hasattr(term, "get_params"):
                    params |= {f"kernels__{k}__{name}": value for name, value in term.get_params().items()}
        return params

    def set_params(self, **params):
        """Set parameters, those of the kernels as ``kernels__0__gamma``.

        Kernels in a list are copied first: the list may be shared.
        """
        kernels = params.pop("kernels", self.kernels)
        nested = {name: params.pop(name) for name in list(params) if name.startswith("kernels__")}
        if nested and kernels is None:
            raise ValueError(
                f"Invalid parameter {next(iter(nested))!r}: kernels is None, the default ones have no names."
            )
        if nested and isinstance(kernels, (list, tuple)):
            members = [clone(term, safe=False) for term in kernels]
            for name, value in nested.items():
                number, _, rest = name.removeprefix("kernels__").partition("__")
                if not number.isdigit() or int(number) >= len(members):
                    raise ValueError(f"Invalid parameter {name!r}: there are kernels 0 to {len(members) - 1}.")
                if rest:
                    member = members[int(number)]
                    members[int(number)] = (as_kernel(member) if isinstance(member, str) else member).set_params(
                        **{rest: value}
                    )
                else:
                    members[int(number)] = value
            kernels, nested = type(kernels)(members), {}
        super().set_params(kernels=kernels, **nested, **params)
        return self

    def _check_all(self) -> None:
        super()._check_all()
        _ = self.kernel.domain  # refuses what does not go together
        self._check_matrices()
        self._check_algorithm(self._weight_set([1] * len(self._terms)))
        self._check_rule()

    def _check_matrices(self) -> None:
        """Refuse stored matrices of different sizes: a row number would not be the same sample in all of them."""
        terms = enumerate(self._terms)
        sizes = {k: np.shape(term.K)[0] for k, term in terms if isinstance(term, Indexed) and np.ndim(term.K)}
        for k, n_rows in sizes.items():
            if n_rows != sizes[first := min(sizes)]:
                raise ValueError(
                    f"kernels must be matrices of the same rows where they are stored, number {k} has {n_rows}, number "
                    f"{first} has {sizes[first]}."
                )

    def _check_algorithm(self, weights: WeightSet) -> None:
        """Refuse, before anything is computed, an algorithm that does not go with other parameters."""
        solver = self._weights_solver(weights)
        simplex_only = solver._simplex_only or rule_for(self.algorithm) is not None
        if simplex_only and not isinstance(weights, Simplex):
            raise ValueError(
                f"algorithm must not be {self.algorithm!r} where norm, elastic or groups are given: it is for weights "
                "on the simplex, norm=1 alone; 'auto' takes one for any."
            )
        if self._joint and not solver._joint_too:
            raise ValueError(
                f"algorithm must not be {self.algorithm!r} where classes have one objective, as for "
                f"multi_class={self.multi_class!r}; 'auto' takes one that can."
            )
        if isinstance(solver, SemiDefinite):
            solver.check_kernels(self._terms)
            if self.ridge:
                raise ValueError(f"ridge must be None or 0 for algorithm={self.algorithm!r}, got {self.ridge!r}.")

    def _check_rule(self) -> None:
        if (rule := rule_for(self.algorithm)) is None:
            return
        check_parameters(rule)
        if (rule.needs == "classes" and not is_classifier(self)) or (rule.needs and is_outlier_detector(self)):
            raise ValueError(
                f"algorithm must not be {self.algorithm!r} for {type(self).__name__}: it needs {rule.needs}."
            )

    def _weights_solver(self, weights: WeightSet) -> KernelWeightsSolver:
        """The solver that the parameters ask for."""
        names = ("gap_tol", "tol", "max_iter", "max_seconds", "memory", "n_threads")
        limits = {name: getattr(self, name) for name in names}
        return solver_for(self.algorithm, weights, limits, joint=self._joint)

    @property
    def _joint(self) -> bool:
        """Whether there is one objective for several classes."""
        return False

    def _weight_set(self, sizes: Sequence[int]) -> WeightSet:
        """The set of weights; `sizes` says how many kernels each of the terms has become."""
        if self.groups is not None:
            if self.elastic:
                raise ValueError(f"elastic must be 0 where there are groups, got {self.elastic!r}.")
            return Groups(np.repeat(self._group_numbers(), sizes), self.norm)
        if self.elastic:
            if self.norm != 1:
                raise ValueError(f"norm must be 1 where elastic is positive, got {self.norm!r}.")
            return Elastic(self.elastic)
        return Simplex() if self.norm == 1 else NormBall(self.norm)

    def _group_numbers(self) -> list[int]:
        """The group of each term; labels are equal or not, and need no order."""
        labels, n = self.groups, len(self._terms)
        if isinstance(labels, (list, tuple, np.ndarray)) and len(labels) == n and np.ndim(labels) == 1:
            numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
            return [numbers[label] for label in labels]
        raise ValueError(f"groups must be a list with a label for each of {n} kernels, got {labels!r}.")

    # --- the fit ------------------------------------------------------------------------------------------

    def _reads_blocks(self) -> bool:
        return False

    def _take_samples(self, X: Any, y: Any = "no_validation", **check_y: Any) -> Any:
        taken = super()._take_samples(X, y, **check_y)
        self._targets = None if isinstance(y, str) else taken[1]
        return taken

    def _make_gram(self, X: Any, weight: np.ndarray) -> Gram:
        """All kernel matrices; what is returned is their sum with equal weights, until the weights are known."""
        self._counts = weight
        resolved = [self._resolved(k, term, X, weight) for k, term in enumerate(self._terms)]
        self._sizes = [len(members) for members in resolved]
        options = {"scale": self.normalize, "ridge": self._ridge, "memory": self.memory, "repair": self.repair}
        self._stack = self._shelf.stack([kernel for members in resolved for kernel in members], X, weight, options)
        self.kernels_ = self._stack.kernels
        return self._stack.on_demand(self._weight_set(self._sizes).uniform(len(self.kernels_)))

    @staticmethod
    def _resolved(k: int, term: Any, X: Any, weight: np.ndarray) -> list[Kernel]:
        """What one of the terms has become for training samples."""
        try:
            if not isinstance(term, Widths):
                return [term.resolve(X, weight)]
            used = np.flatnonzero(weight)
            return term.kernels(take(X, used), weight[used])
        except ValueError as error:
            raise type(error)(f"Kernel {k}: {error}") from error

    @property
    def _ridge(self) -> float:
        if self.ridge is not None:
            return float(self.ridge)
        return self._weights_solver(self._weight_set(self._sizes)).default_ridge

    def _fit_problems(
        self, problems: Sequence[DualProblem], first: int = 0, n_further: int = 0
    ) -> Sequence[SolverResult]:
        """The weights from all problems together, or from each of them, then the machines on what was learnt."""
        stack = self._stack
        self.factors_ = stack.factors
        last: Any = self._first_weights
        if self.warm_start:
            last = getattr(self, "weights_", last)
        if self._shared:
            found, results = self._learn_weights(problems, last)
            self.weights_, self.weights_result_ = found.weights, found
            self.kernel_ = stack.kernel(found.weights)
            return results
        starts = [None] * len(problems) if last is None or len(last) != len(problems) else list(last)
        learnt = self._learn_side_by_side(list(problems), starts)
        self.weights_ = np.array([found.weights for found, _ in learnt])
        self.weights_result_ = [found for found, _ in learnt]
        self.kernel_ = [stack.kernel(weights) for weights in self.weights_]
        return [result for _, results in learnt for result in results]

    def _learn_side_by_side(
        self, problems: list[DualProblem], starts: Sequence[np.ndarray | None]
    ) -> list[tuple[KernelWeightsResult, Sequence[SolverResult]]]:
        """Weights for every problem by itself; on the workers of a joblib backend, if the caller has chosen one.

        These compute the kernel matrices anew, each its own.
        """
        if n_workers() == 1 or self.callback is not None:
            return [self._learn_weights([one], start) for one, start in zip(problems, starts, strict=True)]
        stack, alone = self._stack, copy(self)
        del alone._stack
        options = {"scale": self.normalize, "ridge": stack.ridge, "memory": self.memory, "repair": self.repair}
        given = (stack.kernels, stack.X, self._counts, options)
        names = [one.name for one in fields(DualProblem) if one.name != "gram"]
        arrays = [{name: getattr(problem, name) for name in names} for problem in problems]
        tasks = [(alone, given, one, start) for one, start in zip(arrays, starts, strict=True)]
        return side_by_side_elsewhere(_learn_alone, tasks)

    @property
    def _shared(self) -> bool:
        """Whether all problems have the same weights."""
        return True

    def _learn_weights(
        self, problems: Sequence[DualProblem], start: np.ndarray | None
    ) -> tuple[KernelWeightsResult, Sequence[SolverResult]]:
        """The weights that some problems share, and the machines on the sum."""
        stack = self._stack
        problem = KernelWeightsProblem(stack, problems, self._weight_set(self._sizes))
        if (rule := rule_for(self.algorithm)) is not None:
            start = self._ruled(rule)
        elif start is not None:  # what is zero would stay so in some algorithms, and "sdp" leaves less than that
            start = np.maximum(start, 0.0) + RESTART * start.max() if start.shape == (len(stack),) else None
        found = self._weights_solver(problem.weights).solve(problem, start, self.callback)
        if not stack.ridge:
            return found, found.parts
        # The ridge was there to learn the weights; the machine has none. And max_iter counts weights, not its steps.
        solver: Any = self._solver()
        if isinstance(solver, SMO | BlockDescent) and solver is not self.solver:
            solver.set_params(max_iter=None)
        over = problem.over(stack.exact(found.weights, ridged=False))
        return found, [solver.solve(one, part.a) for one, part in zip(over, found.parts, strict=True)]

    # --- the model ----------------------------------------------------------------------------------------

    def _compared(self, X: Any) -> tuple[Any, Any]:
        # With weights of their own the machines have no kernel in common that could prepare samples.
        return super()._compared(X) if self.weights_.ndim == 1 else (X, self.support_vectors_)

    def _expansions_of(self, X: Any, Y: Any, rows: Any) -> np.ndarray:
        if self.weights_.ndim == 1:
            return super()._expansions_of(X, Y, rows)
        values, rows = np.zeros((n_samples(X), rows.shape[0])), rows.toarray() if issparse(rows) else rows
        for kernel, shares in zip(self.kernels_, (self.weights_ * self.factors_).T, strict=True):
            if shares.any() and len(self.support_):
                values += kernel.dot(X, Y, (shares[:, np.newaxis] * rows).T)
        return values

    def _ruled(self, rule: WeightRule) -> np.ndarray:
        """The weights that a rule gives to the kernels."""
        targets = self._targets
        if targets is not None and not is_classifier(self):
            targets = np.reshape(targets, (len(targets), -1))  # numbers, also where they are integers
        given = rule.solve(self._stack, targets, self._counts)
        if self._warns:
            warn_unless_solved(given, f"The rule {type(rule).__name__} of {type(self).__name__}")
        return given.weights

    def _keep_support(self, X: Any) -> None:
        super()._keep_support(X)
        for name in ("_stack", "_sizes", "_counts", "_targets"):
            self.__dict__.pop(name, None)

    def _warn_unless_solved(self) -> None:
        super()._warn_unless_solved()
        results = [self.weights_result_] if self._shared else self.weights_result_
        for result in results:
            if self._warns and result.status != "fixed":
                warn_unless_solved(
                    result, f"The search of {type(self).__name__} for weights", "gap_tol", SEARCH_REMEDIES
                )


def _learn_alone(
    machine: MultipleKernels, given: tuple, arrays: dict[str, Any], start: np.ndarray | None
) -> tuple[KernelWeightsResult, Sequence[SolverResult]]:
    """The weights for one problem, by a copy of the machine that has its own kernel matrices."""
    kernels, X, weight, options = given
    machine = copy(machine)
    machine._stack = stack = GramStack(kernels, X, sample_weight=weight, **options)
    gram = stack.on_demand(machine._weight_set(machine._sizes).uniform(len(stack)))
    return machine._learn_weights([DualProblem.of_checked(gram=gram, **arrays)], start)
