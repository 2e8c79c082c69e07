"""Chooses nodes, topology and hardware."""

from __future__ import annotations

from collections.abc import Mapping

from rcc.cluster.model import ClusterFile, Hardware, Node
from rcc.diagnostic import Finding, finding
from rcc.hardware import BUILT_IN, built_in
from rcc.nearest import nearest_name
from rcc.recipe.model import Raw, RecipeFile
from rcc.resolve.model import Options
from rcc.source import Place

EXAMPLE_CLUSTER = """\
name = "my-cluster"
hf_cache = "/mnt/nas/huggingface"
hardware = "dgx-spark"
ssh_user = "spark"

[[nodes]]
name = "spark1"
host = "10.0.0.11"
fabric = "192.168.200.11"
"""


def choose_nodes(file: RecipeFile, cluster: ClusterFile, options: Options) -> tuple[tuple[Node, ...], list[Finding]]:
    """The nodes in rank order: those that the command line names, else the first ones."""
    nodes = cluster.cluster.nodes
    required = file.recipe.required_nodes
    if options.nodes is not None:
        nodes, found = _named(options.nodes, cluster)
        if found:
            return (), found
        if len(nodes) != required:
            message = f"`--nodes` names {len(nodes)}, and the recipe runs on {required}"
            return (), [finding("RCC902", message, file.place(("required_nodes",)), help=f"name {required} of them")]
    elif len(nodes) < required:
        return (), [_too_few(file, cluster, required)]
    return nodes[:required], []


def _too_few(file: RecipeFile, cluster: ClusterFile, required: int) -> Finding:
    count = len(cluster.cluster.nodes)
    message = f"the recipe requires {required} nodes, and cluster `{cluster.cluster.name}` has {count}"
    return finding("RCC902", message, file.place(("required_nodes",)), help="add `[[nodes]]` to the cluster file")


def _named(names: tuple[str, ...], cluster: ClusterFile) -> tuple[tuple[Node, ...], list[Finding]]:
    by_name = {node.name: node for node in cluster.cluster.nodes}
    found = []
    for index, name in enumerate(names):
        if name not in by_name:
            near = nearest_name(name, by_name)
            help = f"did you mean `{near}`?" if near else f"there are {', '.join(f'`{one}`' for one in by_name)}"
            found.append(finding("RCC906", f"cluster `{cluster.cluster.name}` has no node `{name}`", help=help))
        elif name in names[:index]:
            found.append(finding("RCC906", f"`--nodes` names `{name}` twice", help="name each node once"))
    return tuple(by_name[name] for name in names if name in by_name), found


def choose_hardware(cluster: ClusterFile) -> tuple[Hardware | None, list[Finding]]:
    """The cluster's hardware profile: one of its own, a built-in one, or `cpu` where it names none."""
    name = "cpu" if cluster.cluster.hardware is None else cluster.cluster.hardware
    profile = cluster.cluster.profiles.get(name) or built_in(name)
    if profile is not None:
        return profile, []
    near = nearest_name(name, (*cluster.cluster.profiles, *BUILT_IN))
    listed = ", ".join(f"`{one}`" for one in BUILT_IN)
    help = f"did you mean `{near}`?" if near else f"built in are {listed}; write your own as `[hardware.<name>]`"
    place = cluster.place(("hardware", "default"))
    return None, [finding("RCC907", f"no hardware profile is called `{name}`", place, help=help)]


Profile = Mapping[str, Raw]


def choose_topology(
    file: RecipeFile, cluster: ClusterFile, options: Options
) -> tuple[tuple[str | None, Profile], list[Finding]]:
    """The NCCL profile: the command line's, the recipe's, the cluster's, else the only one there is."""
    profiles = cluster.cluster.nccl
    stated = (options.topology, file.recipe.topology, cluster.cluster.topology)
    name = next((one for one in stated if one is not None), None)
    if name is None and len(profiles) == 1:
        name = next(iter(profiles))
    if name is None:
        return (None, {}), [_several(cluster)] if profiles else []
    if name in profiles:
        return (name, profiles[name]), []
    place = file.place(("topology",)) if file.recipe.topology == name else cluster.place(("topology",))
    return (None, {}), [unknown_topology(name, cluster, place if options.topology is None else None)]


def unknown_topology(name: str, cluster: ClusterFile, place: Place | None) -> Finding:
    """RCC904: a name, stated at `place`, that no NCCL profile of the cluster has."""
    known = sorted(cluster.cluster.nccl)
    near = nearest_name(name, known)
    listed = f"profiles are {', '.join(f'`{one}`' for one in known)}" if known else "there is no profile at all"
    help = f"did you mean `{near}`?" if near else f'{listed}; add `[nccl."{name}"]` to the cluster file'
    message = f"cluster `{cluster.cluster.name}` has no NCCL profile `{name}`"
    return finding("RCC904", message, place, help=help)


def _several(cluster: ClusterFile) -> Finding:
    listed = ", ".join(f"`{one}`" for one in sorted(cluster.cluster.nccl))
    message = f"cluster `{cluster.cluster.name}` has several NCCL profiles and none is chosen: {listed}"
    help = "choose one by `topology` in the recipe or the cluster file, or with `--topology`"
    return finding("RCC904", message, cluster.place(("nccl",)), help=help)
