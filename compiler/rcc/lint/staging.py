"""Staging blocks: what packs for an hour and then is not what the engine reads."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rcc.diagnostic import Finding, Label, finding
from rcc.lint.context import Context
from rcc.recipe.destinations import bad_destination, same_destinations
from rcc.recipe.model import StagingBlock
from rcc.recipe.paths import above, normal

_SNAPSHOT = re.compile(r"(?:.*/)?models--(?P<org>[^/]+?)--(?P<name>[^/]+)/snapshots/(?P<commit>[^/]+)/?")
_HOST_PATH = r"(?:\{\{\s*|<<)(?:model|models\.[a-z0-9-]+)\.host_path(?:\s*\}\}|>>)/?"
_HF = r"^(?:\{\{\s*hf\s*\}\}|<<hf>>)"
_COMMIT = re.compile(r"[0-9a-f]{40}")
_ONLY = {"sparse-rows": ("format", "tensors", "manifest", "tiling"), "snapshot": ("serve", "include", "exclude")}


def check(context: Context) -> Iterator[Finding]:
    """All checks of this family."""
    mounted = _mounted(context)
    for index, block in enumerate(context.recipe.staging):
        yield from check_destination(context, index, block)
        yield from check_staged_not_mounted(context, index, block, mounted)
        yield from check_source(context, index, block)
        yield from check_key_of_other_kind(context, index, block)
    yield from same_destinations(context.file, [normal(block.dst.text) for block in context.recipe.staging])
    yield from check_rows_without_tensor_parallel(context)
    if context.lock is not None:
        from rcc.lint.staged_rows import check as check_locked

        yield from check_locked(context)


def check_destination(context: Context, index: int, block: StagingBlock) -> Iterator[Finding]:
    """RCC711 and RCC803: a folder that is the system's, or that is read or shared."""
    cluster = context.cluster.cluster if context.cluster else None
    cache = normal(cluster.hf_cache) if cluster and cluster.hf_cache else "{{hf}}"
    source, destination = (re.sub(_HF, lambda _: cache, normal(raw.text)) for raw in (block.src, block.dst))
    yield from bad_destination(context.file, index, source, destination, cache)


def _mounted(context: Context) -> tuple[set[str], set[str]]:
    """What is mounted, and the folders around it."""
    hosts = {normal(mount.host.text) for mount in context.recipe.extra_mounts}
    return hosts, {folder for host in hosts for folder in above(host)}


def check_staged_not_mounted(
    context: Context, index: int, block: StagingBlock, mounted: tuple[set[str], set[str]]
) -> Iterator[Finding]:
    """RCC804: the container cannot see what is mounted nowhere."""
    hosts, around = mounted
    own = normal(block.dst.text)
    by_name = {f"{{{{ staging.{block.id}.dst }}}}", f"{{{{staging.{block.id}.dst}}}}", f"<<staging.{block.id}.dst>>"}
    if block.serve or own in around or not hosts.isdisjoint((own, *above(own), *by_name)):
        return
    message = f"what `{block.id}` stages is mounted nowhere, so the engine cannot read it"
    help = f'add `[[extra_mounts]]` with `host = "{block.dst.text}"`'
    if block.kind == "snapshot":
        help += ", or `serve = true` if it is the model that the engine loads"
    yield finding("RCC804", message, context.place("staging", index, "dst"), help=help)


def check_source(context: Context, index: int, block: StagingBlock) -> Iterator[Finding]:
    """RCC805 and RCC806: which model's which commit."""
    path = ("staging", index, "src")
    text = block.src.text
    match = _SNAPSHOT.fullmatch(text)
    if match is None:
        if not re.fullmatch(_HOST_PATH, text):
            message = f"nothing says which commit `{block.id}` is staged from"
            help = "name a snapshot by its commit: `{{hf}}/hub/models--<org>--<name>/snapshots/<commit>`"
            yield finding("RCC805", message, context.place(*path), help=help)
        return
    repo, commit = f"{match['org']}/{match['name']}", match["commit"]
    if not _COMMIT.fullmatch(commit) and "model.commit" not in commit:
        message = f"`{commit}` is no commit, so `{block.id}` may be staged from another one tomorrow"
        place = context.inside(path, match.start("commit"), match.end("commit"))
        yield finding("RCC805", message, place, help="name the snapshot by the 40 digits of its commit")
    yield from _other_model(context, block, path, repo, commit, match.start("org"), match.end("name"))


def _other_model(
    context: Context, block: StagingBlock, path: tuple[str, int, str], repo: str, commit: str, start: int, end: int
) -> Iterator[Finding]:
    recipe = context.recipe
    known = {one.model: one.revision for one in recipe.models}
    if recipe.model:
        known[recipe.model] = recipe.revision
    if recipe.model and not recipe.model.startswith("/") and repo not in known:
        label = Label(context.place("model"), "the model that is served")
        message = f"`{block.id}` is staged from `{repo}`, which the recipe does not serve"
        yield finding(
            "RCC806", message, context.inside(path, start, end), labels=[label], help="correct one of the two"
        )
        return
    revision = known.get(repo)
    if revision and _COMMIT.fullmatch(revision) and _COMMIT.fullmatch(commit) and revision != commit:
        label = Label(context.place("revision"), "the commit that is served")
        message = f"`{block.id}` is staged from another commit than the one that is served"
        place = context.inside(path, end + len("/snapshots/"), end + len("/snapshots/") + len(commit))
        labels = [label] if repo == recipe.model else []
        yield finding("RCC806", message, place, labels=labels, help="name one commit in both places")


def check_key_of_other_kind(context: Context, index: int, block: StagingBlock) -> Iterator[Finding]:
    """RCC808: a key that only the other kind reads."""
    for kind, keys in _ONLY.items():
        for key in keys if kind != block.kind else ():
            if context.file.has("staging", index, key):
                message = f"`{key}` has no effect for `{block.kind}`"
                place = context.file.place(("staging", index, key), "key")
                yield finding("RCC808", message, place, help=f"remove it: only `{kind}` reads it")


def check_rows_without_tensor_parallel(context: Context) -> Iterator[Finding]:
    """RCC807: the resolver's own finding, where a look at the sizes shows that there may be one."""
    if context.recipe.pipeline_parallel_size > 1 or context.recipe.data_parallel_size > 1:
        from rcc.resolve.keys import check_rows

        yield from check_rows(context.file)
