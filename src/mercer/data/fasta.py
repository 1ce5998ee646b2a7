"""Sequences in the FASTA format."""

from typing import Any

import numpy as np

from mercer.data.files import name_of, read_text
from mercer.errors import FormatError

__all__ = ["read_fasta"]


def read_fasta(
    source: Any, labels: Any = None, *, partial: bool = False
) -> tuple[list[str], np.ndarray | None, list[str]]:
    """Read sequences, and their labels, from a FASTA file, or say which line is wrong and why.

    A sequence has a line ``>name``, or ``>name label``, and then lines with its letters.

    Parameters
    ----------
    source : str, Path or binary file
        Gzipped or not.
    labels : str, Path, binary file or None, default=None
        A file with the name and the label of a sequence on every line, a tab, a comma or spaces between them. None:
        labels are what follows the names in the headers, where all headers have something there: ``label=...``,
        ``class=...``, or the last word.
    partial : bool, default=False
        Whether some headers may have a label where others have none, as descriptions do: None stands for those.

    Returns
    -------
    sequences : list of str
        As they are written, without spaces and line ends.
    y : array of str objects of shape (n,) or None
        The labels; None if there are none.
    names : list of str

    Raises
    ------
    FormatError
        For letters before the first header, a header without letters, names that are there twice, and sequences
        without a label where others have one.

    See Also
    --------
    mercer.kernels.Spectrum, mercer.kernels.WeightedDegree : Kernels on such sequences.

    Examples
    --------
    >>> import io
    >>> from mercer.data import read_fasta
    >>> read_fasta(io.BytesIO(b">p1 promoter\\nacgt\\nac\\n>n1 other\\nggta\\n"))
    (['acgtac', 'ggta'], array(['promoter', 'other'], dtype=object), ['p1', 'n1'])
    """
    name = name_of(source)
    headers: list[str] = []
    letters: list[list[str]] = []
    lines: list[int] = []
    for number, line in enumerate(read_text(source).splitlines(), 1):
        line = line.strip()
        if line.startswith(">"):
            _check_last(letters, name, lines)
            headers.append(line[1:].strip())
            letters.append([])
            lines.append(number)
        elif line and not line.startswith(";"):
            if not letters:
                raise FormatError("letters before the first header, a line that begins with '>'.", name, number)
            letters[-1].append("".join(line.split()))
    _check_last(letters, name, lines)
    names = [header.split()[0] if header else "" for header in headers]
    seen: dict[str, int] = {}
    for own, number in zip(names, lines, strict=True):
        if not own:
            raise FormatError("the sequence has no name.", name, number)
        if own in seen:
            raise FormatError(f"the name {own!r} is that of line {seen[own]}, too.", name, number)
        seen[own] = number
    if labels is None:
        y = _labels_of_headers(headers, name, lines, partial)
    else:
        known = _read_labels(labels)
        for own, number in zip(names, lines, strict=True):
            if own not in known:
                raise FormatError(f"the sequence {own!r} has no label in {name_of(labels)}.", name, number)
        y = [known[own] for own in names]
    return ["".join(parts) for parts in letters], None if y is None else np.array(y, dtype=object), names


def _check_last(letters: list[list[str]], name: str, lines: list[int]) -> None:
    if letters and not letters[-1]:
        raise FormatError("there are no letters below this header.", name, lines[-1])


def _labels_of_headers(headers: list[str], name: str, lines: list[int], partial: bool) -> list[Any] | None:
    found = [_label(header) for header in headers]
    if all(label is None for label in found):
        return None
    for label, line in zip(found, lines, strict=True):
        if label is None and not partial:
            raise FormatError("this header has no label behind the name, though others have.", name, line)
    return found


def _label(header: str) -> str | None:
    words = header.split()[1:]
    for word in words:
        key, equals, value = word.partition("=")
        if equals and key.lower() in ("label", "class"):
            return value
    return words[-1] if words else None


def _read_labels(source: Any) -> dict[str, str]:
    known: dict[str, str] = {}
    for number, line in enumerate(read_text(source).splitlines(), 1):
        fields = line.replace(",", " ").split()
        if not fields or line.startswith("#"):
            continue
        if len(fields) != 2:
            raise FormatError(f"{len(fields)} fields, where a name and a label are expected.", name_of(source), number)
        if fields[0] in known:
            raise FormatError(f"the name {fields[0]!r} is there twice.", name_of(source), number)
        known[fields[0]] = fields[1]
    return known
