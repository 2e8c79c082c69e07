"""What a `dst` shall hold: files, the byte ranges that are staged of each, and the chunks that are checked."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from rcc_node.quick import dataclass
from rcc_node.terms import Range

CHUNK = 1 << 20
"""Bytes that one hash of the ledger covers, at most. Chunks end at multiples of it in the file."""


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file of the source. `header` is a shard's header hash, `blob` its content's id where the cache names it."""

    name: str
    size: int
    header: str | None
    blob: str | None
    extents: tuple[Range, ...]

    @property
    def staged(self) -> int:
        return sum(end - start for start, end in self.extents)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes `[start, end)` of the goal's file number `file`."""

    file: int
    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Goal:
    """The whole of a stage. `asked` is what the plan said, `rows` the rank's ranges, for sparse rows only."""

    asked: dict[str, Any]
    layout: str
    rows: dict[str, Range] | None
    quant: Any
    files: tuple[StagedFile, ...]

    @property
    def staged(self) -> int:
        """Bytes that are staged."""
        return sum(file.staged for file in self.files)

    def document(self) -> dict[str, Any]:
        return {
            "version": 1,
            "chunk": CHUNK,
            "asked": self.asked,
            "layout": self.layout,
            "rows": self.rows,
            "quant": self.quant,
            "files": [
                {"name": f.name, "size": f.size, "header": f.header, "blob": f.blob, "extents": f.extents}
                for f in self.files
            ],
        }


def read_goal(document: Mapping[str, Any]) -> Goal:
    """A goal from its document; KeyError, TypeError or ValueError where it is another version's."""
    if document["version"] != 1 or document["chunk"] != CHUNK:
        raise ValueError("another version")
    rows = document["rows"]
    return Goal(
        asked=document["asked"],
        layout=document["layout"],
        rows=rows and {layer: (low, high) for layer, (low, high) in rows.items()},
        quant=document["quant"],
        files=tuple(
            StagedFile(f["name"], f["size"], f["header"], f["blob"], tuple((start, end) for start, end in f["extents"]))
            for f in document["files"]
        ),
    )


class Chunks(Sequence[Chunk]):
    """All chunks of some files, in order, without a list: half a terabyte has half a million."""

    def __init__(self, files: Sequence[StagedFile]) -> None:
        self._extents = [(number, extent) for number, file in enumerate(files) for extent in file.extents]
        self._first = [0]
        for _, (start, end) in self._extents:
            self._first.append(self._first[-1] + (end - 1) // CHUNK - start // CHUNK + 1)
        self._bounds = [0]
        counts = dict.fromkeys(range(len(files)), 0)
        for place, (number, _) in enumerate(self._extents):
            counts[number] += self._first[place + 1] - self._first[place]
        for number in range(len(files)):
            self._bounds.append(self._bounds[-1] + counts[number])

    def __len__(self) -> int:
        return self._first[-1]

    def __getitem__(self, index: Any) -> Any:
        if not 0 <= index < len(self):
            raise IndexError(index)
        place = bisect_right(self._first, index) - 1
        number, (start, end) = self._extents[place]
        low = (start // CHUNK + index - self._first[place]) * CHUNK
        return Chunk(number, max(start, low), min(end, low + CHUNK))

    def of_file(self, number: int) -> range:
        """Indices of the chunks of a file."""
        return range(self._bounds[number], self._bounds[number + 1])
