"""The posterior over the weights of the model, kept up to date step by step."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

from mercer.problems.sparse_bayes import Gamma
from mercer.solvers.sparse_bayes.analysis import best_precision, gain_at

__all__ = ["Noise", "Posterior", "Step", "factorise", "solve"]

# A candidate whose part outside the model is smaller than this is a combination of what is in: nothing but rounding.
OUTSIDE = 1e-10
# Steps by rank-one updates before everything is computed anew.
UPDATES = 64
# Newton steps of all precisions: the least damping, how often it is raised, the largest change of a logarithm.
LEAST_DAMPING, DAMPINGS, LARGEST_STEP = 1e-3, 14, 3.0
# The first jitter, as a part of the diagonal, and the last.
JITTER, LARGEST_JITTER = 1e-14, 1e-6


class Step(NamedTuple):
    """One basis function enters the model, or leaves it."""

    candidate: int
    alpha: float
    """Its precision; infinite: it leaves."""
    gain: float
    """By how much the log evidence grows."""

    @property
    def is_addition(self) -> bool:
        """Whether it enters."""
        return self.alpha < np.inf


@dataclass
class Noise:
    """Gaussian noise of one precision about values t."""

    beta: float
    """The precision."""
    count: float
    """The number of values."""
    tt: float
    """The sum of their squares."""
    learnt: bool
    limits: tuple[float, float]
    """The least and the largest precision."""
    prior: Gamma

    def empty(self) -> float:
        """The log evidence of a model without basis functions [B eq 7.85], plus the log density of the precision."""
        return self.value(self.beta * self.tt)

    def value(self, misfit: float) -> float:
        """With a misfit that is beta times the sum of the squared errors."""
        return 0.5 * (self.count * float(np.log(self.beta / (2 * np.pi))) - misfit) + self.log_density()

    def log_density(self) -> float:
        """Of the precision."""
        return float(self.prior.log_density(np.array(self.beta))) if self.learnt else 0.0


def factorise(H: np.ndarray) -> tuple[np.ndarray, float, float]:
    """C with C' C = H^-1 and log |H| of a positive definite matrix, and the jitter that it took.

    The matrix is scaled to a diagonal of ones first; the jitter is added to those.
    """
    scale = 1.0 / np.sqrt(H.diagonal())
    scaled = H * np.outer(scale, scale)
    jitter = 0.0
    while True:
        lower, info = lapack.dpotrf(scaled, lower=True)
        if info == 0:
            break
        added = JITTER if jitter == 0.0 else 9 * jitter
        jitter += added
        if jitter > LARGEST_JITTER:
            raise np.linalg.LinAlgError(
                f"The covariance of the weights is not positive definite, even with a jitter of {LARGEST_JITTER:g}."
            )
        scaled.flat[:: len(H) + 1] += added
    inverse, _ = lapack.dtrtri(lower, lower=True)
    log_determinant = 2.0 * float(np.log(lower.diagonal()).sum() - np.log(scale).sum())
    return np.tril(inverse) * scale, log_determinant, jitter


def solve(root: np.ndarray, H: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, float]:
    """m = H^-1 b with one refinement, and b' H^-1 b as 2 m' b - m' H m: an error of m counts in its square alone."""
    m = root.T @ (root @ b)
    m += root.T @ (root @ (b - H @ m))
    return m, float(m @ (b + (b - H @ m)))


class Posterior:
    """N(mean, covariance) over the weights of the model, for Gaussian noise of precision B about targets t.

    `value` is the log evidence, less what an empty model has, plus the log density of the precisions.

    Every candidate has its sparsity S = phi' C^-1 phi and quality Q = phi' C^-1 t [B eqs 7.102-7.107] kept up to date:
    a step costs O(p m) for p candidates, m of them in the model, and no matrix is factorised.

    Parameters
    ----------
    g, b : ndarray of shape (p,)
        phi' B phi and phi' B t of all candidates.
    products : callable
        From some candidates to Phi_some' B Phi, shape (n_some, p).
    prior : Gamma
        Of the precisions.
    noise : Noise or None
        What B is, for values; its precision may be learnt.
    """

    def __init__(
        self,
        g: np.ndarray,
        b: np.ndarray,
        products: Callable[[np.ndarray], np.ndarray],
        prior: Gamma,
        noise: Noise | None = None,
    ):
        self.g, self.b, self.products, self.prior, self.noise = g, b, products, prior, noise
        self.p = len(g)
        self.members = np.empty(0, dtype=np.intp)
        self.alpha = np.empty(0)
        self.mean = np.empty(0)
        self.covariance = np.empty((0, 0))
        self._columns = np.empty((8, self.p))
        self.inside = np.zeros(self.p, dtype=bool)
        self.jitter = 0.0
        self._damping = 0.0
        self.value = 0.0
        self._updates = 0

    @property
    def m(self) -> int:
        """The size of the model."""
        return len(self.members)

    @property
    def columns(self) -> np.ndarray:
        """Phi_a' B Phi, shape (m, p)."""
        return self._columns[: self.m]

    # --- all at once --------------------------------------------------------------------------------------

    def set(self, members: np.ndarray, alpha: np.ndarray, columns: np.ndarray | None = None) -> None:
        """The model, from scratch; the columns are computed if they are not given."""
        self.members, self.alpha = np.array(members, dtype=np.intp), np.array(alpha, dtype=np.float64)
        self.inside[:] = False
        self.inside[self.members] = True
        self._columns = np.empty((self.m + 8, self.p))
        self.columns[:] = self.products(self.members) if columns is None else columns
        self.refresh()

    def refresh(self) -> None:
        """Everything from the precisions alone."""
        self._solve()
        self._survey()

    def _solve(self) -> float:
        """Mean, covariance and evidence [B eqs 7.82-7.85]."""
        H = self.columns[:, self.members].copy()
        H.flat[:: self.m + 1] += self.alpha
        self._root, log_determinant, jitter = factorise(H)
        self.jitter = max(self.jitter, jitter)
        self.mean, explained = solve(self._root, H, self.b[self.members])
        self.value = 0.5 * (explained + float(np.log(self.alpha).sum()) - log_determinant)
        self.value += float(self.prior.log_density(self.alpha).sum())
        if self.noise is not None:
            self.value += self.noise.empty()
        return self.value

    def _survey(self) -> None:
        """Sparsity and quality of all candidates [B eqs 7.106-7.107]."""
        self.covariance = self._root.T @ self._root
        self.S = self.g - np.square(blas.dtrmm(1.0, self._root.T, self.columns.T, side=1, lower=False)).sum(axis=1)
        self.Q = self.b - self.mean @ self.columns
        self._updates = 0

    def improve(self) -> float:
        """All precisions at once, by a Newton step in their logarithms; how much the evidence grows.

        As much of a diagonal is taken away from the second derivatives as makes the step short and the evidence larger
        (Levenberg and Marquardt's way).
        """
        slope, bend, diagonal = self._derivatives()
        before, alpha, moved = self.value, self.alpha, 1.0
        learns_noise = len(slope) > self.m
        damping = self._damping
        for _ in range(DAMPINGS):
            damped = bend.copy()
            damped.flat[:: len(bend) + 1] += damping * diagonal
            lower, info = lapack.dpotrf(damped, lower=True, overwrite_a=True)
            step = lapack.dpotrs(lower, slope, lower=True)[0] if info == 0 else np.full(len(slope), np.inf)
            if np.abs(step).max() <= LARGEST_STEP:
                self.alpha = alpha * np.exp(step[: self.m])
                if learns_noise:
                    moved = self._move_noise(float(np.exp(step[-1])), moved)
                if self._solve() >= before:
                    self._damping = damping / 16 if damping > LEAST_DAMPING else 0.0
                    self._survey()
                    return self.value - before
            damping = max(4 * damping, LEAST_DAMPING)
        self.alpha = alpha
        if learns_noise:
            self._move_noise(1.0, moved)
        self.refresh()
        return 0.0

    def _move_noise(self, factor: float, last: float) -> float:
        """The precision of the noise becomes `factor` times what it was before it was multiplied by `last`.

        The factor that its limits allow.
        """
        assert self.noise is not None
        beta = self.noise.beta / last
        self.noise.beta = float(np.clip(factor * beta, *self.noise.limits))
        factor = self.noise.beta / beta
        for moments in (self.g, self.b, self.columns):
            moments *= factor / last
        return factor

    def _derivatives(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Slopes of the evidence in log alpha (last, in log beta if it may move), minus second derivatives, a diagonal.

        With V = A^1/2 Sigma A^1/2 and v = A^1/2 mean the slopes are (1 - V_ii - v_i^2) / 2, and the second derivatives
        V_ij (V_ij / 2 + v_i v_j), less (V_ii + v_i^2) / 2 on the diagonal.
        """
        root = np.sqrt(self.alpha)
        V = self.covariance * np.outer(root, root)
        v = root * self.mean
        diagonal = 0.5 * (V.diagonal() + v * v)
        slope = 0.5 - diagonal
        if self.prior:
            slope += self.prior.shape - self.prior.rate * self.alpha
            diagonal = diagonal + self.prior.rate * self.alpha
        bend = -V * (0.5 * V + np.outer(v, v))
        bend.flat[:: self.m + 1] += diagonal
        if self.noise is None or not self.noise.learnt:
            return slope, bend, diagonal
        # In log beta: (count - trace(1 - V) - misfit) / 2, with misfit = beta |t - Phi mean|^2.
        noise, Vv, squares = self.noise, V @ v, np.square(V).sum(axis=1)
        misfit = max(noise.beta * noise.tt - float(self.mean @ self.b[self.members]) - float(v @ v), 0.0)
        of_noise = 0.5 * (noise.count - self.m + V.trace() - misfit)
        cross = -0.5 * (V.diagonal() - squares) + v * Vv
        second = 0.5 * (V.trace() - float(squares.sum()) + misfit) - float(v @ Vv)
        least = 0.5 * misfit
        if noise.prior:
            of_noise += noise.prior.shape - noise.prior.rate * noise.beta
            second += noise.prior.rate * noise.beta
        if noise.beta == noise.limits[int(of_noise > 0)]:  # it would leave them
            return slope, bend, diagonal
        return (
            np.append(slope, of_noise),
            np.block([[bend, cross[:, np.newaxis]], [cross[np.newaxis], np.array([[second]])]]),
            np.append(diagonal, max(least, 0.5)),
        )

    # --- step by step -------------------------------------------------------------------------------------

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """s and q of all candidates: each with itself out of the model [B eqs 7.104-7.105]."""
        s, q = self.S.copy(), self.Q.copy()
        at, alpha, variance = self.members, self.alpha, self.covariance.diagonal()
        # S = alpha - alpha^2 variance and Q = alpha mean for members: of both forms, the one that is no difference of
        # nearly equal numbers.
        determined = alpha * variance < 0.5
        kept = np.where(determined, alpha, alpha - s[at])
        s[at] = np.where(determined, 1.0 / variance - alpha, alpha * (s[at] / kept))
        q[at] = np.where(determined, self.mean / variance, alpha * (q[at] / kept))
        return s, q

    def improve_one(self) -> None:
        """The one precision in the model that brings most, to where it is best: this may be over a hill."""
        s, q = (factor[self.members] for factor in self.factors())
        known = s > OUTSIDE * self.g[self.members]
        s = np.where(known, s, 1.0)
        alpha, gain = best_precision(s, q, self.prior)
        gain = np.where(known & np.isfinite(alpha), gain - gain_at(self.alpha, s, q, self.prior), 0.0)
        j = int(gain.argmax())
        if gain[j] > 0.0:
            self.alpha = self.alpha.copy()
            self.alpha[j] = alpha[j]
            self.refresh()

    def best_step(self, barred: np.ndarray | None = None) -> Step:
        """The addition or removal that makes the evidence largest, of those that are not barred."""
        s, q = self.factors()
        usable = s > OUTSIDE * self.g
        if barred is not None:
            usable &= ~barred
        at = self.members
        alpha, gain = best_precision(np.where(usable, s, 1.0), np.where(usable, q, 0.0), self.prior)
        leaving = -gain_at(self.alpha, np.maximum(s[at], 0.0), q[at], self.prior)
        gain[at] = np.where(np.isinf(alpha[at]) & (self.m > 1), leaving, 0.0)  # one basis function always stays
        if barred is not None:
            gain[barred] = 0.0
        j = int(gain.argmax())
        return Step(j, float(alpha[j]), float(gain[j]))

    def take(self, step: Step) -> None:
        """Make a step, by updates of rank one [Tipping and Faul 2003, appendix]."""
        if step.is_addition:
            self._add(step.candidate, step.alpha)
        else:
            self._remove(int(np.flatnonzero(self.members == step.candidate)[0]))
        self.value += step.gain
        self._updates += 1
        if self._updates >= UPDATES:
            self.refresh()

    def _add(self, j: int, alpha: float) -> None:
        column = self.products(np.array([j]))[0]
        v = self.covariance @ column[self.members]
        variance = 1.0 / (alpha + self.S[j])
        weight = variance * self.Q[j]
        outside = column - v @ self.columns
        m = self.m
        covariance = np.empty((m + 1, m + 1))
        covariance[:m, :m] = self.covariance + variance * np.outer(v, v)
        covariance[m, :m] = covariance[:m, m] = -variance * v
        covariance[m, m] = variance
        self.covariance = covariance
        self.mean = np.append(self.mean - weight * v, weight)
        self.S -= variance * np.square(outside)
        self.Q -= weight * outside
        if m == len(self._columns):
            self._columns = np.concatenate([self._columns, np.empty_like(self._columns)])
        self._columns[m] = column
        self.members, self.alpha = np.append(self.members, j), np.append(self.alpha, alpha)
        self.inside[j] = True

    def _remove(self, k: int) -> None:
        u = self.covariance[:, k] / np.sqrt(self.covariance[k, k])
        weight = self.mean[k] / np.sqrt(self.covariance[k, k])
        moved = u @ self.columns
        self.S += np.square(moved)
        self.Q += weight * moved
        self.inside[self.members[k]] = False
        self._columns[k : self.m - 1] = self._columns[k + 1 : self.m]
        self.mean = np.delete(self.mean - weight * u, k)
        self.covariance = np.delete(np.delete(self.covariance - np.outer(u, u), k, 0), k, 1)
        self.members, self.alpha = np.delete(self.members, k), np.delete(self.alpha, k)
