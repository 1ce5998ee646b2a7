"""Hidden Markov models and grammars as their definitions say: by writing down every hidden path, every parse."""

from collections import Counter
from itertools import pairwise, product

import numpy as np

# --- hidden Markov models ---------------------------------------------------------------------------------


def paths(model, sequence):
    """Every path of hidden states with the probability of path and sequence together."""
    letters = [list(model.alphabet).index(letter) for letter in sequence]
    for path in product(range(len(model.start)), repeat=len(letters)):
        p = 1.0
        for t, (state, letter) in enumerate(zip(path, letters, strict=True)):
            p *= model.start[state] if t == 0 else model.transition[path[t - 1], state]
            p *= model.emission[state, letter]
        yield path, p


def expected(model, sequence, events):
    """How often events(path) are expected, given the sequence."""
    counts, total = Counter(), 0.0
    for path, p in paths(model, sequence):
        total += p
        for event in events(path):
            counts[event] += p
    return {event: count / total for event, count in counts.items() if count > 0}


def letters_with_states(model, sequence, order):
    def events(path):
        both = list(zip(sequence, path, strict=True))
        return both if order == 1 else list(pairwise(both))

    return expected(model, sequence, events)


# --- grammars ---------------------------------------------------------------------------------------------


def parses(grammar, symbol, sequence):
    """Every parse of a sequence below a symbol: the list of the rules used, and its probability."""
    for rule in grammar.rules:
        head, body, probability = rule
        if head != symbol:
            continue
        if len(body) == 1:
            if len(sequence) == 1 and body[0] == sequence[0]:
                yield [rule], probability
            continue
        for cut in range(1, len(sequence)):
            for left, p in parses(grammar, body[0], sequence[:cut]):
                for right, q in parses(grammar, body[1], sequence[cut:]):
                    yield [rule, *left, *right], probability * p * q


def expected_rules(grammar, sequence):
    counts, total = Counter(), 0.0
    for used, p in parses(grammar, grammar.start, sequence):
        total += p
        for rule in used:
            counts[rule[:2]] += p
    return {rule: count / total for rule, count in counts.items() if count > 0}


# --- any model --------------------------------------------------------------------------------------------


def finite_differences(log_likelihood, values, step=1e-5):
    """Derivatives of log_likelihood(values) by every value."""
    values = np.asarray(values, dtype=float)
    slopes = []
    for i in range(values.size):
        moved = np.zeros(values.size)
        moved[i] = step
        ahead, behind = (log_likelihood(values + sign * moved.reshape(values.shape)) for sign in (1, -1))
        slopes.append((ahead - behind) / (2 * step))
    return np.array(slopes).T
