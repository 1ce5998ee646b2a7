"""One instance, at least, of everything public that laws are tested on.

The keys start with the name of the class; what follows tells variants apart.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, is_regressor
from sklearn.linear_model import RidgeClassifier

from mercer import active, calibration, cells, kernels, multiclass, selection, solvers, svm
from mercer.compat import sklearn as drop_in
from mercer.multiclass import Scheme
from mercer.selection import Criterion
from mercer.solvers import Solver, structured
from mercer.svm.base import SupportVectorMachine

# --- solvers ----------------------------------------------------------------------------------------------

SOLVERS: dict[str, Callable[[], Solver]] = {
    "Chunking small": lambda: solvers.Chunking(size=3),
    "Decomposition": lambda: solvers.Decomposition(),
    "Decomposition pairs": lambda: solvers.Decomposition(q=2),
    "DeviceSMO": lambda: solvers.DeviceSMO("cpu"),
    "DeviceSMO small sets": lambda: solvers.DeviceSMO("cpu", size=8),
    "InteriorPoint": lambda: solvers.InteriorPoint(),
    "ProjectedGradient": lambda: solvers.ProjectedGradient(),
    "SMO": lambda: solvers.SMO(),
    "SMO most violating pair": lambda: solvers.SMO(pair_rule="violation"),
    "SMO everything": lambda: solvers.SMO(shrinking=False, precision="float64", n_threads=1, memory=1),
    "SimpleSMO": lambda: solvers.SimpleSMO(),
    "StreamingSMO": lambda: solvers.StreamingSMO(size=20),
    "StreamingSMO all at once": lambda: solvers.StreamingSMO(),
}

# Those that prove a small gap, not a small violation.
ROUGH_SOLVERS: dict[str, Callable[[], Solver]] = {"PrimalSubgradient": lambda: solvers.PrimalSubgradient()}

# Those that refuse indefinite kernel matrices.
DEFINITE_SOLVERS = (solvers.InteriorPoint,)

# Those that work on the samples of several problems together, so that each ends elsewhere within its gap than alone.
SHARING_SOLVERS = (solvers.StreamingSMO,)

# Solvers of `JointProblem`.
JOINT_SOLVERS: dict[str, Callable[[], solvers.BlockDescent]] = {
    "BlockDescent": lambda: solvers.BlockDescent(),
    "BlockDescent everything": lambda: solvers.BlockDescent(
        shrinking=False, precision="float64", n_threads=1, memory=1
    ),
}

# Of those, the ones that need a `LinearGram`.
LINEAR_JOINT_SOLVERS: dict[str, Callable[[], solvers.LinearBlockDescent]] = {
    "LinearBlockDescent": lambda: solvers.LinearBlockDescent(),
    "LinearBlockDescent everything": lambda: solvers.LinearBlockDescent(shrinking=False, n_threads=1),
}

# For the L1 penalty.
SPARSE_SOLVERS: dict[str, Callable[[], solvers.SparseNewton]] = {"SparseNewton": lambda: solvers.SparseNewton()}

# Solvers of `LogisticProblem`.
LOGISTIC_SOLVERS: dict[str, Callable[[], solvers.LogisticNewton]] = {"LogisticNewton": lambda: solvers.LogisticNewton()}

# Solvers of `RegularizedProblem`.
REGULARIZED_SOLVERS: dict[str, Callable[[], solvers.KernelNewton]] = {"KernelNewton": lambda: solvers.KernelNewton()}

# Solvers of `SparseBayesProblem`.
SPARSE_BAYES_SOLVERS: dict[str, Callable[[], solvers.SparseBayes]] = {
    "SparseBayes": lambda: solvers.SparseBayes(),
    "SparseBayes re-estimation": lambda: solvers.SparseBayes("reestimation"),
    "SparseBayes EM": lambda: solvers.SparseBayes("em"),
}

# Solvers of `LinearProblem`.
LP_SOLVERS: dict[str, Callable[[], Any]] = {
    "ColumnGeneration": lambda: solvers.ColumnGeneration(),
    "HiGHS": lambda: solvers.HiGHS(),
}

# Solvers of `StructuredProblem`; of those, the ones that come near the optimum in few passes.
EXACT_STRUCTURED_SOLVERS: dict[str, Callable[[], structured.StructuredSolver]] = {
    "BlockFrankWolfe": lambda: structured.BlockFrankWolfe(),
    "ConvexConcave": lambda: structured.ConvexConcave(),
    "ConvexConcave over one slack": lambda: structured.ConvexConcave(solver=structured.OneSlack()),
    "NSlack": lambda: structured.NSlack(),
    "OneSlack": lambda: structured.OneSlack(),
}
STRUCTURED_SOLVERS: dict[str, Callable[[], structured.StructuredSolver]] = EXACT_STRUCTURED_SOLVERS | {
    "BlockFrankWolfe mean of the points": lambda: structured.BlockFrankWolfe(sampling="uniform", averaging=True),
    "SubgradientDescent": lambda: structured.SubgradientDescent(),
    "SubgradientDescent last point": lambda: structured.SubgradientDescent(averaging=False),
}

# They need a `LinearGram`.
LINEAR_SOLVERS: dict[str, Callable[[], Solver]] = {
    "CoordinateDescent": lambda: solvers.CoordinateDescent(),
    "LinearSolver": lambda: solvers.LinearSolver(),
    "ProximalNewton": lambda: solvers.ProximalNewton(),
}


# --- asking for labels ------------------------------------------------------------------------------------

QUERY_RULES: dict[str, Callable[[], Any]] = {
    "Closest": lambda: active.Closest(),
    "Farthest": lambda: active.Farthest(),
    "Farthest of the first class": lambda: active.Farthest(0),
    "LeastSure": lambda: active.LeastSure(),
    "Random": lambda: active.Random(),
    "Spread": lambda: active.Spread(),
    "VersionSpace max-min": lambda: active.VersionSpace("maxmin", shortlist=5),
    "VersionSpace ratio": lambda: active.VersionSpace("ratio", shortlist=5),
}

STOPPING_RULES: dict[str, Callable[[], Any]] = {
    "BandEmpty": lambda: active.BandEmpty(),
    "Budget": lambda: active.Budget(15),
    "MistakesLevel": lambda: active.MistakesLevel(last=5),
    "ObjectiveLevel": lambda: active.ObjectiveLevel(last=5),
}


# --- schemes for several classes --------------------------------------------------------------------------

SCHEMES: dict[str, Callable[[], Scheme]] = {
    "CrammerSinger": lambda: multiclass.CrammerSinger(),
    "DAG": lambda: multiclass.DAG(),
    "ErrorCorrectingCode dense": lambda: multiclass.ErrorCorrectingCode("dense"),
    "ErrorCorrectingCode exhaustive": lambda: multiclass.ErrorCorrectingCode("exhaustive", "hamming"),
    "ErrorCorrectingCode sparse": lambda: multiclass.ErrorCorrectingCode("sparse", random_state=3),
    "LeeLinWahba": lambda: multiclass.LeeLinWahba(),
    "OneClassPerClass": lambda: multiclass.OneClassPerClass(nu=0.3),
    "OneVersusOne": lambda: multiclass.OneVersusOne(),
    "OneVersusRest": lambda: multiclass.OneVersusRest(),
    "OneVersusRest balanced": lambda: multiclass.OneVersusRest(balanced=True),
    "OneVersusRest calibrated": lambda: multiclass.OneVersusRest(calibrated=True),
    "OneVersusRest lee": lambda: multiclass.OneVersusRest(balanced=True, targets="lee"),
    "WestonWatkins": lambda: multiclass.WestonWatkins(),
}


def exact(scheme: Scheme) -> dict[str, float]:
    """What makes a classifier as exact as `SMO` makes small problems by itself: to rounding."""
    return {"tol": 1e-9} if isinstance(scheme, multiclass.JointScheme) else {}


# --- criteria ---------------------------------------------------------------------------------------------

CRITERIA: dict[str, Callable[[], Criterion]] = {
    "AlphaSum": lambda: selection.AlphaSum(),
    "LeaveOneOut": lambda: selection.LeaveOneOut(),
    "RadiusMargin": lambda: selection.RadiusMargin(),
    "RadiusMargin modified": lambda: selection.RadiusMargin(delta=1.0),
    "SmoothSpan": lambda: selection.SmoothSpan(),
    "SmoothSpan steep": lambda: selection.SmoothSpan(steepness=20.0, smoothing=0.01),
    "Span": lambda: selection.Span(),
    "SupportFraction": lambda: selection.SupportFraction(),
    "XiAlpha": lambda: selection.XiAlpha(),
    "XiAlpha closer": lambda: selection.XiAlpha(rho=1.0),
}


# --- estimators -------------------------------------------------------------------------------------------

# Without support vectors: weights of features.
LINEAR_ESTIMATORS: dict[str, Callable[[], svm.linear.LinearMachine]] = {
    "LinearSVC": lambda: svm.LinearSVC(),
    "LinearSVC descent": lambda: svm.LinearSVC(solver="descent"),
    "LinearSVC no intercept": lambda: svm.LinearSVC(intercept="none"),
    "LinearSVC penalised": lambda: svm.LinearSVC(intercept="penalised", intercept_scaling=2.0),
    "LinearSVC squared": lambda: svm.LinearSVC(loss="squared_hinge", class_weight="balanced"),
    "LinearSVC sparse": lambda: svm.LinearSVC(penalty="l1", loss="squared_hinge"),
    "LinearSVR": lambda: svm.LinearSVR(),
    "LinearSVR descent": lambda: svm.LinearSVR(solver="descent"),
    "LinearSVR quadratic": lambda: svm.LinearSVR(loss="quadratic", epsilon=0.0, intercept="penalised"),
    "LinearOneClassSVM": lambda: svm.LinearOneClassSVM(nu=0.3),
    "LinearOneClassSVM descent": lambda: svm.LinearOneClassSVM(nu=0.3, solver="descent"),
}

ESTIMATORS: dict[str, Callable[[], SupportVectorMachine]] = {
    "SVC": lambda: svm.SVC(),
    "SVC balanced": lambda: svm.SVC(class_weight="balanced", C=3.0),
    "SVC bias-free": lambda: svm.SVC(kernel=kernels.RBF() + 1, fit_intercept=False),
    "SVC hard": lambda: svm.SVC(kernel=kernels.RBF(gamma=3.0), C=np.inf),
    "SVC linear": lambda: svm.SVC(kernel="linear"),
    "SVC squared": lambda: svm.SVC(loss="squared_hinge"),
    "NuSVC": lambda: svm.NuSVC(nu=0.2),
    "SVR": lambda: svm.SVR(),
    "SVR no tube": lambda: svm.SVR(epsilon=0.0),
    "SVR linear": lambda: svm.SVR(kernel="linear"),
    "SVR quadratic": lambda: svm.SVR(loss="quadratic"),
    "NuSVR": lambda: svm.NuSVR(),
    "QuantileSVR": lambda: svm.QuantileSVR(),
    "QuantileSVR low": lambda: svm.QuantileSVR(quantile=0.2, C=3.0),
    "OneClassSVM": lambda: svm.OneClassSVM(nu=0.3),
    "SVDD": lambda: svm.SVDD(nu=0.3),
    "SVDD linear": lambda: svm.SVDD(kernel="linear", nu=0.3),
}

# Machines with probabilities. Their decision values are log-odds, for which they have laws of their own.
CALIBRATED: dict[str, Callable[[], ClassifierMixin]] = {
    "Calibrated": lambda: calibration.Calibrated(svm.SVC()),
    "Calibrated isotonic": lambda: calibration.Calibrated(svm.SVC(C=0.3), method="isotonic"),
    "Calibrated isotonic plain": lambda: calibration.Calibrated(svm.SVC(), method="isotonic", targets="plain"),
    "Calibrated temperature": lambda: calibration.Calibrated(svm.NuSVC(nu=0.4), method="temperature"),
    "Calibrated temperature corrected": lambda: calibration.Calibrated(
        svm.SVC(), method="temperature", targets="corrected"
    ),
    "Calibrated in-sample": lambda: calibration.Calibrated(svm.SVC(), cv="in-sample"),
    "Calibrated linear": lambda: calibration.Calibrated(svm.LinearSVC()),
    "Calibrated scores": lambda: calibration.Calibrated(RidgeClassifier(tol=1e-12), cv=3),
    "Calibrated ensemble": lambda: calibration.Calibrated(svm.SVC(), ensemble=True),
    "Calibrated ensemble isotonic": lambda: calibration.Calibrated(
        svm.LinearSVC(), method="isotonic", cv=3, ensemble=True
    ),
    "Calibrated ensemble temperature": lambda: calibration.Calibrated(
        svm.SVC(C=0.3, multi_class="ovr"), method="temperature", cv=3, ensemble=True
    ),
    "Calibrated ensemble scores": lambda: calibration.Calibrated(RidgeClassifier(tol=1e-12), cv=3, ensemble=True),
    "SVC probability": lambda: svm.SVC(probability=True, class_weight="balanced"),
    "NuSVC probability": lambda: svm.NuSVC(nu=0.4, probability=True),
}

# A machine for every cell: few cells of the samples that laws have, one, and those of a kernel.
CELLS: dict[str, Callable[[], Any]] = {
    "Cells": lambda: cells.Cells(svm.SVC()),
    "Cells small": lambda: cells.Cells(svm.SVC(C=3.0), cell_size=25, overlap=0.2),
    "Cells of a kernel": lambda: cells.Cells(svm.SVC(), cell_size=25, space="kernel", centres="farthest-first"),
    "Cells values": lambda: cells.Cells(svm.SVR(), cell_size=25, centres="random", overlap=0.5),
    "Cells novelty": lambda: cells.Cells(svm.OneClassSVM(nu=0.3), cell_size=25),
}

# Machines that find their parameters themselves, by a gradient or by a search.
GRADIENT_TUNED: dict[str, Callable[[], ClassifierMixin]] = {
    "GradientTuned": lambda: selection.GradientTuned(),
    "GradientTuned span": lambda: selection.GradientTuned(criterion=selection.SmoothSpan()),
    "GradientTuned per feature": lambda: selection.GradientTuned(
        svm.SVC(loss="squared_hinge", C=3.0, class_weight="balanced"), per_feature=True, max_iter=30
    ),
}
SMALL_GRID = {"C": [0.5, 4.0, 32.0], "kernel__gamma": [0.05, 0.5]}
SEARCHES: dict[str, Callable[[], Any]] = {
    "Tuned": lambda: selection.Tuned(svm.NuSVR(), {"nu": [0.3, 0.7], "C": [1.0, 10.0]}, cv=3),
    "TunedSVC": lambda: selection.TunedSVC(param_grid=SMALL_GRID, cv=3),
    "TunedSVC adaptive": lambda: selection.TunedSVC(param_grid=SMALL_GRID, cv="holdout", search="adaptive"),
    "TunedSVC probability": lambda: selection.TunedSVC(param_grid=SMALL_GRID, cv=3, probability=True),
    "TunedSVR": lambda: selection.TunedSVR(param_grid=SMALL_GRID, cv=3),
    "TunedOneClassSVM": lambda: selection.TunedOneClassSVM(param_grid={"kernel__gamma": [0.05, 0.5]}, cv=3),
}
TUNED = GRADIENT_TUNED | SEARCHES

# scikit-learn's classes with mercer's engine.
DROP_INS: dict[str, Callable[[], Any]] = {
    "SVC": lambda: drop_in.SVC(),
    "SVC linear": lambda: drop_in.SVC(kernel="linear", gamma=0.5),
    "NuSVC": lambda: drop_in.NuSVC(nu=0.2),
    "SVR": lambda: drop_in.SVR(),
    "NuSVR": lambda: drop_in.NuSVR(),
    "OneClassSVM": lambda: drop_in.OneClassSVM(nu=0.3),
    "LinearSVC": lambda: drop_in.LinearSVC(),
    "LinearSVC hinge": lambda: drop_in.LinearSVC(loss="hinge"),
    "LinearSVC l1": lambda: drop_in.LinearSVC(penalty="l1"),
    "LinearSVR": lambda: drop_in.LinearSVR(),
    "LinearSVR squared": lambda: drop_in.LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.1),
}


def softened(estimator: SupportVectorMachine) -> SupportVectorMachine:
    """Made for classes that overlap: a finite C in place of a hard margin, a nu that leaves a margin."""
    if isinstance(estimator, svm.NuSVC):
        estimator.set_params(nu=0.8)
    elif getattr(estimator, "C", 1.0) == np.inf:
        estimator.set_params(C=2.0)
    return estimator


def training_set(estimator: SupportVectorMachine, n: int = 60, d: int = 3, seed: int = 0, n_classes: int = 2):
    """n samples with what the estimator learns: overlapping classes, noisy values; novelty detectors ignore y."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if is_regressor(estimator):
        return X, np.sin(X[:, 0]) + 0.5 * X[:, -1] + 0.2 * rng.normal(size=n)
    classes = rng.permutation(np.arange(n) % n_classes)
    X[:, 0] += 1.5 * classes
    return X, classes
