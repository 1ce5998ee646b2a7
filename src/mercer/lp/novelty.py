"""Novelty detection by linear programmes."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack
from sklearn.utils import check_random_state

from mercer.errors import DomainError
from mercer.gram import Gram, make_gram
from mercer.kernels import as_kernel
from mercer.lp.base import LinearProgramMachine, in_rows
from mercer.machines import KernelDetector
from mercer.parameters import Number
from mercer.problems import level_set

__all__ = ["LPNoveltyDetector"]

# Samples on the surface are inside, whatever the rounding of their decision value.
ROUNDING = 1e-9


class LPNoveltyDetector(KernelDetector, LinearProgramMachine):
    """Novelty detection by a surface that a linear programme pulls onto the data.

    .. math::

        \\min_{a, b, \\xi} \\sum_i \\omega_i f(x_i) + \\tfrac1\\nu \\sum_i \\omega_i \\xi_i
        \\quad\\text{s.t.}\\quad f(x_i) \\ge -\\xi_i, \\quad \\xi_i \\ge 0, \\quad \\sum_j a_j = 1, \\quad a_j \\ge 0
        \\quad\\text{with}\\quad f(x) = \\sum_j a_j k(x, x_j) + b

    Inside is where f is not negative. At most a fraction nu of the training samples lie outside, and at least a
    fraction nu outside or on the surface; nu = 0 is the hard margin, with all of them inside. The surface passes
    through some samples, so that new ones close to these may fall outside: `n_virtual` points around each sample,
    which are to lie inside too, inflate it. The kernel **need not be positive semi-definite**.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`; also an indefinite one. "precomputed": X is the kernel matrix.
    nu : float in [0, 1], default=0.5
        Larger calls more samples novel; one over the lambda of [1]_.
    n_virtual : int >= 0, default=0
        Virtual points around each sample; vectors only.
    spread : float > 0, default=0.1
        Standard deviation of the virtual points from their sample in every feature; larger inflates more.
    random_state : int, RandomState or None, default=0
        Where the virtual points lie. The same cloud is put around every sample, so that their order does not matter.
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
    result_ : LinearResult
        The certificate: objective, bound, gap, history.
    offset_ : float
        -b, less what rounding asks for; ``decision_function = score_samples - offset_``.
    support_, support_vectors_ : ndarray, samples
        Numbers of the samples that have a coefficient, and these samples.
    dual_coef_ : ndarray of shape (1, n_support)
        The coefficients a.
    intercept_ : ndarray of shape (1,)
        ``-offset_``.
    coef_ : ndarray of shape (1, n_features)
        Weights of the features; linear kernel only.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved on the samples themselves.
    slack_ : ndarray of shape (n,)
        The errors xi of the training samples.
    margin_errors_ : float
        Share of the training samples outside.
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
    mercer.svm.OneClassSVM : A hyperplane between the data and the origin of feature space.
    mercer.svm.SVDD : A ball around the data.

    Notes
    -----
    The book asks for a lambda of the soft margin; below 1 nothing bounds its objective, which is why nu is at most 1.
    Virtual points only add inequalities, and terms to the first sum: the function is one of the training
    samples, and the shares that nu bounds are those of all points together. Costs, uniqueness and precision as for
    `LPClassifier`, with ``n_virtual + 1`` rows for each sample.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 2.17-2.21.
    .. [2] C. Campbell, K. Bennett, A linear programming approach to novelty detection, NIPS 2001.

    Examples
    --------
    >>> from mercer import LPNoveltyDetector
    >>> machine = LPNoveltyDetector(nu=0.0).fit([[0.0], [0.1], [0.2], [5.0]])
    >>> machine.predict([[0.1], [5.0], [9.0]])
    array([ 1,  1, -1])
    """

    _parameters = LinearProgramMachine._parameters | {
        "nu": Number(0, 1),
        "n_virtual": Number(0, integer=True),
        "spread": Number(0, above=True),
    }

    def __init__(
        self,
        kernel="rbf",
        *,
        nu=0.5,
        n_virtual=0,
        spread=0.1,
        random_state=0,
        tol=1e-6,
        solver="auto",
        memory="auto",
        n_threads=None,
    ):
        self.kernel = kernel
        self.nu = nu
        self.n_virtual = n_virtual
        self.spread = spread
        self.random_state = random_state
        self.tol = tol
        self.solver = solver
        self.memory = memory
        self.n_threads = n_threads

    def _check_all(self):
        super()._check_all()
        if self.n_virtual and (self._precomputed or not self._vectors()):
            raise DomainError(
                f"n_virtual puts points around vectors, got kernel={self.kernel!r}, which takes other samples; use "
                "n_virtual=0."
            )

    def _fit_samples(self, X: Any, weight: np.ndarray) -> None:
        n, index = len(weight), np.flatnonzero(weight)
        # The points around the samples follow these, one cloud after the other.
        rows = (index + n * np.arange(self.n_virtual + 1)[:, np.newaxis]).ravel()
        gram = self._gram_with_virtual(X, weight) if self.n_virtual else self._make_gram(X, weight)
        weights = np.tile(weight[index], self.n_virtual + 1)
        (result,) = self._solve([level_set(gram, float(self.nu), weights, rows=rows, columns=index)])
        size = float(np.abs(result.f - result.b).max())
        self.offset_ = -result.b - ROUNDING * size
        slack = np.maximum(0.0, self.offset_ + result.b - result.f[: len(index)])[:, np.newaxis]
        self.slack_ = in_rows(index, slack, n)
        self.margin_errors_ = float(weight @ (self.slack_ > 0) / weight.sum())
        self._keep_results(X, index, [result], 1.0, -self.offset_)

    def _gram_with_virtual(self, X: Any, weight: np.ndarray) -> Gram:
        """The Gram matrix of the samples and of the points around them."""
        self.kernel_ = as_kernel(self.kernel).resolve(X, weight)
        cloud = self.spread * check_random_state(self.random_state).standard_normal((self.n_virtual, X.shape[1]))
        centres = X.toarray() if issparse(X) else X
        virtual = (centres + cloud[:, np.newaxis]).reshape(-1, X.shape[1]).astype(X.dtype)
        together = vstack([X, csr_array(virtual)], format="csr") if issparse(X) else np.concatenate([X, virtual])
        return make_gram(self.kernel_, together, self.memory)
