"""Kernels from text, intervals of errors, splits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_registry import HOLDS_DATA, KERNELS
from scipy.stats import binomtest

from mercer.cli.expressions import KNOWN, NOT_IN_TEXT, parse_kernel, parse_value
from mercer.cli.judging import bootstrap, judge, wilson
from mercer.cli.outcomes import CommandError
from mercer.cli.samples import Samples, split
from mercer.kernels import RBF, Linear, On, Spectrum


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("rbf", RBF()),
        ("RBF", RBF()),
        (" RBF(0.1) ", RBF(0.1)),
        ("RBF(gamma=1/4) + 0.1*Linear()", RBF(0.25) + 0.1 * Linear()),
        ("RBF.from_sigma(2)", RBF.from_sigma(2)),
        ("Spectrum(3, blended=True).normalized()", Spectrum(3, blended=True).normalized()),
        ("(Linear() + 1) ** 3", (Linear() + 1) ** 3),
        ("On(['a', 'b'], RBF()) * On('c', Spectrum())", On(["a", "b"], RBF()) * On("c", Spectrum())),
        ("exp(Linear())", Linear().exp()),
        ("Linear().rbf(2.0)", Linear().rbf(2.0)),
    ],
)
def test_kernels_are_read_as_python_writes_them(text, kernel):
    assert repr(parse_kernel(text)) == repr(kernel)
    assert parse_kernel(text).get_params().keys() == kernel.get_params().keys()


def sayable(name):
    """Whether a kernel of the registry has no part that text cannot say."""
    words = (*NOT_IN_TEXT, "array", "lambda", "<", "{", "...")
    return (
        name.split()[0] in KNOWN and name not in HOLDS_DATA and not any(word in repr(KERNELS[name]()) for word in words)
    )


@pytest.mark.parametrize("name", [name for name in KERNELS if sayable(name)])
def test_kernels_of_the_registry_are_read_back(name):
    text = repr(KERNELS[name]())
    assert repr(parse_kernel(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "().__class__",
        "RBF().__class__",
        "RBF.mro()",
        "RBF().fit",
        "FromFunction(print)",
        "Cached(RBF(), '/tmp')",
        "[RBF() for _ in range(3)]",
        "lambda x: x",
        "open('x')",
        "RBF(*[1])",
        "RBF(**{'gamma': 1})",
        "RBF(gamma=f'{1}')",
        "1 + 1",
        "'rbf'",
        "RBF(nothing=1)",
        "RBF() +",
        "RBF() @ RBF()",
        "2 ** 10 ** 10 ** 10",
        "",
        "(" * 1500,
        "RBF()" + "+RBF()" * 900,
    ],
)
def test_nothing_else_is_read(text):
    with pytest.raises(CommandError) as caught:
        parse_kernel(text)
    assert caught.value.code == 2


@given(st.text(max_size=40))
def test_any_text_is_a_kernel_or_an_error_of_ours(text):
    try:
        parse_kernel(text)
    except CommandError as error:
        assert str(error)


def test_values():
    assert [parse_value(text) for text in ("1", "0.5", "inf", "None", "balanced", "{1: 2.0}")] == [
        1, 0.5, float("inf"), None, "balanced", {1: 2.0},
    ]  # fmt: skip
    assert parse_value("__import__('os')") == "__import__('os')"


@pytest.mark.parametrize(("count", "n"), [(0, 10), (3, 17), (17, 17), (50, 1000)])
def test_wilson(count, n):
    theirs = binomtest(count, n).proportion_ci(method="wilson")
    assert np.allclose(wilson(count, n), theirs, atol=1e-12)


def test_bootstrap_covers_as_it_says():
    rng = np.random.default_rng(0)
    inside = 0
    for k in range(60):
        low, high = bootstrap(rng.normal(size=150) ** 2, seed=k)
        inside += low <= 1.0 <= high
    assert 50 <= inside <= 60
    many = rng.normal(size=2001) ** 2
    assert np.allclose(bootstrap(many), bootstrap(many[:2000]), atol=0.01)


def test_judging():
    found = judge("classification", np.array(["a", "b", "b", "b"]), np.array(["a", "b", "a", "b"]))
    assert (found.value, found.wrong, found.trivial) == (0.25, 1, 0.25)
    assert judge("novelty", None, np.array([1, -1, 1, 1])).value == 0.25
    found = judge("regression", np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0]))
    assert found.value == pytest.approx(np.sqrt(1 / 3)) and found.r2 == pytest.approx(0.5)


def test_splits_are_stratified_and_cover():
    y = np.array(["a"] * 30 + ["b"] * 10)
    samples = Samples("vectors", np.zeros((40, 1)), y, "x")
    train, test = split(samples, 0.2, 0, True)
    assert sorted([*train, *test]) == list(range(40)) and (y[test] == "b").sum() == 2
    train, test = split(samples, 0.0, 0, True)
    assert len(train) == 40 and len(test) == 0
    rare = Samples("vectors", np.zeros((40, 1)), np.array(["a"] * 39 + ["b"]), "x")
    assert len(split(rare, 0.2, 0, True)[1]) == 8
