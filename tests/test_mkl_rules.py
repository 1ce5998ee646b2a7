"""Weights of kernels by rules: against plain twins, at limits, and in the estimators."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from mercer import MKLClassifier, MKLOneClass, MKLRegressor
from mercer.errors import IndefiniteError, NotSeparableError
from mercer.gram import GramStack, center, centered_alignment, ideal_kernel
from mercer.kernels import RBF, Linear
from mercer.mkl import Alignment, DivConv, DivDC, Easy, Uniform
from mercer.mkl.rules.matrices import MatrixStack
from mercer.threads import limit_threads

RULES = [Alignment(), Alignment(joint=False), Easy(), Easy(lam=0.0), Easy(lam=1.0), DivConv(), DivDC()]
DIVERGENCES = [DivConv(), DivDC(), DivConv(sigma=1.0), DivDC(sigma=0.5)]


def some_kernels(n_classes=2, n=40, seed=0):
    """Matrices with a mean diagonal of one, of which some know something of the classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, size=n)
    X = rng.normal(size=(n, 5))
    X[:, 0] += 1.5 * y
    kernels = [RBF(gamma=gamma)(X) for gamma in (0.02, 0.2, 2.0)] + [np.outer(x, x) for x in X.T[:3]]
    return [K / np.diagonal(K).mean() for K in kernels], y


def divergence(first, second):
    """KL(N(0, first) || N(0, second))."""
    inverse = np.linalg.inv(second)
    logs = np.linalg.slogdet(second)[1] - np.linalg.slogdet(first)[1]
    return 0.5 * (np.trace(inverse @ first) - len(first) + logs)


def divergence_of(rule, kernels, y):
    """The criterion of a rule as a function of weights, for each sample."""
    noise = rule.sigma * np.eye(len(y))
    K_y = ideal_kernel(y) + noise

    def value(d):
        K_x = np.tensordot(d, kernels, axes=1) + noise
        return (divergence(K_x, K_y) if isinstance(rule, DivConv) else divergence(K_y, K_x)) / len(y)

    return value


def slopes_of(function, d, step=1e-6):
    return np.array([(function(d + step * e) - function(d - step * e)) / (2 * step) for e in np.eye(len(d))])


# --- against twins -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_alignment_is_that_of_the_best_combination(n_classes):
    kernels, y = some_kernels(n_classes)
    found = Alignment().solve(kernels, y)
    found_twin = minimize(
        lambda d: -centered_alignment(np.tensordot(d, kernels, axes=1), y),
        np.ones(len(kernels)),
        bounds=[(0.0, None)] * len(kernels),
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    assert found.objective == pytest.approx(-found_twin.fun, abs=1e-9)
    assert found.objective == pytest.approx(centered_alignment(np.tensordot(found.weights, kernels, axes=1), y))
    np.testing.assert_allclose(found.weights, found_twin.x / found_twin.x.sum(), atol=1e-3)
    assert found.violation < 1e-7


def test_alignment_of_each():
    kernels, y = some_kernels(3)
    each = np.array([centered_alignment(K, y) for K in kernels])
    np.testing.assert_allclose(Alignment(joint=False)(kernels, y), each / each.sum(), rtol=1e-10)


def test_alignment_with_numbers():
    kernels, _ = some_kernels()
    Y = np.random.default_rng(1).normal(size=(len(kernels[0]), 2))
    target = center(Y @ Y.T)
    each = np.array([centered_alignment(K, target) for K in kernels])
    np.testing.assert_allclose(Alignment(joint=False)(kernels, Y), each / each.sum(), rtol=1e-10)


def easy_twin(kernels, y, lam):
    """Aiolli and Donini's algorithm by a machine with a hard margin, whose multipliers are gamma up to a factor."""
    energies = np.zeros(len(kernels))
    classes = np.unique(y)
    for c in classes[1:] if len(classes) == 2 else classes:
        sign = np.where(y == c, 1.0, -1.0)
        K = (1 - lam) * sum(kernels) + lam * np.eye(len(y))
        machine = SVC(C=1e9, kernel="precomputed", tol=1e-9).fit(K, sign)
        signed = np.zeros(len(y))
        signed[machine.support_] = machine.dual_coef_[0]
        signed /= signed[signed > 0].sum()
        energies += [signed @ K @ signed for K in kernels]
    return energies / energies.sum()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("lam", [0.0, 0.1, 0.9])
def test_easy_is_the_published_algorithm(n_classes, lam):
    kernels, y = some_kernels(n_classes)
    np.testing.assert_allclose(Easy(lam)(kernels, y), easy_twin(kernels, y, lam), atol=2e-6)


def test_easy_by_means():
    kernels, y = some_kernels()
    c = np.where(y == 1, 1.0 / np.sum(y == 1), -1.0 / np.sum(y == 0))
    distances = np.array([c @ K @ c for K in kernels])
    found = Easy(lam=1.0).solve(kernels, y)
    np.testing.assert_allclose(found.weights, distances / distances.sum(), rtol=1e-12)
    assert found.objective == pytest.approx(distances.sum(), rel=1e-12)
    np.testing.assert_allclose(Easy(lam=1.0 - 1e-9)(kernels, y), distances / distances.sum(), atol=1e-6)


@pytest.mark.parametrize("lam", [1e-6, 0.1, 0.9, 1.0 - 1e-9])
def test_easy_ends_at_the_same_point_from_any_start(lam, monkeypatch):
    kernels, y = some_kernels(n=100)
    y = np.where(np.arange(len(y)) % 7 == 0, 2, y)  # three games
    weight = np.geomspace(0.1, 10.0, len(y))
    found = Easy(lam=lam).solve(kernels, y, weight)
    monkeypatch.setattr("mercer.mkl.rules.easy._nearly_solved", lambda game: None)
    plain = Easy(lam=lam).solve(kernels, y, weight)
    np.testing.assert_allclose(found.weights, plain.weights, atol=1e-5)
    assert found.n_iter <= plain.n_iter


@pytest.mark.filterwarnings("ignore:The use of `x.T`")
def test_easy_is_that_of_mklpy():
    torch = pytest.importorskip("torch")
    algorithms = pytest.importorskip("MKLpy.algorithms")
    kernels, y = some_kernels(n=100)
    theirs = algorithms.EasyMKL(lam=0.1).combine_kernels([torch.tensor(K) for K in kernels], torch.tensor(y)).weights
    np.testing.assert_allclose(Easy(lam=0.1)(kernels, y), theirs, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("rule", DIVERGENCES, ids=repr)
def test_divergences_are_those_of_gaussians(rule, n_classes):
    kernels, y = some_kernels(n_classes)
    found = rule.solve(kernels, y)
    value = divergence_of(rule, kernels, y)
    slopes = slopes_of(value, found.weights)
    assert found.status == "solved"
    assert found.objective == pytest.approx(value(found.weights), rel=1e-9)
    assert found.gap == pytest.approx(found.weights @ slopes - slopes.min(), abs=1e-7)
    assert found.gap <= rule.tol * max(1.0, found.objective)


@pytest.mark.parametrize("rule", [DivConv(), DivDC()], ids=repr)
def test_divergence_from_numbers(rule):
    kernels, _ = some_kernels()
    Y = np.random.default_rng(1).normal(size=(len(kernels[0]), 2)) + np.array([5.0, 0.0])
    centred = Y - Y.mean(axis=0)
    centred /= np.sqrt((centred**2).sum(axis=1).mean())
    noise, found = rule.sigma * np.eye(len(Y)), rule.solve(kernels, Y)
    K_x, K_y = np.tensordot(found.weights, kernels, axes=1) + noise, centred @ centred.T + noise
    expected = divergence(K_x, K_y) if isinstance(rule, DivConv) else divergence(K_y, K_x)
    assert found.objective == pytest.approx(expected / len(Y), rel=1e-9)
    np.testing.assert_allclose(rule(kernels, 7.0 * Y + 3.0), found.weights, atol=1e-6)


@pytest.mark.parametrize("rule", [DivConv(), DivDC()], ids=repr)
def test_no_other_weights_have_a_smaller_divergence(rule):
    kernels, y = some_kernels(3)
    found, value = rule.solve(kernels, y), divergence_of(rule, kernels, y)
    others = np.random.default_rng(0).dirichlet(np.full(len(kernels), 0.3), size=300)
    assert min(map(value, others)) >= found.objective - found.gap


@pytest.mark.parametrize("rule", [DivConv(), DivDC()], ids=repr)
def test_divergence_of_the_ideal_kernel_is_zero(rule):
    kernels, y = some_kernels(3)
    found = rule.solve([*kernels, ideal_kernel(y)], y)
    assert found.weights[-1] == pytest.approx(1.0, abs=1e-3)
    assert abs(found.objective) < 1e-4


# --- limits --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [Uniform(), *RULES], ids=repr)
def test_weights_of_one_kernel(rule):
    kernels, y = some_kernels()
    np.testing.assert_array_equal(rule(kernels[:1], y), [1.0])


@pytest.mark.parametrize("rule", [Uniform(), *RULES], ids=repr)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_add_up_to_one(rule, n_classes):
    kernels, y = some_kernels(n_classes)
    d = rule(kernels, y)
    assert (d >= 0).all()
    assert d.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_kernels_that_are_equal_share_their_weight(rule):
    kernels, y = some_kernels()
    first = rule(kernels, y)
    k = int(np.argmax(first))
    d = rule([*kernels, kernels[k], kernels[k]], y)
    np.testing.assert_allclose(d[[-2, -1]], d[k], atol=1e-5)
    assert d[k] > 0.1 * first[k]


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_ideal_kernel_among_noise_has_most_weight(rule, n_classes):
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, size=40)
    noise = [np.outer(x, x) for x in rng.normal(size=(5, 40))]
    d = rule([*noise, ideal_kernel(y)], y)
    assert d[-1] > 0.5


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_the_order_of_kernels_and_samples_does_not_matter(rule):
    kernels, y = some_kernels(3)
    d = rule(kernels, y)
    order, samples = np.random.default_rng(0).permutation(len(kernels)), np.random.default_rng(1).permutation(len(y))
    np.testing.assert_allclose(rule([kernels[k] for k in order], y), d[order], atol=2e-3)
    np.testing.assert_allclose(rule([K[np.ix_(samples, samples)] for K in kernels], y[samples]), d, atol=2e-3)


def test_alignment_does_not_depend_on_the_scale_of_kernels():
    kernels, y = some_kernels()
    scale = np.array([1e-6, 1.0, 1e5, 3.0, 0.1, 10.0])
    parts = Alignment()([s * K for s, K in zip(scale, kernels, strict=True)], y) * scale
    np.testing.assert_allclose(parts / parts.sum(), Alignment()(kernels, y), rtol=1e-6, atol=1e-9)
    shifted = [K + 1e3 for K in kernels]
    np.testing.assert_allclose(Alignment()(shifted, y), Alignment()(kernels, y), atol=1e-7)


@pytest.mark.parametrize("kernel", [np.zeros((40, 40)), np.full((40, 40), 7.0)], ids=["zero", "constant"])
def test_kernels_that_know_nothing(kernel):
    kernels, y = some_kernels()
    for rule in (Alignment(), Alignment(joint=False)):
        d = rule([*kernels, kernel], y)
        assert d[-1] == 0.0
        np.testing.assert_allclose(d[:-1], rule(kernels, y), atol=1e-9)
        np.testing.assert_array_equal(rule([kernel, kernel], y), [0.5, 0.5])
    assert Easy()([*kernels, kernel], y)[-1] == pytest.approx(0.0, abs=1e-12)


def test_easy_where_classes_meet():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.tile([0, 1], 20)
    kernels = [X @ X.T, np.outer(X[:, 0], X[:, 0])]
    with pytest.raises(NotSeparableError, match="lam must be > 0 for classes whose convex hulls meet"):
        Easy(lam=0.0)(kernels, y)
    np.testing.assert_allclose(Easy(lam=0.5)(kernels, y), easy_twin(kernels, y, 0.5), atol=2e-6)
    nothing = Easy(lam=0.5).solve([np.ones((40, 40)), 1e-13 * np.eye(40)], y)  # but for rounding
    np.testing.assert_array_equal(nothing.weights, [0.5, 0.5])
    assert nothing.status == "solved"


def test_easy_where_one_class_of_several_meets_the_rest():
    x, y = np.array([-2.0, -1.9, 0.0, 0.1, 2.0, 2.1]), np.array([0, 0, 1, 1, 2, 2])
    K = np.outer(x, x)
    np.testing.assert_allclose(Easy(lam=0.0)([K, 2.0 * K], y), [1 / 3, 2 / 3], rtol=1e-6)


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_sample_of_weight_two_is_there_twice(rule, n_classes):
    kernels, y = some_kernels(n_classes)
    weight = np.random.default_rng(2).integers(0, 3, size=len(y))
    copies = np.repeat(np.arange(len(y)), weight)
    there = rule.solve(kernels, y, weight)
    copied = rule.solve([K[np.ix_(copies, copies)] for K in kernels], y[copies])
    np.testing.assert_allclose(there.weights, copied.weights, atol=2e-3)
    assert there.objective == pytest.approx(copied.objective, rel=1e-4)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_samples_without_weight_do_not_matter(rule):
    kernels, y = some_kernels()
    labels = np.append(y, [7, 8])
    larger = [np.pad(K, (0, 2), constant_values=5.0) for K in kernels]
    weight = np.append(np.ones(len(y)), [0.0, 0.0])
    np.testing.assert_allclose(rule(larger, labels, weight), rule(kernels, y), atol=1e-6)


# --- where matrices come from --------------------------------------------------------------------------------


@pytest.mark.parametrize(("ridge", "memory"), [(0.0, "auto"), (0.5, "auto"), (0.0, 0.01)])
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_stacks_and_matrices_have_the_same_weights(rule, ridge, memory):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 3, size=60)
    stack = GramStack([Linear(), RBF(gamma=0.3), RBF(gamma=2.0)], X, ridge=ridge, memory=memory)
    matrices = [stack.matrix(k) for k in range(3)]
    np.testing.assert_allclose(rule(stack, y), rule(matrices, y), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_matrices_of_other_types(dtype):
    y = np.array([0, 0, 1, 1])
    kernels = [4 * np.eye(4) + 1, ideal_kernel(y) + 1]
    for rule in RULES:
        np.testing.assert_allclose(rule([K.astype(dtype) for K in kernels], y), rule(kernels, y), atol=1e-6)
    np.testing.assert_allclose(Easy()(np.array(kernels), y), Easy()(kernels, y))


@pytest.mark.parametrize("factor", [1e-40, 1.0, 1e40])
def test_sums_of_matrices(factor):
    """Also those that float32 has no place for."""
    kernels, _ = some_kernels(n=300)
    d = np.array([0.5, 1.0, 0.0, 2.0, 0.0, 3.0])
    total = MatrixStack([factor * K for K in kernels]).combination(d).matrix
    assert total.dtype == (np.float32 if factor == 1.0 else np.float64)
    np.testing.assert_allclose(total / factor, np.tensordot(d, kernels, axes=1), rtol=1e-6, atol=1e-12)


def test_matrices_may_lie_in_any_order():
    kernels, y = some_kernels(n=50)
    wide = np.zeros((100, 100))
    wide[::2, ::2] = kernels[1]
    others = [np.asfortranarray(kernels[0]), wide[::2, ::2], *kernels[2:]]
    np.testing.assert_array_equal(Easy()(others, y), Easy()(kernels, y))
    mixed = [kernels[0].astype(np.float16), kernels[1].astype(np.float32), *kernels[2:]]
    np.testing.assert_array_equal(Easy()(mixed, y), Easy()([K.astype(np.float64) for K in mixed], y))


@pytest.mark.parametrize("lam", [0.1, 1.0])
def test_threads_do_not_matter(lam):
    kernels, y = some_kernels(3, n=300)
    with limit_threads(1):
        alone = Easy(lam)(kernels, y)
    with limit_threads(3):
        np.testing.assert_array_equal(Easy(lam)(kernels, y), alone)


def test_blocks_of_rows():
    """More samples than rows in a block."""
    kernels, y = some_kernels(n=300)
    np.testing.assert_allclose(Easy(lam=0.5)(kernels, y), easy_twin(kernels, y, 0.5), atol=2e-6)
    each = np.array([centered_alignment(K, y) for K in kernels])
    np.testing.assert_allclose(Alignment(joint=False)(kernels, y), each / each.sum(), rtol=1e-10)


# --- bad input -----------------------------------------------------------------------------------------------

EYE, LABELS = np.eye(4), np.array([0, 1, 0, 1])
NAN = np.array([[1.0, np.nan], [np.nan, 1.0]])


@pytest.mark.parametrize(
    ("rule", "kernels", "y", "message"),
    [
        (Easy(lam=1.5), [EYE], LABELS, "lam must be"),
        (DivConv(sigma=0.0), [EYE], LABELS, "sigma must be"),
        (DivDC(tol=-1.0), [EYE], LABELS, "tol must be"),
        (DivDC(max_iter=0), [EYE], LABELS, "max_iter must be"),
        (Alignment(joint="yes"), [EYE], LABELS, "joint must be"),
        (Easy(), [], LABELS, "kernels must be at least one matrix"),
        (Easy(), EYE, LABELS, r"kernels must be a list of matrices, got an array of shape \(4, 4\)"),
        (Easy(), [EYE, EYE[:2]], LABELS, r"number 1 has shape \(2, 4\)"),
        (Easy(), [EYE, EYE[:2, :2]], LABELS, "number 1 is of 2, 0 of 4"),
        (Easy(), [np.triu(np.ones((4, 4)))], LABELS, "number 0 differs from its mirror image"),
        (Easy(), [np.eye(2), NAN], LABELS[:2], "number 1 contains NaN"),
        (DivDC(), [np.eye(2), NAN], LABELS[:2], "number 1 contains NaN"),
        (Alignment(), [np.eye(2), NAN], LABELS[:2], "number 1 contains NaN"),
        (Easy(), [1.7e308 * EYE, 1.7e308 * EYE], LABELS, "kernels are too large: their sum overflows"),
        (Easy(), [EYE.astype(complex)], LABELS, "dtype complex128"),
        (Easy(), [EYE], LABELS[:3], r"targets has shape \(3,\)"),
        (Easy(), [EYE], None, "Easy needs classes as targets, got none"),
        (Easy(), [EYE], LABELS + 0.5, "Easy needs classes as targets, got numbers"),
        (Easy(), [EYE], np.zeros(4, dtype=int), "Easy needs at least two classes"),
        (DivConv(), [EYE], None, "DivConv needs targets"),
        (Alignment(), [EYE], np.array([0.5, np.inf, 1.0, 2.0])[:, np.newaxis], "targets must be finite"),
    ],
)
def test_bad_input_is_named(rule, kernels, y, message):
    with pytest.raises(ValueError, match=message):
        rule(kernels, y)


@pytest.mark.parametrize("rule", [Easy(lam=0.9), DivConv(), DivDC()], ids=repr)
def test_indefinite_matrices_are_refused(rule):
    with pytest.raises(IndefiniteError, match="positive semi-definite"):
        rule([np.eye(4), -3.0 * ideal_kernel(LABELS)], LABELS)


def test_alignment_refuses_what_no_definite_matrix_has():
    kernels, y = some_kernels()
    for rule in (Alignment(), Alignment(joint=False)):
        with pytest.raises(IndefiniteError, match="number 1 has a negative alignment, -"):
            rule([kernels[0], -0.5 * kernels[1]], y)
    x = np.where(np.arange(40) % 2, 1.0, -1.0) * np.where(y == y[0], 1.0, 0.0)
    with pytest.raises(IndefiniteError, match="numbers 0 and 2 have a negative inner product"):
        Alignment()([np.outer(x, x), np.eye(40), 5.0 * ideal_kernel(y) - np.outer(x, x)], y)
    axes = np.linalg.qr(np.random.default_rng(0).normal(size=(40, 20)))[0].T
    nearly_constant = [1.0 + 1e-11 * np.outer(x, x) for x in axes]  # whose angles are rounding
    assert Alignment()(nearly_constant, y).sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("weight", "message"), [([1.0, 2.0], "sample_weight has shape"), ([1.0, -1.0, 1.0, 1.0], "sample_weight must be")]
)
def test_bad_weights_are_named(weight, message):
    with pytest.raises(ValueError, match=message):
        Uniform()([EYE], LABELS, weight)


# --- in the estimators ---------------------------------------------------------------------------------------

NAMES = {"uniform": Uniform, "alignment": Alignment, "easy": Easy, "div-conv": DivConv, "div-dc": DivDC}


@pytest.mark.parametrize("algorithm", [*NAMES, Easy(lam=0.7)], ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifiers_take_the_weights_of_rules(algorithm, n_classes):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 3))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], np.linspace(-0.5, 0.5, n_classes - 1))]
    weight = rng.uniform(0.5, 2.0, size=80)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine = MKLClassifier(algorithm=algorithm).fit(X, y, weight)
    rule = NAMES[algorithm]() if isinstance(algorithm, str) else algorithm
    stack = GramStack(machine.kernels_, X, sample_weight=weight)
    np.testing.assert_allclose(machine.weights_, rule(stack, y, weight), atol=1e-9)
    found, best = machine.weights_result_, MKLClassifier(algorithm="level").fit(X, y, weight).weights_result_
    assert found.status == "fixed"
    assert found.bound <= best.objective * (1 + 1e-9)
    assert found.objective >= best.bound * (1 - 1e-9)
    assert found.gap == pytest.approx(found.objective - found.bound)
    assert machine.score(X, y) > 0.8


def test_weights_of_rules_are_judged_with_little_memory_too():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 3))
    told, y = [], X[:, 0] > 0
    options = {"algorithm": "easy", "gap_tol": 1e-6, "callback": told.append}
    # Room for sums in float64, in float32 alone, and for none.
    found = [MKLClassifier(memory=memory, **options).fit(X, y).weights_result_ for memory in (10.0, 0.08, 0.02)]
    assert [result.n_iter for result in found] == [1, 1, 1] and len(told) == 3
    for result in found[1:]:
        np.testing.assert_allclose(result.weights, found[0].weights, rtol=1e-5)
        np.testing.assert_allclose([result.objective, result.bound], [found[0].objective, found[0].bound], rtol=2e-6)


def test_rules_ignore_the_last_weights():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 3)), np.repeat([0, 1], 20)
    machine = MKLClassifier(algorithm="level", warm_start=True).fit(X, y).set_params(algorithm="uniform").fit(X, y)
    np.testing.assert_allclose(machine.weights_, 1.0 / 8.0)


@pytest.mark.parametrize("algorithm", ["alignment", "div-conv", "div-dc"])
def test_targets_of_regressors_are_numbers(algorithm):
    """Also where they are integers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.round(3 * X[:, 0])
    machine = MKLRegressor(algorithm=algorithm).fit(X, y)
    stack = GramStack(machine.kernels_, X)
    np.testing.assert_allclose(machine.weights_, NAMES[algorithm]()(stack, y[:, np.newaxis]), atol=1e-9)
    assert np.abs(machine.weights_ - NAMES[algorithm]()(stack, y)).max() > 0.01


def test_rules_that_do_not_go_with_a_machine():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match="algorithm must not be 'easy' for MKLRegressor: it needs classes"):
        MKLRegressor(algorithm="easy").fit(X, X[:, 0])
    for name in ("alignment", "div-dc"):
        with pytest.raises(ValueError, match=f"algorithm must not be '{name}' for MKLOneClass: it needs targets"):
            MKLOneClass(algorithm=name).fit(X)
    with pytest.raises(ValueError, match="lam must be"):
        MKLClassifier(algorithm=Easy(lam=2.0)).fit(X, X[:, 0] > 0)
    assert MKLOneClass(algorithm="uniform").fit(X).weights_result_.status == "fixed"


def test_rules_that_end_early_say_so():
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.warns(ConvergenceWarning, match="The rule DivDC of MKLClassifier did not reach"):
        MKLClassifier(algorithm=DivDC(max_iter=1)).fit(X, X[:, 0] > 0)
