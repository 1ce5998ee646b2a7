"""Weights of either sign: what they must satisfy, and where they are those of positive weights."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference.conic import conic_optimum
from reference.naive_kernel_weights import qclp_optimum
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score

from mercer.errors import InfeasibleError
from mercer.gram import GramStack, MatrixGram
from mercer.kernels import RBF, Indexed, Linear, Polynomial
from mercer.mkl import MKLClassifier, MKLOneClass, MKLRegressor, sdp_weights, weights_path
from mercer.problems import KernelWeightsProblem, Simplex, soft_margin
from mercer.solvers.cones import ConicProgramme
from mercer.solvers.kernel_weights import Conic, SemiDefinite
from mercer.solvers.kernel_weights.semidefinite import DefiniteSums, Multipliers
from mercer.svm import SVC

AGREEMENT = 1e-5


def labelled(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


def matrices_of(X):
    return [Linear()(X), RBF(gamma=0.3)(X), 100 * Polynomial(degree=2, gamma=0.5, coef0=0.0)(X)]


def margin_over(K, y, C):
    return soft_margin(MatrixGram(K, definite=True), y, np.full(len(y), C))


def positive_problem(matrices, y, C):
    """The same with weights >= 0, whose traces add up to n."""
    stack = GramStack([Indexed(K) for K in matrices], np.arange(len(y)))
    return KernelWeightsProblem(stack, [margin_over(matrices[0], y, C)], Simplex())


def orthogonal(n, rng):
    """Three matrices of rank two in different directions: a sum is semi-definite only if no weight is negative."""
    basis = np.linalg.qr(rng.normal(size=(n, 6)))[0]
    return [basis[:, 2 * k : 2 * k + 2] @ np.diag([1.0, 0.5]) @ basis[:, 2 * k : 2 * k + 2].T for k in range(3)]


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_the_sum_and_its_certificate(C):
    X, y = labelled(24)
    matrices = matrices_of(X)
    found = sdp_weights(matrices, y, C)
    K = sum(weight * matrix for weight, matrix in zip(found.weights, matrices, strict=True))
    assert_allclose(found.matrix, K, rtol=1e-12, atol=1e-12 * np.abs(K).max())
    assert np.trace(K) == pytest.approx(24.0, rel=1e-12)
    assert np.linalg.eigvalsh(K)[0] >= -1e-6
    optimum = conic_optimum(margin_over(K, y, C))
    assert -optimum.value == pytest.approx(found.objective, rel=1e-6)
    assert abs(found.gap) <= 1e-5 * found.objective
    assert found.decision == pytest.approx(K @ (y * found.result.a) + found.result.offsets.plus)
    # Weights >= 0 are some of those that are allowed.
    assert found.objective <= (1 + 1e-6) * qclp_optimum(positive_problem(matrices, y, C)).value


def test_the_trace_is_exact_where_the_weights_are_rough():
    X, y = labelled(24)
    matrices = matrices_of(X)
    found = sdp_weights(matrices, y, tol=0.1)
    assert found.weights @ [np.trace(K) for K in matrices] == pytest.approx(24.0, rel=1e-12)


def test_negative_weights_take_away_what_is_of_no_use():
    X, y = labelled(24)
    useful, useless = Linear()(X), RBF(gamma=9.0)(X)
    matrices = [useful + 2 * useless, useless]
    found = sdp_weights(matrices, y, 0.1)
    assert found.weights[1] == pytest.approx(-2 * found.weights[0], rel=1e-3)
    assert found.objective < 0.99 * qclp_optimum(positive_problem(matrices, y, 0.1)).value


def test_no_other_sum_is_better(rng):
    X, y = labelled(16)
    matrices = matrices_of(X)
    found = sdp_weights(matrices, y, 2.0)
    tried = 0
    for _ in range(300):
        weights = found.weights * (1 + 0.3 * rng.normal(size=3))
        K = sum(weight * matrix for weight, matrix in zip(weights, matrices, strict=True))
        K *= 16 / np.trace(K)
        if np.linalg.eigvalsh(K)[0] >= 0:
            tried += 1
            assert -conic_optimum(margin_over(K, y, 2.0)).value >= found.bound - 1e-6
    assert tried > 20


@pytest.mark.parametrize("C", [0.5, 10.0])
def test_where_no_weight_can_be_negative_they_are_those_of_the_conic_route(C, rng):
    y = labelled(14)[1]
    matrices = orthogonal(14, rng)
    found = sdp_weights(matrices, y, C)
    problem = positive_problem(matrices, y, C)
    positive = Conic(gap_tol=1e-8, tol=1e-8).solve(problem)
    assert found.objective == pytest.approx(positive.objective, rel=AGREEMENT)
    assert_allclose(found.weights, positive.weights * problem.stack.factors, atol=1e-3 * problem.stack.factors.max())


def test_matrices_in_other_mixtures_have_the_same_sum(rng):
    """Sums and differences of matrices span the same space: the best sum is the same, with weights of either sign."""
    y = labelled(14)[1]
    A, B, C = orthogonal(14, rng)
    plain, mixed = sdp_weights([A, B, C], y), sdp_weights([A + B + C, B - C, 10 * C], y)
    assert mixed.objective == pytest.approx(plain.objective, rel=AGREEMENT)
    assert_allclose(mixed.matrix, plain.matrix, atol=1e-3)


def test_samples_without_a_label_take_part():
    X, y = labelled(20)
    matrices, index = matrices_of(X), np.arange(3, 20)
    found = sdp_weights(matrices, y[index], index=index)
    assert np.linalg.eigvalsh(found.matrix)[0] >= -1e-6 and np.trace(found.matrix) == pytest.approx(20.0)
    assert found.decision.shape == (20,) and (np.sign(found.decision[:3]) == y[:3]).sum() >= 2
    over = margin_over(found.matrix[np.ix_(index, index)], y[index], 1.0)
    assert -conic_optimum(over).value == pytest.approx(found.objective, rel=1e-6)
    assert abs(found.gap) <= 1e-5 * found.objective
    permuted = np.random.default_rng(1).permutation(20)
    again = sdp_weights([K[np.ix_(permuted, permuted)] for K in matrices], y[index], index=np.argsort(permuted)[index])
    assert again.objective == pytest.approx(found.objective, rel=1e-6)


def test_what_is_refused(monkeypatch):
    K, y = np.eye(4), [0, 0, 1, 1]
    with pytest.raises(InfeasibleError, match="No weighted sum of the matrices is positive semi-definite"):
        sdp_weights([np.diag([1.0, -1.0, 1.0, -1.0])], y)
    with pytest.raises(ValueError, match="matrices must have at least one matrix"):
        sdp_weights([], y)
    with pytest.raises(ValueError, match=r"matrices must be of one shape, got \(4, 4\) and, as number 1, \(3, 3\)"):
        sdp_weights([K, np.eye(3)], y)
    with pytest.raises(ValueError, match=r"matrices\[1\] must be symmetric"):
        sdp_weights([K, np.triu(np.ones((4, 4)))], y)
    with pytest.raises(ValueError, match="C must be"):
        sdp_weights([K], y, C=0.0)
    with pytest.raises(ValueError, match="y must have two classes, got 3 classes"):
        sdp_weights([K], [0, 1, 2, 2])
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(ImportError, match=r'sdp_weights needs clarabel: pip install "mercer\[conic\]"'):
        sdp_weights([K], y)


# --- machines -------------------------------------------------------------------------------------------------


def learner(matrices, **options):
    return MKLClassifier([Indexed(K) for K in matrices], algorithm="sdp", **options)


def sum_of(machine, matrices):
    """The learnt sum on all rows, from public attributes."""
    return np.tensordot(machine.weights_ * machine.factors_, matrices, 1)


def useless_part(X):
    """Two matrices of which a difference is best."""
    useful, useless = Linear()(X), RBF(gamma=9.0)(X)
    return [useful + 2 * useless, useless]


@pytest.mark.parametrize("normalize", ["trace", None])
def test_the_machine_is_that_of_the_function(normalize):
    X, y = labelled(20)
    matrices, rows = matrices_of(X), np.arange(20)
    some = rows[4:]
    machine = learner(matrices, normalize=normalize, gap_tol=1e-7, tol=1e-7).fit(some, y[some])
    found = sdp_weights(matrices, y[some], index=some)
    K = sum_of(machine, matrices)
    assert_allclose(K, found.matrix, atol=1e-4)
    assert np.trace(K) == pytest.approx(20.0, rel=1e-9)
    assert machine.weights_result_.objective == pytest.approx(found.objective, rel=1e-6)
    assert_allclose(machine.decision_function(rows), found.decision, atol=1e-3)


def test_the_learnt_kernel_is_one_on_all_rows():
    X, y = labelled(24)
    matrices, some = useless_part(X), np.arange(0, 24, 2)
    machine = learner(matrices, C=0.1, gap_tol=1e-6).fit(some, y[some])
    assert machine.weights_[1] < -0.1
    K = machine.kernel_(np.arange(24))
    assert_allclose(K, sum_of(machine, matrices), atol=1e-12)
    assert np.linalg.eigvalsh(K)[0] >= -1e-8
    again = SVC(machine.kernel_, C=0.1, tol=1e-7).fit(some, y[some])
    values = [one.decision_function(np.arange(24)) - one.intercept_ for one in (again, machine)]
    assert_allclose(*values, atol=1e-4)


def test_rows_that_are_not_for_training_count():
    """The second matrix is larger on other rows: less of it can be taken away than training samples would allow."""
    X, y = labelled(24)
    rows = np.arange(24)
    matrices = [Linear()(X) + np.eye(24), np.diag(np.where(rows < 12, 1.0, 2.0))]
    machine = learner(matrices, C=0.1, gap_tol=1e-6).fit(rows[:12], y[:12])
    alone = learner([K[:12, :12] for K in matrices], C=0.1, gap_tol=1e-6).fit(rows[:12], y[:12])
    shares = [np.divide(*(one.weights_ * one.factors_)[::-1]) for one in (machine, alone)]
    assert_allclose(shares, [-0.5, -1.0], atol=1e-3)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "squared_hinge"},
        {"fit_intercept": False},
        {"class_weight": "balanced", "C": 3.0},
        {"C": np.inf},
    ],
    ids=str,
)
def test_every_machine_against_weights_near_the_learnt_ones(options, rng):
    """No sum that is allowed is better than the bound; and weights of a simplex are some of those allowed."""
    X, y = labelled(16)
    matrices, rows = matrices_of(X), np.arange(16)
    machine = learner(matrices, gap_tol=1e-6, tol=1e-7, **options).fit(rows, y)
    result = machine.weights_result_
    assert result.status == "solved" and 0 <= result.gap <= 1e-6 * result.objective
    plain = SVC(machine.kernel_, tol=1e-7, **options).fit(rows, y)
    assert plain.result_.primal_objective == pytest.approx(result.objective, rel=1e-6)
    tried = 0
    for _ in range(40):
        K = np.tensordot(machine.weights_ * machine.factors_ * (1 + 0.1 * rng.normal(size=3)), matrices, 1)
        K *= 16 / np.trace(K)
        if np.linalg.eigvalsh(K)[0] >= 0:
            tried += 1
            other = SVC(Indexed(K), tol=1e-7, **options).fit(rows, y)
            assert other.result_.primal_objective >= result.bound * (1 - 1e-9)
    assert tried > 5
    positive = MKLClassifier([Indexed(K) for K in matrices], gap_tol=1e-6, tol=1e-7, **options).fit(rows, y)
    assert result.bound <= positive.weights_result_.objective


def test_values_novelties_and_several_classes():
    X, _ = labelled(15)
    kernels, rows = [Indexed(K) for K in matrices_of(X)], np.arange(15)
    for made, target in (
        (MKLRegressor(kernels, C=10.0), (X[:, 0],)),
        (MKLRegressor(kernels, C=10.0), (X[:, :2],)),
        (MKLOneClass(kernels, nu=0.3), ()),
        (MKLClassifier(kernels), (rows % 3,)),
        (MKLClassifier(kernels, multi_class="ovr"), (rows % 3,)),
    ):
        options = {"gap_tol": 1e-5, "tol": 1e-6}
        found = made.set_params(algorithm="sdp", **options).fit(rows, *target).weights_result_
        positive = made.set_params(algorithm="auto").fit(rows, *target).weights_result_
        assert found.status == "solved"
        assert found.bound <= positive.objective + 1e-9 * abs(positive.objective)


def test_classes_with_weights_of_their_own():
    X, _ = labelled(15)
    matrices, rows, y = matrices_of(X), np.arange(15), np.arange(15) % 3
    own = learner(matrices, multi_class="ovr", shared=False, gap_tol=1e-6, tol=1e-6).fit(rows, y)
    for c in range(3):
        alone = learner(matrices, gap_tol=1e-6, tol=1e-6).fit(rows, y == c)
        assert_allclose(own.weights_[c], alone.weights_, atol=1e-12)
        assert_allclose(own.decision_function(rows)[:, c], alone.decision_function(rows), atol=1e-9)


def test_what_bounds_all_sums_is_reached_and_never_too_small(rng):
    """For any guess of the multipliers, good or not."""
    n, energy = 5, np.array([3.0])
    identity = np.eye(n)[np.tril_indices(n)]
    alone = DefiniteSums([2.0 * np.eye(n)])  # there is one sum, with a weight of one half
    for sign in (1.0, -1.0):  # a whole that is positive definite, and one that is of no use
        assert alone.most(energy, Multipliers(sign * identity, -identity)) == pytest.approx(1.5, rel=1e-12)
    matrices = [A @ A.T for A in rng.normal(size=(3, n, 2))]
    sums = DefiniteSums(matrices)
    for _ in range(20):
        c, guess = rng.normal(size=n), Multipliers(*rng.normal(size=(2, n * (n + 1) // 2)))
        energies = np.array([0.5 * c @ K @ c for K in matrices])
        for _ in range(50):
            d = rng.normal(size=3) + 0.5
            K = np.tensordot(d, matrices, 1)
            if np.trace(K) > 0 and np.linalg.eigvalsh(K)[0] >= 0:
                assert d @ energies * n / np.trace(K) <= sums.most(energies, guess) * (1 + 1e-9)


def test_a_sum_that_is_not_allowed_is_taken_to_the_edge_of_those_that_are():
    A, B = np.diag([1.0, 1.0, 1.0, 1.0]), np.diag([1.0, 1.0, 0.5, 0.5])
    sums = DefiniteSums([A, B])
    wanted = 0.25 * (5.0 * B - 3.0 * A)  # of trace 3 / 4, with eigenvalues below zero
    triangle = wanted[np.tril_indices(4)]
    K = sums.total(sums._weights(sums.terms.T @ triangle))
    assert np.trace(K) == pytest.approx(4.0, rel=1e-12)
    assert np.linalg.eigvalsh(K)[0] == pytest.approx(0.0, abs=1e-7)


def test_a_bound_holds_however_far_the_package_has_come(monkeypatch):
    X, y = labelled(16)
    matrices, rows = matrices_of(X), np.arange(16)
    optimum = learner(matrices, gap_tol=1e-8, tol=1e-8).fit(rows, y).weights_result_
    walk, gaps = ConicProgramme.solve, []
    for tolerance in (1e-1, 1e-2, 1e-3):
        monkeypatch.setattr(ConicProgramme, "solve", lambda self, *about, t=tolerance: walk(self, t))
        rough = sdp_weights(matrices, y)
        assert rough.bound <= optimum.objective and optimum.bound <= rough.objective * (1 + 1e-9)
        assert np.linalg.eigvalsh(rough.matrix)[0] >= -1e-8 * np.abs(rough.matrix).max()
        gaps.append(rough.gap)
    assert gaps[0] > gaps[-1] > 1e-4 * optimum.objective  # these were rough


def test_time_and_trials_are_limited():
    X, y = labelled(16)
    rows = np.arange(16)
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        hasty = learner(matrices_of(X), max_seconds=1e-9).fit(rows, y)
    result = hasty.weights_result_
    assert result.status == "max_seconds" and result.bound <= result.objective
    assert np.linalg.eigvalsh(sum_of(hasty, matrices_of(X)))[0] >= -1e-8
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        one = learner(matrices_of(X), max_iter=1, gap_tol=1e-14).fit(rows, y)
    assert one.weights_result_.n_iter == 1


def test_matrices_that_depend_on_each_other():
    X, y = labelled(16)
    rows, A, B = np.arange(16), Linear()(X), RBF(gamma=0.3)(X)
    plain = learner([A, B], gap_tol=1e-6, tol=1e-6).fit(rows, y)
    twins = learner([A, B, B, 0 * A], gap_tol=1e-6, tol=1e-6).fit(rows, y)
    assert_allclose(twins.weights_, plain.weights_[[0, 1, 1, 0]] * [1.0, 0.5, 0.5, 0.0], atol=1e-3)
    assert twins.weights_[1] == pytest.approx(twins.weights_[2], rel=1e-9) and twins.weights_[3] == 0
    many = [RBF(gamma=gamma)(X) for gamma in np.logspace(-3, 3, 30)]
    assert learner(many, gap_tol=1e-5).fit(rows, y).weights_result_.status == "solved"
    scaled = learner([1e9 * A, 1e-9 * B], gap_tol=1e-6, tol=1e-6).fit(rows, y)
    assert_allclose(scaled.weights_, plain.weights_, atol=1e-3)


def test_rows_can_be_split():
    X, y = labelled(24)
    assert cross_val_score(learner(matrices_of(X)), np.arange(24), y, cv=3).mean() > 0.6


def test_other_searches_begin_at_what_is_positive():
    X, y = labelled(24)
    kernels, rows = [Indexed(K) for K in useless_part(X)], np.arange(24)
    path = weights_path(MKLClassifier(kernels, C=0.1), rows, y, algorithm=["sdp", "newton"])
    assert path.weights[0, 1] < 0
    alone = MKLClassifier(kernels, C=0.1).fit(rows, y)
    assert_allclose(path.machines[1].weights_result_.objective, alone.weights_result_.objective, rtol=1e-3)
    assert (path.weights[1] >= 0).all()


def test_threads_make_no_difference():
    X, y = labelled(16)
    alone, three = (learner(matrices_of(X), n_threads=n).fit(np.arange(16), y) for n in (1, 3))
    assert_array_equal(alone.weights_, three.weights_)
    assert_array_equal(alone.dual_coef_, three.dual_coef_)


def test_what_machines_refuse():
    X, y = labelled(16)
    rows, (A, B, _) = np.arange(16), matrices_of(X)
    with pytest.raises(ValueError, match=r"kernels must be Indexed matrices for SemiDefinite.*number 0 is Linear\(\)"):
        MKLClassifier(["linear", "rbf"], algorithm="sdp").fit(X, y)
    with pytest.raises(ValueError, match=r"same rows.*number 1 has 12, number 0 has 16"):
        learner([A, B[:12, :12]]).fit(rows[:12], y[:12])
    with pytest.raises(ValueError, match=r"at most 100 rows.*got 101"):
        learner([np.eye(101)]).fit(rows, y)
    with pytest.raises(ValueError, match=r"ridge must be None or 0 for algorithm='sdp', got 0\.1"):
        learner([A, B], ridge=0.1).fit(rows, y)
    with pytest.raises(ValueError, match="algorithm must not be 'sdp' where norm, elastic or groups are given"):
        learner([A, B], norm=2.0).fit(rows, y)
    with pytest.raises(ValueError, match="algorithm must not be 'sdp' where classes have one objective"):
        learner([A, B], multi_class="crammer_singer").fit(rows, rows % 3)
    with pytest.raises(InfeasibleError, match="No weighted sum"):
        learner([0 * A, 0 * B]).fit(rows, y)
    problem = positive_problem([A, B], y, 1.0)
    ridged = KernelWeightsProblem(GramStack(problem.stack.kernels, rows, ridge=0.1), problem.problems, Simplex())
    with pytest.raises(ValueError, match=r"ridge must be 0 for SemiDefinite, got 0\.1"):
        SemiDefinite().solve(ridged)
