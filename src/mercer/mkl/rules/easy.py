"""EasyMKL: weights by the margin of the sum of all kernels."""

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from mercer.errors import NotSeparableError
from mercer.gram import Gram, MatrixGram
from mercer.mkl.rules.base import RuleResult, WeightRule, classes_of, shares
from mercer.parameters import Number
from mercer.problems import DualProblem
from mercer.solvers import SMO
from mercer.solvers.base import summary
from mercer.sums import inner
from mercer.threads import one_blas_thread

__all__ = ["Easy"]

# How exactly the game is solved: weights are then right to about six digits.
TOLERANCE = 1e-5
# The first point of the game: how small the slopes become, relative to those of equal gammas, and the most attempts to
# find the samples without a gamma, and steps in each.
SMALL_SLOPES, ATTEMPTS, STEPS = 1e-5, 5, 100


class Easy(WeightRule):
    """EasyMKL: weights as the kernels share in the distance of the classes.

    One game on the plain sum of the kernels is solved, for distributions gamma over the samples of each class,

    .. math::

        \\min_\\gamma (1 - \\lambda) \\, \\gamma^T Y \\Bigl(\\sum_k K_k\\Bigr) Y \\gamma + \\lambda \\|\\gamma\\|^2,
        \\qquad d_k \\propto \\gamma^T Y K_k Y \\gamma

    and a kernel has the weight that it has in the distance of the two points [1]_. Of several classes each plays
    against all others, and their squared distances are added up.

    Parameters
    ----------
    lam : float in [0, 1], default=0.1
        :math:`\\lambda`. 0 is the hard margin, the distance of the convex hulls of the classes, which must not meet; 1
        the distance of their means.

    Notes
    -----
    A pass over the kernel matrices, one machine and another pass; of matrices that are given, one half is read.
    `solve` has the squared distance in the sum of the kernels as its objective, and the certificate of the game over
    :math:`2 (1 - \\lambda)`.

    References
    ----------
    .. [1] F. Aiolli, M. Donini, EasyMKL: a scalable multiple kernel learning algorithm, Neurocomputing 169, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.mkl import Easy
    >>> y = np.array([0, 0, 1, 1])
    >>> Easy()([np.eye(4), np.equal.outer(y, y)], y).round(3)
    array([0.333, 0.667])
    """

    needs = "classes"
    _parameters: ClassVar[dict[str, Any]] = {"lam": Number(0, 1)}

    def __init__(self, lam=0.1):
        self.lam = lam

    def _solve(self, stack, targets, weight):
        n_classes, codes = classes_of(self, targets, weight)
        used = np.flatnonzero(weight)
        against_others = [1] if n_classes == 2 else range(n_classes)
        signs = np.array([np.where(codes[used] == c, 1.0, -1.0) for c in against_others])
        met = np.zeros(len(signs), dtype=bool)
        if self.lam == 1:
            points = [_spread(weight[used], sign) for sign in signs]
            proof = {"gap": 0.0, "violation": 0.0, "n_iter": 1, "status": "solved"}
        else:
            games = self._games(stack.combination(np.ones(len(stack))), used, signs, weight[used])
            with one_blas_thread():
                starts = [_nearly_solved(game) for game in games]
            results = SMO(tol=TOLERANCE, gap_tol=TOLERANCE).solve_many(games, starts)
            points = [result.a for result in results]
            met = np.array([result.status == "degenerate" for result in results])
            proof = {name: getattr(summary(results), name) for name in ("gap", "violation", "n_iter", "status")}
        rows = np.zeros((len(signs), stack.n))
        rows[:, used] = signs * points
        energies = stack.energies(csr_array(rows))
        if met.any():
            # There is no distance to share in where classes meet: what is left of it is rounding.
            if self.lam == 0 and met.all():
                raise NotSeparableError("lam must be > 0 for classes whose convex hulls meet in feature space, got 0.")
            energies = stack.energies(csr_array(rows * ~met[:, np.newaxis]))
            proof["status"] = "solved" if proof["status"] == "degenerate" else proof["status"]
        return RuleResult(shares(energies), 2.0 * float(energies.sum()), **proof)

    def _games(self, gram: Gram, used: np.ndarray, signs: np.ndarray, weight: np.ndarray) -> list[DualProblem]:
        n = len(used)
        # The copies of a sample share its gamma: each has gamma / weight.
        ridge = self.lam / (1.0 - self.lam) / weight
        return [DualProblem(gram, used, sign, np.zeros(n), np.ones(n), ridge, total=(1.0, 1.0)) for sign in signs]


def _spread(weight: np.ndarray, sign: np.ndarray) -> np.ndarray:
    """The distributions with the smallest square: all samples of a class have the same."""
    return weight / np.where(sign > 0, weight[sign > 0].sum(), weight[sign < 0].sum())


def _nearly_solved(game: DualProblem) -> np.ndarray | None:
    """A point near the solution by conjugate gradients over the samples with a gamma, which nearly all of them have.

    The ridge and the narrow kernels make few steps enough, each one product with a stored matrix. `SMO`, which moves
    two gammas at a time, is left with the last digits and the proof. None where that is not to be had: without a stored
    matrix or a ridge, or with a matrix that is not positive definite up to rounding.
    """
    if not isinstance(game.gram, MatrixGram) or not game.ridge.all():
        return None
    K, spread = game.gram.matrix, np.zeros(game.gram.n, dtype=game.gram.matrix.dtype)
    plus = game.sign > 0
    sides = np.flatnonzero(plus), np.flatnonzero(~plus)
    damping = 1.0 / (game.gram.diag()[game.index] + game.ridge)  # Jacobi's preconditioner

    def slopes(gamma: np.ndarray) -> np.ndarray:
        spread[game.index] = game.sign * gamma
        return game.sign * (K @ spread)[game.index] + game.ridge * gamma

    def level(slope: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """The mean slope of each side: what its equality takes off."""
        means = [inner(shares[side], slope[side]) / shares[side].sum() for side in sides]
        return np.where(plus, *means)

    gamma = game.feasible(np.zeros(len(plus)))
    enough: float | None = None
    free = np.ones(len(plus), dtype=bool)
    for _ in range(ATTEMPTS):
        shares = damping * free
        slope = slopes(gamma)
        direction = step = shares * (level(slope, shares) - slope)
        size = -inner(slope, step)
        enough = SMALL_SLOPES**2 * size if enough is None else enough
        for _ in range(STEPS):
            if not size > enough:
                break
            change = slopes(direction)
            curvature = inner(direction, change)
            if not (curvature > 0 and np.isfinite(curvature)):
                return None
            length = size / curvature
            gamma = gamma + length * direction
            slope = slope + length * change
            step = shares * (level(slope, shares) - slope)
            before, size = size, -inner(slope, step)
            direction = step + size / before * direction
        negative = gamma < 0
        wanted = ~free & (slope < level(slope, shares))
        if not negative.any() and not wanted.any():
            break
        free = (free & ~negative) | wanted
        if not all(free[side].any() for side in sides):
            return None
        gamma = game.feasible(np.maximum(gamma, 0.0))
    return gamma
