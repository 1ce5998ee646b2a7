"""Many problems in flat arrays: the same problems, results and machines as one by one."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference.conic import FORMULATIONS, random_problem
from scipy.sparse import random_array
from solving import assert_same_bits, several_problems
from test_hard_margin import hard

from mercer import _native
from mercer.gram import VectorGram
from mercer.kernels import RBF
from mercer.multiclass import OneVersusOne, OneVersusRest
from mercer.problems import DualProblem, DualProblems, soft_margin
from mercer.segments import Segments, joined
from mercer.solvers import SMO, SolverResult, SolverResults, certify, combine
from mercer.solvers import base as solvers_base
from mercer.svm import SVC, NuSVC, margins


def problems_of_many_kinds():
    X = np.random.default_rng(0).normal(size=(90, 3))
    return several_problems(VectorGram(RBF(gamma=0.5), X))


def corners(n_classes, n=120, seed=0, spread=0.6):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    centres = rng.normal(size=(n_classes, 4)) * 1.5
    return centres[y] + spread * rng.normal(size=(n, 4)), y


# --- stretches of arrays ----------------------------------------------------------------------------------


def test_segments():
    values, sizes = np.random.default_rng(0).normal(size=12), [3, 0, 1, 8, 0]
    parts = Segments.of_sizes(sizes)
    pieces = np.split(values, np.cumsum(sizes)[:-1])
    assert len(parts) == 5 and parts.sizes.tolist() == sizes
    assert_allclose(parts.sum(values), [piece.sum() for piece in pieces], atol=1e-14)
    assert_array_equal(parts.min(values), [piece.min(initial=np.inf) for piece in pieces])
    assert_array_equal(parts.repeat(np.arange(5)), np.repeat(np.arange(5), sizes))
    for part, piece in zip(parts, pieces, strict=True):
        assert_array_equal(values[part], piece)
    own, where = parts.stretch(range(1, 4))
    assert own.starts.tolist() == [0, 0, 1, 9]
    assert_array_equal(values[where], values[3:])
    nothing = Segments.of_sizes([0, 0])
    assert_array_equal(nothing.sum(np.empty(0)), [0.0, 0.0])


def test_sums_depend_on_their_own_entries_alone():
    values = np.random.default_rng(0).normal(size=1000)
    alone = Segments.of_sizes([300]).sum(values[500:800])
    assert_array_equal(Segments.of_sizes([500, 300, 200]).sum(values)[1:2], alone)


def test_joined():
    @dataclass(frozen=True)
    class Batch:
        parts: Segments
        values: np.ndarray
        name: str

    first = Batch(Segments.of_sizes([1, 2]), np.arange(3), "a")
    second = Batch(Segments.of_sizes([0, 1]), np.arange(1), "a")
    both = joined([first, second])
    assert both.parts.sizes.tolist() == [1, 2, 0, 1] and both.values.tolist() == [0, 1, 2, 0] and both.name == "a"
    assert joined([first]) is first


# --- problems ---------------------------------------------------------------------------------------------


def test_problems_come_back_as_they_were():
    problems, starts = problems_of_many_kinds()
    batch = DualProblems.of(problems)
    assert len(batch) == len(problems) and DualProblems.of(batch) is batch
    for one, other, start, wanted in zip(problems, batch, starts, batch.wanted, strict=True):
        for name in ("index", "sign", "linear", "upper", "ridge"):
            assert_array_equal(getattr(one, name), getattr(other, name))
        assert (one.gram, one.total, one.scaled) == (other.gram, other.total, other.scaled)
        assert type(one.total) is type(other.total)
        assert wanted == one._wanted
        assert_array_equal(other.feasible(start), one.feasible(start))
    points = batch.feasible(starts)
    for part, problem, start in zip(batch.parts, problems, starts, strict=True):
        assert_array_equal(points[part], problem.feasible(start))
    assert batch[-1].total == problems[-1].total and len(batch[2:5]) == 3
    with pytest.raises(IndexError):
        batch[len(problems)]


def test_one_problem_is_split():
    X, y = corners(2)
    gram, sign = VectorGram(RBF(gamma=0.5), X), np.where(y == 1, 1.0, -1.0)
    parts = Segments.of_sizes([50, 0, 70])
    split = DualProblems.split(soft_margin(gram, sign, np.full(120, 2.0)), parts)
    for part, problem in zip(parts, split, strict=True):
        alone = soft_margin(gram, sign[part], np.full(len(sign[part]), 2.0), index=np.arange(120)[part])
        assert_array_equal(problem.index, alone.index)
        assert_array_equal(problem.upper, alone.upper)
        assert problem.total == alone.total == 0.0
    assert [problem.total for problem in DualProblems.split(soft_margin(gram, sign, sign + 2, bias=False), parts)] == [
        None
    ] * 3


# --- results ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_iter", [1, 10, None])
def test_the_native_certificate_is_that_of_the_problem(max_iter):
    """Also far from the optimum, where offsets, gap and violation are of every kind."""
    problems, starts = problems_of_many_kinds()
    problems = [*problems, *(random_problem(formulation, 3) for formulation in FORMULATIONS)]
    problems += [hard([[0.0], [1.0], [3.0]], [-1, -1, 1]), hard([[1.0], [2.0]], [1, 1], bias=False)]
    starts += [None] * (len(problems) - len(starts))
    for problem, start in zip(problems, starts, strict=True):
        result = SMO(max_iter=max_iter).solve(problem, start)
        again = certify(
            problem,
            result.a,
            result.gradient,
            status="solved",
            n_iter=0,
            seconds=0.0,
            kernel_evaluations=0,
            history=result.history,
        )
        size = {"rel": 1e-11, "abs": 1e-11}
        for name in ("objective", "gap", "violation", "imbalance"):
            assert getattr(result, name) == pytest.approx(getattr(again, name), **size), name
        assert result.offsets == pytest.approx(again.offsets, **size)


def test_results_in_flat_arrays():
    problems, starts = problems_of_many_kinds()
    one_by_one = SMO().solve_many(problems, starts)
    assert isinstance(one_by_one, list)
    flat = SolverResults.of(one_by_one)
    for results in (flat, flat[:], pickle.loads(pickle.dumps(flat)), joined([flat[:4], flat[4:]])):
        assert len(results) == len(problems)
        for one, other in zip(one_by_one, results, strict=True):
            assert_same_bits(one, other)
            assert type(other.n_iter) is int and type(other.objective) is float
    for one, other in zip(one_by_one[3:6], flat[3:6], strict=True):
        assert_same_bits(one, other)
    whole, again = combine(one_by_one), combine(flat)
    assert again.parts is flat and whole.parts == tuple(one_by_one)
    assert (whole.objective, whole.status, whole.n_iter) == (again.objective, again.status, again.n_iter)
    assert combine(flat[:1]).objective == one_by_one[0].objective
    with pytest.raises(IndexError):
        flat[len(problems)]


def test_a_batch_is_solved_as_a_list_is():
    X, y = corners(3)
    plan = OneVersusOne().plan(3)
    tasks = plan.tasks(y, np.ones(len(y)))
    gram = VectorGram(RBF(gamma=0.5), X)
    split = DualProblems.split(
        soft_margin(gram, tasks.sign, np.ones(len(tasks.sign)), index=tasks.samples), tasks.parts
    )
    together = SMO().solve_many(split)
    assert isinstance(together, SolverResults)
    for one, other in zip(SMO().solve_many(list(split)), together, strict=True):
        assert_same_bits(one, other)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"starts": np.array([0, 3, 2, 4])}, "begin one after the other"),
        ({"starts": np.array([0, 3])}, "begin one after the other"),
        ({"starts": np.array([], dtype=np.int64)}, "begin one after the other"),
        ({"sign": np.ones(3)}, "the same length"),
        ({"index": np.array([0, 1, 2, 9])}, "index out of range"),
        ({"equality": np.array([1, 7], dtype=np.int8)}, "unknown equality"),
        ({"equality": np.array([1], dtype=np.int8)}, "every problem has an equality"),
        ({"totals": np.zeros((2, 1))}, "every problem has an equality"),
    ],
)
def test_what_is_no_batch_is_refused(what, message):
    flat = {
        "starts": np.array([0, 2, 4]),
        "index": np.arange(4),
        **{name: np.ones(4) for name in ("sign", "linear", "upper", "ridge")},
        "equality": np.ones(2, dtype=np.int8),
        "totals": np.zeros((2, 2)),
        "scaled": np.zeros(2, dtype=bool),
    }
    limits = (1e-3, "gain", 10, np.inf, True, False, 0.0, 1 << 20, 1)
    _native.solve_many(("matrix", np.eye(4)), tuple(flat.values()), np.zeros(4), *limits)
    with pytest.raises(ValueError, match=message):
        _native.solve_many(("matrix", np.eye(4)), tuple({**flat, **what}.values()), np.zeros(4), *limits)


# --- tasks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", [OneVersusOne(), OneVersusRest(balanced=True), OneVersusRest(targets="lee")])
def test_tasks_are_those_of_every_machine_alone(scheme):
    """A naive twin: the samples of the classes that a machine sees, in ascending order, on their sides."""
    rng = np.random.default_rng(0)
    codes, weight = rng.integers(-1, 5, size=60), rng.uniform(1, 2, size=60)
    plan = scheme.plan(6)  # of the last class there is no sample
    code = plan.code.toarray()
    tasks = plan.tasks(codes, weight, range(1, plan.n_machines - 1))
    assert_array_equal(tasks.parts.sizes, plan.sizes(codes)[1:-1])
    for row, task in zip(code[1:-1], tasks, strict=True):
        side = np.where(codes >= 0, row[codes], 0.0)
        assert_array_equal(task.index, np.flatnonzero(side))
        assert_array_equal(task.sign, side[task.index])
        if isinstance(scheme, OneVersusRest) and scheme.balanced:
            share = weight[task.index].sum() / 2
            expected = [share / weight[task.index][task.sign == s].sum() for s in task.sign]
            assert_allclose(task.cost, expected)
        else:
            assert_array_equal(task.cost, np.ones(len(task.index)))


# --- machines ---------------------------------------------------------------------------------------------


def test_no_python_for_every_pair(monkeypatch):
    """Neither a problem nor a result is made for each of the pairs, until somebody looks at one."""
    made = []
    monkeypatch.setattr(DualProblem, "of_checked", classmethod(lambda cls, **fields: made.append(cls)))
    monkeypatch.setattr(solvers_base, "SolverResult", lambda **fields: made.append(1) or SolverResult(**fields))
    X, y = corners(12)
    machine = SVC().fit(X, y)
    assert len(machine.result_.parts) == 66 and len(made) <= 5
    assert machine.result_.parts[65].status == "solved"


@pytest.mark.parametrize(
    "make", [SVC, lambda: NuSVC(nu=0.2), lambda: SVC(multi_class="ovr"), lambda: SVC(probability=True)]
)
def test_problems_that_are_written_down_in_several_goes(make, monkeypatch):
    X, y = corners(5)
    at_once = make().fit(X, y)
    monkeypatch.setattr(margins, "AT_ONCE", 100)
    in_parts = make().fit(X, y)
    assert_array_equal(at_once.dual_coef_.toarray(), in_parts.dual_coef_.toarray())
    assert_array_equal(at_once.intercept_, in_parts.intercept_)
    assert_array_equal(at_once.slack_.toarray(), in_parts.slack_.toarray())
    assert_array_equal(at_once.decision_function(X), in_parts.decision_function(X))
    for one, other in zip(at_once.result_.parts, in_parts.result_.parts, strict=True):
        assert_same_bits(one, other)


def test_warm_start_in_several_goes(monkeypatch):
    """Every go finds the last solutions of its own problems."""
    monkeypatch.setattr(margins, "AT_ONCE", 100)
    X, y = corners(5)
    machine = SVC(warm_start=True).fit(X, y)
    steps = machine.n_iter_
    assert machine.fit(X, y).n_iter_ <= max(10, steps // 10)


def test_stretches(monkeypatch):
    monkeypatch.setattr(margins, "AT_ONCE", 10)
    found = list(margins.stretches(np.array([3, 3, 4, 1, 20, 9, 1])))
    assert found == [range(3), range(3, 4), range(4, 5), range(5, 7)]


def test_small_problems_end_by_newton_steps():
    """Text with a large price: all variables are free, and pairs alone would take a thousand steps."""
    X = random_array((120, 3000), density=0.02, random_state=np.random.default_rng(0), format="csr")
    y = np.arange(120) % 2
    machine = SVC(kernel="linear", C=10.0).fit(X, y)
    assert machine.result_.violation <= 1e-12 and machine.result_.n_iter <= 4 * 120
    assert ((machine.result_.a > 0) & (machine.result_.a < 10.0)).sum() > 100
