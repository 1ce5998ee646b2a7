"""Machines on more samples than memory has room for: the same as in memory, up to the gap."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from mercer import SVC, SVDD, SVR, Calibrated, NuSVC, NuSVR, OneClassSVM, QuantileSVR
from mercer.data import RowBlocks
from mercer.errors import NotSeparableError
from mercer.gram import BlocksGram, VectorGram
from mercer.kernels import RBF, Linear, Polynomial
from mercer.problems import soft_margin
from mercer.solvers import SMO, StreamingSMO

N, ROWS = 900, 130
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4))
VALUES = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.4 * RNG.normal(size=N)
TWO = np.where(VALUES > 0, "yes", "no")
FOUR = np.digitize(VALUES, [-1.2, -0.2, 0.9])
WEIGHT = RNG.integers(0, 3, N).astype(float)
# Megabytes in which SMALLEST_PART of the samples are worked on.
LITTLE = 0.01
MACHINES = {
    "SVC": (SVC(C=2.0), TWO),
    "SVC squared": (SVC(loss="squared_hinge"), TWO),
    "SVC no offset": (SVC(fit_intercept=False, class_weight="balanced"), TWO),
    "SVC large C": (SVC(RBF(gamma=1.0), C=1000.0), TWO),
    "SVC pairs": (SVC(C=2.0), FOUR),
    "SVC rest": (SVC(multi_class="ovr"), FOUR),
    "SVC one class each": (SVC(multi_class="one_class"), FOUR),
    "NuSVC": (NuSVC(nu=0.3), TWO),
    "NuSVC pairs": (NuSVC(nu=0.1), FOUR),
    "SVR": (SVR(C=3.0), VALUES),
    "SVR two outputs": (SVR(loss="quadratic"), np.column_stack([VALUES, X[:, 3]])),
    "NuSVR": (NuSVR(nu=0.3), VALUES),
    "QuantileSVR": (QuantileSVR(quantile=0.2), VALUES),
    "OneClassSVM": (OneClassSVM(nu=0.2), None),
    "SVDD": (SVDD(nu=0.1), None),
    "SVDD linear": (SVDD(Linear(), nu=0.1), None),
}


def blocks(rows=ROWS):
    return RowBlocks.from_array(X, rows=rows)


def values_of(machine, X):
    return machine.decision_function(X) if hasattr(machine, "decision_function") else machine.predict(X)


def streamed(machine, y, X=None, **fit):
    """Fitted in blocks; it must not have been brought into memory."""
    fitted = machine.set_params(memory=LITTLE).fit(blocks() if X is None else X, y, **fit)
    assert fitted.result_.kernel_evaluations > 0
    return fitted


@pytest.fixture(autouse=True)
def never_all(monkeypatch):
    """No more samples are fetched at once than have multipliers or are worked on."""
    fetch = RowBlocks.__getitem__

    def watched(self, rows):
        assert len(rows) < 0.9 * len(self)
        return fetch(self, rows)

    monkeypatch.setattr(RowBlocks, "__getitem__", watched)
    monkeypatch.setattr("mercer.solvers.streaming.SMALLEST_PART", 150)
    monkeypatch.setattr("mercer.gram.blocks.SEEN", 600)


@pytest.mark.parametrize("name", MACHINES)
def test_machines_are_those_of_samples_in_memory(name):
    machine, y = MACHINES[name]
    machine.set_params(tol=1e-4, memory="auto")
    wanted = values_of(machine.fit(X, y, sample_weight=WEIGHT), X)
    result, gamma = machine.result_, getattr(machine.kernel_, "gamma", None)
    there = streamed(machine, y, sample_weight=WEIGHT)
    assert there.result_.status == "solved"
    assert abs(there.result_.objective - result.objective) <= there.result_.gap + result.gap
    assert there.result_.relative_gap < 1e-2
    if isinstance(gamma, float):
        assert_allclose(there.kernel_.gamma, gamma, rtol=1e-12)
    found = values_of(there, blocks(77))
    assert_allclose(found, values_of(there, X), rtol=1e-12)
    if found.ndim == 1 or name == "SVR two outputs":  # others are votes
        assert_allclose(found, wanted, atol=5e-3 * np.abs(wanted).max())
    assert np.mean(there.predict(blocks(200)) == there.predict(X)) == 1.0
    assert_array_equal(there.support_vectors_, X[there.support_])


@pytest.mark.parametrize("name", ["SVC", "SVC squared", "NuSVC", "SVR", "OneClassSVM"])
def test_the_certificate_is_over_all_samples(name):
    """Computed again from the coefficients, with the whole matrix in obvious Python."""
    machine, y = MACHINES[name]
    there = streamed(machine, y)
    result = there.result_
    K = there.kernel_(X)
    gram, seen = VectorGram(there.kernel_, X), []
    fit_problems = type(there)._fit_problems

    def spy(self, problems, *rest):
        seen.extend(problems)
        return fit_problems(self, problems, *rest)

    type(there)._fit_problems = spy
    try:
        streamed(machine, y)
    finally:
        type(there)._fit_problems = fit_problems
    (problem,) = seen
    f = K @ np.bincount(problem.index, weights=problem.sign * result.a, minlength=N)
    gradient = problem.sign * f[problem.index] + problem.ridge * result.a + problem.linear
    assert_allclose(result.gradient, gradient, atol=1e-8)
    assert_allclose(result.objective, problem.objective(result.a, gradient), rtol=1e-9)
    assert_allclose(result.violation, problem.violation(result.a, gradient), atol=1e-8)
    assert_allclose(result.gap, problem.gap(result.a, gradient, result.offsets), rtol=1e-6, atol=1e-8)
    assert gram.n == problem.gram.n and isinstance(problem.gram, BlocksGram)


def test_the_objective_rises_in_every_round():
    for machine, y in (MACHINES["SVC large C"], MACHINES["NuSVC"], MACHINES["SVR"]):
        history = streamed(machine, y).result_.history
        assert len(history) > 3
        assert (np.diff(history.objective) > -1e-12 * np.abs(history.objective[1:])).all()


def test_what_memory_has_room_for_is_as_in_memory_to_the_bit(monkeypatch):
    monkeypatch.undo()
    plain, there = SVC().fit(X, TWO), SVC().fit(blocks(), TWO)
    assert_array_equal(plain.dual_coef_, there.dual_coef_)
    assert_array_equal(plain.intercept_, there.intercept_)
    assert_array_equal(plain.result_.history.objective, there.result_.history.objective)


def test_rows_may_come_from_anywhere(tmp_path):
    wanted = streamed(SVC(), TWO).decision_function(X)

    def pieces():
        return (X[first : first + 111] for first in range(0, N, 111))

    sparse = RowBlocks([csr_array(piece) for piece in pieces()])
    for rows in (RowBlocks(pieces), sparse):
        found = streamed(SVC(), TWO, rows).decision_function(X if rows is not sparse else csr_array(X))
        assert_allclose(found, wanted, atol=1e-9)
    stored = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=np.float64, shape=X.shape)
    stored[:] = X
    stored.flush()
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert_allclose(streamed(SVC(), TWO, mapped).decision_function(mapped), wanted, atol=1e-9)


def test_single_precision_and_kernels_in_python():
    single = RowBlocks.from_array(X.astype(np.float32), rows=200)
    machine = streamed(SVC(RBF(gamma=0.5)), TWO, single)
    assert machine.support_vectors_.dtype == np.float32
    wanted = SVC(RBF(gamma=0.5)).fit(X, TWO).decision_function(X)
    assert_allclose(machine.decision_function(X), wanted, atol=5e-3)
    combined = Polynomial(2, "scale", 1.0) + 0.5 * RBF()
    wanted = SVC(combined, tol=1e-4).fit(X, TWO).decision_function(X)
    assert_allclose(streamed(SVC(combined, tol=1e-4), TWO).decision_function(X), wanted, atol=5e-3)
    with pytest.warns(UserWarning, match="status indefinite"):  # it promises nothing, and the matrix is not looked at
        given = streamed(SVC(lambda A, B: np.asarray(A) @ np.asarray(B).T), TWO)
    wanted = SVC("linear").fit(X, TWO).decision_function(X)
    assert_allclose(given.decision_function(X), wanted, atol=5e-3)


def test_probabilities():
    machine = streamed(SVC(probability=True), TWO)
    wanted = SVC(probability=True).fit(X, TWO).predict_proba(X)
    assert_allclose(machine.predict_proba(X), wanted, atol=0.01)
    assert Calibrated(SVC(memory=LITTLE)).fit(blocks(), TWO).calibration_ is not None


def test_limits_are_kept_and_told():
    told = []
    with pytest.warns(UserWarning, match="status stopped"):
        machine = streamed(SVC(callback=lambda progress: told.append(progress) or len(told) > 3), TWO)
    assert machine.result_.status == "stopped" and np.isfinite(machine.result_.gap)
    assert [p.n_iter for p in told] == sorted(p.n_iter for p in told)
    with pytest.warns(UserWarning, match="max_iter"):
        assert streamed(SVC(max_iter=30), TWO).n_iter_ <= 60
    with pytest.warns(UserWarning, match="max_seconds"):
        streamed(SVC(max_seconds=1e-9), TWO)
    fitted = streamed(SVC(gap_tol=1e-7), TWO)
    assert fitted.result_.relative_gap <= 1e-7

    def interrupt(progress):
        raise KeyboardInterrupt

    before = fitted.intercept_
    with pytest.raises(KeyboardInterrupt):
        streamed(fitted.set_params(callback=interrupt), FOUR)
    assert fitted.intercept_ is before


def test_warm_starts():
    machine = streamed(SVC(C=2.0, warm_start=True), TWO)
    steps = machine.n_iter_
    streamed(machine, TWO)
    assert machine.n_iter_ < 0.1 * steps and machine.result_.status == "solved"


def test_hard_margins():
    apart = np.where(X[:, 0] > 0, 1, -1)
    shifted = X + 0.3 * apart[:, np.newaxis] * np.array([1.0, 0.0, 0.0, 0.0])
    rows = RowBlocks.from_array(shifted, rows=200)
    machine = streamed(SVC("linear", C=np.inf), apart, rows)
    assert_allclose(machine.margin_, SVC("linear", C=np.inf).fit(shifted, apart).margin_, rtol=1e-3)
    with pytest.raises(NotSeparableError):
        streamed(SVC("linear", C=np.inf), TWO)


def test_what_needs_all_samples_is_refused():
    with pytest.raises(ValueError, match="multi_class must be a scheme of several machines for more samples"):
        SVC(multi_class="crammer_singer", memory=LITTLE).fit(blocks(), FOUR)
    with pytest.raises(TypeError, match="needs X in memory, got RowBlocks"):
        SVC("precomputed").fit(blocks(), TWO)


def test_the_kernel_matrix_is_that_of_the_samples():
    kernel = RBF(gamma=0.3)
    gram, plain = BlocksGram(kernel, blocks(), LITTLE), VectorGram(kernel, X)
    some, others = np.array([5, 800, 3, 5]), np.array([700, 2, 899])
    assert_allclose(gram.rows(some), plain.rows(some), rtol=1e-12)
    assert_allclose(gram.square(some), plain.square(some), rtol=1e-12)
    assert_allclose(gram.part(some, others), plain.part(some, others), rtol=1e-12)
    assert_allclose(gram.diag(), plain.diag())
    V = RNG.normal(size=(N, 2)) * (RNG.random((N, 1)) < 0.3)
    assert_allclose(gram.dot(V), plain.dot(V), atol=1e-10)
    assert_allclose(gram.dot(V[:, 0]), plain.dot(V[:, 0]), atol=1e-10)
    assert_allclose(gram.dot_part(some, others, V[:3]), plain.dot_part(some, others, V[:3]), atol=1e-12)
    rows = csr_array(V.T)
    assert_allclose(gram.values_at(rows, some), plain.values_at(rows, some), atol=1e-10)
    total = np.zeros((N, 2))
    for place, values in gram.streamed(rows):
        total[place] += values
    assert_allclose(total, plain.dot(V), atol=1e-10)
    assert_array_equal(gram.restricted(some).rows(np.array([1])), plain.part(some[[1]], some))


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_change_nothing(threads):
    problem = soft_margin(BlocksGram(RBF(gamma=0.5), blocks(), LITTLE), np.where(VALUES > 0, 1.0, -1.0), np.ones(N))
    one = StreamingSMO(n_threads=1, size=100).solve(problem)
    assert_array_equal(StreamingSMO(n_threads=threads, size=100).solve(problem).a, one.a)


def test_a_part_as_large_as_all_is_solved_at_once():
    problem = soft_margin(VectorGram(RBF(gamma=0.5), X), np.where(VALUES > 0, 1.0, -1.0), np.ones(N))
    result = StreamingSMO(size=N).solve(problem)
    assert_allclose(result.objective, SMO().solve(problem).objective, rtol=1e-4)
    assert result.status == "solved" and len(result.history) <= 5
