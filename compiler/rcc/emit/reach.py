"""Which artifacts a value reaches: those that come out differently when it does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from rcc.emit.bundle import emit_all
from rcc.emit.registry import Chosen
from rcc.plan.model import Container, Plan, Rank

_COMMAND = ("command",)
_CONTAINER: Mapping[str, tuple[str, ...]] = {
    "args": _COMMAND,
    "data_parallel_size": _COMMAND,
    "distributed_backend": _COMMAND,
    "engine": ("entrypoint", "command"),
    "extra_mounts": ("mounts",),
    "id": ("name",),
    "docker_image": ("image",),
    "listen": _COMMAND,
    "model": _COMMAND,
    "models": ("mounts",),
    "pipeline_parallel_size": _COMMAND,
    "port": ("command", "healthcheck"),
    "rendezvous_port": _COMMAND,
    "revision": _COMMAND,
    "tensor_parallel_size": _COMMAND,
}
"""The container's fields that a key of another name decides."""
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
    if key in _GROUP:
        other = replace(other, group=replace(plan.group, health=_changed(plan.group.health)))
    before, after = _files(plan, targets), _files(other, targets)
    paths = before.keys() | after.keys()
    return tuple(sorted(path for path in paths if before.get(path) != after.get(path)))


def _files(plan: Plan, targets: tuple[Chosen, ...]) -> dict[str, bytes]:
    artifacts, _ = emit_all(plan, targets)
    return {one.path: one.data for made in (artifacts or {}).values() for one in made}


def _changed_rank(rank: Rank, key: str) -> Rank:
    container = _changed_container(rank.container, key)
    return replace(rank, container=container, **_changed_fields(rank, _RANK.get(key, ())))


def _changed_container(container: Container, key: str) -> Container:
    table, _, name = key.partition(".")
    if table == "env":
        late = {one: value for one, value in container.late_env.items() if one != name}
        return replace(container, env={**container.env, name: container.env.get(name, "") + "x"}, late_env=late)
    own = (key,) if key in Container.__slots__ else ()
    return replace(container, **_changed_fields(container, _CONTAINER.get(key, own)))


def _changed_fields(value: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: _changed(getattr(value, name)) for name in names}


def _changed(value: Any) -> Any:
    """Another value of the same kind; what is not there stays away."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, tuple):
        return tuple(_changed(one) for one in value)
    if isinstance(value, Mapping):
        return {key: _changed(one) for key, one in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **_changed_fields(value, (one.name for one in fields(value))))
    return value
