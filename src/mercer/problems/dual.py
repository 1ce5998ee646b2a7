"""The one quadratic programme behind every support vector machine, and what proves its optimum."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mercer.errors import InfeasibleError
from mercer.gram import Gram
from mercer.sums import inner

__all__ = ["DualProblem", "Offsets", "level"]

# How many samples show how far apart all of them are, and from which fraction of their size on it is to be believed.
SPREAD_SAMPLE = 256
SPREAD_OF_ROUNDING = 1e-13
# How often the variables between their bounds are shifted until an equality holds; some meet a bound on the way.
BALANCING_STEPS = 20
BALANCED = 1e-12


class Offsets(NamedTuple):
    """The multipliers of the equalities: the offset b that variables of sign + and of sign - see.

    They are equal unless the problem has one equality per sign.
    """

    plus: float
    minus: float


class Spread(NamedTuple):
    """Samples in feature space: their mean square, and their variance about the mean."""

    square: float
    variance: float


@dataclass(frozen=True, eq=False)
class DualProblem:
    """A quadratic programme over a kernel matrix.

    .. math::

        \\min_a \\tfrac12 a^T Q a + p^T a, \\quad 0 \\le a \\le u, \\quad
        Q_{ij} = s_i s_j K[\\mathrm{index}_i, \\mathrm{index}_j] + r_i [i = j],

    subject to an equality, see `total`. Its dual variables are the offsets of the decision function
    :math:`f = \\sum_j s_j a_j K[\\cdot, \\mathrm{index}_j] + b`.

    Parameters
    ----------
    gram : Gram
        The kernel matrix K.
    index : int array of shape (n,)
        The sample of each variable.
    sign : array of shape (n,)
        s, +1 or -1.
    linear : array of shape (n,)
        p.
    upper : array of shape (n,)
        u > 0, infinite where there is no bound.
    ridge : array of shape (n,)
        r >= 0.
    total : None, float or (float, float)
        None: no equality, and b = 0. A number: the value of s'a. Two numbers: the sums of a over the
        variables of sign + and of sign -.
    scaled : bool, default=False
        Whether what is learnt will be divided by the margin, half the difference of the two offsets: violations then
        count in units of it.

    Notes
    -----
    With the slopes :math:`c_i = s_i f_i + p_i` at a point a and offset b, weak duality bounds the optimum from
    below, and the gap is a sum of terms that are never negative (Fenchel and Young):

    .. math::

        \\mathrm{gap} = \\sum_i \\left[a_i c_i + \\tfrac12 r_i a_i^2
        - \\min_{0 \\le t \\le u_i} (c_i t + \\tfrac12 r_i t^2)\\right].

    Where nothing is bounded and there is no ridge (a hard margin), the primal point is first scaled until it
    satisfies its constraints.
    """

    gram: Gram
    index: np.ndarray
    sign: np.ndarray
    linear: np.ndarray
    upper: np.ndarray
    ridge: np.ndarray
    total: float | tuple[float, float] | None
    scaled: bool = False

    def __post_init__(self):
        n = len(self.index)
        if np.asarray(self.index).dtype.kind not in "iu":
            raise ValueError("index must be numbers of samples.")
        for name in ("index", "sign", "linear", "upper", "ridge"):
            dtype = np.int64 if name == "index" else np.float64
            values = np.ascontiguousarray(getattr(self, name), dtype=dtype)
            if values.shape != (n,):
                raise ValueError(f"{name} has shape {values.shape}, for {n} variables it must be {(n,)}.")
            object.__setattr__(self, name, values)
        if n and not 0 <= self.index.min() <= self.index.max() < self.gram.n:
            raise ValueError(f"index must be from 0 to {self.gram.n - 1}, the samples of the Gram matrix.")
        if not (np.abs(self.sign) == 1).all():
            raise ValueError("sign must be +1 or -1.")
        if not np.isfinite(self.linear).all():
            raise ValueError("linear must be finite.")
        if not (self.upper > 0).all() or not (self.ridge >= 0).all() or np.isinf(self.ridge).any():
            raise ValueError("upper must be > 0 and ridge >= 0, and ridge finite.")

    @classmethod
    def of_checked(cls, **fields: Any) -> "DualProblem":
        """A problem of arrays that have been checked before, as those of `DualProblems` are."""
        problem = object.__new__(cls)
        problem.__dict__.update(fields)
        return problem

    @property
    def equality(self) -> str:
        """The kind of equality: "none", "total" or "per_sign"."""
        if self.total is None:
            return "none"
        return "per_sign" if isinstance(self.total, tuple) else "total"

    @cached_property
    def hard(self) -> bool:
        """Whether no variable is bounded: the dual may then be unbounded."""
        return not self._ridged and bool(np.isinf(self.upper).all())

    @cached_property
    def _ridged(self) -> bool:
        return bool(self.ridge.any())

    # --- points -------------------------------------------------------------------------------------------

    def feasible(self, start: np.ndarray | None = None) -> np.ndarray:
        """A point that satisfies the constraints: the one nearest to `start`, or a sparse one of our own.

        Raises
        ------
        InfeasibleError
            If there is none.
        """
        if start is None:
            a = np.zeros(len(self.index))
            for group, target in self._groups():
                if target:
                    a[group] = self._fill(group, target)
            return a
        start = np.asarray(start, dtype=np.float64)
        if start.shape != self.index.shape:
            raise ValueError(f"start has shape {start.shape}, the problem has {len(self.index)} variables.")
        if not np.isfinite(start).all():
            raise ValueError("start contains NaN or infinity.")
        if self.total is None:
            return np.clip(start, 0.0, self.upper)
        a = start.copy()
        for group, target in self._groups():
            a[group] = self._project(start[group], group, target)
        return a

    def balanced(self, a: np.ndarray) -> np.ndarray:
        """A point of the box with the little that the equality is off taken from the variables between their bounds.

        What is at a bound up to rounding is put there.
        """
        a = np.where(a <= BALANCED * np.minimum(self.upper, a.max(initial=0.0)), 0.0, a)
        a = np.where(a >= (1 - BALANCED) * self.upper, self.upper, a)
        for group, target in self._groups():
            part, sign, upper = a[group], self.sign[group], self.upper[group]
            for _ in range(BALANCING_STEPS):
                excess = inner(sign, part) - target
                if abs(excess) <= BALANCED * max(abs(target), float(part.sum())):
                    break
                free = np.flatnonzero((part > 0) & (part < upper))
                if not len(free):
                    part = self._project(part, group, target)
                    break
                part[free] = np.clip(part[free] - sign[free] * excess / len(free), 0.0, upper[free])
            a[group] = part
        return a

    def _groups(self) -> list[tuple[np.ndarray | slice, float]]:
        """The variables of every equality, and the value of their s'a."""
        if self.total is None:
            return []
        if not isinstance(self.total, tuple):
            return [(slice(None), self.total)]
        plus, minus = self.total
        return [(np.flatnonzero(self.sign > 0), plus), (np.flatnonzero(self.sign < 0), -minus)]

    def _fill(self, group: np.ndarray | slice, target: float) -> np.ndarray:
        """Variables at their bound, from the first on, until s'a is the target."""
        helps = self.sign[group] * target > 0
        room = np.where(helps, self.upper[group], 0.0)
        before = np.concatenate([[0.0], np.cumsum(room)[:-1]])
        a = np.clip(abs(target) - before, 0.0, room)
        # Sums of bounds carry rounding: a total of all of them is met up to that.
        if abs(a.sum() - abs(target)) > 1e-9 * abs(target):
            raise InfeasibleError(f"The variables must add up to {abs(target):g}, their bounds to {room.sum():g} only.")
        return a

    def _project(self, a: np.ndarray, group: np.ndarray | slice, target: float) -> np.ndarray:
        """The nearest point of the box with s'a on target: clip(a - shift s)."""
        sign, upper = self.sign[group], self.upper[group]
        if abs(inner(sign, np.clip(a, 0.0, upper)) - target) <= 1e-12 * max(abs(target), float(np.abs(a).sum())):
            return np.clip(a, 0.0, upper)
        low, high = np.minimum(0.0, sign * upper), np.maximum(0.0, sign * upper)
        shift = level(sign * a, low, high, target)
        return self._fill(group, target) if shift is None else np.clip(a - shift * sign, 0.0, upper)

    # --- what a point is worth ----------------------------------------------------------------------------

    def gradient(self, a: np.ndarray) -> np.ndarray:
        """Q a + p, computed afresh from the kernel matrix in float64."""
        f = self.gram.dot(self.expansion(a)[0])[self.index]
        return self.sign * f + self.ridge * a + self.linear

    def expansion(self, a: np.ndarray) -> np.ndarray:
        """The coefficients s a of the decision function by samples, shape (1, gram.n)."""
        return np.bincount(self.index, weights=self.sign * a, minlength=self.gram.n)[np.newaxis]

    def apart_from_kernel(self, a: np.ndarray) -> float:
        """The part of the objective that does not depend on the kernel, p'a and the ridge."""
        return inner(self.linear, a) + 0.5 * inner(self.ridge, a * a)

    def objective(self, a: np.ndarray, gradient: np.ndarray) -> float:
        """The value of the programme, which is to be small."""
        return 0.5 * inner(a, gradient + self.linear)

    def violation(self, a: np.ndarray, gradient: np.ndarray) -> float:
        """How far a is from the optimality conditions; zero at the optimum. [CY eq 1.61]"""
        if self.total is None:
            return max(
                0.0,
                float(np.max(-gradient[a < self.upper], initial=0.0)),
                float(np.max(gradient[a > 0], initial=0.0)),
            )
        worst = 0.0
        for group, _ in self._groups():
            largest, smallest = self._extremes(group, a, gradient)
            if np.isfinite(largest) and np.isfinite(smallest):
                worst = max(worst, largest - smallest)
        return worst

    def movable(self, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The variables whose s a may grow, and those where it may shrink, as masks."""
        plus, below, above = self.sign > 0, a < self.upper, a > 0
        return np.where(plus, below, above), np.where(plus, above, below)

    def _extremes(self, group: np.ndarray | slice, a: np.ndarray, gradient: np.ndarray) -> tuple[float, float]:
        """The largest -s G among the variables whose s a may grow, the smallest among those where it may shrink."""
        value = -self.sign[group] * gradient[group]
        grows, shrinks = self.movable(a)
        largest = np.where(grows[group], value, -np.inf).max(initial=-np.inf)
        smallest = np.where(shrinks[group], value, np.inf).min(initial=np.inf)
        return float(largest), float(smallest)

    def offsets(self, a: np.ndarray, gradient: np.ndarray) -> Offsets:
        """The offset b of the decision function.

        Variables strictly between their bounds know it, b = -s_i G_i; their average is taken [CY eqs 1.27,
        1.50; B eqs 7.37, 7.69]. Where there is none, it is the middle of the interval that the optimality conditions
        leave; for a hard margin the middle between the classes [CY eq 1.14].
        """
        if self.total is None:
            return Offsets(0.0, 0.0)
        found = []
        if self.hard and self.equality == "total":
            value = -self.sign * gradient
            edges = np.max(value[self.sign > 0], initial=-np.inf), np.min(value[self.sign < 0], initial=np.inf)
            b = 0.5 * sum(edges) if np.isfinite(edges).all() else 0.0
            return Offsets(float(b), float(b))
        for group, _ in self._groups():
            free = np.flatnonzero((a[group] > 0) & (a[group] < self.upper[group]))
            if len(free):
                found.append(float((-self.sign[group][free] * gradient[group][free]).sum() / len(free)))
                continue
            largest, smallest = self._extremes(group, a, gradient)
            if np.isfinite(largest) and np.isfinite(smallest):
                found.append(0.5 * (largest + smallest))
            else:  # the conditions bound b on one side at most
                found.append(next((edge for edge in (largest, smallest) if np.isfinite(edge)), 0.0))
        plus, minus = found[0], found[-1]
        # Neither a margin nor a tube has a negative width, also before the optimum.
        if (plus > minus) if self.scaled else (plus < minus and self.linear.any()):
            plus = minus = 0.5 * (plus + minus)
        return Offsets(plus, minus)

    def unit(self, a: np.ndarray, offsets: Offsets) -> float:
        """What a violation is measured in.

        1, in units of the decision function; but the margin where the machine is scaled by it, and never more than
        the wanted decision values spread, or those that the kernel can make of the variables: a kernel with small
        values, or data in small units, must not look solved.
        """
        if self.scaled:
            return max(0.0, 0.5 * (offsets.minus - offsets.plus))
        if self._wanted >= 1.0:
            return 1.0
        return min(1.0, float(self._wanted + a.sum() * self.spread.variance))

    @cached_property
    def _wanted(self) -> float:
        """How far the wanted decision values spread."""
        if self.total is None:
            return float(np.abs(self.linear).max())
        values = self.sign * self.linear
        return float(values.max() - values.min())

    @cached_property
    def spread(self) -> Spread:
        """How far the samples are from the origin of feature space and from each other, by a sample of them."""
        sample = self.index[:: max(1, len(self.index) // SPREAD_SAMPLE)]
        K = self.gram.square(sample)
        square = float(np.diag(K).mean())
        # Differences of nearly equal kernel values are rounding, not spread.
        return Spread(square, max(square - float(K.mean()), SPREAD_OF_ROUNDING * abs(square)))

    def slopes(self, a: np.ndarray, gradient: np.ndarray, offsets: Offsets) -> np.ndarray:
        """c = s f + p with f the decision values, offset included."""
        b = offsets.plus if offsets.plus == offsets.minus else np.where(self.sign > 0, *offsets)
        slopes = gradient + self.sign * b
        return slopes - self.ridge * a if self._ridged else slopes

    def gap(self, a: np.ndarray, gradient: np.ndarray, offsets: Offsets) -> float:
        """An upper bound on objective(a) minus the optimum, for a positive semi-definite K."""
        slope = self.slopes(a, gradient, offsets)
        if self.hard:
            return self._hard_gap(a, gradient, slope)
        # The best response t to the slope; each term is (c + r t)(a - t) + r (a - t)^2 / 2, both parts never negative.
        t = np.where(slope < 0, self.upper, 0.0)
        if not self._ridged:
            return float((slope * (a - t)).sum())
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where((self.ridge > 0) & (slope < 0), np.minimum(t, -slope / self.ridge), t)
        if np.isinf(t).any():
            return np.inf
        return float(np.sum((slope + self.ridge * t) * (a - t) + 0.5 * self.ridge * (a - t) ** 2))

    def _hard_gap(self, a: np.ndarray, gradient: np.ndarray, slope: np.ndarray) -> float:
        """w and b are scaled by the t for which every constraint t s f >= -p holds."""
        margin = slope - self.linear
        tight = self.linear < 0
        if (margin[tight] <= 0).any():
            return np.inf
        scale = float(np.max(-self.linear[tight] / margin[tight], initial=0.0))
        primal = 0.5 * scale**2 * self.squared_norm(a, gradient)
        return max(0.0, primal + self.objective(a, gradient))

    def squared_norm(self, a: np.ndarray, gradient: np.ndarray) -> float:
        """Squared norm of the weight vector, w'w = (s a)' K (s a)."""
        return max(0.0, inner(a, gradient - self.linear - self.ridge * a))

    def imbalance(self, a: np.ndarray) -> float:
        """How far the equality is from being met."""
        sums = [abs(inner(self.sign[group], a[group]) - target) for group, target in self._groups()]
        return max(sums, default=0.0)


def level(z: np.ndarray, low: np.ndarray, high: np.ndarray, target: float) -> float | None:
    """The b for which the numbers clip(z - b, low, high) add up to the target, None if there is none.

    Their sum falls as b grows, in straight pieces between the points where one of them meets a bound: the piece is
    found by sorting, b by solving it. O(n log n). One of two bounds may be infinite.
    """
    leaves, meets = z - high, z - low  # each number moves for b between these two
    ends, rates = np.concatenate([leaves, meets]), np.repeat([1.0, -1.0], len(z))
    finite = np.isfinite(ends)
    order = np.argsort(ends[finite], kind="stable")
    at = ends[finite][order]
    always = float(np.count_nonzero(leaves == -np.inf))
    rate = always + np.cumsum(rates[finite][order])  # how fast the sum falls to the right of each end

    def excess(b: float) -> float:
        return float(np.clip(z - b, low, high).sum()) - target

    over = excess(at[0]) - np.concatenate([[0.0], np.cumsum(rate[:-1] * np.diff(at))])
    k = int(np.searchsorted(-over, 0.0, side="right")) - 1  # the last end that is not below the target
    slope = always if k < 0 else rate[k]
    b = at[max(k, 0)]
    if slope > 0:
        b += over[max(k, 0)] / slope
    for _ in range(3):  # what the sums have rounded away
        moving = np.count_nonzero((leaves < b) & (b < meets))
        if moving:
            b += excess(b) / moving
    size = float(np.abs(np.clip(z - b, low, high)).sum())
    return float(b) if abs(excess(b)) <= 1e-9 * max(size, abs(target)) else None
