"""Machines taken apart: what pieces of a sample add to a decision value."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from mercer.data.objects import listed
from mercer.kernels import Constant, Kernel, Normalized, Product, Scaled, Sum
from mercer.kernels.cached import Cached
from mercer.parameters import Number

__all__ = ["Explanation", "FeatureWeights", "Pieces", "explain", "feature_weights", "take_apart"]


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
    """Which letters or nodes of the sample it is made of; empty for a constant."""
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
    X : list of samples
        To be taken apart.
    support : list of samples
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
    raise TypeError(
        "kernel must be one whose values are sums over pieces of a sample, such as Spectrum, WeightedDegree, "
        f"WeisfeilerLehman or SubTree, a sum of such or a normalised one, got {kernel!r}."
    )


@take_apart.register(Sum)
def _sum(kernel, X, support, coefficients):
    return [part for one in kernel.kernels for part in take_apart(one, X, support, coefficients)]


@take_apart.register(Product)
def _product(kernel, X, support, coefficients):
    factor = float(np.prod([one.value for one in kernel.kernels if type(one) is Constant]))
    others = [one for one in kernel.kernels if type(one) is not Constant]
    if len(others) > 1:
        return take_apart.dispatch(object)(kernel, X, support, coefficients)
    return take_apart(others[0] if others else Constant(), X, support, factor * coefficients)


@take_apart.register(Constant)
def _constant(kernel, X, support, coefficients):
    n = len(X)
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
        For every letter or node its part of the decision value. What a piece adds is shared equally by what it is made
        of.
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

    over pieces that can be looked at: substrings, neighbourhoods of nodes, subtrees. The sum is exact.

    Parameters
    ----------
    machine : fitted machine
        With ``kernel_``, ``support_vectors_``, ``dual_coef_`` and ``intercept_``, whose kernel is one that counts
        pieces, see `take_apart`.
    sample : one sample
        Such as a str, a `mercer.data.Graph`, a `mercer.data.Tree`.
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
    decision = float(kernel([sample], support)[0] @ coefficients) + intercept
    parts = take_apart(kernel, [sample], support, coefficients)
    shares = np.zeros(_n_places(sample))
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


def _expansion(machine: Any, function: Any, owner: str) -> tuple[Kernel, list[Any], np.ndarray, float]:
    """The kernel, the support vectors, their coefficients and the intercept of one function of a machine."""
    check_is_fitted(machine)
    for name in ("kernel_", "support_vectors_", "dual_coef_", "intercept_"):
        if not hasattr(machine, name):
            raise TypeError(f"{owner} needs a machine with {name}, which {type(machine).__name__} does not have.")
    if not isinstance(machine.kernel_, Kernel):
        raise TypeError(f"{owner} needs a machine with one kernel on samples, got kernel_={machine.kernel_!r}.")
    if problem := Number(0, machine.dual_coef_.shape[0] - 1, integer=True).problem(function):
        raise ValueError(f"function {problem}")
    support = listed(machine.support_vectors_)
    if support is None:
        support = machine.support_vectors_
    rows = machine.dual_coef_
    row = rows[[function]].toarray()[0] if issparse(rows) else np.asarray(rows[function])
    return machine.kernel_, support, row.astype(np.float64), float(machine.intercept_[function])


def _n_places(sample: Any) -> int:
    """The number of letters or nodes of a sample."""
    return sample.n_nodes if hasattr(sample, "n_nodes") else len(sample)
