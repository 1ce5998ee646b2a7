"""Finding and reading data sets in files that the user has."""

import gzip

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer.data import Graph
from mercer.datasets import StandInWarning, find_file, load_dataset
from mercer.datasets.files import STAND_INS
from mercer.errors import FormatError


@pytest.fixture(autouse=True)
def no_folder(monkeypatch):
    monkeypatch.delenv("MERCER_DATASETS", raising=False)


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def test_find_file(tmp_path, monkeypatch):
    plain, packed = write(tmp_path, "a.csv", "x\n"), write(tmp_path, "b.txt.gz", "x\n")
    assert find_file("a.csv", folder=tmp_path) == plain
    assert find_file("b.txt", folder=str(tmp_path)) == packed
    assert find_file("b.txt.gz", folder=tmp_path) == packed
    assert find_file("c.csv", folder=tmp_path) is None
    assert find_file("a.csv") is None
    monkeypatch.setenv("MERCER_DATASETS", str(tmp_path))
    assert find_file("a.csv") == plain
    (tmp_path / "other").mkdir()
    assert find_file("a.csv", folder=tmp_path / "other") is None  # the argument wins
    monkeypatch.setenv("MERCER_DATASETS", "")
    assert find_file("a.csv") is None


def test_folder_that_is_none(tmp_path, monkeypatch):
    with pytest.raises(NotADirectoryError, match=r"must name a folder, got .*missing"):
        find_file("a.csv", folder=tmp_path / "missing")
    monkeypatch.setenv("MERCER_DATASETS", str(tmp_path / "missing"))
    with pytest.raises(NotADirectoryError, match="MERCER_DATASETS"):
        load_dataset("MUTAG", stand_in=True)


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_table_of_numbers(tmp_path, ending):
    write(tmp_path, f"heart.{ending}", "age,chol,class\n63,233,0\n67,,2\n")
    heart = load_dataset("heart", folder=tmp_path)
    assert_array_equal(heart.data, [[63, 233], [67, np.nan]])
    assert heart.target.tolist() == [0, 2]
    assert heart.target.dtype.kind == "i"
    assert heart.feature_names == ["age", "chol"]
    assert heart.generated is False
    assert "data_test" not in heart
    X, y = load_dataset("heart", folder=tmp_path, return_X_y=True)
    assert_array_equal(X, heart.data)
    assert_array_equal(y, heart.target)


def test_table_of_words_and_values(tmp_path):
    write(tmp_path, "abalone.csv", "sex,length,target\nM,0.5,15\nF,,7\n")
    abalone = load_dataset("abalone", folder=tmp_path)
    assert abalone.data.dtype == object
    assert abalone.data[0].tolist() == ["M", 0.5]
    assert np.isnan(abalone.data[1, 1])
    assert abalone.target.dtype == np.float64


def test_strings_with_other_columns(tmp_path):
    write(tmp_path, "folds_train.csv", 'id,class,name,sequence\np1,1,"globin, alpha",MKV\np2,10,beta,GGA\n')
    write(tmp_path, "folds_test.csv.gz", "id,class,name,sequence\np3,2,beta,AAA\n")
    folds = load_dataset("folds", folder=tmp_path)
    assert folds.data == ["MKV", "GGA"]
    assert folds.target.tolist() == [1, 10]
    assert folds.columns == {"id": ["p1", "p2"], "name": ["globin, alpha", "beta"]}
    assert folds.data_test == ["AAA"]
    assert folds.target_test.tolist() == [2]
    assert folds.columns_test["id"] == ["p3"]
    write(tmp_path, "questions.csv", "class,text\nDESC,How ?\n")
    assert load_dataset("questions", folder=tmp_path, return_X_y=True)[0] == ["How ?"]


def test_table_without_labels(tmp_path):
    write(tmp_path, "cloud.csv", "a,b\n1,2\n")
    assert load_dataset("cloud", folder=tmp_path).target is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"cloud\.csv: the file is empty"),
        ("a,b,class\n", r"cloud\.csv: there are no rows"),
        ("a,b,class\n1,2,x\n1,2\n", r"cloud\.csv, line 3: 2 fields, where the first line has 3"),
        ("a,b,class\n1,2,x\n1,2,\n", r"cloud\.csv, line 3: 'class' is missing"),
        ("a,target\n1,2\n1,x\n", r"cloud\.csv, line 3: column 'target': 'x' is no number"),
        ("a,class\n" + "1,x\n" * 20 + "b,x\n", r"cloud\.csv, line 22: column 'a': 'b' is no number, though 20"),
        ("a,class\n1,\xff\0\n", r"cloud\.csv, line 2: this is no text"),
    ],
)
def test_bad_tables(tmp_path, text, message):
    write(tmp_path, "cloud.csv", text)
    with pytest.raises(FormatError, match=message):
        load_dataset("cloud", folder=tmp_path)


def test_strings_of_digits_stay_strings(tmp_path):
    write(tmp_path, "codes.csv", "id,sequence,class\n01,007,a\n02,,b\n")
    codes = load_dataset("codes", folder=tmp_path)
    assert codes.data == ["007", ""] and codes.columns == {"id": ["01", "02"]}


def test_parts_must_agree(tmp_path):
    write(tmp_path, "cloud.csv", "a,b,class\n1,2,x\n")
    write(tmp_path, "cloud_test.csv", "a,c,class\n1,2,x\n")
    with pytest.raises(ValueError, match=r"cloud_test\.csv must have the columns of cloud\.csv"):
        load_dataset("cloud", folder=tmp_path)


def test_svmlight(tmp_path):
    write(tmp_path, "text.svm.gz", "+1 1:0.5 3:2\n-1 2:1\n")
    write(tmp_path, "text_test.svm", "-1 5:1\n")
    text = load_dataset("text", folder=tmp_path)
    assert text.data.shape == (2, 5)  # as wide as the wider part
    assert text.data_test.shape == (1, 5)
    assert_array_equal(text.data.toarray()[0], [0.5, 0, 2, 0, 0])
    assert text.target.tolist() == [1, -1]
    assert text.target.dtype.kind == "i"
    write(tmp_path, "values.svm", "0.5 1:1\n")
    assert load_dataset("values", folder=tmp_path).target.tolist() == [0.5]
    write(tmp_path, "wrong.svm", "1 1:1\n1 2:1 x\n")
    with pytest.raises(FormatError, match=r"wrong\.svm, line 2: 'x' is no entry"):
        load_dataset("wrong", folder=tmp_path)


@pytest.mark.parametrize("place", ["graphs/PAIR", "PAIR"])
def test_graphs(tmp_path, place):
    write(tmp_path, f"{place}/PAIR_A.txt", "1, 2\n2, 1\n3, 4\n4, 3\n")
    write(tmp_path, f"{place}/PAIR_graph_indicator.txt", "1\n1\n2\n2\n")
    write(tmp_path, f"{place}/PAIR_graph_labels.txt", "1\n-1\n")
    X, y = load_dataset("PAIR", folder=tmp_path, return_X_y=True)
    assert X == [Graph(2, [(0, 1)])] * 2
    assert y.tolist() == [1, -1]


def test_missing_sets(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"'MUTAG' is not there: MERCER_DATASETS names no folder.*stand_in=True"
    ):
        load_dataset("MUTAG")
    with pytest.raises(FileNotFoundError, match=r"'usps' is not there: .* has none of its files") as caught:
        load_dataset("usps", folder=tmp_path)
    assert "stand_in" not in str(caught.value)
    with pytest.raises(FileNotFoundError, match=r"'usps' is not there.*has no stand-in"):
        load_dataset("usps", folder=tmp_path, stand_in=True)


@pytest.mark.parametrize("name", sorted(set(STAND_INS) - {"AIDS", "NCI1", "PROTEINS"}))
def test_stand_ins(name, tmp_path):
    with pytest.warns(StandInWarning, match=f"'{name}' is not there, .*samples are generated"):
        bunch = load_dataset(name, folder=tmp_path, stand_in=True)
    assert bunch.generated is True
    assert len(bunch.data) == len(bunch.target)
    with pytest.warns(StandInWarning):
        again, y = load_dataset(name, stand_in=True, return_X_y=True)
    assert_array_equal(y, bunch.target)
    assert again[0] == bunch.data[0] if not isinstance(again, np.ndarray) else (again == bunch.data).all()


def test_stand_in_of_folds():
    with pytest.warns(StandInWarning):
        folds = load_dataset("ding_dubchak", stand_in=True)
    assert (len(folds.data), len(folds.data_test)) == (311, 383)
    assert set(folds.target) == set(folds.target_test) == set(range(1, 28))


def test_files_come_before_stand_ins(tmp_path):
    write(tmp_path, "heart_cleveland.csv", "age,class\n63,0\n")
    assert load_dataset("heart_cleveland", folder=tmp_path, stand_in=True).generated is False
