"""A machine for every cell."""

from collections.abc import Callable, Iterator
from copy import copy
from threading import Lock
from typing import Any, ClassVar

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone, is_classifier, is_outlier_detector, is_regressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from mercer.cells.voronoi import RULES, Voronoi, choose_centres
from mercer.data import RowBlocks
from mercer.errors import InfeasibleError, UnsavableError
from mercer.gram.leverage import drawn_without_replacement
from mercer.gram.memory import check_memory, memory_budget
from mercer.kernels import Kernel, as_kernel
from mercer.kernels.samples import n_samples, row_blocks, take
from mercer.machines import Labelled
from mercer.machines.base import VECTORS
from mercer.machines.checkpointed import CheckpointedMachine
from mercer.parameters import Choice, Number
from mercer.solvers import Certificate, warn_unless_solved
from mercer.solvers.base import Interrupt, side_by_side, summary
from mercer.threads import effective_n_threads

__all__ = ["Cells"]

# Centres are chosen among so many samples.
MOST_SAMPLES = 20_000
# Cells of more than so many times the wanted size are divided, so often at most: what is repeated stays together.
TOO_LARGE, DIVISIONS = 2, 8
# How far the score of a class that a cell does not have is below those that it has.
ABSENT = 1.0
# Parameters of machines that their solutions do not depend on: a checkpoint has them with these values.
NEUTRAL = {"callback": None, "memory": "auto", "n_threads": None}


def machine_has(name: str) -> Callable[[Any], bool]:
    """Whether the machines of the cells have a method."""

    def has(self: Any) -> bool:
        getattr(self.estimator, name)
        return True

    return has


class Cells(MetaEstimatorMixin, CheckpointedMachine, Labelled):
    r"""Voronoi cells with a machine each: for more samples than one machine can learn from.

    .. math:: f(x) = f_{c(x)}(x), \qquad c(x) = \arg\min_c \|x - z_c\|,

    where :math:`f_c` is what the estimator learns from the samples of cell c alone [1]_ [2]_. With cells of a fixed
    size, time grows with the number of samples in place of its square, and prediction asks one small machine. It is not
    the machine of all samples: :math:`f` jumps where one cell ends and the next begins, each cell knows its own samples
    only, and every certificate is for the problem of its cell.

    Parameters
    ----------
    estimator : classifier, regressor or novelty detector
        It is cloned for every cell, never changed. Machines of ours, or scikit-learn's.
    cell_size : int >= 1, default=2000
        How many samples a cell has on average; none has more than twice as many, unless samples are repeated. Larger is
        closer to the machine of all samples, and slower.
    centres : {"auto", "k-means", "farthest-first", "random"}, default="auto"
        Where cells have their centres: the means of groups of vectors; samples, each the farthest from those before it;
        or any samples. All look at 20 000 samples at most, and cells that are too large are divided. "auto": "k-means"
        for distances of vectors, "random" in the space of a kernel.
    space : {"auto", "vectors", "kernel"}, default="auto"
        What is near: by distances of vectors, or in the space of the estimator's kernel, which may be one on strings,
        graphs or tables. "auto": vectors where the samples are such.
    overlap : float >= 0, default=0.0
        A cell also learns from so many samples of other cells, in parts of its own: from those nearest to its border.
        More makes for smaller jumps there.
    random_state : int, RandomState or None, default=0
        Draws centres.
    checkpoint : path, Checkpoint or None, default=None
        A file of the partition and of the machines of the cells that are finished, while `fit` runs: one that was
        killed goes on with the others, see `mercer.checkpoints`. The estimator must be one that model files hold, and
        have none of its own, which all cells would share.
    memory : float > 0 or "auto", default="auto"
        Megabytes for the samples of cells that are fetched together, where X comes in blocks of rows.
    n_threads : int or None, default=None
        Cells that are learnt side by side, on one thread each; the result does not depend on it.

    Attributes
    ----------
    partition_ : Voronoi
        The centres, and which is nearest.
    estimators_ : list
        The machine of each cell, None where all samples of a cell have the same class.
    constants_ : int ndarray of shape (n_cells,)
        The number of that class, -1 for cells with a machine; classifiers only.
    labels_ : int ndarray of shape (n,)
        The cell of each training sample.
    sizes_ : int ndarray of shape (n_cells,)
        How many training samples of positive weight each cell has, those of the overlap not counted.
    certificates_ : list
        What each cell has as `result_`, None where it has no machine; for machines that have one.
    result_ : Certificate
        All of them as one: sums of objectives, bounds and gaps, and the worst violation; for machines of which each is
        a `Certificate`.
    classes_ : ndarray of shape (n_classes,)
        The classes; classifiers only.
    offset_ : float
        0: scores are decision values; novelty detectors only.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    mercer.svm.SVC : Takes more samples than memory holds as rows in blocks, exactly, or over landmarks.
    mercer.calibration.Calibrated : Around cells it learns one map to probabilities for all of them, also where cells
        lack classes.

    Notes
    -----
    n n_cells distances, and the time of a machine for `cell_size` samples in every cell. Rules about data
    (``gamma="scale"``, ``class_weight="balanced"``) are those of each cell. A classifier whose cell lacks a class gives
    it a score one below the others, and no probability. Of a novelty detector nu holds in every cell, and scores are
    decision values, which are zero on the boundary of every cell.

    References
    ----------
    .. [1] I. Steinwart, P. Thomann, liquidSVM: a fast and versatile SVM package, 2017, section 2.
    .. [2] M. Eberts, I. Steinwart, Optimal learning rates for localized SVMs, JMLR 17, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC, Cells
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(3000, 2))
    >>> y = np.sin(3 * X[:, 0]) > X[:, 1]
    >>> machine = Cells(SVC(C=10.0), cell_size=300).fit(X, y)
    >>> len(machine.estimators_), int(machine.sizes_.sum()), machine.score(X, y) > 0.97
    (10, 3000, True)
    >>> machine.result_.status, max(cell.relative_gap for cell in machine.certificates_ if cell) < 0.01
    ('solved', True)
    """

    _parameters: ClassVar[dict[str, Any]] = {
        "cell_size": Number(1, integer=True),
        "centres": Choice("auto", *RULES),
        "space": Choice("auto", "vectors", "kernel"),
        "overlap": Number(0),
    }

    def __init__(
        self,
        estimator,
        *,
        cell_size=2000,
        centres="auto",
        space="auto",
        overlap=0.0,
        random_state=0,
        checkpoint=None,
        memory="auto",
        n_threads=None,
    ):
        self.estimator = estimator
        self.cell_size = cell_size
        self.centres = centres
        self.space = space
        self.overlap = overlap
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.memory = memory
        self.n_threads = n_threads

    def __sklearn_tags__(self):
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        for name in ("estimator_type", "classifier_tags", "regressor_tags", "target_tags", "input_tags"):
            setattr(tags, name, getattr(inner, name))
        return tags

    # --- what is asked for ----------------------------------------------------------------------------------

    def _check_all(self) -> None:
        super()._check_all()
        check_memory(self.memory)
        kinds = (is_classifier, is_regressor, is_outlier_detector)
        learns = hasattr(self.estimator, "fit") and hasattr(self.estimator, "predict")
        if not learns or not any(kind(self.estimator) for kind in kinds):
            raise TypeError(f"estimator must be a classifier, regressor or novelty detector, got {self.estimator!r}.")
        for name, value in self.estimator.get_params().items():
            if name.rpartition("__")[2] == "checkpoint" and value is not None:
                raise ValueError(
                    f"estimator must have no {name}, got {value!r}: all cells would share the file; give checkpoint to "
                    f"{type(self).__name__}."
                )
        if get_tags(self.estimator).input_tags.pairwise:
            raise ValueError(
                "estimator must learn from samples, got one with a precomputed kernel: cells need samples."
            )
        if self.space == "kernel" and self._kernel() is None:
            raise ValueError(f"space must be 'auto' or 'vectors' for {self.estimator!r}, which has no kernel of ours.")
        if self.space == "vectors" and not self._vectors():
            raise ValueError(f"space must be 'auto' or 'kernel' for {self.estimator!r}, got 'vectors'.")
        if self.centres == "k-means" and self._in_kernel_space():
            raise ValueError("centres must be 'farthest-first' or 'random' in the space of a kernel, got 'k-means'.")
        if hasattr(self.estimator, "_check_all"):
            self.estimator._check_all()
        if self.checkpoint is not None:
            try:
                _noted(self._plain_estimator())
            except UnsavableError as error:
                raise ValueError(f"checkpoint must be None for an estimator that no file can hold: {error}") from error

    def _plain_estimator(self) -> Any:
        return _plain(clone(self.estimator))

    def _decisive(self) -> dict[str, Any]:
        return super()._decisive() | {"estimator": self._plain_estimator()}

    def _has_ended(self) -> bool:
        return True  # cells that ran into limits are no worse than those of a fit without a checkpoint

    def _kernel(self) -> Kernel | None:
        """The kernel of the machines, if they are ours."""
        kernel = getattr(self.estimator, "kernel", None)
        ours = type(self.estimator).__module__.partition(".")[0] == "mercer"
        return as_kernel(kernel) if ours and kernel is not None else None

    def _vectors(self) -> bool:
        kernel = self._kernel()
        return kernel is None or kernel.domain in ("vectors", "any")

    def _in_kernel_space(self) -> bool:
        return self.space == "kernel" or not self._vectors()

    def _reads_blocks(self) -> bool:
        return self._vectors()

    # --- learning -------------------------------------------------------------------------------------------

    def fit(self, X, y=None, sample_weight=None):
        """Divide the samples, and learn in every cell.

        Parameters
        ----------
        X : n samples
            As the estimator takes them, or `RowBlocks` of vectors.
        y : array of shape (n,) or (n, n_outputs), default=None
            Classes or values; ignored by novelty detectors.
        sample_weight : array of shape (n,), default=None
            Non-negative; the estimator must take weights too. A weight of 0 is no sample.

        Returns
        -------
        self
        """
        with self._all_or_nothing():
            self._forget()
            self._check_all()
            X, y = self._lesson(X, y)
            weight = self._weights(sample_weight, X)
            if sample_weight is not None and not has_fit_parameter(self.estimator, "sample_weight"):
                name = type(self.estimator).__name__
                raise TypeError(f"sample_weight needs an estimator that takes it, {name} does not.")
            codes = self._encode(y, weight) if is_classifier(self.estimator) else None
            self._divide_once(X, weight)
            self._learn(X, y, codes, weight, sample_weight is not None)
        return self

    def _forget(self) -> None:
        for name in ("classes_", "constants_", "certificates_", "result_", "feature_names_in_"):
            self.__dict__.pop(name, None)

    def _lesson(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Checked samples, and what is to be learnt about them."""
        if is_outlier_detector(self.estimator):
            self.offset_ = 0.0
            return self._take_samples(X), None
        if is_regressor(self.estimator):
            return self._take_samples(X, y, multi_output=True, y_numeric=True)
        return self._take_samples(X, y)

    def _divide_once(self, X: Any, weight: np.ndarray) -> None:
        """Find centres, and the cell of each sample, or take them from the checkpoint."""
        known = None if self._saved is None else self._saved.recall("partition")
        if known is not None:
            self.partition_, self.labels_, self.sizes_ = _recalled(known)
            return
        self._divide(X, weight)
        if self._saved is not None:
            self._saved.note("partition", _noted((self.partition_, self.labels_, self.sizes_)))

    def _divide(self, X: Any, weight: np.ndarray) -> None:
        """Find centres, and the cell of each sample."""
        rng = check_random_state(self.random_state)
        some = np.sort(drawn_without_replacement((weight > 0).astype(float), MOST_SAMPLES, rng))
        seen, kernel = self._fetch(X, some), None
        if self._in_kernel_space():
            kernel = self._kernel()
            assert kernel is not None
            kernel = kernel.resolve(seen, weight[some])
        rule = ("random" if kernel is not None else "k-means") if self.centres == "auto" else self.centres
        used = np.flatnonzero(weight)
        partition = choose_centres(seen, weight[some], -(-len(used) // self.cell_size), rule, kernel, rng)
        labels = self._cells_of(partition, X)
        for _ in range(DIVISIONS):
            sizes = np.bincount(labels[used], minlength=len(partition))
            large = np.flatnonzero(sizes > TOO_LARGE * self.cell_size)
            if not len(large):
                break
            more = []
            for cell in large:
                rows = used[labels[used] == cell]
                rows = np.sort(rng.choice(rows, size=min(len(rows), MOST_SAMPLES), replace=False))
                parts = -(-sizes[cell] // self.cell_size)
                more.append(choose_centres(self._fetch(X, rows), weight[rows], parts, rule, kernel, rng))
            for place, found in enumerate(more):
                partition = partition.without(large[[place]] - place, found.centres)
            before, labels = len(sizes), self._cells_of(partition, X)
            if len(np.unique(labels[used])) <= np.count_nonzero(sizes) and before >= len(partition):
                break  # what is left is repeated
        # A centre that is nobody's nearest one has nothing to teach.
        empty = np.setdiff1d(np.arange(len(partition)), labels[used])
        if len(empty):
            partition = partition.without(empty)
            labels = self._cells_of(partition, X)
        self.partition_, self.labels_ = partition, labels
        self.sizes_ = np.bincount(labels[used], minlength=len(partition))

    def _learn(self, X: Any, y: Any, codes: np.ndarray | None, weight: np.ndarray, weighted: bool) -> None:
        """A machine for each cell."""
        members = self._members(X, weight)
        constants = np.full(len(members), -1)
        if codes is not None:
            for cell, rows in enumerate(members):
                if (codes[rows] == codes[rows[0]]).all():
                    constants[cell] = codes[rows[0]]
            self.constants_ = constants
        machines = self._finished(len(members))
        done = np.array([machine is not None for machine in machines])
        threads = min(effective_n_threads(self.n_threads), len(members))

        def fit(cell: int, samples: Any) -> None:
            rows, machine = members[cell], clone(self.estimator)
            alone = threads > 1 and "n_threads" in machine.get_params(deep=False)
            given = machine.n_threads if alone else None
            if alone:
                machine.set_params(n_threads=1)
            if hasattr(machine, "_warns"):
                machine._warns = False
            lesson = [samples] if y is None else [samples, y[rows]]
            try:
                machine.fit(*lesson, **({"sample_weight": weight[rows]} if weighted else {}))
            except ValueError as error:  # which may well be none of all samples
                if type(error) not in (ValueError, InfeasibleError):
                    raise
                raise type(error)(f"In cell {cell} of {len(members)}, {error}") from error
            machine.__dict__.pop("_warns", None)
            if alone:
                machine.set_params(n_threads=given)
            machines[cell] = machine
            if self._saved is not None:
                with lock:
                    self._saved.note(f"cell {cell}", _noted(_plain(copy(machine))))

        lock = Lock()
        for batch in self._batches(X, members, np.flatnonzero((constants < 0) & ~done).tolist()):
            if threads > 1 and len(batch) > 1:
                side_by_side(fit, batch, threads, Interrupt())
            else:
                for task in batch:
                    fit(*task)
        self.estimators_ = machines
        results = [getattr(machine, "result_", None) for machine in machines]
        found = [result for result in results if result is not None]
        if found:
            self.certificates_ = results
        if found and all(isinstance(result, Certificate) for result in found):
            self.result_ = summary(found)
            warn_unless_solved(self.result_, f"{type(self).__name__} of {type(self.estimator).__name__}")

    def _finished(self, n_cells: int) -> list[Any]:
        """The machines that the checkpoint has, None for cells that it does not have."""
        if self._saved is None:
            return [None] * n_cells
        notes = [self._saved.recall(f"cell {cell}") for cell in range(n_cells)]
        machines = [None if note is None else _recalled(note) for note in notes]
        given = self.estimator.get_params(deep=False)
        for machine in machines:
            if machine is not None:
                machine.set_params(**{name: given[name] for name in NEUTRAL.keys() & given.keys()})
        return machines

    def _members(self, X: Any, weight: np.ndarray) -> list[np.ndarray]:
        """The samples that each cell learns from, ascending."""
        own = [np.flatnonzero((self.labels_ == cell) & (weight > 0)) for cell in range(len(self.partition_))]
        if not self.overlap or len(own) == 1:
            return own
        wanted = np.ceil(self.overlap * self.sizes_).astype(int)
        nearest: list[tuple[np.ndarray, np.ndarray]] = [(np.empty(0), np.empty(0, dtype=np.int64)) for _ in own]
        for start, block in self._pieces(X):
            for rows in row_blocks(n_samples(block), len(own)):
                numbers = np.arange(start + rows.start, start + rows.stop)
                away = self.partition_.distances(take(block, rows))
                mine = away[np.arange(len(away)), self.labels_[numbers]]
                for cell in range(len(own)):
                    others = np.flatnonzero((self.labels_[numbers] != cell) & (weight[numbers] > 0))
                    # On the border both centres are equally far.
                    farther = away[others, cell] - mine[others]
                    excess = np.append(nearest[cell][0], farther)
                    known = np.append(nearest[cell][1], numbers[others])
                    best = np.argsort(excess, kind="stable")[: wanted[cell]]
                    nearest[cell] = excess[best], known[best]
        return [np.sort(np.append(rows, found[1])) for rows, found in zip(own, nearest, strict=True)]

    def _batches(self, X: Any, members: list[np.ndarray], cells: list[int]) -> Iterator[list[tuple[int, Any]]]:
        """Cells with their samples, as many at once as may be in memory."""
        if not isinstance(X, RowBlocks):
            threads = effective_n_threads(self.n_threads)
            for first in range(0, len(cells), 4 * threads):
                yield [(cell, take(X, members[cell])) for cell in cells[first : first + 4 * threads]]
            return
        most = memory_budget(self.memory) // 2 * len(X) // max(1, X.nbytes)
        while cells:
            ends = np.cumsum([len(members[cell]) for cell in cells])
            batch = cells[: max(1, int(np.searchsorted(ends, most, side="right")))]
            cells = cells[len(batch) :]
            samples = X[np.concatenate([members[cell] for cell in batch])]
            ends = np.concatenate([[0], ends[: len(batch)]])
            yield [(cell, samples[ends[k] : ends[k + 1]]) for k, cell in enumerate(batch)]

    @staticmethod
    def _fetch(X: Any, rows: np.ndarray) -> Any:
        return X[rows] if isinstance(X, RowBlocks) else take(X, rows)

    @staticmethod
    def _pieces(X: Any) -> Iterator[tuple[int, Any]]:
        return iter(X) if isinstance(X, RowBlocks) else iter([(0, X)])

    def _cells_of(self, partition: Voronoi, X: Any) -> np.ndarray:
        return np.concatenate([partition.nearest(block) for _, block in self._pieces(X)])

    # --- answers --------------------------------------------------------------------------------------------

    def cells(self, X):
        """The cells of samples.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        int ndarray of shape (n,)
            Numbers from 0, as in `estimators_`.
        """
        check_is_fitted(self)
        return self._cells_of(self.partition_, self._check_new(X))

    def _check_new(self, X: Any) -> Any:
        if isinstance(X, RowBlocks) or not self._vectors():
            return X
        return validate_data(self, X, reset=False, **VECTORS)

    def _answers(self, X: Any, answer: Callable[[int, Any], np.ndarray]) -> np.ndarray:
        """What the cells of samples, by their numbers, answer about these."""
        check_is_fitted(self)
        if isinstance(X, RowBlocks):
            return np.concatenate([self._answers(block, answer) for _, block in X])
        X = self._check_new(X)
        cells, found = self.partition_.nearest(X), None
        order = np.argsort(cells, kind="stable")
        numbers, starts = np.unique(cells[order], return_index=True)
        for cell, rows in zip(numbers.tolist(), np.split(order, starts[1:]), strict=True):
            values = np.asarray(answer(cell, take(X, rows)))
            if found is None:
                found = np.empty((len(cells), *values.shape[1:]), dtype=values.dtype)
            found[rows] = values
        assert found is not None
        return found

    def predict(self, X):
        """What the machines of the cells predict.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,) or (n, n_outputs)
            Classes, values, or +1 for samples inside and -1 for novel ones.
        """
        check_is_fitted(self)
        if is_classifier(self.estimator):
            return self.classes_[self._answers(X, self._codes)]
        return self._answers(X, lambda cell, some: self.estimators_[cell].predict(some))

    def _codes(self, cell: int, X: Any) -> np.ndarray:
        """Numbers of the predicted classes."""
        machine = self.estimators_[cell]
        if machine is None:
            return np.full(n_samples(X), self.constants_[cell])
        return np.searchsorted(self.classes_, machine.predict(X))

    @available_if(machine_has("decision_function"))
    def decision_function(self, X):
        """Decision values of the machines of the cells.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            As those of the estimator. In a cell of one class, 1 for it; a class that a cell lacks has one less than
            the others.
        """
        check_is_fitted(self)
        if not is_classifier(self.estimator):
            return self._answers(X, lambda cell, some: self.estimators_[cell].decision_function(some))
        if len(self.classes_) > 2:
            return self._answers(X, self._scores)
        return self._answers(X, self._decision)

    def _decision(self, cell: int, X: Any) -> np.ndarray:
        """Of two classes."""
        machine = self.estimators_[cell]
        if machine is None:
            return np.full(n_samples(X), 1.0 if self.constants_[cell] else -1.0)
        return machine.decision_function(X)

    def _scores(self, cell: int, X: Any) -> np.ndarray:
        """One score for each class."""
        machine = self.estimators_[cell]
        if machine is None:
            scores, known = np.ones((n_samples(X), 1)), self.constants_[[cell]]
        else:
            scores, known = machine.decision_function(X), np.searchsorted(self.classes_, machine.classes_)
            if scores.ndim == 1:  # a cell of two classes
                scores = np.column_stack([-scores, scores])
        every = np.repeat(scores.min(axis=1, keepdims=True) - ABSENT, len(self.classes_), axis=1)
        every[:, known] = scores
        return every

    @available_if(machine_has("predict_proba"))
    def predict_proba(self, X):
        """Probabilities of the classes, 0 for those that a cell lacks.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        return self._answers(X, self._probabilities)

    def _probabilities(self, cell: int, X: Any) -> np.ndarray:
        machine = self.estimators_[cell]
        every = np.zeros((n_samples(X), len(self.classes_)))
        if machine is None:
            every[:, self.constants_[cell]] = 1.0
        else:
            every[:, np.searchsorted(self.classes_, machine.classes_)] = machine.predict_proba(X)
        return every

    @available_if(lambda self: is_outlier_detector(self.estimator))
    def score_samples(self, X):
        """How usual samples are in their cells; larger is more usual.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.decision_function(X)

    @available_if(lambda self: is_outlier_detector(self.estimator))
    def fit_predict(self, X, y=None):
        """Learn, and say of the same samples which are inside: +1, and which are novel: -1.

        Parameters
        ----------
        X : n samples
        y : ignored

        Returns
        -------
        int ndarray of shape (n,)
        """
        return self.fit(X).predict(X)

    @available_if(lambda self: not is_outlier_detector(self.estimator))
    def score(self, X, y, sample_weight=None):
        """The share of right classes, or the coefficient of determination of values.

        Parameters
        ----------
        X : n samples
        y : array of shape (n,) or (n, n_outputs)
        sample_weight : array of shape (n,), default=None

        Returns
        -------
        float
        """
        measure = accuracy_score if is_classifier(self.estimator) else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))


def _plain(machine: Any) -> Any:
    """The machine, with neutral parameters from now on: a callback is nothing that a file holds."""
    return machine.set_params(
        **{name: NEUTRAL[name] for name in NEUTRAL.keys() & machine.get_params(deep=False).keys()}
    )


def _noted(value: Any) -> dict[str, Any]:
    """What a checkpoint keeps of an object that model files can hold."""
    from mercer.persist.encoding import Encoder  # models have cells, too

    encoder = Encoder()
    root = encoder.value(value, type(value).__name__)
    return {"root": root, "nodes": encoder.nodes, **{f"/{name}": array for name, array in encoder.arrays.items()}}


def _recalled(note: dict[str, Any]) -> Any:
    """The object of which a checkpoint has this."""
    from mercer.persist.decoding import Decoder

    arrays = {name[1:]: array for name, array in note.items() if name.startswith("/")}
    return Decoder(note["nodes"], arrays).root(note["root"])
