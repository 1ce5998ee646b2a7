"""Points in the middle of a linear programme, by a primal-dual interior point method."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsyrk

from mercer.problems import LinearProblem
from mercer.solvers.lp.result import Point

__all__ = ["central_point"]

STEPS = 60
# How far a first point is kept from all bounds, as a share of its size.
APART = 0.3
# How much of the way to the nearest bound a step goes.
SHORT_OF_BOUND = 0.99
REFINEMENTS = 1
# An optimum below this share of the scale of a problem is as good as zero.
NOTHING = 1e-7
# Where the residuals have grown so much again, rounding has taken over.
ROUNDING_HAS_WON = 1e3


class Interior(NamedTuple):
    """All variables of the programme and its dual; those in pairs are positive."""

    a: np.ndarray
    """Positive and negative parts of the coefficients, shape (sides, k); pairs with z."""
    z: np.ndarray
    """What is left of the bounds on the slopes."""
    xi: np.ndarray
    """Errors; pairs with w."""
    w: np.ndarray
    """What is left of the prices."""
    r: np.ndarray
    """By how much inequalities are met; pairs with u."""
    u: np.ndarray
    """Multipliers."""
    rho: float
    """Pairs with q."""
    q: float
    """By how much the multipliers are more than the reward asks for."""
    b: float
    kappa: float
    """The bound on the slopes."""

    @property
    def coefficients(self) -> np.ndarray:
        """Of the function."""
        return self.a[0] - self.a[1] if len(self.a) == 2 else self.a[0]

    def moved(self, step: "Interior", primal: float, dual: float) -> "Interior":
        """Further by a step, the functions by one length, the multipliers by another."""
        lengths = (primal, dual) * 5  # the fields take turns
        return Interior(*(x + t * d for x, t, d in zip(self, lengths, step, strict=True)))  # type: ignore

    def products(self) -> tuple[np.ndarray, ...]:
        """Of all pairs; zero at the optimum."""
        return self.a * self.z, self.xi * self.w, self.r * self.u, np.array([self.rho * self.q])


def central_point(problem: LinearProblem, block: np.ndarray, start: Interior | Point | None, tol: float) -> Interior:
    """Mehrotra's predictor and corrector steps until gap and residuals are below `tol`, or rounding stops them.

    Parameters
    ----------
    problem : LinearProblem
        With finite prices.
    block : array of shape (k, m)
        Kernel values of the columns at play with the samples of all rows.
    start : Interior, Point or None
        An interior point of the same columns to go on from, or any point near which to start.
    tol : float

    Returns
    -------
    Interior

    Notes
    -----
    With D = xi/w + r/u for the rows and Theta = a/z for the columns, all steps come from one matrix of the size of the
    columns, :math:`G^T D^{-1} G + \\Theta^{-1}`, G having the entries :math:`s_i k(x_i, x_j)`, and columns for b and
    rho: O(m k^2) per step. The residuals of each solution are solved for again, so that the condition of the matrix,
    which grows without bound, leaves gaps of some 1e-9.
    """
    master = _Master(problem, block)
    now = start if isinstance(start, Interior) else master.near(start)
    best, best_merit = now, np.inf
    with np.errstate(all="ignore"):  # where rounding has won, nothing is a number
        for _ in range(STEPS):
            merit = master.look_at(now)
            if merit < best_merit:
                best, best_merit = now, merit
            if merit <= tol or not merit <= ROUNDING_HAS_WON * best_merit:
                break
            try:
                master.factorise()
            except LinAlgError:
                break
            now = master.step()
    return best


class _Master:
    """The programme with some of its columns."""

    def __init__(self, problem: LinearProblem, block: np.ndarray):
        self.problem = problem
        self.k, self.m = block.shape
        self.signs = np.array([1.0, -1.0])[: 1 + problem.signed]
        self.banded = problem.reward is not None
        # Rows of G' for the coefficients, b and -rho, in this order.
        extra = [problem.sign, np.ones(self.m)][: 1 + self.banded]
        self.G = np.concatenate([block * problem.sign, extra])
        self.pulled = block @ problem.pull
        self.pull = float(problem.pull.sum())
        self.reach = float(np.abs(block).max(initial=0.0)) or 1.0  # of the kernel

    def near(self, start: Point | None) -> Interior:
        """A first point: some way from all bounds, not feasible."""
        problem, price = self.problem, self.problem.price
        size = float(np.abs(problem.target).max()) or self.reach
        signs = self.signs[:, np.newaxis]
        if start is None:
            a, b, rho, u = np.full((len(self.signs), self.k), size / (self.reach * self.k)), 0.0, size, 0.5 * price
            xi = r = np.full(self.m, size)
        else:
            given, b, rho, u = start
            ahead = self.G[: self.k].T @ given + problem.sign * b - problem.target - rho
            a = np.maximum(0.0, signs * given) + APART**2 * (
                float(np.abs(given).max(initial=0.0)) or 1.0 / max(1, self.k)
            )
            u = np.clip(u, APART * price, (1 - APART) * price)
            if problem.unit:
                size = min(size, float(np.abs(ahead).mean()) or size)
            xi, r = np.maximum(APART * size, -ahead), np.maximum(APART * size, ahead)
            rho = max(rho, APART * size)
        h = self.G[: self.k] @ u - self.pulled
        kappa = 2.0 * float(np.abs(h).max()) + np.finfo(float).tiny if problem.unit else 1.0
        z = np.maximum(APART * kappa, kappa - signs * h)
        reward = problem.reward or 0.0
        q = max(APART * reward, float(u.sum()) - reward) if self.banded else 1.0
        return Interior(a, z, xi, price - u, r, u, rho if self.banded else 0.0, q, b, kappa)

    def look_at(self, x: Interior) -> float:
        """The residuals of a point, which becomes the present one, and how far it is from the optimum."""
        problem, k = self.problem, self.k
        self.x = x
        v = x.coefficients
        h = self.G[:k] @ x.u - self.pulled
        function = self.G[:k].T @ v + problem.sign * x.b  # s f
        self.of_rows = problem.target + x.rho - function - x.xi + x.r
        self.of_slopes = x.kappa - self.signs[:, np.newaxis] * h - x.z
        self.of_offset = self.pull - float(problem.sign @ x.u)
        self.of_reward = float(x.u.sum()) - (problem.reward or 0.0) - x.q if self.banded else 0.0
        self.of_norm = 1.0 - float(x.a.sum()) if problem.unit else 0.0
        self.mean = sum(float(part.sum()) for part in x.products()) / self._n_pairs
        primal = (
            float(problem.price @ x.xi) + float(self.pulled @ v) + self.pull * x.b - (problem.reward or 0.0) * x.rho
        )
        primal += 0.0 if problem.unit else float(x.a.sum())
        dual = float(problem.target @ x.u) - (x.kappa if problem.unit else 0.0)
        size = problem.size_of_values(function)
        # With `unit`, slopes are in units of the objective, which may be zero.
        worth = max(abs(primal), abs(dual), NOTHING * problem.scale)
        return max(
            abs(primal - dual) / worth,
            float(np.abs(self.of_rows).max()) / size,
            float(np.abs(self.of_slopes).max()) / (worth if problem.unit else 1.0),
            abs(self.of_norm),
        )

    @property
    def _n_pairs(self) -> int:
        return self.x.a.size + 2 * self.m + self.banded

    def factorise(self) -> None:
        """The matrix of all steps from the present point."""
        x, k = self.x, self.k
        self.D = x.xi / x.w + x.r / x.u
        self.theta = x.a / x.z
        self.Theta, self.tilt = self.theta.sum(axis=0), self.signs @ self.theta
        root = self.G / np.sqrt(self.D)
        H = dsyrk(1.0, root.T, trans=1, lower=1)
        diagonal = np.arange(len(H))
        self.ridge = np.concatenate([1.0 / self.Theta, [0.0], [x.q / x.rho] if self.banded else []])
        H[diagonal, diagonal] = (H[diagonal, diagonal] + self.ridge) * (1.0 + 1e-14)
        self.factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
        self.border, self.corner = np.zeros(len(H)), 1.0
        if self.problem.unit:
            self.border[:k] = self.tilt / self.Theta
            self.corner = float((self.tilt**2 / self.Theta).sum() - self.Theta.sum())
        self.inner_border = self._solve(self.border)
        self.rest_of_corner = self.corner - float(self.border @ self.inner_border)

    def _solve(self, right: np.ndarray) -> np.ndarray:
        return cho_solve(self.factor, right, check_finite=False)

    def direction(self, targets: tuple[np.ndarray, ...]) -> Interior:
        """The Newton step towards feasible points, and to products that differ from those now by `targets`."""
        x, k, signs = self.x, self.k, self.signs[:, np.newaxis]
        to_az, to_xw, to_ru, to_rq = targets
        parts = to_az / x.z - self.theta * self.of_slopes
        e = self.signs @ parts
        g = self.of_rows - to_xw / x.w + to_ru / x.u
        c = np.append(e / self.Theta, -self.of_offset)
        if self.banded:
            c = np.append(c, self.of_reward - float(to_rq[0]) / x.rho)
        rest = self.of_norm - float(parts.sum()) + float(self.tilt @ c[:k]) if self.problem.unit else 0.0
        # G' v + D u = g and -G u + ridge v + border kappa = c, and border' v + corner kappa = rest.
        v, kappa, u = np.zeros(len(c)), 0.0, g / self.D
        for _ in range(1 + REFINEMENTS):
            more = self._solve(c + self.G @ u - self.ridge * v - self.border * kappa)
            turn = (rest - float(self.border @ (v + more)) - self.corner * kappa) / self.rest_of_corner
            v, kappa = v + more - self.inner_border * turn, kappa + turn
            u = (g - self.G.T @ v) / self.D
        # Of G u, by the equation that it meets: multiplied by a large Theta, rounding stays out of the coefficients.
        slopes = (v[:k] - e + kappa * self.tilt) / self.Theta
        z = kappa - signs * slopes + self.of_slopes
        return Interior(
            a=(to_az - x.a * z) / x.z,
            z=z,
            xi=(to_xw + x.xi * u) / x.w,
            w=-u,
            r=(to_ru - x.r * u) / x.u,
            u=u,
            rho=-float(v[k + 1]) if self.banded else 0.0,
            q=float(u.sum()) + self.of_reward if self.banded else 0.0,
            b=float(v[k]),
            kappa=kappa,
        )

    def lengths(self, step: Interior) -> tuple[float, float]:
        """How far functions and multipliers can go until one of them is zero."""
        x = self.x
        primal = (x.a, step.a), (x.xi, step.xi), (x.r, step.r), (x.rho, step.rho)
        dual = (x.z, step.z), (x.w, step.w), (x.u, step.u), (x.q, step.q)
        return _room(primal), _room(dual)

    def step(self) -> Interior:
        """The next point: a look ahead tells how central it is to be."""
        x = self.x
        products = x.products()
        ahead = self.direction(tuple(-part for part in products))
        there = x.moved(ahead, *self.lengths(ahead))
        mean_there = sum(float(part.sum()) for part in there.products()) / self._n_pairs
        centred = (mean_there / self.mean) ** 3 * self.mean
        step = self.direction(tuple(centred - p - c for p, c in zip(products, ahead.products(), strict=True)))
        primal, dual = self.lengths(step)
        return x.moved(step, min(1.0, SHORT_OF_BOUND * primal), min(1.0, SHORT_OF_BOUND * dual))


def _room(pairs: tuple) -> float:
    longest = 1.0
    for x, step in pairs:
        down = np.asarray(step) < 0
        if down.any():
            longest = min(longest, float((-np.asarray(x)[down] / np.asarray(step)[down]).min()))
    return longest
