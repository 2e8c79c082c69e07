"""Hashes of large files: several at once, in as little memory as one buffer each."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from rcc.fetch.model import git_sha1
from rcc.fetch.progress import Progress
from rcc.lock.model import FileId
from rcc.quick import dataclass

_BUFFER = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Claim:
    """A file on disk (all links resolved), and what it is said to be."""

    name: str
    path: str
    file: FileId


def hash_file(path: str, in_lfs: bool, progress: Progress) -> FileId:
    """Size and hash of a file: sha256 of its bytes as LFS has it, or else git's sha1 of it as a blob."""
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        state = hashlib.sha256() if in_lfs else hashlib.sha1(b"blob %d\0" % size)  # noqa: S324 - git's own
        buffer = bytearray(_BUFFER)
        view = memoryview(buffer)
        while count := file.readinto(buffer):
            state.update(view[:count])
            progress.advance(count)
    digest = state.hexdigest()
    return FileId(size, sha256=digest) if in_lfs else FileId(size, git_sha1=digest)


def same_bytes(data: bytes, file: FileId) -> bool:
    """Whether bytes are those of a file."""
    if file.sha256:
        return hashlib.sha256(data).hexdigest() == file.sha256
    return git_sha1(data) == file.git_sha1


def damaged(claims: Sequence[Claim], threads: int, progress: Progress) -> list[tuple[Claim, str]]:
    """The files that are not what they are said to be, and why; each path is read once, the largest first."""
    progress.begin("hashing", sum(claim.file.size for claim in {claim.path: claim for claim in claims}.values()))
    work = {(claim.path, claim.file.sha256 is not None): claim.file.size for claim in claims}
    order = sorted(work, key=lambda key: -work[key])
    with ThreadPoolExecutor(threads) as pool:
        found = dict(zip(order, pool.map(lambda key: hash_file(key[0], key[1], progress), order), strict=True))
    wrong = []
    for claim in claims:
        have = found[claim.path, claim.file.sha256 is not None]
        if have.size != claim.file.size:
            wrong.append((claim, f"it has {have.size} bytes, not {claim.file.size}"))
        elif have != claim.file:
            wrong.append((claim, f"its hash is `{have.sha256 or have.git_sha1}`"))
    return wrong
