"""Kernels on strings and series in obvious Python: everything that counts is listed, and counted."""

from collections import Counter
from itertools import combinations, pairwise, product
from math import exp

import numpy as np


def inner(f, g):
    return sum(f[u] * g[u] for u in f.keys() & g.keys())


def gram(function, X, Y):
    return np.array([[function(s, t) for t in Y] for s in X], dtype=float).reshape(len(X), len(Y))


def pieces(s, p):
    return [tuple(s[i : i + p]) for i in range(len(s) - p + 1)]


def spectrum(s, t, p, blended=False):
    lengths = range(1, p + 1) if blended else [p]
    return sum(inner(Counter(pieces(s, q)), Counter(pieces(t, q))) for q in lengths)


def gapped_kmer(s, t, g, k):
    def features(s):
        return Counter((P, tuple(piece[i] for i in P)) for piece in pieces(s, g) for P in combinations(range(g), k))

    return inner(features(s), features(t))


def mismatch(s, t, k, m, alphabet):
    def features(s):
        return {
            u: sum(sum(a != b for a, b in zip(u, piece, strict=True)) <= m for piece in pieces(s, k))
            for u in product(alphabet, repeat=k)
        }

    return inner(features(s), features(t))


def subsequences(s, lengths, decay=1.0):
    """Weight of every subsequence: sum over its places of decay^(length from the first to the last)."""
    found = Counter()
    for p in lengths:
        for places in combinations(range(len(s)), p):
            span = places[-1] - places[0] + 1 if places else 0
            found[tuple(s[i] for i in places)] += decay**span
    return found


def all_subsequences(s, t):
    return inner(subsequences(s, range(len(s) + 1)), subsequences(t, range(len(t) + 1)))


def gap_weighted(s, t, p, decay, blended=False):
    lengths = range(1, p + 1) if blended else [p]
    return inner(subsequences(s, lengths, decay), subsequences(t, lengths, decay))


def common_substrings(s, t, decay=1.0, shortest=1, longest=None):
    lengths = range(shortest, min(len(s), len(t), longest or len(s)) + 1)
    return sum(decay**p * spectrum(s, t, p) for p in lengths)


def weighted_degree(s, t, d, shift=0):
    total = 0.0
    for p in range(1, d + 1):
        beta = 2 * (d - p + 1) / (d * (d + 1))
        for i, a in enumerate(pieces(s, p)):
            for j, b in enumerate(pieces(t, p)):
                if a == b and abs(i - j) <= shift:
                    total += beta * (1.0 if i == j else 0.5 / (abs(i - j) + 1))
    return total


def local_alignments(s, t, score, gap_open, gap_extend):
    """Scores of all local alignments: places of s and of t, increasing, paired one after the other."""

    def gap(n):
        return gap_open + gap_extend * (n - 1) if n else 0.0

    yield 0.0  # the empty one
    for size in range(1, min(len(s), len(t)) + 1):
        for of_s in combinations(range(len(s)), size):
            for of_t in combinations(range(len(t)), size):
                total = sum(score(s[i], t[j]) for i, j in zip(of_s, of_t, strict=True))
                for places in (of_s, of_t):
                    total -= sum(gap(b - a - 1) for a, b in pairwise(places))
                yield total


def local_alignment(s, t, score, gap_open, gap_extend):
    return max(local_alignments(s, t, score, gap_open, gap_extend))


def alignment_kernel(s, t, beta, score, gap_open, gap_extend):
    return sum(exp(beta * total) for total in local_alignments(s, t, score, gap_open, gap_extend))


def global_alignment(x, y, sigma, triangle=0):
    """Sum over all paths from the first points to the last ones, one after the other."""
    if not len(x) or not len(y):
        return float(len(x) == len(y))
    x, y = (np.asarray(z, dtype=float).reshape(len(z), -1) for z in (x, y))

    def local(i, j):
        k = exp(-np.sum((x[i] - y[j]) ** 2) / (2 * sigma**2))
        if triangle:
            k *= max(0.0, 1 - abs(i - j) / triangle)
        return k / (2 - k)

    def paths(i, j):
        if (i, j) == (len(x) - 1, len(y) - 1):
            yield local(i, j)
            return
        for a, b in ((1, 0), (0, 1), (1, 1)):
            if i + a < len(x) and j + b < len(y):
                for rest in paths(i + a, j + b):
                    yield local(i, j) * rest

    return sum(paths(0, 0))
