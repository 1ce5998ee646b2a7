"""Trees, and kernels on them: reading, writing, what they refuse."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mercer import _native
from mercer.data import Tree
from mercer.errors import DomainError
from mercer.fingerprint import fingerprint
from mercer.kernels import SubsetTree, SubTree

labels = st.one_of(st.text(max_size=3), st.sampled_from(["", " ", "(", "\\", ")("]))
trees = st.recursive(
    labels.map(Tree), lambda below: st.builds(Tree, labels, st.lists(below, min_size=1, max_size=3)), max_leaves=8
)
PAUL = Tree.from_string("(S (NP (N Paul)) (VP (V runs)))")
DEPTH = 20_000
DEEP = Tree.from_string("(a " * DEPTH + "b" + ")" * DEPTH)

# --- trees ------------------------------------------------------------------------------------------------


@settings(deadline=None, derandomize=True)
@given(trees)
def test_text_and_back(tree):
    assert Tree.from_string(str(tree)) == tree
    assert eval(repr(tree)) == tree
    again = pickle.loads(pickle.dumps(tree))
    assert again == tree
    assert hash(again) == hash(tree)
    assert copy.deepcopy(tree) == tree == copy.copy(tree)
    assert Tree(tree.label, tree.children) == tree


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("(S (NP a)", r"missing at character 9, the end of the text, for '\(' at character 0"),
        ("(S (NP a", r"missing at character 8, the end of the text, for '\(' at character 3"),
        (")", "character 0 closes no"),
        ("(S a))", "ends before character 5, where '\\)' stands"),
        ("(S a) (S b)", "ends before character 6, where '\\(' stands"),
        ("a b", "ends before character 2, where 'b' stands"),
        ("(S a\\", "backslash at character 4"),
    ],
)
def test_faults_have_places(text, fault):
    with pytest.raises(ValueError, match=fault):
        Tree.from_string(text)


def test_other_forms():
    nltk = pytest.importorskip("nltk")
    assert Tree.from_nltk(nltk.Tree.fromstring(str(PAUL))) == PAUL
    with pytest.raises(TypeError, match="tree of nltk, got str"):
        Tree.from_nltk("(S a)")


def test_nested_tuples():
    assert Tree.from_tuple(("S", ("NP", ("N", "Paul")), ("VP", ("V", "runs")))) == PAUL
    numbers = Tree.from_tuple((1, (2.5, None), (3,)))
    assert eval(repr(numbers)) == numbers
    assert numbers.leaves == (None, 3)
    assert Tree.from_tuple("word") == Tree("word")
    with pytest.raises(ValueError, match=r"got \(\)"):
        Tree.from_tuple(("S", ()))
    with pytest.raises(TypeError, match="hashable"):
        Tree("S", [["a"]])
    with pytest.raises(TypeError, match="must be a str, got int"):
        Tree.from_string(3)


def test_a_tree_does_not_change():
    with pytest.raises(AttributeError, match="does not change"):
        PAUL.label = "X"
    with pytest.raises(AttributeError, match="does not change"):
        PAUL._labels = ("X",)
    with pytest.raises(AttributeError, match="does not change"):
        del PAUL._labels


def test_no_library_takes_a_tree_for_an_array():
    assert not hasattr(Tree, "__len__")
    assert not hasattr(Tree, "__getitem__")
    assert np.asarray([PAUL, PAUL]).shape == (2,)


def test_equal_trees():
    assert Tree("a", ["b"]) != Tree("a", [Tree("b", ["c"])])
    assert Tree("a", [Tree("b", ["c"])]) != Tree("a", ["b", "c"])
    assert PAUL != "(S ...)"
    assert Tree(-1) != Tree(-2)  # which have the same hash
    assert len({PAUL, Tree.from_string(str(PAUL))}) == 1
    assert fingerprint(PAUL) == fingerprint(Tree.from_string(str(PAUL))) != fingerprint(DEEP)


def test_deep_trees_are_read_and_written():
    assert DEEP.n_nodes == DEPTH + 1
    assert Tree.from_string(str(DEEP)) == DEEP == pickle.loads(pickle.dumps(DEEP))
    assert DEEP.children[0].n_nodes == DEPTH
    nested = "b"
    for _ in range(DEPTH):
        nested = ("a", nested)
    assert Tree.from_tuple(nested) == DEEP


# --- kernels ----------------------------------------------------------------------------------------------


def test_deep_trees_have_kernels():
    # below each of the DEPTH inner nodes there is another subtree
    assert SubTree()([DEEP])[0, 0] == DEPTH
    assert SubTree(leaves=True)([DEEP], [Tree("b")])[0, 0] == 1.0
    # two chains of 2000 and 1000 nodes a: fragments are chains, k of them of length l <= k, and those with the leaf
    chains = [Tree.from_string("(a " * depth + "b" + ")" * depth) for depth in (2000, 1000)]
    decay = 0.5
    inner = sum((1999 - size + 1) * (999 - size + 1) * decay**size for size in range(1, 1000))
    whole = sum(decay**size for size in range(1, 1001))
    assert SubsetTree(decay)(chains)[0, 1] == pytest.approx(inner + whole, rel=1e-12)


def test_values_out_of_range_have_logarithms():
    bushy = Tree("a", [Tree("b", ["c"]) for _ in range(2000)])
    kernel = SubsetTree(1.0)
    with pytest.raises(ValueError, match=r"too large for float64 in SubsetTree\(decay=1.0\); use kernel.normalized"):
        kernel([bushy])
    with pytest.raises(ValueError, match="too large"):
        kernel.diag([bushy])
    X, _ = kernel.prepare([bushy, Tree("a", ["b"])])
    # the root has 2^2000 fragments, and each of 2000 x 2000 pairs of children has one
    assert_allclose(kernel._log_matrix(X, X)[0, 0], 2000 * np.log(2.0), rtol=1e-12)  # a sum of 2000 terms
    assert_array_equal(np.diagonal(kernel._log_matrix(X, X)), kernel._log_diag(X))
    # decay (1 + decay)^2000
    smaller = SubsetTree(0.5)
    logs = smaller._log_diag(smaller.prepare([bushy])[0])
    assert_allclose(logs, np.log(0.5) + 2000 * np.log1p(0.5), rtol=1e-12)


def test_order_of_children_matters():
    K = SubsetTree(1.0)([Tree("s", ["a", "b"]), Tree("s", ["b", "a"])])
    assert_array_equal(K, np.eye(2))


def test_trees_come_in_columns():
    many = [PAUL, Tree("S", ["x"])]
    K = SubsetTree()(many)
    column = np.empty((2, 1), dtype=object)
    column[:, 0] = many
    for X in (tuple(many), pd.Series(many), pl.Series(many, dtype=pl.Object), column, pd.DataFrame({"tree": many})):
        assert_array_equal(SubsetTree()(X), K)


def test_what_is_no_tree_is_named():
    with pytest.raises(DomainError, match=r"SubsetTree works on trees .*got a list of str as Y; Tree.from_string"):
        SubsetTree()([PAUL], ["(S a)"])
    for decay in (0.0, 1.5, "auto"):
        with pytest.raises(ValueError, match="decay must be a float > 0 and <= 1"):
            SubsetTree(decay)([PAUL])
    with pytest.raises(ValueError, match="leaves must be False or True"):
        SubTree(leaves="yes")([PAUL])


def test_features_of_subtrees():
    X = [PAUL, Tree.from_string("(NP (N Paul))")]
    features = SubTree().features(X)
    assert features.shape == (2, 5)
    assert_array_equal((features @ features.T).toarray(), SubTree()(X))


def test_native_functions_check_what_they_get():
    key, number = np.ones(2, dtype=np.uint64), np.array([0, 0])
    with pytest.raises(ValueError, match="do not make trees"):
        _native.trees_pack(key, number, np.array([0, 2]))
    with pytest.raises(ValueError, match="do not make trees"):
        _native.trees_subtrees(key, np.array([1, 1]), np.array([0, 2]))
    with pytest.raises(ValueError, match="fit together"):
        _native.trees_pack(key, number, np.array([0, 1]))
    nothing = _native.trees_pack(key[:0], number[:0], np.array([0]))
    none = (*nothing, np.empty(0, dtype=np.int64))
    assert _native.subset_tree_matrix("value", 0.5, none, none, 1).shape == (0, 0)
    assert _native.subset_tree_diag("value", 0.5, none, 1).shape == (0,)
    with pytest.raises(ValueError, match="fit together"):
        _native.subset_tree_diag("value", 0.5, (*nothing, np.array([0])), 1)
    with pytest.raises(ValueError, match="unknown quantity"):
        _native.subset_tree_diag("slope", 0.5, none, 1)
