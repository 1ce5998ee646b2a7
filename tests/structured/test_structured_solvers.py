"""Solvers of structured outputs: hidden parts, planes with multipliers, models that are wrong."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference.structured import EnumeratedProblem
from scipy.sparse import csr_array

from mercer.errors import LossError, OracleError
from mercer.problems import Planes
from mercer.solvers.structured import BlockFrankWolfe, ConvexConcave, NSlack, OneSlack, SubgradientDescent
from mercer.solvers.structured.planes import PlaneSet
from mercer.structured import Multiclass, StructuredModel, StructuredSVM
from mercer.structured.problem import ModelProblem

# --- hidden parts -----------------------------------------------------------------------------------------


class Prototypes(StructuredModel):
    """Classes of several kinds each, of which nobody says which sample is of which: outputs (class, kind)."""

    def __init__(self, n_classes=2, n_kinds=2, n_features=3):
        self.n_classes = n_classes
        self.n_kinds = n_kinds
        self.n_features = n_features

    @property
    def size(self):
        return self.n_classes * self.n_kinds * self.n_features

    def encode(self, X, Y):
        return [(int(y), None) for y in Y]

    def visible(self, y):
        return y[0]

    def score(self, Y, predicted):
        return float(np.mean(np.asarray(Y) == np.asarray(predicted)))

    def joint_feature(self, x, y):
        features = np.zeros((self.n_classes, self.n_kinds, self.n_features))
        features[y] = x
        return features.ravel()

    def scores(self, x, w):
        return w.reshape(self.n_classes, self.n_kinds, self.n_features) @ x

    def best(self, scores):
        found = np.unravel_index(np.argmax(scores), scores.shape)
        return int(found[0]), int(found[1])

    def predict(self, x, w):
        return self.best(self.scores(x, w))

    def oracle(self, x, y, w):
        return self.best(self.scores(x, w) + (np.arange(self.n_classes) != y[0])[:, np.newaxis])

    def complete(self, x, y, w):
        return y[0], int(np.argmax(self.scores(x, w)[y[0]]))


class Restless(Prototypes):
    """Hidden parts that never count as the same."""

    def same(self, y, z):
        return not isinstance(y, tuple) and y == z


def crosswise(n=40, noise=0.2):
    """Two classes, each in two corners across from each other, and a feature that is always one."""
    corner, y = np.resize([-1.0, 1.0], n), np.resize([-1.0, -1.0, 1.0, 1.0], n)
    X = np.column_stack([corner, corner * y]) + noise * np.random.default_rng(0).normal(size=(n, 2))
    return np.column_stack([X, np.ones(n)]), (y > 0).astype(int)


def hidden_problem(model=None, cost=0.5, noise=0.2):
    X, y = crosswise(noise=noise)
    model = Prototypes() if model is None else model
    return ModelProblem(model, X, model.encode(X, y), np.full(len(y), cost))


def objective(problem, w):
    """By the definition: of the right output the best hidden part, of all the worst."""
    total = 0.5 * w @ w
    for x, (y, _), cost in zip(problem.X, problem.Y, problem.cost, strict=True):
        scores = problem.model.scores(x, w)
        total += cost * (np.max(scores + (np.arange(2) != y)[:, np.newaxis]) - np.max(scores[y]))
    return total


@pytest.mark.parametrize("solver", [None, NSlack(), OneSlack()])
@pytest.mark.parametrize("make", [Prototypes, Restless])
def test_hidden_parts_end_at_a_stationary_point(solver, make):
    problem = hidden_problem(make())
    result = ConvexConcave(solver=solver).solve(problem)
    assert result.status == "local" and 0.0 <= result.relative_gap <= 1e-3
    assert result.primal_objective == pytest.approx(objective(problem, result.w), rel=1e-12)
    # It is the optimum of the problem that it makes itself.
    own = NSlack(gap_tol=1e-8).solve(problem.completed(result.w))
    assert result.dual_objective <= own.primal_objective * (1 + 1e-9)
    assert result.primal_objective - own.primal_objective <= result.gap + 1e-8 * result.primal_objective


@pytest.mark.parametrize("seed", range(4))
def test_the_objective_falls_from_round_to_round(seed):
    problem = hidden_problem(Prototypes(n_kinds=4), noise=0.6)
    points = []

    class Watched(NSlack):
        def _run(self, run, w):
            points.append(w.copy())
            super()._run(run, w)

    result = ConvexConcave(solver=Watched(), random_state=seed).solve(problem)
    values = [objective(problem, w) for w in [*points, result.w]]
    assert len(points) >= 2
    assert (np.diff(values) <= 1e-12 * values[0]).all()
    assert (np.diff(result.history.primal_objective) <= 1e-12 * values[0]).all()


def test_hidden_parts_tell_what_classes_alone_cannot():
    X, y = crosswise()
    machine = StructuredSVM(Prototypes(), C=10.0, algorithm="dc").fit(X, y)
    assert machine.result_.status == "local"  # and no warning
    assert machine.score(X, y) == 1.0 and set(machine.predict(X)) == {0, 1}
    assert StructuredSVM(Multiclass(), C=10.0).fit(X, y).score(X, y) < 0.8


def test_hidden_parts_start_at_random():
    """At zero all are alike."""
    problem = hidden_problem(Prototypes(n_kinds=4), noise=0.6)
    a, b, c = (ConvexConcave(solver=NSlack(), random_state=seed).solve(problem).w for seed in (0, 0, 1))
    assert_array_equal(a, b)
    assert not np.array_equal(a, c)


def test_hidden_parts_start_where_they_are_told():
    problem = hidden_problem(Prototypes(n_kinds=4), noise=0.6)
    found = ConvexConcave(random_state=1).solve(problem)
    again = ConvexConcave(random_state=2).solve(problem, start=found.w)
    assert again.primal_objective <= found.primal_objective * (1 + 1e-12)
    assert again.n_iter < found.n_iter


@pytest.mark.parametrize(("limits", "status"), [({"max_iter": 2}, "max_iter"), ({"max_seconds": 1e-9}, "max_seconds")])
def test_hidden_parts_have_limits(limits, status):
    result = ConvexConcave(**limits, gap_tol=1e-6).solve(hidden_problem())
    assert result.status == status and result.primal_objective > result.dual_objective
    stopped = ConvexConcave().solve(hidden_problem(), callback=lambda told: True)
    assert stopped.status == "stopped"


@pytest.mark.parametrize("make", [BlockFrankWolfe, NSlack, OneSlack, SubgradientDescent])
def test_hidden_parts_are_refused_by_others(make):
    with pytest.raises(ValueError, match=f"{make.__name__} needs outputs without hidden parts; use ConvexConcave"):
        make().solve(hidden_problem())


@pytest.mark.parametrize("solver", [3, ConvexConcave(), NSlack])
def test_convex_problems_need_a_solver_of_theirs(solver):
    with pytest.raises(TypeError, match="solver must be a StructuredSolver of convex problems or None"):
        ConvexConcave(solver=solver).solve(hidden_problem())


def test_hidden_parts_need_a_size():
    class Unsized(Prototypes):
        size = None

    with pytest.raises(ValueError, match="size must be known for outputs with hidden parts"):
        hidden_problem(Unsized())


def test_nothing_hidden_is_one_round():
    problem = EnumeratedProblem.random(1)
    one, other = ConvexConcave(solver=NSlack()).solve(problem), NSlack().solve(problem)
    assert one.status == "solved" and one.n_calls == other.n_calls
    assert_array_equal(one.w, other.w)


# --- the mean of planes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("averaging", [False, True])
def test_subgradients_are_a_point_of_the_dual(averaging):
    """After whole passes the last point is a mean of planes with full shares: w and its dual objective are known."""
    problem = EnumeratedProblem.random(2)
    looks = []

    class Watched(EnumeratedProblem):
        def planes(self, w, samples):
            found = super().planes(w, samples)
            looks.append((w.copy(), samples, found))
            return found

    watched = Watched(problem.psi, problem.loss, problem.cost)
    result = SubgradientDescent(averaging=averaging, max_iter=3).solve(watched)
    first, *steps, last = looks  # the look at the start, a pass with the weight two, the look at what was found
    w, loss, weights = *first[2].mixed(problem.cost), 1.0
    for _, samples, found in steps:
        psi, more = found.mixed(2.0 * problem.cost[samples])
        w, loss, weights = w + psi, loss + more, weights + 2.0 * len(samples) / problem.n
    assert weights == pytest.approx(3.0)
    w, loss = w / weights, loss / weights
    assert result.dual_objective == pytest.approx(max(0.0, loss - 0.5 * w @ w))
    after = np.array([*(point for point, _, _ in steps[1:]), w])
    mean = np.average(after, axis=0, weights=[len(samples) for _, samples, _ in steps])
    assert_allclose(last[0], mean if averaging else w)


# --- what saves oracle calls ------------------------------------------------------------------------------


class Watched(EnumeratedProblem):
    """Counts how often each sample is asked."""

    def planes(self, w, samples):
        self.n_calls = getattr(self, "n_calls", np.zeros(self.n, dtype=int)) + np.bincount(samples, minlength=self.n)
        return super().planes(w, samples)


def test_samples_are_chosen_by_what_they_have_to_gain():
    """Of those without a wrong output, which never have a gap, passes by gap ask none."""
    found = EnumeratedProblem.random(2, n=20, k=8, scale=10.0)
    found.psi[::2], found.loss[::2] = 0.0, 0.0
    calls = {}
    for sampling in ("gap", "uniform"):
        problem = Watched(found.psi, found.loss, found.cost)
        result = BlockFrankWolfe(sampling=sampling, cached_passes=0, gap_tol=1e-6).solve(problem)
        assert result.status == "solved" and result.n_calls == problem.n_calls.sum()
        calls[sampling] = problem.n_calls[::2].sum(), problem.n_calls[1::2].sum()
    assert calls["uniform"][0] == calls["uniform"][1]
    assert 2 * calls["gap"][0] < calls["gap"][1]


def test_known_planes_save_oracle_calls():
    problem = EnumeratedProblem.random(2, n=20, k=8, scale=10.0)
    calls = [BlockFrankWolfe(cached_passes=most, gap_tol=1e-6).solve(problem).n_calls for most in (0, 1000)]
    assert calls[1] < calls[0]


def test_the_mean_of_points_counts_later_ones_more():
    """The point after visit t has the weight t."""
    problem, known, points = EnumeratedProblem.random(3), PlaneSet(6, np.full(12, 5.0)), []
    for _ in range(3):
        for i in range(12):
            known.visit(np.array([i]), problem.planes(known.w, np.array([i])))
            points.append(np.append(known.w, known._set.loss))
    w, loss = known.averaged()
    mean = np.average(points, axis=0, weights=np.arange(1, len(points) + 1))
    assert_allclose(np.append(w, loss), mean, rtol=1e-12)
    last, averaged = (
        BlockFrankWolfe(averaging=averaging, max_iter=4, gap_tol=1e-12).solve(problem).w for averaging in (False, True)
    )
    assert not np.allclose(last, averaged)


def test_oracles_run_at_the_same_time():
    """Two portions wait for each other: one after the other would wait forever."""
    meeting = threading.Barrier(2, timeout=30)

    class Meeting(Signs):
        portion = 2

        def oracles(self, X, Y, w, rescaling):
            meeting.wait()
            return super().oracles(X, Y, w, rescaling)

    problem = ModelProblem(Meeting(), [1.0, -2.0, 3.0, -4.0], [1, -1, 1, -1], np.ones(4), n_threads=2)
    assert len(problem.planes(np.zeros(1), np.arange(4))) == 4


# --- planes with multipliers ------------------------------------------------------------------------------


def rows(values):
    return Planes(csr_array(np.atleast_2d(values)), np.ones(len(np.atleast_2d(values))))


def test_views_of_w_follow_and_outlive():
    known = PlaneSet(2, np.ones(1))
    w = known.w
    known.visit(np.array([0]), rows([[0.0, 2.0]]))
    assert_array_equal(w, [0.0, 0.5])
    del known
    assert_array_equal(w, [0.0, 0.5])


@pytest.mark.parametrize(
    ("blocks", "planes", "message"),
    [
        ([1], rows([[1.0, 0.0]]), "block out of range"),
        ([-1], rows([[1.0, 0.0]]), "block out of range"),
        ([0], rows([[1.0, 0.0, 1.0]]), "feature out of range"),
        ([0], rows([[np.nan, 0.0]]), "planes must be finite"),
        ([0], Planes(csr_array([[1.0, 0.0]]), np.array([np.inf])), "losses must be finite"),
        ([0, 0], rows([[1.0, 0.0]]), "every block must have a plane"),
    ],
)
def test_planes_that_are_none(blocks, planes, message):
    with pytest.raises(ValueError, match=message):
        PlaneSet(2, np.ones(1)).visit(np.array(blocks), planes)


@pytest.mark.parametrize("cost", [0.0, -1.0, np.nan, np.inf])
def test_costs_that_are_none(cost):
    with pytest.raises(ValueError, match="costs must be > 0 and finite"):
        PlaneSet(2, np.array([1.0, cost]))


def test_losses_that_nothing_helps():
    """Without a single feature that differs, and without any feature at all."""
    for size in (0, 3):
        problem = EnumeratedProblem(np.zeros((2, 2, size)), np.array([[0.0, 1.0], [0.0, 2.0]]), np.array([1.0, 3.0]))
        for make in (BlockFrankWolfe, NSlack, OneSlack, SubgradientDescent):
            result = make().solve(problem)
            assert result.status == "solved" and result.primal_objective == 7.0 and not result.w.any()
            assert_allclose(result.losses, [1.0, 2.0])


def test_no_losses_at_all():
    """Only right outputs: nothing to do."""
    problem = EnumeratedProblem(np.zeros((2, 1, 3)), np.zeros((2, 1)), np.ones(2))
    for make in (BlockFrankWolfe, NSlack, OneSlack, SubgradientDescent):
        result = make().solve(problem)
        assert result.status == "solved" and result.primal_objective == 0.0 and result.n_iter == 1


@pytest.mark.parametrize("algorithm", ["bcfw", "n-slack", "one-slack", "subgradient"])
def test_scores_that_overflow_are_named_with_the_sample(algorithm):
    machine = StructuredSVM(Signs(), algorithm=algorithm).set_params(warm_start=True)
    machine.coef_ = np.array([1e300])
    message = "too large: the score of sample 1 overflows; scale the features"
    with np.errstate(over="ignore"), pytest.raises(ValueError, match=message):
        machine.fit([1.0, -1e300], [1, 1])


# --- models that are wrong --------------------------------------------------------------------------------


class Signs(StructuredModel):
    """The sign of a number."""

    size = 1

    def joint_feature(self, x, y):
        return np.array([x * y])

    def predict(self, x, w):
        return max((-1, 1), key=lambda y: w @ self.joint_feature(x, y))

    def oracle(self, x, y, w):
        return max((-1, 1), key=lambda z: self.loss(y, z) + w @ self.joint_feature(x, z))


class RightCosts(Signs):
    def loss(self, y, z):
        return 0.5 if y == z == 1 else float(y != z)


class WrongIsFree(Signs):
    def loss(self, y, z):
        return 0.0

    def oracle(self, x, y, w):
        return -y if x == 3.0 else y


class WrongPays(WrongIsFree):
    def loss(self, y, z):
        return -1.0 if y != z else 0.0


class NoLoss(WrongIsFree):
    def loss(self, y, z):
        return np.nan if y != z else 0.0


class Worse(Signs):
    def oracle(self, x, y, w):
        return -y if x == 3.0 and w[0] > 1.0 else super().oracle(x, y, w)


class Longer(Signs):
    def joint_feature(self, x, y):
        return np.full(1 + (x == 3.0), x * y)


class Shapeless(Longer):
    size = None


class NotANumber(Signs):
    def joint_feature(self, x, y):
        return np.array([np.nan if (x, y) == (3.0, -1) else x * y])


@pytest.mark.parametrize("algorithm", ["bcfw", "n-slack", "one-slack", "subgradient", "dc"])
@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (RightCosts(), LossError, r"loss must be 0 for the right output, got 0.5 for that of sample 1\."),
        (WrongIsFree(), LossError, r"> 0 for a wrong output, got 0.0 for sample 2, whose output 1 was taken for -1"),
        (WrongPays(), LossError, r"> 0 for a wrong output, got -1.0 for sample 2"),
        (NoLoss(), LossError, r"> 0 for a wrong output, got nan for sample 2"),
        (Worse(), OracleError, r"at least as good as the right one, got one that is worse by .* for sample 2: -1"),
        (Longer(), ValueError, r"joint_feature must have 1 entries, got 2 for sample 2 with 1"),
        (Shapeless(), ValueError, r"joint_feature must have 1 entries, got 2 for sample 2 with 1"),
        (NotANumber(), ValueError, r"joint_feature must be finite, got NaN or infinity for sample 2 with -1"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, StructuredModel) else "",
)
def test_broken_models_are_named_with_the_sample(model, error, message, algorithm):
    machine = StructuredSVM(model, C=10.0, algorithm=algorithm, max_iter=50)
    with pytest.raises(error, match=message):
        machine.fit([-0.2, 0.1, 3.0, -0.4], [-1, 1, 1, -1])
    StructuredSVM(Signs(), C=10.0, algorithm=algorithm, gap_tol=0.1).fit([-0.2, 0.1, 3.0, -0.4], [-1, 1, 1, -1])


def test_slack_is_refused_by_models_without_it():
    with pytest.raises(NotImplementedError, match="Signs has no slack_oracle; use rescaling='margin'"):
        StructuredSVM(Signs(), rescaling="slack").fit([-1.0, 1.0], [-1, 1])
