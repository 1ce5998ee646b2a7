"""Readers of files: what they give, and that whatever a file holds, errors are named."""

import csv
import errno
import gzip
import io
import os
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from mercer import save
from mercer.data import column_kinds, read_fasta, read_svmlight, read_table, write_svmlight
from mercer.data.files import replacing, write_text
from mercer.errors import FormatError
from mercer.kernels import RBF, On, Spectrum


def stream(text, name="t.csv"):
    source = io.BytesIO(text if isinstance(text, bytes) else text.encode())
    source.name = name
    return source


# --- tables -----------------------------------------------------------------------------------------------


def test_columns_and_lines():
    table = read_table(stream('a,b,c,d\n1,2.5,x,1\n\n2,NA,"y\nz",?\n3,1e3,,7\n'))
    assert table["a"].dtype == np.int64 and table["a"].tolist() == [1, 2, 3]
    assert np.array_equal(table["b"], [2.5, np.nan, 1000.0], equal_nan=True)
    assert table["c"].tolist() == ["x", "y\nz", None]
    assert np.array_equal(table["d"], [1, np.nan, 7], equal_nan=True)
    assert table.lines.tolist() == [2, 4, 6]
    assert read_table(stream("well,x\n1_1,1\n1_2,2\n"))["well"].tolist() == [
        "1_1",
        "1_2",
    ]  # Python reads 12


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a;b\n1;x,y\n", "t.csv"),
        ("a\tb\n1\tx,y\n", "t.tsv"),
        ("a|b\n1|x,y\n", "t.txt"),
        ("\ufeffa,b\r\n1,2;5\r\n", "t.csv"),
    ],
)
def test_delimiters_are_found(text, name):
    table = read_table(stream(text, name))
    assert list(table) == ["a", "b"] and table["a"].tolist() == [1]


def test_decimal_commas():
    text = "a;b;c\n1,5;2;x\n-0,25;3;y\n,5;4;x\n"
    table = read_table(stream(text), decimal=",")
    assert table["a"].tolist() == [1.5, -0.25, 0.5] and table["b"].dtype == np.int64
    assert list(read_table(stream("1,5;2\n2,5;3\n"), decimal=",")) == ["V1", "V2"]
    assert read_table(stream("a\n1.5\n1.234,5\n"), decimal=",")["a"].tolist() == ["1.5", "1.234,5"]
    with pytest.raises(FormatError, match=r"line 2: column 'a': '1,5' has a decimal comma; decimal=',' .* 'text'"):
        read_table(stream(text))
    with pytest.raises(FormatError, match=r"line 2: column 'a': '1,5' has a decimal comma; .*reads it\."):
        read_table(stream(text), kinds={"a": "numeric"})
    assert read_table(stream(text), kinds={"a": "categorical"})["a"].tolist() == ["1,5", "-0,25", ",5"]
    assert read_table(stream("a;b\n1,5;1\nx;1\ny;1\n"))["a"].tolist() == ["1,5", "x", "y"]
    for wrong in ({"decimal": ";"}, {"decimal": ",", "delimiter": ","}):
        with pytest.raises(ValueError, match=r"decimal must be '\.' or ','"):
            read_table(stream(text), **wrong)


def test_fields_may_be_long():
    limit = csv.field_size_limit()
    assert len(read_table(stream(f"a,b\n{'acgt' * 50_000},1\n"))["a"][0]) == 200_000
    assert csv.field_size_limit() == limit


def test_headers_are_found():
    assert list(read_table(stream("5.1,3.5,setosa\n4.9,3,setosa\n"))) == ["V1", "V2", "V3"]
    assert list(read_table(stream("2019,2020\n1,2\n"), header=True)) == ["2019", "2020"]
    assert len(read_table(stream("a,b\nc,d\n"), header=False)["V1"]) == 2
    assert list(read_table(stream(",x\n1,5\n2,6\n"))) == ["index", "x"]


def test_kinds_that_are_given():
    table = read_table(stream("zip,x\n10115,1\n80331,2\n"), kinds={"zip": "categorical"})
    assert table["zip"].tolist() == ["10115", "80331"]
    with pytest.raises(FormatError, match="line 3: column 'x': 'b' is no number"):
        read_table(stream("x\n1\nb\nc\n"), kinds={"x": "numeric"})
    assert read_table(stream("x\n1\nb\nc\n"))["x"].tolist() == ["1", "b", "c"]
    with pytest.raises(ValueError, match="kinds names the column 'q'"):
        read_table(stream("x\n1\n"), kinds={"q": "numeric"})


def test_what_is_left_out_may_hold_anything(tmp_path):
    text = "a,b\n" + "".join(f"{k},{k}\n" for k in range(40)) + "1,foo\n"
    with pytest.raises(FormatError, match="'foo' is no number"):
        read_table(stream(text))
    table = read_table(stream(text), kinds={"b": "identifier", "not there": "identifier"})
    assert table["b"].tolist()[-2:] == ["39", "foo"]
    pd.DataFrame({"d": pd.to_datetime(["2020-01-01"]), "l": [[1, 2]], "a": [1]}).to_parquet(tmp_path / "d.parquet")
    table = read_table(tmp_path / "d.parquet", kinds={"d": "identifier", "l": "identifier"})
    assert table["a"].tolist() == [1] and table["l"].tolist() == [[1, 2]] and len(table["d"]) == 1


def test_packed_and_frames(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n1,x\n2,\n"))
    frame = read_table(tmp_path / "t.csv.gz", as_frame=True)
    assert isinstance(frame, pd.DataFrame) and frame["a"].tolist() == [1, 2]
    frame.to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    assert table["a"].tolist() == [1, 2] and table["b"].tolist() == ["x", None] and table.lines is None


def test_parquet_types(tmp_path):
    frame = pd.DataFrame(
        {"n": [1.5, None], "i": pd.array([1, None], "Int64"), "c": pd.Categorical(["u", "v"]), "t": [True, False]}
    )
    frame.to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    assert np.isnan(table["n"][1]) and np.isnan(table["i"][1]) and table["c"].tolist() == ["u", "v"]
    assert table["t"].tolist() == ["true", "false"]
    large = {"u": np.array([2**64 - 1, 1], dtype=np.uint64), "i": pd.array([2**60 + 1, None], "Int64")}
    pd.DataFrame(large).to_parquet(tmp_path / "large.parquet")
    table = read_table(tmp_path / "large.parquet")
    assert table["u"].tolist() == [2.0**64, 1.0] and table["i"][0] == 2.0**60
    pd.DataFrame({"d": pd.to_datetime(["2020-01-01"])}).to_parquet(tmp_path / "d.parquet")
    with pytest.raises(FormatError, match="column 'd' has values of type timestamp"):
        read_table(tmp_path / "d.parquet")


def test_damaged_parquet_is_named(tmp_path, rng):
    pd.DataFrame({"a": np.arange(50.0), "b": ["x", "yy"] * 25}).to_parquet(tmp_path / "t.parquet")
    whole = (tmp_path / "t.parquet").read_bytes()
    refused = 0
    for _ in range(60):
        data = bytearray(whole)
        data[rng.integers(4, len(data) - 4)] ^= 1 << rng.integers(8)
        (tmp_path / "t.parquet").write_bytes(data)
        try:
            read_table(tmp_path / "t.parquet")
        except FormatError as error:
            refused += 1
            assert "no readable Parquet file" in str(error) or "column" in str(error) or "UTF-8" in str(error)
            assert "\n" not in str(error)
    assert refused > 5


def test_tables_go_into_kernels():
    table = read_table(stream("age,dna\n31,acgt\n45,acga\n62,ttta\n"))
    K = (On("age", RBF(0.01)) + On("dna", Spectrum(2)))(table)
    assert K.shape == (3, 3) and K[0, 1] > K[0, 2]


def test_kinds():
    table = read_table(stream("id,n,c,t,flag\n1,2,x,aa,true\n2,3,x,ab,true\n3,4,y,ba,false\n4,,y,bb,true\n"))
    assert column_kinds(table) == {
        "id": "identifier",
        "n": "numeric",
        "c": "categorical",
        "t": "text",
        "flag": "categorical",
    }
    assert column_kinds(table, {"n": "categorical"})["n"] == "categorical"
    assert column_kinds(pd.DataFrame({"b": [True, False]})) == {"b": "categorical"}


fields = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\r\x85\x1c\x1d\x1e\u2028\u2029\x0b\x0c"), max_size=6
)


@given(st.lists(st.lists(fields, min_size=2, max_size=2), min_size=1, max_size=6))
def test_what_was_written_is_read(rows):
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(["first", "second"])
    writer.writerows(rows)
    table = read_table(stream(buffer.getvalue()), delimiter=",", kinds={"first": "text", "second": "text"}, missing=())
    kept = list(rows)
    assert list(zip(table["first"], table["second"], strict=True)) == [tuple(v.strip() for v in row) for row in kept]


@given(st.binary(max_size=200) | st.text(alphabet='01,.\n"ae:; #>\t-', max_size=120).map(str.encode))
def test_any_bytes_are_read_or_named(data):
    for reader, name in ((read_table, "t.csv"), (read_svmlight, "t.svm"), (read_fasta, "t.fasta")):
        try:
            reader(stream(data, name))
        except FormatError as error:
            assert str(error).startswith(name)


# --- SVMlight ---------------------------------------------------------------------------------------------


@given(
    st.lists(
        st.tuples(
            st.integers(-3, 3),
            st.dictionaries(st.integers(1, 30), st.floats(-1e6, 1e6).filter(bool), max_size=5),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_vectors_are_those_of_scikit_learn(rows):
    text = "".join(f"{y} {' '.join(f'{k}:{v!r}' for k, v in sorted(x.items()))} # note\n" for y, x in rows)
    X, y = read_svmlight(stream(text), n_features=30)
    theirs, targets = load_svmlight_file(stream(text), n_features=30, zero_based=False)
    assert np.array_equal(X.toarray(), theirs.toarray()) and np.array_equal(y, targets)


def test_both_readers_agree_and_write(tmp_path, rng):
    X = rng.normal(size=(20, 5)) * (rng.random((20, 5)) < 0.5)
    y = rng.normal(size=20)
    write_svmlight(X, y, tmp_path / "t.svm")
    again, targets = read_svmlight(tmp_path / "t.svm", n_features=5)
    assert np.array_equal(again.toarray(), X) and np.array_equal(targets, y)
    from mercer.data.svmlight import _read_slowly

    slowly, targets = _read_slowly((tmp_path / "t.svm").read_text(), "t", 5, 1)
    assert np.array_equal(slowly.toarray(), X) and np.array_equal(targets, y)
    assert again.indices.dtype == again.indptr.dtype == np.int32
    with pytest.raises(FormatError, match="where there are 2"):
        read_svmlight(tmp_path / "t.svm", n_features=2)


# --- FASTA ------------------------------------------------------------------------------------------------


def test_fasta_labels(tmp_path):
    text = ">a one class=x\nac\n; note\ngt\n\n>b two class=y\nGG\n"
    assert read_fasta(stream(text))[0] == ["acgt", "GG"] and read_fasta(stream(text))[1].tolist() == ["x", "y"]
    _sequences, y, names = read_fasta(stream(">a\nac\n>b\ngt\n"))
    assert y is None and names == ["a", "b"]
    half = ">a x\nac\n>b\ngt\n"
    assert read_fasta(stream(half), partial=True)[1].tolist() == ["x", None]
    labels = stream("# name label\nb,2\na 1\n", "labels.txt")
    assert read_fasta(stream(">a\nac\n>b\ngt\n"), labels)[1].tolist() == ["1", "2"]
    with pytest.raises(FormatError, match=r"t.fa, line 3: the sequence 'b' has no label in labels.txt"):
        read_fasta(stream(">a\nac\n>b\ngt\n", "t.fa"), stream("a 1\n", "labels.txt"))
    with pytest.raises(FormatError, match=r"labels.txt, line 1: 3 fields"):
        read_fasta(stream(">a\nac\n"), stream("a 1 2\n", "labels.txt"))


# --- writing ----------------------------------------------------------------------------------------------


def test_what_was_there_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path, link = tmp_path / "t.txt", tmp_path / "link.txt"
    write_text(path, "old")
    path.chmod(0o640)
    link.symlink_to(path)
    with pytest.raises(RuntimeError), replacing(path) as part:
        part.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 2
    write_text(link, "new")
    assert link.is_symlink() and path.read_text() == "new" and path.stat().st_mode & 0o777 == 0o640
    with pytest.raises(FileNotFoundError, match=r"There is no folder .*nowhere to write t\.txt to"):
        write_text(tmp_path / "nowhere" / "t.txt", "")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_text(tmp_path, "")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("writer", [lambda path: write_text(path, "x"), lambda path: save(RBF(), path)])
def test_pipes_are_written_to_and_not_replaced(tmp_path, writer):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        writer(pipe)
        assert os.read(reading, 100)
    finally:
        os.close(reading)
    assert pipe.is_fifo() and [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_errors_travel():
    error = pickle.loads(pickle.dumps(FormatError("is wrong.", "t.csv", 3)))
    assert (str(error), error.path, error.line) == ("t.csv, line 3: is wrong.", "t.csv", 3)
    assert str(FormatError("is wrong.")) == "is wrong."


def test_the_name_that_was_given_is_the_one_in_errors(tmp_path, monkeypatch):
    def fail(*_):
        raise PermissionError(errno.EACCES, "Permission denied", "a name that nobody has given")

    monkeypatch.setattr("mercer.data.files.os.open", fail)
    with pytest.raises(PermissionError, match=r"Permission denied: '.*t\.txt'"):
        write_text(tmp_path / "t.txt", "text")
