"""Images and models with what the lock answers for them."""

from __future__ import annotations

from collections.abc import Iterable

from rcc.cluster.model import Hardware, Node
from rcc.diagnostic import Finding, finding
from rcc.lock.asked import DEFAULT_BRANCH, main_revision
from rcc.lock.model import Lock
from rcc.lock.wanted import COMMIT, IMAGES
from rcc.recipe.model import MAIN_MODEL, RecipeFile
from rcc.recipe.reference import BadReference, parse_reference
from rcc.resolve.model import ResolvedImage, ResolvedModel


def resolve_image(text: str, id: str, lock: Lock | None) -> ResolvedImage:
    """The image by the digest that the recipe states, else the lock's; by its tag where neither says one.

    Where the lock is taken as it is, it may answer for another image than the recipe names: then that is the image.
    """
    locked = lock.images.get(id) if lock else None
    reference = parse_reference(text)
    if locked and str(reference) != locked.reference:
        text, reference = locked.reference, parse_reference(locked.reference)
    assert not isinstance(reference, BadReference), "the caller has read the reference before"
    written, _, _ = text.partition("@")
    has_tag = reference.tag is not None
    name = written[: -len(str(reference.tag)) - 1] if has_tag else written
    digest = reference.digest or (locked.digest if locked else None)
    return ResolvedImage(text if has_tag or reference.digest else f"{name}:latest", name, digest)


def resolve_models(file: RecipeFile, lock: Lock | None) -> tuple[ResolvedModel, ...]:
    """The main model and the further ones, with the commit that is served where one is known."""
    recipe = file.recipe
    asked = [(MAIN_MODEL, recipe.model, main_revision(file))] if recipe.model else []
    asked += [(one.id, one.model, one.revision or DEFAULT_BRANCH) for one in recipe.models]
    return tuple(_model(id, str(repo), revision, lock) for id, repo, revision in asked)


def _model(id: str, repo: str, revision: str, lock: Lock | None) -> ResolvedModel:
    locked = lock.models.get(id) if lock else None
    if locked is not None and not repo.startswith("/"):
        return ResolvedModel(id, locked.repo, locked.revision, locked.commit, locked.tree)
    return ResolvedModel(id, repo, revision, revision if COMMIT.fullmatch(revision) else None, None)


def check_staged(file: RecipeFile, lock: Lock | None) -> list[Finding]:
    """Rows that a lock, taken as it is, has for other ranks than the recipe's: they would not cover the tables."""
    found = []
    for index, block in enumerate(file.recipe.staging):
        locked = lock.staging.get(block.id) if lock else None
        asked = locked.request if locked else None
        if asked and asked.kind != block.kind:
            message = f"the lock has `{block.id}` as `{asked.kind}`, and the recipe as `{block.kind}`"
        elif asked and asked.world not in (None, file.recipe.required_nodes):
            ranks = f"{asked.world} ranks, and the recipe runs on {file.recipe.required_nodes}"
            message = f"the lock has the rows of `{block.id}` for {ranks}"
        else:
            continue
        found.append(finding("RCC801", message, file.place(("staging", index, "kind")), help="run `rcc lock`"))
    return found


def architecture(node: Node, hardware: Hardware) -> str | None:
    """The node's architecture; None where any will do."""
    return node.arch or hardware.arch


def check_architectures(
    file: RecipeFile, nodes: Iterable[Node], hardware: Hardware, lock: Lock | None
) -> list[Finding]:
    """An image that has no manifest for a node: the pull would fail there, or worse, the start."""
    found = []
    wanted = {arch: node for node in nodes if (arch := architecture(node, hardware))}
    for id, key in IMAGES.items():
        image = lock.images.get(id) if lock else None
        for arch, node in sorted(wanted.items()) if image else ():
            assert image
            if not any(one.split("/")[:2] == ["linux", arch] for one in image.platforms):
                has = ", ".join(f"`{one}`" for one in sorted(image.platforms)) or "none"
                message = f"the image has no manifest for linux/{arch}, which node `{node.name}` is"
                help = "choose an image that is built for it, or correct the node's `arch`"
                found.append(finding("RCC608", message, file.place((key,)), notes=[f"it has {has}"], help=help))
    return found
