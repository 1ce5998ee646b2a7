"""The representer theorem as estimators: any convex loss, any penalty on the norm, one way to solve and to prove it.

A `Loss` says what a decision value costs, a `Penalty` what the norm of the weights costs. The best function is a
combination of the samples, whatever they are [P eqs 1.19-1.20]. `mercer.problems.RegularizedProblem` writes it down,
`mercer.solvers.KernelNewton` finds it.
"""

from mercer.problems import RegularizedProblem as RegularizedProblem
from mercer.problems.losses import EpsilonInsensitive, Hinge, Huber, Logistic, Loss, Pinball, Squared
from mercer.problems.penalties import NormPower, Penalty
from mercer.regularized.machines import RegularizedClassifier, RegularizedMachine, RegularizedRegressor
from mercer.solvers import KernelNewton as KernelNewton
from mercer.solvers import RegularizedResult as RegularizedResult

__all__ = [
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "NormPower",
    "Penalty",
    "Pinball",
    "RegularizedClassifier",
    "RegularizedMachine",
    "RegularizedRegressor",
    "Squared",
]
