"""Relevance vector machines."""

from mercer import rvm

ROOMS = (rvm,)
MACHINES = {
    "RelevanceVectorRegressor": lambda: rvm.RelevanceVectorRegressor(),
    "RelevanceVectorRegressor EM": lambda: rvm.RelevanceVectorRegressor(algorithm="em", tol=0.1),
    "RelevanceVectorClassifier": lambda: rvm.RelevanceVectorClassifier(),
    "RelevanceVectorClassifier ovr": lambda: rvm.RelevanceVectorClassifier(multi_class="ovr"),
}
NO_EXPANSION = (rvm.RelevanceVectorClassifier,)  # log-odds, which take the spread into account
