"""The perceptron in feature space."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from mercer.gram import Gram, memory_budget
from mercer.machines import KernelClassifier
from mercer.parameters import Choice, Number

__all__ = ["KernelPerceptron"]


class KernelPerceptron(KernelClassifier):
    r"""The perceptron: goes through the samples and learns from its mistakes.

    Two classes, :math:`y_i = \pm 1`: whenever :math:`y_i f(x_i) \le 0`,

    .. math:: w \leftarrow w + y_i \phi(x_i), \qquad b \leftarrow b + y_i, \qquad f(x) = \langle w, \phi(x) \rangle + b.

    More classes have a function each; a mistake adds the sample to that of its class, and takes it from the one that
    was larger. In feature space :math:`w` is an expansion over the mistakes [1]_. It stops after a pass without any. If
    some unit vector :math:`(w, b)` separates two classes with the margin :math:`\gamma`, and
    :math:`R^2 = \max_i k(x_i, x_i) + 1`, there are at most :math:`(R / \gamma)^2` mistakes (Novikoff [2]_); if none
    does, it never stops by itself. Which of the separating functions it finds depends on the order of the samples;
    support vector machines are the answer to that.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`. "precomputed": X is the kernel matrix.
    averaged : bool, default=False
        The mean of the functions after each sample of each pass, in place of the last one: it changes less with the
        order, and does better where classes overlap [1]_.
    fit_intercept : bool, default=True
        Whether there is an offset b, the weight of a feature that is 1 for all.
    max_iter : int >= 1, default=100
        Most passes through the samples.
    shuffle : bool, default=True
        Whether each pass has an order of its own; else it is that of the samples.
    random_state : int, RandomState or None, default=0
        Draws the orders.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values.
    n_threads : int or None, default=None
        Threads; the result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    separated_ : bool
        Whether the last pass was without a mistake.
    n_mistakes_ : int
        Mistakes of all passes.
    n_iter_ : int
        Passes.
    margin_ : float
        Of the function that the passes ended with, before it is averaged: the smallest :math:`y_i f(x_i)` over the
        length of :math:`(w, b)`; for more classes, the smallest difference to the function of another class over the
        length of all. Negative if it does not separate them, 0 if it has no length.
    radius_ : float
        R. If `separated_`, ``n_mistakes_ <= (radius_ / margin_) ** 2`` for two classes, twice that for more: the
        largest margin is no smaller than this one.
    dual_coef_, intercept_ : ndarray of shape (n_functions, n_support), (n_functions,)
        How often each sample was added to a function; the offsets.
    support_, support_vectors_ : ndarray, samples
        Numbers of the samples it was mistaken about, and these samples.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.

    See Also
    --------
    mercer.svm.SVC : The separating function of the largest margin.
    sklearn.linear_model.Perceptron : For vectors and the linear kernel.

    Notes
    -----
    Time O(n) for a pass, and O(n) with a row of kernel values for a mistake; rows are kept as far as half of `memory`
    goes. The number of passes over classes that cannot be separated is a choice, not a limit: there is no warning,
    `separated_` tells.

    References
    ----------
    .. [1] Y. Freund, R. E. Schapire, Large margin classification using the perceptron algorithm, 1999.
    .. [2] A. B. J. Novikoff, On convergence proofs on perceptrons, 1962.

    Examples
    --------
    >>> from mercer import KernelPerceptron
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0]
    >>> machine = KernelPerceptron().fit(X, y)  # exclusive or
    >>> machine.predict(X)
    array([0, 1, 1, 0])
    >>> machine.separated_, machine.n_mistakes_ <= (machine.radius_ / machine.margin_) ** 2
    (True, True)
    """

    _parameters: ClassVar[dict[str, Any]] = {
        "averaged": Choice(True, False),
        "fit_intercept": Choice(True, False),
        "max_iter": Number(1, integer=True),
        "shuffle": Choice(True, False),
    }

    def __init__(
        self,
        kernel="rbf",
        *,
        averaged=False,
        fit_intercept=True,
        max_iter=100,
        shuffle=True,
        random_state=0,
        memory="auto",
        n_threads=None,
    ):
        self.kernel = kernel
        self.averaged = averaged
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.memory = memory
        self.n_threads = n_threads

    def _fit_classes(self, X: Any, codes: np.ndarray, weight: np.ndarray) -> None:
        gram = self._make_gram(X, weight)
        functions = self._learn(gram, codes)
        self.radius_ = float(np.sqrt(gram.diag().max() + self.fit_intercept))
        self._keep_expansion(X, functions, functions.sum(axis=1) * float(self.fit_intercept))

    def _learn(self, gram: Gram, codes: np.ndarray) -> np.ndarray:
        """Coefficients of the functions, shape (n_functions, n)."""
        n, n_functions = gram.n, self._signs_of(codes).shape[1]
        rng, row_of = check_random_state(self.random_state), self._rows(gram)
        coefficients, late, values = np.zeros((3, n_functions, n))
        leads, n_seen, self.n_mistakes_ = _leads(values, codes), 0, 0
        for n_iter in range(1, self.max_iter + 1):
            order = rng.permutation(n) if self.shuffle else np.arange(n)
            before, place = self.n_mistakes_, 0
            while place < n:
                wrong = leads[order[place:]] <= 0
                if not wrong.any():
                    break
                place += int(np.argmax(wrong))  # nothing changes before the next mistake
                i = order[place]
                change = _change(values[:, i], codes[i])
                coefficients[:, i] += change
                late[:, i] += (n_seen + place) * change  # the functions before this sample do not have it
                values += np.outer(change, row_of(i) + self.fit_intercept)  # the offset is a feature that is 1 for all
                leads, self.n_mistakes_, place = _leads(values, codes), self.n_mistakes_ + 1, place + 1
            n_seen, self.n_iter_ = n_seen + n, n_iter
            if self.n_mistakes_ == before:
                break
        self.separated_ = bool((leads > 0).all())
        squared_norm = float((coefficients * values).sum())  # of (w, b), or of all of them together
        self.margin_ = float(leads.min()) / squared_norm**0.5 if squared_norm > 0 else 0.0
        return coefficients - late / n_seen if self.averaged else coefficients

    def _rows(self, gram: Gram) -> Callable[[int], np.ndarray]:
        """Rows of kernel values, kept as far as half the memory goes: mistakes are often about the same samples."""
        kept: dict[int, np.ndarray] = {}
        most = memory_budget(self.memory) // 2 // (8 * gram.n)

        def row_of(i: int) -> np.ndarray:
            row = kept[i] if i in kept else gram.rows(np.array([i]))[0]
            if len(kept) < most:
                kept[i] = row
            return row

        return row_of


def _leads(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """By how much the function of a sample's own class is the largest; y f(x) for two classes."""
    if len(values) == 1:
        return np.where(codes == 1, values[0], -values[0])
    own = codes == np.arange(len(values))[:, np.newaxis]
    return values[own.argmax(axis=0), np.arange(len(codes))] - np.where(own, -np.inf, values).max(axis=0)


def _change(values: np.ndarray, code: int) -> np.ndarray:
    """What a mistake about a sample adds to the functions, whose values there are given."""
    if len(values) == 1:
        return np.array([1.0 if code == 1 else -1.0])
    own = np.arange(len(values)) == code
    return own - 1.0 * (np.arange(len(values)) == np.where(own, -np.inf, values).argmax())
