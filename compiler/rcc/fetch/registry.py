"""OCI registries: tags to digests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rcc.diagnostic import Findings
from rcc.fetch.door import Door
from rcc.fetch.failure import FetchError
from rcc.fetch.image import Each, read_image
from rcc.fetch.manifest import DIGEST, INDEXES, MANIFESTS, Manifest, bad, digest_of, read_manifest
from rcc.fetch.refusals import busy, not_found, refused
from rcc.fetch.wire import Answer
from rcc.lock.model import LockedImage
from rcc.quick import dataclass
from rcc.recipe.reference import DEFAULT_TAG, Reference

_ACCEPT = {"Accept": ", ".join(INDEXES + MANIFESTS)}


@dataclass(frozen=True, slots=True)
class Registries:
    """All registries, as a source of images."""

    door: Door
    each: Each[Any, Any]

    def resolve(self, reference: Reference, known: LockedImage | None) -> tuple[LockedImage, Findings]:
        """What a reference names now. Where a HEAD gives the digest of `known`, nothing else is asked."""
        repository = _Repository(self.door, reference)
        if known is not None and repository.head() == known.digest:
            return known, ()
        top = repository.manifest(reference.digest or reference.tag or DEFAULT_TAG)
        if top is None:
            raise not_found(reference)
        if known is not None and top.digest == known.digest:
            return known, ()
        return read_image(str(reference), top, repository, self.each)

    def digest(self, reference: Reference) -> str | None:
        """The digest that a reference names now, by HEAD where that is answered."""
        repository = _Repository(self.door, reference)
        stated = repository.head()
        if stated:
            return stated
        top = repository.manifest(reference.digest or reference.tag or DEFAULT_TAG)
        return top.digest if top else None

    def remarks(self) -> Findings:
        """What was not right about stored logins."""
        return tuple(self.door.logins.remarks)


@dataclass(frozen=True, slots=True)
class _Repository:
    """One repository of a registry."""

    door: Door
    reference: Reference

    @property
    def where(self) -> str:
        return f"registry `{self.reference.registry}`"

    def ask(self, method: str, path: str, headers: Mapping[str, str]) -> Answer:
        return self.door.ask(self.reference, method, path, headers)

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
            raise refused(reference, self.door.login_of(reference))
        if answer.status == 404:
            raise not_found(reference)
        if answer.status == 429:
            help = "log in (`docker login`): it gives less to those that it does not know"
            raise busy(self.where, answer.headers, help)
        if answer.status != 200:
            raise bad(f"{self.where} answers with status {answer.status} to a request for `{reference}`")
