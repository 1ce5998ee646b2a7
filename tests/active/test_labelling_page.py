"""The labelling page in a real browser: Debian's chromium, without a screen."""

import threading
import time
from itertools import pairwise

import numpy as np
import pytest

from mercer import SVC
from mercer.active import SVG, ActiveLearner
from mercer.data import Graph, Series, Tree

selenium = pytest.importorskip("selenium", reason="needs selenium: pip install 'mercer[test]'")
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

pytestmark = pytest.mark.browser

POOL = np.linspace(-1.0, 1.0, 41)[:, np.newaxis]
CLASSES = ["left", "right"]


@pytest.fixture
def look(browser):
    """A function that serves a learner and opens its page; what the browser complains about fails the test."""
    opened = []
    first = browser.current_window_handle

    def look(learner, **settings):
        page = learner.serve(block=False, open_browser=False, **settings)
        opened.append(page)
        browser.get_log("browser")
        browser.get(page.url)
        return Page(browser, page)

    yield look
    complaints = [entry["message"] for entry in browser.get_log("browser")]
    for handle in browser.window_handles:
        if handle != first:
            browser.switch_to.window(handle)
            browser.close()
    browser.switch_to.window(first)
    browser.get("about:blank")
    for page in opened:
        page.close()
    assert [text for text in complaints if not expected(text)] == []


def expected(complaint):
    """That a server is gone, or refuses, is said by the browser, too."""
    return "net::ERR_" in complaint or "Failed to load resource" in complaint


class Page:
    """What a person sees and does."""

    def __init__(self, browser, page):
        self.browser, self.page = browser, page

    def wait(self, condition):
        """Wait for what the page is to do; a fault of its script, or many seconds of nothing, is told."""
        for _ in range(600):
            if found := condition():
                return found
            complaints = [entry["message"] for entry in self.browser.get_log("browser")]
            assert (faults := [text for text in complaints if not expected(text)]) == [], faults
            time.sleep(0.02)
        words = {place: self.script(f"$('{place}')?.textContent") for place in ("question", "notice", "progress")}
        raise AssertionError(f"The page does not do it: {words}, {self.script('JSON.stringify(state)')}")

    def script(self, text, *arguments):
        return self.browser.execute_script(f"return {text}", *arguments)

    def ready(self):
        """Wait until answers are taken."""
        self.wait(lambda: self.script("ready()"))
        return self

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def shown(self, selector):
        return self.find(selector).is_displayed()

    def text(self, selector):
        return self.find(selector).text

    def button(self, name):
        for button in self.browser.find_elements(By.CSS_SELECTOR, "button"):
            if button.is_displayed() and button.text.split("\n")[0].startswith(name):
                return button
        raise AssertionError(f"There is no button {name!r}.")

    def click(self, name):
        self.ready().button(name).click()

    def press(self, *keys):
        ActionChains(self.browser).send_keys(*keys).perform()

    def type(self, key):
        self.ready().press(key)

    @property
    def index(self):
        return self.script("state.index")

    def answered(self, n):
        """Wait until there are n answers and the next question."""
        self.wait(lambda: self.script("state && state.answers >= arguments[0] && state.status !== 'learning'", n))
        assert self.script("state.answers") == n


def make_learner(estimator=None, pool=POOL, **settings):
    return ActiveLearner(SVC() if estimator is None else estimator, pool, **{"classes": CLASSES, **settings})


# --- answers ----------------------------------------------------------------------------------------------


def test_answers_by_mouse_and_by_key(look):
    learner = make_learner()
    page = look(learner, title="Which side?")
    assert page.browser.title == page.text("h1") == "Which side?"
    first = page.ready().index
    assert page.text("#question") == f"What is sample {first}?"
    assert page.text("#sample dd") == f"{POOL[first, 0]:.6g}"
    page.click("right")
    page.answered(1)
    page.type("1")
    page.answered(2)
    page.type("R")
    page.answered(3)
    assert learner.labels_.tolist() == ["right", "left", "right"] and learner.labelled_[0] == first
    assert page.text("#progress") == "3 answers, 38 samples left" and page.shown("#kept")


def test_a_whole_labelling_without_a_mouse(look):
    learner = make_learner(pool=POOL[::8])
    page = look(learner)
    for n in range(6):
        wanted = CLASSES[int(POOL[::8][page.ready().index, 0] > 0)]
        while not page.script("document.activeElement.textContent").startswith(wanted):
            page.press(Keys.TAB)
        page.press(Keys.ENTER)
        page.answered(n + 1)
    assert np.array_equal(learner.label_pool() == "right", POOL[::8, 0] > 0)
    assert page.text("#question") == "Nothing is left to ask. Press Finish, or correct an answer."
    assert not page.shown("#answers") and not page.shown("#skip") and not page.shown("#sample")
    assert page.script("state.advice") and not page.shown("#advice")
    page.type(Keys.BACKSPACE)
    page.wait(lambda: page.shown("#answers") and page.shown("#sample"))


def test_focus_is_visible(look):
    page = look(make_learner()).ready()
    page.press(Keys.TAB)
    assert page.script("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_a_double_click_is_one_answer(look):
    learner = make_learner()
    page = look(learner).ready()
    ActionChains(page.browser).double_click(page.button("left")).perform()
    page.answered(1)
    page.ready()
    assert len(learner.labelled_) == 1
    assert page.script("state.answers") == 1


def test_a_click_at_the_moment_a_question_appears_was_meant_for_the_one_before(look):
    learner = make_learner()
    page = look(learner).ready()
    page.browser.execute_script(
        """const plain = show;
        show = (...state) => {
            plain(...state);
            document.querySelector("#answers button").click();
            window.tried = sending;
        };
        """
    )
    page.press("r")
    page.answered(1)
    assert page.script("window.tried") is False
    assert learner.labels_.tolist() == ["right"]


def test_a_key_held_down_is_one_answer(look):
    learner = make_learner()
    page = look(learner).ready()
    held = {"key": "l", "code": "KeyL", "text": "l", "windowsVirtualKeyCode": 76}
    page.browser.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyDown", **held})
    page.answered(1)
    page.ready()
    page.browser.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyDown", "autoRepeat": True, **held})
    page.browser.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyUp", **held})
    assert page.script("sending") is False
    page.type("r")
    page.answered(2)
    assert learner.labels_.tolist() == ["left", "right"]


def test_keys_of_the_browser_are_left_alone(look):
    learner = make_learner()
    page = look(learner).ready()
    for modifier in (Keys.CONTROL, Keys.ALT, Keys.META):
        ActionChains(page.browser).key_down(modifier).send_keys("1").key_up(modifier).perform()
    assert page.script("sending") is False and len(learner.labelled_) == 0


def test_cannot_tell(look):
    learner = make_learner()
    page = look(learner)
    first = page.ready().index
    page.type("?")
    page.wait(lambda: page.index != first)
    page.click("Cannot tell")
    page.wait(lambda: page.script("state.skipped === 2 && state.status === 'asking'"))
    assert learner.skipped_[0] == first and len(learner.labelled_) == 0
    assert page.text("#progress") == "0 answers, 2 skipped, 39 samples left"
    page.click(f"{first}: cannot tell")
    page.wait(lambda: page.text("#question") == f"Sample {first} was skipped. What is it?")
    page.type("r")
    page.answered(1)
    assert learner.labelled_.tolist() == [first]


def test_the_last_answer_can_be_corrected(look):
    learner = make_learner()
    page = look(learner)
    first = page.ready().index
    page.type("l")
    page.answered(1)
    following = page.ready().index
    page.type(Keys.BACKSPACE)
    page.wait(lambda: page.text("#question") == f"Sample {first} was “left”. What is it?")
    assert page.text("#sample dd") == f"{POOL[first, 0]:.6g}"
    assert page.script("document.activeElement.id") == "question"
    assert page.button("left").value_of_css_property("box-shadow") != "none"
    page.press(Keys.ESCAPE)
    page.wait(lambda: page.text("#question") == f"What is sample {following}?")
    assert page.text("#sample dd") == f"{POOL[following, 0]:.6g}"
    page.click("Correct last answer")
    page.wait(lambda: page.shown("#keep"))
    question = page.script("state.question")
    page.type("l")  # as it was
    page.wait(lambda: not page.shown("#keep"))
    assert learner.labels_.tolist() == ["left"] and page.script("state.question") == question
    page.click("Correct last answer")
    page.wait(lambda: page.shown("#keep"))
    page.click("right")
    page.wait(lambda: page.text("#notice") == f"Sample {first} is now “right”.")
    assert learner.labels_.tolist() == ["right"] and page.index not in learner.labelled_
    assert page.text("#question") == f"What is sample {page.index}?" and not page.shown("#keep")


def test_a_key_before_the_old_sample_is_on_show_answers_nothing(look):
    learner = make_learner()
    page = look(learner)
    page.type("l")
    page.answered(1)
    page.ready().script("correct(state.recent[0]), answer(1), keep(), finish()")
    page.wait(lambda: page.shown("#keep"))
    assert page.script("sending") is False and page.button("right").get_attribute("aria-disabled") == "false"
    assert learner.labels_.tolist() == ["left"] and not page.page.closed


def test_a_correction_on_its_way_is_not_taken_back(look):
    Held.released.clear()
    learner = make_learner(Held())
    page = look(learner)
    try:
        page.type("l")
        page.answered(1)
        page.type("?")
        page.wait(lambda: page.script("state.skipped") == 1)
        page.click("Correct last answer")
        page.wait(lambda: page.shown("#keep"))
        page.type("r")
        page.wait(lambda: page.text("#notice") == "Learning …")
        page.press(Keys.ESCAPE)
        assert page.text("#question").endswith("was skipped. What is it?")
    finally:
        Held.released.set()
    page.answered(2)


def test_an_old_sample_that_cannot_be_fetched_is_told_so(look):
    page = look(make_learner())
    page.type("l")
    page.answered(1)
    page.ready().script("correct({ index: 99, label: 0 })")
    page.wait(lambda: page.text("#notice") == "index must be that of a sample that was asked for before, got 99.")
    page.type("l")
    page.answered(2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_what_the_machine_refuses_is_told_after_a_correction_too(look):
    learner = make_learner(SVC("linear", C=np.inf), start=lambda learner, candidates: candidates)
    learner.tell([10, 20, 30, 40], ["left", "right", "left", "right"])  # nothing separates these
    page = look(learner)
    page.wait(lambda: "the estimator refuses the 4 answers" in page.text("#notice"))
    page.click("10: left")
    page.wait(lambda: page.shown("#keep"))
    page.type("r")
    page.wait(lambda: "Sample 10 is now “right”. There is no machine" in page.text("#notice"))
    assert "strong" in page.find("#notice").get_attribute("class")


# --- tabs, servers, tokens --------------------------------------------------------------------------------


def test_a_second_tab_follows(look):
    learner = make_learner()
    page = look(learner).ready()
    question, first = page.index, page.browser.current_window_handle
    page.browser.switch_to.new_window("tab")
    page.browser.get(page.page.url)
    assert page.ready().index == question
    page.type("l")
    page.answered(1)
    following = page.index
    page.browser.switch_to.window(first)
    page.answered(1)
    assert page.ready().index == following
    assert page.text("#notice") == "Answered elsewhere. Here is the question now."
    page.type("r")
    page.answered(2)
    assert learner.labels_.tolist() == ["left", "right"]


def test_two_looks_at_once_tell_once_what_was_done_elsewhere(look):
    page = look(make_learner()).ready()
    with page.page.paused() as learner:
        learner.tell(learner.query(), ["left"])
    page.script("Promise.all([look(), look()])")
    page.answered(1)
    assert page.ready().text("#notice") == "Answered elsewhere. Here is the question now."


def test_a_stale_form_is_told_so(look):
    learner = make_learner()
    page = look(learner)
    page.type("l")
    page.answered(1)
    page.ready()
    # The form of the question before, of which this page knows nothing better.
    page.browser.execute_script("state = { ...state, question: state.question - 1 }")
    page.type("r")
    page.wait(lambda: page.text("#notice").startswith("This was answered meanwhile, your answer was not taken."))
    assert learner.labels_.tolist() == ["left"]
    page.type("r")
    page.answered(2)


def test_an_answer_that_is_not_saved_is_told_so(look, monkeypatch):
    learner = make_learner()
    page = look(learner).ready()

    def tell(i, y):
        raise OSError("No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(learner, "tell", tell)
        page.type("l")
        page.wait(lambda: "The answer was not saved: OSError: No space left on device" in page.text("#notice"))
    page.type("l")
    page.answered(1)


def test_a_wrong_token_says_what_to_do(look):
    page = look(make_learner())
    page.browser.get(page.page.url[:-3])
    assert "Copy the whole address" in page.text("body")
    assert page.script("getComputedStyle(document.body).maxWidth") == "640px"  # its style is let through


def test_a_page_of_another_time_says_what_to_do(look):
    learner = make_learner()
    page = look(learner).ready()
    port = int(page.page.url.split(":")[2].split("/")[0])
    page.page.close()
    page.wait(lambda: "The program does not answer." in page.text("#notice"))
    with learner.serve(port, block=False, open_browser=False):
        page.wait(lambda: "Open the address that serve() gives now" in page.text("#notice"))


def test_closed_and_opened_again(look, tmp_path):
    path = tmp_path / "answers.jsonl"
    page = look(make_learner(path=path))
    for n in range(3):
        page.type("lr"[n % 2])
        page.answered(n + 1)
    index = page.index
    page.page.close()
    page = look(make_learner(path=path))
    assert page.ready().index == index
    assert page.text("#progress").startswith("3 answers") and not page.shown("#kept")
    page.browser.refresh()
    assert page.ready().index == index
    page.click("Finish")
    page.wait(lambda: page.text("#notice") == "Finished. All answers are saved; you may close this tab.")


def test_a_connection_that_comes_back(look):
    page = look(make_learner()).ready()
    page.browser.execute_cdp_cmd("Network.enable", {})
    conditions = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    try:
        page.browser.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)
        page.wait(lambda: page.text("#notice").startswith("The program does not answer."))
    finally:
        page.browser.execute_cdp_cmd("Network.emulateNetworkConditions", {**conditions, "offline": False})
    page.wait(lambda: page.text("#notice") == "")
    page.type("l")
    page.answered(1)


def test_finish(look):
    page = look(make_learner())
    page.type("l")
    page.answered(1)
    page.click("Finish")
    page.page.wait()
    page.wait(lambda: page.text("#notice") == "Finished. All answers are with the program; you may close this tab.")
    assert page.button("Finish").get_attribute("aria-disabled") == "true"
    page.press("r")
    assert page.script("sending") is False


class Held(SVC):
    """A machine that learns only when it is let go."""

    released = threading.Event()

    def fit(self, X, y):
        assert self.released.wait(60)
        return super().fit(X, y)


def test_while_the_machine_learns_the_page_says_so(look):
    Held.released.clear()
    learner = make_learner(Held())
    page = look(learner)
    try:
        page.type("l")
        page.answered(1)
        page.type("r")
        page.wait(lambda: page.text("#notice") == "Learning …")
        page.press("l")
        page.button("left").click()
        assert page.find("#work").get_attribute("aria-busy") == "true"
        page.browser.refresh()  # the answer is on its way all the same
        page.wait(lambda: page.text("#notice") == "Learning …")
    finally:
        Held.released.set()
    page.answered(2)
    assert page.find("#work").get_attribute("aria-busy") == "false"
    assert learner.labels_.tolist() == ["left", "right"]


# --- what is shown ----------------------------------------------------------------------------------------

MOLECULE = Graph(4, [(0, 1), (0, 2), (0, 3)], node_labels="COHH", edge_labels="=--")
KINDS = {
    "row": (POOL, "#sample dl"),
    "text": (["Some words.\nAnd more."] * 41, "#sample p.text"),
    "sequence": (["GATTACA" * 5] * 41, "#sample .letters"),
    "symbols": ([("the", "cat")] * 41, "#sample .symbols"),
    "graph": ([MOLECULE] * 41, "#sample svg .node"),
    "directed graph": ([Graph(3, [(0, 1), (1, 2), (2, 2)], directed=True)] * 41, "#sample svg .arrow"),
    "tree": ([Tree.from_string("(S (NP Paul) (VP runs))")] * 41, "#sample svg .word"),
    "image": (np.eye(8)[np.newaxis].repeat(41, axis=0), "#sample img.pixels"),
    "photograph": (np.broadcast_to(np.uint8(99), (41, 900, 700, 3)), "#sample img:not(.pixels)"),
    "drawing": ([SVG('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 2 2"/>')] * 41, "#sample img"),
    "series": (Series.pack([np.sin(np.arange(50.0))] * 41), "#sample svg .curve"),
    "number": (np.arange(41), "#sample p.text"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [1280, 360])
def test_samples_of_every_kind_are_drawn_within_the_page(look, kind, width):
    samples, selector = KINDS[kind]
    learner = make_learner()
    learner.tell([0, 20, 40], ["left", "left", "right"])
    page = look(learner, show=samples)
    size = {"width": width, "height": 740, "deviceScaleFactor": 1, "mobile": width < 500}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        drawn = page.ready().find(selector)
        assert drawn.is_displayed()
        assert page.script("document.documentElement.scrollWidth <= innerWidth")
        if drawn.tag_name == "img":
            page.wait(lambda: page.script("arguments[0].complete && arguments[0].naturalWidth > 0", drawn))
        if drawn.tag_name in ("img", "g", "polygon", "polyline"):  # drawings are seen whole
            assert page.script("$('sample').scrollHeight <= $('sample').clientHeight")
        frame = page.find("#sample").rect
        assert frame["x"] - 1 <= drawn.rect["x"] and drawn.rect["width"] <= frame["width"] + 1
        for button in ("left", "right", "Cannot tell"):  # not below the fold, either
            assert page.script("arguments[0].getBoundingClientRect().bottom <= innerHeight", page.button(button))
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_text_is_shown_as_it_is(look):
    page = look(make_learner(), show=["GATTACAGATTACA  <i>&amp;\n new line"] * 41).ready()
    assert page.script("document.querySelector('#sample p').textContent") == "GATTACAGATTACA  <i>&amp;\n new line"
    assert page.text("#sample") == "GATTACAGATTACA  <i>&amp;\n new line"


def test_long_texts_stay_in_their_frame(look):
    page = look(make_learner(), show=["!" * 20_000] * 41).ready()
    assert page.script("$('sample').scrollWidth <= $('sample').clientWidth")
    page.browser.execute_script("$('sample').scrollTop = 100")
    assert page.script("$('sample').scrollTop") == 100
    assert page.find("#sample").value_of_css_property("overflow") == "auto"


def test_small_images_keep_their_pixels(look):
    page = look(make_learner(), show=np.zeros((41, 8, 8))).ready()
    assert page.find("#sample img").value_of_css_property("image-rendering") == "pixelated"
    assert page.find("#sample img").rect["width"] == 24 * 8


def test_sequences_have_places(look):
    page = look(make_learner(), show=["GATTACAGATTACAGATTACA"] * 41).ready()
    assert page.text("#sample").split() == ["1", "GATTACAGAT", "11", "TACAGATTAC", "21", "A"]


@pytest.mark.parametrize("sample", ["", {}, (), np.zeros(0), b""], ids=repr)
def test_empty_samples_are_told_so(look, sample):
    page = look(make_learner(), show=[sample] * 41).ready()
    assert page.text("#sample") == "This sample is empty."


def test_empty_series_are_told_so(look):
    page = look(make_learner(), show=Series.pack([[1.0, 2.0]] + [[]] * 40)).ready()
    assert page.text("#sample") == "This sample is empty."


def test_series_have_their_range_at_the_axes(look):
    page = look(make_learner(), show=Series.pack([[-1.5, 0.0, 1 / 3, 0.25]] * 41)).ready()
    assert page.text("#sample").split() == ["-1.5", "0.333", "0", "3"]


def test_few_values_stand_below_each_other_and_many_side_by_side(look):
    for n, wanted in ((4, 1), (40, 2)):
        page = look(make_learner(), show=np.zeros((41, n))).ready()
        columns = page.script("getComputedStyle(document.querySelector('#sample dl')).gridTemplateColumns.split(' ')")
        assert len(columns) >= wanted and (n > 4 or len(columns) == 1)


def test_edges_of_graphs(look):
    graph = Graph(4, [(0, 1), (1, 2), (2, 2), (2, 3)], node_labels="CNCO", edge_labels="abcd")
    for shown, arrows in ((graph, 0), (graph.replace(directed=True), 3)):
        page = look(make_learner(), show=[shown] * 41).ready()
        drawn = {
            name: len(page.browser.find_elements(By.CSS_SELECTOR, f"#sample {name}"))
            for name in ("line.edge", "circle.edge", ".arrow", ".c0", ".c1", ".c2")
        }
        assert drawn == {"line.edge": 3, "circle.edge": 1, ".arrow": arrows, ".c0": 2, ".c1": 1, ".c2": 1}
        words = [text.text for text in page.browser.find_elements(By.CSS_SELECTOR, "#sample text")]
        assert words == [*"abcd", *"CNCO"]


def test_what_is_left_out_is_counted(look):
    page = look(make_learner(), show=np.zeros((41, 1700))).ready()
    assert page.text("#sample").endswith("and 1,500 more columns")


def test_a_long_series_fills_the_frame(look):
    page = look(make_learner(), show=Series.pack([np.arange(2500.0)] * 41)).ready()
    points = page.find("#sample polyline").get_attribute("points").split()
    ends = [[float(v) for v in point.split(",")] for point in (points[0], points[-1])]
    assert np.allclose(ends, [[34, 302], [632, 14]], atol=0.5)


def test_a_class_that_comes_later_has_a_button(look):
    learner = make_learner(classes=None)
    learner.tell([0, 40], CLASSES)
    page = look(learner).ready()
    with page.page.paused():
        learner.tell(20, "middle")
    page.answered(3)
    page.click("middle")
    page.answered(4)
    assert learner.labels_.tolist() == ["left", "right", "middle", "middle"]


def test_twelve_classes_on_a_telephone(look):
    page = look(make_learner(classes=[f"automobile {i}" for i in range(12)]), title="What is in the picture?")
    size = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page.ready()
        assert page.find("#progress").rect["width"] > 300
        assert page.script("document.documentElement.scrollWidth <= innerWidth")
        last = page.button("automobile 11")
        assert page.script("arguments[0].getBoundingClientRect().bottom <= innerHeight", last)
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_long_labels_of_nodes_are_written_out(look):
    graph = Graph(3, [(0, 1), (1, 2)], node_labels=["kinase", "DNA", "a very long name"])
    page = look(make_learner(), show=[graph] * 41).ready()
    words = [text.text for text in page.browser.find_elements(By.CSS_SELECTOR, "#sample .node text")]
    assert words == ["kinase", "DNA", "a very long…"]
    assert page.script("[...document.querySelectorAll('#sample .node title')].pop().textContent") == "a very long name"


def test_words_of_a_large_tree_can_be_read(look):
    tree = Tree("S", [Tree(f"PROPERNAME{i}", ["a"]) for i in range(20)])
    page = look(make_learner(), show=[tree] * 41).ready()
    boxes = page.script("[...document.querySelectorAll('#sample text')].map((t) => t.getBoundingClientRect().toJSON())")
    assert min(box["height"] for box in boxes) > 8
    names = sorted((box["left"], box["right"]) for box in boxes if box["width"] > 30)
    assert len(names) == 20 and all(a[1] < b[0] for a, b in pairwise(names))
    frame = page.find("#sample").rect
    assert frame["x"] < boxes[0]["left"] and boxes[0]["right"] < frame["x"] + frame["width"]  # the root is on show
    drawing = page.script("document.querySelector('#sample svg').getBoundingClientRect().toJSON()")
    assert drawing["left"] < names[0][0] and names[-1][1] < drawing["right"]


def test_large_numbers_fit_beside_their_axes(look):
    page = look(make_learner()).ready()
    assert page.script("[0, 41, 9999, 123456, 1000000].map(short)") == ["0", "41", "9,999", "123K", "1M"]


def test_a_band_too_narrow_for_its_numbers_has_the_end_of_the_axis(look):
    page = look(make_learner()).ready()
    histogram = {
        "counts": [3, 1],
        "edges": [-148, 0, 148],
        "sides": CLASSES,
        "band": [-1, 1],
        "inside": 0,
    }
    ticks = [[-1, "−1"], [0, "0"], [1, "+1"]]
    page.script("showHistogram($('values'), arguments[0], null)", {**histogram, "ticks": ticks})
    assert page.text("#values svg").split() == ["3", "0", "150"]


EVIL = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>'\"&"


@pytest.mark.parametrize(
    "sample",
    [
        {EVIL: EVIL},
        f"{EVIL} text",
        EVIL.replace(" ", ""),
        (EVIL, EVIL),
        Graph(2, [(0, 1)], node_labels=[EVIL] * 2, edge_labels=[EVIL]),
        Tree(EVIL, [EVIL]),
        SVG(f'<svg xmlns="http://www.w3.org/2000/svg" onload="document.title=1"><script>{1}</script></svg>'),
    ],
    ids=lambda sample: type(sample).__name__,
)
def test_nothing_from_data_is_taken_for_markup(look, sample):
    learner = make_learner(classes=[EVIL, "other"])
    page = look(learner, show=[sample] * 41, title=EVIL)
    assert page.ready().text("h1") == EVIL
    page.click(EVIL)
    page.answered(1)
    page.click("Correct last answer")
    page.wait(lambda: page.shown("#keep"))
    assert EVIL in page.text("#question") and EVIL in page.text("#recent")
    assert page.browser.title == EVIL
    assert page.script("document.querySelectorAll('img[onerror], main script').length") == 0


def test_charts_are_drawn(look):
    learner = make_learner()
    page = look(learner).ready()
    assert page.text("#values") == "After answers of two classes."
    for n in range(12):
        page.type("lr"[int(POOL[page.ready().index, 0] > 0)])
        page.answered(n + 1)
    for place in ("#values", "#agreement", "#band"):
        assert page.find(f"{place} svg").get_attribute("aria-label")

    def numbers(selector, *names):
        found = page.browser.find_elements(By.CSS_SELECTOR, selector)
        return np.array([[float(one.get_attribute(name)) for name in names] for one in found])

    # The frame of a chart is 258 wide, from 34, and 92 high, from 106 up.
    state = page.script("state")
    histogram, edges = state["histogram"], np.array(state["histogram"]["edges"])
    place = 34 + 258 * (np.array([-1.0, 1.0, state["value"], *edges]) - edges[0]) / (edges[-1] - edges[0])
    assert np.allclose(numbers("#values .shade", "x", "width"), [[place[0], place[1] - place[0]]])
    assert np.allclose(numbers("#values .mark", "x1", "x2"), place[2])
    counts = np.array(histogram["counts"])
    bars = numbers("#values .bar", "x", "height")
    assert np.allclose(bars[:, 0], 0.4 + place[3:-1][counts > 0])
    assert np.allclose(bars[:, 1], 92 * counts[counts > 0] / counts.max())
    assert set(page.text("#values svg").split()) == {str(counts.max()), "−1", "0", "+1", "this", "one"}
    for name, top in (("agreement", 1.0), ("band", max(v for v in state["curve"]["band"] if v is not None))):
        known = [(n, v) for n, v in zip(state["curve"]["answers"], state["curve"][name], strict=True) if v is not None]
        wanted = [[34 + 258 * n / 12, 106 - 92 * v / top] for n, v in known]
        points = page.find(f"#{name} polyline").get_attribute("points").split()
        assert np.allclose([list(map(float, point.split(","))) for point in points], wanted)
    assert page.text("#values-title") == "Decision values: ← left, right →"
    assert len(page.browser.find_elements(By.CSS_SELECTOR, "#recent button")) == 8


def test_the_stopping_rule_speaks_and_does_not_force(look):
    page = look(make_learner(budget=1)).ready()
    assert not page.shown("#advice")
    page.type("l")
    page.answered(1)
    assert page.text("#advice") == "You may stop. The budget of answers is spent. Or go on as you like."
    page.type("r")
    page.answered(2)


def test_a_batch_is_asked_for_one_by_one(look):
    learner = make_learner(batch=3)
    learner.tell([0, 40], CLASSES)
    page = look(learner)
    marks = []
    for n, index in enumerate(learner.query().tolist()):
        assert page.ready().index == index
        marks.append(float(page.find("#values .mark").get_attribute("x1")))
        until = "" if n == 2 else f"; {3 - n} until it learns"
        assert page.text("#progress") == f"{2 + n} answers, {39 - n} samples left{until}"
        page.type("lr"[int(POOL[index, 0] > 0)])
        page.answered(3 + n)
    assert len(set(marks)) == 3  # of the same histogram
    assert page.ready().index == learner.query()[0] and len(set(learner.gain_[2:])) == 1


def test_a_sample_that_cannot_be_shown_is_told_so(look):
    learner = make_learner()
    first = learner.query()[0]
    page = look(learner, show=lambda x: x if x == POOL[first] else None)
    page.type("?")
    page.wait(lambda: page.text("#sample").startswith("This sample cannot be shown. TypeError: show must return"))


def test_a_rule_that_fails_is_told_so(look):
    def moody(learner, candidates):
        if len(learner.labelled_) == 1 and learner.labels_[0] == "left":
            raise RuntimeError("not left")
        return candidates.astype(float)

    learner = make_learner(start=moody)
    page = look(learner)
    page.type("l")
    page.wait(lambda: page.text("#notice") == "RuntimeError: not left")
    assert page.text("#question").startswith("There is no next question.") and not page.shown("#answers")
    page.click("Correct last answer")
    page.wait(lambda: page.shown("#keep"))
    page.type("r")
    page.answered(1)
    assert page.text("#question") == "What is sample 1?" and page.shown("#sample")


def test_light_and_dark(look):
    page = look(make_learner()).ready()
    brightness = []
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        colour = page.script("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
        brightness.append(sum(colour))
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert brightness[0] > 600 and brightness[1] < 150
