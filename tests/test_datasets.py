import inspect
import sys
from importlib.resources import files

import numpy as np
import pytest

import mercer.datasets
from mercer.datasets import (
    load_breast_cytology,
    load_concrete,
    load_german_credit,
    load_glass,
    load_ionosphere,
    load_leukemia,
    load_multiple_features,
    load_promoters,
    load_sonar,
    load_splice,
    load_vehicle,
)


def test_ionosphere_arrays():
    bunch = load_ionosphere()
    assert bunch.data.shape == (351, 34)
    assert bunch.data.dtype == np.float64
    assert np.abs(bunch.data).max() == 1
    assert np.isfinite(bunch.data).all()
    assert bunch.target_names.tolist() == ["bad", "good"]
    assert np.bincount(bunch.target).tolist() == [126, 225]
    assert bunch.feature_names == [f"V{i}" for i in range(1, 35)]
    assert bunch.frame is None
    # The first sample of the original file is a good one.
    assert bunch.target[0] == 1
    assert bunch.data[0, :4].tolist() == [1.0, 0.0, 0.99539, -0.05889]


def test_ionosphere_pair():
    X, y = load_ionosphere(return_X_y=True)
    bunch = load_ionosphere()
    np.testing.assert_array_equal(X, bunch.data)
    np.testing.assert_array_equal(y, bunch.target)


def test_ionosphere_frame():
    bunch = load_ionosphere(as_frame=True)
    assert bunch.frame.shape == (351, 35)
    assert list(bunch.data.columns) == bunch.feature_names
    assert bunch.target.name == "target"
    X, y = load_ionosphere(as_frame=True, return_X_y=True)
    assert X.equals(bunch.data)
    assert y.equals(bunch.target)
    np.testing.assert_array_equal(X, load_ionosphere().data)


@pytest.mark.parametrize(
    ("load", "n_features", "counts", "first"),
    [
        (load_sonar, 60, {"mine": 111, "rock": 97}, [0.02, 0.0371, 0.0428]),
        (
            load_glass,
            9,
            {
                "building_float": 70,
                "building_non_float": 76,
                "containers": 13,
                "headlamps": 29,
                "tableware": 9,
                "vehicle_float": 17,
            },
            [1.52101, 13.64, 4.49],
        ),
        (load_vehicle, 18, {"bus": 218, "opel": 212, "saab": 217, "van": 199}, [95, 48, 83]),
    ],
)
def test_the_others(load, n_features, counts, first):
    bunch = load()
    n = sum(counts.values())
    assert bunch.data.shape == (n, n_features)
    assert bunch.data.dtype == np.float64
    assert np.isfinite(bunch.data).all()
    assert bunch.data[0, :3].tolist() == first
    assert dict(zip(bunch.target_names.tolist(), np.bincount(bunch.target).tolist(), strict=True)) == counts
    assert len(bunch.feature_names) == len(set(bunch.feature_names)) == n_features
    assert "CC BY 4.0" in bunch.DESCR
    assert f":Samples: {n} (" in bunch.DESCR
    X, y = load(return_X_y=True, as_frame=True)
    assert X.shape == (n, n_features)
    np.testing.assert_array_equal(y, bunch.target)


def test_leukemia():
    bunch = load_leukemia()
    assert bunch.data.shape == (38, 3051)
    assert bunch.data[0, :3].tolist() == [-1.45769, -0.75161, 0.45695]
    assert bunch.target_names[bunch.target].tolist() == ["ALL"] * 27 + ["AML"] * 11
    assert len(set(bunch.feature_names)) == 3051
    assert "LGPL" in bunch.DESCR
    assert bunch.filename == "leukemia.csv.gz"
    # As the description says, up to rounding of the digits that are there.
    np.testing.assert_allclose(bunch.data.mean(axis=1), 0.0, atol=1e-5)
    np.testing.assert_allclose(bunch.data.var(axis=1, ddof=1), 1.0, atol=1e-5)


def test_frame_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="needs pandas"):
        load_ionosphere(as_frame=True)


def test_origin_and_licence():
    description = load_ionosphere().DESCR
    assert "CC BY 4.0" in description
    assert "Sigillito" in description


@pytest.mark.parametrize(
    ("load", "length", "letters", "counts"),
    [
        (load_promoters, 57, "acgt", {"other": 53, "promoter": 53}),
        (load_splice, 60, "ACDGNRST", {"acceptor": 768, "donor": 767, "neither": 1655}),
    ],
)
def test_strings(load, length, letters, counts):
    bunch = load()
    assert isinstance(bunch.data, list)
    assert {len(sequence) for sequence in bunch.data} == {length}
    assert "".join(sorted(set("".join(bunch.data)))) == letters
    names, sizes = np.unique(bunch.target_names[bunch.target], return_counts=True)
    assert dict(zip(names.tolist(), sizes.tolist(), strict=True)) == counts
    assert "Creative Commons Attribution 4.0" in bunch.DESCR
    frame = load(as_frame=True)
    assert frame.frame.shape == (len(bunch.data), 2)
    assert frame.data["sequence"].tolist() == bunch.data
    X, y = load(return_X_y=True)
    assert X == bunch.data
    np.testing.assert_array_equal(y, bunch.target)


def test_breast_cytology():
    bunch = load_breast_cytology()
    assert bunch.data.shape == (699, 9)
    missing = np.isnan(bunch.data)
    assert missing.sum() == 16
    assert missing.sum(axis=0).tolist() == [16 * (name == "bare_nuclei") for name in bunch.feature_names]
    assert (np.nanmin(bunch.data), np.nanmax(bunch.data)) == (1, 10)
    assert dict(zip(bunch.target_names.tolist(), np.bincount(bunch.target).tolist(), strict=True)) == {
        "benign": 458,
        "malignant": 241,
    }
    assert bunch.data[0].tolist() == [5, 1, 1, 1, 2, 1, 3, 1, 1]


def test_concrete_is_a_regression():
    bunch = load_concrete()
    assert bunch.data.shape == (1030, 8)
    assert bunch.target.dtype == np.float64
    assert bunch.target[0] == 79.99
    assert bunch.target.mean() == pytest.approx(35.818, abs=1e-3)
    assert "target_names" not in bunch
    assert load_concrete(as_frame=True).frame.shape == (1030, 9)


def test_german_credit_has_numbers_and_categories():
    bunch = load_german_credit()
    assert bunch.data.shape == (1000, 20)
    assert bunch.data.dtype == object
    kinds = [{type(value) for value in column} for column in bunch.data.T]
    assert sum(kind == {float} for kind in kinds) == 7
    assert sum(kind == {str} for kind in kinds) == 13
    assert np.bincount(bunch.target).tolist() == [300, 700]
    assert bunch.target_names.tolist() == ["bad", "good"]
    X, _ = load_german_credit(return_X_y=True, as_frame=True)
    assert X["duration"].dtype == np.float64
    assert X["checking"].iloc[0] == "A11"


def test_multiple_features():
    bunch = load_multiple_features()
    assert bunch.data.shape == (2000, 649)
    assert bunch.data.dtype == np.float64
    assert np.isfinite(bunch.data).all()
    assert np.bincount(bunch.target).tolist() == [200] * 10
    assert bunch.target_names.tolist() == list(range(10))
    assert [name for names in bunch.groups.values() for name in names] == bunch.feature_names
    assert bunch.data[0, [0, 76, 292, 356 + 1, 596, 643]].tolist() == [0.065882, 98, -10.297, 3, 0.011033, 1]
    X, y = load_multiple_features(return_X_y=True, as_frame=True)
    assert list(X.columns) == bunch.feature_names
    np.testing.assert_array_equal(X, bunch.data)
    np.testing.assert_array_equal(y, bunch.target)


LOADERS = [name for name in mercer.datasets.__all__ if name.startswith("load_") and name != "load_dataset"]


@pytest.mark.parametrize("name", LOADERS)
def test_descriptions(name):
    """Each says its licence, and how many samples there are."""
    bunch = getattr(mercer.datasets, name)()
    assert "CC BY 4.0" in bunch.DESCR or "LGPL" in bunch.DESCR
    assert "**Origin and licence.**" in bunch.DESCR
    assert f":Samples: {len(bunch.target)}" in bunch.DESCR
    assert len(bunch.feature_names) == len(set(bunch.feature_names))
    pattern = bunch.filename.partition("*")[0]
    assert any(file.name.startswith(pattern) for file in (files("mercer.datasets") / "data").iterdir())


@pytest.mark.parametrize("name", LOADERS)
def test_docstrings_say_what_is_returned(name):
    """The part that loaders share is filled in, with the true shape and the true names of the classes."""
    loader = getattr(mercer.datasets, name)
    text, frame = inspect.getdoc(loader), loader(as_frame=True).frame
    n, width = frame.shape
    places = [text.find(f"{title}\n---") for title in ("Parameters", "Returns", "Notes", "Examples")]
    assert -1 not in places and places == sorted(places) and "{parameters" not in text
    assert f"DataFrame of shape ({n}, {width - 1})\n" in text and f"frame : DataFrame of shape ({n}, {width})\n" in text
    names = loader().get("target_names")
    assert ("target_names : " in text) == (names is not None)
    if names is not None and name != "load_multiple_features":
        assert "``[" + ", ".join(f'"{own}"' for own in names) + "]``; " in text
    assert list(inspect.signature(loader).parameters) == ["return_X_y", "as_frame"]


def test_all_files_are_loaded_and_small():
    data = [file for file in (files("mercer.datasets") / "data").iterdir() if file.name.endswith((".csv", ".gz"))]
    known = {name.removeprefix("load_") for name in LOADERS}
    assert {file.name.partition(".")[0] for file in data} == known - {"multiple_features"} | {
        f"multiple_features_{group}" for group in load_multiple_features().groups
    }
    assert sum(len(file.read_bytes()) for file in data) < 3_000_000
