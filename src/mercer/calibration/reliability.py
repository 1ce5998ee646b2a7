"""How far probabilities can be relied on."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import log_loss
from sklearn.utils.validation import _check_sample_weight, check_array, column_or_1d

from mercer.parameters import Choice, Number

__all__ = ["Reliability", "calibration_error", "reliability"]


class Reliability(NamedTuple):
    """Three measures of probabilities, 0 for perfect ones."""

    brier: float
    """Mean squared error of the probabilities: of the second of two classes, or summed over all of more, as
    `sklearn.metrics.brier_score_loss` has it."""
    log_loss: float
    """Mean of minus the logarithm of the probability of what came true."""
    calibration_error: float
    """Expected calibration error, see `calibration_error`."""


def calibration_error(y, probabilities, *, classes=None, n_bins=10, strategy="uniform", sample_weight=None):
    """Expected calibration error: how far confidence and accuracy are apart, on average.

    .. math::

        \\sum_b \\frac{W_b}{W} \\left| \\mathrm{accuracy}_b - \\mathrm{confidence}_b \\right|

    over bins b of the probability of the predicted class, with W the sums of weights [1]_.

    Parameters
    ----------
    y : array of shape (n,)
        The true classes.
    probabilities : array of shape (n, n_classes)
        What `predict_proba` gives.
    classes : array of shape (n_classes,), default=None
        What `classes_` holds; None: the classes that y has, in order.
    n_bins : int >= 1, default=10
        More see finer errors, and more noise.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, or of equal numbers of samples.
    sample_weight : array of shape (n,), default=None

    Returns
    -------
    float
        Between 0, perfect, and 1.

    References
    ----------
    .. [1] C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, On calibration of modern neural networks, 2017, eq. 5.

    Examples
    --------
    >>> from mercer.calibration import calibration_error
    >>> probabilities = [[0.2, 0.8], [0.2, 0.8], [0.2, 0.8], [0.2, 0.8], [0.2, 0.8]]
    >>> round(calibration_error([1, 1, 1, 1, 0], probabilities), 6)
    0.0
    >>> round(calibration_error([1, 1, 0, 0, 0], probabilities), 6)
    0.4
    """
    for name, rule, value in (
        ("n_bins", Number(1, integer=True), n_bins),
        ("strategy", Choice("uniform", "quantile"), strategy),
    ):
        if problem := rule.problem(value):
            raise ValueError(f"{name} {problem}")
    y, p, labels, weight = _checked(y, probabilities, classes, sample_weight)
    confidence, right = p.max(axis=1), labels[p.argmax(axis=1)] == y
    if strategy == "uniform":
        inner = np.linspace(0.0, 1.0, n_bins + 1)[1:-1]
    else:
        inner = np.quantile(confidence, np.linspace(0.0, 1.0, n_bins + 1)[1:-1])
    bins = np.searchsorted(inner, confidence, side="left")  # a bin contains its upper end
    errors = np.bincount(bins, weights=weight * (right - confidence), minlength=n_bins)
    return float(np.abs(errors).sum() / weight.sum())


def reliability(y, probabilities, *, classes=None, sample_weight=None) -> Reliability:
    """Brier score, log loss and calibration error of probabilities.

    Parameters
    ----------
    y, probabilities, classes, sample_weight :
        As in `calibration_error`.

    Returns
    -------
    Reliability

    Examples
    --------
    >>> from mercer.calibration import reliability
    >>> measures = reliability(["no", "yes", "yes"], [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]])
    >>> [round(measure, 3) for measure in measures]
    [0.047, 0.228, 0.2]
    """
    y, p, labels, weight = _checked(y, probabilities, classes, sample_weight)
    squares = ((p - (y[:, np.newaxis] == labels)) ** 2).sum(axis=1)
    brier = np.average(squares, weights=weight) / (2 if len(labels) == 2 else 1)
    loss = log_loss(y, p, sample_weight=weight, labels=labels)
    error = calibration_error(y, p, classes=labels, sample_weight=weight)
    return Reliability(float(brier), float(loss), error)


def _checked(y: Any, probabilities: Any, classes: Any, weight: Any) -> tuple[np.ndarray, ...]:
    y = column_or_1d(y)
    p = check_array(probabilities, dtype=np.float64, input_name="probabilities")
    labels = np.unique(y) if classes is None else column_or_1d(classes)
    if p.shape != (len(y), len(labels)):
        raise ValueError(
            f"probabilities has shape {p.shape}, for {len(y)} samples of {len(labels)} classes it must be "
            f"{(len(y), len(labels))}; give classes where y does not have all of them."
        )
    return y, p, labels, _check_sample_weight(weight, p, dtype=np.float64, ensure_non_negative=True)
