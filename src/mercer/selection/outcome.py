"""What a search has found."""

from dataclasses import dataclass, field, replace

import numpy as np

__all__ = ["Outcome"]


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
    """"solved" or why not, shape (n_cells, n_folds); empty where nothing is known."""
    failures: dict[int, str] = field(default_factory=dict)
    """Of cells that have no solution, why."""
    values: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)
    """Values of all functions for what fold k holds out, by (cell, k), where they are kept."""

    @classmethod
    def unknown(cls, n_scores: int, n_cells: int, n_folds: int) -> "Outcome":
        """Nothing is known."""
        shape = (n_cells, n_folds)
        return cls(np.full((n_scores, *shape), np.nan), np.zeros(shape), np.zeros(shape), np.full(shape, "", object))

    def with_more(self, n_cells: int) -> "Outcome":
        """The same with room for further cells."""
        more = Outcome.unknown(self.scores.shape[0], n_cells, self.scores.shape[2])
        return replace(
            self,
            scores=np.concatenate([self.scores, more.scores], axis=1),
            fit_seconds=np.concatenate([self.fit_seconds, more.fit_seconds]),
            score_seconds=np.concatenate([self.score_seconds, more.score_seconds]),
            status=np.concatenate([self.status, more.status]),
        )

    def take_over(self, other: "Outcome") -> None:
        """What another search of the same cells has found."""
        known = other.status != ""
        self.scores[:, known] = other.scores[:, known]
        self.fit_seconds[known], self.score_seconds[known] = other.fit_seconds[known], other.score_seconds[known]
        self.status[known] = other.status[known]
        self.failures.update(other.failures)
        self.values.update(other.values)

    @property
    def done(self) -> np.ndarray:
        """Which cells are known on every fold, shape (n_cells,)."""
        return (self.status != "").all(axis=1)

    @property
    def means(self) -> np.ndarray:
        """Mean scores over the folds, shape (n_scores, n_cells)."""
        return self.scores.mean(axis=2)
