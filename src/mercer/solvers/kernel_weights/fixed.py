"""Weights that are given: how good they are."""

from mercer.solvers.kernel_weights.base import Callback, KernelWeightsResult, KernelWeightsSolver, Search

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
        search.try_weights(problem.weights.uniform(len(problem.stack)) if start is None else start)
        return search.result("fixed", search.certify(as_tried=True))

    def _run(self, search):
        """There is nothing to search."""
