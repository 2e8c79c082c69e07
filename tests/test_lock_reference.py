"""Image references: normalised as docker does, and refused where skopeo refuses them too."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcc.recipe.reference import BadReference, Reference, parse_reference
from tests.support.skips import find, needs

DIGEST = "sha256:" + "0123456789abcdef" * 4

NORMALISED = {
    "busybox": "docker.io/library/busybox:latest",
    "busybox:1": "docker.io/library/busybox:1",
    "docker.io/busybox": "docker.io/library/busybox:latest",
    "index.docker.io/busybox:1": "docker.io/library/busybox:1",
    "org/name": "docker.io/org/name:latest",
    "org/name/more:T_1.2-x": "docker.io/org/name/more:T_1.2-x",
    "localhost/name": "localhost/name:latest",
    "localhost:5000/name": "localhost:5000/name:latest",
    "127.0.0.1:5000/a/b:1": "127.0.0.1:5000/a/b:1",
    "[::1]:5000/name:1": "[::1]:5000/name:1",
    "ghcr.io/org/name@" + DIGEST: "ghcr.io/org/name@" + DIGEST,
    "ghcr.io/org/name:1@" + DIGEST: "ghcr.io/org/name:1@" + DIGEST,
    "localhost:5000": "docker.io/library/localhost:5000",
    "a__b/c-d.e--f": "docker.io/a__b/c-d.e--f:latest",
    "REGISTRY.example.com/name": "registry.example.com/name:latest",
}

REFUSED = {
    "": "no repository name",
    ":1": "no repository name",
    "busybox:": "a tag",
    "busybox:.x": "a tag",
    "busybox:" + "x" * 129: "a tag",
    "busy box": "no part",
    "Busybox": "lower case",
    "org/Name": "lower case",
    "org//name": "between two slashes",
    "/name": "between two slashes",
    "org/name/": "between two slashes",
    "-name": "no part",
    "name_": "no part",
    "a...b": "no part",
    "name@": "a digest",
    "name@sha256:12": "a digest",
    "name@" + DIGEST.upper(): "a digest",
    "name@sha512:" + "0" * 128: "a digest",
    "http://host/name": "no registry",
    "host.example:port/name": "no registry",
    "-host.example/name": "no registry",
    "0" * 64: "an image's id",
    "a" * 250 + "/name": "at most 255",
    "näme": "no part",
    "name\n": "no part",
}


@pytest.mark.parametrize(("text", "normal"), NORMALISED.items())
def test_normalised(text: str, normal: str) -> None:
    parsed = parse_reference(text)

    assert str(parsed) == normal
    assert str(parse_reference(normal)) == normal


@pytest.mark.parametrize(("text", "why"), REFUSED.items())
def test_refused_with_a_reason_and_a_place(text: str, why: str) -> None:
    parsed = parse_reference(text)

    assert isinstance(parsed, BadReference)
    assert why in parsed.reason
    assert 0 <= parsed.start <= parsed.end <= len(text)


def test_the_place_is_the_smallest_part() -> None:
    parsed = parse_reference("ghcr.io/org/Name:1")

    assert isinstance(parsed, BadReference)
    assert "ghcr.io/org/Name:1"[parsed.start : parsed.end] == "Name"


@given(st.text(max_size=40) | st.text("ab:/@._-", max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    parsed = parse_reference(text)

    if isinstance(parsed, Reference):
        assert parse_reference(str(parsed)) == Reference(
            parsed.registry, parsed.repository, parsed.tag or (None if parsed.digest else "latest"), parsed.digest
        )


# Locks have no use for digests of another algorithm; skopeo takes no tag beside a digest, and older ones no IPv6.
OURS_ALONE = {"name@sha512:" + "0" * 128, "ghcr.io/org/name:1@" + DIGEST, "[::1]:5000/name:1"}


@needs("skopeo")
@pytest.mark.parametrize("text", sorted({*NORMALISED, *REFUSED} - OURS_ALONE))
def test_skopeo_reads_and_refuses_the_same(text: str) -> None:
    program = find("skopeo")
    assert program
    # Nothing is asked: without a command that reads it, only the name is looked at.
    command = [program, "copy", "--dest-tls-verify=false", "dir:/nonexistent", f"docker://{text}"]
    said = subprocess.run(command, capture_output=True, check=False).stderr.decode()

    accepted = "invalid destination name" not in said.lower()
    assert accepted == isinstance(parse_reference(text), Reference), said
