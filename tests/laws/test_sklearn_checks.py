"""scikit-learn's own checks of estimators, for every estimator there is."""

import numpy as np
import pytest
from registry import ESTIMATORS, LINEAR_ESTIMATORS
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.svm import SVC, SVR, LinearSVC, NuSVC

# A hard margin refuses what is not separable, which is not for these checks to know.
CHECKED = [make() for make in (ESTIMATORS | LINEAR_ESTIMATORS).values()]
CHECKED = [machine for machine in CHECKED if getattr(machine, "C", 1.0) < np.inf]
CHECKED += [SVC(kernel="precomputed"), SVR(kernel="precomputed")]


def expected_failures(estimator):
    if isinstance(estimator, LinearSVC) and estimator.intercept == "none":
        return {
            "check_class_weight_classifiers": "A hyperplane through the origin cannot give all samples to one class, "
            "however heavy it is."
        }
    if isinstance(estimator, NuSVC):
        return {
            "check_class_weight_classifiers": "Class weights of 1000 to 0.0001 leave no room for nu = 0.2: at most "
            "twice the share of the smaller class is feasible."
        }
    return {}


# The checks set max_iter too low to finish, and give indefinite matrices as precomputed ones.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures)
def test_sklearn_checks(estimator, check):
    check(estimator)


def test_no_expected_failure_of_weights():
    assert not any("weight_equivalence" in name for machine in CHECKED for name in expected_failures(machine))
