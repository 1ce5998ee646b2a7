"""Kernels on columns of a table, and on images of samples."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, SVR, OneClassSVM
from mercer.data import Graph, Tree
from mercer.errors import DomainError, IndefiniteError
from mercer.kernels import (
    RBF,
    FromFunction,
    Hamming,
    Indexed,
    Jaccard,
    Kernel,
    Linear,
    Mapped,
    On,
    Spectrum,
    SubsetTree,
    TranslationInvariant,
    WeisfeilerLehman,
    exp,
)
from mercer.kernels.samples import each, n_samples, take, together
from mercer.selection import TunedSVC

rng = np.random.default_rng(0)
N = 40
AGE, BMI = rng.uniform(20, 80, size=N), rng.uniform(18, 40, size=N)
SMOKER = rng.choice(["no", "yes"], size=N)
WORD = ["".join(rng.choice(list("ACGT"), size=rng.integers(3, 9))) for _ in range(N)]
Y = np.where(AGE / 60 + (SMOKER == "yes") + rng.normal(size=N) / 5 > 1.4, "ill", "well")


class Letters(Kernel):
    """How many letters two words have in common."""

    domain = "strings"

    def prepare(self, X, Y=None):
        X = self._counts(X)
        return X, X if Y is None else self._counts(Y)

    def _counts(self, X):
        if not all(isinstance(word, str) for word in X):
            raise DomainError(f"Letters works on strings, got {X!r}.")
        return np.array([list(map(word.count, "ACGT")) for word in X], dtype=float).reshape(-1, 4)

    def _matrix(self, X, Y):
        return np.einsum("if,jf->ij", X, Y)


def columns(rows=slice(None)):
    return {"age": AGE[rows], "bmi": BMI[rows], "smoker": SMOKER[rows], "word": WORD[rows]}


def structured(rows=slice(None)):
    table = np.empty(N, [("age", "f8"), ("bmi", "f8"), ("smoker", "U3"), ("word", "U8")])
    table["age"], table["bmi"], table["smoker"], table["word"] = AGE, BMI, SMOKER, WORD
    return table[rows]


def lists(rows=slice(None)):
    return {"age": AGE[rows].tolist(), "bmi": BMI[rows].tolist(), "smoker": SMOKER[rows].tolist(), "word": WORD[rows]}


TABLES = {
    "pandas": lambda rows=slice(None): pd.DataFrame(columns(rows)).set_index(pd.Index(range(100, 100 + N)[rows])),
    "polars": lambda rows=slice(None): pl.DataFrame(columns(rows)),
    "dict of arrays": columns,
    "dict of lists": lists,
    "structured": structured,
}
every_table = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
MIXED = On(["age", "bmi"], RBF(gamma=0.01)) + On("smoker", Hamming()) + 0.1 * On("word", Letters())


def expected_matrix():
    counts = np.array([[word.count(letter) for letter in "ACGT"] for word in WORD], dtype=float)
    numbers = RBF(gamma=0.01)(np.column_stack([AGE, BMI]))
    return numbers + (SMOKER[:, np.newaxis] == SMOKER) + 0.1 * (counts @ counts.T)


# --- values -----------------------------------------------------------------------------------------------


@every_table
def test_one_kernel_on_one_table(table):
    assert MIXED.domain == "table"
    assert_allclose(MIXED(table()), expected_matrix(), rtol=1e-12)
    assert_array_equal(MIXED(table(), table(slice(5, 9))), MIXED(table())[:, 5:9])
    assert_allclose(MIXED.diag(table()), np.diagonal(expected_matrix()), rtol=1e-12)
    assert_allclose(MIXED.dot(table(), None, Y == "ill"), expected_matrix() @ (Y == "ill"), rtol=1e-12)
    assert_array_equal(
        (On("age", RBF(gamma=0.1)) * On("smoker", Hamming()).normalized())(table()),
        On("age", RBF(gamma=0.1))(table()) * (SMOKER[:, np.newaxis] == SMOKER),
    )


@every_table
def test_machines_on_tables(table):
    machine = SVC(kernel=MIXED).fit(table(), Y)
    reference = SVC(kernel="precomputed").fit(expected_matrix(), Y)
    assert_allclose(machine.decision_function(table()), reference.decision_function(expected_matrix()), atol=1e-3)
    assert_array_equal(machine.predict(table(slice(3, 11))), machine.predict(table())[3:11])
    assert_array_equal(pickle.loads(pickle.dumps(machine)).predict(table()), machine.predict(table()))
    small = SVC(kernel=MIXED, memory=0.01).fit(table(), Y)  # rows in blocks
    assert_allclose(small.decision_function(table()), machine.decision_function(table()), atol=1e-3)
    assert SVR(kernel=MIXED).fit(table(), AGE).score(table(), AGE) > 0.0
    assert set(OneClassSVM(kernel=MIXED).fit(table()).predict(table())) == {-1, 1}


@every_table
def test_widths_come_from_the_columns_of_the_training_samples(table):
    kernel = On(["age", "bmi"], RBF(gamma="median")) + On("age", RBF())
    resolved = kernel.resolve(table(slice(20)))
    assert resolved.kernels[0].kernel == RBF(gamma="median").resolve(np.column_stack([AGE, BMI])[:20])
    assert resolved.kernels[1].kernel == RBF().resolve(AGE[:20, np.newaxis])
    weights = np.arange(20.0)
    weighted = kernel.resolve(table(slice(20)), weights)
    assert weighted.kernels[1].kernel == RBF().resolve(AGE[:20, np.newaxis], weights)
    with pytest.raises(ValueError, match="0__kernel__gamma and 1__kernel__gamma from the data"):
        kernel(table(), table())
    assert SVC(kernel=kernel).fit(table(), Y).kernel_ == kernel.resolve(table())


@pytest.mark.parametrize("table", [TABLES["pandas"], TABLES["structured"]], ids=["pandas", "structured"])
def test_searches_on_tables(table):
    X, folds = table(), StratifiedKFold(4)
    kernel = On(["age", "bmi"], RBF()) + On("smoker", Hamming()) + On("word", Letters()).normalized()
    scores = cross_val_score(SVC(kernel=kernel), X, Y, cv=folds)
    assert scores.mean() > 0.6
    grid = {"C": [0.1, 10.0], "kernel__0__kernel__gamma": [1e-3, 1e-1]}
    by_hand = GridSearchCV(SVC(kernel=kernel, tol=1e-6), grid, cv=folds).fit(X, Y)
    tuned = TunedSVC(kernel, param_grid=grid, cv=folds, tol=1e-6).fit(X, Y)
    assert_allclose(tuned.cv_results_["mean_test_score"], by_hand.cv_results_["mean_test_score"])
    assert_array_equal(tuned.predict(X), by_hand.predict(X))
    assert cross_val_predict(SVC(kernel=kernel, probability=True), X, Y, method="predict_proba").shape == (N, 2)


def test_tuned_on_a_dict_and_on_polars():
    kernel, grid = On("age", RBF()) + On("smoker", Hamming()), {"C": [0.1, 10.0]}
    folds = StratifiedKFold(4)
    expected = TunedSVC(kernel, param_grid=grid, cv=folds).fit(pd.DataFrame(columns()), Y)
    for table in (columns(), pl.DataFrame(columns()), lists()):
        tuned = TunedSVC(kernel, param_grid=grid, cv=folds).fit(table, Y)
        assert_allclose(tuned.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])


def test_pipelines_on_frames():
    scale = ColumnTransformer(
        [("numbers", StandardScaler(), ["age", "bmi"])], remainder="passthrough", verbose_feature_names_out=False
    ).set_output(transform="pandas")
    machine = make_pipeline(scale, SVC(kernel=MIXED))
    frame = pd.DataFrame(columns())
    assert clone(machine).fit(frame, Y).score(frame, Y) > 0.7
    assert cross_val_score(machine, frame, Y, cv=3).shape == (3,)


def test_arrays_with_several_numbers_a_row():
    wide = rng.normal(size=(N, 3))
    nested = np.empty(N, [("wide", "f8", 3), ("age", "f8")])
    nested["wide"], nested["age"] = wide, AGE
    for table in ({"wide": wide, "age": AGE}, nested):
        assert_array_equal(On("wide", Linear())(table), Linear()(wide))
        assert_array_equal(On(["wide", "age"], Linear())(table), Linear()(np.column_stack([wide, AGE])))


def test_tables_in_tables():
    kernel = On(["age", "smoker"], On("age", RBF(gamma=0.1)) + On("smoker", Hamming()))
    flat = On("age", RBF(gamma=0.1)) + On("smoker", Hamming())
    for table in TABLES.values():
        assert_array_equal(kernel(table()), flat(table()))


def test_categories_are_not_turned_into_strings():
    table = {"a": [1, "1", 1, "b"], "b": [2, 2, 2, 2]}
    assert_array_equal(On("a", Hamming())(table)[0], [1, 0, 1, 0])
    assert_array_equal(On(["a", "b"], Hamming())(table)[0], [2, 1, 2, 1])
    names = np.array(["u", "v"])
    whole, real = {"a": names, "b": np.array([1, 2])}, {"a": names, "b": np.array([1.0, 2.0])}
    assert_array_equal(On(["a", "b"], Hamming())(whole, real), [[2, 0], [0, 2]])


def test_columns_of_functions_and_of_row_numbers():
    K = rng.normal(size=(N, N))
    K = K @ K.T
    table = {"row": np.arange(N), "word": WORD}
    same_length = FromFunction(lambda a, b: float(len(a) == len(b)), pairwise=True)
    kernel = On("row", Indexed(K)) + On("word", same_length)
    assert_allclose(kernel(table), K + np.equal.outer(*[list(map(len, WORD))] * 2))


@pytest.mark.parametrize("make", [pd.DataFrame, lambda columns: columns], ids=["pandas", "dict"])
def test_columns_of_graphs_trees_and_sets(make):
    graphs = [Graph(3, [(0, 1), (1, 2)], node_labels=["C", "C", last]) for last in "CNONCO"]
    trees = [Tree.from_string(f"(S (NP {noun}) (VP runs))") for noun in ("Paul", "Ann", "Paul", "Eve", "Ann", "Paul")]
    baskets = [{"milk"}, {"milk", "eggs"}, {"nails"}, {"nails", "glue"}, {"eggs"}, {"glue"}]
    table = make({"molecule": graphs, "parse": trees, "basket": baskets, "age": AGE[:6]})
    kernel = (
        On("age", RBF(gamma=0.01))
        + On("molecule", WeisfeilerLehman(2)).normalized()
        + On("parse", SubsetTree(decay=0.5)).normalized() * On("basket", Jaccard())
    )
    expected = (
        RBF(gamma=0.01)(AGE[:6, np.newaxis])
        + WeisfeilerLehman(2).normalized()(graphs)
        + SubsetTree(decay=0.5).normalized()(trees) * Jaccard()(baskets)
    )
    assert_array_equal(kernel(table), expected)
    y = [0, 0, 1, 1, 0, 1]
    machine = SVC(kernel=kernel, C=100.0).fit(table, y)
    assert_array_equal(machine.predict(table), y)


def test_numbers_strings_and_graphs_in_one_frame():
    graphs = [Graph(3, [(0, 1), (1, 2)], node_labels=["C", "C", "CNO"[i % 3]]) for i in range(N)]
    frame = pd.DataFrame({"age": AGE, "bmi": BMI, "sequence": WORD, "molecule": graphs})
    kernel = On(["age", "bmi"], RBF(gamma="median")) + On("sequence", Spectrum(3)) + On("molecule", WeisfeilerLehman(4))
    expected = RBF(gamma="median")(np.column_stack([AGE, BMI])) + Spectrum(3)(WORD) + WeisfeilerLehman(4)(graphs)
    assert_array_equal(kernel(frame), expected)
    assert cross_val_score(SVC(kernel=kernel), frame, Y, cv=3).shape == (3,)
    grid = {"kernel__1__kernel__p": [2, 3], "C": [1.0, 10.0]}
    search = GridSearchCV(SVC(kernel=kernel), grid, cv=3).fit(frame, Y)
    assert set(search.predict(frame)) <= {"ill", "well"}


# --- errors -----------------------------------------------------------------------------------------------


@every_table
def test_missing_columns(table):
    with pytest.raises(ValueError, match="X has no column 'ag'; its columns are 'age', 'bmi', 'smoker', 'word'"):
        On("ag", RBF(gamma=1.0))(table())
    with pytest.raises(ValueError, match="Y has no column 'x', 'y'; its columns are"):
        On(["age", "x", "y"], RBF(gamma=1.0))({"age": [1], "x": [2], "y": [3]}, table())


@every_table
def test_columns_of_the_wrong_kind(table):
    with pytest.raises(DomainError, match=r"In On\(columns='word', .*\): RBF works on vectors, got"):
        On("word", RBF(gamma=1.0))(table())
    with pytest.raises(DomainError, match=r"Letters works on strings"):
        On("age", Letters())(table())


@every_table
def test_errors_tell_which_part_of_a_sum_they_are_about(table):
    """Also where the kernel takes its width from the data, before any value is computed."""
    kernel = On("age", RBF()) + On("word", RBF())
    with pytest.raises(DomainError, match=r"In On\(columns='word', .*\): RBF works on vectors, got"):
        SVC(kernel=kernel).fit(table(), Y)
    unknown = {"age": [1.0, np.nan], "word": [1.0, 2.0]}
    with pytest.raises(ValueError, match=r"In On\(columns='age', .*\): Input X contains NaN"):
        kernel(unknown)
    box = TranslationInvariant(lambda D: (np.abs(D) < 0.3).all(axis=-1).astype(float))
    with pytest.raises(IndefiniteError, match=r"In On\(columns='age', .*\): psi is no kernel"):
        On("age", box).resolve(table())


def test_a_table_where_vectors_are_needed():
    with pytest.raises(DomainError, match=r"RBF works on vectors, got a DataFrame.*On\(columns, RBF\(\)\)"):
        RBF(gamma=1.0)(TABLES["pandas"]())
    with pytest.raises(DomainError, match=r"RBF works on vectors, got a DataFrame.*On\(columns, RBF\(\)\)"):
        RBF(gamma=1.0)(TABLES["polars"]())
    with pytest.raises(DomainError, match=r"RBF works on vectors, got an array .*On\(columns, RBF\(\)\)"):
        RBF(gamma=1.0)(structured())
    with pytest.raises(DomainError, match="got a dict of the columns 'age', 'bmi', 'smoker', 'word' as X; On"):
        RBF(gamma=1.0)(columns())
    with pytest.raises(DomainError, match=r"SVC takes vectors with this kernel, got a dict .*; On\(columns, kernel\)"):
        SVC().fit(columns(), Y)
    with pytest.raises(DomainError, match="on one kind of samples, got On on table and RBF on vectors"):
        On("age", RBF()) + RBF()


def test_vectors_where_a_table_is_needed():
    for X in (np.zeros((3, 2)), [[1.0], [2.0]], ["a", "b"], [{"age": 1}, {"age": 2}]):
        with pytest.raises(DomainError, match=r"On works on tables with named columns .*, got .* as X"):
            On("age", RBF(gamma=1.0))(X)


def test_wrong_parameters():
    for names in (3, [], [1], ["a", None], None):
        with pytest.raises(ValueError, match="columns must be the name of a column or a list of names, got"):
            On(names, RBF(gamma=1.0))(columns())
    with pytest.raises(TypeError, match="On needs a kernel, got 'rbf'"):
        On("age", "rbf")(columns())
    with pytest.raises(ValueError, match=r"The columns of X have different lengths: \[2, 3\]"):
        On("a", RBF(gamma=1.0))({"a": [1, 2], "b": [1, 2, 3]})


def test_samples_of_tables():
    table = lists()
    assert n_samples(table) == N
    assert n_samples({}) == 0
    assert take(table, slice(2, 4))["word"] == WORD[2:4]
    assert take(table, np.array([3, 1]))["age"] == [AGE[3], AGE[1]]
    assert next(each(table)) == {"age": AGE[0], "bmi": BMI[0], "smoker": SMOKER[0], "word": WORD[0]}
    assert next(each(pl.DataFrame(columns())))["word"] == WORD[0]
    assert next(each(pd.DataFrame(columns())))["word"] == WORD[0]
    for make in TABLES.values():
        both = together(make(), make(slice(2)))
        assert n_samples(both) == N + 2
        assert_array_equal(On("age", Linear())(both)[:, N:], On("age", Linear())(both)[:, :2])


# --- images of samples ------------------------------------------------------------------------------------


def test_mapped():
    X = np.column_stack([AGE, BMI])
    kernel = Mapped(np.log, RBF(gamma=2.0))
    assert_array_equal(kernel(X), RBF(gamma=2.0)(np.log(X)))
    assert_allclose(Mapped(np.square, Linear()).features(X), X**2)
    assert Mapped(np.log, RBF(gamma="median")).resolve(X).kernel == RBF(gamma="median").resolve(np.log(X))
    assert_allclose((Linear() + Mapped(np.square, Linear()))(X), X @ X.T + X**2 @ (X**2).T)
    assert (RBF() + kernel).domain == "vectors"
    assert_allclose(exp(Mapped(np.log, Linear())).normalized()(X), RBF.from_sigma(1.0)(np.log(X)), rtol=1e-9)


def test_mapped_one_by_one():
    kernel = Mapped(len, RBF(gamma=0.1), one_by_one=True)
    lengths = np.array([[len(word)] for word in WORD])
    assert_array_equal(kernel(WORD), RBF(gamma=0.1)(lengths))
    assert_array_equal(kernel(WORD, WORD[:3]), RBF(gamma=0.1)(lengths, lengths[:3]))
    upside_down = Mapped(lambda word: word[::-1], Letters(), one_by_one=True)
    assert_array_equal(upside_down(WORD), Letters()(WORD))
    assert SVC(kernel=kernel).fit(WORD, Y).predict(WORD[:2]).shape == (2,)


def test_mapped_to_something_wrong():
    X = np.column_stack([AGE, BMI])
    with pytest.raises(ValueError, match="one_by_one must be False or True, got 'yes'"):
        Mapped(np.log, Linear(), one_by_one="yes")(X)
    with pytest.raises(ValueError, match="an image of each of 40 samples of X, got an array of shape"):
        Mapped(lambda A: A[1:], Linear())(X)
    with pytest.raises(ValueError, match="as many images as there are samples, got 3"):
        Mapped(lambda A: 3, Linear())(X)
    with pytest.raises(TypeError, match="function must be callable"):
        Mapped("log", Linear())(X)
    with pytest.raises(DomainError, match="Linear works on vectors"):
        Mapped(lambda A: ["a"] * len(A), Linear())(X)
