"""Centres of version space. Sampling, whose way hangs on the last digits, has tests of its own."""

from mercer import version_space
from mercer.version_space import AnalyticCenterMachine, BayesPointMachine

ROOMS = (version_space,)
MACHINES = {
    "AnalyticCenterMachine": lambda: AnalyticCenterMachine(),
    "AnalyticCenterMachine no intercept": lambda: AnalyticCenterMachine(soft_boundary=0.1, fit_intercept=False),
    "BayesPointMachine": lambda: BayesPointMachine(),
    "BayesPointMachine no intercept": lambda: BayesPointMachine(soft_boundary=0.1, fit_intercept=False),
}
