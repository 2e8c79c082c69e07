"""What is the same for all ranks: nodes, topology, hardware, engine, models."""

from __future__ import annotations

from collections.abc import Mapping

from rcc.cluster.model import ClusterFile, Hardware, Node
from rcc.diagnostic import Finding, finding
from rcc.engines.model import Engine
from rcc.engines.registry import EngineError, find_engine
from rcc.lock.model import Lock
from rcc.quick import dataclass
from rcc.recipe.model import Raw, RecipeFile
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
    found = [*found, *of_topology, *of_hardware, *of_engine]
    if found or hardware is None or engine is None:
        return None, found
    models = resolve_models(file, lock)
    return Chosen(file, cluster, lock, options, carried, engine, hardware, nodes, topology, profile, models), []


def _choose_engine(file: RecipeFile) -> tuple[Engine | None, list[Finding]]:
    try:
        return find_engine(file.recipe.engine), []
    except EngineError as error:
        help = "correct the name, or install the plug-in that adds it"
        return None, [finding("RCC502", str(error), file.place(("engine",)), help=help)]
