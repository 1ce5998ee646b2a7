"""Centres of version space: of all separating hyperplanes, the one in the middle.

Every direction w that classifies all training samples rightly is a point of *version space*, a part of the sphere in
feature space that the samples bound. The support vector machine takes the centre of the largest ball inside, which
touches few of its walls; the machines of this room take centres that all walls have a say in. [CY §2.2, §A.2]
"""

from mercer.version_space.analytic_center import AnalyticCenterMachine
from mercer.version_space.bayes_point import BayesPointMachine
from mercer.version_space.billiard import Draws
from mercer.version_space.expectation_propagation import Moments

__all__ = ["AnalyticCenterMachine", "BayesPointMachine", "Draws", "Moments"]
