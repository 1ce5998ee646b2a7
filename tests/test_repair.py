"""Indefinite similarities, repaired: for the samples at hand, for new ones, for all of them together."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SVC
from mercer.gram import (
    MatrixGram,
    Repair,
    clip,
    eigenvalues,
    flip,
    is_psd,
    proxy_kernel,
    shift,
    spectrum,
    square,
)
from mercer.kernels import RBF, EmpiricalMap, Indexed, Sigmoid

FUNCTIONS = {"clip": clip, "flip": flip, "shift": shift, "square": square}
METHODS = [*FUNCTIONS, "proxy"]
every_method = pytest.mark.parametrize("method", METHODS)
every_function = pytest.mark.parametrize("method", FUNCTIONS)


def two_classes(n=40, seed=0):
    """Two overlapping classes."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(n) % 2
    X = rng.normal(size=(n, 3))
    X[:, 0] += 1.5 * y
    return X, y


X, y = two_classes()
X_new, y_new = two_classes(15, seed=1)
KERNEL = Sigmoid(gamma=0.7, coef0=-0.5)
K, K_new, K_among = KERNEL(X), KERNEL(X_new, X), KERNEL(X_new)
PSD, PSD_NEW = RBF(gamma=0.2)(X), RBF(gamma=0.2)(X_new, X)
# 4 and -1 along two directions that are told easily.
TURN = np.array([[3.0, 4.0], [4.0, -3.0]]) / 5.0
KNOWN = TURN @ np.diag([4.0, -1.0]) @ TURN.T


def test_similarity_needs_repair():
    found = spectrum(K)
    assert found.n_negative > 5
    assert found.negative_share > 0.1


# --- matrices ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "values"), [("clip", [4.0, 0.0]), ("flip", [4.0, 1.0]), ("shift", [5.0, 0.0]), ("square", [16.0, 1.0])]
)
def test_what_becomes_of_known_eigenvalues(method, values):
    assert_allclose(FUNCTIONS[method](KNOWN), TURN @ np.diag(values) @ TURN.T, atol=1e-14)


@every_method
def test_repaired_matrix_is_symmetric_and_definite(method):
    before = K.copy()
    repaired = Repair(method).fit_transform(K, y)
    assert_array_equal(repaired, repaired.T)
    assert is_psd(repaired)
    assert_array_equal(K, before)


@every_function
def test_functions_are_the_transformer(method):
    assert_array_equal(FUNCTIONS[method](K), Repair(method).fit_transform(K))
    assert_array_equal(FUNCTIONS[method](MatrixGram(K)), FUNCTIONS[method](K))
    assert_array_equal(FUNCTIONS[method](K.tolist()), FUNCTIONS[method](K))


@pytest.mark.parametrize("method", ["clip", "flip", "shift"])
def test_definite_matrices_are_left_alone(method):
    repair = Repair(method).fit(PSD)
    assert_allclose(repair.fit_transform(PSD), PSD, atol=1e-13)
    assert_allclose(repair.transform(PSD_NEW), PSD_NEW, atol=1e-9)
    singular = X @ X.T  # of rank 3
    assert_allclose(Repair(method).fit_transform(singular), singular, atol=1e-12)
    assert_allclose(Repair(method).fit(singular).transform(X_new @ X.T), X_new @ X.T, atol=1e-12)


@every_method
def test_order_of_the_samples_does_not_matter(method):
    order = np.random.default_rng(5).permutation(len(K))
    mixed, plain = Repair(method), Repair(method)
    there = mixed.fit_transform(K[np.ix_(order, order)], y[order])
    tolerance = 1e-5 if method == "proxy" else 1e-12  # the proxy is as exact as its gap says
    assert_allclose(there, plain.fit_transform(K, y)[np.ix_(order, order)], atol=tolerance)
    assert_allclose(mixed.transform(K_new[:, order]), plain.transform(K_new)[:, order], atol=tolerance)


@every_function
def test_zeros_stay_zeros(method):
    assert not Repair(method).fit_transform(np.zeros((3, 3))).any()
    assert not Repair(method).fit(np.zeros((3, 3))).transform(np.zeros((2, 3))).any()


def test_shift_is_the_smallest_that_will_do():
    repair = Repair("shift").fit(K)
    assert_allclose(repair.shift_, -eigenvalues(K)[-1])
    assert_allclose(eigenvalues(repair.fit_transform(K))[-1], 0.0, atol=1e-12)
    assert Repair("shift").fit(np.eye(3)).shift_ == 0.0
    for method in ("clip", "flip", "square"):
        assert Repair(method).fit(K).shift_ == 0.0


# --- new samples ------------------------------------------------------------------------------------------


def test_rows_of_new_samples_by_the_eigenvectors():
    values, U = np.linalg.eigh(K)
    expected = {
        "clip": K_new @ U @ np.diag((values > 0).astype(float)) @ U.T,
        "flip": K_new @ U @ np.diag(np.sign(values)) @ U.T,
        "shift": K_new,
        "square": K_new @ K,
    }
    for method, rows in expected.items():
        assert_allclose(Repair(method).fit(K).transform(K_new), rows, atol=1e-12)


@pytest.mark.parametrize("method", ["clip", "flip"])
def test_directions_of_no_length_are_left_out(method):
    """The samples span three directions; what a row says beyond them has no feature vector."""
    repair = Repair(method).fit(X @ X.T)
    rows = np.random.default_rng(7).normal(size=(4, len(X)))
    assert_allclose(repair.transform(rows), rows @ X @ np.linalg.pinv(X), atol=1e-12)
    within = rows @ np.linalg.pinv(X).T  # the feature vectors: least squares
    assert_allclose(repair.among(rows), within @ within.T, atol=1e-12)


def test_square_is_the_empirical_kernel_map():
    """With the samples at hand as templates. [P §1.7.4]"""
    kernel, repair = EmpiricalMap(KERNEL, X), Repair("square")
    assert_allclose(repair.fit_transform(K), kernel(X), atol=1e-12)
    assert_allclose(repair.transform(K_new), kernel(X_new, X), atol=1e-12)
    assert_allclose(repair.among(K_new), kernel(X_new), atol=1e-12)


@pytest.mark.parametrize("method", ["clip", "flip", "square"])
def test_a_new_sample_that_is_an_old_one_gets_its_row(method):
    repair = Repair(method)
    repaired = repair.fit_transform(K)
    assert_allclose(repair.transform(K[[3, 17]]), repaired[[3, 17]], atol=1e-12)
    assert_allclose(repair.among(K[[3, 17]]), repaired[np.ix_([3, 17], [3, 17])], atol=1e-12)


@pytest.mark.parametrize("method", ["clip", "flip", "square", "proxy"])
def test_old_and_new_samples_make_up_a_definite_matrix(method):
    repair = Repair(method)
    old = repair.fit_transform(K, y)
    rows, new = repair.transform(K_new), repair.among(K_new)
    assert is_psd(np.block([[old, rows.T], [rows, new]]), tol=1e-12)


def test_shift_of_new_samples():
    repair = Repair("shift").fit(K)
    assert_array_equal(repair.transform(K_new), K_new)
    assert repair.transform(K_new) is not K_new
    assert_allclose(repair.among(K_new, K_among), K_among + repair.shift_ * np.eye(len(K_new)))
    with pytest.raises(ValueError, match=r"K_among must have shape \(15, 15\) for the method 'shift', got nothing\."):
        repair.among(K_new)
    with pytest.raises(ValueError, match=r"got shape \(40, 40\)"):
        repair.among(K_new, K)


def test_proxy_of_new_samples():
    repair = Repair("proxy", C=2.0, rho=0.5)
    old = repair.fit_transform(K, y)
    proxy = proxy_kernel(K, y, 2.0, 0.5)
    assert_allclose(old, proxy.matrix, atol=1e-12)
    assert repair.proxy_.result.status == "solved"
    values, U = np.linalg.eigh(K + np.outer(proxy.coefficients, proxy.coefficients) / 2.0)
    positive = U @ np.diag((values > 0).astype(float)) @ U.T
    assert_allclose(repair.transform(K_new), K_new @ positive, atol=1e-12)


# --- all samples together: the transductive case ----------------------------------------------------------


def test_joint_repair_of_copies_is_one_by_one_repair():
    """Every sample twice: the joint matrix is K for all pairs of copies, with twice its eigenvalues."""
    joint = np.block([[K, K], [K, K]])
    n = len(K)
    for method in ("clip", "flip"):
        repair = Repair(method)
        old, together = repair.fit_transform(K), FUNCTIONS[method](joint)
        assert_allclose(together[:n, :n], old, atol=1e-12)
        assert_allclose(together[n:, :n], repair.transform(K), atol=1e-12)
        assert_allclose(together[n:, n:], repair.among(K), atol=1e-12)
    # The rows of the joint matrix are twice as long.
    assert_allclose(square(joint)[:n, :n], 2 * square(K), atol=1e-10)


@pytest.mark.parametrize("method", ["clip", "flip", "shift"])
def test_joint_repair_agrees_where_there_is_nothing_to_repair(method):
    joint = RBF(gamma=0.2)(np.vstack([X, X_new]))
    repair = Repair(method).fit(PSD)
    assert_allclose(FUNCTIONS[method](joint)[len(X) :, : len(X)], repair.transform(PSD_NEW), atol=1e-9)


def test_joint_matrix_in_a_machine():
    """With all samples known, a machine learns from row numbers of the repaired joint matrix."""
    joint = clip(KERNEL(np.vstack([X, X_new])))
    machine = SVC(kernel=Indexed(joint), C=1.0).fit(np.arange(len(X)), y)
    assert machine.result_.status == "solved"
    assert machine.score(np.arange(len(X), len(joint)), y_new) > 0.7


def test_joint_proxy():
    joint, n = KERNEL(np.vstack([X, X_new])), len(X)
    found = proxy_kernel(joint, y, 1.0, 1.0, index=np.arange(n))
    assert found.result.status == "solved"
    assert not found.coefficients[n:].any()
    v = found.coefficients
    assert_allclose(found.matrix, clip(joint + np.outer(v, v) / 4.0), atol=1e-12)
    machine = SVC(kernel=Indexed(found.matrix), C=1.0, tol=1e-8).fit(np.arange(n), y)
    decision = found.matrix @ v + found.result.offsets.plus
    assert_allclose(machine.decision_function(np.arange(len(joint))), decision, atol=1e-3)
    # Labelled samples anywhere among the others.
    order = np.random.default_rng(0).permutation(len(joint))
    where = np.argsort(order)[:n]
    mixed = proxy_kernel(joint[np.ix_(order, order)], y, 1.0, 1.0, index=where)
    assert_allclose(mixed.matrix, found.matrix[np.ix_(order, order)], atol=1e-5)


# --- the proxy and its certificate ------------------------------------------------------------------------


def test_a_machine_on_the_proxy_decides_the_same():
    """Multipliers of a singular matrix are not unique; what they decide is."""
    proxy = proxy_kernel(K, y, C=2.0, rho=0.3, tol=1e-8)
    machine = SVC(kernel="precomputed", C=2.0, tol=1e-8).fit(proxy.matrix, y)
    assert_allclose(machine.result_.dual_objective, proxy.result.dual_objective, rtol=1e-7)
    decision = proxy.matrix @ proxy.coefficients + proxy.result.offsets.plus
    assert_allclose(machine.decision_function(proxy.matrix), decision, atol=1e-4)
    assert_allclose(proxy.coefficients, np.where(y == 1, 1, -1) * proxy.multipliers)


def test_bounds_hold_for_any_other_multipliers_and_proxies():
    rho, C = 0.4, 1.5
    found = proxy_kernel(K, y, C, rho)
    sign = np.where(y == 1, 1.0, -1.0)
    assert_allclose(found.penalty, rho * np.sum((found.matrix - K) ** 2))
    assert found.dual_objective <= found.primal_objective
    assert_allclose(found.primal_objective - found.dual_objective, found.gap, atol=1e-9)
    for seed in range(5):
        # Multipliers, at the best proxy for them, never get above; other proxies, at the best multipliers, never below.
        direction = np.random.default_rng(seed).normal(size=len(y))
        machine = SVC(kernel=RBF(gamma=0.1 * (seed + 1)), C=C).fit(X, y)
        a = np.zeros(len(y))
        a[machine.support_] = np.abs(machine.dual_coef_[0])
        best = clip(K + np.outer(sign * a, sign * a) / (4 * rho))
        value = a.sum() - 0.5 * (sign * a) @ best @ (sign * a) + rho * np.sum((best - K) ** 2)
        assert value <= found.primal_objective
        other = found.matrix + 0.05 * np.outer(direction, direction)
        machine = SVC(kernel="precomputed", C=C).fit(other, y)
        assert machine.result_.primal_objective + rho * np.sum((other - K) ** 2) >= found.dual_objective


def test_large_rho_is_clipping():
    distances = [np.abs(proxy_kernel(K, y, 1.0, rho).matrix - clip(K)).max() for rho in (1.0, 1e2, 1e4, 1e6)]
    assert sorted(distances, reverse=True) == distances
    assert distances[-1] < 1e-5


def test_a_definite_matrix_moves_by_the_labels_alone():
    found = proxy_kernel(PSD, y, 1.0, 10.0)
    v = found.coefficients
    assert_allclose(found.matrix, PSD + np.outer(v, v) / 40.0, atol=1e-10)


def test_history_ends_with_the_certificate():
    result = proxy_kernel(K, y, 5.0, 0.1).result
    assert result.n_iter == len(result.history) - 1
    assert_allclose(result.history.gap[-1], result.gap)
    assert result.relative_gap <= 1e-6
    assert result.history.gap[0] == 5.0 * len(y)  # every sample is an error of one before anything is learnt


def test_limit_of_steps():
    with pytest.warns(ConvergenceWarning, match="proxy_kernel did not reach a proved optimum .status max_iter"):
        found = proxy_kernel(K, y, 5.0, 0.1, max_iter=1)
    best = proxy_kernel(K, y, 5.0, 0.1)
    assert found.result.n_iter == 1
    assert found.dual_objective <= best.primal_objective
    assert found.primal_objective >= best.dual_objective
    assert is_psd(found.matrix)


def test_as_exact_as_rounding_allows():
    with pytest.warns(ConvergenceWarning, match="proxy_kernel did not reach a proved optimum .status stalled"):
        found = proxy_kernel(K, y, 5.0, 0.1, tol=1e-18)
    assert 0.0 < found.result.relative_gap < 1e-9
    assert found.result.n_iter < 50


def test_proxy_is_the_same_every_time():
    first, second = proxy_kernel(K, y), proxy_kernel(K, y)
    assert_array_equal(first.matrix, second.matrix)
    assert_array_equal(first.multipliers, second.multipliers)


# --- in scikit-learn --------------------------------------------------------------------------------------


@parametrize_with_checks([Repair(method) for method in FUNCTIONS])
def test_sklearn_checks(estimator, check):
    check(estimator)


@every_method
def test_repair_gives_a_machine_its_certificate_back(method):
    with pytest.warns(ConvergenceWarning, match="status indefinite"):
        bare = SVC(kernel="precomputed").fit(K, y)
    assert bare.result_.gap == np.inf
    machine = make_pipeline(Repair(method), SVC(kernel="precomputed")).fit(K, y)
    assert machine[-1].result_.status == "solved"
    assert machine[-1].result_.relative_gap < 1e-3
    assert machine.score(K_new, y_new) > 0.7


@every_method
def test_cross_validation_slices_rows_and_columns(method):
    machine = make_pipeline(Repair(method), SVC(kernel="precomputed"))
    scores = cross_val_score(machine, K, y, cv=4)
    folds = np.array_split(np.arange(len(y)), 4)
    by_hand = []
    for test in folds:
        train = np.setdiff1d(np.arange(len(y)), test)
        repair = Repair(method)
        learner = SVC(kernel="precomputed").fit(repair.fit_transform(K[np.ix_(train, train)], y[train]), y[train])
        by_hand.append(learner.score(repair.transform(K[np.ix_(test, train)]), y[test]))
    splits = [(np.setdiff1d(np.arange(len(y)), test), test) for test in folds]
    assert_array_equal(cross_val_score(machine, K, y, cv=splits), by_hand)
    assert scores.mean() > 0.6


def test_search_over_methods():
    machine = make_pipeline(Repair(), SVC(kernel="precomputed"))
    search = GridSearchCV(machine, {"repair__method": METHODS, "svc__C": [0.1, 1.0]}, cv=3).fit(K, y)
    assert search.best_params_["repair__method"] in METHODS
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@every_method
def test_clone_pickle_and_refit(method):
    repair = Repair(method, C=2.0).fit(K, y)
    assert_array_equal(pickle.loads(pickle.dumps(repair)).transform(K_new), repair.transform(K_new))
    assert repr(clone(repair)) == repr(repair)
    assert_array_equal(clone(repair).fit(K, y).transform(K_new), repair.transform(K_new))
    # What another method has left behind is gone.
    assert_array_equal(
        repair.set_params(method="clip").fit(K, y).transform(K_new), Repair("clip").fit(K).transform(K_new)
    )


def test_data_frames_and_single_precision():
    names = [f"s{i}" for i in range(len(K))]
    table = pd.DataFrame(K, columns=names)
    repair = Repair("clip").fit(table)
    assert list(repair.feature_names_in_) == names
    assert_array_equal(repair.transform(pd.DataFrame(K_new, columns=names)), Repair("clip").fit(K).transform(K_new))
    single = Repair("clip").fit_transform(K.astype(np.float32))
    assert single.dtype == np.float64
    assert_allclose(single, clip(K), atol=1e-5)


# --- errors -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "fix"}, "method must be 'clip' or 'flip' or 'square' or 'shift' or 'proxy', got 'fix'"),
        ({"method": "proxy", "C": 0.0}, "C must be a float > 0, got 0.0"),
        ({"method": "proxy", "rho": -1.0}, "rho must be a float > 0, got -1.0"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        Repair(**parameters).fit(K, y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"C": np.inf}, "C must be a float > 0, got inf"),
        ({"rho": 0}, "rho must be a float > 0, got 0"),
        ({"tol": 0.0}, "tol must be a float > 0, got 0.0"),
        ({"max_iter": 0}, "max_iter must be an int >= 1, got 0"),
        ({"y": y[:5]}, r"y must have one label for each of the 40 labelled samples, got shape \(5,\)"),
        ({"y": np.ones(40)}, "y must have two classes, got 1 class"),
        ({"y": np.arange(40)}, "y must have two classes, got 40 classes; for more than two"),
        ({"index": [0, 0]}, "index must be different numbers of samples from 0 to 39"),
        ({"index": [0, 40]}, "index must be different numbers of samples from 0 to 39"),
        ({"index": [0.5, 1.0]}, "index must be different numbers of samples"),
        ({"index": []}, "index must be different numbers of samples"),
    ],
)
def test_wrong_arguments_of_the_proxy(arguments, message):
    with pytest.raises(ValueError, match=message):
        proxy_kernel(K, **{"y": y, **arguments})


@every_function
def test_wrong_matrices(method):
    for matrix, message in (
        (K[:, :5], r"K must be a square matrix, got shape \(40, 5\)"),
        (np.triu(K), r"K must be symmetric, .* pass \(K \+ K.T\) / 2"),
        (np.where(np.eye(40), np.nan, K), "NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            Repair(method).fit(matrix)
    with pytest.raises(ValueError, match="X has 3 features, but Repair is expecting 40 features"):
        Repair(method).fit(K).transform(K_new[:, :3])
    with pytest.raises(NotFittedError):
        Repair(method).transform(K_new)


def test_proxy_needs_labels():
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        Repair("proxy").fit(K)
