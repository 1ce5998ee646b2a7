"""From the lines of a LIBSVM model file to what they say."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mercer.compat.libsvm.machines import as_machine
from mercer.compat.libsvm.model import KERNELS, MARKS, TYPES, Model
from mercer.data.files import name_of, read_text
from mercer.data.svmlight import parse_entries
from mercer.errors import FormatError

__all__ = ["parse_model", "read_model"]

Head = dict[str, tuple[int, list[str]]]


def read_model(source: Any, *, n_features: int | None = None) -> Any:
    """A fitted machine of mercer from a LIBSVM model file.

    Parameters
    ----------
    source : str, Path or binary file
        As ``svm-train`` or ``svm_save_model`` writes it.
    n_features : int or None, default=None
        How many features samples have, or, for a precomputed kernel, how many there were to train with; None: as
        many as the support vectors tell. The file does not know.

    Returns
    -------
    SVC, NuSVC, OneClassSVM, SVR or NuSVR
        Its decision values are LIBSVM's, and so are its predictions, but for samples that get equal votes, which our
        machines tell apart by their decision values. With ``probA`` and ``probB`` a classifier has
        ``probability=True``; the width of a regressor's errors and the density marks of a one-class machine are left
        out. C, nu, epsilon and the certificate are not in the file.

    Raises
    ------
    FormatError
        For anything that is no LIBSVM model file, with the line.

    See Also
    --------
    write_model : The way back.

    Notes
    -----
    O(entries of the support vectors).

    References
    ----------
    .. [1] C.-C. Chang, C.-J. Lin, LIBSVM: a library for support vector machines, 2011.

    Examples
    --------
    >>> import io
    >>> from mercer.compat.libsvm import read_model
    >>> head = b"svm_type c_svc\\nkernel_type linear\\nnr_class 2\\ntotal_sv 2\\nrho -1\\nlabel 1 -1\\nnr_sv 1 1\\n"
    >>> machine = read_model(io.BytesIO(head + b"SV\\n0.5 1:1\\n-0.5 1:3\\n"))
    >>> machine.decision_function([[0.0], [3.0]]), machine.predict([[0.0], [3.0]])
    (array([ 1., -2.]), array([ 1, -1]))
    """
    return as_machine(parse_model(source), n_features)


def parse_model(source: Any) -> Model:
    """What a LIBSVM model file says.

    Parameters
    ----------
    source : str, Path or binary file

    Returns
    -------
    Model
    """
    name, lines = name_of(source), read_text(source).splitlines()
    head: Head = {}
    for number, line in enumerate(lines, 1):
        fields = line.split()
        if fields == ["SV"]:
            break
        if fields:
            head[fields[0]] = number, fields[1:]
    else:
        raise FormatError("this is no LIBSVM model: it has no line 'SV' before its support vectors.", name)
    return _Parser(name, head, number).model(lines[number:])


class _Parser:
    """The head of a file, and what follows from it."""

    def __init__(self, name: str, head: Head, end: int) -> None:
        self.name, self.head, self.end = name, head, end

    def model(self, lines: list[str]) -> Model:
        """The model, with the support vectors of these lines."""
        type_, kernel = self.word("svm_type", TYPES), self.word("kernel_type", KERNELS)
        classifies = type_ in ("c_svc", "nu_svc")
        (n_classes,), (total,) = self.numbers("nr_class", int, 1), self.numbers("total_sv", int, 1)
        if n_classes < 2 or (not classifies and n_classes != 2):
            raise self.error(f"nr_class {n_classes} is not possible for {type_}.", "nr_class")
        n_functions = n_classes * (n_classes - 1) // 2
        prob_a = self.numbers("probA", float, n_functions) if "probA" in self.head else None
        prob_b = self.numbers("probB", float, n_functions) if "probB" in self.head and classifies else None
        marked = type_ == "one_class" and "prob_density_marks" in self.head
        marks = self.numbers("prob_density_marks", float, MARKS) if marked else None
        labels = tuple(self.numbers("label", int, n_classes)) if classifies else ()
        n_support = tuple(self.numbers("nr_sv", int, n_classes)) if classifies else ()
        if len(set(labels)) < len(labels):
            raise self.error("a class is there twice.", "label")
        if classifies and (min(n_support) < 0 or sum(n_support) != total):
            raise self.error(f"the numbers do not add up to total_sv {total}.", "nr_sv")
        coefficients, vectors = self.support(lines, total, n_classes - 1 if classifies else 1, kernel == "precomputed")
        return Model(
            type=type_,
            kernel=kernel,
            rho=np.array(self.numbers("rho", float, n_functions)),
            coefficients=coefficients,
            vectors=vectors,
            degree=self.number("degree", int) if kernel == "polynomial" else 3,
            gamma=self.number("gamma", float) if kernel in ("polynomial", "rbf", "sigmoid") else 0.0,
            coef0=self.number("coef0", float) if kernel in ("polynomial", "sigmoid") else 0.0,
            labels=labels,
            n_support=n_support,
            prob_a=None if prob_a is None else np.array(prob_a),
            prob_b=None if prob_b is None else np.array(prob_b),
            density_marks=None if marks is None else np.array(marks),
        )

    def error(self, reason: str, key: str) -> FormatError:
        return FormatError(f"{key}: {reason}", self.name, self.head[key][0])

    def word(self, key: str, known: tuple[str, ...]) -> str:
        found = self.fields(key)
        if len(found) != 1 or found[0] not in known:
            raise self.error(f"{' '.join(found)!r} must be one of {', '.join(known)}.", key)
        return found[0]

    def fields(self, key: str) -> list[str]:
        if key not in self.head:
            raise FormatError(f"there is no line {key!r} before the support vectors.", self.name, self.end)
        return self.head[key][1]

    def numbers(self, key: str, kind: Callable[[str], Any], count: int) -> list[Any]:
        found = self.fields(key)
        if len(found) != count:
            raise self.error(f"{len(found)} numbers, where {count} are expected.", key)
        try:
            values = [kind(field) for field in found]
        except ValueError:
            raise self.error(f"{' '.join(found)!r} must be {'integers' if kind is int else 'numbers'}.", key) from None
        if kind is int and any(abs(value) >= 1 << 31 for value in values):
            raise self.error(f"{' '.join(found)!r} must be integers of 32 bits.", key)
        if not np.isfinite(values).all():
            raise self.error(f"{' '.join(found)!r} must be finite.", key)
        return values

    def number(self, key: str, kind: Callable[[str], Any]) -> Any:
        return self.numbers(key, kind, 1)[0]

    def support(self, lines: list[str], total: int, n_rows: int, given: bool) -> tuple[np.ndarray, csr_array]:
        """Coefficients and support vectors."""
        rows = [(number, line.split()) for number, line in enumerate(lines, self.end + 1) if line.strip()]
        if len(rows) != total:
            raise FormatError(f"{len(rows)} support vectors, where total_sv says {total}.", self.name)
        coefficients = np.empty((n_rows, total))
        columns: list[int] = []
        values: list[float] = []
        starts = [0]
        for s, (number, fields) in enumerate(rows):
            if len(fields) < n_rows:
                raise FormatError(f"{n_rows} coefficients are expected here.", self.name, number)
            try:
                coefficients[:, s] = [float(field) for field in fields[:n_rows]]
            except ValueError:
                reason = f"{' '.join(fields[:n_rows])!r} must be {n_rows} coefficients."
                raise FormatError(reason, self.name, number) from None
            if not np.isfinite(coefficients[:, s]).all():
                raise FormatError("a coefficient is not finite.", self.name, number)
            first = 0 if given else 1
            entries = list(parse_entries(fields[n_rows:], self.name, number, first))
            if given and (len(entries) != 1 or entries[0][0] != 0 or entries[0][1] < 1 or entries[0][1] % 1):
                raise FormatError("'0:number', the number of a training sample, is expected here.", self.name, number)
            columns.extend(column - first for column, _ in entries)
            values.extend(value for _, value in entries)
            starts.append(len(columns))
        shape = (total, max(columns, default=0) + 1)
        return coefficients, csr_array((np.array(values, dtype=np.float64), columns, starts), shape=shape)
