"""The small problem of a working set in one kernel of the GPU, several pairs of variables at a time. By Triton."""

from functools import cache
from typing import Any

from mercer.devices.arrays import Place, Tensor

__all__ = ["optimise_pairs"]

# Groups of a working set: so many pairs move at once. More would disturb each other's steps.
GROUPS = 8
WARPS = 4


def optimise_pairs(
    place: Place,
    K: Tensor,
    x: Tensor,
    v: Tensor,
    low: Tensor,
    high: Tensor,
    ridge: Tensor,
    *,
    paired: bool,
    tol: Tensor,
    most: int,
) -> tuple[Tensor, Tensor]:
    r"""Minimise over the variables x = s a of a working set, from slopes v = -(f + s p + r x).

    The variables lie in groups, one behind the other. In every step each group finds its pair, the variable i that
    may grow with the largest slope and the j that may shrink with the largest gain [CY eq 1.60],

    .. math:: \frac{(v_i - v_j)^2}{K_{ii} + r_i + K_{jj} + r_j - 2 K_{ij}},

    or, where the sum of x need not stay, the one variable with the largest gain. All these steps together are one
    direction, which is taken up to its lowest point. So a step costs hardly more than that of one pair.

    Parameters
    ----------
    place : Place
    K : float32 tensor of shape (w, w)
        With w a power of two.
    x, v, low, high, ridge : float32 tensors of shape (w,)
    paired : bool
        Whether the sum of x stays.
    tol : float32 tensor of shape (1,)
        The violation that groups may keep.
    most : int
        Most steps of all groups together.

    Returns
    -------
    x : float32 tensor of shape (w,)
    taken : int32 tensor of shape (1,)
        Steps that pairs, or single variables, have made.
    """
    x, taken = x.clone(), place.zeros(1, dtype="int32")
    _kernel()[(1,)](
        K,
        x,
        v,
        low,
        high,
        ridge,
        taken,
        tol,
        most,
        PAIRED=paired,
        GROUPS=GROUPS,
        SIZE=len(x) // GROUPS,
        num_warps=WARPS,
    )
    return x, taken


@cache
def _kernel() -> Any:
    import triton
    import triton.language as tl

    @triton.jit
    def pairs(
        K, x, v, low, high, ridge, taken, tol, most,
        PAIRED: tl.constexpr, GROUPS: tl.constexpr, SIZE: tl.constexpr,
    ):  # fmt: skip
        w = GROUPS * SIZE
        group, member = tl.arange(0, GROUPS), tl.arange(0, SIZE)
        cell = group[:, None] * SIZE + member[None, :]
        X, V, L, H, R = (
            tl.load(x + cell),
            tl.load(v + cell),
            tl.load(low + cell),
            tl.load(high + cell),
            tl.load(ridge + cell),
        )
        bend = tl.load(K + cell * w + cell) + R
        enough = tl.load(tol)
        n = 0
        worst = 2.0 * enough + 1.0
        while (worst > enough) & (n < most):
            grows = tl.where(X < H, V, float("-inf"))
            shrinks = tl.where(X > L, V, float("inf"))
            if PAIRED:
                top = tl.max(grows, axis=1)
                gap = top - tl.min(shrinks, axis=1)
                at_i = member[None, :] == tl.argmax(grows, axis=1)[:, None]
                i = group * SIZE + tl.argmax(grows, axis=1)
                own = tl.load(K + i[:, None] * w + cell)
                bend_i = tl.sum(tl.where(at_i, bend, 0.0), axis=1)
                difference = top[:, None] - shrinks
                curvature = tl.maximum(bend_i[:, None] + bend - 2.0 * own, 1e-12)
                gain = tl.where(difference > 0.0, difference * difference / curvature, -1.0)
                j_member = tl.argmax(gain, axis=1)
                at_j = member[None, :] == j_member[:, None]
                j = group * SIZE + j_member
                best = tl.sum(tl.where(at_j, difference / curvature, 0.0), axis=1)
                room_i = tl.sum(tl.where(at_i, H - X, 0.0), axis=1)
                room_j = tl.sum(tl.where(at_j, X - L, 0.0), axis=1)
                step = tl.minimum(best, tl.minimum(room_i, room_j))
                step = tl.where((tl.max(gain, axis=1) > 0.0) & (gap > 0.5 * enough), step, 0.0)
                d = tl.where(at_i, step[:, None], 0.0) - tl.where(at_j, step[:, None], 0.0)
                rows = tl.load(K + i[:, None, None] * w + cell[None, :, :])
                rows -= tl.load(K + j[:, None, None] * w + cell[None, :, :])
            else:
                slope = tl.maximum(tl.where(X < H, V, 0.0), tl.where(X > L, -V, 0.0))
                gap = tl.max(slope, axis=1)
                slope_gain = slope * slope / tl.maximum(bend, 1e-12)
                i_member = tl.argmax(slope_gain, axis=1)
                at_i = member[None, :] == i_member[:, None]
                i = group * SIZE + i_member
                wish = tl.minimum(tl.maximum(X + V / tl.maximum(bend, 1e-12), L), H) - X
                step = tl.sum(tl.where(at_i, wish, 0.0), axis=1)
                step = tl.where(gap > 0.5 * enough, step, 0.0)
                d = tl.where(at_i, step[:, None], 0.0)
                rows = tl.load(K + i[:, None, None] * w + cell[None, :, :])
            change = tl.sum(rows * step[:, None, None], axis=0) + R * d
            falls, bends = tl.sum(d * V), tl.sum(d * change)
            t = tl.where(bends > falls, falls / tl.maximum(bends, 1e-30), 1.0)
            X += t * d
            V -= t * change
            # What lies at a bound up to rounding is there.
            near = tl.where(H - L < float("inf"), 1e-6 * (H - L), 0.0)
            X = tl.where(X - L <= near, L, tl.where(H - X <= near, H, X))
            n += tl.sum(tl.where(step != 0.0, 1, 0))
            worst = tl.max(gap)
        tl.store(x + cell, X)
        tl.store(taken, n)

    return pairs
