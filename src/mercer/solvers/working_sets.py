"""The problem of some variables of a `DualProblem`, the others being as they are, on a device."""

from typing import NamedTuple

import numpy as np

from mercer.devices.arrays import Place, Tensor
from mercer.devices.fused import has_triton
from mercer.devices.pairs import optimise_pairs
from mercer.gram import MatrixGram
from mercer.kernels.samples import to_numpy
from mercer.problems import DualProblem, DualProblems
from mercer.solvers.base import Callback, Progress
from mercer.solvers.smo import SMO

__all__ = ["MOST_STEPS", "Told", "WorkingSet", "has_pairs"]

# Fewest variables that are worth a kernel of the GPU.
FEWEST = 64
# Most steps in one set, for each of its variables: more would only fit the set to itself.
MOST_STEPS = 50


def has_pairs(place: Place, size: int) -> bool:
    """Whether a kernel of the GPU solves sets of so many variables, a power of two."""
    return place.on_gpu and has_triton() and size >= FEWEST and size & (size - 1) == 0


class WorkingSet(NamedTuple):
    """Some variables of a problem, with what is known of them; tensors of shape (w,), but for K.

    Both ways to improve it end at a point of the box, of the same sums, whose violation is at most `tol`, or nearly;
    and both say how many steps that took.
    """

    place: Place
    equality: str
    definite: bool
    K: Tensor
    """Their kernel matrix, by variables, shape (w, w)."""
    a: Tensor
    gradient: Tensor
    sign: Tensor
    upper: Tensor
    ridge: Tensor

    def by_pairs(self, tol: Tensor) -> tuple[Tensor, Tensor]:
        """On a GPU, several pairs at a time, each among its group."""
        torch, ends = self.place.torch, self.sign * self.upper
        known = [self.sign * self.a, -self.sign * self.gradient, ends.clamp(max=0.0), ends.clamp(min=0.0), self.ridge]
        x, v, low, high, ridge = torch.stack(known).float().unbind()
        most = MOST_STEPS * len(x)
        found, steps = optimise_pairs(
            self.place, self.K, x, v, low, high, ridge, paired=self.equality == "total", tol=tol.float(), most=most
        )
        # In float64 what did not move is not rounded, and what is at a bound lies there.
        a = (self.sign * found).double().clamp(min=0.0)
        at_upper = found == torch.where(self.sign > 0, high, low)
        a = torch.where(at_upper, self.upper, torch.minimum(a, self.upper))
        return torch.where(found == x, self.a, a), steps

    def natively(self, tol: float, most_steps: int, n_threads: int | None, told: "Told | None") -> tuple[Tensor, int]:
        """By `SMO`, over the matrix in the memory of the CPU."""
        torch, s = self.place.torch, self.sign
        pull = s * (self.K @ (s * self.a).to(self.K.dtype)).double() + self.ridge * self.a  # Q a
        known = torch.stack([self.a, self.gradient, self.sign, self.upper, self.ridge, pull])
        a, gradient, sign, upper, ridge, pull = to_numpy(known)
        problem = DualProblem.of_checked(
            gram=MatrixGram.of_checked(to_numpy(self.K.contiguous()), self.definite),
            index=np.arange(len(a)),
            sign=sign,
            linear=gradient - pull,
            upper=upper,
            ridge=ridge,
            total=total_of(self.equality, sign, a),
        )
        callback = None if told is None else told.about(problem.objective(a, gradient))
        solver = SMO(tol=tol, max_iter=min(most_steps, MOST_STEPS * len(a)), n_threads=n_threads)
        rough = {"rough": self.K.dtype == torch.float32}
        (result,) = solver._run(DualProblems.of([problem]), a.copy(), callback, unbounded_ratio=0.0, paths=rough)
        return self.place.tensor(result.a), result.n_iter


class Told(NamedTuple):
    """Whom to tell of the steps, and what came before them."""

    callback: Callback
    n_iter: int
    objective: float
    began: float

    def about(self, objective: float) -> Callback:
        """The callback of a working set whose own objective is this at first."""

        def tell(progress: Progress) -> object:
            return self.callback(
                Progress(
                    self.n_iter + progress.n_iter,
                    self.objective + progress.objective - objective,
                    progress.violation,
                    self.began + progress.seconds,
                )
            )

        return tell


def total_of(equality: str, sign: np.ndarray, a: np.ndarray) -> float | tuple[float, float] | None:
    """The sums that steps leave as they are."""
    if equality == "none":
        return None
    if equality == "total":
        return float(sign @ a)
    return float(a[sign > 0].sum()), float(a[sign < 0].sum())
