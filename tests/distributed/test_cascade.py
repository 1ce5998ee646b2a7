"""Exact machines on blocks that stay on workers: the optimum over all samples, with its certificate."""

import os
import signal
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone

from mercer import SVC, SVDD, SVR, MKLClassifier, NuSVC, OneClassSVM
from mercer.data import RowBlocks
from mercer.errors import NotSeparableError
from mercer.gram import BlocksGram, MatrixGram
from mercer.kernels import RBF
from mercer.problems import DualProblem, epsilon_tube, nu_margin, one_class, soft_margin
from mercer.solvers import SMO

array = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

from mercer.distributed import Cascade, DaskGram, DaskRows  # noqa: E402
from mercer.distributed import cascade as cascade_module  # noqa: E402

N, CHUNK, KERNEL = 700, 120, RBF(gamma=0.4)


def vectors(n=N):
    return np.random.default_rng(0).normal(size=(n, 3))


def sides(X):
    return np.where(X[:, 0] + X[:, 1] ** 2 > 0.8, 1.0, -1.0)


def lazy(X, chunk=CHUNK):
    return array.from_array(X, chunks=(chunk, *X.shape[1:]))


def gram_of(X, chunk=CHUNK, kernel=KERNEL):
    return DaskGram(kernel, DaskRows(lazy(X, chunk)))


PROBLEMS = {
    "hinge": lambda gram, X: soft_margin(gram, sides(X), np.full(len(X), 2.0)),
    "squared hinge": lambda gram, X: soft_margin(gram, sides(X), np.full(len(X), 2.0), squared=True),
    "prices": lambda gram, X: soft_margin(gram, sides(X), np.random.default_rng(1).random(len(X)) + 0.1),
    "no offset": lambda gram, X: soft_margin(gram, sides(X), np.full(len(X), 2.0), bias=False),
    "some samples": lambda gram, X: soft_margin(gram, sides(X)[100:500], np.full(400, 2.0), index=np.arange(100, 500)),
    "tube": lambda gram, X: epsilon_tube(gram, np.sin(X[:, 0]), np.ones(len(X)), 0.1),
    "nu margin": lambda gram, X: nu_margin(gram, sides(X), 0.2, np.ones(len(X))),
    "one class": lambda gram, X: one_class(gram, 0.2, np.ones(len(X))),
}


def assert_optimal(result, problem: DualProblem, gap=1e-5):
    """The certificate is that of the point over all samples, computed again, and so good."""
    gradient = problem.gradient(result.a)
    assert_allclose(problem.feasible(result.a), result.a, atol=1e-12)
    assert_allclose(problem.objective(result.a, gradient), result.objective, rtol=1e-9)
    assert_allclose(problem.gap(result.a, gradient, result.offsets), result.gap, rtol=1e-4, atol=1e-9)
    assert result.status == "solved" and result.gap <= gap * abs(result.objective)


def test_assert_optimal_can_fail():
    X = vectors(80)
    problem = PROBLEMS["hinge"](MatrixGram(KERNEL(X)), X)
    good = SMO(gap_tol=1e-6).solve(problem)
    assert_optimal(good, problem)
    for wrong in (
        replace(good, gap=2.0 * good.gap + 1.0),
        replace(good, a=0.9 * good.a),
        replace(good, status="stalled"),
    ):
        with pytest.raises(AssertionError):
            assert_optimal(wrong, problem)


@pytest.mark.parametrize("order", ["as they come", "class by class", "one block"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_optimum_is_that_over_the_matrix(name, order):
    X = vectors()
    X = X[np.argsort(sides(X), kind="stable")] if order == "class by class" else X
    problem = PROBLEMS[name](MatrixGram(KERNEL(X)), X)
    far = PROBLEMS[name](gram_of(X, N if order == "one block" else CHUNK), X)
    found, wanted = Cascade(gap_tol=1e-6).solve(far), SMO(gap_tol=1e-7).solve(problem)
    assert_optimal(found, problem)
    assert_allclose(found.objective, wanted.objective, rtol=1e-5)
    assert found.history.iteration[-1] == found.n_iter and (np.diff(found.history.iteration) >= 0).all()


def test_products_are_those_over_blocks():
    X = vectors()
    far = gram_of(X)
    near = BlocksGram(KERNEL, RowBlocks([X[first : first + CHUNK] for first in range(0, N, CHUNK)]))
    rng = np.random.default_rng(0)
    rows = csr_array(np.where(rng.random((3, N)) < 0.1, rng.normal(size=(3, N)), 0.0))
    for one in (rows, rows[[0]]):
        for (place, values), (wanted_place, wanted) in zip(far.streamed(one), near.streamed(one), strict=True):
            assert place == wanted_place
            assert_array_equal(values, wanted)
    at = np.array([650, 3, 3, 120])
    assert_allclose(far.values_at(rows, at), rows @ KERNEL(X)[:, at], rtol=1e-12, atol=1e-12)
    assert_allclose(far.dot_part(at, np.array([7, 300]), np.eye(2)), KERNEL(X)[np.ix_(at, [7, 300])], rtol=1e-12)
    assert_allclose(far.dot(np.ones(N)), KERNEL(X).sum(axis=1), rtol=1e-12)
    assert_array_equal(far.diag(), near.diag())
    assert_array_equal(far.square(at), near.square(at))
    assert_array_equal(
        far.restricted(np.array([3, 650])).rows([0, 1]), near.restricted(np.array([3, 650])).rows([0, 1])
    )


# --- the tree ---------------------------------------------------------------------------------------------


def climbed(problem, **parameters):
    tree = cascade_module._Tree(Cascade(**parameters), cascade_module.DualProblems.of([problem]))
    return tree.climb()


def test_the_tree_ends_near_the_optimum(monkeypatch):
    """Its point satisfies the constraints, and is far better than that of the blocks alone."""
    X = vectors()
    problem = PROBLEMS["hinge"](gram_of(X), X)
    best = SMO(tol=1e-6).solve(PROBLEMS["hinge"](MatrixGram(KERNEL(X)), X)).objective
    (top,), n_iter, evaluations = climbed(problem)
    assert_allclose(problem.feasible(top), top)
    assert n_iter[0] > 0 and evaluations[0] > 0
    monkeypatch.setattr(DaskGram, "room", lambda self, memory: 0)
    (alone,), *_ = climbed(problem)
    of_top, of_blocks = (problem.objective(a, problem.gradient(a)) for a in (top, alone))
    assert best <= of_top <= 0.97 * best < 0.9 * best < of_blocks  # all are below zero


def test_nodes_are_no_larger_than_there_is_room(monkeypatch):
    X, seen = vectors(), []
    solved = cascade_module._solved

    def spy(shared, node):
        found = solved(shared, node)
        seen.append((len(node.X), len(found.X)))
        return found

    monkeypatch.setattr(cascade_module, "_solved", spy)
    monkeypatch.setattr(DaskGram, "room", lambda self, memory: 150)
    with dask.config.set(scheduler="synchronous"):
        (point,), *_ = climbed(PROBLEMS["hinge"](gram_of(X), X))
    leaves = -(-N // CHUNK)
    assert len(seen) > leaves and all(size <= 150 for size, _ in seen[leaves:])
    assert np.count_nonzero(point) <= sum(kept for _, kept in seen)
    assert Cascade().solve(PROBLEMS["hinge"](gram_of(X), X)).status == "solved"


def test_a_start_takes_the_place_of_the_tree(monkeypatch):
    X = vectors()
    problem = PROBLEMS["hinge"](gram_of(X), X)
    first = Cascade(tol=1e-4).solve(problem)
    monkeypatch.setattr(cascade_module, "_Tree", None)
    again = Cascade(tol=1e-3).solve(problem, first.a)
    assert again.n_iter == 0
    assert_array_equal(again.a, first.a)


def test_limits():
    X = vectors()
    problem = PROBLEMS["hinge"](gram_of(X), X)
    told = []
    stopped = Cascade(tol=1e-9).solve(problem, callback=lambda progress: told.append(progress) or len(told) == 2)
    assert stopped.status == "stopped" and len(told) == 2
    assert Cascade(tol=1e-9, max_seconds=1e-6).solve(problem).status == "max_seconds"
    for result in (stopped, Cascade(max_iter=1).solve(problem)):
        assert result.status != "solved"
        assert_allclose(problem.gap(result.a, problem.gradient(result.a), result.offsets), result.gap, rtol=1e-6)


def test_other_matrices_are_refused():
    with pytest.raises(ValueError, match="Cascade needs a DaskGram, got a MatrixGram; see StreamingSMO"):
        Cascade().solve(PROBLEMS["hinge"](MatrixGram(KERNEL(vectors())), vectors()))
    assert Cascade().solve_many([]) == []


# --- machines ---------------------------------------------------------------------------------------------

MACHINES = {
    "SVC": SVC(gap_tol=1e-6),
    "SVC squared": SVC(loss="squared_hinge", gap_tol=1e-6),
    "SVC balanced": SVC(class_weight="balanced", gap_tol=1e-6),
    "SVR": SVR(gap_tol=1e-6),
    "NuSVC": NuSVC(nu=0.2, gap_tol=1e-6),
    "OneClassSVM": OneClassSVM(nu=0.2, gap_tol=1e-6),
    "SVDD": SVDD(nu=0.2, gap_tol=1e-6),
}


@pytest.mark.parametrize("name", MACHINES)
def test_machines_are_those_of_one_machine(name):
    machine, X = MACHINES[name], vectors()
    y = np.sin(X[:, 0]) if name == "SVR" else np.where(sides(X) > 0, "in", "out")
    weight = np.random.default_rng(1).random(N)
    weight[:5] = 0.0
    far = clone(machine).fit(lazy(X), lazy(y), sample_weight=lazy(weight))
    near = clone(machine).fit(X, y, sample_weight=weight)
    assert_allclose(far.kernel_.gamma, near.kernel_.gamma, rtol=1e-12)
    assert far.result_.status == "solved" and far.result_.relative_gap <= 1e-6
    assert_allclose(far.result_.objective, near.result_.objective, rtol=2e-6)
    wanted = near.predict(X) if name == "SVR" else near.decision_function(X)
    says = far.predict(lazy(X)) if name == "SVR" else far.decision_function(lazy(X))
    assert_allclose(says.compute(), wanted, rtol=0, atol=5e-3 * np.abs(wanted).max())
    assert_array_equal(far.support_vectors_, X[far.support_])
    assert not np.isin(np.arange(5), far.support_).any()


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_several_classes(multi_class):
    X = vectors()
    y = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.3, 1.2])
    machine = SVC(multi_class=multi_class, gap_tol=1e-6)
    far, near = clone(machine).fit(lazy(X), y), clone(machine).fit(X, y)
    assert len(far.result_.parts) == 3 and all(part.relative_gap <= 1e-6 for part in far.result_.parts)
    for one, other in zip(far.result_.parts, near.result_.parts, strict=True):
        assert_allclose(one.objective, other.objective, rtol=2e-6)
    assert np.mean(far.predict(X) == near.predict(X)) > 0.99


def test_the_hard_margin():
    X = vectors()
    clear = X[np.abs(X[:, 0]) > 0.2]
    far = SVC(RBF(0.1), C=np.inf, gap_tol=1e-3).fit(lazy(clear), clear[:, 0] > 0)
    near = SVC(RBF(0.1), C=np.inf, gap_tol=1e-3).fit(clear, clear[:, 0] > 0)
    assert_allclose(far.margin_, near.margin_, rtol=2e-3)
    with pytest.raises(NotSeparableError):
        SVC("linear", C=np.inf).fit(lazy(X), sides(X))


def test_probabilities():
    X = vectors()
    far = SVC(probability=True, gap_tol=1e-6).fit(lazy(X), sides(X))
    near = SVC(probability=True, gap_tol=1e-6).fit(X, sides(X))
    assert_allclose(far.predict_proba(lazy(X)).compute(), near.predict_proba(X), atol=5e-3)


def test_what_needs_samples_in_memory_says_so():
    X = vectors()
    with pytest.raises(ValueError, match="multi_class must be a scheme of several machines"):
        SVC(multi_class="crammer_singer").fit(lazy(X), np.digitize(X[:, 0], [-0.5, 0.5]))
    with pytest.raises(TypeError, match="MKLClassifier needs X in memory, got a Dask collection"):
        MKLClassifier().fit(lazy(X), sides(X))


# --- on workers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["nobody is killed", "in the tree", "in a pass"])
def test_on_workers(client, monkeypatch, when):
    """The same to the last bit as without workers, also where one of them is killed."""
    X = vectors()
    machine, y = SVC(KERNEL, gap_tol=1e-6), np.digitize(X[:, 0] + X[:, 1] ** 2, [0.3, 1.2])
    with dask.config.set(scheduler="threads"):
        monkeypatch.setattr("mercer.distributed.engine._client", lambda: None)
        wanted = clone(machine).fit(lazy(X), y)
        monkeypatch.undo()
    before = set(client.run(os.getpid).values())
    calls = []

    def kills(method):
        def killing(self, *arguments):
            if not calls:
                os.kill(min(before), signal.SIGKILL)
            calls.append(when)
            return method(self, *arguments)

        return killing

    if when == "in the tree":
        limited = cascade_module._Tree._limited
        monkeypatch.setattr(cascade_module._Tree, "_limited", property(kills(limited.fget)))
    elif when == "in a pass":
        monkeypatch.setattr(DaskGram, "_pass", kills(DaskGram._pass))
    found = clone(machine).fit(lazy(X), y)
    assert_array_equal(found.dual_coef_.toarray(), wanted.dual_coef_.toarray())
    assert_array_equal(found.intercept_, wanted.intercept_)
    assert len(before - set(client.run(os.getpid).values())) == (when != "nobody is killed")
