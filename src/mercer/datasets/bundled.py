"""Loaders of the data sets in ``data/``: a CSV file with a column for the class or the target, and its description."""

from collections.abc import Callable
from importlib.resources import files
from textwrap import indent
from typing import Any, TypeVar

import numpy as np
from sklearn.utils import Bunch

from mercer.datasets.tables import Table, parse_table
from mercer.extras import require

__all__ = [
    "load_breast_cytology",
    "load_concrete",
    "load_german_credit",
    "load_glass",
    "load_ionosphere",
    "load_leukemia",
    "load_multiple_features",
    "load_promoters",
    "load_sonar",
    "load_splice",
    "load_vehicle",
]

_DATA = files("mercer.datasets") / "data"

Loader = TypeVar("Loader", bound=Callable[..., Any])


def described(
    *,
    shape: tuple[int, int],
    target: str,
    feature_names: str,
    data: str = "ndarray",
    samples: str = "The samples.",
    target_names: str | None = None,
    groups: str | None = None,
    where: str = "Where the file is.",
) -> Callable[[Loader], Loader]:
    """Write into the docstring of a loader what all loaders take and return: they differ in these words alone."""
    n, n_features = shape
    own = f"feature_names : list of str\n    {feature_names}\n"
    if groups is not None:
        own += f"groups : dict of str to list of str\n    {groups}\n"
    if target_names is not None:
        own += f"target_names : ndarray\n    {target_names}; ``target_names[target]`` are the labels.\n"
    text = f"""\
Parameters
----------
return_X_y : bool, default=False
    Return ``(data, target)`` instead of a Bunch.
as_frame : bool, default=False
    Give the data as a pandas DataFrame and the target as a Series. Needs pandas.

Returns
-------
data : :class:`~sklearn.utils.Bunch`
    With the attributes

    data : {data} or DataFrame of shape {shape}
        {samples}
    target : ndarray or Series of shape ({n},)
        {target}
{indent(own, "    ")}\
    frame : DataFrame of shape ({n}, {n_features + 1})
        Data and target together, only with ``as_frame=True``, otherwise None.
    DESCR : str
        The description, with origin and licence.
    filename, data_module : str
        {where}
(data, target) : tuple, if ``return_X_y=True``
    The samples and their targets."""

    def write(loader: Loader) -> Loader:
        if loader.__doc__ is not None:  # as python -OO has it
            loader.__doc__ = loader.__doc__.replace("    {parameters and returns}", indent(text, "    "))
        return loader

    return write


@described(
    shape=(351, 34),
    target="0 for bad, 1 for good.",
    feature_names='``["V1", ..., "V34"]``.',
    target_names='``["bad", "good"]``',
)
def load_ionosphere(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load the Ionosphere radar returns, a two-class problem.

    351 radar returns from the ionosphere, each described by 34 numbers in [-1, 1], are *good* (they show
    some structure in the ionosphere) or *bad* (they pass through it) [1]_. The samples are in their original
    order; the case study in [2]_ trains on the first 300 and tests on the remaining 51.

    {parameters and returns}

    Notes
    -----
    Distributed under the Creative Commons Attribution 4.0 licence (CC BY 4.0) by the UCI Machine Learning
    Repository; created by V. G. Sigillito, 1989.

    References
    ----------
    .. [1] V. G. Sigillito, S. P. Wing, L. V. Hutton, K. B. Baker, Classification of radar returns from the
       ionosphere using neural networks, Johns Hopkins APL Technical Digest 10, 1989, 262-266.
    .. [2] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 1.6.

    Examples
    --------
    >>> from mercer.datasets import load_ionosphere
    >>> X, y = load_ionosphere(return_X_y=True)
    >>> X.shape
    (351, 34)
    >>> load_ionosphere().target_names[y[:4]].tolist()
    ['good', 'bad', 'good', 'bad']
    """
    return _load("ionosphere", return_X_y=return_X_y, as_frame=as_frame)


@described(
    shape=(208, 60),
    target="The number of the class.",
    feature_names='``["V1", ..., "V60"]``.',
    target_names='``["mine", "rock"]``',
)
def load_sonar(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load the sonar returns from mines and rocks, a two-class problem.

    208 sonar signals came back from a metal cylinder, as a mine is, or from a rock of about the same shape,
    each described by its energy in 60 bands of frequency [1]_. The samples are in their original order, which
    is by class: shuffle them before splitting.

    {parameters and returns}

    Notes
    -----
    Distributed under the Creative Commons Attribution 4.0 licence (CC BY 4.0) by the UCI Machine Learning
    Repository; given by T. Sejnowski and R. P. Gorman, 1988.

    References
    ----------
    .. [1] R. P. Gorman, T. J. Sejnowski, Analysis of hidden units in a layered network trained to classify sonar
       targets, Neural Networks 1, 1988, 75-89.

    Examples
    --------
    >>> from mercer.datasets import load_sonar
    >>> X, y = load_sonar(return_X_y=True)
    >>> X.shape
    (208, 60)
    >>> load_sonar().target_names[y[0]]
    np.str_('rock')
    """
    return _load("sonar", return_X_y=return_X_y, as_frame=as_frame)


@described(
    shape=(214, 9),
    target="The number of the class.",
    feature_names='``["RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe"]``.',
    target_names='``["building_float", "building_non_float", "containers", "headlamps", "tableware",'
    ' "vehicle_float"]``',
)
def load_glass(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load the kinds of glass, a problem of six classes of unequal size.

    214 pieces of glass, from windows of buildings and vehicles, containers, tableware and headlamps, each
    described by its refractive index and its share of eight oxides [1]_. The features are on very different
    scales. The samples are in their original order, which is by class: shuffle them before splitting.

    {parameters and returns}

    Notes
    -----
    Distributed under the Creative Commons Attribution 4.0 licence (CC BY 4.0) by the UCI Machine Learning
    Repository; created by B. German, 1987.

    References
    ----------
    .. [1] I. W. Evett, E. J. Spiehler, Rule induction in forensic science, Central Research Establishment, Home
       Office Forensic Science Service, 1987.

    Examples
    --------
    >>> from mercer.datasets import load_glass
    >>> X, y = load_glass(return_X_y=True)
    >>> X.shape
    (214, 9)
    >>> load_glass().target_names[y[0]]
    np.str_('building_float')
    """
    return _load("glass", return_X_y=return_X_y, as_frame=as_frame)


@described(
    shape=(846, 18),
    target="The number of the class.",
    feature_names='Their short names in the original file, such as ``"Comp"`` for compactness.',
    target_names='``["bus", "opel", "saab", "van"]``',
)
def load_vehicle(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load the silhouettes of vehicles, a problem of four classes.

    846 silhouettes of four model vehicles, photographed from many angles, each described by 18 features of
    its shape [1]_. The two cars, an Opel and a Saab, are hard to tell apart.

    {parameters and returns}

    Notes
    -----
    Distributed under the Creative Commons Attribution 4.0 licence (CC BY 4.0) by the UCI Machine Learning
    Repository; created by J. P. Siebert, Turing Institute, Glasgow, 1987.

    References
    ----------
    .. [1] J. P. Siebert, Vehicle recognition using rule based methods, Turing Institute Research Memorandum
       TIRM-87-018, 1987.

    Examples
    --------
    >>> from mercer.datasets import load_vehicle
    >>> X, y = load_vehicle(return_X_y=True)
    >>> X.shape
    (846, 18)
    >>> load_vehicle().target_names[y[0]]
    np.str_('van')
    """
    return _load("vehicle", return_X_y=return_X_y, as_frame=as_frame)


@described(
    shape=(106, 1),
    data="list of 106 str,",
    target="The number of the class.",
    feature_names='``["sequence"]``.',
    target_names='``["other", "promoter"]``',
)
def load_promoters(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load promoters and other pieces of DNA, a two-class problem on strings.

    106 pieces of DNA of E. coli, strings of 57 letters, of which 53 are promoters: the place to which the enzyme that
    reads a gene binds [1]_. The samples are ordered by class: shuffle them before splitting.

    {parameters and returns}

    Notes
    -----
    Distributed under the Creative Commons Attribution 4.0 licence (CC BY 4.0) by the UCI Machine Learning
    Repository; created by C. Harley, R. Reynolds and M. Noordewier.

    References
    ----------
    .. [1] G. G. Towell, J. W. Shavlik, M. O. Noordewier, Refinement of approximate domain theories by knowledge-based
       neural networks, AAAI 1990, 861-866.

    Examples
    --------
    >>> from mercer.datasets import load_promoters
    >>> X, y = load_promoters(return_X_y=True)
    >>> len(X), X[0][:12]
    (106, 'gccttctccaaa')
    >>> load_promoters().target_names[y[0]]
    np.str_('promoter')
    """
    return _load("promoters", return_X_y=return_X_y, as_frame=as_frame)


@described(
    shape=(3190, 1),
    data="list of 3190 str,",
    target="The number of the class.",
    feature_names='``["sequence"]``.',
    target_names='``["acceptor", "donor", "neither"]``',
)
def load_splice(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load splice junctions in DNA, a problem of three classes on strings.

    3190 pieces of DNA of primates, strings of 60 letters. Their middle is the start of a part that is kept when a gene
    is read (acceptor), its end (donor), or neither [1]_. The samples lie class by class: shuffle them before splitting.

    {parameters and returns}

    Notes
    -----
    Distributed under the Creative Commons Attribution 4.0 licence (CC BY 4.0) by the UCI Machine Learning
    Repository; given by G. Towell, M. Noordewier and J. Shavlik, 1992.

    References
    ----------
    .. [1] M. O. Noordewier, G. G. Towell, J. W. Shavlik, Training knowledge-based neural networks to recognize genes in
       DNA sequences, NIPS 3, 1991, 530-536.

    Examples
    --------
    >>> from mercer.datasets import load_splice
    >>> X, y = load_splice(return_X_y=True)
    >>> len(X), X[0][:12]
    (3190, 'AGACCCGCCGGG')
    >>> load_splice().target_names[y[0]]
    np.str_('donor')
    """
    return _load("splice", return_X_y=return_X_y, as_frame=as_frame)


@described(
    shape=(38, 3051),
    target="The number of the class.",
    feature_names='The probes, such as ``"X95735_at"`` for zyxin.',
    target_names='``["ALL", "AML"]``',
)
def load_leukemia(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load expression levels of genes in two kinds of leukaemia: two classes, and far more features than samples.

    The bone marrow of 38 patients with acute leukaemia, 27 lymphoblastic (ALL) and 11 myeloid (AML), each described by
    the levels of 3051 genes, on a logarithmic scale [1]_ [2]_. The samples are ordered by class: shuffle them before
    splitting.

    {parameters and returns}

    Notes
    -----
    From the R package multtest, under the GNU Lesser General Public License (LGPL).

    References
    ----------
    .. [1] T. R. Golub and others, Molecular classification of cancer: class discovery and class prediction by gene
       expression monitoring, Science 286, 1999, 531-537.
    .. [2] S. Dudoit, J. Fridlyand, T. P. Speed, Comparison of discrimination methods for the classification of tumors
       using gene expression data, Journal of the American Statistical Association 97, 2002, 77-87.

    Examples
    --------
    >>> from mercer.datasets import load_leukemia
    >>> X, y = load_leukemia(return_X_y=True)
    >>> X.shape
    (38, 3051)
    >>> load_leukemia().target_names[y[0]]
    np.str_('ALL')
    """
    return _load("leukemia", return_X_y=return_X_y, as_frame=as_frame)


@described(
    shape=(699, 9),
    target="0 for benign, 1 for malignant.",
    feature_names='``"clump_thickness"``, ``"cell_size"`` and so on.',
    target_names='``["benign", "malignant"]``',
)
def load_breast_cytology(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load gradings of cells from lumps of the breast, a two-class problem with missing values.

    699 samples of cells, each graded in nine properties by whole numbers from 1 to 10 [1]_. 16 values of one feature
    are missing, and are nan: for a support vector machine they have to be filled in, such as by the values of nearest
    neighbours ([2]_, section 1.6).

    {parameters and returns}

    See Also
    --------
    sklearn.datasets.load_breast_cancer : Later data of the same clinic, measured in images.
    sklearn.impute.KNNImputer : Fills in missing values by those of neighbours.

    Notes
    -----
    Distributed under the Creative Commons Attribution 4.0 licence (CC BY 4.0) by the UCI Machine Learning
    Repository; created by W. H. Wolberg, 1992.

    References
    ----------
    .. [1] W. H. Wolberg, O. L. Mangasarian, Multisurface method of pattern separation for medical diagnosis applied
       to breast cytology, Proceedings of the National Academy of Sciences 87, 1990, 9193-9196.
    .. [2] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import load_breast_cytology
    >>> X, y = load_breast_cytology(return_X_y=True)
    >>> X.shape, int(np.isnan(X).sum())
    ((699, 9), 16)
    """
    return _load("breast_cytology", return_X_y=return_X_y, as_frame=as_frame)


@described(
    shape=(1030, 8),
    target="The strength.",
    feature_names='``"cement"``, ``"blast_furnace_slag"`` and so on.',
)
def load_concrete(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load the strength of concrete, a regression problem.

    1030 mixtures, each described by the amounts of seven ingredients and its age in days; the target is the
    compressive strength in megapascals [1]_. Some rows occur more than once: shuffle them before splitting.

    {parameters and returns}

    Notes
    -----
    Distributed under the Creative Commons Attribution 4.0 licence (CC BY 4.0) by the UCI Machine Learning
    Repository; given by I.-C. Yeh, 2007.

    References
    ----------
    .. [1] I.-C. Yeh, Modeling of strength of high-performance concrete using artificial neural networks, Cement and
       Concrete Research 28, 1998, 1797-1808.

    Examples
    --------
    >>> from mercer.datasets import load_concrete
    >>> X, y = load_concrete(return_X_y=True)
    >>> X.shape, float(y.min()), float(y.max())
    ((1030, 8), 2.33, 82.6)
    """
    return _load("concrete", return_X_y=return_X_y, as_frame=as_frame)


@described(
    shape=(1000, 20),
    data="ndarray of objects",
    samples="The samples: a column has floats or strings.",
    target="0 for bad, 1 for good.",
    feature_names='``"checking"``, ``"duration"`` and so on.',
    target_names='``["bad", "good"]``',
)
def load_german_credit(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load credits of a German bank, a two-class problem on numbers and categories.

    1000 credits, each described by 7 numbers and 13 categories [1]_. Categories have codes such as ``"A11"``: take a
    kernel on categories for them, or binarise them.

    {parameters and returns}

    Notes
    -----
    Distributed under the Creative Commons Attribution 4.0 licence (CC BY 4.0) by the UCI Machine Learning
    Repository; given by H. Hofmann, 1994.

    References
    ----------
    .. [1] H. Hofmann, Statlog (German Credit Data), UCI Machine Learning Repository, 1994.

    Examples
    --------
    >>> from mercer.datasets import load_german_credit
    >>> X, y = load_german_credit(return_X_y=True)
    >>> X[0, :5].tolist()
    ['A11', 6.0, 'A34', 'A43', 1169.0]
    """
    return _load("german_credit", return_X_y=return_X_y, as_frame=as_frame)


@described(
    shape=(2000, 649),
    target="The digit.",
    feature_names='``["fou1", ..., "mor6"]``.',
    target_names="The digits",
    groups='The feature names of ``"fou"``, ``"fac"``, ``"kar"``, ``"pix"``, ``"zer"`` and ``"mor"``.',
    where="Where the files are; the name is a pattern, there is one for every group.",
)
def load_multiple_features(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load six descriptions of handwritten digits, a problem of ten classes for several kernels.

    2000 numerals on Dutch utility maps, 200 of each digit, each described by 649 numbers in six groups: Fourier
    coefficients, profile correlations, Karhunen-Loève coefficients, pixels, Zernike moments and morphology [1]_. The
    samples are ordered by class: shuffle them before splitting.

    {parameters and returns}

    See Also
    --------
    mercer.mkl.MKLClassifier : Weighs the kernels of the groups.

    Notes
    -----
    Distributed under the Creative Commons Attribution 4.0 licence (CC BY 4.0) by the UCI Machine Learning
    Repository; created by R. P. W. Duin, 1998.

    References
    ----------
    .. [1] M. van Breukelen, R. P. W. Duin, D. M. J. Tax, J. E. den Hartog, Handwritten digit recognition by combined
       classifiers, Kybernetika 34, 1998, 381-386.

    Examples
    --------
    >>> from mercer.datasets import load_multiple_features
    >>> digits = load_multiple_features()
    >>> digits.data.shape
    (2000, 649)
    >>> {name: len(features) for name, features in digits.groups.items()}
    {'fou': 76, 'fac': 216, 'kar': 64, 'pix': 240, 'zer': 47, 'mor': 6}
    """
    name = "multiple_features"
    parts = {group: _read(f"{name}_{group}") for group in ("fou", "fac", "kar", "pix", "zer", "mor")}
    groups = {group: part.feature_names for group, part in parts.items()}
    names = [feature for features in groups.values() for feature in features]
    table = Table(np.hstack([part.data for part in parts.values()]), parts["fou"].labels, names, {})
    loaded = _bunch(table, name, return_X_y, as_frame)
    if not return_X_y:
        loaded.update(groups=groups, filename=f"{name}_*.csv.gz")
    return loaded


def _load(name: str, *, return_X_y: bool, as_frame: bool) -> Any:
    return _bunch(_read(name), name, return_X_y, as_frame)


def _file(name: str) -> Any:
    plain = _DATA / f"{name}.csv"
    return plain if plain.is_file() else _DATA / f"{name}.csv.gz"


def _read(name: str) -> Table:
    with _file(name).open("rb") as file:
        return parse_table(file)


def _bunch(table: Table, name: str, return_X_y: bool, as_frame: bool) -> Any:
    data: Any = table.data
    target: Any = table.labels
    extra: dict[str, Any] = {}
    if not table.regression:
        target_names, target = np.unique(target, return_inverse=True)
        extra["target_names"] = target_names
    frame = None
    if as_frame:
        pd = require("pandas", f"load_{name}(as_frame=True)")
        frame = pd.DataFrame(data, columns=table.feature_names).infer_objects().assign(target=target)
        data, target = frame[table.feature_names], frame["target"]
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=table.feature_names,
        DESCR=(_DATA / f"{name}.rst").read_text(encoding="utf-8"),
        filename=_file(name).name,
        data_module="mercer.datasets.data",
        **extra,
    )
