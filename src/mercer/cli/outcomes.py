"""How a command can end."""

from pathlib import Path

__all__ = [
    "DATA",
    "FAILED",
    "GOOD",
    "INTERRUPTED",
    "MODEL",
    "UNSOLVED",
    "USAGE",
    "CommandError",
    "check_folder",
    "interrupted",
]

GOOD, FAILED, USAGE, DATA, MODEL, UNSOLVED, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130


class CommandError(Exception):
    """What went wrong, in one line, and the exit code that it has."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


def interrupted(error: BaseException) -> bool:
    """Whether an error comes from Ctrl-C: modules written in C that it finds half imported say something else."""
    known: list[BaseException] = []
    while error not in known:
        known.append(error)
        error = error.__cause__ or error.__context__ or error
    return any(isinstance(own, KeyboardInterrupt) for own in known)


def check_folder(path: str | None) -> None:
    """Refuse a file to write for which there is no folder, before hours of work."""
    if path is not None and not (folder := Path(path).resolve().parent).is_dir():
        raise CommandError(f"There is no folder {folder} to save {Path(path).name} in.", USAGE)
