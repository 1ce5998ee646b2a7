"""Data sets in files that the user has, found by name in one folder."""

import os
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.utils import Bunch

from mercer.data import read_svmlight, read_tu_dortmund
from mercer.datasets.generators import make_molecules, make_sequences
from mercer.datasets.tables import parse_table

__all__ = ["StandInWarning", "find_file", "load_dataset"]

VARIABLE = "MERCER_DATASETS"


class StandInWarning(UserWarning):
    """Samples were generated, because the files of a data set are not there."""


def find_file(name: str, *, folder: Any = None) -> Path | None:
    """Find a file or a folder with data.

    Parameters
    ----------
    name : str
        Of the file, such as ``"heart_cleveland.csv"``. One that is gzipped, with ``.gz`` at the end of its name, is
        found too.
    folder : str, Path or None, default=None
        Where to look; None: the folder that the environment variable ``MERCER_DATASETS`` names.

    Returns
    -------
    Path or None
        None where there is no such file, or no folder was named.

    See Also
    --------
    load_dataset : Reads the samples, too.

    Examples
    --------
    >>> from mercer.datasets import find_file
    >>> print(find_file("no such file.csv", folder="."))
    None
    """
    home = _home(folder)
    if home is None:
        return None
    return next((path for path in (home / name, home / f"{name}.gz") if path.exists()), None)


def load_dataset(name: str, *, folder: Any = None, stand_in: bool = False, return_X_y: bool = False) -> Any:
    """Load a data set by its name, from files that you have.

    Many public sets may not be redistributed, or are too large to come with a package. This reads them from one
    folder, in the formats in which they are passed around:

    ============================== ====================================================================================
    ``graphs/NAME/`` or ``NAME/``  a folder of the TU Dortmund collection
    ``NAME.csv``                   header; a column ``class`` or ``target``; an empty cell is missing; a column
                                   ``sequence`` or ``text`` makes strings the samples
    ``NAME.svm``                   svmlight, features numbered from 1 on
    ============================== ====================================================================================

    Each may be gzipped. The training part may be called ``NAME_train`` instead, and a file ``NAME_test`` beside it is
    the test part.

    Parameters
    ----------
    name : str
        Such as ``"MUTAG"``, ``"heart_cleveland"`` or ``"usps"``.
    folder : str, Path or None, default=None
        Where the files are; None: the folder that the environment variable ``MERCER_DATASETS`` names.
    stand_in : bool, default=False
        What to do where there are no such files: False raises FileNotFoundError, True generates samples of the same
        kind and size, for sets of graphs and of sequences and some others, and says so by a `StandInWarning`. They
        are for programs to run on, not for results.
    return_X_y : bool, default=False
        Return ``(data, target)``, of the training part, instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : ndarray, CSR array, list of str or list of Graph
            The samples; an array of objects where some columns have words.
        target : ndarray
            Labels or values as they stand in the file: int, float or str.
        data_test, target_test
            The test part, where there is one.
        feature_names : list of str
            For a CSV file.
        columns : dict of str to list of str
            The columns of a CSV file beside strings, such as ``"id"``.
        generated : bool
            Whether the samples are a stand-in.
    (data, target) : tuple, if ``return_X_y=True``

    Raises
    ------
    FileNotFoundError
        Where there are no such files, and no stand-in was asked for.
    FormatError
        For a file that is wrong, with its line: see `mercer.data.read_table`, `mercer.data.read_svmlight` and
        `mercer.data.read_tu_dortmund`, which read them.

    See Also
    --------
    find_file : For files of other formats.
    mercer.data.read_tu_dortmund : Graphs from a folder anywhere.
    sklearn.datasets.fetch_openml : Downloads sets by name.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from mercer.datasets import load_dataset
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "shapes.csv").write_text("width,height,class\\n1.5,2,tall\\n3,,flat\\n")
    ...     shapes = load_dataset("shapes", folder=folder)
    >>> shapes.data
    array([[1.5, 2. ],
           [3. , nan]])
    >>> shapes.target
    array(['tall', 'flat'], dtype='<U4')
    """
    home = _home(folder)
    found = None if home is None else _read(name, home)
    if found is not None:
        found["generated"] = False
    else:
        where = f"{home} has none of its files" if home is not None else f"{VARIABLE} names no folder"
        if not stand_in:
            hint = ", or stand_in=True for generated samples" if name in STAND_INS else ""
            raise FileNotFoundError(
                f"The data set {name!r} is not there: {where}. Name its folder by the argument folder or the"
                f" environment variable {VARIABLE}{hint}."
            )
        if name not in STAND_INS:
            raise FileNotFoundError(f"The data set {name!r} is not there, {where}, and has no stand-in.")
        warnings.warn(
            f"The data set {name!r} is not there, {where}: samples are generated, and results mean nothing.",
            StandInWarning,
            stacklevel=2,
        )
        found = STAND_INS[name]()
        found["generated"] = True
    return (found["data"], found["target"]) if return_X_y else Bunch(**found)


def _home(folder: Any) -> Path | None:
    if folder is None:
        folder = os.environ.get(VARIABLE) or None
    if folder is None:
        return None
    home = Path(folder).expanduser()
    if not home.is_dir():
        raise NotADirectoryError(f"folder, or the environment variable {VARIABLE}, must name a folder, got {folder}.")
    return home


def _read(name: str, home: Path) -> dict[str, Any] | None:
    for place in (home / "graphs" / name, home / name):
        if place.is_dir():
            graphs, target = read_tu_dortmund(place)
            return {"data": graphs, "target": target}
    for ending, read in (("csv", _read_csv), ("svm", _read_svmlight)):
        train = find_file(f"{name}.{ending}", folder=home) or find_file(f"{name}_train.{ending}", folder=home)
        if train is not None:
            test = find_file(f"{name}_test.{ending}", folder=home)
            return read(train, test)
    return None


def _read_csv(train: Path, test: Path | None) -> dict[str, Any]:
    table = parse_table(train)
    found = {
        "data": table.data,
        "target": table.labels,
        "feature_names": table.feature_names,
        "columns": table.others,
    }
    if test is not None:
        rest = parse_table(test)
        if rest.feature_names != table.feature_names:
            raise ValueError(f"{test.name} must have the columns of {train.name}, and has others.")
        found |= {"data_test": rest.data, "target_test": rest.labels, "columns_test": rest.others}
    return found


def _read_svmlight(train: Path, test: Path | None) -> dict[str, Any]:
    X, y = read_svmlight(train)
    if test is None:
        return {"data": X, "target": _whole(y)}
    # One part may lack the last features of the other.
    X_test, y_test = read_svmlight(test)
    width = max(X.shape[1], X_test.shape[1])
    X.resize(X.shape[0], width)
    X_test.resize(X_test.shape[0], width)
    return {"data": X, "target": _whole(y), "data_test": X_test, "target_test": _whole(y_test)}


def _whole(y: np.ndarray) -> np.ndarray:
    return y.astype(int) if (y == np.round(y)).all() else y


# Stand-ins: the same kind of samples, in the same numbers.


def _molecules(n: int) -> dict[str, Any]:
    graphs, target = make_molecules(n, random_state=0)
    return {"data": graphs, "target": target}


def _sequences(
    n: int, length: int, letters: str, n_classes: int = 2, n_test: int = 0, size: int = 6, mutation: float = 0.1
) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    motifs = ["".join(rng.choice(list(letters), size)) for _ in range(n_classes - 1)]
    strings, target = make_sequences(
        n + n_test, length=length, motifs=motifs, letters=letters, mutation=mutation, random_state=rng
    )
    target = target + 1
    found = {"data": strings[:n], "target": target[:n], "feature_names": ["sequence"], "columns": {}}
    if n_test:
        found |= {"data_test": strings[n:], "target_test": target[n:], "columns_test": {}}
    return found


def _vectors(n: int, n_features: int, n_classes: int = 2) -> dict[str, Any]:
    X, y = make_classification(
        n, n_features, n_informative=min(n_features, 6), n_redundant=0, n_classes=n_classes, flip_y=0.1, random_state=0
    )
    names = [f"x{feature}" for feature in range(1, n_features + 1)]
    return {"data": X, "target": y, "feature_names": names, "columns": {}}


DNA, PROTEIN = "ACGT", "ACDEFGHIKLMNPQRSTVWY"
GRAPHS = {
    "AIDS": 2000,
    "BZR": 405,
    "COX2": 467,
    "DHFR": 756,
    "ENZYMES": 600,
    "MUTAG": 188,
    "NCI1": 4110,
    "PROTEINS": 1113,
    "PTC_MR": 344,
}
STAND_INS: dict[str, Callable[[], dict[str, Any]]] = {
    **{name: partial(_molecules, n) for name, n in GRAPHS.items()},
    "celegans_acceptor_2200": partial(_sequences, 2200, 82, DNA),
    "coiled_coil": partial(_sequences, 477, 30, PROTEIN),
    "ding_dubchak": partial(_sequences, 311, 160, PROTEIN, n_classes=27, n_test=383, size=30, mutation=0.45),
    "enhancer_fb": partial(_sequences, 500, 400, DNA, size=12),
    "heart_cleveland": partial(_vectors, 303, 13, n_classes=5),
    "protein_localisation": partial(_sequences, 629, 400, PROTEIN, size=12),
}
