"""Labelled, ordered trees: parses of sentences, dependency trees, anything that is nested."""

import re
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

__all__ = ["Tree"]

# A bracket, or a label: anything else up to the next bracket or space; a backslash takes the character after it along.
TOKEN = re.compile(r"\s*(?:([()])|((?:[^\s()\\]|\\.)+)|(\\))", re.DOTALL)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
SPECIAL = re.compile(r"([\s()\\])")


class Tree:
    """A labelled, ordered tree that does not change.

    Two trees are equal if they have the same shape and equal labels; equal trees have equal hashes. A tree is no
    container: it has neither a length nor items, so that no library takes it for an array.

    Parameters
    ----------
    label : hashable
        Of the root.
    children : iterable of Tree or hashable, default=()
        In order. Anything but a tree becomes a leaf with this label.

    Attributes
    ----------
    label : hashable
        Of the root.
    children : tuple of Tree
        Empty for a leaf.
    n_nodes : int
        Nodes of the tree, leaves included.
    leaves : tuple
        The labels of the leaves, from left to right: the sentence of a parse tree.

    See Also
    --------
    mercer.kernels.SubTree, mercer.kernels.SubsetTree : Kernels on trees.

    Notes
    -----
    Nodes are held in preorder, one after the other, with the number of their children. Reading, writing, comparing and
    pickling are loops over them: trees may be as deep as they like. `children` copies: it takes time in proportion to
    the size of the tree.

    Examples
    --------
    >>> from mercer.data import Tree
    >>> tree = Tree.from_string("(S (NP (N Paul)) (VP (V runs)))")
    >>> tree.label, tree.leaves, tree.n_nodes
    ('S', ('Paul', 'runs'), 7)
    >>> print(tree.children[0])
    (NP (N Paul))
    >>> tree == Tree("S", [Tree("NP", [Tree("N", ["Paul"])]), Tree("VP", [Tree("V", ["runs"])])])
    True
    """

    __slots__ = ("_arities", "_hash", "_labels")

    _labels: tuple[Hashable, ...]
    _arities: tuple[int, ...]
    _hash: int

    def __init__(self, label: Hashable, children: Iterable[Any] = ()):
        parts = [child if isinstance(child, Tree) else Tree._flat((child,), (0,)) for child in children]
        self._fill(
            (label, *(label for part in parts for label in part._labels)),
            (len(parts), *(arity for part in parts for arity in part._arities)),
        )

    # --- from other forms ---------------------------------------------------------------------------------

    @classmethod
    def from_string(cls, text: str) -> "Tree":
        r"""A tree from its brackets, as treebanks write them.

        A bracket opens a node, whose label comes first; words without brackets are leaves. Labels end at a space or a
        bracket; ``\(``, ``\)``, ``\\`` and a backslash before a space stand for these characters. A node may have an
        empty label, as the outermost brackets of the Penn treebank: ``( (S ...))``.

        Parameters
        ----------
        text : str

        Returns
        -------
        Tree

        Raises
        ------
        ValueError
            With the place of the fault, counted from 0.

        Examples
        --------
        >>> from mercer.data import Tree
        >>> Tree.from_string("(S (NP Paul) (VP runs)")
        Traceback (most recent call last):
        ...
        ValueError: A tree in brackets: ')' is missing at character 22, the end of the text, for '(' at character 0.
        """
        if not isinstance(text, str):
            raise TypeError(f"A tree in brackets must be a str, got {type(text).__name__}.")
        labels: list[Hashable] = []
        arities: list[int] = []
        open_nodes: list[tuple[int, int]] = []  # their numbers, and where their brackets stand
        awaits_label = False
        position, end = 0, len(text.rstrip())
        while position < end:
            found = TOKEN.match(text, position)
            assert found is not None  # anything matches one of the three
            bracket, word, backslash = found.groups()
            at, position = found.end() - len(bracket or word or backslash), found.end()
            if backslash:
                raise ValueError(f"A tree in brackets: nothing follows the backslash at character {at}.")
            if labels and not open_nodes:
                raise ValueError(f"A tree in brackets: the tree ends before character {at}, where {text[at]!r} stands.")
            if bracket == ")":
                if not open_nodes:
                    raise ValueError(f"A tree in brackets: ')' at character {at} closes no '('.")
                open_nodes.pop()
                awaits_label = False
                continue
            if word and awaits_label:
                labels[-1] = ESCAPED.sub(r"\1", word)
                awaits_label = False
                continue
            if open_nodes:
                arities[open_nodes[-1][0]] += 1
            awaits_label = bracket == "("
            if awaits_label:
                open_nodes.append((len(labels), at))
            labels.append("" if awaits_label else ESCAPED.sub(r"\1", word))
            arities.append(0)
        if open_nodes:
            raise ValueError(
                f"A tree in brackets: ')' is missing at character {len(text)}, the end of the text, "
                f"for '(' at character {open_nodes[-1][1]}."
            )
        if not labels:
            raise ValueError("A tree in brackets: the text is empty.")
        return cls._flat(tuple(labels), tuple(arities))

    @classmethod
    def from_tuple(cls, nested: Any) -> "Tree":
        """A tree from nested tuples: the first item is the label, the others are the children.

        Parameters
        ----------
        nested : tuple or hashable
            Anything but a tuple is a leaf.

        Returns
        -------
        Tree

        Examples
        --------
        >>> from mercer.data import Tree
        >>> print(Tree.from_tuple(("S", ("NP", "Paul"), ("VP", "runs"))))
        (S (NP Paul) (VP runs))
        """

        def node(item: Any) -> tuple[Any, Iterable[Any]]:
            if not isinstance(item, tuple):
                return item, ()
            if not item:
                raise ValueError("A tree of nested tuples: every tuple needs a label as its first item, got ().")
            return item[0], item[1:]

        return cls._walked(nested, node)

    @classmethod
    def from_nltk(cls, tree: Any) -> "Tree":
        """A tree from one of nltk (``nltk.Tree``), whose labels and leaves may be anything hashable.

        Parameters
        ----------
        tree : nltk.Tree

        Returns
        -------
        Tree
        """
        if not callable(getattr(tree, "label", None)):
            raise TypeError(f"from_nltk takes a tree of nltk, got {type(tree).__name__}.")
        return cls._walked(
            tree, lambda item: (item.label(), item) if callable(getattr(item, "label", None)) else (item, ())
        )

    @classmethod
    def _walked(cls, root: Any, node: Any) -> "Tree":
        """A tree from anything whose nodes `node` turns into a label and children."""
        labels, arities, waiting = [], [], [root]
        while waiting:
            label, children = node(waiting.pop())
            children = list(children)
            labels.append(label)
            arities.append(len(children))
            waiting.extend(reversed(children))
        return cls._flat(tuple(labels), tuple(arities))

    @classmethod
    def _flat(cls, labels: tuple[Hashable, ...], arities: tuple[int, ...]) -> "Tree":
        """A tree from the labels and numbers of children of its nodes in preorder."""
        tree = object.__new__(cls)
        tree._fill(labels, arities)
        return tree

    def _fill(self, labels: tuple[Hashable, ...], arities: tuple[int, ...]) -> None:
        try:
            hashed = hash((labels, arities))
        except TypeError as error:
            raise TypeError(f"The labels of a tree must be hashable: {error}.") from error
        for name, value in (("_labels", labels), ("_arities", arities), ("_hash", hashed)):
            object.__setattr__(self, name, value)

    # --- what it is ---------------------------------------------------------------------------------------

    @property
    def label(self) -> Hashable:
        """The label of the root."""
        return self._labels[0]

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self._labels)

    @property
    def leaves(self) -> tuple[Hashable, ...]:
        """Labels of the leaves, from left to right."""
        return tuple(label for label, arity in zip(self._labels, self._arities, strict=True) if arity == 0)

    @property
    def children(self) -> tuple["Tree", ...]:
        """The subtrees below the root, in order."""
        found, start = [], 1
        for _ in range(self._arities[0]):
            missing, end = 1, start
            while missing:  # nodes that are announced and have not come yet
                missing += self._arities[end] - 1
                end += 1
            found.append(Tree._flat(self._labels[start:end], self._arities[start:end]))
            start = end
        return tuple(found)

    def preorder(self) -> Iterator[tuple[Hashable, int]]:
        """Label and number of children of every node, parents before their children, from left to right."""
        return zip(self._labels, self._arities, strict=True)

    # --- a value ------------------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"A Tree does not change; make a new one to have another {name}.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("A Tree does not change.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return self._hash == other._hash and self._arities == other._arities and self._labels == other._labels

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self):
        return Tree._flat, (self._labels, self._arities)

    def _file_parts(self) -> dict[str, Any]:
        return {"labels": self._labels, "arities": self._arities}

    @classmethod
    def _from_file_parts(cls, parts: dict[str, Any]) -> "Tree":
        labels, arities = parts["labels"], parts["arities"]
        if not (isinstance(labels, tuple) and isinstance(arities, tuple) and len(labels) == len(arities)):
            raise ValueError("A tree must have a label and a number of children for every node.")
        awaited = 1  # how many nodes are to come: none after the last one, and some before it
        for arity in arities:
            if type(arity) is not int or arity < 0 or awaited < 1:
                raise ValueError("Numbers of children are not those of one tree in preorder.")
            awaited += arity - 1
        if awaited:
            raise ValueError("Numbers of children are not those of one tree in preorder.")
        return cls._flat(labels, arities)

    def __copy__(self) -> "Tree":
        return self

    def __deepcopy__(self, memo: dict) -> "Tree":
        return self

    def __str__(self) -> str:
        """The tree in brackets, as `from_string` reads it."""
        parts: list[str] = []
        open_nodes: list[int] = []  # how many children are still to come, from the root down
        bracketed = True  # the root, and leaves that would be read as the label of the node above, or not at all
        for label, arity in self.preorder():
            text = _escaped(label)
            leaf_in_brackets = not arity and (bracketed or not text)
            space = " " if parts else ""
            parts.append(f"{space}({text}" if arity else f"{space}({text})" if leaf_in_brackets else f"{space}{text}")
            bracketed = bool(arity) and not text
            open_nodes.append(arity)
            while open_nodes and open_nodes[-1] == 0:
                open_nodes.pop()
                if open_nodes:
                    open_nodes[-1] -= 1
                    if open_nodes[-1] == 0:
                        parts.append(")")
        return "".join(parts)

    def __repr__(self) -> str:
        if all(isinstance(label, str) for label in self._labels):
            return f"Tree.from_string({str(self)!r})"
        return f"Tree.from_tuple({self._tuple_text()})"

    def _tuple_text(self) -> str:
        """Nested tuples, written without recursion."""
        finished: list[str] = []
        for label, arity in reversed(list(self.preorder())):
            below = [finished.pop() for _ in range(arity)]
            finished.append(f"({', '.join([repr(label), *below])}{',' if not below else ''})")
        return finished[0]


def _escaped(label: Hashable) -> str:
    return SPECIAL.sub(r"\\\1", str(label))
