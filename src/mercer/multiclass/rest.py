"""One machine per class, against all the others."""

import numpy as np

from mercer.multiclass.base import Plan, Scheme
from mercer.parameters import Choice

__all__ = ["OneVersusRest"]


class OneVersusRest(Scheme):
    """One machine per class against the rest; the class with the largest output wins. [B §7.1.3]

    The score of a class is the decision value of its machine.

    Parameters
    ----------
    balanced : bool, default=False
        Let both sides of every machine count the same: the errors of a side have the price of half of all samples over
        those of the side (weights count). Otherwise the rest outweighs the class, the more the more classes there are.
    targets : {"signs", "lee"}, default="signs"
        What a machine is to reach: +1 for its class and -1 for the rest, or -1 / (K - 1) for the rest, so that the
        targets of a sample add up to zero over the machines [B eq 7.48, and 1]_.

    See Also
    --------
    OneVersusOne : More machines, each much smaller.

    Notes
    -----
    K problems of all n samples each, over one matrix of kernel values where it fits the memory.

    References
    ----------
    .. [1] Y. Lee, Y. Lin, G. Wahba, Multicategory support vector machines, 2001.
    .. [2] R. Rifkin, A. Klautau, In defense of one-vs-all classification, JMLR 5, 2004.

    Examples
    --------
    >>> from mercer import SVC
    >>> X, y = [[0.0], [1.0], [4.0], [5.0], [9.0], [10.0]], [0, 0, 1, 1, 2, 2]
    >>> machine = SVC(C=100.0, multi_class="ovr").set_params(multi_class__balanced=True).fit(X, y)
    >>> machine.predict([[0.4], [4.4], [9.9]])
    array([0, 1, 2])
    """

    _parameters = {"balanced": Choice(True, False), "targets": Choice("signs", "lee")}

    def __init__(self, balanced=False, targets="signs"):
        self.balanced = balanced
        self.targets = targets

    @property
    def unit_targets(self) -> bool:  # type: ignore[override]
        """Whether all machines are to reach +1 and -1."""
        return self.targets == "signs"

    def sides(self, n_classes):
        return 2.0 * np.eye(n_classes) - 1.0

    def cost(self, sign, weight, plan):
        if not self.balanced:
            return super().cost(sign, weight, plan)
        positive, total = float(weight[sign > 0].sum()), float(weight.sum())
        return np.where(sign > 0, total / (2.0 * positive), total / (2.0 * (total - positive)))

    def target(self, sign, plan: Plan):
        if self.unit_targets:
            return super().target(sign, plan)
        return np.where(sign > 0, 1.0, 1.0 / (plan.n_classes - 1))

    def scores(self, decision, plan):
        return decision
