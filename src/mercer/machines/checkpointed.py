"""Machines whose fits are kept on disk while they run."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mercer.checkpoints import Bookmark, CheckpointRule, SavedFit
from mercer.devices.arrays import from_device
from mercer.fingerprint import fingerprint
from mercer.machines.base import Machine
from mercer.solvers.base import LIMITS

__all__ = ["CheckpointedMachine"]

# Parameters that the solution does not depend on, or that a fit may go on with other values of.
APART = ("callback", "checkpoint", "max_iter", "max_seconds", "memory", "n_threads", "warm_start")


class CheckpointedMachine(Machine):
    """Base of machines that may have the parameter `checkpoint`."""

    checkpoint: Any = None
    result_: Any
    _saved: SavedFit | None = None  # while a fit runs

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        with super()._all_or_nothing():
            self._saved = self._open_checkpoint()
            try:
                yield
                if self._saved is not None:
                    self._saved.finish(ended=self._has_ended())
            finally:
                self.__dict__.pop("_saved", None)

    def _open_checkpoint(self) -> SavedFit | None:
        """The file, which is refused if it is of other parameters."""
        if wrong := CheckpointRule.problem(self.checkpoint):
            raise ValueError(f"checkpoint {wrong}")
        if self.checkpoint is None:
            return None
        prints = {name: fingerprint(value) for name, value in self._decisive().items()}
        return SavedFit.of(self.checkpoint, type(self).__name__, prints)

    def _decisive(self) -> dict[str, Any]:
        """The parameters that the solution depends on."""
        return {name: value for name, value in self.get_params(deep=False).items() if name not in APART}

    def _has_ended(self) -> bool:
        """Whether no limit has ended the fit: with a higher one it could go on."""
        return self.result_.status not in LIMITS

    def _refuse_checkpoint(self, reason: str) -> None:
        if self.checkpoint is not None:
            raise ValueError(f"checkpoint must be None {reason}, got {self.checkpoint!r}.")

    def _bookmark(self) -> Bookmark | None:
        """That of the one problem of a fit, all of which is a parameter, samples, labels or weights."""
        return None if self._saved is None else self._saved.bookmark(type(self).__name__)

    def _take_samples(self, X: Any, y: Any = "no_validation", **check_y: Any) -> Any:
        found = super()._take_samples(X, y, **check_y)
        if self._saved is not None:
            for what, value in zip(
                ("samples", "labels"), found if isinstance(found, tuple) else (found,), strict=False
            ):
                self._saved.identify(what, fingerprint(from_device(value)))
        return found

    def _weights(self, sample_weight: Any, X: Any) -> np.ndarray:
        weight = super()._weights(sample_weight, X)
        if self._saved is not None:
            self._saved.identify("weights", fingerprint(weight))
        return weight
