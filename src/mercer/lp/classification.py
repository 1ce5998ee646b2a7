"""Classification by linear programmes."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.errors import InfeasibleError, NotSeparableError
from mercer.gram import Gram
from mercer.lp.base import LinearProgramMachine, in_rows, one_or_all
from mercer.machines import ClassWeight, WeightedClassifier
from mercer.parameters import Number
from mercer.problems import LinearProblem, lp_margin, lp_nu_margin
from mercer.solvers import LinearResult

__all__ = ["LPClassifier", "NuLPClassifier"]


class LinearProgramClassifier(WeightedClassifier, LinearProgramMachine, ABC):
    """What LPClassifier and NuLPClassifier share: classes against the rest."""

    _parameters = LinearProgramMachine._parameters | {"class_weight": ClassWeight}

    @abstractmethod
    def _problem(self, gram: Gram, sign: np.ndarray, weight: np.ndarray, index: np.ndarray) -> LinearProblem: ...

    @abstractmethod
    def _units(self, results: list[LinearResult]) -> np.ndarray:
        """What decision values are divided by, so that the band ends at -1 and 1."""

    def _fit_classes(self, X: Any, codes: np.ndarray, weight: np.ndarray) -> None:
        weight = weight * self._class_weights(codes, weight)
        index = np.flatnonzero(weight)
        signs = self._signs_of(codes)[index]
        gram = self._make_gram(X, weight)
        problems = [self._problem(gram, sign, weight[index], index) for sign in signs.T]
        results = self._solve(problems)
        units = self._units(results)
        slack = np.array([p.slack(r.f, r.rho) for p, r in zip(problems, results, strict=True)]).T / units
        self.slack_ = in_rows(index, slack, len(weight))
        self.margin_errors_ = one_or_all(weight[index] @ (slack > self.tol) / weight.sum())
        self._keep_results(X, index, results, 1.0 / units, np.array([r.b for r in results]) / units)


class LPClassifier(LinearProgramClassifier):
    """Classification with few coefficients: a 1-norm in the place of the margin of `SVC`.

    .. math::

        \\min_{a, b, \\xi} \\sum_j |a_j| + C \\sum_i \\omega_i \\xi_i
        \\quad\\text{s.t.}\\quad y_i \\Big(\\sum_j a_j k(x_i, x_j) + b\\Big) \\ge 1 - \\xi_i, \\quad \\xi_i \\ge 0

    The sum of sizes leaves most coefficients at zero, so that predictions are cheap. The samples that keep one need not
    lie near the boundary, and their coefficients need not have the sign of their class. The programme is linear for any
    symmetric function of two samples: the kernel **need not be positive semi-definite**, and the optimum is proved all
    the same. Small programmes go to HiGHS as a whole, larger ones by column generation, see
    `mercer.solvers.ColumnGeneration`; several classes, one against the rest.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`; also an indefinite one. "precomputed": X is the kernel matrix.
    C : float > 0, default=1.0
        Price of errors; larger fits the training data more closely. Infinite: the hard margin.
    class_weight : dict, "balanced" or None, default=None
        Factors of C for every class; "balanced": inversely proportional to the number of its samples.
    tol : float > 0, default=1e-6
        Largest relative duality gap; smaller is more exact and slower.
    solver : {"auto", "highs", "column_generation"} or solver, default="auto"
        All coefficients at once or the ones that are needed; "auto": at once for up to 200 samples. `HiGHS` and
        `ColumnGeneration` of `mercer.solvers` have limits of their own.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values; column generation holds those of the columns at play besides.
    n_threads : int or None, default=None
        Threads for kernel values.

    Attributes
    ----------
    result_ : LinearResult or LinearCertificate
        The certificate: objective, bound, gap, history; for several classes their sums, and `parts`.
    support_, support_vectors_ : ndarray, samples
        Numbers of the samples that have a coefficient, and these samples.
    dual_coef_ : ndarray of shape (n_functions, n_support)
        The coefficients a.
    intercept_ : ndarray of shape (n_functions,)
        The offsets b.
    coef_ : ndarray of shape (n_functions, n_features)
        Weights of the features; linear kernel only.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.
    slack_ : ndarray of shape (n,) or (n, n_classes)
        The errors xi of the training samples.
    margin_errors_ : float or ndarray of shape (n_classes,)
        Share of the training samples with an error above `tol`.
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
    NuLPClassifier : With a share of errors in the place of the price.
    mercer.svm.SVC : The margin in feature space; more support vectors, faster to train.

    Notes
    -----
    C is m times that of [1]_, eq. 2.5, for m samples, and as that of `SVC`. A linear programme may have several optima,
    such as for samples that are there twice: their coefficients may then be shared in many ways, the decision values
    are the same. Otherwise the optimum is a corner, and unique unless the data are special. Linear algebra is LAPACK's:
    results agree with those of other machines and thread counts to rounding, not to the bit. Costs: `HiGHS` and
    `ColumnGeneration`.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 2.1-2.7.
    .. [2] K. Bennett, Combining support vector and mathematical programming methods for classification, 1999.

    Examples
    --------
    >>> from mercer import LPClassifier
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"]
    >>> machine = LPClassifier(kernel="linear", C=10.0).fit(X, y)
    >>> machine.predict([[0.5], [3.5]])
    array(['low', 'high'], dtype='<U4')
    >>> machine.support_, machine.sparsity_
    (array([3]), 0.75)
    """

    _parameters = LinearProgramClassifier._parameters | {"C": Number(0, above=True, infinite=True)}

    def __init__(
        self, kernel="rbf", *, C=1.0, class_weight=None, tol=1e-6, solver="auto", memory="auto", n_threads=None
    ):
        self.kernel = kernel
        self.C = C
        self.class_weight = class_weight
        self.tol = tol
        self.solver = solver
        self.memory = memory
        self.n_threads = n_threads

    def _problem(self, gram, sign, weight, index):
        return lp_margin(gram, sign, self.C * weight, index=index)

    def _solve(self, problems):
        try:
            return super()._solve(problems)
        except InfeasibleError as error:
            raise NotSeparableError(
                "The classes are not separable with this kernel, to the precision of the solver: the hard margin does "
                "not exist. Choose a finite C or a richer kernel."
            ) from error

    def _units(self, results):
        return np.ones(len(results))


class NuLPClassifier(LinearProgramClassifier):
    """Classification with few coefficients and a share of errors in the place of their price.

    .. math::

        \\min_{a, b, \\rho, \\xi} \\sum_i \\omega_i \\xi_i - \\nu \\rho \\sum_i \\omega_i
        \\quad\\text{s.t.}\\quad \\sum_j |a_j| = 1, \\quad
        y_i \\Big(\\sum_j a_j k(x_i, x_j) + b\\Big) \\ge \\rho - \\xi_i, \\quad \\xi_i, \\rho \\ge 0

    At most a fraction nu of the training samples are margin errors, and at least a fraction nu lie inside the band or
    on its edge. Any symmetric function will do as a kernel, as in `LPClassifier`.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`; also an indefinite one. "precomputed": X is the kernel matrix.
    nu : float in (0, 1], default=0.5
        Larger allows more errors and gives a wider band.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights for every class; "balanced": inversely proportional to the number of its samples.
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
        The certificate: objective, bound, gap, history; for several classes their sums, and `parts`.
    rho_ : float or ndarray of shape (n_classes,)
        The rho of the problem.
    support_, support_vectors_ : ndarray, samples
        Numbers of the samples that have a coefficient, and these samples.
    dual_coef_ : ndarray of shape (n_functions, n_support)
        The coefficients a, divided by rho, so that the edges of the band have decision values -1 and 1; not divided
        where rho is zero.
    intercept_ : ndarray of shape (n_functions,)
        The offsets b, divided by rho.
    coef_ : ndarray of shape (n_functions, n_features)
        Weights of the features, divided by rho; linear kernel only.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.
    slack_ : ndarray of shape (n,) or (n, n_classes)
        The errors xi of the training samples, divided by rho.
    margin_errors_ : float or ndarray of shape (n_classes,)
        Share of the training samples with an error above `tol`.
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
    LPClassifier : With a price of errors.
    mercer.svm.NuSVC : The margin in feature space.

    Notes
    -----
    This is [1]_, eq. 1.49, with the objective multiplied by the number of samples m and the function divided by m. Nu
    is at most twice the share of the smaller class; where the classes overlap so much that rho is zero, the status is
    "degenerate". Costs and uniqueness as for `LPClassifier`.

    References
    ----------
    .. [1] J.-P. Vert, K. Tsuda, B. Schölkopf, A primer on kernel methods, 2004, eq. 1.49.
    .. [2] T. Graepel et al., Classification on proximity data with LP-machines, 1999.

    Examples
    --------
    >>> from mercer import NuLPClassifier
    >>> machine = NuLPClassifier(kernel="linear", nu=0.25).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> machine.predict([[0.5], [3.5]]), machine.rho_
    (array([0, 1]), 4.0)
    """

    _parameters = LinearProgramClassifier._parameters | {"nu": Number(0, 1, above=True)}

    def __init__(
        self, kernel="rbf", *, nu=0.5, class_weight=None, tol=1e-6, solver="auto", memory="auto", n_threads=None
    ):
        self.kernel = kernel
        self.nu = nu
        self.class_weight = class_weight
        self.tol = tol
        self.solver = solver
        self.memory = memory
        self.n_threads = n_threads

    def _problem(self, gram, sign, weight, index):
        return lp_nu_margin(gram, sign, self.nu, weight, index=index)

    def _units(self, results):
        # No rho, no band to scale: the classes lie on each other.
        return np.array([1.0 if result.status == "degenerate" else result.rho or 1.0 for result in results])

    @property
    def rho_(self):
        """The rho of the problem."""
        check_is_fitted(self)
        return one_or_all(np.array([result.rho for result in self.result_.parts or (self.result_,)]))
