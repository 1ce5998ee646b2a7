"""Treebanks: files, constituents of dependency trees, and the F1 of brackets."""

import gzip

import pytest
from hypothesis import given
from reference.naive_parsing import all_trees, grammars, sentences

from mercer.data import Tree
from mercer.structured import DependencyTree, bracket_f1, brackets, read_conllu

ROWS = [
    ("From", "ADP", "IN", 3, "case"),
    ("the", "DET", "DT", 3, "det"),
    ("AP", "PROPN", "NNP", 4, "obl"),
    ("comes", "VERB", "VBZ", 0, "root"),
    ("this", "DET", "DT", 6, "det"),
    ("story", "NOUN", "NN", 4, "nsubj:outer"),
    (":", "PUNCT", ":", 4, "punct"),
]
STORY = DependencyTree(*zip(*ROWS, strict=True))


def naive_brackets(tree, place=0):
    """By recursion over children."""
    if not tree.children:
        return []
    inner, here = [], place
    for child in tree.children:
        inner += naive_brackets(child, here)
        here += len(child.leaves)
    tag = len(tree.children) == 1 and not tree.children[0].children
    return ([] if tag else [(tree.label, place, here)]) + inner


def naive_f1(trees, others):
    """From the shares that are right and found."""
    pairs = [(naive_brackets(tree), naive_brackets(other)) for tree, other in zip(trees, others, strict=True)]
    common = sum(min(right.count(one), found.count(one)) for right, found in pairs for one in set(right))
    precision = common / sum(len(found) for _, found in pairs)
    recall = common / sum(len(right) for right, _ in pairs)
    return 2 * precision * recall / (precision + recall) if common else 0.0


@given(grammars(), sentences)
def test_brackets_and_their_f1(known, words):
    grammar, _ = known
    trees = list(all_trees(grammar, words))[:4]
    for tree in trees:
        assert brackets(tree) == naive_brackets(tree)
    if any(map(brackets, trees)):
        assert bracket_f1(trees, trees[::-1]) == pytest.approx(naive_f1(trees, trees[::-1]), abs=1e-15)


def test_the_f1_of_nothing_and_of_roots():
    word = Tree("S", ["a"])
    assert bracket_f1([word], [word]) == 1.0
    two, others = Tree.from_string("(S (X (A a) (B b)))"), Tree.from_string("(S (Y (A a) (B b)))")
    assert bracket_f1([two], [others]) == 0.5
    assert bracket_f1([two], [others], root=False) == 0.0
    with pytest.raises(ValueError, match="must have the same words"):
        bracket_f1([word], [Tree("S", ["b"])])


def test_constituents_of_dependencies():
    plain = STORY.without_punctuation()
    assert plain.words == STORY.words[:-1] and plain.heads == STORY.heads[:-1]
    assert str(plain.constituents()) == (
        "(S (VERBP (VERB' (PROPN' (ADP From) (PROPN' (DET the) (PROPN AP))) (VERB comes)) "
        "(NOUN' (DET this) (NOUN story))))"
    )
    assert str(STORY.constituents("tags", nested=False)) == (
        "(S (VERBP (PROPNP ADP DET PROPN) VERB (NOUNP DET NOUN) PUNCT))"
    )
    assert str(plain.constituents("fine_tags", "relations")) == (
        "(S (root (root' (obl' IN (obl' DT NNP)) VBZ) (nsubj' DT NN)))"
    )


def test_crossed_dependencies_have_no_constituents():
    crossed = DependencyTree(tuple("abcd"), ("X",) * 4, ("x",) * 4, (3, 4, 0, 3), ("dep",) * 4)
    assert STORY.projective and not crossed.projective
    with pytest.raises(ValueError, match="must not be crossed for constituents, got 'a b c d'"):
        crossed.constituents()
    with pytest.raises(ValueError, match=r"heads must lead to 0 from every word, got \(2, 1\)"):
        DependencyTree(("a", "b"), ("X",) * 2, ("x",) * 2, (2, 1), ("dep",) * 2).constituents()
    with pytest.raises(ValueError, match="leaves must be 'words', 'tags' or 'fine_tags', got 'forms'"):
        STORY.constituents("forms")
    with pytest.raises(ValueError, match="labels must be 'tags' or 'relations', got 'none'"):
        STORY.constituents(labels="none")


def line(number, word="_", tag="_", fine="_", head="_", relation="_"):
    return "\t".join([str(number), word, "_", tag, fine, "_", str(head), relation, "_", "_"])


def test_files(tmp_path):
    rows = [line(k, *row) for k, row in enumerate(ROWS, 1)]
    text = "\n".join(["# text = ...", line("1-2", "Fromthe"), *rows[:3], line("3.1", "empty"), *rows[3:]])
    plain, packed = tmp_path / "a.conllu", tmp_path / "a.conllu.gz"
    plain.write_text(f"{text}\n\n{text}\n", encoding="utf-8")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read_conllu(plain) == read_conllu(str(packed)) == [STORY, STORY]
    plain.write_text(f"{text}\n8\tbad\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"Line 11 of .* must have ten fields and a head, got '8\\tbad"):
        read_conllu(plain)
