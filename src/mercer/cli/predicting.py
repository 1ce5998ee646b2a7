"""Predictions for the samples of a file."""

import csv
import io
import sys
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector

from mercer.cli import report
from mercer.cli.judging import judge
from mercer.cli.learning import machine_of
from mercer.cli.models import check_fits, load_model
from mercer.cli.outcomes import DATA, GOOD, MODEL, USAGE, CommandError, check_folder
from mercer.cli.samples import (
    Samples,
    named_by,
    read_samples,
    reading_for,
    standard_input,
    target_of,
    with_kinds,
)
from mercer.cli.wishes import Reading
from mercer.data.files import write_text
from mercer.data.svmlight import shortest
from mercer.selection.tables import as_category

__all__ = ["predict_file"]


def predict_file(
    model: str,
    data: str,
    reading: Reading,
    *,
    output: str | None,
    probability: bool,
    decision: bool,
    target: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Read, predict, write, and judge where the truth is known."""
    check_folder(output)
    learnt = load_model(model)
    machine, preparation = machine_of(learnt), learnt.steps[0][1] if hasattr(learnt, "steps") else None
    kinds = getattr(preparation, "kinds_", {})
    width = getattr(preparation or machine, "n_features_in_", None)
    source = standard_input() if data == "-" else data
    reading = reading_for(reading, kinds)
    samples = read_samples(source, reading, None, needs_target=False)
    check_fits(learnt, samples, model)
    if samples.kind == "table":
        samples = named_by(with_kinds(samples, kinds, source, reading), (n for n in kinds if kinds[n] == "identifier"))
        if not quiet:
            _tell_new_categories(samples, preparation)
    samples = _truth(samples, target, getattr(preparation, "target", None))
    if samples.kind == "text" and reading.labels is None:
        samples = replace(samples, y=_told(samples.y, machine))
    if samples.kind == "vectors" and width is not None:
        samples = _with_width(samples, width, model)
    try:
        predicted = learnt.predict(samples.X)
    except ValueError as error:  # such as sequences of another length, where all must have one
        raise CommandError(f"{model} cannot predict {samples.source}: {error}", MODEL) from error
    columns: dict[str, Any] = {"prediction": predicted}
    if decision:
        columns |= _named("decision", learnt.decision_function(samples.X), machine)
    if probability:
        if not hasattr(learnt, "predict_proba"):
            raise CommandError(f"{model} has no probabilities; train with --probability.", MODEL)
        columns |= _named("probability", learnt.predict_proba(samples.X), machine)
    task = "classification" if is_classifier(machine) else "novelty" if is_outlier_detector(machine) else "regression"
    judged = None
    if task == "novelty":
        judged = judge(task, None, predicted)
    elif samples.y is not None:
        if reason := _no_truth(samples, machine, task):
            if target is not None or reading.labels is not None:
                raise CommandError(reason, DATA)
            if not quiet:
                print(f"{reason} Nothing is judged.", file=sys.stderr)
        else:
            judged = judge(task, *_alike(samples.y, predicted))
    if as_json:
        lists = {name: np.asarray(values).tolist() for name, values in columns.items()}
        names = next((values.tolist() for values in samples.names.values()), None)
        test = None if judged is None else asdict(judged)
        report.told({"model": model, "data": samples.source, "names": names, **lists, "test": test})
        return GOOD
    text = _as_csv(samples.names | columns)
    if output is None:
        sys.stdout.write(text)
    else:
        write_text(output, text)
    if judged is not None and not quiet:
        name = "novel" if judged.name == "outside" else "error"
        print(f"{name} {report.error_words(judged)}", file=sys.stderr)
    return GOOD


def _tell_new_categories(samples: Samples, preparation: Any) -> None:
    """Name what is in no category of the training: it counts as none of them."""
    for name, known in preparation.categories_.items():
        new = sorted({as_category(value) for value in samples.X[name].tolist()} - {"", *known})
        if new:
            shown = ", ".join(map(repr, new[:3])) + (", ..." if len(new) > 3 else "")
            some = f"{len(new)} value{'s' * (len(new) != 1)}"
            print(f"{samples.source}: {name!r} has {some} ({shown}) that the training had not", file=sys.stderr)


def _truth(samples: Samples, target: str | None, usual: str | None) -> Samples:
    if samples.kind != "table":
        if target is not None:
            raise CommandError(f"--target is for tables; {samples.source} has its targets in their place.", USAGE)
        return samples
    if target is None and usual not in samples.X:
        return samples
    name = target or str(usual)
    return replace(samples, y=target_of(samples.X, name), target=name)


def _no_truth(samples: Samples, machine: Any, task: str) -> str | None:
    """Why the targets of a file cannot be those of the machine; None if they can."""
    y = np.asarray(samples.y)
    where = f"The column {samples.target!r} of {samples.source}" if samples.target else samples.source
    first = y.ravel()[0].item()
    if task == "regression":
        return None if y.dtype.kind in "biuf" else f"{where} has no numbers to compare with, but {first!r}."
    y, known = _alike(y, machine.classes_)
    if np.isin(y, known).any():
        return None
    shown = ", ".join(repr(name) for name in known[:5].tolist()) + (", ..." if len(known) > 5 else "")
    return f"{where} has none of the model's classes, {shown}, but {first!r}."


def _alike(some: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Classes that can be compared: numbers as numbers, all else as words."""
    if some.dtype.kind in "iuf" and others.dtype.kind in "iuf":
        return some, others
    return some.astype(str), others.astype(str)


def _told(words: np.ndarray | None, machine: Any) -> np.ndarray | None:
    """The last words of headers where they are the truth, and no descriptions: all are classes, or all numbers."""
    known = getattr(machine, "classes_", None)
    if words is None or None in words.tolist():
        return None
    if known is not None:
        return words if set(words.tolist()) <= set(map(str, known.tolist())) else None
    try:
        return words.astype(np.float64)
    except ValueError:
        return None


def _with_width(samples: Samples, width: int, model: str) -> Samples:
    """Vectors with as many features as the model knows: those that a sparse file leaves out at the end are zero."""
    X = samples.X
    if X.shape[1] > width:
        raise CommandError(f"{samples.source} has {X.shape[1]} features, {model} knows {width}.", MODEL)
    if X.shape[1] < width:
        if isinstance(X, np.ndarray):
            X = np.pad(X, ((0, 0), (0, width - X.shape[1])))
        else:
            X = X.copy()
            X.resize(X.shape[0], width)
    return replace(samples, X=X)


def _named(what: str, values: np.ndarray, machine: Any) -> dict[str, np.ndarray]:
    if values.ndim == 1:
        return {what: values}
    classes = getattr(machine, "classes_", range(values.shape[1]))
    return {f"{what} {name}": values[:, k] for k, name in enumerate(classes)}


def _as_csv(columns: dict[str, np.ndarray]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    lists = [np.asarray(values).tolist() for values in columns.values()]
    writer.writerows([[shortest(v) if isinstance(v, float) else v for v in row] for row in zip(*lists, strict=True)])
    return buffer.getvalue()
