"""One objective for all classes."""

from mercer.multiclass.base import JointScheme
from mercer.problems import crammer_singer, lee_lin_wahba, weston_watkins

__all__ = ["CrammerSinger", "LeeLinWahba", "WestonWatkins"]


class WestonWatkins(JointScheme):
    """One function per class, learnt together: it has to be ahead of every other by 1, and all lags have a price.

    .. math::

        \\min_{w, b} \\tfrac12 \\sum_k \\|w_k\\|^2
        + C \\sum_i \\omega_i \\sum_{k \\ne y_i} \\max(0, 1 - (f_{y_i} - f_k)(x_i)),
        \\quad f_k(x) = w_k \\cdot \\phi(x) + b_k

    The functions are the scores, and they add up to zero. For two classes the decision value
    :math:`f_1 - f_0` is that of the machine for two with price 2 C.

    See Also
    --------
    mercer.problems.weston_watkins : The problem.
    mercer.solvers.BlockDescent : What solves it; for linear machines `LinearBlockDescent`.

    Notes
    -----
    One problem with n (K - 1) multipliers, see `mercer.solvers.BlockDescent` for its cost. Of one sample few classes
    have a coefficient.

    References
    ----------
    .. [1] J. Weston, C. Watkins, Support vector machines for multi-class pattern recognition, ESANN 1999.

    Examples
    --------
    >>> from mercer import SVC
    >>> X, y = [[0.0], [1.0], [4.0], [5.0], [9.0], [10.0]], [0, 0, 1, 1, 2, 2]
    >>> machine = SVC(C=100.0, multi_class="weston_watkins").fit(X, y)
    >>> machine.predict([[0.4], [4.4], [9.9]])
    array([0, 1, 2])
    >>> machine.result_.status, machine.dual_coef_.shape
    ('solved', (3, 5))
    """

    def problem(self, gram, label, cost, *, bias=True, index=None):
        return weston_watkins(gram, label, cost, bias=bias, index=index)


class CrammerSinger(JointScheme):
    """One function per class, learnt together: it has to be ahead of the strongest other by 1.

    .. math::

        \\min_{w, b} \\tfrac12 \\sum_k \\|w_k\\|^2
        + C \\sum_i \\omega_i \\max(0, 1 + \\max_{k \\ne y_i} f_k(x_i) - f_{y_i}(x_i)),
        \\quad f_k(x) = w_k \\cdot \\phi(x) + b_k

    A sample has one error, however many classes are ahead of its own. The functions are the scores, and they add up
    to zero. For two classes the decision value :math:`f_1 - f_0` is that of the machine for two with price 2 C. The
    paper has no offsets: ``fit_intercept=False``.

    See Also
    --------
    mercer.problems.crammer_singer : The problem.
    mercer.solvers.BlockDescent : What solves it; for linear machines `LinearBlockDescent`.

    Notes
    -----
    One problem with n (K - 1) multipliers, see `mercer.solvers.BlockDescent` for its cost. Of one sample few classes
    have a coefficient.

    References
    ----------
    .. [1] K. Crammer, Y. Singer, On the algorithmic implementation of multiclass kernel-based vector machines, JMLR 2,
       2001.

    Examples
    --------
    >>> from mercer import SVC
    >>> X, y = [[0.0], [1.0], [4.0], [5.0], [9.0], [10.0]], [0, 0, 1, 1, 2, 2]
    >>> machine = SVC(C=100.0, multi_class="crammer_singer").fit(X, y)
    >>> machine.predict([[0.4], [4.4], [9.9]])
    array([0, 1, 2])
    """

    def problem(self, gram, label, cost, *, bias=True, index=None):
        return crammer_singer(gram, label, cost, bias=bias, index=index)


class LeeLinWahba(JointScheme):
    """Functions that add up to zero, learnt together: those of other classes have to be below -1/(K-1).

    .. math::

        \\min_{w, b} \\tfrac12 \\sum_k \\|w_k\\|^2
        + C \\sum_i \\omega_i \\sum_{k \\ne y_i} \\max(0, f_k(x_i) + \\tfrac{1}{K-1})
        \\quad\\text{s.t.}\\quad \\sum_k f_k = 0, \\quad f_k(x) = w_k \\cdot \\phi(x) + b_k

    With enough data the largest function is that of the most probable class, which the other objectives do not
    promise. The functions are the scores. For two classes :math:`f_1 = -f_0` is the decision value of the machine for
    two with price C / 2, and the decision value of this one is twice that, :math:`f_1 - f_0`.

    See Also
    --------
    mercer.problems.lee_lin_wahba : The problem.
    mercer.solvers.BlockDescent : What solves it; for linear machines `LinearBlockDescent`.

    Notes
    -----
    One problem with n (K - 1) multipliers, see `mercer.solvers.BlockDescent` for its cost. A sample has a coefficient
    in all classes or in none.

    References
    ----------
    .. [1] Y. Lee, Y. Lin, G. Wahba, Multicategory support vector machines, JASA 99, 2004.

    Examples
    --------
    >>> from mercer import SVC
    >>> X, y = [[0.0], [1.0], [4.0], [5.0], [9.0], [10.0]], [0, 0, 1, 1, 2, 2]
    >>> machine = SVC(C=100.0, multi_class="lee_lin_wahba").fit(X, y)
    >>> machine.predict([[0.4], [4.4], [9.9]])
    array([0, 1, 2])
    """

    def problem(self, gram, label, cost, *, bias=True, index=None):
        return lee_lin_wahba(gram, label, cost, bias=bias, index=index)
