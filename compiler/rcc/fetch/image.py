"""What an image is, read from its manifests: the same for a registry and for an OCI layout."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from typing import Any, Protocol, TypeVar

from rcc.diagnostic import Findings, Severity, finding
from rcc.fetch.failure import FetchError
from rcc.lock.model import Blob, LockedImage, Platform
from rcc.quick import dataclass
from rcc.recipe.reference import Reference

INDEXES = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
MANIFESTS = ("application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")

Item = TypeVar("Item")
Result = TypeVar("Result")
Each = Callable[[Callable[[Item], Result], Iterable[Item]], Iterable[Result]]
"""`map`, or one that works in parallel."""


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


class ImageSource(Protocol):
    """A registry, or what stands in for one. What they cannot give they refuse with a FetchError."""

    def resolve(self, reference: Reference, known: LockedImage | None) -> tuple[LockedImage, Findings]:
        """What a reference names now, with remarks; `known` itself where that is what it still names."""

    def digest(self, reference: Reference) -> str | None:
        """The digest that a reference names now; None where it names nothing."""

    def remarks(self) -> Findings:
        """What else was not right."""


class Contents(Protocol):
    """Where an image's parts are had from, by digest. What they give is checked against the digest."""

    @property
    def where(self) -> str:
        """What messages call it."""

    def manifest(self, digest: str) -> Manifest | None:
        """A manifest, None where it is not there."""

    def blob(self, digest: str) -> bytes:
        """A config."""


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


def read_image(reference: str, top: Manifest, contents: Contents, each: Each[Any, Any]) -> tuple[LockedImage, Findings]:
    """The image that a reference names, with what each of its platforms pulls, and remarks."""
    if top.media_type in INDEXES:
        platforms, remarks = _of_index(top, contents, each)
    else:
        platforms, remarks = dict([_with_config(top, contents)]), ()
    if not platforms:
        message = f"{contents.where} has nothing for any platform under `{reference}`"
        raise FetchError("RCC1207", message, "name an image that was pushed for a platform such as linux/arm64")
    image = LockedImage(reference, top.digest, top.media_type, dict(sorted(platforms.items())))
    return image, remarks


def _of_index(index: Manifest, contents: Contents, each: Each[Any, Any]) -> tuple[dict[str, Platform], Findings]:
    entries = [one for one in _descriptors(index, contents.where) if _is_image(one)]
    platforms: dict[str, Platform] = {}
    remarks = []
    for entry, named in zip(entries, each(lambda one: _platform(one, contents), entries), strict=True):
        if named is None:
            missing = (
                f"{contents.where} lists a manifest for `{platform_name(entry.get('platform'))}` that it does not have"
            )
            help = "push the image again for that platform, if you need it"
            remarks.append(finding("RCC1206", missing, help=help, severity=Severity.WARNING))
        elif named[0] not in platforms:
            platforms[named[0]] = named[1]
    return platforms, tuple(remarks)


def _descriptors(index: Manifest, where: str) -> list[dict[str, Any]]:
    entries = index.fields.get("manifests")
    if not isinstance(entries, list):
        raise bad(f"{where} answers with an index that lists no manifests")
    if not all(_is_descriptor(one) for one in entries):
        raise bad(f"{where} answers with an index whose entries lack a sha256 digest or a size")
    return entries


def _is_descriptor(value: Any) -> bool:
    digest, size = (value.get("digest"), value.get("size")) if isinstance(value, dict) else (None, None)
    return isinstance(digest, str) and bool(DIGEST.fullmatch(digest)) and type(size) is int and size >= 0


def _is_image(entry: Mapping[str, Any]) -> bool:
    """Whether an index's entry is an image: no attestation, and no further index (rcc follows one level)."""
    platform, annotations = entry.get("platform"), entry.get("annotations")
    if isinstance(annotations, dict) and "vnd.docker.reference.type" in annotations:
        return False
    if isinstance(platform, dict) and "unknown" in (platform.get("os"), platform.get("architecture")):
        return False
    return entry.get("mediaType") not in INDEXES


def _platform(entry: Mapping[str, Any], contents: Contents) -> tuple[str, Platform] | None:
    manifest = contents.manifest(entry["digest"])
    if manifest is None:
        return None
    if len(manifest.body) != entry["size"]:
        raise bad(f"{contents.where} has a manifest of {len(manifest.body)} bytes where its index says {entry['size']}")
    if not isinstance(entry.get("platform"), dict):
        return _with_config(manifest, contents)
    return platform_name(entry["platform"]), Platform(manifest.blob, _config(manifest, contents.where))


def _config(manifest: Manifest, where: str) -> Blob:
    config = manifest.fields.get("config")
    if (
        not isinstance(config, dict)
        or not DIGEST.fullmatch(str(config.get("digest")))
        or type(config.get("size")) is not int
    ):
        raise bad(f"{where} answers with a manifest that names no config")
    return Blob(config["digest"], config["size"])


def _with_config(manifest: Manifest, contents: Contents) -> tuple[str, Platform]:
    """A manifest outside of an index says only in its config what it is for."""
    config = _config(manifest, contents.where)
    try:
        fields = json.loads(contents.blob(config.digest))
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict) or not fields.get("architecture") or not fields.get("os"):
        message = f"{contents.where} has something here whose config names no platform, so it is no container image"
        raise FetchError("RCC1207", message, "name a container image")
    return platform_name(fields), Platform(manifest.blob, config)


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
