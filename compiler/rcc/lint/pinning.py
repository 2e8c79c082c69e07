"""What a recipe leaves open: tags and branches that move, files that nobody compares."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rcc.diagnostic import Finding, Label, finding
from rcc.lint.context import Context
from rcc.recipe.paths import above, normal
from rcc.source import Path

if TYPE_CHECKING:
    from rcc.recipe.reference import Reference

# Such a word, and behind it at most for which machines the image is.
_MOVING = (
    r"(?:.*[-_.])?(?:latest|nightly|edge|canary|rolling|main|master|dev|devel|unstable)"
    r"(?:[-_.](?:x86[-_]64|amd64|aarch64|arm64|sbsa|cpu|gpu|cu(?:da)?[0-9.]*))*"
)
# A reference with a digest, as most are written: nothing to say of it, and nothing to import.
_PINNED = re.compile(
    r"[a-z0-9-]+(?:\.[a-z0-9-]+)*(?::[0-9]{1,5})?(?:/[a-z0-9]+(?:[._-][a-z0-9]+)*)+(?::\w[\w.-]*)?@sha256:[0-9a-f]{64}",
    re.ASCII,
)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_NOT_FILES = ("/dev/", "/proc/", "/run/", "/sys/", "/var/run/")
_ARCHITECTURES = {"amd64": r"x86[-_]64|x86|amd64", "arm64": r"aarch64|arm64|sbsa"}


def check(context: Context) -> Iterator[Finding]:
    """All checks of this family that look at the recipe alone."""
    for key, text in (("docker_image", context.recipe.docker_image), ("staging_image", context.recipe.staging_image)):
        if text is not None:
            yield from _check_image(context, key, text)
    yield from check_unpinned_revision(context)
    yield from check_unpinned_mount(context)


def _check_image(context: Context, key: str, text: str) -> Iterator[Finding]:
    if context.cluster is None and _PINNED.fullmatch(text):
        return
    from rcc.recipe.reference import BadReference, parse_reference

    reference = parse_reference(text)
    if isinstance(reference, BadReference):
        from rcc.lock.asked import bad_reference

        yield bad_reference(context.file, key, text, reference)
    else:
        yield from check_floating_tag(context, key, text, reference)
        yield from check_foreign_architecture(context, key, text, reference)


def check_floating_tag(context: Context, key: str, text: str, reference: Reference) -> Iterator[Finding]:
    """RCC601 and RCC602: a tag can be moved, and some are made to be."""
    if reference.digest or (context.lock and _image_role(key) in context.lock.images):
        return
    help = "run `rcc lock` to record its digest" if context.lock is None else "run `rcc lock` again"
    start = text.rfind(":") + 1 if reference.tag else 0
    place = context.inside((key,), start, len(text))
    if reference.tag is None:
        yield finding("RCC601", "the image has no tag, which means `latest`", place, help="name a version, and " + help)
    elif re.fullmatch(_MOVING, reference.tag.lower()):
        message = f"tag `{reference.tag}` is moved with every release"
        yield finding("RCC601", message, place, help="name a version, and " + help)
    else:
        yield finding("RCC602", f"tag `{reference.tag}` alone does not pin the image", place, help=help)


def _image_role(key: str) -> str:
    return "engine" if key == "docker_image" else "staging"


def check_foreign_architecture(context: Context, key: str, text: str, reference: Reference) -> Iterator[Finding]:
    """RCC604: the image's tag says what it was built for."""
    if context.cluster is None or reference.tag is None:
        return
    from rcc.resolve.nodes import choose_hardware

    hardware, _ = choose_hardware(context.cluster)
    for index, node in enumerate(context.cluster.cluster.nodes[: context.recipe.required_nodes]):
        arch = node.arch or (hardware.arch if hardware else None)
        for foreign, pattern in _ARCHITECTURES.items():
            match = re.search(rf"(?:^|[-_.])({pattern})(?:$|[-_.])", reference.tag)
            if match and arch and foreign != arch:
                start = len(text.partition("@")[0]) - len(reference.tag)
                place = context.inside((key,), start + match.start(1), start + match.end(1))
                node_place = context.cluster.place(("nodes", index))
                labels = [Label(node_place, f"this node is {arch}")] if node_place else []
                message = f"the tag says {match[1]}, and node `{node.name}` is {arch}"
                yield finding("RCC604", message, place, labels=labels, help=f"choose an image for {arch}")
                return


def check_unpinned_revision(context: Context) -> Iterator[Finding]:
    """RCC603: a branch is what it is today."""
    recipe = context.recipe
    if recipe.model and not _locked(context, "model") and not _staged_commit(context):
        yield from _unpinned(context, ("model",), recipe.model, recipe.revision)
    for index, one in enumerate(recipe.models):
        if not _locked(context, one.id):
            yield from _unpinned(context, ("models", index, "model"), one.model, one.revision)


def _locked(context: Context, id: str) -> bool:
    return context.lock is not None and id in context.lock.models


def _staged_commit(context: Context) -> bool:
    """Whether a staging source says the commit."""
    folder = "models--" + (context.recipe.model or "").replace("/", "--") + "/snapshots/"
    commits = (one.src.text.partition(folder)[2][:40] for one in context.recipe.staging)
    return not context.recipe.revision and any(_COMMIT.fullmatch(commit) for commit in commits)


def _unpinned(context: Context, path: Path, model: str, revision: str | None) -> Iterator[Finding]:
    if model.startswith("/") or (revision and _COMMIT.fullmatch(revision)):
        return
    help = "run `rcc lock` to record the commit, or write the commit as `revision`"
    if revision is None:
        message = f"nothing says which commit of `{model}` is served: branch `main` moves"
        yield finding("RCC603", message, context.place(*path), help=help)
    else:
        place = context.place(*path[:-1], "revision")
        yield finding("RCC603", f"`{revision}` is a branch or tag, which moves", place, help=help)


def check_unpinned_mount(context: Context) -> Iterator[Finding]:
    """RCC605: what lies at an absolute path is another node's or another day's."""
    staged = {normal(block.dst.text) for block in context.recipe.staging}
    for index, mount in enumerate(context.recipe.extra_mounts):
        host = mount.host.text
        if mount.sha256 or not host.startswith("/") or host.startswith(_NOT_FILES):
            continue
        if staged and not staged.isdisjoint((normal(host), *above(normal(host)))):
            continue
        place = context.place("extra_mounts", index, "host")
        help = "for a file, write its `sha256`, or put it beside the recipe and name it by its relative path"
        name = posixpath.basename(host)
        if name and context.is_file(posixpath.join(posixpath.dirname(place.source.name), name)):
            help = f'write its `sha256`, or mount the `{name}` that lies beside the recipe: `host = "{name}"`'
        yield finding("RCC605", f"nothing says what `{host}` holds", place, help=help)
