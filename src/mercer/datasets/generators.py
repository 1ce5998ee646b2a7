"""Samples that are drawn by a rule: the toy sets of the texts, and stand-ins for data that cannot be passed on."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils import check_random_state

from mercer.data.graph import Graph
from mercer.parameters import Number

__all__ = [
    "make_checkerboard",
    "make_compounds",
    "make_ellipse",
    "make_majority_rule",
    "make_molecules",
    "make_overlapping_classes",
    "make_rings",
    "make_sequences",
    "make_sinusoid",
    "make_spirals",
    "make_two_clusters",
]

RESIDUES = "ACDEFGHIKLMNPQRSTVWY"


def make_majority_rule(n_samples: int = 200, *, n_bits: int = 20, random_state: Any = None) -> tuple[Any, np.ndarray]:
    """Draw strings of bits, labelled by whether ones are in the majority.

    The rule has no noise and is linear, :math:`y = +1` where :math:`\\sum_f x_f > n/2` for n bits, so that a machine
    can learn it without an error ([1]_, figure 1.7).

    Parameters
    ----------
    n_samples : int >= 1, default=200
    n_bits : int >= 1, default=20
        Larger is harder: more strings are close to the border.
    random_state : int, Generator, RandomState or None, default=None
        A Generator goes on from where it is, so that two calls with it give different samples.

    Returns
    -------
    X : ndarray of shape (n_samples, n_bits)
        Zeros and ones.
    y : ndarray of shape (n_samples,)
        +1 where there are more ones than zeros, -1 where there are not.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 1.8.

    Examples
    --------
    >>> from mercer.datasets import make_majority_rule
    >>> X, y = make_majority_rule(4, n_bits=5, random_state=0)
    >>> X.sum(axis=1), y
    (array([3., 1., 5., 5.]), array([ 1, -1,  1,  1]))
    """
    _check(n_samples=(n_samples, COUNT), n_bits=(n_bits, COUNT))
    X = _generator(random_state).integers(0, 2, size=(n_samples, n_bits)).astype(np.float64)
    return X, np.where(X.sum(axis=1) > n_bits / 2, +1, -1)


def make_sinusoid(
    n_samples: int = 10, *, noise: float = 0.3, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw values of a sinusoid with noise, a regression problem on the line.

    .. math:: t_n = \\sin(2 \\pi x_n) + \\epsilon_n, \\qquad \\epsilon_n \\sim \\mathcal N(0, \\text{noise}^2),

    for x at equal steps from 0 to 1: the data of [1]_, figures 7.8 and 7.9.

    Parameters
    ----------
    n_samples : int >= 1, default=10
    noise : float >= 0, default=0.3
        Standard deviation of the values from the sinusoid.
    random_state : int, Generator, RandomState or None, default=None
        A Generator goes on from where it is, so that two calls with it give different values.

    Returns
    -------
    X : ndarray of shape (n_samples, 1)
    y : ndarray of shape (n_samples,)

    References
    ----------
    .. [1] C. M. Bishop, Pattern Recognition and Machine Learning, 2006, appendix A.

    Examples
    --------
    >>> from mercer.datasets import make_sinusoid
    >>> X, y = make_sinusoid(5, noise=0.0)
    >>> X.ravel(), abs(y.round(12))
    (array([0.  , 0.25, 0.5 , 0.75, 1.  ]), array([0., 1., 0., 1., 0.]))
    """
    _check(n_samples=(n_samples, COUNT), noise=(noise, SPREAD))
    x = np.linspace(0.0, 1.0, n_samples)
    return x[:, np.newaxis], np.sin(2 * np.pi * x) + noise * _generator(random_state).normal(size=n_samples)


def make_ellipse(n_samples: int = 200, *, gap: float = 0.0, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Draw points inside and outside of an ellipse, which no line separates and a quadric does.

    The border is :math:`q(x) = 8 (x_1 - 1)^2 + 50 (x_2 - 2)^2 = 1` ([1]_, eq. 10.60 and figure 10.8). Points lie in
    the box of twice its width and height, half of them inside, uniformly in either part. They are linearly separable
    in :math:`(x_1^2, x_1, x_2^2, x_2)`.

    Parameters
    ----------
    n_samples : int >= 1, default=200
    gap : float >= 0 and < 1, default=0.0
        Points with :math:`|q(x) - 1|` below it are not drawn; larger separates the classes by more.
    random_state : int, Generator, RandomState or None, default=None
        A Generator goes on from where it is, so that two calls with it give different samples.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        1 inside, 0 outside.

    References
    ----------
    .. [1] C. C. Aggarwal, Data Mining: The Textbook, 2015, section 10.6.3.

    Examples
    --------
    >>> from mercer.datasets import make_ellipse
    >>> X, y = make_ellipse(6, gap=0.2, random_state=0)
    >>> (8 * (X[:, 0] - 1) ** 2 + 50 * (X[:, 1] - 2) ** 2 < 1).astype(int), y
    (array([0, 1, 0, 1, 0, 1]), array([0, 1, 0, 1, 0, 1]))
    """
    _check(n_samples=(n_samples, COUNT), gap=(gap, Number(0, 1, below=True)))
    rng, y = _generator(random_state), np.arange(n_samples) % 2
    inside = y == 1
    unit, missing = np.empty((n_samples, 2)), np.ones(n_samples, dtype=bool)
    while missing.any():  # in units of the half axes, q is the squared length
        unit[missing] = rng.uniform(-2.0, 2.0, size=(missing.sum(), 2))
        q = (unit**2).sum(axis=1)
        missing = np.where(inside, q > 1 - gap, q < 1 + gap)
    return [1.0, 2.0] + unit / np.sqrt([8.0, 50.0]), y


def make_two_clusters(n_samples: int = 60, *, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Draw two clusters in the plane, of different shape and density, to put a boundary around.

    Two thirds of the points are a long bent cluster, the others a round and narrower one: a task for novelty
    detection, as in figure 2.2 of [1]_.

    Parameters
    ----------
    n_samples : int >= 1, default=60
    random_state : int, Generator, RandomState or None, default=None
        A Generator goes on from where it is, so that two calls with it give different samples.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        The cluster, 0 for the long one. Novelty detectors do without.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 2.4.

    Examples
    --------
    >>> from mercer.datasets import make_two_clusters
    >>> X, y = make_two_clusters(6, random_state=0)
    >>> X.shape, y
    ((6, 2), array([0, 0, 1, 0, 0, 1]))
    """
    _check(n_samples=(n_samples, COUNT))
    rng, y = _generator(random_state), (np.arange(n_samples) % 3 == 2).astype(int)
    along, away = rng.uniform(-1.0, 1.0, n_samples), rng.normal(size=(n_samples, 2))
    bent = np.column_stack([1.6 * along, 1.0 - 0.9 * along**2]) + 0.15 * away
    round_ = [0.3, -1.5] + 0.3 * away
    return np.where(y[:, np.newaxis] == 1, round_, bent), y


def make_overlapping_classes(
    n_samples: int = 200, *, spread: float = 0.45, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw two classes in the plane that overlap, of which one has two parts.

    Class 0 is a mixture of two Gaussians to the left and to the right, class 1 a single one between and above them,
    elongated: as the synthetic data of [1]_, figures 7.4 and 7.12, are made, with means and widths of our own.

    Parameters
    ----------
    n_samples : int >= 1, default=200
    spread : float > 0, default=0.45
        Standard deviation of every Gaussian in its narrow direction; larger overlaps more.
    random_state : int, Generator, RandomState or None, default=None
        A Generator goes on from where it is, so that two calls with it give different samples.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        0 and 1, equally often.

    References
    ----------
    .. [1] C. M. Bishop, Pattern Recognition and Machine Learning, 2006, appendix A.

    Examples
    --------
    >>> from mercer.datasets import make_overlapping_classes
    >>> X, y = make_overlapping_classes(6, random_state=0)
    >>> X.shape, y
    ((6, 2), array([0, 1, 0, 1, 0, 1]))
    """
    _check(n_samples=(n_samples, COUNT), spread=(spread, Number(0, above=True)))
    rng, number = _generator(random_state), np.arange(n_samples)
    part = np.where(number % 2 == 1, 2, (number // 2) % 2)
    means = np.array([[-1.1, -0.4], [1.2, -0.2], [0.0, 0.7]])
    widths = spread * np.array([[1.0, 1.3], [1.0, 1.3], [1.6, 1.0]])
    return means[part] + widths[part] * rng.normal(size=(n_samples, 2)), number % 2


def make_rings(n_samples: int = 200, *, noise: float = 0.35, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Draw two rings around the origin, whose radii are 1 and 2 up to noise.

    Parameters
    ----------
    n_samples : int >= 1, default=200
    noise : float >= 0, default=0.35
        Standard deviation of the radius; from about 0.2 on, the rings overlap.
    random_state : int, Generator, RandomState or None, default=None
        A Generator goes on from where it is, so that two calls with it give different samples.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        1 for the inner ring; each with probability one half.

    See Also
    --------
    sklearn.datasets.make_circles : Noise in the plane, and other radii.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import make_rings
    >>> X, y = make_rings(5, noise=0.0, random_state=0)
    >>> np.linalg.norm(X, axis=1).round(6), y
    (array([2., 1., 1., 1., 2.]), array([0, 1, 1, 1, 0]))
    """
    _check(n_samples=(n_samples, COUNT), noise=(noise, SPREAD))
    rng = _generator(random_state)
    inside = rng.random(n_samples) < 0.5
    angle = rng.uniform(0, 2 * np.pi, n_samples)
    radius = np.where(inside, 1.0, 2.0) + noise * rng.normal(size=n_samples)
    return radius[:, np.newaxis] * np.column_stack([np.cos(angle), np.sin(angle)]), inside.astype(int)


def make_checkerboard(
    n_samples: int = 400, *, n_fields: int = 4, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw points of a square, coloured as a checkerboard.

    Parameters
    ----------
    n_samples : int >= 1, default=400
    n_fields : int >= 1, default=4
        Fields along a side; larger is harder.
    random_state : int, Generator, RandomState or None, default=None
        A Generator goes on from where it is, so that two calls with it give different samples.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        From 0 to `n_fields`.
    y : ndarray of shape (n_samples,)
        The colour, 0 or 1.

    Examples
    --------
    >>> from mercer.datasets import make_checkerboard
    >>> X, y = make_checkerboard(3, random_state=0)
    >>> X.astype(int).tolist(), y
    ([[2, 1], [0, 0], [3, 3]], array([1, 0, 0]))
    """
    _check(n_samples=(n_samples, COUNT), n_fields=(n_fields, COUNT))
    X = _generator(random_state).uniform(0, n_fields, size=(n_samples, 2))
    return X, np.floor(X).astype(int).sum(axis=1) % 2


def make_spirals(
    n_samples: int = 300, *, n_turns: float = 1.5, noise: float = 0.02, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw two spirals that wind around each other.

    Parameters
    ----------
    n_samples : int >= 1, default=300
    n_turns : float > 0, default=1.5
        Larger is harder.
    noise : float >= 0, default=0.02
        Standard deviation of the points from their spiral, in both directions; the spirals end at radius 1.
    random_state : int, Generator, RandomState or None, default=None
        A Generator goes on from where it is, so that two calls with it give different samples.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        The spiral, 0 and 1 in turn.

    Examples
    --------
    >>> from mercer.datasets import make_spirals
    >>> X, y = make_spirals(4, random_state=0)
    >>> X.shape, y
    ((4, 2), array([0, 1, 0, 1]))
    """
    _check(n_samples=(n_samples, COUNT), n_turns=(n_turns, Number(0, above=True)), noise=(noise, SPREAD))
    rng, y = _generator(random_state), np.arange(n_samples) % 2
    radius = np.sqrt(rng.uniform(0.02, 1, n_samples))
    angle = 2 * np.pi * n_turns * radius + np.pi * y
    curve = radius[:, np.newaxis] * np.column_stack([np.cos(angle), np.sin(angle)])
    return curve + rng.normal(0, noise, (n_samples, 2)), y


def make_sequences(
    n_samples: int = 200,
    *,
    length: int = 30,
    motifs: Sequence[str] = ("WKRGD",),
    letters: str = RESIDUES,
    mutation: float = 0.0,
    random_state: Any = None,
) -> tuple[list[str], np.ndarray]:
    """Draw random strings, some of which have a motif somewhere.

    Letters are independent and equally likely. Class 0 is left as it is; in a string of class k the k-th motif stands
    at a random place.

    Parameters
    ----------
    n_samples : int >= 1, default=200
    length : int >= 1, default=30
        Of a string; longer ones hide a motif better, and contain one by chance more often.
    motifs : sequence of str, default=("WKRGD",)
        One for every class but the first, not empty and not longer than a string.
    letters : str, default="ACDEFGHIKLMNPQRSTVWY"
        The alphabet, by default the residues of proteins.
    mutation : float >= 0 and <= 1, default=0.0
        The probability of a letter of a motif to be replaced by any letter; larger is harder.
    random_state : int, Generator, RandomState or None, default=None
        A Generator goes on from where it is, so that two calls with it give different strings.

    Returns
    -------
    X : list of n_samples str
    y : ndarray of shape (n_samples,)
        The class, each equally often.

    See Also
    --------
    load_promoters, load_splice : Real strings of DNA.

    Examples
    --------
    >>> from mercer.datasets import make_sequences
    >>> X, y = make_sequences(4, length=12, motifs=["TATA"], letters="ACGT", random_state=0)
    >>> ["TATA" in string for string in X], y
    ([False, True, False, True], array([0, 1, 0, 1]))
    """
    _check(n_samples=(n_samples, COUNT), length=(length, COUNT), mutation=(mutation, Number(0, 1)))
    if isinstance(motifs, str) or not all(isinstance(one, str) and 0 < len(one) <= length for one in motifs):
        raise ValueError(f"motifs must be strings of 1 to length={length} letters, got {motifs!r}.")
    if not isinstance(letters, str) or not letters:
        raise ValueError(f"letters must be a str that is not empty, got {letters!r}.")
    rng, y = _generator(random_state), np.arange(n_samples) % (len(motifs) + 1)
    alphabet = np.array(list(letters))
    X = []
    for kind in y.tolist():
        string = rng.choice(alphabet, length)
        if kind:
            motif = np.array(list(motifs[kind - 1]))
            motif = np.where(rng.random(len(motif)) < mutation, rng.choice(alphabet, len(motif)), motif)
            at = rng.integers(length - len(motif) + 1)
            string = np.concatenate([string[:at], motif, string[at + len(motif) :]])
        X.append("".join(string))
    return X, y


def make_molecules(
    n_samples: int = 200, *, n_atoms: tuple[int, int] = (14, 18), oxygen: float = 0.3, random_state: Any = None
) -> tuple[list[Graph], np.ndarray]:
    """Draw graphs that look like molecules, labelled by the place of their nitrogen.

    A ring of six atoms grows branches at random, up to three bonds an atom. Some ends become oxygen. One atom with two
    bonds becomes nitrogen, in a branch or in the ring. All have one N, so that atoms alone tell nothing: a kernel has
    to look at neighbourhoods.

    Parameters
    ----------
    n_samples : int >= 1, default=200
    n_atoms : pair of int, default=(14, 18)
        The least and the largest number of atoms, at least 8.
    oxygen : float >= 0 and <= 1, default=0.3
        The probability of an end to be oxygen.
    random_state : int, Generator, RandomState or None, default=None
        A Generator goes on from where it is, so that two calls with it give different graphs.

    Returns
    -------
    X : list of n_samples Graph
        Nodes have the labels "C", "N" and "O"; the first six are the ring.
    y : ndarray of shape (n_samples,)
        1 where the nitrogen is in the ring, 0 where it is in a branch; equally often.

    See Also
    --------
    load_dataset : Real molecules of the TU Dortmund collection, from files that you have.

    Examples
    --------
    >>> from mercer.datasets import make_molecules
    >>> X, y = make_molecules(2, random_state=0)
    >>> X[0], [graph.node_labels.index("N") < 6 for graph in X], y
    (Graph(18 nodes, 18 edges, node labels), [False, True], array([0, 1]))
    """
    _check(n_samples=(n_samples, COUNT), oxygen=(oxygen, Number(0, 1)))
    sizes = np.asarray(n_atoms)
    if sizes.shape != (2,) or sizes.dtype.kind not in "iu" or not 8 <= sizes[0] <= sizes[1]:
        raise ValueError(f"n_atoms must be two ints, 8 <= least <= largest, got {n_atoms!r}.")
    rng, y = _generator(random_state), np.arange(n_samples) % 2
    return [_molecule(rng, rng.integers(sizes[0], sizes[1] + 1), kind == 1, oxygen) for kind in y], y


def make_compounds(
    n_samples: int = 1316, *, n_active: int = 39, n_features: int = 139_351, random_state: Any = None
) -> tuple[Any, np.ndarray]:
    """Draw compounds with binary shape features, few of which are active, as a screening for drugs meets them.

    A feature says whether a compound has a certain shape. Some shapes are frequent and most are rare. Compounds come
    in families that share a scaffold, of which each compound has a part, besides shapes of its own. What binds are
    shapes that fit the protein; families have few or many of them. Those compounds are active that have most, give or
    take the noise of the assay. The default numbers are those of [1]_, figure 1.9, whose data is not public.

    Parameters
    ----------
    n_samples : int >= 12, default=1316
    n_active : int >= 1 and <= n_samples, default=39
    n_features : int >= 2000, default=139351
    random_state : int, Generator, RandomState or None, default=None
        A Generator goes on from where it is, so that two calls with it give different compounds.

    Returns
    -------
    X : csr_array of shape (n_samples, n_features)
        Ones, some thousand for a compound.
    y : ndarray of shape (n_samples,)
        1 for an active compound, 0 for the others.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 1.8.

    Examples
    --------
    >>> from mercer.datasets import make_compounds
    >>> X, y = make_compounds(60, n_active=6, n_features=5000, random_state=0)
    >>> X.shape, int(y.sum())
    ((60, 5000), 6)
    """
    _check(
        n_samples=(n_samples, Number(12, integer=True)),
        n_active=(n_active, Number(1, n_samples, integer=True)),
        n_features=(n_features, Number(2000, integer=True)),
    )
    rng = _generator(random_state)
    frequency = 1.0 / (50.0 + np.arange(n_features))
    up_to = np.cumsum(frequency) / np.sum(frequency)

    def shapes(n: int) -> np.ndarray:
        return np.searchsorted(up_to, rng.random(n))

    fitting = rng.choice(n_features, 300, replace=False)
    scaffolds = [
        np.union1d(shapes(1200), fitting[rng.random(len(fitting)) < rng.random() ** 4]) for _ in range(n_samples // 12)
    ]
    rows = []
    for family in rng.integers(len(scaffolds), size=n_samples):
        part = rng.random(len(scaffolds[family])) < 0.6
        rows.append(np.union1d(scaffolds[family][part], shapes(600)))
    ends = np.cumsum([0, *map(len, rows)])
    X = csr_array((np.ones(ends[-1]), np.concatenate(rows), ends), shape=(n_samples, n_features))
    binding = X[:, fitting].sum(axis=1) + 30.0 * rng.normal(size=n_samples)
    y = np.zeros(n_samples, dtype=int)
    y[np.argsort(binding)[-n_active:]] = 1
    return X, y


def _molecule(rng: np.random.Generator, n_atoms: int, in_ring: bool, oxygen: float) -> Graph:
    while True:
        bonds, degree = [(atom, (atom + 1) % 6) for atom in range(6)], [2] * 6
        for new in range(6, n_atoms):
            old = int(rng.choice([atom for atom, taken in enumerate(degree) if taken < 3]))
            bonds.append((old, new))
            degree[old] += 1
            degree.append(1)
        between = [atom for atom, taken in enumerate(degree) if taken == 2 and (atom < 6) == in_ring]
        if between:
            break
    kinds = ["O" if taken == 1 and rng.random() < oxygen else "C" for taken in degree]
    kinds[int(rng.choice(between))] = "N"
    return Graph(n_atoms, bonds, node_labels=kinds)


COUNT = Number(1, integer=True)
SPREAD = Number(0)


def _check(**given: tuple[Any, Number]) -> None:
    for name, (value, rule) in given.items():
        if problem := rule.problem(value):
            raise ValueError(f"{name} {problem}")


def _generator(random_state: Any) -> np.random.Generator:
    seed = random_state
    if seed is None or isinstance(seed, np.random.Generator | np.integer | int):
        return np.random.default_rng(seed)
    return np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))
