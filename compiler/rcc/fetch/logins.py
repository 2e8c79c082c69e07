"""Logins that docker and podman have stored. A login that cannot be read is a remark: the image may be public."""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rcc.diagnostic import Finding, finding, reason
from rcc.fetch.helper import Login, ask_helper
from rcc.recipe.reference import DOCKER_HUB


class Logins:
    """Looks logins up: `REGISTRY_AUTH_FILE`, then docker's configuration, then podman's."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.remarks: list[Finding] = []
        self._found: dict[tuple[str, str], Login | None] = {}

    def find(self, registry: str, repository: str) -> Login | None:
        """The login for a repository, the one stored for the longest part of its name first."""
        key = (registry, repository)
        if key not in self._found:
            self._found[key] = self._search(*key)
        return self._found[key]

    def _search(self, registry: str, repository: str) -> Login | None:
        for path in _config_files(self.environ):
            login = self._in_file(path, registry, repository)
            if login:
                return login
        return None

    def _in_file(self, path: str, registry: str, repository: str) -> Login | None:
        config = self._read(path)
        helpers = _table(config, "credHelpers")
        helper = next((helpers[key] for key in helpers if _plain(key) == registry), config.get("credsStore"))
        answer = ask_helper(str(helper), registry, self.environ) if helper else None
        if isinstance(answer, Login):
            return answer
        if answer:
            self._pass_over(answer)
        auths = {_plain(key): entry for key, entry in _table(config, "auths").items()}
        for key in _keys(registry, repository):
            if key in auths and isinstance(auths[key], dict):
                return self._from_entry(auths[key], path)
        return None

    def _read(self, path: str) -> dict[str, Any]:
        try:
            with open(path, "rb") as file:
                config = json.load(file)
        except FileNotFoundError:
            return {}
        except OSError as error:
            return self._pass_over(f"`{path}` cannot be read: {reason(error)}")
        except ValueError:
            return self._pass_over(f"`{path}` is not valid JSON")
        return config if isinstance(config, dict) else self._pass_over(f"`{path}` is no JSON object")

    def _pass_over(self, message: str) -> dict[str, Any]:
        remark = finding("RCC1210", message, help="mend it, if the image is not public; rcc went on without that login")
        if remark not in self.remarks:
            self.remarks.append(remark)
        return {}

    def _from_entry(self, entry: dict[str, Any], path: str) -> Login | None:
        origin = f"the login in `{path}`"
        if isinstance(entry.get("registrytoken"), str) and entry["registrytoken"]:
            return Login(origin, bearer=entry["registrytoken"])
        user, secret = entry.get("username"), entry.get("password")
        if isinstance(entry.get("auth"), str) and entry["auth"]:
            try:
                user, colon, secret = base64.b64decode(entry["auth"], validate=True).decode().partition(":")
            except (binascii.Error, UnicodeDecodeError):
                colon = ""
            if not colon:
                self._pass_over(f"a login in `{path}` is not `user:password` in base64")
                return None
        token = entry.get("identitytoken")
        if isinstance(token, str) and token:
            return Login(origin, identity_token=token)
        if isinstance(user, str) and isinstance(secret, str) and user:
            return Login(origin, user, secret.rstrip("\0"))
        return None


def _config_files(environ: Mapping[str, str]) -> Iterator[str]:
    home = environ.get("HOME", "")
    if environ.get("REGISTRY_AUTH_FILE"):
        yield environ["REGISTRY_AUTH_FILE"]
    docker = environ.get("DOCKER_CONFIG") or (os.path.join(home, ".docker") if home else "")
    if docker:
        yield os.path.join(docker, "config.json")
    if environ.get("XDG_RUNTIME_DIR"):
        yield os.path.join(environ["XDG_RUNTIME_DIR"], "containers", "auth.json")
    config = environ.get("XDG_CONFIG_HOME") or (os.path.join(home, ".config") if home else "")
    if config:
        yield os.path.join(config, "containers", "auth.json")


def _table(config: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = config.get(name)
    return table if isinstance(table, dict) else {}


def _plain(key: str) -> str:
    """A key as it is looked up: no scheme, no API version, docker's hub by one name."""
    key = re.sub(r"^https?://", "", key).rstrip("/")
    key = re.sub(r"/v[12]$", "", key)
    first, slash, rest = key.partition("/")
    return (DOCKER_HUB if first in ("index.docker.io", "registry-1.docker.io") else first) + slash + rest


def _keys(registry: str, repository: str) -> Iterator[str]:
    """`host/a/b`, `host/a`, `host`."""
    parts = [registry, *repository.split("/")]
    for end in range(len(parts), 0, -1):
        yield "/".join(parts[:end])
