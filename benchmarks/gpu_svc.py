"""Support vector machines on a GPU against our own CPU path on the same machine: ``python -m benchmarks.gpu_svc``.

Objectives, gaps and errors are compared before times are. What follows the table shows where the time goes: kernels by
themselves, a fit phase by phase, and the sizes that were chosen next to others.
"""

import argparse
import json
import os
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

import mercer.devices.fused as fused
import mercer.devices.pairs as pairs
import mercer.solvers.device_smo as device_smo
from benchmarks import data
from mercer.devices import DeviceGram, Place
from mercer.devices.rows import rows_of
from mercer.kernels import RBF
from mercer.problems import soft_margin
from mercer.selection import TunedSVC
from mercer.solvers import DeviceSMO
from mercer.solvers.working_sets import WorkingSet
from mercer.svm import SVC, SVR

RESULTS = Path(__file__).parent / "results" / "gpu_svc.json"
GRID = {"C": [0.1, 0.5, 2.0, 8.0, 32.0], "kernel__gamma": [0.005, 0.02, 0.05, 0.1, 0.3]}


def timed(run: Callable[[], Any], repeats: int) -> tuple[Any, list[float]]:
    """The last of several results, and the seconds each took."""
    seconds = []
    for _ in range(repeats):
        wait()
        began = time.perf_counter()
        result = run()
        wait()
        seconds.append(time.perf_counter() - began)
    return result, seconds


def wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


# --- the table --------------------------------------------------------------------------------------------


def compared(
    name: str,
    make: Callable[[Any], Any],
    learn: Callable[[Any], Any],
    told: Callable[[Any], dict[str, Any]],
    device: str,
    repeats: tuple[int, int] = (5, 3),
) -> dict[str, Any]:
    """Both paths in one run, on the device so often and on the CPU."""
    _, warm_up = timed(lambda: learn(make(device)), 1)
    on_device, device_seconds = timed(lambda: learn(make(device)), repeats[0])
    on_cpu, cpu_seconds = timed(lambda: learn(make(None)), repeats[1])
    row = {
        "first fit, kernels compiled": warm_up[0],
        "device": told(on_device),
        "cpu": told(on_cpu),
        "device seconds": device_seconds,
        "cpu seconds": cpu_seconds,
        "ratio": median(cpu_seconds) / median(device_seconds),
    }
    print(f"\n{name}: {row['ratio']:.2f}x")
    for key, value in row.items():
        print("   ", key, value)
    sys.stdout.flush()
    return row


def quality(machine: Any, error: float) -> dict[str, Any]:
    result = machine.result_
    return {
        "objective": result.objective,
        "relative gap": result.relative_gap,
        "violation": result.violation,
        "status": result.status,
        "steps": result.n_iter,
        "solver seconds": result.seconds,
        "support vectors": len(machine.support_),
        "error": error,
    }


def classification(n: int, device: str) -> dict[str, Any]:
    samples = data.cls_split(n, 20_000)
    return compared(
        f"SVC, C = 1, n = {n}",
        lambda where: SVC(C=1.0, device=where),
        lambda machine: machine.fit(samples.X, samples.y),
        lambda machine: quality(machine, float(np.mean(machine.predict(samples.X_test) != samples.y_test))),
        device,
    )


def regression(n: int, device: str) -> dict[str, Any]:
    samples = data.friedman(n)
    return compared(
        f"SVR, C = 1, epsilon = 0.1, n = {n}",
        lambda where: SVR(C=1.0, device=where),
        lambda machine: machine.fit(samples.X, samples.y),
        lambda machine: quality(machine, float(np.mean((machine.predict(samples.X_test) - samples.y_test) ** 2))),
        device,
    )


def search(n: int, device: str) -> dict[str, Any]:
    X, y = data.cls(n)
    return compared(
        f"TunedSVC, 5 x 5 cells, 5 folds, n = {n}",
        lambda where: TunedSVC(param_grid=GRID, device=where),
        lambda machine: machine.fit(X, y),
        lambda machine: {"best": machine.best_params_, "score": machine.best_score_},
        device,
        repeats=(2, 2),
    )


# --- where the time goes ----------------------------------------------------------------------------------


def problem_of(n: int, place: Place) -> Any:
    X, y = data.cls(n)
    gram = DeviceGram(RBF(gamma=1.0 / (X.shape[1] * X.var())), X, place)
    return soft_margin(gram, np.where(y > 0, 1.0, -1.0), np.ones(len(y)))


@contextmanager
def watched(spent: dict[str, list[float]]) -> Iterator[None]:
    """The parts of a run note what they take, each waited for: so the parts add up, and the whole is slower."""
    parts = [(device_smo.Run, name) for name in ("_begin", "_choose", "_look", "_found", "_record", "_balance")]
    parts += [(device_smo.Run, name) for name in ("_refresh", "_result", "_recorded")]
    parts += [(WorkingSet, "by_pairs"), (WorkingSet, "natively")]
    rows = type(rows_of(DeviceGram(RBF(1.0), np.zeros((2, 1)), Place("cpu")), Place("cpu")))
    parts += [(rows, "square"), (rows, "product")]
    before = [(owner, name, getattr(owner, name)) for owner, name in parts]

    def noting(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any, **kwargs: Any) -> Any:
            wait()
            began = time.perf_counter()
            result = method(*args, **kwargs)
            wait()
            spent[name].append(time.perf_counter() - began)
            return result

        return noted

    try:
        for owner, name, method in before:
            setattr(owner, name, noting(name, method))
        yield
    finally:
        for owner, name, method in before:
            setattr(owner, name, method)


@contextmanager
def changed(module: Any, **values: Any) -> Iterator[None]:
    before = {name: getattr(module, name) for name in values}
    for name, value in values.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


def told_in_phases(n: int, place: Place) -> dict[str, Any]:
    """A fit round by round without recording, phase by phase; then the kernels of the GPU, as its profiler has them."""
    problem, spent = problem_of(n, place), defaultdict(list)
    with changed(device_smo, REPEATING=False):
        DeviceSMO().solve(problem)
        with watched(spent):
            watched_run, _ = timed(lambda: DeviceSMO().solve(problem), 1)
        _, plain_seconds = timed(lambda: DeviceSMO().solve(problem), 3)
    print(f"\nphases, n = {n}: {len(spent['_choose'])} rounds, {watched_run.n_iter} steps")
    print(f"    as it is, unwatched, no recording: {min(plain_seconds):.4f} s")
    for name, seconds in sorted(((k, v) for k, v in spent.items() if v), key=lambda item: -sum(item[1])):
        print(f"    {name:12s} {sum(seconds):8.4f} s in {len(seconds):4d} calls, {1e3 * median(seconds):.3f} ms each")
    entries = [(v, int(i)) for v, i in zip(watched_run.history.violation, watched_run.history.iteration, strict=True)]
    print("    violation (steps):", ", ".join(f"{v:.3g} ({i})" for v, i in entries))
    if place.on_gpu:
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as seen:
            DeviceSMO().solve(problem)
            wait()
        kernels = [(getattr(event, "self_device_time_total", 0.0), event) for event in seen.key_averages()]
        for spent_there, event in sorted(kernels, key=lambda kernel: -kernel[0])[:30]:
            print(f"    {event.key[:90]:90s} {spent_there / 1e3:9.3f} ms in {event.count} calls")
    sys.stdout.flush()
    return {"rounds": len(spent["_choose"]), "seconds": plain_seconds, "phases": {k: sum(v) for k, v in spent.items()}}


def sizes(n: int, place: Place) -> list[dict[str, Any]]:
    """Sizes of working sets, how far they are optimised, how many pairs move at once."""
    problem, found = problem_of(n, place), []
    print(f"\nworking sets, n = {n} (recorded rounds unless it says otherwise)")
    choices = [
        (size, inner, groups, warps, kept, True)
        for size, inner, groups, warps, kept in (
            (512, 0.1, 8, 4, 0.5),
            (512, 0.3, 8, 4, 0.5),
            (1024, 0.1, 8, 4, 0.5),
            (1024, 0.1, 8, 8, 0.5),
            (1024, 0.1, 4, 8, 0.5),
            (1024, 0.1, 16, 8, 0.5),
            (1024, 0.3, 8, 8, 0.5),
            (1024, 0.5, 8, 8, 0.5),
            (1024, 0.3, 8, 8, 0.25),
            (2048, 0.1, 8, 8, 0.5),
            (2048, 0.3, 8, 8, 0.5),
            (2048, 0.3, 16, 16, 0.5),
            (2048, 0.3, 8, 16, 0.25),
            (4096, 0.3, 8, 16, 0.5),
        )
    ] + [(1024, 0.1, 8, 8, 0.5, False)]
    for size, inner, groups, warps, kept, repeating in choices:
        with (
            changed(device_smo, INNER_ACCURACY=inner, KEPT=kept, REPEATING=repeating),
            changed(pairs, GROUPS=groups, WARPS=warps),
        ):
            try:
                solver = DeviceSMO(size=size)
                result, seconds = timed(lambda solver=solver: solver.solve(problem), 3)
            except Exception:
                print(f"    size {size}, {groups} groups, {warps} warps, repeating {repeating} failed:")
                traceback.print_exc(limit=-3)
                continue
        row = {
            "size": size,
            "inner accuracy": inner,
            "groups": groups,
            "warps": warps,
            "kept": kept,
            "repeating": repeating,
            "seconds": min(seconds),
            "steps": result.n_iter,
            "kernel values / n": result.kernel_evaluations / n,
            "objective": result.objective,
            "status": result.status,
        }
        print(
            "   ", ", ".join(f"{k} {v:.6g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()), flush=True
        )
        found.append(row)
    return found


def products(n: int, place: Place) -> None:
    """K v by itself: tiles of the GPU's kernel, its precision, and what PyTorch's operations take."""
    X, _ = data.cls(n)
    gram = DeviceGram(RBF(gamma=0.05), X, place)
    rows = rows_of(gram, place)
    rng = np.random.default_rng(0)
    columns, v = place.tensor(rng.permutation(n)[: min(n, 1024)]), place.tensor(rng.normal(size=min(n, 1024)))
    exact = rows.product(columns, v, "float64")
    few = place.tensor(rng.permutation(n)[: n // 3])
    print(f"\nproducts, n = {n}, {len(columns)} columns")
    for name, run in {
        "float64": lambda: rows.product(columns, v, "float64"),
        "float64, a third of the rows": lambda: rows.product(columns, v, "float64", few),
        "float32 by operations of PyTorch": lambda: super(type(rows), rows)._product(columns, v, "float32", None, n),
    }.items():
        print(f"    {name}: {1e3 * min(timed(run, 10)[1]):.3f} ms")
    if not rows.fused:
        return
    for precision in ("tf32x3", "ieee", "tf32"):
        for tile, warps in (((128, 64), 4), ((128, 64), 8), ((128, 128), 8), ((64, 64), 4), ((64, 128), 4)):
            with changed(fused, PRECISION=precision, ROWS=tile[0], COLUMNS=tile[1], WARPS=warps):
                try:
                    found, seconds = timed(lambda: rows.product(columns, v, "float32"), 20)
                except Exception as error:
                    print(f"    float32 {precision} {tile} {warps} warps failed: {type(error).__name__}")
                    continue
            error = float((found - exact).abs().max())
            print(f"    float32 {precision} {tile} {warps} warps: {1e3 * min(seconds):.3f} ms, error {error:.2g}")
    for tile, warps in (((64, 32), 4), ((32, 32), 4), ((64, 64), 8), ((128, 32), 8)):
        with changed(fused, EXACT_ROWS=tile[0], EXACT_COLUMNS=tile[1], WARPS=warps):
            found, seconds = timed(lambda: rows.product(columns, v, "float64"), 10)
        error = float((found - exact).abs().max())
        print(f"    float64 {tile} {warps} warps: {1e3 * min(seconds):.3f} ms, error {error:.2g}")
    sys.stdout.flush()


def small_problems(place: Place) -> None:
    """One working set by itself: on the GPU, and natively with the transfer of its matrix."""
    X, y = data.cls(20_000)
    gram = DeviceGram(RBF(gamma=0.05), X, place)
    rows = rows_of(gram, place)
    print("\none working set, from zero, C = 5")
    for w in (512, 1024, 2048):
        which = place.tensor(np.random.default_rng(0).permutation(len(y))[:w])
        sign = place.tensor(np.where(y > 0, 1.0, -1.0))[which]
        zeros = place.zeros(w)
        part = WorkingSet(
            place, "total", True, rows.square(which, "float32"), zeros, zeros - 1.0, sign, zeros + 5.0, zeros
        )
        for tol in (0.5, 0.05):
            (a, steps), seconds = timed(lambda part=part, tol=tol: part.natively(tol, 10**6, None, None), 5)
            took = f"{1e3 * min(seconds):.3f} ms, {steps} steps, objective {value(part, a):.6g}"
            print(f"    w {w}, tol {tol}: natively {took}")
            if not place.on_gpu:
                continue
            for groups, warps in ((1, 4), (4, 4), (8, 4), (8, 8), (16, 8)):
                with changed(pairs, GROUPS=groups, WARPS=warps):
                    goal = place.zeros(1) + tol
                    (a, steps), seconds = timed(lambda part=part, goal=goal: part.by_pairs(goal), 5)
                print(
                    f"        {groups} groups, {warps} warps: {1e3 * min(seconds):.3f} ms, {int(steps)} steps, "
                    f"objective {value(part, a):.6g}"
                )
    sys.stdout.flush()


def value(part: WorkingSet, a: Any) -> float:
    """The objective of a working set that began at zero."""
    x = part.sign * a
    return float(0.5 * x @ (part.K.double() @ x) - a.sum())


def fit_around_the_solver(n: int, device: str) -> None:
    """What a fit takes besides the solver."""
    import cProfile
    import pstats

    X, y = data.cls(n)
    machine = SVC(C=1.0, device=device)
    profiler = cProfile.Profile()
    profiler.enable()
    machine.fit(X, y)
    profiler.disable()
    print(f"\na fit in Python's eyes, n = {n}; the solver took {machine.result_.seconds:.4f} s")
    pstats.Stats(profiler).sort_stats("tottime").print_stats(25)
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--shrink", type=int, default=1, help="so many times fewer samples: to see whether it runs")
    parser.add_argument("--only", nargs="*", default=[], help="parts: fits search products sets sizes phases fit")
    chosen = parser.parse_args()
    wanted = lambda part: not chosen.only or part in chosen.only  # noqa: E731
    place, n = Place(chosen.device), 100_000 // chosen.shrink
    print("torch", torch.__version__, "cores", len(os.sched_getaffinity(0)))
    results: dict[str, Any] = {"torch": torch.__version__, "cores": len(os.sched_getaffinity(0))}
    if place.on_gpu:
        results["device"] = torch.cuda.get_device_name(place.device)
        print(results["device"])
    parts: dict[str, Callable[[], Any]] = {
        "fits": lambda: {
            f"SVC {n}": classification(n, chosen.device),
            f"SVR {n // 2}": regression(n // 2, chosen.device),
        },
        "products": lambda: products(n, place),
        "sets": lambda: small_problems(place),
        "sizes": lambda: sizes(n, place),
        "phases": lambda: told_in_phases(n, place),
        "fit": lambda: fit_around_the_solver(n, chosen.device),
        "search": lambda: search(n // 20, chosen.device),
    }
    for name, run in parts.items():
        if not wanted(name):
            continue
        try:
            results[name] = run()
        except Exception:  # the other parts are wanted all the same
            print(f"\n{name} failed")
            traceback.print_exc(file=sys.stdout)
        if place.on_gpu and chosen.shrink == 1:
            RESULTS.write_text(json.dumps(results, indent=2, default=float) + "\n")


if __name__ == "__main__":
    main()
