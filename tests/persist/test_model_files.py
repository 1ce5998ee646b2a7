"""Files of models: what they hold, what they refuse, and what a bad one says."""

import errno
import json
import os
import pathlib
import stat
import subprocess
import sys
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from persist.corpus import SURROUNDED, answer, as_json
from persist.fuzzing import _put_together, _taken_apart
from safetensors.numpy import save_file
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.metadata_routing import get_routing_for_object

import mercer
from mercer import SVC, SVR, KernelRidge, MKLClassifier, RelevanceVectorRegressor
from mercer.active import ActiveLearner
from mercer.data import Graph, Sequences, Series, Tree
from mercer.errors import DamagedFileError, ForeignFileError, ModelFileError, NewerFormatError, UnsavableError
from mercer.features import fisher_score
from mercer.kernels import RBF, FromFunction, Indexed, On, Spectrum
from mercer.persist import classes, describe, register
from mercer.persist.decoding import Decoder
from mercer.persist.encoding import Encoder

X = np.random.default_rng(0).normal(size=(20, 3))
Y = (X[:, 0] > 0).astype(int)


def there_and_back(value):
    """A value as a file would give it back, and the document."""
    encoder = Encoder()
    root = encoder.value([value], "model")
    document = json.loads(json.dumps(encoder.nodes, allow_nan=False))
    return Decoder(document, encoder.arrays).root(root)[0]


def assert_same(a, b):
    """Equal in value and in kind, all the way down."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype and a.shape == b.shape
        assert a.flags.c_contiguous == b.flags.c_contiguous and a.flags.f_contiguous == b.flags.f_contiguous
        if a.dtype.hasobject:
            for x, y in zip(a.ravel(), b.ravel(), strict=True):
                assert_same(x, y)
        else:
            assert a.tobytes() == b.tobytes()
    elif isinstance(a, np.generic):
        assert a.dtype == b.dtype and a.tobytes() == b.tobytes()
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    elif isinstance(a, dict):
        assert_same(list(a.items()), list(b.items()))
    elif isinstance(a, float | complex):
        assert np.array(a).tobytes() == np.array(b).tobytes()
    else:
        assert a == b


def test_same_is_not_said_of_what_differs():
    for a, b in [(1, 1.0), (0.0, -0.0), (np.zeros(2), np.zeros(2, "f4")), ([1], (1,)), ({"a": 1}, {"a": 2})]:
        with pytest.raises(AssertionError):
            assert_same(a, b)


PLAIN = [
    None,
    True,
    0,
    -(2**63),
    2**63 - 1,
    2**63,
    -(10**5000),
    0.1,
    -0.0,
    5e-324,
    float("inf"),
    float("-inf"),
    float("nan"),
    -float("nan"),
    complex(0.1, -float("inf")),
    "",
    "Ä∂𝔘",
    "\ud800",
    'quotes " and \\ and \0',
    b"",
    bytes(range(256)),
    bytearray(b"ab"),
    [],
    [1, [2.5, ["x"]]],
    (),
    (1, (2,), [3]),
    list("abcdefghijklmnopqrstuvwxyz"),
    tuple(range(40)),
    [0.5] * 20 + [float("nan")],
    [True] * 20,
    [1, 2.0] * 20,
    [2**70] * 20,
    ["\ud800"] * 20,
    {},
    {"a": 1, 2: "b", (1, "c"): None, None: [1], 2.5: {}, b"x": 1, True: 2},
    {1, "a", (2, 3)},
    frozenset({frozenset({1}), "b"}),
    slice(1, None, 2),
    slice("a", "b"),
    range(3, 10**30, 7),
    ...,
    pathlib.Path("folder") / "file",
    np.dtype("<f4"),
    np.dtype("U5"),
    np.float32,
    np.int64,
    float,
    object,
    np.exp,
    f_classif,
    fisher_score,
]


@pytest.mark.parametrize("value", PLAIN, ids=range(len(PLAIN)))
def test_plain_values(value):
    assert_same(value, there_and_back(value))


@pytest.mark.parametrize("code", "?bBhHiIlLefdgFDG")
def test_numbers_of_every_kind(code):
    array = np.array([[0, 1, 1], [1, 0, 1]], dtype=code)
    for value in (
        array,
        np.asfortranarray(array),
        array[:0],
        array[0, 1],
        np.array(array[0, 1]),
        array.reshape(2, 1, 3),
    ):
        assert_same(value, there_and_back(value))
    strided = there_and_back(array[:, ::2])
    assert_array_equal(strided, array[:, ::2])
    assert strided.flags.writeable


@pytest.mark.parametrize(
    "array",
    [
        np.array(["ash", "birch", ""]),
        np.array([b"a", b"bc"]),
        np.array(["ash", 1, None, 2.5, (1, "x")], dtype=object),
        np.array([f"name {i}" for i in range(30)], dtype=object).reshape(5, 6),
        np.asfortranarray(np.array([["a", 1], ["b", 2]], dtype=object)),
        np.array(["2026-01-01", "NaT"], dtype="datetime64[D]"),
        np.array([1, 2], dtype="timedelta64[s]"),
        np.array([1.0, np.nan, -np.inf, -0.0]),
        np.array([1, 2], dtype=">i4"),
        np.array([], dtype="U3"),
        np.array(["", ""], dtype="U0") if np.dtype("U0").itemsize else np.array([""]),
        np.float64(0.1),
        np.str_("x"),
        np.datetime64("2026-01-01"),
    ],
    ids=lambda array: str(array.dtype),
)
def test_arrays_of_other_things(array):
    assert_same(array, there_and_back(array))


def test_records_and_masks():
    table = np.array([(0.5, "ab", [1, 2]), (1.5, "c", [3, 4])], dtype=[("x", "f8"), ("word", "U3"), ("pair", "i4", 2)])
    assert there_and_back(table).dtype == table.dtype
    assert_array_equal(there_and_back(table), table)
    masked = np.ma.MaskedArray([1.0, 2.0], mask=[True, False], fill_value=7.0)
    again = there_and_back(masked)
    assert_array_equal(again.mask, masked.mask)
    assert again.fill_value == 7.0 and again[1] == 2.0


@pytest.mark.parametrize("kind", ["csr_array", "csr_matrix", "csc_array", "csc_matrix", "coo_array", "coo_matrix"])
def test_sparse_matrices(kind):
    matrix = getattr(sparse, kind)(np.array([[0.0, 1.5, 0.0], [2.0, 0.0, 0.0]]))
    again = there_and_back(matrix)
    assert type(again) is type(matrix) and again.dtype == matrix.dtype
    assert_array_equal(again.toarray(), matrix.toarray())


@pytest.mark.parametrize(
    "bits", [np.random.MT19937, np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64]
)
def test_generators_go_on_where_they_were(bits):
    generator = np.random.Generator(bits(3))
    generator.integers(5, size=3, dtype=np.int32)
    assert_array_equal(there_and_back(generator).random(9), generator.random(9))


def test_random_state_goes_on_where_it_was():
    state = np.random.RandomState(3)
    state.normal()
    assert_array_equal(there_and_back(state).normal(size=9), state.normal(size=9))


def test_samples_of_other_kinds():
    graph = Graph(3, [(0, 1), (1, 2)], node_labels="CCO", weights=[1.0, 2.0], names=["a", "b", "c"])
    tree = Tree.from_string("(S (NP Paul) (VP runs))")
    assert there_and_back(graph) == graph
    assert there_and_back(tree) == tree
    for packed in (Sequences.pack(["gattaca", "", "ta"]), Series.pack([[0.5, 1.0], [2.0]])):
        again = there_and_back(packed)
        assert_array_equal(again.entries, packed.entries)
        assert_array_equal(again.starts, packed.starts)


def test_frames_of_pandas():
    frame = pd.DataFrame(
        {
            "x": [0.5, 1.5],
            "word": ["a", None],
            "kind": pd.Categorical(["u", "v"], categories=["v", "u"], ordered=True),
            "whole": pd.array([1, None], dtype="Int64"),
            3: [True, False],
        },
        index=["first", "second"],
    )
    pd.testing.assert_frame_equal(there_and_back(frame), frame)
    pd.testing.assert_series_equal(there_and_back(frame["kind"]), frame["kind"])
    pd.testing.assert_index_equal(there_and_back(pd.RangeIndex(3, name="n")), pd.RangeIndex(3, name="n"))
    with pytest.raises(UnsavableError, match="MultiIndex"):
        there_and_back(frame.set_index(["x", "word"]))


def test_frames_of_polars():
    frame = pl.DataFrame({"x": [0.5, None], "word": ["a", "b"], "n": [1, 2]})
    assert there_and_back(frame).equals(frame)
    assert there_and_back(frame["word"]).equals(frame["word"])


def test_machines_on_frames(tmp_path):
    words = [word * 2 for word in ("ga", "tt", "ac", "ta", "gg")] * 4
    frame = pd.DataFrame({"size": X[:, 0], "word": words})
    machine = SVC(On("size", RBF(1.0)) + On("word", Spectrum(2))).fit(frame, Y)
    again = mercer.load(mercer.save(machine, tmp_path / "machine.mercer"))
    assert_array_equal(again.decision_function(frame), machine.decision_function(frame))


# --- sharing, cycles, depth -------------------------------------------------------------------------------


def test_what_was_one_is_one_again(tmp_path):
    K = X @ X.T
    machine = SVC(Indexed(K)).fit(np.arange(20), Y)
    assert machine.kernel.K is machine.kernel_.K
    again = mercer.load(mercer.save(machine, tmp_path / "machine.mercer"))
    assert again.kernel.K is again.kernel_.K
    assert sum(shape == (20, 20) for _, shape in describe(tmp_path / "machine.mercer")["arrays"].values()) == 1


def test_cycles_are_refused():
    cycle = []
    cycle.append(cycle)
    with pytest.raises(UnsavableError, match=r"model\[0\]\[0\]: the object contains itself"):
        there_and_back(cycle)


def test_depth():
    deep = ()
    for _ in range(200):
        deep = (deep,)
    assert there_and_back(deep) == deep
    for _ in range(10**5):
        deep = (deep,)
    with pytest.raises(UnsavableError, match="nested too deeply"):
        there_and_back(deep)


def test_few_nodes_do_not_become_many_parts():
    """Each of 60 tuples is twice the one before: to hash the last would take longer than anybody waits."""
    nodes = [{"is": "tuple", "items": []}]
    nodes += [{"is": "tuple", "items": [[i], [i]]} for i in range(60)] + [{"is": "set", "items": [[60]]}]
    with pytest.raises(ModelFileError, match="larger than any model"):
        Decoder(nodes, {})


# --- what is refused --------------------------------------------------------------------------------------


def test_functions_are_refused_by_place(tmp_path):
    path = tmp_path / "machine.mercer"
    with pytest.raises(UnsavableError, match=r"^SVC\.kernel\.function is a Python function \(.*<lambda>\)"):
        mercer.save(SVC(FromFunction(lambda a, b: a @ b.T)), path)
    with pytest.raises(UnsavableError, match=r"^SVC\.callback is a Python function .* set it to None first"):
        mercer.save(SVC(callback=lambda progress: None), path)
    with pytest.raises(UnsavableError, match=r"^Pipeline\.steps\[0\]\[1\]\.func is a Python function"):
        mercer.save(make_pipeline(FunctionTransformer(lambda X: X), SVC()), path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("model", [3, "machine", None, SVC, [SVC()], np.zeros(3)])
def test_models_are_objects(model, tmp_path):
    with pytest.raises(TypeError, match="model must be an estimator or another object of mercer"):
        mercer.save(model, tmp_path / "machine.mercer")


def test_learners_hold_machines(tmp_path):
    learner = ActiveLearner(SVC(), X, Y, stop=None)
    learner.tell(np.arange(20), Y)
    with pytest.raises(UnsavableError, match=r"do not hold mercer\.active\..*ActiveLearner; save its estimator_"):
        mercer.save(learner, tmp_path / "learner.mercer")
    again = mercer.load(mercer.save(learner.estimator_, tmp_path / "machine.mercer"))
    assert_array_equal(again.decision_function(X), learner.estimator_.decision_function(X))


def test_machines_that_cannot_be_used_are_refused(tmp_path):
    with pytest.raises(UnsavableError, match=r"SVC cannot be used, nor saved: C must be a float > 0, got -1\."):
        mercer.save(SVC(C=-1), tmp_path / "machine.mercer")


class Unknown(RBF):
    """A kernel of somebody's own."""


class Known(RBF):
    """A kernel of somebody's own, registered."""


@dataclass
class Note:
    text: str
    numbers: np.ndarray


class Pair(NamedTuple):
    first: int
    second: int


def test_classes_of_your_own(tmp_path, monkeypatch):
    monkeypatch.setattr(classes, "REGISTERED", {})
    path = tmp_path / "machine.mercer"
    with pytest.raises(
        UnsavableError, match=r"SVC\.kernel: model files do not hold .*Unknown; call mercer.persist.reg"
    ):
        mercer.save(SVC(Unknown(2.0)), path)
    assert register(Known) is Known
    register(Note)
    register(Pair)
    machine = SVC(Known(2.0)).fit(X, Y)
    again = mercer.load(mercer.save(machine, path))
    assert type(again.kernel_) is Known
    assert_array_equal(again.decision_function(X), machine.decision_function(X))
    assert there_and_back(Pair(1, 2)) == Pair(1, 2)
    assert_array_equal(there_and_back(Note("x", np.arange(3))).numbers, np.arange(3))
    classes.REGISTERED.clear()
    with pytest.raises(ModelFileError, match="is no class that model files may hold"):
        mercer.load(path)
    with pytest.raises(ValueError, match="not known yet, got mercer"):
        register(SVC)
    with pytest.raises(TypeError, match="cls must be a class at the top level"):
        register("Known")


# --- files ------------------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path):
    return pathlib.Path(mercer.save(SVC(C=3.0).fit(X, Y), tmp_path / "machine.mercer"))


def test_description(path):
    about = describe(path)
    assert about["class"] == "mercer.svm.SVC"
    assert about["format"] == 1
    assert about["versions"]["mercer"] == mercer.__version__ and about["versions"]["numpy"] == np.__version__
    assert about["parameters"]["C"] == 3.0
    assert about["kernel"].startswith("RBF(gamma=")
    assert about["certificate"]["status"] == "solved"
    assert about["arrays"]["support_vectors_"][0] == "float64"
    assert about["bytes"] == path.stat().st_size
    assert json.loads(json.dumps(about))["class"] == about["class"]


def test_description_of_what_is_inside(tmp_path):
    machine = make_pipeline(StandardScaler(), SVR()).fit(X, X[:, 0])
    about = describe(mercer.save(machine, tmp_path / "machine.mercer"))
    assert about["class"] == "sklearn.pipeline.Pipeline"
    assert about["kernel"].startswith("RBF") and about["certificate"]["status"] == "solved"
    about = describe(mercer.save(SVC(), tmp_path / "machine.mercer"))
    assert about["kernel"] == "rbf" and about["certificate"] is None


def test_infinite_bounds_are_told(tmp_path):
    machine = SVC("sigmoid", C=1e3)
    with pytest.warns(UserWarning, match="indefinite"):
        machine.fit(X, Y)
    assert describe(mercer.save(machine, tmp_path / "machine.mercer"))["certificate"]["bound"] == -np.inf


def test_the_same_model_makes_the_same_file(path, tmp_path):
    again = tmp_path / "again.mercer"
    mercer.save(mercer.load(path), again)
    assert again.read_bytes() == path.read_bytes()


def test_arrays_can_be_written_to(path):
    machine = mercer.load(path)
    machine.dual_coef_ *= 2.0
    machine.support_vectors_[0] = 0.0


def test_a_process_of_its_own(path):
    code = "import sys, mercer, numpy as np; X = np.random.default_rng(0).normal(size=(20, 3)); "
    code += "print(mercer.load(sys.argv[1]).decision_function(X).tobytes().hex())"
    output = subprocess.run([sys.executable, "-c", code, path], check=True, capture_output=True, text=True).stdout
    assert output.strip() == mercer.load(path).decision_function(X).tobytes().hex()


def test_writing_is_all_or_nothing(path, monkeypatch):
    before = path.read_bytes()

    def fail(*_):
        raise OSError("no space left on device")

    for name in ("replace", "fsync"):
        with monkeypatch.context() as patch:
            patch.setattr(f"mercer.data.files.os.{name}", fail)
            with pytest.raises(OSError, match="no space left"):
                mercer.save(KernelRidge().fit(X, X[:, 0]), path)
        assert path.read_bytes() == before
        assert os.listdir(path.parent) == [path.name]


def test_links_stay_links(path, tmp_path):
    link = tmp_path / "latest.mercer"
    link.symlink_to(path.name)
    mercer.save(KernelRidge(), link)
    assert link.is_symlink() and isinstance(mercer.load(path), KernelRidge)


def test_a_full_disk(path):
    """The system's own error, with the name that was asked for; what was there stays."""
    code = "import resource, signal, sys, mercer, numpy as np; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    code += "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))\n"
    code += "try: mercer.save(mercer.kernels.Indexed(np.eye(100)), sys.argv[1])\n"
    code += "except OSError as error: print(error.errno, error.filename)"
    before = path.read_bytes()
    ran = subprocess.run([sys.executable, "-c", code, path], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == f"{errno.EFBIG} {path}"
    assert path.read_bytes() == before and os.listdir(path.parent) == [path.name]


def test_errors_of_the_system_name_the_file(path, monkeypatch):
    def fail(*_):
        raise PermissionError(errno.EACCES, "Permission denied", "a name that nobody has given")

    monkeypatch.setattr("mercer.persist.container.os.open", fail)
    with pytest.raises(PermissionError, match=r"Permission denied: '.*machine\.mercer'"):
        mercer.save(SVC(), path)


@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_more_than_there_is_memory_for(path, limit):
    """A file that takes no place on disk, with an array of 16 GB that is really in it."""
    data = path.read_bytes()
    size = 8 + int.from_bytes(data[:8], "little")
    header, there = json.loads(data[8:size]), len(data) - size
    header["more"] = {"dtype": "U8", "shape": [2**34], "data_offsets": [there, there + 2**34]}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[size:])
    os.truncate(path, 8 + len(text) + there + 2**34)
    code = f"import resource, sys, mercer; resource.setrlimit(resource.{limit}, (2**33, resource.RLIM_INFINITY))\n"
    code += "try: mercer.load(sys.argv[1])\n"
    code += "except mercer.errors.ModelFileError as error: print(error)"
    ran = subprocess.run([sys.executable, "-c", code, path], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == f"{path} has {path.stat().st_size} bytes, more than there is memory for."


def test_writers_and_readers_at_once(path):
    """Readers see one model or the other, whole; no writer leaves anything behind."""
    code = "import sys, mercer\n"
    code += "for _ in range(30): mercer.save(mercer.SVC(C=float(sys.argv[2])), sys.argv[1])"
    writers = [subprocess.Popen([sys.executable, "-c", code, path, C]) for C in ("1.0", "2.0")]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        seen.add(mercer.load(path).C)
    assert [writer.wait() for writer in writers] == [0, 0]
    assert seen <= {1.0, 2.0, 3.0} and os.listdir(path.parent) == [path.name]


def test_rights_of_files(path, tmp_path):
    path.chmod(0o640)
    mercer.save(SVC(), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    (tmp_path / "plain").touch()
    mercer.save(SVC(), tmp_path / "new.mercer")
    assert stat.S_IMODE((tmp_path / "new.mercer").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


def test_paths(path, tmp_path):
    assert mercer.save(SVC(), str(path)) == str(path)
    for function in (mercer.load, describe):
        with pytest.raises(FileNotFoundError):
            function(tmp_path / "nothing.mercer")
        with pytest.raises(ForeignFileError, match="is a folder"):
            function(tmp_path)
        with pytest.raises(ForeignFileError, match="no regular file"):
            function("/dev/null")
        with pytest.raises(TypeError):
            function(3)
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere to write machine\.mercer to"):
        mercer.save(SVC(), tmp_path / "nowhere" / "machine.mercer")
    with pytest.raises(IsADirectoryError, match="is a folder; give the name of a file"):
        mercer.save(SVC(), tmp_path)
    for name in ("", "new/", "a\0b"):
        with pytest.raises(ValueError, match="path must be the name of a file, got"):
            mercer.save(SVC(), name)
    long = os.fsencode(tmp_path / ("x" * 250))
    assert mercer.save(SVC(), long) == os.fsdecode(long)


def test_foreign_files(tmp_path):
    path = tmp_path / "other"
    for data in (b"", b"PK\3\4 a zip file, or whatever it is", b"\x80\x04\x95pickle", bytes(100), b"x" * 7):
        path.write_bytes(data)
        with pytest.raises((ForeignFileError, DamagedFileError), match=r"no model file|damaged or truncated"):
            mercer.load(path)
    save_file({"weights": np.zeros(3)}, path)
    with pytest.raises(ForeignFileError, match=r"safetensors file, but not one that mercer\.save has written"):
        mercer.load(path)


def test_damaged_files(path):
    data = path.read_bytes()
    size = 8 + int.from_bytes(data[:8], "little")
    for at in (size + 5, len(data) - 1, data.index(b'"rbf') if b'"rbf' in data else data.index(b"RBF")):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(DamagedFileError, match="is damaged"):
            mercer.load(path)
    for length in (100, size, len(data) - 1):
        path.write_bytes(data[:length])
        with pytest.raises(DamagedFileError, match="damaged or truncated"):
            mercer.load(path)
    path.write_bytes(data + b"more")
    with pytest.raises(DamagedFileError):
        mercer.load(path)


def edited(path, edit):
    """The file with other contents and right digests."""
    document, arrays = _taken_apart(path.read_bytes())
    edit(document, arrays)
    path.write_bytes(_put_together(document, arrays))


def of_class(document, name):
    return next(node for node in document["nodes"] if node.get("class") == name)


def rename_class(document, arrays):
    of_class(document, "mercer.svm.SVC")["class"] = "os.system"


def refer_ahead(document, arrays):
    of_class(document, "mercer.svm.SVC")["state"]["C"] = [len(document["nodes"])]


def hide_a_method(document, arrays):
    of_class(document, "mercer.svm.SVC")["state"]["predict"] = 1


def hide_a_property(document, arrays):
    of_class(document, "mercer.svm.SVC")["state"]["sparsity_"] = 1


def bad_parameter(document, arrays):
    of_class(document, "mercer.svm.SVC")["state"]["C"] = -1.0


def bad_kernel(document, arrays):
    of_class(document, "mercer.kernels.RBF")["state"]["gamma"] = -1.0


def fewer_coefficients(document, arrays):
    arrays["dual_coef_"] = arrays["dual_coef_"][:, :-1].copy()


def other_features(document, arrays):
    arrays["support_vectors_"] = arrays["support_vectors_"][:, :2].copy()


def other_dtype(document, arrays):
    arrays["support_vectors_"] = arrays["support_vectors_"].astype(np.int64)


def beyond_the_samples(document, arrays):
    arrays["support_"][0] = 10**6


def outside_of_the_code(document, arrays):
    arrays["_plan.code.indices"][0] = 2**31 - 1


def left_over(document, arrays):
    arrays["more"] = np.zeros(3)


def taken_away(document, arrays):
    del arrays["intercept_"]


def unknown_kind(document, arrays):
    document["nodes"][0] = {"is": "lambda"}


def no_nodes(document, arrays):
    document["nodes"] = 3


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (rename_class, "'os.system' is no class that model files may hold"),
        (refer_ahead, "must be the number of an earlier node"),
        (hide_a_method, "'predict' is no attribute that SVC keeps"),
        (hide_a_property, "'sparsity_' is no attribute that SVC keeps"),
        (bad_parameter, r"C must be a float > 0, got -1\.0"),
        (bad_kernel, "gamma must be a float"),
        (fewer_coefficients, r"support_ must be an array of shape"),
        (other_features, r"support_vectors_ must have shape"),
        (other_dtype, "support_vectors_ must be a matrix of floats"),
        (beyond_the_samples, "support_ must be numbers of training samples"),
        (outside_of_the_code, "lies outside of it"),
        (left_over, "'more' belongs to nothing"),
        (taken_away, "there is no array 'intercept_'"),
        (unknown_kind, "'lambda' is no kind of value"),
        (no_nodes, "the nodes must be a list"),
    ],
)
def test_contents_are_checked_whatever_the_digest_says(path, edit, message):
    edited(path, edit)
    with pytest.raises(ModelFileError, match=message):
        mercer.load(path)


OWN = MKLClassifier([RBF(0.3), "linear"], multi_class="ovr", shared=False)
SEVERAL = RelevanceVectorRegressor([RBF(0.3), "linear"])


@pytest.mark.parametrize("machine", [OWN, SEVERAL], ids=["own weights", "several kernels"])
def test_machines_with_a_list_of_kernels(tmp_path, machine):
    model = clone(machine).fit(X, np.arange(20) % 3)
    file = mercer.save(model, tmp_path / "machine.mercer")
    assert_array_equal(mercer.load(file).predict(X), model.predict(X))
    assert describe(file)["kernel"] == repr(model.kernel_)


@pytest.mark.parametrize(
    ("machine", "name", "value", "message"),
    [
        (OWN, "kernel_", [], "kernel_ must be a list of kernels, got list"),
        (OWN, "kernel_", [RBF(0.3)], "kernel_ must be 3 kernels, one for each function, got 1"),
        (OWN, "kernel_", RBF(0.3), "kernel_ must be a list of kernels, got RBF"),
        (OWN, "kernels_", None, "kernels_ must be a list of kernels, got NoneType"),
        (OWN, "kernels_", [RBF(0.3), 1.0], "kernels_ must be a list of kernels, got list"),
        (OWN, "factors_", np.ones(3), r"factors_ must be an array of shape \(2,\), got \(3,\)"),
        (OWN, "weights_", np.ones((2, 2)), r"weights_ must be an array of shape \(3, 2\), got \(2, 2\)"),
        (OWN, "weights_", np.ones(2), "kernel_ must be a kernel or 'precomputed', got list"),
        (SEVERAL, "kernel_", [RBF(0.3), "rbf"], "kernel_ must be a list of kernels, got list"),
        (SEVERAL, "relevance_kernel_", np.ones(1), "relevance_kernel_ must be an array of shape"),
    ],
)
def test_lists_of_kernels_are_checked(tmp_path, machine, name, value, message):
    model = clone(machine).fit(X, np.arange(20) % 3)
    setattr(model, name, value)
    with pytest.raises(UnsavableError, match=message):
        mercer.save(model, tmp_path / "machine.mercer")


def test_later_formats(path):
    edited(path, lambda document, arrays: document.update(format=2, mercer="9.0"))
    for function in (mercer.load, describe):
        with pytest.raises(NewerFormatError, match=r"version 2 of the format, written by mercer 9\.0; this is mercer"):
            function(path)


# --- with scikit-learn ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SURROUNDED)
def test_around_machines(name, tmp_path):
    model, samples = SURROUNDED[name]()
    again = mercer.load(mercer.save(model, tmp_path / "model.mercer"))
    assert as_json(answer(again, samples)) == as_json(answer(model, samples))


def test_another_version_of_scikit_learn(tmp_path):
    path = pathlib.Path(mercer.save(make_pipeline(StandardScaler(), SVC()).fit(X, Y), tmp_path / "model.mercer"))

    def earlier(document, arrays):
        for node in document["nodes"]:
            if "_sklearn_version" in node.get("state", ()):
                node["state"]["_sklearn_version"] = "1.0.2"

    edited(path, earlier)
    with pytest.warns(UserWarning, match=r"from version 1\.0\.2 when using version"):
        mercer.load(path)


def test_metadata_routing(tmp_path):
    with config_context(enable_metadata_routing=True):
        machine = SVC().set_fit_request(sample_weight=True).set_score_request(sample_weight="weight").fit(X, Y)
        again = mercer.load(mercer.save(machine, tmp_path / "machine.mercer"))
        assert str(get_routing_for_object(again)) == str(get_routing_for_object(machine))
        assert str(get_routing_for_object(SVC())) != str(get_routing_for_object(machine))
        clone(again)


def test_functions_by_name(tmp_path):
    model = make_pipeline(FunctionTransformer(np.tanh), SelectKBest(f_classif, k=2), SVC()).fit(X, Y)
    again = mercer.load(mercer.save(model, tmp_path / "model.mercer"))
    assert again[0].func is np.tanh and again[1].score_func is f_classif
    assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_estimators_of_others_are_refused(tmp_path):
    class Odd(BaseEstimator):
        pass

    with pytest.raises(UnsavableError, match=r"Pipeline\.steps\[0\]\[1\]: model files do not hold"):
        mercer.save(make_pipeline(Odd(), SVC()), tmp_path / "model.mercer")
