"""Rows of Dask collections: what is checked, what stays where, and products that are those of one machine."""

from itertools import chain, pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, issparse

from mercer.data import RowBlocks
from mercer.gram import LandmarkGram, LandmarkMatrix
from mercer.kernels import RBF, FromFunction, Linear

array = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")
bag = pytest.importorskip("dask.bag")
frames = pytest.importorskip("dask.dataframe")
pandas = pytest.importorskip("pandas")

from mercer.distributed import DaskLandmarkMatrix, DaskRows  # noqa: E402
from mercer.distributed import engine as engine_module  # noqa: E402

SIZES = (130, 70, 200, 100)
STARTS = np.concatenate([[0], np.cumsum(SIZES)])


def vectors(d=4):
    return np.random.default_rng(0).normal(size=(sum(SIZES), d))


def collections(X):
    whole = array.from_array(X, chunks=(SIZES, X.shape[1]))
    frame = pandas.DataFrame(X, columns=[f"column {k}" for k in range(X.shape[1])])
    with_nothing = frames.from_pandas(frame, npartitions=3)
    return {
        "array": whole,
        "columns in chunks": array.from_array(X, chunks=(SIZES, 3)),
        "chunks of unknown size": whole[whole[:, 0] < np.inf],
        "sparse": whole.map_blocks(csr_array),
        "frame": with_nothing,
        "frame with empty partitions": frames.concat([with_nothing, with_nothing[with_nothing["column 0"] > 100]]),
        "float32": whole.astype(np.float32),
    }


def in_blocks(X):
    return RowBlocks([X[first:last] for first, last in pairwise(STARTS)])


def dense(X):
    return X.toarray() if issparse(X) else X


@pytest.mark.parametrize("kind", collections(vectors()))
def test_rows_are_those_of_the_collection(kind):
    X = vectors()
    rows = DaskRows(collections(X)[kind])
    X = X.astype(np.float32) if kind == "float32" else X
    assert rows.shape == X.shape and sum(rows.sizes) == len(rows) == len(X) and min(rows.sizes) > 0
    assert_array_equal(np.concatenate([dense(block) for _, block in rows]), X)
    some = np.array([399, 3, 400, 3, 130])
    assert_array_equal(dense(rows[some]), X[some])
    assert rows[np.array([], dtype=int)].shape == (0, 4)
    places = list(rows.places(np.array([5, 6, 499])))
    assert [place for _, place, _ in places] == [slice(0, 2), slice(2, 3)]


def test_wrong_rows_are_refused():
    X = vectors()
    for wrong, error, words in (
        (
            array.from_array(np.where(X > 2.5, np.nan, X), chunks=(250, 4)),
            ValueError,
            "Block [01]: Input X contains NaN",
        ),
        (array.from_array(X[:, 0]), ValueError, "Expected 2D array, got 1D array instead"),
        (array.from_array(X)[:0], ValueError, "Found array with 0 sample"),
        (frames.from_pandas(pandas.DataFrame({"a": ["x", "y"]}), npartitions=1), ValueError, "Block 0: could not"),
        (dask.delayed(X), TypeError, "X must be a Dask array or data frame, got a Delayed"),
        (bag.from_sequence(X), TypeError, "X must be a Dask array or data frame, got a Bag"),
    ):
        with pytest.raises(error, match=words):
            DaskRows(wrong)


def test_blocks_that_change_are_refused(monkeypatch):
    calls = []

    def block(k):
        calls.append(k)
        return np.ones((3 if len(calls) < 3 else 2, 2))

    monkeypatch.setattr("mercer.distributed.rows.room", lambda memory: 0)  # nothing is kept
    changing = array.concatenate([array.from_delayed(dask.delayed(block)(k), (3, 2), float) for k in range(2)])
    rows = DaskRows(changing)
    with pytest.raises(ValueError, match="blocks must be the same ones in every pass, one had 3 rows and now has 2"):
        rows[np.array([0, 5])]
    with pytest.raises(ValueError, match="blocks must be the same ones in every pass, block 0 is not"):
        list(rows)


@pytest.mark.parametrize("keeps", [True, False])
def test_blocks_are_kept_where_they_fit(monkeypatch, keeps):
    made, X = [], vectors()

    def block(k):
        made.append(k)
        return X[STARTS[k] : STARTS[k + 1]]

    monkeypatch.setattr("mercer.distributed.rows.room", lambda memory: X.nbytes if keeps else X.nbytes - 1)
    parts = [array.from_delayed(dask.delayed(block)(k), (size, 4), float) for k, size in enumerate(SIZES)]
    rows = DaskRows(array.concatenate(parts))
    for _ in range(2):
        assert_array_equal(rows[np.arange(len(X))], X)
    assert len(made) == len(SIZES) * (1 if keeps else 3)
    made.clear()
    list(rows)
    assert sorted(made) == ([] if keeps else [0, 1, 2, 3])  # one at a time, and no other


# --- products with landmarks ------------------------------------------------------------------------------

KERNELS = {
    "RBF": (RBF(gamma=0.3), 4),
    "RBF of many features": (RBF(gamma=0.003), 80),
    "Python": (FromFunction(lambda X, Y: np.exp(-0.3 * ((X[:, None] - Y) ** 2).sum(axis=2))), 4),
}


@pytest.fixture(params=[(name, stored) for name in KERNELS for stored in (True, False)], ids=str)
def matrices(request, monkeypatch):
    """The matrix over Dask rows, that over blocks in memory, and all values."""
    name, stored = request.param
    kernel, d = KERNELS[name]
    X = vectors(d)
    if not stored:
        monkeypatch.setattr("mercer.distributed.landmark_matrix.room", lambda memory: 0)
    rows = DaskRows(array.from_array(X, chunks=(SIZES, d)))
    return DaskLandmarkMatrix(kernel, rows, X[:30]), LandmarkMatrix(kernel, in_blocks(X), X[:30]), kernel(X, X[:30])


def test_products_are_those_of_one_machine(matrices):
    far, near, K = matrices
    rng = np.random.default_rng(1)
    v, c, shift = rng.normal(size=(30, 2)), rng.normal(size=len(K)), rng.normal(size=(len(K), 2))
    some = np.sort(rng.permutation(len(K))[:57])
    triangle = np.linalg.cholesky(K[:30] + 1e-6 * np.eye(30))
    # To the last bit where values are not stored; what is stored goes through BLAS.
    same = assert_array_equal if far._stored is None else (lambda a, b: assert_allclose(a, b, rtol=1e-12, atol=1e-12))
    for one, other in ((far, near), (far.in_single(), near.in_single() if far._stored is None else near)):
        single = 1e-5 if one.single else 1e-12
        for rows, part in ((None, slice(None)), (some, some)):
            same(one.forward(v, rows), other.forward(v, rows))
            assert_allclose(one.forward(v[:, 0], rows), K[part] @ v[:, 0], rtol=single, atol=single)
            same(one.backward(c[part], rows), other.backward(c[part], rows))
            assert_allclose(one.backward(shift[part], rows), K[part].T @ shift[part], rtol=single, atol=100 * single)
        for found, wanted in zip(one.both(v, c, shift), other.both(v, c, shift), strict=True):
            same(found, wanted)
        values, back = one.both(v[:, 0])
        assert_allclose(back, K.T @ values, rtol=10 * single, atol=1000 * single)
        for scale in (c, np.full(len(c), 0.3)):
            same(one.there_and_back(v, scale), other.both(v, scale)[1])
    for rows, part in ((None, slice(None)), (some, some)):
        moments = far.lower_moments(c[part], rows)
        assert_allclose(np.tril(moments), np.tril((K[part].T * c[part]) @ K[part]), rtol=1e-10, atol=1e-10)
        assert_allclose(far.squares(triangle, c[part], rows), near.squares(triangle, c[part], rows), rtol=1e-10)
    assert_allclose(far.norms(triangle), near.norms(triangle), rtol=1e-10)
    assert_array_equal(far.diag(), near.diag())
    assert_allclose(far.some(some), K[some], rtol=1e-12)
    for rows, part in ((None, slice(None)), (some, some)):
        found = list(far.blocks(rows, size=40))
        assert_allclose(np.concatenate([block for _, block in found]), K[part], rtol=1e-12)
        assert [place.stop for place, _ in found[:-1]] == [place.start for place, _ in found[1:]]
        assert max(len(block) for _, block in found) <= 40
    assert_allclose(far.energy(some, c[some]), near.energy(some, c[some]), rtol=1e-10)


def test_sums_of_many_blocks():
    """In a tree of more than one level, and of no samples at all."""
    X = vectors()
    far = DaskLandmarkMatrix(Linear(), DaskRows(array.from_array(X, chunks=(9, 4))), X[:5])
    K, c = Linear()(X, X[:5]), np.random.default_rng(0).normal(size=len(X))
    assert_allclose(np.tril(far.lower_moments(c)), np.tril((K.T * c) @ K), rtol=1e-10, atol=1e-10)
    nobody = np.array([], dtype=int)
    assert not far.lower_moments(c[:0], nobody).any() and not far.backward(c[:0], nobody).any()
    assert far.some(nobody).shape == (0, 5)


def test_a_gram_matrix_over_them():
    X = vectors()
    rows, kernel = DaskRows(array.from_array(X, chunks=(150, 4))), RBF(gamma=0.3)
    far = LandmarkGram(kernel, rows, X[:30], matrix_of=DaskLandmarkMatrix)
    near = LandmarkGram(kernel, X, X[:30])
    v = np.random.default_rng(0).normal(size=len(X))
    assert_allclose(far.dot(v), near.dot(v), rtol=1e-10, atol=1e-10)
    assert_allclose(far.lost(), near.lost(), atol=1e-10)
    assert_allclose(far.rows([7, 3]), near.rows([7, 3]), rtol=1e-10, atol=1e-12)


# --- on workers -------------------------------------------------------------------------------------------


def test_workers_are_asked_for_their_room(client):
    assert engine_module.room() == pytest.approx(engine_module.SHARE * 2 * 512 * 2**20)
    limits = engine_module.computed([engine_module.task(engine_module.task_memory, memory) for memory in ("auto", 5)])
    assert limits == [pytest.approx(engine_module.SHARE * 512), 5.0]


def test_products_on_workers(client):
    X = vectors()
    rows, kernel = DaskRows(array.from_array(X, chunks=(SIZES, 4))), RBF(gamma=0.3)
    far, near = DaskLandmarkMatrix(kernel, rows, X[:30]), LandmarkMatrix(kernel, in_blocks(X), X[:30])
    v, c = np.random.default_rng(0).normal(size=30), np.random.default_rng(1).normal(size=len(X))
    for found, wanted in zip(far.both(v, c), near.both(v, c), strict=True):
        assert_array_equal(found, wanted)
    assert_array_equal(far.in_single().forward(v), near.in_single().forward(v))
    assert_array_equal(rows[np.array([499, 0])], X[[499, 0]])


def test_blocks_in_one_task_give_the_same_bits(client):
    X, kernel = vectors(), RBF(gamma=0.3)
    rows = DaskRows(array.from_array(X, chunks=(SIZES, 4)))
    assert sorted(chain.from_iterable(rows._groups)) == [0, 1, 2, 3]
    rows._groups = [[1, 2], [0, 3]]
    far, near = DaskLandmarkMatrix(kernel, rows, X[:30]), LandmarkMatrix(kernel, in_blocks(X), X[:30])
    v, some = np.random.default_rng(0).normal(size=(30, 2)), np.array([3, 140, 141, 450])
    assert_array_equal(far.forward(v, some), near.forward(v, some))
    for found, expected in zip(far.both(v), near.both(v), strict=True):
        assert_array_equal(found, expected)


class Block:
    def __init__(self, key):
        self.key = key


class FakeClient:
    def __init__(self, holders, threads):
        self.holders, self.threads = holders, threads

    def who_has(self, futures):
        return self.holders

    def nthreads(self):
        return self.threads


ALONE = [[0], [1], [2], [3]]


@pytest.mark.parametrize(
    ("holders", "threads", "groups"),
    [
        ("abba", {"a": 1, "b": 1}, [[0, 3], [1, 2]]),
        ("abab", {"a": 1, "b": 1}, ALONE),  # 330 and 170 rows
        ("aaaa", {"a": 1, "b": 1}, ALONE),  # b would have nothing to do
        ("aaaa", {"a": 1}, [[0, 1, 2, 3]]),
        ("aaaa", {"a": 2}, [[0, 2], [1, 3]]),
        ("abb?", {"a": 1, "b": 1}, ALONE),  # lost already
        ("abba", {"b": 1}, ALONE),
    ],
)
def test_blocks_at_hand_are_one_task_where_that_leaves_no_thread_without_work(monkeypatch, holders, threads, groups):
    known = {str(k): (worker,) for k, worker in enumerate(holders) if worker != "?"}
    monkeypatch.setattr(engine_module, "_client", lambda: FakeClient(known, threads))
    sizes = (130, 70, 200, 100) if groups != [[0, 2], [1, 3]] else (100, 100, 100, 100)
    assert engine_module.together([Block(str(k)) for k in range(4)], sizes) == groups


def test_without_workers_blocks_are_taken_one_by_one(monkeypatch):
    monkeypatch.setattr(engine_module, "_client", lambda: None)
    assert engine_module.together([None, None], [5, 5]) == [[0], [1]]
