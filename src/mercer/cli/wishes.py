"""What the command line asks for, as data; nothing heavy is imported here, so that help and completion are quick."""

from dataclasses import dataclass, field

__all__ = ["FORMATS", "Reading", "Wish"]

FORMATS = ("table", "svmlight", "fasta", "graphs")


@dataclass(frozen=True)
class Reading:
    """What the command line says of a file."""

    format: str | None = None
    delimiter: str | None = None
    header: bool | None = None
    decimal: str | None = None
    labels: str | None = None
    kinds: dict[str, str] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)
    """Kinds, as a model knows them, of columns that are no numbers; they need not be there."""
    missing: tuple[str, ...] = ()
    n_features: int | None = None


@dataclass(frozen=True)
class Wish:
    """What the command line asks for."""

    data: str
    name: str | None = None
    """What to call the file, where not by its path."""
    reading: Reading = field(default_factory=Reading)
    target: str | None = None
    task: str | None = None
    novelty: bool = False
    kernel: str | None = None
    machine: str | None = None
    parameters: tuple[str, ...] = ()
    scale: str = "auto"
    test: float = 0.25
    test_data: str | None = None
    refit: bool = False
    seed: int = 0
    tune: bool = False
    grid: tuple[str, ...] = ()
    cv: int = 5
    search: str = "grid"
    scoring: str | None = None
    journal: str | None = None
    checkpoint: str | None = None
    max_seconds: float | None = None
    output: str | None = None
    json: bool = False
    quiet: bool = False
