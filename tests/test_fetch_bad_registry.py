"""Registries that misbehave: each case one clear finding, or the right answer all the same."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from rcc.diagnostic import Findings, Severity
from rcc.fetch.sources import Sources
from rcc.fetch.update import Upgrade, update
from rcc.fetch.wire import Limits
from rcc.lock.model import Lock
from rcc.lock.wanted import Wanted, WantedImage
from rcc.recipe.reference import Reference, parse_reference
from tests.support.oci import CONFIG, DOCKER_LIST, INDEX, MANIFEST, Blobs, sha256
from tests.support.server import Asked, Reply, Server

CALM = Limits(connect=10, read=10, total=20, patience=3)
HASTY = Limits(connect=1, read=0.5, total=2, patience=1)
SECRET = "s3cret-token"


class Plain:
    """A registry that behaves: manifests by tag and digest, blobs by digest."""

    def __init__(self, blobs: Blobs, top: Mapping[str, Any]) -> None:
        self.blobs, self.top = blobs, top

    def __call__(self, asked: Asked) -> Reply:
        kind, _, name = asked.path.removeprefix("/v2/spark/serve/").partition("/")
        digest = str(self.top["digest"]) if name == "1" else name
        if kind not in ("manifests", "blobs") or digest not in self.blobs.data:
            return Reply(404)
        body = self.blobs.data[digest]
        headers = {"Docker-Content-Digest": digest}
        if kind == "manifests":
            assert all(one in asked.headers["Accept"] for one in (INDEX, MANIFEST, DOCKER_LIST))
            headers["Content-Type"] = json.loads(body)["mediaType"]
        return Reply(200, headers, body)


def plain() -> Plain:
    blobs = Blobs()
    return Plain(blobs, blobs.multi_arch())


def lock_of(
    server: Server, limits: Limits = CALM, environ: Mapping[str, str] | None = None, **update_with: Any
) -> tuple[Lock | None, Findings]:
    reference = parse_reference(f"{server.host}/spark/serve:1")
    assert isinstance(reference, Reference)
    wanted = Wanted(images=(WantedImage("engine", reference),))
    with Sources(environ or {}, limits=limits) as sources:
        lock, _, found = update(wanted, update_with.get("old"), sources, update_with.get("upgrade", Upgrade()))
    return lock, found


def good(answer: tuple[Lock | None, Findings], top: Mapping[str, Any]) -> None:
    lock, found = answer
    assert not found
    assert lock
    assert lock.images["engine"].digest == top["digest"]


def refused(answer: tuple[Lock | None, Findings], code: str, *said: str) -> None:
    lock, found = answer
    assert lock is None
    assert [one.code for one in found] == [code]
    assert found[0].help
    for words in said:
        assert words in found[0].message
    assert SECRET not in str(found)


def test_three_requests_for_an_index_of_two_platforms() -> None:
    registry = plain()
    with Server(registry) as server:
        good(lock_of(server), registry.top)

    assert len(server.asked) == 3
    assert {one.method for one in server.asked} == {"GET"}


def test_no_digest_header() -> None:
    registry = plain()
    with Server(lambda asked: without(registry(asked), "Docker-Content-Digest")) as server:
        good(lock_of(server), registry.top)


def without(reply: Reply, name: str) -> Reply:
    return replace(reply, headers={key: value for key, value in reply.headers.items() if key != name})


def test_a_lying_digest_header() -> None:
    registry = plain()
    lie = "sha256:" + "1" * 64
    with Server(lambda asked: replace(registry(asked), headers={"Docker-Content-Digest": lie})) as server:
        refused(lock_of(server), "RCC1206", lie, registry.top["digest"][7:])


def test_a_manifest_that_is_not_the_one_asked_for() -> None:
    registry = plain()
    other = Blobs().image("linux", "s390x")
    data = Blobs()
    data.image("linux", "s390x")
    child = json.loads(registry.blobs.data[registry.top["digest"]])["manifests"][0]["digest"]
    registry.blobs.data[child] = data.data[other["digest"]]
    with Server(lambda asked: without(registry(asked), "Docker-Content-Digest")) as server:
        refused(lock_of(server), "RCC1206", child)


@pytest.mark.parametrize("status", [400, 403, 404, 405, 501])
def test_head_refused(status: int) -> None:
    registry = plain()
    with Server(lambda asked: Reply(status) if asked.method == "HEAD" else registry(asked)) as server:
        lock, _ = lock_of(server)
        again = lock_of(server, old=lock, upgrade=Upgrade(everything=True))

    assert again == (lock, ())
    assert "HEAD /v2/spark/serve/manifests/1" in server.lines


def test_polling_asks_by_head_alone() -> None:
    registry = plain()
    with Server(registry) as server:
        lock, _ = lock_of(server)
        server.asked.clear()
        assert lock_of(server, old=lock, upgrade=Upgrade(everything=True)) == (lock, ())

    assert server.lines == ["HEAD /v2/spark/serve/manifests/1"]


def once(first: Reply, then: Callable[[Asked], Reply]) -> Callable[[Asked], Reply]:
    replies = [first]
    return lambda asked: replies.pop() if replies else then(asked)


def test_a_busy_registry_is_asked_again_when_it_says() -> None:
    registry = plain()
    with Server(once(Reply(429, {"Retry-After": "1"}), registry)) as server:
        good(lock_of(server), registry.top)


def test_a_registry_that_stays_busy() -> None:
    with Server(lambda asked: Reply(429, {"Retry-After": "3600"})) as server:
        refused(lock_of(server), "RCC1205", server.host, "3600 s")
    assert len(server.asked) == 1


def test_a_registry_that_fails_once() -> None:
    registry = plain()
    with Server(once(Reply(503), registry)) as server:
        good(lock_of(server), registry.top)


def guarded(registry: Plain, realm: Callable[[], str], token: str = SECRET) -> Callable[[Asked], Reply]:
    """A registry that wants a token from a realm."""

    def answer(asked: Asked) -> Reply:
        if asked.headers.get("Authorization") == f"Bearer {token}":
            return registry(asked)
        return Reply(401, {"WWW-Authenticate": f'Bearer realm="{realm()}",service="tests",scope="whatever"'})

    return answer


def test_a_token_from_a_realm_on_another_port() -> None:
    registry = plain()
    with (
        Server(lambda asked: Reply(body=json.dumps({"access_token": SECRET}).encode())) as realm,
        Server(guarded(registry, lambda: f"{realm.url}/token")) as server,
    ):
        good(lock_of(server), registry.top)

    assert len(realm.asked) == 1
    assert realm.asked[0].query == {"service": "tests", "scope": "repository:spark/serve:pull"}
    assert "Authorization" not in realm.asked[0].headers


def test_a_failing_helper_does_not_break_a_public_pull(tmp_path: Any) -> None:
    (tmp_path / "config.json").write_text('{"credsStore": "none"}')
    registry = plain()
    with (
        Server(lambda asked: Reply(body=json.dumps({"token": SECRET}).encode())) as realm,
        Server(guarded(registry, lambda: realm.url)) as server,
    ):
        lock, found = lock_of(server, environ={"DOCKER_CONFIG": str(tmp_path), "PATH": "/usr/bin"})

    assert lock
    assert [(one.code, one.severity) for one in found] == [("RCC1210", Severity.WARNING)]


def test_an_identity_token_is_posted(tmp_path: Any) -> None:
    registry = plain()
    with (
        Server(lambda asked: Reply(body=json.dumps({"access_token": SECRET}).encode())) as realm,
        Server(guarded(registry, lambda: realm.url)) as server,
    ):
        (tmp_path / "config.json").write_text(json.dumps({"auths": {server.host: {"identitytoken": "long-lived"}}}))
        good(lock_of(server, environ={"DOCKER_CONFIG": str(tmp_path)}), registry.top)

    assert realm.lines == ["POST /"]
    assert b"refresh_token=long-lived" in realm.asked[0].body
    assert b"grant_type=refresh_token" in realm.asked[0].body


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply(401), "RCC1203"),
        (Reply(200, body=b"{}"), "RCC1206"),
        (Reply(200, body=b"<html>"), "RCC1206"),
        (Reply(200, body=b"[]"), "RCC1206"),
        (Reply(200, body=b"x" * 2_000_000), "RCC1206"),
        (Reply(hang=True), "RCC1202"),
    ],
)
def test_a_realm_that_misbehaves(reply: Reply, code: str) -> None:
    with Server(lambda asked: reply) as realm, Server(guarded(plain(), lambda: realm.url)) as server:
        refused(lock_of(server, HASTY if reply.hang else CALM), code, realm.host)


@pytest.mark.parametrize("realm", ["", "ftp://127.0.0.1/x", "://", "http://registry.invalid/token"])
def test_a_realm_that_is_none(realm: str) -> None:
    with Server(guarded(plain(), lambda: realm)) as server:
        lock, found = lock_of(server)

    assert lock is None
    assert [one.code for one in found] in (["RCC1206"], ["RCC1202"])


def test_credentials_do_not_follow_redirects() -> None:
    registry = plain()
    blobs = Blobs()
    registry = Plain(blobs, blobs.image("linux", "arm64"))

    with Server(registry) as elsewhere:

        def redirecting(asked: Asked) -> Reply:
            if "/blobs/" in asked.path:
                return Reply(307, {"Location": f"{elsewhere.url}{asked.path}?signature=abc"})
            return registry(asked)

        with (
            Server(lambda asked: Reply(body=json.dumps({"token": SECRET}).encode())) as realm,
            Server(guarded(Plain(blobs, registry.top), lambda: realm.url)) as guard,
        ):
            inner, guard.answer = (
                guard.answer,
                lambda asked: redirecting(asked) if asked.headers.get("Authorization") else inner(asked),
            )
            good(lock_of(guard), registry.top)

    assert elsewhere.asked
    assert not any("Authorization" in one.headers for one in elsewhere.asked)
    assert any("Authorization" in one.headers for one in guard.asked)


def test_redirects_in_a_circle() -> None:
    with Server(lambda asked: Reply(307, {"Location": asked.path})) as server:
        refused(lock_of(server), "RCC1202", "circle")


def test_a_redirect_out_of_tls_or_loopback_is_not_followed() -> None:
    with Server(lambda asked: Reply(307, {"Location": "http://registry.invalid/v2/"})) as server:
        refused(lock_of(server), "RCC1202", "registry.invalid", "without TLS")


def test_a_nested_index_is_passed_over() -> None:
    blobs = Blobs()
    inner = blobs.index([blobs.image("linux", "amd64")])
    registry = Plain(blobs, blobs.index([inner, blobs.image("linux", "arm64")]))
    with Server(registry) as server:
        lock, found = lock_of(server)

    assert not found
    assert lock
    assert list(lock.images["engine"].platforms) == ["linux/arm64"]


@pytest.mark.parametrize("entries", ["nothing", "attestations", "nested"])
def test_an_index_without_platforms(entries: str) -> None:
    blobs = Blobs()
    image = blobs.image("linux", "arm64")
    of = {"nothing": [], "attestations": [blobs.attestation(image)], "nested": [blobs.index([image])]}
    with Server(Plain(blobs, blobs.index(of[entries]))) as server:
        refused(lock_of(server), "RCC1207")


def test_attestations_are_no_platforms_and_the_first_of_two_wins() -> None:
    blobs = Blobs()
    first, second = blobs.image("linux", "arm64", "v8", b"1" * 10), blobs.image("linux", "arm64", None, b"2" * 10)
    index = blobs.index([first, blobs.attestation(first), second], DOCKER_LIST)
    with Server(Plain(blobs, index)) as server:
        lock, found = lock_of(server)

    assert not found
    assert lock
    ((name, platform),) = lock.images["engine"].platforms.items()
    assert name == "linux/arm64"
    assert platform.manifest
    assert platform.manifest.digest == first["digest"]


def test_a_manifest_that_was_removed_below_its_index() -> None:
    blobs = Blobs()
    arm, amd = blobs.image("linux", "arm64"), blobs.image("linux", "amd64")
    registry = Plain(blobs, blobs.index([arm, amd]))
    del blobs.data[amd["digest"]]
    with Server(registry) as server:
        lock, found = lock_of(server)

    assert lock
    assert list(lock.images["engine"].platforms) == ["linux/arm64"]
    assert [(one.code, one.severity) for one in found] == [("RCC1206", Severity.WARNING)]
    assert "linux/amd64" in found[0].message


def test_a_truncated_body() -> None:
    registry = plain()
    with Server(lambda asked: replace(registry(asked), cut=20)) as server:
        refused(lock_of(server), "RCC1202", "breaks off")


def test_ten_megabytes_of_body() -> None:
    with Server(lambda asked: Reply(200, {"Content-Type": MANIFEST}, b" " * 10_000_000)) as server:
        refused(lock_of(server), "RCC1206", "more than")


def test_a_hang() -> None:
    with Server(lambda asked: Reply(hang=True)) as server:
        refused(lock_of(server, HASTY), "RCC1202", "no answer within 0.5 s")


BODIES = {
    "no JSON": b"<html>sign in</html>",
    "no object": b"[]",
    "deep": b"[" * 100_000,
    "schema 1": b'{"schemaVersion": 1, "fsLayers": []}',
    "another type": b'{"schemaVersion": 2, "mediaType": "application/vnd.cncf.helm"}',
    "no manifests": json.dumps({"mediaType": INDEX}).encode(),
    "bad digests": json.dumps({"mediaType": INDEX, "manifests": [{"digest": "md5:0", "size": 1}]}).encode(),
    "negative size": json.dumps({"mediaType": INDEX, "manifests": [{"digest": sha256(b""), "size": -1}]}).encode(),
    "size of no file": json.dumps({"mediaType": INDEX, "manifests": [{"digest": sha256(b""), "size": 2**63}]}).encode(),
    "no config": json.dumps({"mediaType": MANIFEST}).encode(),
    "no objects": json.dumps({"mediaType": INDEX, "manifests": [7]}).encode(),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_manifests_that_are_none(body: bytes) -> None:
    with Server(lambda asked: Reply(200, body=body)) as server:
        refused(lock_of(server), "RCC1206", server.host)


def test_something_that_is_no_image() -> None:
    blobs = Blobs()
    chart = blobs.add_json("application/vnd.cncf.helm.config.v1+json", {"name": "chart"})
    manifest = blobs.add_json(MANIFEST, {"schemaVersion": 2, "mediaType": MANIFEST, "config": chart, "layers": []})
    with Server(Plain(blobs, manifest)) as server:
        refused(lock_of(server), "RCC1207", "no container image")


def test_a_config_of_another_size_than_its_manifest_says() -> None:
    blobs = Blobs()
    config = {**blobs.add_json(CONFIG, {"os": "linux", "architecture": "arm64"}), "size": 7}
    manifest = blobs.add_json(MANIFEST, {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": []})
    with Server(Plain(blobs, manifest)) as server:
        refused(lock_of(server), "RCC1206", "where its manifest says 7")


def test_platforms_with_variants() -> None:
    blobs = Blobs()
    index = blobs.index(
        [blobs.image("linux", "arm", "v7"), blobs.image("linux", "amd64", "v3"), blobs.image("linux", "amd64", "v1")]
    )
    with Server(Plain(blobs, index)) as server:
        lock, found = lock_of(server)

    assert not found
    assert lock
    assert set(lock.images["engine"].platforms) == {"linux/arm/v7", "linux/amd64/v3", "linux/amd64"}
