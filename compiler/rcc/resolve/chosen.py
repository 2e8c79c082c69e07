"""What is the same for all ranks: nodes, topology, hardware, engine, models."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rcc.cluster.model import ClusterFile, Hardware, Node
from rcc.diagnostic import Finding, finding
from rcc.engines.model import Engine
from rcc.engines.registry import EngineError, find_engine
from rcc.lock.model import Lock
from rcc.quick import dataclass
from rcc.recipe.keys import ABSOLUTE
from rcc.recipe.model import RecipeFile
from rcc.recipe.paths import is_system_folder, system_folder
from rcc.resolve.blocks import Carried
from rcc.resolve.environment import Layer, layers_of_all
from rcc.resolve.model import Options, ResolvedModel
from rcc.resolve.nodes import choose_hardware, choose_nodes, choose_topology
from rcc.resolve.pins import resolve_models


@dataclass(frozen=True, slots=True)
class Chosen:
    """The choices that every rank shares, with the files that they were made from."""

    file: RecipeFile
    cluster: ClusterFile
    lock: Lock | None
    options: Options
    carried: Carried
    engine: Engine
    hardware: Hardware
    nodes: tuple[Node, ...]
    topology: str | None
    layers: tuple[Layer, Layer, Layer]
    models: tuple[ResolvedModel, ...]


def choose(
    file: RecipeFile, cluster: ClusterFile, lock: Lock | None, options: Options, carried: Carried
) -> tuple[Chosen | None, list[Finding]]:
    """Makes the choices; None where one cannot be made."""
    nodes, found = choose_nodes(file, cluster, options)
    profile, of_topology = choose_topology(file, cluster, options)
    hardware, of_hardware = choose_hardware(cluster)
    engine, of_engine = _choose_engine(file)
    found = [*found, *of_topology, *of_hardware, *of_engine, *_hf_cache(options.hf_cache)]
    if found or hardware is None or engine is None:
        return None, found
    models = resolve_models(file, lock)
    layers = layers_of_all(file, cluster, hardware, profile)
    chosen = Chosen(file, cluster, lock, options, carried, engine, hardware, nodes, profile[0], layers, models)
    found = _too_much(chosen)
    return None if found else chosen, found


_MOST_MIB = 8
"""Values of all ranks together: 64 nodes may have 128 KiB each, and a second is enough for them."""
_OVERHEAD = 40
_OVERHEAD_OF_TEMPLATE = 150
"""Characters that take as long as a value without any, and as a template in it, apart from its text."""


def _too_much(chosen: Chosen) -> list[Finding]:
    """A rank's values times the ranks: what two files of the largest size say would take minutes and all memory."""
    ranks, of_rank = len(chosen.nodes), sum(map(_weight, _texts(chosen)))
    if ranks * of_rank <= _MOST_MIB << 20:
        return []
    each = f"{ranks:,} ranks with some {of_rank >> 10:,} KiB of values each"
    message = f"{each} are more than the {_MOST_MIB} MiB that rcc fills"
    help = "run the recipe on fewer nodes, or move what fills it into a file that is mounted"
    return [finding("RCC918", message, chosen.file.place(("required_nodes",)), help=help)]


def _texts(chosen: Chosen) -> Iterator[str]:
    """Everything that is made for each rank."""
    recipe = chosen.file.recipe
    for layer in chosen.layers:
        yield from (value.name if raw is None else raw.text for value, raw in layer)
    yield from (raw.text for raw in (*(recipe.entrypoint or ()), *recipe.args))
    yield from chosen.cluster.cluster.vars
    for mount in recipe.extra_mounts:
        yield from (mount.host.text, mount.container.text)
    for block in recipe.staging:
        yield from (block.src.text, block.dst.text, block.id)
    for one in recipe.asserts:
        yield from (one.path.text, one.contains.text)
    yield from (f"{model.repo}{{{{" for model in chosen.models)  # each gives templates four names


def _weight(text: str) -> int:
    return len(text) + _OVERHEAD + _OVERHEAD_OF_TEMPLATE * (text.count("{{") + text.count("<<"))


def _hf_cache(stated: str | None) -> list[Finding]:
    """The command line's folder is held to what a cluster file's is; of what would come of it nothing is said."""
    if stated is None:
        return []
    no_text = re.search("[\ud800-\udfff]", stated)  # a byte of the command line that is no UTF-8
    if no_text or not re.fullmatch(ABSOLUTE, stated):
        help = "name the folder that has `hub/` below it"
        wanted = "an absolute path in UTF-8" if no_text else "an absolute path"
        return [finding("RCC306", f"`--hf-cache` needs {wanted}, not `{stated}`", help=help)]
    if is_system_folder(stated):
        message, help = system_folder(stated)
        return [finding("RCC711", f"`--hf-cache`: {message}", help=help)]
    return []


def _choose_engine(file: RecipeFile) -> tuple[Engine | None, list[Finding]]:
    try:
        return find_engine(file.recipe.engine), []
    except EngineError as error:
        return None, [finding(error.code, str(error), file.place(("engine",)), help=error.help)]
