"""How well kernels on strings and graphs classify real data: ``python -m benchmarks.accuracy [part of a name ...]``.

Ten stratified folds; C is chosen inside each by another five. Beside every figure stands what others have published for
the data, as we recall it, with a machine and folds of their own. Data sets that are not there are left out, with a
message.
"""

import csv
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_validate

from benchmarks.real_data import DATASETS
from mercer import SVC
from mercer.data import read_tu_dortmund
from mercer.datasets import load_promoters, load_splice
from mercer.kernels import (
    GappedKmer,
    GapWeighted,
    Kernel,
    Mismatch,
    ShortestPath,
    Spectrum,
    WeightedDegree,
    WeisfeilerLehman,
    WeisfeilerLehmanOptimalAssignment,
)
from mercer.selection import tune

PRICES = 10.0 ** np.arange(-2, 4)


@dataclass(frozen=True)
class Study:
    """Samples and classes, the kernels to try, and what is known."""

    name: str
    read: Callable[[], tuple[Any, np.ndarray]]
    kernels: Mapping[str, Kernel]
    published: str = ""
    path: Path | None = None
    scoring: Mapping[str, Any] = field(default_factory=lambda: {"accuracy": "accuracy"})


def sequences(file: str) -> tuple[list[str], np.ndarray]:
    with (DATASETS / file).open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    return [row["sequence"] for row in rows], np.array([row["class"] for row in rows])


def strings(name: str, file: str, kernels: Mapping[str, Kernel], **more: Any) -> Study:
    return Study(name, lambda: sequences(file), kernels, path=DATASETS / file, **more)


def graphs(name: str, published: str) -> Study:
    folder = DATASETS / "graphs" / name
    kernels = {
        "WeisfeilerLehman(4)": WeisfeilerLehman(4).normalized(),
        "WeisfeilerLehmanOptimalAssignment(4)": WeisfeilerLehmanOptimalAssignment(4).normalized(),
        "ShortestPath()": ShortestPath().normalized(),
    }
    return Study(name, lambda: read_tu_dortmund(folder), kernels, published, folder)


STUDIES = (
    Study(
        "promoters",
        lambda: load_promoters(return_X_y=True),
        {
            "WeightedDegree(5)": WeightedDegree(5),
            "Mismatch(5, 1)": Mismatch(5, 1, alphabet="acgt").normalized(),
            "GapWeighted(4, 0.5)": GapWeighted(4, 0.5).normalized(),
            "Spectrum(4)": Spectrum(4).normalized(),
        },
        "KBANN 96.2 % (Towell et al. 1990, leave-one-out)",
    ),
    Study(
        "splice junctions",
        lambda: load_splice(return_X_y=True),
        {
            "WeightedDegree(8)": WeightedDegree(8),
            "GappedKmer(8, 6)": GappedKmer(8, 6).normalized(),
            "Spectrum(6)": Spectrum(6).normalized(),
        },
        "KBANN about 94 % (Towell and Shavlik 1994)",
    ),
    strings(
        "C. elegans acceptor sites",
        "celegans_acceptor_2200.csv",
        {
            "WeightedDegree(10)": WeightedDegree(10),
            "WeightedDegree(10, shift=2)": WeightedDegree(10, shift=2),
            "Spectrum(6)": Spectrum(6).normalized(),
        },
        scoring={
            "accuracy": "accuracy",
            "area under the curve": make_scorer(
                lambda y, value: roc_auc_score(y == "1", value), response_method="decision_function"
            ),
        },
    ),
    strings(
        "protein folds (30 classes)",
        "protein_folds_tg.csv",
        {
            "Spectrum(3)": Spectrum(3).normalized(),
            "Mismatch(4, 1)": Mismatch(4, 1, alphabet="ACDEFGHIKLMNPQRSTVWY").normalized(),
        },
    ),
    graphs("MUTAG", "WL 86.0 %, WL-OA 84.5 % (Kriege et al. 2016)"),
    graphs("PTC_MR", "WL 61.3 %, WL-OA 63.6 % (Kriege et al. 2016)"),
    graphs("PROTEINS", "WL 75.6 %, WL-OA 76.4 % (Kriege et al. 2016)"),
    graphs("NCI1", "WL 85.8 %, WL-OA 86.1 % (Kriege et al. 2016)"),
)


def lines(parts: list[str]) -> Iterator[str]:
    yield "| data | kernel | accuracy | seconds | published |"
    yield "|---|---|---|---|---|"
    for study in STUDIES:
        if parts and not any(part.lower() in study.name.lower() for part in parts):
            continue
        if study.path is not None and not study.path.exists():
            yield f"{study.name}: skipped, without {study.path.name}"
            continue
        X, y = study.read()
        folds = StratifiedKFold(10, shuffle=True, random_state=0)
        for name, kernel in study.kernels.items():
            began = perf_counter()
            inside = StratifiedKFold(5, shuffle=True, random_state=0)
            machine = tune(SVC(kernel), {"C": PRICES}, cv=inside)
            scores = cross_validate(machine, X, y, cv=folds, scoring=dict(study.scoring))
            cells = [
                f"{'' if score == 'accuracy' else score + ' '}"
                f"{100 * scores[f'test_{score}'].mean():.1f} ± {100 * scores[f'test_{score}'].std():.1f} %"
                for score in study.scoring
            ]
            seconds = perf_counter() - began
            yield f"| {study.name} | {name} | {', '.join(cells)} | {seconds:.1f} | {study.published} |"


if __name__ == "__main__":
    for line in lines(sys.argv[1:]):
        print(line, flush=True)
