"""Machines taken apart: what pieces of a sample add to a decision value."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from mercer.data.objects import listed
from mercer.fingerprint import fingerprint
from mercer.kernels import Constant, Kernel, Normalized, On, Power, Product, Scaled, Sum
from mercer.kernels.cached import Cached
from mercer.kernels.samples import each, n_samples, take
from mercer.kernels.tables import Table
from mercer.parameters import Number

__all__ = ["Explanation", "FeatureWeights", "Pieces", "check_number", "explain", "feature_weights", "take_apart"]

# Pieces of all samples together, each with a name and places.
MOST_PIECES = 1_000_000
# Letters up to which a text that is the content of a column is written in full.
LONGEST_TEXT = 40


class Pieces(NamedTuple):
    """What samples are made of: pieces, one after the other, with what they add to a function.

    A piece adds its `weight`, which depends on its content alone, times its `value`, which is 1 for a plain count. What
    the pieces of a sample add is the function of the machine, less its intercept.
    """

    owner: np.ndarray
    """The number of the sample that has the piece."""
    names: list[str]
    """The piece, by its content."""
    places: list[np.ndarray]
    """Which letters, nodes or columns of the sample it is made of; empty for a constant."""
    weight: np.ndarray
    value: np.ndarray

    @classmethod
    def joined(cls, parts: "Sequence[Pieces]") -> "Pieces":
        """Several lists as one."""
        return cls(
            np.concatenate([part.owner for part in parts]),
            [name for part in parts for name in part.names],
            [places for part in parts for places in part.places],
            np.concatenate([part.weight for part in parts]),
            np.concatenate([part.value for part in parts]),
        )


@singledispatch
def take_apart(kernel: Any, X: Sequence[Any], support: Sequence[Any], coefficients: np.ndarray) -> list[Pieces]:
    r"""The pieces of samples, and what they add to :math:`f(x) = \sum_i c_i k(x_i, x)`.

    A function for each kernel, after :func:`functools.singledispatch`: ``take_apart.register(MyKernel)`` adds one of
    your own.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    X : list of samples, or a table
        To be taken apart.
    support : list of samples, or a table
        The :math:`x_i`.
    coefficients : ndarray of shape (n_support,)
        The :math:`c_i`.

    Returns
    -------
    list of Pieces
        One for each kernel of a sum. Their names and weights belong together within each of them.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.explanations import take_apart
    >>> from mercer.kernels import Spectrum
    >>> (pieces,) = take_apart(Spectrum(2), ["SAY"], ["BAY", "SAD"], np.array([1.0, -0.5]))
    >>> pieces.names, pieces.weight
    (['SA', 'AY'], array([-0.5,  1. ]))
    """
    raise Indivisible(
        "kernel must be one whose values are sums over pieces of a sample, such as Spectrum, WeightedDegree, "
        f"WeisfeilerLehman or SubTree, a sum or a product of such, a normalised one or On, got {kernel!r}."
    )


class Indivisible(TypeError):
    """A kernel that does not count pieces."""


def check_number(kernel: Any, n: int) -> None:
    """Refuse samples that have more pieces than can be listed."""
    if n > MOST_PIECES:
        raise ValueError(f"{kernel!r} has {n} pieces in these samples, at most {MOST_PIECES} can be listed.")


@take_apart.register(Sum)
def _sum(kernel, X, support, coefficients):
    return [part for one in kernel.kernels for part in take_apart(one, X, support, coefficients)]


@take_apart.register(Product)
def _product(kernel, X, support, coefficients):
    factor = float(np.prod([one.value for one in kernel.kernels if type(one) is Constant]))
    others = [one for one in kernel.kernels if type(one) is not Constant]
    if len(others) > 1:
        return _multiplied(kernel, others, X, support, factor * coefficients)
    return take_apart(others[0] if others else Constant(), X, support, factor * coefficients)


@take_apart.register(Power)
def _power(kernel, X, support, coefficients):
    if kernel.exponent != int(kernel.exponent):
        return take_apart.dispatch(object)(kernel, X, support, coefficients)
    return _multiplied(kernel, [kernel.kernel] * int(kernel.exponent), X, support, coefficients)


def _multiplied(kernel, factors, X, support, coefficients):
    """Pieces of a product: one of each factor, together.

    What pairs add follows from what each of the two is worth with every support vector alone, since a product of sums
    is a sum over pairs.
    """
    parts = [(part, worth * coefficients) for part, worth in _with_each(factors[0], X, support)]
    for number, factor in enumerate(factors[1:], 2):
        others = _with_each(factor, X, support)
        sizes = [sum(np.bincount(part.owner, minlength=n_samples(X)) for part, _ in some) for some in (parts, others)]
        check_number(kernel, int(sizes[0] @ sizes[1]))
        parts = [_together(one, other, number == len(factors)) for one in parts for other in others]
    return [part._replace(weight=worth.sum(axis=1)) for part, worth in parts]


def _with_each(kernel, X, support):
    """The pieces of a kernel, and what each is worth with every support vector, shape (n_pieces, n_support)."""
    alone = [take_apart(kernel, X, take(support, [i]), np.ones(1)) for i in range(n_samples(support))]
    return [(same[0], np.column_stack([part.weight for part in same])) for same in zip(*alone, strict=True)]


def _together(one, other, last):
    """Pairs of pieces of the same sample; after the last factor the sum over support vectors is all that is needed."""
    (first, of_first), (second, of_second) = one, other
    left, right, worth = (
        [np.empty(0, np.intp)],
        [np.empty(0, np.intp)],
        [np.empty((0, 1 if last else of_first.shape[1]))],
    )
    for owner in np.intersect1d(first.owner, second.owner):
        a, b = np.flatnonzero(first.owner == owner), np.flatnonzero(second.owner == owner)
        left.append(np.repeat(a, len(b)))
        right.append(np.tile(b, len(a)))
        if last:
            worth.append((of_first[a] @ of_second[b].T).reshape(-1, 1))
        else:
            worth.append(of_first[left[-1]] * of_second[right[-1]])
    i, j = np.concatenate(left), np.concatenate(right)
    names, places = [], []
    for pair in zip(i, j, strict=True):
        known = [part.names[k] for part, k in zip((first, second), pair, strict=True) if len(part.places[k])]
        names.append(" and ".join(known) or "constant")
        places.append(np.union1d(first.places[pair[0]], second.places[pair[1]]))
    value = first.value[i] * second.value[j]
    return Pieces(first.owner[i], names, places, np.empty(0), value), np.concatenate(worth)


@take_apart.register(Constant)
def _constant(kernel, X, support, coefficients):
    n = n_samples(X)
    nowhere = [np.empty(0, dtype=np.intp)] * n
    weight = np.full(n, kernel.value * coefficients.sum())
    return [Pieces(np.arange(n), ["constant"] * n, nowhere, weight, np.ones(n))]


@take_apart.register(Normalized)
def _normalized(kernel, X, support, coefficients):
    of_X, of_support = (kernel._inverse_norms(kernel.prepare(samples)[0]) for samples in (X, support))
    return _times(take_apart(kernel.kernel, X, support, coefficients * of_support), of_X)


@take_apart.register(Scaled)
def _scaled(kernel, X, support, coefficients):
    of_X, of_support = (kernel._numbers(samples, None) for samples in (X, support))
    return _times(take_apart(kernel.kernel, X, support, coefficients * of_support), of_X)


@take_apart.register(Cached)
def _cached(kernel, X, support, coefficients):
    return take_apart(kernel.kernel, X, support, coefficients)


@take_apart.register(On)
def _on(kernel, X, support, coefficients):
    """The pieces of the columns; of a kernel that counts none, what the columns hold is one piece."""
    columns = [kernel.columns] if isinstance(kernel.columns, str) else list(kernel.columns)
    table, inside = Table(X, "X"), kernel.kernel
    at = np.array([table.names.index(column) for column in columns], dtype=np.intp)
    seen, known = kernel._seen(X, "X"), kernel._seen(support, "support")
    if inside.domain == "table":
        parts = take_apart(inside, seen, known, coefficients)
        return [part._replace(places=[at[places] for places in part.places]) for part in parts]
    try:
        parts = take_apart(inside, _as_list(seen), _as_list(known), coefficients)
    except Indivisible:
        told = [[f"{column}={_told(value)}" for value in each(table.column(column))] for column in columns]
        names = [", ".join(row) for row in zip(*told, strict=True)]
        n = len(names)
        return [Pieces(np.arange(n), names, [at] * n, inside.dot(seen, known, coefficients), np.ones(n))]
    return [
        part._replace(
            names=[f"{', '.join(columns)}: {name}" for name in part.names],
            places=[at if len(places) else places for places in part.places],
        )
        for part in parts
    ]


def _as_list(samples: Any) -> Any:
    """Samples as a list of objects, if they are such."""
    objects = listed(samples)
    return samples if objects is None else objects


def _told(value: Any) -> str:
    """What a cell of a table holds, in a few letters; of what is long, a fingerprint."""
    if isinstance(value, str | bool | np.bool_) and len(text := str(value)) <= LONGEST_TEXT:
        return text
    return f"{value:.6g}" if isinstance(value, Real) else f"{type(value).__name__} {fingerprint(value)[:8]}"


def _times(parts: list[Pieces], factors: np.ndarray) -> list[Pieces]:
    return [part._replace(value=part.value * factors[part.owner]) for part in parts]


# --- one sample -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Explanation:
    """A sample taken apart.

    Attributes
    ----------
    sample : object
        The sample.
    decision : float
        What the function of the machine makes of it.
    offset : float
        What belongs to no place: the intercept, and constants in the kernel. ``decision`` is this and the sum of
        `shares`.
    shares : ndarray of shape (n_places,)
        For every letter, node or column its part of the decision value. What a piece adds is shared equally by what it
        is made of.
    names : list of str
        The pieces of the sample, those that add most to either side first.
    contributions : ndarray of shape (n_pieces,)
        What each of them adds, all its occurrences together.
    counts : int ndarray of shape (n_pieces,)
        How often the sample has each of them.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.explanations import explain
    >>> from mercer.kernels import Spectrum
    >>> machine = SVC(Spectrum(2), C=100.0).fit(["gattaca", "attack", "sips", "hips"], [1, 1, 0, 0])
    >>> explanation = explain(machine, "tips")
    >>> explanation.names, explanation.contributions.round(2)
    (['ip', 'ps', 'ti'], array([-0.28, -0.28,  0.  ]))
    >>> explanation.shares.round(2), round(explanation.offset, 2), round(explanation.decision, 2)
    (array([ 0.  , -0.14, -0.28, -0.14]), -0.3, -0.86)
    """

    sample: Any
    decision: float
    offset: float
    shares: np.ndarray
    names: list[str]
    contributions: np.ndarray
    counts: np.ndarray


def explain(machine: Any, sample: Any, *, function: int = 0) -> Explanation:
    r"""Which parts of a sample carry the decision.

    For a kernel that counts pieces, the function of a machine is

    .. math:: f(x) = \sum_i c_i\, k(x_i, x) + b = \sum_{\text{pieces } u \text{ of } x} w_u\, \phi_u(x) + b, \qquad
              w_u = \sum_i c_i\, \phi_u(x_i),

    over pieces that can be looked at: substrings, neighbourhoods of nodes, subtrees. The sum is exact. The pieces of a
    product of kernels are pairs of theirs. A row of a table has the pieces of its columns (`mercer.kernels.On`); where
    a kernel counts none, what its columns hold is one piece.

    Parameters
    ----------
    machine : fitted machine
        With ``kernel_``, ``support_vectors_``, ``dual_coef_`` and ``intercept_``, whose kernel is one that counts
        pieces, see `take_apart`.
    sample : one sample
        Such as a str, a `mercer.data.Graph`, a `mercer.data.Tree`; of a table, a table of one row.
    function : int >= 0, default=0
        Which function, a row of ``dual_coef_``, of machines that have several.

    Returns
    -------
    Explanation

    See Also
    --------
    feature_weights : The pieces that a machine knows, whatever the sample.
    mercer.plots.SequenceDisplay, mercer.plots.GraphDisplay : Pictures.

    Notes
    -----
    Time is that of kernel values between the pieces of the sample and the support vectors; for graphs, linear in the
    edges of these.

    An explanation says what the machine looks at, not what is so because of what.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.datasets import make_molecules
    >>> from mercer.explanations import explain
    >>> from mercer.kernels import WeisfeilerLehman
    >>> molecules, in_ring = make_molecules(100, random_state=0)
    >>> machine = SVC(WeisfeilerLehman(2), C=10.0).fit(molecules, in_ring)
    >>> explanation = explain(machine, molecules[1])  # in the ring
    >>> bool(abs(explanation.offset + explanation.shares.sum() - machine.decision_function([molecules[1]])[0]) < 1e-9)
    True
    """
    kernel, support, coefficients, intercept = _expansion(machine, function, "explain")
    samples, n_places = _alone(kernel, sample)
    decision = float(kernel(samples, support)[0] @ coefficients) + intercept
    parts = take_apart(kernel, samples, support, coefficients)
    shares = np.zeros(n_places)
    found: dict[str, list[float]] = {}
    for part in parts:
        for name, places, adds in zip(part.names, part.places, part.weight * part.value, strict=True):
            if len(places):
                shares[places] += adds / len(places)
                entry = found.setdefault(name, [0.0, 0])
                entry[0] += adds
                entry[1] += 1
    names = sorted(found, key=lambda name: -abs(found[name][0]))
    return Explanation(
        sample,
        decision,
        decision - float(shares.sum()),
        shares,
        names,
        np.array([found[name][0] for name in names]),
        np.array([found[name][1] for name in names], dtype=np.intp),
    )


# --- all that a machine knows -----------------------------------------------------------------------------


class FeatureWeights(NamedTuple):
    """The pieces that a machine knows, those of the largest weights first."""

    names: list[str]
    """The pieces, by their content."""
    weights: np.ndarray
    """What one more of it adds to the decision value; before it is normalised, if the kernel is."""
    counts: np.ndarray
    """How often the support vectors have it."""


def feature_weights(machine: Any, *, function: int = 0) -> FeatureWeights:
    r"""The weights of the pieces that the support vectors of a machine are made of.

    .. math:: w_u = \sum_i c_i\, \phi_u(x_i)

    Parameters
    ----------
    machine, function
        As for `explain`.

    Returns
    -------
    FeatureWeights

    See Also
    --------
    explain : Those of one sample.
    mercer.plots.FeatureWeightsDisplay : A picture.
    mercer.features.ExplicitFeatures : Vectors for linear machines, without names.

    Notes
    -----
    A piece that differs from the features of the kernel, such as a window of letters for `mercer.kernels.Mismatch`, has
    what the window adds as its weight.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.explanations import feature_weights
    >>> from mercer.kernels import Spectrum
    >>> machine = SVC(Spectrum(2), C=100.0).fit(["gattaca", "attack", "sips", "hips"], [1, 1, 0, 0])
    >>> names, weights, counts = feature_weights(machine)
    >>> ps = names.index("ps")
    >>> len(names), weights[ps].round(2), counts[ps]
    (11, np.float64(-0.28), np.int64(2))
    """
    kernel, support, coefficients, _ = _expansion(machine, function, "feature_weights")
    weights: dict[str, float] = {}
    counts: dict[str, int] = {}
    for part in take_apart(kernel, support, support, coefficients):
        known = dict(zip(part.names, part.weight.tolist(), strict=True))  # equal names have equal weights
        for name, weight in known.items():
            weights[name] = weights.get(name, 0.0) + weight
        for name, places in zip(part.names, part.places, strict=True):
            counts[name] = counts.get(name, 0) + (len(places) > 0)
    names = sorted((name for name in weights if counts[name]), key=lambda name: -abs(weights[name]))
    return FeatureWeights(
        names, np.array([weights[name] for name in names]), np.array([counts[name] for name in names])
    )


def _expansion(machine: Any, function: Any, owner: str) -> tuple[Kernel, Any, np.ndarray, float]:
    """The kernel, the support vectors, their coefficients and the intercept of one function of a machine."""
    check_is_fitted(machine)
    for name in ("kernel_", "support_vectors_", "dual_coef_", "intercept_"):
        if not hasattr(machine, name):
            raise TypeError(f"{owner} needs a machine with {name}, which {type(machine).__name__} does not have.")
    if getattr(machine, "_mapped", False):
        raise TypeError(f"{owner} needs a machine with support vectors, got features of {machine.approximation_!r}.")
    if not isinstance(machine.kernel_, Kernel):
        raise TypeError(f"{owner} needs a machine with one kernel on samples, got kernel_={machine.kernel_!r}.")
    if problem := Number(0, machine.dual_coef_.shape[0] - 1, integer=True).problem(function):
        raise ValueError(f"function {problem}")
    support = machine.support_vectors_ if machine.kernel_.domain == "table" else _as_list(machine.support_vectors_)
    rows = machine.dual_coef_
    row = rows[[function]].toarray()[0] if issparse(rows) else np.asarray(rows[function])
    return machine.kernel_, support, row.astype(np.float64), float(machine.intercept_[function])


def _alone(kernel: Kernel, sample: Any) -> tuple[Any, int]:
    """A sample as a set of samples, and the number of its letters, nodes or columns."""
    if kernel.domain != "table":
        return [sample], sample.n_nodes if hasattr(sample, "n_nodes") else len(sample)
    table = Table(sample, "sample")
    if n_samples(sample) != 1:
        raise ValueError(f"sample must be a table of one row, such as X[:1], got {n_samples(sample)} rows.")
    return sample, len(table.names)
