"""Which weights kernels may have, and the problem of learning them together with a machine."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from mercer.gram import Gram
from mercer.gram.stacks import GramStack
from mercer.problems.batch import DualProblems
from mercer.problems.dual import level

__all__ = ["Elastic", "Groups", "KernelWeightsProblem", "NormBall", "Simplex", "WeightSet"]

# Newton steps within which a root is known up to rounding, and what that is beside one.
NEWTON_STEPS, ROUNDING = 100, 1e-14


class WeightSet(ABC):
    """A convex set D of weights d >= 0 of kernels.

    Two questions decide everything: which weights of the set take most of given energies, and which make given norms
    cheapest.
    """

    @abstractmethod
    def best(self, energies: np.ndarray) -> np.ndarray:
        """The weights of the set with the largest d'S, for energies S >= 0."""

    @abstractmethod
    def cheapest(self, squares: np.ndarray) -> np.ndarray:
        """The weights of the set with the smallest sum of u_k / d_k, for squared norms u >= 0, not all of them zero."""

    @abstractmethod
    def norm(self, d: np.ndarray) -> float:
        """The smallest t for which d / t is in the set, for some d >= 0."""

    def scaled(self, d: np.ndarray) -> np.ndarray:
        """The largest multiple in the set of some d >= 0, not all of them zero."""
        return d / self.norm(d)

    def uniform(self, n_kernels: int) -> np.ndarray:
        """Equal weights, as large as they may be."""
        return self.scaled(np.ones(n_kernels))


class Simplex(WeightSet):
    """Weights that add up to one: few of them are positive. [CY eq 3.45]

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.problems import Simplex
    >>> Simplex().best(np.array([1.0, 3.0, 2.0]))
    array([0., 1., 0.])
    >>> Simplex().project(np.array([0.9, 0.5, -1.0]))
    array([0.7, 0.3, 0. ])
    """

    def best(self, energies):
        d = np.zeros(len(energies))
        d[np.argmax(energies)] = 1.0
        return d

    def cheapest(self, squares):
        return self.scaled(np.sqrt(squares))

    def norm(self, d):
        return float(d.sum())

    def project(self, v: np.ndarray) -> np.ndarray:
        """The nearest point of the simplex."""
        # Only differences count, and what is one below the largest becomes zero: any numbers are kept in range.
        v = np.maximum(v - v.max(), -1.0)
        shift = level(v, np.zeros(len(v)), np.full(len(v), np.inf), 1.0)
        assert shift is not None
        v = v - shift
        return self.scaled(np.where(v > ROUNDING, v, 0.0))


class NormBall(WeightSet):
    """Weights with a p-norm of at most one, p > 1: the larger p, the more equal they are. [1]_

    Parameters
    ----------
    p : float > 1
        Infinity gives every kernel the weight 1.

    References
    ----------
    .. [1] M. Kloft, U. Brefeld, S. Sonnenburg, A. Zien, lp-norm multiple kernel learning, JMLR 12, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.problems import NormBall
    >>> NormBall(2.0).best(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """

    def __init__(self, p: float):
        if not p > 1:
            raise ValueError(f"p must be > 1, got {p!r}; Simplex is the set for p = 1.")
        self.p = float(p)

    def best(self, energies):
        if np.isinf(self.p):
            return np.ones(len(energies))
        largest = float(energies.max())
        if largest <= 0:
            return self.uniform(len(energies))
        # Hölder's inequality is an equality for d ~ S^(1 / (p - 1)); divided first, so that powers do not overflow.
        return self.scaled((energies / largest) ** (1.0 / (self.p - 1.0)))

    def cheapest(self, squares):
        return np.ones(len(squares)) if np.isinf(self.p) else self.scaled(squares ** (1.0 / (self.p + 1.0)))

    def norm(self, d):
        largest = float(d.max())
        if largest == 0 or np.isinf(self.p):
            return largest
        return largest * float(((d / largest) ** self.p).sum()) ** (1.0 / self.p)


class Elastic(WeightSet):
    """Weights with (1 - mix) sum(d) + mix sum(d^2) <= 1: few, but of kernels that are alike, all. [1]_

    Parameters
    ----------
    mix : float in (0, 1]
        Towards 0 they become those of the simplex; 1 is the ball of the 2-norm.

    References
    ----------
    .. [1] H. Yang, Z. Xu, J. Ye, I. King, M. R. Lyu, Efficient sparse generalized multiple kernel learning, IEEE
       Transactions on Neural Networks 22, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.problems import Elastic
    >>> Elastic(0.5).best(np.array([3.0, 2.0, 0.1])).round(3)
    array([0.816, 0.377, 0.   ])
    """

    def __init__(self, mix: float):
        if not 0 < mix <= 1:
            raise ValueError(f"mix must be > 0 and <= 1, got {mix!r}; Simplex is the set for 0.")
        self.mix = float(mix)

    def size(self, d: np.ndarray) -> float:
        """What is to be at most one."""
        return float((1.0 - self.mix) * d.sum() + self.mix * (d * d).sum())

    def best(self, energies):
        largest = float(energies.max())
        if largest <= 0:
            return self.uniform(len(energies))
        # d_k = (S_k x - (1 - mix)) / (2 mix) where that is positive, and the size is one for the x with
        # 4 mix = sum of (S_k x)^2 - (1 - mix)^2 over these kernels. Without the others x falls: none comes back.
        S, price = energies / largest, 1.0 - self.mix
        used, n_used = S > 0, -1
        while used.sum() != n_used:
            n_used = int(used.sum())
            x = np.sqrt((4.0 * self.mix + n_used * price**2) / (S[used] ** 2).sum())
            used = used & (S * x > price)
        return self.scaled(np.maximum(0.0, S * x - price))

    def cheapest(self, squares):
        # u_k = nu d_k^2 (1 - mix + 2 mix d_k), with the nu that makes the size one: Newton's method for its logarithm,
        # in which the logarithm of the size is nearly straight, kept between bounds.
        weights, used, price, square = np.zeros(len(squares)), squares > 0, 1.0 - self.mix, 2.0 * self.mix
        u, log_nu, low, high = squares[used] / squares.max(), 0.0, -np.inf, np.inf
        for _ in range(NEWTON_STEPS):
            d = _root_of_cubic(square, price, u * np.exp(-log_nu))
            size = self.size(d)
            if abs(size - 1.0) <= ROUNDING:
                break
            low, high = (log_nu, high) if size > 1 else (low, log_nu)
            # The derivative of a weight by log_nu, over the weight.
            rates = -(price + square * d) / (2.0 * price + 3.0 * square * d)
            after = log_nu - size * np.log(size) / float(((price + square * d) * d * rates).sum())
            log_nu = after if low < after < high else 0.5 * (low + high)
        weights[used] = d
        return self.scaled(weights)

    def norm(self, d):
        # The t with (1 - mix) sum(d) / t + mix sum(d^2) / t^2 = 1.
        linear, square = (1.0 - self.mix) * float(d.sum()), self.mix * float((d * d).sum())
        return 0.5 * (linear + np.sqrt(linear * linear + 4.0 * square))


def _root_of_cubic(cubic: float, square: float, values: np.ndarray) -> np.ndarray:
    """The x >= 0 with cubic x^3 + square x^2 = value, for every value >= 0."""
    # Each term alone bounds x from above, and from there Newton's method falls to the root: the function is convex.
    with np.errstate(divide="ignore"):
        x = np.minimum(np.cbrt(values / cubic), np.sqrt(values / square) if square else np.inf)
    for _ in range(NEWTON_STEPS):
        slope = x * (3.0 * cubic * x + 2.0 * square)
        excess = x * x * (cubic * x + square) - values
        after = x - np.divide(excess, slope, out=np.zeros_like(x), where=slope > 0)
        if not (after < x).any():
            break
        x = np.minimum(x, np.maximum(after, 0.0))
    return x


class Groups(WeightSet):
    """Weights of groups of kernels: few groups, and within a group weights as another norm has them.

    The p-norms of the groups add up to one at most.

    Parameters
    ----------
    labels : array of shape (n_kernels,)
        The group of each kernel.
    p : float >= 1
        The norm within a group.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.problems import Groups
    >>> Groups(["a", "a", "b"], p=2.0).best(np.array([3.0, 4.0, 4.5]))
    array([0.6, 0.8, 0. ])
    """

    def __init__(self, labels: Any, p: float = 2.0):
        labels = np.asarray(labels)
        if labels.ndim != 1 or not len(labels):
            raise ValueError(f"labels must be one for each kernel, got an array of shape {labels.shape}.")
        _, self.members = np.unique(labels, return_inverse=True)
        self.p = float(p)
        self.inside: Simplex | NormBall = Simplex() if p == 1 else NormBall(p)
        self.parts = [np.flatnonzero(self.members == g) for g in range(self.members.max() + 1)]

    def best(self, energies):
        inside = [self.inside.best(energies[part]) for part in self.parts]
        values = [float(d @ energies[part]) for d, part in zip(inside, self.parts, strict=True)]
        chosen, weights = int(np.argmax(values)), np.zeros(len(energies))
        weights[self.parts[chosen]] = inside[chosen]
        return weights

    def cheapest(self, squares):
        weights, norms = np.zeros(len(squares)), np.zeros(len(self.parts))
        for g, part in enumerate(self.parts):
            u = squares[part]
            if u.any():
                inside = self.inside.cheapest(u)
                used = u > 0
                norms[g] = np.sqrt(float((u[used] / inside[used]).sum()))  # what the group costs at size one, its root
                weights[part] = inside
        return weights * (norms / norms.sum())[self.members]

    def norm(self, d):
        return sum(self.inside.norm(d[part]) for part in self.parts)

    def uniform(self, n_kernels):
        # Groups of equal size, whatever the number of their members.
        weights = np.empty(n_kernels)
        for part in self.parts:
            weights[part] = self.inside.uniform(len(part)) / len(self.parts)
        return weights


@dataclass(frozen=True, eq=False)
class KernelWeightsProblem:
    """Weights of kernels and a machine on their sum, learnt together. [CY eqs 3.42-3.48]

    .. math::

        \\min_{d \\in D} J(d), \\quad J(d) = \\max_a L(a) - \\sum_k d_k S_k(a), \\quad
        S_k(a) = \\tfrac12 \\sum_t c_t^T K_k c_t

    where L has the linear terms and ridges of all `problems`, c_t is the s a of problem t, summed up by samples, and
    S_k the energy in kernel k. Exchanging minimum and maximum, the value of any feasible a bounds the optimum from
    below, and a machine on the sum bounds it from above:

    .. math::

        L(a) - \\max_{d' \\in D} d'^T S(a) \\;\\le\\; \\min_{d \\in D} J(d) \\;\\le\\; J(d)

    so that the gap is that of the machine plus :math:`\\max_{d'} d'^T S - d^T S`.

    Parameters
    ----------
    stack : GramStack
        The kernel matrices.
    problems : sequence of DualProblem or of JointProblem
        The machines that share the weights, over any Gram matrix of as many samples: it is replaced by the sum.
    weights : WeightSet
        D.
    """

    stack: GramStack
    problems: Sequence[Any]
    weights: WeightSet

    def __post_init__(self) -> None:
        if not len(self.problems):
            raise ValueError("problems must be at least one, got none.")
        if isinstance(self.weights, Groups) and len(self.weights.members) != len(self.stack):
            raise ValueError(
                f"weights must have a group for each of {len(self.stack)} kernels, got {len(self.weights.members)}."
            )

    def over(self, gram: Gram) -> Sequence[Any]:
        """The problems of the machines over one kernel matrix."""
        if isinstance(self.problems, DualProblems):
            return replace(self.problems, gram=gram)
        return [replace(problem, gram=gram) for problem in self.problems]

    def coefficients(self, points: Sequence[Any]) -> csr_array:
        """The c_t of points a of all problems, a row for each, or for each class of a joint problem."""
        parts = zip(self.problems, points, strict=True)
        return csr_array(vstack([csr_array(problem.expansion(a)) for problem, a in parts], format="csr"))

    def linear(self, points: Sequence[Any]) -> float:
        """L(a) at points a of all problems; it does not depend on the kernels."""
        return -sum(problem.apart_from_kernel(a) for problem, a in zip(self.problems, points, strict=True))
