"""Relevance vector machines whose basis functions say nothing one by one, and widths that leave too many behind."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import RelevanceVectorClassifier, RelevanceVectorRegressor
from mercer.kernels import RBF
from mercer.solvers import Progress

WIDE = RBF(gamma=0.003)


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(200, 2))


def ring(X):
    return np.square(X).sum(axis=1) > 1.4


def saddle(X):
    return X[:, 0] * X[:, 1] + 0.1 * np.random.default_rng(1).normal(size=len(X))


@pytest.mark.parametrize(
    ("machine", "targets"),
    [(RelevanceVectorClassifier(WIDE), ring), (RelevanceVectorRegressor(WIDE), saddle)],
    ids=["classes", "values"],
)
class TestWideBasisFunctions:
    """The product of two features, and a ring, are in the differences of wide functions only."""

    def test_are_learnt_from(self, machine, targets, X):
        y = targets(X)
        machine = clone(machine).fit(X, y)
        assert machine.score(X, y) > 0.95
        assert len(machine.relevance_) < 20
        if isinstance(machine, RelevanceVectorClassifier):  # values are found from the first start
            assert "restart" in machine.result_.history.kind

    def test_what_is_told_never_falls(self, machine, targets, X):
        told: list[Progress] = []
        history = clone(machine).set_params(callback=told.append).fit(X, targets(X)).result_.history
        for iteration, value in (
            (history.iteration, history.log_evidence),
            ([progress.n_iter for progress in told], [progress.objective for progress in told]),
        ):
            assert (np.diff(iteration) >= 0).all()
            assert (np.diff(value) >= -1e-9).all()

    def test_are_learnt_from_in_any_order(self, machine, targets, X):
        y, order = targets(X), np.random.default_rng(2).permutation(len(X))
        assert clone(machine).fit(X[order], y[order]).score(X, y) > 0.95

    def test_limits_hold_for_all_starts_together(self, machine, targets, X):
        y = targets(X)
        whole = clone(machine).fit(X, y)
        with pytest.warns(match="max_iter"):
            short = clone(machine).set_params(max_iter=whole.n_iter_ // 2).fit(X, y)
        assert short.result_.status == "max_iter"
        assert short.n_iter_ < whole.n_iter_
        assert short.log_evidence_ <= whole.log_evidence_


def test_noise_is_that_of_the_model_that_is_kept(X):
    """Targets that are noise alone: another start, ended at once, leads nowhere and leaves no trace."""
    y = np.random.default_rng(3).normal(size=len(X))
    history = RelevanceVectorRegressor(WIDE).fit(X, y).result_.history
    first = history.iteration[history.kind != "restart"][-1]
    with pytest.warns(match="max_iter"):
        machine = RelevanceVectorRegressor(WIDE, max_iter=int(first) + 1).fit(X, y)
    phi = machine.basis_values(X)
    C = machine.noise_variance_ * np.eye(len(X)) + (phi / machine.alpha_) @ phi.T
    evidence = -0.5 * (np.linalg.slogdet(2 * np.pi * C).logabsdet + y @ np.linalg.solve(C, y))
    assert machine.log_evidence_ == pytest.approx(evidence, rel=1e-9)


def test_width_by_evidence_is_no_worse_than_a_fit_with_that_width(X):
    y = ring(X)
    y[::7] = ~y[::7]
    machine = RelevanceVectorClassifier(gamma="evidence").fit(X, y)
    assert machine.log_evidence_ >= RelevanceVectorClassifier(machine.kernel_).fit(X, y).log_evidence_ - 1e-9
