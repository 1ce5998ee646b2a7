"""Which cells of a grid share a kernel matrix, and which start from which."""

import numpy as np
from sklearn.model_selection import ParameterGrid

from mercer.kernels import RBF, Indexed
from mercer.selection.grid import grouped


def test_cells_by_kernel_matrix_and_by_path():
    cells = list(ParameterGrid({"C": [4.0, 1.0, np.inf], "epsilon": [0.1, 0.2], "kernel__gamma": [0.5, 2.0]}))
    groups = grouped(cells)
    assert [group.shared for group in groups] == [{"kernel__gamma": 0.5}, {"kernel__gamma": 2.0}]
    for group in groups:
        paths = [[(cells[number]["C"], cells[number]["epsilon"]) for number in path] for path in group.paths]
        # Prices rise along a path; a hard margin is a path of its own.
        assert sorted(paths) == [[(1.0, 0.1), (4.0, 0.1)], [(1.0, 0.2), (4.0, 0.2)], [(np.inf, 0.1)], [(np.inf, 0.2)]]


def test_kernels_are_told_apart_by_what_they_are():
    one, other = np.eye(60), np.eye(60)
    other[30, 30] = 2.0
    kernels = [Indexed(one), Indexed(other), Indexed(one.copy()), RBF(gamma=1.0), RBF(gamma=1.0), "rbf"]
    assert repr(kernels[0]) == repr(kernels[1])  # the middle of a matrix is not written
    groups = grouped([{"kernel": kernel, "C": C} for kernel in kernels for C in (1.0, 2.0)])
    assert [group.paths for group in groups] == [[[0, 4, 1, 5]], [[2, 3]], [[6, 8, 7, 9]], [[10, 11]]]
