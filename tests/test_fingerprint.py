"""Fingerprints: what is the same has the same in every process, what is not has another."""

import os
import subprocess
import sys
from functools import partial
from textwrap import dedent

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.metrics import make_scorer, mean_squared_error
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC
from mercer.fingerprint import fingerprint
from mercer.kernels import RBF, FromFunction, Linear

X = np.arange(12.0).reshape(3, 4)


class Sample:
    """A sample that is neither vector nor string."""

    def __init__(self, edges):
        self.edges = edges


def scaled(factor):
    return lambda x, y: factor * (x @ y)


def recursive(depth):
    def fall(x, y):
        return depth if len(x) == 0 else fall(x[1:], y)

    return fall


SAME = {
    "storage order": (X, np.asfortranarray(X)),
    "strides": (X[:, ::2], X[:, ::2].copy()),
    "byte order": (X, X.astype(">f8")),
    "list and tuple": ([1, "a"], (1, "a")),
    "numpy scalars": ([np.float64(0.5), np.int64(2), np.str_("a")], [0.5, 2, "a"]),
    "order of a dict": ({"C": 1, "gamma": 2}, {"gamma": 2, "C": 1}),
    "order of a set": ({"a", "b", "c"}, {"c", "b", "a"}),
    "sparse formats": (sparse.csr_array(X), sparse.coo_matrix(X)),
    "order in a row": (
        sparse.csr_array((np.array([1.0, 2.0]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2)),
        sparse.csr_array(np.array([[2.0, 1.0]])),
    ),
    "estimators": (SVC(C=2.0), SVC(C=2.0)),
    "nested": [make_pipeline(StandardScaler(), SVC(kernel=RBF(gamma=0.5))) for _ in range(2)],
    "splitters": (KFold(5, shuffle=True, random_state=0), KFold(5, shuffle=True, random_state=0)),
    "frames": (pd.DataFrame(X, columns=list("abcd")), pd.DataFrame(X, columns=list("abcd"), index=[5, 6, 7])),
    "columns": (pd.Series([1.0, 2.0], name="y"), np.array([1.0, 2.0])),
    "functions": (scaled(2.0), scaled(2.0)),
    "recursive functions": (recursive(2), recursive(2)),
    "methods": (KFold(2).split, KFold(2).split),
    "samples": ([Sample([1, 2]), Sample([3])], [Sample([1, 2]), Sample([3])]),
    "equal strings": (["ab", "ab"], ["ab", "".join(["a", "b"])]),
}  # fmt: skip

DIFFERENT = [
    None, 0, 0.0, False, 1, 1.0, True, "", "1", b"1", np.nan, np.inf, 1j,
    [], [[]], [1], [[1]], [1, 2], [2, 1], [[1], 2], ["ab"], ["a", "b"], {"a": 1}, {"a": "1"}, {"b": 1}, {"a"}, {1},
    X, X.T, X.ravel(), X.astype(np.float32), X.astype(int), X + 1e-12, X[:0], X[:, :0], -0.0 * X, X.astype(str),
    X.astype(np.int64).view("m8[s]"), np.array(["a", None], dtype=object), np.array(["a", "b"], dtype=object),
    np.array(["a", "b"]), np.zeros(2, [("a", "f8")]), np.zeros(2, [("b", "f8")]), np.array(5.0), np.array([5.0]),
    np.datetime64("2020-01-01"), np.datetime64("2020-01-02"),
    sparse.csr_array(X), sparse.csr_array(X.T), sparse.csr_array(X + 1),
    SVC(), SVC(C=2.0), SVC(kernel=RBF()), SVC(kernel=RBF(gamma=0.5)), SVC(kernel=RBF(gamma=0.5) + Linear()), SVC,
    SVC(kernel=FromFunction(scaled(2.0))), SVC(kernel=FromFunction(scaled(3.0))),
    make_pipeline(StandardScaler(), SVC()),
    KFold(5), KFold(4), KFold(5, shuffle=True, random_state=0), KFold(5, shuffle=True, random_state=1),
    make_scorer(mean_squared_error), make_scorer(mean_squared_error, greater_is_better=False),
    mean_squared_error, np.dot, len, scaled, scaled(2.0), scaled(3.0), lambda x: x, lambda x: x + 1, lambda x: x + 2,
    lambda x, y=1: x, lambda x: x.real, lambda x: x.imag, recursive(1), recursive(2), partial(max, 1), partial(max, 2),
    KFold(2).split, KFold(3).split,
    pd.DataFrame({"a": [1, 2], "b": [1, 2]}), pd.DataFrame({"a": [1, 2], "c": [1, 2]}), pd.DataFrame({"a": [1, 3]}),
    pd.DataFrame({"a": ["x", None]}), pd.DataFrame({"a": pd.Categorical(["x", "y"])}), pl.DataFrame({"a": ["x", "z"]}),
    pl.DataFrame({"a": [1, 2], "b": [2, 1]}),
    pd.DataFrame([[1, 2]], columns=["a", "a"]), pd.DataFrame([[2, 1]], columns=["a", "a"]),
    Sample([1]), Sample([2]), [Sample([1]), Sample([2])],
]  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_the_same(name):
    left, right = SAME[name]
    assert fingerprint(left) == fingerprint(right)
    assert len(fingerprint(left)) == 32


def test_different():
    prints = [fingerprint(value) for value in DIFFERENT]
    for i, one in enumerate(prints):
        assert one not in prints[:i], f"{DIFFERENT[i]!r} and {DIFFERENT[prints.index(one)]!r}"


def test_several_objects():
    assert fingerprint(1, 2) != fingerprint(2, 1)
    assert fingerprint(1, 2) != fingerprint([1, 2])
    assert fingerprint() != fingerprint(None)


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy 1 has no such strings")
def test_strings_of_variable_width():
    strings = np.array(["a", "a string that is far too long to be stored in place"], dtype=np.dtypes.StringDType())
    other = np.array(["a", "another string that is far too long to be stored"], dtype=np.dtypes.StringDType())
    assert fingerprint(strings) == fingerprint(strings.copy())
    assert fingerprint(strings) != fingerprint(other)


def test_inputs_are_left_alone():
    matrix = sparse.csr_array((np.ones(3), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    fingerprint(matrix)
    assert matrix.indices.tolist() == [1, 0, 1]


def test_another_process():
    """No address and no order of a hash table enters: another process, with other hashes, finds the same."""
    code = dedent(
        """
        import sys
        import numpy as np
        import pandas as pd
        from scipy import sparse
        from sklearn.metrics import get_scorer
        from sklearn.model_selection import StratifiedKFold
        from mercer import SVC
        from mercer.kernels import RBF, FromFunction
        from mercer.fingerprint import fingerprint

        class Sample:
            def __init__(self):
                self.edges, self.names = {"a", "b", "c"}, {"x": 1}

        X = np.random.default_rng(0).random((5, 3))
        objects = {
            "array": X, "sparse": sparse.csr_array(X), "words": ["GATTACA", "ACGT"],
            "frame": pd.DataFrame(X, columns=list("abc")), "machine": SVC(kernel=2.0 * RBF() + RBF(gamma=0.1)),
            "splits": StratifiedKFold(3), "score": get_scorer("f1"), "set": {"a", "b", "c"},
            "function": SVC(kernel=FromFunction(lambda x, y: len({"a", "b", x}) + (lambda z: z in {"p", "q"})(y))),
            "samples": [Sample(), Sample()],
        }
        for name, value in objects.items():
            print(name, fingerprint(value))
        """
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1
    assert len(outputs.pop().splitlines()) == 10
