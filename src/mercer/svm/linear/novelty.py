"""Linear novelty detection."""

import numpy as np
from sklearn.base import OutlierMixin

from mercer.parameters import Number
from mercer.problems import one_class
from mercer.svm.linear.base import LinearMachine
from mercer.svm.novelty import ROUNDING
from mercer.threads import limit_threads

__all__ = ["LinearOneClassSVM"]


class LinearOneClassSVM(OutlierMixin, LinearMachine):
    """A hyperplane between the data and the origin: `OneClassSVM` with a linear kernel, for many samples or features.

    .. math::

        \\min_{w, \\rho, \\xi} \\tfrac12 \\|w\\|^2 - \\nu \\rho \\sum_i \\omega_i + \\sum_i \\omega_i \\xi_i
        \\quad\\text{s.t.}\\quad w \\cdot x_i \\ge \\rho - \\xi_i, \\quad \\xi_i \\ge 0.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        At most this share of the training samples is outside, at least this share are support vectors.
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions; smaller is more exact and slower.
    gap_tol : float > 0 or None, default=None
        Largest relative duality gap, as a further condition.
    max_iter : int >= 1 or None, default=None
        Most solver steps; None leaves a generous limit.
    max_seconds : float > 0 or None, default=None
        Most seconds for the solver.
    n_threads : int or None, default=None
        Threads; the result does not depend on it.
    warm_start : bool, default=False
        Start from the last solution when `fit` is called again with as many samples.
    solver : {"auto", "newton", "descent"} or Solver, default="auto"
        See `mercer.solvers`.
    checkpoint : path, Checkpoint or None, default=None
        A file that keeps a long fit while it runs, so that the same fit goes on from it after a kill; see
        `mercer.checkpoints.Checkpoint`.
    callback : callable or None, default=None
        Told the `Progress` of the solver; a true value stops it.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        The weights w.
    intercept_ : ndarray of shape (1,)
        Minus rho.
    offset_ : float
        rho: `score_samples` minus it is the decision value.
    result_ : SolverResult
        The certificate: objectives, gap, violation, history.
    norm_ : float
        ``|w|``.
    support_ : int ndarray of shape (n_support,)
        Numbers of the support vectors.
    n_iter_ : int
        Solver steps.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    OneClassSVM : Any kernel.

    Notes
    -----
    Costs as for `LinearSVC`. Data that surround the origin have no such hyperplane; the status is then "degenerate".

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 2.4.

    Examples
    --------
    >>> from mercer import LinearOneClassSVM
    >>> X = [[1.0, 1.0], [1.1, 1.0], [1.0, 1.1], [1.1, 1.1], [1.2, 1.2]]
    >>> LinearOneClassSVM(nu=0.2).fit(X).predict([[2.0, 2.0], [0.1, 0.1]])
    array([ 1, -1])
    """

    _parameters = LinearMachine._parameters | {"nu": Number(0, 1, above=True)}
    intercept, intercept_scaling = "free", 1.0  # it is rho, and the origin is where it is

    def __init__(
        self,
        nu=0.5,
        *,
        tol=1e-3,
        gap_tol=None,
        max_iter=None,
        max_seconds=None,
        n_threads=None,
        warm_start=False,
        solver="auto",
        checkpoint=None,
        callback=None,
    ):
        self.nu = nu
        self.tol = tol
        self.gap_tol = gap_tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_threads = n_threads
        self.warm_start = warm_start
        self.solver = solver
        self.checkpoint = checkpoint
        self.callback = callback

    def fit(self, X, y=None, sample_weight=None):
        """Learn where the samples lie.

        Parameters
        ----------
        X : array, CSR or RowBlocks of shape (n, n_features)
            Also memory-mapped; `mercer.data.RowBlocks` holds data that does not fit into memory.
        y : ignored
        sample_weight : array of shape (n,), default=None
            Non-negative; weight 2 is the sample twice, weight 0 is no sample.

        Returns
        -------
        self
        """
        with self._all_or_nothing():
            self._check_all()
            X = self._take_samples(X)
            weight = self._weights(sample_weight, X)
            index = np.flatnonzero(weight)
            with limit_threads(self.n_threads):
                gram = self._make_gram(X)
                problem = one_class(gram, self.nu, weight[index], index=index)
                self._learn(gram, [problem])
            rho = -float(self.intercept_[0])
            self.offset_ = rho - ROUNDING * abs(rho)
            self.intercept_ = np.array([-self.offset_])
        return self

    def score_samples(self, X):
        """How usual samples are, w.x; larger is more usual. The decision value plus `offset_`.

        Parameters
        ----------
        X : array or CSR of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._raw_decision(X)[:, 0] + self.offset_

    def decision_function(self, X):
        """Decision values, positive inside and negative outside.

        Parameters
        ----------
        X : array or CSR of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._raw_decision(X)[:, 0]

    def predict(self, X):
        """+1 for samples inside, -1 for novel ones.

        Parameters
        ----------
        X : array or CSR of shape (n, n_features)

        Returns
        -------
        int ndarray of shape (n,)
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)
