"""Gaussian processes: what they tune, what they say of it, what they refuse."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from mercer.errors import IndefiniteError
from mercer.gp import GaussianProcessClassifier, GaussianProcessRegressor
from mercer.gp.base import Assessed, Objective
from mercer.kernels import RBF, FromFunction, GapWeighted, Indexed
from mercer.logscale import Packed

both = pytest.mark.parametrize("kind", [GaussianProcessRegressor, GaussianProcessClassifier])


@pytest.fixture
def curve(rng):
    X = rng.uniform(0, 6, size=(60, 1))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=60)


def lesson_for(kind, curve):
    X, y = curve
    return (X, y) if kind is GaussianProcessRegressor else (X, y > 0)


@both
def test_what_is_named_is_tuned_and_nothing_else(kind, curve):
    machine = kind(RBF(gamma=0.3), amplitude=2.0, optimize=["kernel__gamma"]).fit(*lesson_for(kind, curve))
    assert machine.amplitude_ == 2.0
    assert machine.kernel_.gamma != 0.3
    assert machine.kernel.gamma == 0.3
    given = kind(RBF(gamma=0.3), amplitude=2.0, optimize=False).fit(*lesson_for(kind, curve))
    assert (given.kernel_.gamma, given.amplitude_, given.result_.status) == (0.3, 2.0, "given")
    assert machine.log_marginal_likelihood_ > given.log_marginal_likelihood_
    everything = kind(RBF(gamma=0.3), amplitude=2.0).fit(*lesson_for(kind, curve))
    assert everything.log_marginal_likelihood_ > machine.log_marginal_likelihood_
    assert everything.result_.status == "local"
    assert everything.result_.stationarity <= everything.tol


@both
def test_what_cannot_be_tuned_is_named(kind, curve):
    data = lesson_for(kind, curve)
    with pytest.raises(ValueError, match=r"out of amplitude.*kernel__gamma, got 'kernel__degree'"):
        kind(optimize=["kernel__degree"]).fit(*data)
    with pytest.raises(ValueError, match="kernel__gamma must start > 0"):
        kind(RBF(gamma=0.0), optimize=["kernel__gamma"]).fit(*data)
    assert kind(RBF(gamma=0.0)).fit(*data).kernel_.gamma == 0.0
    with pytest.raises(ValueError, match="bounds must be for parameters that are tuned, got 'nonsense'"):
        kind(bounds={"nonsense": (0.1, 1.0)}).fit(*data)
    with pytest.raises(ValueError, match="0 < low < high for 'amplitude'"):
        kind(bounds={"amplitude": (1.0, 0.1)}).fit(*data)
    with pytest.raises(ValueError, match="the start of 'amplitude' between them"):
        kind(bounds={"amplitude": (2.0, 3.0)}).fit(*data)


@both
def test_bounds_are_kept_and_told(kind, curve):
    machine = kind(RBF(gamma=0.05), bounds={"kernel__gamma": (0.01, 0.1)}).fit(*lesson_for(kind, curve))
    assert_allclose(machine.kernel_.gamma, 0.1)
    assert machine.result_.at_limit == ("kernel__gamma",)
    machine = kind(RBF(gamma=300.0), bounds={"kernel__gamma": (200.0, 400.0)}).fit(*lesson_for(kind, curve))
    assert_allclose(machine.kernel_.gamma, 200.0)
    assert machine.result_.at_limit == ("kernel__gamma",)
    machine = kind(RBF(gamma=0.05), bounds=1.5, optimize=["kernel__gamma"]).fit(*lesson_for(kind, curve))
    assert_allclose(machine.kernel_.gamma, 0.075)


def test_restarts_find_what_the_first_start_does_not(curve):
    X, y = curve
    far = {"kernel": RBF(gamma=1e-4), "amplitude": 1e-4, "noise": 1.0}  # so wide and small that all is noise
    once = GaussianProcessRegressor(**far).fit(X, y)
    often = GaussianProcessRegressor(**far, n_restarts_optimizer=4).fit(X, y)
    assert len(often.result_.evidences) == 5
    assert_allclose(often.log_marginal_likelihood_, often.result_.evidences.max(), rtol=1e-9)
    assert often.log_marginal_likelihood_ > once.log_marginal_likelihood_ + 10
    assert_array_equal(often.result_.evidences, often.fit(X, y).result_.evidences)


def test_max_iter_is_told(curve):
    with pytest.warns(
        ConvergenceWarning, match=r"stationary point of the evidence \(status max_iter\).*Raise max_iter"
    ):
        GaussianProcessRegressor(max_iter=1).fit(*curve)


def test_a_step_to_a_matrix_without_a_factor_is_a_wall():
    def evidence(values):
        if values["noise"] < 0.5:
            raise IndefiniteError("no factor")
        return Assessed(-values["noise"], {"noise": -values["noise"]})

    with pytest.raises(IndefiniteError, match="no factor"):
        Objective(evidence, {}, Packed.of({"noise": 0.1}), 1.0)
    objective = Objective(evidence, {}, Packed.of({"noise": 1.0}), 1.0)
    assert objective(np.zeros(1))[0] == 1.0
    value, slope = objective(np.log([0.1]))
    assert 1000 < value < np.inf
    assert slope[0] == 0.0
    assert objective.curved(np.log([0.1]))[0] == np.inf
    assert objective.n_evaluations == 2


def test_no_noise_interpolates_and_a_singular_matrix_has_a_name(curve):
    X, y = np.arange(6.0)[:, np.newaxis], np.arange(6.0) ** 2
    machine = GaussianProcessRegressor(RBF(gamma=1.0), noise=0.0, optimize=["amplitude"]).fit(X, y)
    assert machine.noise_ == 0.0
    mean, std = machine.predict(X, return_std=True)
    assert_allclose(mean, y, atol=1e-6)
    assert_allclose(std, 0.0, atol=1e-4)
    with pytest.raises(IndefiniteError, match=r"amplitude \* K \+ noise is not positive definite"):
        GaussianProcessRegressor(RBF(gamma=1.0), noise=0.0, optimize=False).fit(
            np.repeat(X, 2, axis=0), np.repeat(y, 2)
        )
    indefinite = FromFunction(lambda a, b: -float(a @ b), pairwise=True)
    with pytest.raises(IndefiniteError, match="pivot of sample"):
        GaussianProcessRegressor(indefinite, optimize=False).fit(X, y)


def test_noise_is_part_of_the_spread_of_values(curve):
    machine = GaussianProcessRegressor(normalize_y=True).fit(curve[0], 7 * curve[1])
    new = [[0.5], [30.0]]
    function, value = (machine.predict(new, return_std=True, include_noise=noise)[1] for noise in (False, True))
    assert_allclose(value**2 - function**2, machine.noise_ * np.var(7 * curve[1]), rtol=1e-9)
    _, covariance = machine.predict(new, return_cov=True, include_noise=True)
    assert_allclose(np.diag(covariance), value**2, rtol=1e-9)
    with pytest.raises(ValueError, match="cannot both be True"):
        machine.predict(new, return_std=True, return_cov=True)
    with pytest.raises(ValueError, match="n_samples must be an int >= 1"):
        machine.sample_y(new, 0)


def test_constant_values_have_a_spread_too():
    machine = GaussianProcessRegressor(optimize=False, normalize_y=True).fit([[0.0], [1.0]], [3.0, 3.0])
    mean, std = machine.predict([[0.0], [9.0]], return_std=True)
    assert_allclose(mean, 3.0)
    assert std[1] > std[0] > 0
    assert_array_equal(machine.support_, [0, 1])


def test_spread_of_given_matrices(curve):
    X, y = curve
    K = RBF(gamma=2.0)(X)
    given = GaussianProcessRegressor("precomputed").fit(K[:40, :40], y[:40])
    with pytest.raises(ValueError, match="use Indexed"):
        given.predict(K[40:, :40], return_std=True)
    indexed = GaussianProcessRegressor(Indexed(K)).fit(np.arange(40), y[:40])
    mean, std = indexed.predict(np.arange(40, 60), return_std=True)
    assert_allclose(mean, given.predict(K[40:, :40]), rtol=1e-7)
    of_kernel = GaussianProcessRegressor(RBF(gamma=2.0), optimize=["amplitude", "noise"]).fit(X[:40], y[:40])
    assert_allclose(std, of_kernel.predict(X[40:], return_std=True)[1], rtol=1e-6)
    with pytest.raises(ValueError, match=r"kernel must not be 'precomputed'.*Indexed"):
        GaussianProcessClassifier("precomputed").fit(K, y > 0)


def test_parameters_stay_where_their_kernel_allows_them(rng):
    """The decay of a string kernel is at most one."""
    words = ["".join(rng.choice(list("ab"), size=10)) for _ in range(25)]
    y = [word.count("a") for word in words]
    machine = GaussianProcessRegressor(GapWeighted(2, decay=0.9).normalized(), normalize_y=True).fit(words, y)
    assert 0 < machine.kernel_.kernel.decay <= 1.0
    assert machine.predict(words[:2], return_std=True)[1].shape == (2,)


def test_blocks_of_new_samples_make_no_difference(curve, monkeypatch):
    machine = GaussianProcessRegressor(optimize=False).fit(*curve)
    new = np.linspace(0, 9, 50)[:, np.newaxis]
    whole = machine.predict(new, return_std=True)[1], machine.predict(new, return_cov=True)[1]
    monkeypatch.setattr("mercer.kernels.samples.BLOCK_ENTRIES", 7 * 60)
    assert_allclose(machine.predict(new, return_std=True)[1], whole[0], rtol=1e-9)
    assert_allclose(machine.predict(new, return_cov=True)[1], whole[1], rtol=1e-9, atol=1e-12)


def test_decisions_are_log_odds(curve):
    X, y = curve
    new = np.linspace(0, 9, 20)[:, np.newaxis]
    for labels in (y > 0, np.digitize(y, [-0.5, 0.5])):
        machine = GaussianProcessClassifier(optimize=False).fit(X, labels)
        decision, probability = machine.decision_function(new), machine.predict_proba(new)
        assert_allclose(probability.sum(axis=1), 1.0)
        assert_array_equal(machine.predict(new), machine.classes_[probability.argmax(axis=1)])
        if decision.ndim == 1:
            assert_allclose(decision, np.log(probability[:, 1] / probability[:, 0]), rtol=1e-9, atol=1e-12)
        else:
            odds = 1 / (1 + np.exp(-decision))
            assert_allclose(probability, odds / odds.sum(axis=1, keepdims=True), rtol=1e-9)
        mean, std = machine.latent(new)
        assert_allclose(mean.reshape(20, -1), machine.kernel_(new, machine.support_vectors_) @ machine.dual_coef_.T)
        assert mean.shape == std.shape == decision.shape


def test_a_search_goes_around_matrices_without_a_factor(curve):
    """Kernel parameters for which the matrix is not positive definite are left alone."""
    X, y = curve

    class Fragile(RBF):
        def _matrix(self, X, Y):
            return super()._matrix(X, Y) * (-1.0 if self.gamma > 0.5 else 1.0)

    free, fragile = (GaussianProcessRegressor(kind(gamma=0.1)) for kind in (RBF, Fragile))
    assert free.fit(X, y).kernel_.gamma > 0.5
    with pytest.warns(ConvergenceWarning, match="stalled"):
        fragile.fit(X, y)
    assert 0.499 < fragile.kernel_.gamma <= 0.5


def test_units_of_the_values_do_not_matter(curve):
    X, y = curve
    plain, large = GaussianProcessRegressor(tol=1e-8).fit(X, y), GaussianProcessRegressor(tol=1e-8).fit(X, 1e8 * y)
    assert_allclose(large.predict(X), 1e8 * plain.predict(X), rtol=1e-5, atol=1.0)
    assert_allclose([large.amplitude_, large.noise_], [1e16 * plain.amplitude_, 1e16 * plain.noise_], rtol=1e-4)
    given = GaussianProcessRegressor(optimize=False).fit(X, y)
    assert_allclose([given.amplitude_, given.noise_], np.mean(y**2) * np.array([1.0, 0.1]))
    nothing = GaussianProcessRegressor(optimize=False).fit(X, np.zeros(60))
    assert (nothing.amplitude_, nothing.noise_) == (1.0, 0.1)
    with pytest.raises(ValueError, match=r"y must have finite squares, got values up to .*e\+160"):
        GaussianProcessRegressor().fit(X, 1e160 * y)


def test_more_widths_than_samples():
    """The information has no full rank, and the search ends all the same."""
    X, y = np.random.default_rng(0).normal(size=(20, 30)), np.sin(np.linspace(0, 5, 20))
    machine = GaussianProcessRegressor(RBF(gamma=np.full(30, 0.03)), normalize_y=True).fit(X, y)
    assert machine.result_.status == "local"
    given = GaussianProcessRegressor(RBF(gamma=np.full(30, 0.03)), normalize_y=True, optimize=False).fit(X, y)
    assert machine.log_marginal_likelihood_ > given.log_marginal_likelihood_ + 1


@pytest.mark.parametrize("normalize_y", [False, True])
@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[1.0]], [2.0]),
        ([[0.0], [1.0], [2.0]], [3.0, 3.0, 3.0]),
        ([[0.0], [1.0], [2.0]], [0.0, 0.0, 0.0]),
        ([[1.0], [1.0], [1.0]], [0.0, 1.0, 3.0]),
        ([[0.0], [1.0], [2.0]], [[0.0, 5.0], [1.0, 5.0], [3.0, 5.0]]),
    ],
    ids=["one sample", "equal values", "zeros", "equal samples", "an output of equal values"],
)
def test_searches_of_little_data_end(X, y, normalize_y):
    machine = GaussianProcessRegressor(normalize_y=normalize_y).fit(X, y)
    assert machine.result_.status == "local"
    mean, std = machine.predict(X, return_std=True)
    assert mean.shape == std.shape == np.shape(y)
    assert np.isfinite(mean).all()
    assert (std > 0).all()
