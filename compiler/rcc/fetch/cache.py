"""A local Hugging Face cache as a source of models, in every layout that it has had."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from rcc.diagnostic import Findings, Severity, finding
from rcc.fetch.attributes import lfs_rule
from rcc.fetch.failure import FetchError
from rcc.fetch.hashing import Claim, damaged, hash_file
from rcc.fetch.model import Snapshot, file_id, is_hash, is_safe
from rcc.fetch.progress import Progress
from rcc.lock.model import FileId
from rcc.lock.wanted import COMMIT
from rcc.quick import dataclass

_SHOWN = 3
_PIECE = 1 << 20
_AGAIN = "download it again"


@dataclass(frozen=True, slots=True)
class Cache:
    """`folder` holds `models--org--name`, or a `hub/` that does. `threads` bounds what is read in parallel."""

    folder: str
    threads: int
    progress: Progress

    def snapshot(self, repo: str, revision: str) -> Snapshot:
        """The commit that a revision names in the cache, and its files as the cache knows them."""
        root = self._root(repo)
        if not os.path.isdir(root):
            message = f"the cache `{self.folder}` has no model `{repo}`"
            raise FetchError("RCC1216", message, f"download it there (`hf download {repo}`), or name another cache")
        commit = _commit(root, repo, revision)
        folder = os.path.join(root, "snapshots", commit)
        if not os.path.isdir(folder):
            message = f"the cache `{self.folder}` does not hold commit `{commit}` of `{repo}`"
            raise FetchError("RCC1216", message, f"download it there: `hf download {repo} --revision {commit}`")
        listed = _tree(root, commit)
        files = dict(self._walk(folder, repo)) if listed is None else listed
        snapshot = Snapshot(repo, commit, dict(sorted(files.items())))
        return Snapshot(repo, commit, snapshot.files, self._lacking(snapshot))

    def read(self, snapshot: Snapshot, path: str, start: int, end: int) -> bytes:
        """A part of a file; each piece of it is a sign of life."""
        parts: list[bytes] = []
        with open(self._real(snapshot.repo, self._path(snapshot, path), path), "rb") as file:
            file.seek(start)
            while start < end and (part := file.read(min(_PIECE, end - start))):
                parts.append(part)
                start += len(part)
                self.progress.advance(0)
        return b"".join(parts)

    def verify(self, snapshot: Snapshot) -> Findings:
        """Hashes every file that the cache holds, and tells of those that are not what their hash says."""
        claims = [
            Claim(name, self._real(snapshot.repo, path, name), one)
            for name, one in snapshot.files.items()
            if os.path.lexists(path := self._path(snapshot, name))
        ]
        return tuple(
            finding("RCC1217", f"`{one.name}` of `{snapshot.repo}` is damaged in the cache: {why}", help=_AGAIN)
            for one, why in damaged(claims, self.threads, self.progress)
        )

    @property
    def _hub(self) -> str:
        inner = os.path.join(self.folder, "hub")
        return os.path.realpath(inner if os.path.isdir(inner) else self.folder)

    def _root(self, repo: str) -> str:
        return os.path.join(self._hub, "models--" + repo.replace("/", "--"))

    def _path(self, snapshot: Snapshot, name: str) -> str:
        return os.path.join(self._root(snapshot.repo), "snapshots", snapshot.commit, *name.split("/"))

    def _real(self, repo: str, path: str, name: str) -> str:
        """The file at the end of the links, of which newer caches have two in a row; it must be in this cache."""
        real = os.path.realpath(path)
        if os.path.commonpath([real, self._hub]) != self._hub:
            message = f"`{name}` of `{repo}` is a link out of the cache `{self.folder}`"
            raise FetchError("RCC1216", message, "name the folder that holds both the links and the files")
        if not os.path.isfile(real):
            message = f"`{name}` of `{repo}` is not in the cache `{self.folder}`, or a link to nothing"
            raise FetchError("RCC1216", message, "download it again, or name the whole cache, not a part of it")
        return real

    def _walk(self, folder: str, repo: str) -> Iterator[tuple[str, FileId]]:
        """Every file of a snapshot: what its blob is called, or, of a plain file, the hash of its bytes."""
        plain = []
        for name, path in _files_below(folder):
            if not is_safe(name):
                message = f"the cache holds a file of `{repo}` whose name is not UTF-8"
                raise FetchError("RCC1216", message, _AGAIN)
            real = self._real(repo, path, name)
            self.progress.advance(0)
            blob = os.path.basename(os.readlink(path)) if os.path.islink(path) else ""
            if is_hash(blob, 64):
                yield name, FileId(os.path.getsize(real), sha256=blob)
            elif is_hash(blob, 40):
                yield name, FileId(os.path.getsize(real), git_sha1=blob)
            else:
                plain.append((name, real))
        in_lfs = lfs_rule(os.path.join(folder, ".gitattributes"))
        self.progress.begin("hashing", sum(os.path.getsize(real) for _, real in plain))
        with ThreadPoolExecutor(self.threads) as pool:
            hashed = pool.map(lambda one: hash_file(one[1], in_lfs(one[0]), self.progress), plain)
            yield from zip((name for name, _ in plain), hashed, strict=True)

    def _lacking(self, snapshot: Snapshot) -> Findings:
        """A remark about files that were not downloaded; one that is there with another size is refused."""
        lacking = []
        for name, one in snapshot.files.items():
            path = self._path(snapshot, name)
            self.progress.advance(0)
            if not os.path.lexists(path):
                lacking.append(name)
            elif (size := os.path.getsize(self._real(snapshot.repo, path, name))) != one.size:
                message = f"`{name}` of `{snapshot.repo}` has {size} bytes in the cache, not {one.size}"
                raise FetchError("RCC1217", message, _AGAIN)
        if not lacking:
            return ()
        shown = ", ".join(f"`{name}`" for name in lacking[:_SHOWN]) + (", …" if len(lacking) > _SHOWN else "")
        message = f"the cache lacks {len(lacking)} of {len(snapshot.files)} files of `{snapshot.repo}`: {shown}"
        return (finding("RCC1216", message, help="download them before you serve", severity=Severity.WARNING),)


def _commit(root: str, repo: str, revision: str) -> str:
    if COMMIT.fullmatch(revision):
        return revision
    try:
        with open(os.path.join(root, "refs", revision), encoding="ascii") as file:
            commit = file.read(100).strip()
    except (OSError, ValueError):
        commit = ""
    if not is_safe(revision) or not COMMIT.fullmatch(commit):
        message = f"the cache does not know which commit `{revision}` of `{repo}` is"
        raise FetchError("RCC1216", message, f"download that revision, or write the commit: `ls {root}/snapshots`")
    return commit


def _tree(root: str, commit: str) -> dict[str, FileId] | None:
    """The files of a commit by `trees/<commit>.json`, where the cache has one of a form that is known."""
    try:
        with open(os.path.join(root, "trees", f"{commit}.json"), "rb") as file:
            tree = json.load(file)
        if tree["format_version"] != 1:
            return None
        return {name: _file_of_tree(name, one) for name, one in tree["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _file_of_tree(name: str, entry: dict[str, object]) -> FileId:
    size = entry.get("lfs_size") or entry["size"]
    return file_id(name, size, entry.get("lfs_sha256"), entry.get("blob_id"))


def _files_below(folder: str) -> Iterator[tuple[str, str]]:
    """Files with their names relative to a folder, sorted; folders that are links are not entered."""
    for base, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(base, name)
            yield os.path.relpath(path, folder).replace(os.sep, "/"), path
