"""How a command can end."""

from pathlib import Path

__all__ = ["DATA", "FAILED", "GOOD", "INTERRUPTED", "MODEL", "UNSOLVED", "USAGE", "CommandError", "check_folder"]

GOOD, FAILED, USAGE, DATA, MODEL, UNSOLVED, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130


class CommandError(Exception):
    """What went wrong, in one line, and the exit code that it has."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


def check_folder(path: str | None) -> None:
    """Refuse a file to write for which there is no folder, before hours of work."""
    if path is not None and not (folder := Path(path).resolve().parent).is_dir():
        raise CommandError(f"There is no folder {folder} to save {Path(path).name} in.", USAGE)
