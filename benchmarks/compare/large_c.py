"""Large C: many steps over few kernel rows, and a certificate that is hard to earn."""

from functools import partial

from benchmarks import data
from benchmarks.compare.fitting import fit_task
from benchmarks.compare.peers import Machine
from mercer.kernels import RBF

GAMMA = 1.0 / 160.0  # an eighth of "scale"

TASKS = [
    fit_task(
        f"large-c-{C}",
        f"fit, n = 5000, C = {C}",
        Machine("SVC", RBF(gamma=GAMMA), {"C": float(C)}),
        partial(data.cls_split, 5000),
        group='SVC, large C, gamma = "scale" / 8',
        repeats=3,
    )
    for C in (1000, 100_000)
]
