"""Treebanks: dependency trees from files, as constituents; and how good parses are."""

import gzip
from collections import Counter
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from mercer.data import Tree

__all__ = ["DependencyTree", "bracket_f1", "brackets", "read_conllu"]


class DependencyTree(NamedTuple):
    """A sentence in which every word but one depends on another one.

    Examples
    --------
    >>> from mercer.structured import DependencyTree
    >>> tree = DependencyTree(("the", "pie"), ("DET", "NOUN"), ("DT", "NN"), (2, 0), ("det", "root"))
    >>> print(tree.constituents())
    (S (NOUN' (DET the) (NOUN pie)))
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    """The universal ones, such as NOUN."""
    fine_tags: tuple[str, ...]
    """Those of the language, such as NNS."""
    heads: tuple[int, ...]
    """For every word the number of the one that it depends on, counted from 1; 0: on none."""
    relations: tuple[str, ...]

    @property
    def projective(self) -> bool:
        """Whether every word stands, with all that depends on it, in one piece."""
        n = len(self.words)
        first, last, count = list(range(n)), list(range(n)), [1] * n
        for word in self._bottom_up():
            head = self.heads[word] - 1
            if head >= 0:
                first[head], last[head] = min(first[head], first[word]), max(last[head], last[word])
                count[head] += count[word]
        return all(last[k] - first[k] + 1 == count[k] for k in range(n))

    def without_punctuation(self) -> "DependencyTree":
        """The sentence without punctuation marks that nothing depends on."""
        kept = [k for k, tag in enumerate(self.tags) if tag != "PUNCT" or k + 1 in self.heads]
        number = {0: 0} | {k + 1: new for new, k in enumerate(kept, 1)}
        heads = tuple(number[self.heads[k]] for k in kept)

        def of_kept(part: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(part[k] for k in kept)

        words, tags, fine_tags, relations = map(of_kept, (self.words, self.tags, self.fine_tags, self.relations))
        return DependencyTree(words, tags, fine_tags, heads, relations)

    def constituents(self, leaves: str = "words", labels: str = "tags", nested: bool = True) -> Tree:
        """The constituents of a projective sentence: every word with all that depends on it.

        A word that nothing depends on is no constituent by itself. Others are labelled by the tag of the word, with a P
        for phrase: NOUNP, VERBP; or by its relation to the word that it depends on: nsubj, obl. A root S is above all.

        Parameters
        ----------
        leaves : {"words", "tags", "fine_tags"}, default="words"
            "words": words below their tags; else tags are the leaves, and there are no words.
        labels : {"tags", "relations"}, default="tags"
            Of relations, what follows a colon is left out.
        nested : bool, default=True
            False: a word takes all that depends on it at once, ``NOUNP -> DET NOUN VERBP``. True: one by one, the
            nearest first, so that rules have two items and few of them make many trees; first what is to the left,
            ``NOUN' -> DET NOUN``, then what is to the right, ``NOUNP -> NOUN' VERBP``. Labels say on which side the
            word is, so that the order is no matter of choice, and dependencies can be told from constituents.

        Returns
        -------
        Tree
        """
        if leaves not in ("words", "tags", "fine_tags"):
            raise ValueError(f"leaves must be 'words', 'tags' or 'fine_tags', got {leaves!r}.")
        if labels not in ("tags", "relations"):
            raise ValueError(f"labels must be 'tags' or 'relations', got {labels!r}.")
        if not self.projective:
            raise ValueError(f"Dependencies must not be crossed for constituents, got {' '.join(self.words)!r}.")
        below, found = self._below(), [Tree("")] * len(self.words)
        for word in self._bottom_up():
            tree = Tree(self.tags[word], [self.words[word]]) if leaves == "words" else Tree(getattr(self, leaves)[word])
            name = self.tags[word] if labels == "tags" else self.relations[word].partition(":")[0]
            phrase = name + "P" if labels == "tags" else name
            left = [found[k] for k in below[word + 1] if k < word]
            right = [found[k] for k in below[word + 1] if k > word]
            if nested:
                for part in reversed(left):
                    tree = Tree(f"{name}'", [part, tree])
                for part in right:
                    tree = Tree(phrase, [tree, part])
            elif left or right:
                tree = Tree(phrase, [*left, tree, *right])
            found[word] = tree
        return Tree("S", [found[word] for word in below[0]])

    def _bottom_up(self) -> list[int]:
        """The words, from 0 on, each after all that depend on it."""
        below = self._below()
        order, waiting = [], list(below[0])
        while waiting:
            word = waiting.pop()
            order.append(word)
            waiting.extend(below[word + 1])
        if len(order) < len(self.words):
            raise ValueError(f"heads must lead to 0 from every word, got {self.heads}.")
        return order[::-1]

    def _below(self) -> list[list[int]]:
        """What depends on the root, and on every word."""
        below: list[list[int]] = [[] for _ in range(len(self.words) + 1)]
        for word, head in enumerate(self.heads):
            below[head].append(word)
        return below


def read_conllu(path: Any) -> list[DependencyTree]:
    """Dependency trees from a file in the CoNLL-U format of Universal Dependencies. [1]_

    Words that stand for several ones and empty nodes are left out, as the basic trees have none.

    Parameters
    ----------
    path : str or Path
        May be gzipped.

    Returns
    -------
    list of DependencyTree

    References
    ----------
    .. [1] https://universaldependencies.org/format.html
    """
    path = Path(path)
    found: list[DependencyTree] = []
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        rows: list[list[str]] = []
        for number, line in enumerate([*file, "\n"], 1):
            fields = line.rstrip("\n").split("\t")
            if not line.strip():
                if rows:
                    found.append(_sentence(rows))
                rows = []
            elif len(fields) == 10 and fields[0].isdecimal() and fields[6].isdecimal():
                rows.append(fields)
            elif not (line.startswith("#") or (len(fields) == 10 and not fields[0].isdecimal())):
                raise ValueError(f"Line {number} of {path} must have ten fields and a head, got {line!r}.")
    return found


def _sentence(rows: list[list[str]]) -> DependencyTree:
    _, words, _, tags, fine_tags, _, heads, relations, _, _ = zip(*rows, strict=True)
    return DependencyTree(words, tags, fine_tags, tuple(map(int, heads)), relations)


def brackets(tree: Tree) -> list[tuple[Hashable, int, int]]:
    """The labelled brackets of a tree: label, first word and the one after the last, of every node that is not a word
    or the tag of one.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    list of (label, int, int)
        Parents before children.

    Examples
    --------
    >>> from mercer.data import Tree
    >>> from mercer.structured import brackets
    >>> brackets(Tree.from_string("(S (NP (N Paul)) (VP (V ate) (NP (Det the) (N pie))))"))
    [('S', 0, 4), ('NP', 0, 1), ('VP', 1, 4), ('NP', 2, 4)]
    """
    found: list[tuple[Hashable, int, int]] = []
    spans: list[tuple[int, int, bool]] = []  # of nodes whose parents have not come yet; and whether they are words
    place = len(tree.leaves)
    for label, arity in reversed(list(tree.preorder())):
        if arity:
            below = [spans.pop() for _ in range(arity)]
            first, last = below[0][0], below[-1][1]
            if arity > 1 or not below[0][2]:
                found.append((label, first, last))
            spans.append((first, last, False))
        else:
            place -= 1
            spans.append((place, place + 1, True))
    return found[::-1]


def bracket_f1(trees: Iterable[Tree], predicted: Iterable[Tree], root: bool = True) -> float:
    """The F1 of labelled brackets: the harmonic mean of the shares of predicted brackets that are right, and of right
    ones that are predicted, over all trees together. [1]_

    Parameters
    ----------
    trees, predicted : iterables of Tree
        Right ones and others, of the same sentences.
    root : bool, default=True
        Whether roots count, which are always right if all trees have the same.

    Returns
    -------
    float
        Between 0 and 1; 1 if there are no brackets at all.

    References
    ----------
    .. [1] E. Black et al., A procedure for quantitatively comparing the syntactic coverage of English grammars, DARPA
       Speech and Natural Language Workshop, 1991.

    Examples
    --------
    >>> from mercer.data import Tree
    >>> from mercer.structured import bracket_f1
    >>> right = Tree.from_string("(S (NP (N Paul)) (VP (V ate) (NP (Det the) (N pie))))")
    >>> flat = Tree.from_string("(S (NP (N Paul)) (V ate) (NP (Det the) (N pie)))")
    >>> round(bracket_f1([right], [flat]), 3)
    0.857
    """
    n_common = n_all = 0
    for tree, other in zip(trees, predicted, strict=True):
        if tree.leaves != other.leaves:
            raise ValueError(f"Trees to compare must have the same words, got {tree.leaves} and {other.leaves}.")
        right, found = (Counter(brackets(one)[0 if root else 1 :]) for one in (tree, other))
        n_common += (right & found).total()
        n_all += right.total() + found.total()
    return 2.0 * n_common / n_all if n_all else 1.0
