"""Brings a lock up to date: what still answers is kept, what is missing or to be upgraded is resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from rcc.diagnostic import Findings, finding, has_errors, in_order
from rcc.fetch.changes import Change, changes
from rcc.fetch.failure import attempt
from rcc.fetch.layouts import lay_out
from rcc.fetch.model import Snapshot
from rcc.fetch.sources import Sources
from rcc.lock.model import Lock, LockedFile, LockedImage, LockedModel, LockedStaging, tree_hash
from rcc.lock.stale import KINDS, source_commit, stale
from rcc.lock.wanted import Entry, StagingRequest, Wanted, WantedImage, WantedModel, WantedStaging
from rcc.quick import dataclass, replace

_ENTRIES = 4
"""Entries resolved at the same time."""

Value = TypeVar("Value")
Due = Callable[[str, str], bool]
"""Whether the entry of a section and key is to be resolved."""


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What to resolve again though the lock answers for it; `models` are ids."""

    everything: bool = False
    images: bool = False
    models: frozenset[str] = frozenset()
    staging: bool = False

    def covers(self, section: str, key: str) -> bool:
        """Whether an entry of the lock is among them."""
        chosen = {"images": self.images, "models": key in self.models, "staging": self.staging}
        return self.everything or chosen.get(section, False)


def update(
    wanted: Wanted, old: Lock | None, sources: Sources, upgrade: Upgrade, rehash: bool = False
) -> tuple[Lock | None, tuple[Change, ...], Findings]:
    """The lock that answers what is wanted, and how it differs from the old one; no lock where anything failed.

    With `rehash` the source of models also compares every file that it holds with its hash.
    """
    base = old or Lock()
    stales = {one.path for one in stale(wanted, base)}

    def due(section: str, key: str) -> bool:
        return (section, key) in stales or upgrade.covers(section, key)

    found = _unknown_models(wanted, upgrade)
    if not found:
        images, models, found = _resolve(wanted, base, due, sources)
    if has_errors(found):
        return None, (), in_order(found)
    files = {file.path: LockedFile(file.sha256, file.mode) for file in wanted.files}
    lock = Lock(images, models, files=files)
    if rehash:
        found += _rehash(wanted, lock, sources)
    staging, of_staging = _stage(wanted, base, lock, due, sources)
    found = in_order((*found, *of_staging))
    if has_errors(found):
        return None, (), found
    lock = replace(lock, staging=staging)
    return lock, changes(base, lock), found


def _unknown_models(wanted: Wanted, upgrade: Upgrade) -> Findings:
    ids = {model.id for model in wanted.models}
    known = ", ".join(f"`{id}`" for id in sorted(ids)) or "none"
    return tuple(
        finding("RCC1221", f"the recipe has no model `{id}`", help=f"its models are {known}")
        for id in sorted(upgrade.models - ids)
    )


def _about(section: str, entry: Entry, key: str, found: Iterable[Any]) -> Findings:
    """Findings of an entry: at what the recipe asks, and with the entry's name."""
    note = f"asked for {KINDS[section]} `{key}`"
    return tuple(replace(one, place=entry.find(), notes=(*one.notes, note)) for one in found)


def _resolve(
    wanted: Wanted, base: Lock, due: Due, sources: Sources
) -> tuple[Mapping[str, LockedImage], Mapping[str, LockedModel], Findings]:
    """Images and models, several at the same time."""

    def image(entry: WantedImage) -> tuple[LockedImage | None, Findings]:
        kept = base.images.get(entry.id)
        if kept and not due("images", entry.id):
            return kept, ()
        known = kept if kept and kept.reference == str(entry.reference) else None
        answer, found = attempt(lambda: sources.images.resolve(entry.reference, known))
        value, remarks = answer or (None, ())
        return value, _about("images", entry, entry.id, (*found, *remarks))

    def model(entry: WantedModel) -> tuple[LockedModel | None, Findings]:
        kept = base.models.get(entry.id)
        if kept and not due("models", entry.id):
            return kept, ()
        snapshot, found = attempt(lambda: sources.models.snapshot(entry.repo, entry.revision))
        if snapshot is None:
            return None, _about("models", entry, entry.id, found)
        tree = tree_hash(snapshot.files)
        locked = LockedModel(entry.repo, entry.revision, snapshot.commit, snapshot.files, tree)
        return locked, _about("models", entry, entry.id, snapshot.remarks)

    with ThreadPoolExecutor(_ENTRIES) as pool:
        of_images = pool.map(image, wanted.images)
        of_models = pool.map(model, wanted.models)
        images, found = _gather(wanted.images, of_images)
        models, more = _gather(wanted.models, of_models)
    return images, models, (*found, *more, *sources.remarks())


def _gather(
    entries: Iterable[WantedImage | WantedModel | WantedStaging], answers: Iterable[tuple[Value | None, Findings]]
) -> tuple[dict[str, Value], Findings]:
    values: dict[str, Value] = {}
    found: Findings = ()
    for entry, (value, remarks) in zip(entries, answers, strict=True):
        if value is not None:
            values[entry.id] = value
        found += remarks
    return values, found


def _rehash(wanted: Wanted, lock: Lock, sources: Sources) -> Findings:
    found: Findings = ()
    for entry in wanted.models:
        snapshot = _snapshot(lock.models[entry.id])
        wrong, failed = attempt(lambda snapshot=snapshot: sources.models.verify(snapshot))  # type: ignore[misc]
        found += _about("models", entry, entry.id, (*failed, *(wrong or ())))
    return found


def _snapshot(model: LockedModel) -> Snapshot:
    return Snapshot(model.repo, model.commit, model.files)


def _stage(
    wanted: Wanted, base: Lock, lock: Lock, due: Due, sources: Sources
) -> tuple[dict[str, LockedStaging], Findings]:
    """Staging blocks, from the models as they are locked now."""

    def block(entry: WantedStaging) -> tuple[LockedStaging | None, Findings]:
        kept = base.staging.get(entry.id)
        commit = source_commit(entry.request, wanted, lock)
        if kept and not due("staging", entry.id) and commit in (None, kept.commit):
            return kept, ()
        snapshot, found = _source(entry.request, lock, sources)
        if snapshot is None:
            return None, _about("staging", entry, entry.id, found)
        value, more = lay_out(entry.request, snapshot, sources)
        return value, _about("staging", entry, entry.id, (*found, *more))

    return _gather(wanted.staging, map(block, wanted.staging))


def _source(request: StagingRequest, lock: Lock, sources: Sources) -> tuple[Snapshot | None, Findings]:
    """The snapshot that a block is staged from: one of the locked models, or another."""
    for model in lock.models.values():
        if model.repo == request.repo and request.revision in (model.revision, model.commit):
            return _snapshot(model), ()
    snapshot, found = attempt(lambda: sources.models.snapshot(request.repo, request.revision))
    return snapshot, (*found, *(snapshot.remarks if snapshot else ()))
