"""Linear regression."""

from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer.parameters import Choice, Number
from mercer.problems import epsilon_tube
from mercer.svm.linear.base import PricedMachine
from mercer.threads import limit_threads

__all__ = ["LinearSVR"]


class LinearSVR(MultiOutputMixin, RegressorMixin, PricedMachine):
    """Linear support vector regression: `SVR` with a linear kernel, for many samples or many features.

    .. math::

        \\min_{w, b} \\tfrac12 \\|w\\|^2 + C \\sum_i \\omega_i \\max(0, |y_i - w \\cdot x_i - b| - \\epsilon)^q

    with q = 1 for ``loss="linear"`` and q = 2 for ``loss="quadratic"``. With ``intercept="penalised"`` the offset is
    the weight of a constant feature and has its price.

    Parameters
    ----------
    C : float > 0, default=1.0
        Price of errors; larger fits the training data more closely.
    epsilon : float >= 0, default=0.1
        Half the width of the tube, in units of y.
    loss : {"linear", "quadratic"}, default="linear"
        Price grows with the error outside the tube or with its square.
    penalty : {"l2", "l1"}, default="l2"
        The squared norm of the weights, or the sum of their sizes in its place, which leaves few of them different from
        zero; the latter needs ``loss="quadratic"``.
    intercept : {"free", "penalised", "none"}, default="free"
        The offset b: without a price, as the weight of a constant feature, or left out.
    intercept_scaling : float > 0, default=1.0
        The constant feature, if penalised; larger makes the offset cheaper.
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions, in units of y; smaller is more exact and slower.
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
    coef_ : ndarray of shape (n_outputs, n_features)
        The weights w.
    intercept_ : ndarray of shape (n_outputs,)
        The offsets b.
    result_ : SolverResult
        The certificate: objectives, gap, violation, history.
    norm_ : float or ndarray of shape (n_outputs,)
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
    SVR : Any kernel.
    LinearSVC : Classes instead of values.

    Notes
    -----
    Costs as for `LinearSVC`.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 2.41-2.49.
    .. [2] C. M. Bishop, Pattern Recognition and Machine Learning, 2006, eqs. 7.55-7.61.

    Examples
    --------
    >>> from mercer import LinearSVR
    >>> LinearSVR(C=100.0, epsilon=0.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]).predict([[5.0]]).round(3)
    array([11.])
    """

    _parameters = PricedMachine._parameters | {
        "C": Number(0, above=True),
        "epsilon": Number(0),
        "loss": Choice("linear", "quadratic"),
        "penalty": Choice("l2", "l1"),
        "intercept": Choice("free", "penalised", "none"),
        "intercept_scaling": Number(0, above=True),
    }

    def __init__(
        self,
        C=1.0,
        *,
        epsilon=0.1,
        loss="linear",
        penalty="l2",
        intercept="free",
        intercept_scaling=1.0,
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
        self.C = C
        self.epsilon = epsilon
        self.loss = loss
        self.penalty = penalty
        self.intercept = intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.gap_tol = gap_tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_threads = n_threads
        self.warm_start = warm_start
        self.solver = solver
        self.checkpoint = checkpoint
        self.callback = callback

    def fit(self, X, y, sample_weight=None):
        """Learn from samples with values.

        Parameters
        ----------
        X : array, CSR or RowBlocks of shape (n, n_features)
            Also memory-mapped; `mercer.data.RowBlocks` holds data that does not fit into memory.
        y : array of shape (n,) or (n, n_outputs)
            Values; several outputs are learnt one by one.
        sample_weight : array of shape (n,), default=None
            Non-negative; weight 2 is the sample twice, weight 0 is no sample.

        Returns
        -------
        self
        """
        with self._all_or_nothing():
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._check_all()
        self._check_penalty("quadratic")
        X, y = self._take_targets(X, y)
        weight = self._weights(sample_weight, X)
        index = np.flatnonzero(weight)
        targets = y[:, np.newaxis] if y.ndim == 1 else y
        squared = self.loss == "quadratic"
        with limit_threads(self.n_threads):
            gram = self._make_gram(X)
            problems = [
                epsilon_tube(
                    gram,
                    column[index],
                    self.C * weight[index],
                    self.epsilon,
                    squared=squared,
                    bias=self._free,
                    index=index,
                )
                for column in targets.T
            ]
            self._learn(gram, problems)
        self._single_output, self._fitted_C = y.ndim == 1, self.C

    def predict(self, X):
        """Values.

        Parameters
        ----------
        X : array or CSR of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n,) or (n, n_outputs)
        """
        values = self._raw_decision(X)
        return values[:, 0] if self._single_output else values
