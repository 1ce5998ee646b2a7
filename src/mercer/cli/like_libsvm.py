"""What svm-train, svm-predict and svm-scale do, in their words."""

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.model_selection import KFold, StratifiedKFold

from mercer.calibration import Calibrated
from mercer.cli.models import of_models
from mercer.cli.outcomes import DATA, GOOD, MODEL, USAGE, CommandError, check_folder
from mercer.compat.layout import pairs_of
from mercer.compat.libsvm import as_machine, as_model, format_model, parse_model
from mercer.compat.libsvm.machines import MACHINES, Order, pair_values
from mercer.compat.libsvm.model import TYPES, Model, density_marks
from mercer.data import read_svmlight
from mercer.data.files import read_text, write_text
from mercer.errors import FormatError
from mercer.kernels import RBF, Linear, Polynomial, Sigmoid

__all__ = ["predict_as_libsvm", "scale_as_libsvm", "train_as_libsvm"]

# --- svm-train --------------------------------------------------------------------------------------------


@dataclass
class Training:
    """The options of svm-train, with LIBSVM's defaults."""

    s: int = 0
    t: int = 2
    d: int = 3
    g: float | None = None
    r: float = 0.0
    c: float = 1.0
    n: float = 0.5
    p: float = 0.1
    m: float = 100.0
    e: float = 1e-3
    h: int = 1
    b: int = 0
    v: int | None = None
    q: bool = False
    weights: dict[int, float] = field(default_factory=dict)


def train_as_libsvm(arguments: tuple[str, ...]) -> int:
    """Train as svm-train does."""
    given, files = _flags(arguments, Training(), "sdtgrcnpmehbvq", weights=True)
    options: Training = given
    if not 1 <= len(files) <= 2:
        raise CommandError(
            "train takes a training file and, if you like, a model file: mercer libsvm train --help", USAGE
        )
    _check(options)
    path = files[1] if len(files) == 2 else f"{Path(files[0]).name}.model"
    check_folder(path)
    X, y = _problem(files[0], options)
    labels = _labels(y) if options.s < 2 else []
    if options.v is not None:
        _cross_validate(options, X, y)
        return GOOD
    machine = _fit(_machine(options, X.shape[1]), X, y, options, calibrated=options.b == 1 and options.s < 2)
    if not options.q:
        _tell(machine, options, labels, len(y))
    model = as_model(machine, labels or None)
    if options.b and options.s > 2:
        model = replace(model, prob_a=np.array([_spread(options, X, y)]))
    if options.b and options.s == 2:
        model = replace(model, density_marks=density_marks(machine.decision_function(X)))
        if model.density_marks is None:
            print("WARNING: too few decision values of one sign (< 5) for probability estimates.", file=sys.stderr)
    write_text(path, format_model(model))
    return GOOD


def _flags(arguments: Sequence[str], options: Any, known: str, *, weights: bool = False) -> tuple[Any, list[str]]:
    """Flags as LIBSVM's programs read them: one letter, then its value in the next word."""
    rest = list(arguments)
    while rest and len(rest[0]) > 1 and rest[0][0] == "-":
        flag = rest.pop(0)
        letter = flag[1]
        if letter not in known and not (weights and letter == "w"):
            raise CommandError(f"Unknown option {flag}; --help lists those there are.", USAGE)
        if letter == "q":
            options.q = True
            continue
        if not rest:
            raise CommandError(f"The option {flag} needs a value.", USAGE)
        text = rest.pop(0)
        try:
            if letter == "w":
                options.weights[int(flag[2:])] = float(text)
                continue
            whole = isinstance(getattr(options, letter), int) or letter == "v"
            setattr(options, letter, int(text) if whole else float(text))
        except ValueError:
            raise CommandError(f"The option {flag} needs a number, got {text!r}.", USAGE) from None
    return options, rest


def _check(options: Training) -> None:
    """LIBSVM's own rules."""
    rules = [
        (0 <= options.s < 5, "-s must be 0, 1, 2, 3 or 4", options.s),
        (0 <= options.t < 5, "-t must be 0, 1, 2, 3 or 4", options.t),
        (options.d >= 0, "-d must be >= 0", options.d),
        (options.g is None or options.g >= 0, "-g must be >= 0", options.g),
        (options.c > 0, "-c must be > 0", options.c),
        (0 < options.n <= 1, "-n must be > 0 and <= 1", options.n),
        (options.p >= 0, "-p must be >= 0", options.p),
        (options.m > 0, "-m must be > 0", options.m),
        (options.e > 0, "-e must be > 0", options.e),
        (options.h in (0, 1), "-h must be 0 or 1", options.h),
        (options.b in (0, 1), "-b must be 0 or 1", options.b),
        (options.v is None or options.v >= 2, "-v must be at least 2", options.v),
    ]
    for good, rule, value in rules:
        if not good:
            raise CommandError(f"{rule}, got {value}.", USAGE)


def _problem(path: str, options: Training) -> tuple[Any, np.ndarray]:
    """Samples, or the kernel matrix that a file with numbers of samples in its first column holds."""
    if options.t != 4:
        X, y = read_svmlight(path)
        if X.shape[1] == 0:
            X = csr_array((X.shape[0], 1))
        return _lighter(X), y
    X, y = read_svmlight(path, first=0)
    numbers, K = X[:, [0]].toarray()[:, 0], X[:, 1:].toarray()
    if (numbers != np.arange(1, len(y) + 1)).any() or K.shape[1] != len(y):
        raise FormatError(
            "a kernel matrix has lines 'label 0:number 1:value 2:value ...', as many values as lines.", path
        )
    return K, y


def _lighter(X: csr_array) -> Any:
    return X.toarray() if X.nnz > 0.5 * X.shape[0] * X.shape[1] else X


def _labels(y: np.ndarray) -> list[int]:
    """Classes in LIBSVM's order: of appearance, but 1 before -1."""
    if (bad := (y != np.round(y)) | (np.abs(y) >= 1 << 31)).any():
        raise CommandError(f"Classes must be integers of 32 bits, got {y[bad][0]:g}.", DATA)
    _, first = np.unique(y, return_index=True)
    found = [int(y[k]) for k in np.sort(first)]
    if len(found) < 2:
        raise CommandError(f"All samples have the class {found[0]}: there is nothing to learn.", DATA)
    return [1, -1] if found == [-1, 1] else found


def _machine(options: Training, n_features: int) -> Any:
    gamma = 1.0 / n_features if options.g is None else options.g
    polynomial = Polynomial(options.d, gamma, options.r) if options.d else Polynomial(1, 0.0, 1.0)
    kernel: Any = (Linear(), polynomial, RBF(gamma), Sigmoid(gamma, options.r), "precomputed")[options.t]
    given: dict[str, Any] = {"kernel": kernel, "tol": options.e, "memory": options.m}
    if options.s in (0, 3, 4):
        given["C"] = options.c
    if options.s in (1, 2, 4):
        given["nu"] = options.n
    if options.s == 3:
        given["epsilon"] = options.p
    return MACHINES[TYPES[options.s]](**given)


def _fit(machine: Any, X: Any, y: np.ndarray, options: Training, *, calibrated: bool = False) -> Any:
    if options.s == 0 and options.weights:
        known = set(y.astype(np.int64).tolist())
        for label in options.weights:
            if label not in known:
                print(f"WARNING: class label {label} specified in weight is not found", file=sys.stderr)
        weights = {label: w for label, w in options.weights.items() if label in known}
        machine.set_params(class_weight=weights or None)
    targets = y.astype(np.int64) if options.s < 2 else y
    if calibrated:
        # svm-train weighs the classes of the machine, not of the sigmoid: its probabilities are those of the data.
        likely = Calibrated(machine).fit(X, targets)
        likely.estimator_.calibration_ = likely.calibration_
        return likely.estimator_
    return machine.fit(X) if options.s == 2 else machine.fit(X, targets)


def _tell(machine: Any, options: Training, labels: list[int], n: int) -> None:
    """What svm-train prints of every problem."""
    parts = machine.result_.parts or (machine.result_,)
    order = Order(labels).row if labels else [0]
    classes, pairs = sorted(labels), pairs_of(len(labels))  # positive coefficients are of the larger class of a pair
    for rho, k in zip(as_model(machine, labels or None).rho, order, strict=True):
        part, row = parts[k], machine.dual_coef_[[k]]
        values = row.data if issparse(row) else row[0]
        own, objective = np.abs(values), part.objective
        bounds = np.full(len(own), options.c if options.s in (0, 3, 4) else own.max(initial=0.0))
        print(f"*\noptimization finished, #iter = {part.n_iter}")
        if options.s == 0:
            low, high = (options.c * options.weights.get(classes[c], 1.0) for c in pairs[k])
            bounds = np.where(values > 0, high, low)
            if low == high:  # as svm-train, which says nothing for unequal costs
                print(f"nu = {part.a.sum() / (low * len(part.a)):f}")
        elif options.s == 1:
            # LIBSVM divides the multipliers, whose sum is nu n, by the margin, and says what C would have done it.
            price = own.sum() / (options.n * len(part.a))
            objective, bounds = objective * price**2, np.full(len(own), price)
            print(f"C = {price:f}")
        elif options.s == 3:
            print(f"nu = {part.a.sum() / (options.c * n):f}")
        elif options.s == 4:
            print(f"epsilon = {machine.epsilon_:f}")
        at_bound = np.count_nonzero((own > 0) & (own >= bounds * (1 - 1e-9)))
        print(f"obj = {objective:f}, rho = {rho:f}\nnSV = {np.count_nonzero(own)}, nBSV = {at_bound}")
    if options.s < 2:
        print(f"Total nSV = {len(machine.support_)}")


def _folds(options: Training, y: np.ndarray) -> Any:
    n_folds = min(options.v or 5, len(y))
    kind = StratifiedKFold if options.s < 2 else KFold
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes with fewer members than folds
        return list(kind(n_folds, shuffle=True, random_state=1).split(np.zeros(len(y)), y))


def _predicted(options: Training, X: Any, y: np.ndarray) -> np.ndarray:
    """Predictions for all samples, each from the folds that it was not in."""
    found = np.empty(len(y))
    for learn, test in _folds(options, y):
        seen, asked = (X[np.ix_(learn, learn)], X[np.ix_(test, learn)]) if options.t == 4 else (X[learn], X[test])
        found[test] = _fit(_machine(options, X.shape[1]), seen, y[learn], options).predict(asked)
    return found


def _cross_validate(options: Training, X: Any, y: np.ndarray) -> None:
    found = _predicted(options, X, y)
    if options.s > 2:
        print(f"Cross Validation Mean squared error = {np.mean((found - y) ** 2):g}")
        print(f"Cross Validation Squared correlation coefficient = {_squared_correlation(found, y):g}")
    else:
        print(f"Cross Validation Accuracy = {100 * np.mean(found == y):g}%")


def _spread(options: Training, X: Any, y: np.ndarray) -> float:
    """The width of the errors of a regressor: their mean size in five folds, without those beyond five deviations."""
    errors = y - _predicted(options, X, y)
    size = np.abs(errors).mean()
    near = np.abs(errors) <= 5 * np.sqrt(2 * size * size)
    sigma = float(np.abs(errors[near]).mean())
    if not options.q:
        print(
            "Prob. model for test data: target value = predicted value + z,\n"
            f"z: Laplace distribution e^(-|z|/sigma)/(2sigma),sigma= {sigma:g}"
        )
    return sigma


def _squared_correlation(found: np.ndarray, y: np.ndarray) -> float:
    spread = found.std() * y.std()
    return float(((found - found.mean()) * (y - y.mean())).mean() / spread) ** 2 if spread > 0 else float("nan")


# --- svm-predict ------------------------------------------------------------------------------------------


@dataclass
class Predicting:
    """The options of svm-predict."""

    b: int = 0
    q: bool = False


def predict_as_libsvm(arguments: tuple[str, ...]) -> int:
    """Predict as svm-predict does."""
    options, files = _flags(arguments, Predicting(), "bq")
    if len(files) != 3:
        raise CommandError(
            "predict takes a test file, a model file and an output file: mercer libsvm predict --help", USAGE
        )
    with of_models():
        model = parse_model(files[1])
    X, y = _samples_for(model, files[0])
    machine = as_machine(model, max(X.shape[1], 1) if model.kernel == "precomputed" else X.shape[1])
    lines: list[str] = []
    if options.b and (model.density_marks if model.type == "one_class" else model.prob_a) is None:
        raise CommandError("Model does not support probabiliy estimates: train with -b 1.", MODEL)
    if not model.classifies:
        found = machine.predict(X).astype(np.float64)
        if options.b and model.prob_a is not None and not options.q:
            print(
                "Prob. model for test data: target value = predicted value + z,\n"
                f"z: Laplace distribution e^(-|z|/sigma)/(2sigma),sigma={model.prob_a[0]:g}"
            )
        lines = [f"{value:.17g}" for value in found]
        if options.b and model.type == "one_class":
            normal = model.normality(machine.decision_function(X))
            lines = ["labels normal outlier"]
            lines += [f"{value:g} {p:g} {1 - p:g}" for value, p in zip(found, normal, strict=True)]
    else:
        values = pair_values(machine, model.labels, X)
        if options.b:
            shares = model.probabilities(values)
            found = np.array(model.labels)[shares.argmax(axis=1)]
            lines = [" ".join(["labels", *map(str, model.labels)])]
            lines += [" ".join([str(c), *(f"{p:g}" for p in row)]) for c, row in zip(found, shares, strict=True)]
        else:
            found = model.winners(values)
            lines = [str(c) for c in found]
    write_text(files[2], "\n".join(lines) + "\n")
    if not options.q:
        if model.type in ("epsilon_svr", "nu_svr"):
            print(f"Mean squared error = {np.mean((found - y) ** 2):g} (regression)")
            print(f"Squared correlation coefficient = {_squared_correlation(found, y):g} (regression)")
        else:
            right = int(np.count_nonzero(found == y))
            print(f"Accuracy = {100 * right / len(y):g}% ({right}/{len(y)}) (classification)")
    return GOOD


def _samples_for(model: Model, path: str) -> tuple[Any, np.ndarray]:
    if model.kernel == "precomputed":
        X, y = read_svmlight(path, first=0)
        return X[:, 1:].toarray(), y
    X, y = read_svmlight(path)
    if X.shape[1] < model.vectors.shape[1]:
        X.resize(X.shape[0], model.vectors.shape[1])
    return _lighter(X), y


# --- svm-scale --------------------------------------------------------------------------------------------


def scale_as_libsvm(arguments: tuple[str, ...]) -> int:
    """Scale as svm-scale does."""
    lower, upper, targets, save, restore, files = _scaling(list(arguments))
    X, y = read_svmlight(files[0])
    ranges: dict[int, tuple[float, float]] = {}
    of_targets: tuple[float, float] | None = (float(y.min()), float(y.max())) if targets else None
    if restore:
        lower, upper, ranges, targets, of_targets = _read_ranges(restore, targets, of_targets)
    else:
        low, high = X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
        ranges = {k: (float(low[k - 1]), float(high[k - 1])) for k in range(1, X.shape[1] + 1)}
    if save:
        write_text(save, _format_ranges(lower, upper, ranges, targets, of_targets))
    low, high = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for k, (first, last) in ranges.items():
        if k <= X.shape[1]:
            low[k - 1], high[k - 1] = first, last
    known = high > low  # one that never changes says nothing, and is left out
    numbers = np.flatnonzero(known) + 1
    for row, target in zip(X, y, strict=True):
        values = row.toarray().ravel()[known]
        spread = high[known] - low[known]
        scaled = lower + (upper - lower) * (values - low[known]) / spread
        scaled = np.where(values == low[known], lower, np.where(values == high[known], upper, scaled))
        if targets is not None and of_targets is not None and of_targets[1] > of_targets[0]:
            target = targets[0] + (targets[1] - targets[0]) * (target - of_targets[0]) / (of_targets[1] - of_targets[0])
        entries = "".join(f"{k}:{v:g} " for k, v in zip(numbers, scaled, strict=True) if v != 0)
        sys.stdout.write(f"{target:.17g} {entries}\n")
    return GOOD


def _scaling(rest: list[str]) -> tuple[float, float, tuple[float, float] | None, str | None, str | None, list[str]]:
    lower, upper, targets, save, restore = -1.0, 1.0, None, None, None
    flag = ""
    try:
        while rest and len(rest[0]) > 1 and rest[0][0] == "-" and not rest[0][1].isdigit():
            flag = rest.pop(0)
            if flag == "-l":
                lower = float(rest.pop(0))
            elif flag == "-u":
                upper = float(rest.pop(0))
            elif flag == "-y":
                targets = float(rest.pop(0)), float(rest.pop(0))
            elif flag == "-s":
                save = rest.pop(0)
            elif flag == "-r":
                restore = rest.pop(0)
            else:
                raise CommandError(f"Unknown option {flag}; --help lists those there are.", USAGE)
    except (ValueError, IndexError):
        raise CommandError(f"The option {flag} needs other values; see mercer libsvm scale --help", USAGE) from None
    if len(rest) != 1:
        raise CommandError("scale takes one data file: mercer libsvm scale --help", USAGE)
    if not upper > lower or (targets is not None and not targets[1] > targets[0]):
        raise CommandError("The upper end of a range must be above the lower one.", USAGE)
    if save and restore:
        raise CommandError("-s and -r exclude each other.", USAGE)
    return lower, upper, targets, save, restore, rest


def _format_ranges(lower: float, upper: float, ranges: Any, targets: Any, of_targets: Any) -> str:
    lines = []
    if targets is not None:
        lines += ["y", f"{targets[0]:.17g} {targets[1]:.17g}", f"{of_targets[0]:.17g} {of_targets[1]:.17g}"]
    lines += ["x", f"{lower:.17g} {upper:.17g}"]
    lines += [f"{k} {low:.17g} {high:.17g}" for k, (low, high) in ranges.items() if high > low]
    return "\n".join(lines) + "\n"


def _read_ranges(
    path: str, targets: Any, of_targets: Any
) -> tuple[float, float, dict[int, tuple[float, float]], Any, Any]:
    lines = [line.split() for line in read_text(path).splitlines()]
    number = 0
    try:
        if lines[0] == ["y"]:
            targets, of_targets = tuple(map(float, lines[1])), tuple(map(float, lines[2]))
            number = 3
        if lines[number] != ["x"]:
            raise ValueError
        number += 1
        lower, upper = map(float, lines[number])
        ranges = {}
        while (number := number + 1) < len(lines):
            if lines[number]:
                feature, low, high = lines[number]
                ranges[int(feature)] = float(low), float(high)
    except (ValueError, IndexError):
        raise FormatError("this is no line of ranges as 'scale -s' writes them.", path, number + 1) from None
    return lower, upper, ranges, targets, of_targets
