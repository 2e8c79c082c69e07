"""What Kubernetes makes of manifests: strict YAML, then the kubelet's `$(NAME)` expansion, byte for byte."""

import re
from collections.abc import Mapping
from typing import Any

from tests.support.strict_yaml import UnfaithfulError, read_documents

ENV_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
LABEL_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
ALL_ANNOTATIONS = 262_144


def read_manifests(text: str) -> list[dict[str, Any]]:
    """The objects of a manifest, checked for what the API server checks and schemas do not."""
    objects = read_documents(text)
    for thing in objects:
        if not isinstance(thing, dict) or not {"apiVersion", "kind"} <= thing.keys():
            raise UnfaithfulError("a document that is no Kubernetes object")
        _check_metadata(thing)
    return objects


def _check_metadata(thing: Any) -> None:
    """Labels and annotations of an object and of every template inside it."""
    if isinstance(thing, list):
        for inner in thing:
            _check_metadata(inner)
    if not isinstance(thing, dict):
        return
    if isinstance(metadata := thing.get("metadata"), dict):
        _check_labels(metadata.get("labels", {}))
        _check_annotations(metadata.get("annotations", {}))
    for inner in thing.values():
        _check_metadata(inner)


def _check_labels(labels: Mapping[str, Any]) -> None:
    for key, value in labels.items():
        _check_key(key)
        if not isinstance(value, str) or (value and not LABEL_NAME.fullmatch(value)):
            raise UnfaithfulError(f"no label value: {value!r}")


def _check_annotations(annotations: Mapping[str, Any]) -> None:
    for key, value in annotations.items():
        _check_key(key)
        if not isinstance(value, str):
            raise UnfaithfulError(f"an annotation that is no string: {value!r}")
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > ALL_ANNOTATIONS:
        raise UnfaithfulError("more annotations than an object may have")


def _check_key(key: str) -> None:
    prefix, slash, name = key.rpartition("/")
    if not LABEL_NAME.fullmatch(name) or (slash and (len(prefix) > 253 or not SUBDOMAIN.fullmatch(prefix))):
        raise UnfaithfulError(f"no label or annotation key: {key!r}")


def process(
    container: Mapping[str, Any], given: Mapping[str, bytes] | None = None
) -> tuple[list[bytes], dict[str, bytes]]:
    """argv and environment of a container; without `command` what the image's own entrypoint gets.

    `given` holds the values of entries that take theirs from elsewhere.
    """
    known: dict[str, bytes] = {}
    for entry in container.get("env", []):
        name = entry["name"]
        if not ENV_NAME.fullmatch(name) or name in known:
            raise UnfaithfulError(f"a name that is refused or stands twice: {name!r}")
        known[name] = (given or {})[name] if "valueFrom" in entry else expand(entry["value"].encode(), known)
    words = [*container.get("command", []), *container.get("args", [])]
    return [expand(word.encode(), known) for word in words], known


def expand(text: bytes, known: Mapping[str, bytes]) -> bytes:
    """The kubelet's expansion, with its fault: the byte after a lone dollar is written as the rune of that number."""
    out, at = bytearray(), 0
    while (dollar := text.find(b"$", at)) >= 0 and dollar + 1 < len(text):
        out += text[at:dollar]
        piece, at = _after_dollar(text, dollar + 1, known)
        out += piece
    return bytes(out + text[at:])


def _after_dollar(text: bytes, at: int, known: Mapping[str, bytes]) -> tuple[bytes, int]:
    if text[at : at + 1] == b"$":
        return b"$", at + 1
    if text[at : at + 1] != b"(":
        return b"$" + chr(text[at]).encode(), at + 1
    end = text.find(b")", at)
    if end < 0:
        return b"$(", at + 1
    name = text[at + 1 : end]
    return known.get(name.decode("utf-8", "surrogateescape"), b"$(" + name + b")"), end + 1
