"""The way into registries: which scheme they speak, and what they want to be shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rcc.fetch.failure import FetchError
from rcc.fetch.helper import Login
from rcc.fetch.logins import Logins
from rcc.fetch.tokens import authorization
from rcc.fetch.trouble import is_untrusted, speaks_otherwise
from rcc.fetch.wire import Answer, Wire, is_loopback
from rcc.recipe.reference import DOCKER_HUB, Reference

_HOSTS = {DOCKER_HUB: "registry-1.docker.io"}


@dataclass(slots=True)
class Door:
    """Requests to registries; remembers the scheme of each, and the authorization for each repository."""

    wire: Wire
    logins: Logins
    _schemes: dict[str, str] = field(default_factory=dict)
    _authorizations: dict[tuple[str, str], str] = field(default_factory=dict)

    def ask(self, reference: Reference, method: str, path: str, headers: Mapping[str, str]) -> Answer:
        """One request, below the repository; a challenge is answered once."""
        key = (reference.registry, reference.repository)
        known = {"Authorization": self._authorizations[key]} if key in self._authorizations else {}
        answer = self._over_either(reference, method, path, {**headers, **known})
        if answer.status != 401 or known:
            return answer
        login = self.logins.find(*key)
        granted = authorization(self.wire, reference, answer.headers.get_list("WWW-Authenticate"), login)
        if granted is None:
            return answer
        self._authorizations[key] = granted
        return self._over_either(reference, method, path, {**headers, "Authorization": granted})

    def login_of(self, reference: Reference) -> Login | None:
        """The login that is used for a repository."""
        return self.logins.find(reference.registry, reference.repository)

    def _over_either(self, reference: Reference, method: str, path: str, headers: Mapping[str, str]) -> Answer:
        """One request, over the scheme that the registry turns out to speak."""
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
