"""Kernels between graphs: what they promise, and what they refuse."""

import numpy as np
import pytest
from graph_samples import graphs, random_graph, renumbered
from hypothesis import given, settings
from hypothesis.strategies import integers, tuples
from kernel_registry.objects import as_objects
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from mercer import SVC
from mercer.data import Graph
from mercer.errors import DomainError
from mercer.kernels import (
    EdgeHistogram,
    GraphHopper,
    Graphlet,
    RandomWalk,
    ShortestPath,
    VertexHistogram,
    WeisfeilerLehman,
    WeisfeilerLehmanOptimalAssignment,
)
from mercer.kernels.graphs import walks as walks_module
from mercer.threads import limit_threads

COUNTING = [
    VertexHistogram(),
    EdgeHistogram(ends=True),
    ShortestPath(),
    ShortestPath(node_labels=False, unit=0.7),
    WeisfeilerLehman(3),
    WeisfeilerLehman(2, base=EdgeHistogram(ends=True)),
    WeisfeilerLehman(2, base=ShortestPath()),
    WeisfeilerLehmanOptimalAssignment(3),
]
SUMMING = [
    RandomWalk(0.002),
    RandomWalk(0.1, kind="exponential"),
    RandomWalk(0.002, node_labels=False),
    GraphHopper(0.5),
    GraphHopper(0.5, node_labels=True),
]
few = settings(max_examples=25, deadline=None, derandomize=True)
by_name = pytest.mark.parametrize("kernel", COUNTING + SUMMING + [Graphlet(3), Graphlet(4, connected=False)], ids=repr)


def order_of(graph, seed):
    return np.random.default_rng(seed).permutation(graph.n_nodes)


@few
@given(tuples(graphs(), graphs()), integers(0, 1000))
def test_numbers_of_nodes_do_not_matter(samples, seed):
    others = [renumbered(graph, order_of(graph, seed)) for graph in samples]
    for kernel in COUNTING:
        assert_array_equal(kernel(list(samples)), kernel(others))
        assert_array_equal(kernel(list(samples), others), kernel(others))
    for kernel in SUMMING:
        assert_allclose(kernel(list(samples)), kernel(others), rtol=1e-12)


@few
@given(graphs(directed=False), integers(0, 1000))
def test_numbers_of_nodes_do_not_matter_for_subgraphs(graph, seed):
    for kernel in (Graphlet(3), Graphlet(4, connected=False), Graphlet(5)):
        assert_array_equal(kernel([graph]), kernel([renumbered(graph, order_of(graph, seed))]))


@by_name
def test_a_graph_with_itself_is_one_after_normalisation(kernel):
    rng = np.random.default_rng(4)
    directed = not isinstance(kernel, Graphlet)
    samples = [random_graph(rng, n, edges=0.3, directed=directed and n % 2 == 0) for n in range(4, 24)]
    diagonal = kernel.diag(samples)
    assert_array_equal(np.diagonal(kernel(samples)), diagonal)
    assert (diagonal > 0).all()
    normalized = kernel.normalized()(samples)
    assert_array_equal(np.diagonal(normalized), 1.0)
    assert_array_equal(kernel.normalized().diag(samples), 1.0)
    assert normalized.max() <= 1 + 1e-12


@by_name
def test_threads_and_sides_give_the_same_bits(kernel):
    rng = np.random.default_rng(5)
    sizes = rng.integers(0, 15, size=40)
    samples = [random_graph(rng, int(n), edges=0.3, bonds=n % 2 == 0, weighted=n % 3 > 0) for n in sizes]
    K = kernel(samples)
    assert_array_equal(K, K.T)
    assert_array_equal(kernel(samples[:10], samples[10:]), K[:10, 10:])
    assert_array_equal(kernel(samples[10:], samples[:10]), K[10:, :10])
    with limit_threads(4):
        assert_array_equal(kernel(samples), K)


# --- containers and machines ------------------------------------------------------------------------------


def test_containers():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    samples = [Graph(2, [(0, 1)], node_labels="CO"), Graph(1, [], node_labels="C")]
    kernel = VertexHistogram()
    expected = kernel(samples)
    objects = as_objects(samples)
    for X in (
        tuple(samples),
        objects,
        objects[:, None],
        pandas.Series(samples),
        polars.Series(samples, dtype=polars.Object),
    ):
        assert_array_equal(kernel(X), expected)


@pytest.fixture(scope="module")
def rings_and_paths():
    rng = np.random.default_rng(0)
    samples, y = [], []
    for i in range(40):
        n = int(rng.integers(5, 12))
        edges = [(j, j + 1) for j in range(n - 1)] + ([(0, n - 1)] if i % 2 else [])
        graph = Graph(n, edges, node_labels=["C"] * n, node_attributes=rng.normal(size=(n, 2)))
        samples.append(renumbered(graph, rng.permutation(n)))
        y.append(i % 2)
    return samples, y


@pytest.mark.parametrize("kernel", [WeisfeilerLehman(2), RandomWalk(0.05), ShortestPath(), GraphHopper(0.1)], ids=repr)
def test_machines_take_lists_of_graphs(kernel, rings_and_paths):
    samples, y = rings_and_paths
    machine = SVC(kernel, C=10.0).fit(samples[:30], y[:30])
    assert machine.score(samples[30:], y[30:]) >= 0.8


def test_searches_and_pipelines_take_lists_of_graphs(rings_and_paths):
    samples, y = rings_and_paths
    machine = SVC(WeisfeilerLehman(2), C=10.0)
    assert cross_val_score(machine, samples, y, cv=4).mean() > 0.9
    search = GridSearchCV(machine, {"kernel__h": [0, 1, 2]}, cv=4).fit(samples, y)
    assert search.best_params_["kernel__h"] > 0
    assert search.best_score_ > 0.9
    pipeline = make_pipeline(FunctionTransformer(lambda X: [graph.replace(weights=None) for graph in X]), machine)
    assert pipeline.fit(samples, y).score(samples, y) > 0.9


# --- known values -----------------------------------------------------------------------------------------


def test_histories_of_labels():
    """A path of three nodes against a triangle: the same labels, told apart by their number of neighbours."""
    path, triangle = (
        Graph(3, [(0, 1), (1, 2)], node_labels="CCC"),
        Graph(3, [(0, 1), (1, 2), (0, 2)], node_labels="CCC"),
    )
    assert_array_equal(WeisfeilerLehman(0)([path, triangle]), [[9, 9], [9, 9]])
    assert_array_equal(WeisfeilerLehman(1)([path, triangle]), [[9 + 4 + 1, 9 + 3], [9 + 3, 9 + 9]])
    assert_array_equal(WeisfeilerLehmanOptimalAssignment(1)([path, triangle]), [[6, 3 + 1], [3 + 1, 6]])


def test_features_are_explicit():
    rng = np.random.default_rng(3)
    samples = [random_graph(rng, 6) for _ in range(5)]
    for kernel in (*COUNTING[:-1], Graphlet(3)):
        features = kernel.features(samples)
        assert_array_equal((features @ features.T).toarray(), kernel(samples))
    with pytest.raises(NotImplementedError, match="no explicit feature map"):
        COUNTING[-1].features(samples)


def test_labels_of_edges_count_and_their_absence_is_a_label():
    single, double, none = (Graph(2, [(0, 1)], node_labels="CC", edge_labels=bond) for bond in ("-", "=", None))
    samples = [single, double, none]
    for kernel in (WeisfeilerLehman(1), RandomWalk(0.1), EdgeHistogram(ends=True)):
        K = kernel(samples)
        assert K[0, 0] == K[1, 1] == K[2, 2] > K[0, 1] == K[0, 2] == K[1, 2]


def test_what_others_have_does_not_matter():
    """Graphs without labels and weights of edges, alone and beside graphs with them."""
    bare = Graph(3, [(0, 1), (1, 2)], node_labels="CCO")
    full = bare.replace(edge_labels="-=", weights=[2.0, 0.5])
    for kernel in (WeisfeilerLehman(1), RandomWalk(0.1), EdgeHistogram(ends=True), ShortestPath()):
        assert kernel([bare])[0, 0] == kernel([bare, full], [bare])[0, 0] == kernel([bare, full])[0, 0]


def test_weights_count():
    light = Graph(2, [(0, 1)], node_labels="CC", weights=[1.0])
    heavy = light.replace(weights=[2.0])
    assert_array_equal(ShortestPath()([light, heavy]), [[4, 0], [0, 4]])
    assert_array_equal(ShortestPath()([light], [light.replace(weights=None)]), [[4]])
    # four pairs, joined two and two with weight w w': 4 / (1 - decay w w')
    assert_allclose(RandomWalk(0.1)([light, heavy]), [[4 / 0.9, 4 / 0.8], [4 / 0.8, 4 / 0.6]], rtol=1e-14)


def test_lengths_in_units():
    third = Graph(3, [(0, 1), (1, 2)], weights=[0.1, 0.2], node_labels="CNO")
    direct = Graph(2, [(0, 1)], weights=[0.3], node_labels="CO")
    assert_array_equal(ShortestPath()([third], [direct]), [[0]])  # 0.1 + 0.2 is not 0.3
    assert_array_equal(ShortestPath(unit=0.01)([third], [direct]), [[2]])


def test_directions_count():
    there = Graph(3, [(0, 1), (1, 2)], node_labels="CNO", directed=True)
    back = Graph(3, [(1, 0), (2, 1)], node_labels="CNO", directed=True)
    both = Graph(3, [(0, 1), (1, 2)], node_labels="CNO")
    assert_array_equal(ShortestPath()([there, back, both]), [[3, 0, 3], [0, 3, 3], [3, 3, 6]])
    assert_array_equal(EdgeHistogram(ends=True)([there, back]), [[2, 0], [0, 2]])
    # Walks of the product: three nodes, and the steps C-N, N-O, C-N-O.
    assert_allclose(RandomWalk(0.1)([there, back]), [[3 + 0.2 + 0.01, 3], [3, 3 + 0.2 + 0.01]], rtol=1e-14)


def test_small_subgraphs_of_known_graphs():
    complete = Graph(7, [(i, j) for i in range(7) for j in range(i)])
    star = Graph(7, [(0, i) for i in range(1, 7)])
    empty = Graph(7, [])
    assert_array_equal(Graphlet(5)([complete, star, empty]), np.diag([21.0**2, 15.0**2, 0.0]))
    K = Graphlet(5, connected=False)([complete, star, empty])
    assert_array_equal(K, [[21**2, 0, 0], [0, 15**2 + 6**2, 6 * 21], [0, 6 * 21, 21**2]])
    assert Graphlet(3).features([complete, star]).shape == (2, 2)


def test_number_of_shapes():
    from mercer.kernels.graphs.counts import _shapes

    assert [len(_shapes(k).codes) for k in range(1, 6)] == [1, 2, 4, 11, 34]
    assert [int(_shapes(k).connected.sum()) for k in range(1, 6)] == [1, 1, 2, 6, 21]


def test_subgraphs_of_a_graph_that_cannot_be_enumerated():
    """All sets of five of 400 nodes are 83 thousand millions; a ring and nodes without edges."""
    n, ring = 400, 50
    graph = Graph(n, [(i, (i + 1) % ring) for i in range(ring)])
    counts = Graphlet(5, connected=False).features([graph]).toarray()[0]
    from math import comb

    assert counts.sum() == comb(n, 5)
    assert comb(350, 5) < counts.max() < comb(n, 5)


# --- graphs with little in them ---------------------------------------------------------------------------


def test_nothing_one_node_and_several_parts():
    nothing = Graph(0, [], node_labels="", node_attributes=np.empty((0, 2)))
    one = Graph(1, [], node_labels="C", node_attributes=[[0.0, 0.0]])
    two = Graph(2, [], node_labels="CC", node_attributes=[[0.0, 0.0], [0.0, 0.0]])
    samples = [nothing, one, two]
    for kernel in (
        VertexHistogram(),
        RandomWalk(0.5),
        RandomWalk(0.5, node_labels=False),
        GraphHopper(),
        WeisfeilerLehman(0),
    ):
        assert_allclose(kernel(samples), [[0, 0, 0], [0, 1, 2], [0, 2, 4]], rtol=1e-14)
    assert_array_equal(WeisfeilerLehman(2)(samples), 3 * VertexHistogram()(samples))
    for kernel in (ShortestPath(), EdgeHistogram(ends=True), Graphlet(3), WeisfeilerLehman(1, base=ShortestPath())):
        assert_array_equal(kernel(samples), np.zeros((3, 3)))


def test_loops():
    bare, looped = Graph(1, [], node_labels="C"), Graph(1, [(0, 0)], node_labels="C")
    samples = [bare, looped]
    assert_array_equal(WeisfeilerLehman(1)(samples), [[2, 1], [1, 2]])
    assert_allclose(RandomWalk(0.5)(samples), [[1, 1], [1, 2]], rtol=1e-14)
    assert_array_equal(EdgeHistogram(ends=True)(samples), [[0, 0], [0, 1]])
    assert_array_equal(ShortestPath()(samples), np.zeros((2, 2)))
    square = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    assert_array_equal(Graphlet(3)([square]), Graphlet(3)([Graph(4, [*square.edges.tolist(), (2, 2)])]))


# --- walks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("directed", [True, False])
def test_decay_is_refused_from_the_largest_admissible_value_on(labelled, directed):
    rng = np.random.default_rng(1)
    samples = [random_graph(rng, 9, edges=0.4, directed=directed, weighted=True) for _ in range(8)]
    with pytest.raises(ValueError, match=r"decay must be below .* X\[\d\] has the most walks, got 7.0") as caught:
        RandomWalk(7.0, node_labels=labelled)(samples)
    largest = float(str(caught.value).split("below ")[1].split()[0])
    with pytest.raises(ValueError, match="decay must be below"):
        RandomWalk(1.001 * largest, node_labels=labelled)(samples)
    if not directed:  # the series of directed graphs is too slow there
        assert np.isfinite(RandomWalk(largest, node_labels=labelled)(samples)).all()  # it is told rounded down
    K = RandomWalk(0.999 * largest, node_labels=labelled)(samples)
    assert np.isfinite(K).all()
    assert (K > 0).all()
    eigenvalues = np.linalg.eigvalsh(K)
    assert eigenvalues[0] >= -1e-9 * eigenvalues[-1]
    with pytest.raises(ValueError, match=r"Y\[\d\] has the most walks"):
        RandomWalk(2 * largest, node_labels=labelled)(samples[:0], samples)


def test_walks_from_a_graph_to_itself_are_never_negative():
    """Dense graphs with a decay that looks small: others have returned -1 here."""
    samples = [Graph(n, [(i, j) for i in range(n) for j in range(i)], node_labels="C" * n) for n in (5, 20, 40)]
    with pytest.raises(ValueError, match=r"decay must be below 0\.000657"):
        RandomWalk(0.1)(samples)
    K = RandomWalk(0.0006)(samples)
    assert (K > 0).all()
    # complete graphs are regular: n n' / (1 - decay (n - 1) (n' - 1))
    sizes = np.array([5, 20, 40])
    expected = np.outer(sizes, sizes) / (1 - 0.0006 * np.outer(sizes - 1, sizes - 1))
    assert_allclose(K, expected, rtol=1e-12)
    assert_allclose(RandomWalk(0.0006, node_labels=False)(samples), expected, rtol=1e-12)


def test_walks_that_do_not_fit_into_numbers_are_refused():
    complete = Graph(40, [(i, j) for i in range(40) for j in range(i)], node_labels="C" * 40)
    with pytest.raises(ValueError, match=r"too large for float64, .* use a smaller decay"):
        RandomWalk(10.0, kind="exponential")([complete])


def test_large_products_are_not_listed():
    """A torus of 900 nodes with one label, twice: 13 million arcs. It is regular, so the sum is known."""
    side = 30
    number = np.arange(side * side).reshape(side, side)
    edges = np.concatenate([np.stack([number, np.roll(number, 1, axis)], -1).reshape(-1, 2) for axis in (0, 1)])
    torus = Graph(side * side, edges, node_labels="C" * (side * side))
    n = torus.n_nodes
    assert_allclose(RandomWalk(0.03)([torus], [torus.replace()]), [[n * n / (1 - 0.03 * 16)]], rtol=1e-12)
    assert_allclose(RandomWalk(0.03, node_labels=False).diag([torus]), [n * n / (1 - 0.03 * 16)], rtol=1e-12)


def test_quadrature_of_many_nodes():
    """Above a number of nodes, walks without labels are a quadrature; it must agree with the eigenvalues."""
    rng = np.random.default_rng(6)
    graph = random_graph(rng, 120, edges=0.05, weighted=True)
    values, weights = walks_module._spectrum(graph)
    others, other_weights = walks_module._quadrature(graph.adjacency(), 60)
    largest = values.max()
    for power in (0, 1, 2, 7, 30):
        assert_allclose(
            (other_weights * (others / largest) ** power).sum(),
            (weights * (values / largest) ** power).sum(),
            rtol=1e-10,
        )
    assert len(others) <= 60


def test_spectral_sums_are_those_of_the_product():
    rng = np.random.default_rng(7)
    samples = [random_graph(rng, n, edges=0.3, weighted=True).replace(edge_labels=None) for n in (3, 8, 11)]
    same_label = [graph.replace(node_labels=["C"] * graph.n_nodes) for graph in samples]
    for kind, decay in (("geometric", 0.005), ("exponential", 0.05)):
        assert_allclose(
            RandomWalk(decay, kind, node_labels=False)(samples), RandomWalk(decay, kind)(same_label), rtol=1e-12
        )


# --- refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (
            VertexHistogram(),
            r"VertexHistogram works on graphs with node labels, got Graph\(2 nodes, 1 edge\) as X\[1\]",
        ),
        (EdgeHistogram(), r"EdgeHistogram works on graphs with edge labels; with ends=True .* as X\[1\]"),
        (EdgeHistogram(ends=True), "EdgeHistogram works on graphs with node labels, got"),
        (
            ShortestPath(),
            "ShortestPath works on graphs with node labels; with node_labels=False all nodes are alike, got",
        ),
        (WeisfeilerLehman(), "WeisfeilerLehman works on graphs with node labels; with node_labels=False"),
        (WeisfeilerLehmanOptimalAssignment(), "Assignment works on graphs with node labels; with node_labels=False"),
        (RandomWalk(), "RandomWalk works on graphs with node labels; with node_labels=False"),
        (GraphHopper(), "GraphHopper works on graphs with attributes of nodes, got"),
    ],
    ids=lambda value: repr(value) if not isinstance(value, str) else "",
)
def test_missing_parts_are_named(kernel, message):
    full = Graph(2, [(0, 1)], node_labels="CC", edge_labels="-", node_attributes=[[0.0], [1.0]])
    with pytest.raises(DomainError, match=message):
        kernel([full, Graph(2, [(0, 1)])])
    with pytest.raises(DomainError, match=r"as Y\[0\]"):
        kernel([full], [Graph(2, [(0, 1)])])


def test_other_refusals():
    directed = Graph(2, [(0, 1)], directed=True)
    with pytest.raises(
        DomainError, match=r"Graphlet works on graphs without directions, got Graph\(.*directed\) as X\[0\]"
    ):
        Graphlet()([directed])
    negative = Graph(2, [(0, 1)], weights=[-1.0], node_labels="CC")
    for kernel in (ShortestPath(), RandomWalk(), WeisfeilerLehman(1, base=ShortestPath())):
        with pytest.raises(DomainError, match="works on graphs with weights >= 0"):
            kernel([negative])
    narrow, wide = (Graph(1, [], node_attributes=np.zeros((1, d))) for d in (1, 2))
    with pytest.raises(ValueError, match="equally many attributes in all graphs, got 1 and 2"):
        GraphHopper()([narrow], [wide])


@pytest.mark.parametrize(
    ("kernel", "error", "message"),
    [
        (WeisfeilerLehman(-1), ValueError, "h must be an int >= 0, got -1"),
        (WeisfeilerLehman(base="edges"), TypeError, "base must be None or a kernel that counts in graphs, got 'edges'"),
        (WeisfeilerLehman(base=RandomWalk()), TypeError, "base must be None or a kernel that counts in graphs"),
        (WeisfeilerLehman(base=WeisfeilerLehman()), TypeError, "base must be None or a kernel that counts in graphs"),
        (WeisfeilerLehman(base=EdgeHistogram()), ValueError, "base must count the labels of nodes"),
        (WeisfeilerLehman(base=Graphlet()), ValueError, "base must count the labels of nodes"),
        (Graphlet(6), ValueError, "k must be 3 or 4 or 5, got 6"),
        (ShortestPath(unit=0.0), ValueError, "unit must be a float > 0 or None, got 0.0"),
        (RandomWalk(-0.1), ValueError, "decay must be a float >= 0, got -0.1"),
        (RandomWalk(kind="harmonic"), ValueError, "kind must be 'geometric' or 'exponential', got 'harmonic'"),
        (GraphHopper(gamma=-1.0), ValueError, "gamma must be a float >= 0, got -1.0"),
    ],
)
def test_parameters(kernel, error, message):
    with pytest.raises(error, match=message):
        kernel([Graph(1, [], node_labels="C", node_attributes=[[0.0]])])
