"""Linear machines: their solvers, their native parts, what they refuse."""

import signal
import threading
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference.conic import conic_optimum
from registry import LINEAR_SOLVERS
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC as TheirSVC
from sklearn.svm import LinearSVR as TheirSVR

from mercer import _native
from mercer.data import RowBlocks
from mercer.errors import NotSeparableError
from mercer.gram import LinearGram, make_gram
from mercer.kernels import RBF
from mercer.kernels.samples import native_samples
from mercer.problems import epsilon_tube, nu_margin, one_class, soft_margin
from mercer.solvers import SMO, CoordinateDescent, LinearSolver, ProximalNewton
from mercer.svm import LinearOneClassSVM, LinearSVC, LinearSVR

every_solver = pytest.mark.parametrize("make", LINEAR_SOLVERS.values(), ids=LINEAR_SOLVERS.keys())


def data(n, d, seed=0, storage=np.asarray):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6) + 0.3
    return storage(X), np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0.3, 1.0, -1.0), rng


FORMS = {
    "hinge": lambda gram, s, C, rng: soft_margin(gram, s, C),
    "hinge, no bias": lambda gram, s, C, rng: soft_margin(gram, s, C, bias=False),
    "hinge, targets": lambda gram, s, C, rng: soft_margin(gram, s, C, target=rng.uniform(0.2, 1.0, size=len(s))),
    "squared hinge": lambda gram, s, C, rng: soft_margin(gram, s, C, squared=True),
    "squared hinge, no bias": lambda gram, s, C, rng: soft_margin(gram, s, C, squared=True, bias=False),
    "tube": lambda gram, s, C, rng: epsilon_tube(gram, s + rng.normal(size=len(s)), C, 0.1),
    "tube, no bias": lambda gram, s, C, rng: epsilon_tube(gram, s + rng.normal(size=len(s)), C, 0.1, bias=False),
    "no tube": lambda gram, s, C, rng: epsilon_tube(gram, s + rng.normal(size=len(s)), C, 0.0),
    "squared tube": lambda gram, s, C, rng: epsilon_tube(gram, s + rng.normal(size=len(s)), C, 0.1, squared=True),
    "one class": lambda gram, s, C, rng: one_class(gram, 0.3, C),
    "part": lambda gram, s, C, rng: soft_margin(gram, s[::2], C[::2], index=np.arange(0, len(s), 2)),
}


def random_problem(form, seed, n=40):
    X, s, rng = data(n, 1 + seed % 5, seed)
    if form == "one class":  # on one side of the origin
        X = np.abs(X) + 1.0
    gram = LinearGram(csr_array(X) if seed % 2 else X, constant=2.0 if seed % 3 == 0 else 0.0)
    return FORMS[form](gram, s, 10.0 ** rng.uniform(-2, 1) * rng.uniform(0.5, 2, size=n), rng)


# --- against a conic solver and the kernel solver ----------------------------------------------------------


@every_solver
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(6))
def test_optimal(make, form, seed):
    problem = random_problem(form, seed)
    result, optimum = make().solve(problem), conic_optimum(problem)
    assert result.status == "solved" and result.violation <= 1e-3
    assert (result.a >= 0).all() and (result.a <= problem.upper).all()
    assert problem.imbalance(result.a) <= 1e-10 * max(1.0, result.a.sum())
    assert_allclose(result.gradient, problem.gradient(result.a), atol=1e-9 * max(1.0, np.abs(result.gradient).max()))
    assert abs(result.objective - optimum.value) <= optimum.accuracy + 1e-8 * max(1.0, abs(optimum.value))
    assert result.bound <= optimum.value + optimum.accuracy


@every_solver
@pytest.mark.parametrize("form", FORMS)
def test_larger_problems_against_the_kernel_solver(make, form):
    problem = random_problem(form, 4, n=2500)
    result, twin = make().solve(problem), SMO(tol=1e-5).solve(problem)
    assert result.status == "solved" and result.violation <= 1e-3 * problem.unit(result.a, result.offsets)
    assert result.bound - 1e-9 * abs(twin.objective) <= twin.objective
    assert result.objective >= twin.bound - 1e-9 * abs(twin.objective)
    assert result.gap <= 1e-3 * abs(twin.objective)


@every_solver
@pytest.mark.parametrize("form", FORMS)
def test_warm_start(make, form):
    problem, solver = random_problem(form, 2, n=1500), make().set_params(tol=1e-4)
    cold = solver.solve(problem)
    rng = np.random.default_rng(0)
    size = np.minimum(problem.upper, 1 + cold.a.max())
    for start in (cold.a, 0.9 * cold.a, rng.uniform(-1, 2, size=len(cold.a)) * size):
        given = start.copy()
        warm = solver.solve(problem, start)
        assert_array_equal(start, given)
        assert warm.status == "solved"
        assert abs(warm.objective - cold.objective) <= warm.gap + cold.gap + 1e-12 * abs(cold.objective)


@every_solver
@pytest.mark.parametrize("max_iter", [1, 3])
def test_max_iter(make, max_iter):
    problem = random_problem("hinge", 4, n=3000)
    solver = make().set_params(max_iter=max_iter, tol=1e-7)
    result = solver.solve(problem)
    assert result.status == "max_iter" and result.n_iter == max_iter
    exact = SMO(tol=1e-6).solve(problem)
    assert result.bound <= exact.objective and result.objective >= exact.bound


@every_solver
def test_max_seconds(make):
    X, s, _ = data(20_000, 60)
    problem = soft_margin(LinearGram(X), s, np.full(len(s), 100.0))
    result = make().set_params(max_seconds=1e-4, tol=1e-9).solve(problem)
    assert result.status == "max_seconds" and np.isfinite(result.gap)


@every_solver
def test_gap_tol(make):
    problem = random_problem("hinge", 4, n=1200)
    assert make().set_params(tol=10.0, gap_tol=1e-6).solve(problem).relative_gap <= 1e-6


def test_what_looks_solved_and_is_not_takes_another_step():
    """w may be right long before the w = X' (s a) of the multipliers, which the certificate is for."""
    X, y = make_classification(20_000, 50, n_informative=25, random_state=0)
    machine = LinearSVC(loss="squared_hinge", intercept="penalised", tol=0.1, gap_tol=1e-6).fit(X, y)
    assert machine.result_.status == "solved" and machine.result_.relative_gap <= 1e-6


@every_solver
def test_callback(make):
    problem, told = random_problem("hinge", 4, n=3000), []
    result = make().set_params(tol=1e-6).solve(problem, callback=lambda progress: told.append(progress))
    assert result.status == "solved" and told
    assert all(progress.seconds >= 0 and np.isfinite(progress.objective) for progress in told)
    assert make().set_params(tol=1e-6).solve(problem, callback=lambda progress: True).status == "stopped"
    with pytest.raises(ZeroDivisionError):
        make().set_params(tol=1e-6).solve(problem, callback=lambda progress: 1 / 0)


@every_solver
def test_history_ends_with_the_certificate(make):
    result = make().solve(random_problem("hinge", 4, n=2000))
    assert len(result.history) >= 1 and (np.diff(result.history.iteration) >= 0).all()
    assert result.history.objective[-1] == -result.objective
    assert result.history.gap[-1] == result.gap


@every_solver
def test_solve_many_is_solve_one_by_one(make):
    X, s, _ = data(300, 4)
    gram = LinearGram(X)
    problems = [soft_margin(gram, s * sign, np.full(len(s), C)) for C in (0.1, 1.0) for sign in (1, -1)]
    for one, many in zip(problems, make().solve_many(problems), strict=True):
        assert_array_equal(many.a, make().solve(one).a)
    assert make().solve_many([]) == []
    limited = make().set_params(n_threads=2).solve_many(problems)
    for one, other in zip(make().set_params(n_threads=1).solve_many(problems), limited, strict=True):
        assert_array_equal(one.a, other.a)


@every_solver
def test_an_error_among_several_problems_comes_through(make):
    X, s, _ = data(300, 4)
    gram = LinearGram(X)
    problems = [soft_margin(gram, s, np.ones(300))] * 4
    with pytest.raises(ValueError, match="start has shape"):
        make().set_params(n_threads=2).solve_many(problems, [None, None, np.zeros(3), None])


@every_solver
def test_other_problems_are_refused(make):
    X, s, _ = data(30, 2)
    kernel = make_gram(RBF(gamma=1.0), X)
    with pytest.raises(
        ValueError, match=r"needs features, as a LinearGram .* got a VectorGram; SMO solves problems over any"
    ):
        make().solve(soft_margin(kernel, s, np.ones(30)))
    if isinstance(make(), LinearSolver):
        return
    with pytest.raises(ValueError, match="one equality at most; SMO those with one per sign"):
        make().solve(nu_margin(LinearGram(X), s, 0.5, np.ones(30)))
    with pytest.raises(ValueError, match="needs bounds or a ridge; SMO solves hard margins"):
        make().solve(soft_margin(LinearGram(X), s, np.full(30, np.inf)))


def test_the_right_solver_is_picked():
    X, s, _ = data(1200, 3)
    problem = soft_margin(LinearGram(X), s, np.ones(1200))
    assert isinstance(LinearSolver().pick(problem), ProximalNewton)
    wide = csr_array(np.ones((1200, 3)))
    wide.resize((1200, 2000))
    assert isinstance(LinearSolver().pick(soft_margin(LinearGram(wide), s, np.ones(1200))), CoordinateDescent)
    assert isinstance(LinearSolver().pick(nu_margin(LinearGram(X), s, 0.1, np.ones(1200))), SMO)
    assert isinstance(LinearSolver().pick(soft_margin(LinearGram(X), s, np.full(1200, np.inf))), SMO)


def test_a_hard_margin_that_stalls_is_told(monkeypatch):
    """Newton's method takes over from descent, not from hard margins, which it cannot do."""
    X, s, _ = data(30, 2)
    X[:, 0] += 5.0 * s
    problem = soft_margin(LinearGram(X), s, np.full(30, np.inf))
    stalled = replace(SMO().solve(problem), status="stalled")
    monkeypatch.setattr(SMO, "solve", lambda *arguments: stalled)
    assert LinearSolver().solve(problem) is stalled


@pytest.mark.parametrize("form", ["hinge", "squared hinge", "tube", "one class"])
def test_conjugate_gradients(form, monkeypatch):
    """Too many features for a factor: the same optimum."""
    monkeypatch.setattr(LinearGram, "newton_weights", 0)
    for seed in range(3):
        problem = random_problem(form, seed)
        result, optimum = ProximalNewton().solve(problem), conic_optimum(problem)
        assert result.status == "solved"
        assert abs(result.objective - optimum.value) <= optimum.accuracy + 1e-6 * max(1.0, abs(optimum.value))


@pytest.mark.parametrize("intercept", ["free", "penalised"])
def test_wide_data_with_columns_of_any_scale(intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1100, 1050)) * 10.0 ** rng.uniform(-3, 3, size=1050)
    y = (X[:, 0] / np.abs(X[:, 0]).mean() + rng.normal(size=1100) > 0).astype(int)
    machine = LinearSVC(C=0.1, loss="squared_hinge", intercept=intercept).fit(X, y)
    assert machine.result_.status == "solved"


def test_wide_sparse_data():
    rng = np.random.default_rng(0)
    X = csr_array((rng.random((2000, 3000)) < 0.01) * rng.random((2000, 3000)))
    y = (X @ rng.normal(size=3000) + 0.1 * rng.normal(size=2000) > 0).astype(int)
    machine = LinearSVC(C=5.0).fit(X, y)
    assert machine.result_.status == "solved" and machine.result_.violation <= 1e-3
    twin = SMO(tol=1e-4).solve(soft_margin(LinearGram(X), 2.0 * y - 1, np.full(2000, 5.0)))
    assert_allclose(machine.result_.objective, twin.objective, rtol=1e-4)


# --- against scikit-learn ----------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_their_classifier_is_no_better(loss, C):
    X, s, _ = data(500, 6)
    ours = LinearSVC(C, loss=loss, intercept="penalised").fit(X, s)
    theirs = TheirSVC(C=C, loss=loss, dual=True, tol=1e-8, max_iter=1_000_000, random_state=0).fit(X, s)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)
    w, b = theirs.coef_[0], theirs.intercept_[0]
    slack = np.maximum(0, 1 - s * (X @ w + b))
    value = 0.5 * (w @ w + b * b) + C * (slack if loss == "hinge" else slack**2).sum()
    assert ours.result_.dual_objective <= value * (1 + 1e-12)


@pytest.mark.parametrize("loss", ["linear", "quadratic"])
def test_their_regressor_is_no_better(loss):
    X, _, rng = data(400, 4)
    y = X @ [1.0, -2.0, 0.5, 0.0] + 0.2 * rng.normal(size=400)
    ours = LinearSVR(epsilon=0.1, loss=loss, intercept="penalised").fit(X, y)
    name = "epsilon_insensitive" if loss == "linear" else "squared_epsilon_insensitive"
    theirs = TheirSVR(epsilon=0.1, loss=name, dual=True, tol=1e-8, max_iter=1_000_000, random_state=0).fit(X, y)
    assert_allclose(ours.coef_[0], theirs.coef_, atol=1e-3)
    w, b = theirs.coef_, float(theirs.intercept_[0])
    slack = np.maximum(0, np.abs(y - X @ w - b) - 0.1)
    value = 0.5 * (w @ w + b * b) + (slack if loss == "linear" else slack**2).sum()
    assert ours.result_.dual_objective <= value * (1 + 1e-12)


# --- native parts against NumPy ----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (37, 17), (1000, 33), (301, 100), (3, 0), (0, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("level", _native.simd_levels())
def test_products_sums_and_moments(shape, dtype, level):
    rng = np.random.default_rng(0)
    n, d = shape
    X = (rng.normal(size=shape) * (rng.random(shape) < 0.5)).astype(dtype)
    w, c = rng.normal(size=d), rng.normal(size=n)
    for storage in (np.ascontiguousarray, csr_array):
        samples, full = native_samples(storage(X)), X.astype(np.float64)
        for rows in (None, np.sort(rng.permutation(n)[: n // 2])):
            part, weight = (full, c) if rows is None else (full[rows], c[: n // 2].copy())
            for threads in (1, 3):
                close = {"rtol": 1e-12, "atol": 1e-12}
                assert_allclose(_native.linear_products(samples, rows, w, threads, level), part @ w, **close)
                assert_allclose(_native.linear_sums(samples, rows, weight, threads, level), part.T @ weight, **close)
                moments = _native.linear_moments(samples, rows, weight, threads, level)
                assert_allclose(moments, (part.T * weight) @ part, **close)
            assert_allclose(_native.linear_squares(samples, rows, weight), (part**2).T @ weight, **close)


def test_native_arguments_are_checked():
    X, w, c = np.ones((4, 3)), np.ones(3), np.ones(4)
    with pytest.raises(ValueError, match="row number out of range"):
        _native.linear_products(X, np.array([4]), w, 1)
    with pytest.raises(ValueError, match="row number out of range"):
        _native.linear_sums(X, np.array([-1]), c[:1], 1)
    with pytest.raises(ValueError, match="one entry per feature"):
        _native.linear_products(X, None, c, 1)
    with pytest.raises(ValueError, match="one entry per row"):
        _native.linear_moments(X, None, w, 1)
    with pytest.raises(ValueError, match="moments must be square"):
        _native.newton_step(X, None, 0.0, w)
    with pytest.raises(ValueError, match="right must have one entry per unknown"):
        _native.newton_step(np.eye(3), w, 1.0, w)
    with pytest.raises(ValueError, match="border must have one entry per weight"):
        _native.newton_step(np.eye(3), c, 1.0, c)
    with pytest.raises(ValueError, match="corner must be positive"):
        _native.newton_step(np.eye(3), w, 0.0, c)
    with pytest.raises(ValueError, match="moments must be finite"):
        _native.newton_step(np.full((3, 3), np.nan), None, 0.0, w)


def test_newton_step():
    rng = np.random.default_rng(0)
    for n in (1, 2, 17, 60):
        A = rng.normal(size=(n, 2 * n)) * 10.0 ** rng.uniform(-3, 3, size=(n, 1))
        A, m, b = A @ A.T, rng.normal(size=n), rng.normal(size=n + 1)
        assert_allclose(_native.newton_step(A, None, 0.0, b[1:]), np.linalg.solve(A + np.eye(n), b[1:]), rtol=1e-6)
        corner = m @ np.linalg.solve(A + np.eye(n), m) + 1.0
        full = np.block([[A + np.eye(n), m[:, np.newaxis]], [m, corner]])
        assert_allclose(_native.newton_step(A, m, corner, b), np.linalg.solve(full, b), rtol=1e-6)
    # Indefinite by rounding: the nearest system that is not.
    assert np.isfinite(_native.newton_step(np.ones((2, 2)), np.array([1e3, 1e3]), 1.0, np.ones(3))).all()


def test_line_minimum():
    """Where the derivative of the piecewise quadratic vanishes, as bisection finds it."""
    rng = np.random.default_rng(0)
    for n in (1, 7, 5000):
        z, dz = rng.normal(size=n), rng.normal(size=n)
        pull, stiffness, upper = rng.normal(size=n), rng.uniform(0.1, 1, size=n), rng.uniform(0.5, 2, size=n)

        def slope(t, z=z, dz=dz, pull=pull, stiffness=stiffness, upper=upper):
            return -2.0 * len(z) + 0.3 * t - dz @ np.clip((pull - z - t * dz) / stiffness, 0, upper)

        t = _native.line_minimum(z, dz, pull, stiffness, upper, -2.0 * n, 0.3, 2)
        assert t > 0 and abs(slope(t)) <= 0.1 * abs(slope(0.0)) + 1e-9
        assert _native.line_minimum(z, dz, pull, stiffness, upper, 1e9, 0.3, 2) == 0.0


def test_gram():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    for storage in (np.asarray, csr_array):
        gram = LinearGram(storage(X), constant=2.5)
        K = X @ X.T + 2.5
        assert_allclose(gram.rows(np.arange(30)), K)
        assert_allclose(gram.square(np.arange(5)), K[:5, :5])
        assert_allclose(gram.diag(), np.diag(K))
        v = rng.normal(size=30)
        assert_allclose(gram.dot(v), K @ v)
        full = np.hstack([X, np.full((30, 1), np.sqrt(2.5))])
        assert_allclose(gram.moments(v), (full.T * v) @ full)
        assert gram.n_weights == 5 and gram.definite


# --- data in blocks ----------------------------------------------------------------------------------------


def in_blocks(X, *cuts):
    """Blocks, every second one read when it is needed."""
    parts = [X[first:last] for first, last in zip((0, *cuts), (*cuts, X.shape[0]), strict=True)]
    return RowBlocks([part if k % 2 else (lambda part=part: part) for k, part in enumerate(parts)])


@pytest.mark.parametrize("storage", [np.asarray, csr_array])
@pytest.mark.parametrize(
    "machine",
    [
        LinearSVC(),
        LinearSVC(loss="squared_hinge", intercept="penalised"),
        LinearSVR(intercept="penalised"),
        LinearOneClassSVM(nu=0.2),
    ],
)
def test_blocks_reach_the_same_optimum(machine, storage):
    X, s, _ = data(1500, 4)
    X = storage(np.abs(X) + 1.0)
    blocks = in_blocks(X, 1, 300, 301, 1499)
    assert blocks.shape == X.shape and len(blocks) == 1500
    whole, parts = clone(machine).fit(X, s), clone(machine).fit(blocks, s)
    assert parts.result_.status == "solved"
    assert_allclose(parts.result_.objective, whole.result_.objective, rtol=1e-6)
    assert_allclose(parts.coef_, whole.coef_, rtol=1e-3, atol=1e-3)
    assert_allclose(parts.predict(blocks), parts.predict(X))
    weight = np.arange(1500) % 3
    assert_allclose(
        clone(machine).fit(blocks, s, sample_weight=weight).result_.objective,
        clone(machine).fit(X, s, sample_weight=weight).result_.objective,
        rtol=1e-6,
    )


def test_wide_blocks():
    rng = np.random.default_rng(0)
    X = csr_array((rng.random((400, 1500)) < 0.02) * rng.random((400, 1500)))
    y = (X @ rng.normal(size=1500) > 0).astype(int)
    first, second = LinearSVC(C=3.0).fit(X, y), LinearSVC(C=3.0).fit(in_blocks(X, 100), y)
    assert_allclose(first.result_.objective, second.result_.objective, rtol=1e-6)


def test_gram_of_blocks():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    whole, parts = LinearGram(X, 2.0), LinearGram(in_blocks(X, 7, 20), 2.0)
    v, some = rng.normal(size=30), np.array([1, 6, 7, 25])
    assert_allclose(parts.rows(some), whole.rows(some))
    assert_allclose(parts.rows(some[::-1]), whole.rows(some[::-1]))
    assert_allclose(parts.square(some), whole.square(some))
    assert_allclose(parts.diag(), whole.diag())
    assert_allclose(parts.dot(v), whole.dot(v))
    assert_allclose(parts.products(np.ones(5), some), whole.products(np.ones(5), some))
    assert_allclose(parts.sums(v[some], some), whole.sums(v[some], some))
    assert_allclose(parts.moments(v[some], some), whole.moments(v[some], some))
    assert_allclose(parts.squares(v[some], some), whole.squares(v[some], some))


def test_memory_mapped_data(tmp_path):
    X, s, _ = data(2000, 5)
    X.tofile(tmp_path / "samples")
    mapped = np.memmap(tmp_path / "samples", dtype=np.float64, mode="r", shape=X.shape)
    machine = LinearSVC().fit(mapped, s)
    assert_array_equal(machine.coef_, LinearSVC().fit(X, s).coef_)


def test_wrong_blocks_are_refused():
    with pytest.raises(ValueError, match="blocks must hold at least one block, got none"):
        RowBlocks([])
    with pytest.raises(ValueError, match="same number of features: block 0 has 2, block 1 3"):
        RowBlocks([np.ones((2, 2)), np.ones((2, 3))])
    with pytest.raises(ValueError, match="Block 1: Input X contains NaN"):
        RowBlocks([np.ones((2, 2)), np.full((2, 2), np.nan)])
    blocks = RowBlocks([np.eye(3), np.ones((2, 3))])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        LinearSVC().fit(blocks, [0, 1])
    with pytest.raises(ValueError, match="requires y to be passed"):
        LinearSVC().fit(blocks, None)
    with pytest.raises(ValueError, match="CoordinateDescent needs the samples in one piece"):
        LinearSVC(solver="descent").fit(blocks, [0, 1, 0, 1, 1])
    with pytest.raises(ValueError, match="SMO needs the samples in one piece"):
        LinearSVC(np.inf).fit(blocks, [0, 1, 0, 1, 1])


# --- errors and limits -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("machine", "message"),
    [
        (LinearSVC(C=0.0), "C must be a float > 0"),
        (LinearSVC(loss="log"), "loss must be 'hinge' or 'squared_hinge', got 'log'"),
        (LinearSVC(intercept=True), "intercept must be 'free' or 'penalised' or 'none', got True"),
        (LinearSVC(intercept_scaling=0), "intercept_scaling must be a float > 0"),
        (LinearSVC(multi_class="both"), "multi_class must be .* got 'both'"),
        (LinearSVC(class_weight="heavy"), "class_weight must be None, 'balanced' or a dict"),
        (LinearSVC(solver="fast"), "solver must be 'auto' or 'newton' or 'descent' or a solver, got 'fast'"),
        (LinearSVC(tol=0.0), "tol must be a float > 0"),
        (LinearSVC(n_threads=0), "n_threads must be"),
        (LinearSVR(epsilon=-1.0), "epsilon must be a float >= 0"),
        (LinearSVR(C=np.inf), "C must be a float > 0"),
        (LinearOneClassSVM(nu=0.0), "nu must be a float > 0 and <= 1"),
    ],
)
def test_wrong_parameters_are_refused(machine, message):
    with pytest.raises(ValueError, match=message):
        machine.fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])


def test_callback_must_be_callable():
    with pytest.raises(TypeError, match="callback must be callable or None, got 3"):
        LinearSVC(callback=3).fit([[0.0], [1.0]], [0, 1])


def test_hard_margin():
    X = [[0.0, 0.0], [1.0, 1.0], [3.0, 3.0], [4.0, 4.0]]
    machine = LinearSVC(np.inf).fit(X, [0, 0, 1, 1])
    assert_allclose(machine.coef_, [[0.5, 0.5]])
    assert machine.margin_ == pytest.approx(np.sqrt(2))
    with pytest.raises(NotSeparableError):
        LinearSVC(np.inf).fit(X, [0, 1, 0, 1])


def test_a_warm_hard_margin():
    X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
    machine = LinearSVC(np.inf, warm_start=True).fit(X, y)
    for C in (np.inf, 10.0, np.inf):
        assert_allclose(machine.set_params(C=C).fit(X, y).coef_, [[1.0]])


def test_a_failed_fit_loses_nothing():
    X, s, _ = data(50, 2)
    machine = LinearSVC().fit(X, s)
    before = machine.coef_.copy()
    with pytest.raises(ValueError, match="NaN"):
        machine.fit(np.full((4, 2), np.nan), [0, 1, 0, 1])
    assert_array_equal(machine.coef_, before)


def test_a_limit_becomes_a_warning():
    X, s, _ = data(3000, 5)
    with pytest.warns(ConvergenceWarning, match=r"LinearSVC did not reach a proved optimum \(status max_iter\)"):
        LinearSVC(max_iter=1).fit(X, s)


def test_data_around_the_origin_has_no_plane():
    X = np.random.default_rng(0).normal(size=(400, 3))
    with pytest.warns(ConvergenceWarning, match="degenerate"):
        LinearOneClassSVM(nu=0.9).fit(np.vstack([X, -X]))


def test_constant_and_empty_columns():
    X, s, _ = data(200, 3)
    machine = LinearSVC().fit(np.hstack([X, np.zeros((200, 2)), np.ones((200, 1))]), s)
    assert machine.result_.status == "solved" and not machine.coef_[0, 3:5].any()


def test_zero_rows():
    X, s, _ = data(200, 3)
    X[::3] = 0.0
    for solver in ("newton", "descent"):
        for intercept in ("free", "none"):
            machine = LinearSVC(solver=solver, intercept=intercept).fit(X, s)
            assert machine.result_.status == "solved"


def test_one_sample_per_class():
    assert_allclose(LinearSVC(C=100.0).fit([[0.0], [2.0]], [0, 1]).coef_, [[1.0]])


@pytest.fixture
def listening():
    """A shell may have told us to ignore SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupt(listening):
    """Ctrl-C ends a run that would take hours, and the machine is as it was."""
    X, s, _ = data(60_000, 200)
    machine = LinearSVC(C=1e4, tol=1e-12, solver="descent", max_iter=10**9)
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, s)
    timer.cancel()
    assert not hasattr(machine, "coef_")
