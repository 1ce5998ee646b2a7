"""Marginalised kernels: counts of what is seen together with what is hidden, expected under a model."""

from typing import ClassVar

import numpy as np

from mercer.data.features import SparseFeatures
from mercer.errors import DomainError
from mercer.kernels.features import FeatureKernel
from mercer.parameters import Choice

__all__ = ["MarginalizedCount"]


class MarginalizedCount(FeatureKernel):
    r"""Marginalised count kernel: letters counted together with the hidden states that they come from.

    .. math:: k(x, x') = \sum_h \sum_{h'} p(h \mid x)\, p(h' \mid x')\, k_z\bigl((x, h), (x', h')\bigr)
              = \sum_c E[c \mid x]\, E[c \mid x']

    Were the hidden states h known, :math:`k_z` would count every letter together with its state. They are not: the
    counts are replaced by their expectations under a model. So the same letter means different things in different
    contexts: in the loop of a molecule and in its stem.

    Parameters
    ----------
    model : object with a method ``expected_counts(X, order)`` that returns `SparseFeatures`
        A `mercer.models.HiddenMarkovModel`, a `mercer.models.StochasticGrammar`, or one of your own.
    order : 1 or 2, default=1
        1: single letters with their states. 2: pairs of neighbours with theirs; for a grammar, pairs of neighbouring
        symbols with the symbol that they come from.
    frequencies : bool, default=True
        Whether counts are divided by their sum, so that long sequences are not larger than short ones.

    See Also
    --------
    Fisher : Compares samples by the derivatives of their likelihood.

    Notes
    -----
    Costs what the model costs; the matrix takes time in proportion to the pairs of counts that samples have in common.
    `features` gives the expected counts as a sparse matrix, for linear machines.

    References
    ----------
    .. [1] K. Tsuda, T. Kin, K. Asai, Marginalized kernels for biological sequences, Bioinformatics 18, 2002.
    .. [2] T. Kin, K. Tsuda, K. Asai, Marginalized kernels for RNA sequence data analysis, Genome Informatics 13, 2002.

    Examples
    --------
    >>> from mercer.kernels import MarginalizedCount
    >>> from mercer.models import HiddenMarkovModel
    >>> coins = HiddenMarkovModel([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.9, 0.1]], "HT")
    >>> MarginalizedCount(coins)(["HTTHT", "HHHHH", "THTHT"]).round(2)
    array([[0.43, 0.1 , 0.43],
           [0.1 , 0.79, 0.08],
           [0.43, 0.08, 0.43]])
    """

    _parameters: ClassVar = {"order": Choice(1, 2), "frequencies": Choice(True, False)}

    def __init__(self, model, order=1, frequencies=True):
        self.model = model
        self.order = order
        self.frequencies = frequencies

    @property
    def domain(self) -> str:  # type: ignore[override]
        return getattr(self.model, "domain", "any")

    def _check_parameters(self):
        super()._check_parameters()
        if not callable(getattr(self.model, "expected_counts", None)):
            raise TypeError(f"model must have a method expected_counts(X, order), got {self.model!r}.")

    def _features(self, X, name):
        try:
            counts = self.model.expected_counts(X, self.order)
        except DomainError as error:
            refusal = f"MarginalizedCount works on what its model works on, {name} is not"
            raise DomainError(f"{refusal}: {error}") from error
        if not self.frequencies:
            return counts
        # Summed one by one, so that the sum of a sample does not depend on the others.
        sums = np.array([counts.values[a:b].sum() for a, b in zip(counts.starts[:-1], counts.starts[1:], strict=True)])
        shares = counts.values / np.repeat(sums, np.diff(counts.starts))
        return SparseFeatures(counts.keys, shares, counts.starts)
