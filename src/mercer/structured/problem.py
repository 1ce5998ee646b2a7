"""The problem that a model makes of samples and outputs."""

from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from mercer.errors import LossError, OracleError
from mercer.problems import Planes, StructuredProblem
from mercer.segments import Segments
from mercer.structured.base import StructuredModel, as_row

__all__ = ["ModelProblem", "taken"]

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
    pool : Executor or None
        Where oracles run, so many at once as it has threads; None: one after the other.
    threads : int, default=1
        The threads of the pool.
    """

    def __init__(
        self,
        model: StructuredModel,
        X: Any,
        Y: Any,
        cost: np.ndarray,
        rescaling: str = "margin",
        pool: Executor | None = None,
        threads: int = 1,
    ):
        self.model, self.X, self.Y, self.rescaling = model, X, Y, rescaling
        self.pool, self.threads = pool, threads
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
        parts = min(self.threads, len(samples)) if self.pool is not None else 1
        if parts < 2:
            return self._planes(w, samples)
        found = list(self.pool.map(self._planes, [w] * parts, np.array_split(samples, parts)))  # type: ignore[union-attr]
        return Planes(csr_array(vstack([one.psi for one in found])), np.concatenate([one.loss for one in found]))

    def _planes(self, w: np.ndarray, samples: np.ndarray) -> Planes:
        model, X, Y = self.model, taken(self.X, samples), taken(self.Y, samples)
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
        psi, values = planes.psi, planes.values(w)
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
        Y = [self.model.complete(x, y, w) for x, y in zip(self.X, self.Y, strict=True)]
        return Completed(self.model, self.X, Y, self.cost, self.rescaling, self.pool, self.threads)

    @property
    def convex(self) -> bool:
        return type(self.model).complete is StructuredModel.complete


class Completed(ModelProblem):
    """A problem whose right outputs are complete."""

    @property
    def convex(self) -> bool:
        return True


def taken(values: Any, samples: np.ndarray) -> Any:
    """Some of the values of a sequence, or rows of an array."""
    return values[samples] if hasattr(values, "shape") else [values[i] for i in samples.tolist()]
