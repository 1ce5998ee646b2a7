"""Cross-validation over one Gram matrix: the problems of all folds, and the decision values of what they held out."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.calibration import HeldOut
from mercer.errors import InfeasibleError
from mercer.gram import Gram
from mercer.multiclass import Plan
from mercer.problems import DualProblem
from mercer.solvers import SolverResult, combine, warn_unless_solved

__all__ = ["Folds"]


class Folds:
    """The problems of a classifier for every fold, over the Gram matrix of all its samples.

    Parameters
    ----------
    machine : SupportVectorClassifier
        Makes the problems and reads their results.
    gram, plan, codes, weight :
        Of all samples: the kernel matrix, the scheme, class numbers (-1: takes no part) and weights.
    splits : list of (train, test)
        Numbers of samples with a class.
    """

    def __init__(
        self,
        machine: Any,
        gram: Gram,
        plan: Plan,
        codes: np.ndarray,
        weight: np.ndarray,
        splits: Sequence[tuple[np.ndarray, np.ndarray]],
    ):
        self.machine, self.gram, self.plan, self.codes, self.weight = machine, gram, plan, codes, weight
        self.splits = splits
        self.problems: list[list[DualProblem]] = []
        for train, _ in splits:
            inside = np.full(len(codes), -1)
            inside[train] = codes[train]
            try:
                self.problems.append(machine._problems(gram, plan, inside, weight))
            except InfeasibleError as error:
                raise InfeasibleError(f"In a fold of the calibration, {error}") from error

    def held_out(self, results: Sequence[SolverResult], pairs: bool) -> HeldOut:
        """Decision values of the samples that each fold held out, from the solutions of all problems in order.

        One column per pair of classes for the samples of the pair, or what the decision function gives.
        """
        values, start = [], 0
        for problems, (_, test) in zip(self.problems, self.splits, strict=True):
            solved = results[start : start + len(problems)]
            start += len(problems)
            values.append((self._of_pairs if pairs else self._of_scores)(problems, solved, test))
        index = np.concatenate([test for _, test in self.splits])
        return HeldOut(np.concatenate(values), self.codes[index], self.weight[index])

    def warn(self, results: Sequence[SolverResult]) -> None:
        """Tell of folds that are not solved."""
        warn_unless_solved(combine(results), f"A fold of {type(self.machine).__name__}")

    def _models(self, problems: Sequence[DualProblem], results: Sequence[SolverResult]):
        """Support, coefficients and offset of every problem."""
        for problem, result in zip(problems, results, strict=True):
            coefficients, offset, _ = self.machine._model(problem, result)
            support = np.flatnonzero(coefficients)
            yield problem.index[support], coefficients[support], offset

    def _of_pairs(self, problems, results, test: np.ndarray) -> np.ndarray:
        """Every pair for its own classes, NaN elsewhere: K[test, support] is needed in small pieces only."""
        values = np.full((len(test), len(problems)), np.nan)
        for k, (support, coefficients, offset) in enumerate(self._models(problems, results)):
            negative, positive = self.plan.sides[k]
            rows = np.flatnonzero(np.isin(self.codes[test], (*negative, *positive)))
            values[rows, k] = self.gram.dot_part(test[rows], support, coefficients[:, np.newaxis])[:, 0] + offset
        return values

    def _of_scores(self, problems, results, test: np.ndarray) -> np.ndarray:
        """All problems for all samples, over kernel values computed once."""
        models = list(self._models(problems, results))
        together = np.unique(np.concatenate([support for support, _, _ in models]))
        coefficients = np.zeros((len(together), len(models)))
        for k, (support, values, _) in enumerate(models):
            coefficients[np.searchsorted(together, support), k] = values
        raw = self.gram.dot_part(test, together, coefficients) + np.array([offset for *_, offset in models])
        return raw[:, 0] if self.plan.n_classes == 2 else self.plan.scores(raw)
