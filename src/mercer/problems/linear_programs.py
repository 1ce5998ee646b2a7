"""Linear programming machines: expansions over the samples whose coefficients are small in the 1-norm."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mercer.errors import InfeasibleError
from mercer.gram import Gram

__all__ = ["LinearProblem", "Multipliers", "level_set", "lp_margin", "lp_nu_margin", "lp_tube"]


class Multipliers(NamedTuple):
    """A feasible point of the dual, and what it proves."""

    u: np.ndarray
    """One multiplier for every row."""
    bound: float
    """No function has a smaller objective."""


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """A linear programme over the coefficients of :math:`f(x) = \\sum_j a_j k(x, x_j) + b`.

    .. math::

        \\min_{a, b, \\rho, \\xi} \\|a\\|_1 + \\sum_i c_i f(x_i) - r \\rho + \\sum_i p_i \\xi_i
        \\quad\\text{s.t.}\\quad s_i f(x_i) \\ge t_i + \\rho - \\xi_i, \\quad \\xi_i, \\rho \\ge 0.

    With `unit` there is :math:`\\|a\\|_1 \\le 1` in the place of the term :math:`\\|a\\|_1`; without `signed`,
    :math:`a_j \\ge 0`, and they add up to one; without a `reward` there is no :math:`\\rho`. Its dual is

    .. math::

        \\max_u \\sum_i t_i u_i \\quad\\text{s.t.}\\quad 0 \\le u_i \\le p_i, \\quad
        \\sum_i g_i = 0, \\quad \\sum_i u_i \\ge r, \\quad |h_j| \\le 1
        \\quad\\text{with}\\quad g_i = s_i u_i - c_i, \\quad h_j = \\sum_i g_i k(x_i, x_j),

    where h_j itself is at most 1 if a_j cannot be negative; with `unit`, :math:`\\max_j |h_j|` is subtracted from the
    objective in the place of the last constraint. The kernel matrix must be symmetric, and may be indefinite.

    Parameters
    ----------
    gram : Gram
    rows : int array of shape (m,)
        The sample of the Gram matrix in each inequality; a sample may have several, or none.
    columns : int array of shape (k,)
        The samples that may take part in the expansion.
    sign : array of shape (m,)
        s, +1 or -1.
    target : array of shape (m,)
        t.
    price : array of shape (m,)
        p > 0; infinite where there may be no error.
    pull : array of shape (m,)
        c >= 0; zeros unless `unit`.
    reward : float or None, default=None
        r >= 0.
    unit, signed : bool
        Whether the norm of a is bounded by one in place of small, and whether its entries may be negative.
    """

    gram: Gram
    rows: np.ndarray
    columns: np.ndarray
    sign: np.ndarray
    target: np.ndarray
    price: np.ndarray
    pull: np.ndarray
    reward: float | None = None
    unit: bool = False
    signed: bool = True

    def __post_init__(self):
        m = len(self.rows)
        for name in ("sign", "target", "price", "pull"):
            values = np.ascontiguousarray(getattr(self, name), dtype=np.float64)
            if values.shape != (m,) or np.isnan(values).any():
                raise ValueError(f"{name} must have a number for each of the {m} rows, got shape {values.shape}.")
            object.__setattr__(self, name, values)
        if not (self.price > 0).all():
            raise ValueError("price must be > 0.")
        if self.pull.any() and not self.unit:
            raise ValueError("pull needs unit=True: otherwise nothing bounds the coefficients that it favours.")

    # --- a function and its errors --------------------------------------------------------------------------

    def values(self, a: np.ndarray, b: float) -> np.ndarray:
        """f of every row, in float64."""
        at = np.flatnonzero(a)
        if not len(at):
            return np.full(len(self.rows), b)
        samples, of_row = np.unique(self.rows, return_inverse=True)
        return self.gram.dot_part(samples, self.columns[at], a[at, np.newaxis])[of_row, 0] + b

    def slack(self, f: np.ndarray, rho: float = 0.0) -> np.ndarray:
        """The errors xi."""
        return np.maximum(0.0, self.target + rho - self.sign * f)

    def objective(self, a: np.ndarray, rho: float, f: np.ndarray) -> float:
        """The value of the programme; errors that may not be are left to `violation`."""
        soft = np.isfinite(self.price)
        errors = float(self.price[soft] @ self.slack(f, rho)[soft])
        size = 0.0 if self.unit else float(np.abs(a).sum())
        return size + float(self.pull @ f) - (self.reward or 0.0) * rho + errors

    def size_of_values(self, f: np.ndarray) -> float:
        """What differences of function values are measured by: the largest target, or value if all targets are zero."""
        return float(np.abs(self.target).max(initial=0.0)) or float(np.abs(f).max(initial=0.0)) or 1.0

    def violation(self, a: np.ndarray, rho: float, f: np.ndarray) -> float:
        """By how much the function breaks a constraint; values in units of `size`."""
        broken = [self.slack(f, rho)[np.isinf(self.price)].max(initial=0.0) / (self.size or 1.0)]
        if not self.signed:
            broken.append(-a.min(initial=0.0))
        if self.unit:  # of a positive and a negative part that add up to one, something may cancel
            excess = float(np.abs(a).sum()) - 1.0
            broken.append(max(0.0, excess) if self.signed else abs(excess))
        return float(max(broken))

    # --- multipliers and what they prove -------------------------------------------------------------------

    def slopes(self, u: np.ndarray) -> np.ndarray:
        """h of every column, in float64: what its coefficient is worth."""
        g = np.bincount(self.rows, weights=self.sign * u - self.pull, minlength=self.gram.n)
        at = np.flatnonzero(g)
        return self.gram.dot_part(self.columns, at, g[at, np.newaxis])[:, 0] if len(at) else np.zeros(len(self.columns))

    def size_of(self, slopes: np.ndarray) -> np.ndarray:
        """What the dual bounds: the slopes, or their absolute values."""
        return np.abs(slopes) if self.signed else slopes

    def balanced(self, u: np.ndarray) -> np.ndarray:
        """The multipliers between their bounds, with their sums as they must be, changed as little as is simple."""
        u = np.clip(u, 0.0, self.price)
        plus = self.sign > 0
        pull, total = float(self.pull.sum()), max(float(u.sum()), self.reward or 0.0)
        most_plus, most_minus = float(self.price[plus].sum()), float(self.price[~plus].sum())
        minus = float(np.clip(0.5 * (total - pull), 0.0, max(0.0, min(most_minus, most_plus - pull))))
        for side, wanted in ((plus, minus + pull), (~plus, minus)):
            u[side] = _with_sum(u[side], self.price[side], wanted)
        return u

    def bound(self, u: np.ndarray, slopes: np.ndarray) -> Multipliers:
        """Multipliers that are feasible, from `balanced` ones and their slopes, and the bound that they give."""
        worst = float(self.size_of(slopes).max(initial=-np.inf if self.unit and not self.signed else 0.0))
        if self.unit:
            return Multipliers(u, float(self.target @ u) - worst)
        u = u / max(1.0, worst)
        value = float(self.target @ u)
        return Multipliers(u, value) if value >= 0.0 else Multipliers(np.zeros_like(u), 0.0)

    def imbalance(self, u: np.ndarray) -> float:
        """How far the sum that the offset asks for is from zero."""
        return abs(float((self.sign * u - self.pull).sum()))

    @property
    def size(self) -> float:
        """A size of function values below whose rounding nothing counts: of the targets, or of the kernel."""
        return float(np.abs(self.target).max(initial=0.0)) or float(np.abs(self.gram.diag()).max(initial=0.0))

    @property
    def scale(self) -> float:
        """A size of objectives below whose rounding nothing counts."""
        soft = np.isfinite(self.price)
        return self.size * float(self.price[soft].sum() + self.pull.sum())


def _with_sum(u: np.ndarray, upper: np.ndarray, total: float) -> np.ndarray:
    """u between zero and its bounds with another sum: all move by the same share of the room they have."""
    now = float(u.sum())
    if now >= total:
        return u * (total / now) if now > 0 else u
    room = upper - u
    if np.isinf(room).any():
        return u + np.where(np.isinf(room), (total - now) / np.isinf(room).sum(), 0.0)
    available = float(room.sum())
    return u + room * min(1.0, (total - now) / available) if available > 0 else u


def lp_margin(gram: Gram, sign: np.ndarray, cost: np.ndarray, *, index: np.ndarray | None = None) -> LinearProblem:
    """Classification with small coefficients. [CY eqs 2.3-2.6; P eqs 1.45-1.48]

    .. math::

        \\min_{a, b, \\xi} \\|a\\|_1 + \\sum_i C_i \\xi_i
        \\quad\\text{s.t.}\\quad s_i f(x_i) \\ge 1 - \\xi_i, \\; \\xi_i \\ge 0

    which is the form of the books with the objective multiplied by m. The coefficients have either sign, whatever the
    class of their sample; an infinite price is the hard margin.
    """
    n = len(sign)
    index = np.arange(n) if index is None else index
    return LinearProblem(gram, index, index, sign, np.ones(n), cost, np.zeros(n))


def lp_nu_margin(
    gram: Gram, sign: np.ndarray, nu: float, weight: np.ndarray, *, index: np.ndarray | None = None
) -> LinearProblem:
    """Classification with the widest band for coefficients of norm one; nu bounds the share of errors. [P eq 1.49]

    .. math::

        \\min_{a, b, \\rho, \\xi} \\sum_i \\omega_i \\xi_i - \\nu \\rho \\sum_i \\omega_i
        \\quad\\text{s.t.}\\quad \\|a\\|_1 = 1, \\; s_i f(x_i) \\ge \\rho - \\xi_i, \\; \\xi_i, \\rho \\ge 0

    which is the form of the book with the objective multiplied by m and the function divided by m.

    Raises
    ------
    InfeasibleError
        If nu is more than twice the share of the smaller class.
    """
    n = len(sign)
    index = np.arange(n) if index is None else index
    total = float(weight.sum())
    largest = 2 * min(float(weight[sign > 0].sum()), float(weight[sign < 0].sum())) / total
    if nu > largest * (1 + 1e-12):
        raise InfeasibleError(
            f"specified nu is infeasible: nu must be at most {largest:.6g} (twice the share of the smaller class), "
            f"got {nu}."
        )
    return LinearProblem(gram, index, index, sign, np.zeros(n), weight, np.zeros(n), reward=nu * total, unit=True)


def lp_tube(
    gram: Gram, y: np.ndarray, cost: np.ndarray, epsilon: float, *, index: np.ndarray | None = None
) -> LinearProblem:
    """Regression with small coefficients, errors up to epsilon are free. [CY §2.2 with the loss of eq 2.44]

    .. math::

        \\min_{a, b} \\|a\\|_1 + \\sum_i C_i \\max(0, |y_i - f(x_i)| - \\epsilon)

    Each sample has two rows: the first n push the function up to y - epsilon, the last n down to y + epsilon.
    """
    n = len(y)
    index = np.arange(n) if index is None else index
    return LinearProblem(
        gram,
        rows=np.tile(index, 2),
        columns=index,
        sign=np.repeat([1.0, -1.0], n),
        target=np.concatenate([y - epsilon, -y - epsilon]),
        price=np.tile(cost, 2),
        pull=np.zeros(2 * n),
    )


def level_set(
    gram: Gram, nu: float, weight: np.ndarray, *, rows: np.ndarray | None = None, columns: np.ndarray | None = None
) -> LinearProblem:
    """A surface f = 0 pulled onto the data from outside. [CY eqs 2.17-2.21]

    .. math::

        \\min_{a, b, \\xi} \\sum_i \\omega_i f(x_i) + \\tfrac1\\nu \\sum_i \\omega_i \\xi_i
        \\quad\\text{s.t.}\\quad f(x_i) \\ge -\\xi_i, \\; \\xi_i \\ge 0, \\; \\sum_j a_j = 1, \\; a_j \\ge 0

    The price is the lambda of the book, :math:`1 / \\nu`. The dual has :math:`0 \\le u_i \\le \\omega_i / \\nu` and
    :math:`\\sum_i u_i = \\sum_i \\omega_i`: at most a share nu of the samples lies outside, and at least a share nu
    outside or on the surface. nu = 0 is the hard margin. Below :math:`\\lambda = 1` the programme is unbounded.

    Parameters
    ----------
    gram : Gram
    nu : float in [0, 1]
    weight : array of shape (m,)
        omega, of the rows.
    rows : int array of shape (m,), default=None
        The samples that are to lie inside; None: all.
    columns : int array, default=None
        The samples that make the function; None: those of the rows.

    Returns
    -------
    LinearProblem
    """
    m = len(weight)
    rows = np.arange(m) if rows is None else rows
    price = weight / nu if nu > 0 else np.full(m, np.inf)
    return LinearProblem(
        gram,
        rows=rows,
        columns=rows if columns is None else columns,
        sign=np.ones(m),
        target=np.zeros(m),
        price=price,
        pull=weight,
        unit=True,
        signed=False,
    )
