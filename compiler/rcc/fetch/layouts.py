"""Staged layouts, from the index and the headers of a checkpoint: never from its weights."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from threading import Event

from rcc.diagnostic import Findings
from rcc.fetch.failure import FetchError, attempt
from rcc.fetch.hashing import same_bytes
from rcc.fetch.model import Snapshot
from rcc.fetch.sources import Sources
from rcc.lock.model import LockedStaging
from rcc.lock.wanted import StagingRequest
from rcc.staging.headers import INDEX, Shard, disagreements, header_guesses, read_header, shards_needed, weight_map
from rcc.staging.locked import lock_rows, lock_snapshot

_INDEX_CAP = 64 * 1024 * 1024


def lay_out(request: StagingRequest, snapshot: Snapshot, sources: Sources) -> tuple[LockedStaging | None, Findings]:
    """A staging block's entry in the lock."""
    if request.kind == "snapshot":
        return lock_snapshot(request, snapshot.commit, snapshot.files)
    assert request.tensors is not None
    index, found = attempt(lambda: _index(snapshot, sources))
    if found:
        return None, found
    names, found = shards_needed(request.tensors, snapshot.files, index)
    if names is None:
        return None, found
    listed = weight_map(index)
    shards, found = _headers(names, header_guesses(listed), snapshot, sources)
    found = found or disagreements(request.tensors, listed, shards)
    return (None, found) if found else lock_rows(request, snapshot.commit, shards.values())


def _index(snapshot: Snapshot, sources: Sources) -> bytes | None:
    """The checkpoint's index, where it has one, compared with its hash."""
    file = snapshot.files.get(INDEX)
    if file is None:
        return None
    if file.size > _INDEX_CAP:
        message = f"`{INDEX}` of `{snapshot.repo}` has {file.size} bytes, more than any index has"
        raise FetchError("RCC1215", message, "name a checkpoint whose index is whole")
    data = sources.models.read(snapshot, INDEX, 0, file.size)
    if not same_bytes(data, file):
        message = f"`{INDEX}` of `{snapshot.repo}` is not what its hash says"
        raise FetchError("RCC1217", message, "try again; in a cache, download it again")
    return data


def _headers(
    names: tuple[str, ...], guesses: Mapping[str, int], snapshot: Snapshot, sources: Sources
) -> tuple[dict[str, Shard], Findings]:
    """The headers of shards, several at the same time; after the first failure no more are asked for."""
    failed = Event()
    sources.progress.begin("reading headers", len(names))

    def header(name: str) -> tuple[Shard | None, Findings]:
        if failed.is_set():
            return None, ()
        size, guess = snapshot.files[name].size, guesses.get(name, 0)
        read = partial(sources.models.read, snapshot, name)
        answer, refused = attempt(lambda: read_header(name, size, guess, read))
        shard, refused = answer or (None, refused)
        if refused:
            failed.set()
        sources.progress.advance(1)
        return shard, refused

    answers = dict(zip(names, sources.pool.map(header, names), strict=True))
    found = [refused for _, refused in answers.values() if refused]
    return {name: shard for name, (shard, _) in answers.items() if shard}, (found[0] if found else ())
