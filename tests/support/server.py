"""An HTTP server on loopback whose answers a test writes, and which remembers what it was asked."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Asked:
    """A request; names of headers are found in any case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Message
    body: bytes


@dataclass(frozen=True)
class Reply:
    """An answer. With `cut` only so many bytes of the body are sent, under the length of all; `hang` sends nothing."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    cut: int | None = None
    hang: bool = False


class Server:
    """Answers until it is closed; use it in `with`."""

    def __init__(self, answer: Callable[[Asked], Reply], tls: ssl.SSLContext | None = None) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self.closing = threading.Event()
        self._http = _Http(("127.0.0.1", 0), _handler(self))
        if tls:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
        self.host = f"127.0.0.1:{self._http.server_address[1]}"
        self.url = f"http://{self.host}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def lines(self) -> list[str]:
        """What was asked, as `GET /path`."""
        return [f"{one.method} {one.path}" for one in self.asked]


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves early is what some tests are about."""


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: object) -> None:
            pass

        def serve(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked = Asked(self.command, parts.path, query, self.headers, body)
            server.asked.append(asked)
            self.reply(server.answer(asked))

        do_GET = do_HEAD = do_POST = serve  # noqa: N815 - the names that http.server looks for

        def reply(self, reply: Reply) -> None:
            if reply.hang:
                server.closing.wait(60)
                self.close_connection = True
                return
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply.body[: reply.cut])
            if reply.cut is not None:
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True

    return Handler
