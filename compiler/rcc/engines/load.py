"""An engine from its data file."""

from __future__ import annotations

from collections.abc import Callable

from rcc.engines.flags import engine_data
from rcc.engines.model import Engine, Health, World


def load(name: str, arguments: Callable[[World], tuple[str, ...]]) -> Engine:
    """The engine that `<name>.toml` beside this module describes."""
    values = dict(engine_data(name))
    health = values.pop("health", None)
    command = tuple(values.pop("command"))
    backends = tuple(values.pop("backends", ("mp",)))
    return Engine(name, command, arguments, health=Health(**health) if health else None, backends=backends, **values)
