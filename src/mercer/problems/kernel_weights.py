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

# Halvings of an interval until a root is known to the last digit.
HALVINGS = 200


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
    def within(self, weights: np.ndarray) -> np.ndarray:
        """The largest multiple of weights >= 0, not all of them zero, that is in the set."""

    def uniform(self, n_kernels: int) -> np.ndarray:
        """Equal weights, as large as they may be."""
        return self.within(np.ones(n_kernels))


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
        norms = np.sqrt(squares)
        return norms / norms.sum()

    def within(self, weights):
        return weights / self.size(weights)

    def size(self, d: np.ndarray) -> float:
        """The sum of the weights."""
        return float(d.sum())

    def project(self, v: np.ndarray) -> np.ndarray:
        """The nearest point of the simplex."""
        shift = level(v, np.zeros(len(v)), np.full(len(v), np.inf), 1.0)
        assert shift is not None
        d = np.maximum(0.0, v - shift)
        return d / d.sum()


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
        # Hölder's inequality is an equality for d ~ S^(1 / (p - 1)); scaled first, so that powers do not overflow.
        return self._on_the_sphere((energies / max(energies.max(), np.finfo(float).tiny)) ** (1.0 / (self.p - 1.0)))

    def cheapest(self, squares):
        return np.ones(len(squares)) if np.isinf(self.p) else self._on_the_sphere(squares ** (1.0 / (self.p + 1.0)))

    def within(self, weights):
        return weights / self.size(weights)

    def _on_the_sphere(self, d: np.ndarray) -> np.ndarray:
        return self.within(d) if d.any() else self.uniform(len(d))

    def size(self, d: np.ndarray) -> float:
        """The p-norm of the weights."""
        if np.isinf(self.p):
            return float(d.max())
        largest = float(d.max())
        return largest * float(((d / largest) ** self.p).sum()) ** (1.0 / self.p) if largest > 0 else 0.0


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
        # S_k = nu (1 - mix + 2 mix d_k) where d_k > 0; the size of d falls as nu grows.
        S = energies / largest

        def weights(nu: float) -> np.ndarray:
            return np.maximum(0.0, S / nu - (1.0 - self.mix)) / (2.0 * self.mix)

        return self._of_size_one(weights, 1.0)

    def cheapest(self, squares):
        # u_k / d_k^2 = nu (1 - mix + 2 mix d_k): the only root of an increasing function of d_k.
        u = squares / squares.max()

        def weights(nu: float) -> np.ndarray:
            low, high = np.zeros(len(u)), np.cbrt(u / (2.0 * self.mix * nu))
            for _ in range(HALVINGS):
                middle = 0.5 * (low + high)
                above = middle * middle * nu * (1.0 - self.mix + 2.0 * self.mix * middle) > u
                low, high = np.where(above, low, middle), np.where(above, middle, high)
            return high

        return self._of_size_one(weights, 1.0)

    def _of_size_one(self, weights: Any, nu: float) -> np.ndarray:
        """The weights for the multiplier nu that makes their size one, by halving an interval of its logarithm."""
        low = high = nu
        while self.size(weights(high)) > 1.0:
            high *= 4.0
        while self.size(weights(low)) < 1.0:
            low /= 4.0
        for _ in range(HALVINGS):
            middle = np.sqrt(low * high)
            if not low < middle < high:
                break
            low, high = (middle, high) if self.size(weights(middle)) > 1.0 else (low, middle)
        return weights(high)

    def within(self, weights):
        # t d with mix sum(d^2) t^2 + (1 - mix) sum(d) t = 1
        linear, square = (1.0 - self.mix) * float(weights.sum()), self.mix * float((weights * weights).sum())
        return 2.0 / (linear + np.sqrt(linear * linear + 4.0 * square)) * weights


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
        _, self.members = np.unique(np.asarray(labels), return_inverse=True)
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

    def within(self, weights):
        return weights / sum(self.inside.size(weights[part]) for part in self.parts)


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
