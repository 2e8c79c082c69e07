"""Copies chunks from the source to where they are staged, hashing on the way: the source is read once."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from rcc_node import crew
from rcc_node.direct import BLOCK, DirectFile
from rcc_node.errors import NodeError
from rcc_node.flush import Flusher
from rcc_node.goal import Chunk
from rcc_node.ledger import Ledger
from rcc_node.outputs import Outputs
from rcc_node.place import Place
from rcc_node.progress import Progress
from rcc_node.source import READERS, Source


class Packer:
    """Brings the chunks of a ledger's goal into its outputs and notes them."""

    def __init__(self, place: Place, ledger: Ledger, source: Source, outputs: Outputs, progress: Progress) -> None:
        self._place = place
        self._ledger = ledger
        self._source = source
        self._outputs = outputs
        self._progress = progress
        self._flusher: Flusher
        self._stop = threading.Event()

    def pack(self, indices: Iterable[int]) -> None:
        """Copies the chunks, going on inside one that was begun."""
        self._work(self._copy, indices)

    def mend(self, indices: Iterable[int]) -> None:
        """Copies chunks whose staged bytes are wrong; refuses a source that is not the one that was staged."""
        self._work(self._mend, indices)

    def compare(self, indices: Iterable[int], mend: bool) -> list[int]:
        """Compares staged bytes with the source and notes those that are equal; gives, or mends, the others."""
        differing: list[int] = []

        def compare(reader: int, index: int) -> None:
            if not self._compare(reader, index, mend):
                differing.append(index)

        self._work(compare, indices)
        return sorted(differing)

    def _work(self, job: Any, indices: Iterable[int]) -> None:
        try:
            self._share(job, indices)
        finally:
            self._progress.end()

    def _share(self, job: Any, indices: Iterable[int]) -> None:
        with self._place.failures():
            self._flusher = Flusher(self._ledger, self._source.limiter.limited)
            try:
                crew.work(job, indices, READERS, self._progress.show, self._stop)
            except BaseException:
                with suppress(OSError):  # what ended the crew says more
                    self._flusher.close()
                raise
            self._flusher.close()

    def _copy(self, reader: int, index: int) -> None:
        chunk: Chunk = self._ledger.chunks[index]
        file, buffer = self._outputs.handle(chunk.file), self._source.buffers[reader]
        done, digest = self._begun(index, chunk, file, buffer)
        while done < chunk.length:
            piece = self._piece(chunk.length - done)
            data = self._source.read(reader, self._path(chunk), chunk.start + done, piece)
            digest.update(data)
            cached = file.write(buffer, chunk.start + done, piece)
            done += piece
            self._flusher.written(index, file.fileno(), done, digest.copy(), cached)
            self._progress.add(piece)

    def _piece(self, left: int) -> int:
        """How much to read next. Under a rate limit a chunk takes long, and a stop does not wait for it."""
        if self._stop.is_set():
            raise crew.Ended
        return self._source.limiter.piece(left)

    def _begun(self, index: int, chunk: Chunk, file: DirectFile, buffer: memoryview) -> tuple[int, Any]:
        """How much of a chunk an earlier run left, proven by its hash, and the digest to go on with."""
        count, expected = self._ledger.line(index)
        digest = hashlib.sha256(file.read(buffer, chunk.start, count) if count else b"")
        if 0 < count < chunk.length and digest.hexdigest() == expected:
            return count, digest
        self._progress.add(-count, fresh=False)
        return 0, hashlib.sha256()

    def _mend(self, reader: int, index: int) -> None:
        chunk: Chunk = self._ledger.chunks[index]
        data = self._fetched(reader, chunk)
        count, expected = self._ledger.line(index)
        if count == chunk.length and hashlib.sha256(data).hexdigest() != expected:
            raise NodeError(
                "source-changed",
                f"`{self._path(chunk)}` has other bytes than were staged",
                "restore the snapshot that was staged, then run `stage --repair` again",
            )
        self._store(reader, index, data)

    def _compare(self, reader: int, index: int, mend: bool) -> bool:
        chunk: Chunk = self._ledger.chunks[index]
        data = self._fetched(reader, chunk)
        file = self._outputs.handle(chunk.file)
        if file.read(self._source.buffers[reader], chunk.start, chunk.length) == data:
            self._flusher.written(index, file.fileno(), chunk.length, hashlib.sha256(data), 0)
        elif mend:
            self._store(reader, index, data)
        else:
            return False
        return True

    def _fetched(self, reader: int, chunk: Chunk) -> bytearray:
        data = bytearray(chunk.length)
        done = 0
        while done < chunk.length:
            piece = self._piece(chunk.length - done)
            data[done : done + piece] = self._source.read(reader, self._path(chunk), chunk.start + done, piece)
            done += piece
            self._progress.add(piece)
        return data

    def _store(self, reader: int, index: int, data: bytearray) -> None:
        chunk: Chunk = self._ledger.chunks[index]
        file, buffer, skew = self._outputs.handle(chunk.file), self._source.buffers[reader], chunk.start % BLOCK
        buffer[skew : skew + chunk.length] = data
        cached = file.write(buffer, chunk.start, chunk.length)
        self._flusher.written(index, file.fileno(), chunk.length, hashlib.sha256(data), cached)

    def _path(self, chunk: Chunk) -> str:
        return f"{self._source.root}/{self._ledger.goal.files[chunk.file].name}"
