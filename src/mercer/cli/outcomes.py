"""How a command can end."""

__all__ = ["DATA", "FAILED", "GOOD", "INTERRUPTED", "MODEL", "UNSOLVED", "USAGE", "CommandError"]

GOOD, FAILED, USAGE, DATA, MODEL, UNSOLVED, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130


class CommandError(Exception):
    """What went wrong, in one line, and the exit code that it has."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code
