"""Kernels between the nodes of one graph: equations of the seeds, and graphs too large for a matrix."""

import tracemalloc

import numpy as np
import pytest
from graph_samples import random_graph
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import expm

from mercer import SVC
from mercer.data import Graph
from mercer.errors import DomainError
from mercer.kernels import Diffusion, PStepRandomWalk, RegularizedLaplacian, VonNeumann, nodes
from mercer.kernels.nodes import chebyshev_series

GRAPH = random_graph(np.random.default_rng(2), 12, edges=0.25, weighted=True, loops=True)
NODES = np.arange(12)
methods = pytest.mark.parametrize("method", ["eigen", "products"])


def laplacian(graph, normalized=False):
    A = graph.adjacency().toarray()
    degrees = A.sum(axis=1)
    if not normalized:
        return np.diag(degrees) - A
    roots = np.where(degrees > 0, 1 / np.sqrt(np.where(degrees > 0, degrees, 1)), 0)
    return np.diag((degrees > 0).astype(float)) - roots[:, None] * A * roots


@methods
def test_definitions(method):
    L, Ln, A = laplacian(GRAPH), laplacian(GRAPH, True), GRAPH.adjacency().toarray()
    eye = np.eye(12)
    for kernel, expected in [
        (Diffusion(GRAPH, 0.3, method=method), expm(-0.3 * L)),
        (Diffusion(GRAPH, 0.3, normalize=True, method=method), expm(-0.3 * Ln)),
        (RegularizedLaplacian(GRAPH, 2.0, method=method), np.linalg.inv(eye + 2.0 * L)),
        (RegularizedLaplacian(GRAPH, 2.0, normalize=True, method=method), np.linalg.inv(eye + 2.0 * Ln)),
        (PStepRandomWalk(GRAPH, 3, 2.5, method=method), np.linalg.matrix_power(2.5 * eye - Ln, 3)),
        (VonNeumann(GRAPH, 0.05, method=method), np.linalg.inv(eye - 0.05 * A)),
    ]:
        assert_allclose(kernel(NODES), expected, atol=1e-13 * np.abs(expected).max())
        assert_allclose(kernel.diag(NODES), np.diagonal(expected), rtol=1e-12)


@methods
def test_products_with_nodes_that_come_twice(method):
    kernel = Diffusion(GRAPH, 0.3, method=method)
    V = np.random.default_rng(0).normal(size=(4, 2))
    assert_allclose(kernel.dot(NODES, [3, 5, 3, 3], V), kernel(NODES, [3, 5, 3, 3]) @ V, atol=1e-14)


@methods
def test_diffusion_of_no_time_is_the_identity(method):
    assert_allclose(Diffusion(GRAPH, 0.0, method=method)(NODES), np.eye(12), atol=1e-14)


@methods
def test_diffusion_solves_its_equation(method):
    """dK / dbeta = H K [CY eq 3.31]"""
    H, h = -laplacian(GRAPH), 1e-5
    K = Diffusion(GRAPH, 0.4, method=method)(NODES)
    ahead, behind = (Diffusion(GRAPH, 0.4 + step, method=method)(NODES) for step in (h, -h))
    assert_allclose((ahead - behind) / (2 * h), H @ K, atol=1e-8)
    W = np.random.default_rng(0).normal(size=(12, 12))
    assert Diffusion(GRAPH, 0.4, method=method).vjp(NODES, W)["beta"] == pytest.approx(np.vdot(W, H @ K), rel=1e-11)


def test_diffusion_is_the_limit_of_small_steps():
    """(I + beta H / n)^n -> K [CY eq 3.32], with an error of the order 1 / n"""
    H = -laplacian(GRAPH)
    K = Diffusion(GRAPH, 0.2)(NODES)
    errors = [np.abs(np.linalg.matrix_power(np.eye(12) + 0.2 * H / n, n) - K).max() for n in (1000, 10_000)]
    assert errors[1] < 1e-4
    assert errors[0] / errors[1] == pytest.approx(10, rel=0.05)


def test_weights_scale_time():
    heavy = GRAPH.replace(weights=3 * GRAPH.weights)
    assert_allclose(Diffusion(heavy, 0.1)(NODES), Diffusion(GRAPH, 0.3)(NODES), atol=1e-13)


def test_two_nodes():
    """K = (1 + e^{-2 beta}, 1 - e^{-2 beta}) / 2 for two nodes and an edge"""
    K = Diffusion(Graph(2, [(0, 1)]), 0.6)([0, 1])
    near, far = (1 + np.exp(-1.2)) / 2, (1 - np.exp(-1.2)) / 2
    assert_allclose(K, [[near, far], [far, near]], rtol=1e-14)


def test_parts_that_are_not_connected_know_nothing_of_one_another():
    graph = Graph(5, [(0, 1), (2, 3)])
    for kernel in (Diffusion(graph), RegularizedLaplacian(graph), VonNeumann(graph, 0.5), PStepRandomWalk(graph)):
        K = kernel(range(5))
        assert_allclose(K[:2, 2:], 0.0, atol=1e-15)
        assert_allclose(K[4, :4], 0.0, atol=1e-15)
        assert K[4, 4] > 0


@methods
def test_graphs_without_edges_and_without_nodes(method):
    bare, nothing = Graph(3, []), Graph(0, [])
    for kind, scale in ((Diffusion, 1.0), (RegularizedLaplacian, 1.0), (VonNeumann, 1.0), (PStepRandomWalk, 4.0)):
        assert_allclose(
            kind(bare, method=method)([0, 1, 2, 1]), scale * np.eye(3)[[0, 1, 2, 1]] @ np.eye(3)[:, [0, 1, 2, 1]]
        )
        assert kind(nothing, method=method)([]).shape == (0, 0)


# --- samples ----------------------------------------------------------------------------------------------


def test_names_and_numbers():
    named = Graph.from_edges([("Ann", "Bob"), ("Bob", "Eve")])
    plain = Graph(3, [(0, 1), (1, 2)])
    expected = Diffusion(plain)([2, 0, 0], [1])
    for X in (["Eve", "Ann", "Ann"], np.array(["Eve", "Ann", "Ann"]), np.array([["Eve"], ["Ann"], ["Ann"]])):
        assert_array_equal(Diffusion(named)(X, ["Bob"]), expected)
    with pytest.raises(DomainError, match="Diffusion works on nodes of its graph, by name, got 0 in X"):
        Diffusion(named)([0, 1])
    with pytest.raises(DomainError, match="by number, below 3, got 3 in Y"):
        Diffusion(plain)([0], [3])
    with pytest.raises(DomainError, match="Diffusion works on nodes of its graph, got a dict"):
        Diffusion(plain)({0: 1})


def test_machines_learn_on_nodes():
    """Two cliques and a bridge, one label known in each."""
    edges = [(i, j) for c in (0, 10) for i in range(c, c + 10) for j in range(c, i)] + [(9, 10)]
    kernel = Diffusion(Graph(20, edges), beta=1.0)
    machine = SVC(kernel, C=100.0).fit([0, 1, 18, 19], [0, 0, 1, 1])
    assert_array_equal(machine.predict(range(20)), [0] * 10 + [1] * 10)


# --- refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "error", "message"),
    [
        (Diffusion("a graph"), TypeError, "graph must be a mercer.data.Graph, got str"),
        (Diffusion(Graph(2, [(0, 1)], directed=True)), ValueError, "Diffusion needs a graph without directions"),
        (VonNeumann(Graph(2, [(0, 1)], weights=[-2.0])), ValueError, "weights >= 0, the smallest is -2"),
        (Diffusion(Graph(1, []), beta=-1.0), ValueError, "beta must be a float >= 0, got -1.0"),
        (RegularizedLaplacian(Graph(1, []), beta=-1.0), ValueError, "beta must be a float >= 0, got -1.0"),
        (PStepRandomWalk(Graph(1, []), p=0), ValueError, "p must be an int >= 1, got 0"),
        (PStepRandomWalk(Graph(1, []), a=1.5), ValueError, "a must be a float >= 2, got 1.5"),
        (
            Diffusion(Graph(1, []), method="luck"),
            ValueError,
            "method must be 'auto' or 'eigen' or 'products', got 'luck'",
        ),
        (
            VonNeumann(Graph(3, [(0, 1), (1, 2), (0, 2)]), decay=0.5),
            ValueError,
            "decay must be .* below 0.5, .* got 0.5",
        ),
    ],
)
def test_parameters(kernel, error, message):
    with pytest.raises(error, match=message):
        kernel([0])


# --- large graphs -----------------------------------------------------------------------------------------


def path(n):
    return Graph(n, np.stack([np.arange(n - 1), np.arange(1, n)], axis=1))


def test_a_hundred_thousand_nodes():
    """Far from its ends a long path is like a shorter one, whose matrix can be decomposed."""
    n, m, middle = 100_000, 401, 200
    offsets = np.array([0, 1, -5])
    large, small = path(n), path(m)
    for kernel, other in [
        (Diffusion(large, 2.0), Diffusion(small, 2.0)),
        (RegularizedLaplacian(large, 3.0), RegularizedLaplacian(small, 3.0)),
        (PStepRandomWalk(large, 4), PStepRandomWalk(small, 4)),
        (VonNeumann(large, 0.4), VonNeumann(small, 0.4)),
    ]:
        K, expected = kernel(50_000 + offsets), other(middle + offsets)
        assert_allclose(K, expected, atol=1e-13)
        assert_array_equal(K, K.T)
        W = np.random.default_rng(1).normal(size=(3, 3))
        found, wanted = kernel.vjp(50_000 + offsets, W), other.vjp(middle + offsets, W)
        for name in wanted:
            assert found[name] == pytest.approx(wanted[name], rel=1e-10)
    assert_allclose(Diffusion(large, 2.0).diag([0, n - 1]), Diffusion(small, 2.0).diag([0, m - 1]), rtol=1e-12)
    assert_allclose(Diffusion(large, 2.0)([0, 1, n - 1]), Diffusion(small, 2.0)([0, 1, m - 1]), atol=1e-13)
    with pytest.raises(ValueError, match=r"below 0\.5, the inverse of the spectral radius"):
        VonNeumann(large, 0.51)([0])


def test_a_large_grid():
    """The grid is the product of two paths: e^{-beta (L x I + I x L)} is the product of the two kernels."""
    side = 320
    number = np.arange(side * side).reshape(side, side)
    edges = [
        np.stack([number[:, :-1], number[:, 1:]], axis=-1).reshape(-1, 2),
        np.stack([number[:-1], number[1:]], axis=-1).reshape(-1, 2),
    ]
    grid = Graph(side * side, np.concatenate(edges))
    rows, columns = np.array([0, 3, 100, 102]), np.array([5, 5, 319, 319])
    line = Diffusion(path(side), 1.5)
    K = Diffusion(grid, 1.5)(number[rows, columns])
    assert_allclose(K, line(rows) * line(columns), atol=1e-13)


def test_predictions_on_all_nodes_of_a_large_graph():
    """A function on the nodes is f(M) times one vector, however many nodes are asked for."""
    n = 100_000
    machine = SVC(Diffusion(path(n), 5.0), C=10.0).fit([100, 120, 300, 310], [0, 0, 1, 1])
    values = machine.decision_function(range(n))
    near = np.r_[90:130, 295:315]
    expected = machine.kernel_(near, machine.support_vectors_) @ machine.dual_coef_[0] + machine.intercept_
    assert_allclose(values[near], expected, atol=1e-12)
    assert (values[90:130] < 0).all()
    assert (values[295:315] > 0).all()


def test_columns_do_not_depend_on_their_company():
    graph = path(5000)
    kernel = Diffusion(graph, 1.0)
    many = np.arange(0, 5000, 70)
    K = kernel(many, many[:3])
    assert_array_equal(kernel(many[5:9], many[1:2]), K[5:9, 1:2])


def test_all_nodes_against_a_few_take_no_matrix_of_all_nodes(monkeypatch):
    n = 1500
    monkeypatch.setattr(nodes, "COLUMN_ENTRIES", 20 * n)
    kernel = Diffusion(path(n), 0.1, method="products")
    tracemalloc.start()
    K = kernel(range(n), [3, 700])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * n  # bytes: an eighth of the matrix
    assert_array_equal(K[[3, 700]], kernel([3, 700]))


@pytest.mark.parametrize("function", [np.exp, lambda t: 1 / (1 + 50 * t), lambda t: t**3 - t, np.ones_like])
def test_chebyshev_series(function):
    coefficients = chebyshev_series(function, 0.0, 3.0)
    t = np.linspace(0.0, 3.0, 101)
    found = np.polynomial.chebyshev.chebval((t - 1.5) / 1.5, coefficients)
    assert_allclose(found, function(t), atol=1e-13 * np.abs(function(t)).max())


@pytest.mark.parametrize("steepness", [1e2, 1e4, 1e6])
def test_as_many_products_as_the_root_of_time(steepness):
    """Also where a function falls to nothing so fast that the first points do not see it."""
    for function in (lambda t: np.exp(-steepness * t), lambda t: 1 / (1 + steepness * t)):
        coefficients = chebyshev_series(function, 0.0, 4.0)
        assert len(coefficients) < 50 * np.sqrt(steepness)
        t = np.geomspace(1e-12, 4.0, 200)
        assert_allclose(np.polynomial.chebyshev.chebval(t / 2 - 1, coefficients), function(t), atol=1e-9)


@pytest.mark.parametrize("share", [0.9, 0.999, 0.99999])
def test_von_neumann_close_to_its_bound(share):
    decay = share / np.linalg.eigvalsh(GRAPH.adjacency().toarray()).max()
    by_products, by_eigenvalues = (VonNeumann(GRAPH, decay, method)(NODES) for method in ("products", "eigen"))
    assert_allclose(by_products, by_eigenvalues, rtol=1e-9, atol=1e-9 * by_eigenvalues.max())


def test_long_diffusion_by_products():
    graph = path(30)
    assert_allclose(Diffusion(graph, 1e6, method="products")(range(30)), np.full((30, 30), 1 / 30), rtol=1e-9)


def test_chebyshev_series_gives_up():
    with pytest.raises(ValueError, match="too many products"):
        chebyshev_series(lambda t: np.sqrt(np.abs(t - 0.3)), 0.0, 1.0)
