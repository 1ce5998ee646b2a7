"""What cannot be is refused by name: the parameter, the rule and the value, before anything is computed."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from registry import ESTIMATORS, training_set
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier, is_outlier_detector, is_regressor
from sklearn.exceptions import NotFittedError

from mercer.data import RowBlocks
from mercer.errors import DomainError, IndefiniteError, InfeasibleError, NotSeparableError
from mercer.kernels import RBF, Hamming, Indexed, Linear
from mercer.multiclass import (
    CrammerSinger,
    ErrorCorrectingCode,
    LeeLinWahba,
    OneClassPerClass,
    OneVersusOne,
    OneVersusRest,
)
from mercer.solvers import SMO, BlockDescent, SimpleSMO
from mercer.svm import SVC, SVDD, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM, QuantileSVR

every_estimator = pytest.mark.parametrize("make", ESTIMATORS.values(), ids=ESTIMATORS.keys())
classifiers = {name: make for name, make in ESTIMATORS.items() if is_classifier(make())}
every_classifier = pytest.mark.parametrize("make", classifiers.values(), ids=classifiers.keys())
supervised = {name: make for name, make in ESTIMATORS.items() if not is_outlier_detector(make())}
every_supervised = pytest.mark.parametrize("make", supervised.values(), ids=supervised.keys())


def never(X, Y):
    raise AssertionError("a kernel value was computed")


# --- parameters -------------------------------------------------------------------------------------------

SCHEMES = "'ovo' or 'ovr' or 'dag' or 'ecoc' or 'one_class' or 'weston_watkins' or 'crammer_singer' or 'lee_lin_wahba'"
BAD_PARAMETERS = [
    ("tol", 0.0, "tol must be a float > 0, got 0.0."),
    ("tol", -1e-3, "tol must be a float > 0, got -0.001."),
    ("tol", "small", "tol must be a float > 0, got 'small'."),
    ("tol", np.nan, "tol must be a float > 0, got nan."),
    ("tol", True, "tol must be a float > 0, got True."),
    ("gap_tol", 0, "gap_tol must be a float > 0 or None, got 0."),
    ("max_iter", 0, "max_iter must be an int >= 1 or None, got 0."),
    ("max_iter", 10.5, "max_iter must be an int >= 1 or None, got 10.5."),
    ("max_iter", -1, "max_iter must be an int >= 1 or None, got -1."),
    ("max_seconds", 0.0, "max_seconds must be a float > 0 or None, got 0.0."),
    ("max_seconds", "1", "max_seconds must be a float > 0 or None, got '1'."),
    ("warm_start", "yes", "warm_start must be True or False, got 'yes'."),
    ("warm_start", 1, "warm_start must be True or False, got 1."),
    ("memory", 0, "memory must be a number of megabytes > 0 or 'auto', got 0."),
    ("memory", -5.0, "memory must be a number of megabytes > 0 or 'auto', got -5.0."),
    ("memory", np.inf, "memory must be a number of megabytes > 0 or 'auto', got inf."),
    ("memory", "lots", "memory must be a number of megabytes > 0 or 'auto', got 'lots'."),
    ("memory", None, "memory must be a number of megabytes > 0 or 'auto', got None."),
    ("memory", True, "memory must be a number of megabytes > 0 or 'auto', got True."),
    ("n_threads", 0, "n_threads must be None, -1 (all cores) or an int >= 1, got 0."),
    ("n_threads", -2, "n_threads must be None, -1 (all cores) or an int >= 1, got -2."),
    ("n_threads", 1.5, "n_threads must be None, -1 (all cores) or an int >= 1, got 1.5."),
    ("n_threads", "all", "n_threads must be None, -1 (all cores) or an int >= 1, got 'all'."),
    ("n_threads", True, "n_threads must be None, -1 (all cores) or an int >= 1, got True."),
    ("solver", "libsvm", "solver must be 'smo' or 'simple' or a solver, got 'libsvm'."),
    ("solver", None, "solver must be 'smo' or 'simple' or a solver, got None."),
    ("solver", SMO, "solver must be 'smo' or 'simple' or a solver, got <class"),
    ("kernel", "gaussian", "kernel must be a Kernel, a callable, 'precomputed' or one of 'chi2'"),
    ("C", 0.0, "C must be a float > 0, got 0.0."),
    ("C", -1, "C must be a float > 0, got -1."),
    ("C", np.nan, "C must be a float > 0, got nan."),
    ("C", "1", "C must be a float > 0, got '1'."),
    ("C", [1.0, 2.0], "C must be a float > 0, got [1.0, 2.0]."),
    ("C", None, "C must be a float > 0, got None."),
    ("quantile", 0.0, "quantile must be a float > 0 and < 1, got 0.0."),
    ("quantile", 1.0, "quantile must be a float > 0 and < 1, got 1.0."),
    ("quantile", np.float32(1.0), "quantile must be a float > 0 and < 1, got"),
    ("quantile", "median", "quantile must be a float > 0 and < 1, got 'median'."),
    ("nu", 0.0, "nu must be a float > 0 and <= 1, got 0.0."),
    ("nu", 1.1, "nu must be a float > 0 and <= 1, got 1.1."),
    ("nu", -0.5, "nu must be a float > 0 and <= 1, got -0.5."),
    ("nu", "half", "nu must be a float > 0 and <= 1, got 'half'."),
    ("epsilon", -0.1, "epsilon must be a float >= 0, got -0.1."),
    ("epsilon", np.inf, "epsilon must be a float >= 0, got inf."),
    ("fit_intercept", "no", "fit_intercept must be True or False, got 'no'."),
    (
        "multi_class",
        "all",
        f"multi_class must be {SCHEMES} or a Scheme, got 'all'.",
    ),
    (
        "multi_class",
        None,
        f"multi_class must be {SCHEMES} or a Scheme, got None.",
    ),
    (
        "multi_class",
        OneVersusOne,
        f"multi_class must be {SCHEMES} or a Scheme, got",
    ),
    ("multi_class", OneVersusRest(balanced=1), "balanced must be True or False, got 1."),
    ("multi_class", OneVersusRest(calibrated="yes"), "calibrated must be True or False, got 'yes'."),
    ("multi_class", OneVersusRest(targets="zero"), "targets must be 'signs' or 'lee', got 'zero'."),
    ("multi_class", OneClassPerClass(nu=2), "nu must be a float > 0 and <= 1, got 2."),
    ("multi_class", ErrorCorrectingCode("hadamard"), "code must be 'exhaustive' or 'dense' or 'sparse' or a matrix of"),
    ("multi_class", ErrorCorrectingCode([[2], [1]]), "a matrix of -1, 0 and 1 with a row per class, got [[2], [1]]."),
    ("multi_class", ErrorCorrectingCode(decoding="l2"), "decoding must be 'hamming' or 'loss', got 'l2'."),
    ("multi_class", ErrorCorrectingCode(length=0), "length must be an int >= 1 or None, got 0."),
    ("multi_class", ErrorCorrectingCode(random_state="x"), "'x' cannot be used to seed"),
    ("class_weight", "equal", "class_weight must be None, 'balanced' or a dict from classes to weights, got 'equal'."),
    ("class_weight", [1, 2], "class_weight must be None, 'balanced' or a dict from classes to weights, got [1, 2]."),
]


CASES = [
    pytest.param(make, *case, id=f"{make.__name__}-{case[0]}-{re.sub(r'[^a-z0-9.-]+', '_', str(case[1]))}")
    for make in (SVC, NuSVC, SVR, NuSVR, QuantileSVR, OneClassSVM, SVDD)
    for case in BAD_PARAMETERS
    if case[0] in make().get_params()
]


@pytest.mark.parametrize(("make", "name", "value", "message"), CASES)
def test_parameters_are_checked_first(make, name, value, message):
    machine = make()
    X, y = training_set(machine, n=10)
    # Before any kernel value is computed, and before the data is looked at.
    machine.set_params(kernel=never).set_params(**{name: value})
    with pytest.raises(ValueError, match=re.escape(message)):
        machine.fit(X, y)
    assert not hasattr(machine, "n_features_in_") or name == "kernel"


@pytest.mark.parametrize("scheme", ["weston_watkins", CrammerSinger(), LeeLinWahba()])
@pytest.mark.parametrize(
    ("machine", "message"),
    [
        (SVC(C=np.inf), "C must be finite for multi_class={}, which has no hard margin, got inf."),
        (SVC(loss="squared_hinge"), "loss must be 'hinge' for multi_class={}, got 'squared_hinge'."),
        (SVC(solver="simple"), "solver must be left at its default or be a BlockDescent for multi_class={}, got 'simp"),
        (SVC(solver=SMO()), "solver must be left at its default or be a BlockDescent for multi_class={}, got SMO()."),
        (SVC(solver=BlockDescent(tol=0)), "tol must be a float > 0, got 0."),
        (
            NuSVC(),
            "multi_class must be a scheme of several machines for NuSVC, got {}, whose one objective has a price",
        ),
        (LinearSVC(C=np.inf), "C must be finite for multi_class={}, which has no hard margin, got inf."),
        (LinearSVC(loss="squared_hinge"), "loss must be 'hinge' for multi_class={}, got 'squared_hinge'."),
        (LinearSVC(solver="newton"), "or be a LinearBlockDescent or a BlockDescent for multi_class={}, got 'newton'."),
    ],
)
def test_one_objective_for_all_classes(machine, scheme, message):
    X, y = training_set(machine, n=30, n_classes=3)
    with pytest.raises(ValueError, match=re.escape(message.format(repr(scheme)))):
        clone(machine).set_params(multi_class=scheme).fit(X, y)


def test_one_objective_needs_samples_in_memory():
    X, y = training_set(LinearSVC(), n=30, n_classes=3)
    machine = LinearSVC(multi_class="crammer_singer")
    with pytest.raises(TypeError, match="X must be in memory for multi_class='crammer_singer', got RowBlocks"):
        machine.fit(RowBlocks([X[:20], X[20:]]), y)


@pytest.mark.parametrize(
    ("machine", "loss", "message"),
    [
        (SVC(), "log", "loss must be 'hinge' or 'squared_hinge', got 'log'."),
        (SVC(), "linear", "loss must be 'hinge' or 'squared_hinge', got 'linear'."),
        (SVR(), "hinge", "loss must be 'linear' or 'quadratic', got 'hinge'."),
        (SVR(), None, "loss must be 'linear' or 'quadratic', got None."),
    ],
)
def test_unknown_losses(machine, loss, message):
    X, y = training_set(machine, n=10)
    with pytest.raises(ValueError, match=re.escape(message)):
        machine.set_params(loss=loss, kernel=never).fit(X, y)


def test_an_infinite_price_is_for_classifiers():
    X, y = training_set(SVR(), n=10)
    for machine in (SVR(C=np.inf), NuSVR(C=np.inf), QuantileSVR(C=np.inf)):
        with pytest.raises(ValueError, match=r"C must be a float > 0, got inf\."):
            machine.fit(X, y)


@every_estimator
def test_callbacks_and_kernels_of_the_wrong_type(make):
    X, y = training_set(make(), n=10)
    with pytest.raises(TypeError, match=r"callback must be callable or None, got 3\."):
        make().set_params(callback=3).fit(X, y)
    with pytest.raises(TypeError, match=r"kernel must be an instance, got the class RBF; write RBF\(\)\."):
        make().set_params(kernel=RBF).fit(X, y)
    with pytest.raises(TypeError, match=r"kernel must be a Kernel, a callable, 'precomputed' or one of .*, got 3"):
        make().set_params(kernel=3).fit(X, y)
    with pytest.raises(ValueError, match="Invalid parameter 'gama'"):
        make().set_params(gama=1)
    with pytest.raises(ValueError, match="Invalid parameter 'gama' for estimator RBF"):
        make().set_params(kernel="rbf", kernel__gama=1)


@every_estimator
@pytest.mark.parametrize("gamma", [-1.0, "wide", np.nan, [1.0, 2.0]])
def test_parameters_of_the_kernel(make, gamma):
    X, y = training_set(make(), n=10)
    with pytest.raises(ValueError, match="gamma"):
        make().set_params(kernel=RBF(gamma=gamma)).fit(X, y)


def test_parameters_of_a_solver_object():
    X, y = training_set(SVC(), n=10)
    for solver in (SMO(tol=-1.0), SimpleSMO(tol=-1.0)):
        with pytest.raises(ValueError, match=r"tol must be a float > 0, got -1\.0\."):
            SVC(solver=solver).fit(X, y)
    for solver, message in (
        (SMO(pair_rule="first"), "pair_rule must be 'gain' or 'violation'"),
        (SMO(memory=-1), "memory"),
    ):
        with pytest.raises(ValueError, match=message):
            SVC(solver=solver).fit(X, y)


def test_class_weights():
    X, y = training_set(SVC(), n=10)
    for make in (SVC, NuSVC):
        with pytest.raises(ValueError, match="class_weight names the class 'red', which y does not have"):
            make(class_weight={"red": 2.0}).fit(X, y)
        for value in (0, -1, np.nan, "heavy"):
            with pytest.raises(ValueError, match=rf"class_weight of class 1 must be a float > 0, got {value!r}"):
                make(class_weight={1: value}).fit(X, y)


@every_estimator
@pytest.mark.parametrize("k", [0, -1, 2.5, "all"])
def test_influence_of_how_many(make, k):
    X, y = training_set(make())
    with pytest.raises(ValueError, match="k must be an int >= 1, got"):
        make().fit(X, y).influence(k)


# --- samples ----------------------------------------------------------------------------------------------


@every_estimator
@pytest.mark.parametrize("storage", [np.asarray, csr_array, pd.DataFrame])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_samples_that_are_not_finite(make, storage, value):
    X, y = training_set(make(), n=20)
    good = make().fit(storage(X), y)
    X[3, 1] = value
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        make().set_params(kernel="rbf").fit(storage(X), y)
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        good.predict(storage(X))


@every_supervised
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_targets_that_are_not_finite(make, value):
    X, y = training_set(make(), n=20)
    y = y.astype(float)
    y[2] = value
    for kernel in ("rbf", lambda A, B: np.asarray(A) @ np.asarray(B).T):
        with pytest.raises(ValueError, match=r"y contains (NaN|infinity)|Input contains (NaN|infinity)"):
            make().set_params(kernel=kernel).fit(X, y)


@every_supervised
def test_no_targets(make):
    X, _ = training_set(make(), n=20)
    for kernel in ("rbf", lambda A, B: np.asarray(A) @ np.asarray(B).T):
        with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
            make().set_params(kernel=kernel).fit(X, None)


@every_estimator
def test_empty_input(make):
    y = np.zeros(0)
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        make().fit(np.zeros((0, 3)), y)
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        make().fit(np.zeros((3, 0)), np.arange(3) % 2)
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        make().set_params(kernel=never).fit([], y)
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        make().fit(csr_array((0, 3)), y)


@every_estimator
def test_samples_of_the_wrong_shape(make):
    X, y = training_set(make(), n=20)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead"):
        make().set_params(kernel="rbf").fit(X[:, 0], y)
    with pytest.raises(ValueError, match="dim"):
        make().set_params(kernel="rbf").fit(X[:, :, np.newaxis], y)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead"):
        make().fit(X, y).predict(X[0])
    with pytest.raises(ValueError, match=r"[Cc]omplex data not supported"):
        make().set_params(kernel="rbf").fit(X.astype(complex), y)


@every_supervised
@pytest.mark.parametrize("kernel", ["rbf", lambda A, B: np.asarray(A) @ np.asarray(B).T], ids=["name", "function"])
def test_lengths_that_differ(make, kernel):
    X, y = training_set(make(), n=20)
    with pytest.raises(ValueError, match=r"20.*19|inconsistent numbers of samples"):
        make().set_params(kernel=kernel).fit(X, y[:-1])


@every_estimator
def test_sample_weights(make):
    X, y = training_set(make(), n=20)
    ones = np.ones(20)
    for weight, message in [
        (ones[:-1], r"sample_weight.shape == \(19,\), expected \(20,\)"),
        (np.ones((20, 2)), "[Ss]ample weights must be 1D"),
        (np.where(np.arange(20) == 3, np.nan, 1.0), "Input sample_weight contains NaN"),
        (np.where(np.arange(20) == 3, np.inf, 1.0), "Input sample_weight contains infinity"),
        (np.where(np.arange(20) == 3, -1e-9, 1.0), "Negative values in data passed to `sample_weight`"),
        (0 * ones, r"at least one (non-zero number|positive entry)"),
    ]:
        with pytest.raises(ValueError, match=message):
            make().set_params(kernel="rbf").fit(X, y, sample_weight=weight)


@every_classifier
def test_one_class(make):
    X, y = training_set(make(), n=20)
    for kernel in ("rbf", lambda A, B: np.asarray(A) @ np.asarray(B).T):
        machine = make().set_params(kernel=kernel)
        with pytest.raises(ValueError, match=r"(SVC|NuSVC) needs at least 2 classes .* got 1 class: 1\.0\."):
            machine.fit(X, np.ones(20))
        with pytest.raises(ValueError, match="needs at least 2 classes among the samples of positive weight"):
            machine.fit(X, y, sample_weight=(y == 1).astype(float))


@every_classifier
def test_labels(make):
    X, y = training_set(make(), n=20)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        make().fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"y should be a 1d array, got an array of shape \(20, 2\)"):
        make().fit(X, np.stack([y, y], axis=1))


def test_targets_of_regression():
    X, y = training_set(SVR(), n=20)
    for machine in (SVR(), NuSVR(), QuantileSVR()):
        with pytest.raises(ValueError, match=r"could not convert string to float|numeric|Unable to convert"):
            machine.fit(X, np.where(y > 0, "high", "low"))
        with pytest.raises(ValueError, match="dim"):
            machine.fit(X, np.zeros((20, 2, 2)))


@every_estimator
def test_wrong_number_of_features(make):
    X, y = training_set(make(), n=20)
    machine = make().fit(X, y)
    for method in ("predict", "decision_function", "score_samples", "distance"):
        if hasattr(machine, method):
            with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3 features"):
                getattr(machine, method)(X[:, :2])


@every_estimator
def test_before_fit(make):
    X, _ = training_set(make(), n=20)
    machine = make()
    for method in ("predict", "decision_function", "score_samples", "distance", "influence"):
        if hasattr(machine, method):
            with pytest.raises(NotFittedError, match=f"This {type(machine).__name__} instance is not fitted yet"):
                getattr(machine, method)(*([] if method == "influence" else [X]))
    for name in ("sparsity_", "rho_", "epsilon_"):
        if hasattr(type(machine), name):
            with pytest.raises(NotFittedError):
                getattr(machine, name)
    assert not hasattr(machine, "coef_")


# --- kernels and matrices ---------------------------------------------------------------------------------


@every_estimator
def test_samples_that_the_kernel_does_not_know(make):
    words, y = ["stay", "stray", "play", "tray"], np.array([0, 0, 1, 1])
    for X in (words, np.array(words), np.array([[w, w] for w in words]), [[w, w] for w in words]):
        with pytest.raises(ValueError, match=r"RBF works on vectors|could not convert string to float|Expected 2D"):
            make().set_params(kernel="rbf").fit(X, y)
    with pytest.raises(DomainError, match="Indexed works on row numbers from 0 to 3, got"):
        make().set_params(kernel=Indexed(np.eye(4))).fit(words, y)
    with pytest.raises(DomainError, match="Hamming works on tables of categories"):
        make().set_params(kernel=Hamming()).fit(words, y)
    with pytest.raises(DomainError, match="Indexed works on row numbers from 0 to 3, got 1 to 4"):
        make().set_params(kernel=Indexed(np.eye(4))).fit([1, 2, 3, 4], y)


@every_estimator
def test_values_where_the_kernel_is_not_defined(make):
    X, y = training_set(make(), n=20)
    for kernel in ("chi2", "intersection"):
        with pytest.raises(DomainError, match=r"negative|>= 0"):
            make().set_params(kernel=kernel).fit(X, y)


def test_kernels_on_different_samples_do_not_mix():
    with pytest.raises(
        DomainError, match="Sum needs kernels on one kind of samples, got Linear on vectors and Hamming"
    ):
        SVC(kernel=Linear() + Hamming())


@every_estimator
def test_precomputed_matrices(make):
    X, y = training_set(make(), n=20)
    K = RBF(gamma=3.0)(X)
    machine = make().set_params(kernel="precomputed")
    with pytest.raises(ValueError, match=r"must be square, got shape \(20, 19\)"):
        clone(machine).fit(K[:, :-1], y)
    skew = K.copy()
    skew[0, 1] += 0.5
    with pytest.raises(ValueError, match="must be symmetric"):
        clone(machine).fit(skew, y)
    holes = K.copy()
    holes[2, 2] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        clone(machine).fit(holes, y)
    with pytest.raises(TypeError, match="Sparse data was passed"):
        clone(machine).fit(csr_array(K), y)
    machine.fit(K, y)
    n_support = len(machine.support_)
    for columns in {1, 7, 19, 21} - {n_support}:
        with pytest.raises(ValueError, match=f"X has {columns} features, but {type(machine).__name__} is expecting 20"):
            machine.predict(np.ones((2, columns)))
    with pytest.raises(ValueError, match="contains NaN"):
        machine.predict(np.full((2, 20), np.nan))


def test_new_samples_of_a_ball_need_their_diagonal():
    X, _ = training_set(SVDD(), n=20)
    K = X @ X.T
    machine = SVDD(kernel="precomputed").fit(K)
    with pytest.raises(
        ValueError, match=r"k\(x, x\) of new samples must be given: score_samples\(K, diagonal=\.\.\.\)"
    ):
        machine.score_samples(K)
    direct = SVDD(kernel="linear").fit(X)
    scores = machine.score_samples(K, diagonal=np.diagonal(K))
    np.testing.assert_allclose(scores, direct.score_samples(X), rtol=1e-6, atol=1e-8)


@every_estimator
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda A, B: np.ones(3), r"returned shape \(3,\) where \(\d+, \d+\) was expected"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "returned NaN or infinity"),
        (lambda A, B: None, "."),
        (lambda A, B: np.subtract.outer(np.asarray(A)[:, 0], np.asarray(B)[:, 0]), "must be symmetric"),
    ],
    ids=["shape", "nan", "none", "skew"],
)
def test_functions_that_are_no_kernels(make, function, message):
    X, y = training_set(make(), n=20)
    with pytest.raises((ValueError, TypeError), match=message):
        make().set_params(kernel=function).fit(X, y)


# --- problems without a solution --------------------------------------------------------------------------


def test_infeasible_nu():
    X, y = training_set(SVC(), n=100)
    y = (np.arange(100) < 10).astype(int)
    with pytest.raises(
        InfeasibleError, match=r"nu must be at most 0\.2 \(twice the share of the smaller class.*, got 0\.5"
    ):
        NuSVC(nu=0.5).fit(X, y)
    assert NuSVC(nu=0.2).fit(X, y).result_.status == "solved"
    # weights count
    weight = np.where(y == 1, 9.0, 1.0)
    assert NuSVC(nu=1.0).fit(X, y, sample_weight=weight).result_.status == "solved"
    assert NuSVC(nu=1.0, class_weight="balanced").fit(X, y).result_.status == "solved"
    with pytest.raises(InfeasibleError, match=r"nu must be at most 0\.02"):
        NuSVC(nu=0.5, class_weight={0: 10.0}).fit(X, y)


def test_hard_margins_that_do_not_exist():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), np.arange(50) % 2
    message = "not separable with this kernel.*Choose a finite C or a richer kernel"
    for fit_intercept in (True, False):
        with pytest.raises(NotSeparableError, match=message):
            SVC("linear", C=np.inf, fit_intercept=fit_intercept).fit(X, y)
    with pytest.raises(NotSeparableError, match=message):
        SVC("linear", C=np.inf).fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    with pytest.raises(NotSeparableError, match=message):  # one pair of three
        SVC("linear", C=np.inf).fit(np.vstack([X, X[:20] + 50]), np.concatenate([y, np.full(20, 2)]))


def test_errors_are_value_errors():
    for error in (DomainError, IndefiniteError, InfeasibleError, NotSeparableError):
        assert issubclass(error, ValueError)


# --- nothing is lost --------------------------------------------------------------------------------------


@every_estimator
def test_a_refused_refit_leaves_the_model(make):
    X, y = training_set(make(), n=20)
    machine = make().fit(X, y)
    expected = machine.predict(X)
    bad = X.copy()
    bad[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        machine.fit(bad, y)
    assert_array_equal(machine.predict(X), expected)
    with pytest.raises(ValueError, match="tol"):
        machine.set_params(tol=-1.0).fit(X, y)
    machine.set_params(tol=1e-3)
    assert_array_equal(machine.predict(X), expected)
    assert_array_equal(machine.fit(X, y).predict(X), expected)


@every_estimator
def test_a_refit_that_fails_on_the_way(make):
    """The kernel breaks: the machine says so, predicts as before or refuses to, and can be fitted again."""
    X, y = training_set(make(), n=20)
    expected = make().fit(X, y).predict(X)
    machine = make().fit(X, y)

    def breaks(A, B):
        raise RuntimeError("the kernel broke")

    with pytest.raises(RuntimeError, match="the kernel broke"):
        machine.set_params(kernel=breaks).fit(X[:, :2], y)
    try:
        predicted = machine.set_params(kernel=make().kernel).predict(X)
    except (ValueError, NotFittedError) as error:
        assert str(error)  # a clear error is all that is asked
    else:
        assert_array_equal(predicted, expected)
    assert_array_equal(machine.fit(X, y).predict(X), expected)


def test_a_hard_margin_that_fails_leaves_the_model():
    X, y = training_set(SVC(), n=40)
    machine = SVC(RBF(gamma=3.0), C=np.inf).fit(X, y)
    expected = machine.decision_function(X)
    with pytest.raises(NotSeparableError):
        machine.fit(np.zeros((40, 5)), y)
    assert_array_equal(machine.decision_function(X), expected)


def test_regression_needs_no_classes():
    X, _ = training_set(SVR(), n=20)
    for machine in (SVR(), NuSVR(), QuantileSVR()):
        assert is_regressor(machine)
        assert np.ptp(machine.fit(X, np.ones(20)).predict(X)) < 1e-9
