"""A learner that asks for the labels it needs."""

from collections.abc import Callable
from functools import cached_property
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from mercer.active.answers import Answer, Told
from mercer.active.batches import next_batch
from mercer.active.following import Follower
from mercer.active.journal import OWN, AnswerJournal, named
from mercer.active.lessons import Lessons
from mercer.active.pool import Pool, Scores
from mercer.active.rules import Random, as_rule, as_start
from mercer.active.serving import Labelling, serve
from mercer.active.stopping import BandEmpty, Budget, as_stopping_rules, name_of
from mercer.fingerprint import fingerprint
from mercer.gram import Gram
from mercer.gram.memory import check_memory
from mercer.kernels.samples import row_blocks
from mercer.parameters import Choice, Number
from mercer.threads import effective_n_threads, limit_threads

__all__ = ["ActiveLearner"]


class ActiveLearner:
    """Asks for the labels of those samples of a pool from which a classifier learns most. [CY §1.8]

    A sample within the margin band raises the dual objective W of a support vector machine whatever its label is, one
    outside only if it was predicted wrongly. The closest to the hyperplane raises it most: it is the one to ask for.
    So a person or a program is asked (`query`), answers (`tell`), and the machine is fitted again, from where it was.

    Until answers of two classes are known, and the estimator takes them, samples are asked for in the order of `start`;
    answers that are known before can be told first.

    Parameters
    ----------
    estimator : classifier
        Any with `fit` and `decision_function` or `predict_proba`; it is cloned. With kernel machines of this library
        nothing is computed twice. Parameters that a kernel takes from the data, such as ``gamma="scale"``, are taken
        from the pool, once; machines that learn their kernel (`mercer.mkl`) take them from the answers.
    pool : n samples
        As the estimator takes them; the n x n kernel matrix for a precomputed kernel.
    oracle : callable, array of n labels or None, default=None
        ``oracle(i)`` gives the class of the sample of number i, or None if it cannot tell. None: answers come through
        `tell` alone.
    rule : {"closest", "random", "farthest", "probability", "maxmin", "ratio"} or callable, default="closest"
        What is asked for, see Notes. A callable gets the learner and the numbers of the samples that may be asked for,
        and gives a number for each of them: the smallest comes first. Differences below 1e-9 are none.
    stop : {"band", "objective", "mistakes"}, callable, several of them or None, default="band"
        When to stop: `BandEmpty`, `ObjectiveLevel`, `MistakesLevel`, whichever speaks first. It is only advice for
        those who `query`.
    budget : int >= 1 or None, default=None
        Stop after so many answers at the latest.
    batch : int >= 1, default=1
        How many samples are asked for at a time.
    diversity : float >= 0 and <= 1, default=0.5
        How much samples of a batch avoid small angles to each other in feature space, against what the rule says.
        [Brinker 2003] 0: not at all, as always for "random".
    classes : sequence or None, default=None
        The classes, so that an answer that is none of them is refused. None: those among the answers.
    start : {"random", "spread"} or callable, default="random"
        What is asked for before two classes are known: any sample, or the one farthest from all that were asked for.
    path : path-like or None, default=None
        A file that keeps every answer, on disk before it is learnt. If it is there, the learner goes on from it.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values of the pool.
    n_threads : int or None, default=None
        Threads for kernel values of the pool.
    random_state : int, RandomState instance or None, default=0
        Orders the samples for "random" and "spread".

    Attributes
    ----------
    estimator_ : classifier
        Fitted to all answers. A new one after each of them.
    classes_ : ndarray
        The classes: those given, or those among the answers.
    labelled_ : int ndarray
        Numbers of the answered samples, in the order of the answers.
    labels_ : ndarray
        Their classes.
    skipped_ : int ndarray
        Numbers of the samples that nobody could tell.
    history_ : list of Answer
        One record per answer.
    gain_ : ndarray
        By how much each answer has raised the dual objective.
    stopped_ : str
        The name of the stopping rule that speaks, "pool" if nothing is left to ask for, or "".

    See Also
    --------
    label_order : The order in which labelled samples are best learnt.

    Notes
    -----
    The rules are `Closest`, `Random`, `Farthest`, `LeastSure` ("probability") and `VersionSpace` ("maxmin", "ratio").

    For kernel machines an answer costs one fit, O(n) kernel values for its sample against the pool, and O(n n_support)
    multiplications; n_support n float64 numbers are kept as far as `memory` allows, and where it does not, kernel
    values are computed again for samples whose coefficients have changed. Other estimators are asked about the whole
    pool after each answer. A batch of k takes O(k^2) kernel values more. Decision values are those of the machine up to
    rounding, of float32 for a pool of float32 vectors.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 1.8.
    .. [2] C. Campbell, N. Cristianini, A. Smola, Query learning with large margin classifiers, ICML 2000.
    .. [3] S. Tong, D. Koller, Support vector machine active learning with applications to text classification, JMLR 2,
       2001.
    .. [4] K. Brinker, Incorporating diversity in active learning with support vector machines, ICML 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.active import ActiveLearner
    >>> pool = np.linspace(-1, 1, 201)[:, np.newaxis]
    >>> learner = ActiveLearner(SVC("linear", C=100.0), pool)
    >>> learner.tell([0, 200], ["left", "right"])
    >>> learner.query()
    array([100])
    >>> learner.tell(100, "left")
    >>> learner.query()
    array([150])

    With an oracle it goes on by itself:

    >>> oracle = lambda i: "left" if pool[i] < 0.3 else "right"
    >>> learner = ActiveLearner(SVC("linear", C=1e6), pool, oracle).learn()
    >>> len(learner.labelled_) < 15, learner.stopped_, np.mean(learner.label_pool() == [oracle(i) for i in range(201)])
    (True, 'band', np.float64(1.0))
    """

    def __init__(
        self,
        estimator: Any,
        pool: Any,
        oracle: Any = None,
        *,
        rule: Any = "closest",
        stop: Any = "band",
        budget: int | None = None,
        batch: int = 1,
        diversity: float = 0.5,
        classes: Any = None,
        start: Any = "random",
        path: Any = None,
        memory: float | str = "auto",
        n_threads: int | None = None,
        random_state: Any = 0,
    ):
        for name, value, allowed in (
            ("budget", budget, Number(1, integer=True, none=True)),
            ("batch", batch, Number(1, integer=True)),
            ("diversity", diversity, Number(0, 1)),
        ):
            if problem := allowed.problem(value):
                raise ValueError(f"{name} {problem}")
        check_memory(memory)
        effective_n_threads(n_threads)
        if not hasattr(estimator, "fit") or isinstance(estimator, type) or not is_classifier(estimator):
            raise TypeError(f"estimator must be a classifier, got {estimator!r}.")
        self.estimator, self.pool, self.oracle = estimator, pool, oracle
        self.rule, self.stop, self.budget, self.batch, self.diversity = rule, stop, budget, batch, diversity
        self.classes, self.start, self.path = classes, start, path
        self.memory, self.n_threads, self.random_state = memory, n_threads, random_state

        self._rule, self._start = as_rule(rule), as_start(start)
        self._stop = as_stopping_rules(stop) + (() if budget is None else (Budget(budget),))
        self._pool = Pool(pool, estimator, memory)
        follower = Follower(estimator, self._pool, n_threads)
        if not follower.has_band and any(isinstance(rule, BandEmpty) for rule in self._stop):
            raise ValueError(f"stop='band' needs an estimator with decision_function, got {estimator!r}.")
        if oracle is not None and not callable(oracle):
            oracle = np.asarray(oracle)
            if oracle.shape != (self._pool.n,):
                raise ValueError(f"oracle must be callable or have one label for each of {self._pool.n} samples.")
        self._oracle = oracle
        self._seed = seed_of(random_state)

        self._told = Told(self._pool.n, classes)
        self._lessons = Lessons(self._told, follower)
        if path is not None:
            self._go_on(path)

    # --- asking and telling -------------------------------------------------------------------------------

    def query(self, k: int | None = None) -> np.ndarray:
        """The samples to label next.

        Asked again without an answer in between, it gives the same samples.

        Parameters
        ----------
        k : int >= 1 or None, default=None
            How many; None: `batch`. Fewer if fewer are left.

        Returns
        -------
        int ndarray of shape (k,)
            Their numbers in the pool, the most wanted first.
        """
        k = self.batch if k is None else k
        if problem := Number(1, integer=True).problem(k):
            raise ValueError(f"k {problem}")
        if k > len(self._told.asked):
            with limit_threads(self.n_threads):
                self._told.asked += self._choose(int(k) - len(self._told.asked))
        return np.array(self._told.asked[:k], dtype=np.int64)

    def tell(self, i: Any, y: Any, *, learn: bool = True) -> None:
        """Answer: the sample of number i is of class y.

        Several answers given together are one fit. If that is interrupted, the answers are kept all the same, and
        learnt as soon as the machine is needed.

        Parameters
        ----------
        i : int or array of ints
        y : class or array of classes
        learn : bool, default=True
            Whether to fit the machine again at once. If not, that is done as soon as it is needed, for the next
            `query` at the latest, together for all that was told until then.
        """
        if problem := Choice(True, False).problem(learn):
            raise ValueError(f"learn {problem}")
        new = self._told.new_answers(i, y)
        if new:
            self._lessons.tell(new, learn)

    def skip(self, i: Any) -> None:
        """Nobody can tell: the samples of these numbers are never asked for again.

        Parameters
        ----------
        i : int or array of ints
        """
        numbers = self._told.new_skips(i)
        if numbers:
            self._lessons.skip(numbers)

    def correct(self, i: int, y: Any) -> None:
        """The answer for the sample of number i was wrong; it is of class y.

        Its record in `history_` has the new answer, and mistakes are counted anew; what else is in the record is of its
        time.

        Parameters
        ----------
        i : int
        y : class
        """
        number, label = self._told.correction(i, y)
        if label != self._told.answers[number]:
            self._lessons.correct(number, label)

    def learn(self, n: int | None = None, callback: Callable[[Any], Any] | None = None) -> Self:
        """Ask the oracle until a stopping rule speaks.

        Parameters
        ----------
        n : int >= 1 or None, default=None
            So many answers at most.
        callback : callable or None, default=None
            Called with the learner whenever it has learnt answers, one or a batch of them; a true value stops it.

        Returns
        -------
        self

        Notes
        -----
        If the oracle fails within a batch, what it has answered before is learnt.
        """
        if self.oracle is None:
            raise ValueError("learn needs an oracle; without one, query and tell.")
        if problem := Number(1, integer=True, none=True).problem(n):
            raise ValueError(f"n {problem}")
        if callback is not None and not callable(callback):
            raise TypeError(f"callback must be callable or None, got {callback!r}.")
        last = np.inf if n is None else len(self._told.answers) + n
        last = last if self.budget is None else min(last, max(self.budget, len(self._told.answers)))
        while (left := last - len(self._told.answers)) > 0 and not self.stopped_:
            if self._ask(self.query(int(min(self.batch, left)))) and callback is not None and callback(self):
                break
        return self

    def _ask(self, numbers: np.ndarray) -> bool:
        """Tell what the oracle says of some samples; whether there was any answer."""
        ask = self._oracle if callable(self._oracle) else self._oracle.__getitem__
        known: dict[int, Any] = {}
        unknown: list[int] = []
        try:
            for i in numbers.tolist():
                answer = ask(i)
                if answer is None:
                    unknown.append(i)
                else:
                    known.update(self._told.new_answers(i, answer))
        finally:
            self.skip(unknown)
            self.tell(list(known), list(known.values()))
        return bool(known)

    # --- what is known ------------------------------------------------------------------------------------

    @property
    def estimator_(self) -> Any:
        """The machine, fitted to all answers."""
        self._lessons.follow()
        if self._lessons.follower.machine is not None:
            return self._lessons.follower.machine
        n_answers, n_classes = len(self._told.answers), len(set(self._told.answers.values()))
        if n_classes > 1:
            refusal = self._lessons.follower.refusal
            raise NotFittedError(f"There is no machine, the estimator refuses the {n_answers} answers: {refusal}")
        raise NotFittedError(
            "There is no machine yet: answers of two classes are needed, there are "
            f"{n_classes} among {n_answers} answers."
        )

    @property
    def is_fitted(self) -> bool:
        """Whether there is a machine: answers of two classes are known, and the estimator takes them."""
        self._lessons.follow()
        return self._lessons.follower.machine is not None

    @property
    def classes_(self) -> np.ndarray:
        """The classes: those given, or those among the answers."""
        return np.array(sorted(self._told.classes), dtype=None if self._told.classes else np.int64)

    @property
    def labelled_(self) -> np.ndarray:
        """Numbers of the answered samples, in the order of the answers."""
        return np.fromiter(self._told.answers, dtype=np.int64, count=len(self._told.answers))

    @property
    def labels_(self) -> np.ndarray:
        """The classes of the answered samples."""
        return np.array(list(self._told.answers.values()))

    @property
    def skipped_(self) -> np.ndarray:
        """Numbers of the samples that nobody could tell."""
        return np.fromiter(self._told.skipped, dtype=np.int64, count=len(self._told.skipped))

    @property
    def seen_(self) -> np.ndarray:
        """Numbers of the samples that were answered or skipped."""
        return np.concatenate([self.labelled_, self.skipped_])

    @cached_property
    def shuffled_(self) -> np.ndarray:
        """The places of the samples in an order drawn by chance."""
        return np.random.RandomState(self._seed).permutation(self._pool.n)

    @property
    def history_(self) -> list[Answer]:
        """One record per answer."""
        return list(self._lessons.history)

    @property
    def gain_(self) -> np.ndarray:
        """By how much each answer has raised the dual objective."""
        return np.array([answer.gain for answer in self._lessons.history])

    @property
    def stopped_(self) -> str:
        """The name of the stopping rule that speaks, "" if none does."""
        speaks = next((name_of(rule) for rule in self._stop if rule(self)), "")
        return speaks or ("" if self._told.open.any() else "pool")

    def machine_after(self, n: int) -> Any:
        """A machine of the first n answers: what `estimator_` was then, up to its tolerance.

        Parameters
        ----------
        n : int >= 2
            Of two classes at least.

        Returns
        -------
        classifier
            Fitted anew, with the kernel of the pool.
        """
        if problem := Number(2, max(2, len(self._told.answers)), integer=True).problem(n):
            raise ValueError(f"n {problem}")
        return self._lessons.follower.fitted(dict(list(self._told.answers.items())[:n]))

    def decision(self) -> np.ndarray:
        """Decision values of the pool by the machine of now.

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            As `decision_function` of `estimator_` gives them.
        """
        return self._scored().decision().copy()

    def closeness(self) -> np.ndarray:
        """How far the samples of the pool are from the hyperplane, in decision values.

        Returns
        -------
        ndarray of shape (n,)
            Absolute decision values of two classes. Of more, those of the machine between the two best classes; where
            there are no machines for pairs, half the difference of the two best decision values.
        """
        return self._scored().closeness().copy()

    def probabilities(self) -> np.ndarray:
        """Probabilities of the classes for the pool, by `predict_proba` of `estimator_`.

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        machine = self.estimator_
        return np.concatenate([machine.predict_proba(part) for part in self._pool.blocks(self.labelled_)])

    def in_band(self) -> np.ndarray:
        """Which unlabelled samples lie within the margin band.

        Returns
        -------
        bool ndarray of shape (n,)
            Where `closeness` is below 1, by more than 1e-3: who is closer to the edge, such as a copy of a support
            vector, lies on it. Skipped samples do not count.
        """
        if not self._lessons.follower.has_band:
            raise ValueError(f"The margin band needs an estimator with decision_function, got {self.estimator!r}.")
        self._scored()
        return self._lessons.in_band()

    def predict(self, X: Any) -> np.ndarray:
        """Classes of any samples, by `estimator_`.

        Parameters
        ----------
        X : samples
            For a precomputed kernel, their kernel values with all samples of the pool.

        Returns
        -------
        ndarray
        """
        machine = self.estimator_
        return machine.predict(X[:, self.labelled_] if self._pool.pairwise else X)

    def label_pool(self) -> np.ndarray:
        """Classes of all samples of the pool: the answers, and predictions where there are none.

        Returns
        -------
        ndarray of shape (n,)
        """
        scores = self._scored()
        labels = np.concatenate(
            [scores.predict(np.arange(rows.start, rows.stop)) for rows in row_blocks(self._pool.n, 256)]
        )
        labels[self.labelled_] = self.labels_
        return labels

    def kernel_matrix(self, numbers: np.ndarray) -> Gram:
        """The kernel matrix of some samples of the pool; of plain vectors if the estimator has no kernel of ours."""
        return self._pool.part(numbers)

    def squared_distances(self, numbers: np.ndarray) -> np.ndarray:
        """Squared distances in feature space of all samples of the pool to the nearest of some, shape (n,)."""
        gram = self._pool.gram
        diagonal, nearest = gram.diag(), np.full(gram.n, np.inf)
        for part in row_blocks(len(numbers), gram.n):
            distances = diagonal[numbers[part], np.newaxis] + diagonal - 2.0 * gram.rows(numbers[part])
            np.minimum(nearest, distances.min(axis=0), out=nearest)
        return nearest

    @classmethod
    def load(cls, path: Any, estimator: Any, pool: Any, oracle: Any = None, **settings: Any) -> Self:
        """Go on from a file of answers, with the next question where the last one was answered.

        Parameters
        ----------
        path : path-like
            The `path` of the learner that wrote it.
        estimator, pool, oracle
            As they were; another pool is refused, another estimator is fitted to the answers.
        **settings
            Other parameters; those that are not given are as they were. Rules of one's own have to be given.

        Returns
        -------
        ActiveLearner
        """
        before = AnswerJournal.settings_of(path)
        for name in ("rule", "stop", "start"):
            if name not in settings and before[name] == OWN:
                raise ValueError(f"{name} must be given: the learner of {str(path)!r} had one of its own.")
        return cls(estimator, pool, oracle, **{**before, **settings}, path=path)

    def serve(
        self,
        port: int = 0,
        *,
        show: Any = None,
        open_browser: bool = True,
        block: bool = True,
        title: str = "Labelling",
    ) -> Labelling:
        """Ask people: open a page in the browser that shows the next sample and takes its class by mouse or key.

        The page is open to this machine alone, and to those who know its address, which ends in a token drawn anew
        every time. It needs the classes: those given to the learner, or those among its answers. Each answer is told to
        the learner before the next question appears, so that the page can be closed and opened again at any time; with
        a `path` the program may end as well. The machine learns after every answer, or after every `batch` of them.

        Parameters
        ----------
        port : int >= 0 and <= 65535, default=0
            0: one that is free.
        show : callable, n samples or None, default=None
            What to look at: a function of a sample, or things to show instead of the samples of the pool, in the same
            order. Each is a str (a text, or a sequence if it is letters and digits), a dict or an array of one axis (a
            table), an array of two or three axes (an image), a list or tuple of symbols, a `mercer.data.Graph`, a
            `mercer.data.Tree`, or an `SVG`. None: the samples themselves.
        open_browser : bool, default=True
            Whether to open the page in the browser of this machine.
        block : bool, default=True
            Whether to wait until the page is closed by its button or by Ctrl-C. The address is then written to the
            standard error stream. If not, the page works in threads of its own, and the learner is to be used through
            `Labelling.paused` until it is closed.
        title : str, default="Labelling"
            What is asked.

        Returns
        -------
        Labelling
            The page; closed already if `block`.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import SVC
        >>> from mercer.active import ActiveLearner
        >>> learner = ActiveLearner(SVC(), np.arange(10.0).reshape(-1, 1), classes=["low", "high"])
        >>> page = learner.serve(block=False, open_browser=False)
        >>> page.close()
        """
        return serve(self, port, show=show, open_browser=open_browser, block=block, title=title)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.estimator!r}, <{self._pool.n} samples>, {len(self._told.answers)} answers)"

    def _scored(self) -> Scores:
        """What the machine of now says of the pool."""
        self.estimator_  # noqa: B018  there has to be one
        return self._lessons.follower.scores()

    # --- choosing -----------------------------------------------------------------------------------------

    def _choose(self, k: int) -> list[int]:
        """The next samples to ask for, after those that are asked for already."""
        free = self._told.open.copy()
        free[self._told.asked] = False
        candidates = np.flatnonzero(free)
        k = min(k, len(candidates))
        if k == 0:
            return []
        rule = self._rule if self.is_fitted else self._start
        scores = np.asarray(rule(self, candidates), dtype=np.float64)
        if scores.shape != candidates.shape or np.isnan(scores).any():
            raise ValueError(
                f"rule must give a number for each of {len(candidates)} samples, {name_of(rule)} gave an array of "
                f"shape {scores.shape}{' with NaN' if np.isnan(scores).any() else ''}."
            )
        diversity = 0.0 if isinstance(rule, Random) else self.diversity
        chosen = next_batch(self._pool, candidates, scores, k, self._told.asked, diversity)
        return chosen.tolist()

    # --- the file -----------------------------------------------------------------------------------------

    def _go_on(self, path: Any) -> None:
        """Open the file of answers, and learn those that are in it."""
        classes = list(self._told.classes) if self._told.given else None
        settings = {
            "rule": named(self.rule),
            "stop": named(self.stop),
            "start": named(self.start),
            "budget": self.budget,
            "batch": int(self.batch),
            "diversity": float(self.diversity),
            "classes": classes,
            "random_state": self._seed,
        }
        journal = AnswerJournal.open(path, fingerprint(self.pool), self._pool.n, settings, classes)
        if not isinstance(self.random_state, Integral):  # drawn by chance, once
            self._seed = journal.header["settings"]["random_state"]
        self._lessons.go_on(journal)


def seed_of(random_state: Any) -> int:
    """A seed, drawn by chance unless it is one."""
    if not isinstance(random_state, Integral):
        return int(check_random_state(random_state).randint(2**31 - 1))
    if not 0 <= int(random_state) < 2**32:
        raise ValueError(f"random_state must be an int >= 0 and < 2**32, a generator or None, got {random_state!r}.")
    return int(random_state)
