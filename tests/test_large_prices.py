"""Large prices and wide kernels, where Newton steps take over from pairs."""

from dataclasses import replace

import numpy as np
import pytest
from reference.conic import conic_optimum, equalities_of
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import make_classification
from solving import assert_certified

from mercer.gram import MatrixGram, make_gram
from mercer.kernels import RBF
from mercer.problems import epsilon_tube, nu_margin, nu_tube, soft_margin
from mercer.solvers import SMO
from mercer.svm import SVC, SVR, NuSVC


def classes(n):
    """Standardised samples with some labels that are wrong; in a wide kernel they are all alike."""
    X, y = make_classification(n_samples=n, n_features=20, flip_y=0.05, random_state=0)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.where(y > 0, 1.0, -1.0)


WIDE = RBF(gamma=1 / 160)


def wide(form, n, C, gram=None):
    X, y = classes(n)
    values = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * np.random.default_rng(0).normal(size=n)
    gram, ones = make_gram(WIDE, X) if gram is None else gram, np.ones(n)
    return {
        "hinge": lambda: soft_margin(gram, y, C * ones),
        "hinge, no bias": lambda: soft_margin(gram, y, C * ones, bias=False),
        "squared hinge": lambda: soft_margin(gram, y, C * ones, squared=True),
        "tube": lambda: epsilon_tube(gram, values, C * ones, 0.1),
        "squared tube": lambda: epsilon_tube(gram, values, C * ones, 0.1, squared=True),
        "nu margin": lambda: nu_margin(gram, y, 0.2, ones),
        "nu tube": lambda: nu_tube(gram, values, C * ones, 0.3),
    }[form]()


WIDE_FORMS = ["hinge", "hinge, no bias", "squared hinge", "tube", "squared tube", "nu margin", "nu tube"]


def assert_as_told(problem, result):
    """The numbers of the certificate, for the point that was returned, from scratch."""
    a, gradient = result.a, problem.gradient(result.a)
    assert (a >= 0).all() and (a <= problem.upper).all()
    for row, value in equalities_of(problem):
        assert abs(row @ a - value) <= 1e-10 * max(1.0, a.sum())
    assert result.violation == pytest.approx(problem.violation(a, gradient), abs=1e-6)
    assert result.objective == pytest.approx(problem.objective(a, gradient), rel=1e-9)


def test_assert_as_told_can_fail():
    problem = wide("hinge", 50, 1e4)
    result = SMO().solve(problem)
    assert_as_told(problem, result)
    for wrong in (
        {"a": result.a + 1e-3},
        {"a": 2 * result.a},
        {"violation": result.violation + 1e-5},
        {"objective": result.objective * (1 + 1e-8)},
    ):
        with pytest.raises(AssertionError):
            assert_as_told(problem, replace(result, **wrong))


@pytest.mark.parametrize("form", WIDE_FORMS)
@pytest.mark.parametrize("C", [1e4, 1e5])
def test_large_prices(form, C):
    problem = wide(form, 600, C)
    result = SMO().solve(problem)
    assert result.status == "solved" and result.violation <= 1e-3
    assert_as_told(problem, result)


@pytest.mark.parametrize("form", [form for form in WIDE_FORMS if "nu" not in form])
def test_large_prices_against_the_conic_solver(form):
    """Without those of two equalities, which are too much for it here."""
    problem = wide(form, 200, 1e4)
    result, optimum = SMO().solve(problem), conic_optimum(problem)
    assert result.status == "solved"
    assert_certified(problem, result, optimum)
    assert result.objective == pytest.approx(optimum.value, rel=1e-8)


@pytest.mark.parametrize("form", ["hinge", "squared hinge", "tube", "nu margin"])
def test_large_prices_over_every_gram(form):
    """Where rows come from changes what Newton's matrix is made of, not what it leads to."""
    X, _ = classes(600)
    grams = [make_gram(WIDE, X), make_gram(WIDE, csr_array(X)), MatrixGram(WIDE(X), definite=True)]
    objectives = []
    for gram in grams:
        problem = wide(form, 600, 1e4, gram)
        result = SMO(tol=1e-6).solve(problem)
        assert result.status == "solved" and result.violation <= 1e-6
        assert_as_told(problem, result)
        objectives.append(result.objective)
    assert objectives == pytest.approx([objectives[0]] * len(grams), rel=1e-7)


@pytest.mark.parametrize("form", ["hinge", "hinge, no bias", "squared tube", "tube"])
def test_limits_hold_among_newton_steps(form):
    """The last steps of these runs are Newton's: wherever a limit falls among them, each further one leads down.

    The very last one polishes, from a point that may do already.
    """
    problem, before = wide(form, 200, 1e4), np.inf
    steps = SMO().solve(problem).n_iter
    for max_iter in range(steps - 9, steps - 1):
        result = SMO(max_iter=max_iter).solve(problem)
        assert result.n_iter == max_iter and result.status == "max_iter"
        assert_as_told(problem, result)
        assert result.objective <= before + 1e-9 * abs(result.objective)
        before = result.objective


@pytest.mark.parametrize(
    "model",
    [
        SVC(kernel=WIDE, C=1e5),
        SVC(kernel=WIDE, C=1e4, loss="squared_hinge"),
        NuSVC(kernel=WIDE, nu=0.2),
        SVR(kernel=WIDE, C=1e4),
    ],
    ids=["SVC", "SVC squared", "NuSVC", "SVR"],
)
def test_estimators_at_large_prices(model):
    """No warning, and the same function from vectors, sparse vectors and a precomputed kernel."""
    X, y = classes(600)
    y = X[:, 0] * X[:, 1] if isinstance(model, SVR) else y
    model = clone(model).set_params(tol=1e-6)
    value = SVR.predict if isinstance(model, SVR) else type(model).decision_function
    expected = value(model.fit(X, y), X)
    assert model.result_.status == "solved" and model.result_.violation <= 1e-6
    np.testing.assert_allclose(value(clone(model).fit(csr_array(X), y), csr_array(X)), expected, rtol=1e-4, atol=1e-4)
    K = WIDE(X)
    precomputed = clone(model).set_params(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(value(precomputed, K), expected, rtol=1e-4, atol=1e-4)
