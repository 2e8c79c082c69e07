"""Which artifacts a value reaches: those that come out differently when it does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from rcc.emit.bundle import emit_all
from rcc.emit.registry import Chosen
from rcc.plan.model import Container, FileRef, Mount, Plan, Rank
from rcc.quick import replace

_COMMAND = ("command",)
_CONTAINER: Mapping[str, tuple[str, ...]] = {
    "args": _COMMAND,
    "data_parallel_size": _COMMAND,
    "distributed_backend": _COMMAND,
    "engine": ("entrypoint", "command"),
    "id": ("name",),
    "docker_image": ("image",),
    "listen": _COMMAND,
    "model": _COMMAND,
    "name": (),
    "pipeline_parallel_size": _COMMAND,
    "port": ("command", "healthcheck"),
    "rendezvous_port": _COMMAND,
    "revision": _COMMAND,
    "tensor_parallel_size": _COMMAND,
}
"""The container's fields that a key decides, where that is not the field of its name."""
_MOUNTS: Mapping[str, tuple[str, ...]] = {
    "extra_mounts": ("bind", "file", "staged"),
    "model": ("hub", "model"),
    "models": ("hub", "model"),
}
"""The kinds of mounts that a key decides."""
_PLAN: Mapping[str, tuple[str, ...]] = {
    "docker_image": ("image",),
    "id": ("id",),
    "model": ("models",),
    "models": ("models",),
    "name": ("name",),
    "revision": ("models",),
    "staging_image": ("staging_image",),
}
_GROUP = ("healthcheck", "listen", "port")
"""Keys that decide where and how the group's health is asked."""
_RANK: Mapping[str, tuple[str, ...]] = {
    "assert": ("asserts",),
    "port": ("ports",),
    "rendezvous_port": ("ports",),
    "staging": ("staging",),
}


def reached(plan: Plan, key: str, ranks: Iterable[int], targets: Iterable[Chosen]) -> tuple[str, ...]:
    """Paths of the artifacts that a key's value, on these ranks, has a part in; found by changing it."""
    targets = tuple(targets)
    other = replace(plan, ranks=tuple(_changed_rank(one, key) if one.rank in ranks else one for one in plan.ranks))
    other = replace(other, **_changed_fields(other, _PLAN.get(key, ())))
    if key in _GROUP:
        other = replace(other, group=replace(plan.group, health=_changed(plan.group.health)))
    if key == "extra_mounts":
        other = replace(other, files=tuple(replace(one, data=one.data + b"\n") for one in plan.files))
    before, after = _files(plan, targets), _files(other, targets)
    return tuple(sorted(path for path in before if before[path] != after.get(path)))


def _files(plan: Plan, targets: tuple[Chosen, ...]) -> dict[str, bytes]:
    """What each target gives by itself: one that refuses a value hides nothing of the others."""
    emitted = (emit_all(plan, (target,))[0] or {} for target in targets)
    return {one.path: one.data for artifacts in emitted for made in artifacts.values() for one in made}


def _changed_rank(rank: Rank, key: str) -> Rank:
    container = _changed_container(rank.container, key)
    return replace(rank, container=container, **_changed_fields(rank, _RANK.get(key, ())))


def _changed_container(container: Container, key: str) -> Container:
    table, _, name = key.partition(".")
    if table == "env":
        late = {one: value for one, value in container.late_env.items() if one != name}
        return replace(container, env={**container.env, name: container.env.get(name, "") + "1"}, late_env=late)
    own = (key,) if key in Container.__slots__ else ()
    kinds = _MOUNTS.get(key, ())
    mounts = tuple(_changed_mount(one) if one.kind in kinds else one for one in container.mounts)
    return replace(container, mounts=mounts, **_changed_fields(container, _CONTAINER.get(key, own)))


def _changed_mount(mount: Mount) -> Mount:
    return replace(mount, target=_changed(mount.target), sha256=_changed(mount.sha256))


def _changed_fields(value: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: _changed(getattr(value, name)) for name in names}


def _changed(value: Any) -> Any:
    """Another value of the same kind; what is not there stays away."""
    if isinstance(value, bool | FileRef) or value is None:
        return value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return value + "1"
    if isinstance(value, tuple):
        return tuple(_changed(one) for one in value)
    if isinstance(value, Mapping):
        return {key: _changed(one) for key, one in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **_changed_fields(value, (one.name for one in fields(value))))
    return value
