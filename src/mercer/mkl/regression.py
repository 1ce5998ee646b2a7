"""Regression with a learnt combination of kernels."""

from mercer.mkl.base import MultipleKernels
from mercer.svm.regression import PricedTubes

__all__ = ["MKLRegressor"]


class MKLRegressor(MultipleKernels, PricedTubes):
    """Support vector regression that learns which kernels matter.

    .. math::

        \\min_{d \\in D} \\min_{w, b} \\tfrac12 \\sum_k \\frac{\\|w_k\\|^2}{d_k} + C \\sum_i \\omega_i \\max\\left(0,
        \\left|y_i - \\textstyle\\sum_k w_k \\cdot \\phi_k(x_i) - b\\right| - \\epsilon\\right)

    over weights d of the kernels, of sum one unless `norm`, `elastic` or `groups` say otherwise [1]_. Several outputs
    share the weights.

    Parameters
    ----------
    kernels : list of Kernel, Sum or None, default=None
        The kernels, all on the same kind of samples; `Widths` stands for several, names and functions for kernels. The
        terms of a sum such as ``On("seq", Spectrum(3)) + On("expr", RBF())`` are its kernels. For stored matrices use
        ``[Indexed(K1), Indexed(K2)]`` and row numbers as X. None: a linear kernel, and `RBF` in seven widths.
    C : float > 0, default=1.0
        Price of errors, as in `SVR`.
    epsilon : float >= 0, default=0.1
        Half the width of the tube, in units of y.
    loss : {"linear", "quadratic"}, default="linear"
        Price grows with the error outside the tube or with its square.
    algorithm : str, KernelWeightsSolver or WeightRule, default="auto"
        How the weights are learnt, see the guide: "newton", "level", "silp", "simple", "projected" and "nesterov" on
        the simplex; "alternating", "smo" and, for few samples and with the extra ``conic``, "qclp" for any set. "auto"
        takes "newton" on the simplex and "alternating" elsewhere.
        "uniform", "alignment", "div-conv" and "div-dc" take them from a rule, without the machine; these add up to one,
        whence they are for ``norm=1`` alone. "sdp", for `Indexed` kernels of at most 100 rows and with the extra
        ``conic``, allows weights of either sign: their sum is positive semi-definite on all rows, with a mean diagonal
        of one.
    norm : float >= 1, default=1.0
        The norm of the weights that is at most one. 1 makes them sparse; the larger, the more equal they are, up to
        infinity, where all are one.
    elastic : float in [0, 1], default=0.0
        Positive: (1 - elastic) sum(d) + elastic sum(d^2) is at most one, for few weights, but equal ones of equal
        kernels; `norm` must be 1.
    groups : sequence of shape (n_kernels,) or None, default=None
        Labels of groups of the kernels that are given: few groups have weight, and within a group they are as `norm`
        makes them.
    normalize : {"trace", "variance"} or None, default="trace"
        What every kernel matrix is divided by before it is weighted: the mean of its diagonal, its variance in feature
        space, or nothing.
    ridge : float >= 0 or None, default=None
        Added to the diagonal of every matrix while weights are learnt; None: nothing, but 1e-3 for "nesterov", which
        needs a smooth objective.
    repair : {"clip", "flip", "shift", "square"} or None, default=None
        What is done to an `Indexed` kernel that is not positive semi-definite, see `mercer.gram.Repair`: to the whole
        matrix that was given. None, and any other kernel: it is refused.
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions of the machine; smaller is more exact and slower.
    gap_tol : float > 0, default=1e-3
        Largest relative gap between the bounds of the optimum over all weights.
    max_iter : int >= 1 or None, default=None
        Most weights that are tried.
    max_seconds : float > 0 or None, default=None
        Most seconds.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values. Kernels that do not fit are computed again when they are needed.
    n_threads : int or None, default=None
        Threads; the result does not depend on it.
    warm_start : bool, default=False
        Start from the last weights when `fit` is called again with as many kernels.
    solver : {"smo", "simple"} or Solver, default="smo"
        Of the machine on the learnt kernel, where there is a `ridge`; weights are always learnt with "smo".
    callback : callable or None, default=None
        Told the `Progress` after every trial of weights; a true value stops the search.

    Attributes
    ----------
    weights_ : ndarray of shape (n_kernels,)
        The weights d of the kernels, as they are normalised.
    weights_result_ : KernelWeightsResult
        The certificate of the weights: objective, bound, gap, history.
    kernel_ : Kernel
        The combination that was learnt, usable anywhere; kernels of weight zero are left out.
    kernels_ : list of Kernel
        All of them, with their data-dependent parameters resolved, and repaired where they were.
    factors_ : ndarray of shape (n_kernels,)
        What each was multiplied by to normalise it.
    result_ : SolverResult
        The certificate of the machine on the learnt kernel.
    support_, support_vectors_, n_support_, dual_coef_, intercept_ : arrays
        As of `SVR` with `kernel_`.
    norm_, slack_, margin_errors_, sparsity_ : float or arrays
        As of `SVR` with `kernel_`.
    n_iter_ : int
        Solver steps of the machine.
    n_features_in_ : int
        Features seen in `fit`.

    See Also
    --------
    mercer.svm.SVR : With a kernel that is given.

    Notes
    -----
    Costs as for `MKLClassifier`.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, sections 3.6-3.8.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MKLRegressor
    >>> from mercer.kernels import Linear, On
    >>> rng = np.random.default_rng(0)
    >>> X = {"noise": rng.normal(size=(60, 3)), "signal": rng.normal(size=60)}
    >>> machine = MKLRegressor(On("noise", Linear()) + On("signal", Linear()), C=10.0).fit(X, 3.0 * X["signal"])
    >>> machine.weights_.round(2)
    array([0., 1.])
    """

    _parameters = PricedTubes._parameters | MultipleKernels._parameters

    def __init__(
        self,
        kernels=None,
        *,
        C=1.0,
        epsilon=0.1,
        loss="linear",
        algorithm="auto",
        norm=1.0,
        elastic=0.0,
        groups=None,
        normalize="trace",
        ridge=None,
        repair=None,
        tol=1e-3,
        gap_tol=1e-3,
        max_iter=None,
        max_seconds=None,
        memory="auto",
        n_threads=None,
        warm_start=False,
        solver="smo",
        callback=None,
    ):
        self.kernels = kernels
        self.C = C
        self.epsilon = epsilon
        self.loss = loss
        self.algorithm = algorithm
        self.norm = norm
        self.elastic = elastic
        self.groups = groups
        self.normalize = normalize
        self.ridge = ridge
        self.repair = repair
        self.tol = tol
        self.gap_tol = gap_tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.memory = memory
        self.n_threads = n_threads
        self.warm_start = warm_start
        self.solver = solver
        self.callback = callback
