"""scikit-learn's kernel machines with mercer's engine."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.svm import _classes
from sklearn.svm._base import BaseLibSVM
from sklearn.utils.validation import check_array

from mercer import svm
from mercer.compat.layout import pair_values, pairs_of, to_table
from mercer.compat.sklearn.probability import class_probabilities, fit_sigmoids, folds
from mercer.kernels import RBF, Kernel, Linear, Polynomial, Sigmoid
from mercer.solvers.base import column
from mercer.svm.base import SupportVectorMachine

try:  # scikit-learn 1.9 lets its users choose between sparse arrays and matrices
    from sklearn.utils._sparse import _align_api_if_sparse as as_configured
except ImportError:
    from scipy.sparse import csr_matrix as as_configured

__all__ = ["SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"]

# What mercer puts in place of LIBSVM. A scikit-learn without one of them would quietly go on with LIBSVM.
HOOKS = (
    "_dense_fit",
    "_sparse_fit",
    "_dense_predict",
    "_sparse_predict",
    "_dense_decision_function",
    "_sparse_decision_function",
    "_compute_kernel",
    "_warn_from_fit_status",
)
if missing := [hook for hook in HOOKS if not hasattr(BaseLibSVM, hook)]:
    raise ImportError(f"mercer.compat.sklearn does not know this version of scikit-learn: it has no {missing}.")

# Stands for the infinite C of SVR: no multiplier comes near it where the tube can be kept.
ANY_PRICE = 1e30

# Log-odds of a class against one that is not there.
SURE = float(np.log(1e7))


class Engine(ABC):
    """What scikit-learn's kernel machines leave to LIBSVM, done by a machine of mercer.

    A class that has it before scikit-learn's own among its bases keeps scikit-learn's parameters, checks, errors
    and warnings. `_machine` tells which machine of mercer to fit; its model is written into scikit-learn's
    attributes, and predictions are made from these alone.
    """

    kernel: Any
    degree: int
    coef0: float
    tol: float
    cache_size: float
    max_iter: int
    verbose: Any
    shape_fit_: tuple[int, ...]
    _gamma: float
    _sparse: bool
    _warn_from_fit_status: Any
    # The model in LIBSVM's signs; scikit-learn shows it as dual_coef_ and intercept_.
    _dual_coef_: Any
    _intercept_: np.ndarray

    # --- parameters ---------------------------------------------------------------------------------------

    @abstractmethod
    def _machine(self, common: dict[str, Any]) -> SupportVectorMachine:
        """The machine of mercer, with its own parameters and those that all machines have in common."""

    @property
    def _given(self) -> bool:
        """Whether kernel values are given, as a matrix or by a function, and not computed from vectors."""
        return callable(self.kernel) or self.kernel == "precomputed"

    def _kernel(self) -> Kernel:
        gamma = float(self._gamma)
        if self.kernel == "linear":
            return Linear()
        if self.kernel == "rbf":
            return RBF(gamma)
        if self.kernel == "sigmoid":
            return Sigmoid(gamma, self.coef0)
        return Polynomial(self.degree, gamma, self.coef0) if self.degree else Polynomial(1, 0.0, 1.0)  # x^0 = 1

    def _weights(self, sample_weight: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Weights of the samples; as in LIBSVM, negative ones count as zero."""
        if sample_weight.ndim != 1:
            raise ValueError(f"Sample weights must be 1D array or scalar, got {sample_weight.ndim}D array.")
        weight = np.maximum(sample_weight, 0.0) if len(sample_weight) else np.ones(len(y))
        if not weight.any():
            raise ValueError("Invalid input - all samples have zero or negative weights.")
        return weight

    # --- fit ----------------------------------------------------------------------------------------------

    def _dense_fit(self, X, y, sample_weight, solver_type, kernel, random_seed):
        if callable(self.kernel):
            self._fit_samples = X
            X = self._compute_kernel(X)
            if X.shape[0] != X.shape[1]:
                raise ValueError("X.shape[0] should be equal to X.shape[1]")
        common = {
            "kernel": "precomputed" if self._given else self._kernel(),
            "tol": self.tol,
            "max_iter": None if self.max_iter == -1 else max(1, self.max_iter),
            "memory": self.cache_size,
        }
        machine = self._machine(common)
        machine._warns = False  # scikit-learn has a warning of its own
        self._probA = self._probB = np.empty(0)
        self._train(machine, X, y, self._weights(sample_weight, y), random_seed)
        self.result_ = machine.result_
        if self.verbose:
            print(self.result_)
        self._keep(machine, y)
        self.support_vectors_ = np.empty((0, 0)) if self._given else X[self.support_]
        if self._sparse:
            self.support_vectors_ = as_configured(self.support_vectors_)
            self.dual_coef_ = as_configured(csr_array(self.dual_coef_))
        # As in LIBSVM, all steps used up is one thing with a limit, whether or not the last one was the last needed.
        limited = self.max_iter != -1 and self._num_iter.max() >= self.max_iter
        self.fit_status_ = int(limited or self.result_.status == "max_iter")
        self._warn_from_fit_status()

    _sparse_fit = _dense_fit

    def _train(self, machine: Any, X: Any, y: np.ndarray, weight: np.ndarray, seed: int) -> None:
        machine.fit(X, y, weight)

    def _keep(self, machine: Any, y: np.ndarray) -> None:
        """Write the model into scikit-learn's attributes. Here: one problem, its support vectors in their order."""
        self.support_ = machine.support_.astype(np.int32)
        self._n_support = np.full(2, len(self.support_), dtype=np.int32)  # LIBSVM counts two classes
        self.dual_coef_ = machine.dual_coef_
        self.intercept_ = machine.intercept_
        self._num_iter = np.array([machine.n_iter_], dtype=np.intc)

    def _compute_kernel(self, X):
        if not callable(self.kernel):
            return X
        K = self.kernel(X, self._fit_samples)
        return np.asarray(K.toarray() if issparse(K) else K, dtype=np.float64, order="C")

    # --- predictions --------------------------------------------------------------------------------------

    def _dense_decision_function(self, X):
        return self._values(check_array(X, dtype=np.float64, order="C", accept_sparse="csr"))

    _sparse_decision_function = _dense_decision_function

    def _dense_predict(self, X):
        X = self._compute_kernel(X)
        if self._given and (X.ndim != 2 or X.shape[1] != self.shape_fit_[0]):
            raise ValueError(
                f"X.shape[1] = {X.shape[-1]} should be equal to {self.shape_fit_[0]}, the number of samples at "
                "training time"
            )
        return self._decide(X)

    _sparse_predict = _dense_predict

    @abstractmethod
    def _decide(self, X: Any) -> np.ndarray:
        """What LIBSVM predicts for checked samples, or for rows of kernel values: class numbers, sides, values."""

    def _values(self, X: Any) -> np.ndarray:
        """Decision values in LIBSVM's signs, shape (n, n_problems)."""
        (product,) = self._products(X, [slice(None)])
        return product + self._intercept_

    def _products(self, X: Any, groups: list[slice]) -> list[np.ndarray]:
        """Kernel values with each group of support vectors, times its columns of the table."""
        table = self._table()
        if self._given:
            return [X[:, self.support_[group]] @ table[:, group].T for group in groups]
        kernel, empty = self._kernel(), np.zeros((X.shape[0], len(table)))
        if not table.shape[1]:
            return [empty for _ in groups]
        X, Y = kernel.prepare(X, self.support_vectors_)
        columns = [np.ascontiguousarray(table[:, group].T) for group in groups]
        return [kernel._dot(X, Y[group], V) if len(V) else empty for group, V in zip(groups, columns, strict=True)]

    def _table(self) -> np.ndarray:
        return self._dual_coef_.toarray() if issparse(self._dual_coef_) else self._dual_coef_

    def _signs(self, X: Any) -> np.ndarray:
        """Numbers of the sign of the one decision function there is."""
        if self._given or not len(self.support_):
            return self._values(X)[:, 0]
        kernel = self._kernel()
        X, Y = kernel.prepare(X, self.support_vectors_)
        return kernel._decide(X, Y, np.ascontiguousarray(self._table()[0]), self._intercept_[0])


class Classifier(Engine):
    """Several classes, one machine for every pair of them."""

    classes_: np.ndarray
    class_weight_: np.ndarray
    probability: Any
    # What LIBSVM says when weights leave one class.
    _one_class: ClassVar[str]

    def _weights(self, sample_weight, y):
        weight = super()._weights(sample_weight, y)
        if len(np.unique(y[weight > 0])) < 2:
            raise ValueError(self._one_class)
        return weight

    def _train(self, machine, X, y, weight, seed):
        # scikit-learn 1.9 tells False from not given; before, there was only the parameter.
        if not getattr(self, "_effective_probability", self.probability):
            return super()._train(machine, X, y, weight, seed)
        _, held_out = machine._fit_folds(X, y, weight, folds(seed))
        A, B = fit_sigmoids(held_out, len(machine.classes_))
        self._probA, self._probB = self._of_all_pairs(machine, A, 0.0), self._of_all_pairs(machine, B, -SURE)

    def _of_all_pairs(self, machine: Any, values: Any, won: float) -> np.ndarray:
        """A value for every pair of classes, from those of the pairs that the machine has.

        A class without a positive weight is unknown to it: the others win against it.
        """
        known = np.isin(pairs_of(len(self.classes_)), machine.classes_)
        of_all = won * (known[:, 0].astype(np.float64) - known[:, 1])
        of_all[known.all(axis=1)] = values
        return of_all

    def _keep(self, machine, y):
        """Order the support vectors by class and give their coefficients LIBSVM's layout and signs."""
        n_classes, known = len(self.classes_), machine.classes_.astype(int)
        of_class = y[machine.support_].astype(int)
        order = np.argsort(of_class, kind="stable")
        self.support_ = machine.support_[order].astype(np.int32)
        self._n_support = np.bincount(of_class, minlength=n_classes).astype(np.int32)
        pairs = known[pairs_of(len(known))]
        self.dual_coef_ = to_table(machine.dual_coef_[:, order], pairs, of_class[order], n_classes)
        self.intercept_ = self._of_all_pairs(machine, -machine.intercept_, 1.0)
        n_iter = column(machine.result_.parts or (machine.result_,), "n_iter")
        self._num_iter = self._of_all_pairs(machine, n_iter, 0.0).astype(np.intc)

    def _values(self, X):
        if len(self.classes_) == 2:
            return super()._values(X)
        groups = [slice(end - n, end) for n, end in zip(self._n_support, np.cumsum(self._n_support), strict=True)]
        return pair_values(self._products(X, groups), self._intercept_)

    def _decide(self, X):
        """The class of most votes, the first of equals."""
        if len(self.classes_) == 2:
            return np.where(self._signs(X) > 0, 0, 1)
        i, j = pairs_of(len(self.classes_)).T
        wins, one = self._values(X) > 0, np.eye(len(self.classes_))
        return (wins @ one[i] + ~wins @ one[j]).argmax(axis=1)

    def _dense_predict_proba(self, X):
        return class_probabilities(self._values(self._compute_kernel(X)), self._probA, self._probB, len(self.classes_))

    _sparse_predict_proba = _dense_predict_proba


class SVC(Classifier, _classes.SVC):
    """``sklearn.svm.SVC`` with mercer's engine.

    .. math::

        \\min_{w, b, \\xi} \\tfrac12 \\|w\\|^2 + C \\sum_i \\omega_i \\xi_i \\quad\\text{s.t.}\\quad
        y_i (w \\cdot \\phi(x_i) + b) \\ge 1 - \\xi_i, \\quad \\xi_i \\ge 0

    for every pair of classes, with the weights :math:`\\omega_i` of samples times those of classes. It is a subclass
    of scikit-learn's class, with its parameters, attributes, errors and warnings; only the solver, and what
    computes the predictions, is another one.

    Attributes
    ----------
    result_ : SolverResult
        The certificate of the solution, which scikit-learn's class does not have.

    See Also
    --------
    mercer.svm.SVC : The machine behind it, with any kernel, other losses and no limits of this interface.

    Notes
    -----
    Costs as for `mercer.svm.SVC`. ``cache_size`` is its `memory`; ``shrinking`` changes nothing, the solver knows when
    to leave points out. Predictions take O(n_support (d + n_classes)) per sample.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 1.20-1.27.

    Examples
    --------
    >>> from mercer.compat.sklearn import SVC
    >>> machine = SVC(kernel="linear").fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> machine.dual_coef_, machine.support_, machine.predict([[0.4], [2.9]])
    (array([[-1.,  1.]]), array([1, 2], dtype=int32), array([0, 1]))
    """

    _one_class = "Invalid input - all samples with positive weights belong to the same class."
    C: float

    def _machine(self, common):
        return svm.SVC(C=self.C, **common)

    def _weights(self, sample_weight, y):
        return super()._weights(sample_weight, y) * self.class_weight_[y.astype(int)]


class NuSVC(Classifier, _classes.NuSVC):
    """``sklearn.svm.NuSVC`` with mercer's engine.

    .. math::

        \\min_{w, b, \\rho, \\xi} \\tfrac12 \\|w\\|^2 - \\nu \\rho \\sum_i \\omega_i + \\sum_i \\omega_i \\xi_i
        \\quad\\text{s.t.}\\quad y_i (w \\cdot \\phi(x_i) + b) \\ge \\rho - \\xi_i, \\quad \\xi_i, \\rho \\ge 0

    for every pair of classes, divided by :math:`\\rho`. It is a subclass of scikit-learn's class, with its
    parameters, attributes, errors and warnings.

    Attributes
    ----------
    result_ : SolverResult
        The certificate of the solution, which scikit-learn's class does not have.

    See Also
    --------
    mercer.svm.NuSVC : The machine behind it.

    Notes
    -----
    Costs as for `SVC`. As in scikit-learn, ``class_weight`` has no effect; that of `mercer.svm.NuSVC` has.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 1.32-1.50.

    Examples
    --------
    >>> from mercer.compat.sklearn import NuSVC
    >>> NuSVC(kernel="linear").fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).predict([[0.4], [2.9]])
    array([0, 1])
    """

    _one_class = "specified nu is infeasible"
    nu: float

    def _machine(self, common):
        return svm.NuSVC(nu=self.nu, **common)


class SVR(Engine, _classes.SVR):
    """``sklearn.svm.SVR`` with mercer's engine.

    .. math::

        \\min_{w, b} \\tfrac12 \\|w\\|^2 + C \\sum_i \\omega_i \\max(0, |y_i - w \\cdot \\phi(x_i) - b| - \\epsilon)

    It is a subclass of scikit-learn's class, with its parameters, attributes, errors and warnings.

    Attributes
    ----------
    result_ : SolverResult
        The certificate of the solution, which scikit-learn's class does not have.

    See Also
    --------
    mercer.svm.SVR : The machine behind it, which also has a quadratic loss and several outputs.

    Notes
    -----
    Costs as for `SVC`.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 2.41-2.49.

    Examples
    --------
    >>> from mercer.compat.sklearn import SVR
    >>> machine = SVR(kernel="linear", C=100.0, epsilon=0.01).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> machine.predict([[3.0]]).round(2)
    array([2.98])
    """

    C: float
    epsilon: float

    def _machine(self, common):
        return svm.SVR(C=min(self.C, ANY_PRICE), epsilon=self.epsilon, **common)

    def _decide(self, X):
        return self._values(X)[:, 0]


class NuSVR(Engine, _classes.NuSVR):
    """``sklearn.svm.NuSVR`` with mercer's engine.

    .. math::

        \\min_{w, b, \\epsilon} \\tfrac12 \\|w\\|^2 + C \\sum_i \\omega_i \\left(\\nu \\epsilon
        + \\max(0, |y_i - w \\cdot \\phi(x_i) - b| - \\epsilon)\\right)

    It is a subclass of scikit-learn's class, with its parameters, attributes, errors and warnings.

    Attributes
    ----------
    result_ : SolverResult
        The certificate of the solution, which scikit-learn's class does not have.

    See Also
    --------
    mercer.svm.NuSVR : The machine behind it, which also tells the width of the tube.

    Notes
    -----
    Costs as for `SVC`.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 2.50-2.53.

    Examples
    --------
    >>> from mercer.compat.sklearn import NuSVR
    >>> NuSVR(kernel="linear", C=100.0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]).predict([[3.0]]).round(2)
    array([3.])
    """

    C: float
    nu: float

    def _machine(self, common):
        return svm.NuSVR(C=self.C, nu=self.nu, **common)

    def _decide(self, X):
        return self._values(X)[:, 0]


class OneClassSVM(Engine, _classes.OneClassSVM):
    """``sklearn.svm.OneClassSVM`` with mercer's engine.

    .. math::

        \\min_{w, \\rho, \\xi} \\tfrac12 \\|w\\|^2 - \\nu \\rho \\sum_i \\omega_i + \\sum_i \\omega_i \\xi_i
        \\quad\\text{s.t.}\\quad w \\cdot \\phi(x_i) \\ge \\rho - \\xi_i, \\quad \\xi_i \\ge 0

    It is a subclass of scikit-learn's class, with its parameters, attributes, errors and warnings.

    Attributes
    ----------
    result_ : SolverResult
        The certificate of the solution, which scikit-learn's class does not have.

    See Also
    --------
    mercer.svm.OneClassSVM : The machine behind it.

    Notes
    -----
    Costs as for `SVC`.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 2.4.

    Examples
    --------
    >>> from mercer.compat.sklearn import OneClassSVM
    >>> OneClassSVM(nu=0.5).fit([[0.0], [0.1], [0.2], [5.0]]).predict([[0.1], [9.0]])
    array([ 1, -1])
    """

    nu: float

    def _machine(self, common):
        return svm.OneClassSVM(nu=self.nu, **common)

    def _decide(self, X):
        return np.where(self._signs(X) > 0, 1, -1)
