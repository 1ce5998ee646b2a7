"""The kernels in obvious Python: two loops over the samples, one over the features, the formula."""

import math


def matrix(function, X, Y):
    """The kernel matrix as a list of lists."""
    return [[function(list(x), list(y)) for y in Y] for x in X]


def dot(x, y):
    return sum(a * b for a, b in zip(x, y, strict=True))


def squared_distance(x, y):
    return sum((a - b) ** 2 for a, b in zip(x, y, strict=True))


def linear(x, y):
    return dot(x, y)


def polynomial(x, y, degree, gamma, coef0):
    return (gamma * dot(x, y) + coef0) ** degree


def sigmoid(x, y, gamma, coef0):
    return math.tanh(gamma * dot(x, y) + coef0)


def cosine(x, y):
    norms = math.sqrt(dot(x, x)) * math.sqrt(dot(y, y))
    return dot(x, y) / norms if norms else 0.0


def tanimoto(x, y):
    union = dot(x, x) + dot(y, y) - dot(x, y)
    return dot(x, y) / union if union else 1.0


def rbf(x, y, gamma):
    return math.exp(-gamma * squared_distance(x, y))


def rbf_per_feature(x, y, gamma):
    return math.exp(-sum(g * (a - b) ** 2 for g, a, b in zip(gamma, x, y, strict=True)))


def exponential(x, y, gamma):
    return math.exp(-gamma * math.sqrt(squared_distance(x, y)))


def laplacian(x, y, gamma):
    return math.exp(-gamma * sum(abs(a - b) for a, b in zip(x, y, strict=True)))


def rational_quadratic(x, y, length_scale, alpha):
    return (1 + squared_distance(x, y) / (2 * alpha * length_scale**2)) ** -alpha


def bessel_k(nu, u):
    """K_nu(u), the integral over t >= 0 of exp(-u cosh t) cosh(nu t), by the trapezoidal rule."""
    step = 1 / 64
    total, t = 0.5 * math.exp(-u), step
    while u * math.cosh(t) - nu * t < 745:
        total += math.exp(-u * math.cosh(t)) * math.cosh(nu * t)
        t += step
    return step * total


def matern(x, y, length_scale, nu):
    u = math.sqrt(2 * nu * squared_distance(x, y)) / length_scale
    return 2 ** (1 - nu) / math.gamma(nu) * u**nu * bessel_k(nu, u) if u else 1.0


def chi2(x, y, gamma):
    return math.exp(-gamma * sum((a - b) ** 2 / (a + b) for a, b in zip(x, y, strict=True) if a + b))


def intersection(x, y):
    return sum(min(a, b) for a, b in zip(x, y, strict=True))


def hamming(x, y):
    return sum(a == b for a, b in zip(x, y, strict=True))


def scale(X):
    """1 / (number of features * variance of all entries)."""
    entries = [v for x in X for v in x]
    mean = sum(entries) / len(entries)
    return 1 / (len(X[0]) * sum((v - mean) ** 2 for v in entries) / len(entries))


def pairs(distance, X):
    """The distances of all pairs of samples that differ, each pair once, smallest first."""
    n = len(X)
    values = [distance(list(X[i]), list(X[j])) for i in range(n) for j in range(i)]
    return sorted(value for value in values if value > 0)


def mean(values):
    return sum(values) / len(values)


def median(values):
    n = len(values)
    return (values[(n - 1) // 2] + values[n // 2]) / 2
