"""Answers a registry's challenge: basic, or a bearer token from the realm that it names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

import httpx2

from rcc.fetch.failure import FetchError
from rcc.fetch.helper import Login
from rcc.fetch.manifest import bad
from rcc.fetch.trouble import place
from rcc.fetch.wire import AGENT, Answer, Wire
from rcc.recipe.reference import Reference

_SCHEME = re.compile(r"\s*([A-Za-z]+)\s+")
_PARAMETER = re.compile(r'\s*([A-Za-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^",\s]+))\s*,?')
_TOKEN_CAP = 1024 * 1024


def authorization(wire: Wire, reference: Reference, challenges: Iterable[str], login: Login | None) -> str | None:
    """The `Authorization` to send to a repository's registry; None where there is none to be had."""
    offered = dict(parsed for text in challenges if (parsed := _challenge(text)))
    if login and login.bearer:
        return f"Bearer {login.bearer}"
    if "bearer" in offered:
        return "Bearer " + _token(wire, reference, offered["bearer"], login)
    if "basic" in offered and login and login.user:
        return login.basic
    return None


def _challenge(text: str) -> tuple[str, dict[str, str]] | None:
    scheme = _SCHEME.match(text + " ")
    if not scheme:
        return None
    parameters = {}
    position = scheme.end()
    while found := _PARAMETER.match(text, position):
        parameters[found[1].lower()] = re.sub(r"\\(.)", r"\1", found[2]) if found[2] is not None else found[3]
        position = found.end()
    return scheme[1].lower(), parameters


def _token(wire: Wire, reference: Reference, challenge: Mapping[str, str], login: Login | None) -> str:
    who = f"registry `{reference.registry}`"
    try:
        realm = httpx2.URL(challenge.get("realm", ""))
    except httpx2.InvalidURL:
        realm = httpx2.URL("")
    if realm.scheme not in ("http", "https") or not realm.host:
        raise bad(f"{who} names no realm that gives tokens")
    scope = f"repository:{reference.repository}:pull"
    query = {"service": challenge.get("service", ""), "scope": scope}
    query = {name: value for name, value in query.items() if value}
    if login and login.identity_token:
        form = {"grant_type": "refresh_token", "client_id": AGENT, "refresh_token": login.identity_token, **query}
        answer = wire.fetch("POST", str(realm), {}, cap=_TOKEN_CAP, form=form)
    else:
        headers = {"Authorization": login.basic} if login else {}
        answer = wire.fetch("GET", str(realm.copy_merge_params(query)), headers, cap=_TOKEN_CAP)
    return _read_token(answer, realm, reference, login)


def _read_token(answer: Answer, realm: httpx2.URL, reference: Reference, login: Login | None) -> str:
    if answer.status in (400, 401, 403):
        subject = login.origin if login else "a request without a login"
        message = f"`{place(realm)}`, which gives tokens for registry `{reference.registry}`, refuses {subject}"
        raise FetchError("RCC1203", message, f"run `docker login {reference.registry}` again")
    try:
        fields = json.loads(answer.body) if answer.status == 200 else {}
        token = fields.get("token") or fields.get("access_token")
    except (ValueError, AttributeError):
        token = None
    if not isinstance(token, str) or not re.fullmatch(r"[!-~]+", token):
        raise bad(f"`{place(realm)}` answers with status {answer.status} and no token for `{reference.registry}`")
    return token
