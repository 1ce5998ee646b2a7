"""The built documentation in a real browser, from files, without a network.

``make docs`` builds it and ``make docs-test`` runs these tests; without a build of the present sources they skip.
"""

import importlib
import json
import re
import time
from pathlib import Path

import pytest

pytest.importorskip("selenium", reason="needs selenium: pip install 'mercer[test]'")
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

DOCS = Path(__file__).parents[2] / "docs"
BUILT = DOCS.parent / "build" / "docs"


def outdated():
    """Whether there is no build, or a source has changed since."""
    sources = [page for kind in ("*.rst", "*.md", "*.inc", "*.css", "conf.py") for page in DOCS.rglob(kind)]
    written = [page.stat().st_mtime for page in sources if not {"generated", "gallery"} & set(page.parts)]
    index = BUILT / "searchindex.js"  # written when all pages are
    return not index.exists() or index.stat().st_mtime < max(written, default=0.0)


pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(outdated(), reason="needs the documentation as it is now: make docs"),
]
REFERENCE = (DOCS / "api" / "index.rst").read_text() if DOCS.exists() else ""
ROOMS = re.findall(r"^   (mercer\.[\w.]+)$", REFERENCE, re.MULTILINE)
WRITTEN = [
    page.relative_to(DOCS).with_suffix(".html").as_posix()
    for page in sorted([*DOCS.rglob("*.rst"), *DOCS.rglob("*.md")])
    if not {"generated", "gallery", "_templates"} & set(page.parts)
]
PAGES = [
    "index.html",
    "tutorial.html",
    "guide/which_machine.html",
    "guide/machines.html",
    "guide/coming_from.html",
    "api/generated/mercer.svm.SVC.html",
    "gallery/index.html",
    "benchmarks.html",
    "changelog.html",
]


class Reader:
    """Somebody who reads the pages. Whatever a page loads must be a file, and its scripts must not complain."""

    def __init__(self, browser):
        self.browser = browser

    def open(self, page):
        self.browser.get_log("browser")
        self.browser.get((BUILT / page).as_uri())
        self.wait("document.readyState == 'complete'")
        return self

    def open_until(self, page, condition):
        """Open a page, again where what another one has stored is still on its way to the process of this one."""
        for _ in range(100):
            if self.open(page).script(condition):
                return
            time.sleep(0.05)
        raise AssertionError(f"{self.browser.current_url} does not do it: {condition}")

    def script(self, text):
        return self.browser.execute_script(f"return {text}")

    def wait(self, condition):
        for _ in range(500):
            if found := self.script(condition):
                return found
            time.sleep(0.02)
        raise AssertionError(f"{self.browser.current_url} does not do it: {condition}")

    def click(self, selector):
        """The first of these elements that can be seen, when it can be."""
        self.wait(f"[...document.querySelectorAll('{selector}')].some(e => e.checkVisibility())")
        elements = self.browser.find_elements(By.CSS_SELECTOR, selector)
        next(element for element in elements if element.is_displayed()).click()

    def complaints(self):
        loaded = self.script("performance.getEntriesByType('resource').map(entry => entry.name)")
        foreign = [address for address in loaded if not address.startswith(("file:", "data:", "blob:"))]
        return foreign + [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]

    def contrast(self, selector):
        """How many times as bright the background of an element is as its text, or the other way round."""
        text, behind = (luminance(self.script(f"{function}('{selector}')")) for function in (COLOUR, BEHIND))
        return (max(text, behind) + 0.05) / (min(text, behind) + 0.05)


COLOUR = "(s => getComputedStyle(document.querySelector(s)).color)"
BEHIND = """(s => {
    let e = document.querySelector(s);
    while (e && getComputedStyle(e).backgroundColor.match(/, 0\\)$/)) e = e.parentElement;
    return getComputedStyle(e ?? document.documentElement).backgroundColor;
})"""


def luminance(colour):
    """Of a colour as browsers write it: how bright it is, from 0 to 1."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.fixture
def reader(browser):
    browser.set_window_size(1280, 900)
    yield Reader(browser)
    browser.get("about:blank")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_needs_nothing_but_files(reader, page):
    reader.open(page)
    assert reader.script("document.querySelector('h1').textContent.length") > 3
    assert reader.complaints() == []


def test_the_start_page_leads_on(reader):
    reader.open("index.html")
    assert "mercer" in reader.browser.title
    code = reader.script("[...document.querySelectorAll('.highlight')].map(e => e.textContent)")
    assert "pip install" in code[0]
    assert ">>> from mercer import SVC" in code[1]
    links = reader.script("[...document.querySelectorAll('.sd-card a')].map(a => a.href)")
    assert len(links) >= 9
    for link in links:
        assert Path(link.removeprefix("file://").split("#")[0]).exists()
    reader.click(".sd-card")
    reader.wait("location.pathname.endsWith('/tutorial.html')")


def test_what_is_copied_from_a_session_can_be_typed_in(reader):
    reader.open("tutorial.html")
    copied = reader.browser.execute_script("""
        return [...document.querySelectorAll(".doctest pre")].filter(e => !e.querySelector(".gt")).map(e => {
            getSelection().selectAllChildren(e);
            return getSelection().toString();
        });
    """)
    assert len(copied) > 10
    for text in copied:
        assert ">>>" not in text
        compile(text, "tutorial", "exec")
    together = "".join(copied)
    assert "SVC(kernel=" in together
    assert "array([1, 1, 0, 0, 1])" not in together


def test_formulas_are_set(reader):
    reader.open("guide/machines.html").wait("document.querySelectorAll('mjx-container').length > 20")
    assert reader.complaints() == []


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_has_a_page(room):
    listed = (BUILT / "api" / "generated" / f"{room}.html").read_text()
    names = importlib.import_module(room).__all__
    assert names
    for name in names:
        assert f'href="{room}.{name}.html' in listed, name
        page = (BUILT / "api" / "generated" / f"{room}.{name}.html").read_text()
        assert re.search(r"<dd>\s*<p>\w", page), name


@pytest.mark.parametrize("page", WRITTEN)
def test_no_markup_is_left_as_text(page):
    """What reads as a directive, a role or a link in a page was not understood."""
    text = re.sub(r"<(script|style|pre|code)\b.*?</\1>", "", (BUILT / page).read_text(), flags=re.DOTALL)
    text = re.sub(r"<[^>]*>", " ", text.split("<article")[1].split("</article>")[0])
    assert re.findall(r"\.\. [\w-]+::|:(?:doc|ref|class|func|meth|mod|math):|`[^`]*`_|``|\[\d+\]_|={9,}", text) == []


@pytest.mark.parametrize(
    ("words", "wanted"), [("KernelRidge", "mercer.ridge.KernelRidge.html"), ("promoters", "tutorial.html")]
)
def test_search_finds_a_page(reader, words, wanted):
    reader.open("index.html")
    reader.click(".search-button__button")
    reader.wait("document.querySelector('dialog[open] input[type=search]') !== null")
    reader.browser.find_element(By.CSS_SELECTOR, "dialog[open] input[type=search]").send_keys(words, Keys.ENTER)
    reader.wait("location.pathname.endsWith('/search.html')")
    hits = "[...document.querySelectorAll('#search-results li a')].map(a => a.href.split('?')[0].split('#')[0])"
    reader.wait(f"{hits}.some(href => href.endsWith('{wanted}'))")
    quotes = "[...document.querySelectorAll('#search-results p.context')].map(e => e.textContent)"
    reader.wait(f"{quotes}.some(text => text.toLowerCase().includes('{words.lower()}'))")
    assert reader.complaints() == []


def test_the_search_quotes_what_a_page_of_the_gallery_says():
    texts = json.loads((BUILT / "_static" / "texts.js").read_text().removeprefix("const TEXTS = ").rstrip(";\n"))
    pages = {page: text for page, text in texts.items() if page.startswith("gallery/plot_")}
    assert len(pages) > 30
    for page, text in pages.items():
        assert "full example code" not in text and "Download" not in text, page


def test_a_gallery_page_has_its_picture(reader):
    reader.open("gallery/index.html")
    seen = "[...document.querySelectorAll('.sphx-glr-thumbcontainer img')].every(i => i.complete && i.naturalWidth > 0)"
    reader.wait(seen)
    reader.open("gallery/plot_decision_boundary.html")
    reader.wait("[...document.querySelectorAll('img.sphx-glr-single-img')].some(i => i.naturalWidth > 300)")
    assert "import" in reader.script("document.querySelector('.highlight-Python, .highlight-python').textContent")
    assert reader.complaints() == []


def test_dark_mode_is_dark_legible_and_stays(reader):
    theme = "document.documentElement.dataset.theme"
    for wanted in ("light", "dark"):
        reader.open("index.html")
        reader.click(".theme-switch-button")
        reader.click(f".theme-change-button[data-mode={wanted}]")
        reader.wait(f"{theme} === '{wanted}'")
        bright = luminance(reader.script(f"{BEHIND}('main')"))
        assert bright < 0.05 if wanted == "dark" else bright > 0.9
        for page in ("index.html", "guide/which_machine.html", "benchmarks.html"):
            reader.open_until(page, f"{theme} === '{wanted}'")
            for selector in ("main h1", "main p", "main p a", ".logo__title", ".bd-header .nav-link"):
                if reader.script(f"document.querySelector('{selector}') !== null"):
                    assert reader.contrast(selector) > 4.5, (page, selector)


@pytest.mark.parametrize("page", PAGES)
def test_a_narrow_screen_scrolls_down_only(reader, page):
    reader.browser.set_window_size(500, 900)
    reader.open(page)
    assert reader.script("document.documentElement.scrollWidth <= window.innerWidth + 1")


def test_contrast_is_measured_right(reader):
    reader.browser.get("data:text/html,<p style='color:white;background:black'>.</p><b style='color:gray'>.</b>")
    assert reader.contrast("p") == pytest.approx(21.0)
    assert luminance("rgb(255, 255, 255)") == pytest.approx(1.0)
