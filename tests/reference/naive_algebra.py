"""Kernels made of kernels in obvious Python: a kernel is a function of two samples, its matrix two loops."""

import math


def matrix(function, X, Y):
    """The kernel matrix as a list of lists."""
    return [[function(x, y) for y in Y] for x in X]


def normalized(k):
    def value(x, y):
        norms = math.sqrt(k(x, x)) * math.sqrt(k(y, y))
        return k(x, y) / norms if norms else 0.0

    return value


def rbf_of(k, sigma):
    return lambda x, y: math.exp(-(k(x, x) + k(y, y) - 2 * k(x, y)) / (2 * sigma**2))


def centered(k, reference, weights):
    total = sum(weights)

    def value(x, y):
        result = k(x, y)
        for z, w in zip(reference, weights, strict=True):
            result -= w / total * (k(x, z) + k(z, y))
            for other, v in zip(reference, weights, strict=True):
                result += w * v / total**2 * k(z, other)
        return result

    return value


def empirical_map(s, templates, weights):
    return lambda x, y: sum(w * s(x, t) * s(y, t) for t, w in zip(templates, weights, strict=True))


def scaled(k, f):
    return lambda x, y: f(x) * k(x, y) * f(y)


def exponential(k):
    return lambda x, y: math.exp(k(x, y))


def polynomial_of(k, coefficients):
    return lambda x, y: sum(c * k(x, y) ** r for r, c in enumerate(coefficients))


def geometric(k, rho):
    """The series itself, until nothing changes."""

    def value(x, y):
        total, term = 0.0, 1 / rho
        while total + term != total:
            total += term
            term *= k(x, y) / rho
        return total

    return value


def power(k, exponent):
    return lambda x, y: k(x, y) ** exponent


def mapped(f, k):
    return lambda x, y: k(f(x), f(y))


def kendall(a, b):
    pairs = [(i, j) for j in range(len(a)) for i in range(j)]
    agreement = sum(1 if (a[i] < a[j]) == (b[i] < b[j]) else -1 for i, j in pairs)
    return agreement / len(pairs) if pairs else 1.0


def mallows(a, b, decay):
    discordant = sum((a[i] < a[j]) != (b[i] < b[j]) for j in range(len(a)) for i in range(j))
    return math.exp(-decay * discordant)
