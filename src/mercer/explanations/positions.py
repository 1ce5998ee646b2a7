"""What a letter at a place is worth."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from mercer.explanations.base import _expansion, take_apart
from mercer.kernels import Constant, Kernel, Normalized, Product, Sum, WeightedDegree
from mercer.kernels.cached import Cached

__all__ = ["PositionalWeights", "positional_weights"]


class PositionalWeights(NamedTuple):
    """What symbols at places are worth."""

    symbols: list[Any]
    """The symbols, in order."""
    weights: np.ndarray
    """By how much a symbol at a place raises the expected decision value, shape (length, n_symbols)."""


def positional_weights(
    machine: Any, *, background: Mapping[Any, float] | None = None, function: int = 0
) -> PositionalWeights:
    r"""What a letter at a place is worth to a machine with a positional kernel.

    .. math:: Q_{ja} = E[f(x) \mid x_j = a] - E[f(x)]

    for sequences x of independent letters: the positional oligomer importance of single letters [1]_. A long piece
    counts for each of its letters, by the probability that the others are there.

    Parameters
    ----------
    machine : fitted machine
        Whose kernel is `mercer.kernels.WeightedDegree` without shift, a sum or a multiple of such, or a normalised one.
    background : mapping from symbols to floats, default=None
        The probabilities of letters; None: all that the support vectors have are equally likely.
    function : int >= 0, default=0
        Which function, a row of ``dual_coef_``, of machines that have several.

    Returns
    -------
    PositionalWeights

    See Also
    --------
    explain : The letters of one sequence.
    mercer.plots.SequenceDisplay : A picture.

    Notes
    -----
    Exact, from the pieces of the support vectors: time O(n L d^2) for n of them of length L and pieces of up to d
    letters. The mean of a row over the background is zero.

    References
    ----------
    .. [1] S. Sonnenburg, A. Zien, P. Philips, G. Rätsch, POIMs: positional oligomer importance matrices -
       understanding support vector machine-based signal detectors, Bioinformatics 24, 2008.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.explanations import positional_weights
    >>> from mercer.kernels import WeightedDegree
    >>> machine = SVC(WeightedDegree(2)).fit(["TAG", "TCG", "GAG", "GCG"], [1, 1, 0, 0])
    >>> symbols, weights = positional_weights(machine)
    >>> symbols, weights[0].round(1) + 0.0  # T at the first place, or G
    (['A', 'C', 'G', 'T'], array([ 0. ,  0. , -0.9,  0.9]))
    """
    kernel, support, coefficients, _ = _expansion(machine, function, "positional_weights")
    _check(kernel)
    letters = sorted({letter for sample in support for letter in sample}, key=str)
    chances = {letter: 1.0 / len(letters) for letter in letters} if background is None else dict(background)
    if missing := [letter for letter in letters if letter not in chances]:
        raise ValueError(f"background must have a probability for every symbol, {missing[0]!r} has none.")
    p = np.array([chances[letter] for letter in chances], dtype=np.float64)
    if not (p >= 0).all() or abs(p.sum() - 1.0) > 1e-9:
        raise ValueError(f"background must be probabilities >= 0 that add up to 1, got {dict(chances)!r}.")
    symbols = list(chances)
    code = {symbol: k for k, symbol in enumerate(symbols)}
    weights = np.zeros((len(support[0]), len(symbols)))
    for part in take_apart(kernel, support, support, coefficients):
        known = set()
        pieces = zip(part.owner, part.names, part.places, part.weight * part.value, strict=True)
        for owner, name, places, weight in pieces:
            if name in known:
                continue
            known.add(name)
            content = [code[support[owner][place]] for place in places]
            for k, place in enumerate(places):
                others = weight * np.prod(p[content[:k] + content[k + 1 :]])
                weights[place] -= others * p[content[k]]
                weights[place, content[k]] += others
    return PositionalWeights(symbols, weights)


def _check(kernel: Kernel) -> None:
    """Refuse kernels that do not see places, or see more than one."""
    if isinstance(kernel, Sum | Product):
        for one in kernel.kernels:
            if not isinstance(one, Constant):
                _check(one)
    elif isinstance(kernel, Normalized | Cached):
        _check(kernel.kernel)
    elif not isinstance(kernel, WeightedDegree) or kernel.shift:
        raise TypeError(f"kernel must be WeightedDegree without shift, a sum or a normalised one, got {kernel!r}.")
