"""The centre of mass of version space."""

from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from mercer.callers import warn_caller
from mercer.parameters import Choice, Number
from mercer.version_space.base import VersionSpace, VersionSpaceMachine
from mercer.version_space.billiard import Draws, billiard
from mercer.version_space.expectation_propagation import Moments, expectation_propagation

__all__ = ["BayesPointMachine"]


class BayesPointMachine(VersionSpaceMachine):
    """Classifier whose hyperplane is the centre of mass of version space: the mean of all that separate the classes.

    .. math:: w \\propto \\int_V v\\, dv, \\qquad
              V = \\{v : \\|v\\| = 1,\\ y_i\\, v \\cdot \\phi(x_i) \\ge 0 \\text{ for all } i\\}.

    A vote of all separating hyperplanes is the best that a Bayesian could do; the single hyperplane that comes nearest
    to it, the Bayes point, is close to this centre. [CY §2.2, §A.2] It is the mean of a standard normal distribution
    that the samples cut to a cone, which is found in one of two ways:

    - ``method="ep"``, expectation propagation [2]_: a normal distribution with the moments that every single sample
      asks for. Fast, and an approximation: some per cent of the width of version space away.
    - ``method="sampling"``: a billiard in version space [1]_, with particles on arcs that keep the normal
      distribution [3]_. As exact as there is time; ``result_`` tells its standard error.

    Parameters
    ----------
    kernel : kernel, str or "precomputed", default="rbf"
        A kernel of `mercer.kernels`, its name, or "precomputed" for kernel matrices in place of samples. Positive
        semi-definite.
    soft_boundary : float >= 0, default=1.0
        A ridge on the diagonal of the kernel matrix: every sample gets a feature of its own, of this squared size, in
        which it may be misclassified. Larger is softer; zero is for classes that are separable in feature space. It is
        the variance of the noise of a Gaussian process that has a probit link.
    fit_intercept : bool, default=True
        Whether there is an offset, the weight of a constant feature of size 1.
    method : {"ep", "sampling"}, default="ep"
        How the centre is found.
    tol : float > 0, default=1e-8
        For expectation propagation, the largest mismatch of moments.
    max_iter : int >= 1, default=500
        For expectation propagation, most passes over the samples.
    n_samples : int >= 64, default=2000
        For sampling, flights between two velocities. The standard error falls with the root of it.
    random_state : int, RandomState or None, default=0
        For sampling. None: another one in each fit.
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
    result_ : Moments or Draws
        How well the centre is known; a list of them, one for each class, if there are more than two.
    n_iter_ : int
        Passes over the samples, or flights of every particle; of all classes together.
    n_features_in_ : int
        Number of features, for vectors.

    See Also
    --------
    AnalyticCenterMachine : A cheaper centre of the same space, with a certificate.
    mercer.svm.SVC : The centre of the largest ball inside, of few samples.

    Notes
    -----
    Expectation propagation takes O(n^3) for each pass, of which there are some tens; sampling O(n^3) once and O(n) for
    every bounce, of which there are some n for each flight; both O(n^2) memory. LAPACK does the work: repeated on other
    machines, the last digits may differ, and sampling may take another way.

    References
    ----------
    .. [1] R. Herbrich, T. Graepel, C. Campbell, Bayes point machines, JMLR 1, 2001.
    .. [2] T. P. Minka, A family of algorithms for approximate Bayesian inference, PhD thesis, MIT, 2001, chapter 5.
    .. [3] A. Pakman, L. Paninski, Exact Hamiltonian Monte Carlo for truncated multivariate Gaussians, J. Comput. Graph.
       Stat. 23, 2014.
    .. [4] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, sections 2.2 and A.2.

    Examples
    --------
    >>> from mercer.version_space import BayesPointMachine
    >>> machine = BayesPointMachine(kernel="linear", soft_boundary=0.0).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> machine.predict([[0.5], [3.5]]), machine.result_.status
    (array([0, 1]), 'solved')
    """

    _parameters: ClassVar[dict[str, Any]] = {
        **VersionSpaceMachine._parameters,
        "method": Choice("ep", "sampling"),
        "tol": Number(0, above=True),
        "n_samples": Number(64, integer=True),
    }

    def __init__(
        self,
        kernel="rbf",
        *,
        soft_boundary=1.0,
        fit_intercept=True,
        method="ep",
        tol=1e-8,
        max_iter=500,
        n_samples=2000,
        random_state=0,
        memory="auto",
        n_threads=None,
    ):
        self.kernel = kernel
        self.soft_boundary = soft_boundary
        self.fit_intercept = fit_intercept
        self.method = method
        self.tol = tol
        self.max_iter = max_iter
        self.n_samples = n_samples
        self.random_state = random_state
        self.memory = memory
        self.n_threads = n_threads

    def _center(self, space: VersionSpace) -> tuple[np.ndarray, Moments | Draws]:
        if self.method == "sampling":
            seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
            return billiard(space, self.n_samples, np.random.default_rng(seed))
        space.inside()  # a normal distribution would be found where there is nothing, too
        return expectation_propagation(space, self.tol, self.max_iter)

    def _keep_results(self, results: list[Any]) -> None:
        self.result_ = results[0] if len(results) == 1 else results
        self.n_iter_ = sum(r.n_iter for r in results)
        worst = max((r for r in results if isinstance(r, Moments)), key=lambda r: r.mismatch, default=None)
        if worst is not None and worst.mismatch > self.tol:
            warn_caller(
                f"{type(self).__name__} did not reach a fixed point of expectation propagation: moments differ by "
                f"{worst.mismatch:.3g} after {worst.n_iter} passes. Raise max_iter, tol or soft_boundary.",
                ConvergenceWarning,
            )
