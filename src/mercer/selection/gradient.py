"""Many parameters at once, by the gradient of a bound."""

import time
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from mercer.callers import warn_caller
from mercer.kernels import Kernel, as_kernel
from mercer.kernels.samples import take
from mercer.logscale import Packed, descend, limits, smooth_parameters
from mercer.parameters import Choice, Number, check_parameters
from mercer.selection.criteria.base import Lesson, SmoothCriterion, Trained, check_machine
from mercer.selection.criteria.radius import RadiusMargin
from mercer.svm import SVC
from mercer.threads import limit_threads

__all__ = ["GradientResult", "GradientTuned"]

# The solutions on the way: the error of the bound is of second order in it, that of its gradient of first.
TOL = 1e-5
# A step that changes the logarithm of the bound by less is lost in that.
SMALLEST_STEP = 1e-10

REMEDIES = {
    "max_iter": "It ran into max_iter. Raise max_iter or tol",
    "stalled": "No step makes the bound smaller: the solutions on the way are not exact enough. Raise tol, or lower C",
}


@dataclass(frozen=True, eq=False)
class GradientResult:
    """Where a descent of `GradientTuned` ended, and the way there."""

    status: str
    """"local": a stationary point of the bound, as a rule a local minimum; else why not: "max_iter", "stalled"."""
    bound: float
    """The bound there."""
    stationarity: float
    """The largest slope of the logarithm of the bound in the logarithm of a parameter that could still move."""
    at_limit: tuple[str, ...]
    """Parameters, or some of their entries, that wanted to go further than `factor` lets them."""
    n_iter: int
    """Steps."""
    n_fits: int
    """Machines that were fitted on the way."""
    seconds: float
    """Wall-clock time."""
    bounds: np.ndarray = field(repr=False)
    """The bound at the start and after every step, shape (n_iter + 1,)."""
    parameters: dict[str, np.ndarray] = field(repr=False)
    """The parameters there, for every name an array of shape (n_iter + 1,) or (n_iter + 1, n_features)."""


class GradientTuned(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    r"""A support vector classifier that finds C and the parameters of its kernel by the gradient of a bound.

    .. math:: \min_{\theta} \; \frac{R^2(\theta)}{m \gamma^2(\theta)}

    is the radius-margin bound (`RadiusMargin`) of the L2 soft margin, over all parameters at once, in their logarithms:
    C, and whatever the kernel has, such as one gamma for every feature, which a grid could not search. Radius and
    margin are optimal values of quadratic programmes, so that their derivatives need none of the solutions
    (`SmoothSpan`, which can take the place of the bound, needs them and has them):

    .. math::

        \frac{\partial (1 / \gamma^2)}{\partial \theta} = -\sum_{ij} \alpha_i \alpha_j y_i y_j
        \frac{\partial K_{ij}}{\partial \theta}, \qquad
        \frac{\partial R^2}{\partial \theta} = \sum_i \lambda_i \frac{\partial K_{ii}}{\partial \theta} - \sum_{ij}
        \lambda_i \lambda_j \frac{\partial K_{ij}}{\partial \theta},

    and C enters as the ridge 1 / (2 C) on the diagonal of K. The steps are those of L-BFGS-B, and every fit starts from
    the last solution.

    Parameters
    ----------
    estimator : SVC or None, default=None
        The machine to tune, with ``loss="squared_hinge"`` and a finite C; its parameters are the start. None is
        ``SVC(loss="squared_hinge")``. It is cloned, never changed.
    criterion : SmoothCriterion or None, default=None
        What to minimise: `RadiusMargin`, which None stands for, or `SmoothSpan`.
    parameters : list of str or None, default=None
        What to tune, such as ``["C", "kernel__gamma"]``. None: C and all parameters of the kernel that have a
        derivative and are positive.
    per_feature : bool, default=False
        Give every feature a value of its own where the kernel can have one, as `RBF` and `Matern` can.
    factor : float > 1, default=1e4
        Every parameter stays within this factor of its start.
    max_iter : int >= 1, default=100
        Most steps.
    tol : float > 0, default=1e-3
        Largest slope of the logarithm of the bound in the logarithm of a parameter; smaller is more exact.

    Attributes
    ----------
    best_estimator_ : SVC
        The tuned machine, fitted to all samples.
    best_params_ : dict
        The parameters found.
    result_ : GradientResult
        The bound, how stationary it is, and its history.
    classes_ : ndarray of shape (2,)
        The classes; positive decision values speak for ``classes_[1]``.
    n_iter_ : int
        Steps.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    RadiusMargin, SmoothSpan : The criteria, for one machine.
    sklearn.model_selection.GridSearchCV : By cross-validation, for few parameters.

    Notes
    -----
    A step costs two solutions and the derivatives over their support vectors, O(n_support^2) memory; with `SmoothSpan`
    one solution and O(n_support^3) time. The criteria are not convex: what is found depends on the start, which should
    be sensible (features of one scale). With one value per feature a few hundred samples can be fitted too well: look
    at a held-out score before relying on the result.

    Derivatives are sums by BLAS, which may differ in the last digits with the number of its threads.

    References
    ----------
    .. [1] O. Chapelle, V. Vapnik, O. Bousquet, S. Mukherjee, Choosing multiple parameters for support vector machines,
       Machine Learning 46, 2002.
    .. [2] J.-P. Vert, K. Tsuda, B. Schölkopf, A primer on kernel methods, 2004, section 1.5.3.

    Examples
    --------
    Of three features, the last is noise:

    >>> import numpy as np
    >>> from mercer.selection import GradientTuned
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = X[:, 0] ** 2 + X[:, 1] ** 2 > 1.4
    >>> machine = GradientTuned(per_feature=True).fit(X, y)
    >>> machine.result_.status
    'local'
    >>> gamma = machine.best_params_["kernel__gamma"]
    >>> bool(gamma[2] < 0.01 * gamma[:2].min())
    True
    """

    _parameters: ClassVar[dict[str, Any]] = {
        "per_feature": Choice(True, False),
        "factor": Number(1, above=True),
        "max_iter": Number(1, integer=True),
        "tol": Number(0, above=True),
    }

    def __init__(
        self,
        estimator=None,
        *,
        criterion=None,
        parameters=None,
        per_feature=False,
        factor=1e4,
        max_iter=100,
        tol=1e-3,
    ):
        self.estimator = estimator
        self.criterion = criterion
        self.parameters = parameters
        self.per_feature = per_feature
        self.factor = factor
        self.max_iter = max_iter
        self.tol = tol

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self._machine()).input_tags
        tags.input_tags.pairwise, tags.input_tags.sparse = inner.pairwise, inner.sparse
        tags.classifier_tags.multi_class = False
        return tags

    def _machine(self) -> Any:
        return SVC(loss="squared_hinge") if self.estimator is None else self.estimator

    def _criterion(self) -> SmoothCriterion:
        return RadiusMargin() if self.criterion is None else self.criterion

    def fit(self, X, y, sample_weight=None):
        """Find the parameters, and fit the machine that has them.

        Parameters
        ----------
        X : n samples
            As the estimator takes them.
        y : array of shape (n,)
            Two classes, numbers or strings.
        sample_weight : array of shape (n,), default=None
            Non-negative; weight 2 is the sample twice, weight 0 is no sample.

        Returns
        -------
        self
        """
        check_parameters(self)
        machine = clone(self._machine())
        check_machine(machine, type(self).__name__)
        criterion = self._criterion()
        if not isinstance(criterion, SmoothCriterion):
            raise TypeError(f"criterion must be RadiusMargin(), SmoothSpan() or None, got {criterion!r}.")
        check_parameters(criterion)
        for name, value, rule in (
            ("loss", machine.loss, Choice("squared_hinge")),
            ("C", machine.C, Number(0, above=True)),
        ):
            if problem := rule.problem(value):
                raise ValueError(f"{name} of the estimator {problem}")
        lesson = Lesson(machine, X, y, sample_weight, type(self).__name__)
        with limit_threads(machine.n_threads):
            found, result = self._descend(lesson, machine)
        if result.status != "local":
            warn_caller(
                f"{type(self).__name__} did not reach a stationary point (status {result.status}): the slope is "
                f"{result.stationarity:.3g} after {result.n_iter} steps. {REMEDIES[result.status]}.",
                ConvergenceWarning,
            )
        best = clone(machine).set_params(**found).fit(X, y, sample_weight)
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(best, name):
                setattr(self, name, getattr(best, name))
        self.best_estimator_, self.best_params_, self.result_ = best, found, result
        self.classes_, self.n_iter_ = best.classes_, result.n_iter
        return self

    def _descend(self, lesson: Lesson, machine: Any) -> tuple[dict[str, Any], GradientResult]:
        """The parameters found, and how."""
        began = time.perf_counter()
        packed = self._start(lesson, machine)
        bound = Bound(self._criterion(), lesson, machine, packed)
        low, high = limits(packed, self.factor, None if machine._precomputed else machine.kernel)
        ended = descend(
            bound,
            packed.start,
            low,
            high,
            tol=self.tol,
            max_iter=self.max_iter,
            smallest_step=SMALLEST_STEP,
        )
        result = GradientResult(
            status=ended.status,
            bound=float(np.exp(ended.value)),
            stationarity=ended.stationarity,
            at_limit=tuple(name for name, part in packed.parts.items() if ended.stopped[part].any()),
            n_iter=ended.n_iter,
            n_fits=bound.n_fits,
            seconds=time.perf_counter() - began,
            bounds=np.exp([bound(point)[0] for point in ended.way]),
            parameters={
                name: np.array([point[name] for point in map(packed.values, ended.way)]) for name in packed.parts
            },
        )
        return packed.values(ended.theta), result

    def _start(self, lesson: Lesson, machine: Any) -> "Packed":
        """The parameters to tune, at their start; the kernel of the machine gets numbers for its words."""
        values: dict[str, Any] = {"C": float(machine.C)}
        if not machine._precomputed:
            machine.kernel = as_kernel(machine.kernel).resolve(lesson.X, lesson.weight)
            if self.per_feature:
                spread_over_features(machine.kernel, lesson.X)
            values |= {f"kernel__{name}": value for name, value in smooth_parameters(machine.kernel, lesson.X).items()}
        if self.parameters is None:
            chosen = {name: value for name, value in values.items() if np.min(value) > 0}
        else:
            unknown = [name for name in self.parameters if name not in values]
            if isinstance(self.parameters, str) or not len(self.parameters) or unknown:
                raise ValueError(
                    f"parameters must be None or a list of names out of {', '.join(values)}, got {self.parameters!r}."
                )
            chosen = {name: values[name] for name in self.parameters}
        for name, value in chosen.items():
            if np.min(value) <= 0:
                raise ValueError(f"{name} must start > 0 to be tuned in its logarithm, got {value!r}.")
        return Packed.of(chosen)

    # --- the machine that was found -----------------------------------------------------------------------

    def decision_function(self, X):
        """Decision values of the tuned machine.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,)
            Positive values speak for ``classes_[1]``.
        """
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def predict(self, X):
        """Classes.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)


class Bound:
    """The logarithm of a criterion, and its gradient in the logarithms of the parameters."""

    def __init__(self, criterion: SmoothCriterion, lesson: Lesson, machine: Any, packed: Packed):
        self.criterion, self.lesson, self.packed = criterion, lesson, packed
        self.machine = clone(machine).set_params(tol=min(TOL, machine.tol))
        self.n_fits = 0
        self._alpha: np.ndarray | None = None
        self._state: Any = None  # of the criterion
        self._known: dict[bytes, tuple[float, np.ndarray]] = {}

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        key = theta.tobytes()
        if key not in self._known:
            self._known[key] = self._compute(self.packed.values(theta))
        return self._known[key]

    def _compute(self, values: dict[str, Any]) -> tuple[float, np.ndarray]:
        machine = clone(self.machine).set_params(**values)
        gram = self.lesson.gram(machine)
        problem, weight = self.lesson.problem(machine, gram)
        solver = machine._solver()
        result = solver.solve(problem, self._alpha, machine.callback)
        trained = Trained(problem, result, weight, solver)
        derivative = self.criterion.derivative(trained, self._state)
        self._alpha, self._state, self.n_fits = result.a, derivative.start, self.n_fits + 1
        # The ridge is 1 / (2 C): its logarithm falls as that of C grows.
        slopes: dict[str, Any] = {"C": -float((derivative.by_ridge * problem.ridge).sum())}
        if any(name != "C" for name in values):
            used = take(self.lesson.X, problem.index[derivative.used])
            found = machine.kernel_.vjp(used, derivative.by_kernel)
            slopes |= {
                f"kernel__{name}": slope * np.asarray(values[f"kernel__{name}"])
                for name, slope in found.items()
                if f"kernel__{name}" in values
            }
        slope = np.concatenate([np.atleast_1d(slopes[name]) for name in values])
        return float(np.log(derivative.value)), slope / derivative.value


def spread_over_features(kernel: Kernel, X: Any) -> None:
    """Give every feature of a kernel a value of its own, wherever it can have one."""
    params = kernel.get_params()
    for owner in (kernel, *(value for value in params.values() if isinstance(value, Kernel))):
        for name, rule in owner._parameters.items():
            if isinstance(rule, Number) and rule.per_feature and not np.ndim(getattr(owner, name)):
                setattr(owner, name, np.full(X.shape[1], float(getattr(owner, name))))
