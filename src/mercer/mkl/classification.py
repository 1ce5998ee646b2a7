"""Classification with a learnt combination of kernels."""

from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.calibration.folds import HeldOut, fold_machines, fold_splitter
from mercer.mkl.algorithms import rule_for
from mercer.mkl.base import MultipleKernels
from mercer.multiclass import JointScheme, OneVersusRest
from mercer.parameters import Choice
from mercer.svm.classification import SoftMargins
from mercer.svm.probabilities import FOLDS

__all__ = ["MKLClassifier"]


class MKLClassifier(MultipleKernels, SoftMargins):
    """Support vector classifier that learns which kernels matter.

    .. math::

        \\min_{d \\in D} \\min_{w, b} \\tfrac12 \\sum_k \\frac{\\|w_k\\|^2}{d_k} + C \\sum_i \\omega_i \\max\\left(0,
        1 - y_i \\left(\\textstyle\\sum_k w_k \\cdot \\phi_k(x_i) + b\\right)\\right)

    over weights d of the kernels, of sum one unless `norm`, `elastic` or `groups` say otherwise [1]_. The machine is an
    `SVC` with the kernel :math:`\\sum_k d_k K_k`, and `weights_result_` says how far from the optimum over all weights
    it can be. Several classes share the weights, the objectives of their machines are added up; or each has its own.

    Parameters
    ----------
    kernels : list of Kernel, Sum or None, default=None
        The kernels, all on the same kind of samples; `Widths` stands for several, names and functions for kernels. The
        terms of a sum such as ``On("seq", Spectrum(3)) + On("expr", RBF())`` are its kernels. For stored matrices use
        ``[Indexed(K1), Indexed(K2)]`` and row numbers as X. None: a linear kernel, and `RBF` in seven widths.
    C : float > 0, default=1.0
        Price of errors, as in `SVC`.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        Price grows with the error or with its square.
    class_weight : dict, "balanced" or None, default=None
        Factors of C per class.
    multi_class : {"ovo", "ovr", "dag", "ecoc", "weston_watkins", "crammer_singer", "lee_lin_wahba"} or Scheme, \
default="ovo"
        How several classes are told apart, see `mercer.multiclass`; the last three have one objective for all classes,
        for the hinge loss.
    shared : bool, default=True
        Whether all machines of several classes have the same weights. False needs ``multi_class="ovr"``: which kernels
        tell a class from the rest is then learnt for each class.
    fit_intercept : bool, default=True
        False leaves out b.
    algorithm : str, KernelWeightsSolver or WeightRule, default="auto"
        How the weights are learnt, see the guide: "newton", "level", "silp", "simple", "projected" and "nesterov" on
        the simplex; "alternating", "smo" and, for few samples and with the extra ``conic``, "qclp" for any set. "auto"
        takes "newton" on the simplex (for one objective of several classes "level"), and "alternating" elsewhere.
        "uniform", "alignment", "easy", "div-conv" and "div-dc" take them from a rule, without the machine; these add up
        to one, whence they are for ``norm=1`` alone. "sdp", for `Indexed` kernels of at most 100 rows and with the
        extra ``conic``, allows weights of either sign: their sum is positive semi-definite on all rows, with a mean
        diagonal of one.
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
    probability : bool, default=False
        Learn probabilities from five folds, in each of which weights are learnt anew.
    random_state : int, RandomState instance or None, default=0
        Shuffles the folds of the calibration.
    callback : callable or None, default=None
        Told the `Progress` after every trial of weights; a true value stops the search.

    Attributes
    ----------
    weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        The weights d of the kernels, as they are normalised; a row for each class if they are not shared.
    weights_result_ : KernelWeightsResult
        The certificate of the weights: objective, bound, gap, history. A list of them if they are not shared.
    kernel_ : Kernel
        The combination that was learnt, usable anywhere; kernels of weight zero are left out. A list of them if weights
        are not shared.
    kernels_ : list of Kernel
        All of them, with their data-dependent parameters resolved, and repaired where they were.
    factors_ : ndarray of shape (n_kernels,)
        What each was multiplied by to normalise it.
    classes_ : ndarray of shape (n_classes,)
        The classes; positive decision values speak for ``classes_[1]``.
    result_ : SolverResult
        The certificate of the machine on the learnt kernel.
    support_, support_vectors_, n_support_, dual_coef_, intercept_ : arrays
        As of `SVC` with `kernel_`.
    norm_, margin_, slack_, margin_errors_, sparsity_ : float or arrays
        As of `SVC` with `kernel_`.
    n_iter_ : int
        Solver steps of the machine.
    n_features_in_ : int
        Features seen in `fit`.

    See Also
    --------
    mercer.svm.SVC : With a kernel that is given.

    Notes
    -----
    A trial of weights costs a machine, started from the last one, and a pass over the kernel matrices. These take 2
    n^2 bytes each.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, sections 3.6-3.8.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MKLClassifier
    >>> from mercer.kernels import Linear, On
    >>> rng = np.random.default_rng(0)
    >>> X = {"noise": rng.normal(size=(60, 3)), "signal": rng.normal(size=60)}
    >>> machine = MKLClassifier(On("noise", Linear()) + On("signal", Linear())).fit(X, X["signal"] > 0)
    >>> machine.weights_.round(1)
    array([0., 1.])
    >>> machine.weights_result_.status
    'solved'
    """

    _parameters = SoftMargins._parameters | MultipleKernels._parameters | {"shared": Choice(True, False)}

    def __init__(
        self,
        kernels=None,
        *,
        C=1.0,
        loss="hinge",
        class_weight=None,
        multi_class="ovo",
        shared=True,
        fit_intercept=True,
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
        probability=False,
        random_state=0,
        callback=None,
    ):
        self.kernels = kernels
        self.C = C
        self.loss = loss
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.shared = shared
        self.fit_intercept = fit_intercept
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
        self.probability = probability
        self.random_state = random_state
        self.callback = callback

    def _check_all(self):
        super()._check_all()
        if self._scheme.calibrated:
            raise ValueError(f"multi_class must be a scheme that is not calibrated, got {self.multi_class!r}.")
        if not self.shared and not isinstance(self._scheme, OneVersusRest):
            raise ValueError(f"multi_class must be 'ovr' where shared is False, got {self.multi_class!r}.")
        if not self.shared and rule_for(self.algorithm) is not None:
            raise ValueError(
                f"shared must be True for a rule, which has one answer for all classes: {self.algorithm!r}."
            )

    @property
    def _joint(self):
        return isinstance(self._scheme, JointScheme)

    @property
    def _shared(self):
        return self.shared or len(self.classes_) == 2

    def _solve_jointly(self, scheme, gram, lessons, bias):
        ((codes, weight),) = lessons  # there are no folds
        index = np.flatnonzero(codes >= 0)
        problem = scheme.problem(gram, codes[index], self.C * weight[index], bias=bias, index=index)
        (result,) = self._fit_problems([problem])
        return [(problem, result)]

    @property
    def _folds_share_rows(self):
        return False  # weights are learnt in every fold

    def _fit_calibrated(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._fit(X, y, sample_weight)
        labels = np.asarray(y)
        weight = self._weights(sample_weight, X)
        codes = self._encode(labels, weight)
        splits = fold_splitter(FOLDS, self.random_state)(X, codes, weight, self.classes_)
        machine = clone(self).set_params(probability=False)
        given = None if sample_weight is None else weight
        folds = fold_machines(machine, X, labels, codes, given, splits)
        self._learn_sigmoid(HeldOut.joined([held_out for _, held_out in folds]), ())
