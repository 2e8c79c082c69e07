"""Compares what is staged with the ledger, past the page cache."""

from __future__ import annotations

import hashlib
import os
import random
import threading
from collections.abc import Sequence
from mmap import mmap

from rcc_node import crew
from rcc_node.direct import DirectFile, buffer_for
from rcc_node.goal import CHUNK, Chunk
from rcc_node.ledger import Ledger
from rcc_node.place import Place
from rcc_node.progress import Progress
from rcc_node.quick import dataclass

SAMPLE = 64
"""Chunks of a sampled check, drawn anew each time; 64 MiB at most."""

FIRSTS = 16
"""Files whose first chunk, with a shard's header in it, is always checked; of more files, none is."""


def sample(ledger: Ledger) -> list[int]:
    """Chunks for a quick check: `SAMPLE` at random, and the first of each file where there are few files."""
    count = len(ledger.chunks)
    chosen = set(random.SystemRandom().sample(range(count), min(SAMPLE, count)))
    numbers = range(len(ledger.goal.files))
    if len(numbers) <= FIRSTS:
        chosen.update(chunks[0] for number in numbers if (chunks := ledger.chunks.of_file(number)))
    return sorted(chosen)


@dataclass(frozen=True, slots=True)
class Damage:
    """What is not as the ledger says: numbers of files that are missing or of another size, indices of chunks."""

    files: tuple[int, ...]
    chunks: tuple[int, ...]

    def __bool__(self) -> bool:
        return bool(self.files or self.chunks)


def check(place: Place, ledger: Ledger, indices: Sequence[int], progress: Progress) -> Damage:
    """Compares files by size and the chunks `indices` by hash; a chunk of which the ledger says nothing is damaged."""
    goal = ledger.goal
    files = tuple(number for number, file in enumerate(goal.files) if place.size(file.name) != file.size)
    lost = {index for number in files for index in ledger.chunks.of_file(number)}
    left = [index for index in indices if index not in lost]
    return Damage(files, tuple(sorted(lost.union(_wrong_chunks(place, ledger, left, progress)))))


def _wrong_chunks(place: Place, ledger: Ledger, indices: Sequence[int], progress: Progress) -> list[int]:
    wrong: list[int] = []
    threads = min(len(indices), 2 * (os.cpu_count() or 1), 16)
    members = [_Member(place, ledger) for _ in range(threads)]

    def job(member: int, index: int) -> None:
        chunk = ledger.chunks[index]
        if not members[member].holds(index, chunk):
            wrong.append(index)
        progress.add(chunk.length)

    try:
        crew.work(job, indices, threads, progress.show, threading.Event())
    finally:
        for member in members:
            member.close()
        progress.end()
    return wrong


class _Member:
    """What one thread needs to check chunks: memory, and the file that it is at."""

    def __init__(self, place: Place, ledger: Ledger) -> None:
        self._place = place
        self._ledger = ledger
        self._buffer: mmap = buffer_for(CHUNK)
        self._number = -1
        self._file: DirectFile | None = None

    def holds(self, index: int, chunk: Chunk) -> bool:
        count, expected = self._ledger.line(index)
        if count != chunk.length:
            return False
        data = self._open(chunk.file).read(self._buffer, chunk.start, chunk.length)
        return len(data) == chunk.length and hashlib.sha256(data).hexdigest() == expected

    def _open(self, number: int) -> DirectFile:
        if self._file is None or number != self._number:
            self.close()
            name = self._ledger.goal.files[number].name
            self._file = DirectFile(lambda flags: self._place.open(name, flags))
            self._number = number
        return self._file

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def described(ledger: Ledger, index: int) -> str:
    """A chunk in words."""
    chunk = ledger.chunks[index]
    return f"chunk {index} (bytes {chunk.start} to {chunk.end} of `{ledger.goal.files[chunk.file].name}`)"
