"""Kernel ridge regression."""

from typing import Any

import numpy as np

from mercer.machines import KernelRegressor
from mercer.parameters import Number
from mercer.ridge.base import LeastSquaresMachine

__all__ = ["KernelRidge"]


class KernelRidge(KernelRegressor, LeastSquaresMachine):
    """Ridge regression in feature space.

    .. math::

        \\min_{w, b} \\tfrac12 \\sum_i \\omega_i (y_i - w \\cdot \\phi(x_i) - b)^2 + \\tfrac12 \\alpha \\|w\\|^2

    without b unless `fit_intercept`, or, with `norm_bound`,

    .. math::

        \\min_{w, b} \\tfrac12 \\sum_i \\omega_i (y_i - w \\cdot \\phi(x_i) - b)^2
        \\quad\\text{s.t.}\\quad \\|w\\| \\le B

    The coefficients of the training samples solve a system of linear equations with the kernel matrix [1]_, with one
    more row and column for b [2]_. Several outputs are the right sides of one system.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`. "precomputed": X is the kernel matrix.
    alpha : float >= 0, "loo" or several floats > 0, default=1.0
        Penalty; larger gives smoother functions. Of several, or of a grid that "loo" makes, the one of the least mean
        squared error of leaving one out is taken. All of them cost one decomposition.
    norm_bound : float > 0 or None, default=None
        B, the largest norm of w, of all outputs together. It takes the place of `alpha`, which becomes its multiplier.
    fit_intercept : bool, default=False
        Whether there is the offset b. scikit-learn's class has none.
    leave_one_out : bool, default=False
        Whether to compute `loo_residuals_` where they are not needed to choose `alpha`.
    approximation : int >= 1, map of `mercer.features` or None, default=None
        For many samples: how many of them, the landmarks, functions are expanded over, or the `Nystroem` that chooses
        them; more is more exact. Or a `MercerMap`, `RandomFourier` or `PolynomialSketch`, in whose features functions
        are linear. It takes one `alpha`. None: all samples.
    device : str, torch.device or None, default=None
        Where kernel values are made and matrices factored: "cuda", a GPU, by PyTorch, or "cpu", by the same code. None:
        the native core.
    tol : float > 0, default=1e-10
        Largest residual of the system relative to y; larger saves steps where the matrix does not fit the memory.
    max_iter : int >= 1 or None, default=None
        Most steps of the solver; None leaves a generous limit.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values and factors; it decides on the method, see Notes.
    n_threads : int or None, default=None
        Threads for kernel values; not those of BLAS.
    checkpoint : path, Checkpoint or None, default=None
        A file that keeps a long fit while it runs, so that the same fit goes on from it after a kill; with an
        `approximation` only. See `mercer.checkpoints.Checkpoint`.

    Attributes
    ----------
    alpha_ : float
        The penalty: given, chosen, or the multiplier of the bound on the norm.
    dual_coef_ : ndarray of shape (n_outputs, n_support)
        Coefficients of the support vectors: of all training samples with a weight.
    intercept_ : ndarray of shape (n_outputs,)
        The offsets b.
    loo_residuals_ : ndarray of shape (n,) or (n, n_outputs)
        What y is above the prediction by the machine learnt without the sample; where they are computed.
    alphas_, loo_errors_ : ndarray of shape (n_alphas,)
        The penalties to choose from, and the mean squared error of leaving one out for each.
    result_ : LeastSquaresResult
        The certificate: relative residual of the system, objective, gap, method.
    support_, support_vectors_ : ndarray, samples
        Numbers of the support vectors, and the vectors.
    coef_ : ndarray of shape (n_outputs, n_features)
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
    mercer.svm.SVR : Sparse, and less sensitive to outliers.
    mercer.svm.LinearSVR : For the linear kernel and very many samples.
    LSSVC : The same for classes.
    mercer.solvers.solve_spd : The solver.

    Notes
    -----
    Time O(n^3) and O(n^2) memory: a Cholesky factor in float32, whose solution is refined in float64; less time where
    the penalty is large enough for a few steps of conjugate gradients in float32 to stand in for the factor. Where
    8 n^2 bytes are more than `memory`, conjugate gradients with kernel values computed as they are needed, O(n^2) each
    step. Where the kernel has explicit features, fewer than samples (linear, polynomial, strings, graphs), the
    problem is solved over them [1]_ (eq. 2.26) in O(n p^2). Several penalties, leaving one out and a bound on the norm
    take the eigenvectors of the kernel matrix, or the singular vectors of the features.

    A sample of weight 2 counts as two samples, of which one is left out at a time; one of a weight below 1 is left out
    as a whole.

    By BLAS and LAPACK: equal up to `tol`, not to the last bit, for any number of threads.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 2.22-2.40.
    .. [2] L. Wehenkel, P. Geurts, Support vector machines and kernel-based methods, 2020.
    .. [3] M. Díaz, E. N. Epperly, Z. Frangella, J. A. Tropp, R. J. Webber, Robust, randomized preconditioning for
       kernel ridge regression, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> X = np.linspace(0.0, 6.0, 40)[:, np.newaxis]
    >>> y = np.sin(X[:, 0])
    >>> machine = KernelRidge(alpha=[1e-4, 1e-2, 1.0]).fit(X, y)
    >>> machine.alpha_, machine.predict([[1.5]]).round(3)
    (0.0001, array([0.997]))
    """

    _parameters = LeastSquaresMachine._parameters | {"norm_bound": Number(0, above=True, none=True)}

    def __init__(
        self,
        kernel="rbf",
        *,
        alpha=1.0,
        norm_bound=None,
        fit_intercept=False,
        leave_one_out=False,
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
        self.norm_bound = norm_bound
        self.fit_intercept = fit_intercept
        self.leave_one_out = leave_one_out
        self.approximation = approximation
        self.device = device
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.n_threads = n_threads
        self.checkpoint = checkpoint

    def _fit_columns(self, X: Any, Y: np.ndarray, weight: np.ndarray) -> None:
        self._fit_values(X, Y, weight, np.ones(len(weight)))
        if self._single_output and hasattr(self, "loo_residuals_"):
            self.loo_residuals_ = self.loo_residuals_[:, 0]
