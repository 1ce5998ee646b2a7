"""Cases from the data sets that come with the package."""

from importlib.resources import as_file, files
from pathlib import Path

from mercer.cli.learning import learn
from mercer.cli.outcomes import USAGE, CommandError
from mercer.cli.wishes import Wish
from mercer.data.files import write_text

__all__ = ["CASES", "show_case"]

# The name of the data set, what it is about, and how it is learnt.
CASES = {
    "ionosphere": ("Radar returns: do they show structure in the ionosphere?", {"tune": True}, "--tune"),
    "promoters": ("Pieces of DNA: which of them are promoters?", {}, ""),
    "glass": ("Pieces of glass: of which of six kinds are they?", {"tune": True}, "--tune"),
    "sonar": ("Sonar returns: a mine or a rock?", {"tune": True}, "--tune"),
    "vehicle": ("Silhouettes of vehicles: of which kind?", {"tune": True}, "--tune"),
    "splice": ("DNA around the ends of introns: which end is it?", {}, ""),
}


def show_case(case: str | None, copy: bool, as_json: bool, quiet: bool) -> int:
    """Learn one of them, as `train` does, and say which command that is; without a name, the first.

    With `copy` its data are left in the folder, under the name that the command has for them.
    """
    name = case or next(iter(CASES))
    if name not in CASES:
        raise CommandError(f"There is no case {name!r}; there are {', '.join(CASES)}.", USAGE)
    title, options, flags = CASES[name]
    with as_file(files("mercer.datasets") / "data" / f"{name}.csv") as path:
        wish = Wish(str(path), f"{name}.csv", target=_target(path), json=as_json, quiet=quiet, **options)  # type: ignore[arg-type]
        if copy:
            _copied(path, f"{name}.csv")
        if not as_json and not quiet:
            print(f"{title}\n\n$ mercer train {name}.csv --target {wish.target} {flags}".rstrip())
        lesson = learn(wish)
    lesson.show(wish, case=name)
    if not as_json and not quiet and case is None:
        print(
            f"\nOther cases: {', '.join(other for other in CASES if other != name)}. Your own data: mercer train --help"
        )
    return lesson.code


def _copied(path: Path, name: str) -> None:
    text = path.read_text(encoding="utf-8")
    if (there := Path(name)).exists() and there.read_bytes() != text.encode("utf-8"):
        raise CommandError(f"{name} is there already, with other data; --copy replaces nothing.")
    write_text(name, text)


def _target(path: object) -> str:
    """The class is the last column."""
    with open(str(path), encoding="utf-8") as file:
        return file.readline().strip().rpartition(",")[2]
