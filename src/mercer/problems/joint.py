"""Several classes learnt in one go: Weston and Watkins, Crammer and Singer, Lee, Lin and Wahba."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mercer.gram import Gram
from mercer.problems.simplex import BlockSimplexProblem, Simplices

__all__ = ["JointProblem", "crammer_singer", "lee_lin_wahba", "weston_watkins"]


@dataclass(frozen=True, eq=False)
class JointProblem:
    """One function per class, all learnt together.

    .. math::

        \\min_{w, b} \\tfrac12 \\sum_k \\|w_k\\|^2 + \\sum_i C_i \\, L_i, \\quad f_k(x) = w_k \\cdot \\phi(x) + b_k

    where the error of a sample of class y against a class :math:`k \\ne y` is
    :math:`e_{ik} = \\max(0, t - m_{ik})`. Its margin m is relative, :math:`f_y(x_i) - f_k(x_i)`, or absolute,
    :math:`-f_k(x_i)` under the constraint :math:`\\sum_k f_k = 0`; the loss :math:`L_i` is the sum of the errors or the
    largest of them.

    Parameters
    ----------
    gram : Gram
        The kernel matrix K.
    index : int array of shape (n,)
        The samples that take part, each once.
    label : int array of shape (n,)
        Their classes, from 0 on.
    n_classes : int >= 2
    cost : array of shape (n,)
        C_i > 0, finite.
    margin : {"relative", "absolute"}
    errors : {"sum", "largest"}
    target : float > 0
        t, the wanted margin.
    bias : bool
        False leaves out the offsets b.

    Notes
    -----
    The dual has one multiplier per sample and class other than its own,

    .. math::

        \\min_a \\tfrac12 \\sum_k \\|w_k\\|^2 - t \\sum_{ik} a_{ik}, \\quad w_k = \\sum_i B_{ik} \\phi(x_i),

    with :math:`B_{ik} = -a_{ik}, B_{iy} = \\sum_k a_{ik}` for relative margins,
    :math:`B_{ik} = \\tfrac1K \\sum_l a_{il} - a_{ik}` for absolute ones. A sample's multipliers lie in a box
    :math:`0 \\le a_{ik} \\le C_i` if errors are summed up, else in a simplex :math:`a_{ik} \\ge 0, \\sum_k a_{ik} \\le
    C_i`. With offsets, :math:`\\sum_i B_{ik} = 0` for every class k. In all of them :math:`\\sum_k B_{ik} = 0`, and so
    :math:`\\sum_k f_k = 0` holds at the optimum where nobody asks for it.

    With the slopes :math:`g_{ik} = m_{ik} - t`, weak duality leaves a gap that is a sum over samples, never negative:
    :math:`a_i \\cdot g_i - \\min_s s \\cdot g_i` over the s of the sample's box or simplex.

    References
    ----------
    .. [1] U. Dogan, T. Glasmachers, C. Igel, A unified view on multi-class support vector classification, JMLR 17,
       2016.
    """

    gram: Gram
    index: np.ndarray
    label: np.ndarray
    n_classes: int
    cost: np.ndarray
    margin: str
    errors: str
    target: float
    bias: bool

    def __post_init__(self):
        n = len(self.index)
        for name, kinds, dtype in (("index", "iu", np.int64), ("label", "iu", np.int64), ("cost", "iuf", np.float64)):
            values = np.asarray(getattr(self, name))
            if values.shape != (n,) or (n and values.dtype.kind not in kinds):
                raise ValueError(f"{name} must be an array of {n} numbers, got {values.dtype} of shape {values.shape}.")
            object.__setattr__(self, name, np.ascontiguousarray(values, dtype=dtype))
        if n and not 0 <= self.index.min() <= self.index.max() < self.gram.n:
            raise ValueError(f"index must be from 0 to {self.gram.n - 1}, the samples of the Gram matrix.")
        if len(np.unique(self.index)) < n:
            raise ValueError("index must name every sample once.")
        if self.n_classes < 2 or (n and not 0 <= self.label.min() <= self.label.max() < self.n_classes):
            raise ValueError(f"label must be from 0 to {self.n_classes - 1}, and of 2 classes at least.")
        if self.bias and len(np.unique(self.label)) < self.n_classes:
            raise ValueError("With offsets, every class needs a sample: without one, its offset has no bound.")
        if not ((self.cost > 0) & np.isfinite(self.cost)).all():
            raise ValueError("cost must be > 0 and finite: there is no hard margin for several classes at once.")
        if self.margin not in ("relative", "absolute") or self.errors not in ("sum", "largest"):
            raise ValueError(f"There are no {self.margin!r} margins with the {self.errors!r} of errors.")
        if not 0 < self.target < np.inf:
            raise ValueError(f"target must be a float > 0, got {self.target!r}.")

    # --- points -------------------------------------------------------------------------------------------

    @property
    def others(self) -> np.ndarray:
        """Which entries of a table (n, n_classes) are multipliers: all but that of the sample's own class."""
        return np.arange(self.n_classes) != self.label[:, np.newaxis]

    @property
    def simplices(self) -> Simplices:
        """Where the multipliers of `others`, row by row, lie if the largest of the errors counts."""
        return Simplices(np.repeat(np.arange(len(self.index)), self.n_classes - 1), self.cost)

    def block_simplex(self) -> BlockSimplexProblem:
        """The problem in its general form, if the largest of the errors counts.

        The multipliers are those of `others`, row by row, and the psi of sample i and class k is
        :math:`\\phi(x_i) \\otimes (e_{y_i} - e_k)`; for absolute margins :math:`\\phi(x_i) \\otimes (1/K - e_k)`.
        """
        if self.errors != "largest":
            raise ValueError("Only the largest of the errors makes simplices, their sum makes boxes.")
        sample, wrong = np.nonzero(self.others)
        part = np.arange(len(sample))
        ahead = csr_array((-np.ones(len(part)), (part, wrong)), shape=(len(part), self.n_classes))
        if self.margin == "relative":
            ahead = ahead + csr_array((np.ones(len(part)), (part, self.label[sample])), shape=ahead.shape)
        else:
            ahead = ahead + csr_array(np.full(ahead.shape, 1.0 / self.n_classes))
        return BlockSimplexProblem(
            block=sample,
            cost=self.cost,
            gram=ProductGram(self.gram, self.index[sample], csr_array(ahead)),
            loss=np.full(len(part), self.target),
            free=csr_array(ahead) if self.bias else None,
        )

    def feasible(self, start: Any = None) -> np.ndarray:
        """Multipliers of shape (n, n_classes) in their boxes or simplices: those nearest to `start`, or zero.

        The sums over the samples, which the offsets ask for, are left to the solver.
        """
        shape = (len(self.index), self.n_classes)
        if start is None:
            return np.zeros(shape)
        start = np.asarray(start.toarray() if hasattr(start, "toarray") else start, dtype=np.float64)
        if start.shape != shape:
            raise ValueError(f"start has shape {start.shape}, the problem has multipliers of shape {shape}.")
        if not np.isfinite(start).all():
            raise ValueError("start contains NaN or infinity.")
        if self.errors == "sum":
            return np.where(self.others, np.clip(start, 0.0, self.cost[:, np.newaxis]), 0.0)
        a = np.zeros(shape)
        a[self.others] = self.simplices.feasible(start[self.others])
        return a

    def coefficients(self, a: np.ndarray) -> np.ndarray:
        """B of shape (n, n_classes)."""
        total = a.sum(axis=1, keepdims=True)
        if self.margin == "relative":
            return np.where(self.others, -a, total)
        return total / self.n_classes - a

    def expansion(self, a: Any) -> np.ndarray:
        """The coefficients B of the decision functions by samples, shape (n_classes, gram.n); a may be sparse."""
        by_class = np.zeros((self.n_classes, self.gram.n))
        by_class[:, self.index] = self.coefficients(a.toarray() if hasattr(a, "toarray") else a).T
        return by_class

    def apart_from_kernel(self, a: Any) -> float:
        """The part of the objective that does not depend on the kernel."""
        return -self.target * float(a.sum())

    def sums(self, a: np.ndarray) -> np.ndarray:
        """f without offsets at the samples, shape (n, n_classes), computed afresh in float64."""
        return self.gram.dot(self.expansion(a).T)[self.index]

    # --- what a point is worth ----------------------------------------------------------------------------

    def slopes(self, f: np.ndarray, offsets: np.ndarray | float = 0.0) -> np.ndarray:
        """g = m - t from f at the samples, shape (n, n_classes); zero for the sample's own class."""
        f = f + offsets
        if self.margin == "relative":
            reference = np.take_along_axis(f, self.label[:, np.newaxis], axis=1)
        else:
            reference = f.mean(axis=1, keepdims=True)
        return np.where(self.others, reference - f - self.target, 0.0)

    def objective(self, a: np.ndarray, f: np.ndarray) -> float:
        """The value of the dual, which is to be small; f without offsets."""
        return 0.5 * self.squared_norm(a, f) + self.apart_from_kernel(a)

    def squared_norm(self, a: np.ndarray, f: np.ndarray) -> float:
        """The sum of the squared norms of all w_k."""
        return max(0.0, float((self.coefficients(a) * f).sum()))

    def norms(self, a: np.ndarray, f: np.ndarray) -> np.ndarray:
        """The norms of all w_k."""
        return np.sqrt(np.maximum(0.0, (self.coefficients(a) * f).sum(axis=0)))

    def margins(self, a: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Per class, how far from its hyperplane the margin ends, in feature space.

        It is ``t / |w_k|`` for absolute margins; for relative ones, where a class has a hyperplane against every other,
        the smallest of all ``t / |w_k - w_l|``.
        """
        norms = self.norms(a, f)
        if self.margin == "relative":
            inner = csr_array(self.coefficients(a).T) @ f
            square = norms**2 - inner - inner.T + norms[:, np.newaxis] ** 2
            norms = np.sqrt(np.maximum(0.0, square.max(axis=1)))
        with np.errstate(divide="ignore"):
            return self.target / norms

    def losses(self, slopes: np.ndarray) -> np.ndarray:
        """L of every sample."""
        errors = np.maximum(0.0, -slopes)
        return errors.sum(axis=1) if self.errors == "sum" else errors.max(axis=1)

    def gap(self, a: np.ndarray, slopes: np.ndarray) -> float:
        """Primal minus dual objective."""
        if self.errors == "largest":
            return self.simplices.gap(a[self.others], slopes[self.others])
        return float(((a * slopes).sum(axis=1) + self.cost * self.losses(slopes)).sum())

    def violation(self, a: np.ndarray, slopes: np.ndarray) -> float:
        """How far a is from the optimality conditions; zero at the optimum."""
        others, cost = self.others, self.cost[:, np.newaxis]
        if self.errors == "largest":
            return self.simplices.violation(a[others], slopes[others])
        down = np.where(others & (a > 0), slopes, -np.inf).max(axis=1, initial=-np.inf)
        up = np.where(others & (a < cost), slopes, np.inf).min(axis=1, initial=np.inf)
        return float(np.max(np.maximum(down, -up), initial=0.0))

    def imbalance(self, a: np.ndarray) -> float:
        """How far the sums over the samples are from zero, with offsets."""
        return float(np.abs(self.coefficients(a).sum(axis=0)).max(initial=0.0)) if self.bias else 0.0


class ProductGram(Gram):
    """The inner products of :math:`\\phi(x_i) \\otimes v_i`: a kernel of samples times one of short vectors.

    Parameters
    ----------
    gram : Gram
        The kernel matrix of the samples.
    index : int array of shape (m,)
        The sample of each vector; samples may come several times.
    vectors : csr_array of shape (m, p)
        v.
    """

    def __init__(self, gram: Gram, index: np.ndarray, vectors: csr_array):
        self.gram, self.index, self.vectors = gram, index, vectors
        super().__init__(len(index), gram.definite)

    def native(self):
        return "function", self.rows, self.n

    def rows(self, which):
        return self.gram.rows(self.index[which])[:, self.index] * (self.vectors[which] @ self.vectors.T).toarray()

    def diag(self):
        return self.gram.diag()[self.index] * np.asarray((self.vectors**2).sum(axis=1)).ravel()

    def dot(self, v):
        """By way of w, which has a coefficient for every sample and entry of the vectors; K is used once."""
        own = csr_array((np.asarray(v), (self.index, np.arange(self.n))), shape=(self.gram.n, self.n))
        w = self.gram.dot((own @ self.vectors).toarray())
        return np.asarray((self.vectors * w[self.index]).sum(axis=1)).ravel()


def _whole(gram: Gram, index: np.ndarray | None, label: np.ndarray) -> dict[str, Any]:
    index = np.arange(len(label)) if index is None else index
    return {"gram": gram, "index": index, "label": label, "n_classes": int(np.max(label, initial=0)) + 1}


def weston_watkins(
    gram: Gram, label: np.ndarray, cost: np.ndarray, *, bias: bool = True, index: np.ndarray | None = None
) -> JointProblem:
    """Every other class has to stay a margin of 1 below the sample's own; what is lacking is added up. [1]_

    .. math::

        \\min_{w, b} \\tfrac12 \\sum_k \\|w_k\\|^2 + \\sum_i C_i \\sum_{k \\ne y_i} \\max(0, 1 - (f_{y_i} - f_k)(x_i))

    For two classes :math:`f_1 - f_0` is the soft margin of `soft_margin` for 2 C. (The paper has a margin of 2, which
    is this one with w, b and C halved.)

    Parameters
    ----------
    gram : Gram
    label : int array of shape (n,)
        Classes from 0 on.
    cost : array of shape (n,)
        C_i > 0.
    bias : bool, default=True
        False leaves out b.
    index : int array of shape (n,), default=None
        The samples of the Gram matrix that take part; None: all of them.

    Returns
    -------
    JointProblem

    References
    ----------
    .. [1] J. Weston, C. Watkins, Support vector machines for multi-class pattern recognition, ESANN 1999.
    """
    whole = _whole(gram, index, label)
    return JointProblem(**whole, cost=cost, margin="relative", errors="sum", target=1.0, bias=bias)


def crammer_singer(
    gram: Gram, label: np.ndarray, cost: np.ndarray, *, bias: bool = True, index: np.ndarray | None = None
) -> JointProblem:
    """The strongest other class has to stay a margin of 1 below the sample's own. [1]_

    .. math::

        \\min_{w, b} \\tfrac12 \\sum_k \\|w_k\\|^2
        + \\sum_i C_i \\max(0, 1 + \\max_{k \\ne y_i} f_k(x_i) - f_{y_i}(x_i))

    For two classes :math:`f_1 - f_0` is the soft margin of `soft_margin` for 2 C. Parameters as in `weston_watkins`;
    the paper has no offsets.

    References
    ----------
    .. [1] K. Crammer, Y. Singer, On the algorithmic implementation of multiclass kernel-based vector machines, JMLR 2,
       2001.
    """
    whole = _whole(gram, index, label)
    return JointProblem(**whole, cost=cost, margin="relative", errors="largest", target=1.0, bias=bias)


def lee_lin_wahba(
    gram: Gram, label: np.ndarray, cost: np.ndarray, *, bias: bool = True, index: np.ndarray | None = None
) -> JointProblem:
    """The functions add up to zero, and those of other classes have to be below -1/(K-1). [1]_

    .. math::

        \\min_{w, b} \\tfrac12 \\sum_k \\|w_k\\|^2 + \\sum_i C_i \\sum_{k \\ne y_i} \\max(0, f_k(x_i) + \\tfrac{1}{K-1})
        \\quad\\text{s.t.}\\quad \\sum_k f_k = 0

    For two classes :math:`f_1` is the soft margin of `soft_margin` for C / 2. Parameters as in `weston_watkins`. Unlike
    the others it is consistent: with enough data the largest function is that of the most probable class.

    References
    ----------
    .. [1] Y. Lee, Y. Lin, G. Wahba, Multicategory support vector machines, JASA 99, 2004.
    """
    whole = _whole(gram, index, label)
    target = 1.0 / max(1, whole["n_classes"] - 1)
    return JointProblem(**whole, cost=cost, margin="absolute", errors="sum", target=target, bias=bias)
