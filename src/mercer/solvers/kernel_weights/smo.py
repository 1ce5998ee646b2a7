"""Sequential minimal optimisation of weights and machines together, native."""

from typing import Any

import numpy as np

from mercer import _native
from mercer.gram import GramStack, MatrixGram
from mercer.gram.memory import memory_budget
from mercer.problems import DualProblems, Elastic, Groups, KernelWeightsProblem, NormBall, Simplex, WeightSet
from mercer.solvers.kernel_weights.alternating import alternate
from mercer.solvers.kernel_weights.base import KernelWeightsSolver, Search
from mercer.threads import effective_n_threads

__all__ = ["JointSMO"]

# The gap that the joint problem is solved to, in parts of what is wanted: at first, and each time that was not enough.
FIRST_SHARE, NEXT_SHARE = 1.0, 0.3
# How round the corners of a set are at first.
ROUNDNESS = 0.1


class JointSMO(KernelWeightsSolver):
    """Sequential minimal optimisation of weights and machines together. [1]_ [2]_

    The weights that are best for the energies of a point a leave a problem in a alone,

    .. math::

        \\min_a \\; -L(a) + \\max_{d \\in D} d^T S(a),

    which is convex, and smooth where D is round, as the ball of a p-norm is: the largest d'S is then the q-norm of S,
    1/p + 1/q = 1. Its gradient is that of machines on the sum of the kernels with these weights. Pairs of variables are
    optimised as for one kernel, with the energies of all kernels known along their line. Where D has corners, as the
    simplex has, they are rounded: :math:`(\\sum_k \\|w_k\\|)^2 + \\epsilon \\sum_k \\|w_k\\|^2` is penalised, and
    epsilon falls until the gap of the problem with corners is as wanted. No machine is solved on the way; at the end
    one is, for the proof.

    Parameters
    ----------
    gap_tol, tol, max_iter, max_seconds, memory, n_threads
        See `KernelWeightsSolver`.

    See Also
    --------
    Alternating : Needs a pass over all kernel matrices for every machine, but no memory.

    Notes
    -----
    A step costs O(16 n_kernels), and a sample that moved a row of every matrix. Memory is O(n_kernels n) for every
    problem, besides all kernel matrices as squares in float32: they must fit into half of `memory`. For few kernels and
    small gaps on round sets; `Alternating` is as fast for rough ones and faster for a hundred kernels and more. The
    sharper a corner, the more steps it takes: on the simplex `NewtonMethod` is faster. Where pairs crawl, as for large
    C, they give up after ten rounds per variable, and weights and machines in turn, as in `Alternating`, finish. The
    result does not depend on threads.

    References
    ----------
    .. [1] S. V. N. Vishwanathan, Z. Sun, N. Ampornpunt, M. Varma, Multiple kernel learning and the SMO algorithm, NIPS
       2010.
    .. [2] F. R. Bach, G. R. G. Lanckriet, M. I. Jordan, Multiple kernel learning, conic duality, and the SMO algorithm,
       ICML 2004.
    """

    _joint_too = False

    def check(self, problem: KernelWeightsProblem) -> None:
        super().check(problem)
        _native_set(problem.weights, len(problem.stack))
        if _bytes(problem.stack) > memory_budget(self.memory) // 2:
            raise ValueError(
                f"JointSMO needs {_bytes(problem.stack) / 1e6:.1f} MB for {len(problem.stack)} kernel matrices, which "
                f"is more than half of memory={self.memory!r}; give more or use algorithm='alternating'."
            )

    def _begin(self, search: Search, start: np.ndarray | None) -> None:
        # Whether a hard margin exists, machines find out.
        if start is not None or any(problem.hard for problem in search.problem.problems):
            super()._begin(search, start)

    def _run(self, search: Search) -> None:
        problem = search.problem
        batch = DualProblems.of(problem.over(problem.problems[0].gram))
        points: Any = None if search.best is None else list(search.best.points)
        share, roundness, matrices = FIRST_SHARE, ROUNDNESS, _matrices(problem.stack)
        while search.status is None:
            a, weights, roundness, n_steps, status = _native.learn_weights(
                matrices,
                batch.native(),
                batch.feasible(points),
                _native_set(problem.weights, len(problem.stack)),
                share * self.gap_tol,
                roundness,
                search.seconds_left,
                effective_n_threads(self.n_threads),
            )
            if n_steps or search.best is None:
                points = search.try_weights(weights, [a[part] for part in batch.parts]).points
            if status != "solved" or not n_steps:
                return alternate(search)
            share *= NEXT_SHARE


def _bytes(stack: GramStack) -> int:
    """Of all kernel matrices in float32."""
    return 4 * stack.n**2 * len(stack)


def _matrices(stack: GramStack) -> list[np.ndarray]:
    """All kernel matrices in float32."""
    found = []
    for k, alone in enumerate(np.eye(len(stack))):
        gram = stack.combination(alone)
        if not isinstance(gram, MatrixGram) or gram.dtype != np.float32:
            raise ValueError(f"JointSMO needs kernel values within the range of float32, those of kernel {k} are not.")
        found.append(gram.matrix)
    return found


def _native_set(weights: WeightSet, n_kernels: int) -> tuple[str, float, np.ndarray | None]:
    """A set of weights as the native code takes it."""
    if isinstance(weights, NormBall):
        return "norm", weights.p, None
    if isinstance(weights, Elastic):
        return "elastic", weights.mix, None
    if isinstance(weights, Simplex) or (isinstance(weights, Groups) and weights.p == 1):
        return "groups", np.inf, np.arange(n_kernels)  # every kernel is a group
    if isinstance(weights, Groups):
        return "groups", weights.p, weights.members
    raise ValueError(f"JointSMO does not know the set of weights {type(weights).__name__}.")
