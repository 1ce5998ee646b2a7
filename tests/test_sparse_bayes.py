"""Sparse Bayesian learning: why sparsity arises, what the solver promises, limits, designs."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from registry import SPARSE_BAYES_SOLVERS
from sklearn.base import clone

from mercer.gram import Design, KernelDesign, MatrixDesign, StackedDesign, kernel_design
from mercer.kernels import RBF, Spectrum
from mercer.problems import Gamma, SparseBayesProblem
from mercer.solvers import SparseBayes
from mercer.solvers.sparse_bayes import best_precision, gain_at, sequential
from mercer.solvers.sparse_bayes.models import LaplaceModel
from mercer.solvers.sparse_bayes.posterior import Posterior, Step
from mercer.threads import limit_threads

ALGORITHMS = ["sequential", "reestimation", "em"]
LIKELIHOODS = ["gaussian", "logistic", "softmax"]
PRIORS = [Gamma(), Gamma(0.0, 1e-3), Gamma(0.5, 2.0), Gamma(1e-4, 1e-4)]
every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)
every_likelihood = pytest.mark.parametrize("likelihood", LIKELIHOODS)


def posed(likelihood="gaussian", n=40, m=15, seed=0, **options):
    """Some random basis functions, three of which matter."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(m, n))
    F = np.array([[2.0, -1.5, 0.0], [0.0, 1.0, 1.5], [-1.0, 0.0, 0.0]]) @ rows[:3]
    if likelihood == "gaussian":
        targets = F[:1].T + 0.3 * rng.normal(size=(n, 1))
    elif likelihood == "logistic":
        targets = (F[:1].T + rng.logistic(size=(n, 1)) > 0).astype(float)
    else:
        targets = np.eye(3)[np.argmax(F + rng.gumbel(size=F.shape), axis=0)]
    options = {"weight": np.ones(n)} | options
    return SparseBayesProblem(MatrixDesign(rows), targets, likelihood=likelihood, **options)


# --- why sparsity arises ----------------------------------------------------------------------------------


def test_the_two_cases_of_the_book():
    alpha, gain = best_precision(np.array([1.0, 2.0]), np.array([2.0, 1.0]))  # [B fig 7.11]
    assert_allclose(alpha, [1 / 3, np.inf], rtol=1e-14)
    assert gain[0] > gain[1] == 0.0
    assert_allclose(gain[0], gain_at(1 / 3, 1.0, 2.0), rtol=1e-14)


@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_the_best_precision_is_the_best_of_a_grid(rng, prior):
    s = 10.0 ** rng.uniform(-6, 8, size=200)
    q = np.sqrt(s) * 10.0 ** rng.uniform(-1, 3, size=200)
    alpha, gain = best_precision(s, q, prior)
    grid = s[:, np.newaxis] * 10.0 ** np.linspace(-10, 10, 2001)
    best = np.maximum(gain_at(grid, s[:, np.newaxis], q[:, np.newaxis], prior).max(axis=1), 0.0)
    assert (gain >= best - 1e-12 * (1 + best)).all()
    assert_allclose(gain, best, rtol=1e-3, atol=1e-3)
    inside = np.isfinite(alpha)
    assert inside.any() and not inside.all()
    assert_allclose(gain_at(alpha, s, q, prior), gain, rtol=1e-9, atol=1e-12)
    assert_array_equal(gain[~inside], 0.0)


def test_priors_are_scaled_to_a_mode_of_one():
    prior = Gamma(2.0, 4.0)
    assert prior.log_density(0.5) == 0.0 == prior.log_density(np.inf)
    p = np.array([0.1, 0.4, 0.6, 3.0])
    assert (prior.log_density(p) < 0).all()
    density = 2.0 * np.log(p) - 4.0 * p
    assert_allclose(np.diff(prior.log_density(p)), np.diff(density), rtol=1e-12)
    assert_allclose(Gamma(0.0, 3.0).log_density(p), -3.0 * p)
    assert not Gamma() and prior


# --- laws -------------------------------------------------------------------------------------------------


@every_algorithm
@every_likelihood
@pytest.mark.parametrize("prior", [Gamma(), Gamma(0.1, 0.1)], ids=str)
def test_the_evidence_never_falls(algorithm, likelihood, prior):
    for seed in range(3):
        problem = posed(likelihood, seed=seed, precision_prior=prior)
        seen = []
        result = SparseBayes(algorithm).solve(problem, callback=lambda progress: seen.append(progress.objective))  # noqa: B023
        history = result.history
        assert (np.diff(history.log_evidence) >= 0).all()
        assert (np.diff(seen) >= -1e-9).all()
        assert result.log_evidence + prior.log_density(result.alpha).sum() >= seen[-1] - 1e-9
        assert history.log_evidence[-1] - history.log_evidence[0] > 1.0
        priced = result.log_evidence + prior.log_density(result.alpha).sum()
        assert_allclose(history.log_evidence[-1], priced, rtol=1e-9)
        assert (np.diff(history.iteration) >= 0).all()
        assert (history.iteration[-1], history.size[-1] >= len(result.members)) == (result.n_iter, True)
        assert result.status == "local"


@every_likelihood
def test_re_estimation_from_afar_never_lowers_the_evidence(likelihood):
    problem = posed(n=10, m=50, seed=2) if likelihood == "gaussian" else kernels(0, likelihood, n=20)
    start, seen = np.full(problem.n_weights, 1e-10 if likelihood == "gaussian" else 1e-6), []
    result = SparseBayes("reestimation", tol=1e-3).solve(
        problem, start, callback=lambda progress: seen.append(progress.objective)
    )
    assert (np.diff(seen) >= -1e-9).all()
    assert result.log_evidence >= seen[-1] - 1e-9
    if likelihood == "gaussian":  # some of the steps would have lowered it, and are those of EM
        assert {"re-estimate", "expectation"} <= set(result.history.kind)
        assert result.stationarity <= 1e-3


def test_steps_that_do_not_bring_what_they_promise_are_taken_back(monkeypatch):
    problem, seen, promised = posed(), [], Posterior.best_step

    def best_step(self, barred=None):
        step = promised(self, barred)
        if step.gain > 0.01 or self.m == 1:
            return step
        return Step(int(self.members[np.argmin(self.alpha)]), np.inf, 5.0)

    monkeypatch.setattr(Posterior, "best_step", best_step)
    result = SparseBayes().solve(problem, callback=lambda progress: seen.append(progress.objective))
    assert (np.diff(seen) >= 0).all()
    assert (np.diff(result.history.log_evidence) >= 0).all()
    assert_allclose(result.log_evidence, seen[-1], atol=1e-9)


@pytest.mark.parametrize("seed", range(2))
@every_likelihood
def test_algorithms_reach_the_same_evidence_from_the_same_start(likelihood, seed):
    problem = posed(likelihood, n=120, m=5, seed=seed)  # so much data that there is one maximum
    start = np.full(problem.n_weights, 1.0)
    found = {name: SparseBayes(name, tol=1e-3).solve(problem, start) for name in ALGORITHMS}
    first = found["sequential"].history.log_evidence[0]
    for result in found.values():
        assert_allclose(result.history.log_evidence[0], first, rtol=1e-12)
        assert_allclose(result.log_evidence, found["em"].log_evidence, atol=0.02)


@pytest.mark.parametrize("seed", range(8))
def test_no_step_is_left_where_it_ends(seed):
    for tol in (1e-2, 1e-6):
        result = SparseBayes(tol=tol).solve(posed(n=30, m=40, seed=seed))
        assert result.status == "local"
        assert result.violation <= tol


def kernels(seed, likelihood="gaussian", n=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    t = np.sin(2 * X[:, :1]) + 0.1 * rng.normal(size=(n, 1))
    if likelihood == "logistic":
        t = (t > 0).astype(float)
    elif likelihood == "softmax":
        t = np.eye(3)[np.digitize(t[:, 0], [-0.4, 0.4])]
    return SparseBayesProblem(MatrixDesign(RBF(gamma=0.5)(X)), t, np.ones(n), likelihood)


@pytest.mark.parametrize("seed", [22, 30, 52])
def test_no_step_is_left_among_kernels_either(seed):
    """22: a precision would change by a factor of 60; 30 and 52: a step appears with the last precisions."""
    result = SparseBayes().solve(kernels(seed))
    assert (result.status, result.violation <= 0.01) == ("local", True)


@every_likelihood
def test_the_order_of_the_samples_does_not_matter(likelihood):
    problem = posed(likelihood)
    order = np.random.default_rng(1).permutation(problem.design.n)
    turned = SparseBayesProblem(
        MatrixDesign(problem.design.matrix[:, order]), problem.targets[order], problem.weight, likelihood
    )
    one, other = (SparseBayes().solve(p) for p in (problem, turned))
    assert_array_equal(one.members, other.members)
    assert_allclose(other.log_evidence, one.log_evidence, rtol=1e-10)
    assert_allclose(other.mean, one.mean, rtol=1e-5)


@every_algorithm
@every_likelihood
def test_weights_are_repeated_samples(algorithm, likelihood):
    problem = posed(likelihood)
    repeats = np.random.default_rng(1).integers(1, 4, size=problem.design.n)
    again = np.repeat(np.arange(problem.design.n), repeats)
    weighted = posed(likelihood, weight=repeats.astype(float))
    repeated = SparseBayesProblem(
        MatrixDesign(problem.design.matrix[:, again]), problem.targets[again], np.ones(len(again)), likelihood
    )
    one, other = (SparseBayes(algorithm).solve(p) for p in (weighted, repeated))
    assert_array_equal(one.members, other.members)
    assert_allclose(other.log_evidence, one.log_evidence, rtol=1e-9)
    assert_allclose(other.mean, one.mean, rtol=1e-4, atol=1e-6)


@every_algorithm
def test_one_basis_function_stays(algorithm, rng):
    design = MatrixDesign(rng.normal(size=(10, 30)))
    for targets in (np.zeros((30, 1)), rng.normal(size=(30, 1))):
        result = SparseBayes(algorithm).solve(SparseBayesProblem(design, targets, np.ones(30)))
        assert len(result.members) >= 1
        assert np.isfinite(result.log_evidence)


@pytest.mark.parametrize("make", SPARSE_BAYES_SOLVERS.values(), ids=SPARSE_BAYES_SOLVERS)
def test_solvers_are_values(make):
    solver, problem = make(), posed()
    before = solver.get_params()
    first, second = solver.solve(problem), clone(solver).solve(problem)
    assert_array_equal(first.alpha, second.alpha)
    assert_array_equal(first.history.log_evidence, second.history.log_evidence)
    assert solver.get_params() == before
    with pytest.raises(ValueError, match="tol must be a float > 0, got 0"):
        SparseBayes(tol=0).solve(problem)


@every_likelihood
def test_a_small_working_set_leads_to_a_maximum_too(likelihood, monkeypatch):
    problem = posed(likelihood, m=60)
    whole = SparseBayes().solve(problem)
    monkeypatch.setattr(MatrixDesign, "at_once", 1)
    monkeypatch.setattr(sequential, "WORKING_SET", 4)
    some = SparseBayes().solve(problem)
    assert_allclose(some.log_evidence, whole.log_evidence, atol=1.0)
    assert (np.diff(some.history.log_evidence) >= -1e-9).all()
    if likelihood == "gaussian":
        assert some.violation <= 0.01


@every_likelihood
def test_rounds_that_bring_nothing_come_to_an_end(likelihood, monkeypatch):
    """What the Gaussian at the mode promises of the best of all candidates need not be there."""
    rounds = []
    monkeypatch.setattr(MatrixDesign, "at_once", 1)
    monkeypatch.setattr(sequential, "WORKING_SET", 4)
    for climb in ("_climb_gaussian", "_climb_laplace"):
        monkeypatch.setattr(sequential, climb, lambda model, weights, *_: rounds.append(1) or weights)
    monkeypatch.setattr(sequential, "count", lambda: range(10))
    result = SparseBayes().solve(posed(likelihood, m=60))
    assert len(rounds) >= 2
    assert result.violation > 0.01  # it says so


def test_probabilities_of_one_leave_the_curvature_definite():
    """Where one class has all but rounding, 1 - P would be zero beside products that are not."""
    problem = posed("softmax", n=3, m=3)
    P = problem.probabilities(np.array([[50.0, 0.0, 0.0], [0.0, 60.0, 0.0], [10.0, 0.0, 0.0]]))
    for i in range(3):
        B = np.array([[problem.curvature(P, k, l)[i] for l in range(3)] for k in range(3)])  # noqa: E741
        assert (B.diagonal() > 0).all()
        assert (np.abs(B.sum(axis=1)) <= 1e-15 * B.diagonal()).all()


@pytest.mark.parametrize("likelihood", ["logistic", "softmax"])
def test_a_mode_is_not_looked_for_from_afar(likelihood, monkeypatch):
    problem, seen = posed(likelihood), []
    model, members, curvature = LaplaceModel(problem), np.arange(6), type(problem).curvature
    rows, alpha = model.rows(members), np.full(6, 0.1)
    monkeypatch.setattr(type(problem), "curvature", lambda *args: seen.append(1) or curvature(*args))
    near, steps = model.at(members, rows, alpha), len(seen)
    far = model.at(members, rows, alpha, np.full(6, 1e6))
    assert len(seen) == 2 * steps  # it begins with zero, as the first did
    assert_array_equal(far.mean, near.mean)


# --- starts and limits ------------------------------------------------------------------------------------


@every_likelihood
def test_a_result_is_a_start(likelihood):
    problem = posed(likelihood)
    first = SparseBayes().solve(problem)
    again = SparseBayes().solve(problem, start=first)
    assert again.n_iter <= 3 < first.n_iter
    assert_array_equal(again.members, first.members)
    assert again.log_evidence >= first.log_evidence - 1e-9


def test_starts_are_checked():
    problem = posed(m=4)
    for start in (np.ones(3), np.array([1.0, 1.0, 0.0, 1.0]), np.array([1.0, 1.0, np.nan, 1.0])):
        with pytest.raises(ValueError, match="start must be 4 precisions > 0"):
            SparseBayes().solve(problem, start)


@every_algorithm
def test_limits_are_kept(algorithm):
    problem = posed()
    result = SparseBayes(algorithm, max_iter=1, tol=1e-9).solve(problem)
    assert result.status == "max_iter"
    assert result.n_iter >= 1
    assert SparseBayes(algorithm, max_seconds=1e-9).solve(problem).status == "max_seconds"


@every_algorithm
@every_likelihood
def test_callbacks_see_the_evidence_and_stop(algorithm, likelihood):
    problem, seen = posed(likelihood), []

    def callback(progress):
        seen.append(progress.objective)
        return len(seen) == 3

    result = SparseBayes(algorithm, tol=1e-9).solve(problem, callback=callback)
    assert result.status == "stopped"
    assert len(seen) == 3
    assert (np.diff(seen) >= 0).all()
    assert_allclose(seen[-1], result.history.log_evidence[-1], rtol=1e-12)


@every_algorithm
@every_likelihood
def test_callbacks_see_how_much_is_left(algorithm, likelihood):
    seen = []
    SparseBayes(algorithm).solve(posed(likelihood), callback=lambda progress: seen.append(progress.violation))
    assert np.isfinite(seen).all() and min(seen) >= 0
    assert min(seen) < 0.1 * seen[0]  # but not always less: other starts follow


# --- how it stays upright ---------------------------------------------------------------------------------


def test_equal_basis_functions_are_one(rng):
    rows = rng.normal(size=(3, 30))
    t = (rows[0] + 0.1 * rng.normal(size=30))[:, np.newaxis]
    result = SparseBayes().solve(SparseBayesProblem(MatrixDesign(np.tile(rows, (4, 1))), t, np.ones(30)))
    alone = SparseBayes().solve(SparseBayesProblem(MatrixDesign(rows), t, np.ones(30)))
    assert_array_equal(result.members, alone.members)
    assert_allclose(result.alpha, alone.alpha, rtol=1e-10)


@every_algorithm
@pytest.mark.parametrize("exponent", [-100, -20, 20, 100])
def test_units_of_values_do_not_matter(algorithm, exponent):
    problem = posed()
    unit = 2.0 ** round(exponent / np.log10(2.0))
    scaled = SparseBayesProblem(problem.design, unit * problem.targets, problem.weight)
    plain, found = (SparseBayes(algorithm).solve(p) for p in (problem, scaled))
    assert_array_equal(found.members, plain.members)
    assert_array_equal(found.mean, unit * plain.mean)
    assert_array_equal(found.noise, unit**2 * plain.noise)
    shift = problem.design.n * np.log(unit)
    assert_allclose(found.log_evidence, plain.log_evidence - shift, rtol=1e-12)
    assert_allclose(found.history.log_evidence, plain.history.log_evidence - shift, rtol=1e-12)


def test_units_of_values_and_priors_belong_together():
    problem, unit = posed(), 2.0**40
    priors = {"precision_prior": Gamma(0.3, 0.2), "noise_prior": Gamma(2.0, 0.5)}
    scaled_priors = {name: Gamma(prior.shape, unit**2 * prior.rate) for name, prior in priors.items()}
    plain = SparseBayes().solve(posed(**priors))
    found = SparseBayes().solve(
        SparseBayesProblem(problem.design, unit * problem.targets, problem.weight, **scaled_priors)
    )
    assert_allclose(found.mean, unit * plain.mean, rtol=1e-12)
    again = SparseBayes().solve(
        SparseBayesProblem(problem.design, unit * problem.targets, problem.weight, **scaled_priors), start=found
    )
    assert again.n_iter < found.n_iter
    assert_allclose(again.mean, found.mean, rtol=0.05)


@every_algorithm
@every_likelihood
@pytest.mark.parametrize("exponent", [-100, 100])
def test_scales_of_basis_functions_do_not_matter(algorithm, likelihood, exponent):
    problem = posed(likelihood)
    scales = np.where(np.arange(problem.design.m) % 2, 1.0, 2.0 ** round(exponent / np.log10(2.0)))
    rows = scales[:, np.newaxis] * problem.design.matrix
    scaled = SparseBayesProblem(MatrixDesign(rows), problem.targets, problem.weight, likelihood)
    plain, found = (SparseBayes(algorithm).solve(p) for p in (problem, scaled))
    assert_array_equal(found.members, plain.members)
    assert_allclose(found.log_evidence, plain.log_evidence, rtol=1e-10)
    assert_allclose(found.mean * scales[found.members % problem.design.m], plain.mean, rtol=1e-6)


def test_what_float64_cannot_hold_is_named():
    problem = posed(m=4)
    for size in (1e-130, 1e130):
        with pytest.raises(ValueError, match="must be zero or have a largest one between 1e-120 and 1e\\+120, got"):
            SparseBayes().solve(SparseBayesProblem(problem.design, size * problem.targets, problem.weight))
    rows = problem.design.matrix.copy()
    rows[2] *= 1e300
    with pytest.raises(ValueError, match=r"Basis function 2 must have values with finite squares, got .*e\+300"):
        SparseBayes().solve(SparseBayesProblem(MatrixDesign(rows), problem.targets, problem.weight))
    with pytest.raises(ValueError, match=r"noise must be at least 1e-14 of the square .*got 1e-20"):
        SparseBayes().solve(posed(noise=1e-20))
    with pytest.raises(ValueError, match="precisions of the weights leave float64"):
        SparseBayes().solve(
            SparseBayesProblem(MatrixDesign(1e100 * problem.design.matrix), 1e-100 * problem.targets, problem.weight)
        )
    with pytest.raises(ValueError, match="All basis functions are zero"):
        SparseBayes().solve(SparseBayesProblem(MatrixDesign(np.zeros((4, 40))), problem.targets, problem.weight))


def test_data_without_noise_end_at_the_least_noise(rng):
    rows = rng.normal(size=(6, 40))
    t = rows.sum(axis=0)[:, np.newaxis]
    result = SparseBayes().solve(SparseBayesProblem(MatrixDesign(rows), t, np.ones(40)))
    assert result.at_limit
    assert result.violation <= 1e-4  # precisions are stationary at the limit of the noise, too
    assert_allclose(result.mean @ rows[result.members], t[:, 0], atol=1e-6)
    assert not SparseBayes().solve(posed()).at_limit


def test_steps_that_rounding_has_made_up_are_taken_back(rng):
    X = rng.normal(size=(40, 2))
    t = np.sin(X[:, :1]) + 0.1 * rng.normal(size=(40, 1))
    problem = SparseBayesProblem(MatrixDesign(RBF(gamma=0.3)(X)), t, np.ones(40), noise=1e-10)
    seen = []
    result = SparseBayes().solve(problem, callback=lambda progress: seen.append(progress.objective))
    assert (np.diff(seen) >= 0).all()
    assert (np.diff(result.history.log_evidence) >= 0).all()
    Phi, alpha, noise = problem.design.matrix[result.members].T, result.alpha, problem.noise
    A = np.concatenate([Phi / np.sqrt(noise), np.diag(np.sqrt(alpha))])  # R' R is the precision of the weights
    b = np.concatenate([t[:, 0] / np.sqrt(noise), np.zeros(len(alpha))])
    mean, misfit = np.linalg.lstsq(A, b, rcond=None)[:2]
    assert np.linalg.cond(A) ** 2 > 1e13
    assert_allclose(result.mean, mean, atol=1e-6 * np.abs(mean).max())
    assert_allclose(result.log_evidence, -0.5 * misfit[0], rtol=1e-6)
    assert result.history.log_evidence[-1] == result.log_evidence


def test_jitter_is_told(rng):
    rows = np.concatenate([rng.normal(size=(3, 30)), np.zeros((20, 30))])
    rows[3:] = rng.normal(size=(20, 3)) @ rows[:3]
    problem = SparseBayesProblem(MatrixDesign(rows), rows[:1].T.copy(), np.ones(30), noise=1e-8)
    result = SparseBayes("reestimation").solve(problem, start=np.full(23, 1e-30))
    assert 0 < result.jitter <= 1e-6
    assert SparseBayes("em").solve(posed()).jitter == 0.0


# --- designs ----------------------------------------------------------------------------------------------


def test_designs_on_demand_are_the_matrix(rng):
    X, chosen = rng.normal(size=(50, 3)), np.array([3, 7, 8, 41])
    kernel = RBF(gamma=0.2)
    for candidates in (None, chosen):
        kept, made = (kernel_design(kernel, X, candidates, memory) for memory in ("auto", 1e-3))
        assert isinstance(kept, MatrixDesign) and isinstance(made, KernelDesign)
        assert (kept.m, kept.n) == (made.m, made.n) == (50 if candidates is None else 4, 50)
        expected = kernel(X) if candidates is None else kernel(X[chosen], X)
        for design in (kept, made):
            blocks = np.concatenate([values for _, values in design.blocks()])
            assert_allclose(blocks, expected, rtol=1e-12)
            assert_allclose(design.rows(np.array([2, 0])), expected[[2, 0]], rtol=1e-12)
    words = ["abc", "bcd", "cde"]
    assert_allclose(KernelDesign(Spectrum(2), words[:2], words).rows(np.array([1])), Spectrum(2)(words[1:2], words))


def test_all_threads_go_over_the_blocks_of_a_design(rng, monkeypatch):
    monkeypatch.setattr(Design, "at_once", 12)
    rows = rng.normal(size=(23, 4))
    for design in (MatrixDesign(rows), StackedDesign([MatrixDesign(rows[:5]), MatrixDesign(rows[5:])])):
        seen, names = np.zeros(23), set()

        def work(block, values, seen=seen, names=names):
            assert len(values) <= 3
            names.add(threading.current_thread().name)
            seen[block] += values.sum(axis=1)

        with limit_threads(2):
            design.over_blocks(work)
        assert_allclose(seen, rows.sum(axis=1))
        assert threading.current_thread().name not in names

        def fail(block, values):
            raise ValueError("in a thread")

        with limit_threads(2), pytest.raises(ValueError, match="in a thread"):
            design.over_blocks(fail)


@every_likelihood
def test_threads_make_no_difference(likelihood, monkeypatch):
    monkeypatch.setattr(Design, "at_once", 256)
    problem = posed(likelihood, m=60)
    results = []
    for n_threads in (1, 2):
        with limit_threads(n_threads):
            results.append(SparseBayes().solve(problem))
    assert_array_equal(results[0].alpha, results[1].alpha)
    assert_array_equal(results[0].mean, results[1].mean)


def test_without_memory_few_values_are_held_at_a_time(rng):
    X = rng.normal(size=(1000, 2))
    assert kernel_design(RBF(gamma=0.2), X, memory=4).at_once == 1 << 18  # so many at least
    assert kernel_design(RBF(gamma=0.2), X[:, :1], memory=15).at_once == 15 * 2**20 // 32
    assert kernel_design(RBF(gamma=0.2), X, memory=17).in_memory


def test_blocks_of_a_design_are_its_rows_in_order(rng, monkeypatch):
    monkeypatch.setattr(
        "mercer.gram.designs.row_blocks", lambda m, n, _: [slice(i, min(i + 2, m)) for i in range(0, m, 2)]
    )
    one, two = rng.normal(size=(3, 5)), rng.normal(size=(4, 5))
    design = StackedDesign([MatrixDesign(one), MatrixDesign(two), MatrixDesign(one)])
    everything = np.concatenate([one, two, one])
    seen = np.zeros(10)
    for block, values in design.blocks():
        assert_array_equal(values, everything[block])
        seen[block] += 1
    assert_array_equal(seen, 1)
    which = np.array([9, 0, 3, 3, 6])
    assert_array_equal(design.rows(which), everything[which])
