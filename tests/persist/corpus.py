"""A small model of every room, with samples: what the files of past versions are made of, and what is fuzzed.

``python tests/persist/corpus.py FOLDER`` writes the files of a version, once, before it is released; they never change.
"""

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

import mercer
from mercer import kernels
from mercer.compat import sklearn as drop_in
from mercer.data import Graph, Tree
from mercer.features import fisher_score
from mercer.structured import (
    Chain,
    ContextFreeGrammar,
    Multiclass,
    Multilabel,
    Parser,
    Ranking,
    StructuredSVM,
    Taxonomy,
    TokenFeatures,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(16, 3))
BINARY = (X[:, 0] > 0).astype(int)
NAMES = np.array(["ash", "birch", "elm"])[np.argmax(X, axis=1)]
VALUES = np.sin(X[:, 0]) + X[:, 1]
WORDS = ["gattaca", "tata", "acgt", "ttaga", "gaga", "cacac", "tagtag", "ccgg", "attag", "gtaca", "aatt", "cgcg"]
GRAPHS = [
    Graph(n, [(i, (i + 1) % n) for i in range(n - i % 2)], node_labels="CNOCNO"[:n])
    for i, n in enumerate([3, 4, 5, 6, 3, 4, 5, 6])
]
TREES = [
    Tree.from_string(text)
    for text in (
        "(S (NP (N Mary)) (VP (V ate) (NP (Det the) (N apple))))",
        "(S (NP (Det the) (N dog)) (VP (V saw) (NP (N Paul))))",
        "(S (NP (N Paul)) (VP (V saw) (NP (Det a) (N pie))))",
        "(S (NP (Det a) (N pie)))",
    )
]
SETS = [frozenset(word) for word in WORDS]
TABLE = np.array([(x, w) for x, w in zip(X[:12, 0], WORDS, strict=True)], dtype=[("length", "f8"), ("word", "U8")])
TOKENS = [["the", "dog", "ran"], ["a", "pie"], ["Paul", "saw", "the", "dog"]]
TAGS = [["Det", "N", "V"], ["Det", "N"], ["N", "V", "Det", "N"]]
HALF = np.arange(12) % 2


def on_strings() -> Any:
    return mercer.SVC(kernels.Spectrum(2)).fit(WORDS, HALF), WORDS


def of_machine(machine: Any, *learnt_from: Any) -> Any:
    return machine.fit(*learnt_from), learnt_from[0]


def classes_and_text(X: Any) -> Any:
    return np.column_stack([X, NAMES]).astype(object)


MIXED = np.column_stack([X.astype(object), NAMES.astype(object)])
MISSING = np.where(RNG.random(X.shape) < 0.2, np.nan, X)

# Models that are kept: nothing in them is scikit-learn's.
MODELS: dict[str, Any] = {
    "active_rule": lambda: (mercer.active.VersionSpace("ratio", shortlist=5), None),
    "calibration": lambda: of_machine(mercer.Calibrated(mercer.SVC(), method="isotonic", cv=3), X, BINARY),
    "calibration_ensemble": lambda: of_machine(mercer.Calibrated(mercer.SVC(), ensemble=True, cv=3), X, BINARY),
    "cluster": lambda: of_machine(mercer.KernelKMeans(n_clusters=3, random_state=0), X),
    "cluster_spectral": lambda: of_machine(mercer.SpectralClustering(n_clusters=2, random_state=0), X),
    "compat": lambda: of_machine(drop_in.SVC(), X, NAMES),
    "decomposition": lambda: of_machine(mercer.KernelPCA(n_components=2), X),
    "decomposition_cca": lambda: of_machine(mercer.KernelCCA(n_components=1), X, VALUES),
    "discriminant": lambda: of_machine(mercer.KernelFisherDiscriminant(), X, NAMES),
    "discriminant_perceptron": lambda: of_machine(mercer.KernelPerceptron(), X, BINARY),
    "features": lambda: of_machine(mercer.Nystroem(n_components=5, random_state=0), X),
    "features_elimination": lambda: of_machine(mercer.KernelRFE(mercer.SVC(), n_features_to_select=2), X, BINARY),
    "gp": lambda: of_machine(mercer.GaussianProcessRegressor(), X, VALUES),
    "gp_classes": lambda: of_machine(mercer.GaussianProcessClassifier(), X, BINARY),
    "kernels": lambda: (kernels.RBF(gamma=[0.5, 1.0, 2.0]) + 2.0 * kernels.Polynomial(degree=3, gamma=1.0), X),
    "logistic": lambda: of_machine(mercer.KernelLogisticRegression(), X, NAMES),
    "lp": lambda: of_machine(mercer.LPClassifier(), X, BINARY),
    "mkl": lambda: of_machine(mercer.MKLClassifier([kernels.RBF(0.3), kernels.Linear()]), X, BINARY),
    "mkl_own": lambda: of_machine(
        mercer.MKLClassifier([kernels.RBF(0.3), kernels.Linear()], multi_class="ovr", shared=False), X, NAMES
    ),
    "models": lambda: (mercer.models.Multinomial([0.5, 0.25, 0.25], alphabet="abc"), None),
    "regularized": lambda: of_machine(mercer.RegularizedRegressor(), X, VALUES),
    "ridge": lambda: of_machine(mercer.KernelRidge(kernels.Matern(length_scale=1.5)), X, VALUES),
    "ridge_classes": lambda: of_machine(mercer.LSSVC(), X, BINARY),
    "rvm": lambda: of_machine(mercer.RelevanceVectorRegressor(), X, VALUES),
    "selection": lambda: of_machine(mercer.TunedSVC(param_grid={"C": [1.0, 10.0]}, cv=2), X, BINARY),
    "selection_novelty": lambda: of_machine(
        mercer.Tuned(mercer.OneClassSVM(), {"nu": [0.3, 0.5]}, cv=2, random_state=0), X
    ),
    "selection_one_class": lambda: of_machine(mercer.TunedOneClassSVM(param_grid={"nu": [0.3, 0.5]}, cv=2), X),
    "structured": lambda: of_machine(StructuredSVM(Multiclass(bias=1.0)), X, NAMES),
    "structured_chain": lambda: of_machine(StructuredSVM(Chain(TokenFeatures())), TOKENS, TAGS),
    "structured_labels": lambda: of_machine(StructuredSVM(Multilabel()), X, (X > 0).astype(int)),
    "structured_ranking": lambda: of_machine(
        StructuredSVM(Ranking()), [X[:5], X[5:9]], [VALUES[:5] > 0, VALUES[5:9] > 0]
    ),
    "structured_taxonomy": lambda: of_machine(
        StructuredSVM(Taxonomy({"ash": "tree", "birch": "tree", "elm": "shrub", "tree": "plant", "shrub": "plant"})),
        X,
        NAMES,
    ),
    "structured_trees": lambda: of_machine(
        StructuredSVM(Parser(ContextFreeGrammar.from_trees(TREES))), [tree.leaves for tree in TREES], TREES
    ),
    "svm": lambda: of_machine(mercer.SVC(probability=True), X, NAMES),
    "svm_dag": lambda: of_machine(mercer.SVC(multi_class="dag"), X, NAMES),
    "svm_joint": lambda: of_machine(mercer.SVC(multi_class="crammer_singer"), X, NAMES),
    "svm_linear": lambda: of_machine(mercer.LinearSVC(), X, NAMES),
    "svm_novelty": lambda: of_machine(mercer.SVDD(nu=0.3), X),
    "svm_nu": lambda: of_machine(mercer.NuSVC(nu=0.4), X, BINARY),
    "svm_one_class": lambda: of_machine(mercer.OneClassSVM(nu=0.3), X),
    "svm_on_graphs": lambda: of_machine(mercer.SVC(kernels.WeisfeilerLehman()), GRAPHS, np.arange(8) % 2),
    "svm_on_indices": lambda: of_machine(mercer.SVC(kernels.Indexed(X @ X.T)), np.arange(16), BINARY),
    "svm_on_sets": lambda: of_machine(mercer.SVC(kernels.Jaccard()), SETS, HALF),
    "svm_on_sparse": lambda: of_machine(mercer.SVC(), csr_array(X * (X > 0)), BINARY),
    "svm_on_strings": on_strings,
    "svm_on_table": lambda: of_machine(
        mercer.SVC(kernels.On("length", kernels.RBF(1.0)) + kernels.On("word", kernels.Spectrum(2))), TABLE, HALF
    ),
    "svm_on_trees": lambda: of_machine(mercer.SVC(kernels.SubsetTree()), TREES, [0, 1, 0, 1]),
    "svm_precomputed": lambda: of_machine(mercer.SVC("precomputed"), X @ X.T, BINARY),
    "svm_values": lambda: of_machine(mercer.SVR(), X, np.column_stack([VALUES, X[:, 2]])),
    "version_space": lambda: of_machine(mercer.BayesPointMachine(random_state=0), X, BINARY),
}

# Models around which there is something of scikit-learn, whose attributes may be others in its next version.
SURROUNDED: dict[str, Any] = {
    "pipeline": lambda: of_machine(
        Pipeline([("fill", KNNImputer()), ("scale", StandardScaler()), ("machine", mercer.SVC())]), MISSING, BINARY
    ),
    "columns": lambda: of_machine(
        Pipeline(
            [
                (
                    "columns",
                    ColumnTransformer(
                        [
                            ("numbers", Pipeline([("fill", SimpleImputer()), ("scale", MinMaxScaler())]), [0, 1]),
                            ("other", MaxAbsScaler(), slice(2, 3)),
                            ("words", OneHotEncoder(handle_unknown="ignore"), [3]),
                        ]
                    ),
                ),
                ("machine", mercer.SVC(probability=True)),
            ]
        ),
        MIXED,
        BINARY,
    ),
    "selected": lambda: of_machine(
        Pipeline([("best", SelectKBest(fisher_score, k=2)), ("machine", mercer.NuSVC(nu=0.3))]), X, BINARY
    ),
    "ordinal": lambda: of_machine(
        Pipeline([("numbers", OrdinalEncoder()), ("machine", mercer.OneClassSVM(nu=0.5))]), NAMES[:, np.newaxis]
    ),
}


def answer(model: Any, samples: Any) -> Any:
    """What a model says of samples: the numbers behind its prediction, or the prediction."""
    if samples is None:
        return None
    if isinstance(model, kernels.Kernel):
        return model(samples)
    for name in ("predict_proba", "decision_function", "transform", "predict"):
        if hasattr(model, name):
            said = getattr(model, name)(samples)
            return said.toarray() if issparse(said) else said
    raise TypeError(f"{model!r} says nothing.")


def as_json(said: Any) -> Any:
    """An answer as JSON has it; trees as texts."""
    if isinstance(said, np.ndarray):
        return as_json(said.tolist())
    if isinstance(said, list | tuple):
        return [as_json(part) for part in said]
    return said.item() if isinstance(said, np.generic) else str(said) if isinstance(said, Tree) else said


if __name__ == "__main__":
    folder, answers = Path(sys.argv[1]), {}
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in MODELS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model, samples = make()
        mercer.save(model, folder / f"{name}.mercer")
        answers[name] = as_json(answer(model, samples))
    (folder / "answers.json").write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")
