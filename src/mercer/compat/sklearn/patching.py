"""mercer's machines under scikit-learn's names."""

import sklearn.svm
from sklearn.svm import _classes

from mercer.compat.sklearn.kernel_machines import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.compat.sklearn.linear_machines import LinearSVC, LinearSVR

__all__ = ["patch_sklearn", "unpatch_sklearn"]

# Only the public module is changed: sklearn.svm._classes keeps its classes, so that models of them that were saved can
# be loaded, and models that are in use saved.
OURS = {machine.__name__: machine for machine in (SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM)}


def patch_sklearn() -> None:
    """Let ``sklearn.svm`` have mercer's machines in place of its own.

    ``from sklearn.svm import SVC`` gives the class of `mercer.compat.sklearn` from now on. Names that were imported
    before stay what they are. A second call changes nothing.

    See Also
    --------
    unpatch_sklearn : The way back.

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
    for name, machine in OURS.items():
        setattr(sklearn.svm, name, machine)


def unpatch_sklearn() -> None:
    """Give ``sklearn.svm`` its own classes back.

    See Also
    --------
    patch_sklearn : What this takes back; has an example.
    """
    for name in OURS:
        setattr(sklearn.svm, name, getattr(_classes, name))
