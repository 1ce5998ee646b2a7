"""Multiple kernel learning."""

from mercer import mkl
from mercer.kernels import RBF, Linear

ROOMS = (mkl,)
MACHINES = {
    "MKLClassifier": lambda: mkl.MKLClassifier(gap_tol=1e-5),
    "MKLClassifier norm 2": lambda: mkl.MKLClassifier([Linear(), RBF()], norm=2.0, loss="squared_hinge", gap_tol=1e-5),
    "MKLRegressor": lambda: mkl.MKLRegressor(gap_tol=1e-5),
    "MKLOneClass": lambda: mkl.MKLOneClass(nu=0.3, gap_tol=1e-5),
}
TO_A_GAP = (mkl.MKLClassifier, mkl.MKLOneClass, mkl.MKLRegressor)
