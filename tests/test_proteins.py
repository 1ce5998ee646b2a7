"""Descriptions of proteins, against numbers by hand and by other ways to count."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.data import Sequences, residue_composition, residue_distribution, residue_order
from mercer.data.proteins import GROUPS, RESIDUES, STANDARD
from mercer.errors import DomainError

ALL = [residue_composition, lambda s: residue_distribution(s, "polarity"), lambda s: residue_order(s, 1)]


@pytest.fixture
def proteins():
    rng = np.random.default_rng(0)
    letters = list(RESIDUES + "BZX")
    return ["".join(rng.choice(letters, size=length)) for length in (9, 40, 8, 133)]


def test_composition_by_hand():
    numbers = residue_composition(["ACCA", "YYYW", RESIDUES])
    assert_array_equal(numbers[0], [0.5, 0.5] + 18 * [0.0])
    assert_array_equal(numbers[1, -2:], [0.25, 0.75])
    assert_array_equal(numbers[2], 20 * [0.05])


def test_unclear_residues_are_left_out():
    assert_array_equal(residue_composition(["AXCB", "ZZAC"]), residue_composition(["AC", "AC"]))
    numbers = residue_distribution(["AXEEZA"], ("A", "E", "CDFGHIKLMNPQRSTVWY"))[0]
    assert_array_equal(numbers[:3], [0.5, 0.5, 0.0])
    assert_array_equal(numbers[3:6], 0.0)  # the only neighbours are the two E
    assert_allclose(numbers[6:11] * 6, [1, 1, 1, 1, 6])
    numbers = residue_order(["AACAXACC"], 2)[0]  # two apart are A and C, A and A, A and A, A and C
    step = np.mean((STANDARD[:, 0] - STANDARD[:, 1]) ** 2)
    assert_allclose(numbers[21] / numbers[0], 0.05 * (2 * step / 4) / (4 / 7))


def test_distribution_by_hand():
    """The chain of two groups that the handbooks use: 16 A, 14 E, 15 changes."""
    numbers = residue_distribution(["AEAAAEAEEAAAAAEAEEEAAEEAEEEAAE"], ("A", "E", "CDFGHIKLMNPQRSTVWY"))[0]
    assert_allclose(numbers[:3], [16 / 30, 14 / 30, 0])
    assert_allclose(numbers[3:6], [15 / 29, 0, 0])
    assert_allclose(30 * numbers[6:11], [1, 5, 12, 20, 29])
    assert_allclose(30 * numbers[11:16], [2, 8, 18, 23, 30])
    assert_array_equal(numbers[16:], 0.0)


def test_transitions_between_all_groups():
    assert_allclose(residue_distribution(["RGCRCGRR"], "hydrophobicity")[0, 3:6], [2 / 7, 2 / 7, 2 / 7])


@pytest.mark.parametrize(
    ("attribute", "values"),
    [
        ("polarity", "8.1 5.5 13 12.3 5.2 9 10.4 5.2 11.3 4.9 5.7 11.6 8 10.5 10.5 9.2 8.6 5.9 5.4 6.2"),
        ("polarizability", ".05 .13 .11 .15 .29 0 .23 .19 .22 .19 .22 .13 .13 .18 .29 .06 .11 .14 .41 .3"),
        ("volume", "1 2.43 2.78 3.78 5.89 0 4.66 4 4.77 4 4.43 2.95 2.72 3.95 6.13 1.6 2.6 3 8.08 6.47"),
    ],
)
def test_groups_go_by_the_attribute(attribute, values):
    """Polarity by Grantham, polarizability by Charton and Charton, volume by Fauchere et al."""
    value = dict(zip(RESIDUES, map(float, values.split()), strict=True))
    low, middle, high = ([value[letter] for letter in group] for group in GROUPS[attribute])
    assert max(low) < min(middle) and max(middle) < min(high)


@pytest.mark.parametrize("attribute", GROUPS)
def test_distribution_by_counting(proteins, attribute):
    found = residue_distribution(proteins, attribute)
    for protein, numbers in zip(proteins, found, strict=True):
        kinds = [next((k for k, group in enumerate(GROUPS[attribute]) if letter in group), None) for letter in protein]
        places = [[at + 1 for at, kind in enumerate(kinds) if kind == k] for k in range(3)]
        known = [pair for pair in pairwise(kinds) if None not in pair]
        expected = [len(of) / sum(map(len, places)) for of in places]
        expected += [
            sum(set(pair) == set(wanted) for pair in known) / len(known) for wanted in ((0, 1), (0, 2), (1, 2))
        ]
        for of in places:
            ranks = [max(int(part * len(of)), 1) for part in (0, 0.25, 0.5, 0.75, 1)]
            expected += [of[rank - 1] / len(protein) if of else 0.0 for rank in ranks]
        assert_allclose(numbers, expected, rtol=1e-14)


def test_order_by_counting(proteins):
    found = residue_order(proteins, 5, weight=0.1)
    assert_allclose(found.sum(axis=1), 1.0)
    for protein, numbers in zip(proteins, found, strict=True):
        steps = []
        for rank in range(1, 6):
            pairs = [(RESIDUES.find(a), RESIDUES.find(b)) for a, b in zip(protein, protein[rank:], strict=False)]
            steps.append(np.mean([np.mean((STANDARD[:, i] - STANDARD[:, j]) ** 2) for i, j in pairs if min(i, j) >= 0]))
        shares = residue_composition([protein])[0]
        assert_allclose(numbers, np.hstack([shares, 0.1 * np.array(steps)]) / (1 + 0.1 * sum(steps)), rtol=1e-12)


def test_order_in_the_limits(proteins):
    assert_array_equal(residue_order(proteins, 0), residue_composition(proteins))
    assert_array_equal(residue_order(proteins, 3, weight=0.0)[:, :20], residue_composition(proteins))
    assert_array_equal(residue_order(["AAAAAA"], 5)[0], [1.0] + 24 * [0.0])  # nothing changes along the chain
    assert_array_equal(residue_order(["ACDE"], 3)[0, :20] > 0, residue_composition(["ACDE"])[0] > 0)


def test_scales():
    """Arginine is the least hydrophobic and tryptophan the heaviest; all scales have mean zero and variance one."""
    assert RESIDUES[STANDARD[0].argmin()] == "R" and RESIDUES[STANDARD[0].argmax()] == "I"
    assert RESIDUES[STANDARD[1].argmin()] == "W"
    assert RESIDUES[STANDARD[2].argmin()] == "G" and RESIDUES[STANDARD[2].argmax()] == "W"
    assert_allclose(STANDARD.mean(axis=1), 0.0, atol=1e-14)
    assert_allclose((STANDARD**2).mean(axis=1), 1.0)


def test_single_residue():
    numbers = residue_distribution(["C"], "hydrophobicity")[0]
    assert_array_equal(numbers, [0, 0, 1] + 3 * [0] + 10 * [0] + 5 * [1])


@pytest.mark.parametrize("describe", ALL)
def test_proteins_do_not_see_each_other(proteins, describe):
    together = describe(proteins)
    assert_allclose(together, np.vstack([describe([protein]) for protein in proteins]), rtol=1e-14)
    assert_array_equal(describe(Sequences.pack(proteins)), together)
    assert describe([]).shape == (0, together.shape[1])


@pytest.mark.parametrize("describe", ALL)
def test_bad_proteins(describe):
    with pytest.raises(
        DomainError, match="ACDEFGHIKLMNPQRSTVWY and BZX, sample 1 of sequences has the symbol 'a' at pla"
    ):
        describe(["AC", "Aa"])
    with pytest.raises(DomainError, match="residues that are known, sample 1 of sequences has none"):
        describe(["AC", "XB"])
    with pytest.raises(DomainError, match="residues that are known, sample 0 of sequences has none"):
        describe(["", "AC"])
    with pytest.raises(DomainError, match="works on strings"):
        describe([1.0, 2.0])


def test_bad_parameters():
    with pytest.raises(ValueError, match=r"attribute must be one of 'hydrophobicity', .* once, got 'charge'"):
        residue_distribution(["AC"], "charge")
    with pytest.raises(ValueError, match="three str that hold each of"):
        residue_distribution(["AC"], ("AC", "CD", "E"))
    with pytest.raises(ValueError, match="ranks must be an int >= 0, got -1"):
        residue_order(["AC"], -1)
    with pytest.raises(ValueError, match=r"ranks must be an int >= 0, got 1\.5"):
        residue_order(["AC"], 1.5)
    with pytest.raises(ValueError, match=r"weight must be a float >= 0, got -0\.1"):
        residue_order(["AC"], 1, weight=-0.1)
    for short in ("AC", "AXX", "XAC"):
        with pytest.raises(ValueError, match=f"ranks must be less than .*, got 2; sample 1 .* length {len(short)}"):
            residue_order(["ACDE", short], 2)
    with pytest.raises(ValueError, match=r"ranks must be less than .*, got 9"):
        residue_order(["AC"], 9)
