"""mercer's machines under scikit-learn's names."""

from importlib import import_module
from typing import Any

from mercer.compat.sklearn.kernel_machines import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.compat.sklearn.kernel_pca import KernelPCA
from mercer.compat.sklearn.kernel_ridge import KernelRidge
from mercer.compat.sklearn.linear_machines import LinearSVC, LinearSVR

__all__ = ["patch_sklearn", "unpatch_sklearn"]

# Only public modules are changed: sklearn.svm._classes keeps its classes, so that models of them that were saved can
# be loaded, and models that are in use saved.
OURS: dict[str, tuple[Any, ...]] = {
    "sklearn.decomposition": (KernelPCA,),
    "sklearn.kernel_ridge": (KernelRidge,),
    "sklearn.svm": (SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM),
}


def patch_sklearn() -> None:
    """Let ``sklearn.svm``, ``decomposition`` and ``kernel_ridge`` have mercer's machines in place of their own.

    ``from sklearn.svm import SVC`` gives the class of `mercer.compat.sklearn` from now on. Names that were imported
    before stay what they are. A second call changes nothing.

    See Also
    --------
    unpatch_sklearn : The way back.

    Notes
    -----
    scikit-learn's own ``KernelRidge`` is known to pickle by the name that is exchanged: models of it cannot be saved
    until `unpatch_sklearn`, and those that are loaded become ours.

    Examples
    --------
    >>> import mercer
    >>> mercer.patch_sklearn()
    >>> from sklearn.svm import SVC
    >>> SVC.__module__.partition(".")[0]
    'mercer'
    >>> mercer.unpatch_sklearn()
    >>> from sklearn.svm import SVC
    >>> SVC.__module__.partition(".")[0]
    'sklearn'
    """
    for place, machines in OURS.items():
        for machine in machines:
            setattr(import_module(place), machine.__name__, machine)


def unpatch_sklearn() -> None:
    """Give ``sklearn.svm``, ``decomposition`` and ``kernel_ridge`` their own classes back.

    See Also
    --------
    patch_sklearn : What this takes back; has an example.
    """
    for place, machines in OURS.items():
        for machine in machines:
            # Ours are subclasses of theirs, of the same name.
            (theirs,) = (b for b in machine.__mro__[1:] if b.__name__ == machine.__name__)
            setattr(import_module(place), machine.__name__, theirs)
