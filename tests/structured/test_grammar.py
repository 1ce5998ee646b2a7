"""Context-free grammars: best trees are those of all trees, and what is no grammar is refused."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from reference.naive_parsing import SYMBOLS, all_trees, grammars, score, sentences

from mercer.data import Tree
from mercer.errors import GrammarError, ParseError
from mercer.structured import ContextFreeGrammar, Rule, Word

ENGLISH = ContextFreeGrammar("""
    S -> NP VP            # a remark
    NP -> N | Det N | NP PP
    VP -> V NP | VP PP
    PP -> P NP
    N -> 'Paul' | 'pie' | "fork"
    V -> 'ate'
    Det -> 'the' | 'a'
    P -> 'with'
""")
WITH_A_FORK = ["Paul", "ate", "the", "pie", "with", "a", "fork"]


@given(grammars(), sentences)
def test_the_best_tree_is_that_of_all_trees(known, words):
    grammar, weights = known
    trees = list(all_trees(grammar, words))
    if not trees:
        with pytest.raises(ParseError, match=r"The grammar (has no parse|does not know)"):
            grammar.parse([words], weights)
        return
    (found,) = grammar.parse([words], weights)
    assert found in trees
    assert score(grammar, weights, found) == max(score(grammar, weights, tree) for tree in trees)
    assert weights @ grammar.counts(found) == score(grammar, weights, found)


@given(grammars(), sentences)
def test_the_best_tree_but_one(known, words):
    grammar, weights = known
    trees = list(all_trees(grammar, words))
    for right in trees[:3]:
        parse, sentence = grammar.read(right), grammar.sentence(words)
        (found,) = grammar.search([sentence], weights, "other", [parse])
        others = [score(grammar, weights, tree) for tree in trees if tree != right]
        tree = grammar.tree(found.rules, words)
        assert (tree == right) == (not others)
        if others:
            assert score(grammar, weights, tree) == max(others)


@given(grammars(), sentences)
def test_a_cover_has_the_fewest_and_then_the_best_trees(known, words):
    grammar, weights = known
    best = [(0, 0.0)]  # of the first words: trees, and minus their scores
    for j in range(1, len(words) + 1):
        ways = []
        for i in range(j):
            trees = [tree for symbol in SYMBOLS for tree in all_trees(grammar, words[i:j], symbol)]
            if trees or j - i == 1:
                value = max((score(grammar, weights, tree) for tree in trees), default=0.0)
                ways.append((best[i][0] + 1, best[i][1] - value))
        best.append(min(ways))
    (found,) = grammar.parse([words], weights, partial=True)
    assert found.label == "S" and found.leaves == tuple(words)
    trees = list(all_trees(grammar, words))
    if trees:
        assert found in trees
    else:
        assert len(found.children) == best[-1][0]
        assert -sum(score(grammar, weights, piece) for piece in found.children) == best[-1][1]


@given(grammars(), sentences)
def test_trees_are_read_and_written(known, words):
    grammar, _ = known
    for tree in list(all_trees(grammar, words))[:5]:
        assert grammar.tree(grammar.read(tree).rules, words) == tree


def test_threads_change_nothing(rng):
    weights = rng.standard_normal(len(ENGLISH))
    one, three = (ENGLISH.parse([WITH_A_FORK] * 7, weights, n_threads=n) for n in (1, 3))
    assert one == three


def test_weights_say_what_belongs_together():
    to_the_pie, to_the_verb = np.zeros(len(ENGLISH)), np.zeros(len(ENGLISH))
    to_the_pie[ENGLISH.rules.index(("NP", ("NP", "PP")))] = 1.0
    to_the_verb[ENGLISH.rules.index(("VP", ("VP", "PP")))] = 1.0
    (noun,), (verb,) = ENGLISH.parse([WITH_A_FORK], to_the_pie), ENGLISH.parse([WITH_A_FORK], to_the_verb)
    assert "(NP (NP (Det the) (N pie)) (PP (P with)" in str(noun)
    assert "(VP (VP (V ate) (NP (Det the) (N pie))) (PP (P with)" in str(verb)


@pytest.mark.parametrize("order", [1, -1])
def test_chains_of_unary_rules_are_whole_in_any_order(order):
    rules = [("S", ["A"]), ("A", ["B"]), ("B", ["C"]), ("C", ["x"]), ("S", ["C"]), ("S", ["x"])][::order]
    grammar = ContextFreeGrammar(rules, "S")
    assert str(grammar.parse([["x"]], np.ones(6))[0]) == "(S (A (B (C x))))"
    assert str(grammar.parse([["x"]], -np.ones(6))[0]) == "(S x)"


def test_a_cycle_with_a_positive_weight_is_no_loop():
    grammar = ContextFreeGrammar("S -> A\nA -> B | 'x'\nB -> C\nC -> A | 'y'")
    (of_x,), (of_y,) = grammar.parse([["x"]], np.ones(6)), grammar.parse([["y"]], np.ones(6))
    assert str(of_x) == "(S (A x))"
    assert str(of_y) == "(S (A (B (C y))))"
    with pytest.raises(ParseError, match="must not come back to a symbol, got 'A' twice"):
        grammar.read(Tree.from_string("(S (A (B (C (A x)))))"))


def test_maximum_likelihood():
    trees = [Tree.from_string(text) for text in ("(S (A a) (A a))", "(S (A a) (A b))", "(S (A a) (A a))", "(S a)")]
    grammar = ContextFreeGrammar.from_trees(trees)
    shares = dict(zip(map(str, grammar.rules), np.exp(grammar.log_probabilities(trees)), strict=True))
    assert shares == pytest.approx({"S -> A A": 3 / 4, "A -> 'a'": 5 / 6, "A -> 'b'": 1 / 6, "S -> 'a'": 1 / 4})
    smooth = np.exp(grammar.log_probabilities(trees[:1], pseudo_count=1.0))
    np.testing.assert_allclose(smooth, [2 / 3, 3 / 4, 1 / 4, 1 / 3])
    unseen = grammar.log_probabilities(trees[:1])
    assert unseen[list(map(str, grammar.rules)).index("A -> 'b'")] == -np.inf
    with pytest.raises(ParseError, match="no parse of sentence 0: a b"):
        grammar.parse([["a", "b"]], unseen)


def test_rare_words_stand_for_unknown_ones():
    trees = [Tree.from_string(f"(S (A {a}) (B {b}))") for a, b in ("xy", "xy", "xz")]
    grammar = ContextFreeGrammar.from_trees(trees, unknown="?")
    assert grammar.words == ("x", "y", "?")
    assert str(grammar.parse([["x", "never"]])[0]) == "(S (A x) (B never))"
    assert grammar.counts(trees[2]).tolist() == [1.0, 1.0, 0.0, 1.0]
    with pytest.raises(GrammarError, match="fewer than min_count=1 times, got none"):
        ContextFreeGrammar.from_trees(trees, unknown="?", min_count=1)


def test_words_may_have_the_names_of_symbols():
    tree = Tree("NOUN", ["DET", Tree("NOUN", ["ADJ", "NOUN"])])
    grammar = ContextFreeGrammar.from_trees([tree])
    assert grammar.symbols == ("NOUN",) and grammar.words == ("DET", "ADJ", "NOUN")
    assert grammar.parse([tree.leaves]) == [tree]
    assert ContextFreeGrammar([("S", ["S", Word("S")]), ("S", ["a"])]).words == ("S", "a")


def test_rules_as_text_come_back():
    again = ContextFreeGrammar(str(ENGLISH))
    assert set(again.rules) == set(ENGLISH.rules) and again.start == "S"
    assert Rule("PP", ("P", "NP")) in again.rules
    assert repr(again) == "<ContextFreeGrammar of 14 rules over 8 symbols and 7 words>"


def test_a_grammar_is_copied_and_pickled():
    for other in (copy.deepcopy(ENGLISH), pickle.loads(pickle.dumps(ENGLISH))):
        assert other.parse([WITH_A_FORK]) == ENGLISH.parse([WITH_A_FORK])


def test_long_sentences_and_long_rules():
    grammar = ContextFreeGrammar("S -> 'a' S | 'a'")
    assert len(grammar.parse([["a"] * 300])[0].leaves) == 300
    wide = Tree("S", ["a"] * 1500)
    assert ContextFreeGrammar.from_trees([wide]).counts(wide).tolist() == [1.0]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("", "must have rules, got none"),
        ("S NP", "Line 1 of the grammar must read like .*, got 'S NP'"),
        ("S -> A |\nA -> 'a'", "Line 1 of the grammar must read like"),
        ("S -> 'a", "Line 1 of the grammar must read like"),
        ("S -> NP", "The symbol 'NP' in the rule S -> NP has no rules; words are in quotes"),
        ("S -> 'a'\nA -> 'b'", "The symbol 'A' cannot be reached from 'S'"),
        ("S -> 'a' | A\nA -> A 'b'", "The symbol 'A' never becomes words"),
        ("S -> 'a' | S", "must not lead from a symbol to itself, got S -> S"),
        ("S -> 'a' | 'a'", "must be there once, got S -> 'a' 2 times"),
        ([("S", [])], "must have a symbol or a word, got none for 'S'"),
    ],
)
def test_what_is_no_grammar(rules, message):
    with pytest.raises(GrammarError, match=message):
        ContextFreeGrammar(rules)


def test_other_refusals():
    with pytest.raises(GrammarError, match="start must be the head of a rule, got 'X'"):
        ContextFreeGrammar("S -> 'a'", "X")
    with pytest.raises(GrammarError, match="unknown must be a word of the grammar, got '\\?'"):
        ContextFreeGrammar("S -> 'a'", unknown="?")
    with pytest.raises(GrammarError, match="roots of trees must have one label, got 'S', 'T'"):
        ContextFreeGrammar.from_trees([Tree("S", ["a"]), Tree("T", ["a"])])
    with pytest.raises(ParseError, match="does not know the word 'soup'"):
        ENGLISH.parse([["Paul", "ate", "soup"]])
    with pytest.raises(ParseError, match="no parse of sentence 1: ate Paul"):
        ENGLISH.parse([["Paul", "ate", "Paul"], ["ate", "Paul"]])
    with pytest.raises(ParseError, match="at least one word"):
        ENGLISH.parse([[]])
    with pytest.raises(TypeError, match="must be a list of words, got the str 'Paul ate'"):
        ENGLISH.parse(["Paul ate"])
    with pytest.raises(ValueError, match="weights must be 14 numbers < infinity"):
        ENGLISH.parse([WITH_A_FORK], np.full(14, np.nan))
    with pytest.raises(ParseError, match="no rule NP -> V"):
        ENGLISH.read(Tree.from_string("(S (NP (V ate)) (VP (V ate) (NP (N Paul))))"))
    with pytest.raises(ParseError, match="root of a parse must be 'S', got 'NP'"):
        ENGLISH.read(Tree.from_string("(NP (N Paul))"))
    with pytest.raises(ParseError, match="must have words below its root"):
        ENGLISH.read(Tree("S"))
    with pytest.raises(TypeError, match="A parse must be a Tree, got str"):
        ENGLISH.read("(S Paul)")


def test_too_many_chains_are_refused():
    names = [f"X{k}" for k in range(9)]
    rules = [(a, [b]) for a in names for b in names if a != b] + [("X0", ["a"])]
    with pytest.raises(GrammarError, match=r"unary rules of 9 symbols, 'X0', .*, make cycles with more than 20000"):
        ContextFreeGrammar(rules)
