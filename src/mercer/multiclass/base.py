"""What a scheme is: class numbers in, tasks for machines out; decision values in, one score per class out."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone

from mercer.calibration.folds import HeldOut, Splits, fold_splitter
from mercer.calibration.maps import Sigmoid, fit_sigmoid
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.parameters import check_parameters
from mercer.problems import DualProblem, JointProblem
from mercer.segments import Segments
from mercer.solvers import SolverResult

__all__ = ["JointScheme", "Model", "OwnMachines", "Plan", "Scheme", "Task", "Tasks", "as_scheme"]

# The folds of calibrated schemes, and what shuffles them.
FOLDS, SEED = 5, 0


@dataclass(frozen=True, eq=False)
class Task:
    """What one machine has to learn."""

    index: np.ndarray
    """The samples that take part, ascending."""
    sign: np.ndarray
    """Their sides, -1 or +1."""
    cost: np.ndarray
    """Factors of the price of their errors."""
    target: np.ndarray
    """The wanted values of sign * decision."""


@dataclass(frozen=True, eq=False)
class Tasks(Sequence[Task]):
    """The tasks of many machines in flat arrays, see `Task`; each is made when it is asked for."""

    parts: Segments
    """The samples of every task."""
    samples: np.ndarray
    sign: np.ndarray
    cost: np.ndarray
    target: np.ndarray

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(len(self)))]
        part = self.parts[range(len(self))[k]]
        return Task(self.samples[part], self.sign[part], self.cost[part], self.target[part])


class Model(NamedTuple):
    """What a machine makes of the solution a of its problem: the coefficients are sign * a * scale."""

    scale: float
    offset: float
    edge: float
    """The decision value on the edge of the margin."""


class Scheme(BaseEstimator, ABC):
    """How several classes become machines for two, and their decision values one score per class.

    A scheme is a value: it has parameters and is never fitted. It is a code [1]_: a row for every machine with an entry
    for every class, +1 for the classes on its positive side, -1 for those on its negative side and 0 for those that it
    does not see. `plan` gives the scheme for a known number of classes. For two classes every scheme of machines for
    two is the one machine between them.

    References
    ----------
    .. [1] E. L. Allwein, R. E. Schapire, Y. Singer, Reducing multiclass to binary: a unifying approach for margin
       classifiers, JMLR 1, 2000.
    """

    unit_targets: ClassVar[bool] = True
    """Whether all machines are to reach +1 and -1."""
    calibrated: bool = False
    """Whether scores are made from log-odds, by a sigmoid for every machine, in place of decision values."""

    _parameters: ClassVar[dict[str, Any]] = {}

    @abstractmethod
    def sides(self, n_classes: int) -> csr_array | np.ndarray:
        """The sides of the classes, shape (n_machines, n_classes), for more than two classes."""

    @abstractmethod
    def scores(self, decision: np.ndarray, plan: "Plan") -> np.ndarray:
        """One score per class, shape (n, n_classes), from all decision values, shape (n, n_machines)."""

    def shortcut(
        self, kernel: Kernel | None, X: Any, Y: Any, coefficients: csr_array, intercept: np.ndarray, plan: "Plan"
    ) -> np.ndarray | None:
        """The scores without all decision values, where a scheme has a way to them; None where it has not.

        Parameters
        ----------
        kernel : Kernel or None
            None: X is the kernel matrix of samples and support vectors.
        X, Y : samples and support vectors, prepared for the kernel
        coefficients : CSR of shape (n_machines, n_support)
        intercept : array of shape (n_machines,)
        plan : Plan

        Returns
        -------
        ndarray of shape (n, n_classes) or None
        """
        return None

    def cost(self, sign: np.ndarray, weight: np.ndarray, tasks: Segments) -> np.ndarray:
        """Factors of the price of errors, in tasks that lie side by side."""
        return np.ones(len(sign))

    def target(self, sign: np.ndarray, plan: "Plan") -> np.ndarray:
        """Wanted values of sign * decision."""
        return np.ones(len(sign))

    def check(self) -> None:
        """Refuse wrong parameters."""
        check_parameters(self)

    def plan(self, n_classes: int, loss: str = "hinge") -> "Plan":
        """The scheme for so many classes.

        Parameters
        ----------
        n_classes : int >= 2
        loss : {"hinge", "squared_hinge"}, default="hinge"
            What the machines lose at a decision value, for schemes that decode by it.

        Returns
        -------
        Plan
        """
        self.check()
        # A copy: what has been learnt does not change with the parameters of the scheme.
        return Plan(clone(self), n_classes, csr_array(self._all_sides(n_classes), dtype=np.float64), loss)

    def _all_sides(self, n_classes: int) -> csr_array | np.ndarray:
        return np.array([[-1, 1]]) if n_classes == 2 else self.sides(n_classes)


class OwnMachines(Scheme):
    """A scheme whose machines are its own: not those of the classifier that uses it, nor for two."""

    @abstractmethod
    def problem(self, gram: Gram, task: Task, weight: np.ndarray) -> DualProblem:
        """The problem of one machine; weight is that of the samples of the task."""

    @abstractmethod
    def model(self, problem: DualProblem, result: SolverResult) -> Model:
        """What one machine makes of the solution of its problem; samples are inside where it is positive."""

    def _all_sides(self, n_classes):
        return self.sides(n_classes)


class JointScheme(Scheme):
    """A scheme without machines for two: one objective for the functions of all classes."""

    @abstractmethod
    def problem(
        self, gram: Gram, label: np.ndarray, cost: np.ndarray, *, bias: bool = True, index: np.ndarray | None = None
    ) -> JointProblem:
        """The problem of all classes, for class numbers and prices of errors, see `mercer.problems`."""

    def sides(self, n_classes):
        """A function per class, large for it and small for the others."""
        return 2.0 * np.eye(n_classes) - 1.0

    def scores(self, decision, plan):
        """The functions themselves."""
        return decision

    def _all_sides(self, n_classes):
        return self.sides(n_classes)


@dataclass(frozen=True, eq=False)
class Plan:
    """A scheme for a known number of classes: what a fitted machine keeps."""

    scheme: Scheme
    n_classes: int
    code: csr_array
    """The sides of the classes, shape (n_machines, n_classes): -1, 0 (left out) or +1."""
    loss: str = "hinge"
    """What the machines lose at a decision value."""
    maps: tuple[Sigmoid, ...] = ()
    """From decision values to log-odds, one per machine; empty where the scheme is not calibrated."""

    @property
    def n_machines(self) -> int:
        """How many machines there are."""
        return self.code.shape[0]

    @cached_property
    def per_class(self) -> csr_array:
        """The code with a row for every class, shape (n_classes, n_machines)."""
        return csr_array(self.code.T)

    def sizes(self, codes: np.ndarray) -> np.ndarray:
        """How many samples each machine sees; class numbers as in `tasks`."""
        members = np.bincount(codes[codes >= 0], minlength=self.n_classes)
        return Segments(self.code.indptr).sum(members[self.code.indices])

    def tasks(self, codes: np.ndarray, weight: np.ndarray, machines: range | None = None) -> Tasks:
        """The tasks of all machines, or of some.

        Parameters
        ----------
        codes : int array of shape (n,)
            Class numbers of the samples; -1: takes no part.
        weight : array of shape (n,)
            Sample weights; those of classes are for the machine to multiply with.
        machines : range of step 1, default=None

        Returns
        -------
        Tasks
        """
        everyone = np.flatnonzero(codes >= 0)
        by_class = everyone[np.argsort(codes[everyone], kind="stable")]
        members = Segments.of_sizes(np.bincount(codes[everyone], minlength=self.n_classes))
        machines = range(self.n_machines) if machines is None else machines
        # The classes that the machines see, and of these the samples.
        rows = self.code.indptr[machines.start : machines.stop + 1]
        seen = slice(rows[0], rows[-1])
        classes, of_machine = self.code.indices[seen], Segments(rows - rows[0])
        groups = Segments.of_sizes(members.sizes[classes])
        place = np.arange(groups.starts[-1]) + groups.repeat(members.starts[classes] - groups.starts[:-1])
        parts = Segments(groups.starts[of_machine.starts])
        # In ascending order within a machine: machine, sample and side make one number.
        machine, positive = parts.repeat(np.arange(len(parts))), groups.repeat(self.code.data[seen] > 0)
        key = np.sort(2 * (machine * len(codes) + by_class[place]) + positive)
        samples, sign = (key >> 1) - machine * len(codes), np.where(key & 1, 1.0, -1.0)
        cost, target = self.scheme.cost(sign, weight[samples], parts), self.scheme.target(sign, self)
        return Tasks(parts, samples, sign, cost, target)

    def splits(self, codes: np.ndarray, weight: np.ndarray, classes: np.ndarray) -> Splits:
        """The folds that a calibrated scheme learns from; none for the others, nor for two classes.

        Parameters
        ----------
        codes, weight :
            As in `tasks`.
        classes : array of shape (n_classes,)
            Their names, for errors.

        Returns
        -------
        list of (train, test)
        """
        if not self.scheme.calibrated or self.n_classes == 2:
            return []
        alone = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=self.n_classes) < 2)
        if len(alone):
            raise ValueError(
                f"calibrated must be False where a class has a single sample, as {classes.tolist()[alone[0]]!r} has, "
                "got True: one has to be learnt from, another one held out."
            )
        return fold_splitter(FOLDS, SEED)(None, codes, weight, classes)

    def learn_maps(self, held_out: HeldOut, class_weight: np.ndarray) -> "Plan":
        """The plan with a sigmoid for every machine, in which samples count as they do for the machine.

        Parameters
        ----------
        held_out : HeldOut
            All decision values, shape (m, n_machines), of samples that the machines have not been trained on.
        class_weight : array of shape (m,)
            The weights of their classes.

        Returns
        -------
        Plan
        """
        values, codes, weight = held_out
        price = weight * class_weight
        maps = (
            fit_sigmoid(values[task.index, k], task.sign > 0, task.cost * price[task.index])
            for k, task in enumerate(self.tasks(codes, weight))
        )
        return replace(self, maps=tuple(maps))

    def scores(self, decision: np.ndarray) -> np.ndarray:
        """One score per class, shape (n, n_classes); the largest wins, the first of equals."""
        if self.maps:
            slope, offset = np.array(self.maps).T
            decision = decision * slope + offset
        return self.scheme.scores(decision, self)

    def decision(self, decision: np.ndarray) -> np.ndarray:
        """What `decision_function` makes of all decision values, shape (n, n_machines).

        The only ones there are, or scores; where these are of two classes, their difference.
        """
        if self.n_machines == 1:
            return decision[:, 0]
        scores = self.scores(decision)
        return scores[:, 1] - scores[:, 0] if self.n_classes == 2 else scores

    def gathered(self, values: np.ndarray) -> np.ndarray:
        """Values of the machines, shape (n, n_machines), summed up for every class with the signs of the code."""
        return np.asarray((self.per_class @ values.T).T)


def as_scheme(scheme: Any) -> Scheme:
    """A scheme from its short name, or itself."""
    from mercer.multiclass import (
        DAG,
        CrammerSinger,
        ErrorCorrectingCode,
        LeeLinWahba,
        OneClassPerClass,
        OneVersusOne,
        OneVersusRest,
        WestonWatkins,
    )

    names: dict[str, type[Scheme]] = {
        "ovo": OneVersusOne,
        "ovr": OneVersusRest,
        "dag": DAG,
        "ecoc": ErrorCorrectingCode,
        "one_class": OneClassPerClass,
        "weston_watkins": WestonWatkins,
        "crammer_singer": CrammerSinger,
        "lee_lin_wahba": LeeLinWahba,
    }
    if isinstance(scheme, str) and scheme in names:
        return names[scheme]()
    if isinstance(scheme, Scheme):
        return scheme
    raise ValueError(f"multi_class must be {' or '.join(map(repr, names))} or a Scheme, got {scheme!r}.")
