"""What must work in an environment that has the package and what it asks for, and nothing else.

A script, because such an environment has no pytest: ``make wheel`` and ``make oldest`` run it.
"""

import importlib
import importlib.util
import pickle
import platform
from importlib.metadata import requires, version

import numpy as np

import mercer
from mercer.extras import EXTRA_OF, require


def every_room_imports():
    for name in mercer.__all__:
        assert getattr(mercer, name) is not None, name
    return f"{len(mercer.__all__)} public names"


def vectors_are_learnt():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    labels, values = (X[:, 0] * X[:, 1] > 0).astype(int), np.sin(X[:, 0]) + X[:, 1]
    classifiers = [mercer.SVC(C=10.0), mercer.LinearSVC(), mercer.LSSVC(), mercer.KernelLogisticRegression()]
    classifiers += [mercer.LPClassifier(), mercer.RelevanceVectorClassifier(), mercer.GaussianProcessClassifier()]
    classifiers += [mercer.MKLClassifier(["rbf", "linear"]), mercer.TunedSVC(), mercer.Calibrated(mercer.SVC())]
    regressors = [mercer.SVR(), mercer.KernelRidge(), mercer.GaussianProcessRegressor(), mercer.LPRegressor()]
    others = [mercer.OneClassSVM(), mercer.SVDD(), mercer.KernelPCA(n_components=2), mercer.KernelKMeans(n_clusters=2)]
    for machine in classifiers:
        machine.fit(X, labels)
        assert machine.predict(X).shape == (80,), machine
    assert classifiers[0].result_.relative_gap < 1e-2
    for machine in regressors:
        assert np.isfinite(machine.fit(X, values).predict(X)).all(), machine
    for machine in others:
        machine.fit(X)
    machines = [*classifiers, *regressors, *others]
    again = pickle.loads(pickle.dumps(classifiers[0]))
    assert np.array_equal(again.decision_function(X), classifiers[0].decision_function(X))
    return f"{len(machines)} machines"


def other_samples_are_learnt():
    from mercer.data import Graph
    from mercer.datasets import load_promoters
    from mercer.kernels import Spectrum, WeisfeilerLehman

    strings, promoter = load_promoters(return_X_y=True)
    assert mercer.SVC(Spectrum(3)).fit(strings, promoter).score(strings, promoter) > 0.9
    rings = [Graph(n, [(i, (i + 1) % n) for i in range(n)]) for n in range(3, 9)]
    stars = [Graph(n, [(0, i) for i in range(1, n)]) for n in range(3, 9)]
    shapes = np.repeat([0, 1], 6)
    machine = mercer.SVC(WeisfeilerLehman(2, node_labels=False), C=100.0)
    assert machine.fit(rings + stars, shapes).score(rings + stars, shapes) == 1.0
    return "strings and graphs"


def missing_extras_are_named():
    missing = [package for package in EXTRA_OF if importlib.util.find_spec(package) is None]
    for package in missing:
        try:
            require(package, "This")
        except ImportError as error:
            assert f'pip install "mercer[{EXTRA_OF[package]}]"' in str(error), error
        else:
            raise AssertionError(f"{package} was not found, and yet imported")
    brought = {line.partition(";")[2].partition("==")[2].strip(" \"'") for line in requires("mercer") if ";" in line}
    assert set(EXTRA_OF.values()) <= brought, (EXTRA_OF, brought)
    return f"without {', '.join(missing) or 'none'}"


if __name__ == "__main__":
    packages = ("numpy", "scipy", "scikit-learn")
    told = ", ".join(f"{package} {version(package)}" for package in packages)
    print(f"mercer {mercer.__version__}, Python {platform.python_version()}, {told}")
    for check in (every_room_imports, vectors_are_learnt, other_samples_are_learnt, missing_extras_are_named):
        print(f"{check.__name__.replace('_', ' ')}: {check()}")
