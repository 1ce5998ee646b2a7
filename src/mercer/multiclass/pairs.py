"""One machine per pair of classes: they vote, or a sample walks from one to the next."""

import numpy as np
from scipy.sparse import csr_array

from mercer.multiclass.base import Plan, Scheme

__all__ = ["DAG", "OneVersusOne", "pair_number"]


def pair_number(first: np.ndarray, second: np.ndarray, n_classes: int) -> np.ndarray:
    """The place of the pair first < second among all pairs in lexicographic order."""
    return first * (2 * n_classes - first - 1) // 2 + second - first - 1


def all_pairs(n_classes: int) -> csr_array:
    """A row for every pair i < j in lexicographic order: -1 at i, +1 at j."""
    pairs = np.stack(np.triu_indices(n_classes, 1), axis=1)
    return csr_array(
        (np.tile([-1.0, 1.0], len(pairs)), pairs.ravel(), np.arange(0, pairs.size + 1, 2)),
        shape=(len(pairs), n_classes),
    )


class OneVersusOne(Scheme):
    """One machine per pair of classes; the class with most votes wins. [CY §1.3]

    For the pair (i, j), i < j, positive decision values speak for j. The score of a class is the number of its votes;
    equal ones are told apart by the sum of its decision values, squashed into (-1/3, 1/3) so that it never outweighs a
    vote.

    See Also
    --------
    DAG : The same machines, of which a sample asks K - 1 only.

    Notes
    -----
    K (K - 1) / 2 machines over two classes each: together they cost about as much as (K - 1) / 2 machines over all
    samples would at linear cost, and less than that as problems cost more than linearly.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.multiclass import OneVersusOne
    >>> X, y = [[0.0], [1.0], [4.0], [5.0], [9.0], [10.0]], ["a", "a", "b", "b", "c", "c"]
    >>> SVC(kernel="linear", multi_class=OneVersusOne()).fit(X, y).decision_function([[4.4]]).round()
    array([[0., 2., 1.]])
    """

    def sides(self, n_classes):
        return all_pairs(n_classes)

    def scores(self, decision, plan):
        wins = np.where(decision > 0, 1.0, -1.0)
        votes = 0.5 * (plan.gathered(wins) + (plan.n_classes - 1))  # won minus lost, of K - 1 in all
        sums = plan.gathered(decision)
        return votes + sums / (3.0 * (np.abs(sums) + 1.0))


class DAG(Scheme):
    """The machines of all pairs in a directed acyclic graph: every sample asks K - 1 of them. [CY fig 1.4]

    Of the classes that are left, in their order, the first meets the last, and the loser is out; so it goes on until
    one is left. The score of a class is when it went out: 0 for the first to go, K - 1 for the winner. A class that wins
    all its pairs wins here too, whatever the order of the classes; where there is none, the order has a say.

    See Also
    --------
    OneVersusOne : All machines are asked, and vote.

    Notes
    -----
    Training costs as much as that of `OneVersusOne`. For a prediction, the kernel values of a machine are computed for
    the samples that reach it, or those of all support vectors once for every sample, whichever is less.

    References
    ----------
    .. [1] J. C. Platt, N. Cristianini, J. Shawe-Taylor, Large margin DAGs for multiclass classification, NIPS 12, 2000.
    .. [2] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 1.3 and figure 1.4.

    Examples
    --------
    >>> from mercer import SVC
    >>> X, y = [[0.0], [1.0], [4.0], [5.0], [9.0], [10.0]], ["a", "a", "b", "b", "c", "c"]
    >>> machine = SVC(kernel="linear", multi_class="dag").fit(X, y)
    >>> machine.decision_function([[4.4]]), machine.predict([[4.4]])
    (array([[1., 2., 0.]]), array(['b'], dtype='<U1'))
    """

    walks = True

    def sides(self, n_classes):
        return all_pairs(n_classes)

    def scores(self, decision, plan):
        n, K = len(decision), plan.n_classes
        out, samples = np.empty((n, K)), np.arange(n)
        first, last = np.zeros(n, dtype=np.int64), np.full(n, K - 1)
        for step in range(K - 1):
            last_wins = decision[samples, pair_number(first, last, K)] > 0
            out[samples, np.where(last_wins, first, last)] = step
            first, last = first + last_wins, last - ~last_wins
        out[samples, first] = K - 1
        return out
