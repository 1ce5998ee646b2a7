"""The least squares classifier."""

from typing import Any

import numpy as np

from mercer.machines import ClassWeight, WeightedClassifier
from mercer.ridge.base import LeastSquaresMachine

__all__ = ["LSSVC"]


class LSSVC(WeightedClassifier, LeastSquaresMachine):
    """Least squares support vector classifier.

    .. math::

        \\min_{w, b} \\tfrac12 \\|w\\|^2 + \\tfrac{1}{2 \\alpha} \\sum_i \\omega_i e_i^2
        \\quad\\text{s.t.}\\quad y_i (w \\cdot \\phi(x_i) + b) = 1 - e_i

    Ridge regression on the labels +1 and -1. With three classes and more there is one function for each, against all
    others; the right sides of one system.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`. "precomputed": X is the kernel matrix.
    alpha : float >= 0, "loo" or several floats > 0, default=1.0
        Penalty, 1 / gamma of [1]_; larger gives smoother functions. Of several, or of a grid that "loo" makes, the
        one of the least mean squared error of leaving one out is taken.
    fit_intercept : bool, default=True
        Whether there is the offset b.
    leave_one_out : bool, default=False
        Whether to compute `loo_residuals_` where they are not needed to choose `alpha`.
    class_weight : dict, "balanced" or None, default=None
        Factors of the weights of the classes; "balanced" makes all classes count the same.
    approximation : int >= 1, map of `mercer.features` or None, default=None
        For many samples: how many of them, the landmarks, functions are expanded over, or the `Nystroem` that chooses
        them; more is more exact. Or a `MercerMap`, `RandomFourier` or `PolynomialSketch`, in whose features functions
        are linear. It takes one `alpha`. None: all samples.
    device : str, torch.device or None, default=None
        Where kernel values are made and matrices factored: "cuda", a GPU, by PyTorch, or "cpu", by the same code. None:
        the native core.
    tol : float > 0, default=1e-10
        Largest residual of the system relative to the labels.
    max_iter : int >= 1 or None, default=None
        Most steps of the solver; None leaves a generous limit.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values and factors; it decides on the method, see `KernelRidge`.
    n_threads : int or None, default=None
        Threads for kernel values; not those of BLAS.
    checkpoint : path, Checkpoint or None, default=None
        A file that keeps a long fit while it runs, so that the same fit goes on from it after a kill; with an
        `approximation` only. See `mercer.checkpoints.Checkpoint`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    alpha_ : float
        The penalty, given or chosen.
    dual_coef_ : ndarray of shape (n_functions, n_support)
        Coefficients of the support vectors: of all training samples with a weight. One function for two classes, one
        for each class beyond.
    intercept_ : ndarray of shape (n_functions,)
        The offsets b.
    loo_residuals_ : ndarray of shape (n,) or (n, n_classes)
        What the labels +1 and -1 are above the decision values of the machine learnt without the sample; where they
        are computed.
    alphas_, loo_errors_ : ndarray of shape (n_alphas,)
        The penalties to choose from, and the mean squared error of leaving one out for each.
    result_ : LeastSquaresResult
        The certificate: relative residual of the system, objective, gap, method.
    support_, support_vectors_ : ndarray, samples
        Numbers of the support vectors, and the vectors.
    coef_ : ndarray of shape (n_functions, n_features)
        The weights w; linear kernel only.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.
    approximation_, sample_coef_ : map, ndarray of shape (n_functions, n)
        The map (a `Nystroem` for landmarks, which are the support vectors then; without landmarks there are none, and
        `dual_coef_` are weights of the features), and the coefficients of all training samples in the dual; with an
        `approximation` only. `full_certificate` tells how far this is from no approximation.
    n_iter_ : int
        Steps of the solver.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    KernelRidge : The same for values.
    mercer.svm.SVC : Sparse: only samples near the boundary count.
    mercer.svm.LinearSVC : For the linear kernel and very many samples.

    Notes
    -----
    Costs and precision as for `KernelRidge`, whatever the number of classes.

    References
    ----------
    .. [1] L. Wehenkel, P. Geurts, Support vector machines and kernel-based methods, 2020.
    .. [2] J. A. K. Suykens, J. Vandewalle, Least squares support vector machine classifiers, 1999.

    Examples
    --------
    >>> from mercer import LSSVC
    >>> machine = LSSVC(kernel="linear", alpha=0.1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> machine.decision_function([[1.5]]).round(6) + 0.0, machine.predict([[0.4], [2.9]])
    (array([0.]), array([0, 1]))
    """

    _parameters = LeastSquaresMachine._parameters | {"class_weight": ClassWeight()}

    def __init__(
        self,
        kernel="rbf",
        *,
        alpha=1.0,
        fit_intercept=True,
        leave_one_out=False,
        class_weight=None,
        approximation=None,
        device=None,
        tol=1e-10,
        max_iter=None,
        memory="auto",
        n_threads=None,
        checkpoint=None,
    ):
        self.kernel = kernel
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.leave_one_out = leave_one_out
        self.class_weight = class_weight
        self.approximation = approximation
        self.device = device
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.n_threads = n_threads
        self.checkpoint = checkpoint

    def _fit_classes(self, X: Any, codes: np.ndarray, weight: np.ndarray) -> None:
        self._fit_values(X, self._signs_of(codes), weight, self._class_weights(codes, weight))
        if len(self.classes_) == 2 and hasattr(self, "loo_residuals_"):
            self.loo_residuals_ = self.loo_residuals_[:, 0]
