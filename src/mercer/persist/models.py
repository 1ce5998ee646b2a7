"""Saving and loading models."""

import os
import platform
import warnings
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.base import BaseEstimator

import mercer
from mercer.errors import ForeignFileError, ModelFileError, NewerFormatError
from mercer.persist.container import read, read_header, write
from mercer.persist.decoding import Decoder
from mercer.persist.encoding import Encoder

__all__ = ["FORMAT", "describe", "load", "save"]

FORMAT = 1
# Texts of parameters and kernels are for people, and end here.
LONGEST = 2000


def save(model: Any, path: Any) -> str:
    """Write a model to a file.

    Parameters
    ----------
    model : estimator, kernel or other value of this library
        Fitted or not, also inside of a `Pipeline`, `ColumnTransformer` or another common class of scikit-learn.
    path : str or path
        Where; what is there is replaced when all has been written, and only then. ``.mercer`` is a good ending.

    Returns
    -------
    str
        The path.

    Raises
    ------
    mercer.errors.UnsavableError
        If the model holds something that files do not, such as a Python function.
    OSError
        If the file cannot be written; what was there before stays.

    See Also
    --------
    load : The way back.
    mercer.persist.describe : What a file holds.

    Notes
    -----
    Everything that the model knows is stored, to the last bit, and objects that occur twice once. The same model
    makes the same file. Writing costs a pass over the arrays for a check sum; memory is that of the model.

    Examples
    --------
    >>> import os, tempfile, mercer
    >>> from mercer import KernelRidge
    >>> machine = KernelRidge().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = mercer.save(machine, os.path.join(folder, "ridge.mercer"))
    ...     again = mercer.load(path)
    >>> bool((again.predict([[1.5]]) == machine.predict([[1.5]])).all())
    True
    """
    if isinstance(model, type) or not hasattr(model, "__dict__") or type(model).__module__ == "builtins":
        raise TypeError(f"model must be an estimator or another object of mercer, got {model!r}.")
    path = os.fsdecode(path)
    encoder = Encoder()
    name = type(model).__name__
    root = encoder.value(model, name)
    document = {
        "format": FORMAT,
        "mercer": mercer.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
        "summary": _summary(model, encoder.nodes[root[0]]["class"]),
        "root": root,
        "nodes": encoder.nodes,
    }
    write(path, document, encoder.arrays)
    return path


def load(path: Any) -> Any:
    """Read a model from a file.

    Nothing that stands in the file is run: objects are made of classes that this library knows, or that were named
    by `mercer.persist.register`, and their parts are checked.

    Parameters
    ----------
    path : str or path
        A file that `save` has written.

    Returns
    -------
    object
        The model. It predicts what the saved one did, to the last bit where processor and libraries are the same.

    Raises
    ------
    mercer.errors.ModelFileError
        If the file holds no model: `DamagedFileError` if it was truncated or altered, `ForeignFileError` if it is of
        another kind, `NewerFormatError` if it was written by a later version.

    See Also
    --------
    save : Write a model.
    mercer.persist.describe : Look at a file without loading it.

    Notes
    -----
    Files of earlier versions of mercer can be loaded. Where the model holds parts of scikit-learn (a pipeline, a
    scaler) that were saved by another version of it, scikit-learn warns.

    Examples
    --------
    >>> import os, tempfile, mercer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mercer.load(mercer.save(mercer.SVC(C=3.0), os.path.join(folder, "machine.mercer")))
    SVC(C=3.0)
    """
    document, arrays = read(os.fsdecode(path), _check_format)
    with np.errstate(all="ignore"):
        try:
            return Decoder(document.get("nodes"), arrays).root(document.get("root"))
        except ModelFileError as error:
            raise ModelFileError(
                f"{os.fsdecode(path)} holds no model of mercer {mercer.__version__}: {error}"
            ) from error


def describe(path: Any) -> dict[str, Any]:
    """What a model file holds; no array is read.

    Parameters
    ----------
    path : str or path
        A file that `save` has written.

    Returns
    -------
    dict
        Its entries: ``class``, the full name; ``format``, its version; ``versions`` of mercer, numpy, scipy,
        scikit-learn and python that wrote it; ``parameters``, those that are no plain values as texts; ``kernel``, a
        text, None where there is none; ``certificate``, the numbers of ``result_``, a list of such dicts where there
        are several results, None where there is none; ``arrays``, dtype and shape of each by name; ``bytes``, the size
        of the file.

    Examples
    --------
    >>> import os, tempfile, mercer
    >>> machine = mercer.SVC(C=3.0).fit([[0.0], [1.0]], [0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     about = mercer.persist.describe(mercer.save(machine, os.path.join(folder, "machine.mercer")))
    >>> about["class"], about["kernel"], about["certificate"]["status"]
    ('mercer.svm.SVC', 'RBF(gamma=4.0)', 'solved')
    >>> about["arrays"]["support_vectors_"]
    ('float64', (2, 1))
    """
    path = os.fsdecode(path)
    document, arrays = read_header(path, _check_format)
    summary = document.get("summary")
    if not isinstance(summary, dict) or not isinstance(summary.get("parameters"), dict):
        raise ModelFileError(f"{path} has no summary.")
    return {
        "class": str(summary.get("class")),
        "format": document["format"],
        "versions": {name: str(document.get(name)) for name in ("mercer", "numpy", "scipy", "scikit-learn", "python")},
        "parameters": summary["parameters"],
        "kernel": summary.get("kernel"),
        "certificate": _with_numbers(summary.get("certificate")),
        "arrays": arrays,
        "bytes": os.path.getsize(path),
    }


def _check_format(path: str, document: dict[str, Any]) -> None:
    """Refuse other versions of the format than those that are known."""
    if "checkpoint" in document:
        raise ForeignFileError(f"{path} is the checkpoint of a fit, no model; the same fit once more goes on from it.")
    version = document.get("format")
    if type(version) is not int or version < 1:
        raise ModelFileError(f"{path} has no version of the format.")
    if version > FORMAT:
        raise NewerFormatError(
            f"{path} is in version {version} of the format, written by mercer {str(document.get('mercer'))[:40]}; this "
            f"is mercer {mercer.__version__}, which reads versions up to {FORMAT}: pip install --upgrade mercer."
        )


# --- the summary ------------------------------------------------------------------------------------------


def _summary(model: Any, name: str) -> dict[str, Any]:
    """What people want to know of a model before they load it."""
    parameters = model.get_params(deep=False) if isinstance(model, BaseEstimator) else {}
    machine = _machine(model)
    kernel = getattr(machine, "kernel_", getattr(machine, "kernel", None))
    result = getattr(machine, "result_", None)
    return {
        "class": name,
        "parameters": {k: _plain(v) for k, v in parameters.items()},
        "kernel": None if kernel is None else _told(kernel) if not isinstance(kernel, str) else kernel,
        "certificate": _certificate(result),
    }


def _machine(model: Any) -> Any:
    """The machine that has the kernel and the certificate: the model, or the one inside of it."""
    for _ in range(20):
        if hasattr(model, "result_"):
            return model
        steps = getattr(model, "steps", None)
        inside = (
            steps[-1][1]
            if isinstance(steps, list) and steps
            else getattr(model, "best_estimator_", getattr(model, "estimator_", None))
        )
        if inside is None or isinstance(inside, str):
            return model
        model = inside
    return model


def _certificate(result: Any) -> Any:
    """The numbers of a result, or of every one of several."""
    if isinstance(result, list | tuple) and not hasattr(result, "_fields"):
        return [_certificate(part) for part in result]
    if not is_dataclass(result):
        return None
    values = {field.name: getattr(result, field.name) for field in fields(result)}
    values = {k: v.item() if isinstance(v, np.generic) else v for k, v in values.items()}
    return {k: _plain(v) for k, v in values.items() if v is None or isinstance(v, bool | int | float | str)}


def _plain(value: Any) -> Any:
    """A value that JSON has, else a text."""
    if value is None or type(value) in (bool, str) or (type(value) is int and abs(value) < 2**63):
        return value
    return value if type(value) is float and np.isfinite(value) else _told(value)


def _with_numbers(value: Any) -> Any:
    """A certificate with the numbers that JSON has not."""
    if isinstance(value, list):
        return [_with_numbers(part) for part in value]
    if isinstance(value, dict):
        return {k: float(v) if v in ("inf", "-inf", "nan") else v for k, v in value.items()}
    return None


def _told(value: Any) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
