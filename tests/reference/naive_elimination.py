"""Recursive feature elimination as it is written down: an exact fit, and every feature left out in turn."""

import numpy as np

from mercer.svm import SVC


def losses(machine: SVC) -> list[float]:
    """DJ of every feature: the dual objective without it, the multipliers held fixed."""
    support, rows = machine.support_vectors_, machine.dual_coef_
    rows = rows.toarray() if hasattr(rows, "toarray") else rows

    K = machine.kernel_(support)
    changes = (K - machine.kernel_(np.delete(support, j, axis=1)) for j in range(support.shape[1]))
    return [sum(0.5 * float(c @ change @ c) for c in rows) for change in changes]


def eliminate(make, X, y, sample_weight=None, step=1, keep=1):
    """The columns in the order in which they go, and DJ of each of them then."""
    left, order, lost = list(range(X.shape[1])), [], []
    while len(left) > keep:
        machine = make().set_params(tol=1e-10).fit(X[:, left], y, sample_weight)
        loss = losses(machine)
        batch = min(step if step >= 1 else max(1, int(step * len(left))), len(left) - keep)
        for k in sorted(range(len(left)), key=lambda k: (loss[k], left[k]))[:batch]:
            order.append(left[k])
            lost.append(loss[k])
        left = [j for j in left if j not in order]
    return np.array(order), np.array(lost)
