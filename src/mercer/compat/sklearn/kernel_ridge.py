"""scikit-learn's kernel ridge regression with mercer's engine."""

from numbers import Real
from typing import Any

import numpy as np
import sklearn.kernel_ridge
from scipy.linalg import lstsq
from sklearn.base import _fit_context
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from mercer.callers import warn_caller
from mercer.errors import IndefiniteError, SingularError
from mercer.gram import MatrixGram, make_gram, memory_budget
from mercer.kernels import RBF, Kernel, Laplacian, Linear, Polynomial, Sigmoid
from mercer.kernels.samples import in_full
from mercer.problems.ridge import FeatureProblem, KernelProblem, RidgeProblem, explicit_features
from mercer.solvers import warn_unless_solved
from mercer.solvers.ridge import solve_ridge, unit_of

__all__ = ["KernelRidge"]

TOLERANCE = 1e-10


class KernelRidge(sklearn.kernel_ridge.KernelRidge):
    """``sklearn.kernel_ridge.KernelRidge`` with mercer's engine.

    .. math::

        \\min_w \\sum_i \\omega_i (y_i - w \\cdot \\phi(x_i))^2 + \\alpha \\|w\\|^2

    It is a subclass of scikit-learn's class, with its parameters, attributes, errors and warnings; only the solver, and
    what computes kernel values and predictions, is another one.

    Attributes
    ----------
    result_ : LeastSquaresResult
        The certificate of the solution, which scikit-learn's class does not have; of the last penalty, if there is one
        for each target. Not there where scikit-learn's class would fall back to least squares, and this one does.

    See Also
    --------
    mercer.ridge.KernelRidge : The machine behind it, with any kernel, an offset and a choice of the penalty.

    Notes
    -----
    Costs as for `mercer.ridge.KernelRidge`. The kernels that are not "linear", "rbf", "poly", "sigmoid" or "laplacian"
    are scikit-learn's.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 2.22-2.33.

    Examples
    --------
    >>> from mercer.compat.sklearn import KernelRidge
    >>> machine = KernelRidge(alpha=0.5).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> machine.predict([[3.0]]).round(3), machine.result_.status
    (array([2.727]), 'solved')
    """

    X_fit_: Any
    dual_coef_: np.ndarray
    n_features_in_: int

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Learn from samples and values.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)
            Or the kernel matrix of shape (n, n).
        y : array of shape (n,) or (n, n_targets)
        sample_weight : float or array of shape (n,), default=None

        Returns
        -------
        KernelRidge
            Itself.
        """
        X, y = validate_data(self, X, y, accept_sparse=("csr", "csc"), multi_output=True, y_numeric=True)
        n = X.shape[0]
        if sample_weight is None or isinstance(sample_weight, Real):
            weight = np.full(n, 1.0 if sample_weight is None else float(sample_weight))
        else:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if (weight < 0).any():
            raise ValueError("sample_weight must be >= 0: scikit-learn takes its root.")
        Y = y.reshape(n, -1).astype(np.float64)
        alphas = np.atleast_1d(np.asarray(self.alpha, dtype=np.float64))
        if len(alphas) not in (1, Y.shape[1]):
            raise ValueError(f"alpha must be one number or one for each target, got {len(alphas)} for {Y.shape[1]}.")
        alphas = np.broadcast_to(alphas, Y.shape[1])
        used = np.flatnonzero(weight)
        dual_coef = np.zeros_like(Y)
        for alpha in np.unique(alphas):
            columns = np.flatnonzero(alphas == alpha)
            part = np.ix_(used, columns)
            dual_coef[part] = self._solve(X, Y[part], weight[used], used, float(alpha))
        self.dual_coef_ = dual_coef.ravel() if y.ndim == 1 else dual_coef
        self.X_fit_ = X
        return self

    def _solve(self, X: Any, Y: np.ndarray, weight: np.ndarray, used: np.ndarray, alpha: float) -> np.ndarray:
        if not len(used):
            return np.zeros_like(Y)
        some = X if len(used) == X.shape[0] else X[np.ix_(used, used)] if self.kernel == "precomputed" else X[used]
        try:
            unit = unit_of(Y)
            solution = solve_ridge(self._problem(some, Y / unit, weight, alpha), alpha, TOLERANCE).times(unit)
        except (SingularError, IndefiniteError):
            warn_caller("Singular matrix in solving dual problem. Using least-squares solution instead.", UserWarning)
            self.__dict__.pop("result_", None)
            root = np.sqrt(weight)[:, np.newaxis]
            matrix = root * self._get_kernel(some) * root.T + alpha * np.eye(len(used))
            return root * lstsq(matrix, root * Y)[0]
        self.result_ = solution.result
        warn_unless_solved(self.result_, type(self).__name__)
        return solution.coefficients

    def _problem(self, X: Any, Y: np.ndarray, weight: np.ndarray, alpha: float) -> RidgeProblem:
        kernel = self._kernel()
        if kernel is None:
            gram: Any = MatrixGram(self._get_kernel(X))
        else:
            features = explicit_features(kernel, X, memory_budget()) if alpha else None
            if features is not None:
                return FeatureProblem(features, Y, weight, False)
            gram = make_gram(kernel, in_full(X))
        return KernelProblem(gram, Y, weight, False)

    def _kernel(self) -> Kernel | None:
        """The kernel of mercer that the parameters ask for; None: scikit-learn's own is to be used."""
        gamma = 1.0 / self.n_features_in_ if self.gamma is None else float(self.gamma)
        kernel: Any = None
        if self.kernel == "linear":
            kernel = Linear()
        elif self.kernel == "rbf":
            kernel = RBF(gamma)
        elif self.kernel == "laplacian":
            kernel = Laplacian(gamma)
        elif self.kernel == "sigmoid":
            kernel = Sigmoid(gamma, float(self.coef0))
        elif self.kernel in ("poly", "polynomial") and self.degree >= 1 and int(self.degree) == self.degree:
            kernel = Polynomial(int(self.degree), gamma, float(self.coef0))
        if kernel is None:
            return None
        try:
            return kernel.resolve(np.zeros((1, self.n_features_in_)))
        except ValueError:  # parameters that are no kernel's, such as a negative coef0
            return None

    def predict(self, X):
        """Values.

        Parameters
        ----------
        X : array or sparse matrix of shape (m, n_features)
            Or kernel values of shape (m, n) with the training samples.

        Returns
        -------
        ndarray of shape (m,) or (m, n_targets)
        """
        check_is_fitted(self)
        kernel = self._kernel()
        if kernel is None:
            return super().predict(X)
        X = validate_data(self, X, accept_sparse=("csr", "csc"), reset=False)
        return kernel.dot(X, self.X_fit_, self.dual_coef_)
