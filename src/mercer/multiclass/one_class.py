"""One machine per class that knows this class alone."""

import numpy as np

from mercer.multiclass.base import Model, OwnMachines
from mercer.parameters import Number
from mercer.problems import one_class

__all__ = ["OneClassPerClass"]

# Below this fraction of the size of the data in feature space, a class is not apart from the origin.
NO_DISTANCE = 1e-10


class OneClassPerClass(OwnMachines):
    """A one-class machine per class; the class that a sample is deepest inside of wins. [CY §1.3, §2.4]

    The machine of class k is `mercer.svm.OneClassSVM` on the samples of the class. Its output
    :math:`w_k \\cdot \\phi(x) - \\rho_k` grows with the number and weight of the samples, so that it is divided by
    :math:`\\rho_k`: the score is 0 on the boundary of every class and -1 at the origin of feature space, where nothing is
    similar to anything, and the ratios of outputs say how much surer one class is than another. For a sample outside of
    all classes all scores are negative.

    With two classes the decision value is the second score minus the first. Price and loss of the classifier that uses the
    scheme play no part, class weights cancel, and sample weights count.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        At most this share of a class is left outside its boundary.

    Notes
    -----
    The n samples are learnt from once each: K problems of n / K samples. No class learns from the others, so that classes
    may be added at little cost, and accuracy is lower than that of schemes that compare them.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, sections 1.3 and 2.4.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.multiclass import OneClassPerClass
    >>> X, y = [[0.0], [1.0], [4.0], [5.0], [9.0], [10.0]], ["a", "a", "b", "b", "c", "c"]
    >>> machine = SVC(multi_class=OneClassPerClass(nu=0.1)).fit(X, y)
    >>> machine.predict([[0.4], [4.4], [9.9]])
    array(['a', 'b', 'c'], dtype='<U1')
    >>> bool((machine.decision_function([[100.0]]) < 0).all())
    True
    """

    _parameters = {"nu": Number(0, 1, above=True)}

    def __init__(self, nu=0.5):
        self.nu = nu

    def sides(self, n_classes):
        return np.eye(n_classes)

    def problem(self, gram, task, weight):
        return one_class(gram, self.nu, weight, index=task.index)

    def model(self, problem, result):
        rho = -result.offsets.plus
        # No rho, nothing to scale: the class surrounds the origin.
        smallest = NO_DISTANCE * float(result.a.sum()) * abs(problem.spread.square)
        scale = 1.0 / rho if rho > smallest else 1.0
        return Model(scale, -rho * scale, rho * scale)

    def scores(self, decision, plan):
        return decision
