"""Errors with a name: what went wrong can be caught without reading the message.

All of them are ``ValueError``, so that code written for scikit-learn keeps working.
"""

__all__ = [
    "CheckpointError",
    "DamagedFileError",
    "DomainError",
    "ForeignFileError",
    "FormatError",
    "GrammarError",
    "IndefiniteError",
    "InfeasibleError",
    "JournalError",
    "LossError",
    "ModelFileError",
    "NewerFormatError",
    "NotSeparableError",
    "OracleError",
    "ParseError",
    "SingularError",
    "UnsavableError",
]


class CheckpointError(ValueError):
    """The checkpoint of a fit cannot be used, and is left as it is.

    It is of other samples, labels, weights or parameters, of another version of mercer, damaged, no checkpoint at all,
    written to by another fit, or nothing can be written where it is to be.
    """


class DomainError(ValueError):
    """The samples, or another kernel, are not what this kernel works on.

    Raised when strings meet a kernel on vectors, when kernels on different kinds of samples are added, or
    when the values lie where the kernel is not defined (negative counts in a histogram kernel).
    """


class FormatError(ValueError):
    """A file is not what its format asks for: the message names the file, the line and the reason.

    Parameters
    ----------
    reason : str
        What is wrong, and what would be right.
    path : str, Path or None, default=None
        The file.
    line : int or None, default=None
        The line, from 1 on, where there are lines.
    """

    def __init__(self, reason: str, path: object = None, line: int | None = None) -> None:
        where = [str(part) for part in (path, line and f"line {line}") if part]
        super().__init__(f"{', '.join(where)}: {reason}" if where else reason)
        self.reason, self.path, self.line = reason, path, line

    def __reduce__(self):
        return type(self), (self.reason, self.path, self.line)


class GrammarError(ValueError):
    """The rules of a grammar contradict each other, or cannot be searched: the message names the symbol or rule."""


class NotSeparableError(ValueError):
    """No hyperplane separates the classes, so that the hard margin problem has no solution.

    Its dual is unbounded. Choose a finite ``C`` (a soft margin) or a richer kernel.
    """


class InfeasibleError(ValueError):
    """The constraints of the problem contradict each other.

    For instance ``nu`` above the largest value that the class sizes and weights allow.
    """


class IndefiniteError(ValueError):
    """The kernel matrix has negative eigenvalues where a positive semi-definite one is needed."""


class JournalError(ValueError):
    """The journal of a search cannot be used, and is left as it is.

    It is of other data or of another search, damaged, no journal at all, or in use by another process.
    """


class LossError(ValueError):
    """A loss of structured outputs is no loss: not zero for the right output, or not positive for a wrong one."""


class ModelFileError(ValueError):
    """A model file cannot be loaded: what stands in it is no model of this library. Its kinds say more."""


class DamagedFileError(ModelFileError):
    """A model file is truncated, or was altered after it had been written: its digest is not that of its contents."""


class ForeignFileError(ModelFileError):
    """The file is no model file at all: a folder, a file of another format, or a safetensors file of something else."""


class NewerFormatError(ModelFileError):
    """A model file was written in a later version of the format than this version of mercer reads."""


class UnsavableError(ModelFileError):
    """A model holds something that files do not, such as a Python function: the message says what, and where."""


class OracleError(ValueError):
    """An oracle of structured outputs has found something worse than the right output, which it may always return."""


class ParseError(ValueError):
    """A sentence has no parse by a grammar, or a tree is not one of its trees."""


class SingularError(ValueError):
    """A system of linear equations has no unique solution, to working precision.

    Some samples are linear combinations of others in feature space, and nothing regularises them: raise ``alpha``.
    """
