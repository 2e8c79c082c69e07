"""The page of the engines: what each rank runs, made by the engines themselves for a small group."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rcc.engines.model import Engine, World
from rcc.engines.registry import BUILT_IN, find_engine

PATH = "docs/reference/engines.md"
HEAD = """\
# Engines

What rcc starts for each `engine` where the recipe has no entrypoint, with two nodes of one GPU where the engine spans
nodes. `ARGS` are the recipe's `args`, which stand before what rcc appends; `MODEL` is the model's path inside.
An entrypoint replaces the engine's own command and gets the rest as `"$@"`, the model among it. Further engines come
with distributions that have an entry point in the group `rcc.engines`.

<!-- Made by `make docs` from the engines; do not edit. -->
"""
NOTES = {
    "custom": """\
The recipe says the whole command: its entrypoint, else the image's own, and `args`. Nothing is appended.
""",
    "llama-cpp": """\
`llama-server` loads one file: a `model` that is a path, or what `--model` or `-m` in `args` names, such as
`"{{ model.path }}/….gguf"`. `args` are the head's alone; a worker reads nothing of the model, though its path must be
there. The head waits until every worker listens, where its image has bash; without, it ends where one does not. Whoever
reaches a worker's port may use it, so it listens on the fabric alone.

Where an image has the programs outside of `PATH`, or calls the worker's `ggml-rpc-server` as newer ones do, an
entrypoint names them. It gets the flags of its rank, and `NODE_RANK` tells it which: see
`recipes/gpt-oss-120b-llama-cpp`.
""",
    "trtllm": """\
On one node: over several, `mpirun` needs a remote shell into the other ranks' containers, which rcc does not give.
""",
    "vllm": """\
Over Ray the head serves for all. vLLM gives its workers the head's environment, but for the variables that differ
between ranks, which rcc names in a file for it. A worker waits for the head, and ends a minute after the head did. An
entrypoint is refused there.
""",
}


def pages() -> dict[str, str]:
    """The page by its path from the repository's root."""
    engines = [find_engine(name) for name in sorted(BUILT_IN)]
    return {PATH: "\n".join([HEAD, *(line for one in engines for line in _section(one))]).rstrip() + "\n"}


def _section(engine: Engine) -> Iterator[str]:
    yield f"## {engine.name}\n"
    if engine.health:
        meeting = f", ranks meet on port {engine.rendezvous_port}" if engine.rendezvous_port else ""
        yield f"Port {engine.port}{meeting}, health is asked at `{engine.health.path}`.\n"
    if engine.name in NOTES:
        yield NOTES[engine.name]
    if not engine.command:
        return
    for backend in engine.backends or ("mp",):
        if len(engine.backends) > 1:
            yield f'With `distributed_backend = "{backend}"`:\n'
        yield "```"
        ranks = 2 if engine.backends else 1
        yield from (f"rank {rank}: {_shown(engine, backend, rank, ranks)}" for rank in range(ranks))
        yield "```\n"


def _shown(engine: Engine, backend: str, rank: int, ranks: int) -> str:
    world = World(
        rank=rank,
        addresses=("HEAD", "WORKER")[:ranks],
        model="MODEL",
        listen="0.0.0.0",  # noqa: S104 - the recipe's default, shown
        port=engine.port,
        rendezvous_port=engine.rendezvous_port,
        tensor=ranks,
        pipeline=1,
        data=1,
        backend=backend,
        entrypoint=engine.command,
        wrapped=False,
        args=("ARGS",),
        differing=("NCCL_IB_GID_INDEX", "NODE_RANK"),
    )
    process = engine.process(world)
    return shlex.join((*process.entrypoint, *process.command))
