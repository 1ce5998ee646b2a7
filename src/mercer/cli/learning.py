"""From a file to a model that has been judged: what `train`, `tune` and `demo` do."""

import sys
import time
import warnings
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import get_scorer_names
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline

from mercer.cli import report
from mercer.cli.expressions import parse_kernel, parse_value
from mercer.cli.judging import judge
from mercer.cli.outcomes import DATA, GOOD, UNSOLVED, USAGE, CommandError
from mercer.cli.recipes import Recipe, check_grid, check_targets, default_kernel, grid_for, make_recipe
from mercer.cli.samples import (
    Samples,
    check_columns,
    check_texts,
    missing_columns,
    near,
    read_samples,
    reading_for,
    split,
    with_kinds,
)
from mercer.cli.wishes import Wish
from mercer.selection import Tuned

__all__ = ["Lesson", "learn", "machine_of"]


# How solvers end well. Problems that are not convex have a "local" optimum; "given" is without anything to search for.
SOLVED = ("solved", "local", "given")


@dataclass(frozen=True)
class Lesson:
    """What was learnt."""

    model: Any
    search: Any
    content: dict[str, Any]
    """The report, for JSON."""
    rows: list[tuple[str, Any]]
    """The report, for people."""
    code: int

    def show(self, wish: Wish, **more: Any) -> None:
        """Tell what was learnt."""
        if wish.json:
            report.told({**more, **self.content})
        elif not wish.quiet:
            report.shown(self.rows)


def learn(wish: Wish) -> Lesson:
    """Read, prepare, learn, judge; the report is the `content`."""
    if wish.checkpoint is not None and (wish.tune or wish.refit):
        other = "a search has a --journal" if wish.tune else "--refit makes two"
        raise CommandError(f"--checkpoint is for one fit; {other}.", USAGE)
    began = time.perf_counter()
    samples = read_samples(wish.data, wish.reading, wish.target, needs_target=not wish.novelty)
    times = {"to read": time.perf_counter() - began}
    samples = replace(samples, source=wish.name or samples.source)
    task = "novelty" if wish.novelty else wish.task or samples.task()
    if task == "novelty":
        samples = replace(samples, y=None)
    if task == "classification" and samples.y is not None and samples.y.dtype.kind == "f" and wish.task:
        samples = replace(samples, y=samples.y.astype(str))
    check_targets(samples, task)
    kinds = samples.kinds(wish.reading.kinds)
    check_columns(samples, kinds)
    check_texts(samples, kinds)
    if wish.test_data is None:
        train, test = split(samples, wish.test, wish.seed, task == "classification")
        learnt, held = samples.taken(train), samples.taken(test)
        check_targets(learnt, task, " to learn from")
    else:
        learnt, held = samples, _test_samples(wish, samples, kinds)
    recipe = make_recipe(
        learnt,
        task,
        kernel=default_kernel(samples, kinds, None if wish.kernel is None else parse_kernel(wish.kernel)),
        machine=wish.machine,
        parameters=_pairs(wish.parameters, "--param"),
        kinds=kinds,
        scale=wish.scale,
    )
    if getattr(recipe.machine, "probability", False):
        _check_probability(learnt)
    began = time.perf_counter()
    model, search = _tuned(wish, recipe, learnt) if wish.tune else (_fitted(wish, recipe, learnt), None)
    times["to search and learn" if wish.tune else "to learn"] = time.perf_counter() - began
    began = time.perf_counter()
    judged = judge(task, held.y, model.predict(held.X)) if len(held) else None
    if judged is not None:
        times["to predict"] = time.perf_counter() - began
    if wish.refit and len(held) and wish.test_data is None:
        began = time.perf_counter()
        model = _again(model, samples)
        times["to learn from all"] = time.perf_counter() - began
    machine = machine_of(model)
    content = {
        "task": task,
        "data": _data_of(samples, learnt, held, kinds, model, wish),
        "machine": type(machine).__name__,
        "kernel": repr(machine.kernel),
        "parameters": _changed(machine),
        "search": _search_of(search),
        "test": None if judged is None else asdict(judged),
        "certificate": report.certificate_of(machine),
        "support_vectors": _support_of(machine),
        "times": {name.replace(" ", "_"): value for name, value in times.items()},
        "model": wish.output,
    }
    solved = getattr(getattr(machine, "result_", None), "status", "solved") in SOLVED
    rows = _rows(content, judged, machine, times, search)
    return Lesson(model, search, content, rows, GOOD if solved else UNSOLVED)


def _test_samples(wish: Wish, samples: Samples, kinds: dict[str, str]) -> Samples:
    width = samples.X.shape[1] if samples.kind == "vectors" else None
    reading = replace(reading_for(wish.reading, kinds), n_features=width)
    held = read_samples(str(wish.test_data), reading, wish.target, needs_target=not wish.novelty)
    if held.kind != samples.kind:
        raise CommandError(f"{samples.source} and {held.source} are different kinds of files.", USAGE)
    if samples.kind == "table":
        if lacking := missing_columns(held, kinds, samples.source):
            raise CommandError(lacking, DATA)
        held = with_kinds(held, kinds, str(wish.test_data), reading)
    if samples.y is not None and held.y is not None and held.y.dtype.kind != samples.y.dtype.kind:
        return replace(held, y=held.y.astype(samples.y.dtype))
    return held


def _fitted(wish: Wish, recipe: Recipe, learnt: Samples) -> Any:
    machine, steps = clone(recipe.machine), [] if recipe.preparation is None else [clone(recipe.preparation)]
    if wish.max_seconds is not None and "max_seconds" in machine.get_params():
        machine.set_params(max_seconds=wish.max_seconds)
    if wish.checkpoint is not None:
        if "checkpoint" not in machine.get_params(deep=False):
            raise CommandError(f"--checkpoint is for machines that have one; {type(machine).__name__} has none.", USAGE)
        machine.set_params(checkpoint=wish.checkpoint)
    model = make_pipeline(*steps, machine) if steps else machine
    with report.working("learning", quiet=wish.quiet or wish.json) as callback:
        watched = callback is not None and "callback" in machine.get_params(deep=False)
        if watched:
            machine.set_params(callback=callback)
        model.fit(learnt.X, *(() if learnt.y is None else (learnt.y,)))
        if watched:
            machine.set_params(callback=None)
    if wish.checkpoint is not None:
        machine.set_params(checkpoint=None)
    return model


def _tuned(wish: Wish, recipe: Recipe, learnt: Samples) -> tuple[Any, Any]:
    grid = {name: _list(value) for name, value in _pairs(wish.grid, "--grid").items()} or grid_for(recipe, learnt.y)
    machine = recipe.machine
    check_grid(machine, grid)
    if wish.scoring is not None and wish.scoring not in get_scorer_names():
        raise CommandError(f"There is no score {wish.scoring!r}; {near(wish.scoring, get_scorer_names())}", USAGE)
    kept = bool(getattr(machine, "probability", False))
    if kept:
        machine = clone(machine).set_params(probability=False)
    search = Tuned(
        machine,
        grid,
        cv=_folds(wish, recipe.task, learnt),
        scoring=wish.scoring,
        search=wish.search,
        preprocess=recipe.preparation,
        journal=wish.journal,
        max_seconds=wish.max_seconds,
        progress=sys.stderr.isatty() and not (wish.quiet or wish.json),
        random_state=wish.seed,
    )
    with warnings.catch_warnings():
        # Cells without a solution score NaN, and the certificate of the winner is in the table.
        warnings.simplefilter("ignore")
        search.fit(learnt.X, *(() if learnt.y is None else (learnt.y,)))
    model = search.best_estimator_
    if kept:
        machine_of(model).set_params(probability=True)
        model = _again(model, learnt)
    return model, search


def _folds(wish: Wish, task: str, learnt: Samples) -> Any:
    """Shuffled: files are often in an order that means something."""
    if task == "classification":
        _, counts = learnt.class_sizes()
        *_, second, largest = np.sort(counts)
        if largest < wish.cv or second < 2:
            raise CommandError(
                f"--cv {wish.cv} needs a class of {wish.cv} samples to learn from, and another of 2; the largest of"
                f" {learnt.source} have {largest} and {second}.",
                DATA,
            )
    kind = StratifiedKFold if task == "classification" else KFold
    return kind(wish.cv, shuffle=True, random_state=wish.seed)


def _check_probability(learnt: Samples) -> None:
    """Refuse a class that would be missing where its only sample is asked."""
    names, counts = learnt.class_sizes()
    if counts.min() < 2:
        raise CommandError(
            f"--probability needs 2 samples of every class to learn from; of {learnt.source}, the class"
            f" {names[counts.argmin()]} has one.",
            DATA,
        )


def _again(model: Any, samples: Samples) -> Any:
    return clone(model).fit(samples.X, *(() if samples.y is None else (samples.y,)))


def machine_of(model: Any) -> Any:
    """The machine of a model, which may stand behind a preparation."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def _pairs(texts: tuple[str, ...], option: str) -> dict[str, Any]:
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise CommandError(f"{option} must be NAME=VALUE, got {text!r}.", USAGE)
        if name.strip() == "kernel":
            raise CommandError(f"{option} is for numbers and words; the kernel is given by --kernel.", USAGE)
        found[name.strip()] = parse_value(f"[{value}]") if option == "--grid" else parse_value(value.strip())
    return found


def _list(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    return [parse_value(part.strip()) for part in str(value).strip("[]").split(",")]


# --- the report -------------------------------------------------------------------------------------------


def _data_of(
    samples: Samples, learnt: Samples, held: Samples, kinds: dict[str, str], model: Any, wish: Wish
) -> dict[str, Any]:
    known: dict[str, Any] = {
        "source": samples.source,
        "kind": samples.kind,
        "n": len(samples) + (len(held) if wish.test_data else 0),
        "n_train": len(samples) if wish.refit else len(learnt),
        "n_test": len(held),
        "target": samples.target,
    }
    if wish.test_data:
        known["test_source"] = held.source
    if samples.kind == "vectors":
        known["n_features"] = samples.X.shape[1]
    if samples.kind == "table":
        known["columns"] = kinds
        known["missing"] = samples.missing(kinds)
    if samples.y is not None and samples.y.dtype.kind not in "f" and hasattr(machine_of(model), "classes_"):
        classes, counts = samples.class_sizes()
        known["classes"] = {str(name): int(count) for name, count in zip(classes.tolist(), counts, strict=True)}
    return known


def _changed(machine: Any) -> dict[str, Any]:
    """Parameters that are not the usual ones."""
    usual = type(machine)().get_params(deep=False)
    own = machine.get_params(deep=False)
    return {
        name: own[name] for name in own if name not in ("kernel", "callback") and repr(own[name]) != repr(usual[name])
    }


def _search_of(search: Any) -> dict[str, Any] | None:
    if search is None:
        return None
    best = search.best_index_
    return {
        "best_params": search.best_params_,
        "best_score": search.best_score_,
        "score_std": float(search.cv_results_["std_test_score"][best]),
        "n_cells": len(search.cv_results_["params"]),
        "n_splits": search.n_splits_,
        "complete": search.complete_,
        "at_edge": _at_edge(search),
    }


def _at_edge(search: Any) -> list[str]:
    """Parameters whose best value is the smallest or the largest that was tried: there may be better ones beyond."""
    tried = {name: [cell[name] for cell in search.cv_results_["params"]] for name in search.best_params_}
    numbers = {name: set(values) for name, values in tried.items() if all(_is_number(value) for value in values)}
    return [
        name
        for name, values in numbers.items()
        if len(values) > 2 and search.best_params_[name] in (min(values), max(values))
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _support_of(machine: Any) -> dict[str, Any] | None:
    if not hasattr(machine, "support_"):
        return None
    n, total = len(machine.support_), getattr(machine, "_n_train", None)
    return {"n": n, "share": n / total if total else None}


def _rows(
    content: dict[str, Any], judged: Any, machine: Any, times: dict[str, float], search: Any
) -> list[tuple[str, Any]]:
    data = content["data"]
    rows = [("task", f"{content['task']}{_of_target(content)}"), ("samples", _samples_words(data))]
    if "columns" in data:
        rows.append(("columns", _columns_words(data)))
    if "classes" in data:
        rows.append(("classes", _few([f"{name} ({count})" for name, count in data["classes"].items()], 8)))
    parameters = "".join(f", {name}={report.short(value)}" for name, value in content["parameters"].items())
    rows.append(("machine", f"{content['machine']}{parameters}"))
    rows.append(("kernel", content["kernel"]))
    if search is not None:
        found = content["search"]
        best = ", ".join(f"{name}={report.short(value)}" for name, value in found["best_params"].items())
        score = f"{found['best_score']:.3f} ± {found['score_std']:.3f}"
        words = f"{found['n_cells']} cells, {found['n_splits']} folds; best {best}; score {score}"
        if found["at_edge"]:
            words += f"; {' and '.join(found['at_edge'])} at the edge of what was tried"
        rows.append(("search", words))
    if judged is not None:
        name = {"error": "test error", "rmse": "test error", "outside": "called novel"}[judged.name]
        rows.append((name, report.error_words(judged)))
    rows.append(("certificate", report.certificate_words(machine)))
    if (support := content["support_vectors"]) is not None:
        of_all = f" ({report.share(support['share'])})" if support["share"] else ""
        rows.append(("support vectors", f"{support['n']}{of_all}"))
    rows.append(("time", report.times_words(times)))
    if content["model"]:
        rows.append(("model", content["model"]))
    return rows


def _of_target(content: dict[str, Any]) -> str:
    target = content["data"]["target"]
    if content["task"] == "novelty":
        return f", without {target!r}" if target else ""
    return f" of {target!r}" if target else ""


def _samples_words(data: dict[str, Any]) -> str:
    kind = {"table": "rows", "vectors": f"vectors of {data.get('n_features')} features", "text": "sequences"}.get(
        data["kind"], "graphs"
    )
    if "test_source" in data:
        return f"{data['n_train']} {kind} of {data['source']}; {data['n_test']} of {data['test_source']} to test on"
    text = f"{data['n']} {kind} of {data['source']}"
    return f"{text}: {data['n_train']} to learn from, {data['n_test']} held out" if data["n_test"] else text


def _columns_words(data: dict[str, Any]) -> str:
    parts = []
    for kind, word in (
        ("numeric", "numeric"),
        ("categorical", "categorical"),
        ("text", "text"),
        ("identifier", "left out"),
    ):
        names = [name for name, own in data["columns"].items() if own == kind]
        if names:
            parts.append(f"{len(names)} {word} ({_few(names, 5)})")
    if data["missing"]:
        parts.append(f"{sum(data['missing'].values())} values missing in {_few(list(data['missing']), 5)}")
    return ", ".join(parts)


def _few(names: list[str], most: int) -> str:
    return ", ".join(names) if len(names) <= most else f"{', '.join(names[: most - 1])}, ... {names[-1]}"
