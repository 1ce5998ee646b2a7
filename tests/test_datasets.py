import sys

import numpy as np
import pytest

from mercer.datasets import (
    load_glass,
    load_ionosphere,
    load_leukemia,
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
