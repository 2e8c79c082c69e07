"""An engine's data file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import tomli

from rcc.engines.model import Engine, Health, World


def load(name: str, arguments: Callable[[World], tuple[str, ...]]) -> Engine:
    """The engine that `<name>.toml` beside this module describes."""
    values = tomli.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))
    health = values.pop("health", None)
    command = tuple(values.pop("command"))
    backends = tuple(values.pop("backends", ("mp",)))
    return Engine(name, command, arguments, health=Health(**health) if health else None, backends=backends, **values)
