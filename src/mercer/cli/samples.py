"""Samples from any file that the command reads, and which of them are held out."""

import difflib
import io
import math
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from mercer.cli.outcomes import DATA, USAGE, CommandError
from mercer.cli.wishes import Reading
from mercer.data import Columns, column_kinds, read_fasta, read_svmlight, read_table, read_tu_dortmund
from mercer.data.files import name_of, read_bytes, suffix_of
from mercer.data.tables import IDENTIFIERS, MISSING
from mercer.errors import FormatError
from mercer.kernels.samples import n_samples, take

__all__ = [
    "DOMAINS",
    "WORDS",
    "Samples",
    "check_columns",
    "check_texts",
    "missing_columns",
    "named_by",
    "near",
    "read_samples",
    "reading_for",
    "split",
    "standard_input",
    "target_of",
    "with_kinds",
]

SUFFIXES = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".parquet", ".pq"), "table"),
    **dict.fromkeys((".svm", ".svmlight", ".libsvm"), "svmlight"),
    **dict.fromkeys((".fa", ".fasta", ".fna", ".faa"), "fasta"),
}
# Integers with at most so many different values are classes, unless there are hardly more samples than that.
MOST_CLASSES = 20
# What kernels may work on, for each kind of file.
DOMAINS = {
    "vectors": ("vectors", "categories", "permutations", "indices", "series"),
    "text": ("strings",),
    "graphs": ("graphs",),
}
WORDS = {"vectors": "vectors", "text": "sequences", "graphs": "graphs"}
LIKELY_TARGETS = ("class", "target", "label", "y", "outcome")


@dataclass(frozen=True)
class Samples:
    """Samples, what is to be learnt of them, and where they came from."""

    kind: str
    """"table", "vectors", "text" or "graphs"."""
    X: Any
    y: np.ndarray | None
    source: str
    target: str | None = None
    names: dict[str, np.ndarray] = field(default_factory=dict)
    """What the samples are called, and the name of the column that says so; empty where they have no names."""

    def __len__(self) -> int:
        return n_samples(self.X)

    def kinds(self, known: Mapping[str, str]) -> dict[str, str]:
        """Of which kind the columns of a table are, from all of its rows; of other samples, nothing."""
        return column_kinds(self.X, known) if self.kind == "table" else {}

    def missing(self, kinds: Mapping[str, str]) -> dict[str, int]:
        """How many values of the columns are not there, of those where some are not, and which are looked at."""
        used = [name for name, kind in kinds.items() if kind != "identifier"]
        counts = {name: int(np.count_nonzero(absent(self.X[name]))) for name in used}
        return {name: count for name, count in counts.items() if count}

    def class_sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """The classes, or the values, and how many samples have each."""
        assert self.y is not None
        return np.unique(self.y, return_counts=True)

    def taken(self, rows: np.ndarray) -> "Samples":
        """Some of them."""
        y, names = None if self.y is None else self.y[rows], take(self.names, rows)
        return replace(self, X=take(self.X, rows), y=y, names=names)

    def task(self) -> str:
        """What is to be learnt: classes, or values, or what is usual."""
        if self.y is None:
            return "novelty"
        if self.y.dtype.kind in "OUb":
            return "classification"
        distinct = len(np.unique(self.y))
        whole = bool((self.y == np.round(self.y)).all())
        return "classification" if whole and distinct <= min(MOST_CLASSES, max(2, len(self.y) / 2)) else "regression"


def standard_input() -> io.BytesIO:
    """All of the standard input, as a file that can be read again."""
    source = io.BytesIO(sys.stdin.buffer.read())
    source.name = "standard input"
    return source


def read_samples(
    path: str | io.BytesIO, reading: Reading, target: str | None = None, *, needs_target: bool = True
) -> Samples:
    """Read a file of any format.

    Parameters
    ----------
    path : str or file
        "-" is the standard input.
    reading : Reading
    target : str or None
        The column of a table that is to be learnt, None for none.
    needs_target : bool, default=True
        Whether samples without something to learn are refused.
    """
    if isinstance(path, str) and Path(path).is_dir():
        _check_options(reading, target, "graphs", path)
        graphs, y = read_graphs(path)
        return Samples("graphs", graphs, _needed(y, needs_target, path, "graph labels"), path)
    source: Any = standard_input() if path == "-" else path
    if hasattr(source, "seek"):
        source.seek(0)
    name = name_of(source)
    kind = reading.format or SUFFIXES.get(suffix_of(source)) or guess_format(source)
    _check_options(reading, target, kind, name)
    if kind == "graphs":
        raise CommandError(f"{name} is a file; graphs in the format of the TU Dortmund collection are a folder.", DATA)
    if kind == "svmlight":
        X, y = read_svmlight(source, n_features=reading.n_features)
        # Where little is zero, plain rows are faster.
        dense = X.nnz > 0.5 * X.shape[0] * X.shape[1]
        y = y.astype(np.int64) if (y == np.round(y)).all() and np.abs(y).max() < 2**53 else y
        return Samples("vectors", X.toarray() if dense else X, y, name)
    if kind == "fasta":
        sequences, y, names = read_fasta(source, reading.labels, partial=not needs_target)
        y = None if y is None else y if None in y.tolist() else np.array(y, dtype=str)
        y = _needed(y, needs_target, name, "labels; --labels FILE gives them")
        return Samples("text", sequences, y, name, names={"id": np.array(names, dtype=object)})
    table = _read_table(source, reading)
    if target is None:
        if needs_target:
            raise CommandError(f"Which column is to be learnt? --target COLUMN; {_suggested(table)}", USAGE)
        return Samples("table", table, None, name)
    y = target_of(table, target)
    rest = {column: values for column, values in table.items() if column != target}
    return Samples("table", Columns(rest, table.source, table.lines), y, name, target)


def _check_options(reading: Reading, target: str | None, kind: str, name: str) -> None:
    """Refuse options that say nothing of a file of this format: whoever gives them means something else."""
    if kind != "table":
        options: dict[str, Any] = {"--target": target, "--delimiter": reading.delimiter, "--header": reading.header}
        options |= {"--decimal": reading.decimal}
        options |= {"--missing": reading.missing or None, **{f"--{own}": own for own in reading.kinds.values()}}
        given = [option.replace("identifier", "ignore") for option, value in options.items() if value is not None]
        if given:
            raise CommandError(f"{given[0]} is for tables; {name} is none.", USAGE)
    if kind != "fasta" and reading.labels is not None:
        raise CommandError(f"--labels is for FASTA files; {name} is none.", USAGE)


def _read_table(source: Any, reading: Reading) -> Columns:
    options: dict[str, Any] = {
        "delimiter": reading.delimiter,
        "header": reading.header,
        "missing": reading.missing or MISSING,
        "decimal": reading.decimal or ".",
    }
    kinds = {**reading.known, **reading.kinds}
    try:
        table: Columns = read_table(source, kinds=kinds, **options)
    except FormatError:
        raise
    except ValueError:  # a name that is not there
        if hasattr(source, "seek"):
            source.seek(0)
        left_out = {name: kind for name, kind in kinds.items() if kind == "identifier"}
        table = read_table(source, kinds=left_out, **options)
    for column, own in reading.kinds.items():
        if column not in table:
            option = "ignore" if own == "identifier" else own
            raise CommandError(f"--{option}: {table.source} has no column {column!r}; {near(column, table)}", USAGE)
    return table


def reading_for(reading: Reading, kinds: Mapping[str, str]) -> Reading:
    """How to read a file for a model that has learnt from columns of these kinds."""
    return replace(reading, known={name: kind for name, kind in kinds.items() if kind != "numeric"})


def with_kinds(samples: Samples, kinds: Mapping[str, str], source: str | io.BytesIO, reading: Reading) -> Samples:
    """A table with columns of the kinds that were learnt from; what is no number there is named."""
    wrong = {
        name: kind
        for name, kind in kinds.items()
        if kind != "identifier" and (samples.X[name].dtype == object) != (kind != "numeric")
    }
    if wrong:
        reading = replace(reading, kinds={**reading.kinds, **wrong})
        samples = read_samples(source, reading, samples.target, needs_target=samples.target is not None)
    check_texts(samples, kinds)
    return samples


def check_texts(samples: Samples, kinds: Mapping[str, str]) -> None:
    """Refuse texts that are missing: numbers have neighbours, and categories a category for it, texts have neither."""
    for name in (name for name, kind in kinds.items() if kind == "text"):
        gone = absent(samples.X[name])
        if gone.any():
            reason = f"the text {name!r} is missing{_others(gone)}; fill it in, take the row out, or use --ignore."
            raise samples.X.error(reason, int(gone.argmax()))


def check_columns(samples: Samples, kinds: Mapping[str, str]) -> None:
    """Refuse a table in which there is nothing to learn from."""
    if samples.kind == "table" and all(kind == "identifier" for kind in kinds.values()):
        left_out = [repr(name) for name in kinds]
        reason = f"{', '.join(left_out)} {'is' if len(left_out) == 1 else 'are'} left out" if left_out else ""
        reason += f"{' and ' if reason else ''}{samples.target!r} is the target" if samples.target else ""
        raise CommandError(f"{samples.source} has no column to learn from: {reason}.", DATA)


def absent(values: np.ndarray) -> np.ndarray:
    """Which values are missing."""
    return np.array([value is None or value != value for value in values.tolist()], dtype=bool)


def _others(gone: np.ndarray) -> str:
    n = int(gone.sum()) - 1
    return f" (and in {n} other row{'s' * (n != 1)})" if n else ""


def named_by(samples: Samples, columns: Iterable[str]) -> Samples:
    """A table with names from the first of these columns whose values all differ, "id" and the like before others."""
    known = sorted(
        (name for name in columns if name in samples.X), key=lambda own: own.strip().lower() not in IDENTIFIERS
    )
    name = next((own for own in known if len(set(map(str, samples.X[own].tolist()))) == len(samples)), None)
    return samples if name is None else replace(samples, names={name: samples.X[name]})


def missing_columns(samples: Samples, kinds: Mapping[str, str], whose: str) -> str | None:
    """What a table lacks, as a sentence; None if nothing."""
    missing = [name for name, kind in kinds.items() if kind != "identifier" and name not in samples.X]
    if not missing:
        return None
    shown = ", ".join(map(repr, missing[:10])) + (f" and {len(missing) - 10} others" if len(missing) > 10 else "")
    hint = f"; {near(missing[0], samples.X)}" if len(missing) == 1 else "."
    return f"{samples.source} has no column {shown}, which {whose} needs{hint}"


def read_graphs(path: str) -> tuple[list[Any], np.ndarray | None]:
    """A folder of graphs, with errors that name it."""
    try:
        return read_tu_dortmund(path)
    except OSError as error:
        raise CommandError(
            f"{error} A folder must be a set of graphs in the format of the TU Dortmund collection.", DATA
        ) from error
    except FormatError:  # it names a file of the folder
        raise
    except ValueError as error:
        raise FormatError(str(error), path) from error


def _needed(y: Any, needed: bool, name: str, what: str) -> Any:
    if y is None and needed:
        raise CommandError(f"{name} has no {what}. Without them, --novelty learns what is usual.", DATA)
    return y


def guess_format(source: Any) -> str:
    """The format of a file whose name does not tell, from its first line."""
    data = read_bytes(source)
    if hasattr(source, "seek"):
        source.seek(0)
    if data[:4] == b"PAR1":
        raise CommandError("A Parquet file must be called .parquet.", DATA)
    lines = (line.strip() for line in data[:100_000].decode("utf-8", "replace").splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    if first.startswith(">"):
        return "fasta"
    return "svmlight" if re.fullmatch(r"[-+.\deE]+(\s+\d+:\S+)+", first) else "table"


def target_of(table: Columns, target: str) -> np.ndarray:
    """The column that is to be learnt: classes as strings or integers, or values."""
    if target not in table:
        likely = [] if _close(target, table) else _likely_targets(table)
        hint = f"perhaps {likely[0]!r}." if likely else near(target, table)
        raise CommandError(f"{table.source} has no column {target!r}; {hint}", USAGE)
    values = table[target]
    gone = absent(values)
    if gone.any():
        raise table.error(
            f"the target {target!r} is missing{_others(gone)}; fill it in, or take the row out.", int(gone.argmax())
        )
    if values.dtype == object:
        return np.array(values.tolist(), dtype=str)
    whole = values.dtype.kind == "f" and (values == np.round(values)).all() and np.abs(values).max() < 2**53
    return values.astype(np.int64) if whole else values


def near(name: str, names: Iterable[str]) -> str:
    """Names that someone may have meant, as the second half of a sentence."""
    names = list(names)
    if found := _close(name, names):
        return f"did you mean {' or '.join(map(repr, found))}?"
    shown = ", ".join(map(repr, names[:12]))
    return f"there are {shown} and {len(names) - 12} others." if len(names) > 12 else f"there are {shown}."


def _close(name: str, names: Iterable[str]) -> list[str]:
    lower = {known.lower(): known for known in names}
    return [lower[low] for low in difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.5)]


def _likely_targets(table: Columns) -> list[str]:
    return [name for name in table if name.lower() in LIKELY_TARGETS]


def _suggested(table: Columns) -> str:
    likely = _likely_targets(table) or list(table)[-1:]
    return f"perhaps {likely[0]!r}. Without a target, --novelty learns what is usual."


def split(samples: Samples, share: float, seed: int, stratify: bool) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the samples to learn from and of those to be held out; classes in equal shares."""
    everyone = np.arange(len(samples))
    if share == 0:
        return everyone, everyone[:0]
    if not 1 <= math.ceil(share * len(samples)) < len(samples):  # as train_test_split counts
        raise CommandError(f"{len(samples)} samples are too few to hold out the share {share:g} of them.", DATA)
    classes = samples.y if stratify else None
    if classes is not None:
        _, counts = np.unique(classes, return_counts=True)
        n_test = round(share * len(samples))
        if counts.min() < 2 or n_test < len(counts) or len(samples) - n_test < len(counts):
            classes = None  # too few of a class for every part
    train, test = train_test_split(everyone, test_size=share, random_state=seed, stratify=classes)
    return np.sort(train), np.sort(test)
