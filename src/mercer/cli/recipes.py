"""Which kernel, machine and grid suit the samples, where the command line does not say."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier, is_outlier_detector, is_regressor
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

import mercer
from mercer.cli.outcomes import DATA, USAGE, CommandError
from mercer.cli.samples import DOMAINS, WORDS, Samples, near
from mercer.kernels import RBF, Kernel, On, Spectrum, WeightedDegree, WeisfeilerLehman
from mercer.selection import TablePreparation
from mercer.selection.grid import PRICES, WIDTHS

__all__ = [
    "Recipe",
    "check_grid",
    "check_targets",
    "default_kernel",
    "find_machine",
    "grid_for",
    "machines",
    "make_recipe",
]

USUAL = {"classification": "SVC", "regression": "SVR", "novelty": "OneClassSVM"}
# Sequences of one length, up to this one, are taken to be aligned: places count, not only pieces.
ALIGNED = 1000
# What is tried of parameters that are whole numbers: lengths of pieces, rounds of refinement.
LENGTHS = {"p": [2, 3, 4, 5], "d": [3, 5, 8], "h": [1, 3, 5]}
# Prices and widths of tubes, in units of the spread of the values.
SPREADS = 2.0 ** np.arange(-3, 9, 2)
TUBES = np.array([0.02, 0.1])


@dataclass(frozen=True)
class Recipe:
    """What is to be fitted: a machine, behind a preparation where samples need one."""

    task: str
    machine: Any
    preparation: Any


def make_recipe(
    samples: Samples,
    task: str,
    *,
    kernel: Kernel,
    machine: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    kinds: Mapping[str, str] | None = None,
    scale: str = "auto",
) -> Recipe:
    """The recipe for training samples.

    Parameters
    ----------
    samples : Samples
        Those that will be learnt from.
    task : {"classification", "regression", "novelty"}
    kernel : Kernel
    machine : str or None
        The name of a class of `mercer`.
    parameters : mapping
        Parameters of the machine.
    kinds :
        As in `TablePreparation`.
    scale : {"auto", "standard", "minmax", "none"}
        "auto" is "standard" for tables, and "none" for vectors, which have been prepared by who wrote them down.
    """
    preparation: Any = None
    if samples.kind == "table":
        preparation = TablePreparation(
            dict(kinds or {}),
            target=samples.target,
            scale={"auto": "standard", "none": None}.get(scale, scale),
            output="table" if kernel.domain == "table" else "auto",
        )
    elif samples.kind == "vectors":
        preparation = _scaler(scale, issparse(samples.X))
    elif scale in ("standard", "minmax"):
        raise CommandError(f"--scale {scale} is for numbers; {samples.source} has none.", USAGE)
    kind = find_machine(machine or USUAL[task], task)
    given: dict[str, Any] = {"kernel": kernel, **(parameters or {})}
    known = kind().get_params(deep=False)
    for name in given:
        if name.split("__")[0] not in known:
            raise CommandError(f"{kind.__name__} has no parameter {name!r}; it has {', '.join(sorted(known))}.", USAGE)
    if kind.__name__ == "OneClassSVM":
        given = {"nu": 0.1, **given}  # its default, one half, would call every second sample novel
    if kind.__name__ == "SVR" and samples.y is not None:
        # The tube and the price have the unit of y: that of its spread is right whatever it is measured in.
        spread = float(np.std(samples.y)) or 1.0
        given = {"C": 3.0 * spread, "epsilon": 0.1 * spread, "tol": 1e-3 * spread, **given}
        given = {name: _rounded(value) if name in ("C", "epsilon", "tol") else value for name, value in given.items()}
    made = kind().set_params(**given)
    check_machine(made)
    return Recipe(task, made, preparation)


def check_machine(machine: Any) -> None:
    """Refuse values that parameters of a machine, or of its kernel, cannot have."""
    try:
        machine._check_all()
        for part in [machine.kernel, *machine.kernel.get_params(deep=True).values()]:
            if isinstance(part, Kernel):
                part._check_parameters()
    except (TypeError, ValueError) as error:
        raise CommandError(str(error), USAGE) from error


def check_grid(machine: Any, grid: Mapping[str, Any]) -> None:
    """The same of every value that a search is to try."""
    known = machine.get_params(deep=True)
    for name, values in grid.items():
        if name not in known:
            raise CommandError(f"{type(machine).__name__} has no parameter {name!r}; {near(name, known)}", USAGE)
        for value in values:
            check_machine(clone(machine).set_params(**{name: value}))


def check_domain(kernel: Kernel, samples: Samples, kinds: Mapping[str, str]) -> None:
    """Refuse a kernel that works on nothing that the samples have."""
    if samples.kind == "table":
        of = {"numeric": ("numbers", "vectors"), "categorical": ("categories", "vectors"), "text": ("texts", "text")}
        there = [own for kind, own in of.items() if kind in kinds.values()]
        suits = ["table", *(domain for _, kind in there for domain in DOMAINS[kind])]
        has = " and ".join(word for word, _ in there)
    else:
        suits, has = list(DOMAINS[samples.kind]), WORDS[samples.kind]
    if kernel.domain not in ("any", *suits):
        domain = "columns of a table" if kernel.domain == "table" else kernel.domain
        raise CommandError(f"{kernel!r} works on {domain}; {samples.source} has {has}.", USAGE)


def _scaler(scale: str, sparse: bool) -> Any:
    """What scales vectors; zeros of sparse ones stay zeros."""
    if scale == "standard":
        return StandardScaler(with_mean=not sparse)
    if scale == "minmax":
        return MaxAbsScaler() if sparse else MinMaxScaler()
    return None


def _rounded(value: Any) -> Any:
    """Three digits: nobody wants to read more."""
    return float(f"{value:.3g}") if isinstance(value, float) else value


def check_targets(samples: Samples, task: str, part: str = "") -> None:
    """Refuse what cannot be learnt; `part` is which part of the file the samples are."""
    if task == "novelty":
        return
    assert samples.y is not None
    values = np.unique(samples.y).tolist()
    if len(values) < 2:
        what = "class" if task == "classification" else "value"
        raise CommandError(
            f"All {len(samples)} samples{part} of {samples.source} have the {what} {values[0]}: there is nothing to"
            " learn.",
            DATA,
        )
    if task == "regression" and samples.y.dtype.kind not in "iuf":
        raise CommandError(
            f"Values are numbers, the target of {samples.source} has {values[0]!r}: use --task classification.", DATA
        )
    if task == "classification" and samples.y.dtype.kind == "f":
        raise CommandError(
            f"Classes are names or whole numbers, the target of {samples.source} has {values[0]!r}.", DATA
        )


def default_kernel(samples: Samples, kinds: Mapping[str, str], kernel: Kernel | None = None) -> Kernel:
    """The kernel that suits the samples; where one is given, with what it cannot see added.

    Parameters
    ----------
    samples : Samples
        All of them, those held out, too: whether sequences have one length must not depend on who is held out.
    kinds : mapping from names to kinds
        Of the columns of a table.
    kernel : Kernel or None
        Of a table with texts, one on vectors is that of the other columns, one on strings that of the texts.
    """
    if kernel is not None:
        check_domain(kernel, samples, kinds)
        if kernel.domain == "table":
            return kernel
    if samples.kind == "graphs":
        labelled = all(graph.node_labels is not None for graph in samples.X)
        return kernel or WeisfeilerLehman(h=3, node_labels=labelled).normalized()
    if samples.kind == "vectors":
        return kernel or RBF()
    if samples.kind == "text":
        return kernel or string_kernel(samples.X)
    texts = [name for name, kind in kinds.items() if kind == "text"]
    columns = [name for name, kind in kinds.items() if kind in ("numeric", "categorical")]
    if not texts:
        return kernel or RBF()
    on_strings = kernel if kernel is not None and kernel.domain == "strings" else None
    on_vectors = kernel if kernel is not None and on_strings is None else RBF()
    if len(texts) == 1 and not columns:
        return kernel or string_kernel(samples.X[texts[0]])
    terms: list[Kernel] = [On(name, on_strings or string_kernel(samples.X[name])) for name in texts]
    if columns:
        terms.insert(0, On(columns, on_vectors))
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def string_kernel(texts: Any) -> Kernel:
    """Pieces at their places for aligned sequences, pieces anywhere for others."""
    lengths = {len(text) for text in texts if isinstance(text, str)}
    if len(lengths) == 1 and 5 <= min(lengths) <= ALIGNED:
        return WeightedDegree(5).normalized()
    return Spectrum(3).normalized()


def find_machine(name: str, task: str) -> Any:
    """A class of mercer by its name, whatever its capitals, for a task."""
    suits = {"classification": is_classifier, "regression": is_regressor, "novelty": is_outlier_detector}[task]
    classes = [own for own in dir(mercer) if own[0].isupper()]
    kind: Any = getattr(mercer, {own.lower(): own for own in classes}.get(name.lower(), ""), None)
    if not _suits(kind, suits):
        raise CommandError(f"There is no machine {name!r} for {task}; there are {', '.join(machines(suits))}.", USAGE)
    return kind


def machines(suits: Callable[[Any], bool] | None = None) -> list[str]:
    """The names of the machines for a task, or for any."""
    suits = suits or (lambda machine: is_classifier(machine) or is_regressor(machine) or is_outlier_detector(machine))
    return sorted(own for own in dir(mercer) if own[0].isupper() and _suits(getattr(mercer, own), suits))


def _suits(kind: Any, suits: Any) -> bool:
    """Whether it is a class with a kernel, for this task, that does not search by itself."""
    names = kind._get_param_names() if hasattr(kind, "_get_param_names") else ()
    return "kernel" in names and "param_grid" not in names and bool(suits(kind()))


def grid_for(recipe: Recipe, y: Any) -> dict[str, Any]:
    """What a search tries: prices, tubes, widths and lengths, of those that the machine and its kernel have."""
    machine = recipe.machine
    names = machine.get_params(deep=True)
    grid: dict[str, Any] = {}
    if type(machine).__name__ == "SVR":
        spread = float(np.std(y)) or 1.0
        grid = {"C": [_rounded(value) for value in SPREADS * spread], "epsilon": [_rounded(v) for v in TUBES * spread]}
    elif "C" in names:
        grid["C"] = PRICES.tolist()
    elif "nu" in names:
        grid["nu"] = [0.02, 0.05, 0.1, 0.2, 0.5]
    elif "alpha" in names:
        grid["alpha"] = (10.0 ** np.arange(-6, 3)).tolist()
    widths = [
        name for name in names if name == "kernel__gamma" or (name.startswith("kernel__") and name.endswith("__gamma"))
    ]
    if len(widths) == 1:
        grid[widths[0]] = WIDTHS.tolist()
    for name in names:
        last = name.rpartition("__")[2]
        if name.startswith("kernel__") and last in LENGTHS and len(grid) < 3:
            grid[name] = LENGTHS[last]
    if not grid:
        raise CommandError(
            f"{type(machine).__name__} has nothing that is usually searched over: give --grid NAME=V1,V2.", USAGE
        )
    return grid
