"""Where the values of a JSON text stand: found when there is something to point at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rcc.source import Path, Place, Source, Span
from rcc.syntax.document import Part

if TYPE_CHECKING:
    from rcc.lock.members import Member


def place_in(source: Source, path: Path, part: Part = "value") -> Place:
    """Where the value at `path` of a valid JSON text stands, or its key, else its nearest parent that is there."""
    from rcc.lock.members import by_path

    found = by_path(source)
    for end in range(len(path), 0, -1):
        member = found.get(path[:end])
        if member:
            return Place(source, member.key if part == "key" and member.key else member.value)
    return Place(source, Span(0, 0))


def repeated(source: Source) -> list[tuple[Member, Member]]:
    """Keys that stand twice in one object: the first and each further one."""
    from rcc.lock.members import members

    first: dict[Path, Member] = {}
    again = []
    for member in members(source.text):
        if member.key and member.path in first:
            again.append((first[member.path], member))
        first.setdefault(member.path, member)
    return again
