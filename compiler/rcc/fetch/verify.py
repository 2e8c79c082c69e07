"""Asks whether what a lock names is still there, and whether its tags and branches still name that."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from rcc.diagnostic import Finding, Findings, finding, in_order
from rcc.fetch.failure import FetchError
from rcc.fetch.sources import Sources
from rcc.lock.model import Lock, LockedImage, LockedModel
from rcc.lock.wanted import COMMIT
from rcc.recipe.reference import Reference, parse_reference

_NEXT = "run `rcc lock --upgrade` to take what is there now"
_KEEP = "the lock stands; `rcc lock --upgrade` takes the new one"
_GONE = ("RCC1204", "RCC1212", "RCC1213", "RCC1216")


def verify(lock: Lock, sources: Sources) -> Findings:
    """Errors for what is gone, warnings for what has moved on, and what could not be asked."""
    with ThreadPoolExecutor(4) as pool:
        of_images = pool.map(lambda item: _image(item[0], item[1], sources), sorted(lock.images.items()))
        of_models = pool.map(lambda item: _model(item[0], item[1], sources), sorted(lock.models.items()))
        found = [one for group in (*of_images, *of_models) for one in group]
    return in_order((*found, *sources.remarks()))


def _image(id: str, image: LockedImage, sources: Sources) -> list[Finding]:
    reference = parse_reference(image.reference)
    assert isinstance(reference, Reference)
    pinned = Reference(reference.registry, reference.repository, digest=image.digest)
    try:
        if sources.images.digest(pinned) is None:
            return [
                finding("RCC1220", f"image `{id}`: registry `{pinned.registry}` has no `{pinned}` any more", help=_NEXT)
            ]
        now = image.digest if reference.digest else sources.images.digest(reference)
    except FetchError as error:
        return [error.finding]
    if now == image.digest:
        return []
    what = f"names `{now}` by now, the lock has `{image.digest}`" if now else "is gone, its digest is still there"
    return [finding("RCC1219", f"image `{id}`: `{reference}` {what}", help=_KEEP)]


def _model(id: str, model: LockedModel, sources: Sources) -> list[Finding]:
    try:
        sources.models.snapshot(model.repo, model.commit)
    except FetchError as error:
        if error.finding.code not in _GONE:
            return [error.finding]
        message = f"model `{id}`: commit `{model.commit}` of `{model.repo}` is not there any more"
        return [finding("RCC1220", message, notes=(error.finding.message,), help=_NEXT)]
    if COMMIT.fullmatch(model.revision):
        return []
    try:
        now = sources.models.snapshot(model.repo, model.revision).commit
    except FetchError as error:
        return [error.finding]
    if now == model.commit:
        return []
    message = f"model `{id}`: `{model.revision}` of `{model.repo}` is `{now}` by now, the lock has `{model.commit}`"
    return [finding("RCC1219", message, help=_KEEP)]
