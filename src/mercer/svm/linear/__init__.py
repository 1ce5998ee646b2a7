"""Linear machines: the twins of the support vector machines that keep weights of features, not support vectors."""

from mercer.svm.linear.base import LinearMachine
from mercer.svm.linear.classification import LinearSVC
from mercer.svm.linear.novelty import LinearOneClassSVM
from mercer.svm.linear.regression import LinearSVR

__all__ = ["LinearMachine", "LinearOneClassSVM", "LinearSVC", "LinearSVR"]
