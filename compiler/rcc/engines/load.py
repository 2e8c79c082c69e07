"""An engine from its data file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rcc.engines.flags import engine_data
from rcc.engines.model import Engine, Health, Objection, Process, World, no_objections
from rcc.recipe.model import Recipe


def load(
    name: str,
    process: Callable[[World], Process],
    objections: Callable[[Recipe], Iterator[Objection]] = no_objections,
) -> Engine:
    """The engine that `<name>.toml` beside this module describes."""
    data = engine_data(name)
    values: dict[str, Any] = {key: tuple(one) if isinstance(one, list) else one for key, one in data.items()}
    health = values.pop("health", None)
    command = values.pop("command")
    return Engine(name, command, process, objections, health=Health(**health) if health else None, **values)
