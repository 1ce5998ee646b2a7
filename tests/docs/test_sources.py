"""The sources of the documentation: nothing is left out, and figures are those of the results."""

import json
import re
from pathlib import Path

import pytest

import mercer

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
if not DOCS.exists():
    pytest.skip("needs the sources of the documentation", allow_module_level=True)


def test_every_page_of_the_guide_is_listed_once_and_described():
    index = (DOCS / "guide" / "index.rst").read_text()
    pages = {page.stem for page in (DOCS / "guide").glob("*.rst")} - {"index"}
    listed = re.findall(r"^   (\w+)$", index, re.MULTILINE)
    described = re.findall(r"^:doc:`(\w+)`\n   \S", index, re.MULTILINE)
    assert sorted(listed) == sorted(pages)
    assert sorted(described) == sorted(pages)


def test_every_page_of_the_gallery_is_listed_once():
    listed = re.findall(r":ref:`sphx_glr_gallery_(\w+)\.py`", (ROOT / "examples" / "README.rst").read_text())
    assert sorted(listed) == sorted(page.stem for page in (ROOT / "examples").glob("plot_*.py"))


def test_every_room_is_in_the_reference():
    reference = (DOCS / "api" / "index.rst").read_text()
    rooms = set(re.findall(r"^   mercer\.(\w+)", reference, re.MULTILINE))
    assert rooms >= set(mercer._ROOMS)


def test_every_directive_begins_its_line():
    """One behind something else is text, without a warning: its table or formula is not made."""
    sources = [page for kind in ("*.rst", "*.inc") for page in DOCS.rglob(kind)]
    sources = [page for page in sources if not {"generated", "gallery"} & set(page.parts)]
    lines = [(page.name, line) for page in sources for line in page.read_text().splitlines()]
    assert len(lines) > 5000
    assert [place for place in lines if re.search(r"\S.*\.\. [\w-]+::", place[1])] == []


@pytest.fixture
def report(monkeypatch):
    """The module that turns results into text; it is not installed."""
    monkeypatch.syspath_prepend(str(ROOT))
    return pytest.importorskip("benchmarks.report")


def test_the_table_of_the_readme_is_made_from_the_results(report):
    results = json.loads((ROOT / "benchmarks" / "results" / "latest.json").read_text())
    shown = (ROOT / "README.md").read_text().split("<!-- bench:start -->")[1].split("<!-- bench:end -->")[0]
    assert shown.strip().splitlines() == report.table(results)


def test_missed_targets_are_found_by_their_brackets(report):
    speed = "Words.\n\n**Ten points** (n = 10; target: twice,\nreached: 1.5). More.\n\n**Not so** (no figure). More.\n"
    assert report.missed(speed) == ["- **Ten points**: n = 10; target: twice, reached: 1.5."]
    assert len(report.missed((DOCS / "design" / "speed.rst").read_text())) > 5
