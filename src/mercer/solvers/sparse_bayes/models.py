"""What the likelihoods have in common with a Gaussian: moments of basis functions, a posterior, an evidence."""

from abc import ABC, abstractmethod
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from mercer.kernels.samples import row_blocks
from mercer.problems.sparse_bayes import Gamma, SparseBayesProblem
from mercer.solvers.sparse_bayes.analysis import best_precision, gain_at
from mercer.solvers.sparse_bayes.posterior import OUTSIDE, Noise, Posterior, factorise

__all__ = ["GaussianModel", "LaplaceModel", "Model", "Weights", "make_model"]

# Products of unit vectors that differ by less may be those of equal ones.
EQUAL = 1e-12
# Squares that are smaller are taken for zeros, so that their inverses are finite.
SMALLEST = 1e-300
# The least and the largest variance of the noise, as parts of the mean square of the targets.
LEAST_NOISE, LARGEST_NOISE = 1e-10, 1e3
# The first guess, as a part of their variance; at least, as a part of their mean square.
FIRST_NOISE, LEAST_FIRST_NOISE = 0.1, 1e-8
# So many products with all candidates are computed one by one; for more, those of all with all, at once.
FEW = 64
# Solutions of linear systems, the first included.
REFINEMENTS = 3
# Newton's method for the mode.
NEWTON_STEPS, HALVINGS, MODE_TOL = 100, 40, 1e-10


class Weights(NamedTuple):
    """The posterior over the weights of a model, for basis functions of unit norm."""

    members: np.ndarray
    """Which weights of the problem."""
    alpha: np.ndarray
    mean: np.ndarray
    root: np.ndarray
    """C with covariance C' C."""
    value: float
    """The log evidence plus the log densities of the precisions."""
    jitter: float

    @property
    def covariance(self) -> np.ndarray:
        """Of the weights."""
        return self.root.T @ self.root

    @property
    def variances(self) -> np.ndarray:
        """Of the weights."""
        return np.square(self.root).sum(axis=0)

    def slopes(self, prior: Gamma) -> np.ndarray:
        """Of the log evidence, and the log density, in the logarithms of the precisions [B eq 7.115]."""
        slopes = 0.5 * (1.0 - self.alpha * (self.variances + np.square(self.mean)))
        return slopes + prior.shape - prior.rate * self.alpha

    def largest_gain(self, prior: Gamma, information: np.ndarray) -> float:
        """How much the log evidence could grow by changing one precision, or removing one basis function.

        Of basis functions that are combinations of the others, as far as rounding tells, nothing is known.
        """
        s, q = 1.0 / self.variances - self.alpha, self.mean / self.variances
        known = s > OUTSIDE * information
        s, q, alpha = s[known], q[known], self.alpha[known]
        gain = best_precision(s, q, prior)[1] - gain_at(alpha, s, q, prior)
        return float(gain.max(initial=0.0))


class Model(ABC):
    """A problem with its basis functions scaled to unit norm, and the noise as it is now.

    A basis function that is zero on all samples is no candidate, and of equal ones the first alone is.
    """

    beta: float = 1.0

    def __init__(self, problem: SparseBayesProblem):
        self.problem = problem
        self._last_look: tuple = (None, None)
        mark = np.random.default_rng(0).normal(size=(1, problem.design.n))
        squares, products = self._pass(np.concatenate([problem.weight * problem.targets.T, mark]))
        squares[self._copies(products[-1], squares)] = 0.0
        products = products[:-1]
        # Priors are of the precisions as they are.
        norms = np.sqrt(squares) if not problem.precision_prior else np.where(squares > 0, 1.0, 0.0)
        with np.errstate(divide="ignore"):
            self.scale = np.where(norms > 0, 1.0 / norms, 0.0)
        self.squares = squares * np.square(self.scale)
        self.products = products * self.scale

    def _pass(self, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weighted squared norms of all basis functions, shape (m,), and their products with k vectors, (k, m)."""
        design, weight = self.problem.design, self.problem.weight
        squares, products = np.empty(design.m), np.empty((len(vectors), design.m))

        def look(block: slice, rows: np.ndarray) -> None:
            with np.errstate(over="ignore"):
                squares[block] = np.einsum("ij,ij,j->i", rows, rows, weight)
                products[:, block] = vectors @ rows.T

        design.over_blocks(look)
        if not np.isfinite(squares).all():
            i = int(np.argmin(np.isfinite(squares)))
            largest = float(np.abs(design.rows(np.array([i]))).max())
            raise ValueError(f"Basis function {i} must have values with finite squares, got {largest:.3g}.")
        squares[squares < SMALLEST] = 0.0
        return squares, products

    def _copies(self, marks: np.ndarray, squares: np.ndarray) -> np.ndarray:
        """Basis functions that have the values of an earlier one, found by their products with a random vector."""
        order = np.argsort(marks, kind="stable")
        near = np.abs(np.diff(marks[order])) <= EQUAL * np.sqrt(squares[order[1:]])
        alike = np.sort(order[np.append(near, False) | np.append(False, near)])
        seen, copies = set(), []
        for block in row_blocks(len(alike), self.problem.design.n):
            for i, row in zip(alike[block], self.problem.design.rows(alike[block]), strict=True):
                digest = blake2b(row.tobytes()).digest()
                if digest in seen:
                    copies.append(i)
                seen.add(digest)
        return np.array(copies, dtype=np.intp)

    def rows(self, members: np.ndarray) -> np.ndarray:
        """The scaled basis functions of some weights."""
        which = members % self.problem.design.m
        rows = self.problem.design.rows(which)  # a copy
        rows *= self.scale[which, np.newaxis]
        return rows

    def screen(self, weights: Weights | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """g, S and Q of all weights of the problem; the last look is remembered."""
        if weights is None or weights is not self._last_look[0]:
            self._last_look = weights, self._screen(weights)
        return self._last_look[1]

    @abstractmethod
    def _screen(self, weights: Weights | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """g, S and Q of all weights of the problem."""

    @abstractmethod
    def at(self, members: np.ndarray, rows: np.ndarray, alpha: np.ndarray, mean: np.ndarray | None = None) -> Weights:
        """The posterior for given precisions; a mean to begin with is of use for classes."""

    def information(self, members: np.ndarray) -> np.ndarray:
        """What the data say of each weight alone: phi' B phi, at most."""
        return 0.25 * self.squares[members % self.problem.design.m]

    def improve_noise(self, weights: Weights, rows: np.ndarray, *, by_expectation: bool) -> None:
        """Re-estimate the noise; classes have none."""
        return

    def evidence(self, weights: Weights) -> float:
        """The log evidence alone."""
        return weights.value - float(self.problem.precision_prior.log_density(weights.alpha).sum())


class Products:
    """beta Phi_some' W Phi of candidates: those of the first are known, of the others they are computed when asked for.

    Some at a time, until it is clear that many will be asked for.

    Parameters
    ----------
    known : ndarray of shape (k, p)
        Without beta: the products of the first k of p candidates with all.
    rows : ndarray of shape (p - k, n)
        The other basis functions, times the roots of the weights.
    noise : Noise
    """

    def __init__(self, known: np.ndarray, rows: np.ndarray, noise: Noise):
        self.known, self.rows, self.noise = known, rows, noise
        self._asked, self._among = 0, np.empty((0, 0))

    def __call__(self, which: np.ndarray) -> np.ndarray:
        k = len(self.known)
        first, others = which < k, which[which >= k]
        found = np.empty((len(which), k + len(self.rows)))
        found[first] = self.known[which[first]]
        self._asked += len(others)
        if self._asked > FEW and not len(self._among):  # in the beginning, for a model that is not small
            self._among = self.rows @ self.rows.T
        among = self._among[others - k] if len(self._among) else self.rows[others - k] @ self.rows.T
        found[~first] = np.hstack([self.known[:, others].T, among])
        return self.noise.beta * found


class GaussianModel(Model):
    """Values with noise of precision beta."""

    def __init__(self, problem: SparseBayesProblem):
        super().__init__(problem)
        t, weight = problem.targets[:, 0], problem.weight
        self.count = float(weight.sum())
        self.tt = float(weight @ (t * t))
        scale = self.tt / self.count or 1.0
        about = float(weight @ np.square(t - weight @ t / self.count)) / self.count
        first = (
            1.0 / max(FIRST_NOISE * about, LEAST_FIRST_NOISE * scale) if problem.noise is None else 1.0 / problem.noise
        )
        limits = (1.0 / (LARGEST_NOISE * scale), 1.0 / (LEAST_NOISE * scale))
        self.noise = Noise(first, self.count, self.tt, problem.noise is None, limits, problem.noise_prior)
        self._known: dict[int, np.ndarray] = {}

    @property
    def beta(self) -> float:
        """The precision of the noise."""
        return self.noise.beta

    @beta.setter
    def beta(self, value: float) -> None:
        self.noise.beta = value

    def information(self, members):
        return self.beta * self.squares[members]

    def evidence(self, weights: Weights) -> float:
        return super().evidence(weights) - self.noise.log_density()

    def _screen(self, weights):
        g, b = self.beta * self.squares, self.beta * self.products[0]
        if weights is None:
            return g, g.copy(), b.copy()
        S, Q, members = np.empty(len(g)), np.empty(len(g)), weights.members
        # The products with all do not change with the precisions: where the design is in memory, they stay there.
        keep = self.problem.design.in_memory
        new = np.array([j for j in members.tolist() if j not in self._known], dtype=np.intp)
        found = np.empty((len(new) if keep else 0, len(g)))
        weighted = self.rows(new) * self.problem.weight

        def look(block: slice, rows: np.ndarray) -> None:
            products = weighted @ rows.T * self.scale[block]
            if keep:
                found[:, block] = products
                products = np.array([known[j][block] for j in members.tolist()])
            S[block] = g[block] - np.square(self.beta * weights.root @ products).sum(axis=0)
            Q[block] = b[block] - self.beta * (weights.mean @ products)

        known = self._known | dict(zip(new.tolist(), found, strict=False))
        self.problem.design.over_blocks(look)
        if keep:
            self._known = {j: known[j] for j in members.tolist()}
        return g, S, Q

    def posterior(self, candidates: np.ndarray, n_members: int) -> Posterior:
        """A model without basis functions over some candidates, the first of which are those of the last look."""
        root = np.sqrt(self.problem.weight)
        members, others = np.split(candidates, [n_members])
        rows = self.rows(others) * root
        if all(j in self._known for j in members.tolist()):
            known = np.array([self._known[j][candidates] for j in members.tolist()])
        else:
            own = self.rows(members) * root
            known = np.hstack([own @ own.T, own @ rows.T])
        return Posterior(
            self.beta * self.squares[candidates],
            self.beta * self.products[0, candidates],
            Products(known, rows, self.noise),
            self.problem.precision_prior,
            self.noise,
        )

    def at(self, members, rows, alpha, mean=None):
        weighted = rows * np.sqrt(self.problem.weight)
        H = self.beta * (weighted @ weighted.T)
        H.flat[:: len(H) + 1] += alpha
        root, log_determinant, jitter = factorise(H)
        # The errors themselves, not moments: what the root lacks in accuracy is made up for.
        mean, errors = np.zeros(len(members)), self.problem.targets[:, 0]
        for _ in range(REFINEMENTS):
            mean += root.T @ (root @ (self.beta * (rows @ (self.problem.weight * errors)) - alpha * mean))
            errors = self.problem.targets[:, 0] - mean @ rows
        misfit = self.beta * float(self.problem.weight @ np.square(errors)) + float(alpha @ np.square(mean))
        value = self.noise.value(misfit) + 0.5 * (float(np.log(alpha).sum()) - log_determinant)
        value += float(self.problem.precision_prior.log_density(alpha).sum())
        return Weights(members, alpha, mean, root, value, jitter)

    def improve_noise(self, weights, rows, *, by_expectation):
        """[B eq 7.88, or 9.68]; with a prior, exercise 7.13."""
        noise = self.noise
        if not noise.learnt:
            return
        determined = float((1.0 - weights.alpha * weights.variances).sum())
        error = float(self.problem.weight @ np.square(self.problem.targets[:, 0] - weights.mean @ rows))
        if by_expectation:
            count, error = noise.count, error + determined / noise.beta
        else:
            count = max(noise.count - determined, np.finfo(float).tiny)
        known, unknown = count + 2 * noise.prior.shape, error + 2 * noise.prior.rate
        noise.beta = float(np.clip(known / max(unknown, known / noise.limits[1]), *noise.limits))


class LaplaceModel(Model):
    """Classes, by Laplace's approximation about the mode of the weights."""

    def _blocks(self, members: np.ndarray) -> list[np.ndarray]:
        """Positions of the members by function."""
        functions = members // self.problem.design.m
        return [np.flatnonzero(functions == k) for k in range(self.problem.n_functions)]

    def values(self, members: np.ndarray, rows: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """F, shape (n_functions, n)."""
        return np.array([mean[at] @ some(rows, at) for at in self._blocks(members)])

    def hessian(self, members: np.ndarray, rows: np.ndarray, P: np.ndarray) -> np.ndarray:
        """Phi' B Phi [B eq 7.111]."""
        H = np.empty((len(members), len(members)))
        blocks = self._blocks(members)
        for k, of_k in enumerate(blocks):
            half = some(rows, of_k) * np.sqrt(self.problem.curvature(P, k, k))
            H[np.ix_(of_k, of_k)] = half @ half.T  # which BLAS knows to be symmetric
            for l in range(k):  # noqa: E741
                of_l = blocks[l]
                part = (rows[of_k] * self.problem.curvature(P, k, l)) @ rows[of_l].T
                H[np.ix_(of_k, of_l)] = part
                H[np.ix_(of_l, of_k)] = part.T
        return H

    def at(self, members, rows, alpha, mean=None):
        """The mode by Newton's method [B eqs 7.109-7.113], and Laplace's evidence there [B eq 7.114]."""
        problem, blocks = self.problem, self._blocks(members)
        mean = np.zeros(len(members)) if mean is None else mean
        F = self.values(members, rows, mean)
        value = problem.log_likelihood(F) - 0.5 * float(alpha @ (mean * mean))
        nothing = -float(problem.weight.sum()) * np.log(max(problem.n_functions, 2))
        if value < nothing:  # a Gaussian far from its likelihood: from zero it is nearer
            mean, F, value = np.zeros_like(mean), np.zeros_like(F), nothing
        worst = 0.0
        for _ in range(NEWTON_STEPS):
            P = problem.probabilities(F)
            R = problem.residuals(P)
            H = self.hessian(members, rows, P)
            H.flat[:: len(H) + 1] += alpha
            root, log_determinant, jitter = factorise(H)
            worst = max(worst, jitter)
            gradient = -alpha * mean
            for k, at in enumerate(blocks):
                gradient[at] += some(rows, at) @ R[k]
            whitened = root @ gradient
            decrement = float(whitened @ whitened)
            if decrement <= MODE_TOL * MODE_TOL * (1 + abs(value)):
                break
            step, length = root.T @ whitened, 1.0
            for _ in range(HALVINGS):
                moved = mean + length * step
                F = self.values(members, rows, moved)
                new = problem.log_likelihood(F) - 0.5 * float(alpha @ (moved * moved))
                if new >= value + 1e-4 * length * decrement - 1e-13 * (1 + abs(value)):
                    break
                length /= 2
            mean, last, value = moved, value, new
            if abs(value - last) <= 1e-14 * (1 + abs(value)):
                break
        evidence = value + 0.5 * float(np.log(alpha).sum() - log_determinant)
        evidence += float(problem.precision_prior.log_density(alpha).sum())
        return Weights(members, alpha, mean, root, evidence, worst)

    def probabilities_at(self, weights: Weights | None, rows: np.ndarray) -> np.ndarray:
        """P at the mode."""
        problem = self.problem
        F = np.zeros(problem.targets.T.shape) if weights is None else self.values(weights.members, rows, weights.mean)
        return problem.probabilities(F)

    def _screen(self, weights):
        problem, m, K = self.problem, self.problem.design.m, self.problem.n_functions
        rows = np.empty((0, problem.design.n)) if weights is None else self.rows(weights.members)
        P = self.probabilities_at(weights, rows)
        R = problem.residuals(P)
        blocks = [] if weights is None else self._blocks(weights.members)
        right = []
        for k in range(K):
            inside = np.empty_like(rows)
            for l, of_l in enumerate(blocks):  # noqa: E741
                inside[of_l] = rows[of_l] * problem.curvature(P, k, l)
            right.append(inside if weights is None else weights.root @ inside)
        g, S, Q = np.empty((K, m)), np.empty((K, m)), np.empty((K, m))

        def look(block: slice, values: np.ndarray) -> None:
            scale = self.scale[block]
            for k in range(K):
                curvature = problem.curvature(P, k, k)
                g[k, block] = np.einsum("ij,ij,j->i", values, values, curvature) * np.square(scale)
                Q[k, block] = (values @ R[k]) * scale
                products = right[k] @ values.T * scale
                S[k, block] = g[k, block] - np.square(products).sum(axis=0)

        problem.design.over_blocks(look)
        return g.ravel(), S.ravel(), Q.ravel()

    def posterior(self, candidates: np.ndarray, rows: np.ndarray, inside: np.ndarray, weights: Weights) -> Posterior:
        """The Gaussian that stands for the likelihood near the mode, over some candidates.

        Parameters
        ----------
        candidates, rows : ndarray
            Weights of the problem and their basis functions.
        inside : ndarray of int
            Where the members of the model stand among the candidates.
        weights : Weights
            The mode.
        """
        problem = self.problem
        P = self.probabilities_at(weights, rows[inside])
        R = problem.residuals(P)
        functions = candidates // problem.design.m
        blocks = self._blocks(candidates)

        def products(which: np.ndarray) -> np.ndarray:
            found = np.empty((len(which), len(candidates)))
            for k in np.unique(functions[which]):
                of_k = np.flatnonzero(functions[which] == k)
                for l, at in enumerate(blocks):  # noqa: E741
                    if len(at):
                        weighted = rows[which[of_k]] * problem.curvature(P, k, l)
                        found[np.ix_(of_k, at)] = weighted @ some(rows, at).T
            return found

        g, Q = np.empty(len(candidates)), np.empty(len(candidates))
        for k, at in enumerate(blocks):
            if len(at):
                here = some(rows, at)
                g[at] = np.einsum("ij,ij,j->i", here, here, problem.curvature(P, k, k))
                Q[at] = here @ R[k]
        known = products(inside)
        posterior = Posterior(g, Q + weights.mean @ known, products, problem.precision_prior)
        posterior.set(inside, weights.alpha, known)
        return posterior


def some(rows: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Rows by their numbers, which ascend: if these are all, no copy."""
    return rows if len(at) == len(rows) else rows[at]


def make_model(problem: SparseBayesProblem) -> GaussianModel | LaplaceModel:
    """The model of a problem."""
    return GaussianModel(problem) if problem.likelihood == "gaussian" else LaplaceModel(problem)
