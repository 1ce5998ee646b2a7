"""How the evidence changes with the basis functions themselves."""

import numpy as np

from mercer.problems.sparse_bayes import SparseBayesProblem
from mercer.solvers.sparse_bayes.solver import SparseBayesResult

__all__ = ["row_slopes"]


def row_slopes(problem: SparseBayesProblem, result: SparseBayesResult) -> np.ndarray:
    """The derivative of the log evidence by the values of the basis functions in the model, at fixed precisions.

    Where the precisions maximise the evidence it is the whole derivative.

    Parameters
    ----------
    problem : SparseBayesProblem
    result : SparseBayesResult
        Of this problem.

    Returns
    -------
    ndarray of shape (len(result.members), n)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import MatrixDesign
    >>> from mercer.problems import SparseBayesProblem
    >>> from mercer.solvers import SparseBayes
    >>> from mercer.solvers.sparse_bayes import row_slopes
    >>> t = np.array([[1.0], [2.0], [3.1]])
    >>> problem = SparseBayesProblem(MatrixDesign(np.array([[1.0, 2.0, 3.0]])), t, np.ones(3), noise=0.1)
    >>> row_slopes(problem, SparseBayes().solve(problem)).round(2)
    array([[-0.22, -0.43,  0.36]])
    """
    m = problem.design.m
    rows, functions = problem.design.rows(result.members % m), result.members // m
    mean, covariance = result.mean, result.covariance
    if problem.likelihood == "gaussian":
        assert result.noise is not None
        beta = 1.0 / result.noise
        residuals = problem.targets[:, 0] - mean @ rows
        return beta * problem.weight * (np.outer(mean, residuals) - covariance @ rows)
    K = problem.n_functions
    blocks = [np.flatnonzero(functions == k) for k in range(K)]
    P = problem.probabilities(np.array([mean[at] @ rows[at] for at in blocks]))
    R = problem.residuals(P)
    # Of the log likelihood, and of -log|H| / 2 at fixed curvature.
    slopes = mean[:, np.newaxis] * R[functions]
    for k, of_k in enumerate(blocks):
        for l, of_l in enumerate(blocks):  # noqa: E741
            slopes[of_k] -= problem.curvature(P, k, l) * (covariance[np.ix_(of_k, of_l)] @ rows[of_l])
    # The curvature changes with the functions, and these with the mode.
    G = _curvature_slopes(problem, P, covariance, rows, blocks)
    u = covariance @ np.einsum("an,an->a", rows, G[functions])
    moved = np.array([u[at] @ rows[at] for at in blocks])
    bent = np.array([sum(problem.curvature(P, k, j) * moved[j] for j in range(K)) for k in range(K)])
    return slopes + mean[:, np.newaxis] * (G - bent)[functions] + u[:, np.newaxis] * R[functions]


def _curvature_slopes(problem, P: np.ndarray, covariance: np.ndarray, rows: np.ndarray, blocks: list) -> np.ndarray:
    """The derivative of -log|H| / 2 by the functions, through the curvature, shape (n_functions, n)."""
    K = problem.n_functions
    if K == 1:
        spread = np.einsum("an,an->n", rows, covariance @ rows)
        return (-0.5 * spread * problem.curvature(P, 0, 0) * (1 - 2 * P[0]))[np.newaxis]
    spread = np.array(
        [
            [np.einsum("an,an->n", rows[of_k], covariance[np.ix_(of_k, of_l)] @ rows[of_l]) for of_l in blocks]
            for of_k in blocks
        ]
    )
    # d/df_j of sum_kl w P_k (d_kl - P_l) spread_kl, with dP_k / df_j = P_k (d_kj - P_j)
    diagonal = np.einsum("kkn->kn", spread)
    towards = diagonal - 2 * np.einsum("ln,kln->kn", P, spread)  # by P_k
    return -0.5 * problem.weight * P * (towards - np.einsum("kn,kn->n", P, towards))
