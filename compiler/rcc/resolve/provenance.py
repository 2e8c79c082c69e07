"""Where every value of a resolved recipe comes from, and what it overrode."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from rcc.quick import dataclass
from rcc.recipe.keys import RECIPE
from rcc.recipe.model import RecipeFile
from rcc.resolve.model import Origin, Resolved


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


def traces(file: RecipeFile, resolved: Resolved) -> tuple[Trace, ...]:
    """Every key of the recipe that has a value, written or by default; then every variable of the environment."""
    return (*_keys(file, resolved), *_environment(resolved))


def _keys(file: RecipeFile, resolved: Resolved) -> Iterator[Trace]:
    ranks = tuple(range(len(resolved.ranks)))
    for key in RECIPE:
        if key in ("env", "extends", "unset", "measured"):
            continue
        value = _decided(key, resolved)
        if value is None:
            continue
        if file.has(key):
            written = Origin("the recipe", partial(file.place, (key,), "key"))
            yield Trace(key, value, ranks, written)
        else:
            yield Trace(key, value, ranks, Origin(_DEFAULTS.get(key, "rcc's default").format(resolved.engine.name)))


_DEFAULTS = {
    "id": "the recipe's file name",
    "port": "engine `{}`",
    "rendezvous_port": "engine `{}`",
    "healthcheck": "engine `{}`",
    "entrypoint": "engine `{}`",
    "revision": "the staging block's `src`, else `main`",
    "topology": "the cluster file",
    "ipc": "`shm_size`, else the hardware profile",
}


def _decided(key: str, resolved: Resolved) -> Any:
    """The value that the plan has for a key; None where it has none."""
    rank = resolved.ranks[0]
    main = next((one for one in resolved.models if one.id == "model"), None)
    special: dict[str, object] = {
        "id": resolved.id,
        "name": resolved.name,
        "docker_image": resolved.image.reference,
        "staging_image": resolved.staging_image.reference if resolved.staging_image else None,
        "revision": main.revision if main and not main.is_path else None,
        "topology": resolved.topology,
        "port": resolved.port,
        "rendezvous_port": resolved.rendezvous_port if len(resolved.ranks) > 1 else None,
        "ipc": resolved.recipe.ipc or ("private" if resolved.recipe.shm_size is not None else resolved.hardware.ipc),
        "healthcheck": resolved.health,
        "entrypoint": rank.entrypoint or resolved.engine.command,
        "args": rank.args,
        "models": tuple(one.id for one in resolved.models if one.id != "model"),
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
