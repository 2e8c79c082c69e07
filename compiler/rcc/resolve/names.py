"""The names that templates know, for one rank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rcc.cluster.model import Cluster, Node
from rcc.recipe.model import MAIN_MODEL, RecipeFile
from rcc.resolve.fill import LATE, Missing
from rcc.resolve.model import ResolvedModel, ResolvedStaging
from rcc.resolve.models import host_path


def base_names(
    file: RecipeFile, cluster: Cluster, topology: str | None, node: Node, rank: int, head: Node, hf_cache: str | None
) -> dict[str, str | Missing]:
    """The names that need neither models nor staging."""
    names: dict[str, str | Missing] = {
        "id": file.id,
        "recipe.name": file.name,
        "cluster.name": cluster.name,
        "rank": str(rank),
        "nnodes": str(file.recipe.required_nodes),
        "node.name": node.name,
    }
    names["hf"] = hf_cache or _no_cache("hf")
    names["topology"] = topology or _unset("topology", "no topology is chosen", "name one with `topology`")
    for name, value in (
        ("node.host", node.host),
        ("node.fabric", node.meeting_address),
        ("node.arch", node.arch),
        ("node.hca", node.hca),
        ("node.ifname", node.ifname),
    ):
        names[name] = value or _unset_on(node, name)
    for name, value in (("head.host", head.host), ("head.fabric", head.meeting_address)):
        names[name] = value or _unset_on(head, name)
    names.update({f"vars.{name}": value for name, value in {**cluster.vars, **node.vars}.items()})
    return names


def _unset(name: str, why: str, help: str) -> Missing:
    return Missing("RCC305", f"template name `{name}` has no value: {why}", help)


def _no_cache(name: str) -> Missing:
    return _unset(name, "the cluster file has no `hf_cache`", "add `hf_cache` to the cluster file")


def _unset_on(node: Node, name: str) -> Missing:
    key = name.partition(".")[2]
    return _unset(name, f"node `{node.name}` has no `{key}`", f"add `{key}` to the node in the cluster file")


def gid_name(node: Node, gid_index: str | int) -> str | Missing:
    """What `node.gid_index` is: a number that the cluster file states, found at start, or nobody's business."""
    if gid_index == "auto":
        return LATE
    if gid_index == "nccl":
        why = f"node `{node.name}` leaves the GID index to NCCL"
        return _unset(
            "node.gid_index", why, 'give the node `gid_index = "auto"` or a number, and the ranks `NCCL_IB_HCA`'
        )
    return str(gid_index)


def port_name(port: int | None) -> str | Missing:
    """What `port` is."""
    return str(port) if port else _unset("port", "the recipe has no `port` and its engine no default", "add `port`")


def model_names(
    models: Iterable[ResolvedModel], paths: Mapping[str, str], hf_cache: str | None
) -> dict[str, str | Missing]:
    """The names of the models; `paths` gives the container's path by model id, where it is known."""
    names: dict[str, str | Missing] = {}
    for model in models:
        own = model.id if model.id == MAIN_MODEL else f"models.{model.id}"
        names[f"{own}.repo"] = model.repo
        names[f"{own}.commit"] = model.commit or _needs_commit(f"{own}.commit")
        names[f"{own}.path"] = paths.get(model.id) or _needs_commit(f"{own}.path")
        on_host = f"{own}.host_path"
        needs = _needs_commit(on_host) if model.commit is None else _no_cache(on_host)
        names[on_host] = host_path(model, hf_cache) or needs
    return names


def _needs_commit(name: str) -> Missing:
    why = f"`{name}` needs the commit that is served, and nothing pins it"
    return Missing("RCC304", why, "run `rcc lock`, or write a commit as `revision`")


def staging_names(blocks: Iterable[ResolvedStaging]) -> dict[str, str | Missing]:
    """The names of the staging blocks."""
    names: dict[str, str | Missing] = {}
    for block in blocks:
        own = f"staging.{block.id}"
        names[f"{own}.dst"] = block.dst
        names[f"{own}.layout"] = block.layout or _needs_lock(f"{own}.layout")
        if block.kind == "sparse-rows":
            names[f"{own}.rows"] = _needs_lock(f"{own}.rows") if block.rows is None else row_text(block.rows)
    return names


def _needs_lock(name: str) -> Missing:
    return Missing("RCC304", f"`{name}` is known only to the lock", "run `rcc lock`")


def row_text(rows: Mapping[str, tuple[int, int]]) -> str:
    """Ranges as the engine's row store reads them: `1:0:96001542,14:0:96004171`, layers in numeric order."""
    return ",".join(f"{layer}:{low}:{high}" for layer, (low, high) in sorted(rows.items(), key=lambda one: int(one[0])))
