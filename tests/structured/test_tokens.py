"""`TokenFeatures`: what words look like."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer.structured import Chain, StructuredSVM, TokenFeatures


def names(features, token):
    return set(features.get_feature_names_out()[features.transform([token]).toarray()[0] > 0])


def test_features_of_a_word():
    features = TokenFeatures(prefixes=2, suffixes=3).fit([("McDonald's", "NNP", "x|NNP"), "to"])
    expected = {"word=McDonald's", "lower=mcdonald's", "prefix=m", "prefix=mc", "suffix=s", "suffix='s", "suffix=d's"}
    assert names(features, ("McDonald's", "NNP", "x|NNP")) == expected | {"shape=XxXx'x", "1=NNP", "2=x|NNP"}
    assert names(features, "to") == {"word=to", "lower=to", "prefix=t", "prefix=to", "suffix=o", "suffix=to", "shape=x"}
    assert names(features, "TO") == {"lower=to", "prefix=t", "prefix=to", "suffix=o", "suffix=to"}
    assert names(features, "") == set()


@pytest.mark.parametrize(
    ("word", "shape"),
    [("word", "x"), ("WORD", "X"), ("1,234.5", "0,0.0"), ("p53", "x0"), ("École", "Xx"), ("--", "--"), ("", "")],
)
def test_shapes(word, shape):
    assert names(TokenFeatures(prefixes=0, suffixes=0).fit([word]), word) == {
        f"word={word}",
        f"lower={word.lower()}",
        f"shape={shape}",
    }


def test_every_row_is_that_of_its_token():
    tokens = ["a", "b", "a", ("a", "X"), "b"]
    rows = TokenFeatures().fit(tokens).transform(tokens).toarray()
    for token, row in zip(tokens, rows, strict=True):
        np.testing.assert_array_equal(row, TokenFeatures().fit(tokens).transform([token]).toarray()[0])
    assert not np.array_equal(rows[0], rows[3])


def test_rare_features_are_left_out():
    features = TokenFeatures(prefixes=0, suffixes=0, shape=False, min_count=2).fit(["a", "A", "b", "A"])
    assert list(features.get_feature_names_out()) == ["lower=a", "word=A"]


def test_hashed_features():
    tokens = ["one", "two", ("one", "NN")]
    features = TokenFeatures(n_hashed=2**16).fit(tokens)
    rows = features.transform(tokens)
    assert rows.shape == (3, 2**16) and features.vocabulary_ == {}
    names = TokenFeatures().fit(tokens).transform(tokens)
    np.testing.assert_array_equal(abs(rows).sum(axis=1), names.sum(axis=1))
    np.testing.assert_array_equal(features.transform(["two"]).toarray()[0], rows.toarray()[1])
    with pytest.raises(ValueError, match="hashed features have no names; n_hashed must be None, got 65536"):
        features.get_feature_names_out()


@pytest.mark.parametrize("n_hashed", [None, 2**12])
def test_in_a_chain(n_hashed):
    X = [[("The", "DT"), ("dog", "NN"), ("barks", "VB")], [("Dogs", "NN"), ("bark", "VB")]]
    y = [["B-NP", "I-NP", "B-VP"], ["B-NP", "B-VP"]]
    machine = StructuredSVM(Chain(TokenFeatures(n_hashed=n_hashed), window=1), C=10.0).fit(X, y)
    assert [list(labels) for labels in clone(machine).fit(X, y).predict(X)] == y


def test_what_is_no_token():
    with pytest.raises(TypeError, match="tokens must be strings, or tuples of a word and further strings, got 3"):
        TokenFeatures().fit([3])
    with pytest.raises(TypeError, match=r"tokens must be strings, .*, got \('a', 1\)"):
        TokenFeatures().fit(["a"]).transform([("a", 1)])
    with pytest.raises(TypeError, match=r"tokens must be strings, .*, got \(\)"):
        TokenFeatures().fit([()])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"prefixes": -1}, "prefixes must be an int >= 0, got -1"),
        ({"min_count": 0}, "min_count must be an int >= 1, got 0"),
        ({"n_hashed": 0}, "n_hashed must be an int >= 1 or None, got 0"),
        ({"shape": "yes"}, "shape must be True or False, got 'yes'"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        TokenFeatures(**parameters).fit(["a"])
