"""One rank: its names, its environment, and every string of the recipe filled for it."""

from __future__ import annotations

import re
from functools import partial

from rcc.cluster.keys import IPV4
from rcc.cluster.model import ClusterFile, Node
from rcc.diagnostic import Finding, finding
from rcc.quick import replace
from rcc.recipe.model import Raw, RecipeFile
from rcc.resolve.blocks import resolve_asserts, resolve_mounts, resolve_staging
from rcc.resolve.checks import ports
from rcc.resolve.chosen import Chosen
from rcc.resolve.environment import Environment, choose_gid, lay_gid, lay_node, lay_rank
from rcc.resolve.fill import Filler, Missing
from rcc.resolve.model import ResolvedRank, ResolvedStaging
from rcc.resolve.models import engine_env, model_paths
from rcc.resolve.names import base_names, gid_name, model_names, port_name, staging_names
from rcc.resolve.pins import architecture
from rcc.source import Path, Place


def resolve_rank(chosen: Chosen, rank: int) -> tuple[ResolvedRank, list[Finding]]:
    """The rank's values, and everything that stands against them."""
    file, cluster, node = chosen.file, chosen.cluster, chosen.nodes[rank]
    stated = (chosen.options.hf_cache, node.hf_cache, cluster.cluster.hf_cache)
    hf_cache = _without_slash(next((one for one in stated if one is not None), None))
    names = _base(chosen, rank, hf_cache)
    in_recipe = Filler(names, file.place, partial(_in_recipe, file))
    in_cluster = Filler(names, cluster.place, partial(_in_cluster, cluster))
    staging = resolve_staging(file, rank, in_recipe, chosen.lock)
    names.update(model_names(chosen.models, model_paths(chosen.models, staging), hf_cache))
    names.update(staging_names(staging))
    environment, gid_index, found = _environment(chosen, rank, staging, (in_recipe, in_cluster))
    resolved = ResolvedRank(
        rank=rank,
        node=node,
        hf_cache=hf_cache,
        cache_dir=_without_slash(node.cache_dir) or f"~/.cache/rcc/{file.id}",
        install_dir=_without_slash(node.install_dir) or f"~/.rcc/{file.id}",
        ssh=_ssh(cluster, node),
        env=environment.in_order(),
        entrypoint=_words(file.recipe.entrypoint, in_recipe) if file.recipe.entrypoint else None,
        args=_words(file.recipe.args, in_recipe),
        mounts=resolve_mounts(file, in_recipe, chosen.carried),
        staging=staging,
        asserts=resolve_asserts(file, in_recipe),
        gid_index=gid_index,
        hca=environment.get("NCCL_IB_HCA"),
    )
    return resolved, [*found, *in_recipe.found, *in_cluster.found]


def _without_slash(path: str | None) -> str | None:
    return path and (path.rstrip("/") or "/")


def _base(chosen: Chosen, rank: int, hf_cache: str | None) -> dict[str, str | Missing]:
    """The names that staging paths may use; the models' paths in the container are not known yet."""
    node, cluster = chosen.nodes[rank], chosen.cluster.cluster
    node = replace(node, arch=architecture(node, chosen.hardware))
    names = base_names(chosen.file, cluster, chosen.topology, node, rank, chosen.nodes[0], hf_cache)
    names["port"] = port_name(ports(chosen.file, chosen.engine)[0])
    names["node.gid_index"] = gid_name(node, "auto" if node.gid_index is None else node.gid_index)
    names.update(model_names(chosen.models, {}, hf_cache))
    return names


def _environment(
    chosen: Chosen, rank: int, staging: tuple[ResolvedStaging, ...], fillers: tuple[Filler, Filler]
) -> tuple[Environment, str | int, list[Finding]]:
    node, nnodes = chosen.nodes[rank], len(chosen.nodes)
    in_recipe, in_cluster = fillers
    of_hardware, of_profile, of_recipe = chosen.layers
    environment = Environment()
    environment.lay_all(of_hardware, in_cluster)
    environment.lay_plain(engine_env(chosen.engine, chosen.models, staging), f"engine `{chosen.engine.name}`")
    environment.lay_all(of_profile, in_cluster)
    environment.lay_all(of_recipe, in_recipe)
    found = lay_node(environment, chosen.file, chosen.cluster, node, in_cluster)
    lay_rank(environment, chosen.engine, rank, nnodes, chosen.cluster, node)
    gid_index = choose_gid(node, chosen.hardware, nnodes, environment.get("NCCL_IB_HCA"))
    if gid_index is None:
        return environment, "nccl", [*found, _gid_without_hca(chosen.cluster, node)]
    if gid_index == "auto":
        found += _gid_without_ipv4(chosen.cluster, node)
    lay_gid(environment, gid_index, chosen.cluster, node)
    return environment, gid_index, [*found, *_late_without_search(environment, gid_index)]


def _words(raws: tuple[Raw, ...], filler: Filler) -> tuple[str, ...]:
    return tuple(filler.fill(raw) for raw in raws)


def _in_recipe(file: RecipeFile, path: Path, start: int, end: int) -> Place | None:
    return file.layers.origin(path).string_place(path, start, end)


def _in_cluster(cluster: ClusterFile, path: Path, start: int, end: int) -> Place | None:
    return cluster.document.string_place(path, start, end) if cluster.document else None


def _ssh(cluster: ClusterFile, node: Node) -> str | None:
    """How ssh reaches the node; None for this machine, and for a node without an address."""
    if node.ssh or not node.host or cluster.document is None:
        return node.ssh
    user = cluster.cluster.ssh_user
    return f"{user}@{node.host}" if user else node.host


def _gid_without_hca(cluster: ClusterFile, node: Node) -> Finding:
    message = f"node `{node.name}` is to find its GID index, and `NCCL_IB_HCA` does not say on which adapters"
    help = "set `NCCL_IB_HCA` in the NCCL profile or the recipe, or `gid_index` to a number or `nccl`"
    return finding("RCC909", message, cluster.node_place(node, "gid_index"), help=help)


def _gid_without_ipv4(cluster: ClusterFile, node: Node) -> list[Finding]:
    """The search is for the node's own address in a table of GIDs, where names and IPv6 addresses do not stand."""
    address = node.meeting_address
    if address is None or re.fullmatch(IPV4, address):
        return []
    message = f"node `{node.name}` is to find the GID of `{address}`, which is no IPv4 address"
    place = cluster.node_place(node, "fabric" if node.fabric else "host")
    help = "write its IPv4 address as `fabric`, or set `gid_index` to a number or `nccl`"
    return [finding("RCC917", message, place, help=help)]


def _late_without_search(environment: Environment, gid_index: str | int) -> list[Finding]:
    """A variable that wants the index which nobody looks for on this rank."""
    if gid_index == "auto":
        return []
    help = "that takes several nodes, hardware with RDMA and `NCCL_IB_HCA`, or a number as the node's `gid_index`"
    return [
        finding(
            "RCC305",
            f"`{one.name}` needs `{one.late}`, and no GID index is searched for on these nodes",
            one.origin.find(),
            help=help,
        )
        for one in environment.values.values()
        if one.late is not None
    ]
