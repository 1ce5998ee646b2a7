"""Newton's method for box-constrained duals on a device: close to the solution in a few large steps."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mercer.devices.arrays import Tensor
from mercer.devices.rows import Rows

__all__ = ["DeviceNewton", "Variables"]

# Samples of the first part, which a run begins with, and by how many times the next part may be larger.
FIRST_PART, GROWTH = 2048, 50
SEED = 0
# A part is left at this violation, as a share of the largest at its beginning. So many variables, or the share of them,
# are undecided when all those of the next part come in, or so many times those that were before. The band is so much
# wider where that is too narrow.
ROUGH, UNDECIDED, UNDECIDED_SHARE, TIMES_KNOWN = 0.1, 4096, 0.1, 2
WIDEN = 10.0
# The band of undecided variables becomes so much narrower from stage to stage, less where that is too much at once, but
# no less than so; and those within so many widths of it move.
SHRINK, LEAST_SHRINK, NEAR = 0.3, 0.8, 2.0
# So many stages that do not lower the violation are rounding.
PATIENCE = 3
# A stage ends when what Newton's method has left over is this part of what the smoothing costs, of which there is less
# after a stage in vain; or after so many steps, or so many that hardly bring anything.
LEFT_OVER, STEPS_PER_STAGE, STUCK = 0.1, 50, 6
STAGES = 50
# What sums lack at the end may change the function by this part of the tolerance.
BALANCED = 0.1
# Most undecided variables, whose equations are solved as a whole; so many matrices of them must fit.
MOST_UNDECIDED, MATRICES = 16384, 3
# Points of a line that are looked at together, and how often.
POINTS, LOOKS = 17, 2


class Variables(NamedTuple):
    """Those of a `DualProblem`, or some of them, as tensors."""

    index: Tensor
    sign: Tensor
    linear: Tensor
    upper: Tensor
    ridge: Tensor

    def some(self, which: Tensor) -> "Variables":
        """These of them."""
        return Variables(*(each[which] for each in self))


class DeviceNewton:
    r"""Multipliers near the solution of a problem whose bounds are finite, by the proximal Newton method.

    As `ProximalNewton`, with the function f = K (s alpha) given by coefficients alpha in place of weights: the minimum
    over f and b of

    .. math:: \tfrac12 \|f\|^2 + b\, \mathrm{total} + \sum_i \max_{0 \le a \le u_i} \left[-a (z_i + p_i) -
        \tfrac12 r_i a^2 - \tfrac{\delta}{2 u_i} (a - c_i)^2\right], \qquad z = s (f + b),

    for a width delta of the band of undecided variables that shrinks, and a centre c that follows a. With a(z) the
    multipliers that answer z, and U those of them between their bounds, a Newton step leads to alpha = a + Delta, where

    .. math:: (Q_{UU} + \operatorname{diag}(r + \delta / u)) \Delta + s \, db = s_U (f - K s a)_U,
        \qquad s' \Delta = \mathrm{total} - s' a.

    A part of the samples, drawn at random, comes first and stands for all.

    Parameters
    ----------
    rows : Rows
        The kernel matrix.
    variables : Variables
    total : float or None
        What s a adds up to; None: whatever it likes.
    late : callable
        Asked before every step, with the number of steps so far: whether there is no time for it.
    told : callable
        Told of every stage of all variables: number of steps, objective and violation. Whether to stop.
    dtype : {"float32", "float64"}, default="float32"
        Of kernel values at first; those of equations are in float64, and all are where float32 is too coarse.
    """

    def __init__(
        self,
        rows: Rows,
        variables: Variables,
        total: float | None,
        late: Callable[[int], bool],
        told: Callable[[int, float, float], bool],
        dtype: str = "float32",
    ):
        self.rows, self.torch = rows, rows.place.torch
        self.everything, self.total, self.late, self.told = variables, total, late, told
        self.most = min(MOST_UNDECIDED, int(np.sqrt(rows.place.budget() / (8 * MATRICES))))
        self.n_iter, self.stopped = 0, False
        self.dtype, self.b = dtype, 0.0

    # --- from part to part --------------------------------------------------------------------------------

    def solve(self, start: Tensor, tol: float) -> Tensor | None:
        """Multipliers within their bounds, of a violation of at most `tol` if it comes to that; from a start.

        None where it comes to nothing. Sums are as they should be up to what `DualProblem.balanced` mends; `f` has the
        values of all variables.
        """
        torch, part = self.torch, self.everything
        if bool(start.any()):
            self._begin(part, start, start)
            return self.a if self._stages(tol) < np.inf else None
        rank = torch.from_numpy(np.random.default_rng(SEED).permutation(self.rows.n)).to(start.device)
        before, known = part.index[:0], start[:0]
        for size in (*self._sizes(), self.rows.n):
            which = (rank[part.index] < size).nonzero()[:, 0]
            coefficients = torch.zeros(len(which), dtype=start.dtype, device=start.device)
            coefficients[torch.searchsorted(which, before)] = known
            whole = size == self.rows.n
            self._begin(part if whole else self._standing_for_all(which), coefficients, None)
            least = ROUGH * self.width
            if self._stages(tol if whole else least, self.told if whole else None) == np.inf:
                return None
            before, known = which, self.a
        return self.a

    def _standing_for_all(self, which: Tensor) -> Variables:
        """Some variables, which can meet the equality where all can."""
        part = self.everything.some(which)
        times = self.everything.upper.sum() / part.upper.sum()
        return part._replace(upper=times * part.upper, ridge=part.ridge / times)

    def _sizes(self) -> list[int]:
        """Of the parts before all, in equal ratios."""
        n_parts = int(np.ceil(np.log(max(1.0, self.rows.n / FIRST_PART)) / np.log(GROWTH)))
        return [int(self.rows.n * (FIRST_PART / self.rows.n) ** (1.0 - k / n_parts)) for k in range(n_parts)]

    def _begin(self, part: Variables, coefficients: Tensor, centre: Tensor | None) -> None:
        """With these variables and the function of these coefficients, of which the offset is known from before."""
        self.part, self.samples, self.copies = part, part.index, None
        if len(part.index) >= self.rows.n:
            self.samples, self.copies = self.torch.unique(part.index, return_inverse=True)
        self.a, self.f = coefficients, self._at_all(coefficients)
        if centre is not None and self.total is not None:
            self.b = self._middle()
        self.centre = 0.5 * part.upper if centre is None else centre
        distance = (part.sign * (self.f + self.b) + part.linear).abs()
        if bool(coefficients.any()):
            few = min(UNDECIDED_SHARE * len(distance), UNDECIDED)
            # Those with a coefficient between its bounds are in the middle of the band.
            known = TIMES_KNOWN * int(((coefficients > 0) & (coefficients < coefficients.amax())).sum())
            self.width = 2.0 * float(distance.kthvalue(min(len(distance), max(1, int(few), known))).values)
        else:
            self.width = 2.2 * float(distance.amax())  # nothing is known yet, and everything undecided
        self.width = self.width or 1.0

    # --- from stage to stage ------------------------------------------------------------------------------

    def _stages(self, tol: float, told: Callable[[int, float, float], bool] | None = None) -> float:
        """With a band that shrinks, until the violation is small, or no longer falls: the least, at which it stays."""
        least, best = np.inf, (self.a, self.f, self.b)
        settled, width, shrink, in_vain = best, 0.0, SHRINK, 0
        self.left_over, self.largest = LEFT_OVER, 0.0
        movable: Tensor | None = None
        for _ in range(STAGES):
            if self._stage(movable):
                settled, width, shrink = (self.a, self.f, self.b), self.width, SHRINK
                violation = self._violation()
                if told is not None:
                    self.stopped = told(self.n_iter, self._objective(), violation)
                in_vain = 0 if violation < least else in_vain + 1
                if violation < least or violation <= tol:
                    least, best = violation, settled
                if in_vain or least <= tol:  # what a stage leaves over counts, too
                    self.left_over *= LEFT_OVER
            else:
                self.a, self.f, self.b = settled
                shrink = np.sqrt(shrink)
            if self.stopped or (least <= tol and self._lacking() * self.largest <= BALANCED * tol):
                break
            if in_vain == PATIENCE or shrink > LEAST_SHRINK:
                if self.dtype == "float64" or not width or told is None:
                    break
                # Float32 is too coarse for what is left.
                self.dtype, shrink, in_vain = "float64", SHRINK, 0
                self.a, _, self.b = best
                self.f = self._at_all(self.a)
                settled = self.a, self.f, self.b
            if not width:  # the first stage: a wider band is easier
                self.width *= WIDEN
                continue
            undecided = (self.a > 0) & (self.a < self.part.upper)
            near = (self._z() + self.part.linear).abs() < NEAR * width
            movable = (undecided | near).nonzero()[:, 0]
            if 2 * len(movable) > len(self.a):
                movable = None
            self.centre, self.width = self.a, shrink * width
        self.a, self.f, self.b = best
        return least

    def _stage(self, movable: Tensor | None) -> bool:
        """Newton's method on some variables, None: on all, and again with those that turn out to be needed."""
        part = self.part
        smoothing = self.width / part.upper
        self.pull, self.stiffness = smoothing * self.centre - part.linear, part.ridge + smoothing
        while True:
            if not self._newton(movable):
                return False
            if movable is None:
                return True
            missed = self._answer(self._z(), self.pull, self.stiffness, part.upper) != self.a
            missed[movable] = False
            if not bool(missed.any()):
                return True
            missed[movable] = True
            movable = missed.nonzero()[:, 0]

    def _newton(self, movable: Tensor | None) -> bool:
        """Steps until what is left over is small beside what the smoothing costs; False where they do not get there.

        The others stay where they are.
        """
        part = self.part if movable is None else self.part.some(movable)
        f, alpha, pull, stiffness = (
            each if movable is None else each[movable] for each in (self.f, self.a, self.pull, self.stiffness)
        )
        sign, at_first = part.sign, alpha
        total = None
        if self.total is not None:
            total = self.total - float(self.part.sign @ self.a) + float(sign @ alpha)
        f, alpha = self._foreseen(part, f, alpha, stiffness, movable)
        least, in_vain = np.inf, 0
        for _ in range(STEPS_PER_STAGE):
            if self.late(self.n_iter):
                self.stopped = True
                return False
            z = sign * (f + self.b)
            a = self._answer(z, pull, stiffness, part.upper)
            f_of_a = f + self._product(part, a - alpha, movable)
            lacking = 0.0 if total is None else total - float(sign @ a)
            rest = 0.5 * abs(float((sign * (alpha - a)) @ (f - f_of_a))) + abs(lacking) * self.width
            if rest <= self.left_over * self._gap(part, z, a):
                self._move(movable, a, a - at_first, f_of_a)
                return True
            in_vain = 0 if rest < 0.9 * least else in_vain + 1
            least = min(least, rest)
            undecided = ((a > 0) & (a < part.upper)).nonzero()[:, 0]
            self.stopped = self.stopped or len(undecided) > self.most
            if in_vain == STUCK or self.stopped:
                return False
            right = sign[undecided] * (f - f_of_a)[undecided]
            found = self._solve(part, undecided, stiffness, right, None if total is None else lacking)
            if found is None:
                return False
            delta, db = found
            to = a.index_add(0, undecided, delta)
            df = f_of_a + self._product(part, to - a, movable) - f
            change = to - alpha
            slope = float((sign * alpha) @ df) + (0.0 if total is None else db * total)
            t = self._lowest(z, sign * (df + db), pull, stiffness, part.upper, slope, float((sign * change) @ df))
            f, alpha, self.b = f + t * df, alpha + t * change, self.b + t * db
            self.n_iter += 1
        return False

    def _foreseen(
        self, part: Variables, f: Tensor, alpha: Tensor, stiffness: Tensor, movable: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Where those that were undecided go when their band is so much narrower, if all others stay.

        The multipliers that answer f in a narrower band are nearly all at a bound, and Newton's method would begin far
        from the solution.
        """
        undecided = ((alpha > 0) & (alpha < part.upper)).nonzero()[:, 0]
        if not len(undecided) or len(undecided) > self.most or bool((alpha > part.upper).any()):
            return f, alpha
        right = -(part.sign * (f + self.b) + part.linear + part.ridge * alpha)[undecided]
        found = self._solve(part, undecided, stiffness, right, None if self.total is None else 0.0)
        if found is None:
            return f, alpha
        to = alpha.index_add(0, undecided, found[0])
        self.b += found[1]
        return f + self._product(part, to - alpha, movable), to

    def _move(self, movable: Tensor | None, a: Tensor, change: Tensor, f: Tensor) -> None:
        """To these multipliers, and the values of their function."""
        if movable is None:
            self.a, self.f = a, f
            return
        self.a = self.a.index_copy(0, movable, a)
        self.f = self.f + self._product(self.part.some(movable), change, None)

    # --- where it stands ----------------------------------------------------------------------------------

    def _answer(self, z: Tensor, pull: Tensor, stiffness: Tensor, upper: Tensor) -> Tensor:
        """The multipliers that answer z."""
        return self.torch.minimum(((pull - z) / stiffness).clamp(min=0.0), upper)

    def _gap(self, part: Variables, z: Tensor, a: Tensor) -> float:
        """What the smoothing costs, or a leaves to z: the sum of Fenchel's inequalities between them."""
        slope = z + part.linear
        best = self.torch.where(slope < 0.0, part.upper, 0.0)
        curved = self.torch.where(part.ridge > 0.0, (-slope / part.ridge).clamp(min=0.0), best)
        best = self.torch.minimum(best, curved)
        return float(((slope + part.ridge * best) * (a - best) + 0.5 * part.ridge * (a - best) ** 2).sum())

    def _z(self) -> Tensor:
        return self.part.sign * (self.f + self.b)

    def _objective(self) -> float:
        part = self.part
        return float(self.a @ (0.5 * (part.sign * self.f + part.ridge * self.a) + part.linear))

    def _ends(self) -> tuple[float, float]:
        """The largest -s G among the variables whose s a may grow, and the smallest where it may shrink."""
        torch, part = self.torch, self.part
        value = -part.sign * (part.sign * self.f + part.ridge * self.a + part.linear)
        plus, below, above = part.sign > 0, self.a < part.upper, self.a > 0
        grows, shrinks = torch.where(plus, below, above), torch.where(plus, above, below)
        largest, smallest = torch.where(grows, value, -np.inf).amax(), torch.where(shrinks, value, np.inf).amin()
        return float(largest), float(smallest)

    def _lacking(self) -> float:
        """By how much s a misses its sum."""
        return 0.0 if self.total is None else abs(self.total - float(self.part.sign @ self.a))

    def _violation(self) -> float:
        largest, smallest = self._ends()
        return max(0.0, largest - smallest if self.total is not None else max(largest, -smallest))

    def _middle(self) -> float:
        """The offset that the conditions give."""
        ends = [end for end in self._ends() if np.isfinite(end)]
        return sum(ends) / len(ends) if ends else 0.0

    # --- linear algebra -----------------------------------------------------------------------------------

    def _at_all(self, coefficients: Tensor) -> Tensor:
        """K (s coefficients) at all variables."""
        used = coefficients.nonzero()[:, 0]
        return self._product(self.part, coefficients, None) if len(used) else self.torch.zeros_like(coefficients)

    def _product(self, part: Variables, coefficients: Tensor, movable: Tensor | None) -> Tensor:
        """K (s coefficients) of some variables, of those that are movable, None: of all."""
        used = coefficients.nonzero()[:, 0]
        columns, factors = part.index[used], (part.sign * coefficients)[used]
        if movable is not None:
            return self.rows.product(columns, factors, self.dtype, part.index)
        whole = len(self.samples) == self.rows.n
        found = self.rows.product(columns, factors, self.dtype, None if whole else self.samples)
        return found if self.copies is None else found[self.copies]

    def _solve(
        self, part: Variables, undecided: Tensor, stiffness: Tensor, right: Tensor, lacking: float | None
    ) -> tuple[Tensor, float] | None:
        """(Q_UU + stiffness) Delta + s db = right, s' Delta = lacking; None where rounding leaves no solution.

        By samples, of which several variables may be undecided: with W the sum of 1 / stiffness over those of a sample,
        their s Delta add up to x, and (K + 1 / W) x + db = sum(s right / stiffness) / W.
        """
        torch = self.torch
        if not len(undecided):  # the offset moves until something is undecided
            return right, 0.0 if lacking is None else -lacking / (1e-3 * float((1.0 / stiffness).sum()))
        sign, stiffness = part.sign[undecided], stiffness[undecided]
        samples, place = torch.unique(part.index[undecided], return_inverse=True)
        give = torch.zeros(len(samples), dtype=right.dtype, device=right.device)
        pulled = give.index_add(0, place, sign * right / stiffness)
        give = give.index_add(0, place, 1.0 / stiffness)
        K = self.rows.square(samples, "float64")
        self.largest = max(self.largest, float(K.diagonal().amax()))
        K.diagonal().add_(1.0 / give)
        factor, failed = torch.linalg.cholesky_ex(K)
        if int(failed):
            return None
        x, along = torch.cholesky_solve(torch.stack([pulled / give, torch.ones_like(give)], dim=1), factor).unbind(1)
        db = 0.0 if lacking is None else float((x.sum() - lacking) / along.sum())
        x = x - db * along
        moved = (pulled - x) / give  # K x + db
        return (right - sign * moved[place]) / stiffness, db

    def _lowest(
        self, z: Tensor, dz: Tensor, pull: Tensor, stiffness: Tensor, upper: Tensor, slope: float, curvature: float
    ) -> float:
        """The lowest point of a line, whose slope grows: where that is zero, between points that are looked at.

        The slope is slope + curvature t - sum a(z + t dz) dz.
        """
        torch, low, high = self.torch, 0.0, 2.0
        root = 1.0
        for _ in range(LOOKS):
            t = torch.linspace(low, high, POINTS, dtype=z.dtype, device=z.device)
            a = self._answer(z[:, None] + dz[:, None] * t, pull[:, None], stiffness[:, None], upper[:, None])
            slopes = (slope + curvature * t - dz @ a).cpu().numpy()
            if slopes[0] >= 0.0:  # so close to the lowest point that only rounding is seen
                return low or 1.0
            if slopes[-1] < 0.0:
                return high
            last, step = int(np.argmax(slopes >= 0.0)), (high - low) / (POINTS - 1)
            low, high = low + (last - 1) * step, low + last * step
            root = low + step * slopes[last - 1] / (slopes[last - 1] - slopes[last])
        return root
