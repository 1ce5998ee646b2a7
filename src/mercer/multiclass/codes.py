"""Error-correcting codes: every class a word, every machine one of its letters."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.multiclass.base import Scheme
from mercer.parameters import Choice, Number

__all__ = ["ErrorCorrectingCode"]

# Exhaustive codes have 2^(K - 1) - 1 columns: 511 of them for so many classes.
MOST_EXHAUSTIVE = 10
# Columns of random codes per bit of class number, and the share of classes that a column leaves out. [Allwein §5]
LETTERS_PER_BIT = {"dense": 10, "sparse": 15}
LEFT_OUT = {"dense": 0.0, "sparse": 0.5}
# Codes that are drawn, of which the best is taken; fewer where comparing all words takes more than so many products.
DRAWS, MOST_PRODUCTS = 1000, 2e9
# How often columns are drawn until there are enough different ones.
PATIENCE = 1000


class CodeMatrix:
    """The word for a kind of code, or a table of numbers; its entries are checked when the classes are known."""

    WORDS = ("exhaustive", "dense", "sparse")

    @classmethod
    def problem(cls, value: Any) -> str | None:
        """What is wrong with the value, None when nothing is."""
        if isinstance(value, str):
            allowed = value in cls.WORDS
        else:
            table = np.asarray(value)
            allowed = table.ndim == 2 and table.dtype.kind in "iuf" and bool(np.isin(table, (-1, 0, 1)).all())
        words = " or ".join(map(repr, cls.WORDS))
        return None if allowed else f"must be {words} or a matrix of -1, 0 and 1 with a row per class, got {value!r}."


class ErrorCorrectingCode(Scheme):
    """Every class has a word, every machine learns a letter of it; the class with the nearest word wins.

    A machine has the classes with letter +1 on one side and those with -1 on the other; those with 0 it does not see.
    With words at distance d, up to floor((d - 1) / 2) machines may be wrong about a sample without any harm to a decoding
    by letters. The score of a class is minus the distance of what the machines say from its word:

    .. math::

        -\\sum_s \\tfrac12 (1 - M_{ks} \\operatorname{sign} f_s(x)) \\quad\\text{("hamming")}, \\qquad
        -\\sum_s L(M_{ks} f_s(x)) \\quad\\text{("loss")},

    with the code M and the loss L of the machines [1]_.

    Parameters
    ----------
    code : {"exhaustive", "dense", "sparse"} or array of shape (n_classes, length), default="dense"
        "exhaustive": all 2^(K-1) - 1 ways to part the classes, up to ten classes. "dense": random letters -1 and 1.
        "sparse": random letters, half of them 0. An array of -1, 0 and 1 is taken as it is.
    decoding : {"hamming", "loss"}, default="loss"
        How far what the machines say is from a word: in letters, or by the loss of the machines.
    length : int >= 1 or None, default=None
        Columns of a random code; None: 10 log2 K for dense codes, 15 log2 K for sparse ones, and never more than there
        are different ones. More are safer and dearer.
    random_state : int, RandomState or None, default=0
        The same number gives the same code.

    Notes
    -----
    Every column has both signs, no column is the same as another or its opposite (such machines would err together), and
    every two classes are told apart by a machine. Of many random codes the one with the largest distance between its
    nearest words is taken; a letter that one of two words lacks counts a half.

    References
    ----------
    .. [1] E. L. Allwein, R. E. Schapire, Y. Singer, Reducing multiclass to binary: a unifying approach for margin
       classifiers, JMLR 1, 2000.
    .. [2] T. G. Dietterich, G. Bakiri, Solving multiclass learning problems via error-correcting output codes, JAIR 2,
       1995.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.multiclass import ErrorCorrectingCode
    >>> X, y = [[0.0], [1.0], [4.0], [5.0], [9.0], [10.0]], ["a", "a", "b", "b", "c", "c"]
    >>> scheme = ErrorCorrectingCode(code="exhaustive", decoding="hamming")
    >>> SVC(C=100.0, multi_class=scheme).fit(X, y).predict([[0.4], [4.4], [9.9]])
    array(['a', 'b', 'c'], dtype='<U1')
    """

    _parameters = {
        "code": CodeMatrix,
        "decoding": Choice("hamming", "loss"),
        "length": Number(1, integer=True, none=True),
    }

    def __init__(self, code="dense", decoding="loss", length=None, random_state=0):
        self.code = code
        self.decoding = decoding
        self.length = length
        self.random_state = random_state

    def check(self):
        super().check()
        check_random_state(self.random_state)
        if self.length is not None and not (isinstance(self.code, str) and self.code != "exhaustive"):
            raise ValueError("length is for random codes ('dense' or 'sparse'); leave it None for other ones.")

    def sides(self, n_classes):
        if not isinstance(self.code, str):
            words = np.asarray(self.code, dtype=np.float64)
            check_words(words, n_classes)
            return words.T
        if self.code == "exhaustive":
            return exhaustive_columns(n_classes)
        return self._drawn_columns(n_classes)

    def _drawn_columns(self, n_classes: int) -> np.ndarray:
        """Of some random codes that tell all classes apart, the one whose nearest words are farthest from each other."""
        kind, rng = str(self.code), check_random_state(self.random_state)
        available = n_columns(n_classes, with_zeros=kind == "sparse")
        length = self.length
        if length is None:
            length = min(available, int(np.ceil(LETTERS_PER_BIT[kind] * np.log2(n_classes))))
        elif length > available:
            raise ValueError(
                f"length must be at most {available}, the number of different {kind} columns for {n_classes} classes, "
                f"got {length}."
            )
        draws = 1 if length == available else int(np.clip(MOST_PRODUCTS / (n_classes**2 * length), 10, DRAWS))
        best, best_distance = None, 0.0
        for _ in range(draws):
            columns = different_columns(rng, n_classes, length, LEFT_OUT[kind])
            distance = smallest_distance(columns.T)
            if distance > best_distance and tells_apart(columns.T).all():
                best, best_distance = columns, distance
        if best is None:
            raise ValueError(
                f"No code of length {length} that tells {n_classes} classes apart was found; choose a larger length."
            )
        return best

    def scores(self, decision, plan):
        if self.decoding == "hamming":
            # Half the letters, minus half of those that agree less those that do not: zeros count a half.
            return 0.5 * (plan.gathered(np.where(decision > 0, 1.0, -1.0)) - plan.n_machines)
        power = 2.0 if plan.loss == "squared_hinge" else 1.0
        plus, minus = np.maximum(0.0, 1.0 - decision) ** power, np.maximum(0.0, 1.0 + decision) ** power
        # L(f) at letter 1, L(-f) at -1, L(0) = 1 at 0: the half sums and half differences of the first two.
        words = plan.per_class
        unsigned = abs(words)
        both, zeros = np.asarray((unsigned @ (plus + minus).T).T), plan.n_machines - unsigned.sum(axis=1)
        return -0.5 * (both + plan.gathered(plus - minus)) - zeros


def n_columns(n_classes: int, *, with_zeros: bool) -> int:
    """How many columns there are with both signs, not counting opposites."""
    return (3**n_classes - 2 ** (n_classes + 1) + 1) // 2 if with_zeros else 2 ** (n_classes - 1) - 1


def exhaustive_columns(n_classes: int) -> np.ndarray:
    """All columns without zeros, the first class always on the negative side. [Dietterich and Bakiri §2.3]"""
    if n_classes > MOST_EXHAUSTIVE:
        raise ValueError(
            f"code='exhaustive' is for at most {MOST_EXHAUSTIVE} classes ({2 ** (MOST_EXHAUSTIVE - 1) - 1} machines), got "
            f"{n_classes} classes; use code='dense' or 'sparse'."
        )
    numbers = np.arange(1, 2 ** (n_classes - 1))
    bits = numbers[:, np.newaxis] >> np.arange(n_classes - 1)[::-1] & 1
    return np.concatenate([np.full((len(numbers), 1), -1.0), 2.0 * bits - 1.0], axis=1)


def different_columns(rng: np.random.RandomState, n_classes: int, length: int, left_out: float) -> np.ndarray:
    """Random columns, shape (length, n_classes), with both signs, none the same as another or its opposite."""
    found = np.empty((0, n_classes))
    for _ in range(PATIENCE):
        drawn = rng.choice(
            [-1.0, 0.0, 1.0], (2 * length, n_classes), p=[(1 - left_out) / 2, left_out, (1 - left_out) / 2]
        )
        drawn = drawn[(drawn > 0).any(axis=1) & (drawn < 0).any(axis=1)]
        # Of a column and its opposite the one that starts with -1.
        first = drawn[np.arange(len(drawn)), (drawn != 0).argmax(axis=1)]
        found = np.concatenate([found, -drawn * first[:, np.newaxis]])
        kept = np.sort(np.unique(found, axis=0, return_index=True)[1])
        found = found[kept]
        if len(found) >= length:
            return found[:length]
    raise ValueError(f"No {length} different columns for {n_classes} classes were found; choose a smaller length.")


def smallest_distance(words: np.ndarray) -> float:
    """The distance of the nearest two words, in letters; where one of the two lacks a letter, a half."""
    distances = 0.5 * (words.shape[1] - words @ words.T)
    np.fill_diagonal(distances, np.inf)
    return float(distances.min())


def tells_apart(words: np.ndarray) -> np.ndarray:
    """For every two classes, whether a machine has them on different sides; a class is not compared with itself."""
    plus, minus = (words > 0).astype(float), (words < 0).astype(float)
    opposite = plus @ minus.T
    return opposite + opposite.T + np.eye(len(words)) > 0


def check_words(words: np.ndarray, n_classes: int) -> None:
    """Refuse a code that cannot be learnt or decoded."""
    if len(words) != n_classes:
        raise ValueError(f"code has {len(words)} rows, there are {n_classes} classes; give one row per class.")
    columns = words.T
    for k, column in enumerate(columns):
        if not ((column > 0).any() and (column < 0).any()):
            raise ValueError(f"code must have 1 and -1 in every column, column {k} is {column.astype(int).tolist()}.")
        for other in range(k):
            if (column == columns[other]).all() or (column == -columns[other]).all():
                raise ValueError(
                    f"code must not repeat columns, up to their sign: columns {other} and {k} are the same."
                )
    together = np.argwhere(~tells_apart(words))
    if len(together):
        i, j = together[0]
        raise ValueError(
            f"code must have 1 and -1 for every two classes in some column, it never does for {i} and {j}."
        )
