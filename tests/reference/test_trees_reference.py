"""Kernels on trees against the enumeration of all parts, and against the recursion."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference.naive_trees import (
    fragments,
    recursive_subset_tree_kernel,
    subset_tree_kernel,
    subtree_kernel,
)

from mercer.data import Tree
from mercer.kernels import SubsetTree, SubTree

labels = st.sampled_from("abc")
trees = st.recursive(
    labels.map(Tree), lambda below: st.builds(Tree, labels, st.lists(below, min_size=1, max_size=3)), max_leaves=6
)
quick = settings(deadline=None, derandomize=True, max_examples=60)


@quick
@given(s=trees, t=trees, leaves=st.booleans())
def test_subtree(s, t, leaves):
    K = SubTree(leaves)([s, t])
    assert_array_equal(K, [[subtree_kernel(a, b, leaves) for b in (s, t)] for a in (s, t)])


@quick
@given(s=trees, t=trees, decay=st.floats(0.05, 1.0))
def test_subset_tree(s, t, decay):
    K = SubsetTree(decay)([s], [t])
    assert_allclose(K, [[subset_tree_kernel(s, t, decay)]], rtol=1e-12)
    assert_allclose(K, [[recursive_subset_tree_kernel(s, t, decay)]], rtol=1e-12)
    assert_array_equal(K, SubsetTree(decay)([t], [s]))


@quick
@given(s=trees, t=trees)
def test_logarithms_of_subset_trees(s, t):
    kernel = SubsetTree(0.7)
    X, Y = kernel.prepare([s], [t])
    with np.errstate(divide="ignore"):
        assert_allclose(kernel._log_matrix(X, Y), np.log(kernel._matrix(X, Y)), rtol=1e-14)
    assert_array_equal(kernel._log_diag(X), np.diagonal(kernel._log_matrix(X, X)))


def test_the_fragments_of_a_noun_phrase():
    # "a cat" has six fragments besides those of its words alone [Collins and Duffy, figure 2]
    tree = Tree.from_string("(NP (D a) (N cat))")
    assert len(fragments(tree)) == 6
    assert SubsetTree(1.0)([tree])[0, 0] == 6.0


@pytest.mark.parametrize("decay", [0.3, 1.0])
def test_many_equal_productions(decay):
    s = Tree.from_string("(a (a (a b) (a b)) (a (a b) b))")
    t = Tree.from_string("(a (a (a b) (a (a b) (a b))) (a b))")
    assert SubsetTree(decay)([s], [t])[0, 0] == pytest.approx(recursive_subset_tree_kernel(s, t, decay), rel=1e-13)
