"""What a recipe and its nodes must agree on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rcc.cluster.model import ClusterFile, Hardware, Node
from rcc.diagnostic import Finding, finding
from rcc.engines.flags import FlagTable, flag_table
from rcc.engines.model import Engine
from rcc.recipe.model import RecipeFile
from rcc.source import Place


def check_world(
    file: RecipeFile, cluster: ClusterFile, nodes: Sequence[Node], hardware: Hardware, engine: Engine
) -> list[Finding]:
    """Sizes, addresses and ports of the group."""
    return [*_sizes(file, nodes, hardware, engine), *_addresses(cluster, nodes, engine), *_ports(file, engine)]


def _sizes(file: RecipeFile, nodes: Sequence[Node], hardware: Hardware, engine: Engine) -> Iterable[Finding]:
    """tp × pp × dp must equal nodes × GPUs; on one node it may be less."""
    recipe = file.recipe
    counts = [hardware.gpus if node.gpus is None else node.gpus for node in nodes]
    if not engine.uses_gpus or not sum(counts):
        return
    data = 1 if engine.inner_data_flag and _sets(file, engine.inner_data_flag) else recipe.data_parallel_size
    wanted = recipe.tensor_parallel_size * recipe.pipeline_parallel_size * data
    if wanted == sum(counts) or (len(nodes) == 1 and wanted < sum(counts)):
        return
    sizes = f"tensor {recipe.tensor_parallel_size} × pipeline {recipe.pipeline_parallel_size} × data {data} is {wanted}"
    message = f"{sizes}, and the recipe's {len(nodes)} node(s) have {sum(counts)} GPU(s)"
    help = "change the parallel sizes or `required_nodes`, or the `gpus` of the nodes"
    yield finding("RCC903", message, file.place(("tensor_parallel_size",)), help=help)


def _sets(file: RecipeFile, flag: str) -> bool:
    table = flag_table(file.recipe.engine)
    return table is not None and table.index([raw.text for raw in file.recipe.args], flag) is not None


def _addresses(cluster: ClusterFile, nodes: Sequence[Node], engine: Engine) -> Iterable[Finding]:
    """Every rank of a group needs an address that the others reach."""
    for node in nodes if len(nodes) > 1 else ():
        if node.meeting_address is None:
            place = cluster.node_place(node)
            message = f"node `{node.name}` has neither `fabric` nor `host`, so the other ranks cannot meet it"
            yield finding("RCC910", message, place, help="add its address on the fabric: `fabric = …`")
        elif engine.workers_lend and ":" in node.meeting_address:
            message = f"`{engine.name}` reaches no node by `{node.meeting_address}`, an IPv6 address"
            place = cluster.node_place(node, "fabric" if node.fabric else "host")
            yield finding("RCC910", message, place, help="write its IPv4 address or its name as `fabric`")


def _ports(file: RecipeFile, engine: Engine) -> Iterable[Finding]:
    """The API and the rendezvous cannot both listen on one port of the head."""
    port, meeting = ports(file, engine)
    if engine.workers_lend:
        return  # each on another node
    if file.recipe.required_nodes > 1 and port is not None and port == meeting:
        key = "rendezvous_port" if file.recipe.rendezvous_port else "port"
        message = f"the API and the rendezvous of the ranks both use port {port} of the head"
        yield finding(
            "RCC908", message, file.place((key,)), help="give one of `port` and `rendezvous_port` another value"
        )


def ports(file: RecipeFile, engine: Engine) -> tuple[int | None, int | None]:
    """The API's port and the one where ranks meet: the recipe's, else the engine's own."""
    return file.recipe.port or engine.port, file.recipe.rendezvous_port or engine.rendezvous_port


def check_flags(file: RecipeFile, owned: Mapping[str, str]) -> Iterator[Finding]:
    """Arguments that set what a recipe key decides, under any alias, as `--a=b` or shortened.

    `owned` are the flags that the engine gets from the compiler, each with the key that decides it.
    """
    words = [raw.text for raw in file.recipe.args]
    for index, spelled, names in _spelled(words, flag_table(file.recipe.engine)):
        owner = next((key for flag, key in owned.items() if flag in names), None)
        if owner is not None:
            path = ("args", index)
            yield owned_flag(spelled, owner, file.layers.origin(path).string_place(path, 0, len(spelled)))


def owned_flag(spelled: str, owner: str, place: Place) -> Finding:
    """The finding about a flag that the recipe's key `owner` decides."""
    message = f"`{spelled}` is set by the compiler, from `{owner}`"
    return finding("RCC501", message, place, help=f"remove it and set `{owner}` instead")


def _spelled(words: Sequence[str], table: FlagTable | None) -> Iterable[tuple[int, str, tuple[str, ...]]]:
    """Each flag among the words: its index, as it is spelled, and every spelling of the flag that it means."""
    if table is not None:
        for one in table.parse(words):
            if one.spelled:
                yield one.index, one.spelled, one.flag.spellings if one.flag else (one.spelled,)
        return
    for index, word in enumerate(words):
        if word.startswith("-"):
            spelled = word.partition("=")[0]
            yield index, spelled, (spelled, spelled.replace("_", "-"))
