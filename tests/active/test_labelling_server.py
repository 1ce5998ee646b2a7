"""The labelling page without a browser: who may ask for what, and what becomes of an answer."""

import http.client
import json
import re
import socket
import threading
from urllib.parse import urlsplit

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from mercer import SVC
from mercer.active import ActiveLearner, Labelling
from mercer.active.serving import server
from mercer.active.serving.session import keys_of
from mercer.kernels import RBF

POOL = np.linspace(-1.0, 1.0, 41)[:, np.newaxis]
CLASSES = ["left", "right"]


def make_learner(estimator=None, **settings):
    return ActiveLearner(SVC() if estimator is None else estimator, POOL, **{"classes": CLASSES, **settings})


@pytest.fixture
def learner():
    return make_learner()


@pytest.fixture
def page(learner):
    with learner.serve(block=False, open_browser=False) as page:
        yield page


class Client:
    """Somebody who asks the server, with the right token unless it is taken away."""

    def __init__(self, page):
        address = urlsplit(page.url)
        self.host, self.port, self.token = address.hostname, address.port, address.query.removeprefix("token=")

    def ask(self, path, method="GET", body=None, **headers):
        """Status, headers and text of an answer. A header of None is not sent."""
        headers = {"Host": f"{self.host}:{self.port}", "X-Token": self.token, **headers}
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in headers.items():
                if value is not None:
                    connection.putheader(name.replace("_", "-"), value)
            connection.endheaders(body)
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read().decode("utf-8")
        finally:
            connection.close()

    def state(self, after=None):
        status, _, text = self.ask("/state" if after is None else f"/state?after={after}")
        assert status == 200
        return json.loads(text)

    def post(self, path, content, **headers):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        headers = {"Content_Type": "application/json", "Content_Length": str(len(body)), **headers}
        status, _, text = self.ask(path, "POST", body, **headers)
        return status, json.loads(text)

    def act(self, question, *action):
        return self.post("/act", {"question": question, "action": action})

    def answer(self, truth=lambda i: POOL[i, 0] > 0):
        """The right answer to the question of now."""
        state = self.state()
        return self.act(state["question"], "answer", int(truth(state["index"])))


# --- who may ask ------------------------------------------------------------------------------------------


EVERYTHING = ["/", "/page.js", "/page.css", "/state", "/sample?index=1", "/act", "/finish", "/nothing"]


@pytest.mark.parametrize("path", EVERYTHING)
@pytest.mark.parametrize("token", [None, "", "wrong", "ü", "x" * 5000], ids=["none", "empty", "wrong", "odd", "long"])
def test_without_the_token_nothing_is_told(page, path, token):
    client = Client(page)
    asked = path if token is None else f"{path}{'&' if '?' in path else '?'}token={token.encode().hex()}"
    header = None if token is None else token.encode("utf-8").decode("latin-1")
    for method in ("GET", "POST"):
        status, headers, text = client.ask(asked, method, X_Token=header, **{"X-Token": None})
        assert status == 403
        assert client.token not in text
        assert headers["Cache-Control"] == "no-store"


def test_a_page_without_the_token_says_what_to_do(page):
    status, headers, text = Client(page).ask("/", X_Token=None)
    assert (status, headers["Content-Type"]) == (403, "text/html; charset=utf-8")
    assert "Copy the whole address" in text


def test_the_token_of_the_address_opens_pages_and_that_of_the_header_the_rest(page):
    client = Client(page)
    for path in ("/", "/page.js", "/page.css"):
        assert client.ask(f"{path}?token={client.token}", **{"X-Token": None})[0] == 200
        assert client.ask(path)[0] == 403
    assert client.ask(f"/state?token={client.token}", **{"X-Token": None})[0] == 403
    assert client.ask("/state")[0] == 200


def test_tokens_are_long_and_new_every_time(learner):
    tokens = set()
    for _ in range(3):
        with learner.serve(block=False, open_browser=False) as page:
            tokens.add(Client(page).token)
    assert len(tokens) == 3 and min(map(len, tokens)) >= 40


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "evil.example:{port}", "", None])
def test_other_names_of_this_machine_are_refused(page, host):
    client = Client(page)
    name = None if host is None else host.format(port=client.port)
    assert client.ask("/state", Host=name)[0] == 403
    assert client.ask(f"/?token={client.token}", Host=name)[0] == 403


def test_localhost_is_this_machine(page):
    client = Client(page)
    assert client.ask("/state", Host=f"localhost:{client.port}")[0] == 200


def test_it_listens_to_this_machine_alone(page):
    assert page._server.socket.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize("path", EVERYTHING)
def test_every_answer_has_the_headers_that_protect_it(page, path):
    client = Client(page)
    for asked in (path, f"{path}?token={client.token}"):
        _, headers, _ = client.ask(asked)
        policy = dict(rule.split(" ", 1) for rule in headers["Content-Security-Policy"].split("; "))
        assert set(policy.pop("style-src").split("-")[0].split()) <= {"'self'", "'sha256"}
        assert {policy.pop(f"{kind}-src") for kind in ("script", "connect")} == {"'self'"}
        assert policy.pop("img-src") == "data:"
        assert policy == dict.fromkeys(("default-src", "base-uri", "form-action", "frame-ancestors"), "'none'")
        assert headers["Cross-Origin-Opener-Policy"] == headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert "Python" not in headers["Server"]


def test_nothing_comes_from_elsewhere(page):
    client = Client(page)
    for path in ("/", "/page.js", "/page.css"):
        text = client.ask(f"{path}?token={client.token}")[2]
        assert set(re.findall(r"\w+://[^\s\"'`)]*", text)) <= {"http://www.w3.org/2000/svg"}
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|@import|url\(", text)


# --- what may be asked ------------------------------------------------------------------------------------


def test_unknown_paths_and_methods(page):
    client = Client(page)
    assert client.ask("/nothing")[0] == 404
    assert client.ask("/../server.py")[0] == 404
    for path, allowed in (("/state", "GET"), ("/sample", "GET"), ("/act", "POST"), ("/finish", "POST")):
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"} - {allowed}:
            status, headers, _ = client.ask(path, method)
            assert (status, headers["Allow"]) == (405, allowed)
    status, headers, _ = client.ask("/state", "BREW")
    assert status == 501 and headers["Cache-Control"] == "no-store"


GOOD = {"question": 0, "action": ["answer", 0]}


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (GOOD, {"Content_Type": "text/plain"}, 415),
        (GOOD, {"Content_Type": None}, 415),
        (GOOD, {"Content_Length": None}, 411),
        (GOOD, {"Content_Length": "-1"}, 411),
        (GOOD, {"Content_Length": None, "Transfer_Encoding": "chunked"}, 411),
        (b" " * 1025, {}, 413),
        (GOOD, {"Content_Length": "9" * 30}, 413),
        (b"{", {}, 400),
        (b"\xff\xfe\xff", {}, 400),
        (b"[" * 1000, {}, 400),
        ([], {}, 400),
        ({}, {}, 400),
        ({"question": 0, "action": []}, {}, 400),
        ({"question": 0, "action": "skip"}, {}, 400),
        ({"question": True, "action": ["skip"]}, {}, 400),
        ({"question": "0", "action": ["skip"]}, {}, 400),
        ({"question": 0, "action": ["forget"]}, {}, 400),
        ({"question": 0, "action": ["skip", 1]}, {}, 400),
        ({"question": 0, "action": ["answer"]}, {}, 400),
        ({"question": 0, "action": ["answer", 2]}, {}, 400),
        ({"question": 0, "action": ["answer", -1]}, {}, 400),
        ({"question": 0, "action": ["answer", True]}, {}, 400),
        ({"question": 0, "action": ["answer", "left"]}, {}, 400),
        ({"question": 0, "action": [["answer"], 1]}, {}, 400),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_requests_change_nothing(page, learner, content, headers, status):
    client = Client(page)
    before = client.state()
    found, answer = client.post("/act", content, **headers)
    assert found == status and answer["error"]
    assert client.state() == before
    assert len(learner.labelled_) == 0


def test_bad_numbers_are_named(page):
    client = Client(page)
    for path in ("/state?after=x", "/state?after=-1", "/sample", "/sample?index=1e3", f"/sample?index={'9' * 400}"):
        status, _, text = client.ask(path)
        assert status == 400 and "must be an int >= 0" in text
    status, _, text = client.ask("/sample?index=3")
    assert status == 400 and "asked for before, got 3" in text


# --- answers ----------------------------------------------------------------------------------------------


def test_answers_reach_the_learner(page, learner):
    client = Client(page)
    before = client.state()
    assert (before["status"], before["index"], before["classes"]) == ("asking", learner.query()[0], CLASSES)
    status, after = client.act(before["question"], "answer", 1)
    assert status == 200 and after["question"] > before["question"] and after["version"] > before["version"]
    assert learner.labelled_.tolist() == [before["index"]] and learner.labels_.tolist() == ["right"]
    assert after["recent"] == [{"index": before["index"], "label": 1}]
    assert client.state(after["version"]) == {"version": after["version"]}
    assert client.state(before["version"]) == after


def test_a_labelling_from_the_first_to_the_last_sample(page, learner):
    client = Client(page)
    for n in range(len(POOL)):
        status, state = client.answer()
        assert (status, state["answers"]) == (200, n + 1)
    assert (state["status"], state["index"], state["sample"]) == ("finished", None, None)
    assert np.array_equal(learner.label_pool() == "right", POOL[:, 0] > 0)
    assert client.act(state["question"], "answer", 0)[0] == 409
    assert client.act(state["question"], "skip")[0] == 409
    assert client.act(state["question"], "correct", 7, 1)[0] == 200
    assert learner.label_pool()[7] == "right"


def test_the_same_click_twice_is_one_answer(page, learner):
    client = Client(page)
    question = client.state()["question"]
    first, second = client.act(question, "answer", 1), client.act(question, "answer", 1)
    assert first == second and first[0] == 200
    assert len(learner.labelled_) == 1


def test_another_answer_to_an_old_question_is_not_taken(page, learner):
    client = Client(page)
    question = client.state()["question"]
    _, now = client.act(question, "answer", 1)
    for action in (["answer", 0], ["skip"], ["correct", now["recent"][0]["index"], 0]):
        assert client.act(question, *action) == (409, now)
    assert client.act(question + 7, "skip") == (409, now)
    assert learner.labels_.tolist() == ["right"] and len(learner.skipped_) == 0


def test_many_tabs_at_once_never_answer_a_question_twice(page, learner):
    taken = []

    def label(k):
        client = Client(page)
        for _ in range(12):
            state = client.state()
            if state["status"] == "asking":
                status, _ = client.act(state["question"], "answer", k)
                taken.extend([state["question"]] if status == 200 else [])

    threads = [threading.Thread(target=label, args=(k % 2,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(learner.labelled_) == len(set(taken)) == len(learner.history_)


def test_skipping_and_correcting(page, learner):
    client = Client(page)
    skipped = client.state()["index"]
    _, state = client.act(client.state()["question"], "skip")
    assert learner.skipped_.tolist() == [skipped] and state["recent"] == [{"index": skipped, "label": None}]
    answered = state["index"]
    _, state = client.act(state["question"], "answer", 0)
    _, state = client.act(state["question"], "correct", answered, 1)
    assert learner.labels_.tolist() == ["right"]
    _, state = client.act(state["question"], "correct", skipped, 0)
    assert learner.labelled_.tolist() == [answered, skipped] and learner.labels_.tolist() == ["right", "left"]
    assert state["recent"] == [{"index": answered, "label": 1}, {"index": skipped, "label": 0}]
    assert json.loads(client.ask(f"/sample?index={skipped}")[2])["kind"] == "table"
    status, failure = client.act(state["question"], "correct", state["index"], 0)
    assert status == 500 and "has not been answered yet" in failure["error"]
    assert len(learner.labelled_) == 2


class Held(SVC):
    """A machine that learns only when it is let go."""

    started, released = threading.Event(), threading.Event()

    def fit(self, X, y):
        self.started.set()
        assert self.released.wait(60)
        return super().fit(X, y)


@pytest.fixture
def held():
    Held.started.clear()
    Held.released.clear()
    yield Held
    Held.released.set()


def test_while_the_machine_learns_the_page_says_so(held):
    learner = make_learner(held())
    with learner.serve(block=False, open_browser=False) as page:
        client = Client(page)
        client.act(client.state()["question"], "answer", 0)
        asked = client.state()
        outcome = []
        slow = threading.Thread(target=lambda: outcome.append(client.act(asked["question"], "answer", 1)))
        slow.start()
        assert held.started.wait(60)
        during = client.state(asked["version"])
        assert (during["status"], during["question"]) == ("learning", asked["question"])
        assert client.act(asked["question"], "answer", 1) == (200, during)  # the same click: it is on its way
        for other in (["answer", 0], ["skip"], ["correct", learner.labelled_[0].item(), 1]):
            assert client.act(asked["question"], *other) == (409, during)
        held.released.set()
        slow.join()
        assert outcome[0][0] == 200 and outcome[0][1]["status"] == "asking"
    assert learner.labels_.tolist() == ["left", "right"]


def test_closing_waits_for_the_answer_that_is_being_learnt(held):
    learner = make_learner(held())
    page = learner.serve(block=False, open_browser=False)
    client = Client(page)
    client.act(client.state()["question"], "answer", 0)
    asked, outcome = client.state(), []
    slow = threading.Thread(target=lambda: outcome.append(client.act(asked["question"], "answer", 1)))
    slow.start()
    assert held.started.wait(60)
    closing = threading.Thread(target=page.close)
    closing.start()
    closing.join(2.0)
    assert closing.is_alive() and not page.closed
    held.released.set()
    closing.join()
    slow.join()
    assert page.closed and outcome[0][0] == 200 and len(learner.labelled_) == 2


def test_an_answer_that_cannot_be_kept_is_not_taken(page, learner, monkeypatch):
    client = Client(page)
    asked = client.state()

    def tell(i, y):
        raise OSError("No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(learner, "tell", tell)
        status, failure = client.act(asked["question"], "answer", 1)
    assert status == 500 and "No space left" in failure["error"]
    state = client.state()
    assert failure["state"] == state
    assert (state["status"], state["index"], state["answers"]) == ("asking", asked["index"], 0)
    assert client.act(asked["question"], "answer", 1) == (409, state)  # sent again, it is not told that it was taken
    assert client.answer()[0] == 200 and len(learner.labelled_) == 1


def test_an_answer_that_is_kept_and_cannot_be_learnt_is_not_called_lost(page, learner, monkeypatch):
    client = Client(page)
    for _ in range(2):
        client.answer()

    def fit(*_):
        raise MemoryError("too much")

    with monkeypatch.context() as patched:
        patched.setattr(SVC, "fit", fit)
        status, state = client.answer()
    assert (status, state["status"], state["message"]) == (200, "failed", "MemoryError: too much")
    assert state["answers"] == len(learner.labelled_) == 3


def test_what_nobody_has_foreseen_is_told(page, monkeypatch):
    monkeypatch.setattr(page._session, "picture", lambda i: 1 / 0)
    status, _, text = Client(page).ask("/sample?index=1")
    assert (status, json.loads(text)) == (500, {"error": "ZeroDivisionError: division by zero"})


def test_a_rule_that_fails_is_told_and_an_answer_can_be_corrected(monkeypatch):
    def moody(learner, candidates):
        if learner.labels_.tolist().count("right") > 1:
            raise RuntimeError("too many to the right")
        return candidates.astype(float)

    learner = make_learner(rule=moody, start=moody)
    with learner.serve(block=False, open_browser=False) as page:
        client = Client(page)
        client.act(client.state()["question"], "answer", 1)
        status, state = client.act(client.state()["question"], "answer", 1)
        assert (status, state["status"], state["message"]) == (200, "failed", "RuntimeError: too many to the right")
        assert state["answers"] == 2
        assert client.act(state["question"], "answer", 0)[0] == 409
        status, state = client.act(state["question"], "correct", state["recent"][0]["index"], 0)
        assert (status, state["status"], state["message"]) == (200, "asking", "")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_answers_that_the_machine_refuses_are_kept_and_told():
    def first(learner, candidates):
        return candidates.astype(float)

    learner = make_learner(SVC("linear", C=np.inf), rule=first, start=first)
    with learner.serve(block=False, open_browser=False) as page:
        client = Client(page)
        messages = []
        for label in (0, 1, 0):  # nothing separates these
            _, state = client.act(client.state()["question"], "answer", label)
            messages.append(state["message"])
        assert messages[0] == "" and "the estimator refuses the 3 answers" in messages[-1]
        assert (state["status"], state["answers"], state["histogram"]) == ("asking", 3, None)
        _, state = client.act(state["question"], "correct", state["recent"][0]["index"], 1)
        assert state["message"] == "" and learner.is_fitted


def test_a_sample_that_cannot_be_shown_can_be_skipped(learner):
    first = learner.query()[0]
    with learner.serve(block=False, open_browser=False, show=lambda x: x if x == POOL[first] else None) as page:
        client = Client(page)
        _, state = client.act(client.state()["question"], "skip")
        assert state["sample"]["kind"] == "failed" and "show must return" in state["sample"]["text"]
        assert client.act(state["question"], "skip")[0] == 200


# --- what is drawn ----------------------------------------------------------------------------------------


def test_charts_follow_the_learner(page, learner):
    client = Client(page)
    state = client.state()
    assert state["histogram"] is None and state["curve"] == {"answers": [], "agreement": [], "band": []}
    for _ in range(25):
        _, state = client.answer()
    assert sum(state["histogram"]["counts"]) == len(POOL)
    assert state["histogram"]["inside"] == learner.in_band().sum() == state["curve"]["band"][-1]
    assert state["value"] == learner.decision()[state["index"]]
    assert state["histogram"]["sides"] == CLASSES
    last = [a.predicted == a.answer for a in learner.history_[-20:]]
    assert state["curve"]["agreement"][-1] == np.mean(last)
    assert state["curve"]["answers"] == list(range(1, 26))
    assert [old["index"] for old in state["recent"]] == learner.labelled_[:-9:-1].tolist()


def test_long_curves_are_thinned_out_and_keep_their_end():
    learner = ActiveLearner(SVC(), np.linspace(-1, 1, 1000)[:, np.newaxis], classes=[0, 1], stop=None)
    learner.tell([0, 999], [0, 1])
    learner.tell(np.arange(1, 901), [int(i >= 500) for i in range(1, 901)])
    with learner.serve(block=False, open_browser=False) as page:
        curve = Client(page).state()["curve"]
    assert len(curve["answers"]) < 450 and curve["answers"][-1] == 902


def test_the_stopping_rule_speaks_and_does_not_force():
    learner = make_learner(SVC(kernel=RBF(1.0), C=1e4), budget=3)
    with learner.serve(block=False, open_browser=False) as page:
        client = Client(page)
        for _ in range(3):
            assert client.state()["advice"] == ""
            _, state = client.answer()
        assert (state["status"], state["advice"]) == ("asking", "The budget of answers is spent.")
        assert client.answer()[1]["answers"] == 4


def test_a_batch_is_asked_for_one_by_one_and_learnt_together(monkeypatch):
    learner = make_learner(batch=3, budget=8, stop=None)
    learner.tell([0, 40], CLASSES)
    values, fits, fit = learner.decision(), [], SVC.fit
    monkeypatch.setattr(SVC, "fit", lambda self, X, y: fits.append(len(y)) or fit(self, X, y))
    with learner.serve(block=False, open_browser=False) as page:
        client = Client(page)
        first = client.state()
        batch = learner.query(3).tolist()
        for waiting, index in zip((3, 2, 1), batch, strict=True):
            state = client.state()
            assert (state["index"], state["waiting"]) == (index, waiting)
            assert state["value"] == values[index] and state["histogram"] == first["histogram"] and fits == []
            assert client.answer()[0] == 200
            assert learner.labelled_[-1] == index  # told at once, and learnt after the last
        state = client.state()
        assert fits == [5] and state["histogram"] != first["histogram"]
        assert state["waiting"] == 3 and state["index"] == learner.query()[0]
        # One of the next ones is skipped; the machine learns what is there when all three are done.
        client.act(state["question"], "skip")
        client.answer()
        client.answer()
        assert len(learner.labelled_) == 7 and len(learner.skipped_) == 1 and fits == [5, 7]
        assert np.isfinite(learner.gain_).all() and client.state()["waiting"] == 1  # the budget has one left
        assert client.answer()[1]["advice"] == "The budget of answers is spent." and client.state()["waiting"] == 3
    together = make_learner(stop=None)
    together.tell([0, 40], CLASSES)
    together.tell(batch, learner.labels_[2:5])
    assert learner.history_[:5] == together.history_


def test_a_correction_and_a_pause_ask_anew():
    learner = make_learner(batch=4)
    learner.tell([0, 40], CLASSES)
    with learner.serve(block=False, open_browser=False) as page:
        client = Client(page)
        client.answer()
        state = client.state()
        assert state["waiting"] == 3
        _, state = client.act(state["question"], "correct", 0, 1)
        assert state["waiting"] == 4 and state["index"] == learner.query()[0] and learner.labels_[0] == "right"
        with page.paused():
            learner.tell(learner.query(2), CLASSES)
        state = client.state()
        assert state["waiting"] == 4 and state["index"] == learner.query()[0] and state["answers"] == 5


def test_several_classes_have_distances():
    learner = ActiveLearner(SVC(), POOL, classes=["c", "a", "b"])
    with learner.serve(block=False, open_browser=False) as page:
        client = Client(page)
        assert client.state()["classes"] == ["c", "a", "b"]  # in the order in which they were given
        for _ in range(12):
            _, state = client.answer(lambda i: np.searchsorted([-0.3, 0.3], POOL[i, 0]))
    assert set(learner.labels_) == {"a", "b", "c"}
    assert state["histogram"]["sides"] is None and state["histogram"]["edges"][0] == 0
    assert state["histogram"]["band"] == [0, 1]
    assert state["value"] == learner.closeness()[state["index"]]


def test_machines_without_decision_values_have_no_histogram():
    learner = make_learner(DecisionTreeClassifier(random_state=0), rule="probability", stop=None)
    with learner.serve(block=False, open_browser=False) as page:
        client = Client(page)
        for _ in range(8):
            _, state = client.answer()
    assert state["histogram"] is None and state["curve"]["band"] == [None] * 8


def test_precomputed_kernels_show_the_samples():
    K = RBF(1.0)(POOL)
    learner = ActiveLearner(SVC(kernel="precomputed"), K, classes=CLASSES)
    with learner.serve(block=False, open_browser=False, show=POOL) as page:
        client = Client(page)
        for _ in range(6):
            _, state = client.answer()
        assert state["sample"]["rows"] == [["x0", f"{POOL[state['index'], 0]:.6g}"]]


@pytest.mark.parametrize(
    ("classes", "keys"),
    [
        (["spam", "ham"], [["1", "s"], ["2", "h"]]),
        (["benign", "bad", "b"], [["1", "e"], ["2", "a"], ["b"]]),
        (list("0123456789"), [[c] for c in "0123456789"]),
        (["-1", "1"], [["-"], ["1"]]),
        (["-1", "+1"], [["-"], ["+"]]),
        (["stage 1", "stage 2"], [["1"], ["2"]]),
        (["A", "a"], [["a"], ["2"]]),
        (["a", "a "], [["a"], ["2", "b"]]),
        (["?", "why?"], [["1"], ["2", "w"]]),
        (["True", "False"], [["1", "t"], ["2", "f"]]),
    ],
    ids=str,
)
def test_keys_of_classes(classes, keys):
    assert keys_of(classes) == keys


def test_keys_are_never_shared_and_may_run_out():
    keys = keys_of([f"class {i:03d}" for i in range(60)])
    given = [key for some in keys for key in some]
    assert len(given) == len(set(given)) and keys[-1] == []


# --- opening and closing ----------------------------------------------------------------------------------


def test_closed_and_opened_again_nothing_is_lost(tmp_path):
    path = tmp_path / "answers.jsonl"
    with make_learner(path=path).serve(block=False, open_browser=False) as page:
        old = Client(page)
        for _ in range(5):
            _, before = old.answer()
    with make_learner(path=path).serve(block=False, open_browser=False) as page:
        client = Client(page)
        after = client.state()
        for name in ("answers", "index", "sample", "recent", "curve", "kept"):
            assert after[name] == before[name]
        # Decision values that followed the answers and those computed at once differ by rounding.
        assert after["value"] == pytest.approx(before["value"], rel=1e-9)
        assert after["histogram"]["inside"] == before["histogram"]["inside"]
        assert client.ask("/state", **{"X-Token": old.token})[0] == 403
        assert client.answer()[1]["answers"] == 6
    assert len(make_learner(path=path).labelled_) == 6


def test_finish_on_the_page_closes_it(learner):
    page = learner.serve(block=False, open_browser=False)
    client = Client(page)
    waiting = threading.Thread(target=page.wait, daemon=True)
    waiting.start()
    assert client.post("/finish", {})[0] == 200
    waiting.join(60)
    assert page.closed and not waiting.is_alive()
    with pytest.raises(ConnectionError):
        client.state()
    page.close()


def test_connections_kept_in_reserve_do_not_delay_the_end(learner, monkeypatch):
    assert server._Request.timeout  # nobody is waited for without end
    monkeypatch.setattr(server._Request, "timeout", None)
    page = learner.serve(block=False, open_browser=False)
    with socket.create_connection((Client(page).host, Client(page).port)) as reserve:
        Client(page).state()  # by now the other connection is accepted
        closing = threading.Thread(target=page.close, daemon=True)
        closing.start()
        closing.join(60)
        assert page.closed
        assert reserve.recv(1) == b""


def test_the_learner_can_be_used_meanwhile(page, learner):
    client = Client(page)
    before = client.state()
    with page.paused() as used:
        assert used is learner
        during = client.state()
        assert during["status"] == "learning"
        assert client.act(during["question"], "answer", 0)[0] == 409
        learner.tell([0, 40], CLASSES)
    after = client.state()
    assert (after["status"], after["answers"], len(after["recent"])) == ("asking", 2, 2)
    assert client.act(before["question"], "answer", 0)[0] == 409


def test_blocking_tells_the_address_and_ends_by_an_interrupt(learner, monkeypatch, capsys):
    opened = []

    def interrupt(page):
        assert not page.closed
        raise KeyboardInterrupt

    monkeypatch.setattr(server.webbrowser, "open", opened.append)
    monkeypatch.setattr(Labelling, "wait", interrupt)
    page = learner.serve()
    assert page.closed and opened == [page.url]
    told = capsys.readouterr()
    assert page.url in told.err and told.out == ""


def test_not_blocking_tells_nothing(learner, monkeypatch, capsys):
    opened = []
    monkeypatch.setattr(server.webbrowser, "open", opened.append)
    with learner.serve(block=False) as page:
        Client(page).answer()
        assert opened == [page.url]
        assert page.url in repr(page) and f'href="{page.url}"' in page._repr_html_()
    assert "closed" in repr(page) and "href" not in page._repr_html_()
    assert capsys.readouterr() == ("", "")


def test_titles_are_escaped(learner):
    with learner.serve(block=False, open_browser=False, title="<script>1 & 2</script>") as page:
        text = Client(page).ask(f"/?{urlsplit(page.url).query}")[2]
    assert "<h1>&lt;script&gt;1 &amp; 2&lt;/script&gt;</h1>" in text


def test_bad_parameters_are_named(learner):
    for port in (-1, 65536, 80.0, "80", None):
        with pytest.raises(ValueError, match=r"port must be an int >= 0 and <= 65535, got "):
            learner.serve(port, block=False, open_browser=False)
    with pytest.raises(TypeError, match=r"title must be a str, got 3\."):
        learner.serve(title=3, block=False, open_browser=False)
    with pytest.raises(TypeError, match=r"show must return .*; for sample \d+ it returned None\."):
        learner.serve(show=lambda sample: None, block=False, open_browser=False)
    with pytest.raises(ZeroDivisionError):
        learner.serve(show=lambda sample: 1 / 0, block=False, open_browser=False)
    with pytest.raises(
        ValueError, match=r"classes must be at least two for a page to ask for them, got \[\]; give them"
    ):
        ActiveLearner(SVC(), POOL).serve(block=False, open_browser=False)


def test_classes_among_the_answers_are_enough():
    learner = ActiveLearner(SVC(), POOL)
    learner.tell([0, 40], [1, 2])
    with learner.serve(block=False, open_browser=False) as page:
        client = Client(page)
        assert client.state()["classes"] == ["1", "2"]
        with page.paused():
            learner.tell(20, 0)  # a class that comes later is asked for from then on
        state = client.state()
        assert (state["status"], state["classes"], len(state["keys"])) == ("asking", ["1", "2", "0"], 3)
        assert state["recent"][0] == {"index": 20, "label": 2}
        client.act(state["question"], "answer", 2)
        assert learner.labels_.tolist() == [1, 2, 0, 0]


def test_a_port_in_use_is_named(page, learner):
    port = Client(page).port
    with pytest.raises(OSError, match=rf"port must be free, {port} is in use; port=0 finds one that is free"):
        learner.serve(port, block=False, open_browser=False)


def test_a_port_can_be_chosen(learner):
    with learner.serve(block=False, open_browser=False) as page:
        port = Client(page).port
    with learner.serve(port, block=False, open_browser=False) as page:
        assert Client(page).port == port
