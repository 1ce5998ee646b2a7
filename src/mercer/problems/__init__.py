"""The mathematics of the learning machines, as data: pure functions from labels and parameters to problems."""

from mercer.problems.batch import DualProblems
from mercer.problems.classification import hull_distance, nu_margin, soft_margin
from mercer.problems.dual import DualProblem, Offsets
from mercer.problems.joint import JointProblem, crammer_singer, lee_lin_wahba, weston_watkins
from mercer.problems.kernel_weights import Elastic, Groups, KernelWeightsProblem, NormBall, Simplex, WeightSet
from mercer.problems.linear_programs import LinearProblem, level_set, lp_margin, lp_nu_margin, lp_tube
from mercer.problems.logistic import LogisticProblem, logistic
from mercer.problems.novelty import enclosing_ball, one_class
from mercer.problems.regression import epsilon_tube, nu_tube, pinball
from mercer.problems.regularized import RegularizedProblem
from mercer.problems.simplex import BlockSimplexProblem
from mercer.problems.sparse_bayes import Gamma, SparseBayesProblem
from mercer.problems.standing import Standing
from mercer.problems.structured import Planes, StructuredProblem

__all__ = [
    "BlockSimplexProblem",
    "DualProblem",
    "DualProblems",
    "Elastic",
    "Gamma",
    "Groups",
    "JointProblem",
    "KernelWeightsProblem",
    "LinearProblem",
    "LogisticProblem",
    "NormBall",
    "Offsets",
    "Planes",
    "RegularizedProblem",
    "Simplex",
    "SparseBayesProblem",
    "Standing",
    "StructuredProblem",
    "WeightSet",
    "crammer_singer",
    "enclosing_ball",
    "epsilon_tube",
    "hull_distance",
    "lee_lin_wahba",
    "level_set",
    "logistic",
    "lp_margin",
    "lp_nu_margin",
    "lp_tube",
    "nu_margin",
    "nu_tube",
    "one_class",
    "pinball",
    "soft_margin",
    "weston_watkins",
]
