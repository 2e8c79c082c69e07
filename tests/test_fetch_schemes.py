"""http or https: in clear on loopback alone, unless one says otherwise."""

import socket
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rcc.diagnostic import Findings
from rcc.fetch.sources import Sources
from rcc.fetch.update import Upgrade, update
from rcc.lock.model import Lock
from rcc.lock.wanted import Wanted, WantedImage
from rcc.recipe.reference import Reference, parse_reference
from tests.support.oci import Blobs
from tests.support.server import Asked, Reply, Server
from tests.support.skips import needs


def answer(asked: Asked) -> Reply:
    blobs = Blobs()
    top = blobs.image("linux", "arm64")
    digest = asked.path.rpartition("/")[2]
    return Reply(body=blobs.data[digest if digest in blobs.data else top["digest"]])


def lock_of(registry: str, insecure: bool = False) -> tuple[Lock | None, Findings]:
    reference = parse_reference(f"{registry}/spark/serve:1")
    assert isinstance(reference, Reference)
    with Sources({}, insecure=insecure) as sources:
        lock, _, found = update(Wanted(images=(WantedImage("engine", reference),)), None, sources, Upgrade())
    return lock, found


@pytest.fixture
def far_away(monkeypatch: pytest.MonkeyPatch) -> str:
    """A name that is not loopback's, and leads there all the same."""
    real = socket.getaddrinfo
    name = "registry.test"

    def resolved(host: Any, *rest: Any, **more: Any) -> Any:
        return real("127.0.0.1" if host in (name, name.encode()) else host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    return name


def test_beyond_loopback_nothing_is_sent_in_clear_unless_allowed(far_away: str) -> None:
    with Server(answer) as server:
        port = server.host.rpartition(":")[2]

        lock, found = lock_of(f"{far_away}:{port}")
        assert lock is None
        assert [one.code for one in found] == ["RCC1202"]
        assert "TLS" in found[0].message
        assert not any(one.method == "GET" for one in server.asked)

        lock, found = lock_of(f"{far_away}:{port}", insecure=True)
        assert lock
        assert not found


@needs("openssl")
def test_a_registry_on_loopback_may_speak_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subject = ("-subj", "/CN=tests", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "1")
    files = ("-keyout", str(key), "-out", str(certificate))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *files, *subject], check=True, capture_output=True
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    with Server(answer, context) as server:
        lock, found = lock_of(server.host)
        assert lock is None
        assert [one.code for one in found] == ["RCC1202"]
        assert "certificate" in found[0].message

        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        lock, found = lock_of(server.host)
        assert lock
        assert not found
