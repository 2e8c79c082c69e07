"""Where every value of a resolved recipe comes from, and what it overrode."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from rcc.cluster.model import ClusterFile
from rcc.lock.asked import revision_block
from rcc.quick import dataclass
from rcc.recipe.keys import RECIPE
from rcc.recipe.model import RecipeFile
from rcc.resolve.environment import profile_origin
from rcc.resolve.model import Options, Origin, Resolved


@dataclass(frozen=True, slots=True)
class Trace:
    """A value, by the key that people know it by, on the ranks that have it, with what lies below it, nearest first.

    It has the type that the key has; of tables in an array it is what tells them apart.
    """

    key: str
    value: Any
    ranks: tuple[int, ...]
    origin: Origin
    overrode: tuple[tuple[str, Origin], ...] = ()


def traces(file: RecipeFile, cluster: ClusterFile, options: Options, resolved: Resolved) -> tuple[Trace, ...]:
    """Every key of the recipe that has a value, written or by default; then every variable of the environment."""
    return (*_keys(file, cluster, options, resolved), *_environment(resolved))


def _keys(file: RecipeFile, cluster: ClusterFile, options: Options, resolved: Resolved) -> Iterator[Trace]:
    ranks = tuple(range(len(resolved.ranks)))
    for key in RECIPE:
        value = None if key in ("env", "extends", "unset", "measured") else _decided(key, resolved)
        if value is None:
            continue
        if getattr(options, key, None) is not None:
            origin = Origin(f"the option `--{key}`")
        elif not file.has(key):
            origin = _unwritten(key, file, cluster, resolved)
        elif key in _ADDED_UP and getattr(resolved.hardware, key):
            origin = Origin(f"{profile_origin(cluster, key).what}, and the recipe", partial(file.place, (key,), "key"))
        else:
            origin = Origin("the recipe", partial(file.place, (key,), "key"))
        yield Trace(key, value, ranks, origin)


_ADDED_UP = ("cap_add", "devices", "ulimits")
_OF_ENGINE = ("entrypoint", "healthcheck", "port", "rendezvous_port")


def _unwritten(key: str, file: RecipeFile, cluster: ClusterFile, resolved: Resolved) -> Origin:
    """Where the value of a key comes from that the recipe does not have."""
    if key == "id":
        return Origin("the recipe's file name")
    if key == "topology":
        return _topology(cluster, str(resolved.topology))
    if key == "revision" and (block := revision_block(file)) is not None:
        return Origin("the staging block's `src`", partial(file.place, ("staging", block, "src"), "key"))
    if key == "ipc" and file.has("shm_size"):
        return Origin("`shm_size` of the recipe", partial(file.place, ("shm_size",), "key"))
    if key == "ipc" or key in _ADDED_UP:
        return profile_origin(cluster, key)
    return Origin(f"engine `{resolved.engine.name}`" if key in _OF_ENGINE else "rcc's default")


def _topology(cluster: ClusterFile, name: str) -> Origin:
    if cluster.cluster.topology is None:
        return Origin("the only profile of the cluster file", partial(cluster.place, ("nccl", name), "key"))
    return Origin("the cluster file", partial(cluster.place, ("topology",), "key"))


def _decided(key: str, resolved: Resolved) -> Any:
    """The value that the plan has for a key; None where it has none."""
    rank = resolved.ranks[0]
    main = resolved.main_model
    special: dict[str, object] = {
        "id": resolved.id,
        "name": resolved.name,
        "docker_image": resolved.image.reference,
        "staging_image": resolved.staging_image.reference if resolved.staging_image else None,
        "revision": main.revision if main and not main.is_path else None,
        "topology": resolved.topology,
        "port": resolved.port,
        "rendezvous_port": resolved.rendezvous_port if len(resolved.ranks) > 1 else None,
        "ipc": resolved.ipc,
        "devices": resolved.devices,
        "cap_add": resolved.cap_add,
        "ulimits": resolved.ulimits,
        "stop_grace": resolved.stop_grace,
        "healthcheck": resolved.health,
        "entrypoint": rank.entrypoint or resolved.engine.command,
        "args": rank.args,
        "models": tuple(one.id for one in resolved.models if one is not main),
        "extra_mounts": tuple(one.target for one in rank.mounts),
        "staging": tuple(f"{one.id} → {one.dst}" for one in rank.staging),
        "assert": tuple(path for path, _ in rank.asserts),
    }
    value = special[key] if key in special else getattr(resolved.recipe, key)
    return None if value in (None, "", (), {}) else value


def _environment(resolved: Resolved) -> Iterator[Trace]:
    """Variables by name; ranks that agree on value and origin are one trace."""
    names = sorted({one.name for rank in resolved.ranks for one in rank.env})
    for name in names:
        found: dict[tuple[str, Origin], list[int]] = {}
        below = {}
        for rank in resolved.ranks:
            for one in rank.env:
                if one.name == name:
                    shown = f"{{{{ {one.late} }}}}" if one.late else one.value
                    found.setdefault((shown, one.origin), []).append(rank.rank)
                    below[shown, one.origin] = tuple(reversed(one.overrode))
        for (value, origin), ranks in found.items():
            yield Trace(f"env.{name}", value, tuple(ranks), origin, below[value, origin])
