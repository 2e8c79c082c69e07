"""Whether a lock answers what a recipe asks: by comparison alone, without a network."""

from __future__ import annotations

from dataclasses import fields

from rcc.diagnostic import Finding, Findings, Label, finding
from rcc.lock.model import Lock, LockedFile, LockedImage, LockedModel, LockedStaging
from rcc.lock.places import place_in
from rcc.lock.wanted import (
    COMMIT,
    Find,
    StagingRequest,
    Wanted,
    WantedFile,
    WantedImage,
    WantedModel,
    WantedStaging,
    nowhere,
)
from rcc.quick import dataclass
from rcc.recipe.shape import shown
from rcc.source import Source

KINDS = {"images": "image", "models": "model", "staging": "staging", "files": "file"}
"""What an entry of each section is called."""


@dataclass(frozen=True, slots=True)
class Stale:
    """An entry that the recipe and its lock do not agree on, by section and key, and why."""

    section: str
    key: str
    reasons: tuple[str, ...]
    find: Find = nowhere

    @property
    def path(self) -> tuple[str, str]:
        """The entry's path in the lock."""
        return self.section, self.key

    @property
    def entry(self) -> str:
        """The entry as messages call it."""
        return f"{KINDS[self.section]} `{self.key}`"


def stale(wanted: Wanted, lock: Lock) -> tuple[Stale, ...]:
    """Every entry that differs, in the order of the recipe; then those that it no longer asks for."""
    found = []
    asked = {("files", path) for path in wanted.unread}
    for (section, key), entry in wanted.entries():
        asked.add((section, key))
        locked = getattr(lock, section).get(key)
        reasons = ("it is not in the lock",) if locked is None else _reasons(entry, locked, wanted, lock)
        if reasons:
            found.append(Stale(section, key, tuple(reasons), entry.find))
    for section in KINDS:
        for key in sorted(getattr(lock, section)):
            if (section, key) not in asked:
                found.append(Stale(section, key, ("the recipe does not ask for it any more",)))
    return tuple(found)


def stale_findings(wanted: Wanted, lock: Lock, text: Source) -> Findings:
    """One error an entry, at what the recipe asks, with what the lock has; `text` is the lock's."""
    return tuple(_finding(one, lock, text) for one in stale(wanted, lock))


def _finding(one: Stale, lock: Lock, text: Source) -> Finding:
    asked, has = one.find(), place_in(text, one.path)
    return finding(
        "RCC610",
        f"the lock does not answer for {one.entry}: {'; '.join(one.reasons)}",
        asked or has,
        labels=[Label(has, "what the lock has")] if asked and one.key in getattr(lock, one.section) else (),
        help="run `rcc lock` with this recipe: it keeps every other entry",
    )


def _reasons(entry: object, locked: object, wanted: Wanted, lock: Lock) -> list[str]:
    match entry, locked:
        case WantedImage(), LockedImage():
            return _differs("the recipe asks for", str(entry.reference), locked.reference)
        case WantedModel(), LockedModel():
            return [
                *_differs("the recipe names", entry.repo, locked.repo),
                *_differs("the recipe asks for revision", entry.revision, locked.revision),
            ]
        case WantedStaging(), LockedStaging():
            return [*_request(entry.request, locked.request), *_moved_source(locked, wanted, lock)]
        case WantedFile(), LockedFile():
            return [
                *_differs("its text has sha256", entry.sha256, locked.sha256),
                *_differs("its mode is", entry.mode, locked.mode),
            ]
    raise AssertionError(entry)


def _differs(what: str, now: str, then: str) -> list[str]:
    return [] if now == then else [f"{what} `{shown(now)}`, the lock has `{shown(then)}`"]


def _request(now: StagingRequest, then: StagingRequest) -> list[str]:
    if now.kind != then.kind:
        return _differs("its kind is", now.kind, then.kind)
    pairs = [(one.name, getattr(now, one.name), getattr(then, one.name)) for one in fields(StagingRequest)]
    return [reason for name, a, b in pairs for reason in _differs(f"its `{name}` is", _text(a), _text(b))]


def _text(value: object) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _moved_source(locked: LockedStaging, wanted: Wanted, lock: Lock) -> list[str]:
    """A model that was locked anew leaves the rows of its former commit behind."""
    commit = source_commit(locked.request, wanted, lock)
    if commit is None or commit == locked.commit:
        return []
    return [f"its rows are those of commit `{locked.commit[:12]}`, its model is locked at `{commit[:12]}`"]


def source_commit(request: StagingRequest, wanted: Wanted, lock: Lock) -> str | None:
    """The commit of a staging source: its revision, or what the lock has for the model that it is a part of."""
    if COMMIT.fullmatch(request.revision):
        return request.revision
    for model in wanted.models:
        if (model.repo, model.revision) == (request.repo, request.revision) and model.id in lock.models:
            locked = lock.models[model.id]
            return locked.commit if (locked.repo, locked.revision) == (model.repo, model.revision) else None
    return None
