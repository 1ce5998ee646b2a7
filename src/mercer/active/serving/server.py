"""A local web page: requests in, the session's state out. It is open to this machine and to who knows the token."""

import base64
import errno
import hmac
import html
import json
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from socketserver import TCPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from mercer.active.serving.session import NotSaved, Session, Stale
from mercer.parameters import Number

__all__ = ["Labelling", "serve"]

HOST = "127.0.0.1"
LONGEST_BODY = 1024  # bytes of a request: a few numbers
PATIENCE = 30  # seconds that a connection may stay silent

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
PAGES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
}
METHODS = {**dict.fromkeys(PAGES, "GET"), "/state": "GET", "/sample": "GET", "/act": "POST", "/finish": "POST"}
LOCKED_STYLE = "body { font: 16px/1.5 system-ui, sans-serif; max-width: 40em; margin: 3em auto; padding: 0 1em }"
LOCKED = f"""<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>Labelling: wrong address</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<style>{LOCKED_STYLE}</style>
<h1>This is not the whole address</h1>
<p>The labelling page opens by an address that ends in <code>?token=</code> and some letters. They are new every time it
is served, so that no other page or program can answer for you.</p>
<p>Copy the whole address from where <code>serve()</code> was called: the terminal, or <code>.url</code> of what it
returned. If it was closed, call <code>serve()</code> again: no answer is lost.</p>
</html>
"""


def serve(
    learner: Any,
    port: int = 0,
    *,
    show: Any = None,
    open_browser: bool = True,
    block: bool = True,
    title: str = "Labelling",
) -> "Labelling":
    """Open the labelling page of a learner; see `mercer.active.ActiveLearner.serve`."""
    page = Labelling(learner, port, show=show, title=title)
    if block:
        # The one line that the library writes: without it nobody could open the page.
        sys.stderr.write(f"Labelling page: {page.url}\nCtrl-C, or Finish on the page, closes it.\n")
        sys.stderr.flush()
    if open_browser:
        webbrowser.open(page.url)
    if block:
        try:
            page.wait()
        except KeyboardInterrupt:
            pass
        finally:
            page.close()
    return page


class Labelling:
    """A labelling page that is open, as `mercer.active.ActiveLearner.serve` returns it.

    It works in threads of its own until it is closed; use it in a ``with`` statement, or call `close`.

    Attributes
    ----------
    url : str
        The address, with the token that opens it. It is of this machine alone, and new every time.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.active import ActiveLearner
    >>> learner = ActiveLearner(SVC(), np.arange(10.0).reshape(-1, 1), classes=["low", "high"])
    >>> with learner.serve(block=False, open_browser=False) as page:
    ...     page.url
    'http://127.0.0.1:.../?token=...'
    >>> page.closed
    True
    """

    def __init__(self, learner: Any, port: int = 0, *, show: Any = None, title: str = "Labelling"):
        if problem := Number(low=0, high=65535, integer=True).problem(port):
            raise ValueError(f"port {problem}")
        if not isinstance(title, str):
            raise TypeError(f"title must be a str, got {title!r}.")
        self._session = Session(learner, show)
        try:
            self._server = _Server(self._session, self.close, int(port), title)
        except OSError as error:
            raise _port_error(error, port) from error
        self.url = f"http://{HOST}:{self._server.server_port}/?token={self._server.token}"
        self._closing, self._closed = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return self._closed.is_set()

    def wait(self) -> None:
        """Wait until somebody presses Finish on the page, or calls `close`."""
        while not self._closed.wait(1.0):  # by turns, so that Ctrl-C is heard on every system
            pass

    @contextmanager
    def paused(self) -> Iterator[Any]:
        """The learner, for use in a ``with`` statement while the page is open; it takes no answers meanwhile.

        What was told to the learner inside is on the page afterwards.
        """
        with self._session.paused() as learner:
            yield learner

    def close(self) -> None:
        """Close the page, after the answer that is being learnt. Closing twice does no harm."""
        with self._closing:
            if not self.closed:
                self._server.shutdown()
                self._thread.join()
                self._server.server_close()
                self._closed.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<Labelling page, closed>" if self.closed else f"<Labelling page at {self.url}>"

    def _repr_html_(self) -> str:
        address = html.escape(self.url, quote=True)
        return "Labelling page, closed" if self.closed else f'<a href="{address}" target="_blank">Labelling page</a>'


def _port_error(error: OSError, port: int) -> OSError:
    if error.errno == errno.EADDRINUSE:
        return OSError(error.errno, f"port must be free, {port} is in use; port=0 finds one that is free")
    if error.errno == errno.EACCES:
        return OSError(error.errno, f"port must be one that this user may open, {port} is not; port=0 finds one")
    return OSError(error.errno, f"port {port} cannot be opened: {error.strerror}")


class _Server(ThreadingHTTPServer):
    """The socket, and what its requests need to know."""

    daemon_threads = False  # closing waits for the answer that is being learnt
    allow_reuse_address = sys.platform != "win32"  # there it would share a port that is in use

    def __init__(self, session: Session, close: Callable[[], None], port: int, title: str):
        self.session, self.close = session, close
        self.token = secrets.token_urlsafe(32)
        self._connections: set[socket.socket] = set()
        super().__init__((HOST, port), _Request)
        self.hosts = {f"{name}:{self.server_port}" for name in (HOST, "localhost")}
        folder = files("mercer.active.serving") / "page"
        self.pages = {path: (folder / name).read_text("utf-8") for path, (name, _) in PAGES.items()}
        self.pages["/"] = self.pages["/"].replace("{token}", self.token).replace("{title}", html.escape(title))

    def server_bind(self) -> None:
        TCPServer.server_bind(self)  # HTTPServer would ask the network for the name of this machine
        self.server_name, self.server_port = HOST, self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Close after the answers on their way are out; connections that browsers keep in reserve hear the end."""
        for connection in list(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RD)
        super().server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a browser that has hung up is no fault, and all else was answered."""


class _Locked(Exception):
    """The page itself was asked for without its token."""


class _Refused(Exception):
    """A request that is not answered, and why."""

    def __init__(self, status: HTTPStatus, reason: str, **headers: str):
        super().__init__(reason)
        self.status, self.headers = status, headers


class _Request(BaseHTTPRequestHandler):
    """One request: who asks is looked at first, then what for."""

    server: _Server
    timeout = PATIENCE
    server_version = "mercer"
    sys_version = ""

    def answer(self) -> None:
        try:
            address = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(address.query).items()}
            self._check_caller(address.path, query)
            if address.path not in METHODS:
                raise _Refused(HTTPStatus.NOT_FOUND, "There is nothing here.")
            if self.command != METHODS[address.path]:
                allowed = METHODS[address.path]
                raise _Refused(HTTPStatus.METHOD_NOT_ALLOWED, f"This takes {allowed}.", Allow=allowed)
            if address.path in PAGES:
                self._send(HTTPStatus.OK, PAGES[address.path][1], self.server.pages[address.path])
            elif address.path == "/state":
                self._send_state(query.get("after"))
            elif address.path == "/sample":
                self._send_json(HTTPStatus.OK, self.server.session.picture(_number(query.get("index"), "index")))
            elif address.path == "/act":
                self._act(self._body())
            else:
                self._finish(self._body())
        except _Refused as refusal:
            self._drain()
            self._send_json(refusal.status, {"error": str(refusal)}, **refusal.headers)
        except _Locked:
            style = base64.b64encode(sha256(LOCKED_STYLE.encode()).digest()).decode()
            policy = HEADERS["Content-Security-Policy"].replace("style-src 'self'", f"style-src 'sha256-{style}'")
            self._send(HTTPStatus.FORBIDDEN, PAGES["/"][1], LOCKED, **{"Content-Security-Policy": policy})
        except (ValueError, RecursionError) as error:
            self._send_json(HTTPStatus.BAD_REQUEST, {"error": str(error)})
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            self._send_json(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": message})

    do_GET = do_POST = do_HEAD = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer

    def _check_caller(self, path: str, query: dict[str, str]) -> None:
        # Another name for this machine may be a stranger's: DNS rebinding.
        if self.headers.get("Host", "").lower() not in self.server.hosts:
            raise _Refused(HTTPStatus.FORBIDDEN, "This page is served to this machine alone, by its own name.")
        # Pages are asked for by links, which have no headers of their own; all else by the script, which has.
        token = query.get("token", "") if path in PAGES else self.headers.get("X-Token", "")
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self.server.token.encode("ascii")):
            if path == "/" and self.command == "GET":
                raise _Locked
            raise _Refused(HTTPStatus.FORBIDDEN, "The token is missing or wrong.")

    def _body(self) -> dict[str, Any]:
        if self.headers.get_content_type() != "application/json":
            raise _Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "A request must be JSON.")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            raise _Refused(HTTPStatus.LENGTH_REQUIRED, "A request must say how long it is.")
        if len(length) > 9 or int(length) > LONGEST_BODY:
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A request has at most {LONGEST_BODY} bytes.")
        content = json.loads(self.rfile.read(int(length)))
        if not isinstance(content, dict):
            raise ValueError("A request must be a JSON object.")
        return content

    def _drain(self) -> None:
        """Read what was sent, within reason: else the connection breaks before the refusal is read."""
        length = self.headers.get("Content-Length", "")
        if length.isascii() and length.isdigit() and len(length) < 7:
            self.rfile.read(int(length))

    def _finish(self, _: dict[str, Any]) -> None:
        self._send_json(HTTPStatus.OK, {})
        # Closing waits for this very request to end.
        threading.Thread(target=self.server.close, daemon=True).start()

    def _act(self, content: dict[str, Any]) -> None:
        session, action = self.server.session, content.get("action")
        if not isinstance(action, list) or not action or type(content.get("question")) is not int:
            raise ValueError('A request must have the number of the "question" and an "action".')
        try:
            self._send_json(HTTPStatus.OK, session.act(content["question"], tuple(action)))
        except Stale:
            self._send_json(HTTPStatus.CONFLICT, session.state)
        except NotSaved as error:
            self._send_json(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": str(error), "state": session.state})

    def _send_state(self, after: str | None) -> None:
        state = self.server.session.state
        if after is not None and _number(after, "after") == state["version"]:
            self._send_json(HTTPStatus.OK, {"version": state["version"]})
        else:
            self._send_json(HTTPStatus.OK, state)

    def _send_json(self, status: HTTPStatus, content: Any, **headers: str) -> None:
        self._send(status, "application/json", json.dumps(content), **headers)

    def _send(self, status: HTTPStatus, kind: str, text: str, **headers: str) -> None:
        data = text.encode("utf-8")
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Type": kind, "Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the standard library refuses: requests that are none, and methods that nobody has."""
        self._send_json(HTTPStatus(code), {"error": message or HTTPStatus(code).phrase})

    def log_message(self, *_: Any) -> None:
        """Nothing: requests are nobody's business, and the token is in them."""


def _number(text: str | None, name: str) -> int:
    if text is None or not (text.isascii() and text.isdigit() and len(text) < 16):
        raise ValueError(f"{name} must be an int >= 0, got {text!r}.")
    return int(text)
