"""Parse trees as structured outputs: oracles against all trees, the worked example of the book, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from reference.naive_parsing import all_trees, grammars, loss, score, sentences
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from mercer.data import Tree
from mercer.errors import GrammarError, ParseError
from mercer.structured import ContextFreeGrammar, Parser, StructuredSVM

PAUL = Tree.from_string("(S (NP (N Paul)) (VP (V ate) (NP (Det the) (N pie))))")
BANK = [
    Tree.from_string(text)
    for text in (
        "(S (NP (N Mary)) (VP (V ate) (NP (Det the) (N apple))))",
        "(S (NP (Det the) (N dog)) (VP (V saw) (NP (N Paul))))",
        "(S (NP (N Paul)) (VP (V saw) (NP (Det a) (N pie)) (PP (P with) (NP (Det the) (N dog)))))",
        "(S (NP (NP (Det the) (N dog)) (PP (P with) (NP (Det a) (N pie)))) (VP (V saw) (NP (N Mary))))",
        "(S (NP (Det a) (N pie)))",
    )
]
SENTENCES = [tree.leaves for tree in BANK]
# The same kinds of words as in the third, and another tree: rules of a grammar cannot tell which.
OTHERWISE = Tree.from_string("(S (NP (N Mary)) (VP (V saw) (NP (NP (Det the) (N dog)) (PP (P with) (NP (N Paul))))))")


def resolved(grammar, **parameters):
    return Parser(grammar, **parameters).resolve(None, None)


@given(grammars(), sentences)
def test_the_margin_oracle_is_exact(known, words):
    grammar, w = known
    trees = list(all_trees(grammar, words))
    model = resolved(grammar)
    for right in trees[:3]:
        (x,), (y,) = model.prepare([words]), model.encode(model.prepare([words]), [right])
        z = model.oracle(x, y, w)
        (tree,) = model.decode([x], [z])
        value = loss(grammar, right, tree) + score(grammar, w, tree)
        assert value == max(loss(grammar, right, tree) + score(grammar, w, tree) for tree in trees)
        assert model.loss(y, z) == loss(grammar, right, tree)
        assert (model.loss(y, z) == 0.0) == (right == tree)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@given(grammars(), sentences)
def test_oracles_of_the_zero_one_loss_are_exact(rescaling, known, words):
    grammar, w = known
    trees = list(all_trees(grammar, words))
    model = resolved(grammar, cost="zero-one")
    for right in trees[:3]:
        (x,), (y,) = model.prepare([words]), model.encode(model.prepare([words]), [right])
        (tree,) = model.decode([x], [model.oracle(x, y, w) if rescaling == "margin" else model.slack_oracle(x, y, w)])

        def value(tree, right=right):
            ahead = score(grammar, w, tree) - score(grammar, w, right)
            return (tree != right) + ahead if rescaling == "margin" else (tree != right) * (1.0 + ahead)

        assert value(tree) == max(map(value, trees))


@given(grammars(), sentences)
def test_many_at_once_are_as_one_by_one(known, words):
    grammar, w = known
    trees = list(all_trees(grammar, words))[:4]
    model = resolved(grammar)
    X = model.prepare([words] * len(trees))
    Y = model.encode(X, trees)
    Z = model.oracles(X, Y, w, "margin")
    assert [model.loss(y, z) for y, z in zip(Y, Z, strict=True)] == model.losses(Y, Z).tolist()
    rows = model.differences(X, Y, Z).toarray() if trees else np.empty((0, len(grammar)))
    for row, y, z in zip(rows, model.decode(X, Y), model.decode(X, Z), strict=True):
        np.testing.assert_array_equal(row, grammar.counts(y) - grammar.counts(z))


def test_the_features_of_the_book():
    """[CY §2.6], the printed rules and the printed vector, its VB being VP."""
    printed = {
        "S -> NP VP": 1,
        "S -> NP": 0,
        "NP -> Det N": 1,
        "VP -> V NP": 1,
        "N -> 'Paul'": 1,
        "V -> 'ate'": 1,
        "Det -> 'the'": 1,
        "N -> 'pie'": 1,
    }
    grammar = ContextFreeGrammar("\n".join([*printed, "NP -> N"]))
    model = resolved(grammar)
    (x,) = model.prepare([PAUL.leaves])
    (y,) = model.encode([x], [PAUL])
    counts = dict(zip(map(str, grammar.rules), model.joint_feature(x, y).toarray()[0], strict=True))
    assert {rule: counts[rule] for rule in printed} == printed
    assert counts["NP -> N"] == 1


def test_the_sentence_of_the_book_is_parsed():
    """[CY fig 2.5] after learning from other sentences."""
    machine = StructuredSVM(Parser(), C=10.0).fit(SENTENCES, BANK)
    assert machine.predict([["Paul", "ate", "the", "pie"]]) == [PAUL]
    assert machine.predict(SENTENCES) == BANK
    assert machine.score(SENTENCES, BANK) == 1.0
    assert machine.result_.status == "solved"


@pytest.mark.parametrize("cost", ["constituents", "zero-one"])
def test_the_hinge_bounds_the_loss(cost):
    """[CY eq 2.56]"""
    trees = [*BANK, OTHERWISE]
    machine = StructuredSVM(Parser(cost=cost)).fit([tree.leaves for tree in trees], trees)
    model = machine.model_
    X = model.prepare([tree.leaves for tree in trees])
    found = model.losses(model.encode(X, trees), model.predictions(X, machine.coef_))
    assert found.any()
    assert (found <= machine.result_.losses + 1e-12).all()


def test_slack_rescaling_of_the_zero_one_loss_is_that_of_margins():
    margin, slack = (
        StructuredSVM(Parser(cost="zero-one"), rescaling=rescaling).fit(SENTENCES, BANK)
        for rescaling in ("margin", "slack")
    )
    assert margin.result_.primal_objective == pytest.approx(slack.result_.primal_objective, rel=2e-3)
    with pytest.raises(NotImplementedError, match="no slack_oracle for cost='constituents'; use rescaling='margin'"):
        StructuredSVM(Parser(), rescaling="slack").fit(SENTENCES, BANK)


def test_sentences_without_a_tree():
    sentence = ["dog", "the", "saw", "never"]
    machine = StructuredSVM(Parser()).fit(SENTENCES, BANK)
    with pytest.raises(ParseError, match=r"X\[0\]: The grammar does not know the word 'never'"):
        machine.predict([sentence])
    with pytest.raises(ParseError, match="no parse of sentence 0: dog the saw"):
        machine.predict([sentence[:3]])
    machine = StructuredSVM(Parser(partial=True)).fit(SENTENCES, BANK)
    (tree,) = machine.predict([sentence])
    assert tree.label == "S" and tree.leaves == tuple(sentence) and len(tree.children) == 4
    assert tree.children[-1] == Tree("never")


def test_unknown_words():
    machine = StructuredSVM(Parser(unknown="?")).fit(SENTENCES, BANK)
    assert "apple" not in machine.model_.grammar_.words
    (tree,) = machine.predict([["the", "cat", "saw", "Zoe"]])
    assert str(tree) == "(S (NP (Det the) (N cat)) (VP (V saw) (NP (N Zoe))))"


def test_it_is_an_estimator():
    machine = StructuredSVM(Parser(ContextFreeGrammar.from_trees(BANK)))
    search = GridSearchCV(machine, {"C": [0.1, 10.0], "model__cost": ["constituents", "zero-one"]}, cv=3)
    search.fit(SENTENCES * 3, BANK * 3)
    assert search.best_score_ == 1.0 and len(search.cv_results_["params"]) == 4
    assert clone(machine).model.grammar.rules == machine.model.grammar.rules


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cost": "hamming"}, "cost must be 'constituents' or 'zero-one', got 'hamming'"),
        ({"partial": 1}, "partial must be True or False, got 1"),
        ({"min_count": 0}, "min_count must be an int >= 1, got 0"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        StructuredSVM(Parser(**parameters)).fit(SENTENCES, BANK)


def test_bad_samples():
    machine = StructuredSVM(Parser())
    with pytest.raises(TypeError, match="y must be trees, got str at 1"):
        machine.fit(SENTENCES[:2], [BANK[0], "(S (NP (N Paul)))"])
    with pytest.raises(ParseError, match=r"The leaves of y\[1\] must be the words of its sentence"):
        machine.fit([SENTENCES[0], SENTENCES[0][::-1]], [BANK[0], BANK[0]])
    with pytest.raises(ParseError, match=r"X\[1\]: A sentence must have at least one word"):
        machine.fit([SENTENCES[0], []], BANK[:2])
    with pytest.raises(GrammarError, match="roots of trees must have one label"):
        machine.fit([SENTENCES[0], ["Paul"]], [BANK[0], Tree("NP", ["Paul"])])
    with pytest.raises(TypeError, match="grammar must be a ContextFreeGrammar or None, got 'S -> a'"):
        StructuredSVM(Parser("S -> a")).fit(SENTENCES, BANK)
    few = ContextFreeGrammar.from_trees(BANK[:3])
    with pytest.raises(ValueError, match="unknown must be None with a grammar, which has its own, got '-'"):
        StructuredSVM(Parser(few, unknown="-")).fit(SENTENCES, BANK)
    with pytest.raises(ParseError, match=r"y\[3\]: The grammar has no rule NP -> NP PP"):
        StructuredSVM(Parser(few)).fit(SENTENCES, BANK)
