"""Tables made ready for kernels."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.impute import KNNImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import mercer
from mercer import SVC
from mercer.errors import DomainError
from mercer.kernels import RBF, On, Spectrum
from mercer.selection import TablePreparation, Tuned


@pytest.fixture
def table(rng):
    n = 40
    age = rng.normal(50, 10, size=n)
    age[[3, 8]] = np.nan
    city = np.array([["Rome", "Oslo", None][k % 3] for k in range(n)], dtype=object)
    text = ["".join(rng.choice(list("abc"), size=5)) for _ in range(n)]
    return {"age": age, "bmi": rng.normal(25, 3, size=n), "city": city, "text": text, "class": np.arange(n) % 2}


def test_numbers_are_scaled_then_taken_from_neighbours(table):
    numbers = {name: table[name] for name in ("age", "bmi")}
    X = np.column_stack(list(numbers.values()))
    for scale, scaler in (("standard", StandardScaler()), ("minmax", MinMaxScaler())):
        expected = KNNImputer(n_neighbors=3).fit_transform(scaler.fit_transform(X))
        assert np.allclose(TablePreparation(scale=scale, n_neighbors=3).fit_transform(numbers), expected)
    plain = TablePreparation(scale=None).fit_transform(numbers)
    known = ~np.isnan(X)
    assert np.array_equal(plain[known], X[known]) and np.isfinite(plain).all()


def test_categories_become_zeros_and_ones(table):
    preparation = TablePreparation().fit({"city": table["city"]})
    assert preparation.categories_ == {"city": ["", "Oslo", "Rome"]} and preparation.n_missing_ == {"city": 13}
    found = preparation.transform({"city": ["Rome", None, "Paris", np.nan, "Oslo"]})
    assert found.tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0]]


def test_categories_that_are_numbers():
    preparation = TablePreparation({"zone": "categorical"}).fit({"zone": [1, 2, 2]})
    for zone in ([1.0, 2.0, np.nan], ["1", "2", None], np.array([1, 2, 3])):
        assert preparation.transform({"zone": zone})[:2].tolist() == [[1, 0], [0, 1]]


def test_outputs(table):
    features = {name: table[name] for name in table if name != "class"}
    whole = TablePreparation(target="class").fit(table)
    assert whole.output_ == "table" and whole.kinds_ == {
        "age": "numeric", "bmi": "numeric", "city": "categorical", "text": "text",
    }  # fmt: skip
    found = whole.transform(features)
    assert list(found) == list(features) and found["city"].shape == (40, 3) and found["text"] == table["text"]
    assert TablePreparation().fit_transform({"text": table["text"]}) == table["text"]
    assert TablePreparation().fit_transform({"bmi": table["bmi"]}).shape == (40, 1)
    assert set(TablePreparation(output="table").fit_transform({"bmi": table["bmi"]})) == {"bmi"}
    with pytest.raises(DomainError, match="Texts are no vectors"):
        TablePreparation(output="vectors").fit(features)


def test_frames_of_both_kinds(table):
    columns = {name: table[name] for name in ("age", "bmi", "city")}
    expected = TablePreparation().fit_transform(columns)
    assert np.array_equal(TablePreparation().fit_transform(pd.DataFrame(columns)), expected)
    frame = pl.DataFrame({"age": table["age"], "bmi": table["bmi"], "city": table["city"].tolist()})
    assert np.array_equal(TablePreparation().fit_transform(frame), expected)


def test_order_of_columns_does_not_matter(table):
    preparation = TablePreparation(target="class").fit(table)
    turned = dict(reversed(list(table.items())))
    for name, values in preparation.transform(turned).items():
        assert np.array_equal(values, preparation.transform(table)[name])


def test_in_a_pipeline_a_search_and_a_file(table, tmp_path):
    y = np.array([text.count("a") > 1 for text in table["text"]])
    kernel = On(["age", "bmi", "city"], RBF()) + On("text", Spectrum(1))
    model = make_pipeline(TablePreparation(target="class"), SVC(kernel, C=10.0)).fit(table, y)
    assert (model.predict(table) == y).mean() > 0.9
    again = mercer.load(mercer.save(model, tmp_path / "m.mercer"))
    assert np.array_equal(again.decision_function(table), model.decision_function(table))
    search = Tuned(SVC(kernel), {"C": [0.1, 10.0]}, cv=2, preprocess=TablePreparation(target="class")).fit(table, y)
    assert search.best_params_ == {"C": 10.0} and len(search.predict(table)) == 40
    assert clone(model).get_params()["tablepreparation__target"] == "class"


@pytest.mark.parametrize(
    ("preparation", "reason"),
    [
        (TablePreparation(scale="log"), "scale must be 'standard'"),
        (TablePreparation(n_neighbors=0), "n_neighbors must be"),
        (TablePreparation({"age": "number"}), "kinds must be one of numeric"),
        (TablePreparation({"age": "identifier", "name": "identifier"}), "no column to learn from"),
        (TablePreparation({"name": "numeric"}), "The column 'name' must be numbers"),
    ],
)
def test_refusals(preparation, reason):
    with pytest.raises(ValueError, match=reason):
        preparation.fit({"age": [1.0, 2.0], "name": ["a", "b"]})


def test_refusals_of_samples():
    preparation = TablePreparation().fit({"age": [1.0, 2.0, 5.0], "name": ["ab", "cd", "ef"]})
    with pytest.raises(ValueError, match="X has no column 'age'"):
        preparation.transform({"name": ["a"]})
    with pytest.raises(ValueError, match="must be texts, got None in row 2"):
        preparation.transform({"age": [1, 2], "name": ["ab", None]})
    with pytest.raises(ValueError, match="contains infinity"):
        preparation.transform({"age": [np.inf], "name": ["ab"]})
    with pytest.raises(DomainError):
        preparation.fit(np.zeros((3, 2)))
