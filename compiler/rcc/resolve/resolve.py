"""Recipe, cluster and lock to a recipe on its nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from rcc.cluster.model import ClusterFile, Hardware, Node
from rcc.diagnostic import Finding, Findings, finding, has_errors, in_order
from rcc.engines.model import Engine, Health
from rcc.engines.registry import EngineError, find_engine
from rcc.lock.model import Lock
from rcc.recipe.keys import ABSOLUTE
from rcc.recipe.model import Raw, RecipeFile
from rcc.resolve.blocks import Carried, resolve_asserts, resolve_mounts, resolve_staging
from rcc.resolve.checks import check_flags, check_world, ports
from rcc.resolve.environment import (
    Environment,
    choose_gid,
    lay_files,
    lay_gid,
    lay_rank,
    set_by_compiler,
)
from rcc.resolve.fill import Filler
from rcc.resolve.model import Options, Resolved, ResolvedModel, ResolvedRank, ResolvedStaging
from rcc.resolve.names import (
    CACHE,
    HUB,
    MODELS,
    STAGED,
    base_names,
    gid_name,
    host_path,
    model_names,
    port_name,
    staging_names,
)
from rcc.resolve.nodes import choose_hardware, choose_nodes, choose_topology
from rcc.resolve.pins import check_architectures, resolve_image, resolve_models
from rcc.source import Path, Place


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What is the same for all ranks."""

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


def resolve(
    file: RecipeFile, cluster: ClusterFile, lock: Lock | None, options: Options, carried: Carried
) -> tuple[Resolved | None, Findings]:
    """Fills every template and decides every default, for each rank.

    `carried` holds every file that the recipe mounts by a relative path.
    """
    chosen, found = _choose(file, cluster, lock, options, carried)
    if chosen is None:
        return None, in_order(found)
    found += check_world(file, cluster, chosen.nodes, chosen.hardware, chosen.engine)
    found += check_flags(file, chosen.engine)
    found += check_architectures(file, chosen.nodes, chosen.hardware, lock)
    ranks = []
    for rank in range(len(chosen.nodes)):
        resolved, of_rank = _rank(chosen, rank)
        ranks.append(resolved)
        found += of_rank
    found += set_by_compiler(file, chosen.engine, tuple(one.gid_index for one in ranks))
    found += _cache(chosen, ranks)
    if has_errors(found):
        return None, in_order(found)
    return _resolved(chosen, tuple(ranks)), in_order(found)


def _choose(
    file: RecipeFile, cluster: ClusterFile, lock: Lock | None, options: Options, carried: Carried
) -> tuple[_Chosen | None, list[Finding]]:
    nodes, found = choose_nodes(file, cluster, options)
    (topology, profile), more = choose_topology(file, cluster, options)
    hardware, of_hardware = choose_hardware(cluster)
    found += [*more, *of_hardware]
    try:
        engine = find_engine(file.recipe.engine)
    except EngineError as error:
        help = "correct the name, or install the plug-in that adds it"
        return None, [*found, finding("RCC502", str(error), file.place(("engine",)), help=help)]
    if found or hardware is None:
        return None, found
    models = resolve_models(file, lock)
    return _Chosen(file, cluster, lock, options, carried, engine, hardware, nodes, topology, profile, models), []


def _rank(chosen: _Chosen, rank: int) -> tuple[ResolvedRank, list[Finding]]:
    file, cluster, node = chosen.file, chosen.cluster, chosen.nodes[rank]
    nnodes = len(chosen.nodes)
    hf_cache = chosen.options.hf_cache or node.hf_cache or cluster.cluster.hf_cache
    names = base_names(file, cluster.cluster, chosen.topology, node, rank, chosen.nodes[0], hf_cache)
    names["port"] = port_name(ports(file, chosen.engine)[0])
    names["node.gid_index"] = gid_name(node, "auto" if node.gid_index is None else node.gid_index)
    in_recipe = Filler(names, file.place, partial(_in_recipe, file))
    in_cluster = Filler(names, cluster.place, partial(_in_cluster, cluster))
    names.update(model_names(chosen.models, {}, hf_cache))
    staging = resolve_staging(file, rank, in_recipe, chosen.lock)
    names.update(model_names(chosen.models, model_paths(chosen.models, staging), hf_cache))
    names.update(staging_names(staging))
    environment = Environment()
    environment.lay_plain(chosen.hardware.env, "the hardware profile")
    environment.lay_plain(_engine_env(chosen, staging), f"engine `{chosen.engine.name}`")
    index = cluster.cluster.nodes.index(node)
    profile = (chosen.topology, chosen.profile)
    found = lay_files(environment, file, cluster, profile, (index, node), (in_recipe, in_cluster))
    lay_rank(environment, chosen.engine, rank, nnodes, node.meeting_address)
    hca = environment.get("NCCL_IB_HCA")
    gid_index = choose_gid(node, chosen.hardware, nnodes, hca)
    if gid_index is None:
        found.append(_gid_without_hca(cluster, index, node))
    lay_gid(environment, gid_index or "nccl")
    found += _late_without_search(chosen, environment, gid_index)
    resolved = ResolvedRank(
        rank=rank,
        node=node,
        hf_cache=hf_cache,
        cache_dir=node.cache_dir or f"~/.cache/rcc/{file.id}",
        install_dir=node.install_dir or f"~/.rcc/{file.id}",
        ssh=_ssh(cluster, node),
        env=environment.in_order(),
        entrypoint=_words(file.recipe.entrypoint, in_recipe) if file.recipe.entrypoint else None,
        args=_words(file.recipe.args, in_recipe),
        mounts=resolve_mounts(file, in_recipe, chosen.carried),
        staging=staging,
        asserts=resolve_asserts(file, in_recipe),
        gid_index=gid_index or "nccl",
        hca=hca,
    )
    return resolved, [*found, *in_recipe.found, *in_cluster.found]


def _words(raws: tuple[Raw, ...], filler: Filler) -> tuple[str, ...]:
    return tuple(filler.fill(raw) for raw in raws)


def _in_recipe(file: RecipeFile, path: Path, start: int, end: int) -> Place | None:
    document = file.layers.origin(path)
    return document.string_place(path, start, end)


def _in_cluster(cluster: ClusterFile, path: Path, start: int, end: int) -> Place | None:
    return cluster.document.string_place(path, start, end) if cluster.document else None


def _ssh(cluster: ClusterFile, node: Node) -> str | None:
    """How ssh reaches the node; None for this machine, and for a node without an address."""
    if node.ssh or not node.host or cluster.document is None:
        return node.ssh
    user = cluster.cluster.ssh_user
    return f"{user}@{node.host}" if user else node.host


def _gid_without_hca(cluster: ClusterFile, index: int, node: Node) -> Finding:
    message = f"node `{node.name}` is to find its GID index, and `NCCL_IB_HCA` does not say on which adapters"
    help = "set `NCCL_IB_HCA` in the NCCL profile or the recipe, or `gid_index` to a number or `nccl`"
    return finding("RCC909", message, cluster.place(("nodes", index, "gid_index")), help=help)


def _late_without_search(chosen: _Chosen, environment: Environment, gid_index: str | int | None) -> list[Finding]:
    """A variable that wants the index which nobody looks for on this rank."""
    if gid_index in ("auto", None):
        return []
    found = []
    for value in environment.values.values():
        if value.late is not None:
            message = f"`{value.name}` needs `{value.late}`, and no GID index is searched for on these nodes"
            help = (
                "that takes several nodes, hardware with RDMA and `NCCL_IB_HCA`, or a number as the node's `gid_index`"
            )
            found.append(finding("RCC305", message, value.origin.find(), help=help))
    return found


def _engine_env(chosen: _Chosen, staging: tuple[ResolvedStaging, ...]) -> dict[str, str]:
    """The engine's own, and where Hugging Face's and its caches lie in the container."""
    env = dict(chosen.engine.env)
    hub = [model for model in chosen.models if not model.is_path]
    if hub:
        env.update({"HF_HUB_OFFLINE": "1", "HF_HOME": f"{CACHE}/huggingface"})
        env["HF_MODULES_CACHE"] = f"{CACHE}/huggingface/modules"
        if not all(served(model, staging) for model in hub):
            env["HF_HUB_CACHE"] = HUB
    if hub or chosen.engine.caches:
        env["XDG_CACHE_HOME"] = f"{CACHE}/xdg"
    env.update({name: f"{CACHE}/{folder}" for name, folder in chosen.engine.caches.items()})
    return env


def served(model: ResolvedModel, staging: tuple[ResolvedStaging, ...]) -> ResolvedStaging | None:
    """The staging block that the engine loads the model from."""
    for block in staging:
        if block.kind == "snapshot" and block.serve and (block.source or "").partition("@")[0] == model.repo:
            return block
    return None


def model_paths(models: tuple[ResolvedModel, ...], staging: tuple[ResolvedStaging, ...]) -> dict[str, str]:
    """Where each model lies in the container, as far as it is known, by model id."""
    paths = {}
    for model in models:
        block = served(model, staging)
        if model.is_path:
            paths[model.id] = f"{MODELS}/{model.id}"
        elif block is not None:
            paths[model.id] = f"{STAGED}/{block.id}"
        elif model.commit is not None:
            paths[model.id] = f"{HUB}/{model.folder}/snapshots/{model.commit}"
    return paths


def _cache(chosen: _Chosen, ranks: list[ResolvedRank]) -> list[Finding]:
    """A Hub model needs the cache that it lies in."""
    found = []
    for one in ranks:
        hub = [model for model in chosen.models if not model.is_path and not served(model, one.staging)]
        if hub and one.hf_cache is None:
            message = f"node `{one.node.name}` has no `hf_cache`, and the recipe serves `{hub[0].repo}`"
            help = "add `hf_cache`, the folder that has `hub/` below it, to the cluster file"
            found.append(finding("RCC911", message, chosen.file.place(("model",)), help=help))
            break
        if one.hf_cache is not None and not re.fullmatch(ABSOLUTE, one.hf_cache):
            found.append(finding("RCC306", f"`--hf-cache` needs an absolute path, not `{one.hf_cache}`"))
            break
    return found


def _resolved(chosen: _Chosen, ranks: tuple[ResolvedRank, ...]) -> Resolved:
    recipe, engine = chosen.file.recipe, chosen.engine
    port, rendezvous_port = ports(chosen.file, engine)
    staging_image = recipe.staging_image
    return Resolved(
        id=chosen.file.id,
        name=chosen.file.name,
        recipe=recipe,
        engine=engine,
        hardware=chosen.hardware,
        topology=chosen.topology,
        image=resolve_image(recipe.docker_image, "engine", chosen.lock),
        staging_image=resolve_image(staging_image, "staging", chosen.lock) if staging_image else None,
        models=chosen.models,
        port=port,
        rendezvous_port=rendezvous_port,
        health=_health(chosen),
        ranks=ranks,
        k8s=chosen.cluster.cluster.k8s,
        k8s_workload=chosen.options.k8s_workload,
        locked=chosen.lock is not None,
    )


_PLAIN_HEALTH = Health(path="/health", interval=30, timeout=30, retries=5, start_period=2700)


def _health(chosen: _Chosen) -> Health | None:
    """The engine's health check with what the recipe changes of it."""
    keys, own = chosen.file.recipe.healthcheck, chosen.engine.health
    if keys is None or ports(chosen.file, chosen.engine)[0] is None:
        return own
    base = own or _PLAIN_HEALTH
    return Health(
        keys.path or base.path,
        keys.interval or base.interval,
        keys.timeout or base.timeout,
        keys.retries or base.retries,
        base.start_period if keys.start_period is None else keys.start_period,
    )


__all__ = ["host_path", "model_paths", "resolve", "served"]
