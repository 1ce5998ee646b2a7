"""LIBSVM's layout against its definition, pair by pair."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mercer.compat.layout import pair_values, pairs_of, to_table


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_table_and_values(rng, n_classes, container):
    of_class = np.repeat(np.arange(n_classes), rng.integers(0, 4, size=n_classes))
    kernel = rng.normal(size=(7, len(of_class)))
    pairs = [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]
    assert pairs_of(n_classes).tolist() == [list(pair) for pair in pairs]
    ours = rng.normal(size=(len(pairs), len(of_class)))
    for row, pair in enumerate(pairs):
        ours[row, ~np.isin(of_class, pair)] = 0.0
    table = to_table(container(ours), pairs_of(n_classes), of_class, n_classes)
    assert table.shape == (n_classes - 1, len(of_class))
    for row, pair in enumerate(pairs):
        for column, own in enumerate(of_class):
            if own in pair:
                others = [c for c in range(n_classes) if c != own]
                (other,) = set(pair) - {own}
                assert table[others.index(other), column] == -ours[row, column]
    intercept = rng.normal(size=len(pairs))
    products = [kernel[:, of_class == c] @ table[:, of_class == c].T for c in range(n_classes)]
    assert np.allclose(pair_values(products, intercept), -kernel @ ours.T + intercept, rtol=1e-13, atol=1e-13)
