"""Rows in blocks: from sequences, from functions that begin anew, from Parquet, and memory-mapped arrays."""

import numpy as np
import pandas
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from mercer import (
    SVC,
    Cells,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelKMeans,
    KernelPCA,
    KernelRidge,
    LinearSVC,
    MercerMap,
    SpectralClustering,
)
from mercer.data import RowBlocks
from mercer.errors import FormatError
from mercer.kernels import RBF

X = np.random.default_rng(0).normal(size=(300, 3))
Y = (X[:, 0] + X[:, 1] ** 2 > 0.8).astype(int)


def pieces():
    for start in range(0, 300, 70):
        yield X[start : start + 70]


@pytest.fixture
def folder(tmp_path):
    """Two files of three row groups and two, one of which has no rows."""
    table = pandas.DataFrame(X, columns=["a", "b", "c"])
    table["count"], table["word"] = np.arange(300), "x"
    table.iloc[:200].to_parquet(tmp_path / "part-0.parquet", row_group_size=80)
    table.iloc[200:].to_parquet(tmp_path / "part-1.parquet", row_group_size=60)
    table.iloc[:0].to_parquet(tmp_path / "part-2.parquet")
    return tmp_path


def whole(blocks):
    return np.concatenate([block for _, block in blocks])


def test_a_function_that_begins_anew():
    blocks = RowBlocks(pieces)
    assert blocks.shape == (300, 3) and len(blocks) == 300
    assert_array_equal(whole(blocks), X)
    assert_array_equal(whole(blocks), X)
    rows = np.array([299, 3, 70, 69, 3])
    assert_array_equal(blocks[rows], X[rows])
    assert_array_equal(RowBlocks(list(pieces()))[rows], X[rows])


class Pieces:
    """An object that is read anew, and notes how often."""

    begun = 0

    def __iter__(self):
        self.begun += 1
        return pieces()


def test_objects_are_read_in_every_pass():
    """What does not fit into memory is not kept there."""
    source = Pieces()
    blocks = RowBlocks(source)
    assert_array_equal(whole(blocks), X)
    assert_array_equal(blocks[np.array([70, 3])], X[[70, 3]])
    assert source.begun == 3 and not blocks._blocks
    assert_array_equal(whole(RowBlocks(dict(enumerate(pieces())).values())), X)
    assert_array_equal(whole(RowBlocks(np.stack([X[:150], X[150:]]))), X)


def test_iterators_are_refused():
    for used_up in (pieces(), iter(list(pieces())), map(np.asarray, pieces())):
        with pytest.raises(TypeError, match="give the function that makes it, without calling it"):
            RowBlocks(used_up)
        for machine in (SVC(), SVC(approximation=5), LinearSVC(), KernelPCA(), Cells(SVC())):
            with pytest.raises(TypeError, match=r"X must be samples in memory or RowBlocks, .*RowBlocks\(function\)"):
                machine.fit(used_up, Y)
    with pytest.raises(TypeError, match=r"got a function; mercer.data.RowBlocks\(function\)"):
        SVC(approximation=5).fit(pieces, Y)


@pytest.mark.parametrize(
    ("machine", "advice"),
    [
        (KernelRidge(), "with an approximation it takes blocks"),
        (KernelPCA(), "with an approximation it takes blocks"),
        (KernelKMeans(), "with an approximation it takes blocks"),
        (SpectralClustering(), "KernelKMeans takes blocks, with an approximation"),
        (GaussianProcessClassifier(), "SVC and LinearSVC take blocks"),
        (GaussianProcessRegressor(), "SVR and LinearSVR take blocks"),
        (MercerMap(), "it can be fitted to a part of them"),
    ],
)
def test_machines_that_need_samples_in_memory_say_what_does_not(machine, advice):
    with pytest.raises(TypeError, match=f"{type(machine).__name__} needs X in memory, got RowBlocks; {advice}"):
        machine.fit(RowBlocks(pieces), Y)


def test_blocks_without_rows_are_left_out():
    nothing = np.empty((0, 3))
    parts = [nothing, X[:100], np.empty((0, 2)), lambda: nothing, X[100:], nothing]
    for blocks in (RowBlocks(parts), RowBlocks(lambda: parts), RowBlocks([csr_array(nothing), X])):
        assert blocks.shape == X.shape
        assert_array_equal(whole(blocks), X)
        assert_array_equal(blocks[np.array([299, 100, 99])], X[[299, 100, 99]])
    with pytest.raises(ValueError, match="blocks must hold at least one sample, got none"):
        RowBlocks([nothing])
    with pytest.raises(ValueError, match="block 1 has 3, block 3 2"):
        RowBlocks([nothing, X, nothing, X[:, :2]])
    sizes = iter([0, 5])
    with pytest.raises(ValueError, match="block 1 is not what it was"):
        whole(RowBlocks([X, lambda: X[: next(sizes)]]))


def test_sparse_blocks_that_come_one_after_the_other():
    blocks = RowBlocks(lambda: map(csr_array, pieces()))
    assert_array_equal(blocks[np.array([5, 250])].toarray(), X[[5, 250]])


def test_row_groups_of_parquet(folder):
    blocks = RowBlocks.from_parquet(folder, columns=["a", "b", "c"])
    assert [len(block) for _, block in blocks] == [80, 80, 40, 60, 40]
    assert_array_equal(whole(blocks), X)
    one = RowBlocks.from_parquet(folder / "part-1.parquet", columns=["count", "a"])
    assert_array_equal(whole(one), np.column_stack([np.arange(200.0, 300.0), X[200:, 0]]))
    assert_array_equal(
        RowBlocks.from_parquet(str(folder), columns=["c", "a", "b"])[np.array([210])], X[[210]][:, [2, 0, 1]]
    )


def test_single_precision_stays(tmp_path):
    pandas.DataFrame(X.astype(np.float32), columns=["a", "b", "c"]).to_parquet(tmp_path / "x.parquet")
    assert all(block.dtype == np.float32 for _, block in RowBlocks.from_parquet(tmp_path / "x.parquet"))


def test_machines_do_not_see_where_rows_come_from(folder, tmp_path):
    machine = SVC(RBF(gamma=0.5), approximation=40)
    wanted = machine.fit(X, Y).decision_function(X)
    stored = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=np.float64, shape=X.shape)
    stored[:] = X
    stored.flush()
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for rows in (RowBlocks(pieces), RowBlocks.from_parquet(folder, columns=["a", "b", "c"]), mapped):
        found = machine.fit(rows, Y).decision_function(rows)
        np.testing.assert_allclose(found, wanted, atol=1e-6)
    linear = LinearSVC().fit(RowBlocks(pieces), Y)
    np.testing.assert_allclose(linear.coef_, LinearSVC().fit(X, Y).coef_, atol=1e-6)


def test_blocks_that_change_are_refused():
    calls = []

    def shorter():
        calls.append(1)
        return list(pieces())[: -1 if len(calls) > 1 else None]

    blocks = RowBlocks(shorter)
    with pytest.raises(ValueError, match="the same ones in every pass, block 4 is not what it was in the first"):
        whole(blocks)
    sizes = iter([5, 6])
    with pytest.raises(ValueError, match="block 1 is not what it was"):
        whole(RowBlocks([X[:10], lambda: X[: next(sizes)]]))
    growing = iter([2, 3])
    with pytest.raises(ValueError, match="block 2 is not what it was"):
        whole(RowBlocks(lambda: [X[:10]] * next(growing)))


def test_what_is_no_table_of_numbers_is_refused(folder):
    with pytest.raises(ValueError, match=r"columns must be names of columns, .*part-0.parquet has none named 'd'"):
        RowBlocks.from_parquet(folder, columns=["a", "d"])
    with pytest.raises(ValueError, match=r"numbers without gaps, 'word' of .* has values of type"):
        RowBlocks.from_parquet(folder)
    pandas.DataFrame({"a": [1.0, None]}).astype("Float64").to_parquet(folder / "gap.parquet")
    with pytest.raises(ValueError, match=r"numbers without gaps, 'a' of .* has gaps"):
        RowBlocks.from_parquet(folder / "gap.parquet")
    (folder / "bad.parquet").write_bytes(b"no table")
    with pytest.raises(FormatError, match=r"bad\.parquet: this is no readable Parquet file"):
        RowBlocks.from_parquet(folder / "bad.parquet")
    with pytest.raises(FileNotFoundError):
        RowBlocks.from_parquet(folder / "none.parquet")
    (folder / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="There is no file"):
        RowBlocks.from_parquet(folder / "empty")
    with pytest.raises(ValueError, match="at least one block, got none"):
        RowBlocks(list)
