"""Credential helpers: programs that keep docker's logins, asked as docker asks them."""

from __future__ import annotations

import base64
import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import field

from rcc.diagnostic import reason
from rcc.quick import dataclass
from rcc.recipe.reference import DOCKER_HUB

_HUB_KEY = "https://index.docker.io/v1/"
_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Login:
    """A stored login; `origin` says where it is kept, for messages, which never hold anything else of it."""

    origin: str
    user: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)
    identity_token: str | None = field(default=None, repr=False)
    bearer: str | None = field(default=None, repr=False)

    @property
    def basic(self) -> str:
        """The value of an `Authorization` header."""
        return "Basic " + base64.b64encode(f"{self.user}:{self.secret}".encode()).decode()


def ask_helper(helper: str, registry: str, environ: Mapping[str, str]) -> Login | str | None:
    """What `docker-credential-<helper>` has for a registry: a login, nothing, or what to say about its failing."""
    program = f"docker-credential-{helper}"
    if not re.fullmatch(r"[A-Za-z0-9._-]+", helper):
        return "a credential helper has a name that no program has"
    key = _HUB_KEY if registry == DOCKER_HUB else registry
    try:
        done = subprocess.run(  # noqa: S603 - a program that the user's own configuration names
            [program, "get"], input=key.encode(), capture_output=True, timeout=_SECONDS, check=False, env=dict(environ)
        )
    except subprocess.TimeoutExpired:
        return f"the credential helper `{program}` does not answer within {_SECONDS} s"
    except OSError as error:
        return f"the credential helper `{program}` cannot be run: {reason(error)}"
    if done.returncode == 0:
        return _login(program, done.stdout)
    if b"credentials not found" in done.stdout + done.stderr:
        return None
    return f"the credential helper `{program}` failed with exit code {done.returncode}"


def _login(program: str, output: bytes) -> Login | str:
    try:
        answer = json.loads(output)
        user, secret = str(answer["Username"]), str(answer["Secret"])
    except (ValueError, KeyError, TypeError):
        return f"the credential helper `{program}` does not answer in its JSON"
    origin = f"the login from `{program}`"
    return Login(origin, identity_token=secret) if user == "<token>" else Login(origin, user, secret)
