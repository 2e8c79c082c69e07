"""ConfigMaps, each named by its content: a change gives another object, and so other pods."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from posixpath import basename

from rcc.plan.model import CarriedFile, FileRef, Plan
from rcc.quick import dataclass

KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")

_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")

LARGEST = 1 << 20
"""Bytes that a ConfigMap may hold."""


@dataclass(frozen=True, slots=True)
class ConfigMap:
    """Files by name."""

    name: str
    files: Mapping[str, bytes]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(map(len, self.files.values()))

    @property
    def texts(self) -> dict[str, str]:
        """The files that a manifest can hold as they are."""
        return {name: data.decode() for name, data in sorted(self.files.items()) if _is_text(data)}

    @property
    def binaries(self) -> dict[str, str]:
        """The others, in base64."""
        return {name: b64encode(data).decode() for name, data in sorted(self.files.items()) if not _is_text(data)}


def config_map(plan: Plan, what: str, files: Mapping[str, bytes]) -> ConfigMap:
    """A map of the plan's own; the end of its name is that of its content."""
    content = sha256()
    for name, data in sorted(files.items()):
        content.update(f"{name}\0{len(data)}\0".encode() + data)
    return ConfigMap(f"{plan.id}-{what}-{content.hexdigest()[:10]}", files)


def file_maps(plan: Plan) -> list[ConfigMap]:
    """A map for each carried file, since each may be as large as a map."""
    mounted = {mount.source.file for mount in plan.ranks[0].container.mounts if isinstance(mount.source, FileRef)}
    return [_file_map(plan, file) for file in plan.files if file.file in mounted]


def file_map(plan: Plan, reference: FileRef) -> tuple[str, str]:
    """Name and key of a carried file's map."""
    found = _file_map(plan, next(file for file in plan.files if file.file == reference.file))
    return found.name, next(iter(found.files))


def _file_map(plan: Plan, file: CarriedFile) -> ConfigMap:
    name = basename(file.file)
    return config_map(plan, "file", {name if KEY.fullmatch(name) else "content": file.data})


def _is_text(data: bytes) -> bool:
    """Whether the data is text without control characters but line ends and tabs."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return not _CONTROL.search(data)
