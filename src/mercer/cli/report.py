"""What people and programs are shown: short tables, JSON, and a sign of life on a terminal."""

import json
import math
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from mercer.cli.judging import Judgement
from mercer.selection.progress import duration

__all__ = ["certificate_of", "number", "plain", "share", "short", "shown", "table", "told", "working"]


class Output(Console):
    """Where things are shown; whoever stops reading is no failure of ours."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def shown(rows: Sequence[tuple[str, Any]]) -> None:
    """Names and what they are, a line each; on a terminal, long lines are folded."""
    console = Output(highlight=False)
    edge = max(len(name) for name, _ in rows) + 3
    width = max(console.width - edge, 20) if console.is_terminal else 100_000
    for name, value in rows:
        lines = [part for line in str(value).splitlines() for part in textwrap.wrap(line, width) or [""]]
        console.print(Text.assemble((name.ljust(edge), "cyan"), lines[0]), soft_wrap=True)
        for line in lines[1:]:
            console.print(Text(" " * edge + line), soft_wrap=True)


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A table with a line of names above."""
    lines = [[str(field) for field in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    console = Output(highlight=False)
    for place, line in enumerate(lines):
        text = "  ".join(field.ljust(width) for field, width in zip(line, widths, strict=True)).rstrip()
        console.print(Text(text, style="cyan" if place == 0 else ""), soft_wrap=True)


def told(content: dict[str, Any]) -> None:
    """The same as JSON, one object on standard output."""
    print(json.dumps(plain(content), ensure_ascii=False, allow_nan=False))


def plain(value: Any) -> Any:
    """A value in terms of JSON; numbers that it does not have become null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(item) for item in (value.tolist() if isinstance(value, np.ndarray) else value)]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


@contextmanager
def working(what: str, *, quiet: bool = False) -> Iterator[Any]:
    """A line that moves while something takes long, on a terminal only; gives a callback for solvers."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    with console.status(what, spinner="dots") as status:

        def callback(progress: Any) -> None:
            status.update(f"{what}: {progress.n_iter} steps, violation {progress.violation:.1e}")

        yield callback


# --- words ------------------------------------------------------------------------------------------------


def number(value: float) -> str:
    """A number of four digits."""
    return f"{value:.4g}"


def short(value: Any) -> str:
    """A value of a parameter, numbers with four digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def share(value: float) -> str:
    """A share in percent."""
    return f"{100 * value:.1f} %"


def certificate_of(machine: Any) -> dict[str, Any] | None:
    """The numbers of a certificate; None for a machine without."""
    result = getattr(machine, "result_", None)
    if result is None or not hasattr(result, "status"):
        return None
    names = ("status", "objective", "bound", "gap", "relative_gap", "violation", "n_iter", "seconds", "precision")
    return {name: plain(getattr(result, name)) for name in names if hasattr(result, name)}


def certificate_words(machine: Any) -> str:
    """A certificate in a line."""
    known = certificate_of(machine)
    if known is None:
        return "none"
    parts = [str(known["status"])]
    if known.get("relative_gap") is not None:
        parts.append(f"relative gap {known['relative_gap']:.1e}")
    if known.get("violation") is not None:
        parts.append(f"violation {known['violation']:.1e}")
    return ", ".join(parts)


def error_words(judged: Judgement) -> str:
    """An error in a line."""
    if judged.name == "rmse":
        text = f"{number(judged.value)} ({number(judged.low)} to {number(judged.high)}), root mean square"
        return text if judged.r2 is None else f"{text}; R² {judged.r2:.3f}"
    text = f"{share(judged.value)} ({share(judged.low)} to {share(judged.high)}), {judged.wrong} of {judged.n}"
    return text if judged.trivial is None else f"{text}; the largest class alone: {share(judged.trivial)}"


def times_words(times: dict[str, float]) -> str:
    """Times in a line."""
    return ", ".join(
        f"{duration(value) if value >= 0.05 else f'{1000 * value:.0f} ms'} {name}" for name, value in times.items()
    )
