"""Checkpoints: a long fit on disk, so that one that was killed goes on from where it was.

A checkpoint is a safetensors file with one JSON document, as models are, and as these it is replaced at once: killed at
any moment, the file is the old or the new one. It says what the fit is of (fingerprints of samples, labels, weights and
parameters, the version of mercer), which landmarks were chosen, and how far the solver of every problem has come.

>>> import os, tempfile
>>> from mercer import SVC
>>> with tempfile.TemporaryDirectory() as folder:
...     path = os.path.join(folder, "fit.checkpoint")
...     machine = SVC(checkpoint=path).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
...     machine.result_.status, os.listdir(folder)  # a fit that has ended leaves nothing behind
('solved', [])
"""

import os
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

import mercer
from mercer.callers import warn_caller
from mercer.errors import CheckpointError, ForeignFileError, ModelFileError
from mercer.lines import sync_folder
from mercer.parameters import Number

__all__ = ["Bookmark", "Checkpoint", "CheckpointRule", "SavedFit"]

FORMAT = 1
# What is worth its while, writing or beginning again, takes one part of this many of the time at most.
PARTS = 10
# How a file of another fit differs from this one, by what differs.
DIFFERENCES = {"samples": "other samples", "labels": "other labels or values y", "weights": "other sample weights"}


@dataclass(frozen=True)
class Checkpoint:
    """Where a fit is kept while it runs, and how often.

    Estimators that have the parameter `checkpoint` take one of these, or the path alone. A fit whose file is there goes
    on from it; a file that is of another fit, of another version of mercer, or damaged, is refused and left as it is.
    The file is removed when the fit ends, unless it ended by a limit (`max_iter`, `max_seconds`) or by its callback:
    the next fit then goes on, with a higher limit. Limits count over all runs of a fit.

    Parameters
    ----------
    path : str or path
        The file. Every fit needs one of its own.
    seconds : float >= 0, default=60.0
        Time between two writings, which is all that can be lost. It is longer where writing, or beginning again from
        a point, takes more than a tenth of it; and a solver writes only between two steps.

    Notes
    -----
    The file has some numbers for every variable of the problems, and the square of the number of landmarks; of Lanczos'
    method the directions that it has seen, some for each that is wanted. The samples are not in it.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.checkpoints import Checkpoint
    >>> SVC(approximation=1000, checkpoint=Checkpoint("machine.checkpoint", seconds=300.0))
    SVC(approximation=1000,
        checkpoint=Checkpoint(path='machine.checkpoint', seconds=300.0))
    """

    path: Any
    seconds: float = 60.0


class CheckpointRule:
    """The rule of the parameter `checkpoint`."""

    @staticmethod
    def problem(value: Any) -> str | None:
        """What is wrong with the value, None when nothing is."""
        if isinstance(value, Checkpoint):
            if wrong := Number(0).problem(value.seconds):
                return f"must have seconds that are right; seconds {wrong}"
            value = value.path
        elif value is None:
            return None
        if isinstance(value, str | os.PathLike) and os.path.basename(os.fspath(value)):
            return None
        return f"must be None, the path of a file or a Checkpoint of one, got {value!r}."


class SavedFit:
    """The checkpoint of a fit that runs.

    Parameters
    ----------
    checkpoint : Checkpoint
    machine : str
        The name of its class.
    parameters : dict of str
        The fingerprints of the parameters that the solution depends on.

    Raises
    ------
    CheckpointError
        If the file is not of this machine and these parameters, damaged, or no checkpoint; if it cannot be written.
    """

    def __init__(self, checkpoint: Checkpoint, machine: str, parameters: dict[str, str]) -> None:
        self.path = os.path.realpath(checkpoint.path)
        self.seconds = float(checkpoint.seconds)
        self._interval = self.seconds
        self._about: dict[str, Any] = {"machine": machine, "parameters": parameters}
        self._found: dict[str, str] = {}
        self._notes: dict[str, dict[str, Any]] = {}
        self._n_problems = 0
        self._seen: tuple[int, ...] | None = None
        _check_writable(self.path)
        if os.path.exists(self.path):
            self._read()
        self._written = time.perf_counter()

    @classmethod
    def of(cls, value: Any, machine: str, parameters: dict[str, str]) -> Self:
        """That of what the parameter `checkpoint` may be, but for None."""
        return cls(value if isinstance(value, Checkpoint) else Checkpoint(value), machine, parameters)

    # --- what the fit is of -------------------------------------------------------------------------------

    def identify(self, what: str, fingerprint: str) -> None:
        """Say what the fit is of; a file that is of something else is refused."""
        if self._found.setdefault(what, fingerprint) != fingerprint:
            self._refuse(f"is of {DIFFERENCES[what]}")

    def _check_same(self, document: dict[str, Any]) -> None:
        if (there := document.get("mercer")) != mercer.__version__:
            self._refuse(f"was written by version {there} of mercer, this is {mercer.__version__}")
        if (there := document["machine"]) != (here := self._about["machine"]):
            self._refuse(f"is of a fit of {there}, this is {here}")
        before, now = document["parameters"], self._about["parameters"]
        if changed := [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]:
            self._refuse(f"is of a fit with other parameters ({', '.join(changed)})")

    def _refuse(self, reason: str) -> None:
        raise CheckpointError(
            f"Checkpoint {self.path!r} {reason}; to fit anew, give another file as checkpoint or remove this one."
        )

    # --- what is known of its parts -----------------------------------------------------------------------

    def recall(self, part: str) -> dict[str, Any] | None:
        """What the file says of a part of the fit: arrays, and what JSON has."""
        return self._notes.get(part)

    def note(self, part: str, state: dict[str, Any]) -> None:
        """Keep what is known of a part of the fit; the file is written when it is time."""
        self._notes[part] = state
        if self.is_due():
            self.write()

    def bookmark(self, problem: str) -> "Bookmark":
        """That of the next problem of the fit, by its fingerprint: fits have the same ones in the same order."""
        self._n_problems += 1
        return Bookmark(self, f"problem {self._n_problems}", problem)

    def is_due(self) -> bool:
        """Whether it is time to write."""
        return time.perf_counter() - self._written >= self._interval

    # --- the file -----------------------------------------------------------------------------------------

    def _read(self) -> None:
        from mercer.persist.container import read

        try:
            document, arrays = read(self.path, _check_format)
            self._check_same(document)
            self._found = dict(document["found"])
            self._notes = {part: dict(values) for part, values in document["notes"].items()}
            for name, array in arrays.items():
                part, _, key = name.partition("/")
                self._notes[part][key] = array
        except ForeignFileError as error:
            raise CheckpointError(
                f"{self.path!r} is not the checkpoint of a fit and is left as it is; choose another file."
            ) from error
        except ModelFileError as error:
            raise CheckpointError(
                f"Checkpoint {self.path!r} is damaged and is left as it is; remove it to fit anew, or choose another "
                f"file ({error})."
            ) from error
        self._seen = _identity(self.path)

    def write(self) -> None:
        """Replace the file. Where that fails, the old one stays, and whoever fits is warned."""
        from mercer.persist.container import write

        began = time.perf_counter()
        if self._seen is not None and _identity(self.path) not in (None, self._seen):
            raise CheckpointError(
                f"Checkpoint {self.path!r} has been written to by another fit meanwhile; give every fit a file of its "
                "own."
            )
        notes: dict[str, dict[str, Any]] = {}
        arrays: dict[str, np.ndarray] = {}
        for part, state in self._notes.items():
            notes[part] = {key: value for key, value in state.items() if not isinstance(value, np.ndarray)}
            inside = {key: value for key, value in state.items() if isinstance(value, np.ndarray)}
            arrays |= {f"{part}/{key}": np.asarray(value, order="C") for key, value in inside.items()}
        document = {
            "checkpoint": FORMAT,
            "mercer": mercer.__version__,
            **self._about,
            "found": self._found,
            "notes": notes,
        }
        aside = _beside(self.path)
        try:
            # A writer that was killed may have left something, also under names that are not ours.
            shutil.rmtree(aside, ignore_errors=True)
            os.mkdir(aside)
            write(str(aside / "checkpoint"), document, arrays)
            os.replace(aside / "checkpoint", self.path)
            os.rmdir(aside)
            self._seen = _identity(self.path)
            with suppress(OSError):
                sync_folder(self.path)
        except OSError as error:
            shutil.rmtree(aside, ignore_errors=True)
            warn_caller(
                f"Checkpoint {self.path!r} could not be written ({error.strerror}); the fit goes on.", RuntimeWarning
            )
        self._written = time.perf_counter()
        self._interval = max(self.seconds, (PARTS - 1) * (self._written - began))

    def finish(self, *, ended: bool) -> None:
        """The fit is over: remove the file if it has ended, keep where it is otherwise."""
        if not ended:
            return self.write()
        shutil.rmtree(_beside(self.path), ignore_errors=True)
        if self._seen is not None and _identity(self.path) == self._seen:
            os.unlink(self.path)
        return None


class Bookmark:
    """Where the solver of one problem has come to.

    Attributes
    ----------
    state : dict or None
        What the file said when the fit began: arrays, and what JSON has. None: nothing of this problem.
    """

    def __init__(self, fit: SavedFit, part: str, problem: str) -> None:
        self._fit, self._part, self._problem = fit, part, problem
        state = fit.recall(part)
        # Folds that are drawn anew in every run make other problems.
        self.state = state if state is not None and state["problem"] == problem else None

    @property
    def seconds(self) -> float:
        """Time between two writings."""
        return self._fit.seconds

    def is_due(self) -> bool:
        """Whether it is time to write."""
        return self._fit.is_due()

    def note(self, state: dict[str, Any]) -> None:
        """Keep a state; the file is written when it is time."""
        self._fit.note(self._part, {**state, "problem": self._problem})


def _check_writable(path: str) -> None:
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        reason = f"there is no folder {folder!r}"
    elif os.path.isdir(path):
        reason = "it is a folder; give the name of a file"
    elif not os.access(folder, os.W_OK | os.X_OK):
        reason = f"the folder {folder!r} is not writable"
    else:
        return
    raise CheckpointError(f"Checkpoint {path!r} cannot be written: {reason}.")


def _check_format(path: str, document: dict[str, Any]) -> None:
    version = document.get("checkpoint")
    if type(version) is not int:
        raise ForeignFileError(f"{path} is no checkpoint.")
    if version != FORMAT:
        raise CheckpointError(
            f"Checkpoint {path!r} is in version {version} of the format, this mercer has {FORMAT}; to fit anew, give "
            "another file as checkpoint or remove this one."
        )


def _beside(path: str) -> Path:
    """A folder in which the next file is written, on the same disk."""
    return Path(path).with_name(f".{os.path.basename(path)}.mercer-part")


def _identity(path: str) -> tuple[int, ...] | None:
    """Which file it is, as it is now; None: there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
