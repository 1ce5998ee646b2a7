"""One machine per class, against all the others."""

from typing import ClassVar

import numpy as np

from mercer.multiclass.base import Plan, Scheme
from mercer.parameters import Choice

__all__ = ["OneVersusRest"]


class OneVersusRest(Scheme):
    """One machine per class against the rest; the class with the largest output wins. [B §7.1.3]

    The score of a class is the decision value of its machine, or its log-odds.

    Parameters
    ----------
    balanced : bool, default=False
        Let both sides of every machine count the same: the errors of a side have the price of half of all samples over
        those of the side (sample weights count). Otherwise the rest outweighs the class, the more the more classes
        there are. Class weights come on top of it.
    targets : {"signs", "lee"}, default="signs"
        What a machine is to reach: +1 for its class and -1 for the rest, or -1 / (K - 1) for the rest, so that the
        targets of a sample add up to zero over the machines [1]_.
    calibrated : bool, default=False
        Make the outputs of the machines comparable, each of which has a scale of its own: a score is then the log-odds
        of the class against the rest, by a sigmoid per machine, see `mercer.calibration.fit_sigmoid`. Balanced costs
        and class weights count in the sigmoids too. For two classes there is one machine and nothing to compare: it
        stays as it is.

    See Also
    --------
    OneVersusOne : More machines, each much smaller.

    Notes
    -----
    K problems of all n samples each, over one matrix of kernel values where it fits the memory.

    Sigmoids are learnt from five folds, which makes six trainings of one, together over the same matrix. Every class
    needs two samples. The folds are always dealt out in the same way; they are dealt out by samples, so that a sample
    of weight 2 counts as two in everything but its fold, where two samples may part. A calibration of the scores
    (`mercer.calibration.Calibrated`, ``probability=True``) learns from machines of its own folds, with the sigmoids of
    all samples where they share one matrix: to Platt's map and the isotonic one these make no difference.

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

    _parameters: ClassVar = {
        "balanced": Choice(True, False),
        "targets": Choice("signs", "lee"),
        "calibrated": Choice(True, False),
    }

    def __init__(self, balanced=False, targets="signs", calibrated=False):
        self.balanced = balanced
        self.targets = targets
        self.calibrated = calibrated

    @property
    def unit_targets(self) -> bool:  # type: ignore[override]
        """Whether all machines are to reach +1 and -1."""
        return self.targets == "signs"

    def sides(self, n_classes):
        return 2.0 * np.eye(n_classes) - 1.0

    def cost(self, sign, weight, tasks):
        if not self.balanced:
            return super().cost(sign, weight, tasks)
        total, positive = tasks.sum(weight), tasks.sum(np.where(sign > 0, weight, 0.0))
        return np.where(
            sign > 0, tasks.repeat(total / (2.0 * positive)), tasks.repeat(total / (2.0 * (total - positive)))
        )

    def target(self, sign, plan: Plan):
        if self.unit_targets:
            return super().target(sign, plan)
        return np.where(sign > 0, 1.0, 1.0 / (plan.n_classes - 1))

    def scores(self, decision, plan):
        return decision
