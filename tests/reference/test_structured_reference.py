"""Solvers of structured outputs against a conic solver that is given all outputs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference.structured import EnumeratedProblem
from registry import EXACT_STRUCTURED_SOLVERS, STRUCTURED_SOLVERS
from sklearn.datasets import load_iris

from mercer.solvers.structured import NSlack
from mercer.solvers.structured.planes import PlaneSet
from mercer.structured import Multiclass, StructuredSVM
from mercer.structured.problem import ModelProblem
from mercer.svm import SVC

pytest.importorskip("clarabel")

every_solver = pytest.mark.parametrize("make", STRUCTURED_SOLVERS.values(), ids=STRUCTURED_SOLVERS.keys())
every_exact_solver = pytest.mark.parametrize(
    "make", EXACT_STRUCTURED_SOLVERS.values(), ids=EXACT_STRUCTURED_SOLVERS.keys()
)
SEEDS = range(4)


@every_exact_solver
@pytest.mark.parametrize("seed", SEEDS)
def test_the_optimum(make, seed):
    problem = EnumeratedProblem.random(seed)
    result, optimum = make().set_params(gap_tol=1e-7).solve(problem), problem.optimum()
    assert result.status == "solved"
    assert result.primal_objective == pytest.approx(optimum, rel=1e-6)
    assert result.dual_objective == pytest.approx(optimum, rel=1e-6)


@every_solver
@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_hold_however_short_the_run(make, seed):
    problem = EnumeratedProblem.random(seed)
    optimum = problem.optimum()
    for most in (1, 3, 10):
        result = make().set_params(gap_tol=1e-12, max_iter=most).solve(problem)
        assert result.dual_objective <= optimum * (1 + 1e-9)
        assert result.primal_objective >= optimum * (1 - 1e-9)
        assert result.primal_objective == pytest.approx(problem.objective(result.w), rel=1e-12)
        assert result.gap >= result.primal_objective - optimum - 1e-9 * optimum


@pytest.mark.parametrize("scale", [1e-3, 1e3, 1e6])
def test_any_price(scale):
    """Planes that depend on each other: large prices push all weights against their bounds."""
    problem = EnumeratedProblem.random(5, n=40, k=4, scale=scale)
    result = NSlack(gap_tol=1e-7, max_iter=50).solve(problem)
    assert result.status == "solved"
    assert result.primal_objective == pytest.approx(problem.optimum(), rel=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("one_block", [False, True])
def test_plane_sets_solve_the_dual_of_their_planes(seed, one_block):
    """`BlockSimplexProblem` says what that dual is; the planes of one block are as good as those of many."""
    problem = EnumeratedProblem.random(seed, n=1 if one_block else 12, k=60 if one_block else 5, scale=30.0)
    block, planes = problem.all_planes()
    known = PlaneSet.of(problem)
    known.visit(block, planes)
    gap = known.solve(1e-9 * problem.optimum(), 1000)
    w, loss = known.point()
    dual = problem.block_simplex()
    slopes = planes.psi @ w - planes.loss
    assert loss - 0.5 * w @ w == pytest.approx(problem.optimum(), rel=1e-8)
    assert 0.0 <= gap <= 1e-9 * problem.optimum()
    # The gap is by blocks: what the multipliers own, and the smallest slope.
    own = known.gaps(problem.cost, -dual.least(slopes))
    assert own.sum() == pytest.approx(problem.objective(w) - (loss - 0.5 * w @ w), abs=1e-9 * problem.optimum())


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_classes_written_down(rescaling):
    X, y = load_iris(return_X_y=True)
    model = Multiclass(bias=1.0, cost_matrix=[[0, 1, 3], [1, 0, 2], [4, 1, 0]]).resolve(X, y)
    samples = model.prepare(X)
    problem = ModelProblem(model, samples, model.encode(samples, y), np.full(len(y), 0.3), rescaling)
    result = NSlack(gap_tol=1e-8).solve(problem)
    written = EnumeratedProblem.of(problem, [0, 1, 2])
    order = np.argsort(np.arange(3) != y[:, np.newaxis], axis=1, kind="stable")  # the right one first
    rows = np.arange(len(y))[:, np.newaxis]
    written = EnumeratedProblem(written.psi[rows, order], written.loss[rows, order], written.cost)
    assert result.primal_objective == pytest.approx(written.optimum(), rel=1e-6)


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_classes_are_crammer_and_singers_machine(C):
    X, y = load_iris(return_X_y=True)
    X = X - X.mean(axis=0)
    machine = StructuredSVM(Multiclass(), C=C, algorithm="n-slack", gap_tol=1e-10).fit(X, y)
    same = SVC("linear", C=C, multi_class="crammer_singer", fit_intercept=False, tol=1e-9).fit(X, y)
    assert_allclose(machine.coef_ @ machine.coef_, np.sum(same.coef_**2), rtol=1e-5)
    scores = X @ machine.coef_.reshape(3, -1).T
    assert_allclose(scores, same.decision_function(X), atol=1e-4 * np.abs(scores).max())
    assert machine.result_.primal_objective == pytest.approx(same.result_.primal_objective, rel=1e-6)
