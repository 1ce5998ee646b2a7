"""Support vector classification."""

from abc import ABC

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.machines import ClassWeight, Landmarks
from mercer.parameters import Choice, Number
from mercer.problems import DualProblems, nu_margin, soft_margin
from mercer.solvers import SolverResults
from mercer.svm.base import SupportVectorMachine, one_or_all
from mercer.svm.margins import MarginClassifier, Models

__all__ = ["SVC", "NuSVC", "SoftMargins", "SupportVectorClassifier"]


class SupportVectorClassifier(MarginClassifier, ABC):
    """What SVC and NuSVC share: their kernel is given."""


class SoftMargins(MarginClassifier, ABC):
    """Margins with errors at the price C."""

    _parameters = SupportVectorMachine._parameters | {
        "C": Number(0, above=True, infinite=True),
        "loss": Choice("hinge", "squared_hinge"),
        "fit_intercept": Choice(True, False),
        "class_weight": ClassWeight,
        "probability": Choice(True, False),
    }

    def _problems(self, gram, tasks, weight):
        every = soft_margin(
            gram,
            tasks.sign,
            self.C * tasks.cost * weight,
            squared=self.loss == "squared_hinge",
            bias=self.fit_intercept,
            index=tasks.samples,
            target=tasks.target,
        )
        return DualProblems.split(every, tasks.parts)

    def _models(self, results):
        return Models(scale=np.ones(len(results)), offset=results.offsets[:, 0], edge=np.ones(len(results)))


class SVC(SoftMargins, SupportVectorClassifier):
    """Support vector classifier: the widest margin, with errors at a price.

    .. math::

        \\min_{w, b, \\xi} \\tfrac12 \\|w\\|^2 + C \\sum_i \\omega_i \\xi_i^q \\quad\\text{s.t.}\\quad
        y_i (w \\cdot \\phi(x_i) + b) \\ge 1 - \\xi_i, \\quad \\xi_i \\ge 0,

    with q = 1 for ``loss="hinge"`` (L1 soft margin), q = 2 for ``loss="squared_hinge"`` (L2 soft margin), and no
    errors at all for ``C=inf`` (hard margin). The dual is solved by sequential minimal optimisation, and `result_`
    says how far from the optimum the solution can be.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`. "precomputed": X is the kernel matrix.
    C : float > 0, default=1.0
        Price of errors; larger fits the training data more closely. ``inf`` is the hard margin.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        Price grows with the error or with its square.
    class_weight : dict, "balanced" or None, default=None
        Factors of C per class (asymmetric margins); "balanced" makes all classes count the same.
    multi_class : str or Scheme, default="ovo"
        How several classes are told apart, see `mercer.multiclass`: "ovo", "ovr", "dag", "ecoc" and "one_class" have
        several machines; "weston_watkins", "crammer_singer" and "lee_lin_wahba" have one objective for all classes, for
        the hinge loss and a finite C.
    fit_intercept : bool, default=True
        False leaves out b; ``Linear() + 1`` then gives the regularised bias of [4]_.
    approximation : int >= 1, map of `mercer.features` or None, default=None
        For many samples: how many of them, the landmarks, functions are expanded over, or the `Nystroem` that chooses
        them; more is more exact. Or a `MercerMap`, `RandomFourier` or `PolynomialSketch`, in whose features functions
        are linear. None: all samples.
    device : str, torch.device or None, default=None
        Where kernel values are made and the problem is solved: "cuda", a GPU, by PyTorch, or "cpu", by the same code.
        None: the native core.
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions; smaller is more exact and slower.
    gap_tol : float > 0 or None, default=None
        Largest relative duality gap, as a further condition.
    max_iter : int >= 1 or None, default=None
        Most solver steps; None leaves a generous limit.
    max_seconds : float > 0 or None, default=None
        Most seconds for the solver.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values; where X comes in `mercer.data.RowBlocks`, for samples, too.
    n_threads : int or None, default=None
        Threads; the result does not depend on it.
    warm_start : bool, default=False
        Start from the last solution when `fit` is called again with as many samples.
    solver : {"smo", "simple"} or Solver, default="smo"
        See `mercer.solvers`. With one objective for all classes "smo" stands for `BlockDescent`.
    probability : bool, default=False
        Learn probabilities: short for `mercer.calibration.Calibrated` around this machine, except that class weights
        count in them too. Decision values are then calibrated log-odds, or log-probabilities of several classes; those
        of `estimator_` are the margins.
    random_state : int, RandomState instance or None, default=0
        Shuffles the folds of the calibration.
    checkpoint : path, Checkpoint or None, default=None
        A file that keeps a long fit while it runs, so that the same fit goes on from it after a kill; see
        `mercer.checkpoints.Checkpoint`.
    callback : callable or None, default=None
        Told the `Progress` of the solver; a true value stops it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes; positive decision values speak for ``classes_[1]``.
    result_ : SolverResult or JointResult
        The certificate: objectives, gap, violation, history. A `JointResult` if there is one objective for all classes.
    support_ : int ndarray of shape (n_support,)
        Numbers of the support vectors.
    support_vectors_ : samples
        The support vectors; empty if precomputed.
    n_support_ : int ndarray of shape (n_classes,)
        How many there are of each class.
    dual_coef_ : ndarray of shape (1, n_support) or CSR of shape (n_problems, n_support)
        Multipliers times signs; a row for every machine of `multi_class`, or for every class if there is one objective
        for all; so for what follows.
    intercept_ : ndarray of shape (n_problems,)
        The offsets b.
    coef_ : ndarray of shape (n_problems, n_features)
        The weights w; linear kernel only.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.
    norm_, margin_ : float or ndarray of shape (n_problems,)
        ``|w|`` and the margin ``1 / |w|`` in feature space. With one objective, how far the margin reaches on either
        side of the nearest hyperplane of the class, see `mercer.problems.JointProblem.margins`.
    slack_ : ndarray of shape (n,) or CSR of shape (n_problems, n)
        The errors xi of the training samples; with one objective those against every class but their own.
    margin_errors_ : float or ndarray of shape (n_problems,)
        Share of the training samples with an error above `tol`.
    sparsity_ : float
        Share of the training samples that are not support vectors.
    calibration_, estimator_ : Calibration, classifier
        What was learnt of probabilities, and the machine before it; ``probability=True`` only.
    approximation_, sample_coef_ : map, CSR of shape (n_problems, n)
        The map (a `Nystroem` for landmarks, which are the support vectors then; without landmarks there are none, and
        `dual_coef_` are weights of the features), and the coefficients of all training samples in the dual; with an
        `approximation` only. `full_certificate` tells how far this is from no approximation.
    n_iter_ : int
        Solver steps.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    NuSVC : The same machine, with a bound on the share of errors instead of C.
    LinearSVC : The linear kernel, for many samples or features.
    OneClassSVM : One class only.

    Notes
    -----
    Training takes between O(n d n_support) and O(n^2 d) for the usual parameters, more for large C, and memory
    O(n d) plus the budget; prediction O(d n_support) per sample. Several classes: see `mercer.multiclass`.

    Vectors may come as `mercer.data.RowBlocks`, as they do where a mapped array is larger than the budget: what does
    not fit is learnt from a part at a time, with the certificate over all, see `mercer.solvers.StreamingSMO`.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 1.12-1.31.
    .. [2] C. M. Bishop, Pattern Recognition and Machine Learning, 2006, section 7.1.
    .. [3] K. Veropoulos, C. Campbell, N. Cristianini, Controlling the sensitivity of support vector machines, 1999.
    .. [4] C. C. Aggarwal, Data Mining: The Textbook, 2015, section 10.6.1.1.

    Examples
    --------
    >>> from mercer import SVC
    >>> X = [[0.0, 0.0], [1.0, 1.0], [3.0, 3.0], [4.0, 4.0]]
    >>> machine = SVC(kernel="linear", C=10.0).fit(X, ["low", "low", "high", "high"])
    >>> machine.predict([[2.5, 2.4]])
    array(['high'], dtype='<U4')
    >>> machine.result_.status, round(machine.margin_, 3)
    ('solved', 1.414)
    """

    _parameters = SoftMargins._parameters | {"approximation": Landmarks()}

    def __init__(
        self,
        kernel="rbf",
        *,
        C=1.0,
        loss="hinge",
        class_weight=None,
        multi_class="ovo",
        fit_intercept=True,
        approximation=None,
        device=None,
        tol=1e-3,
        gap_tol=None,
        max_iter=None,
        max_seconds=None,
        memory="auto",
        n_threads=None,
        warm_start=False,
        solver="smo",
        probability=False,
        random_state=0,
        checkpoint=None,
        callback=None,
    ):
        self.kernel = kernel
        self.C = C
        self.loss = loss
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.approximation = approximation
        self.device = device
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
        self.checkpoint = checkpoint
        self.callback = callback


class NuSVC(SupportVectorClassifier):
    """Support vector classifier with a bound on the share of errors in place of a price.

    .. math::

        \\min_{w, b, \\rho, \\xi} \\tfrac12 \\|w\\|^2 - \\nu \\rho \\sum_i \\omega_i + \\sum_i \\omega_i \\xi_i
        \\quad\\text{s.t.}\\quad y_i (w \\cdot \\phi(x_i) + b) \\ge \\rho - \\xi_i, \\quad \\xi_i, \\rho \\ge 0.

    At most a fraction nu of the training samples are margin errors, at least a fraction nu are support vectors.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`. "precomputed": X is the kernel matrix.
    nu : float in (0, 1], default=0.5
        Larger allows more errors and takes more support vectors. At most twice the share of the smaller class.
    class_weight : dict, "balanced" or None, default=None
        Factors of the weights per class.
    multi_class : {"ovo", "ovr", "dag", "ecoc", "one_class"} or Scheme, default="ovo"
        How several classes are told apart, see `mercer.multiclass`; schemes of one objective for all classes are left
        to `SVC`.
    approximation : int >= 1, map of `mercer.features` or None, default=None
        For many samples: how many of them, the landmarks, functions are expanded over, or the `Nystroem` that chooses
        them; more is more exact. Or a `MercerMap`, `RandomFourier` or `PolynomialSketch`, in whose features functions
        are linear. None: all samples.
    device : str, torch.device or None, default=None
        Where kernel values are made and the problem is solved: "cuda", a GPU, by PyTorch, or "cpu", by the same code.
        None: the native core.
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions; smaller is more exact and slower.
    gap_tol : float > 0 or None, default=None
        Largest relative duality gap, as a further condition.
    max_iter : int >= 1 or None, default=None
        Most solver steps; None leaves a generous limit.
    max_seconds : float > 0 or None, default=None
        Most seconds for the solver.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values; where X comes in `mercer.data.RowBlocks`, for samples, too.
    n_threads : int or None, default=None
        Threads; the result does not depend on it.
    warm_start : bool, default=False
        Start from the last solution when `fit` is called again with as many samples.
    solver : {"smo", "simple"} or Solver, default="smo"
        See `mercer.solvers`.
    probability : bool, default=False
        Learn probabilities: short for `mercer.calibration.Calibrated` around this machine, except that class weights
        count in them too. Decision values are then calibrated log-odds, or log-probabilities of several classes; those
        of `estimator_` are the margins.
    random_state : int, RandomState instance or None, default=0
        Shuffles the folds of the calibration.
    checkpoint : path, Checkpoint or None, default=None
        A file that keeps a long fit while it runs, so that the same fit goes on from it after a kill; see
        `mercer.checkpoints.Checkpoint`.
    callback : callable or None, default=None
        Told the `Progress` of the solver; a true value stops it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes; positive decision values speak for ``classes_[1]``.
    result_ : SolverResult
        The certificate: objectives, gap, violation, history; in the scale of the problem above.
    rho_ : float or ndarray of shape (n_problems,)
        The rho of the problem.
    support_, support_vectors_, n_support_ : ndarray, samples, ndarray
        Numbers of the support vectors, the vectors, and how many there are of each class.
    dual_coef_ : ndarray of shape (1, n_support) or CSR of shape (n_problems, n_support)
        Multipliers times signs, divided by rho, so that the edges of the margin band have decision values -1 and
        1; not divided where rho is zero.
    intercept_ : ndarray of shape (n_problems,)
        The offsets b, divided by rho.
    coef_ : ndarray of shape (n_problems, n_features)
        The weights w, divided by rho; linear kernel only.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.
    norm_, margin_ : float or ndarray of shape (n_problems,)
        ``|w| / rho`` and the margin ``rho / |w|`` in feature space.
    slack_ : ndarray of shape (n,) or CSR of shape (n_problems, n)
        The errors xi of the training samples, divided by rho.
    margin_errors_ : float or ndarray of shape (n_problems,)
        Share of the training samples with an error above `tol`.
    sparsity_ : float
        Share of the training samples that are not support vectors.
    calibration_, estimator_ : Calibration, classifier
        What was learnt of probabilities, and the machine before it; ``probability=True`` only.
    approximation_, sample_coef_ : map, CSR of shape (n_problems, n)
        The map (a `Nystroem` for landmarks, which are the support vectors then; without landmarks there are none, and
        `dual_coef_` are weights of the features), and the coefficients of all training samples in the dual; with an
        `approximation` only. `full_certificate` tells how far this is from no approximation.
    n_iter_ : int
        Solver steps.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    SVC : The same machine, with a price of errors.

    Notes
    -----
    Costs as for `SVC`. `tol` counts in units of rho, as the decision values do. Where the classes overlap so much that
    there is no margin for this nu, the status is "degenerate".

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 1.32-1.50.
    .. [2] B. Schölkopf, A. Smola, R. Williamson, P. Bartlett, New support vector algorithms, 2000.

    Examples
    --------
    >>> from mercer import NuSVC
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> NuSVC(kernel="linear", nu=0.5).fit(X, [0, 0, 1, 1]).predict([[0.4], [2.9]])
    array([0, 1])
    """

    _parameters = SupportVectorMachine._parameters | {
        "nu": Number(0, 1, above=True),
        "approximation": Landmarks(),
        "class_weight": ClassWeight,
        "probability": Choice(True, False),
    }

    def __init__(
        self,
        kernel="rbf",
        *,
        nu=0.5,
        class_weight=None,
        multi_class="ovo",
        approximation=None,
        device=None,
        tol=1e-3,
        gap_tol=None,
        max_iter=None,
        max_seconds=None,
        memory="auto",
        n_threads=None,
        warm_start=False,
        solver="smo",
        probability=False,
        random_state=0,
        checkpoint=None,
        callback=None,
    ):
        self.kernel = kernel
        self.nu = nu
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.approximation = approximation
        self.device = device
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
        self.checkpoint = checkpoint
        self.callback = callback

    def _problems(self, gram, tasks, weight):
        cost = tasks.cost * weight
        return DualProblems.of(
            [nu_margin(gram, tasks.sign[part], self.nu, cost[part], index=tasks.samples[part]) for part in tasks.parts]
        )

    def _check_all(self):
        super()._check_all()
        if not self._scheme.unit_targets:
            raise ValueError(
                "multi_class must have machines with targets +1 and -1 for NuSVC, which finds their size rho itself, "
                f"got {self.multi_class!r}; use targets='signs', or SVC."
            )

    def _models(self, results):
        plus, minus = results.offsets.T
        rho = rho_of(results)
        # No rho, no band to scale: the classes lie on each other.
        flat = rho <= 1e-10 * (1.0 + abs(plus) + abs(minus))
        scale = 1.0 / np.where(flat, 1.0, rho)
        return Models(scale, 0.5 * (plus + minus) * scale, rho * scale)

    def _dual_scale(self):
        return 1.0 / np.atleast_1d(self.rho_)

    @property
    def rho_(self):
        """The rho of the problem."""
        check_is_fitted(self)
        return one_or_all(rho_of(SolverResults.of(self.result_.parts or (self.result_,))))


def rho_of(results: SolverResults) -> np.ndarray:
    """Free variables see b - rho on the positive side and b + rho on the negative one. [CY eq 1.50]"""
    plus, minus = results.offsets.T
    return 0.5 * (minus - plus)
