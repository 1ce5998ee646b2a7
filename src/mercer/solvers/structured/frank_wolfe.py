"""Block-coordinate Frank-Wolfe, with memory."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from mercer.parameters import Choice, Number
from mercer.solvers.structured.base import ROUNDING, StructuredRun, StructuredSolver
from mercer.solvers.structured.planes import PlaneSet

__all__ = ["BlockFrankWolfe"]

# Samples of one of so many batches in a pass are looked at with the same w, and all at once if there are threads.
BATCHES = 32
# Passes over known planes at a stretch; another stretch follows if the last one gained this part of what a pass over
# all outputs did, until this part of the gap is left.
STRETCH, CACHED_GAIN, CACHED_SHARE = 10, 0.3, 0.1
# One pass of so many is over all samples; the others choose by what samples have left to gain.
FULL_PASSES = 2


class BlockFrankWolfe(StructuredSolver):
    """Block-coordinate Frank-Wolfe over the dual, which remembers the planes it has found. [1]_

    One sample at a time is asked for its highest plane at w. Its multipliers, of this plane and of those found before,
    are then set to their exact optimum given those of all other samples: more than a step towards the new plane, as
    the method was first described, and as cheap, since all inner products of the planes of a sample are kept [2]_.
    Two things save oracle calls: in every other pass samples are chosen as often as they have something to gain, by the
    gap that they had when they were last asked [2]_; and between passes over all outputs go passes over the planes that
    are known, as long as they gain much [3]_.

    Parameters
    ----------
    gap_tol, max_iter, max_seconds
        See `StructuredSolver`.
    sampling : {"gap", "uniform"}, default="gap"
        How samples are chosen.
    cached_passes : int >= 0, default=1000
        Most passes over known planes for each one over all outputs.
    averaging : bool, default=False
        Judge the mean of all points, later ones counting more, instead of the last one. With steps as exact as these
        the last one is better as a rule.
    random_state : int, RandomState or None, default=0
        The order of the samples.

    Notes
    -----
    The oracle calls of a pass are made in 32 batches, each with one w and at the same time if there are threads for
    them; the result does not depend on how many. Memory: the planes with a multiplier, some for each sample.

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
        cached_passes=1000,
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
        known, everyone, n_passes = PlaneSet.of(problem), np.arange(problem.n), 0
        planes = run.judge(w, None if w.any() else 0.0)
        gaps, _ = known.visit(everyone, planes)
        revisited, settled = 0.0, -np.inf  # the dual objective after the last passes over known planes, over everybody
        while run.status is None:
            revisited = self._revisit(run, known, float(gaps.sum()), known.dual - revisited)
            full = self.sampling == "uniform" or n_passes % FULL_PASSES == 0
            n_passes += 1
            order = random.permutation(problem.n) if full else _by_gap(random, gaps)
            for batch in np.array_split(order, min(BATCHES, problem.n)):
                gaps[batch], _ = known.visit(batch, run.look(known.w, batch))
                if run.status == "max_seconds":
                    break
            stuck = full and known.dual - settled <= ROUNDING * known.dual
            settled = known.dual if full else settled
            if run.status is not None or stuck or (full and float(gaps.sum()) <= run.wanted):
                w, loss = known.averaged() if self.averaging else known.point()
                planes = run.judge(w, loss)
                if not self.averaging:
                    gaps = known.gaps(problem.cost, np.maximum(0.0, planes.values(w)))
                known.visit(everyone, planes)
                if stuck:
                    run.stall()

    def _revisit(self, run: StructuredRun, known: PlaneSet, gap: float, gain: float) -> float:
        """Improve the multipliers of all known planes, given what the last pass over all outputs has gained.

        Returns the dual objective.
        """
        dual = known.dual
        for first in range(0, self.cached_passes, STRETCH):
            left = known.solve(CACHED_SHARE * gap, min(STRETCH, self.cached_passes - first))
            before, dual = dual, known.dual
            if left <= CACHED_SHARE * gap or dual - before < CACHED_GAIN * gain or run.status is not None:
                break
        return dual


def _by_gap(random: np.random.RandomState, gaps: np.ndarray) -> np.ndarray:
    """As many samples as there are, each as often as its gap is large."""
    total = float(gaps.sum())
    if not total > 0:
        return random.permutation(len(gaps))
    return random.choice(len(gaps), size=len(gaps), p=gaps / total)
