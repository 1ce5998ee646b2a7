"""Weights that are given: how good they are."""

from mercer.solvers.base import Callback
from mercer.solvers.kernel_weights.base import KernelWeightsResult, KernelWeightsSolver, Search, checked_start

__all__ = ["FixedWeights"]


class FixedWeights(KernelWeightsSolver):
    """No search: the machines at the first weights, with the bounds that they prove for all others.

    The status is "fixed", whatever the gap to the best weights is.

    Parameters
    ----------
    gap_tol, tol, max_iter, max_seconds, memory, n_threads
        See `KernelWeightsSolver`.

    Notes
    -----
    One machine and a pass over the kernel matrices.
    """

    def solve(self, problem, start=None, callback: Callback | None = None) -> KernelWeightsResult:
        self.check(problem)
        search = Search(problem, self, callback)
        n_kernels = len(problem.stack)
        weights = problem.weights.uniform(n_kernels) if start is None else checked_start(start, n_kernels)
        if problem.stack.stores_exact_sums:
            return search.result("fixed", search.try_exactly(weights))
        search.try_weights(weights)  # its rows are cheaper than exact ones that are computed one by one
        return search.result("fixed", search.certify(as_tried=True))

    def _run(self, search):
        """There is nothing to search."""
