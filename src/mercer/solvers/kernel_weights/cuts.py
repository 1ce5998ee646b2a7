"""Cuts: the linear functions below the objective that trials of weights on the simplex leave behind."""

import numpy as np
from scipy.optimize import linprog, minimize

from mercer.problems import Simplex
from mercer.solvers.kernel_weights.base import Search, Trial, relative
from mercer.threads import one_blas_thread

__all__ = ["Cuts"]

# Cuts that so many linear programmes in a row had no use for are dropped.
IDLE = 20
# Shares of cuts below this, and weights, are rounding of the linear programme.
NEGLIGIBLE = 1e-12
# A gap below this part of the values of cuts is rounding.
ROUNDING = 1e-7
LP_TOLERANCES = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
EXACT = {"ftol": 1e-15, "gtol": 1e-10}


class Cuts:
    """The cuts of a search: J(d) >= L(a) - d'S(a) for every point a that was found.

    Parameters
    ----------
    search : Search
        Over weights on the simplex, with one trial at least.
    """

    def __init__(self, search: Search):
        assert search.best is not None
        self._search, self._cuts, self._idle = search, [search.best], [0]

    def try_weights(self, weights: np.ndarray) -> Trial:
        """A trial of the search, whose cut is kept."""
        trial = self._search.try_weights(weights)
        self._cuts.append(trial)
        self._idle.append(0)
        return trial

    def lowest(self) -> np.ndarray:
        """The weights where the largest of the cuts is smallest. [CY eqs 3.60-3.62]

        By a linear programme, solved by HiGHS. Its multipliers are shares of the cuts; as L - d'S is concave in a, the
        average of their points with these shares bounds the optimum from below at least as well as the programme does.
        The search is given it once that proves what is wanted: where the solution a of the machine is not unique, none
        of them may.
        """
        search, (linear, energies) = self._search, self._arrays()
        # The cuts at the corners of the simplex, from the upper bound on and in the unit of the gap.
        corners = linear[:, np.newaxis] - energies - search.upper
        unit = max(search.upper - search.lower, ROUNDING * float(np.abs(corners).max())) or 1.0
        corners /= unit
        t, p = corners.shape
        found = linprog(
            np.eye(1, p + 1, p)[0],
            A_ub=np.column_stack([corners, -np.ones(t)]),
            b_ub=np.zeros(t),
            A_eq=np.append(np.ones(p), 0.0)[np.newaxis],
            b_eq=[1.0],
            bounds=[(0.0, None)] * p + [(None, None)],
            method="highs",
            options=LP_TOLERANCES,
        )
        if found.x is None:  # rounding has made the programme look infeasible
            assert search.best is not None
            return search.best.weights
        shares = np.maximum(0.0, -found.ineqlin.marginals)
        shares = np.where(shares > NEGLIGIBLE, shares, 0.0)
        shares /= shares.sum()
        # What the shares prove, whatever the programme has rounded.
        search.together = max(search.together, search.upper + unit * float((shares @ corners).min()))
        self._prove(shares)
        self._drop_idle(shares)
        return _on_simplex(found.x[:p])

    def _prove(self, shares: np.ndarray) -> None:
        search = self._search
        if search.status is None and relative(search.upper - search.together, search.upper) <= search.gap_tol:
            used = np.flatnonzero(shares)
            points = zip(*(self._cuts[k].points for k in used.tolist()), strict=True)
            search.prove([sum(share * a for share, a in zip(shares[used], of, strict=True)) for of in points])

    def _drop_idle(self, shares: np.ndarray) -> None:
        self._idle = [0 if share else idle + 1 for share, idle in zip(shares, self._idle, strict=True)]
        kept = [k for k, idle in enumerate(self._idle) if idle < IDLE]
        self._cuts, self._idle = [self._cuts[k] for k in kept], [self._idle[k] for k in kept]

    def nearest_below(self, level: float, near: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """The weights nearest to some where all cuts are at most at a level; `inside` is such a point.

        The dual has a multiplier mu >= 0 for each cut, and the weights are the projection of near + S'mu. What its
        solution has above the level is mended on the way to `inside`.
        """
        linear, S = self._arrays()
        sizes = np.linalg.norm(S - S.mean(axis=1, keepdims=True), axis=1)  # of the slopes on the simplex
        sizes = np.where(sizes > 0, sizes, 1.0)
        S, need, simplex = S / sizes[:, np.newaxis], (linear - level) / sizes, Simplex()

        def dual(mu: np.ndarray) -> tuple[float, np.ndarray]:
            d = simplex.project(near + mu @ S)
            short = need - S @ d
            return -(0.5 * float((d - near) @ (d - near)) + float(mu @ short)), -short

        bounds = [(0.0, None)] * len(need)
        with one_blas_thread():
            found = minimize(dual, np.zeros(len(need)), jac=True, bounds=bounds, method="L-BFGS-B", options=EXACT)
        d = simplex.project(near + found.x @ S)
        above, room = float((need - S @ d).max()), float((need - S @ inside).max())
        if above > 0 and room < 0:
            d = d + above / (above - room) * (inside - d)
        return _on_simplex(d)

    def _arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """L and S of all cuts."""
        return np.array([cut.linear for cut in self._cuts]), np.array([cut.energies for cut in self._cuts])


def _on_simplex(weights: np.ndarray) -> np.ndarray:
    weights = np.where(weights > NEGLIGIBLE, weights, 0.0)
    return weights / weights.sum()
