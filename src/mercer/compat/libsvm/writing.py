"""LIBSVM model files, written."""

from collections.abc import Sequence
from typing import Any

from mercer.compat.libsvm.machines import as_model
from mercer.compat.libsvm.model import Model
from mercer.data.files import write_text
from mercer.data.svmlight import entries_of, shortest

__all__ = ["format_model", "write_model"]


def write_model(machine: Any, path: Any, *, labels: Sequence[int] | None = None) -> None:
    """Write a fitted machine as a LIBSVM model file.

    Parameters
    ----------
    machine : SVC, NuSVC, OneClassSVM, SVR or NuSVR
        Fitted, with the kernel `Linear`, `Polynomial`, `RBF` with one gamma, `Sigmoid` or "precomputed"; also what
        `TunedSVC` and the like have found. Classes must be integers and vote in pairs. Any loss will do: the file has
        the decision function. With ``probability=True`` the sigmoids become ``probA`` and ``probB``.
    path : str or Path
        What is there is replaced when all has been written.
    labels : sequence of int or None, default=None
        The order of the classes; None: ascending.

    Raises
    ------
    ValueError
        For a machine that LIBSVM does not have.

    See Also
    --------
    read_model : The way back.
    mercer.save : Files for every machine, with the certificate.

    Notes
    -----
    All digits are kept: what is read again has the same decision values, up to the order of sums.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mercer import SVC
    >>> from mercer.compat.libsvm import write_model
    >>> machine = SVC(kernel="linear").fit([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "two.model"
    ...     write_model(machine, path)
    ...     print(path.read_text(), end="")
    svm_type c_svc
    kernel_type linear
    nr_class 2
    total_sv 2
    rho -1.5
    label -1 1
    nr_sv 1 1
    SV
    1 1:1
    -1 1:2
    """
    write_text(path, format_model(as_model(machine, labels)))


def format_model(model: Model) -> str:
    """The content of the file of a model.

    Parameters
    ----------
    model : Model

    Returns
    -------
    str
    """
    lines: list[list[Any]] = [["svm_type", model.type], ["kernel_type", model.kernel]]
    if model.kernel == "polynomial":
        lines.append(["degree", model.degree])
    if model.kernel in ("polynomial", "rbf", "sigmoid"):
        lines.append(["gamma", model.gamma])
    if model.kernel in ("polynomial", "sigmoid"):
        lines.append(["coef0", model.coef0])
    lines += [["nr_class", max(2, len(model.labels))], ["total_sv", model.coefficients.shape[1]]]
    lines.append(["rho", *model.rho.tolist()])
    if model.classifies:
        lines.append(["label", *model.labels])
    if model.prob_a is not None:
        lines.append(["probA", *model.prob_a.tolist()])
    if model.prob_b is not None:
        lines.append(["probB", *model.prob_b.tolist()])
    if model.density_marks is not None:
        lines.append(["prob_density_marks", *model.density_marks.tolist()])
    if model.classifies:
        lines.append(["nr_sv", *model.n_support])
    text = [" ".join(field if isinstance(field, str) else shortest(field) for field in line) for line in lines]
    return "\n".join([*text, "SV", *_support(model)]) + "\n"


def _support(model: Model) -> list[str]:
    vectors, lines = model.vectors, []
    first = 0 if model.kernel == "precomputed" else 1
    for s, coefficients in enumerate(model.coefficients.T.tolist()):
        part = slice(vectors.indptr[s], vectors.indptr[s + 1])
        entries = entries_of(vectors.indices[part] + first, vectors.data[part])
        lines.append(" ".join([*map(shortest, coefficients), *entries]))
    return lines
