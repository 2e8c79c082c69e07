"""Anything else: the recipe says the whole command, and nothing is appended."""

from __future__ import annotations

from rcc.engines.model import Engine, World


def arguments(world: World) -> tuple[str, ...]:
    """Nothing."""
    return ()


engine = Engine("custom", command=(), arguments=arguments, uses_gpus=False)
