"""Linear programming machines: what they promise, and what they refuse."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from mercer.errors import DomainError, InfeasibleError, NotSeparableError
from mercer.gram import MatrixGram, make_gram
from mercer.kernels import RBF, LocalAlignment, Sigmoid, Spectrum
from mercer.lp import LPClassifier, LPNoveltyDetector, LPRegressor, NuLPClassifier
from mercer.problems import LinearProblem, level_set, lp_margin, lp_nu_margin, lp_tube
from mercer.solvers import ColumnGeneration, HiGHS
from mercer.solvers.lp import columns
from mercer.solvers.lp.corners import nearest_corner
from mercer.solvers.lp.interior import central_point
from mercer.svm import SVC


def two_classes(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1, 0)


def problems(n=120):
    """One of every kind."""
    X, y = two_classes(n)
    gram, sign, weight = make_gram(RBF(gamma=0.7), X), 2.0 * y - 1.0, np.ones(n)
    narrow = make_gram(RBF(gamma=100.0), X)
    values = np.sin(2 * X[:, 0])
    return {
        "margin": lp_margin(gram, sign, 2.0 * weight),
        "hard margin": lp_margin(narrow, sign, np.full(n, np.inf)),
        "low prices": lp_margin(gram, sign, 1e-3 * weight),
        "uneven prices": lp_margin(gram, sign, np.linspace(0.1, 5.0, n)),
        "nu margin": lp_nu_margin(gram, sign, 0.6, weight),
        "tube": lp_tube(gram, values, 2.0 * weight, 0.1),
        "hard tube": lp_tube(narrow, values, np.full(n, np.inf), 0.05),
        "level set": level_set(gram, 0.2, weight),
        "hard level set": level_set(gram, 0.0, weight),
    }


every_problem = pytest.mark.parametrize("name", problems(20))
every_solver = pytest.mark.parametrize("solver", [HiGHS(), ColumnGeneration()], ids=["HiGHS", "ColumnGeneration"])


# --- certificates -----------------------------------------------------------------------------------------


def assert_certified(problem, result, tol=1e-6):
    """Everything that a result says, computed again in obvious Python."""
    K = problem.gram.rows(np.arange(problem.gram.n))
    f = K[np.ix_(problem.rows, problem.columns)] @ result.a + result.b
    slack = np.maximum(0.0, problem.target + result.rho - problem.sign * f)
    soft = np.isfinite(problem.price)
    assert slack[~soft].max(initial=0.0) <= 1e-7
    value = problem.pull @ f - (problem.reward or 0.0) * result.rho + problem.price[soft] @ slack[soft]
    norm = np.abs(result.a).sum()
    if problem.unit:
        assert norm <= 1.0 + 1e-9
    assert_allclose(result.objective, value + (0.0 if problem.unit else norm), rtol=1e-9, atol=1e-9)
    # The multipliers are feasible, and prove the bound.
    u, scale = result.u, float(problem.price[soft].sum() + problem.pull.sum() + 1.0)
    assert (u >= 0).all()
    assert (u <= problem.price * (1 + 1e-12)).all()
    g = problem.sign * u - problem.pull
    assert abs(g.sum()) <= 1e-12 * scale
    if problem.reward is not None:
        assert u.sum() >= problem.reward * (1 - 1e-12)
    h = K[np.ix_(problem.columns, problem.rows)] @ g
    worst = (np.abs(h) if problem.signed else h).max()
    if problem.unit:
        assert_allclose(result.bound, problem.target @ u - worst, rtol=1e-9, atol=1e-9)
    else:
        assert worst <= 1.0 + 1e-12
        assert_allclose(result.bound, problem.target @ u, rtol=1e-12)
    assert_allclose(result.gap, result.objective - result.bound, atol=1e-12)
    assert result.gap >= -1e-9 * scale
    assert result.gap <= tol * abs(result.objective) + 1e-10
    assert result.status == "solved"


def test_assert_certified_can_fail():
    from dataclasses import replace

    problem = problems()["margin"]
    result = HiGHS().solve(problem)
    assert_certified(problem, result)
    for wrong in (
        {"a": result.a + 1e-3},
        {"b": result.b + 1e-3},
        {"u": result.u + 1e-3},
        {"bound": result.bound + 1e-3},
        {"objective": result.objective - 1e-3},
        {"gap": 1.0},
    ):
        with pytest.raises(AssertionError):
            assert_certified(problem, replace(result, **wrong))


@every_solver
@every_problem
def test_certificates(name, solver):
    problem = problems()[name]
    assert_certified(problem, solver.solve(problem))


@every_problem
def test_two_ways_to_one_optimum(name):
    problem = problems(300)[name]
    whole, by_columns = HiGHS().solve(problem), ColumnGeneration(tol=1e-9).solve(problem)
    assert_allclose(by_columns.objective, whole.objective, rtol=1e-8)
    assert_allclose(by_columns.f, whole.f, rtol=1e-5, atol=1e-6)
    assert np.count_nonzero(by_columns.a) < 150 or name.startswith("hard")


def test_any_multipliers_bound_the_optimum():
    """What `balanced` and `bound` make of noise is feasible."""
    rng = np.random.default_rng(0)
    for name, problem in problems(40).items():
        optimum = HiGHS().solve(problem).objective
        for _ in range(5):
            u = problem.balanced(rng.normal(size=len(problem.rows)) * 2)
            assert problem.imbalance(u) <= 1e-10, name
            bound = problem.bound(u, problem.slopes(u)).bound
            assert bound <= optimum + 1e-9, name


def test_kernel_matrix_is_never_whole(monkeypatch):
    """Column generation asks for the rows of the columns at play only."""
    X, y = two_classes(1500)
    gram, asked = make_gram(RBF(gamma=0.7), X), []
    rows = gram.rows
    monkeypatch.setattr(gram, "rows", lambda which: asked.append(len(which)) or rows(which))
    result = ColumnGeneration().solve(lp_margin(gram, 2.0 * y - 1.0, np.ones(1500)))
    assert result.status == "solved"
    assert sum(asked) < 800
    assert len(result.history) == result.n_iter > 2
    assert result.history.gap[-1] == result.gap


@pytest.mark.parametrize("name", [name for name in problems(20) if not name.startswith(("hard", "low"))])
def test_interior_points_tell_the_corner(name, monkeypatch):
    """To the last digits, without HiGHS."""
    problem = problems(300)[name]
    block = problem.gram.rows(problem.columns)[:, problem.rows]
    inner = central_point(problem, block, None, 1e-8)
    corner = nearest_corner(problem, block, inner)
    corner_of_highs = HiGHS().solve(problem)
    assert_allclose(inner.coefficients, corner_of_highs.a, atol=1e-5 * np.abs(corner_of_highs.a).max())
    assert_array_equal(corner.a != 0, corner_of_highs.a != 0)
    assert_allclose(corner.a, corner_of_highs.a, rtol=1e-6, atol=1e-12)
    assert_allclose(corner.u, corner_of_highs.u, atol=1e-8)
    monkeypatch.setattr(columns, "vertex", None)
    result = ColumnGeneration().solve(problem)
    assert_allclose(result.a, corner_of_highs.a, rtol=1e-6, atol=1e-12)
    assert result.relative_gap <= 1e-11


def test_one_of_many_optima_is_a_corner():
    """Copies share a coefficient in the middle of the optima: HiGHS has to look for a corner."""
    X, y = two_classes(150)
    gram = make_gram(RBF(gamma=0.7), np.repeat(X, 2, axis=0))
    problem = lp_margin(gram, np.repeat(2.0 * y - 1.0, 2), np.ones(300))
    block = gram.rows(problem.columns)
    assert nearest_corner(problem, block, central_point(problem, block, None, 1e-8)) is None
    found, whole = ColumnGeneration().solve(problem), HiGHS().solve(problem)
    assert np.count_nonzero(found.a) == np.count_nonzero(whole.a) < 20
    assert_allclose(found.objective, whole.objective, rtol=1e-12)


def dense_problems(n=400):
    """Many samples have a coefficient; ways to them lead through optima of zero, or large prices."""
    X = np.random.default_rng(0).normal(size=(n, 10))
    noise = 0.5 * np.random.default_rng(1).normal(size=n)
    sign, wide, narrow = np.where(X[:, 0] * X[:, 1] + noise > 0, 1.0, -1.0), RBF(gamma=0.05), RBF(gamma=0.3)
    return {
        "margin": lp_margin(make_gram(narrow, X), sign, np.full(n, 10.0)),
        "large prices": lp_margin(make_gram(wide, X), sign, np.full(n, 1e4)),
        "nu margin": lp_nu_margin(make_gram(narrow, X), sign, 0.3, np.ones(n)),
        "tube": lp_tube(make_gram(narrow, X), X[:, 0] * X[:, 1], np.full(n, 10.0), 0.05),
    }


@pytest.mark.parametrize("name", dense_problems(20))
def test_many_coefficients(name, monkeypatch):
    """The rest of the columns comes at once, if there are not too many; HiGHS has nothing to do."""
    problem = dense_problems()[name]
    monkeypatch.setattr(columns, "vertex", None)
    at_once = ColumnGeneration().solve(problem)
    assert at_once.status == "solved"
    assert np.count_nonzero(at_once.a) > 130
    assert at_once.relative_gap < 1e-9
    monkeypatch.setattr(columns, "FEW_THOUSAND", 0)
    by_and_by = ColumnGeneration().solve(problem)
    assert at_once.n_iter < by_and_by.n_iter
    assert_allclose(at_once.f, by_and_by.f, rtol=1e-6, atol=1e-7)


def test_limits_report_their_status():
    X, y = two_classes(300)
    problem = lp_margin(make_gram(RBF(gamma=0.7), X), 2.0 * y - 1.0, np.ones(300))
    result = ColumnGeneration(max_iter=1).solve(problem)
    assert (result.status, result.n_iter) == ("max_iter", 1)
    assert result.bound < HiGHS().solve(problem).objective < result.objective
    assert ColumnGeneration(max_seconds=1e-9).solve(problem).status == "max_seconds"
    with pytest.warns(ConvergenceWarning, match="LPClassifier did not reach .* max_iter"):
        LPClassifier(RBF(gamma=0.7), solver=ColumnGeneration(max_iter=1)).fit(X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"price": np.zeros(2)}, "price must be > 0"),
        ({"target": np.ones(3)}, "target must have a number for each of the 2 rows"),
        ({"sign": np.array([1.0, np.nan])}, "sign must have"),
        ({"pull": np.ones(2)}, "pull needs unit=True"),
    ],
)
def test_bad_problems(change, message):
    both = np.arange(2)
    good = {"sign": np.ones(2), "target": np.ones(2), "price": np.ones(2), "pull": np.zeros(2)}
    with pytest.raises(ValueError, match=message):
        LinearProblem(MatrixGram(np.eye(2)), both, both, **good | change)


# --- machines ---------------------------------------------------------------------------------------------


def test_fewer_coefficients_than_support_vectors():
    X, y = two_classes(200)
    machine, svc = LPClassifier(C=1.0).fit(X, y), SVC(C=1.0).fit(X, y)
    assert machine.sparsity_ > 0.9 > svc.sparsity_
    assert machine.score(X, y) > svc.score(X, y) - 0.03
    assert_allclose(machine.sparsity_, 1 - len(machine.support_) / 200)


def test_slack_and_shares():
    X, y = two_classes()
    machine = LPClassifier().fit(X, y)
    assert_allclose(machine.slack_, np.maximum(0, 1 - (2 * y - 1) * machine.decision_function(X)), atol=1e-8)
    assert_allclose(machine.margin_errors_, np.mean(machine.slack_ > 1e-6))
    regressor = LPRegressor(epsilon=0.2).fit(X, X[:, 0])
    assert_allclose(regressor.slack_, np.maximum(0, np.abs(X[:, 0] - regressor.predict(X)) - 0.2), atol=1e-8)
    banded = NuLPClassifier(nu=0.6).fit(X, y)
    assert_allclose(banded.slack_, np.maximum(0, 1 - (2 * y - 1) * banded.decision_function(X)), atol=1e-8)


@pytest.mark.parametrize("make", [LPClassifier, NuLPClassifier, LPRegressor, LPNoveltyDetector])
def test_shares_are_of_weights(make):
    X, y = two_classes()
    weight = np.random.default_rng(3).integers(0, 3, size=120).astype(float)
    machine = make().fit(X, y, sample_weight=weight)
    errs = machine.slack_ > (0 if make is LPNoveltyDetector else machine.tol)
    assert 0 < errs[weight > 0].mean() < 1
    assert not errs[weight == 0].any()
    assert_allclose(machine.margin_errors_, weight @ errs / weight.sum())


@pytest.mark.parametrize("nu", [0.5, 0.7, 0.9])
def test_nu_is_a_share(nu):
    X, y = two_classes()
    machine = NuLPClassifier(RBF(gamma=1.0), nu=nu, class_weight="balanced").fit(X, y)
    weight = np.where(y == 1, 0.5 / y.sum(), 0.5 / (1 - y).sum())
    assert machine.margin_errors_ <= nu + 1e-9
    inside_or_on_edge = (2 * y - 1) * machine.decision_function(X) <= 1 + 1e-6
    assert weight @ inside_or_on_edge >= nu - 1e-9
    assert machine.rho_ > 0
    assert_allclose(np.abs(machine.dual_coef_).sum(), 1 / machine.rho_)


def test_nu_and_price_meet():
    """Divided by rho, the solution of the nu form is that of the price 1 / (nu form's scale)."""
    X, y = two_classes()
    nu_machine = NuLPClassifier(RBF(gamma=1.0), nu=0.7).fit(X, y)
    # With a = rho a', the objective is rho (C-form with C = 1 / kappa) up to constants; kappa = -objective.
    C = 1.0 / -nu_machine.result_.objective
    machine = LPClassifier(RBF(gamma=1.0), C=C).fit(X, y)
    assert_allclose(machine.decision_function(X), nu_machine.decision_function(X), rtol=1e-5, atol=1e-6)


def test_several_classes():
    X, _ = two_classes()
    y = np.array(["c", "a", "b"])[np.argmax(X @ np.array([[1.0, -1, 0], [0, 1, -1]]), axis=1)]
    machine = LPClassifier(C=5.0, class_weight={"a": 2.0}).fit(X, y)
    assert machine.decision_function(X).shape == (120, 3)
    assert machine.score(X, y) > 0.95
    assert machine.slack_.shape == (120, 3)
    assert len(machine.result_.parts) == 3
    assert_allclose(machine.result_.objective, sum(part.objective for part in machine.result_.parts))
    assert machine.result_.primal_objective == machine.result_.objective
    assert machine.result_.dual_objective == machine.result_.bound
    alone = LPClassifier(C=5.0).fit(X, y == "a", sample_weight=np.where(y == "a", 2.0, 1.0))
    assert_allclose(alone.decision_function(X), machine.decision_function(X)[:, 0], atol=1e-7)


def test_several_outputs():
    X, _ = two_classes()
    targets = np.column_stack([X[:, 0], np.sin(X[:, 1])])
    machine = LPRegressor(epsilon=0.05).fit(X, targets)
    for k in range(2):
        assert_allclose(machine.predict(X)[:, k], LPRegressor(epsilon=0.05).fit(X, targets[:, k]).predict(X), atol=1e-8)


@pytest.mark.parametrize("make", [LPClassifier, LPRegressor, LPNoveltyDetector])
def test_indefinite_kernels_are_welcome(make):
    """Their optimum is proved like any other."""
    X, y = two_classes()
    kernel = Sigmoid(gamma=0.8, coef0=0.5)
    assert np.linalg.eigvalsh(kernel(X)).min() < -1.0
    assert make(kernel).fit(X, y).result_.status == "solved"
    words = ["MKV", "MKVL", "ACDE", "ACDF", "MKL", "ACD"]
    assert make(LocalAlignment()).fit(words, [1, 1, 0, 0, 1, 0]).result_.status == "solved"


def test_hard_margin():
    X, y = two_classes()
    machine = LPClassifier(RBF(gamma=100.0), C=np.inf).fit(X, y)
    assert ((2 * y - 1) * machine.decision_function(X)).min() >= 1 - 1e-8
    large = LPClassifier(RBF(gamma=100.0), C=1e5).fit(X, y)
    assert_allclose(large.decision_function(X), machine.decision_function(X), atol=1e-6)
    for solver in ("highs", "column_generation"):
        with pytest.raises(NotSeparableError, match="finite C"):
            LPClassifier("linear", C=np.inf, solver=solver).fit(X, y)
    with pytest.raises(InfeasibleError, match="finite price"):
        LPRegressor(C=np.inf, epsilon=0.1).fit([[0.0], [0.0], [1.0]], [0.0, 1.0, 0.0])
    tube = LPRegressor(RBF(gamma=100.0), C=np.inf, epsilon=0.1).fit(X, X[:, 0])
    assert np.abs(tube.predict(X) - X[:, 0]).max() <= 0.1 + 1e-8


def test_infeasible_and_degenerate_nu():
    X, y = two_classes()
    with pytest.raises(InfeasibleError, match=r"nu must be at most 0\.166667 .*, got 0\.17\."):
        NuLPClassifier(nu=0.17).fit(X, np.arange(120) < 10)
    assert NuLPClassifier(nu=1 / 6).fit(X, np.arange(120) < 10).result_.gap < 1e-9
    with pytest.warns(ConvergenceWarning, match="status degenerate"):
        machine = NuLPClassifier("linear", nu=0.1).fit(X, y)
    assert machine.rho_ <= 1e-12
    assert np.isfinite(machine.decision_function(X)).all()


@every_solver
@pytest.mark.parametrize(
    "make", [lambda k, s: NuLPClassifier(k, nu=0.6, solver=s), lambda k, s: LPNoveltyDetector(k, nu=0.2, solver=s)]
)
@pytest.mark.parametrize("size", [1e-16, 1e14])
def test_sizes_of_kernel_and_weights_make_no_difference(size, make, solver):
    """A norm of one: the function grows with the kernel, and nothing else does."""
    X, y = two_classes()
    plain = make(RBF(gamma=1.0), solver).fit(X, y)
    scaled = make(size * RBF(gamma=1.0), solver).fit(X, y, sample_weight=np.full(120, 1e-9))
    assert scaled.result_.status == "solved"
    assert_array_equal(scaled.support_, plain.support_)
    factor = 1.0 if isinstance(plain, NuLPClassifier) else size
    assert_allclose(scaled.decision_function(X), factor * plain.decision_function(X), rtol=1e-6, atol=1e-8 * factor)


def test_lost_in_rounding():
    """Large prices and kernel values: there is a solution, whatever HiGHS says, and a warning tells how good it is."""
    X = 1e4 * np.random.default_rng(0).normal(size=(60, 2))
    y = np.where(X[:, 0] * X[:, 1] + 1e8 * np.random.default_rng(1).normal(size=60) > 0, 1.0, 0.0)
    with pytest.warns(ConvergenceWarning, match="status stalled"):
        machine = LPRegressor("linear", C=1e6, solver="highs").fit(X, y)
    assert machine.result_.objective < 1e6 * np.maximum(0, np.abs(y - 0.5) - 0.1).sum()


def test_nothing_to_gain():
    """Errors cost so little that no column is worth anything: the function is constant, the larger class wins."""
    X, y = two_classes(300)
    machine = LPClassifier(solver="column_generation").fit(X, y, sample_weight=np.full(300, 1e-300))
    assert len(machine.support_) == 0 and machine.result_.status == "solved"
    assert_array_equal(machine.predict(X), np.bincount(y).argmax())


def test_a_hard_tube_in_any_units():
    """Whether constraints hold is measured in units of the targets."""
    X, _ = two_classes(60)
    for size in (1e-9, 1e9):
        values = size * np.sin(2 * X[:, 0])
        machine = LPRegressor(RBF(gamma=100.0), C=np.inf, epsilon=0.05 * size).fit(X, values)
        assert machine.result_.status == "solved"
        assert np.abs(machine.predict(X) - values).max() <= size * (0.05 + 1e-6)
    problem = lp_tube(make_gram(RBF(gamma=100.0), X), 1e-9 * X[:, 0], np.full(60, np.inf), 1e-12)
    assert problem.violation(np.zeros(60), 0.0, np.zeros(120)) > 0.9


# --- novelty ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nu", [0.05, 0.2, 0.5])
def test_share_of_outliers(nu):
    X, _ = two_classes(200)
    machine = LPNoveltyDetector(nu=nu).fit(X)
    assert np.mean(machine.predict(X) < 0) == machine.margin_errors_ <= nu
    assert np.mean(machine.decision_function(X) <= 1e-6) >= nu
    assert_allclose(machine.dual_coef_.sum(), 1.0)
    assert (machine.dual_coef_ > 0).all()


def test_hard_level_set():
    """All samples inside, some on the surface; nothing far away is."""
    X, _ = two_classes()
    machine = LPNoveltyDetector(nu=0.0).fit(X)
    assert_array_equal(machine.predict(X), 1)
    assert abs(machine.decision_function(X).min()) < 1e-8
    assert machine.predict([[9.0, 9.0]]) == [-1]
    assert machine.margin_errors_ == 0.0


def test_virtual_points_inflate():
    X, _ = two_classes(60)
    plain = LPNoveltyDetector(nu=0.0).fit(X)
    # Everything near a sample is inside, once its virtual points are.
    near = X + 0.2 * np.random.default_rng(5).normal(size=X.shape)
    inflated = LPNoveltyDetector(nu=0.0, n_virtual=20, spread=0.3).fit(X)
    assert np.mean(inflated.predict(near) > 0) > np.mean(plain.predict(near) > 0)
    cloud = 0.3 * np.random.RandomState(0).standard_normal((20, 2))
    assert (inflated.decision_function((X + cloud[:, np.newaxis]).reshape(-1, 2)) >= 0).all()
    assert_array_equal(inflated.support_vectors_, X[inflated.support_])
    assert_array_equal(inflated.predict(X), 1)


def test_virtual_points_do_not_depend_on_order_or_copies():
    X, _ = two_classes(60)
    make = lambda **more: LPNoveltyDetector(nu=0.1, n_virtual=3, spread=0.2, **more)  # noqa: E731
    machine, order = make().fit(X), np.random.default_rng(1).permutation(60)
    assert_allclose(make().fit(X[order]).decision_function(X), machine.decision_function(X), atol=1e-8)
    weight = np.random.default_rng(2).integers(0, 3, size=60)
    weighted, repeated = make().fit(X, sample_weight=weight), make().fit(np.repeat(X, weight, axis=0))
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-7)
    wider = LPNoveltyDetector(nu=0.1, n_virtual=3, spread=0.4).fit(X)
    assert not np.allclose(wider.decision_function(X), machine.decision_function(X))
    sparse = make().fit(csr_array(X))
    assert_allclose(sparse.decision_function(csr_array(X)), machine.decision_function(X), atol=1e-8)
    assert not np.allclose(make(random_state=1).fit(X).decision_function(X), machine.decision_function(X))


def test_virtual_points_need_vectors():
    with pytest.raises(DomainError, match="n_virtual puts points around vectors"):
        LPNoveltyDetector(Spectrum(2), n_virtual=1).fit(["ab", "ba"])
    with pytest.raises(DomainError, match="n_virtual"):
        LPNoveltyDetector("precomputed", n_virtual=1).fit(np.eye(3))


def test_solver_by_name_or_as_it_is():
    X, y = two_classes(260)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machines = [LPClassifier(solver=s).fit(X, y) for s in ("auto", "highs", "column_generation", HiGHS(tol=1e-4))]
    for machine in machines[1:]:
        assert_allclose(machine.decision_function(X), machines[0].decision_function(X), atol=1e-6)
    with pytest.raises(ValueError, match="solver must be 'auto'"):
        LPClassifier(solver=SVC()).fit(X, y)
