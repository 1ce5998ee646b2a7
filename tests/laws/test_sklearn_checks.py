"""scikit-learn's own checks of estimators, for every estimator there is."""

import numpy as np
import pytest
from registry import CALIBRATED, CELLS, ESTIMATORS, LINEAR_ESTIMATORS, SCHEMES, TUNED, exact
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.cells import Cells
from mercer.multiclass import OneClassPerClass
from mercer.selection.tuner import Tuner
from mercer.svm import SVC, SVR, LinearSVC, NuSVC

# A hard margin refuses what is not separable, which is not for these checks to know.
CHECKED = [make() for make in (ESTIMATORS | LINEAR_ESTIMATORS).values()]
CHECKED = [machine for machine in CHECKED if getattr(machine, "C", 1.0) < np.inf]
CHECKED += [SVC(kernel="precomputed"), SVR(kernel="precomputed")]
CHECKED += [SVC(multi_class=make(), **exact(make())) for make in SCHEMES.values()]
CHECKED += [LinearSVC(multi_class="crammer_singer", tol=1e-9), SVC(multi_class="weston_watkins", probability=True)]
CHECKED += [make() for make in (CALIBRATED | CELLS | TUNED).values()]


WEIGHTS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")


def draws_folds(estimator):
    """Whether the folds are the machine's own affair."""
    if isinstance(estimator, Tuner):  # they are scikit-learn's
        return False
    scheme = getattr(estimator, "multi_class", None)
    return getattr(estimator, "probability", False) or getattr(scheme, "calibrated", False)


def expected_failures(estimator):
    failures = {}
    if isinstance(estimator, Cells) and estimator.cell_size < 100:
        failures |= dict.fromkeys(WEIGHTS, "How many cells there are is a matter of samples, whatever their weights.")
    if isinstance(estimator, LinearSVC) and estimator.intercept == "none":
        failures["check_class_weight_classifiers"] = (
            "A hyperplane through the origin cannot give all samples to one class, however heavy it is."
        )
    if isinstance(estimator, NuSVC):
        failures["check_class_weight_classifiers"] = (
            "Class weights of 1000 to 0.0001 leave no room for nu = 0.2: at most twice the share of the smaller class "
            "is feasible."
        )
    if isinstance(getattr(estimator, "multi_class", None), OneClassPerClass):
        failures["check_class_weight_classifiers"] = (
            "A class that learns from its own samples alone does not feel a factor of their weights."
        )
    if draws_folds(estimator):
        reason = "Copies of a sample may be in different folds. Calibrated, which takes splits, passes these checks."
        failures |= dict.fromkeys(WEIGHTS, reason)
    return failures


# The checks set max_iter too low to finish, and give indefinite matrices as precomputed ones.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures)
def test_sklearn_checks(estimator, check):
    check(estimator)


def test_no_expected_failure_of_weights():
    """But of machines that draw folds by themselves, and of cells."""
    plain = [machine for machine in CHECKED if not draws_folds(machine) and not isinstance(machine, Cells)]
    assert len(plain) > len(ESTIMATORS)
    assert not any("weight_equivalence" in name for machine in plain for name in expected_failures(machine))
