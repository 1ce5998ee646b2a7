"""Stochastic subgradient descent, with a proof."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from mercer.parameters import Choice
from mercer.solvers.structured.base import StructuredRun, StructuredSolver

__all__ = ["SubgradientDescent"]

# Samples that are looked at with the same w.
BATCH = 8
# Between two looks at all samples the number of passes grows by this factor.
PATIENCE = 1.2


class SubgradientDescent(StructuredSolver):
    """Stochastic subgradient descent over the primal. [1]_ [2]_

    With the highest plane of sample i at w, the subgradient is :math:`w - n c_i \\psi_i`, and a step of length
    :math:`\\gamma` gives :math:`(1 - \\gamma) w + \\gamma n c_i \\psi_i`: w is always a mean of planes. Here all
    samples are looked at once in a pass, and all steps of pass e count with the weight e in that mean, so that
    :math:`\\gamma` is nearly 2 over the number of steps [3]_. At the end of a pass the shares of the planes of a sample
    then add up to :math:`c_i` exactly, they are a point of the dual, and there is a true gap as for all other solvers.

    It is there for comparison: the gap falls as one over the number of passes, and so 1e-3 takes many.

    Parameters
    ----------
    gap_tol, max_iter, max_seconds
        See `StructuredSolver`.
    averaging : bool, default=True
        Judge the mean of the points after all steps so far, later ones counting more, instead of the last one.
    random_state : int, RandomState or None, default=0
        The order of the samples, anew in every pass.

    Notes
    -----
    Oracle calls are made in batches of eight with one w. The primal objective costs a pass of oracle calls by itself,
    and is looked at ever more rarely. Memory: some vectors of as many entries as there are features.

    References
    ----------
    .. [1] N. Ratliff, J. A. Bagnell, M. Zinkevich, (Online) subgradient methods for structured prediction, AISTATS
       2007.
    .. [2] S. Shalev-Shwartz, Y. Singer, N. Srebro, A. Cotter, Pegasos: primal estimated sub-gradient solver for SVM,
       Mathematical Programming 127, 2011.
    .. [3] S. Lacoste-Julien, M. Schmidt, F. Bach, A simpler approach to obtaining an O(1/t) convergence rate for the
       projected stochastic subgradient method, arXiv:1212.2002, 2012.
    """

    _parameters: ClassVar[dict[str, Any]] = StructuredSolver._parameters | {"averaging": Choice(True, False)}

    def __init__(self, *, gap_tol=1e-3, max_iter=1000, max_seconds=None, averaging=True, random_state=0):
        super().__init__(gap_tol=gap_tol, max_iter=max_iter, max_seconds=max_seconds)
        self.averaging = averaging
        self.random_state = random_state

    def _run(self, run: StructuredRun, w: np.ndarray) -> None:
        n, cost, random = run.problem.n, run.problem.cost, check_random_state(self.random_state)
        psi, loss = run.judge(w, None).mixed(cost)
        # Sums over all steps: of planes, their weights, and points with those weights.
        planes, weights, losses = n * psi, float(n), n * loss
        points, until, epoch = np.zeros_like(w), 0.0, 1
        next_look = 2.0
        while run.status is None:
            epoch += 1
            order = random.permutation(n)
            for first in range(0, n, BATCH):
                batch = order[first : first + BATCH]
                psi, loss = run.look(planes / weights, batch).mixed(n * cost[batch])
                planes, weights, losses = planes + epoch * psi, weights + epoch * len(batch), losses + epoch * loss
                share = epoch * len(batch) / (until + epoch * len(batch))
                points, until = points + share * (planes / weights - points), until + epoch * len(batch)
                if run.status == "max_seconds":
                    break
            else:
                w = planes / weights
                run.prove(losses / weights - 0.5 * float(w @ w))
            if run.status is not None or epoch >= next_look:
                next_look = PATIENCE * epoch
                run.judge(points if self.averaging else planes / weights, None)
