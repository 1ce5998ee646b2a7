"""Pictures of machines, of their training and of searches, after scikit-learn's Display convention.

A display holds the numbers of a picture as public attributes. Its ``from_...`` constructor computes them and
draws; ``plot`` draws them again, elsewhere or in another style. The axes used are in ``ax_``, the figure in
``figure_``. Drawing needs matplotlib: ``pip install "mercer[plots]"``.
"""

from mercer.plots.active import ActiveLearningDisplay
from mercer.plots.base import Display
from mercer.plots.components import KernelPCADisplay
from mercer.plots.decision import DecisionDisplay
from mercer.plots.feature_weights import FeatureWeightsDisplay
from mercer.plots.gram import GramDisplay
from mercer.plots.graphs import GraphDisplay
from mercer.plots.history import HistoryDisplay
from mercer.plots.influence import InfluenceDisplay
from mercer.plots.kernel_weights import KernelWeightsDisplay
from mercer.plots.probabilities import ReliabilityDisplay, SigmoidDisplay
from mercer.plots.regression import RegressionDisplay
from mercer.plots.scores import ScoreMapDisplay
from mercer.plots.sequences import SequenceDisplay
from mercer.plots.taxonomy import TaxonomyDisplay
from mercer.plots.trees import TreeDisplay

__all__ = [
    "ActiveLearningDisplay",
    "DecisionDisplay",
    "Display",
    "FeatureWeightsDisplay",
    "GramDisplay",
    "GraphDisplay",
    "HistoryDisplay",
    "InfluenceDisplay",
    "KernelPCADisplay",
    "KernelWeightsDisplay",
    "RegressionDisplay",
    "ReliabilityDisplay",
    "ScoreMapDisplay",
    "SequenceDisplay",
    "SigmoidDisplay",
    "TaxonomyDisplay",
    "TreeDisplay",
]
