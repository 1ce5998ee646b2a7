"""Machines taken apart, and the pictures of it."""

from itertools import product

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from mercer import SVC, SVR, KernelRidge, MKLClassifier, OneClassSVM
from mercer.data import Graph, Tree
from mercer.datasets import make_molecules, make_sequences
from mercer.errors import DomainError
from mercer.explanations import explain, feature_weights, neighbourhoods, positional_weights, take_apart
from mercer.explanations.base import Pieces
from mercer.kernels import (
    RBF,
    AllSubsequences,
    CommonSubstrings,
    Constant,
    EdgeHistogram,
    FixedSubsequences,
    GappedKmer,
    GapWeighted,
    Graphlet,
    Hamming,
    LocalAlignment,
    Mismatch,
    On,
    ShortestPath,
    Spectrum,
    SubsetTree,
    SubTree,
    VertexHistogram,
    WeightedDegree,
    WeisfeilerLehman,
    WeisfeilerLehmanOptimalAssignment,
)
from mercer.kernels.samples import take
from mercer.plots import FeatureWeightsDisplay, GraphDisplay, SequenceDisplay, TreeDisplay

STRINGS, MOTIF = make_sequences(30, length=14, motifs=["TATA"], letters="ACGT", random_state=0)
MOLECULES, IN_RING = make_molecules(30, random_state=0)
BONDS = [g.replace(edge_labels=["=" if i % 3 else "-" for i in range(g.n_edges)]) for g in MOLECULES]
# Lengths whose sums depend on their order in the last bits, and some that are zero; and some that lead one way.
ROADS = [
    g.replace(weights=np.where(draw < 0.1, 0.0, draw))
    for g in MOLECULES
    for draw in [np.random.default_rng(g.n_edges).random(g.n_edges)]
]
ONE_WAY = [Graph(g.n_nodes, g.edges, directed=True, node_labels=g.node_labels) for g in MOLECULES]
SHORT = [string[:7] for string in STRINGS]
TREES = [
    Tree.from_string(text)
    for text in (
        "(S (NP (D the) (N cat)) (VP (V sat)))",
        "(S (NP (D the) (N dog)) (VP (V sat)))",
        "(S (NP (N Paul)) (VP (V ate) (NP (D the) (N pie))))",
        "(S (NP (N Paul)) (VP (V saw) (NP (D the) (N cat))))",
        "(S (NP (N cat)) (VP (V sat)))",
        "(S (VP (V sat)))",
    )
]
HAS_OBJECT = [0, 0, 1, 1, 0, 0]
KERNELS = [
    Spectrum(3),
    Spectrum(3, blended=True),
    Spectrum(3).normalized(),
    GappedKmer(4, 3),
    Mismatch(4, 1),
    CommonSubstrings(decay=0.7),
    CommonSubstrings(decay=0.7, shortest=2, longest=4).normalized(),
    FixedSubsequences(2),
    GapWeighted(2, decay=0.6),
    GapWeighted(3, decay=0.6, blended=True),
    GapWeighted(2, decay=0.6).normalized(),
    WeightedDegree(3),
    WeightedDegree(3, shift=2),
    WeightedDegree(20),
    2.0 * Spectrum(2) + WeightedDegree(2).normalized() + 0.5,
    Spectrum(2) * WeightedDegree(2),
    0.5 * Spectrum(2).normalized() * (GappedKmer(3, 2) + 1) * Spectrum(1),
    Spectrum(2) ** 2,
    (WeightedDegree(2) + 0.5).normalized() ** 3,
    Spectrum(2).scaled(lambda X: np.arange(1.0, 1.0 + len(X)) ** 0),
]
ON_GRAPHS = [
    VertexHistogram(),
    WeisfeilerLehman(0),
    WeisfeilerLehman(2),
    WeisfeilerLehman(3).normalized(),
    WeisfeilerLehman(2, base=VertexHistogram()),
    WeisfeilerLehman(2, node_labels=False),
    EdgeHistogram(ends=True),
    WeisfeilerLehman(1) + 0.5 * EdgeHistogram(ends=True),
    ShortestPath(),
    ShortestPath(node_labels=False, unit=2.0).normalized(),
    Graphlet(3),
    Graphlet(3, connected=False),
    Graphlet(4).normalized(),
    Graphlet(5),
    Graphlet(3) * VertexHistogram(),
]
CASES = [(kernel, STRINGS, MOTIF) for kernel in KERNELS]
CASES += [(kernel, MOLECULES, IN_RING) for kernel in ON_GRAPHS]
CASES += [(kernel, BONDS, IN_RING) for kernel in (WeisfeilerLehman(2), EdgeHistogram(), EdgeHistogram(ends=True))]
CASES += [(kernel, ROADS, IN_RING) for kernel in (ShortestPath(), ShortestPath(unit=0.3), Graphlet(3))]
CASES += [(kernel, ONE_WAY, IN_RING) for kernel in (ShortestPath(), ShortestPath(node_labels=False))]
CASES += [(kernel, SHORT, MOTIF) for kernel in (AllSubsequences(), AllSubsequences().normalized())]
CASES += [(kernel, TREES, HAS_OBJECT) for kernel in (SubTree(), SubTree(leaves=True), SubsetTree(0.5))]


@pytest.mark.parametrize(("kernel", "X", "y"), CASES, ids=lambda value: repr(value)[:40])
def test_shares_and_offset_are_the_decision(kernel, X, y):
    machine = SVC(kernel, C=10.0).fit(X[4:], y[4:]) if X is not TREES else SVC(kernel, C=10.0).fit(X, y)
    for sample in (X[0], X[1], X[-1]):
        found = explain(machine, sample)
        np.testing.assert_allclose(found.decision, machine.decision_function([sample])[0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found.offset + found.shares.sum(), found.decision, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found.contributions.sum(), found.shares.sum(), rtol=1e-9, atol=1e-9)
        assert (np.diff(np.abs(found.contributions)) <= 1e-12).all()
        assert len(found.names) == len(found.counts) == len(set(found.names))
    # Pieces, constants among them, are all of the function.
    support, coefficients = machine.support_vectors_, machine.dual_coef_[0]
    adds = np.zeros(4)
    for part in take_apart(machine.kernel_, X[:4], support, coefficients):
        np.add.at(adds, part.owner, part.weight * part.value)
    np.testing.assert_allclose(adds, machine.kernel_(X[:4], support) @ coefficients, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("kernel", "X", "y"),
    [
        (Spectrum(3), STRINGS, MOTIF),
        (Spectrum(2, blended=True), STRINGS, MOTIF),
        (FixedSubsequences(2), STRINGS, MOTIF),
        (WeisfeilerLehman(2), MOLECULES, IN_RING),
        (WeisfeilerLehman(2), BONDS, IN_RING),
        (EdgeHistogram(ends=True), BONDS, IN_RING),
        (SubTree(), TREES, HAS_OBJECT),
        (ShortestPath(), ONE_WAY, IN_RING),
        (Graphlet(4), MOLECULES, IN_RING),
        (Graphlet(3, connected=False), MOLECULES, IN_RING),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_weights_of_features_are_the_vector_of_the_hyperplane(kernel, X, y):
    """Where pieces are the features themselves: equal names are equal features, and |w| is that of the machine."""
    machine = SVC(kernel, C=10.0, tol=1e-6).fit(X, y)
    names, weights, counts = feature_weights(machine)
    assert len(set(names)) == len(names)
    np.testing.assert_allclose(np.sqrt((weights**2).sum()), machine.norm_, rtol=1e-6)
    assert (np.diff(np.abs(weights)) <= 0).all() and (counts > 0).all()
    found = kernel._sparse_features(kernel.prepare(machine.support_vectors_)[0])
    assert counts.sum() >= found.values.sum() > 0
    assert np.count_nonzero(weights) <= len(np.unique(found.keys))


def test_names_are_pieces():
    machine = SVC(Spectrum(4), C=10.0).fit(STRINGS, MOTIF)
    names, weights, _ = feature_weights(machine)
    assert names[0] == "TATA" and weights[0] > 0
    found = explain(machine, "TATATATA")
    assert dict(zip(found.names, found.counts, strict=True)) == {"TATA": 3, "ATAT": 2}
    of_places = explain(SVC(WeightedDegree(2)).fit(STRINGS, MOTIF), STRINGS[0])
    assert f"{STRINGS[0][5:7]}@5" in of_places.names
    spread = explain(SVC(GapWeighted(2)).fit(STRINGS, MOTIF), STRINGS[0])
    assert "-".join(STRINGS[0][:2]) in spread.names


def test_sequences_of_any_symbols():
    words = [
        s.replace("A", "adenine ").replace("C", "c ").replace("G", "g ").replace("T", "t ").split() for s in STRINGS
    ]
    by_word, by_letter = (SVC(Spectrum(2)).fit(X, MOTIF) for X in (words, STRINGS))
    one, other = explain(by_word, words[1]), explain(by_letter, STRINGS[1])
    np.testing.assert_allclose(one.shares, other.shares, atol=1e-9)
    assert any("adenine t" in name for name in one.names)
    as_bytes = explain(SVC(Spectrum(2)).fit([s.encode() for s in STRINGS], MOTIF), STRINGS[1].encode())
    np.testing.assert_allclose(as_bytes.shares, other.shares, atol=1e-9)
    assert as_bytes.names == other.names


def test_letters_of_a_motif_carry_the_decision():
    machine = SVC(Spectrum(4), C=10.0).fit(STRINGS, MOTIF)
    sample = next(s for s, has in zip(STRINGS, MOTIF, strict=True) if has)
    at = sample.index("TATA")
    shares = explain(machine, sample).shares
    assert shares[at : at + 4].sum() > np.delete(shares, range(at, at + 4)).max()


def test_neighbourhoods_say_what_is_seen():
    path = Graph(3, [(0, 1), (1, 2)], node_labels="CNO", edge_labels=["=", 7])
    rounds = neighbourhoods(path, 2)
    assert [name for name, _ in rounds[1]] == ["C(=N)", "N(7:O,=C)", "O(7:N)"]
    assert [seen.tolist() for _, seen in rounds[1]] == [[0, 1], [0, 1, 2], [1, 2]]
    assert [seen.tolist() for _, seen in rounds[2]] == [[0, 1, 2]] * 3
    directed = Graph(2, [(0, 1)], node_labels="ab", directed=True)
    assert [name for name, _ in neighbourhoods(directed, 1)[1]] == ["a(b)", "b()"]
    assert [name for name, _ in neighbourhoods(directed, 0, node_labels=False)[0]] == ["o", "o"]


def test_pairs_of_nodes_by_the_path_between_them():
    path = Graph(4, [(0, 1), (1, 2)], node_labels="OCNH", weights=[1.0, 0.5])
    (found,) = take_apart(ShortestPath(), [path], [path, path], np.array([1.0, 2.0]))
    assert dict(zip(found.names, map(tuple, found.places), strict=True)) == {
        "C-1-O": (0, 1), "C-0.5-N": (1, 2), "N-1.5-O": (0, 2),
    }  # fmt: skip
    np.testing.assert_array_equal(found.weight, [6.0, 6.0, 6.0])  # three times both orders
    one_way = Graph(3, [(0, 1), (1, 2)], directed=True, node_labels="OCN")
    (found,) = take_apart(ShortestPath(), [one_way], [one_way, path], np.array([1.0, 5.0]))
    weights = dict(zip(found.names, found.weight.tolist(), strict=True))
    assert weights == {"O-1->C": 6.0, "C-1->N": 1.0, "O-2->N": 1.0}
    (found,) = take_apart(ShortestPath(node_labels=False, unit=1.0), [path], [path], np.ones(1))
    assert sorted(found.names) == ["o-1-o", "o-1-o", "o-2-o"]  # halves are rounded up


def test_small_subgraphs_by_their_edges():
    triangle_with_tail = Graph(4, [(0, 1), (1, 2), (0, 2), (2, 3)], weights=[0.0, 1.0, 1.0, 1.0])
    (found,) = take_apart(Graphlet(3), [triangle_with_tail], [triangle_with_tail], np.array([2.0]))
    assert list(zip(found.names, map(tuple, found.places), found.weight.tolist(), strict=True)) == [
        ("ab ac bc", (0, 1, 2), 2.0), ("ab ac", (0, 2, 3), 4.0), ("ab ac", (1, 2, 3), 4.0),
    ]  # fmt: skip
    with_alone = Graph(4, [(0, 1)])
    (found,) = take_apart(Graphlet(3, connected=False), [with_alone], [with_alone], np.ones(1))
    assert sorted(found.names) == ["a b c", "a b c", "ab c", "ab c"]
    (none,) = take_apart(Graphlet(3), [Graph(2, [(0, 1)])], [with_alone], np.ones(1))
    assert none.names == [] and none.weight.shape == (0,)


def test_pieces_of_products_are_pairs():
    machine = SVC(Spectrum(2) * Spectrum(1)).fit(["BA", "AB", "BB", "AC"], [1, 1, 0, 0])
    found = explain(machine, "ABA")
    assert dict(zip(found.names, found.counts, strict=True)) == {
        "AB and A": 2, "AB and B": 1, "BA and A": 2, "BA and B": 1,
    }  # fmt: skip
    adds = dict(zip(found.names, found.contributions, strict=True))
    known = list(zip(machine.dual_coef_[0], machine.support_vectors_, strict=True))
    one = {pair: sum(c * s.count(pair) * s.count("A") for c, s in known) for pair in ("AB", "BA")}
    np.testing.assert_allclose([adds["AB and A"], adds["BA and A"]], [2 * one["AB"], 2 * one["BA"]], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(feature_weights(machine).weights), machine.norm_, rtol=1e-9)
    # AB with the A in it, with the other A, and with B.
    pieces = take_apart(machine.kernel_, ["ABA"], ["AB"], np.ones(1))[0]
    assert [places.tolist() for places in pieces.places[:3]] == [[0, 1], [0, 1], [0, 1, 2]]


def table(rows, container):
    """Columns of strings, graphs, categories and numbers."""
    columns = {
        "unused": np.zeros(rows),
        "seq": STRINGS[:rows],
        "graph": MOLECULES[:rows],
        "site": ["liver" if i % 3 else "heart" for i in range(rows)],
        "age": np.linspace(20.0, 60.0, rows),
        "bmi": np.linspace(30.0, 20.0, rows) ** 1.1,
    }
    if container == "dict":
        return columns
    return pytest.importorskip("pandas").DataFrame(columns, index=np.arange(rows) + 100)


@pytest.mark.parametrize("container", ["dict", "frame"])
@pytest.mark.parametrize("together", [False, True])
def test_rows_of_tables(container, together):
    rows = table(30, container)
    kernel = On("seq", Spectrum(2)) + On("graph", VertexHistogram()) + On("site", Hamming()) + 0.5
    kernel += On(["age", "bmi"], RBF(gamma=0.01))
    if together:
        kernel = (kernel * On("site", Hamming())).normalized()
    machine = SVC(kernel, C=10.0).fit(rows, MOTIF)
    sample = take(rows, slice(3, 4))
    found = explain(machine, sample)
    np.testing.assert_allclose(found.decision, machine.decision_function(sample)[0], rtol=1e-9)
    np.testing.assert_allclose(found.offset + found.shares.sum(), found.decision, rtol=1e-12)
    assert found.shares.shape == (6,) and found.shares[0] == 0.0 and np.count_nonzero(found.shares) == 5
    if together:
        return
    adds = dict(zip(found.names, found.contributions, strict=True))
    pieces = explain(SVC(Spectrum(2)).fit(STRINGS, MOTIF), STRINGS[3]).names
    assert {name for name in adds if name.startswith("seq: ")} == {f"seq: {piece}" for piece in pieces}
    # What a column adds is what its term adds.
    for term, columns in zip(machine.kernel_.kernels, [[1], [2], [3], None, [4, 5]], strict=True):
        if columns is not None:
            adds_alone = float(term(sample, machine.support_vectors_)[0] @ machine.dual_coef_[0])
            np.testing.assert_allclose(found.shares[columns].sum(), adds_alone, atol=1e-9)
    age, bmi = (list(rows[column])[3] for column in ("age", "bmi"))
    assert found.shares[4] == found.shares[5] == adds[f"age={age:.6g}, bmi={bmi:.6g}"] / 2
    assert adds["site=heart"] == found.shares[3]
    names, weights, _ = feature_weights(machine)
    assert {"site=heart", "site=liver", "graph: C"} <= set(names)
    np.testing.assert_allclose(weights[names.index("site=heart")], adds["site=heart"], rtol=1e-9)


def test_tables_within_tables():
    rows = table(30, "dict")
    plain = On("seq", Spectrum(2)) + On("age", RBF(gamma=0.1))
    machines = [SVC(kernel).fit(rows, MOTIF) for kernel in (plain, On(["age", "seq"], plain))]
    one, other = (explain(machine, take(rows, slice(0, 1))) for machine in machines)
    assert one.names == other.names and np.count_nonzero(one.shares) == 2
    np.testing.assert_array_equal(one.shares, other.shares)


def test_long_contents_of_columns_are_told_apart():
    rows = {"graph": MOLECULES, "text": [s * 4 for s in STRINGS], "seen": [True, False, 2.5] * 10}
    kernel = On("graph", WeisfeilerLehmanOptimalAssignment(1)) + On("text", LocalAlignment()) + On("seen", Hamming())
    graphs, texts, seen = take_apart(kernel, rows, take(rows, slice(0, 5)), np.arange(5.0))
    assert len(set(texts.names)) == 30 and texts.names[0].startswith("text=str ")
    assert len(set(graphs.names)) == len(set(MOLECULES)) and graphs.names[0].startswith("graph=Graph ")
    assert [name[:9] for name in seen.names[:3]] == ["seen=True", "seen=Fals", "seen=2.5"]


def test_names_that_are_cut_short_stay_apart():
    complete = [Graph.from_adjacency(1 - np.eye(7), node_labels=[*"ABCDEF", last]) for last in "GHGH"]
    machine = SVC(WeisfeilerLehman(3), C=10.0).fit(complete, [0, 1, 0, 1])
    names, weights, _ = feature_weights(machine)
    np.testing.assert_allclose(np.sqrt((weights**2).sum()), machine.norm_, rtol=1e-4)
    assert any("…" in name for name in names) and max(map(len, names)) < 200


@pytest.mark.parametrize("machine", [SVR(Spectrum(2)), KernelRidge(Spectrum(2)), OneClassSVM(Spectrum(2), nu=0.5)])
def test_other_machines(machine):
    machine.fit(STRINGS, MOTIF.astype(float))
    found = explain(machine, STRINGS[0])
    value = machine.predict if not isinstance(machine, OneClassSVM) else machine.decision_function
    np.testing.assert_allclose(found.offset + found.shares.sum(), value([STRINGS[0]])[0], atol=1e-9)


def test_several_classes_and_several_kernels():
    y = np.arange(30) % 3
    machine = SVC(Spectrum(2), multi_class="ovr").fit(STRINGS, y)
    raw = machine.kernel_([STRINGS[0]], machine.support_vectors_) @ machine.dual_coef_.T + machine.intercept_
    for k in range(3):
        np.testing.assert_allclose(explain(machine, STRINGS[0], function=k).decision, raw[0, k], atol=1e-9)
    together = MKLClassifier([Spectrum(2), WeightedDegree(2)], norm=2.0).fit(STRINGS, MOTIF)
    found = explain(together, STRINGS[0])
    np.testing.assert_allclose(
        found.offset + found.shares.sum(), together.decision_function([STRINGS[0]])[0], atol=1e-8
    )
    np.testing.assert_allclose(found.offset, together.intercept_[0], atol=1e-8)


def test_weights_of_places_are_conditional_means():
    X, y = make_sequences(20, length=4, motifs=["AB"], letters="ABC", random_state=1)
    background = {"A": 0.5, "B": 0.3, "C": 0.2}
    for kernel in (WeightedDegree(3), 2 * WeightedDegree(3).normalized() + 1):
        machine = SVC(kernel, C=10.0).fit(X, y)
        symbols, weights = positional_weights(machine, background=background)
        assert symbols == ["A", "B", "C"] and weights.shape == (4, 3)
        everything = ["".join(letters) for letters in product("ABC", repeat=4)]
        chance = np.array([np.prod([background[letter] for letter in string]) for string in everything])
        values = machine.decision_function(everything)
        for j, (k, symbol) in product(range(4), enumerate(symbols)):
            there = np.array([string[j] == symbol for string in everything])
            expected = chance[there] @ values[there] / chance[there].sum() - chance @ values
            np.testing.assert_allclose(weights[j, k], expected, atol=1e-9)
    np.testing.assert_allclose(weights @ list(background.values()), 0.0, atol=1e-12)


def test_a_kernel_of_ones_own():
    class Firsts(Spectrum):
        """Counts the first letter alone, whatever the rest is."""

    take_apart.register(Firsts)(
        lambda kernel, X, support, coefficients: [
            Pieces(np.arange(len(X)), ["own"] * len(X), [np.array([0])] * len(X), np.ones(len(X)), np.ones(len(X)))
        ]
    )
    assert explain(SVC(Firsts(2)).fit(STRINGS, MOTIF), STRINGS[0]).names == ["own"]


def test_refusals():
    with pytest.raises(TypeError, match=r"sums over pieces of a sample, such as Spectrum.*got RBF"):
        explain(SVC(RBF(gamma=1.0)).fit([[0.0], [1.0]], [0, 1]), [0.0])
    refused = LocalAlignment(), Spectrum(2) * LocalAlignment(), Spectrum(2).exp(), Spectrum(2) + Constant(2.0) ** 0.5
    for kernel in refused:
        with pytest.raises(TypeError, match="kernel must be one whose values are sums over pieces"):
            explain(SVC(kernel).fit(STRINGS, MOTIF), STRINGS[0])
    for kernel in (WeisfeilerLehmanOptimalAssignment(1), WeisfeilerLehman(1, base=ShortestPath())):
        with pytest.raises(TypeError, match="kernel must be one whose values are sums over pieces"):
            feature_weights(SVC(kernel).fit(MOLECULES, IN_RING))
    machine = SVC(Spectrum(2)).fit(STRINGS, MOTIF)
    with pytest.raises(ValueError, match="function must be an int >= 0 and <= 0, got 1"):
        explain(machine, STRINGS[0], function=1)
    K = Spectrum(2)(STRINGS)
    with pytest.raises(TypeError, match="explain needs a machine with one kernel on samples"):
        explain(SVC("precomputed").fit(K, MOTIF), K[0])
    with pytest.raises(ValueError, match="pieces in these samples, at most 1000000 can be listed"):
        explain(SVC(FixedSubsequences(5)).fit(STRINGS, MOTIF), "ACGT" * 30)
    longest = SVC(AllSubsequences().normalized()).fit(STRINGS, MOTIF)
    with pytest.raises(ValueError, match=r"AllSubsequences\(\) has 1048576 pieces in these samples"):
        explain(longest, "A" * 20)
    with pytest.raises(ValueError, match=r"has 1685159 pieces in these samples, at most 1000000"):
        explain(SVC(Spectrum(1) ** 3).fit(STRINGS, MOTIF), "A" * 119)
    on_table = SVC(On("seq", Spectrum(2))).fit({"seq": STRINGS}, MOTIF)
    with pytest.raises(ValueError, match=r"sample must be a table of one row, such as X\[:1\], got 2 rows"):
        explain(on_table, {"seq": STRINGS[:2]})
    with pytest.raises(DomainError, match="works on tables with named columns"):
        explain(on_table, STRINGS[0])
    with pytest.raises(TypeError, match="kernel must be WeightedDegree without shift"):
        positional_weights(machine)
    with pytest.raises(TypeError, match="kernel must be WeightedDegree without shift"):
        positional_weights(SVC(WeightedDegree(2, shift=1)).fit(STRINGS, MOTIF))
    by_place = SVC(WeightedDegree(2)).fit(STRINGS, MOTIF)
    with pytest.raises(ValueError, match="background must have a probability for every symbol, 'T' has none"):
        positional_weights(by_place, background={"A": 0.5, "C": 0.25, "G": 0.25})
    with pytest.raises(ValueError, match="probabilities >= 0 that add up to 1"):
        positional_weights(by_place, background={"A": 0.5, "C": 0.5, "G": 0.5, "T": 0.5})


# --- pictures ---------------------------------------------------------------------------------------------


def test_letters_are_as_high_as_their_shares():
    machine = SVC(Spectrum(3), C=10.0).fit(STRINGS, MOTIF)
    display = SequenceDisplay.from_estimator(machine, STRINGS[1])
    shares = explain(machine, STRINGS[1]).shares
    np.testing.assert_array_equal(display.heights[:, 0], shares)
    assert [some[0] for some in display.letters] == list(STRINGS[1])
    drawn = np.flatnonzero(shares)
    assert len(display.letters_) == len(drawn)
    for place, patch in zip(drawn, display.letters_, strict=True):
        box = patch.get_path().get_extents()
        np.testing.assert_allclose([box.x0, box.x1], [place + 0.05, place + 0.95], atol=1e-9)
        np.testing.assert_allclose(sorted([box.y0, box.y1]), sorted([0.0, shares[place]]), atol=1e-9)
        assert patch.get_facecolor() == to_rgba("C1" if shares[place] > 0 else "C0")


def test_letters_of_a_place_stand_upon_each_other():
    heights = np.array([[0.5, 2.0, -1.0], [0.0, 0.0, 0.0]])
    display = SequenceDisplay([["A", "B", "C"]] * 2, heights).plot()
    boxes = [patch.get_path().get_extents() for patch in display.letters_]
    np.testing.assert_allclose([(box.y0, box.y1) for box in boxes], [(0.0, 0.5), (0.5, 2.5), (-1.0, 0.0)], atol=1e-9)
    low, high = display.ax_.get_ylim()
    assert low < -1.0 and high > 2.5


def test_lines_of_letters():
    display = SequenceDisplay("ABCDE", [1.0, 1.0, -1.0, 1.0, 1.0], per_line=2).plot()
    lefts = [patch.get_path().get_extents().x0 for patch in display.letters_]
    np.testing.assert_allclose(lefts, [0.05, 1.05, 0.05, 1.05, 0.05], atol=1e-9)
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["0", "2", "4"]
    rows = np.array([patch.get_path().get_extents().y0 for patch in display.letters_])
    assert rows[0] == rows[1] > rows[3] > rows[4]


def test_logo_of_places():
    machine = SVC(WeightedDegree(3), C=10.0).fit(STRINGS, MOTIF)
    display = SequenceDisplay.from_positions(machine)
    symbols, weights = positional_weights(machine)
    assert display.letters == [symbols] * 14
    np.testing.assert_array_equal(display.heights, weights)
    blanks = SequenceDisplay(["a", " ", "b"], [1.0, 1.0, 1.0]).plot()
    assert len(blanks.letters_) == 3


def test_nodes_have_the_colours_of_their_shares():
    machine = SVC(WeisfeilerLehman(2), C=10.0).fit(MOLECULES, IN_RING)
    display = GraphDisplay.from_estimator(machine, MOLECULES[1])
    shares = explain(machine, MOLECULES[1]).shares
    np.testing.assert_array_equal(display.values, shares)
    np.testing.assert_array_equal(display.nodes_.get_array(), shares)
    assert display.nodes_.get_clim() == (-np.abs(shares).max(), np.abs(shares).max())
    np.testing.assert_array_equal(display.nodes_.get_offsets(), display.places)
    ends = np.array(display.edges_.get_segments())
    np.testing.assert_array_equal(ends, display.places[MOLECULES[1].edges])
    assert [text.get_text() for text in display.ax_.texts] == list(MOLECULES[1].node_labels)


def test_graphs_without_weights_and_at_given_places():
    graph = Graph.from_edges([("a", "b")], edge_labels=["="])
    display = GraphDisplay.from_graph(graph, places={"b": (1.0, 0.0), "a": (0.0, 0.0)})
    np.testing.assert_array_equal(display.places, [[0.0, 0.0], [1.0, 0.0]])
    assert display.colorbar_ is None and [text.get_text() for text in display.ax_.texts] == ["="]
    assert GraphDisplay.from_graph(Graph(1, [])).nodes_.get_offsets().shape == (1, 2)


def test_heaviest_features_as_bars():
    machine = SVC(Spectrum(4), C=10.0).fit(STRINGS, MOTIF)
    display = FeatureWeightsDisplay.from_estimator(machine, n_each=3)
    names, weights, counts = feature_weights(machine)
    up = [k for k in range(len(names)) if weights[k] > 0][:3]
    down = [k for k in range(len(names)) if weights[k] < 0][:3]
    assert display.names == [names[k] for k in (*up, *down[::-1])]
    assert [bar.get_width() for bar in display.bars_] == display.weights.tolist()
    np.testing.assert_array_equal(display.counts, counts[[*up, *down[::-1]]])
    assert [bar.get_facecolor() for bar in display.bars_] == [to_rgba("C1")] * 3 + [to_rgba("C0")] * 3
    assert [text.get_text() for text in display.ax_.texts] == list(map(str, display.counts))
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == display.names
    long = FeatureWeightsDisplay(["x" * 50], [1.0]).plot()
    assert len(long.ax_.get_yticklabels()[0].get_text()) == 40


def test_nodes_of_a_tree_have_weights():
    machine = SVC(SubTree(), C=10.0).fit(TREES, HAS_OBJECT)
    display = TreeDisplay.from_estimator(machine, TREES[2])
    np.testing.assert_array_equal(display.values, explain(machine, TREES[2]).shares)
    assert display.labels == [label for label, _ in TREES[2].preorder()]
    boxes = [text.get_bbox_patch().get_facecolor() for text in display.texts_]
    np.testing.assert_allclose(boxes, display.colorbar_.mappable.to_rgba(display.values), atol=1e-9)


def test_display_refusals():
    machine = SVC(Spectrum(2)).fit(STRINGS, MOTIF)
    with pytest.raises(ValueError, match="per_line must be an int >= 1, got 0"):
        SequenceDisplay.from_estimator(machine, STRINGS[0], per_line=0)
    with pytest.raises(ValueError, match=r"a number for each letter of 2 places, got shape \(3,\)"):
        SequenceDisplay("AB", [1, 2, 3])
    with pytest.raises(TypeError, match=r"graph must be a mercer.data.Graph, got str"):
        GraphDisplay.from_estimator(machine, "ACGT")
    with pytest.raises(ValueError, match=r"values must have one number for each of 2 nodes, got shape \(1,\)"):
        GraphDisplay.from_graph(Graph(2, []), [1.0])
    with pytest.raises(ValueError, match=r"places must have shape \(2, 2\), got \(1, 2\)"):
        GraphDisplay.from_graph(Graph(2, []), places=[[0, 0]])
    with pytest.raises(ValueError, match="n_each must be an int >= 1, got 0"):
        FeatureWeightsDisplay.from_estimator(machine, n_each=0)
    with pytest.raises(ValueError, match=r"weights must be one for each of 1 names, got shape \(2,\)"):
        FeatureWeightsDisplay(["a"], [1, 2])
    with pytest.raises(TypeError, match=r"tree must be a mercer.data.Tree, got str"):
        TreeDisplay.from_estimator(machine, "ACGT")
    with pytest.raises(ValueError, match=r"values must have one number for each of 1 nodes, got shape \(2,\)"):
        TreeDisplay(["a"], [-1], [[0, 0]], values=[1, 2])
