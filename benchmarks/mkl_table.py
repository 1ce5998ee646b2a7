"""Routes to the weights of kernels side by side: ``python -m benchmarks.mkl_table [n]``, into the guide.

Every algorithm for weights that add up to one gets the same problem, with 300 samples unless another number is given,
to smaller and smaller gaps: seconds of the search, the kernel matrices being there, and machines that were tried.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import data
from mercer.gram import GramStack
from mercer.kernels import RBF
from mercer.mkl.algorithms import ALGORITHMS
from mercer.problems import KernelWeightsProblem, Simplex, soft_margin

N, WIDTHS, C = 300, 20, 1.0
GAPS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
MOST_SECONDS = 60.0
ROUTES = ("newton", "level", "silp", "simple", "projected", "nesterov", "alternating", "smo", "qclp")
TABLE = Path(__file__).parent.parent / "docs" / "guide" / "mkl_table.inc"


def problem_for(n: int, ridge: float) -> KernelWeightsProblem:
    X, y = data.cls(n)
    stack = GramStack([RBF(gamma=gamma) for gamma in np.geomspace(1e-3, 10.0, WIDTHS)], X, ridge=ridge)
    gram = stack.combination(np.full(WIDTHS, 1.0 / WIDTHS))
    machine = soft_margin(gram, np.where(y == 1, 1.0, -1.0), np.full(len(X), C))
    return KernelWeightsProblem(stack, [machine], Simplex())


def cells(route: str, n: int) -> Iterator[str]:
    """Seconds and machines for every gap; what was proved where the time was not enough, and nothing after that."""
    problem = problem_for(n, ALGORITHMS[route].default_ridge)
    enough = True
    for gap in GAPS:
        if not enough:
            yield ""
            continue
        result = ALGORITHMS[route](gap_tol=gap, max_seconds=MOST_SECONDS).solve(problem)
        enough = result.status == "solved"
        proved = f"{result.seconds:.2g} s, {result.n_iter}"
        yield proved if enough else f"{result.relative_gap:.0e} at {MOST_SECONDS:.0f} s"


def table(n: int) -> Iterator[str]:
    """In reStructuredText."""
    rows = [["algorithm", *(f"gap {gap:.0e}" for gap in GAPS)]]
    for route in ROUTES:
        if route in ALGORITHMS:
            rows.append([f'``"{route}"``', *cells(route, n)])
            print(*rows[-1], sep=" | ", flush=True)
    sizes = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = "  ".join("=" * size for size in sizes)
    texts = ["  ".join(cell.ljust(size) for cell, size in zip(row, sizes, strict=True)).rstrip() for row in rows]
    yield f"{n} samples of two classes, {WIDTHS} RBF kernels from nearly constant to nearly the identity, C = {C:g}:"
    yield from ("", rule, texts[0], rule, *texts[1:], rule)


if __name__ == "__main__":
    TABLE.write_text("\n".join(table(int(sys.argv[1]) if len(sys.argv) > 1 else N)) + "\n")
