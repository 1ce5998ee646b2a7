"""What may stand in a model file: classes and functions by name, and nothing else.

A name in a file is looked up in these lists. It is never imported.
"""

import inspect
from dataclasses import is_dataclass
from functools import lru_cache
from importlib import import_module
from types import FunctionType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from mercer.errors import ModelFileError

__all__ = ["class_named", "function_named", "name_of_class", "name_of_function", "register"]

# Modules of mercer: the classes and functions that their ``__all__`` lists are known.
MODULES = (
    "active",
    "calibration",
    "calibration.calibration",
    "calibration.maps",
    "cells",
    "checkpoints",
    "cluster",
    "compat.sklearn",
    "data",
    "decomposition",
    "discriminant",
    "features",
    "gp",
    "gp.factors",
    "gram",
    "kernels",
    "logistic",
    "lp",
    "mkl",
    "models",
    "multiclass",
    "problems",
    "problems.losses",
    "problems.penalties",
    "ridge",
    "regularized",
    "rvm",
    "segments",
    "selection",
    "solvers",
    "solvers.kernel_weights",
    "solvers.lp",
    "solvers.structured",
    "structured",
    "svm",
    "version_space",
)

# Classes that no ``__all__`` lists: what fitted machines are made of.
INTERNAL = {
    "cluster.kernel_kmeans": ("ClusteringResult",),
    "decomposition.canonical": ("SecondView",),
    "features.backward": ("EliminationResult",),
    "gp.base": ("EvidenceResult",),
    "gp.laplace": ("Mode",),
    "solvers.kernel_weights.base": ("KernelWeightsHistory", "KernelWeightsResult"),
    "solvers.ridge": ("LeastSquaresResult",),
    "structured.taxonomy": ("Hierarchy",),
    "solvers.structured.base": ("StructuredHistory", "StructuredResult"),
}

# Classes of plain objects, which are their attributes.
PLAIN = tuple(f"mercer.problems.{name}" for name in ("Elastic", "Groups", "NormBall", "Simplex"))

# What people put around machines. Their attributes are scikit-learn's own, so that its version matters.
SKLEARN = {
    "calibration": ("CalibratedClassifierCV",),
    "compose": ("ColumnTransformer", "TransformedTargetRegressor"),
    "decomposition": ("PCA", "TruncatedSVD"),
    "feature_extraction.text": ("CountVectorizer", "HashingVectorizer", "TfidfTransformer", "TfidfVectorizer"),
    "feature_selection": (
        "GenericUnivariateSelect",
        "SelectFdr",
        "SelectFpr",
        "SelectFwe",
        "SelectKBest",
        "SelectPercentile",
        "VarianceThreshold",
    ),
    "impute": ("KNNImputer", "MissingIndicator", "SimpleImputer"),
    "linear_model": ("LogisticRegression", "Ridge", "RidgeClassifier"),
    "metrics._scorer": ("_PassthroughScorer", "_Scorer"),
    "model_selection": ("GridSearchCV", "KFold", "RandomizedSearchCV", "StratifiedKFold"),
    "pipeline": ("FeatureUnion", "Pipeline"),
    "preprocessing": (
        "Binarizer",
        "FunctionTransformer",
        "KBinsDiscretizer",
        "LabelBinarizer",
        "LabelEncoder",
        "MaxAbsScaler",
        "MinMaxScaler",
        "Normalizer",
        "OneHotEncoder",
        "OrdinalEncoder",
        "PolynomialFeatures",
        "PowerTransformer",
        "QuantileTransformer",
        "RobustScaler",
        "StandardScaler",
    ),
}

# Modules whose public functions may be parameters: scores of features, measures of error.
FUNCTION_MODULES = (
    "mercer.features",
    "mercer.selection.scores",
    "mercer.structured",
    "sklearn.feature_selection",
    "sklearn.metrics",
)

# Classes that the program itself has named, see `register`.
REGISTERED: dict[str, type] = {}


def register(cls: type) -> type:
    """Let objects of a class of your own be saved and loaded.

    A model file holds objects of known classes only. This adds one: an estimator or kernel of your own, a dataclass or
    a named tuple. What is stored are its attributes, or its fields. A program that loads the file must have
    registered the class, too. It can be used as a decorator.

    Parameters
    ----------
    cls : type
        A class at the top level of a module.

    Returns
    -------
    type
        The class itself.

    Notes
    -----
    Loading makes an object without calling ``__init__`` and sets its attributes, as pickle does; of a dataclass or a
    named tuple, it calls the class with the fields. A class that wants to store something else has a method
    ``_file_parts()``, which returns a dict, and a class method ``_from_file_parts(parts)``, which checks such a dict
    and makes an object of it.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> from mercer.persist import register
    >>> @register
    ... class Narrow(RBF):
    ...     "An RBF kernel with a name of its own."
    """
    if not isinstance(cls, type) or "<locals>" in cls.__qualname__:
        raise TypeError(f"cls must be a class at the top level of a module, got {cls!r}.")
    name = f"{cls.__module__}.{cls.__qualname__}"
    if name_of_class(cls) not in (None, name) or _known(name) is not None:
        raise ValueError(f"cls must be a class that is not known yet, got {name}.")
    REGISTERED[name] = cls
    return cls


def name_of_class(cls: type) -> str | None:
    """The name under which a class stands in files; None if it is not known."""
    name = f"{cls.__module__}.{cls.__qualname__}"
    if REGISTERED.get(name) is cls:
        return name
    package, _, module = cls.__module__.partition(".")
    if package == "mercer":
        parts = module.split(".")
        for n in range(1, len(parts) + 1):
            candidate = f"mercer.{'.'.join(parts[:n])}.{cls.__qualname__}"
            if _known(candidate) is cls:
                return candidate
    if package == "sklearn":
        for place, names in SKLEARN.items():
            if cls.__name__ in names and _known(candidate := f"sklearn.{place}.{cls.__name__}") is cls:
                return candidate
    return None


def class_named(name: Any) -> type:
    """The class of a name that stands in a file."""
    if not isinstance(name, str):
        raise ModelFileError(f"the name of a class must be a text, got {type(name).__name__}.")
    cls = REGISTERED.get(name) or _known(name)
    if cls is None:
        raise ModelFileError(
            f"{name[:200]!r} is no class that model files may hold; if it is one of your own, call "
            "mercer.persist.register(cls) before loading."
        )
    return cls


@lru_cache(maxsize=512)
def _known(name: str) -> type | None:
    """A class of mercer or scikit-learn that is in the lists above."""
    package, _, rest = name.partition(".")
    module, _, cls_name = rest.rpartition(".")
    if package == "mercer" and module in MODULES:
        room = import_module(f"mercer.{module}")
        cls = getattr(room, cls_name) if cls_name in room.__all__ else None
    elif package == "mercer" and cls_name in INTERNAL.get(module, ()):
        cls = getattr(import_module(f"mercer.{module}"), cls_name)
    elif package == "sklearn" and cls_name in SKLEARN.get(module, ()):
        cls = getattr(import_module(f"sklearn.{module}"), cls_name, None)
    else:
        return None
    return cls if isinstance(cls, type) and not inspect.isabstract(cls) and _is_value(cls, name) else None


def _is_value(cls: Any, name: str) -> bool:
    """Whether an object is known by its attributes: no matrix on demand, no learner that holds a file."""
    made_of_parts = is_dataclass(cls) or hasattr(cls, "_fields") or hasattr(cls, "_from_file_parts")
    return made_of_parts or issubclass(cls, BaseEstimator) or name.startswith("sklearn.") or name in PLAIN


def name_of_function(function: Any) -> str | None:
    """The name under which a function stands in files; None if it is not known."""
    if isinstance(function, np.ufunc):
        name = f"numpy.{function.__name__}"
        return name if function_named(name) is function else None
    if isinstance(function, FunctionType):
        for module in FUNCTION_MODULES:
            if function.__module__.startswith(module) and _public(module, function.__name__) is function:
                return f"{module}.{function.__name__}"
    return None


def function_named(name: Any) -> Any:
    """The function of a name that stands in a file."""
    module, _, function_name = name.rpartition(".") if isinstance(name, str) else ("", "", "")
    if module == "numpy" and isinstance(function := getattr(np, function_name, None), np.ufunc):
        return function
    function = _public(module, function_name) if module in FUNCTION_MODULES else None
    if function is None:
        raise ModelFileError(f"{str(name)[:200]!r} is no function that model files may name.")
    return function


def _public(module: str, name: str) -> Any:
    room = import_module(module)
    function = getattr(room, name, None) if name in room.__all__ else None
    return function if isinstance(function, FunctionType) else None
