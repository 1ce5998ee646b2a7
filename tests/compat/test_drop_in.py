"""The classes of `mercer.compat.sklearn`: scikit-learn's interface, none of its solvers."""

import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest
import sklearn.svm
from registry import DROP_INS, training_set
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import _base, _classes
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer.compat import sklearn as drop_in
from mercer.compat.sklearn import kernel_machines
from mercer.errors import NotSeparableError
from mercer.svm import SVC as Machine

CLASSES = [name for name in drop_in.__all__ if hasattr(_classes, name)]
SVC, SVR = drop_in.SVC, drop_in.SVR


@pytest.fixture(params=sorted(DROP_INS))
def any_machine(request):
    return DROP_INS[request.param]()


@pytest.fixture(params=sorted(name for name in DROP_INS if not name.startswith("Linear")))
def machine(request):
    return DROP_INS[request.param]()


def test_the_registry_has_them_all():
    assert {type(make()) for make in DROP_INS.values()} == {getattr(drop_in, name) for name in CLASSES}


# --- the interface ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLASSES)
def test_signature(name):
    ours, theirs = getattr(drop_in, name), getattr(_classes, name)
    assert inspect.signature(ours) == inspect.signature(theirs)
    assert issubclass(ours, theirs)
    for method in ("fit", "predict", "decision_function", "score_samples", "predict_proba"):
        assert hasattr(ours, method) == hasattr(theirs, method)


def test_attributes_are_those_of_scikit_learn(any_machine):
    X, y = training_set(any_machine, n_classes=3)
    (theirs,) = (base for base in type(any_machine).__mro__ if base.__module__ == "sklearn.svm._classes")
    theirs = theirs(**any_machine.get_params())
    for sparse in (False, True):
        data = csr_array(X) if sparse else X
        ours = vars(any_machine.fit(data, y))
        for name, value in vars(theirs.fit(data, y)).items():
            assert type(ours[name]) is type(value) or np.isscalar(value), name
            assert getattr(ours[name], "dtype", None) == getattr(value, "dtype", None), name
            assert np.ndim(ours[name]) == np.ndim(value), name
        assert set(ours) - set(vars(theirs)) == {"result_"}
        if hasattr(any_machine, "dual_coef_"):
            assert issparse(any_machine.support_vectors_) == issparse(any_machine.dual_coef_) == sparse


def test_support_vectors_are_grouped_by_class():
    X, y = training_set(SVC(), n=90, n_classes=3)
    machine = SVC(C=0.5).fit(X, y)
    assert np.array_equal(X[machine.support_], machine.support_vectors_)
    assert np.array_equal(y[machine.support_], np.repeat(machine.classes_, machine.n_support_))
    for group in np.split(machine.support_, np.cumsum(machine.n_support_)[:-1]):
        assert len(group) and (np.diff(group) > 0).all()


# The engine takes widths from the data as scikit-learn does, where a sample of weight 2 counts once.
WIDTHS = "gamma='scale' does not know the weights, in scikit-learn as here"
UNWEIGHTED = {f"check_sample_weight_equivalence_on_{kind}_data": WIDTHS for kind in ("dense", "sparse")}
NU = {
    "check_class_weight_classifiers": "scikit-learn's NuSVC ignores class_weight, and so does ours",
    "check_classifiers_one_label_sample_weights": "scikit-learn's message, 'specified nu is infeasible', is ours too",
}


def expected_failures(machine):
    failures = UNWEIGHTED if getattr(machine, "gamma", 0) == "scale" else {}
    return failures | NU if isinstance(machine, drop_in.NuSVC) else failures


CHECKED = [make() for make in DROP_INS.values()]
CHECKED += [clone(machine).set_params(gamma=0.5) for machine in CHECKED if getattr(machine, "gamma", 0) == "scale"]
CHECKED += [SVC(kernel="precomputed", gamma=0.0), SVR(kernel="precomputed", gamma=0.0)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures)
def test_sklearn_checks(estimator, check):
    check(estimator)


# --- the engine -------------------------------------------------------------------------------------------


class Forbidden:
    def __getattr__(self, name):
        raise AssertionError(f"{name} of scikit-learn's solvers was called")


def test_no_call_into_libsvm(any_machine, monkeypatch):
    for module in ("libsvm", "libsvm_sparse", "liblinear"):
        monkeypatch.setattr(_base, module, Forbidden())
    X, y = training_set(any_machine, n_classes=3)
    with pytest.raises(AssertionError, match="of scikit-learn's solvers was called"):
        _classes.OneClassSVM().fit(X)
    for data in (X, csr_array(X)):
        any_machine.fit(data, y)
        any_machine.predict(data)
        getattr(any_machine, "decision_function", any_machine.predict)(data)


def test_an_unknown_scikit_learn_is_refused():
    code = "from sklearn.svm._base import BaseLibSVM; del BaseLibSVM._dense_fit; import mercer.compat.sklearn"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode
    assert "ImportError: mercer.compat.sklearn does not know this version of scikit-learn" in run.stderr


def test_certificate(any_machine):
    X, y = training_set(any_machine)
    any_machine.fit(X, y)
    assert any_machine.result_.status == "solved"
    assert 0 <= any_machine.result_.gap < np.inf


def test_predictions_are_made_from_the_attributes():
    X, y = training_set(SVC(), n_classes=3)
    machine = SVC().fit(X, y)
    before = machine.decision_function(X)
    machine._intercept_ = machine._intercept_ + np.array([5.0, 0.0, 0.0])  # class 0 against class 1
    after = machine.decision_function(X)
    assert (after[:, 0] > before[:, 0]).all()
    assert (after[:, 1] < before[:, 1]).all()
    assert not (machine.predict(X) == 1).any()


def test_verbose_shows_the_certificate(capsys):
    X, y = training_set(SVC())
    machine = SVC(verbose=True).fit(X, y)
    assert str(machine.result_) in capsys.readouterr().out
    SVC().fit(X, y)
    assert capsys.readouterr().out == ""


# --- weights ----------------------------------------------------------------------------------------------


def test_samples_without_weight_are_no_samples(machine):
    X, y = training_set(machine, n_classes=3)
    machine.set_params(gamma=0.5)
    weight = np.ones(len(X))
    weight[[0, 3]], weight[[7, 20]] = 0.0, -1.0
    used = np.flatnonzero(weight > 0)
    fewer = clone(machine).fit(X[used], y[used])
    machine.fit(X, y, sample_weight=weight)
    assert np.array_equal(machine.support_, used[fewer.support_])
    assert np.allclose(machine.dual_coef_, fewer.dual_coef_, rtol=1e-9)
    assert np.allclose(machine.predict(X), fewer.predict(X), rtol=1e-9)


@pytest.mark.parametrize("absent", [0, 1, 3])
def test_a_class_without_weight_is_never_predicted(absent):
    X, y = training_set(SVC(), n=120, n_classes=4)
    used = y != absent
    machine = SVC(gamma=0.5).fit(X, y, sample_weight=used)
    others = SVC(gamma=0.5).fit(X[used], y[used])
    assert machine.classes_.tolist() == [0, 1, 2, 3]
    assert machine.dual_coef_.shape[0] == 3
    assert machine.decision_function(X).shape == (120, 4)
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    assert [steps == 0 for steps in machine.n_iter_] == [absent in pair for pair in pairs]
    assert np.array_equal(machine.predict(X), others.predict(X))


def test_weights_of_no_use(machine):
    X, y = training_set(machine)
    with pytest.raises(ValueError, match="all samples have zero or negative weights"):
        machine.fit(X, y, sample_weight=-np.ones(len(X)))
    with pytest.raises(ValueError, match="Sample weights must be 1D array or scalar, got 2D array"):
        machine.fit(X, y, sample_weight=np.ones((len(X), 2)))
    with pytest.raises(ValueError, match="sample_weight and X have incompatible shapes"):
        machine.fit(X, y, sample_weight=np.ones(len(X) - 1))


def test_weights_that_leave_one_class():
    X, y = training_set(SVC())
    with pytest.raises(ValueError, match="all samples with positive weights belong to the same class"):
        SVC().fit(X, y, sample_weight=y)
    with pytest.raises(ValueError, match="specified nu is infeasible"):
        drop_in.NuSVC().fit(X, y, sample_weight=y)


# --- limits -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_iter", [0, 1, 5])
def test_max_iter(machine, max_iter):
    X, y = training_set(machine, n_classes=3)
    with pytest.warns(ConvergenceWarning, match=rf"Solver terminated early \(max_iter={max_iter}\)") as caught:
        machine.set_params(max_iter=max_iter).fit(X, y)
    assert len(caught) == 1
    assert machine.fit_status_ == 1
    assert np.max(machine.n_iter_) == max(1, max_iter)


def test_all_steps_used_up_is_a_limit_reached():
    with pytest.warns(ConvergenceWarning, match="Solver terminated early"):
        machine = SVC(kernel="linear", max_iter=1).fit([[0.0], [1.0]], [0, 1])
    assert machine.result_.status == "solved"
    assert machine.fit_status_ == 1


def test_cache_size_is_the_memory_of_the_machine(monkeypatch):
    given = {}
    monkeypatch.setattr(
        kernel_machines.svm, "SVC", lambda **parameters: given.update(parameters) or Machine(**parameters)
    )
    X, y = training_set(SVC())
    SVC(cache_size=7).fit(X, y)
    assert given["memory"] == 7


def test_no_warning_but_scikit_learns():
    X, y = training_set(SVC())
    machine = SVC(kernel="sigmoid").fit(X, y)  # warnings are errors
    assert machine.result_.status == "indefinite"
    assert machine.fit_status_ == 0


def test_infinite_price():
    X, y = training_set(SVC(), d=1)
    separable = SVC(kernel="rbf", gamma=50.0, C=np.inf).fit(X, y)
    assert (separable.predict(X) == y).all()
    with pytest.raises(NotSeparableError):
        SVC(kernel="linear", C=np.inf).fit(X, y)
    values = np.sin(X[:, 0])
    tight = SVR(gamma=1.0, C=np.inf, epsilon=0.05, tol=1e-6).fit(X, values)
    assert np.abs(tight.predict(X) - values).max() <= 0.05 + 1e-6


def test_a_polynomial_of_degree_zero_is_constant():
    X, y = training_set(SVR())
    machine = SVR(kernel="poly", degree=0).fit(X, y)
    assert np.ptp(machine.predict(X)) == 0.0


# --- what people do with them -----------------------------------------------------------------------------


def test_pickle_and_clone(any_machine):
    X, y = training_set(any_machine, n_classes=3)
    any_machine.fit(X, y)
    again = pickle.loads(pickle.dumps(any_machine))
    assert type(again) is type(any_machine)
    assert np.array_equal(again.predict(X), any_machine.predict(X))
    assert np.array_equal(clone(any_machine).fit(X, y).predict(X), any_machine.predict(X))


def test_search_in_a_pipeline():
    X, y = training_set(SVC(), n_classes=3)
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": [0.1, 10], "svc__gamma": ["scale", 0.1]})
    theirs = clone(search).set_params(estimator__svc=_classes.SVC())
    assert search.fit(X, y).best_params_ == theirs.fit(X, y).best_params_
    assert np.array_equal(search.predict(X), theirs.predict(X))


def test_search_over_precomputed_matrices():
    X, y = training_set(SVC())
    search = GridSearchCV(SVC(kernel="precomputed"), {"C": [0.1, 1.0, 10.0]}).fit(X @ X.T, y)
    plain = GridSearchCV(SVC(kernel="linear"), {"C": [0.1, 1.0, 10.0]}).fit(X, y)
    assert np.allclose(search.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])


# --- under scikit-learn's names ---------------------------------------------------------------------------


@pytest.fixture
def patched():
    mercer.patch_sklearn()
    yield
    mercer.unpatch_sklearn()


def test_patch_and_unpatch():
    before = vars(sklearn.svm).copy()
    for _ in range(2):
        mercer.patch_sklearn()
        assert all(getattr(sklearn.svm, name) is getattr(drop_in, name) for name in CLASSES)
    for _ in range(2):
        mercer.unpatch_sklearn()
        assert vars(sklearn.svm) == before


def test_imports_after_the_patch_are_ours(patched):
    from sklearn.svm import NuSVR, l1_min_c

    assert NuSVR is drop_in.NuSVR
    assert l1_min_c.__module__.startswith("sklearn.")


def test_models_of_scikit_learn_are_still_saved_and_loaded(patched):
    X, y = training_set(SVC())
    theirs = _classes.SVC().fit(X, y)
    again = pickle.loads(pickle.dumps(theirs))
    assert type(again) is _classes.SVC
    assert np.array_equal(again.predict(X), theirs.predict(X))


def test_the_patch_is_not_done_by_importing():
    code = "import mercer, mercer.compat.sklearn, sklearn.svm; print(sklearn.svm.SVC.__module__)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "sklearn.svm._classes"
