"""The support vector machine for structured outputs."""

from itertools import chain
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from mercer.kernels.samples import n_samples, take
from mercer.parameters import Choice, Number, check_parameters
from mercer.solvers.base import warn_unless_solved
from mercer.solvers.structured import (
    BlockFrankWolfe,
    ConvexConcave,
    NSlack,
    OneSlack,
    StructuredSolver,
    SubgradientDescent,
)
from mercer.structured.base import StructuredModel
from mercer.structured.problem import ModelProblem, in_portions
from mercer.threads import one_blas_thread

__all__ = ["StructuredSVM"]

ALGORITHMS: dict[str, type[StructuredSolver]] = {
    "bcfw": BlockFrankWolfe,
    "n-slack": NSlack,
    "one-slack": OneSlack,
    "subgradient": SubgradientDescent,
    "dc": ConvexConcave,
}


class StructuredSVM(BaseEstimator):
    """Support vector machine for structured outputs. [CY §2.6]

    .. math::

        \\min_w \\tfrac12 \\|w\\|^2 + C \\sum_i \\max_y \\bigl[\\Delta(y_i, y) + w \\cdot \\Psi(x_i, y)\\bigr]
        - w \\cdot \\Psi(x_i, y_i)

    A model says what outputs are: the features :math:`\\Psi` of samples with outputs, the loss :math:`\\Delta`, and how
    to find the best output and the worst one. Sequences, trees, taxonomies, rankings and sets of labels are there;
    others take four methods, see `StructuredModel`.

    Parameters
    ----------
    model : StructuredModel
    C : float > 0, default=1.0
        The price of losses. Larger means fewer errors on the samples, and larger weights.
    algorithm : str or StructuredSolver, default="bcfw"
        "bcfw": `BlockFrankWolfe`. "n-slack" and "one-slack", cutting planes: `NSlack`, which takes few oracle calls and
        more time between them, and `OneSlack`. "subgradient": `SubgradientDescent`. "dc": `ConvexConcave`, for models
        with hidden parts. A solver is taken as it is, with its own limits.
    rescaling : {"margin", "slack"}, default="margin"
        "margin": a wrong output is to be behind the right one by its loss, [CY eq 2.59]. "slack": by one, and what is
        missing costs its loss times as much; models with a `slack_oracle` alone.
    gap_tol : float > 0, default=1e-3
        Largest duality gap, relative to the objective.
    max_iter : int >= 1 or None, default=1000
        Most passes over the samples.
    max_seconds : float > 0 or None, default=None
        Most wall-clock time.
    warm_start : bool, default=False
        Begin at the weights of the last fit, if there are as many.
    callback : callable or None, default=None
        Called with a `mercer.solvers.Progress` whenever all samples have been looked at with the same weights; a true
        value stops the run.
    random_state : int, RandomState or None, default=0
        The order of samples.
    n_threads : int or None, default=None
        See `mercer.threads.effective_n_threads`; oracles run at the same time.

    Attributes
    ----------
    model_ : StructuredModel
        What was learnt of the samples: classes, features.
    coef_ : array of shape (size,)
        w.
    result_ : StructuredResult
        The proof of how good they are.
    n_iter_ : int
        Passes over the samples.

    References
    ----------
    .. [1] I. Tsochantaridis, T. Joachims, T. Hofmann, Y. Altun, Large margin methods for structured and interdependent
       output variables, JMLR 6, 2005.
    .. [2] B. Taskar, C. Guestrin, D. Koller, Max-margin Markov networks, NIPS 2003.

    Examples
    --------
    >>> from mercer.structured import Multiclass, StructuredSVM
    >>> machine = StructuredSVM(Multiclass()).fit([[0.0, 2.0], [2.0, 0.0], [-2.0, -2.0]], [0, 1, 2])
    >>> machine.predict([[0.0, 1.0]]), machine.result_.status
    (array([0]), 'solved')
    """

    _parameters: ClassVar[dict[str, Any]] = {
        "C": Number(0, above=True),
        "rescaling": Choice("margin", "slack"),
        "gap_tol": Number(0, above=True),
        "max_iter": Number(1, integer=True, none=True),
        "max_seconds": Number(0, above=True, none=True),
        "warm_start": Choice(True, False),
    }

    def __init__(
        self,
        model,
        C=1.0,
        *,
        algorithm="bcfw",
        rescaling="margin",
        gap_tol=1e-3,
        max_iter=1000,
        max_seconds=None,
        warm_start=False,
        callback=None,
        random_state=0,
        n_threads=None,
    ):
        self.model = model
        self.C = C
        self.algorithm = algorithm
        self.rescaling = rescaling
        self.gap_tol = gap_tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.warm_start = warm_start
        self.callback = callback
        self.random_state = random_state
        self.n_threads = n_threads

    def fit(self, X, y, sample_weight=None):
        """Learn from samples with their outputs.

        Parameters
        ----------
        X : sequence of length n
            Samples, as the model takes them.
        y : sequence of length n
            Their outputs.
        sample_weight : array of shape (n,), default=None
            Weight 2 is the sample twice, weight 0 is no sample.

        Returns
        -------
        self
        """
        check_parameters(self)
        if not isinstance(self.model, StructuredModel):
            raise TypeError(f"model must be a StructuredModel, got {self.model!r}.")
        solver = self._solver()
        check_consistent_length(X, y)
        X, y, cost = self._weighed(X, y, sample_weight)
        model = self.model.resolve(X, y)
        samples = model.prepare(X)
        outputs = model.encode(samples, y)
        with one_blas_thread():
            problem = ModelProblem(model, samples, outputs, cost, self.rescaling, self.n_threads)
            result = solver.solve(problem, self._start(problem), self.callback)
        self.model_, self.coef_, self.result_, self.n_iter_ = model, result.w, result, result.n_iter
        if result.status != "local":
            warn_unless_solved(result, type(self).__name__, "gap_tol")
        return self

    def _solver(self) -> StructuredSolver:
        if isinstance(self.algorithm, StructuredSolver):
            return self.algorithm
        if self.algorithm not in ALGORITHMS:
            names = ", ".join(map(repr, ALGORITHMS))
            raise ValueError(f"algorithm must be one of {names}, or a solver, got {self.algorithm!r}.")
        solver = ALGORITHMS[self.algorithm]()
        shared = solver.get_params().keys() & {"gap_tol", "max_iter", "max_seconds", "random_state"}
        return solver.set_params(**{name: getattr(self, name) for name in sorted(shared)})

    def _weighed(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, np.ndarray]:
        """The samples with weight, and what their losses cost."""
        n = n_samples(y)
        _check_any(n)
        if sample_weight is None:
            return X, y, np.full(n, float(self.C))
        weight = np.asarray(sample_weight, dtype=np.float64)
        if weight.shape != (n,):
            raise ValueError(f"sample_weight has shape {weight.shape}, for {n} samples it must be {(n,)}.")
        if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.any()):
            raise ValueError("sample_weight must be finite and >= 0, with at least one positive entry.")
        used = np.flatnonzero(weight)
        return (X, y, self.C * weight) if len(used) == n else (take(X, used), take(y, used), self.C * weight[used])

    def _start(self, problem: ModelProblem) -> np.ndarray | None:
        last = getattr(self, "coef_", None) if self.warm_start else None
        return last if last is not None and len(last) == problem.size else None

    def predict(self, X):
        """The best output of every sample.

        Parameters
        ----------
        X : sequence of length n

        Returns
        -------
        sequence of length n
            As the model makes them: an array of classes, a list of others.
        """
        check_is_fitted(self)
        _check_any(n_samples(X))
        model, w = self.model_, self.coef_
        samples = model.prepare(X)

        def find(some: np.ndarray) -> Any:
            return model.predictions(take(samples, some), w)

        with one_blas_thread():
            found = in_portions(find, np.arange(n_samples(samples)), model.portion, self.n_threads)
        return model.decode(samples, [model.visible(y) for y in chain.from_iterable(found)])

    def score(self, X, y):
        """How good predictions are, larger is better; the measure is that of the model.

        Parameters
        ----------
        X, y : sequences of length n

        Returns
        -------
        float
        """
        check_consistent_length(X, y)
        predicted = self.predict(X)
        return self.model_.score(y, predicted)


def _check_any(n: int) -> None:
    if n == 0:
        raise ValueError("X must have at least one sample, got none.")
