"""Semi-infinite linear programming: column generation."""

from mercer.solvers.kernel_weights.base import KernelWeightsSolver, Search
from mercer.solvers.kernel_weights.cuts import Cuts

__all__ = ["SemiInfinite"]


class SemiInfinite(KernelWeightsSolver):
    """Column generation: the lowest point of all cuts so far is tried next. [CY eqs 3.57-3.63] [1]_

    Every trial is a cut, a linear function below J. The weights where the largest of them is smallest come from a
    linear programme, solved by HiGHS.

    Parameters
    ----------
    gap_tol, tol, max_iter, max_seconds, memory, n_threads
        See `KernelWeightsSolver`.

    Notes
    -----
    A trial costs a machine, started from the last one, a pass over the kernel matrices with weight, and a linear
    programme with a row for every trial that still matters. Many trials may be needed.

    References
    ----------
    .. [1] S. Sonnenburg, G. Rätsch, C. Schäfer, B. Schölkopf, Large scale multiple kernel learning, JMLR 7, 2006.
    """

    _simplex_only = True

    def _run(self, search: Search) -> None:
        cuts = Cuts(search)
        while True:
            weights = cuts.lowest()
            if search.status is not None:
                return
            cuts.try_weights(weights)
