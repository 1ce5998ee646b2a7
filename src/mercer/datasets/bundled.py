"""Loaders of the data sets in ``data/``: a CSV file whose last column is the class, and its description."""

import csv
import gzip
from importlib.resources import files
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from mercer.extras import require

_DATA = files("mercer.datasets") / "data"
# Large ones.
PACKED = ("leukemia",)


def load_ionosphere(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load the Ionosphere radar returns, a two-class problem.

    351 radar returns from the ionosphere, each described by 34 numbers in [-1, 1], are *good* (they show
    some structure in the ionosphere) or *bad* (they pass through it) [1]_. The samples are in their original
    order; the case study in [2]_ trains on the first 300 and tests on the remaining 51.

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

        data : ndarray or DataFrame of shape (351, 34)
            The samples.
        target : ndarray or Series of shape (351,)
            0 for bad, 1 for good.
        feature_names : list of str
            ``["V1", ..., "V34"]``.
        target_names : ndarray of shape (2,)
            ``["bad", "good"]``, so that ``target_names[target]`` are the labels.
        frame : DataFrame of shape (351, 35)
            Data and target together, only with ``as_frame=True``, otherwise None.
        DESCR : str
            The description, with origin and licence.
        filename, data_module : str
            Where the file is.
    (data, target) : tuple, if ``return_X_y=True``
        The samples and their classes.

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


def load_sonar(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load the sonar returns from mines and rocks, a two-class problem.

    208 sonar signals came back from a metal cylinder, as a mine is, or from a rock of about the same shape,
    each described by its energy in 60 bands of frequency [1]_. The samples are in their original order, which
    is by class: shuffle them before splitting.

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

        data : ndarray or DataFrame of shape (208, 60)
            The samples.
        target : ndarray or Series of shape (208,)
            The number of the class.
        feature_names : list of str
            ``["V1", ..., "V60"]``.
        target_names : ndarray of shape (2,)
            ``["mine", "rock"]``, so that ``target_names[target]`` are the labels.
        frame : DataFrame of shape (208, 61)
            Data and target together, only with ``as_frame=True``, otherwise None.
        DESCR : str
            The description, with origin and licence.
        filename, data_module : str
            Where the file is.
    (data, target) : tuple, if ``return_X_y=True``
        The samples and their classes.

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


def load_glass(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load the kinds of glass, a problem of six classes of unequal size.

    214 pieces of glass, from windows of buildings and vehicles, containers, tableware and headlamps, each
    described by its refractive index and its share of eight oxides [1]_. The features are on very different
    scales. The samples are in their original order, which is by class: shuffle them before splitting.

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

        data : ndarray or DataFrame of shape (214, 9)
            The samples.
        target : ndarray or Series of shape (214,)
            The number of the class.
        feature_names : list of str
            ``["RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe"]``.
        target_names : ndarray of shape (6,)
            ``["building_float", "building_non_float", "containers", "headlamps", "tableware", "vehicle_float"]``,
            so that ``target_names[target]`` are the labels.
        frame : DataFrame of shape (214, 10)
            Data and target together, only with ``as_frame=True``, otherwise None.
        DESCR : str
            The description, with origin and licence.
        filename, data_module : str
            Where the file is.
    (data, target) : tuple, if ``return_X_y=True``
        The samples and their classes.

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


def load_vehicle(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load the silhouettes of vehicles, a problem of four classes.

    846 silhouettes of four model vehicles, photographed from many angles, each described by 18 features of
    its shape [1]_. The two cars, an Opel and a Saab, are hard to tell apart.

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

        data : ndarray or DataFrame of shape (846, 18)
            The samples.
        target : ndarray or Series of shape (846,)
            The number of the class.
        feature_names : list of str
            Their short names in the original file, such as ``"Comp"`` for compactness.
        target_names : ndarray of shape (4,)
            ``["bus", "opel", "saab", "van"]``, so that ``target_names[target]`` are the labels.
        frame : DataFrame of shape (846, 19)
            Data and target together, only with ``as_frame=True``, otherwise None.
        DESCR : str
            The description, with origin and licence.
        filename, data_module : str
            Where the file is.
    (data, target) : tuple, if ``return_X_y=True``
        The samples and their classes.

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


def load_promoters(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load promoters and other pieces of DNA, a two-class problem on strings.

    106 pieces of DNA of E. coli, strings of 57 letters, of which 53 are promoters: the place to which the enzyme that
    reads a gene binds [1]_. The samples are ordered by class: shuffle them before splitting.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Give the data as a pandas DataFrame with the column ``"sequence"`` and the target as a Series. Needs pandas.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : list of 106 str, or DataFrame of shape (106, 1)
            The samples.
        target : ndarray or Series of shape (106,)
            The number of the class.
        feature_names : list of str
            ``["sequence"]``.
        target_names : ndarray
            ``["other", "promoter"]``, so that ``target_names[target]`` are the labels.
        frame : DataFrame of shape (106, 2)
            Data and target together, only with ``as_frame=True``, otherwise None.
        DESCR : str
            The description, with origin and licence.
        filename, data_module : str
            Where the file is.
    (data, target) : tuple, if ``return_X_y=True``
        The samples and their classes.

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


def load_splice(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load splice junctions in DNA, a problem of three classes on strings.

    3190 pieces of DNA of primates, strings of 60 letters. Their middle is the start of a part that is kept when a gene
    is read (acceptor), its end (donor), or neither [1]_. The samples lie class by class: shuffle them before splitting.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Give the data as a pandas DataFrame with the column ``"sequence"`` and the target as a Series. Needs pandas.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : list of 3190 str, or DataFrame of shape (3190, 1)
            The samples.
        target : ndarray or Series of shape (3190,)
            The number of the class.
        feature_names : list of str
            ``["sequence"]``.
        target_names : ndarray
            ``["acceptor", "donor", "neither"]``, so that ``target_names[target]`` are the labels.
        frame : DataFrame of shape (3190, 2)
            Data and target together, only with ``as_frame=True``, otherwise None.
        DESCR : str
            The description, with origin and licence.
        filename, data_module : str
            Where the file is.
    (data, target) : tuple, if ``return_X_y=True``
        The samples and their classes.

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


def load_leukemia(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load expression levels of genes in two kinds of leukaemia: two classes, and far more features than samples.

    The bone marrow of 38 patients with acute leukaemia, 27 lymphoblastic (ALL) and 11 myeloid (AML), each described by
    the levels of 3051 genes, on a logarithmic scale [1]_ [2]_. The samples are ordered by class: shuffle them before
    splitting.

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

        data : ndarray or DataFrame of shape (38, 3051)
            The samples.
        target : ndarray or Series of shape (38,)
            The number of the class.
        feature_names : list of str
            The probes, such as ``"X95735_at"`` for zyxin.
        target_names : ndarray of shape (2,)
            ``["ALL", "AML"]``, so that ``target_names[target]`` are the labels.
        frame : DataFrame of shape (38, 3052)
            Data and target together, only with ``as_frame=True``, otherwise None.
        DESCR : str
            The description, with origin and licence.
        filename, data_module : str
            Where the file is.
    (data, target) : tuple, if ``return_X_y=True``
        The samples and their classes.

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


def _load(name: str, *, return_X_y: bool, as_frame: bool) -> Any:
    file = _DATA / (f"{name}.csv.gz" if name in PACKED else f"{name}.csv")
    text = gzip.decompress(file.read_bytes()).decode() if name in PACKED else file.read_text(encoding="utf-8")
    header, *rows = csv.reader(text.splitlines())
    feature_names = header[:-1]
    strings = feature_names == ["sequence"]
    data: Any = [row[0] for row in rows] if strings else np.array([row[:-1] for row in rows], dtype=np.float64)
    target_names, target = np.unique([row[-1] for row in rows], return_inverse=True)
    frame = None
    if as_frame:
        pd = require("pandas", f"load_{name}(as_frame=True)")
        frame = pd.DataFrame(data, columns=feature_names).assign(target=target)
        data, target = frame[feature_names], frame["target"]
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=feature_names,
        target_names=target_names,
        DESCR=(_DATA / f"{name}.rst").read_text(encoding="utf-8"),
        filename=file.name,
        data_module="mercer.datasets.data",
    )
