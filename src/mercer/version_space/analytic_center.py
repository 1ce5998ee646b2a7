"""The analytic centre of version space."""

import time
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer.parameters import Number
from mercer.solvers.base import Certificate, History, summary, warn_unless_solved
from mercer.version_space.base import VersionSpace, VersionSpaceMachine

__all__ = ["AnalyticCenterMachine"]

# Below this decrement Newton steps are taken whole, and converge quadratically.
NEAR = 0.25


class AnalyticCenterMachine(VersionSpaceMachine):
    """Classifier whose hyperplane is the analytic centre of version space: as far from all samples as can be at once.

    Of all directions w of length one that separate the classes in feature space, the one with the largest product of
    distances to the samples,

    .. math:: \\max_{\\|w\\| = 1}\\ \\prod_i \\frac{y_i\\, w \\cdot \\phi(x_i)}{\\|\\phi(x_i)\\|},

    found by Newton steps on the logarithmic barrier

    .. math:: F(w) = -\\sum_i \\log \\frac{y_i\\, w \\cdot \\phi(x_i)}{\\|\\phi(x_i)\\|} + \\tfrac12 \\|w\\|^2,

    whose minimum is that direction times the square root of n. All samples have a say in it, the near ones more. [CY
    §2.2, §A.2]

    Parameters
    ----------
    kernel : kernel, str or "precomputed", default="rbf"
        A kernel of `mercer.kernels`, its name, or "precomputed" for kernel matrices in place of samples. Positive
        semi-definite.
    soft_boundary : float >= 0, default=1.0
        A ridge on the diagonal of the kernel matrix: every sample gets a feature of its own, of this squared size, in
        which it may be misclassified. Larger is softer; zero is for classes that are separable in feature space.
    fit_intercept : bool, default=True
        Whether there is an offset, the weight of a constant feature of size 1.
    tol : float > 0 and <= 0.5, default=1e-7
        Largest Newton decrement of the solution; the gap is half its square.
    max_iter : int >= 1, default=200
        Most Newton steps.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values, see `mercer.gram.memory_budget`.
    n_threads : int or None, default=None
        Threads for kernel values, see `mercer.threads.effective_n_threads`; None means all cores.

    Attributes
    ----------
    support_ : int array
        The samples with a coefficient: all but those at the origin of feature space.
    support_vectors_ : samples
        These samples.
    dual_coef_ : array of shape (n_functions, n_support)
        Coefficients; the direction has the length one, ``soft_boundary`` left out. One function for two classes, else
        one for each, against the others.
    intercept_ : array of shape (n_functions,)
        Offsets.
    classes_ : array
        The classes.
    kernel_ : kernel
        The kernel used, its widths found from the data.
    result_ : Certificate
        Objective F, the bound that the Newton decrement proves, gap; its `violation` is the decrement.
    n_iter_ : int
        Newton steps.
    n_features_in_ : int
        Number of features, for vectors.

    See Also
    --------
    BayesPointMachine : The centre of mass of the same space.
    mercer.svm.SVC : The centre of the largest ball inside, of few samples.

    Notes
    -----
    O(n^3) per Newton step, of which there are some ten or twenty; O(n^2) memory. It starts at the support vector
    machine. F is self-concordant: with a decrement d < 1, no w has an F smaller by more than -d - log(1 - d). LAPACK
    does the work: repeated on other machines, the last digits may differ.

    References
    ----------
    .. [1] T. B. Trafalis, A. M. Malyscheff, An analytic center machine, Machine Learning 46, 2002.
    .. [2] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, sections 2.2 and A.2.
    .. [3] S. Boyd, L. Vandenberghe, Convex Optimization, 2004, section 9.6.

    Examples
    --------
    >>> from mercer.version_space import AnalyticCenterMachine
    >>> machine = AnalyticCenterMachine(kernel="linear", soft_boundary=0.0)
    >>> machine = machine.fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> machine.predict([[0.5], [3.5]]), bool(machine.result_.gap < 1e-9)
    (array([0, 1]), True)
    """

    _parameters: ClassVar[dict[str, Any]] = {
        **VersionSpaceMachine._parameters,
        "tol": Number(0, 0.5, above=True),
    }

    def __init__(
        self,
        kernel="rbf",
        *,
        soft_boundary=1.0,
        fit_intercept=True,
        tol=1e-7,
        max_iter=200,
        memory="auto",
        n_threads=None,
    ):
        self.kernel = kernel
        self.soft_boundary = soft_boundary
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.n_threads = n_threads

    def _center(self, space: VersionSpace) -> tuple[np.ndarray, Certificate]:
        began = time.perf_counter()
        C, n = space.cosines, len(space.cosines)
        beta = space.inside()
        beta = beta * np.sqrt(n / (beta @ (C @ beta)))
        history, status, before = [], "max_iter", np.inf
        for step in range(self.max_iter + 1):
            m = C @ beta
            objective = float(-np.log(m).sum() + 0.5 * beta @ m)
            change, decrement = _newton_step(C, m, beta)
            gap = -decrement - np.log1p(-decrement) if decrement < 1 else np.inf
            history.append((step, -objective, gap, decrement))
            if decrement <= self.tol:
                status = "solved"
                break
            if NEAR > decrement > 0.5 * before:  # it would be squared if there were no rounding
                status = "stalled"
                break
            before = decrement
            if step < self.max_iter:
                # Far away, the step that is known to lower F and to stay inside.
                beta = beta + change / (1.0 if decrement < NEAR else 1.0 + decrement)
        iteration, *columns = np.array(history).T
        certificate = Certificate(
            objective=objective,
            bound=objective - gap,
            gap=gap,
            violation=decrement,
            n_iter=step,
            status=status,
            seconds=time.perf_counter() - began,
            precision="float64",
            kernel_evaluations=n * n,
            imbalance=0.0,
            history=History(iteration.astype(np.int64), *columns),
        )
        return beta, certificate

    def _keep_results(self, results: list[Certificate]) -> None:
        self.result_ = results[0] if len(results) == 1 else summary(results)
        self.n_iter_ = self.result_.n_iter
        warn_unless_solved(self.result_, type(self).__name__)


def _newton_step(C: np.ndarray, m: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, float]:
    """The change of beta that Newton's method asks for, and its length in the metric of the Hessian.

    In w the Hessian is I + A' diag(1/m^2) A with the normals A, AA' = C. With D = diag(1/m) and the well-conditioned
    B = I + D C D, the step goes to beta = D (2 - B^-1 D C (2/m)).
    """
    D = 1.0 / m
    B = np.eye(len(m)) + C * np.outer(D, D)
    target = D * (2.0 - cho_solve(cho_factor(B, lower=True), D * (C @ (2.0 * D))))
    change = target - beta
    moved = C @ change
    return change, float(np.sqrt(max(0.0, change @ moved + ((moved * D) ** 2).sum())))
