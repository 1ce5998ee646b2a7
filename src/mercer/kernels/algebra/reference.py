"""Kernels that hold samples which all others are compared with."""

from typing import Any, ClassVar

import numpy as np

from mercer.fingerprint import fingerprint
from mercer.kernels.algebra.base import Parts, Wrapped, one_part
from mercer.kernels.base import Kernel
from mercer.kernels.given import FromFunction
from mercer.kernels.samples import n_samples, row_blocks, take, together, weighted
from mercer.kernels.vectors.products import Linear

__all__ = ["Centered", "EmpiricalMap"]


class Referenced(Wrapped):
    """A kernel with reference samples as a parameter, and weights of these.

    The word "training" stands for the samples that `resolve` is called with. Prepared samples keep the samples as they
    were given, beside what is computed from them: derivatives by parameters of the kernel inside need samples and
    reference together.
    """

    _held: ClassVar[str]
    weights: Any

    @property
    def _reference(self) -> Any:
        return getattr(self, self._held)

    @property
    def _waits(self) -> bool:
        return isinstance(self._reference, str) and self._reference == "training"

    def resolve(self, X, sample_weight=None):
        resolved: Any = super().resolve(X, sample_weight)
        if self._waits:
            samples, w = weighted(X, sample_weight)
            setattr(resolved, self._held, samples)
            resolved.weights = None if (w == 1).all() else w
        return resolved

    def _unresolved(self):
        return [*([self._held] if self._waits else []), *super()._unresolved()]

    def _check_parameters(self):
        super()._check_parameters()
        if self._waits:
            if self.weights is not None:
                raise ValueError(f"weights must be None with {self._held}='training', which takes the sample weights.")
        elif isinstance(self._reference, str) or n_samples(self._reference) == 0:
            raise ValueError(f"{self._held} must be 'training' or at least one sample, got {self._reference!r}.")
        else:
            self._checked_weights()

    def _checked_weights(self) -> np.ndarray:
        n = n_samples(self._reference)
        w = np.ones(n) if self.weights is None else np.asarray(self.weights, dtype=np.float64)
        if w.shape != (n,) or not (np.isfinite(w).all() and (w >= 0).all() and w.any()):
            raise ValueError(
                f"weights must be {n} numbers >= 0, one for each sample of {self._held}, got {self.weights!r}."
            )
        return w

    def _vjp_of_both(self, X: Any, V: np.ndarray) -> dict[str, Any]:
        """Derivatives for weights V of the matrix of the kernel inside, of the samples and then the reference."""
        return self._named(self.kernel.vjp(together(X, self._reference), V))


class Centered(Referenced):
    r"""A kernel with the mean of some samples as the origin of its feature space.

    .. math:: k(x, x') = \bigl(\phi(x) - \mu\bigr) \cdot \bigl(\phi(x') - \mu\bigr)
              = k_0(x, x') - m(x) - m(x') + \frac{1}{W} \sum_r w_r m(z_r), \qquad
              m(x) = \frac{1}{W} \sum_r w_r k_0(x, z_r)

    with :math:`\mu` the mean of the reference samples :math:`z_r` in feature space. Usually written
    ``kernel.centered()``. The reference is part of the kernel: the value for two samples depends on nothing else.

    Parameters
    ----------
    kernel : Kernel
        The kernel :math:`k_0`.
    reference : samples or "training", default="training"
        The samples :math:`z_r`; "training": those that a machine is trained on. They are not copied, also not by
        scikit-learn's ``clone``.
    weights : array of shape (n_reference,), default=None
        How often each of them counts, :math:`w_r \ge 0`. None: once. "training" takes the sample weights.

    See Also
    --------
    Normalized : Lengths of 1 in place of a mean of 0.

    Notes
    -----
    Takes the kernel between all samples and the reference: O(nR) values for R reference samples, and once O(R^2).

    References
    ----------
    .. [1] J.-P. Vert, K. Tsuda, B. Schölkopf, A primer on kernel methods, 2004, section 1.3.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> X = [[1.0], [2.0], [6.0]]
    >>> kernel = Linear().centered(X)
    >>> kernel(X)
    array([[ 4.,  2., -6.],
           [ 2.,  1., -3.],
           [-6., -3.,  9.]])
    >>> kernel([[3.0]])
    array([[0.]])
    """

    _held = "reference"
    _holds = ("reference", "weights")

    def __init__(self, kernel, reference="training", weights=None):
        self.kernel = kernel
        self.reference = reference
        self.weights = weights

    def prepare(self, X, Y=None):
        if Y is None or Y is X:
            both = self._with_means(X, self.kernel.prepare(one_part(X, 0))[0])
            return both, both
        inside = self.kernel.prepare(one_part(X, 0), one_part(Y, 0))
        return self._with_means(X, inside[0]), self._with_means(Y, inside[1])

    def _with_means(self, X: Any, inside: Any) -> Parts:
        # k(x, x') = k0(x, x') - (m(x) - M / 2) - (m(x') - M / 2), where M is the mean of m over the reference
        if isinstance(X, Parts):
            return Parts(inside, *X.parts[1:])
        return Parts(inside, self._means(X) - self._mean_of_means() / 2, X)

    def _shares(self) -> np.ndarray:
        """w_r / W."""
        w = self._checked_weights()
        return w / w.sum()

    def _means(self, X: Any) -> np.ndarray:
        """m(x) of samples as they were given."""
        X, Z = self.kernel.prepare(X, self.reference)
        means, shares = np.empty(n_samples(X)), self._shares()
        for rows in row_blocks(n_samples(X), len(shares)):
            # Sums along rows: products of matrices round by how many rows there are.
            means[rows] = (np.ascontiguousarray(self.kernel._matrix(take(X, rows), Z)) * shares).sum(axis=1)
        return means

    def _mean_of_means(self) -> float:
        # Kept, as it is the same for all samples; by content, since parameters can be set.
        key = fingerprint(self.kernel, self.reference, self.weights)
        if self.__dict__.get("_kept", (None,))[0] != key:
            self._kept = key, float((self._shares() * self._means(self.reference)).sum())
        return self._kept[1]

    def __getstate__(self):
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_kept"}

    def _matrix(self, X, Y):
        (X, x, _), (Y, y, _) = X.parts, Y.parts
        K = self.kernel._matrix(X, Y)
        return (K - (x[:, np.newaxis] + y)).astype(K.dtype, copy=False)

    def _diag(self, X):
        X, x, _ = X.parts
        diagonal = self.kernel._diag(X)
        return (diagonal - (x + x)).astype(diagonal.dtype, copy=False)

    def _dot(self, X, Y, V):
        (X, x, _), (Y, y, _) = X.parts, Y.parts
        return self.kernel._dot(X, Y, V) - x[:, np.newaxis] * V.sum(axis=0) - y @ V

    def _vjp(self, X, W):
        # k = k0(x, x') - sum_r s_r k0(x, z_r) - sum_r s_r k0(z_r, x') + sum_rq s_r s_q k0(z_r, z_q)
        s = self._shares()
        V = [[W, -np.outer(W.sum(axis=1), s)], [-np.outer(s, W.sum(axis=0)), W.sum() * np.outer(s, s)]]
        return self._vjp_of_both(X.parts[2], np.block(V))


class EmpiricalMap(Referenced):
    r"""Empirical kernel map: samples described by their similarities to templates.

    .. math:: k(x, x') = \sum_t w_t\, s(x, z_t)\, s(x', z_t)

    Whatever the similarity s is, a score of alignments that is no kernel for instance, this is a kernel: the inner
    product of vectors of similarities.

    Parameters
    ----------
    similarity : Kernel or callable
        The similarity s, a kernel, which may be indefinite, or ``function(X, Z)`` that returns the similarities of all
        pairs.
    templates : samples or "training", default="training"
        The samples :math:`z_t`; "training": those that a machine is trained on. They are not copied, also not by
        scikit-learn's ``clone``.
    weights : array of shape (n_templates,), default=None
        How often each of them counts, :math:`w_t \ge 0`. None: once. "training" takes the sample weights.

    See Also
    --------
    Mapped : A kernel on vectors of your own.

    Notes
    -----
    Takes the similarities of all samples to T templates, and O(T) for every pair. `features` gives the vectors.

    References
    ----------
    .. [1] J.-P. Vert, K. Tsuda, B. Schölkopf, A primer on kernel methods, 2004, section 1.7.4.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import EmpiricalMap
    >>> def common_letters(X, Y):
    ...     return np.array([[len(set(x) & set(y)) for y in Y] for x in X])
    >>> EmpiricalMap(common_letters, ["stay", "play"])(["stray", "pay"])
    array([[20., 14.],
           [14., 13.]])
    """

    definite = True
    _child = "similarity"
    _held = "templates"
    _holds = ("templates", "weights")

    def __init__(self, similarity, templates="training", weights=None):
        self.similarity = similarity
        self.templates = templates
        self.weights = weights

    @property
    def kernel(self) -> Any:
        function = callable(self.similarity) and not isinstance(self.similarity, Kernel)
        return FromFunction(self.similarity) if function else self.similarity

    def resolve(self, X, sample_weight=None):
        resolved: Any = super().resolve(X, sample_weight)
        if not isinstance(self.similarity, Kernel):
            resolved.similarity = self.similarity
        return resolved

    def prepare(self, X, Y=None):
        x = self._described(X)
        if Y is None or Y is X:
            return x, x
        y = self._described(Y)
        (a, of_X), (b, of_Y) = x.parts, y.parts
        a, b = Linear().prepare(a, b)
        return Parts(a, of_X), Parts(b, of_Y)

    def _described(self, X: Any) -> Parts:
        """Vectors of similarities, times the roots of weights, and the samples as they were given."""
        if isinstance(X, Parts):
            return X
        samples, templates = self.kernel.prepare(X, self.templates)
        S = self.kernel._matrix(samples, templates) * np.sqrt(self._checked_weights())
        single = getattr(X, "dtype", None) == np.float32
        return Parts(np.ascontiguousarray(S, dtype=np.float32 if single else np.float64), X)

    # The linear kernel of these vectors; natively, since products of matrices round by how many rows there are.

    def _matrix(self, X, Y):
        return Linear()._matrix(X.parts[0], Y.parts[0])

    def _diag(self, X):
        return Linear()._diag(X.parts[0])

    def _dot(self, X, Y, V):
        return Linear()._dot(X.parts[0], Y.parts[0], V)

    def _dot_rows(self, X, Y, rows):
        return Linear()._dot_rows(X.parts[0], Y.parts[0], rows)

    def _vjp(self, X, W):
        S, given = X.parts
        n, t = S.shape
        V = np.zeros((n + t, n + t))
        V[:n, n:] = ((W + W.T) @ S.astype(np.float64)) * np.sqrt(self._checked_weights())
        return self._vjp_of_both(given, V)

    def features(self, X):
        """Vectors of similarities to the templates, times the roots of weights.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n, n_templates)
        """
        return self._ready(X)._described(X).parts[0]
