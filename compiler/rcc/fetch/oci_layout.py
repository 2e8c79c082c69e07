"""An OCI layout on disk (`oci:DIR`) as a source of images."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from rcc.diagnostic import Findings
from rcc.fetch.failure import FetchError
from rcc.fetch.image import read_image
from rcc.fetch.manifest import DIGEST, Manifest, digest_of, read_manifest
from rcc.lock.model import LockedImage
from rcc.quick import dataclass
from rcc.recipe.reference import Reference

_TAG = "org.opencontainers.image.ref.name"
_FULL_NAME = "io.containerd.image.name"
_CAP = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class OciLayout:
    """The folder of a layout, as `skopeo copy --all --preserve-digests … oci:DIR:tag` writes it."""

    folder: str

    @property
    def where(self) -> str:
        """What messages call it."""
        return f"OCI layout `{self.folder}`"

    def resolve(self, reference: Reference, known: LockedImage | None) -> tuple[LockedImage, Findings]:
        """What the layout has under a reference."""
        entry = self._entry(reference)
        top = self.manifest(entry["digest"])
        if top is None:
            raise self._refuse(f"lacks the manifest `{entry['digest']}` of `{reference}`", "copy the image again")
        return read_image(str(reference), top, self, map)

    def digest(self, reference: Reference) -> str | None:
        """The digest that the layout has under a reference."""
        top = self.manifest(self._entry(reference)["digest"])
        return top.digest if top else None

    def remarks(self) -> Findings:
        """Nothing."""
        return ()

    def manifest(self, digest: str) -> Manifest | None:
        """A manifest by its digest; None where it was not copied."""
        body = self._blob(digest)
        return None if body is None else read_manifest(body, "", self.where)

    def blob(self, digest: str) -> bytes:
        """A config by its digest."""
        body = self._blob(digest)
        if body is None:
            raise self._refuse(f"lacks the config `{digest}`", "copy the image again")
        return body

    def _blob(self, digest: str) -> bytes | None:
        if not DIGEST.fullmatch(digest):
            raise self._refuse(f"names a blob `{digest[:80]}`, which is no sha256 digest", "copy the image again")
        body = self._read("blobs", "sha256", digest[7:])
        if body is not None and digest_of(body) != digest:
            raise self._refuse(f"holds a blob `{digest}` whose sha256 is another", "copy the image again")
        return body

    def _read(self, *names: str) -> bytes | None:
        try:
            with open(os.path.join(self.folder, *names), "rb") as file:
                body = file.read(_CAP + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if len(body) > _CAP:
            raise self._refuse(f"has a manifest or config of more than {_CAP} bytes", "name an image")
        return body

    def _entry(self, reference: Reference) -> Mapping[str, Any]:
        """The one entry of `index.json` that the reference names; a layout of one image needs no name."""
        entries = self._entries()
        if reference.digest:
            chosen = [one for one in entries if one["digest"] == reference.digest]
        else:
            names = (str(reference), reference.tag or "latest")
            chosen = [one for one in entries if not names_of(one).isdisjoint(names)]
            if not chosen and len(entries) == 1 and not names_of(entries[0]):
                chosen = entries
        if not chosen:
            listed = sorted({name for one in entries for name in names_of(one)})
            shown = ", ".join(f"`{name}`" for name in listed[:5]) or "nothing by name"
            raise self._refuse(
                f"has no `{reference}`", f"it has {shown}: copy the image under that tag, or name another"
            )
        if len({one["digest"] for one in chosen}) > 1:
            raise self._refuse(f"has several images that may be `{reference}`", "copy them into layouts of their own")
        return chosen[0]

    def _entries(self) -> list[dict[str, Any]]:
        text = self._read("index.json")
        if text is None or self._read("oci-layout") is None:
            raise self._refuse(
                "is no OCI layout: it lacks `oci-layout` or `index.json`",
                "make one: `skopeo copy --all --preserve-digests … oci:DIR:tag`",
            )
        try:
            entries = json.loads(text)["manifests"]
            valid = all(isinstance(one["digest"], str) for one in entries)
        except (ValueError, KeyError, TypeError):
            valid = False
        if not valid:
            raise self._refuse("has an `index.json` that cannot be read", "copy the image again")
        return list(entries)

    def _refuse(self, what: str, help: str) -> FetchError:
        return FetchError("RCC1208", f"{self.where} {what}", help)


def names_of(entry: Mapping[str, Any]) -> set[str]:
    """What an entry is called: its tag, or as others have it the whole reference."""
    annotations = entry.get("annotations")
    if not isinstance(annotations, dict):
        return set()
    return {str(annotations[key]) for key in (_TAG, _FULL_NAME) if annotations.get(key)}
