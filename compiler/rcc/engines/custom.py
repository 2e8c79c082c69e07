"""Anything else: the recipe says the whole command, and nothing is appended."""

from __future__ import annotations

from rcc.engines.model import Engine, Process, World


def process(world: World) -> Process:
    """The recipe's words as they stand."""
    return Process(world.entrypoint, world.args)


engine = Engine("custom", command=(), process=process, uses_gpus=False)
