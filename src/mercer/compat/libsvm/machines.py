"""Between LIBSVM's models and the machines of mercer: the order of classes, pairs and signs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array
from sklearn.utils.validation import check_is_fitted

from mercer.calibration import Calibration
from mercer.calibration.maps import Sigmoid as LogOdds
from mercer.compat.layout import pairs_of, to_table
from mercer.compat.libsvm.model import Model
from mercer.kernels import RBF, Linear, Polynomial, Sigmoid
from mercer.multiclass import OneVersusOne, as_scheme
from mercer.multiclass.pairs import pair_number
from mercer.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

__all__ = ["as_machine", "as_model", "pair_values"]

MACHINES: dict[str, Any] = {
    "c_svc": SVC,
    "nu_svc": NuSVC,
    "one_class": OneClassSVM,
    "epsilon_svr": SVR,
    "nu_svr": NuSVR,
}


class Order:
    """Where the pairs of LIBSVM's classes are among ours, which are sorted, and with which sign."""

    def __init__(self, labels: Sequence[int]) -> None:
        self.classes = np.sort(labels)
        self.place = np.searchsorted(self.classes, labels)
        """Our number of each of LIBSVM's classes."""
        first, second = self.place[pairs_of(len(labels))].T
        self.row = pair_number(np.minimum(first, second), np.maximum(first, second), len(labels))
        """Our number of each of LIBSVM's pairs."""
        self.sign = np.where(first < second, -1.0, 1.0)
        """Ours is positive for the larger class, LIBSVM's for the first of its own."""


def as_machine(model: Model, n_features: int | None = None) -> Any:
    """A fitted machine from what a LIBSVM model file says.

    Parameters
    ----------
    model : Model
    n_features : int or None, default=None
        As in `read_model`.

    Returns
    -------
    SVC, NuSVC, OneClassSVM, SVR or NuSVR
    """
    machine = MACHINES[model.type](kernel=model.kernel_object())
    machine.kernel_ = model.kernel_object()
    _set_support(machine, model, n_features)
    if model.classifies:
        _set_classes(machine, model)
        return machine
    machine.dual_coef_ = model.coefficients.copy()
    machine.intercept_ = -model.rho
    machine.n_support_ = np.array([len(machine.support_)])
    if model.type == "one_class":
        machine.offset_ = float(model.rho[0])
    else:
        machine._single_output = True
    return machine


def _set_support(machine: Any, model: Model, n_features: int | None) -> None:
    given = model.kernel == "precomputed"
    numbers = model.vectors.toarray()[:, 0].astype(np.int64) - 1 if given else np.arange(model.vectors.shape[0])
    needed = int(numbers.max(initial=0)) + 1 if given else model.vectors.shape[1]
    if n_features is not None and n_features < needed:
        raise ValueError(f"n_features must be at least {needed}, which the support vectors have, got {n_features}.")
    machine.n_features_in_ = needed if n_features is None else n_features
    machine.support_ = numbers
    machine._n_train = machine.n_features_in_ if given else len(numbers)
    vectors = model.vectors.copy()
    vectors.resize(len(numbers), machine.n_features_in_)
    machine.support_vectors_ = np.empty((0, 0)) if given else vectors


def _set_classes(machine: Any, model: Model) -> None:
    order, of_class, n_classes = Order(model.labels), model.of_class, len(model.labels)
    machine.classes_ = order.classes
    machine.n_support_ = np.zeros(n_classes, dtype=np.int64)
    machine.n_support_[order.place] = model.n_support
    # The coefficients of a support vector of class c in its pair with class k are in row k, or k - 1 after c itself.
    pairs = pairs_of(n_classes)
    rows, columns, values = [], [], []
    for pair, (i, j) in enumerate(pairs):
        for own, row in ((i, j - 1), (j, i)):
            support = np.flatnonzero(of_class == own)
            rows.append(np.full(len(support), order.row[pair]))
            columns.append(support)
            values.append(order.sign[pair] * model.coefficients[row, support])
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    table = csr_array(coo_array(entries, shape=(len(pairs), len(of_class))))
    table.eliminate_zeros()
    machine.dual_coef_ = table.toarray() if len(pairs) == 1 else table
    machine.intercept_ = np.empty(len(pairs))
    machine.intercept_[order.row] = -order.sign * model.rho
    machine._plan = as_scheme(machine.multi_class).plan(n_classes)
    if model.prob_a is not None and model.prob_b is not None:
        maps: list[Any] = [None] * len(pairs)
        for pair, row in enumerate(order.row):
            # LIBSVM's log-odds of its second class are A f + B; ours are of the larger class, from our sign of f.
            sign = order.sign[pair]
            maps[row] = LogOdds(float(-model.prob_a[pair]), float(-sign * model.prob_b[pair]))
        own = tuple((int(i), int(j)) for i, j in pairs) if n_classes > 2 else ()
        machine.probability = True
        machine.calibration_ = Calibration(n_classes, tuple(maps), own)


def pair_values(machine: Any, labels: Sequence[int], X: Any) -> np.ndarray:
    """Decision values of all pairs of classes in LIBSVM's order and signs, shape (n, n_pairs).

    Parameters
    ----------
    machine : SVC or NuSVC
    labels : sequence of int
        The order of the classes.
    X : n samples
    """
    order = Order(labels)
    return order.sign * machine._raw_decision(X)[:, order.row]


def as_model(machine: Any, labels: Sequence[int] | None = None) -> Model:
    """What the LIBSVM model file of a fitted machine says.

    Parameters
    ----------
    machine : SVC, NuSVC, OneClassSVM, SVR or NuSVR
        Fitted, with a kernel that LIBSVM has.
    labels : sequence of int or None, default=None
        The order of the classes; None: ascending. LIBSVM has them in the order of the training file.

    Returns
    -------
    Model
    """
    machine = getattr(machine, "machine_", machine)
    type_ = next((name for name, kind in MACHINES.items() if type(machine) is kind), None)
    if type_ is None:
        known = ", ".join(kind.__name__ for kind in MACHINES.values())
        raise ValueError(f"LIBSVM has no {type(machine).__name__}; model files are for {known}.")
    check_is_fitted(machine)
    if machine._mapped:
        raise ValueError(f"LIBSVM's models have support vectors, and no features of {machine.approximation_!r}.")
    kind = {"type": type_, **_kernel(machine.kernel_)}
    if kind["kernel"] == "precomputed":
        vectors = csr_array(machine.support_[:, np.newaxis] + 1.0)
    else:
        vectors = csr_array(machine.support_vectors_)
    if type_ in ("c_svc", "nu_svc"):
        return _classifier(machine, labels, kind, vectors)
    if len(machine.intercept_) != 1:
        raise ValueError(
            f"LIBSVM's models have one output, this {type(machine).__name__} has {len(machine.intercept_)}."
        )
    return Model(**kind, rho=-machine.intercept_, coefficients=np.array(machine.dual_coef_), vectors=vectors)


def _kernel(kernel: Any) -> dict[str, Any]:
    """The kernel in LIBSVM's words."""
    if isinstance(kernel, str):
        return {"kernel": "precomputed"}
    if type(kernel) is Linear:
        return {"kernel": "linear"}
    if type(kernel) is RBF and np.ndim(kernel.gamma) == 0:
        return {"kernel": "rbf", "gamma": float(kernel.gamma)}
    if type(kernel) is Sigmoid:
        return {"kernel": "sigmoid", "gamma": float(kernel.gamma), "coef0": float(kernel.coef0)}
    if type(kernel) is Polynomial:
        return {
            "kernel": "polynomial",
            "degree": int(kernel.degree),
            "gamma": float(kernel.gamma),
            "coef0": float(kernel.coef0),
        }
    raise ValueError(
        f"LIBSVM has no kernel {kernel!r}; it has Linear, Polynomial, RBF with one gamma, Sigmoid and 'precomputed'."
    )


def _classifier(machine: Any, labels: Sequence[int] | None, kind: dict[str, Any], vectors: csr_array) -> Model:
    classes = machine.classes_
    n_classes = len(classes)
    if n_classes > 2 and not isinstance(as_scheme(machine.multi_class), OneVersusOne):
        raise ValueError(f"LIBSVM's models vote in pairs, multi_class='ovo', this one has {machine.multi_class!r}.")
    if classes.dtype.kind not in "biuf" or (classes != np.round(classes.astype(np.float64))).any():
        raise ValueError(f"LIBSVM's classes are integers, got {classes.tolist()}.")
    own = [int(label) for label in classes.tolist()]
    labels = own if labels is None else [int(label) for label in labels]
    if sorted(labels) != own:
        raise ValueError(f"labels must be the classes {own} in any order, got {labels}.")
    order = Order(labels)
    pairs = pairs_of(n_classes)
    table = csr_array(machine.dual_coef_)[order.row]
    table = csr_array(table.multiply(order.sign[:, np.newaxis]))
    of_class = _classes_of(coo_array(table), pairs, n_classes)
    by_class = np.argsort(of_class, kind="stable")
    coefficients = to_table(-table, pairs, of_class, n_classes)[:, by_class]
    prob_a, prob_b = _sigmoids(machine, order)
    return Model(
        **kind,
        rho=-order.sign * machine.intercept_[order.row],
        coefficients=coefficients,
        vectors=vectors[by_class],
        labels=tuple(labels),
        n_support=tuple(np.bincount(of_class, minlength=n_classes).tolist()),
        prob_a=prob_a,
        prob_b=prob_b,
    )


def _classes_of(entries: coo_array, pairs: np.ndarray, n_classes: int) -> np.ndarray:
    """The class of every support vector, from the pairs that it has a coefficient in: it is in all of them.

    Where that is one pair, a positive coefficient is that of its first class; a nu-machine whose margin is negative has
    them the other way round, but then either will do.
    """
    counts = np.zeros((entries.shape[1], n_classes))
    for side in pairs[entries.row].T:
        np.add.at(counts, (entries.col, side), 1.0)
    np.add.at(counts, (entries.col, np.where(entries.data > 0, *pairs[entries.row].T)), 1e-3)
    return counts.argmax(axis=1)


def _sigmoids(machine: Any, order: Order) -> tuple[np.ndarray | None, np.ndarray | None]:
    calibration = getattr(machine, "calibration_", None)
    if calibration is None:
        return None, None
    if len(calibration.maps) != len(order.row) or not all(isinstance(own, LogOdds) for own in calibration.maps):
        raise ValueError("LIBSVM's probabilities are sigmoids of pairs of classes, those of this machine are not.")
    slope, offset = np.array(calibration.maps).T[:, order.row]
    return -slope, -order.sign * offset
