"""Stored logins are found under the names that docker and podman give registries."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from rcc.fetch.logins import Logins


def entry(user: str) -> dict[str, str]:
    return {"auth": base64.b64encode(f"{user}:secret of {user}".encode()).decode()}


def environ(folder: Path, config: Any) -> dict[str, str]:
    (folder / "config.json").write_text(json.dumps(config))
    return {"DOCKER_CONFIG": str(folder), "PATH": "/usr/bin:/bin"}


def user(logins: Logins, registry: str, repository: str) -> str | None:
    login = logins.find(registry, repository)
    return login.user if login else None


@pytest.mark.parametrize(
    "key",
    ["https://index.docker.io/v1/", "index.docker.io", "docker.io", "https://registry-1.docker.io/v2/"],
)
def test_docker_hub_has_many_names(tmp_path: Path, key: str) -> None:
    logins = Logins(environ(tmp_path, {"auths": {key: entry("hub")}}))

    assert user(logins, "docker.io", "library/busybox") == "hub"
    assert user(logins, "ghcr.io", "library/busybox") is None


def test_the_longest_part_of_a_name_wins(tmp_path: Path) -> None:
    auths = {"ghcr.io": entry("all"), "ghcr.io/org": entry("org"), "ghcr.io/org/name": entry("name")}
    logins = Logins(environ(tmp_path, {"auths": auths}))

    assert user(logins, "ghcr.io", "org/name") == "name"
    assert user(logins, "ghcr.io", "org/other") == "org"
    assert user(logins, "ghcr.io", "organisation/x") == "all"


def test_files_in_their_order(tmp_path: Path) -> None:
    for name in ("first", "podman/containers", "home/.docker", "home/.config/containers"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "first/auth.json").write_text(json.dumps({"auths": {"a.example": entry("first")}}))
    both = {"auths": {"a.example": entry("docker"), "b.example": entry("docker")}}
    (tmp_path / "home/.docker/config.json").write_text(json.dumps(both))
    runtime = {"auths": {"b.example": entry("podman"), "c.example": entry("podman")}}
    (tmp_path / "podman/containers/auth.json").write_text(json.dumps(runtime))
    last = {"auths": {"d.example": entry("last")}}
    (tmp_path / "home/.config/containers/auth.json").write_text(json.dumps(last))
    logins = Logins(
        {
            "REGISTRY_AUTH_FILE": str(tmp_path / "first/auth.json"),
            "HOME": str(tmp_path / "home"),
            "XDG_RUNTIME_DIR": str(tmp_path / "podman"),
        }
    )

    found = [user(logins, f"{letter}.example", "x") for letter in "abcde"]

    assert found == ["first", "docker", "podman", "last", None]
    assert not logins.remarks


def test_a_helper_is_asked_by_the_names_that_docker_uses(tmp_path: Path) -> None:
    helper = tmp_path / "docker-credential-echo"
    helper.write_text('#!/bin/sh\nread host\necho "{\\"Username\\": \\"$host\\", \\"Secret\\": \\"s\\"}"\n')
    helper.chmod(0o755)
    found = {**environ(tmp_path, {"credsStore": "echo"}), "PATH": f"{tmp_path}:/bin"}

    assert user(Logins(found), "docker.io", "library/x") == "https://index.docker.io/v1/"
    assert user(Logins(found), "ghcr.io", "x") == "ghcr.io"


def test_a_helper_without_that_login_is_no_remark(tmp_path: Path) -> None:
    helper = tmp_path / "docker-credential-empty"
    helper.write_text("#!/bin/sh\necho credentials not found in native keychain; exit 1\n")
    helper.chmod(0o755)
    config = {"credsStore": "empty", "auths": {"ghcr.io": entry("file")}}
    logins = Logins({**environ(tmp_path, config), "PATH": f"{tmp_path}:/bin"})

    assert user(logins, "ghcr.io", "x") == "file"
    assert not logins.remarks


def test_secrets_are_in_no_text(tmp_path: Path) -> None:
    login = Logins(environ(tmp_path, {"auths": {"ghcr.io": entry("me")}})).find("ghcr.io", "x")

    assert login
    assert login.secret == "secret of me"
    assert "secret of me" not in repr(login)
    assert str(tmp_path) in login.origin
