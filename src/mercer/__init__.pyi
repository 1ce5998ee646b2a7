from . import datasets as datasets
from . import errors as errors
from . import gram as gram
from . import kernels as kernels
from . import multiclass as multiclass
from . import plots as plots
from . import problems as problems
from . import solvers as solvers
from . import svm as svm
from . import threads as threads
from .svm import SVC as SVC
from .svm import SVDD as SVDD
from .svm import SVR as SVR
from .svm import LinearOneClassSVM as LinearOneClassSVM
from .svm import LinearSVC as LinearSVC
from .svm import LinearSVR as LinearSVR
from .svm import NuSVC as NuSVC
from .svm import NuSVR as NuSVR
from .svm import OneClassSVM as OneClassSVM

__version__: str
