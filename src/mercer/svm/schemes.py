"""Several classes from machines for two."""

from itertools import combinations

import numpy as np

__all__ = ["OneVersusOne"]


class OneVersusOne:
    """One machine per pair of classes; the class with most votes wins. [CY §1.3]

    For the pair (i, j), i < j, positive decision values speak for j.

    Parameters
    ----------
    n_classes : int
    """

    def __init__(self, n_classes: int):
        self.n_classes = n_classes
        self.pairs = list(combinations(range(n_classes), 2))

    def problems(self, codes: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Per machine the samples that take part and their signs, from class numbers (-1: takes no part)."""
        members = [np.flatnonzero(codes == c) for c in range(self.n_classes)]
        tasks = []
        for i, j in self.pairs:
            index = np.sort(np.concatenate([members[i], members[j]]))
            tasks.append((index, np.where(codes[index] == j, 1.0, -1.0)))
        return tasks

    def scores(self, decision: np.ndarray) -> np.ndarray:
        """Scores per class, shape (n, n_classes): votes, ties broken by the sums of decision values.

        The sums are squashed into (-1/3, 1/3), so that they never outweigh a vote.
        """
        votes = np.zeros((len(decision), self.n_classes))
        sums = np.zeros_like(votes)
        for k, (i, j) in enumerate(self.pairs):
            wins = decision[:, k] > 0
            votes[:, j] += wins
            votes[:, i] += ~wins
            sums[:, j] += decision[:, k]
            sums[:, i] -= decision[:, k]
        return votes + sums / (3.0 * (np.abs(sums) + 1.0))
