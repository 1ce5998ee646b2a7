"""Mutated model files, and what comes of loading them; run as a program, with a limit on memory.

``python fuzzing.py FOLDER FIRST LAST`` loads the mutants of these numbers and prints what came of them as JSON.
A process that dies, hangs or needs much memory has found a fault.
"""

import copy
import hashlib
import json
import random
import resource
import signal
import sys
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

GIGABYTES = 3
SECONDS = 20

# Values that break rules: of counts, of indices, of references, of names.
STRANGE: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1,
    2**31,
    2**62,
    2**80,
    -0.5,
    1e308,
    "",
    "x",
    "precomputed",
    "mercer.svm.SVC",
    "os.system",
    "__class__",
    "predict",
    [],
    [0],
    [1],
    [-1],
    [10**9],
    [[0]],
    {},
    {"is": "list", "items": []},
)

CLASSES = (
    "mercer.calibration.Sigmoid",
    "mercer.compat.sklearn.SVC",
    "mercer.data.Graph",
    "mercer.data.Sequences",
    "mercer.data.Tree",
    "mercer.gp.factors.Factor",
    "mercer.kernels.Indexed",
    "mercer.kernels.RBF",
    "mercer.kernels.Spectrum",
    "mercer.kernels.Sum",
    "mercer.models.Multinomial",
    "mercer.multiclass.DAG",
    "mercer.multiclass.Plan",
    "mercer.segments.Segments",
    "mercer.solvers.SMO",
    "mercer.solvers.SolverResults",
    "mercer.structured.ContextFreeGrammar",
    "mercer.svm.LinearSVC",
    "mercer.svm.SVC",
    "mercer.svm.SVDD",
    "sklearn.pipeline.Pipeline",
    "sklearn.preprocessing.StandardScaler",
)


def mutant(data: bytes, number: int) -> bytes:
    """A file that is not what was written: by its number, always the same."""
    rng = random.Random(number)
    kind = rng.randrange(3)
    if kind == 0:
        return _broken(bytearray(data), rng)
    document, arrays = _taken_apart(data)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        if kind == 1 or not arrays:
            _edit(document, rng)
        else:
            _edit_arrays(arrays, rng)
    return _put_together(document, arrays)


def _broken(data: bytearray, rng: random.Random) -> bytes:
    """Bytes changed, removed, added, repeated."""
    kind, at = rng.randrange(6), rng.randrange(len(data))
    if kind == 0:
        for _ in range(rng.randrange(1, 9)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del data[at:]
    elif kind == 2:
        data[at:at] = rng.randbytes(rng.randrange(1, 100))
    elif kind == 3:
        data[at : at + rng.randrange(1, 1000)] = data[:100]
    elif kind == 4:  # the length of the header
        data[rng.randrange(8)] = rng.randrange(256)
    else:
        data[at : at + 50] = bytes(50)
    return bytes(data)


def _taken_apart(data: bytes) -> tuple[Any, dict[str, np.ndarray]]:
    from safetensors.numpy import load

    size = int.from_bytes(data[:8], "little")
    text = json.loads(data[8 : 8 + size])["__metadata__"]["mercer"]
    return json.loads(text)["model"], load(data)


def _put_together(document: Any, arrays: dict[str, np.ndarray]) -> bytes:
    """A file with the digests of what it holds, so that only checks of the contents are left."""
    from safetensors.numpy import save

    from mercer.persist.container import _digest

    if isinstance(document, dict):
        document["arrays"] = _digest(arrays)
    model = json.dumps(document, separators=(",", ":"))
    digest = hashlib.sha256(model.encode()).hexdigest()
    return save(arrays, metadata={"mercer": f'{{"sha256":"{digest}","model":{model}}}'})


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every entry of a JSON document: the container and the key."""
    found, waiting = [], [value]
    while waiting:
        container = waiting.pop()
        keys = container if isinstance(container, dict) else range(len(container))
        for key in keys:
            found.append((container, key))
            if isinstance(container[key], dict | list):
                waiting.append(container[key])
    return found


def _edit(document: Any, rng: random.Random) -> None:
    places = _places(document)
    container, key = rng.choice(places)
    kind = rng.randrange(5)
    if kind == 0:
        container[key] = copy.deepcopy(rng.choice(STRANGE))
    elif kind == 1:
        other, other_key = rng.choice(places)
        container[key] = copy.deepcopy(other[other_key])
    elif kind == 2:
        del container[key]
    elif kind == 3 and isinstance(container, dict):
        container[rng.choice(("predict", "__dict__", "x", "class", "support_", "n_features_in_", "result_"))] = (
            container.pop(key)
        )
    elif isinstance(container[key], int | float) and not isinstance(container[key], bool):
        container[key] = rng.choice((container[key] + 1, -container[key], container[key] * 1000, float(container[key])))
    else:
        named = [(container, key) for container, key in places if key == "class"]
        if named:
            container, key = rng.choice(named)
            container[key] = rng.choice(CLASSES)


def _edit_arrays(arrays: dict[str, np.ndarray], rng: random.Random) -> None:
    name = rng.choice(sorted(arrays))
    array, kind = arrays[name], rng.randrange(6)
    if kind == 0:
        arrays[name] = array.astype(rng.choice(["f8", "f4", "i8", "i4", "u1", "?"]))
    elif kind == 1:
        arrays[name] = np.ascontiguousarray(array.reshape(-1)[: rng.randrange(array.size + 1)])
    elif kind == 2:
        arrays[name] = np.concatenate([array.reshape(-1), array.reshape(-1)[:3]])
    elif kind == 3:
        arrays[name] = arrays[rng.choice(sorted(arrays))].copy()
    elif kind == 4 and array.size:
        strange: Any = [-1, 2**31 - 1, 2**62, 0] if array.dtype.kind == "i" else [np.nan, np.inf, -1e308, 0.0]
        values = array.copy()
        with np.errstate(all="ignore"):
            values.reshape(-1)[rng.randrange(values.size)] = np.array(rng.choice(strange)).astype(values.dtype)
        arrays[name] = values
    else:
        del arrays[name]


def outcome(path: Path, samples: Any) -> str:
    """What came of a file: the kind of error, or what came of using the model."""
    from corpus import answer

    import mercer
    from mercer.errors import ModelFileError
    from mercer.persist import describe

    with suppress(ModelFileError):
        describe(path)
    try:
        model = mercer.load(path)
    except ModelFileError as error:
        return type(error).__name__
    try:
        answer(model, samples)
    except Exception as error:  # whatever Python says; what counts is that the process lives
        return f"used: {type(error).__name__}"
    return "used"


def main(folder: Path, first: int, last: int) -> None:
    from corpus import MODELS, SURROUNDED

    resource.setrlimit(resource.RLIMIT_AS, (GIGABYTES << 30, GIGABYTES << 30))
    warnings.simplefilter("ignore")
    originals = [(path.read_bytes(), path.stem) for path in sorted(folder.glob("*.mercer"))]
    samples = {name: make()[1] for name, make in (MODELS | SURROUNDED).items() if name in {n for _, n in originals}}
    found: Counter[str] = Counter()
    path = folder / f"mutant {first}"
    for number in range(first, last):
        data, name = originals[number % len(originals)]
        print(number, name, file=sys.stderr, flush=True)  # the last one is the one to look at
        path.write_bytes(mutant(data, number))
        signal.alarm(SECONDS)
        found[outcome(path, samples[name])] += 1
        signal.alarm(0)
    path.unlink()
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
