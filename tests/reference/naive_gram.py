"""What `mercer.gram` computes from kernel matrices, in obvious Python: loops over samples, and the formula."""

import itertools
import math

import numpy as np


def centered(K, weight):
    """<phi_i - m, phi_j - m> with the weighted mean m."""
    n = len(K)
    total = sum(weight)
    w = [value / total for value in weight]
    result = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            result[i, j] = (
                K[i][j]
                - sum(w[a] * K[a][j] for a in range(n))
                - sum(w[b] * K[i][b] for b in range(n))
                + sum(w[a] * w[b] * K[a][b] for a in range(n) for b in range(n))
            )
    return result


def alignment(K, L):
    """The cosine of two matrices as vectors."""
    n = len(K)
    pairs = [(i, j) for i in range(n) for j in range(n)]
    product = sum(K[i][j] * L[i][j] for i, j in pairs)
    return product / math.sqrt(sum(K[i][j] ** 2 for i, j in pairs) * sum(L[i][j] ** 2 for i, j in pairs))


def unbiased_mmd(K, first, second):
    """The mean over pairs of different samples within the sets, minus twice the mean across. [Gretton, lemma 6]"""
    within = sum(
        sum(K[i][j] for i in part for j in part if i != j) / (len(part) * (len(part) - 1)) for part in (first, second)
    )
    return within - 2 * sum(K[i][j] for i in first for j in second) / (len(first) * len(second))


def exact_p_value(K, n):
    """The share of all splits with a statistic at least as large as that of the first n samples."""
    everyone = range(len(K))
    observed = unbiased_mmd(K, everyone[:n], everyone[n:])
    values = []
    for part in itertools.combinations(everyone, n):
        rest = [i for i in everyone if i not in part]
        values.append(unbiased_mmd(K, part, rest))
    return sum(value >= observed - 1e-12 for value in values) / len(values)


def projected_gradient_proxy(K0, y, C, rho, steps):
    """The multipliers of the proxy kernel by Luss and d'Aspremont's projected gradient, with small steps."""
    a = np.zeros(len(y))
    largest = np.linalg.eigvalsh(K0)[-1] + 3 * len(y) * C**2 / (4 * rho)
    for _ in range(steps):
        K = proxy(K0, y, a, rho)
        a = projected(a + (1.0 - y * (K @ (y * a))) / largest, y, C)
    return a


def proxy(K0, y, a, rho):
    values, vectors = np.linalg.eigh(K0 + np.outer(y * a, y * a) / (4 * rho))
    return vectors @ np.diag(np.maximum(values, 0)) @ vectors.T


def joint_objective(K0, y, a, rho):
    """What the multipliers maximise, at the best proxy for them."""
    K = proxy(K0, y, a, rho)
    return a.sum() - 0.5 * (y * a) @ K @ (y * a) + rho * np.sum((K - K0) ** 2)


def projected(a, y, C):
    """The nearest point with 0 <= a <= C and y'a = 0, by bisection."""
    low, high = -np.abs(a).max() - C, np.abs(a).max() + C
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if y @ np.clip(a - middle * y, 0, C) > 0 else (low, middle)
    return np.clip(a - high * y, 0, C)
