"""TensorRT-LLM: `trtllm-serve MODEL`, on one node."""

from __future__ import annotations

from rcc.engines.load import load
from rcc.engines.model import Process, World


def process(world: World) -> Process:
    """The model stands before all flags; a wrapper gets it behind the recipe's own."""
    own = () if world.wrapped else (str(world.model),)
    words = [str(world.model)] if world.wrapped else []
    words += ["--tp_size", str(world.tensor)]
    if world.pipeline > 1:
        words += ["--pp_size", str(world.pipeline)]
    words += ["--host", world.listen, "--port", str(world.port)]
    return Process((*world.entrypoint, *own), (*world.args, *words))


engine = load("trtllm", process)
