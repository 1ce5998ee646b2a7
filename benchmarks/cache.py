"""What slow libraries took, kept: their figures change with their version and with the machine, not from day to day."""

import json
from pathlib import Path

from benchmarks.task import Outcome, Task, figure

# A figure above the first number of seconds is kept. A plain run of the benchmarks takes it from here, a full one only
# if it is above the second.
KEPT_ABOVE, LONG = 20.0, 120.0


class Cache:
    """Outcomes of peers by machine, task, contender and its version, in a file.

    Parameters
    ----------
    path : Path
    machine : str
    versions : dict
        Of the libraries; a contender without a version is not kept.
    """

    def __init__(self, path: Path, machine: str, versions: dict[str, str]):
        self.path, self.machine = path, machine
        self.versions = {name: version for name, version in versions.items() if name != "mercer"}
        self.outcomes = json.loads(path.read_text()) if path.exists() else {}

    def find(self, task: Task, contender: str, above: float) -> Outcome | None:
        """What the contender took earlier, if that was more than so many seconds."""
        outcome = self.outcomes.get(self._key(task, contender))
        if outcome is None or figure(outcome) <= above:
            return None
        return outcome | {"earlier": True}

    def keep(self, task: Task, contender: str, outcome: Outcome) -> None:
        """In place of what was known; an outcome that is quick to have again is not kept."""
        known = self.outcomes.pop(self._key(task, contender), None)
        slow = contender in self.versions and task.unit == "s" and figure(outcome) > KEPT_ABOVE
        if slow:
            self.outcomes[self._key(task, contender)] = outcome
        if slow or known:
            self.path.write_text(json.dumps(self.outcomes, indent=2, sort_keys=True) + "\n")

    def _key(self, task: Task, contender: str) -> str:
        return " | ".join((self.machine, task.name, contender, self.versions.get(contender, "")))
