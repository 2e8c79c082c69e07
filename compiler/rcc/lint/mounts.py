"""Mounts: what docker takes without a word and what then is not there, or is there for everyone to write."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rcc.diagnostic import Finding, Label, finding
from rcc.lint.context import Context, is_plain
from rcc.recipe.model import ExtraMount
from rcc.recipe.paths import above, lies_in, normal, not_absolute
from rcc.recipe.targets import reserved_target, same_targets

# Patterns are compiled where a look at the text shows that they may match.
_SNAPSHOT = r"(?:/(?:[0-9a-f]{40}|\{\{.*\}\}|<<.*>>))?/?"
_MODEL_CACHE = r"(?:\{\{\s*hf\s*\}\}|<<hf>>)(?:/hub)?/?|.*/(?:huggingface|hub)(?:/hub)?/?|.*/models--[^/]+.*"
_SOCKETS = ("docker.sock", "podman.sock", "containerd.sock")
_HOLD_SOCKETS = frozenset(
    ("/", "/var", *(f"{run}{part}" for run in ("/run", "/var/run") for part in ("", "/containerd", "/podman")))
)


def check(context: Context) -> Iterator[Finding]:
    """All checks of this family."""
    for index, mount in enumerate(context.recipe.extra_mounts):
        yield from check_container_path(context, index, mount)
        yield from check_home_path(context, index, mount)
        yield from check_docker_socket(context, index, mount)
        yield from check_snapshot_alone(context, index, mount)
        yield from check_writable_model_cache(context, index, mount)
    yield from check_part_of_staging(context)
    yield from check_targets(context)


def check_container_path(context: Context, index: int, mount: ExtraMount) -> Iterator[Finding]:
    """RCC702 and RCC709: where things are mounted."""
    target = mount.container.text
    if is_plain(target) and (problem := not_absolute(target)):
        wanted, help = problem
        place = context.place("extra_mounts", index, "container")
        yield finding("RCC702", f"`extra_mounts` needs {wanted}", place, help=help)
    else:
        yield from reserved_target(context.file, index, target)


def check_home_path(context: Context, index: int, mount: ExtraMount) -> Iterator[Finding]:
    """RCC710: a shell expands `~`, and none reads this."""
    if mount.host.text.startswith("~"):
        place = context.inside(("extra_mounts", index, "host"), 0, 1)
        help = "write the whole path, or `{{ vars.home }}` and `home` under `[vars]` of the cluster file"
        yield finding("RCC710", "nothing expands `~` here", place, help=help)


def check_docker_socket(context: Context, index: int, mount: ExtraMount) -> Iterator[Finding]:
    """RCC708: with the socket a container is root on the node."""
    host = normal(mount.host.text)
    if host.endswith(_SOCKETS) or host in _HOLD_SOCKETS:
        place = context.place("extra_mounts", index, "host")
        message = "whoever has this socket is root on the node"
        if host in _HOLD_SOCKETS:
            message = f"`{host}` holds the daemon's socket, and whoever has that is root on the node"
        yield finding("RCC708", message, place, help="remove the mount: serving a model needs no daemon")


def check_snapshot_alone(context: Context, index: int, mount: ExtraMount) -> Iterator[Finding]:
    """RCC707: a snapshot's files are links to `../../blobs`."""
    _, folder, snapshot = mount.host.text.rpartition("/snapshots")
    if folder and re.fullmatch(_SNAPSHOT, snapshot):
        place = context.place("extra_mounts", index, "host")
        message = "a snapshot's files are links to blobs outside it, which lead nowhere in the container"
        help = "remove it: rcc mounts the cache's `hub/` whole, and `{{ model.path }}` is the snapshot in it"
        yield finding("RCC707", message, place, help=help)


def check_writable_model_cache(context: Context, index: int, mount: ExtraMount) -> Iterator[Finding]:
    """RCC706: several ranks that write into one cache break it."""
    host = mount.host.text
    if mount.read_only or not (re.fullmatch(_MODEL_CACHE, host) or _is_cache(context, host)):
        return
    message = "the model cache is mounted writable"
    help = "add `read_only = true`; what an engine writes belongs into the node's `cache_dir`"
    yield finding("RCC706", message, context.place("extra_mounts", index, "host"), help=help)


def _is_cache(context: Context, host: str) -> bool:
    cache = context.cluster.cluster.hf_cache if context.cluster else None
    return cache is not None and lies_in(host, cache)


def check_part_of_staging(context: Context) -> Iterator[Finding]:
    """RCC705: the manifest and the stamp lie at the top of what is staged."""
    staged = {normal(block.dst.text): (number, block.id) for number, block in enumerate(context.recipe.staging)}
    for index, mount in enumerate(context.recipe.extra_mounts) if staged else ():
        folder = next((one for one in above(normal(mount.host.text)) if one in staged), None)
        if folder is not None:
            number, id = staged[folder]
            place = context.place("extra_mounts", index, "host")
            label = Label(context.place("staging", number, "dst"), "staged here")
            help = "mount the whole of `dst`: its manifest lies at the top"
            yield finding("RCC705", f"this is only a part of what `{id}` stages", place, labels=[label], help=help)


def check_targets(context: Context) -> Iterator[Finding]:
    """RCC703 and RCC704: two mounts at one place, or one inside the other."""
    targets = [normal(mount.container.text) for mount in context.recipe.extra_mounts]
    yield from same_targets(context.file, targets)
    first = {target: index for index, target in reversed(list(enumerate(targets)))}
    for target, index in first.items():
        outer = next((one for one in above(target) if one in first), None)
        if outer is not None:
            yield _nested(context, index, first[outer], outer)


def _nested(context: Context, index: int, outer_index: int, outer: str) -> Finding:
    message = f"this mount lies inside the one at `{outer}` and hides what that has there"
    help = "mount it elsewhere"
    if context.recipe.extra_mounts[outer_index].read_only:
        help += "; docker cannot make its mount point in a read-only mount"
    label = Label(context.place("extra_mounts", outer_index, "container"), "this one is around it")
    return finding("RCC704", message, context.place("extra_mounts", index, "container"), labels=[label], help=help)
