"""Machines on the features of any map: against linear machines on the same features, and bounds of the full problem."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import (
    LSSVC,
    SVC,
    SVDD,
    SVR,
    KernelLogisticRegression,
    KernelRidge,
    LinearSVC,
    MercerMap,
    NuSVC,
    Nystroem,
    OneClassSVM,
    PolynomialSketch,
    RandomFourier,
)
from mercer.compat.libsvm import as_model
from mercer.data import RowBlocks
from mercer.errors import DomainError
from mercer.explanations import feature_weights
from mercer.gram import LandmarkGram, LinearGram, MapGram, MatrixGram, SpanGram
from mercer.kernels import RBF, Polynomial, Spectrum
from mercer.problems import soft_margin
from mercer.solvers import SMO, ProximalNewton

N = 300
KERNEL = RBF(gamma=0.4)


def vectors(n=N, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3))


def classes(X):
    return np.where(X[:, 0] + X[:, 1] ** 2 > 0.8, 1, 0)


def words(n=80):
    rng = np.random.default_rng(1)
    return ["".join(rng.choice(list("abc"), size=rng.integers(3, 9))) for _ in range(n)]


# --- the features -----------------------------------------------------------------------------------------


def map_gram(X, **memory):
    features = RandomFourier(KERNEL, 31).fit(vectors())
    return MapGram(features._features_of, 31, KERNEL, X, **memory), features.transform(vectors())


def span_gram(X):
    features = MercerMap(KERNEL, 12).fit(vectors()[:50])
    return SpanGram(KERNEL, X, vectors()[:50], features.dual_coef_), features.transform(vectors())


BLOCKS = RowBlocks([vectors()[:120], lambda: vectors()[120:]])
GRAMS = {
    "map, stored": lambda: map_gram(vectors()),
    "map, made anew": lambda: map_gram(vectors(), memory=0.001),
    "map, sparse": lambda: map_gram(csr_array(vectors()), memory=0.001),
    "map, blocks": lambda: map_gram(BLOCKS),
    "span": lambda: span_gram(vectors()),
    "span, blocks": lambda: span_gram(BLOCKS),
}


@pytest.fixture(params=GRAMS)
def place(request):
    return GRAMS[request.param]()


def test_sums_over_samples(place):
    gram, F = place
    rng = np.random.default_rng(0)
    m, some = F.shape[1], np.sort(rng.permutation(N)[:17])
    W, C = rng.normal(size=(m, 2)), rng.normal(size=(N, 2))
    assert gram.n_weights == m
    for rows, part in ((None, slice(None)), (some, some)):
        assert_allclose(gram.products(W, rows), F[part] @ W, atol=1e-9)
        assert_allclose(gram.products(W[:, 0], rows), F[part] @ W[:, 0], atol=1e-9)
        assert_allclose(gram.sums(C[part], rows), F[part].T @ C[part], atol=1e-9)
        assert_allclose(gram.moments(C[part, 0], rows), (F[part].T * C[part, 0]) @ F[part], atol=1e-8)
        assert_allclose(gram.squares(C[part, 0], rows), C[part, 0] @ F[part] ** 2, atol=1e-9)
    for shift in (None, C):
        values, sums = gram.both(W, C[:, 0], shift)
        assert_allclose(values, F @ W, atol=1e-9)
        wanted = C[:, [0]] * values + (0.0 if shift is None else shift)
        assert_allclose(sums, F.T @ wanted, atol=1e-8)
    values, sums = gram.both(W[:, 0], C[:, 0])
    assert_allclose(sums, F.T @ (C[:, 0] * values), atol=1e-8)
    assert_allclose(gram.some(some), F[some], atol=1e-9)


def test_as_a_kernel_matrix(place):
    gram, F = place
    K, which = F @ F.T, np.array([7, 3, 19, 3])
    v = np.random.default_rng(0).normal(size=(N, 2))
    assert_allclose(gram.rows(which), K[which], atol=1e-9)
    assert_allclose(gram.square(which), K[np.ix_(which, which)], atol=1e-9)
    assert_allclose(gram.diag(), np.diag(K), atol=1e-9)
    assert_allclose(gram.dot(v), K @ v, atol=1e-8)
    assert_allclose(gram.exact_diag(), KERNEL.diag(vectors()))
    assert_allclose(gram.among(which[:2]).square(np.arange(2)), KERNEL(vectors()[which[:2]]))
    c = csr_array(np.where(np.abs(v.T) > 1, v.T, 0.0))
    assert_allclose(gram.values_at(c, which), c.toarray() @ K[:, which], atol=1e-8)


def test_single_precision(place):
    gram, F = place
    working, w = gram.in_single(), np.random.default_rng(0).normal(size=F.shape[1])
    assert 0 < np.abs(working.products(w) - F @ w).max() < 1e-3
    assert_allclose(working.both(w, np.ones(N))[1], F.T @ (F @ w), rtol=1e-3, atol=1e-3)
    assert working.in_single() is working


def test_the_newton_step_of_directions():
    """The same as that of the features themselves."""
    gram, F = span_gram(vectors())
    rng = np.random.default_rng(0)
    c, right = rng.random(N), rng.normal(size=13)
    moments, first = gram.newton_moments(c)
    step = gram.newton_step(moments, first, float(c.sum()), right)
    border = np.vstack([np.column_stack([np.eye(12) + (F.T * c) @ F, F.T @ c]), np.append(F.T @ c, c.sum())])
    assert_allclose(border @ step, right, atol=1e-8)


@pytest.mark.parametrize("n", [200, 1500])
def test_the_optimum_is_that_over_the_matrix(n):
    X = vectors(n)
    features = RandomFourier(KERNEL, 20).fit(X)
    gram, F = MapGram(features._features_of, 20, KERNEL, X, memory=0.001), features.transform(X)
    sign, price = np.where(classes(X) == 1, 1.0, -1.0), np.full(n, 2.0)
    found = ProximalNewton(gap_tol=1e-7).solve(soft_margin(gram, sign, price))
    wanted = SMO(tol=1e-6, gap_tol=1e-9).solve(soft_margin(MatrixGram(F @ F.T), sign, price))
    assert found.status == "solved"
    assert_allclose(found.objective, wanted.objective, rtol=1e-6)


# --- machines -----------------------------------------------------------------------------------------------

MAPS = {
    "frequencies": (KERNEL, RandomFourier(n_components=101, frequencies="orthogonal")),
    "sketch": (Polynomial(degree=2, gamma=0.3, coef0=1.0), PolynomialSketch(n_components=64)),
    "directions": (KERNEL, MercerMap(n_components=25)),
}
MACHINES = {
    "SVC": lambda: SVC(),
    "SVC squared": lambda: SVC(loss="squared_hinge"),
    "NuSVC": lambda: NuSVC(nu=0.2),
    "SVR": lambda: SVR(),
    "OneClassSVM": lambda: OneClassSVM(nu=0.1),
    "SVDD": lambda: SVDD(nu=0.1),
    "KernelRidge": lambda: KernelRidge(alpha=0.1),
    "LSSVC": lambda: LSSVC(alpha=0.1, fit_intercept=True),
    "KernelLogisticRegression": lambda: KernelLogisticRegression(),
}


def targets(machine, X):
    if isinstance(machine, OneClassSVM | SVDD):
        return None
    return np.sin(X[:, 0]) if isinstance(machine, SVR | KernelRidge) else classes(X)


def primal(machine):
    result = machine.result_
    return result.objective if isinstance(machine, KernelRidge | LSSVC) else -result.bound


def dual(machine):
    return machine.result_.bound if isinstance(machine, KernelRidge | LSSVC) else -machine.result_.objective


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("kind", MAPS)
def test_the_full_problem_is_bounded(name, kind):
    X, machine = vectors(), MACHINES[name]()
    kernel, features = MAPS[kind]
    y = targets(machine, X)
    full = clone(machine).set_params(kernel=kernel).fit(X, y)
    few = clone(machine).set_params(kernel=kernel, approximation=features).fit(X, y)
    certificate = few.full_certificate(X)
    slack = 1e-9 * (1.0 + abs(primal(full)))
    assert few.result_.status == "solved" and certificate.exact and certificate.gap > 0
    assert certificate.bound <= primal(full) + slack
    assert dual(full) <= certificate.objective + slack
    if kind != "directions":
        with pytest.raises(ValueError, match=f"exact must be True with a {type(features).__name__}, got False"):
            few.full_certificate(X, exact=False)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("kind", MAPS)
def test_blocks_files_and_copies(name, kind, tmp_path):
    X, machine = vectors(), MACHINES[name]()
    kernel, features = MAPS[kind]
    y = targets(machine, X)
    here = clone(machine).set_params(kernel=kernel, approximation=features).fit(X, y)
    there = clone(here).fit(BLOCKS, y)
    values = here.predict(X) if y is not None and y.dtype == float else here.decision_function(X)
    found = there.predict(BLOCKS) if y is not None and y.dtype == float else there.decision_function(BLOCKS)
    assert_allclose(found, values, rtol=1e-4, atol=1e-4)
    assert_array_equal(pickle.loads(pickle.dumps(here)).predict(X), here.predict(X))
    mercer.save(here, tmp_path / "machine.mercer")
    loaded = mercer.load(tmp_path / "machine.mercer")
    assert_array_equal(loaded.predict(X), here.predict(X))
    assert loaded.full_certificate(X) == here.full_certificate(X)


@pytest.mark.parametrize("kind", ["frequencies", "sketch"])
def test_linear_machines_on_the_features(kind):
    X = vectors()
    y, values = classes(X), np.sin(X[:, 0])
    kernel, features = MAPS[kind]
    machine = SVC(kernel, approximation=features, gap_tol=1e-8).fit(X, y)
    F = machine.approximation_.transform(X)
    linear = LinearSVC(gap_tol=1e-8).fit(F, y)
    assert machine.result_.objective == pytest.approx(linear.result_.objective, rel=1e-6)
    assert_allclose(machine.decision_function(X), linear.decision_function(F), atol=2e-2)
    assert_allclose(machine.decision_function(X), F @ machine.coef_[0] + machine.intercept_, atol=1e-9)
    assert len(machine.support_) == 0 and machine.support_vectors_.shape == (0, 3) and machine.n_support_.sum() == 0
    ridge = KernelRidge(kernel, alpha=0.1, fit_intercept=True, approximation=features).fit(X, values)
    assert_allclose(ridge.predict(X), Ridge(0.1).fit(F, values).predict(F), atol=1e-6)
    logistic = KernelLogisticRegression(kernel, approximation=features).fit(X, y)
    peer = LogisticRegression(tol=1e-10, max_iter=5000).fit(F, y)
    assert_allclose(logistic.predict_proba(X), peer.predict_proba(F), atol=1e-5)


def test_the_certificate_is_that_of_the_coefficients():
    """Objective and bound of the function with the coefficients of the dual, by their definitions."""
    X = vectors()
    y = classes(X)
    K, sign = KERNEL(X), np.where(classes(X) == 1, 1.0, -1.0)
    machine = SVC(KERNEL, approximation=RandomFourier(n_components=60), fit_intercept=False).fit(X, y)
    c = machine.sample_coef_.toarray()[0]
    certificate = machine.full_certificate(X)
    assert certificate.bound == pytest.approx(np.abs(c).sum() - 0.5 * c @ K @ c)
    assert certificate.objective == pytest.approx(0.5 * c @ K @ c + np.maximum(0.0, 1.0 - sign * (K @ c)).sum())
    values = np.sin(X[:, 0])
    ridge = KernelRidge(KERNEL, alpha=0.1, approximation=RandomFourier(n_components=60)).fit(X, values)
    a = ridge.sample_coef_[0]
    wanted = 0.5 * ((values - K @ a) ** 2).sum() + 0.05 * a @ K @ a
    assert ridge.full_certificate(X).objective == pytest.approx(wanted, rel=1e-8)
    logistic = KernelLogisticRegression(KERNEL, approximation=RandomFourier(n_components=60), fit_intercept=False)
    c = logistic.fit(X, y).sample_coef_[0]
    wanted = 0.5 * c @ K @ c + np.logaddexp(0.0, -sign * (K @ c)).sum()
    assert logistic.full_certificate(X).objective == pytest.approx(wanted, rel=1e-8)


def test_as_many_frequencies_as_it_takes():
    """The bounds come together."""
    X = vectors(200)
    gaps = []
    for m in (50, 500, 5000):
        machine = KernelLogisticRegression(KERNEL, approximation=RandomFourier(n_components=m, random_state=1))
        gaps.append(machine.fit(X, classes(X)).full_certificate(X).relative_gap)
    assert gaps[0] > 3 * gaps[1] > 9 * gaps[2]


@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("multi_class", ["ovo", "ovr", "dag", "crammer_singer"])
def test_several_classes(kind, multi_class):
    X = vectors(600)
    y = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.6, 0.6])
    kernel, features = MAPS[kind]
    full = SVC(kernel, multi_class=multi_class).fit(X, y)
    machine = clone(full).set_params(approximation=features).fit(X, y)
    assert machine.score(X, y) > 0.9
    certificate = machine.full_certificate(X)
    best = np.array([-part.bound for part in getattr(full.result_, "parts", None) or (full.result_,)])
    assert (certificate.bound <= best * (1 + 1e-9)).all() and (best <= certificate.objective * (1 + 1e-3)).all()
    blocks = RowBlocks([X[:100], X[100:]])
    assert_array_equal(machine.predict(blocks), machine.predict(X))


def test_predictions_in_portions(monkeypatch):
    X = vectors()
    y = np.digitize(X[:, 0], [-0.6, 0.6])
    for target in (y, y > 0):
        machine = SVC(KERNEL, approximation=RandomFourier(n_components=40)).fit(X, target)
        predicted, values = machine.predict(X), machine.decision_function(X)
        with monkeypatch.context() as patched:
            patched.setattr(
                mercer.machines.landmarks, "row_blocks", lambda n, m: (slice(i, i + 7) for i in range(0, n, 7))
            )
            assert_array_equal(machine.predict(X), predicted)
            assert_allclose(machine.decision_function(X), values, atol=1e-12)


def test_directions_are_landmarks_where_there_are_all():
    X = vectors(100)
    whole = SVC(KERNEL, approximation=MercerMap()).fit(X, classes(X))
    plain = SVC(KERNEL).fit(X, classes(X))
    assert whole.full_certificate(X).relative_gap < 2e-3
    assert_allclose(whole.decision_function(X), plain.decision_function(X), atol=2e-2)
    few = SVC(KERNEL, approximation=MercerMap(n_components=10)).fit(vectors(300), classes(vectors(300)))
    assert len(few.support_) == 40  # the samples whose leading directions these are
    assert_array_equal(few.support_vectors_, vectors(300)[few.support_])


def test_directions_of_words_and_matrices():
    X = words()
    y = np.array(["ab" in word for word in X])
    machine = KernelLogisticRegression(Spectrum(2), approximation=MercerMap(n_components=8)).fit(X, y)
    assert machine.score(X, y) > 0.9
    K = Spectrum(2)(X)
    given = KernelLogisticRegression("precomputed", approximation=MercerMap(n_components=8)).fit(K, y)
    assert_allclose(given.decision_function(K), machine.decision_function(X), atol=1e-7)
    assert given.full_certificate(K).gap == pytest.approx(machine.full_certificate(X).gap, rel=1e-6)


def test_another_fit_forgets_the_map():
    X = vectors()
    machine = SVC(KERNEL, approximation=RandomFourier(n_components=30)).fit(X, classes(X))
    machine.set_params(approximation=None).fit(X, classes(X))
    assert not hasattr(machine, "approximation_") and not hasattr(machine, "_noted")
    assert_array_equal(machine.predict(X), SVC(KERNEL).fit(X, classes(X)).predict(X))


def test_weights_are_repetitions():
    X = vectors(120)
    y, twice = classes(X), np.concatenate([np.arange(120), np.arange(60)])
    machine = KernelLogisticRegression("rbf", approximation=RandomFourier(n_components=50), tol=1e-9)
    one = clone(machine).fit(X, y, np.bincount(twice).astype(float))
    assert_allclose(one.decision_function(X), clone(machine).fit(X[twice], y[twice]).decision_function(X), atol=1e-6)


@pytest.mark.parametrize(
    ("machine", "X", "error", "message"),
    [
        (SVC(Spectrum(2), approximation=RandomFourier()), words(), DomainError, "RandomFourier works on vectors, got"),
        (SVC("precomputed", approximation=RandomFourier()), np.eye(80), DomainError, "RandomFourier works on vectors"),
        (SVC("poly", approximation=RandomFourier()), vectors(80), TypeError, "must have a known spectral measure"),
        (SVC("rbf", approximation=PolynomialSketch()), vectors(80), TypeError, "kernel must be"),
        (SVC(approximation=mercer.KernelPCA()), vectors(80), ValueError, "approximation must be None, an int >= 1"),
    ],
)
def test_what_does_not_fit_is_refused(machine, X, error, message):
    with pytest.raises(error, match=message):
        machine.fit(X, np.arange(80) % 2)


def test_other_rooms_want_support_vectors():
    X = vectors()
    machine = SVC(KERNEL, approximation=RandomFourier(n_components=30)).fit(X, classes(X))
    with pytest.raises(ValueError, match="LIBSVM's models have support vectors, and no features of RandomFourier"):
        as_model(machine)
    with pytest.raises(TypeError, match="needs a machine with support vectors"):
        feature_weights(machine)


def test_onnx_wants_support_vectors():
    pytest.importorskip("onnx")
    from mercer.compat.onnx import to_onnx

    X = vectors()
    for machine in (SVC(KERNEL), KernelRidge(KERNEL)):
        fitted = machine.set_params(approximation=RandomFourier(n_components=30)).fit(X, classes(X))
        with pytest.raises(ValueError, match="not for features of RandomFourier"):
            to_onnx(fitted)


def test_features_know_one_another():
    """The same sums, from a map of vectors as they are."""
    X, c = vectors(), np.random.default_rng(2).normal(size=N)
    given, mapped = LinearGram(X), MapGram(lambda X: X, 3, mercer.kernels.Linear(), X)
    assert_allclose(mapped.sums(c), given.sums(c), rtol=1e-12)
    assert_allclose(mapped.moments(c), given.moments(c), rtol=1e-10, atol=1e-9)
    assert isinstance(span_gram(X)[0], LandmarkGram) and not isinstance(mapped, LandmarkGram)
    assert isinstance(SVC(KERNEL, approximation=Nystroem(n_components=9)).fit(X, classes(X)).approximation_, Nystroem)


@parametrize_with_checks(
    [
        SVC(approximation=RandomFourier(n_components=20)),
        KernelRidge(approximation=RandomFourier(n_components=200)),
        KernelLogisticRegression(approximation=MercerMap(n_components=20)),
    ]
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)
