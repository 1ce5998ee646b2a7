"""Machines on a GPU against the native core on all cores of the same machine: ``python -m benchmarks.gpu [--quick]``.

Every contender has a process of its own, which warms up on a small problem before the clock starts. A fit by the native
core may take as long as `CORE_SECONDS` says; where it has not ended by then, the ratio is a bound from below, and the
qualities are compared at the size of ``--quick``. Results go to ``benchmarks/results/gpu.json``, task by task.

On a machine without mercer, ``benchmarks/gpu_setup.sh`` builds it in place. ``--device cpu`` tries the program out.
"""

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results" / "gpu.json"
# Quality of two contenders is equal up to this part.
EQUAL = 0.01
# What a fit by the native core may take.
CORE_SECONDS = {"ridge over landmarks": 360, "exact ridge": 45, "Gaussian process": 60, "components": 30}
# What a whole process may take, with making its data.
PROCESS_SECONDS = 420
QUICKER, WARM = 50, 200


# --- tasks: a fit, and what it is good for ----------------------------------------------------------------


def regression(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Vectors, and the values of a smooth function with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    smooth = np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + np.exp(-0.1 * (X[:, 3:] ** 2).sum(axis=1))
    return X, smooth + 0.3 * rng.normal(size=n)


def timed(work: Callable[[], Any], limit: float | None = None) -> tuple[float, Any]:
    """Seconds, and what came of it; past the limit the process ends, and says so."""

    def end() -> None:
        print(json.dumps({"more_than_seconds": limit}), flush=True)
        os._exit(0)

    watch = None if limit is None else threading.Timer(limit, end)
    if watch is not None:
        watch.daemon = True
        watch.start()
    began = time.perf_counter()
    found = work()
    seconds = time.perf_counter() - began
    if watch is not None:
        watch.cancel()
    return seconds, found


def ridge_over_landmarks(device: Any, shrink: int, limit: float | None) -> dict[str, Any]:
    from mercer import KernelRidge
    from mercer.kernels import RBF

    n, m = 1_000_000 // shrink, 20_000 // shrink
    X, y = regression(n + 20_000, 20)
    machine = KernelRidge(RBF(gamma=0.02), alpha=1e-6 * n, approximation=m, tol=1e-6, device=device)
    seconds, _ = timed(lambda: machine.fit(X[:n], y[:n]), limit)
    predicting, found = timed(lambda: machine.predict(X[n:]))
    return {
        "n": n,
        "d": 20,
        "m": m,
        "seconds": seconds,
        "seconds_to_predict_20000": predicting,
        "quality": float(np.sqrt(np.mean((found - y[n:]) ** 2))),
        "quality_is": "root mean square error of the test samples",
        "steps": machine.n_iter_,
        "relative_gap": machine.result_.gap / machine.result_.objective,
        "landmarks": len(machine.support_),
    }


def exact_ridge(device: Any, shrink: int, limit: float | None) -> dict[str, Any]:
    from mercer import KernelRidge
    from mercer.kernels import RBF

    n = 20_000 // shrink
    X, y = regression(n + 5_000, 20)
    machine = KernelRidge(RBF(gamma=0.02), alpha=0.1, device=device)
    seconds, _ = timed(lambda: machine.fit(X[:n], y[:n]), limit)
    error = np.sqrt(np.mean((machine.predict(X[n:]) - y[n:]) ** 2))
    known = {"method": machine.result_.method, "relative_residual": machine.result_.relative_residual}
    quality = {"quality": float(error), "quality_is": "root mean square error of the test samples"}
    return {"n": n, "d": 20, "seconds": seconds, **quality, **known}


def gaussian_process(device: Any, shrink: int, limit: float | None) -> dict[str, Any]:
    from mercer import GaussianProcessRegressor
    from mercer.kernels import RBF

    n = 8_000 // shrink
    X, y = regression(n, 8)
    machine = GaussianProcessRegressor(RBF(gamma=0.05), device=device)
    seconds, _ = timed(lambda: machine.fit(X, y), limit)
    quality = {"quality": machine.log_marginal_likelihood_ / n, "quality_is": "log evidence per sample"}
    return {"n": n, "d": 8, "seconds": seconds, **quality, "evaluations": machine.n_iter_}


def components(device: Any, shrink: int, limit: float | None) -> dict[str, Any]:
    from mercer import KernelPCA
    from mercer.kernels import RBF

    n = 20_000 // shrink
    X = np.random.default_rng(0).normal(size=(n, 20)) * np.geomspace(3.0, 0.3, 20)
    machine = KernelPCA(RBF(gamma=0.02), n_components=20, eigen_solver="lanczos", device=device)
    seconds, _ = timed(lambda: machine.fit(X), limit)
    quality = {"quality": float(machine.eigenvalues_.sum()) / n, "quality_is": "variance of the directions"}
    return {"n": n, "d": 20, "seconds": seconds, **quality, "largest_residual": machine.result_.violation}


TASKS: dict[str, Callable[[Any, int, float | None], dict[str, Any]]] = {
    "ridge over landmarks": ridge_over_landmarks,
    "exact ridge": exact_ridge,
    "Gaussian process": gaussian_process,
    "components": components,
}


# --- the device by itself ---------------------------------------------------------------------------------


def device_rates(device: str, shrink: int) -> dict[str, Any]:
    """What the device is, its rate of float32 products, and the part of it that products with kernel values reach."""
    import torch

    from mercer.devices import DeviceKernel, Place
    from mercer.kernels import RBF

    place = Place(device)
    name = torch.cuda.get_device_name(place.device) if place.on_gpu else platform.processor() or "CPU"
    size = 8192 if place.on_gpu else 1024
    A, B = (torch.randn(size, size, device=place.device) for _ in range(2))
    found: dict[str, Any] = {"device": name, "torch": torch.__version__, "float32_tflops": rate(place, A, B)}
    if place.on_gpu:
        with tf32(torch):
            found["tf32_tflops"] = rate(place, A, B)
        found["float64_tflops"] = rate(place, A.double(), B.double())
    n, m = 262_144 // shrink, 20_000 // shrink
    for d in (512, 20):
        for k in (1, 64):
            X, Z, V = (torch.randn(*shape, device=place.device) for shape in ((n, d), (m, d), (m, k)))
            on = DeviceKernel(RBF(gamma=0.2 / d), place, "float32").about(Z)
            seconds = best(place, lambda on=on, X=X, Z=Z, V=V: on.dot(X, Z, V))
            exact = DeviceKernel(RBF(gamma=0.2 / d), place).about(Z).dot(X[:500], Z, V.double())
            error = (on.dot(X[:500], Z, V).double() - exact).abs().max() / exact.abs().max()
            tflops = 2.0 * n * m * (d + k) / seconds / 1e12
            found[f"product d={d} k={k}"] = {
                "n": n,
                "m": m,
                "seconds": seconds,
                "tflops": tflops,
                "share_of_float32": tflops / found["float32_tflops"],
                "kernel_values_per_second": n * m / seconds,
                "relative_error": float(error),
            }
    return found


def rate(place: Any, A: Any, B: Any) -> float:
    """Tera floating point operations per second of a product of matrices."""
    return 2.0 * len(A) ** 3 / best(place, lambda: A @ B) / 1e12


def best(place: Any, work: Callable[[], Any], repeats: int = 5) -> float:
    """Seconds of the quickest of some repeats, after one that does not count."""
    seconds = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        work()
        if place.on_gpu:
            place.torch.cuda.synchronize(place.device)
        seconds.append(time.perf_counter() - began)
    return min(seconds[1:])


class tf32:
    """Products of float32 matrices by TF32 in here."""

    def __init__(self, torch: Any):
        self.matmul = torch.backends.cuda.matmul
        self.name = "fp32_precision" if hasattr(self.matmul, "fp32_precision") else "allow_tf32"

    def __enter__(self) -> None:
        self.before = getattr(self.matmul, self.name)
        setattr(self.matmul, self.name, "tf32" if self.name == "fp32_precision" else True)

    def __exit__(self, *_: object) -> None:
        setattr(self.matmul, self.name, self.before)


# --- contenders -------------------------------------------------------------------------------------------


def contend(task: str, device: str, shrink: int, limit: float | None, profiled: bool) -> dict[str, Any]:
    """One contender, in this process."""
    if task == "rates":
        return device_rates(device, shrink)
    on = None if device == "core" else device
    TASKS[task](on, WARM, None)
    if not profiled:
        return TASKS[task](on, shrink, limit)
    import cProfile
    import pstats

    with cProfile.Profile() as profile:
        found = TASKS[task](on, shrink, limit)
    pstats.Stats(profile, stream=sys.stderr).sort_stats("cumulative").print_stats(40)
    return found


def in_a_process(
    task: str, device: str, shrink: int, limit: float | None = None, profiled: bool = False
) -> dict[str, Any]:
    """One contender in a process of its own; where its fit takes longer than the limit, that is all that is known."""
    command = [sys.executable, "-m", "benchmarks.gpu", "--contender", task, "--device", device, "--shrink", str(shrink)]
    command += [] if limit is None else ["--limit", str(limit)]
    command += ["--profile"] if profiled else []
    try:
        ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=PROCESS_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return {"failed": f"no end after {PROCESS_SECONDS} seconds"}
    if ran.returncode:
        return {"failed": ran.returncode}
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def compared(task: str, device: str, shrink: int, profiled: bool) -> dict[str, Any]:
    """The device and the native core, with equal quality before speed."""
    found = {"device": in_a_process(task, device, shrink, profiled=profiled)}
    found["core"] = in_a_process(task, "core", shrink, CORE_SECONDS[task])
    mine, theirs = found["device"], found["core"]
    if "seconds" in mine and "seconds" in theirs:
        found["equal_quality"] = equal(mine, theirs)
        found["ratio"] = theirs["seconds"] / mine["seconds"]
    elif "seconds" in mine and "more_than_seconds" in theirs:
        found["ratio_at_least"] = theirs["more_than_seconds"] / mine["seconds"]
        small = {name: in_a_process(task, name, shrink * QUICKER) for name in (device, "core")}
        found["smaller"] = small
        found["equal_quality"] = all("seconds" in one for one in small.values()) and equal(*small.values())
    return found


def equal(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether the quality of two contenders is equal."""
    return abs(one["quality"] - other["quality"]) <= EQUAL * abs(other["quality"])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICKER} times less of everything")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, ... or cpu")
    parser.add_argument("--only", nargs="*", metavar="TASK", help="rates, or the beginning of tasks")
    parser.add_argument("--output", type=Path, default=RESULTS, help="where results go")
    parser.add_argument("--profile", action="store_true", help="where the time on the device goes")
    parser.add_argument("--contender", help=argparse.SUPPRESS)
    parser.add_argument("--shrink", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--limit", type=float, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.contender:
        print(json.dumps(contend(asked.contender, asked.device, asked.shrink, asked.limit, asked.profile)))
        return
    began, shrink = time.perf_counter(), QUICKER if asked.quick else 1
    results: dict[str, Any] = {
        "command": shlex.join(["python", "-m", "benchmarks.gpu", *sys.argv[1:]]),
        "machine": {
            "python": platform.python_version(),
            "cores": len(os.sched_getaffinity(0)),
            "system": platform.platform(),
        },
    }
    for task in ("rates", *TASKS):
        if asked.only and not task.startswith(tuple(asked.only)):
            continue
        if task == "rates":
            results[task] = in_a_process(task, asked.device, shrink)
        else:
            results[task] = compared(task, asked.device, shrink, asked.profile)
        print(f"{task}\n{json.dumps(results[task], indent=2)}", flush=True)
        asked.output.write_text(json.dumps(results, indent=2) + "\n")
    print(f"{(time.perf_counter() - began) / 60:.1f} minutes")


if __name__ == "__main__":
    main()
