"""The problem that a model makes of samples and outputs."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_array, vstack

from mercer.errors import LossError, OracleError
from mercer.kernels.samples import take
from mercer.problems import Planes, StructuredProblem
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
        size = model.size
        super().__init__(as_row(model.joint_feature(X[0], Y[0])).shape[1] if size is None else size, cost)
        self._check_right_outputs()

    def _check_right_outputs(self) -> None:
        for i in range(self.n):
            loss = float(self.model.loss(self.Y[i], self.Y[i]))
            if loss != 0:
                raise LossError(f"loss must be 0 for the right output, got {loss!r} for that of sample {i}.")

    def planes(self, w: np.ndarray, samples: np.ndarray) -> Planes:
        """The highest plane at w of each of some samples, with what is wrong with the model named."""
        found = in_portions(lambda some: self._planes(w, some), samples, self.model.portion, self.n_threads)
        if len(found) == 1:
            return found[0]
        return Planes(csr_array(vstack([one.psi for one in found])), np.concatenate([one.loss for one in found]))

    def _planes(self, w: np.ndarray, samples: np.ndarray) -> Planes:
        model, X, Y = self.model, take(self.X, samples), take(self.Y, samples)
        outputs = model.oracles(X, Y, w, self.rescaling)
        losses, psi = model.losses(Y, outputs), csr_array(model.differences(X, Y, outputs))
        if psi.shape != (len(samples), self.size):
            raise ValueError(f"joint_feature must have {self.size} entries, got {psi.shape[1]}.")
        if self.rescaling == "slack":
            psi.data *= np.repeat(losses, np.diff(psi.indptr))
        psi.sum_duplicates()
        psi.eliminate_zeros()
        planes = Planes(psi, losses)
        self._check(planes, w, samples, Y, outputs)
        return planes

    def _check(self, planes: Planes, w: np.ndarray, samples: np.ndarray, Y: Any, outputs: Sequence[Any]) -> None:
        wrong = ~(np.isfinite(planes.loss) & (planes.loss >= 0))
        for k in np.flatnonzero(planes.loss == 0).tolist():
            wrong[k] = not self.model.same(Y[k], outputs[k])
        if wrong.any():
            k = int(np.argmax(wrong))
            raise LossError(
                f"loss must be finite and > 0 for a wrong output, got {float(planes.loss[k])!r} for sample "
                f"{samples[k]}, whose output {Y[k]!r} was taken for {outputs[k]!r}."
            )
        if not np.isfinite(planes.psi.data).all():
            raise ValueError("joint_feature must be finite, it contains NaN or infinity.")
        sizes = np.concatenate([[0.0], np.cumsum(np.abs(planes.psi.data * w[planes.psi.indices]))])
        values, terms = planes.values(w), planes.loss + np.diff(sizes[planes.psi.indptr])
        worse = values < -ROUNDING * terms
        if worse.any():
            k = int(np.argmax(worse))
            raise OracleError(
                f"oracle must find an output at least as good as the right one, got one that is worse by "
                f"{-values[k]:.3g} for sample {samples[k]}: {outputs[k]!r}."
            )

    def completed(self, w: np.ndarray) -> "ModelProblem":
        Y = [self.model.complete(x, y, w) for x, y in zip(self.X, self.Y, strict=True)]
        return Completed(self.model, self.X, Y, self.cost, self.rescaling, self.n_threads)

    @property
    def convex(self) -> bool:
        return type(self.model).complete is StructuredModel.complete


class Completed(ModelProblem):
    """A problem whose right outputs are complete."""

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
