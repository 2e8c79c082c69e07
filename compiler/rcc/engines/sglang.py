"""SGLang: `python3 -m sglang.launch_server`, ranks meet at `--dist-init-addr`."""

from __future__ import annotations

from rcc.engines.load import load
from rcc.engines.model import Process, World


def process(world: World) -> Process:
    """The same command on every rank, with the flags that the plan decides."""
    return Process(world.entrypoint, (*world.args, *_flags(world)))


def _flags(world: World) -> list[str]:
    """In the order that people know from SGLang's multi-node page."""
    words = ["--model-path", str(world.model), "--tp", str(world.tensor)]
    if world.pipeline > 1:
        words += ["--pp-size", str(world.pipeline)]
    if world.data > 1:
        words += ["--dp-size", str(world.data)]
    if world.nnodes > 1:
        words += ["--nnodes", str(world.nnodes), "--node-rank", str(world.rank)]
        words += ["--dist-init-addr", world.rendezvous]
    return [*words, "--host", world.listen, "--port", str(world.port)]


engine = load("sglang", process)
