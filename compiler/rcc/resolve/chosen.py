"""What is the same for all ranks: nodes, topology, hardware, engine, models."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rcc.cluster.model import ClusterFile, Hardware, Node
from rcc.diagnostic import Finding, finding
from rcc.engines.model import Engine
from rcc.engines.registry import EngineError, find_engine
from rcc.lock.model import Lock
from rcc.quick import dataclass
from rcc.recipe.keys import ABSOLUTE
from rcc.recipe.model import Raw, RecipeFile
from rcc.recipe.paths import is_system_folder, system_folder
from rcc.resolve.blocks import Carried
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
    profile: Mapping[str, Raw]
    models: tuple[ResolvedModel, ...]


def choose(
    file: RecipeFile, cluster: ClusterFile, lock: Lock | None, options: Options, carried: Carried
) -> tuple[Chosen | None, list[Finding]]:
    """Makes the choices; None where one cannot be made."""
    nodes, found = choose_nodes(file, cluster, options)
    (topology, profile), of_topology = choose_topology(file, cluster, options)
    hardware, of_hardware = choose_hardware(cluster)
    engine, of_engine = _choose_engine(file)
    found = [*found, *of_topology, *of_hardware, *of_engine, *_hf_cache(options.hf_cache)]
    if found or hardware is None or engine is None:
        return None, found
    models = resolve_models(file, lock)
    return Chosen(file, cluster, lock, options, carried, engine, hardware, nodes, topology, profile, models), []


def _hf_cache(stated: str | None) -> list[Finding]:
    """The command line's folder is held to what a cluster file's is; of what would come of it nothing is said."""
    if stated is None:
        return []
    if not re.fullmatch(ABSOLUTE, stated):
        help = "name the folder that has `hub/` below it"
        return [finding("RCC306", f"`--hf-cache` needs an absolute path, not `{stated}`", help=help)]
    if is_system_folder(stated):
        message, help = system_folder(stated)
        return [finding("RCC711", f"`--hf-cache`: {message}", help=help)]
    return []


def _choose_engine(file: RecipeFile) -> tuple[Engine | None, list[Finding]]:
    try:
        return find_engine(file.recipe.engine), []
    except EngineError as error:
        help = "correct the name, or install the plug-in that adds it"
        return None, [finding("RCC502", str(error), file.place(("engine",)), help=help)]
