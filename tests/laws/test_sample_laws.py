"""What goes into a machine: samples of any kind and storage, and the kernels between them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from laws.machines import CLOSE, decision, every_classifier, every_estimator, fitted, weighted_and_repeated
from numpy.testing import assert_allclose, assert_array_equal
from registry import softened, training_set
from scipy.sparse import csc_array, csr_array, csr_matrix, issparse
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer.kernels import RBF, as_kernel
from mercer.svm import SVDD

# --- kernels ----------------------------------------------------------------------------------------------


@every_estimator
def test_precomputed(make):
    X, y = training_set(make())
    new, _ = training_set(make(), n=40, seed=1)
    machine = fitted(make, X, y)
    K, Kx = machine.kernel_(X), machine.kernel_(new, X)
    given = make().set_params(kernel="precomputed").fit(K, y)
    assert given.kernel_ == "precomputed"
    assert given.n_features_in_ == len(X)
    assert_allclose(given.dual_coef_, machine.dual_coef_, **CLOSE)
    assert_allclose(given.intercept_, machine.intercept_, **CLOSE)
    if isinstance(machine, SVDD):
        diagonal = machine.kernel_.diag(new)
        scores = [given.score_samples(k, diagonal=diagonal) for k in (Kx, Kx[:, given.support_])]
        assert_allclose(scores[0], machine.score_samples(new), **CLOSE)
        assert_array_equal(scores[0], scores[1])
        return
    assert_allclose(decision(given, Kx), decision(machine, new), **CLOSE)
    assert_array_equal(decision(given, Kx), decision(given, Kx[:, given.support_]))
    assert_array_equal(given.predict(Kx), given.predict(Kx[:, given.support_]))


@every_classifier
def test_precomputed_with_several_classes(make):
    X, y = training_set(make(), n_classes=3)
    machine = fitted(make, X, y)
    K = machine.kernel_(X)
    given = make().set_params(kernel="precomputed").fit(K, y)
    assert_allclose(given.decision_function(K), machine.decision_function(X), rtol=1e-3, atol=1e-3)
    assert_array_equal(given.predict(K), machine.predict(X))
    assert_array_equal(given.decision_function(K[:, given.support_]), given.decision_function(K))


@every_estimator
def test_precomputed_in_float32(make):
    X, y = training_set(make())
    K = as_kernel(RBF(gamma=0.5))(X)
    machine = make().set_params(kernel="precomputed")
    first, second = clone(machine).fit(K.astype(np.float32), y), clone(machine).fit(K, y)
    assert_allclose(decision(first, K), decision(second, K), rtol=1e-3, atol=1e-3)


@every_estimator
def test_a_function_is_a_kernel(make):
    X, y = training_set(make())
    kernel = make().fit(X, y).kernel_
    given = make().set_params(kernel=lambda A, B: kernel(A, B)).fit(X, y)
    assert_allclose(decision(given, X), decision(make().fit(X, y), X), **CLOSE)
    # Blocks of rows from Python, when the matrix does not fit.
    rows = make().set_params(kernel=lambda A, B: kernel(A, B), memory=0.02).fit(X, y)
    assert_allclose(decision(rows, X), decision(given, X), **CLOSE)


def common_letters(X, Y):
    return np.array([[len(set(x) & set(y)) for y in Y] for x in X], dtype=float)


@every_estimator
@pytest.mark.parametrize("container", [list, np.array, lambda words: np.array(words, dtype=object)])
def test_strings(make, container):
    """Samples that are no vectors go straight into fit and predict."""
    words = ["stay", "stray", "play", "tray", "plain", "bone", "bonnet", "one", "none", "nonet"]
    y = np.repeat([0, 1], 5)
    machine = make().set_params(kernel=common_letters).fit(container(words), y)
    assert machine.result_.status == "solved"
    K = common_letters(words, words)
    given = make().set_params(kernel="precomputed").fit(K, y)
    assert_allclose(machine.dual_coef_, given.dual_coef_, **CLOSE)
    assert list(machine.support_vectors_) == [words[i] for i in machine.support_]
    assert len(machine.predict(container(["stone", "spray", "clay"]))) == 3
    if is_classifier(machine):
        assert_array_equal(machine.predict(["spray", "bonne"]), [0, 1])
    assert not hasattr(machine, "n_features_in_")


@every_estimator
def test_categories(make):
    colours = np.array([["red", "round"], ["red", "flat"], ["blue", "flat"], ["blue", "round"], ["green", "flat"]])
    y = np.array([0, 0, 1, 1, 1])
    machine = softened(make()).set_params(kernel="hamming").fit(colours, y)
    assert machine.n_features_in_ == 2
    assert len(machine.predict(colours[:2])) == 2


# --- samples in -------------------------------------------------------------------------------------------


@every_estimator
def test_inputs_do_not_change(make):
    X, y = training_set(make())
    weight = np.linspace(0.5, 2.0, len(X))
    before = X.copy(), y.copy(), weight.copy()
    machine = fitted(make, X, y, sample_weight=weight)
    decision(machine, X)
    for array, copy in zip((X, y, weight), before, strict=True):
        assert_array_equal(array, copy)
    # what was learnt is not tied to the caller's memory
    values = decision(machine, before[0])
    X[:] = 0.0
    assert_array_equal(decision(machine, before[0]), values)


@every_estimator
def test_float32_is_kept(make):
    X, y = training_set(make())
    X = X.astype(np.float32)
    single, full = fitted(make, X, y), fitted(make, X.astype(np.float64), y)
    assert single.support_vectors_.dtype == np.float32
    assert single.dual_coef_.dtype == np.float64
    assert_allclose(decision(single, X), decision(full, X.astype(np.float64)), rtol=2e-3, atol=2e-3)


@every_estimator
def test_other_types_become_float64(make):
    X, y = training_set(make())
    X = np.round(X * 4)
    expected = decision(fitted(make, X, y), X)
    for given in (X.astype(np.int32), X.astype(np.int8), X.astype(np.float16), X.astype(object), X.tolist()):
        machine = fitted(make, given, y)
        assert machine.support_vectors_.dtype == np.float64
        assert_array_equal(decision(machine, given), expected)


@every_estimator
@pytest.mark.parametrize("storage", [csr_array, csr_matrix, csc_array])
def test_sparse(make, storage):
    X, y = training_set(make(), d=8)
    X[:, 1:][np.random.default_rng(1).random((len(X), 7)) < 0.6] = 0.0
    machine, sparse = fitted(make, X, y), fitted(make, storage(X), y)
    assert issparse(sparse.support_vectors_)
    assert sparse.support_vectors_.format == "csr"
    values = decision(machine, X)
    assert_allclose(decision(sparse, storage(X)), values, **CLOSE)
    assert_allclose(decision(sparse, X), values, **CLOSE)
    assert_allclose(decision(machine, storage(X)), values, **CLOSE)
    assert_array_equal(machine.support_, sparse.support_)


@every_estimator
def test_sparse_float32(make):
    X, y = training_set(make(), d=8)
    X[:, 1:][np.random.default_rng(1).random((len(X), 7)) < 0.6] = 0.0
    X = csr_array(X.astype(np.float32))
    machine = fitted(make, X, y)
    assert machine.support_vectors_.dtype == np.float32
    full = fitted(make, X.astype(np.float64), y)
    assert_allclose(decision(machine, X), decision(full, X.astype(np.float64)), rtol=2e-3, atol=2e-3)


@every_estimator
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_data_frames(make, frame):
    X, y = training_set(make())
    names = ["length", "width", "weight"]
    table = frame(dict(zip(names, X.T, strict=True)))
    if not hasattr(StandardScaler().fit(table), "feature_names_in_"):
        pytest.skip("this scikit-learn does not see the names of such a frame")
    machine, plain = fitted(make, table, y), fitted(make, X, y)
    assert_array_equal(machine.feature_names_in_, names)
    assert_array_equal(decision(machine, table), decision(plain, X))
    assert not hasattr(plain, "feature_names_in_")
    column = pd.Series(y) if frame is pd.DataFrame else pl.Series(y)
    assert_array_equal(decision(fitted(make, table, column), table), decision(plain, X))
    with pytest.raises(ValueError, match="feature names should match"):
        machine.predict(frame(dict(zip(["width", "length", "weight"], X.T, strict=True))))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        machine.predict(X)


@every_estimator
def test_set_output_in_a_pipeline(make):
    X, y = training_set(make())
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    machine = make_pipeline(StandardScaler(), make()).set_output(transform="pandas").fit(table, y)
    assert_array_equal(machine[-1].feature_names_in_, ["a", "b", "c"])
    assert len(machine.predict(table)) == len(X)


@every_estimator
def test_metadata_routing(make):
    X, y, weight, *_ = weighted_and_repeated(make)
    with config_context(enable_metadata_routing=True):
        machine = make().set_fit_request(sample_weight=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), machine)
        routed = pipe.fit(X, y, sample_weight=weight)[-1]
    direct = make().fit(StandardScaler().fit_transform(X), y, sample_weight=weight)
    assert_array_equal(routed.dual_coef_, direct.dual_coef_)
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), make())
        with pytest.raises(ValueError, match="sample_weight"):
            pipe.fit(X, y, sample_weight=weight)
