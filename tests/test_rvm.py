"""Relevance vector machines: basis functions of all kinds, what users ask for, how they stay upright."""

import numpy as np
import pytest
from graph_samples import random_graph
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from mercer.errors import DomainError
from mercer.kernels import RBF, Sigmoid, Spectrum, WeisfeilerLehman
from mercer.rvm import RelevanceVectorClassifier, RelevanceVectorRegressor
from mercer.solvers import SparseBayes

both = pytest.mark.parametrize("kind", [RelevanceVectorRegressor, RelevanceVectorClassifier])
every_algorithm = pytest.mark.parametrize("algorithm", ["sequential", "reestimation", "em"])


@pytest.fixture
def curve(rng):
    X = rng.uniform(-5, 5, size=(80, 1))
    return X, np.sinc(X[:, 0]) + 0.1 * rng.normal(size=80)


def lesson(kind, X, y):
    return (X, y) if kind is RelevanceVectorRegressor else (X, np.where(y > 0.1, "yes", "no"))


def outputs(machine, X):
    if isinstance(machine, RelevanceVectorRegressor):
        return np.concatenate(machine.predict(X, return_std=True))
    return machine.predict_proba(X)


def results_of(machine):
    return machine.result_ if isinstance(machine.result_, list) else [machine.result_]


# --- basis functions --------------------------------------------------------------------------------------


@both
def test_few_basis_functions_are_enough(kind, curve):
    X, y = lesson(kind, *curve)
    machine = kind(RBF(gamma=1.0)).fit(X, y)
    assert 1 <= len(machine.relevance_) < 20
    assert_array_equal(machine.relevance_vectors_, X[machine.relevance_])
    assert machine.score(X, y) > 0.8
    assert machine.result_.status == "local"
    expansion = RBF(gamma=1.0)(X, machine.relevance_vectors_) @ machine.dual_coef_.T + machine.intercept_
    assert_allclose(machine.basis_values(X) @ machine.mean_, expansion[:, 0], rtol=1e-9, atol=1e-12)


@both
def test_kernels_need_not_be_definite(kind, curve):
    X, y = lesson(kind, *curve)
    kernel = Sigmoid(gamma=1.0, coef0=-1.0)
    assert np.linalg.eigvalsh(kernel(X)).min() < -0.1
    machine = kind(kernel).fit(X, y)
    assert machine.score(X, y) > 0.4
    if kind is RelevanceVectorRegressor:
        augmented = kind(kernel, variance="augmented").fit(X, y)  # of a negative k(x, x), too
        assert (kernel.diag(X) < 0).any()
        assert (augmented.predict(X, return_std=True)[1] >= machine.predict(X, return_std=True)[1]).all()
        linear = kind("linear", variance="augmented").fit(X, y)
        mean, std = linear.predict(np.zeros((1, 1)), return_std=True)  # a basis function of nothing but zeros
        assert_allclose(mean, linear.intercept_)
        assert_allclose(std, kind("linear").fit(X, y).predict(np.zeros((1, 1)), return_std=True)[1])


@both
def test_words_and_graphs_are_samples_too(kind, rng):
    words = ["".join(rng.choice(list("abcd"), size=12)) for _ in range(40)]
    y = np.array([word.count("ab") + 0.1 * rng.normal() for word in words])
    machine = kind(Spectrum(2)).fit(words, y if kind is RelevanceVectorRegressor else y > 0.5)
    assert machine.score(words, y if kind is RelevanceVectorRegressor else y > 0.5) > 0.8
    assert machine.relevance_vectors_ == [words[i] for i in machine.relevance_]
    graphs = [random_graph(rng, n) for n in rng.integers(2, 9, size=20)]
    y = np.array([float(graph.n_nodes) for graph in graphs])
    machine = kind(WeisfeilerLehman()).fit(graphs, y if kind is RelevanceVectorRegressor else y > np.median(y))
    assert np.isfinite(outputs(machine, graphs)).all()
    assert len(machine.relevance_vectors_) == len(machine.relevance_)


@both
def test_several_kernels_at_once(kind, curve):
    X, y = curve
    bumps = np.exp(-20 * (X[:, 0] - 2) ** 2) - np.exp(-20 * (X[:, 0] + 1) ** 2)
    X, y = lesson(kind, X, np.sin(X[:, 0] / 2) + bumps + 0.1 * y)
    kernels = [RBF(gamma=0.1), RBF(gamma=20.0)]
    machine = kind(kernels).fit(X, y)
    assert set(machine.relevance_kernel_) == {0, 1}
    assert len(machine.relevance_kernel_) == len(machine.relevance_) == len(machine.relevance_vectors_)
    new = X[:7] + 0.3
    values = machine.basis_values(new)
    expected = np.ones_like(values)
    constant = values.shape[1] - len(machine.relevance_)
    for i, (k, x) in enumerate(zip(machine.relevance_kernel_, machine.relevance_vectors_, strict=True)):
        expected[:, constant + i] = kernels[k](new, x[np.newaxis])[:, 0]
    assert_allclose(values, expected, rtol=1e-12)
    mean = machine.dual_coef_ @ values[:, constant:].T + machine.intercept_[:, np.newaxis]
    assert_allclose(values @ machine.mean_, mean[0], rtol=1e-10)
    if kind is RelevanceVectorRegressor:
        assert_allclose(machine.predict(new), mean[0], rtol=1e-9)
    alone = [kind(kernel).fit(X, y).log_evidence_ for kernel in kernels]
    assert machine.log_evidence_ > max(alone) - 0.5


@both
def test_a_design_matrix_of_ones_own(kind, rng):
    Phi = rng.normal(size=(60, 8))
    y = Phi[:, 2] - 2 * Phi[:, 5] + 0.1 * rng.normal(size=60)
    X, y = lesson(kind, Phi, y)
    machine = kind(basis="precomputed", fit_intercept=False).fit(X, y)
    assert {2, 5} <= set(machine.relevance_)
    assert_array_equal(machine.basis_values(X), X[:, machine.relevance_])
    new = rng.normal(size=(5, 8))
    assert np.isfinite(outputs(machine, new)).all()
    with pytest.raises(ValueError, match="8"):
        machine.predict(new[:, :7])
    some = kind(basis="precomputed", candidates=[1, 5, 7]).fit(X, y)
    assert set(some.relevance_) <= {1, 5, 7}


@both
def test_a_kernel_matrix_is_its_kernel(kind, curve):
    X, y = lesson(kind, *curve)
    new = X[:9] + 0.1
    kernel = RBF(gamma=1.0)
    computed = kind(kernel).fit(X, y)
    given = kind("precomputed").fit(kernel(X), y)
    assert_array_equal(given.relevance_, computed.relevance_)
    assert_allclose(outputs(given, kernel(new, X)), outputs(computed, new), rtol=1e-8)


@both
def test_candidates(kind, curve):
    X, y = lesson(kind, *curve)
    some = kind(RBF(gamma=1.0), candidates=[3, 50, 7, 50]).fit(X, y)
    assert set(some.relevance_) <= {3, 7, 50}
    drawn = kind(RBF(gamma=1.0), candidates=10, random_state=1).fit(X, y)
    again = kind(RBF(gamma=1.0), candidates=10, random_state=1).fit(X, y)
    assert_array_equal(drawn.relevance_, again.relevance_)
    assert set(drawn.relevance_) <= set(np.random.RandomState(1).choice(80, 10, replace=False))
    everyone = kind(RBF(gamma=1.0), candidates=1000).fit(X, y)
    assert_array_equal(everyone.alpha_, kind(RBF(gamma=1.0)).fit(X, y).alpha_)
    weight = np.ones(80)
    weight[[3, 7]] = 0.0
    assert set(kind(RBF(gamma=1.0), candidates=[3, 7, 50]).fit(X, y, sample_weight=weight).relevance_) <= {50}
    with pytest.raises(ValueError, match="all of these have weight zero"):
        kind(candidates=[3, 7]).fit(X, y, sample_weight=weight)
    for bad in (0, 2.5, [], [0.5, 1.0], [[1, 2]], "all"):
        with pytest.raises((TypeError, ValueError), match="candidates must be None, an int >= 1 or an array"):
            kind(candidates=bad).fit(X, y)
    with pytest.raises(ValueError, match="candidates must be positions from 0 to 79, got -1 to 80"):
        kind(candidates=[-1, 80]).fit(X, y)


@both
def test_samples_of_weight_zero_are_as_if_they_were_not_there(kind, curve):
    X, y = lesson(kind, *curve)
    weight = np.where(np.arange(80) % 4, 1.0, 0.0)
    weighted = kind(RBF(gamma=1.0)).fit(X, y, sample_weight=weight)
    without = kind(RBF(gamma=1.0)).fit(X[weight > 0], y[weight > 0])
    assert_array_equal(weighted.relevance_, np.flatnonzero(weight)[without.relevance_])
    assert_allclose(weighted.log_evidence_, without.log_evidence_, rtol=1e-10)
    some = kind(RBF(gamma=1.0), candidates=[1, 30, 50, 61]).fit(X, y, sample_weight=weight)
    places = np.searchsorted(np.flatnonzero(weight), [1, 30, 50, 61])
    without = kind(RBF(gamma=1.0), candidates=places).fit(X[weight > 0], y[weight > 0])
    assert_allclose(some.log_evidence_, without.log_evidence_, rtol=1e-10)
    assert_array_equal(some.relevance_vectors_, without.relevance_vectors_)


@both
def test_with_and_without_a_constant(kind, curve):
    X, y = lesson(kind, *curve)
    without = kind(RBF(gamma=1.0), fit_intercept=False).fit(X, y)
    assert_array_equal(without.intercept_, 0.0)
    assert without.basis_values(X).shape[1] == len(without.relevance_)
    if kind is RelevanceVectorRegressor:
        machine = kind(RBF(gamma=1.0)).fit(X, y + 10)
        assert_allclose(machine.intercept_, 10, atol=1.0)
        assert_array_equal(machine.basis_values(X)[:, 0], 1.0)
        assert len(machine.alpha_) == len(machine.relevance_) + 1


@both
def test_what_does_not_go_together_is_named(kind, curve):
    X, y = lesson(kind, *curve)
    for change, error, message in [
        ({"kernel": []}, ValueError, "a list of at least one, got an empty list"),
        ({"kernel": ["rbf", "precomputed"]}, ValueError, "must not have 'precomputed' in a list"),
        ({"kernel": [RBF(), Spectrum(2)]}, DomainError, "kernels of one domain"),
        ({"kernel": ["rbf", "linear"], "gamma": "evidence"}, ValueError, "gamma='evidence' needs one kernel"),
        ({"kernel": "linear", "gamma": "evidence"}, ValueError, "a kernel with a smooth positive parameter"),
        ({"gamma": "scale"}, ValueError, "gamma must be None or 'evidence', got 'scale'"),
        ({"alpha_prior": (1.0, 0.0)}, ValueError, "alpha_prior must have rate > 0 where shape > 0"),
        ({"alpha_prior": 1.0}, ValueError, r"alpha_prior must be None or a pair \(shape, rate\)"),
        ({"callback": 3}, TypeError, "callback must be None or a callable, got 3"),
        ({"algorithm": "newton"}, ValueError, "algorithm must be 'sequential' or 'reestimation' or 'em', got 'newton'"),
        ({"tol": 0}, ValueError, "tol must be a float > 0"),
        ({"random_state": "x"}, ValueError, "cannot be used to seed"),
    ]:
        with pytest.raises(error, match=message):
            kind(**change).fit(X, y)
    if kind is RelevanceVectorRegressor:
        with pytest.raises(ValueError, match="variance='augmented' needs one kernel that is computed"):
            kind(basis="precomputed", variance="augmented").fit(X, y)
        with pytest.raises(ValueError, match="noise must be"):
            kind(noise=0.0).fit(X, y)


# --- what is learnt, and how --------------------------------------------------------------------------------


def test_noise_given_and_learnt(curve):
    X, y = curve
    learnt = RelevanceVectorRegressor(RBF(gamma=1.0)).fit(X, y)
    assert_allclose(learnt.noise_variance_, 0.01, rtol=0.5)
    for noise in (1e-3, 0.1):
        given = RelevanceVectorRegressor(RBF(gamma=1.0), noise=noise).fit(X, y)
        assert given.noise_variance_ == pytest.approx(noise, rel=1e-14)
        assert given.log_evidence_ < learnt.log_evidence_


def test_priors_draw_precisions_towards_them(curve):
    X, y = curve
    plain = RelevanceVectorRegressor(RBF(gamma=1.0)).fit(X, y)
    held = RelevanceVectorRegressor(RBF(gamma=1.0), noise_prior=(1e4, 1e4)).fit(X, y)
    assert_allclose(held.noise_variance_, 1.0, rtol=0.02)
    shrunk = RelevanceVectorRegressor(RBF(gamma=1.0), alpha_prior=(1e4, 1e4)).fit(X, y)
    assert_allclose(shrunk.alpha_, 1.0, rtol=0.1)
    assert shrunk.log_evidence_ < plain.log_evidence_
    vague = RelevanceVectorRegressor(RBF(gamma=1.0), alpha_prior=(1e-6, 1e-6), noise_prior=(1e-6, 1e-6)).fit(X, y)
    assert_allclose(vague.log_evidence_, plain.log_evidence_, atol=0.5)


def test_several_outputs_are_several_machines(curve):
    X, y = curve
    Y = np.stack([y, np.cos(X[:, 0]) + 0.05 * y], axis=1)
    machine = RelevanceVectorRegressor(RBF(gamma=1.0)).fit(X, Y)
    alone = [RelevanceVectorRegressor(RBF(gamma=1.0)).fit(X, column) for column in Y.T]
    mean, std = machine.predict(X, return_std=True)
    assert mean.shape == std.shape == Y.shape
    for k, single in enumerate(alone):
        one_mean, one_std = single.predict(X, return_std=True)
        assert_allclose(mean[:, k], one_mean, rtol=1e-8, atol=1e-10)
        assert_allclose(std[:, k], one_std, rtol=1e-8)
    assert_array_equal(machine.noise_variance_, [single.noise_variance_ for single in alone])
    assert_allclose(machine.log_evidence_, sum(single.log_evidence_ for single in alone))
    assert set(machine.relevance_) == set(alone[0].relevance_) | set(alone[1].relevance_)
    augmented = RelevanceVectorRegressor(RBF(gamma=1.0), variance="augmented").fit(X, Y)
    assert augmented.predict(X, return_std=True)[1].shape == Y.shape


def test_the_spread_beyond_the_data(curve):
    X, y = curve
    far = np.array([[40.0]])
    plain = RelevanceVectorRegressor(RBF(gamma=1.0)).fit(X, y)
    augmented = RelevanceVectorRegressor(RBF(gamma=1.0), variance="augmented").fit(X, y)
    assert_array_equal(plain.alpha_, augmented.alpha_)
    assert plain.predict(far, return_std=True)[1] < 0.15
    assert_allclose(augmented.predict(far, return_std=True)[1] ** 2, y.var() + plain.noise_variance_, rtol=0.1)
    assert_array_equal(augmented.predict(far), augmented.predict(far, return_std=True)[0])
    switched = augmented.set_params(variance="plain").fit(X, y)
    assert not hasattr(switched, "_training")


def test_classes_that_weigh_more(rng):
    X = rng.normal(size=(120, 2))
    y = (X[:, 0] + 0.8 * rng.normal(size=120) > 1.0).astype(int)
    plain, balanced, given = (
        RelevanceVectorClassifier(RBF(gamma=0.3), class_weight=weight).fit(X, y)
        for weight in (None, "balanced", {0: 1.0, 1: 10.0})
    )
    assert plain.predict(X).mean() < min(balanced.predict(X).mean(), given.predict(X).mean())
    again = RelevanceVectorClassifier(RBF(gamma=0.3)).fit(X, y, sample_weight=np.where(y == 1, 10.0, 1.0))
    assert_allclose(again.log_evidence_, given.log_evidence_, rtol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_decisions_and_predictions_agree(rng, n_classes):
    X = rng.normal(size=(90, 2))
    y = np.digitize(X[:, 0], [0.0] if n_classes == 2 else [-0.4, 0.4])
    for way in ("softmax", "ovr"):
        for kind in ("averaged", "mode"):
            machine = RelevanceVectorClassifier(multi_class=way, probabilities=kind).fit(X, y)
            P, decision = machine.predict_proba(X), machine.decision_function(X)
            assert_allclose(P.sum(axis=1), 1.0)
            assert_array_equal(machine.predict(X), P.argmax(axis=1))
            if n_classes == 2:
                assert_allclose(decision, np.log(P[:, 1] / P[:, 0]), rtol=1e-6, atol=1e-8)
            else:
                assert_array_equal(decision.argmax(axis=1), P.argmax(axis=1))


@both
def test_the_width_with_the_largest_evidence(kind, curve):
    X, y = lesson(kind, *curve)
    start = RBF(gamma=0.3)
    fixed = kind(start).fit(X, y)
    tuned = kind(start, gamma="evidence").fit(X, y)
    assert tuned.log_evidence_ > fixed.log_evidence_ + 10
    assert start.gamma == 0.3 != tuned.kernel_.gamma
    again = kind(RBF(gamma=tuned.kernel_.gamma)).fit(X, y)
    assert again.log_evidence_ > fixed.log_evidence_ + 10


@both
def test_a_warm_start_is_where_the_last_fit_ended(kind, curve):
    X, y = lesson(kind, *curve)
    machine = kind(RBF(gamma=1.0), warm_start=True).fit(X, y)
    first, evidence, relevance = machine.n_iter_, machine.log_evidence_, machine.relevance_
    machine.fit(X, y)
    assert machine.n_iter_ <= max(3, first // 4) < first
    assert_array_equal(machine.relevance_, relevance)
    assert machine.log_evidence_ >= evidence - 1e-6
    machine.fit(X[:50], y[:50])  # another number of basis functions: from the beginning
    cold = kind(RBF(gamma=1.0)).fit(X[:50], y[:50])
    assert_array_equal(machine.alpha_, cold.alpha_)


@both
def test_limits_and_callbacks_are_told(kind, curve):
    X, y = lesson(kind, *curve)
    with pytest.warns(ConvergenceWarning, match=r"status max_iter.*Raise max_iter or tol"):
        machine = kind(RBF(gamma=1.0), max_iter=1, tol=1e-6).fit(X, y)
    assert np.isfinite(outputs(machine, X)).all()
    with pytest.warns(ConvergenceWarning, match=r"status max_seconds.*Raise max_seconds or tol"):
        kind(RBF(gamma=1.0), max_seconds=1e-9).fit(X, y)
    seen = []
    with pytest.warns(ConvergenceWarning, match=r"status stopped.*The callback stopped it"):
        machine = kind(RBF(gamma=1.0), callback=lambda progress: seen.append(progress) or len(seen) == 2).fit(X, y)
    assert machine.result_.status == "stopped"
    assert seen[0].objective <= seen[1].objective
    assert np.isfinite(outputs(machine, X)).all()


def test_limits_are_those_of_the_whole_fit(curve, monkeypatch):
    X, y = curve
    Y, calls = np.stack([y, y**2, y**3], axis=1), []
    with pytest.warns(ConvergenceWarning, match="status stopped"):
        machine = RelevanceVectorRegressor(callback=lambda progress: calls.append(1) or len(calls) == 2).fit(X, Y)
    assert [result.status for result in machine.result_] == ["stopped"] * 3
    assert len(calls) == 2
    given = []
    monkeypatch.setattr(
        "mercer.rvm.base.SparseBayes",
        lambda *args, max_seconds, **options: given.append(max_seconds) or SparseBayes(*args, **options),
    )
    RelevanceVectorRegressor(max_seconds=100.0).fit(X, Y)
    assert 100.0 > given[0] > given[1] > given[2] > 0
    RelevanceVectorRegressor().fit(X, Y)
    assert given[3:] == [None] * 3


@both
@every_algorithm
def test_memory_makes_no_difference(kind, algorithm, curve):
    X, y = lesson(kind, *curve)
    kept, made = (kind(RBF(gamma=1.0), algorithm=algorithm, tol=0.1, memory=m).fit(X, y) for m in ("auto", 1e-3))
    assert_array_equal(made.relevance_, kept.relevance_)
    assert_allclose(made.log_evidence_, kept.log_evidence_, rtol=1e-9)
    assert_allclose(outputs(made, X), outputs(kept, X), rtol=1e-5, atol=1e-8)


@both
def test_order_does_not_matter(kind, curve, rng):
    X, y = lesson(kind, *curve)
    order = rng.permutation(80)
    one, other = kind(RBF(gamma=1.0)).fit(X, y), kind(RBF(gamma=1.0)).fit(X[order], y[order])
    assert_array_equal(np.sort(order[other.relevance_]), one.relevance_)
    assert_allclose(other.log_evidence_, one.log_evidence_, rtol=1e-8)
    assert_allclose(outputs(other, X), outputs(one, X), rtol=1e-4, atol=1e-6)


# --- how they stay upright ----------------------------------------------------------------------------------


def assert_upright(machine, X):
    """At least one basis function, finite outputs, an evidence that did not fall, a jitter that is told."""
    assert len(machine.alpha_) >= 1
    assert (machine.alpha_ > 0).all() and np.isfinite(machine.mean_).all() and np.isfinite(machine.log_evidence_)
    assert np.isfinite(outputs(machine, X)).all()
    for result in results_of(machine):
        assert result.status == "local"
        assert (np.diff(result.history.log_evidence) >= 0).all()
        assert 0.0 <= result.jitter <= 1e-6


def hard_values():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=40)
    D = rng.normal(size=(40, 6))
    own = {"basis": "precomputed"}
    no_constant = {"fit_intercept": False}
    cases = {
        "equal samples": (np.repeat(X[:10], 4, axis=0), y, {}),
        "equal columns": (np.tile(D, 3), D[:, 0] + 0.1 * y, own),
        "nearly equal columns": (np.hstack([D, D + 1e-9 * rng.normal(size=D.shape), 2 * D]), D[:, 0] + 0.1 * y, own),
        "collinear columns": (np.hstack([D, D @ rng.normal(size=(6, 30))]), D @ np.arange(6.0), own),
        "zero columns": (np.hstack([0 * D, D]), y, own),
        "constant values": (X, np.full(40, 3.0), {}),
        "constant values without a constant": (X, np.full(40, 3.0), no_constant),
        "zero values": (X, np.zeros(40), {}),
        "zero values without a constant": (X, np.zeros(40), no_constant),
        "one sample": (X[:1], y[:1], {}),
        "one sample of zero": (X[:1], np.zeros(1), no_constant),
        "two samples": (X[:2], y[:2], {}),
        "no noise": (X, np.sin(X[:, 0]), {}),
        "no noise, in the span": (D, D @ np.ones(6), own),
        "more columns than samples": (rng.normal(size=(10, 50)), y[:10], own),
        "fewer columns than samples": (D[:, :2], y, own),
        "a wide kernel": (X, y, {"kernel": RBF(gamma=1e-6)}),
        "a wider kernel": (X, y, {"kernel": RBF(gamma=1e-12)}),
        "a narrow kernel": (X, y, {"kernel": RBF(gamma=1e6)}),
        "a large offset": (X, y + 1e6, {}),
        "one large value": (X, np.where(np.arange(40), y, 1e8), {}),
        "little noise that is given": (X, y, {"noise": 1e-10}),
        "much noise that is given": (X, y, {"noise": 1e10}),
        "huge columns and priors": (1e100 * D, y, own | {"alpha_prior": (0.1, 0.1)}),
        "mixed scales": (np.hstack([1e100 * D, 1e-100 * D[:, :3] ** 2]), y, own),
    }
    cases |= {f"values of 1e{e}": (X, 10.0**e * y, {}) for e in (-100, -20, 20, 100)}
    return cases


@every_algorithm
@pytest.mark.parametrize("case", hard_values())
def test_hard_values(case, algorithm):
    X, y, options = hard_values()[case]
    machine = RelevanceVectorRegressor(**options, algorithm=algorithm).fit(X, y)
    assert_upright(machine, X)
    assert (machine.predict(X, return_std=True)[1] > 0).all()
    if not options.get("basis"):
        augmented = RelevanceVectorRegressor(**options, algorithm=algorithm, variance="augmented").fit(X, y)
        assert np.isfinite(outputs(augmented, X)).all()


def hard_classes(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=40), [0.0] if n_classes == 2 else [-0.5, 0.5])
    D = rng.normal(size=(40, 6)) + (y[:, np.newaxis] == np.arange(6))
    own = {"basis": "precomputed"}
    apart = X + 20 * y[:, np.newaxis]
    cases = {
        "separable": (apart, y, {}),
        "separable by a plane": (apart, y, {"kernel": "linear"}),
        "one sample of each": (np.arange(1.0 * n_classes)[:, np.newaxis], np.arange(n_classes), {}),
        "equal samples, unequal labels": (np.ones((40, 2)), y, {}),
        "some equal samples": (np.repeat(X[:10], 4, axis=0), y, {}),
        "labels at random": (X, rng.permutation(y), {}),
        "rare classes": (X, np.where(np.arange(40) < n_classes, np.arange(40), 0), {}),
        "equal columns": (np.tile(D, 3), y, own),
        "nearly equal columns": (np.hstack([D, D + 1e-9 * rng.normal(size=D.shape), 2 * D]), y, own),
        "collinear columns": (np.hstack([D, D @ rng.normal(size=(6, 30))]), y, own),
        "zero columns": (np.hstack([0 * D, D]), y, own),
        "more columns than samples": (rng.normal(size=(20, 30)), y[:20], own),
        "a wide kernel": (X, y, {"kernel": RBF(gamma=1e-6)}),
        "a narrow kernel": (X, y, {"kernel": RBF(gamma=1e6)}),
        "no constant": (X, y, {"fit_intercept": False}),
        "mixed scales": (np.hstack([1e100 * D, 1e-100 * D[:, :3] ** 2]), y, own),
        "priors": (X, y, {"alpha_prior": (0.1, 0.1)}),
    }
    return cases


@pytest.mark.parametrize("way", ["sequential", "reestimation", "em", "ovr"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("case", hard_classes(2))
def test_hard_classes(case, n_classes, way):
    X, y, options = hard_classes(n_classes)[case]
    options |= (
        {"multi_class": "ovr"} if way == "ovr" else {"algorithm": way, "tol": 0.01 if way == "sequential" else 0.1}
    )
    machine = RelevanceVectorClassifier(**options).fit(X, y)
    assert_upright(machine, X)
    assert_allclose(machine.predict_proba(X).sum(axis=1), 1.0)


@both
def test_nothing_to_learn_from_has_a_name(kind):
    X, y = lesson(kind, np.zeros((6, 2)), np.arange(6.0) - 2)
    with pytest.raises(ValueError, match="All basis functions are zero on all samples"):
        kind(basis="precomputed", fit_intercept=False).fit(X, y)
