"""Semi-infinite linear programming: column generation."""

import numpy as np
from scipy.optimize import linprog

from mercer.problems import KernelWeightsProblem, Simplex
from mercer.solvers.kernel_weights.base import KernelWeightsSolver, Search, Trial

__all__ = ["SemiInfinite"]


class SemiInfinite(KernelWeightsSolver):
    """Column generation: the lowest point of all cuts so far is tried next. [CY eqs 3.57-3.63; 1]_

    Every trial is a cut, a linear function below J. The weights where the largest of them is smallest come from a
    linear programme, solved by HiGHS.

    Parameters
    ----------
    gap_tol, tol, max_iter, max_seconds, memory, n_threads
        See `KernelWeightsSolver`.

    Notes
    -----
    A trial costs a machine, started from the last one, a pass over the kernel matrices with weight, and a linear
    programme with a row for every trial so far. Many trials may be needed.

    References
    ----------
    .. [1] S. Sonnenburg, G. Rätsch, C. Schäfer, B. Schölkopf, Large scale multiple kernel learning, JMLR 7, 2006.
    """

    def check(self, problem: KernelWeightsProblem) -> None:
        super().check(problem)
        if not isinstance(problem.weights, Simplex):
            raise ValueError(f"SemiInfinite needs weights on the simplex, got {type(problem.weights).__name__}.")

    def _run(self, search: Search) -> None:
        assert search.best is not None
        cuts = [search.best]
        while search.status is None:
            weights = lowest_of_cuts(cuts)
            cuts.append(search.try_weights(weights))


def lowest_of_cuts(cuts: list[Trial]) -> np.ndarray:
    """The weights of the simplex where the largest of the cuts is smallest. [CY eqs 3.60-3.62]"""
    size = max(abs(cut.linear) for cut in cuts) or 1.0
    energies, linear = np.array([cut.energies for cut in cuts]), np.array([cut.linear for cut in cuts])
    # In the unit of the objective: minimise t with linear - S'd <= t.
    rows = np.column_stack([-energies / size, -np.ones(len(cuts))])
    p = energies.shape[1]
    found = linprog(
        np.eye(1, p + 1, p)[0],
        A_ub=rows,
        b_ub=-linear / size,
        A_eq=np.append(np.ones(p), 0.0)[np.newaxis],
        b_eq=[1.0],
        bounds=[(0.0, None)] * p + [(None, None)],
        method="highs",
    )
    weights = np.maximum(0.0, found.x[:p])
    return weights / weights.sum()
