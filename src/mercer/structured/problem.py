"""The problem that a model makes of samples and outputs."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_array, vstack

from mercer.errors import LossError, OracleError
from mercer.kernels.samples import take
from mercer.problems import Planes, StructuredProblem
from mercer.segments import Segments
from mercer.solvers.base import Interrupt, side_by_side
from mercer.structured.base import StructuredModel, as_row
from mercer.threads import effective_n_threads, limit_threads

__all__ = ["ModelProblem", "in_portions"]

T = TypeVar("T")

# By how much, relative to its terms, the output of an oracle may be worse than the right one: rounding.
ROUNDING = 1e-8


class ModelProblem(StructuredProblem):
    """The problem of a model, of prepared samples with encoded outputs.

    Parameters
    ----------
    model : StructuredModel
        Resolved.
    X, Y : sequences of length n
        Prepared samples and encoded outputs.
    cost : array of shape (n,)
    rescaling : {"margin", "slack"}
        Whether a loss is the margin that is asked for, or the price of what is missing of a margin of one.
    n_threads : int or None, default=None
        See `mercer.threads.effective_n_threads`.
    """

    def __init__(
        self,
        model: StructuredModel,
        X: Any,
        Y: Any,
        cost: np.ndarray,
        rescaling: str = "margin",
        n_threads: int | None = None,
    ):
        self.model, self.X, self.Y, self.rescaling, self.n_threads = model, X, Y, rescaling, n_threads
        super().__init__(self._size() if model.size is None else model.size, cost)
        if self.convex:
            self._check_right_outputs()

    def _size(self) -> int:
        if not self.convex:
            raise ValueError(f"size must be known for outputs with hidden parts, {self.model!r} has none.")
        return as_row(self.model.joint_feature(self.X[0], self.Y[0])).shape[1]

    def _check_right_outputs(self) -> None:
        for i in range(self.n):
            loss = float(self.model.loss(self.Y[i], self.Y[i]))
            if loss != 0:
                raise LossError(f"loss must be 0 for the right output, got {loss!r} for that of sample {i}.")
        if type(self.model).differences is StructuredModel.differences:  # others need not make features one by one
            self._check_features(self.X, self.Y, np.arange(self.n))

    def planes(self, w: np.ndarray, samples: np.ndarray) -> Planes:
        """The highest plane at w of each of some samples, with what is wrong with the model named."""
        found = in_portions(lambda some: self._planes(w, some), samples, self.model.portion, self.n_threads)
        if len(found) == 1:
            return found[0]
        return Planes(csr_array(vstack([one.psi for one in found])), np.concatenate([one.loss for one in found]))

    def _planes(self, w: np.ndarray, samples: np.ndarray) -> Planes:
        model, X, Y = self.model, take(self.X, samples), take(self.Y, samples)
        outputs = model.oracles(X, Y, w, self.rescaling)
        losses, psi = model.losses(Y, outputs), self._differences(X, Y, outputs, samples)
        if self.rescaling == "slack":
            psi.data *= np.repeat(losses, np.diff(psi.indptr))
        psi.sum_duplicates()
        psi.eliminate_zeros()
        planes = Planes(psi, losses)
        self._check(planes, w, samples, Y, outputs)
        return planes

    def _differences(self, X: Any, Y: Any, outputs: Sequence[Any], samples: np.ndarray) -> csr_array:
        try:
            psi = csr_array(self.model.differences(X, Y, outputs))
            wrong = psi.shape != (len(samples), self.size) or not np.isfinite(psi.data).all()
        except ValueError:
            self._check_features(X, outputs, samples)
            raise
        if wrong:
            self._check_features(X, outputs, samples)
            raise ValueError(f"differences must be finite, of shape {(len(samples), self.size)}, got {psi.shape}.")
        return psi

    def _check_features(self, X: Any, outputs: Sequence[Any], samples: np.ndarray) -> None:
        """Name the sample whose features are wrong, if there is one."""
        for x, y, i in zip(X, outputs, samples.tolist(), strict=True):
            row = as_row(self.model.joint_feature(x, y))
            if row.shape != (1, self.size):
                raise ValueError(
                    f"joint_feature must have {self.size} entries, got {row.shape[1]} for sample {i} with {y!r}."
                )
            if not np.isfinite(row.data).all():
                raise ValueError(f"joint_feature must be finite, got NaN or infinity for sample {i} with {y!r}.")

    def _check(self, planes: Planes, w: np.ndarray, samples: np.ndarray, Y: Any, outputs: Sequence[Any]) -> None:
        wrong = ~(np.isfinite(planes.loss) & (planes.loss >= 0))
        for k in np.flatnonzero(planes.loss == 0).tolist():
            wrong[k] = not self.model.same(self.model.visible(Y[k]), self.model.visible(outputs[k]))
        if wrong.any():
            k = int(np.argmax(wrong))
            raise LossError(
                f"loss must be finite and > 0 for a wrong output, got {float(planes.loss[k])!r} for sample "
                f"{samples[k]}, whose output {Y[k]!r} was taken for {outputs[k]!r}."
            )
        psi, values = planes.psi, planes.values(w)
        if not np.isfinite(values).all():
            i = samples[int(np.argmin(np.isfinite(values)))]
            raise ValueError(f"joint features are too large: the score of sample {i} overflows; scale the features.")
        # |psi| |w|, from the weights of features that are there: w may have millions.
        terms = planes.loss + Segments(psi.indptr).sum(np.abs(psi.data * w[psi.indices]))
        worse = values < -ROUNDING * terms
        if worse.any():
            k = int(np.argmax(worse))
            raise OracleError(
                f"oracle must find an output at least as good as the right one, got one that is worse by "
                f"{-values[k]:.3g} for sample {samples[k]}: {outputs[k]!r}."
            )

    def completed(self, w: np.ndarray) -> "ModelProblem":
        return Completed(self, [self.model.complete(x, y, w) for x, y in zip(self.X, self.Y, strict=True)])

    @property
    def convex(self) -> bool:
        return type(self.model).complete is StructuredModel.complete


class Completed(ModelProblem):
    """A problem with hidden parts whose right outputs have been completed.

    Parameters
    ----------
    hidden : ModelProblem
    Y : sequence of length n
        Its outputs with all their parts.
    """

    def __init__(self, hidden: ModelProblem, Y: Any):
        super().__init__(hidden.model, hidden.X, Y, hidden.cost, hidden.rescaling, hidden.n_threads)
        self._hidden = hidden

    def completed(self, w: np.ndarray) -> "ModelProblem":
        """With the hidden parts that are best at w: this very problem if they are those that it has."""
        other = self._hidden.completed(w)
        return self if all(map(self.model.same, self.Y, other.Y)) else other

    @property
    def convex(self) -> bool:
        return True


def in_portions(find: Callable[[np.ndarray], T], samples: np.ndarray, portion: int, n_threads: int | None) -> list[T]:
    """What is found for so many samples at a time, at the same time if there are threads for it.

    Portions do not depend on the number of threads, so that results do not, either.
    """
    portions = [samples[first : first + portion] for first in range(0, len(samples), portion)]
    threads = min(effective_n_threads(n_threads), len(portions))
    if threads < 2:
        with limit_threads(n_threads):
            return [find(some) for some in portions]

    def alone(some: np.ndarray) -> T:
        with limit_threads(1):
            return find(some)

    return side_by_side(alone, [(some,) for some in portions], threads, Interrupt())
