"""What model files hold, and which kernels there are."""

import inspect
from typing import Any

from mercer import persist
from mercer.cli import report
from mercer.cli.expressions import KNOWN
from mercer.cli.learning import machine_of
from mercer.cli.models import is_libsvm, load_model, of_models
from mercer.cli.outcomes import USAGE, CommandError
from mercer.cli.samples import near
from mercer.compat.libsvm import parse_model
from mercer.kernels import Kernel

__all__ = ["inspect_file", "show_kernels"]

WORDS = {"n_iter": "steps"}


def inspect_file(path: str, as_json: bool) -> None:
    """Show what a model file holds."""
    known = about(path)
    if as_json:
        report.told(known)
        return
    report.shown(
        [(name.replace("_", " "), _words(value)) for name, value in known.items() if value not in (None, {}, [])]
    )


def about(path: str) -> dict[str, Any]:
    """What is known of the model in a file."""
    if is_libsvm(path):
        with of_models():
            model = parse_model(path)
        return {
            "file": path,
            "format": "LIBSVM",
            "machine": model.type,
            "kernel": repr(model.kernel_object()),
            "classes": list(model.labels),
            "support_vectors": model.coefficients.shape[1],
            "features": None if model.kernel == "precomputed" else model.vectors.shape[1],
            "probabilities": model.prob_a is not None or model.density_marks is not None,
        }
    told, model = persist.describe(path), load_model(path)
    machine = machine_of(model)
    preparation = model.steps[0][1] if hasattr(model, "steps") else None
    kinds = getattr(preparation, "kinds_", {})
    return {
        "file": path,
        "format": f"mercer, version {told['format']}, {told['bytes']} bytes",
        "written_by": ", ".join(f"{name} {version}" for name, version in told["versions"].items()),
        "machine": type(machine).__name__,
        "parameters": {
            name: report.plain(value)
            for name, value in machine.get_params(deep=False).items()
            if name != "kernel" and repr(value) != repr(type(machine)().get_params(deep=False)[name])
        },
        "kernel": told["kernel"],
        "classes": getattr(machine, "classes_", []) if not hasattr(machine, "classes_") else machine.classes_.tolist(),
        "target": getattr(preparation, "target", None),
        "columns": {
            kind: [name for name, own in kinds.items() if own == kind] for kind in dict.fromkeys(kinds.values())
        },
        "scale": getattr(preparation, "scale", None),
        "features": getattr(machine, "n_features_in_", None),
        "support_vectors": len(machine.support_) if hasattr(machine, "support_") else None,
        "probabilities": hasattr(model, "predict_proba"),
        "certificate": report.certificate_of(machine),
    }


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return "\n".join(
            f"{str(WORDS.get(name, name)).replace('_', ' ')}: {_words(item)}" for name, item in value.items()
        )
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def show_kernels(name: str | None) -> None:
    """List the kernels with what they work on, or show the help of one."""
    if name is not None:
        if name not in KNOWN:
            raise CommandError(f"There is no kernel {name!r}; {near(name, KNOWN)}", USAGE)
        print(f"{name}{inspect.signature(KNOWN[name])}\n\n{inspect.getdoc(KNOWN[name])}")
        return
    rows = []
    for own, kind in KNOWN.items():
        if isinstance(kind, type) and issubclass(kind, Kernel):
            domain = kind.domain if isinstance(kind.domain, str) else "any"
            first = (inspect.getdoc(kind) or "").splitlines()[0]
            rows.append((own, domain, first))
    report.table(["kernel", "on", "what it is"], sorted(rows, key=lambda row: (row[1], row[0])))
