"""One machine per pair of classes."""

from itertools import combinations

import numpy as np

from mercer.multiclass.base import Plan, Scheme, Sides

__all__ = ["OneVersusOne"]


class OneVersusOne(Scheme):
    """One machine per pair of classes; the class with most votes wins. [CY §1.3]

    For the pair (i, j), i < j, positive decision values speak for j.
    """

    def sides(self, n_classes: int) -> list[Sides]:
        """All pairs, in lexicographic order."""
        return [Sides((i,), (j,)) for i, j in combinations(range(n_classes), 2)]

    def scores(self, decision: np.ndarray, plan: Plan) -> np.ndarray:
        """Votes, ties broken by the sums of decision values.

        The sums are squashed into (-1/3, 1/3), so that they never outweigh a vote.
        """
        votes = np.zeros((len(decision), plan.n_classes))
        sums = np.zeros_like(votes)
        for k, ((i,), (j,)) in enumerate(plan.sides):
            wins = decision[:, k] > 0
            votes[:, j] += wins
            votes[:, i] += ~wins
            sums[:, j] += decision[:, k]
            sums[:, i] -= decision[:, k]
        return votes + sums / (3.0 * (np.abs(sums) + 1.0))
