"""What an update of a lock changed, for people to read before they commit it."""

from __future__ import annotations

from typing import Any

from rcc.lock.model import Lock, LockedFile, LockedImage, LockedModel, LockedStaging
from rcc.lock.stale import KINDS
from rcc.quick import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """An entry before and after; None where it was not, or is not any more, in the lock."""

    section: str
    key: str
    old: str | None
    new: str | None

    def __str__(self) -> str:
        name = f"{KINDS[self.section]} {self.key}"
        if self.old is None:
            return f"locked {name}\n    {self.new}"
        if self.new is None:
            return f"dropped {name}\n    {self.old}"
        return f"updated {name}\n    {self.old}\n  → {self.new}"


def changes(old: Lock, new: Lock) -> tuple[Change, ...]:
    """Every entry that is not as it was, in the order of sections and keys."""
    found = []
    for section in KINDS:
        before, after = getattr(old, section), getattr(new, section)
        for key in sorted({*before, *after}):
            if before.get(key) != after.get(key):
                found.append(Change(section, key, _summary(before.get(key)), _summary(after.get(key))))
    return tuple(found)


def _summary(entry: Any) -> str | None:
    """An entry in one line, with the hash that stands for all of it."""
    match entry:
        case LockedImage():
            return f"{entry.reference} {entry.digest} ({', '.join(sorted(entry.platforms))})"
        case LockedModel():
            size = sum(file.size for file in entry.files.values())
            return f"{entry.repo} {entry.revision} {entry.commit} ({len(entry.files)} files, {size} bytes)"
        case LockedStaging():
            ranks = f", {len(entry.ranks)} ranks" if entry.ranks else ""
            return f"{entry.request.repo} {entry.commit} {entry.layout}{ranks}"
        case LockedFile():
            return f"{entry.mode} sha256:{entry.sha256}"
    return None
