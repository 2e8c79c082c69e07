"""Places in a JSON text: found when there is something to point at."""

from __future__ import annotations

from rcc.source import Path, Place, Source, Span
from rcc.syntax.document import Part


def place_in(source: Source, path: Path, part: Part = "value") -> Place:
    """Where the value at `path` of a valid JSON text stands, or its key, else its nearest parent that is there."""
    from rcc.lock.members import member_at

    member = member_at(source, path)
    if member is None:
        return Place(source, Span(0, 0))
    return Place(source, member.key if part == "key" and member.key else member.value)
