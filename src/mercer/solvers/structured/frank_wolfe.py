"""Block-coordinate Frank-Wolfe, with memory."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from mercer.parameters import Choice, Number
from mercer.solvers.structured.base import StructuredRun, StructuredSolver
from mercer.solvers.structured.planes import PlaneSet

__all__ = ["BlockFrankWolfe"]

# Samples that are looked at with the same w; those after the first know a little less, and all may run at once.
BATCH = 8
# Passes over known planes after one over all outputs, as long as each gains this part of what that one did.
CACHED_PASSES, CACHED_GAIN = 20, 0.1
# One pass of so many is over all samples; the others choose by what samples have left to gain.
FULL_PASSES = 5


class BlockFrankWolfe(StructuredSolver):
    """Block-coordinate Frank-Wolfe over the dual, which remembers the planes it has found. [1]_

    One sample at a time is asked for its highest plane at w. Its multipliers, of this plane and of those found before,
    are then set to their exact optimum given those of all other samples: more than a step towards the new plane, as
    the method was first described, and as cheap, since all inner products of the planes of a sample are kept [2]_.
    Three things save oracle calls: samples are chosen as often as they have something to gain, by the gap that they had
    when they were last asked [2]_; passes over the planes that are known go between those over all outputs as long as
    they pay [3]_; and the mean of all points so far, later ones counting more, is judged if it is closer to the
    optimum.

    Parameters
    ----------
    gap_tol, max_iter, max_seconds
        See `StructuredSolver`.
    sampling : {"gap", "uniform"}, default="gap"
        How samples are chosen.
    cached_passes : int >= 0, default=20
        Most passes over known planes for each one over all outputs.
    averaging : bool, default=False
        Judge the mean of the points instead of the last one.
    random_state : int, RandomState or None, default=0
        The order of the samples.

    Notes
    -----
    Oracle calls are made in batches of eight with one w, at the same time if there are threads for them; the result
    does not depend on how many. Memory: the planes with a multiplier, some for each sample.

    References
    ----------
    .. [1] S. Lacoste-Julien, M. Jaggi, M. Schmidt, P. Pletscher, Block-coordinate Frank-Wolfe optimization for
       structural SVMs, ICML 2013.
    .. [2] A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. Dokania, S. Lacoste-Julien, Minding the gaps for block
       Frank-Wolfe optimization of structured SVMs, ICML 2016.
    .. [3] N. Shah, V. Kolmogorov, C. H. Lampert, A multi-plane block-coordinate Frank-Wolfe algorithm for training
       structural SVMs with a costly max-oracle, CVPR 2015.
    """

    _parameters: ClassVar[dict[str, Any]] = StructuredSolver._parameters | {
        "sampling": Choice("gap", "uniform"),
        "cached_passes": Number(0, integer=True),
        "averaging": Choice(True, False),
    }

    def __init__(
        self,
        *,
        gap_tol=1e-3,
        max_iter=1000,
        max_seconds=None,
        sampling="gap",
        cached_passes=CACHED_PASSES,
        averaging=False,
        random_state=0,
    ):
        super().__init__(gap_tol=gap_tol, max_iter=max_iter, max_seconds=max_seconds)
        self.sampling = sampling
        self.cached_passes = cached_passes
        self.averaging = averaging
        self.random_state = random_state

    def _run(self, run: StructuredRun, w: np.ndarray) -> None:
        problem, random = run.problem, check_random_state(self.random_state)
        known, n_passes = PlaneSet.of(problem), 0
        planes = run.judge(w, None if w.any() else 0.0)
        gaps, gain = known.visit(np.arange(problem.n), planes)
        while run.status is None:
            self._revisit(known, random, problem.n, gain)
            full = self.sampling == "uniform" or n_passes % FULL_PASSES == 0
            order = random.permutation(problem.n) if full else _by_gap(random, gaps)
            n_passes, gain = n_passes + 1, 0.0
            for first in range(0, problem.n, BATCH):
                batch = order[first : first + BATCH]
                gaps[batch], more = known.visit(batch, run.look(known.w, batch))
                gain += more
                if run.status == "max_seconds":
                    break
            if run.status is not None or (full and float(gaps.sum()) <= run.wanted):
                w, loss = known.averaged() if self.averaging else known.point()
                planes = run.judge(w, loss)
                if run.status is None:
                    if not self.averaging:
                        gaps = known.gaps(problem.cost, np.maximum(0.0, planes.values(w)))
                    gain += known.visit(np.arange(problem.n), planes)[1]

    def _revisit(self, known: PlaneSet, random: np.random.RandomState, n: int, gain: float) -> None:
        for _ in range(self.cached_passes):
            if known.visit(random.permutation(n))[1] <= CACHED_GAIN * gain:
                break


def _by_gap(random: np.random.RandomState, gaps: np.ndarray) -> np.ndarray:
    """As many samples as there are, each as often as its gap is large."""
    total = float(gaps.sum())
    if not total > 0:
        return random.permutation(len(gaps))
    return random.choice(len(gaps), size=len(gaps), p=gaps / total)
