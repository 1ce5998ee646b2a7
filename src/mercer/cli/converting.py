"""Data from one format to another, and models between LIBSVM and us."""

import csv
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

import mercer
from mercer.cli.learning import machine_of
from mercer.cli.models import is_libsvm, is_mercer, load_model
from mercer.cli.outcomes import DATA, GOOD, MODEL, USAGE, CommandError, check_folder
from mercer.cli.samples import Samples, check_texts, named_by, near, read_samples
from mercer.cli.wishes import Reading
from mercer.compat.libsvm import write_model
from mercer.data import write_svmlight
from mercer.data.files import replacing, suffix_of, write_text
from mercer.data.svmlight import shortest
from mercer.data.tables import IDENTIFIERS
from mercer.extras import require

__all__ = ["convert_file"]

DATA_SUFFIXES = (".csv", ".tsv", ".parquet", ".svm", ".svmlight", ".libsvm", ".fasta", ".fa")


def convert_file(source: str, destination: str, target: str | None, reading: Reading) -> int:
    """Write the content of a file in another format."""
    check_folder(destination)
    suffix = suffix_of(destination)
    if source != "-" and Path(source).is_file():
        if is_libsvm(source):
            _wanted(suffix, (".mercer",), destination)
            mercer.save(load_model(source), destination)
            return GOOD
        if is_mercer(source):
            _wanted(suffix, (".model",), destination)
            _write_libsvm(source, destination)
            return GOOD
    _wanted(suffix, DATA_SUFFIXES, destination)
    samples = read_samples(source, reading, None, needs_target=False)
    if samples.kind == "graphs":
        raise CommandError("Graphs cannot be converted.", USAGE)
    if suffix in (".svm", ".svmlight", ".libsvm"):
        write_svmlight(*_vectors(samples, target), destination)
    elif suffix in (".fasta", ".fa"):
        write_text(destination, _fasta(samples, target, reading))
    else:
        _write_table(_columns(samples), destination, suffix)
    return GOOD


def _wanted(suffix: str, known: tuple[str, ...], destination: str) -> None:
    if suffix not in known or destination.endswith(".gz"):
        raise CommandError(f"{destination} must end with {' or '.join(known)}.", USAGE)


def _write_libsvm(source: str, destination: str) -> None:
    model = mercer.load(source)
    if hasattr(model, "steps"):
        raise CommandError(
            f"{source} prepares its samples, which LIBSVM's files cannot say; train on a LIBSVM data file.",
            MODEL,
        )
    try:
        write_model(machine_of(model), destination)
    except ValueError as error:
        raise CommandError(f"{source}: {error}", MODEL) from error


def _columns(samples: Samples) -> dict[str, np.ndarray]:
    if samples.kind == "table":
        return dict(samples.X)
    targets = {} if samples.y is None else {"target" if samples.kind == "vectors" else "class": samples.y}
    if samples.kind == "text":
        return {**samples.names, "sequence": np.array(samples.X, dtype=object), **targets}
    X = samples.X.toarray() if issparse(samples.X) else samples.X
    return {f"V{k}": column for k, column in enumerate(X.T, 1)} | targets


def _vectors(samples: Samples, target: str | None) -> tuple[Any, np.ndarray]:
    if samples.kind == "vectors":
        assert samples.y is not None
        return samples.X, samples.y
    if samples.kind != "table":
        raise CommandError(f"{samples.source} has sequences, LIBSVM's files hold numbers.", DATA)
    target = target or list(samples.X)[-1]
    if target not in samples.X:
        raise CommandError(f"{samples.source} has no column {target!r}.", USAGE)
    y, rest = samples.X[target], {name: values for name, values in samples.X.items() if name != target}
    for name, values in rest.items():
        if values.dtype == object:
            raise CommandError(f"The column {name!r} holds no numbers; LIBSVM's files hold nothing else.", DATA)
        if np.isnan(values.astype(np.float64)).any():
            raise CommandError(f"Values of {name!r} are missing; LIBSVM's files have no way to say that.", DATA)
    if y.dtype == object:  # classes by number, in alphabetical order
        classes, y = np.unique(y.astype(str), return_inverse=True)
        numbers = ", ".join(f"{k} is {name!r}" for k, name in enumerate(classes.tolist()))
        print(f"{target!r} by number: {numbers}", file=sys.stderr)
    return np.column_stack([values.astype(np.float64) for values in rest.values()]), y


def _fasta(samples: Samples, target: str | None, reading: Reading) -> str:
    if samples.kind == "text":
        texts, labels = samples.X, samples.y
    elif samples.kind == "table":
        samples = named_by(samples, (own for own in samples.X if own.strip().lower() in (*IDENTIFIERS, "name")))
        kinds = samples.kinds(reading.kinds)
        others = [own for own in samples.X if own != target and own not in samples.names]
        found = [own for own in others if own.lower() in ("sequence", "seq", "text") and samples.X[own].dtype == object]
        found += [own for own in others if kinds[own] == "text"]
        if not found:
            raise CommandError(f"{samples.source} has no column of sequences; --text COLUMN says which it is.", DATA)
        if target is not None and target not in samples.X:
            raise CommandError(f"{samples.source} has no column {target!r}; {near(target, samples.X)}", USAGE)
        check_texts(samples, {found[0]: "text"})
        texts, labels = samples.X[found[0]].tolist(), None if target is None else samples.X[target]
    else:
        raise CommandError(f"{samples.source} has vectors, FASTA files hold sequences.", DATA)
    ends = (
        [""] * len(texts)
        if labels is None
        else ["" if label is None else f" {label}" for label in np.asarray(labels).tolist()]
    )
    known: Any = next(iter(samples.names.values()), (f"s{k}" for k in range(1, len(texts) + 1)))
    names = ("_".join(str(name).split()) for name in known)  # a name ends at a space
    return "".join(f">{name}{end}\n{text}\n" for name, end, text in zip(names, ends, texts, strict=True))


def _write_table(columns: dict[str, np.ndarray], destination: str, suffix: str) -> None:
    if suffix == ".parquet":
        pa, parquet = require("pyarrow", "A Parquet file"), require("pyarrow.parquet", "A Parquet file")
        table = pa.table({name: pa.array(values.tolist()) for name, values in columns.items()})
        with replacing(destination) as part:
            parquet.write_table(table, part)
        return
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter="\t" if suffix == ".tsv" else ",", lineterminator="\n")
    writer.writerow(columns)
    lists = [values.tolist() for values in columns.values()]
    writer.writerows([_field(value) for value in row] for row in zip(*lists, strict=True))
    write_text(destination, buffer.getvalue())


def _field(value: Any) -> Any:
    if value is None or value != value:
        return ""
    return shortest(value) if isinstance(value, float) else value
