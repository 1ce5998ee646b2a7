"""Machines that learn their kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from mercer.active import ActiveLearner
from mercer.errors import DomainError, IndefiniteError
from mercer.kernels import RBF, Constant, FromFunction, Indexed, Linear, On, Polynomial, Spectrum, Sum
from mercer.mkl import Easy, MKLClassifier, MKLOneClass, MKLRegressor, Widths, family, weights_path
from mercer.multiclass import OneVersusRest
from mercer.selection import Tuned
from mercer.svm import SVC, SVR, OneClassSVM

EXACT = {"gap_tol": 1e-6, "tol": 1e-6}


def two_classes(n=80, seed=0):
    """Two features, of which the second decides, by its size."""
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return X, np.abs(X[:, 1]) > 0.7


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = {"noise": rng.normal(size=(n, 3)), "signal": rng.normal(size=n)}
    return X, X["signal"] > 0


# --- kernels in -------------------------------------------------------------------------------------------


def test_a_list_and_a_sum_are_the_same():
    X, y = two_classes()
    terms = [Linear(), RBF(gamma=1.0), Polynomial(degree=2)]
    listed, summed = MKLClassifier(terms).fit(X, y), MKLClassifier(Sum(*terms)).fit(X, y)
    assert_array_equal(listed.weights_, summed.weights_)
    assert listed.kernels_ == summed.kernels_


def test_names_functions_and_families_stand_for_kernels():
    X, y = two_classes()
    machine = MKLClassifier(["linear", FromFunction(lambda A, B: A @ B.T), Widths(factors=[0.5, 2.0])]).fit(X, y)
    assert [type(kernel) for kernel in machine.kernels_] == [Linear, FromFunction, RBF, RBF]
    assert machine.kernels_[3].gamma == 4 * machine.kernels_[2].gamma
    assert machine.weights_.shape == (4,)


def test_kernels_by_default():
    machine = MKLClassifier().fit(*two_classes())
    assert [type(kernel) for kernel in machine.kernels_] == [Linear, *[RBF] * 7]
    assert not {"_stack", "_sizes", "_counts", "_targets"} & vars(machine).keys()  # matrices go when the fit is over


def test_samples_without_weight_do_not_count_for_widths():
    X, y = two_classes()
    weight = np.where(np.arange(80) < 20, 0.0, 1.0)
    machine = MKLClassifier([Widths(factors=[0.5, 2.0]), RBF()]).fit(
        100.0 * X * (2.0 - weight[:, np.newaxis]), y, weight
    )
    alone = MKLClassifier([Widths(factors=[0.5, 2.0]), RBF()]).fit(100.0 * X[20:], y[20:])
    assert_allclose([one.gamma for one in machine.kernels_], [one.gamma for one in alone.kernels_], rtol=1e-12)


def test_columns_of_a_table():
    X, y = table()
    machine = MKLClassifier(On("noise", Linear()) + On("signal", Linear())).fit(X, y)
    assert machine.weights_[1] > 0.9
    assert machine.score(X, y) > 0.95


def test_strings_and_numbers_together():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    words = ["".join(rng.choice(list("aab" if label else "abb"), size=12)) for label in y]
    X = {"word": words, "size": rng.normal(size=60)}
    machine = MKLClassifier(On("word", Spectrum(2).normalized()) + On("size", RBF())).fit(X, y)
    assert machine.weights_[0] > machine.weights_[1]


def test_stored_matrices_can_be_split():
    X, y = two_classes()
    matrices = [Indexed(X @ X.T), Indexed(RBF(gamma=1.0)(X))]
    rows = np.arange(len(X))
    stored, computed = MKLClassifier(matrices).fit(rows, y), MKLClassifier([Linear(), RBF(gamma=1.0)]).fit(X, y)
    assert_allclose(stored.weights_, computed.weights_, atol=1e-6)
    assert cross_val_score(MKLClassifier(matrices), rows, y, cv=3).mean() > 0.8


def test_bare_matrices_are_refused_by_name():
    X, y = two_classes()
    K, rows = X @ X.T, np.arange(80)
    with pytest.raises(TypeError, match=r"number 1 is an array of shape \(80, 80\).*Indexed\(K1\)"):
        MKLClassifier([Linear(), K]).fit(rows, y)
    with pytest.raises(TypeError, match=r"got an array of shape \(2, 80, 80\).*Indexed\(K1\)"):
        MKLClassifier(np.array([K, K])).fit(rows, y)
    with pytest.raises(TypeError, match=r"number 0 is a list.*Indexed\(K1\)"):
        MKLClassifier([K.tolist()]).fit(rows, y)


def test_stored_matrices_of_other_samples_are_refused():
    rows = np.arange(40)  # which both have
    with pytest.raises(ValueError, match=r"matrices of the same rows where.*number 1 has 40, number 0 has 80"):
        MKLClassifier([Indexed(np.eye(80)), Indexed(np.eye(40))]).fit(rows, rows % 2)


@pytest.mark.parametrize(
    ("wrong", "kind", "message"),
    [
        (Indexed(np.full((80, 80), np.nan)), ValueError, "Kernel 1: K contains NaN"),
        (Indexed(np.triu(np.ones((80, 80)))), ValueError, "Kernel 1: K must be symmetric"),
        (Widths(Indexed(np.eye(80))), ValueError, "Kernel 1: Widths needs a kernel with a parameter gamma"),
    ],
    ids=["NaN", "asymmetric", "no gamma"],
)
def test_errors_say_which_kernel_it_was(wrong, kind, message):
    with pytest.raises(kind, match=message):
        MKLClassifier([Indexed(np.eye(80)), wrong]).fit(np.arange(80), two_classes()[1])


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ([], TypeError, "kernels must be a list of kernels"),
        (7, TypeError, "kernels must be a list of kernels.*7"),
        (["linear", Spectrum(2)], DomainError, "Linear on vectors and Spectrum on strings"),
        (["nonsense"], ValueError, "kernels must be kernels, number 0 is none.*nonsense"),
        ([Linear(), RBF], TypeError, r"number 1 is none.*write RBF\(\)"),
    ],
)
def test_what_is_no_list_of_kernels_is_refused(given, kind, message):
    with pytest.raises(kind, match=message):
        MKLClassifier(given).fit(*two_classes())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"norm": 0.5}, "norm must be a float >= 1.*0.5"),
        ({"elastic": 0.5, "norm": 2.0}, "norm must be 1 where elastic is positive, got 2.0"),
        ({"groups": [0]}, r"groups must be a list with a label for each of 2 kernels, got \[0\]"),
        ({"groups": [[0], [1]]}, r"groups must be a list with a label for each of 2 kernels, got \[\[0\]"),
        ({"groups": "ab"}, "groups must be a list with a label for each of 2 kernels, got 'ab'"),
        ({"groups": [0, 1], "elastic": 0.5}, "elastic must be 0 where there are groups"),
        ({"algorithm": "magic"}, "algorithm must be one of 'auto'.*'magic'"),
        ({"algorithm": "alignment", "norm": 2.0}, "algorithm must not be 'alignment' where norm, elastic or groups"),
        ({"algorithm": "uniform", "elastic": 0.5}, "algorithm must not be 'uniform' where norm, elastic or groups"),
        ({"algorithm": Easy(), "groups": [0, 1]}, r"algorithm must not be Easy\(\) where norm, elastic or groups"),
        ({"algorithm": "level", "norm": 2.0}, "algorithm must not be 'level' where norm, elastic or groups.*simplex"),
        ({"algorithm": "newton", "multi_class": "crammer_singer"}, "algorithm must not be 'newton' where classes have"),
        ({"normalize": "size"}, "normalize must be"),
        ({"shared": False}, "multi_class must be 'ovr' where shared is False"),
        ({"multi_class": OneVersusRest(calibrated=True)}, "multi_class must be a scheme that is not calibrated"),
    ],
)
def test_options_that_do_not_go_together(options, message):
    with pytest.raises(ValueError, match=message):
        MKLClassifier(["linear", "rbf"], **options).fit(*two_classes())


def test_parameters_of_kernels():
    machine = MKLClassifier(["linear", RBF(gamma=1.0)])
    first = machine.kernels
    machine.set_params(kernels__1__gamma=4.0, kernels__0=Polynomial())
    assert machine.kernels == [Polynomial(), RBF(gamma=4.0)]
    assert machine.get_params()["kernels__1__gamma"] == 4.0
    assert first[1] == RBF(gamma=1.0)  # the list may be somebody else's
    with pytest.raises(ValueError, match="kernels 0 to 1"):
        machine.set_params(kernels__2__gamma=1.0)
    with pytest.raises(ValueError, match="Invalid parameter 'kernels__first__gamma': there are kernels 0 to 1"):
        machine.set_params(kernels__first__gamma=1.0)
    with pytest.raises(ValueError, match="Invalid parameter 'kernels__0__gamma': kernels is None"):
        MKLClassifier().set_params(kernels__0__gamma=1.0)
    summed = MKLClassifier(Linear() + RBF(gamma=1.0)).set_params(kernels__1__gamma=2.0)
    assert summed.kernels == Linear() + RBF(gamma=2.0)


def test_grid_search_over_kernels():
    X, y = two_classes()
    search = GridSearchCV(MKLClassifier(["linear", RBF()]), {"kernels__1__gamma": [1e-6, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"kernels__1__gamma": 1.0}


# --- limiting cases ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
def test_one_kernel_is_the_plain_machine(norm):
    X, y = two_classes()
    values = X[:, 0] + X[:, 1] ** 2
    pairs = [
        (MKLClassifier([RBF(gamma=1.0)], norm=norm), SVC(RBF(gamma=1.0)), y),
        (MKLRegressor([RBF(gamma=1.0)], norm=norm), SVR(RBF(gamma=1.0)), values),
        (MKLOneClass([RBF(gamma=1.0)], norm=norm, nu=0.2), OneClassSVM(RBF(gamma=1.0), nu=0.2), None),
    ]
    for learnt, plain, target in pairs:
        machine = learnt.fit(X) if target is None else learnt.fit(X, target)
        other = plain.fit(X) if target is None else plain.fit(X, target)
        assert machine.weights_.tolist() == [1.0]
        score = "predict" if target is values else "decision_function"
        assert_allclose(getattr(machine, score)(X), getattr(other, score)(X), atol=2e-3)


def test_weights_are_on_the_simplex_and_follow_the_kernels():
    X, y = two_classes()
    terms = [Linear(), *family(RBF(), gamma=[0.1, 1.0, 10.0])]
    weights = MKLClassifier(terms, **EXACT).fit(X, y).weights_
    assert abs(weights.sum() - 1) <= 1e-12
    assert (weights >= 0).all()
    order = np.array([2, 0, 3, 1])
    assert_allclose(MKLClassifier([terms[k] for k in order], **EXACT).fit(X, y).weights_, weights[order], atol=2e-3)


def test_kernels_on_wildly_different_scales():
    X, y = two_classes()
    plain = MKLClassifier([Linear(), RBF(gamma=1.0)], **EXACT).fit(X, y)
    scaled = MKLClassifier([1e9 * Linear(), 1e-9 * RBF(gamma=1.0)], **EXACT).fit(X, y)
    assert_allclose(scaled.weights_, plain.weights_, atol=1e-4)
    assert_allclose(scaled.decision_function(X), plain.decision_function(X), atol=1e-3)


def test_zero_and_constant_kernels_have_no_weight():
    X, y = two_classes()
    machine = MKLClassifier([Constant(0.0), RBF(gamma=1.0), Constant(5.0)], **EXACT).fit(X, y)
    assert_allclose(machine.weights_, [0.0, 1.0, 0.0], atol=1e-4)
    assert machine.weights_result_.status == "solved"


def test_more_kernels_than_samples():
    X, y = two_classes(20)
    machine = MKLClassifier(family(RBF(), gamma=np.logspace(-3, 3, 50))).fit(X, y)
    assert machine.weights_result_.relative_gap <= machine.gap_tol


@pytest.mark.parametrize("norm", [1.0, 1.5, 2.0])
def test_identical_kernels_share_weight(norm):
    X, y = two_classes()
    weights = MKLClassifier([RBF(gamma=1.0), Linear(), RBF(gamma=1.0)], norm=norm, **EXACT).fit(X, y).weights_
    assert_allclose(weights[0], weights[2], rtol=1e-6)


def test_an_indefinite_kernel_is_named():
    X, y = two_classes()
    with pytest.raises(IndefiniteError, match="kernel 1"):
        MKLClassifier([Linear(), FromFunction(lambda A, B: -A @ B.T)]).fit(X, y)


# --- the model --------------------------------------------------------------------------------------------


def test_the_learnt_kernel_is_usable_anywhere():
    X, y = two_classes()
    machine = MKLClassifier(**EXACT).fit(X, y)
    again = SVC(machine.kernel_, tol=1e-6).fit(X, y)
    assert_allclose(again.decision_function(X), machine.decision_function(X), atol=1e-4)


def test_the_certificate_from_public_attributes():
    """The gap, recomputed: energies of the machine in every kernel, the primal objective by its definition."""
    X, y = two_classes()
    machine = MKLClassifier(C=2.0).fit(X, y)
    a, sign = machine.dual_coef_[0], np.where(y, 1.0, -1.0)
    matrices = [f * kernel(X) for f, kernel in zip(machine.factors_, machine.kernels_, strict=True)]
    some = machine.support_
    energies = np.array([0.5 * a @ K[np.ix_(some, some)] @ a for K in matrices])
    lower = np.abs(a).sum() - energies.max()
    total = sum(d * K for d, K in zip(machine.weights_, matrices, strict=True))
    f = total[:, some] @ a + machine.intercept_
    upper = machine.weights_ @ energies + 2.0 * np.maximum(0.0, 1.0 - sign * f).sum()
    result = machine.weights_result_
    assert_allclose(result.objective, upper, rtol=1e-9)
    assert lower <= result.bound * (1 + 1e-9)
    assert 0 <= result.gap <= machine.gap_tol * result.objective
    assert_allclose(result.energies, energies, rtol=1e-9)


def test_several_classes_share_weights_or_have_their_own():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = {"a": rng.normal(size=90) + 2.5 * (y == 0), "b": rng.normal(size=90) + 2.5 * (y == 1)}
    terms = [On("a", RBF()), On("b", RBF())]
    shared = MKLClassifier(terms, multi_class="ovr").fit(X, y)
    own = MKLClassifier(terms, multi_class="ovr", shared=False).fit(X, y)
    assert shared.weights_.shape == (2,)
    assert own.weights_.shape == (3, 2)
    assert own.weights_[0, 0] > own.weights_[0, 1]
    assert own.weights_[1, 1] > own.weights_[1, 0]
    alone = [MKLClassifier(terms).fit(X, y == c) for c in range(3)]
    assert_allclose(own.weights_, [machine.weights_ for machine in alone], atol=1e-12)
    values = np.column_stack([machine.decision_function(X) for machine in alone])
    assert_allclose(own.decision_function(X), values, atol=1e-9)
    assert len(own.weights_result_) == len(own.kernel_) == 3
    assert own.score(X, y) > 0.6


def test_two_classes_have_one_set_of_weights():
    X, y = two_classes()
    own, shared = (MKLClassifier(["linear", "rbf"], multi_class="ovr", shared=one).fit(X, y) for one in (False, True))
    assert_array_equal(own.weights_, shared.weights_)
    assert_array_equal(own.decision_function(X), shared.decision_function(X))


def test_samples_without_weight_are_none_for_one_objective_either():
    X, _ = two_classes()
    y, weight = np.arange(80) % 3, np.where(np.arange(80) < 20, 0.0, 1.0)
    machine = MKLClassifier(["linear", RBF(gamma=1.0)], multi_class="crammer_singer", C=0.3)
    some = clone(machine).fit(X, y, sample_weight=2.0 * weight)
    alone = machine.set_params(C=0.6).fit(X[20:], y[20:])
    assert_allclose(some.weights_, alone.weights_, atol=1e-12)


@pytest.mark.parametrize("scheme", ["weston_watkins", "crammer_singer", "lee_lin_wahba"])
def test_one_objective_for_all_classes(scheme):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 2)) + np.array([[2.0, 0.0], [0.0, 2.0], [-2.0, -2.0]])[y]
    terms = family(RBF(), gamma=[0.01, 0.3, 10.0])
    machine = MKLClassifier(terms, multi_class=scheme, gap_tol=1e-4, tol=1e-5).fit(X, y)
    assert machine.weights_result_.status == "solved"
    # The optimum over all weights is below that of any kernel alone, and the machine is that of the learnt kernel.
    alone = [SVC(kernel, multi_class=scheme).fit(X, y).result_.primal_objective for kernel in machine.kernels_]
    assert machine.weights_result_.objective < min(alone) * (1 + 1e-3)
    plain = SVC(machine.kernel_, multi_class=scheme, tol=1e-5).fit(X, y)
    assert_allclose(machine.decision_function(X), plain.decision_function(X), atol=1e-3)
    assert_allclose(machine.weights_result_.objective, plain.result_.primal_objective, rtol=1e-3)


def test_probabilities_agree_with_predictions():
    X, y = two_classes()
    machine = MKLClassifier(probability=True).fit(X, y)
    assert_array_equal(machine.predict(X), machine.classes_[machine.predict_proba(X).argmax(axis=1)])


def test_weights_are_learnt_anew_in_every_fold_of_a_calibration(monkeypatch):
    seen = []
    learn = MKLClassifier._learn_weights
    monkeypatch.setattr(
        MKLClassifier, "_learn_weights", lambda self, *about: seen.append(self._stack.n) or learn(self, *about)
    )
    MKLClassifier(["linear", "rbf"], probability=True).fit(*two_classes(80))
    assert seen == [80, *[64] * 5]


def test_norms_from_sparse_to_equal():
    X, y = two_classes()
    terms = family(RBF(), gamma=np.logspace(-2, 2, 9))
    found = [MKLClassifier(terms, norm=norm).fit(X, y).weights_ for norm in (1.0, 1.5, 4.0, np.inf)]
    spread = [np.ptp(weights) / weights.max() for weights in found]
    assert spread == sorted(spread, reverse=True)
    assert spread[-1] == 0
    assert np.count_nonzero(found[0]) < np.count_nonzero(found[1]) == len(terms)


def test_elastic_weights_and_groups():
    X, y = two_classes()
    terms = [Linear(), RBF(gamma=1.0), RBF(gamma=1.0 + 1e-9)]
    elastic = MKLClassifier(terms, elastic=0.5, **EXACT).fit(X, y)
    d = elastic.weights_
    assert_allclose(0.5 * d.sum() + 0.5 * (d * d).sum(), 1.0, rtol=1e-6)
    assert_allclose(d[1], d[2], rtol=1e-3)
    grouped = MKLClassifier(terms, groups=["line", "ring", "ring"], norm=2.0, gap_tol=1e-4).fit(X, y)
    assert grouped.weights_[0] < 0.05
    assert_allclose(grouped.weights_[1], grouped.weights_[2], rtol=1e-3)


def test_labels_of_groups_need_no_order():
    X, y = two_classes()
    terms = [Linear(), RBF(gamma=1.0), RBF(gamma=2.0)]
    first, second = (
        MKLClassifier(terms, groups=labels, norm=2.0).fit(X, y) for labels in ([0, 1, 1], ["b", None, None])
    )
    assert_array_equal(first.weights_, second.weights_)


def test_a_family_is_in_the_group_of_its_label():
    X, y = two_classes()
    short = MKLClassifier([Widths(factors=[0.5, 2.0]), Linear()], groups=["round", "flat"], norm=2.0).fit(X, y)
    long = MKLClassifier([*short.kernels_], groups=["round", "round", "flat"], norm=2.0).fit(X, y)
    assert_array_equal(short.weights_, long.weights_)


def test_limits_are_told():
    X, y = two_classes()
    with pytest.warns(
        ConvergenceWarning, match=r"weights did not reach .*Raise max_iter or gap_tol, or fit again with"
    ):
        machine = MKLClassifier(max_iter=1, gap_tol=1e-8).fit(X, y)
    assert machine.weights_result_.status == "max_iter"
    told = []
    with pytest.warns(ConvergenceWarning, match="callback"):
        MKLClassifier(gap_tol=1e-8, callback=lambda progress: told.append(progress) or len(told) == 2).fit(X, y)
    assert len(told) == 2


def test_a_search_that_stalls_says_what_helps(monkeypatch):
    X, y = two_classes()
    monkeypatch.setattr("mercer.solvers.kernel_weights.base.PATIENCE", 1)
    monkeypatch.setattr("mercer.solvers.kernel_weights.base.STALLED", 0.0)
    with pytest.warns(ConvergenceWarning, match="Take algorithm='auto' or 'smo', lower tol, or raise gap_tol"):
        machine = MKLClassifier(norm=2.0, gap_tol=1e-6).fit(X, y)
    assert machine.weights_result_.status == "stalled"


@pytest.mark.parametrize("scheme", ["ovo", "crammer_singer"])
def test_what_is_counted_are_weights_not_steps_of_the_machine(scheme):
    X, y = two_classes()
    with pytest.warns(ConvergenceWarning, match="max_iter") as told:
        machine = MKLClassifier(max_iter=1, gap_tol=1e-8, ridge=1e-3, multi_class=scheme).fit(X, y)
    assert len(told) == 1
    assert (machine.weights_result_.status, machine.result_.status) == ("max_iter", "solved")


def test_warm_start():
    X, y = two_classes()
    machine = MKLClassifier(warm_start=True).fit(X, y)
    cold = machine.weights_result_
    assert machine.fit(X, y).weights_result_.n_iter <= cold.n_iter
    assert_allclose(machine.weights_result_.history.weights[0], cold.weights, atol=0.01)
    assert_allclose(clone(machine).fit(X, y).weights_result_.objective, machine.weights_result_.objective, rtol=2e-3)


# --- paths ------------------------------------------------------------------------------------------------


def test_a_path_has_what_fits_alone_have(monkeypatch):
    X, y = two_classes()
    machine = MKLClassifier(["linear", RBF(gamma=1.0)])
    made = []
    from mercer.mkl import base

    stack = base.GramStack
    monkeypatch.setattr(base, "GramStack", lambda *args, **options: made.append(1) or stack(*args, **options))
    path = weights_path(machine, X, y, C=[0.1, 1.0, 10.0])
    assert len(made) == 1  # one set of kernel matrices for all
    assert (path.name, path.values, path.weights.shape) == ("C", [0.1, 1.0, 10.0], (3, 2))
    for C, one in zip(path.values, path.machines, strict=True):
        alone = clone(machine).set_params(C=C).fit(X, y)
        assert_allclose(one.weights_result_.objective, alone.weights_result_.objective, rtol=2e-3)
        assert not {"_shelf", "_first_weights"} & vars(one).keys()  # what they had in common goes
    weights_path(machine, X, y, kernels__1__gamma=[0.1, 1.0])
    assert len(made) == 1 + 3 + 2
    path = weights_path(machine, X, y, normalize=["trace", None])  # the same kernels, other matrices
    plain = clone(machine).set_params(normalize=None).fit(X, y)
    assert_array_equal(path.machines[1].factors_, plain.factors_)


@pytest.mark.parametrize("warm_start", [False, True])
def test_a_path_begins_at_the_last_weights(warm_start):
    X, y = two_classes()
    machine = MKLClassifier(["linear", RBF(gamma=1.0), RBF(gamma=1e-3)], warm_start=warm_start)
    first, second = (one.weights_result_ for one in weights_path(machine, X, y, C=[1.0, 1.0]).machines)
    assert_allclose(first.history.weights[0], 1 / 3, rtol=1e-12)
    assert_allclose(second.history.weights[0], first.weights, atol=0.01)
    assert not first.weights.all() and second.history.weights[0].all()  # what was zero may come back


def test_paths_refuse_what_is_none():
    X, y = two_classes()
    with pytest.raises(TypeError, match=r"machine must be one of mercer.mkl.*SVC"):
        weights_path(SVC(), X, y, C=[1.0])
    with pytest.raises(ValueError, match="one parameter with its values"):
        weights_path(MKLClassifier(), X, y)
    with pytest.raises(ValueError, match="C must have at least one value"):
        weights_path(MKLClassifier(), X, y, C=[])
    with pytest.raises(TypeError, match="C must be a list of values, got 3"):
        weights_path(MKLClassifier(), X, y, C=3)
    with pytest.raises(ValueError, match=r"kernels__0__factors must leave the number of kernels.*\(1,\) and.*\(2,\)"):
        weights_path(MKLClassifier([Widths()]), X, y, kernels__0__factors=[(1.0,), (1.0, 2.0)])


def test_paths_with_weights_of_samples():
    X, y = two_classes()
    weight = np.where(np.arange(80) < 20, 0.0, 1.0)
    path = weights_path(MKLClassifier(["linear", RBF(gamma=1.0)]), X, y, sample_weight=weight, C=[0.5])
    alone = MKLClassifier(["linear", RBF(gamma=1.0)], C=0.5).fit(X[20:], y[20:])
    assert_allclose(path.weights[0], alone.weights_, atol=1e-12)


def test_families():
    assert family("poly", degree=[1, 3]) == [Polynomial(degree=1), Polynomial(degree=3)]
    with pytest.raises(ValueError, match="one parameter"):
        family("rbf", gamma=[1.0], other=[2.0])
    with pytest.raises(ValueError, match="gamma must have at least one value"):
        family("rbf", gamma=[])
    with pytest.raises(ValueError, match="factors must be numbers > 0"):
        Widths(factors=[0.0]).kernels([[0.0], [1.0]])
    with pytest.raises(ValueError, match=r"factors must be numbers > 0, got \['a'\]"):
        Widths(factors=["a"]).kernels([[0.0], [1.0]])
    with pytest.raises(TypeError, match="factors must be a list of values, got 3"):
        Widths(factors=3).kernels([[0.0], [1.0]])
    with pytest.raises(ValueError, match="a parameter gamma"):
        Widths(Linear()).kernels([[0.0], [1.0]])


# --- in other hands ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"multi_class": "ovr", "shared": False}], ids=["shared", "own"])
def test_a_learner_asks_for_labels(options):
    X, _ = two_classes()
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.4, 0.4])]
    learner = ActiveLearner(MKLClassifier(["linear", RBF()], **options), X, oracle=y, budget=25, batch=2).learn()
    assert learner.estimator_.score(X, y) > 0.8
    alone = MKLClassifier(["linear", RBF()], **options).fit(X[learner.labelled_], learner.labels_)
    assert_allclose(learner.estimator_.decision_function(X), alone.decision_function(X), atol=1e-9)


def test_machines_that_choose_their_parameters():
    X, y = two_classes()
    grid = {"C": [1e-3, 1.0], "kernels__1__gamma": [1e-6, 1.0]}
    machine = MKLClassifier(["linear", RBF()])
    tuned = Tuned(machine, grid, cv=KFold(3)).fit(X, y)
    assert tuned.best_params_ == {"C": 1.0, "kernels__1__gamma": 1.0}
    best = clone(machine).set_params(**tuned.best_params_)
    assert_allclose(tuned.best_score_, cross_val_score(best, X, y, cv=KFold(3)).mean(), atol=1e-12)
