"""What an image is, read from its manifests: the same for a registry and for an OCI layout."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar

from rcc.diagnostic import Findings, Severity, finding
from rcc.fetch.failure import FetchError
from rcc.fetch.manifest import INDEXES, Manifest, bad, is_descriptor, platform_name
from rcc.lock.model import Blob, LockedImage, Platform
from rcc.recipe.reference import Reference

Item = TypeVar("Item")
Result = TypeVar("Result")
Each = Callable[[Callable[[Item], Result], Iterable[Item]], Iterable[Result]]
"""`map`, or one that works in parallel."""


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
    if not all(is_descriptor(one) for one in entries):
        raise bad(f"{where} answers with an index whose entries lack a sha256 digest or a size")
    return entries


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
    if not is_descriptor(config):
        raise bad(f"{where} answers with a manifest that names no config")
    assert isinstance(config, dict)
    return Blob(config["digest"], config["size"])


def _with_config(manifest: Manifest, contents: Contents) -> tuple[str, Platform]:
    """A manifest outside of an index says only in its config what it is for."""
    config = _config(manifest, contents.where)
    body = contents.blob(config.digest)
    if len(body) != config.size:
        raise bad(f"{contents.where} has a config of {len(body)} bytes where its manifest says {config.size}")
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict) or not fields.get("architecture") or not fields.get("os"):
        message = f"{contents.where} has something here whose config names no platform, so it is no container image"
        raise FetchError("RCC1207", message, "name a container image")
    return platform_name(fields), Platform(manifest.blob, config)
