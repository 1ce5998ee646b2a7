"""From decision values to probabilities: monotone maps, and how they are fitted.

A map turns decision values into log-odds and never reverses their order. Everything here is a pure function of
decision values, sides and weights; a sample of weight 2 counts as two samples.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, log_softmax, logit, softmax
from sklearn.isotonic import IsotonicRegression

__all__ = ["Isotonic", "Sigmoid", "fit_isotonic", "fit_sigmoid", "fit_temperature"]

TARGETS = ("corrected", "plain")
# Where the likelihood has no maximum (plain targets, classes apart), the nearest samples get these log-odds: an error
# in a million.
SURE = float(np.log(1e6))
# Classes that touch are taken to be apart by this fraction of the spread of their decision values.
TOUCHING = 1e-6
# Decision values that differ by less than this fraction of their size are the same up to rounding: those of a machine
# that gives all samples to one side.
ROUNDING = 1e-8
NEWTON_STEPS, HALVINGS = 100, 50
# A Newton step that promises to gain less than this fraction of the loss is the last one.
LAST_STEP = 1e-14


class Sigmoid(NamedTuple):
    """log-odds = slope * decision + offset, slope >= 0."""

    slope: float
    offset: float

    def log_odds(self, decision: np.ndarray) -> np.ndarray:
        """The log-odds of decision values."""
        return self.slope * decision + self.offset


class Isotonic(NamedTuple):
    """Probabilities at ascending decision values, linear between them, constant outside."""

    decision: np.ndarray
    probability: np.ndarray

    def log_odds(self, decision: np.ndarray) -> np.ndarray:
        """The log-odds of decision values, infinite where the probability is 0 or 1."""
        return logit(np.interp(decision, self.decision, self.probability))


def fit_sigmoid(decision: Any, positive: Any, weight: Any = None, targets: str = "corrected") -> Sigmoid:
    """Platt's sigmoid, p = 1 / (1 + exp(-(slope * decision + offset))). [CY eqs 2.9-2.11; B eq 7.43]

    .. math::

        \\min_{\\text{slope} \\ge 0,\\ \\text{offset}} \\; -\\sum_i \\omega_i \\left[t_i \\log p_i
        + (1 - t_i) \\log(1 - p_i)\\right]

    by Newton's method with step halving, in a form in which nothing overflows or cancels [1]_. The slope is the A of
    [B eq 7.43], minus that of [CY eq 2.9].

    Parameters
    ----------
    decision : array of shape (n,)
        Decision values, of samples that the machine has not been trained on.
    positive : bool array of shape (n,)
        The sides of the samples.
    weight : array of shape (n,), default=None
        Non-negative; None: 1 for all.
    targets : {"corrected", "plain"}, default="corrected"
        "plain": t is 1 for positive samples, 0 for the others [CY eq 2.10]. "corrected": Platt's
        (N+ + 1) / (N+ + 2) and 1 / (N- + 2), with N the sums of weights; the optimum is then always finite.

    Returns
    -------
    Sigmoid
        The slope and the offset.

    Notes
    -----
    The problem is convex, so that a slope which would be negative without the constraint is 0 with it: the decision
    values then say nothing, and every sample gets the mean target as its probability. So it does where they are all
    equal, or differ by rounding only, from the eighth digit on. Plain targets of classes that do not overlap have no
    finite optimum; the sigmoid then has its centre between the classes, and an error of one in a million at the samples
    nearest to it.

    References
    ----------
    .. [1] H.-T. Lin, C.-J. Lin, R. C. Weng, A note on Platt's probabilistic outputs for support vector machines,
       Machine Learning 68, 2007.

    Examples
    --------
    >>> from mercer.calibration import fit_sigmoid
    >>> slope, offset = fit_sigmoid([-2.0, -1.0, 0.0, 1.0, 2.0], [False, False, True, False, True])
    >>> round(slope, 3), round(offset, 3)
    (0.481, -0.359)
    """
    f, positive, w = _checked(decision, positive, weight)
    t = _binary_targets(positive, w, targets)
    total = float(w.sum())
    mean = float((w * t).sum()) / total
    if not 0.0 < mean < 1.0:
        raise ValueError("A sigmoid with plain targets needs samples of both sides.")
    constant = Sigmoid(0.0, float(logit(mean)))
    centre = float((w * f).sum()) / total
    spread = float(np.abs(f - centre).max())
    # Where all decision values are equal, or the loss grows with the slope from 0 on.
    if spread == 0.0 or (w * (mean - t) * (f - centre)).sum() >= 0.0:
        return constant
    if targets == "plain" and (below := float(f[~positive].max())) <= (above := float(f[positive].min())):
        slope = 2.0 * SURE / max(above - below, TOUCHING * spread)
        return Sigmoid(slope, -0.5 * slope * (below + above))
    a, b = _newton((f - centre) / spread, t, w, constant.offset)
    slope = max(a, 0.0) / spread
    return Sigmoid(slope, b - slope * centre)


def _newton(g: np.ndarray, t: np.ndarray, w: np.ndarray, offset: float) -> tuple[float, float]:
    """The a and b of the smallest loss, from a = 0 and b = offset; log-odds are z = a g + b."""

    def loss(a: float, b: float) -> float:
        z = a * g + b
        return float((w * (np.logaddexp(0.0, z) - t * z)).sum())

    a, b = 0.0, offset
    value = loss(a, b)
    for _ in range(NEWTON_STEPS):
        p = expit(a * g + b)
        slopes, curvatures = w * (p - t), w * p * (1.0 - p)
        da, db = float((slopes * g).sum()), float(slopes.sum())
        aa, ab, bb = float((curvatures * g * g).sum()), float((curvatures * g).sum()), float(curvatures.sum())
        ridge = 1e-12 * (aa + bb) + float(np.finfo(float).tiny)  # where all probabilities are 0 or 1
        aa, bb = aa + ridge, bb + ridge
        determinant = aa * bb - ab * ab
        step_a, step_b = (ab * db - bb * da) / determinant, (ab * da - aa * db) / determinant
        gain = -(da * step_a + db * step_b)
        if gain <= LAST_STEP * value:
            return a + step_a, b + step_b
        length = 1.0
        for _ in range(HALVINGS):
            new = loss(a + length * step_a, b + length * step_b)
            if new <= value - 1e-4 * length * gain:
                break
            length *= 0.5
        else:  # rounding hides the gain
            return a, b
        a, b, value = a + length * step_a, b + length * step_b, new
    return a, b


def fit_isotonic(decision: Any, positive: Any, weight: Any = None, targets: str = "corrected") -> Isotonic:
    """The non-decreasing function with the smallest squared error, by pooling adjacent violators.

    Parameters
    ----------
    decision, positive, weight :
        As in `fit_sigmoid`. Samples of equal decision values count as one, of their mean target.
    targets : {"corrected", "plain"}, default="corrected"
        As in `fit_sigmoid`. "plain" gives probabilities of 0 and 1 where the classes do not overlap, and infinite
        log-odds with them; "corrected" none.

    Returns
    -------
    Isotonic
        Its values between the decision values it was fitted on are interpolated, outside they are constant.

    References
    ----------
    .. [1] B. Zadrozny, C. Elkan, Transforming classifier scores into accurate multiclass probability estimates, 2002.

    Examples
    --------
    >>> from mercer.calibration import fit_isotonic
    >>> fit_isotonic([-2.0, -1.0, 0.0, 1.0], [False, True, False, True], targets="plain").probability
    array([0. , 0.5, 0.5, 1. ])
    """
    f, positive, w = _checked(decision, positive, weight)
    fitted = IsotonicRegression(y_min=0.0, y_max=1.0).fit(f, _binary_targets(positive, w, targets), w)
    return Isotonic(fitted.X_thresholds_, fitted.y_thresholds_)


def fit_temperature(scores: Any, codes: Any, weight: Any = None, targets: str = "plain") -> float:
    """One scale for all scores: probabilities are softmax(scale * scores), scale >= 0.

    The log loss is convex in the scale; its derivative is brought to zero. The class with the largest score keeps the
    largest probability.

    Parameters
    ----------
    scores : array of shape (n, n_classes) or (n,)
        One score per class; one column stands for two classes of scores 0 and the given ones, so that the log-odds
        are scale * scores.
    codes : int array of shape (n,)
        Class numbers.
    weight : array of shape (n,), default=None
        Non-negative; None: 1 for all.
    targets : {"plain", "corrected"}, default="plain"
        "plain": 1 for the class of a sample, 0 for the others. "corrected": (N + 1) / (N + 2) for its class, with N the
        sum of weights of that class, and the rest in equal parts for the others; Platt's targets where there are two.
        They make a temperature too high: it is one number, learnt from all samples, and need not be held back.

    Returns
    -------
    float
        The scale, the inverse of the temperature; 0 where the scores say nothing or the wrong thing. Plain targets of
        samples that all have their largest score at their class have no finite optimum: the smallest difference of
        scores then gets log-odds of a million to one.

    References
    ----------
    .. [1] C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, On calibration of modern neural networks, 2017.

    Examples
    --------
    >>> from mercer.calibration import fit_temperature
    >>> round(fit_temperature([-2.0, 1.0, -0.5, 3.0], [0, 0, 1, 1]), 3)
    0.579
    """
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores])
    codes = np.asarray(codes)
    w = np.ones(len(codes)) if weight is None else np.asarray(weight, dtype=np.float64)
    used = w > 0
    s, codes, w = scores[used], codes[used], w[used]
    t = _class_targets(codes, w, s.shape[1], targets)
    own = s[np.arange(len(s)), codes]
    s = s - s.max(axis=1, keepdims=True)
    spread = float(-s.min(initial=0.0))
    wanted = float((w * (t * s).sum(axis=1)).sum())

    def slope(scale: float) -> float:
        """The derivative of the loss, over the scores divided by their spread."""
        expected = (softmax(scale / spread * s, axis=1) * s).sum(axis=1)
        return (float((w * expected).sum()) - wanted) / spread

    if spread == 0.0 or slope(0.0) >= 0.0:
        return 0.0
    if targets == "plain":
        others = scores[used].copy()
        others[np.arange(len(others)), codes] = -np.inf
        margin = float((own - others.max(axis=1)).min())
        if margin >= 0.0:
            return SURE / max(margin, TOUCHING * spread)
    high = 1.0
    while slope(high) < 0.0:
        high *= 2.0
    return float(brentq(slope, 0.0, high, xtol=1e-14 * high, rtol=4 * np.finfo(float).eps)) / spread


def temperature_log_probabilities(scale: float, scores: np.ndarray) -> np.ndarray:
    """log softmax(scale * scores)."""
    return log_softmax(scale * scores, axis=1)


def _checked(decision: Any, positive: Any, weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Decision values, sides and weights of the samples that have one."""
    f, positive = np.asarray(decision, dtype=np.float64), np.asarray(positive, dtype=bool)
    w = np.ones(len(f)) if weight is None else np.asarray(weight, dtype=np.float64)
    if f.ndim != 1 or positive.shape != f.shape or w.shape != f.shape:
        raise ValueError(
            f"decision, positive and weight must be of one shape (n,), got {f.shape}, {positive.shape}, {w.shape}."
        )
    used = w > 0
    if not used.any():
        raise ValueError("weight must have at least one positive entry.")
    f = f[used]
    if not np.isfinite(f).all():
        raise ValueError("decision contains NaN or infinity.")
    low, high = f.min(), f.max()
    if high - low <= ROUNDING * max(abs(low), abs(high)):
        f = np.full(len(f), 0.5 * low + 0.5 * high)
    return f, positive[used], w[used]


def _binary_targets(positive: np.ndarray, weight: np.ndarray, targets: str) -> np.ndarray:
    return _class_targets(positive.astype(int), weight, 2, targets)[:, 1]


def _class_targets(codes: np.ndarray, weight: np.ndarray, n_classes: int, targets: str) -> np.ndarray:
    """Wanted probabilities, shape (n, n_classes): Platt's, for any number of classes, or zeros and ones."""
    if targets not in TARGETS:
        raise ValueError(f"targets must be {' or '.join(map(repr, TARGETS))}, got {targets!r}.")
    table = np.zeros((len(codes), n_classes))
    if targets == "corrected":
        mass = np.bincount(codes, weights=weight, minlength=n_classes)[codes]
        table += (1.0 / ((mass + 2.0) * (n_classes - 1)))[:, np.newaxis]
        table[np.arange(len(codes)), codes] = (mass + 1.0) / (mass + 2.0)
    else:
        table[np.arange(len(codes)), codes] = 1.0
    return table
