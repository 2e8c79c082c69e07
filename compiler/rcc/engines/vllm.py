"""vLLM: `vllm serve MODEL`. Ranks meet at `--master-addr`, or Ray joins the nodes and the head serves for all."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from rcc.engines.flags import flag_table
from rcc.engines.load import load
from rcc.engines.model import Objection, Process, World
from rcc.recipe.model import Recipe

# vLLM gives every worker the head's whole environment, but for the names in this file of its configuration.
_HEAD = (
    'mkdir -p "$VLLM_CONFIG_ROOT" && printf %s "$3" >"$VLLM_CONFIG_ROOT/ray_non_carry_over_env_vars.json" && '
    'ray start --head --port="$1" --node-ip-address="$2" --include-dashboard=false --disable-usage-stats && '
    'shift 3 && exec "$@"'
)


_AN_API_ON_EACH = (
    "--data-parallel-external-lb",
    "--data-parallel-hybrid-lb",
    "--data-parallel-multi-port-external-lb",
    "--grpc",
)


def process(world: World) -> Process:
    """A server on the head; on other ranks workers without an API."""
    if world.nnodes == 1:
        return _server(world, [])
    if world.backend == "ray":
        return _ray_worker(world) if world.rank else _ray_head(world)
    meeting = ["--nnodes", str(world.nnodes), "--node-rank", str(world.rank)]
    meeting += ["--master-addr", str(world.addresses[0]), "--master-port", str(world.rendezvous_port)]
    return _server(world, meeting)


def objections(recipe: Recipe) -> Iterator[Objection]:
    """Several APIs, and what Ray rules out: its workers are started by `ray start`, replicas would go to the head."""
    if recipe.required_nodes == 1:
        return
    for flag in _AN_API_ON_EACH:
        index = _index([raw.text for raw in recipe.args], flag)
        if index is not None:
            message = f"`{flag}` wants an API on each node, and the head alone has one here"
            yield Objection(("args", index), message, "remove it, or serve each node by a recipe of one node")
    if recipe.distributed_backend != "ray":
        yield from _replicas_by_ray(recipe)
        return
    if recipe.entrypoint:
        message = "with `ray` the ranks begin with `ray start`, which an entrypoint would replace"
        help = 'remove it, or write `distributed_backend = "mp"`'
        yield Objection(("entrypoint",), message, help)
    if recipe.data_parallel_size > 1:
        message = "with `ray` data parallelism does not span nodes here"
        yield Objection(("data_parallel_size",), message, 'write `distributed_backend = "mp"`, which does')


def _replicas_by_ray(recipe: Recipe) -> Iterator[Objection]:
    """vLLM refuses `--nnodes` over 1 with them."""
    table = flag_table("vllm")
    read = table.parse([raw.text for raw in recipe.args]) if table else ()
    chosen = [one for one in read if one.flag and one.flag.name == "--data-parallel-backend"]
    if chosen and any(value.text == "ray" for value in chosen[-1].values):
        message = "vLLM starts replicas by Ray from one node alone, and the ranks are started on each here"
        yield Objection(("args", chosen[-1].index), message, f"remove `{chosen[-1].spelled}`")


def _server(world: World, spanning: list[str]) -> Process:
    """The model stands where `vllm serve` wants it; a wrapper gets it as a flag, which is found among all others."""
    own = () if world.wrapped else (str(world.model),)
    words = ["--model", str(world.model)] if world.wrapped else []
    words += ["--tensor-parallel-size", str(world.tensor)]
    if world.pipeline > 1:
        words += ["--pipeline-parallel-size", str(world.pipeline)]
    if world.data > 1:
        words += ["--data-parallel-size", str(world.data)]
    words += spanning
    words += _without_api(world.args) if world.rank else ["--host", world.listen, "--port", str(world.port)]
    return Process((*world.entrypoint, *own), (*world.args, *words))


def _without_api(args: tuple[str, ...]) -> list[str]:
    """How many processes serve the API is the head's: a worker that is told of one refuses to start."""
    return ["--headless", *([] if _index(args, "--api-server-count") is None else ["--api-server-count", "0"])]


def _index(args: Sequence[str], flag: str) -> int | None:
    table = flag_table("vllm")
    return table.index(args, flag) if table else None


def _ray_head(world: World) -> Process:
    """Ray in the background, then the server, which waits until the others have joined."""
    server = _server(world, ["--distributed-executor-backend", "ray"])
    before = ("sh", "-c", _HEAD, "ray", str(world.rendezvous_port), str(world.addresses[0]))
    return Process((*before, json.dumps(world.differing), *server.entrypoint), server.command)


def _ray_worker(world: World) -> Process:
    """It waits for the head, and ends a minute after the head did: so long Ray looks for it."""
    address = ["--address", world.rendezvous, "--node-ip-address", str(world.addresses[world.rank])]
    return Process(("ray", "start", "--block"), (*address, "--disable-usage-stats"))


engine = load("vllm", process, objections)
