"""Machines over landmarks: features that are stored nowhere, and what they say of the full problem."""

import pickle

import numpy as np
import pytest
import scipy.special
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import (
    LSSVC,
    SVC,
    SVDD,
    SVR,
    KernelLogisticRegression,
    KernelRidge,
    NuSVC,
    NuSVR,
    Nystroem,
    OneClassSVM,
    QuantileSVR,
)
from mercer.data import RowBlocks
from mercer.errors import IndefiniteError
from mercer.gram import LandmarkGram, LandmarkMatrix, LinearGram, MatrixGram
from mercer.kernels import RBF, FromFunction, Laplacian, Linear, Spectrum, Tanimoto
from mercer.problems import enclosing_ball, epsilon_tube, nu_margin, one_class, soft_margin
from mercer.selection import tune
from mercer.solvers import SMO, CoordinateDescent, LinearSolver, ProximalNewton
from mercer.solvers.landmark_ridge import solve_landmark_ridge

N, M = 300, 40


def vectors(n=N, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def words(n=60):
    rng = np.random.default_rng(1)
    return ["".join(rng.choice(list("abc"), size=rng.integers(3, 9))) for _ in range(n)]


def classes(X):
    return np.where(X[:, 0] + X[:, 1] ** 2 > 0.8, 1, 0)


# Samples in every container, the landmarks among them, and the samples once more for plain kernel matrices. Those of
# many features, and strings, have stored values.
WIDE = np.tile(vectors(), (1, 40))
PLACES = {
    "dense": (RBF(gamma=0.3), vectors(), vectors()[:M], vectors()),
    "float32": (RBF(gamma=0.3), vectors().astype(np.float32), vectors().astype(np.float32)[:M], None),
    "sparse": (Linear() + 1, csr_array(vectors()), csr_array(vectors()[:M]), vectors()),
    "blocks": (RBF(gamma=0.3), RowBlocks([vectors()[:120], lambda: vectors()[120:]]), vectors()[:M], vectors()),
    "wide": (RBF(gamma=0.3 / 40), WIDE, WIDE[:M], WIDE),
    "strings": (Spectrum(2), words(), words()[:20], words()),
}


@pytest.fixture(params=PLACES)
def place(request):
    kernel, X, Z, plain = PLACES[request.param]
    plain = X.astype(np.float64) if plain is None else plain
    landmarks = Z.astype(np.float64) if request.param == "float32" else Z
    return LandmarkGram(kernel, X, Z), projected(kernel, plain, landmarks), kernel, plain


def projected(kernel, X, Z):
    """The kernel matrix as far as landmarks span it, by its definition."""
    K = kernel(X, Z)
    return K @ np.linalg.pinv(kernel(Z), rcond=1e-9, hermitian=True) @ K.T


def close(found, wanted, digits=1e-6):
    assert_allclose(found, wanted, rtol=digits, atol=digits * np.abs(wanted).max(initial=1.0))


def test_close_can_fail():
    with pytest.raises(AssertionError):
        close(np.array([1.0, 2.0]), np.array([1.0, 2.1]))


# --- the features -----------------------------------------------------------------------------------------


def test_sums_over_samples(place):
    gram, K, kernel, plain = place
    n, rng = gram.n, np.random.default_rng(0)
    F = gram.some(np.arange(n))
    some = np.sort(rng.permutation(n)[:17])
    w, c = rng.normal(size=gram.n_weights), rng.normal(size=n)
    close(F @ F.T, K)
    for rows, part in ((None, slice(None)), (some, some)):
        close(gram.products(w, rows), F[part] @ w)
        close(gram.sums(c[part], rows), F[part].T @ c[part])
        close(gram.moments(c[part], rows), (F[part].T * c[part]) @ F[part])
        close(gram.squares(c[part], rows), np.diag((F[part].T * c[part]) @ F[part]))
    close(gram.products(np.column_stack([w, -w]), some), np.column_stack([F[some] @ w, -F[some] @ w]))
    values, sums = gram.both(w, c, 2 * c)
    close(values, F @ w)
    close(sums, F.T @ (c * (F @ w) + 2 * c))
    close(gram.moments_times(w, c), F.T @ (c * (F @ w)))
    close(gram.moments_times(np.column_stack([w, -w]), c)[:, 1], -F.T @ (c * (F @ w)))
    values, sums = gram.both(np.column_stack([w, 2 * w]))
    close(sums, np.column_stack([F.T @ (F @ w), 2 * F.T @ (F @ w)]))
    close(gram.exact_diag(), kernel.diag(plain))
    close(gram.lost(), np.maximum(kernel.diag(plain) - np.diag(K), 0.0))


def test_as_a_kernel_matrix(place):
    gram, K, *_ = place
    which = np.array([7, 3, 19, 3])
    close(gram.rows(which), K[which])
    close(gram.square(which), K[np.ix_(which, which)])
    close(gram.diag(), np.diag(K))
    v = np.random.default_rng(0).normal(size=(gram.n, 2))
    close(gram.dot(v), K @ v)
    close(gram.dot(v[:, 0]), K @ v[:, 0])
    rows = csr_array(np.where(np.abs(v.T) > 1, v.T, 0.0))
    close(gram.values_at(rows, which), rows.toarray() @ K[:, which])
    close(gram.dot_part(which, np.array([4, 2]), np.eye(2)), K[np.ix_(which, [4, 2])])


def test_lost_energies(place):
    gram, K, kernel, plain = place
    rows = np.random.default_rng(0).normal(size=(2, gram.n))
    rows[np.abs(rows) < 1] = 0.0
    left = kernel(plain) - K
    exact, above = gram.lost_energies(csr_array(rows)), gram.lost_energies(csr_array(rows), exact=False)
    close(exact, np.maximum(np.einsum("ki,ij,kj->k", rows, left, rows), 0.0), 1e-5)
    close(above, (np.abs(rows) @ np.sqrt(gram.lost())) ** 2)
    # Where nothing is lost both are rounding of the whole.
    assert (above >= exact - 1e-12 * np.einsum("ki,ij,kj->k", rows, K, rows)).all()


def test_features_know_one_another():
    """The same sums whether features are given or those of landmarks: a linear kernel with a landmark per feature."""
    X, c = vectors(), np.random.default_rng(2).normal(size=N)
    given, spanned = LinearGram(X), LandmarkGram(Linear(), X, np.eye(3))
    assert_allclose(spanned.sums(c), given.sums(c), rtol=1e-12)
    assert_allclose(spanned.moments(c), given.moments(c), rtol=1e-10, atol=1e-9)
    assert_allclose(spanned.values_at(csr_array([c]), np.arange(5)), given.values_at(csr_array([c]), np.arange(5)))


def test_landmarks_that_others_span_are_left_out():
    X = vectors()
    gram = LandmarkGram(Linear(), X, np.concatenate([X[:2], 2 * X[:2], X[2:9]]), numbers=np.arange(11))
    assert gram.n_weights == 3 and len(gram.Z) == 3 and (gram.numbers == gram.kept).all()
    assert (LandmarkGram(Linear(), X, X[:2]).numbers == -1).all()
    assert LandmarkGram(Linear(), X, np.zeros((2, 3))).n_weights == 0


def test_what_is_no_kernel_is_refused():
    indefinite = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(IndefiniteError, match="must be positive semi-definite, the squared distance of a landmark"):
        LandmarkGram(mercer.kernels.Indexed(indefinite), np.arange(2), np.arange(2))


def test_single_precision():
    X = vectors() + 100.0
    gram = LandmarkGram(RBF(gamma=0.3), X, X[:M])
    working, w = gram.in_single(), np.random.default_rng(0).normal(size=gram.n_weights)
    full, half = gram.products(w), working.products(w)
    assert 0 < np.abs(full - half).max() < 1e-2 * np.abs(full).max()
    values, _ = working.both(w)
    assert_allclose(values, half, rtol=1e-4, atol=1e-4 * np.abs(half).max())
    assert working.in_single() is working
    stored = LandmarkGram(Spectrum(2), words(), words()[:9])
    assert stored.in_single() is stored  # nothing to gain


@pytest.mark.parametrize("single", [False, True])
def test_threads_do_not_show(single):
    X, rng = vectors(2000), np.random.default_rng(0)
    K = LandmarkMatrix(RBF(gamma=0.3), X, X[:70])
    K = K.in_single() if single else K
    v, c = rng.normal(size=(70, 2)), rng.normal(size=2000)
    found = []
    for n_threads in (1, 3):
        with mercer.threads.limit_threads(n_threads):
            found.append([*K.both(v, c), K.forward(v), K.backward(c)])
    for one, three in zip(*found, strict=True):
        assert_array_equal(one, three)


# --- solvers ----------------------------------------------------------------------------------------------


def problems(gram, X):
    sign, price = np.where(classes(X) == 1, 1.0, -1.0), np.full(len(X), 2.0)
    return {
        "hinge": soft_margin(gram, sign, price),
        "squared hinge": soft_margin(gram, sign, price, squared=True),
        "no offset": soft_margin(gram, sign, price, bias=False),
        "tube": epsilon_tube(gram, np.sin(X[:, 0]), price, 0.1),
        "one class": one_class(gram, 0.3, np.ones(len(X))),
    }


@pytest.mark.parametrize("form", problems(MatrixGram(np.eye(2)), vectors(2)))
@pytest.mark.parametrize("n", [200, 1500])
def test_the_optimum_is_that_over_the_matrix(form, n):
    """Of 1500 samples a part comes first: the landmarks are 20."""
    X = vectors(n)
    gram = LandmarkGram(RBF(gamma=0.3), X, X[:20])
    F = gram.some(np.arange(n))
    problem, plain = problems(gram, X)[form], problems(MatrixGram(F @ F.T), X)[form]
    found, wanted = ProximalNewton(gap_tol=1e-7).solve(problem), SMO(tol=1e-6, gap_tol=1e-9).solve(plain)
    assert found.status == "solved" and isinstance(LinearSolver().pick(problem), ProximalNewton)
    assert_allclose(found.objective, wanted.objective, rtol=1e-6)
    # The certificate is that of the multipliers, computed again over the matrix.
    gradient = plain.gradient(found.a)
    assert_allclose(plain.gap(found.a, gradient, found.offsets), found.gap, rtol=1e-3, atol=1e-7 * abs(found.objective))


@pytest.mark.parametrize(
    "form, kernel, first",
    [
        ("hinge", RBF(gamma=0.3), "SMO"),
        ("squared hinge", RBF(gamma=0.3), "_Run"),
        ("hinge", FromFunction(lambda X, Y: np.exp(-0.3 * ((X[:, None] - Y) ** 2).sum(axis=2))), "_Run"),
    ],
)
def test_a_part_of_the_samples_comes_first(monkeypatch, form, kernel, first):
    """By SMO where their kernel matrix is cheap; then all in float32, where that is other than float64, and all."""
    X, seen = vectors(1500), []

    def spy(cls, name, problem_of):
        method = getattr(cls, name)

        def spying(self, *args, **keywords):
            found = method(self, *args, **keywords)
            seen.append((cls.__name__, len(problem_of(self, *args).index)))
            return found

        monkeypatch.setattr(cls, name, spying)

    spy(mercer.solvers.newton._Run, "result", lambda run: run.problem)
    spy(SMO, "solve", lambda solver, problem: problem)
    ProximalNewton().solve(problems(LandmarkGram(kernel, X, X[:20]), X)[form])
    assert seen == [(first, 160), *[("_Run", 1500)] * (2 if kernel.native() else 1)]


@pytest.mark.parametrize("form", ["hinge", "squared hinge", "no offset", "tube", "one class"])
def test_a_part_stands_for_all(form):
    """Its optimum is about that of the whole: each sample counts as often as there are more."""
    X = vectors(3000)
    problem = problems(LandmarkGram(RBF(gamma=0.3), X, X[:20]), X)[form]
    run = mercer.solvers.newton._Run(ProximalNewton(max_iter=1), problem, np.zeros(len(problem.index)), None)
    run.gram = run.gram.in_single()  # as it is in the run that begins with a part
    part, rows = run._part_of(run._first_samples())
    assert len(np.unique(part.index)) == len(rows) == 160
    assert_allclose(ProximalNewton().solve(part).objective, ProximalNewton().solve(problem).objective, rtol=0.35)


@pytest.mark.parametrize("rounds", [1, 4, 12])
def test_limits_hold_while_some_samples_are_missing(rounds):
    """Whichever round of the run they end it in; and a callback is heard once."""
    X, told = vectors(1500), []
    problem = problems(LandmarkGram(RBF(gamma=0.3), X, X[:20]), X)["hinge"]
    result = ProximalNewton().solve(problem, callback=lambda progress: told.append(progress) or len(told) == rounds)
    assert result.status == "stopped" and len(told) == rounds
    limited = ProximalNewton(max_iter=rounds).solve(problem)
    assert limited.status == "max_iter" and limited.n_iter == rounds
    for found in (result, limited):
        assert len(found.a) == 1500 and found.gap > 0
        assert_allclose(problem.gap(found.a, problem.gradient(found.a), found.offsets), found.gap, rtol=1e-6)


def test_other_solvers_over_landmarks():
    X = vectors(200)
    gram = LandmarkGram(RBF(gamma=0.3), X, X[:20])
    hinge = problems(gram, X)["hinge"]
    with pytest.raises(ValueError, match="CoordinateDescent needs a LinearGram; ProximalNewton takes any features"):
        CoordinateDescent().solve(hinge)
    hard = soft_margin(gram, np.where(X[:, 0] > 0, 1.0, -1.0), np.full(200, np.inf))
    assert isinstance(LinearSolver().pick(hard), SMO)
    assert isinstance(LinearSolver().pick(problems(LandmarkGram(RBF(gamma=0.3), X[:30], X[:20]), X[:30])["hinge"]), SMO)
    assert_allclose(SMO(tol=1e-6).solve(hinge).objective, ProximalNewton().solve(hinge).objective, rtol=1e-5)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("alpha", [1e-6, 1e-2, 1.0])
def test_ridge_regression(bias, alpha):
    X, rng = vectors(800), np.random.default_rng(0)
    Y, weight = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2]), rng.random(800) + 0.5
    weight[:5] = 0.0
    gram = LandmarkGram(RBF(gamma=0.3), X, X[:60])
    found = solve_landmark_ridge(gram, Y, weight, alpha, bias=bias)
    F = gram.some(np.arange(800))
    centre, mean = (weight @ F / weight.sum(), weight @ Y / weight.sum()) if bias else (0.0, 0.0)
    F, R = F - centre, Y - mean
    w = np.linalg.solve((F.T * weight) @ F + alpha * np.eye(gram.n_weights), (F.T * weight) @ R)
    objective = 0.5 * float((weight[:, np.newaxis] * (R - F @ w) ** 2).sum() + alpha * (w * w).sum())
    assert found.result.status == "solved" and 0 <= found.result.gap <= 1e-10 * objective
    assert_allclose(found.result.objective, objective, rtol=1e-9)
    assert_allclose(found.errors, R - F @ w, atol=1e-4)
    assert found.result.bound <= objective * (1 + 1e-12)


def test_ridge_regression_ends_when_told():
    X = vectors(800)
    gram = LandmarkGram(RBF(gamma=0.3), X, X[:60])
    known = {"gram": gram, "Y": np.sin(X[:, :1]), "weight": np.ones(800), "alpha": 1e-3, "tol": 1e-14}
    assert solve_landmark_ridge(**known, max_iter=1).result.status == "max_iter"
    told = []
    result = solve_landmark_ridge(**known, callback=lambda progress: told.append(progress.n_iter) or True).result
    assert result.status == "stopped" and told == [1]
    nothing = solve_landmark_ridge(**known | {"Y": np.zeros((800, 1))})
    assert nothing.result.status == "solved" and not nothing.weights.any()


# --- machines ---------------------------------------------------------------------------------------------

MACHINES = {
    "SVC": lambda: SVC(RBF(gamma=0.5)),
    "SVC squared": lambda: SVC(RBF(gamma=0.5), loss="squared_hinge"),
    "SVC bias-free": lambda: SVC(RBF(gamma=0.5), fit_intercept=False),
    "NuSVC": lambda: NuSVC(RBF(gamma=0.5), nu=0.2),
    "SVR": lambda: SVR(RBF(gamma=0.5)),
    "SVR quadratic": lambda: SVR(RBF(gamma=0.5), loss="quadratic"),
    "NuSVR": lambda: NuSVR(RBF(gamma=0.5)),
    "QuantileSVR": lambda: QuantileSVR(RBF(gamma=0.5)),
    "OneClassSVM": lambda: OneClassSVM(RBF(gamma=0.5), nu=0.1),
    "SVDD": lambda: SVDD(RBF(gamma=0.5) + 0.2 * Linear(), nu=0.1),
    "KernelRidge": lambda: KernelRidge(RBF(gamma=0.5), alpha=0.1),
    "LSSVC": lambda: LSSVC(RBF(gamma=0.5), alpha=0.1),
    "KernelLogisticRegression": lambda: KernelLogisticRegression(RBF(gamma=0.5)),
}


def targets(machine, X):
    kind = type(machine).__name__
    if kind in ("OneClassSVM", "SVDD"):
        return None
    return classes(X) if kind in ("SVC", "NuSVC", "LSSVC", "KernelLogisticRegression") else np.sin(X[:, 0])


def primal(machine):
    result = machine.result_
    return result.objective if isinstance(machine, KernelRidge | LSSVC) else -result.bound


def dual(machine):
    return machine.result_.bound if isinstance(machine, KernelRidge | LSSVC) else -machine.result_.objective


@pytest.mark.parametrize("name", MACHINES)
def test_the_full_problem_is_bounded(name):
    """What the full machine reaches lies between the objective over landmarks and the bound that comes with it."""
    X, machine = vectors(), MACHINES[name]()
    y = targets(machine, X)
    full = clone(machine).fit(X, y)
    few = clone(machine).set_params(approximation=Nystroem(n_components=25, pivots="greedy")).fit(X, y)
    exact, above = few.full_certificate(X), few.full_certificate(X, exact=False)
    assert exact.objective == pytest.approx(primal(few)) == above.objective
    slack = 1e-9 * abs(primal(full))
    assert above.bound <= exact.bound + slack
    assert exact.bound <= primal(full) + slack and dual(full) <= exact.objective + slack
    assert exact.gap > 0 and exact.exact and not above.exact
    assert exact.relative_gap == pytest.approx(exact.gap / abs(exact.objective))
    assert len(few.support_) <= 25 and len(few.support_vectors_) == len(few.support_)
    assert_array_equal(few.support_vectors_, X[few.support_])


def test_the_full_bound_is_that_of_the_point():
    """The dual objective at the multipliers of the fit, with the whole kernel matrix."""
    X = vectors()
    y, values = classes(X), np.sin(X[:, 0])
    sign, one, K = np.where(y == 1, 1.0, -1.0), np.ones(N), MatrixGram(RBF(gamma=0.5)(X))
    for machine, problem in (
        (SVC(RBF(gamma=0.5)), soft_margin(K, sign, one)),
        (NuSVC(RBF(gamma=0.5), nu=0.2), nu_margin(K, sign, 0.2, one)),
        (SVR(RBF(gamma=0.5)), epsilon_tube(K, values, one, 0.1)),
        (OneClassSVM(RBF(gamma=0.5), nu=0.1), one_class(K, 0.1, one)),
        (SVDD(RBF(gamma=0.5), nu=0.1), enclosing_ball(K, 0.1, one)),
    ):
        fitted = machine.set_params(approximation=25).fit(X, targets(machine, X))
        a = fitted.result_.a
        wanted = -problem.objective(a, problem.gradient(a))
        assert fitted.full_certificate(X).bound == pytest.approx(wanted, rel=1e-7), machine
    alpha = 0.1
    fitted = KernelRidge(RBF(gamma=0.5), alpha=alpha, approximation=25).fit(X, values)
    a = fitted.sample_coef_[0]
    wanted = alpha * (a @ values - 0.5 * a @ K.matrix @ a - 0.5 * alpha * a @ a)
    assert fitted.full_certificate(X).bound == pytest.approx(wanted, rel=1e-7)
    fitted = KernelLogisticRegression(RBF(gamma=0.5), approximation=25).fit(X, y)
    a = fitted.sample_coef_[0]
    p = np.where(y == 1, 1.0 - a, -a)
    wanted = scipy.special.entr(p).sum() + scipy.special.entr(1.0 - p).sum() - 0.5 * a @ K.matrix @ a
    assert fitted.full_certificate(X).bound == pytest.approx(wanted, rel=1e-7)


@pytest.mark.parametrize("name", MACHINES)
def test_all_samples_as_landmarks(name):
    """Nothing is lost: the plain machine, whose gap is the full one."""
    X, machine = vectors(), MACHINES[name]()
    y = targets(machine, X)
    full = clone(machine).fit(X, y)
    found = clone(machine).set_params(approximation=N).fit(X, y)
    certificate = found.full_certificate(X)
    size = 1.0 + abs(primal(full))
    assert certificate.gap <= (full.result_.gap + found.result_.gap) + 1e-4 * size
    assert abs(primal(found) - primal(full)) <= 2e-3 * size
    assert np.mean(found.predict(X) != full.predict(X)) < 0.1 or np.abs(found.predict(X) - full.predict(X)).max() < 2e-2


@pytest.mark.parametrize("name", MACHINES)
def test_the_decision_rule(name):
    X, machine = vectors(), MACHINES[name]()
    fitted = machine.set_params(approximation=30).fit(X, targets(machine, X))
    values = fitted.kernel_(X, fitted.support_vectors_) @ np.asarray(fitted.dual_coef_).T + fitted.intercept_
    assert_allclose(fitted._raw_decision(X), values, rtol=1e-7, atol=1e-8)
    assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))


@pytest.mark.parametrize("name", ["SVC", "SVR", "OneClassSVM", "KernelRidge", "KernelLogisticRegression"])
def test_saved_and_loaded(name, tmp_path):
    X, machine = vectors(), MACHINES[name]()
    fitted = machine.set_params(approximation=30).fit(X, targets(machine, X))
    mercer.save(fitted, tmp_path / "machine.mercer")
    loaded = mercer.load(tmp_path / "machine.mercer")
    assert_array_equal(loaded.predict(X), fitted.predict(X))
    assert loaded.full_certificate(X) == fitted.full_certificate(X)


@pytest.mark.parametrize("name", MACHINES)
def test_certificates_are_of_the_samples_of_the_fit(name, tmp_path):
    X, machine = vectors(), MACHINES[name]()
    fitted = machine.set_params(approximation=30).fit(X, targets(machine, X))
    mercer.save(fitted, tmp_path / "machine.mercer")
    one_off = X.copy()
    one_off[17, 1] = np.nextafter(one_off[17, 1], 9.0)
    for others in (X[::-1], np.zeros_like(X), one_off, RowBlocks([X[150:], X[:150]])):
        for exact in (True, False):
            for known in (fitted, mercer.load(tmp_path / "machine.mercer")):
                with pytest.raises(ValueError, match="X must have the samples of fit, in the same order"):
                    known.full_certificate(others, exact=exact)


def test_certificates_see_samples_however_they_are_stored():
    X = np.where(vectors() < 0, 0.0, vectors()).astype(np.float32)
    machine = SVC(RBF(gamma=0.5), approximation=30).fit(X, classes(X))
    gap = machine.full_certificate(X).gap
    width = X.shape[1]
    doubled = csr_array((np.append(X[0] / 2, X[0] / 2), np.tile(np.arange(width), 2), [0, 2 * width]), shape=(1, width))
    for same in (
        X.astype(np.float64),
        np.where(X == 0, np.float32(-0.0), X),
        csr_array(X),
        X.tolist(),
        RowBlocks([X[:130], csr_array(X[130:])]),
        RowBlocks([doubled, X[1:]]),
    ):
        assert machine.full_certificate(same).gap == pytest.approx(gap, rel=1e-4)
    K = RBF(gamma=0.5)(X)
    machine = SVC("precomputed", approximation=30).fit(K, classes(X))
    assert machine.full_certificate(K).gap >= 0
    with pytest.raises(ValueError, match="X must have the samples of fit"):
        machine.full_certificate(K[::-1, ::-1])
    words = ["abc"[i % 3 :] + "ab" * (i % 7) for i in range(40)]
    machine = SVC(Spectrum(2), approximation=10).fit(words, np.arange(40) % 2)
    assert machine.full_certificate(np.array(words)).gap >= 0
    with pytest.raises(ValueError, match="X must have the samples of fit"):
        machine.full_certificate(words[::-1])


@pytest.mark.parametrize("name", ["SVC", "SVR", "OneClassSVM", "KernelRidge", "KernelLogisticRegression"])
def test_samples_in_blocks(name):
    X, machine = vectors(), MACHINES[name]().set_params(approximation=30)
    y, blocks = targets(machine, X), RowBlocks([vectors()[:130], lambda: vectors()[130:]])
    here, there = clone(machine).fit(X, y), clone(machine).fit(blocks, y)
    assert_allclose(there._raw_decision(X), here._raw_decision(X), rtol=1e-6, atol=1e-7)
    assert_allclose(there._raw_decision(blocks), there._raw_decision(X), rtol=1e-9, atol=1e-10)
    assert there.full_certificate(blocks).gap == pytest.approx(here.full_certificate(X).gap, rel=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("chooser", [Nystroem(n_components=60, pivots=rule) for rule in ("random", "uniform")])
def test_the_trace_error_is_that_of_all_samples(chooser, weighted):
    """Landmarks explain the candidates, which are a part of the samples, better than the others."""
    X = vectors(2000, 5)
    weight = np.where(X[:, 0] > 0, 3.0, 1.0) * (X[:, 1] > -1.0) if weighted else np.ones(len(X))
    fits = [
        KernelRidge(Laplacian(1.0), approximation=chooser).fit(samples, X[:, 0], sample_weight=weight)
        for samples in (X, RowBlocks([X[:700], X[700:]]))
    ]
    fits.append(KernelRidge("precomputed", approximation=chooser).fit(Laplacian(1.0)(X), X[:, 0], sample_weight=weight))
    F = fits[0].approximation_.transform(X)
    share, K = weight / weight.sum(), Laplacian(1.0)(X)
    lost, missed = share @ (1.0 - (F**2).sum(axis=1)), np.sqrt(share @ (K - F @ F.T) ** 2 @ share)
    for known in (fit.approximation_ for fit in fits):
        assert 0 < known.unexplained_uncertainty_ < 0.02
        assert abs(known.unexplained_ - lost) < 4 * known.unexplained_uncertainty_
        assert abs(known.kernel_error_ - missed) < 4 * known.kernel_error_uncertainty_
    alone = Nystroem(Laplacian(1.0), 60).fit(X[:200])
    assert alone.unexplained_ < lost - 0.05 and alone.unexplained_uncertainty_ == 0.0


def test_the_trace_error_where_lengths_differ():
    """A quotient of two means, each over the draws."""
    X = vectors(3000, 2)
    machine = KernelRidge(Linear() + RBF(gamma=5.0), approximation=40).fit(X, X[:, 0])
    known, F = machine.approximation_, machine.approximation_.transform(X)
    lengths = machine.kernel_.diag(X)
    lost = (lengths - (F**2).sum(axis=1)).sum() / lengths.sum()
    assert 0 < known.unexplained_uncertainty_ and abs(known.unexplained_ - lost) < 4 * known.unexplained_uncertainty_


def test_blocks_need_landmarks():
    blocks, y = RowBlocks([vectors()]), classes(vectors())
    for machine in (KernelRidge(), mercer.KernelPCA(), KernelLogisticRegression()):
        with pytest.raises(TypeError, match="needs X in memory, got RowBlocks"):
            machine.fit(blocks, y)


def test_words_among_the_parameters_are_resolved():
    X = vectors()
    assert SVC("rbf", approximation=20).fit(X, classes(X)).kernel_ == SVC("rbf").fit(X, classes(X)).kernel_
    blocks = SVC(RBF(gamma="scale"), approximation=20).fit(RowBlocks([X]), classes(X))
    assert blocks.kernel_.gamma == pytest.approx(1 / (3 * X.var()), rel=0.2)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr", "dag", "crammer_singer", "weston_watkins", "lee_lin_wahba"])
def test_several_classes(multi_class):
    X = vectors(600)
    y = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.6, 0.6])
    full = SVC(RBF(gamma=0.2), multi_class=multi_class).fit(X, y)
    machine = clone(full).set_params(approximation=60).fit(X, y)
    assert machine.score(X, y) > 0.9
    assert machine.n_support_.sum() == len(machine.support_)
    certificate = machine.full_certificate(X)
    best = [-part.bound for part in getattr(full.result_, "parts", None) or (full.result_,)]
    assert np.shape(certificate.gap) == (() if len(best) == 1 else (3,))
    assert (certificate.bound <= np.array(best)).all() and (np.array(best) <= certificate.objective * (1 + 1e-3)).all()
    assert (np.asarray(certificate.relative_gap) < 0.5).all()


def test_strings_with_probabilities():
    X = words(120)
    y = np.array([word.count("ab") > 0 for word in X])
    machine = SVC(Spectrum(2), approximation=15, probability=True).fit(X, y)
    assert machine.score(X, y) > 0.95 and machine.predict_proba(X).shape == (120, 2)
    assert all(isinstance(word, str) for word in machine.support_vectors_)


def test_sparse_binary_vectors():
    X = csr_array((np.random.default_rng(0).random((300, 50)) < 0.2).astype(float))
    y = np.asarray(X[:, [0]].toarray()).ravel() > 0
    machine = SVC(Tanimoto(), approximation=200).fit(X, y)
    assert machine.score(X, y) > 0.9 and machine.full_certificate(X).gap >= 0


def test_a_precomputed_matrix():
    X, kernel = vectors(), RBF(gamma=0.5)
    y, K = classes(X), kernel(vectors())
    here = SVC(kernel, approximation=30).fit(X, y)
    there = SVC("precomputed", approximation=30).fit(K, y)
    assert_array_equal(there.support_, here.support_)
    assert_allclose(there.dual_coef_, here.dual_coef_, rtol=1e-5, atol=1e-7)
    assert_array_equal(there.predict(K), here.predict(X))
    assert there.full_certificate(K).gap == pytest.approx(here.full_certificate(X).gap, rel=1e-6)


def test_samples_without_weight_are_no_landmarks():
    X = vectors()
    y, weight = classes(X), np.random.default_rng(0).integers(0, 3, N).astype(float)
    for machine in (SVC(RBF(gamma=0.5), approximation=40), LSSVC(RBF(gamma=0.5), approximation=40)):
        fitted = machine.fit(X, y, weight)
        assert (weight[fitted.support_] > 0).all()
    used = weight > 0
    alone = SVC(RBF(gamma=0.5), approximation=N).fit(X[used], y[used], weight[used])
    together = SVC(RBF(gamma=0.5), approximation=N).fit(X, y, weight)
    assert_allclose(together.decision_function(X), alone.decision_function(X), atol=5e-3)


def test_weight_two_is_the_sample_twice():
    X = vectors(120)
    y, twice = np.sin(X[:, 0]), np.concatenate([np.arange(120), np.arange(60)])
    weight = np.bincount(twice).astype(float)
    machine = KernelRidge(RBF(gamma=0.5), alpha=0.1, approximation=500)
    one, two = clone(machine).fit(X, y, weight), clone(machine).fit(X[twice], y[twice])
    assert_allclose(one.predict(X), two.predict(X), atol=1e-5)
    assert one.result_.objective == pytest.approx(two.result_.objective, rel=1e-7)


def test_influence_is_that_of_samples():
    X = vectors()
    machine = SVC(RBF(gamma=0.5), C=2.0, approximation=30).fit(X, classes(X))
    samples, multipliers = machine.influence(5)
    assert_allclose(multipliers, 2.0)
    assert_allclose(np.abs(machine.sample_coef_.toarray()[0, samples]), multipliers)


def test_a_search_fits_one_by_one():
    X = vectors()
    search = tune(SVC(RBF(gamma=0.5), approximation=30), {"C": [0.1, 1.0]}, cv=3).fit(X, classes(X))
    assert len(search.best_estimator_.support_) == 30


def test_warm_starts():
    X = vectors(1500)
    machine = SVC(RBF(gamma=0.3), approximation=20, warm_start=True).fit(X, classes(X))
    before = machine.n_iter_
    assert machine.fit(X, classes(X)).n_iter_ < before
    assert machine.result_.status == "solved"


@pytest.mark.parametrize(
    ("machine", "message"),
    [
        (
            SVC(approximation=0),
            "approximation must be None, an int >= 1 .* or a Nystroem, .* or PolynomialSketch, got 0",
        ),
        (SVC(approximation="nystroem"), "approximation must be None, an int >= 1 .* got 'nystroem'"),
        (KernelRidge(approximation=2.5), "approximation must be None, an int >= 1 .* got 2.5"),
        (KernelRidge(approximation=5, alpha="loo"), "alpha must be one float > 0 with an approximation, got 'loo'"),
        (KernelRidge(approximation=5, alpha=0.0), "alpha must be one float > 0 with an approximation, got 0.0"),
        (KernelRidge(approximation=5, norm_bound=1.0), "norm_bound None with an approximation"),
        (LSSVC(approximation=5, leave_one_out=True), "leave_one_out must be False"),
        (SVC(approximation=5, solver="descent"), "solver must be"),
    ],
)
def test_wrong_parameters_are_refused(machine, message):
    with pytest.raises(ValueError, match=message):
        machine.fit(vectors(), classes(vectors()))


def test_wrong_questions_are_refused():
    X = vectors()
    machine = SVC(approximation=10).fit(X, classes(X))
    with pytest.raises(ValueError, match="X must have the 300 samples of fit, got 7"):
        machine.full_certificate(X[:7])
    with pytest.raises(ValueError, match="full_certificate is for machines with an approximation"):
        SVC().fit(X, classes(X)).full_certificate(X)
    with pytest.raises(ValueError, match="prune is for machines over all samples"):
        KernelRidge(approximation=10).fit(X, X[:, 0]).prune(5)


@parametrize_with_checks(
    [
        SVC(approximation=20),
        SVR(approximation=20),
        OneClassSVM(approximation=20),
        KernelRidge(approximation=20),
        LSSVC(approximation=20),
        KernelLogisticRegression(approximation=20),
    ]
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)
