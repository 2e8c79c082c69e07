"""A docker daemon that starts nothing: the real docker CLI and compose talk to it, and it keeps what they ask for.

The body of a create request is what a daemon would run: Env, Cmd, Entrypoint, Labels, HostConfig.
"""

import json
import re
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

_API = "1.47"
_ID = "0123456789abcdef" * 4
_IMAGE = {
    "Id": f"sha256:{_ID}",
    "RepoTags": [],
    "RepoDigests": [],
    "Os": "linux",
    "Architecture": "amd64",
    "Config": {},
}
_CONTAINER = {
    "Id": _ID,
    "Name": "/it",
    "State": {"Status": "created"},
    "Config": {},
    "HostConfig": {},
    "NetworkSettings": {"Networks": {}},
}
_VERSION = {"Version": "27.0.0", "ApiVersion": _API, "MinAPIVersion": "1.24", "Os": "linux", "Arch": "amd64"}
# What is asked, without the API's version, and what is answered.
_ANSWERS: tuple[tuple[str, int, Any], ...] = (
    ("(GET|HEAD) /_ping", 200, None),
    ("GET /version", 200, _VERSION),
    ("GET /info", 200, {"OSType": "linux", "Architecture": "x86_64", "ServerVersion": "27.0.0"}),
    ("GET /(containers|images|networks)/json|GET /networks", 200, []),
    ("GET /volumes", 200, {"Volumes": [], "Warnings": []}),
    ("GET /volumes/.+", 404, {"message": "no such volume"}),
    ("GET /images/.+/json", 200, _IMAGE),
    ("GET /containers/.+/json", 200, _CONTAINER),
    ("POST /(containers|networks|volumes)/create", 201, {"Id": _ID, "Warnings": []}),
    ("POST /containers/.+/start", 204, None),
    ("POST /containers/.+/wait", 200, {"StatusCode": 0}),
)


@dataclass(frozen=True, slots=True)
class FakeDaemon:
    """`host` is the value for DOCKER_HOST; `created` are (name, body) of every container asked for."""

    host: str
    created: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)


@contextmanager
def fake_daemon() -> Iterator[FakeDaemon]:
    """A daemon as long as the block; a request that it has no answer for fails the test at the end."""
    with tempfile.TemporaryDirectory(prefix="rcc-") as folder:
        path = str(Path(folder) / "docker.sock")
        daemon = FakeDaemon(f"unix://{path}")
        with ThreadingUnixStreamServer(path, _handler(daemon)) as server:
            server.daemon_threads = True
            thread = threading.Thread(target=server.serve_forever, args=(0.02,))
            thread.start()
            try:
                yield daemon
            finally:
                server.shutdown()
                thread.join()
    assert not daemon.unanswered, daemon.unanswered


def _handler(daemon: FakeDaemon) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self._body()
            url = urlsplit(self.path)
            asked = f"{self.command} {re.sub('^/v[0-9.]+', '', url.path)}"
            if asked == "POST /containers/create":
                daemon.created.append((parse_qs(url.query).get("name", [""])[0], json.loads(body)))
            for pattern, status, value in _ANSWERS:
                if re.fullmatch(pattern, asked):
                    return self._send(status, value)
            daemon.unanswered.append(asked)
            return self._send(404, {"message": f"no answer to {asked}"})

        do_GET = do_HEAD = do_POST = do_DELETE = answer  # noqa: N815

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            chunks = []
            while size := int(self.rfile.readline(), 16):
                chunks.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(chunks)

        def _send(self, status: int, value: Any) -> None:
            data = b"" if value is None else json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Api-Version", _API)
            self.send_header("Ostype", "linux")
            self.send_header("Content-Type", "application/json")
            if status != 204:
                self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def address_string(self) -> str:
            return "docker"

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    return Handler
