"""Sparse Bayesian learning the obvious way: full inverses, the evidence from the matrix of all samples."""

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax
from scipy.stats import multivariate_normal


def covariance_of_values(Phi, alpha, noise):
    """C [B eq 7.86]."""
    return noise * np.eye(len(Phi)) + (Phi / alpha) @ Phi.T


def naive_evidence(Phi, t, alpha, noise):
    """[B eq 7.85]; an infinite precision is a basis function that is out of the model."""
    return multivariate_normal(cov=covariance_of_values(Phi, alpha, noise)).logpdf(t)


def naive_posterior(Phi, t, alpha, noise):
    """[B eqs 7.82-7.83]."""
    sigma = np.linalg.inv(np.diag(alpha) + Phi.T @ Phi / noise)
    return sigma @ Phi.T @ t / noise, sigma


def naive_factors(Phi, t, alpha, noise, i):
    """Sparsity and quality of basis function i [B eqs 7.98-7.99]."""
    others = alpha.copy()
    others[i] = np.inf
    inverse = np.linalg.inv(covariance_of_values(Phi, others, noise))
    return Phi[:, i] @ inverse @ Phi[:, i], Phi[:, i] @ inverse @ t


def naive_sparse_bayes(Phi, t, max_rounds=500):
    """Steps 1-9 of [B §7.2.2], one basis function after the other; the noise by [B eq 7.88]."""
    m = Phi.shape[1]
    alpha, noise = np.full(m, np.inf), 0.1 * t.var()
    first = int(np.argmax((Phi.T @ t) ** 2 / (Phi**2).sum(axis=0)))
    alpha[first] = 1.0
    before = -np.inf
    for _ in range(max_rounds):
        for i in range(m):
            s, q = naive_factors(Phi, t, alpha, noise, i)
            if q * q > s:
                alpha[i] = s * s / (q * q - s)
            elif np.isfinite(alpha).sum() > np.isfinite(alpha[i]):
                alpha[i] = np.inf
        inside = np.isfinite(alpha)
        mean, sigma = naive_posterior(Phi[:, inside], t, alpha[inside], noise)
        determined = (1 - alpha[inside] * sigma.diagonal()).sum()
        noise = np.square(t - Phi[:, inside] @ mean).sum() / (len(t) - determined)
        evidence = naive_evidence(Phi, t, alpha, noise)
        if abs(evidence - before) <= 1e-9:
            return alpha, noise, evidence
        before = evidence
    raise AssertionError("the naive twin did not end")


def naive_laplace(Phi, functions, codes, alpha, n_functions):
    """Mode, covariance and Laplace's evidence [B eqs 7.109-7.114] by plain Newton steps.

    One function is for two classes. Column a of Phi belongs to function ``functions[a]``.
    """
    n, m = Phi.shape
    J = np.zeros((n, n_functions, m))  # derivatives of the functions by the weights
    J[:, functions, np.arange(m)] = Phi
    T = (codes == 1)[:, np.newaxis] * 1.0 if n_functions == 1 else np.eye(n_functions)[codes]

    def log_likelihood(w):
        F = J @ w
        if n_functions == 1:
            return log_expit(np.where(codes == 1, F[:, 0], -F[:, 0])).sum()
        return log_softmax(F, axis=1)[np.arange(n), codes].sum()

    def objective(w):
        return log_likelihood(w) - 0.5 * alpha @ w**2

    w = np.zeros(m)
    for _ in range(200):
        F = J @ w
        P = expit(F) if n_functions == 1 else softmax(F, axis=1)
        B = np.stack([np.diag(p) - np.outer(p, p) for p in P])
        H = np.einsum("nka,nkl,nlb->ab", J, B, J) + np.diag(alpha)
        step = np.linalg.solve(H, np.einsum("nka,nk->a", J, T - P) - alpha * w)
        if np.abs(step).max() <= 1e-12 * (1 + np.abs(w).max()):
            break
        while objective(w + step) < objective(w) - 1e-10:
            step = step / 2
        w = w + step
    value = objective(w) + 0.5 * (np.log(alpha).sum() - np.linalg.slogdet(H)[1])
    return w, np.linalg.inv(H), value
