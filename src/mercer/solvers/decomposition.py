"""Decomposition: the native solver with blocks of a given size."""

from typing import Any, ClassVar

from mercer.parameters import Number
from mercer.solvers.base import SolverResults
from mercer.solvers.smo import SMO

__all__ = ["Decomposition"]


class Decomposition(SMO):
    """Decomposition: of all variables, those of q points are optimised at a time. [CY §1.5]

    The q points that violate the optimality conditions most form a block; the variables of all others stay as they are
    while the block is optimised, and their gradient follows when it is done. With ``q=2`` this is sequential minimal
    optimisation in its first form, with q as large as the number of samples it is one quadratic programme.

    `SMO` does the same and chooses the size of its blocks itself, as they turn out; this solver is there to see what
    the size means.

    Parameters
    ----------
    q : int >= 2, default=64
        Points in a block; a pair for each equality at least. Larger means fewer passes over all points, and more work
        in each block.
    tol, gap_tol, pair_rule, shrinking, memory, max_iter, max_seconds, n_threads, precision
        As in `SMO`.

    See Also
    --------
    SMO : Blocks of a size that suits the problem.
    Chunking : A set that grows and shrinks.

    Notes
    -----
    A step costs O(q); a pass costs O(n) kernel values for every point that moved. Memory is O(n + q^2).

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 1.5.
    .. [2] T. Joachims, Making large-scale support vector machine learning practical, in Advances in Kernel Methods,
       1999.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.datasets import load_ionosphere
    >>> from mercer.solvers import Decomposition
    >>> X, y = load_ionosphere(return_X_y=True)
    >>> pairs, blocks = (SVC(solver=Decomposition(q)).fit(X, y).result_ for q in (2, 128))
    >>> pairs.status == blocks.status == "solved" and pairs.kernel_evaluations >= blocks.kernel_evaluations
    True
    """

    _parameters: ClassVar[dict[str, Any]] = {"q": Number(2, integer=True), **SMO._parameters}

    def __init__(
        self,
        q=64,
        *,
        tol=1e-3,
        gap_tol=None,
        pair_rule="gain",
        shrinking=True,
        memory="auto",
        max_iter=None,
        max_seconds=None,
        n_threads=None,
        precision="auto",
    ):
        super().__init__(
            tol=tol,
            gap_tol=gap_tol,
            pair_rule=pair_rule,
            shrinking=shrinking,
            memory=memory,
            max_iter=max_iter,
            max_seconds=max_seconds,
            n_threads=n_threads,
            precision=precision,
        )
        self.q = q

    @property
    def _block(self) -> int:  # type: ignore[override]
        return int(self.q)

    def _run(self, *args: Any, **options: Any) -> SolverResults:
        """The native call; a limit met inside the last block of all was in nobody's way."""
        results = super()._run(*args, **options)
        if self.gap_tol is None:
            met = (results.status == "max_iter") & (results.violation <= self.tol)
            results.status[met] = "solved"
        return results
