"""The problem of some variables of a `DualProblem`, the others being as they are, on a device."""

from typing import Any, NamedTuple

import numpy as np

from mercer.devices.arrays import Place, Tensor
from mercer.devices.fused import has_triton
from mercer.devices.pairs import GROUPS, optimise_pairs
from mercer.gram import MatrixGram
from mercer.kernels.samples import to_numpy
from mercer.problems import DualProblem, DualProblems
from mercer.solvers.base import Callback, Progress
from mercer.solvers.smo import SMO

__all__ = ["Improved", "WorkingSet"]

# Fewest variables that are worth a kernel of the GPU.
FEWEST = 64
# Most steps in one set, for each of its variables: more would only fit the set to itself.
MOST_STEPS = 50


class Improved(NamedTuple):
    """What became of a working set."""

    a: Tensor
    steps: Any
    """How many steps it took; a number or, if it is not known yet, a tensor of one."""


class WorkingSet(NamedTuple):
    """Some variables of a problem, with what is known of them; tensors of shape (w,), but for K."""

    place: Place
    equality: str
    definite: bool
    K: Tensor
    """Their kernel matrix, by variables, shape (w, w)."""
    a: Tensor
    gradient: Tensor
    sign: Tensor
    linear: Tensor
    upper: Tensor
    ridge: Tensor

    def improve(self, tol: float, most_steps: int, n_threads: int | None, told: "Told | None") -> Improved:
        """A point of their box, of the same sums, whose violation is at most `tol`, or that is near one."""
        most = min(most_steps, MOST_STEPS * len(self.a))
        # A callback wants to be told of every few steps, and the last steps are counted one by one.
        if told is None and most == MOST_STEPS * len(self.a) and self.in_one_kernel:
            return self._by_pairs(tol, most)
        return self._natively(tol, most, n_threads, told)

    @property
    def in_one_kernel(self) -> bool:
        """Whether a kernel of the GPU solves it."""
        w = len(self.a)
        return (
            self.place.on_gpu
            and has_triton()
            and self.K.dtype == self.place.torch.float32
            and self.definite
            and self.equality != "per_sign"
            and w >= FEWEST
            and w & (w - 1) == 0
        )

    def _by_pairs(self, tol: float, most: int) -> Improved:
        """On the device, several pairs at a time."""
        torch = self.place.torch
        x, ends = self.sign * self.a, self.sign * self.upper
        numbers = torch.stack(
            [x, -self.sign * self.gradient, ends.clamp(max=0.0), ends.clamp(min=0.0), self.ridge]
        ).float()
        found, steps = optimise_pairs(
            self.place, self.K, *numbers, paired=self.equality == "total", tol=tol, most=most
        )
        # Where nothing moved, nothing is rounded; what reached a bound lies at it, in float64.
        moved = torch.where(found == numbers[0], self.a, (self.sign * found.double()).clamp(min=0.0))
        a = torch.where(found == numbers[0] + 0.0, moved, torch.minimum(moved, self.upper))
        at_upper = (found == numbers[2]) & (self.sign < 0) | (found == numbers[3]) & (self.sign > 0)
        return Improved(torch.where(at_upper, self.upper, a), steps)

    def _natively(self, tol: float, most: int, n_threads: int | None, told: "Told | None") -> Improved:
        """By `SMO`, over the matrix in the memory of the CPU."""
        torch, s = self.place.torch, self.sign
        pull = s * (self.K @ (s * self.a).to(self.K.dtype)).double() + self.ridge * self.a  # Q a
        names = ("a", "gradient", "sign", "linear", "upper", "ridge")
        rows = to_numpy(torch.stack([*(getattr(self, name) for name in names), pull]))
        a, gradient, sign, _, upper, ridge, pull = rows
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
        solver = SMO(tol=tol, max_iter=most, n_threads=n_threads)
        rough = {"rough": self.K.dtype == torch.float32}
        (result,) = solver._run(DualProblems.of([problem]), a.copy(), callback, unbounded_ratio=0.0, paths=rough)
        return Improved(self.place.tensor(result.a), result.n_iter)


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


def total_of(equality: str, sign: np.ndarray, a: np.ndarray) -> None | float | tuple[float, float]:
    """The sums that steps leave as they are."""
    if equality == "none":
        return None
    if equality == "total":
        return float(sign @ a)
    return float(a[sign > 0].sum()), float(a[sign < 0].sum())
