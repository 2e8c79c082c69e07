"""Manifests and indexes of images: what a registry, or an OCI layout, has under a digest."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from rcc.fetch.failure import FetchError
from rcc.lock.model import Blob
from rcc.quick import dataclass
from rcc.recipe.shape import LARGEST

INDEXES = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
MANIFESTS = ("application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest or an index: its bytes as they came, and the digest and media type of these."""

    digest: str
    media_type: str
    body: bytes
    fields: Mapping[str, Any]

    @property
    def blob(self) -> Blob:
        """Digest and size."""
        return Blob(self.digest, len(self.body))


def digest_of(body: bytes) -> str:
    """The digest of a manifest or a blob."""
    return "sha256:" + sha256(body).hexdigest()


def read_manifest(body: bytes, content_type: str, where: str) -> Manifest:
    """A manifest from its bytes; its own `mediaType` says more than the type it was sent as."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise bad(f"{where} answers with a manifest that is no JSON object")
    if fields.get("schemaVersion") == 1:
        raise bad(f"{where} has this image only in schema 1, which says nothing of platforms", "push the image again")
    sent = content_type.partition(";")[0].strip()
    kind = fields.get("mediaType") or (sent if sent in INDEXES + MANIFESTS else None)
    if kind is None:
        kind = INDEXES[0] if isinstance(fields.get("manifests"), list) else MANIFESTS[0]
    if kind not in INDEXES + MANIFESTS:
        raise bad(f"{where} answers with a manifest of type `{str(kind)[:100]}`", "name a container image")
    return Manifest(digest_of(body), kind, body, fields)


def bad(
    message: str, help: str = "try again; if it stays so, the registry or what was pushed to it is broken"
) -> FetchError:
    """An answer that no registry may give."""
    return FetchError("RCC1206", message, help)


def is_descriptor(value: Any) -> bool:
    """Whether a value names a blob: a sha256 digest and a size."""
    digest, size = (value.get("digest"), value.get("size")) if isinstance(value, dict) else (None, None)
    return isinstance(digest, str) and bool(DIGEST.fullmatch(digest)) and type(size) is int and 0 <= size <= LARGEST


def platform_name(platform: Any) -> str:
    """`os/architecture[/variant]`; a variant that its architecture implies is not told apart."""
    if not isinstance(platform, dict):
        return "unknown"
    parts = [str(platform.get(key) or "unknown").lower() for key in ("os", "architecture")]
    variant = str(platform.get("variant") or "").lower()
    implied = {"arm64": ("v8", "8"), "amd64": ("v1",)}.get(parts[1], ())
    name = "/".join([*parts, variant] if variant and variant not in implied else parts)
    if not re.fullmatch(r"[a-z0-9_.-]+(/[a-z0-9_.-]+){1,2}", name):
        raise bad("the image names a platform that none is called like")
    return name
