"""What a source of models gives."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Protocol

from rcc.diagnostic import Findings
from rcc.lock.model import FileId
from rcc.quick import dataclass
from rcc.recipe.shape import LARGEST


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A commit of a repository, and its files by path."""

    repo: str
    commit: str
    files: Mapping[str, FileId]
    remarks: Findings = ()


class ModelSource(Protocol):
    """The Hub, or a cache of it. What they cannot give they refuse with a FetchError."""

    def snapshot(self, repo: str, revision: str) -> Snapshot:
        """The commit that a branch, tag or commit names."""

    def read(self, snapshot: Snapshot, path: str, start: int, end: int) -> bytes:
        """Bytes `[start, end)` of a file."""

    def verify(self, snapshot: Snapshot) -> Findings:
        """What of a snapshot is not as its hashes say; nothing where the source does not hold the bytes."""


def is_safe(path: str) -> bool:
    """Whether a path stays below the folder that it is put in, and is text."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in path and all(part not in ("", ".", "..") for part in path.split("/"))


def git_sha1(data: bytes) -> str:
    """What git calls a file with these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()  # noqa: S324 - git's own name for it


def is_hash(text: object, digits: int) -> bool:
    """Whether a text is a hash of so many hex digits."""
    return isinstance(text, str) and re.fullmatch(rf"[0-9a-f]{{{digits}}}", text) is not None


def file_id(path: object, size: object, sha256: object, blob: object) -> FileId:
    """A file from what the Hub says of it: in LFS it has a sha256, else git's name for it counts. Else ValueError."""
    if not isinstance(path, str) or not is_safe(path) or type(size) is not int or not 0 <= size <= LARGEST:
        raise ValueError(path)
    if isinstance(sha256, str) and is_hash(sha256, 64):
        return FileId(size, sha256=sha256)
    if sha256 is None and isinstance(blob, str) and is_hash(blob, 40):
        return FileId(size, git_sha1=blob)
    raise ValueError(path)
