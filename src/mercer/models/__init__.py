"""Probability models: values that know how likely samples are, and how that changes with their parameters.

They are what `mercer.kernels.Fisher` and `mercer.kernels.MarginalizedCount` compare samples by.

>>> from mercer.models import Multinomial
>>> model = Multinomial([0.5, 0.25, 0.25], alphabet="abc")
>>> model.scores(["aab", "c"])
array([[ 0.5 ,  0.25, -0.75],
       [-0.5 , -0.25,  0.75]])
"""

from mercer.models.base import Model
from mercer.models.gaussian import GaussianMixtureModel, GaussianModel
from mercer.models.grammar import StochasticGrammar
from mercer.models.hidden_markov import HiddenMarkovModel
from mercer.models.multinomial import Multinomial

__all__ = ["GaussianMixtureModel", "GaussianModel", "HiddenMarkovModel", "Model", "Multinomial", "StochasticGrammar"]
