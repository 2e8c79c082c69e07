"""OCI registries: tags to digests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rcc.diagnostic import Findings
from rcc.fetch.failure import FetchError
from rcc.fetch.helper import Login
from rcc.fetch.image import DIGEST, INDEXES, MANIFESTS, Each, Manifest, bad, digest_of, read_image, read_manifest
from rcc.fetch.logins import Logins
from rcc.fetch.tokens import authorization
from rcc.fetch.wire import Answer, Wire, is_loopback, is_untrusted, retry_after, speaks_otherwise
from rcc.lock.model import LockedImage
from rcc.recipe.reference import DEFAULT_TAG, DOCKER_HUB, Reference

_ACCEPT = {"Accept": ", ".join(INDEXES + MANIFESTS)}
_HOSTS = {DOCKER_HUB: "registry-1.docker.io"}


@dataclass(slots=True)
class Registries:
    """All registries, with the schemes and authorizations that they were found to want."""

    wire: Wire
    logins: Logins
    each: Each[Any, Any]
    _schemes: dict[str, str] = field(default_factory=dict)
    _authorizations: dict[tuple[str, str], str] = field(default_factory=dict)

    def resolve(self, reference: Reference, known: LockedImage | None) -> tuple[LockedImage, Findings]:
        """What a reference names now. Where a HEAD gives the digest of `known`, nothing else is asked."""
        repository = _Repository(self, reference)
        if known is not None and repository.head() == known.digest:
            return known, ()
        top = repository.manifest(reference.digest or reference.tag or DEFAULT_TAG)
        if top is None:
            raise _not_found(reference)
        if known is not None and top.digest == known.digest:
            return known, ()
        return read_image(str(reference), top, repository, self.each)

    def digest(self, reference: Reference) -> str | None:
        """The digest that a reference names now, by HEAD where that is answered."""
        repository = _Repository(self, reference)
        stated = repository.head()
        if stated:
            return stated
        top = repository.manifest(reference.digest or reference.tag or DEFAULT_TAG)
        return top.digest if top else None

    def remarks(self) -> Findings:
        """What was not right about stored logins."""
        return tuple(self.logins.remarks)

    def request(self, reference: Reference, method: str, path: str, headers: Mapping[str, str]) -> Answer:
        """One request, over the scheme that the registry speaks."""
        scheme, other = self._candidates(reference.registry)
        answer, why = None, None
        try:
            answer = self._request(scheme, reference, method, path, headers)
        except FetchError as error:
            if other is None or not speaks_otherwise(error):
                raise
            why = error
        if other and (answer is None or (answer.status == 400 and b"HTTPS server" in answer.body)):
            try:
                answer, scheme = self._request(other, reference, method, path, headers), other
            except FetchError as error:
                raise (error if why is None or is_untrusted(error) else why) from None
        assert answer
        self._schemes.setdefault(reference.registry, scheme)
        return answer

    def _request(self, scheme: str, reference: Reference, method: str, path: str, headers: Mapping[str, str]) -> Answer:
        host = _HOSTS.get(reference.registry, reference.registry)
        return self.wire.fetch(method, f"{scheme}://{host}/v2/{reference.repository}/{path}", headers)

    def _candidates(self, registry: str) -> tuple[str, str | None]:
        """The scheme to try, and the one to try where that is not spoken."""
        if registry in self._schemes:
            return self._schemes[registry], None
        if is_loopback(re.sub(r":[0-9]+$", "", registry)):
            return "http", "https"
        return "https", "http" if self.wire.insecure else None

    def authorized(self, reference: Reference, method: str, path: str, headers: Mapping[str, str]) -> Answer:
        """A request that answers a challenge once."""
        key = (reference.registry, reference.repository)
        known = {"Authorization": self._authorizations[key]} if key in self._authorizations else {}
        answer = self.request(reference, method, path, {**headers, **known})
        if answer.status != 401 or known:
            return answer
        login = self.logins.find(*key)
        granted = authorization(self.wire, reference, answer.headers.get_list("WWW-Authenticate"), login)
        if granted is None:
            return answer
        self._authorizations[key] = granted
        return self.request(reference, method, path, {**headers, "Authorization": granted})

    def login_of(self, reference: Reference) -> Login | None:
        """The login that is used for a repository."""
        return self.logins.find(reference.registry, reference.repository)


@dataclass(frozen=True, slots=True)
class _Repository:
    """One repository of a registry."""

    registries: Registries
    reference: Reference

    @property
    def where(self) -> str:
        return f"registry `{self.reference.registry}`"

    def ask(self, method: str, path: str, headers: Mapping[str, str]) -> Answer:
        return self.registries.authorized(self.reference, method, path, headers)

    def head(self) -> str | None:
        """The digest by HEAD, which counts as no pull; None where the registry does not tell."""
        tag = self.reference.digest or self.reference.tag or DEFAULT_TAG
        try:
            answer = self.ask("HEAD", f"manifests/{tag}", _ACCEPT)
        except FetchError:
            return None  # a GET may fare better, and fails with a reason where it does not
        stated = answer.headers.get("Docker-Content-Digest", "")
        return stated if answer.status == 200 and DIGEST.fullmatch(stated) else None

    def manifest(self, tag: str) -> Manifest | None:
        answer = self.ask("GET", f"manifests/{tag}", _ACCEPT)
        if answer.status == 404:
            return None
        self._expect_200(answer)
        manifest = read_manifest(answer.body, answer.headers.get("Content-Type", ""), self.where)
        stated = answer.headers.get("Docker-Content-Digest", "")
        for claim in (tag, stated):
            if DIGEST.fullmatch(claim) and claim != manifest.digest:
                raise bad(f"{self.where} sends a manifest as `{claim}` whose sha256 is `{manifest.digest[7:]}`")
        return manifest

    def blob(self, digest: str) -> bytes:
        answer = self.ask("GET", f"blobs/{digest}", {"Accept": "*/*"})
        self._expect_200(answer)
        if digest_of(answer.body) != digest:
            raise bad(f"{self.where} sends a config as `{digest}` whose sha256 is `{digest_of(answer.body)[7:]}`")
        return answer.body

    def _expect_200(self, answer: Answer) -> None:
        reference = self.reference
        if answer.status in (401, 403):
            raise refused(reference, self.registries.login_of(reference))
        if answer.status == 404:
            raise _not_found(reference)
        if answer.status == 429:
            raise busy(self.where, answer, "log in (`docker login`): it gives less to those that it does not know")
        if answer.status != 200:
            raise bad(f"{self.where} answers with status {answer.status} to a request for `{reference}`")


def refused(reference: Reference, login: Login | None) -> FetchError:
    """A registry that does not let us read a repository."""
    name = f"`{reference.repository}`"
    if login is None:
        message = f"registry `{reference.registry}` lets nobody read {name} without a login, or does not have it"
        help = f"check the name, or run `docker login {reference.registry}`"
    else:
        message = f"registry `{reference.registry}` refuses {login.origin} for {name}"
        help = f"run `docker login {reference.registry}` again, with an account that may read it"
    return FetchError("RCC1203", message, help)


def _not_found(reference: Reference) -> FetchError:
    message = f"registry `{reference.registry}` has no `{reference}`"
    return FetchError("RCC1204", message, "check name and tag; a nightly tag may have been removed since")


def busy(who: str, answer: Answer, help: str) -> FetchError:
    """A server that wants no more requests for now."""
    wait = retry_after(answer.headers)
    when = f" for {wait:.0f} s" if wait else ""
    return FetchError("RCC1205", f"{who} wants no more requests{when}", f"wait, or {help}")
