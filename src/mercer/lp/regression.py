"""Regression by linear programmes."""

from typing import Any

import numpy as np

from mercer.lp.base import LinearProgramMachine, in_rows, one_or_all
from mercer.machines import KernelRegressor
from mercer.parameters import Number
from mercer.problems import lp_tube

__all__ = ["LPRegressor"]


class LPRegressor(KernelRegressor, LinearProgramMachine):
    """Regression with few coefficients: a 1-norm in the place of the margin of `SVR`.

    .. math::

        \\min_{a, b} \\sum_j |a_j| + C \\sum_i \\omega_i \\max(0, |y_i - f(x_i)| - \\epsilon)
        \\quad\\text{with}\\quad f(x) = \\sum_j a_j k(x, x_j) + b

    The kernel **need not be positive semi-definite**. Small programmes go to HiGHS as a whole, larger ones by column
    generation, see `mercer.solvers.ColumnGeneration`; several outputs are learnt one by one.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`; also an indefinite one. "precomputed": X is the kernel matrix.
    C : float > 0, default=1.0
        Price of errors; larger fits the training data more closely. Infinite: no sample may lie outside the tube.
    epsilon : float >= 0, default=0.1
        Half the width of the tube, in units of y; larger gives fewer coefficients.
    tol : float > 0, default=1e-6
        Largest relative duality gap; smaller is more exact and slower.
    solver : {"auto", "highs", "column_generation"} or solver, default="auto"
        All coefficients at once or the ones that are needed; "auto": at once for up to 200 samples.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values; column generation holds those of the columns at play besides.
    n_threads : int or None, default=None
        Threads for kernel values.

    Attributes
    ----------
    result_ : LinearResult or LinearCertificate
        The certificate: objective, bound, gap, history; for several outputs their sums, and `parts`.
    support_, support_vectors_ : ndarray, samples
        Numbers of the samples that have a coefficient, and these samples.
    dual_coef_ : ndarray of shape (n_outputs, n_support)
        The coefficients a.
    intercept_ : ndarray of shape (n_outputs,)
        The offsets b.
    coef_ : ndarray of shape (n_outputs, n_features)
        Weights of the features; linear kernel only.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.
    slack_ : ndarray of shape (n,) or (n, n_outputs)
        By how much the training samples lie outside the tube.
    margin_errors_ : float or ndarray of shape (n_outputs,)
        Share of the training samples outside the tube by more than `tol`.
    sparsity_ : float
        Share of the training samples that have no coefficient.
    n_iter_ : int
        Steps of HiGHS, or rounds of column generation.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    mercer.svm.SVR : The norm in feature space; more support vectors, faster to train.

    Notes
    -----
    Costs, uniqueness and precision as for `LPClassifier`.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 2.1-2.7 and the loss of section 2.6.
    .. [2] O. Mangasarian, D. Musicant, Large scale kernel regression via linear programming, Machine Learning 46, 2002.

    Examples
    --------
    >>> from mercer import LPRegressor
    >>> machine = LPRegressor(kernel="linear", C=100.0, epsilon=0.01).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> machine.predict([[3.0]]).round(2), machine.support_
    (array([2.98]), array([2]))
    """

    _parameters = LinearProgramMachine._parameters | {
        "C": Number(0, above=True, infinite=True),
        "epsilon": Number(0),
    }

    def __init__(self, kernel="rbf", *, C=1.0, epsilon=0.1, tol=1e-6, solver="auto", memory="auto", n_threads=None):
        self.kernel = kernel
        self.C = C
        self.epsilon = epsilon
        self.tol = tol
        self.solver = solver
        self.memory = memory
        self.n_threads = n_threads

    def _fit_columns(self, X: Any, Y: np.ndarray, weight: np.ndarray) -> None:
        index = np.flatnonzero(weight)
        gram, costs = self._make_gram(X, weight), self.C * weight[index]
        results = self._solve([lp_tube(gram, y[index], costs, float(self.epsilon), index=index) for y in Y.T])
        f = np.array([result.f[: len(index)] for result in results]).T
        slack = np.maximum(0.0, np.abs(Y[index] - f) - self.epsilon)
        self.slack_ = in_rows(index, slack, len(weight))
        self.margin_errors_ = one_or_all(weight[index] @ (slack > self.tol) / weight.sum())
        self._keep_results(X, index, results, np.ones(len(results)), np.array([r.b for r in results]))
