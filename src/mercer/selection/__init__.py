"""Choosing parameters: training is model selection.

Cross-validation fits the same samples again and again. Here kernel matrices are made once, folds are numbers of samples,
and every fit starts where a similar one has ended.
"""

from mercer.selection.grid import default_grid
from mercer.selection.tuned import Tuned, TunedOneClassSVM, TunedSVC, TunedSVR, tune

__all__ = ["Tuned", "TunedOneClassSVM", "TunedSVC", "TunedSVR", "default_grid", "tune"]
