"""One rank's environment: six layers, the higher one wins, and every value knows what it overrode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from rcc.cluster.model import ClusterFile, Hardware, Node
from rcc.diagnostic import Finding, Label, Severity, finding
from rcc.engines.model import Engine
from rcc.recipe.gid_index import GID_VARIABLE, pinned_index
from rcc.recipe.model import Raw, RecipeFile
from rcc.resolve.fill import Filler
from rcc.resolve.model import EnvValue, Origin, ResolvedRank
from rcc.source import Place


class Environment:
    """The layers of one rank, laid one over the other in the order of the calls."""

    def __init__(self) -> None:
        self.values: dict[str, EnvValue] = {}

    def lay(self, name: str, value: str, late: str | None, origin: Origin) -> EnvValue | None:
        """Sets a variable; answers what it overrode."""
        below = self.values.get(name)
        overrode = () if below is None else (*below.overrode, (below.value, below.origin))
        self.values[name] = EnvValue(name, value, late, origin, overrode)
        return below

    def lay_profile(self, values: Mapping[str, str], cluster: ClusterFile) -> None:
        """Lays the lowest layer, the hardware profile's."""
        for name, value in values.items():
            self.lay(name, value, None, profile_origin(cluster, "env", name))

    def lay_plain(self, values: Mapping[str, str], what: str) -> None:
        """Lays a layer that stands in no file of the user's."""
        for name, value in values.items():
            self.lay(name, value, None, Origin(what))

    def get(self, name: str) -> str:
        """A variable's value, empty where it is not set."""
        return self.values[name].value if name in self.values else ""

    def in_order(self) -> tuple[EnvValue, ...]:
        """All variables, by name."""
        return tuple(self.values[name] for name in sorted(self.values))


def lay_files(
    environment: Environment,
    file: RecipeFile,
    cluster: ClusterFile,
    profile: tuple[str | None, Mapping[str, Raw]],
    node: tuple[int, Node],
    fillers: tuple[Filler, Filler],
) -> list[Finding]:
    """The three layers that users write: NCCL profile, recipe, node. `fillers` are the recipe's and the cluster's."""
    in_recipe, in_cluster = fillers
    topology, variables = profile
    for name, raw in variables.items():
        place = partial(cluster.place, ("nccl", str(topology), name), "key")
        _lay(environment, name, raw, in_cluster, Origin(f'[nccl."{topology}"] of the cluster file', place))
    for name, raw in file.recipe.env.items():
        _lay(
            environment, name, raw, in_recipe, Origin("[env] of the recipe", partial(file.place, ("env", name), "key"))
        )
    return _lay_node(environment, file, cluster, node, in_cluster)


def _lay(environment: Environment, name: str, raw: Raw, filler: Filler, origin: Origin) -> EnvValue | None:
    late = filler.late_name(raw)
    return environment.lay(name, "" if late else filler.fill(raw), late, origin)


def _lay_node(
    environment: Environment, file: RecipeFile, cluster: ClusterFile, node: tuple[int, Node], filler: Filler
) -> list[Finding]:
    index, of = node
    found = []
    for name, raw in of.env.items():
        path = ("nodes", index, "env", name)
        origin = Origin(f"env of node `{of.name}`", partial(cluster.place, path, "key"))
        below = _lay(environment, name, raw, filler, origin)
        if below is not None and name in file.recipe.env and below.value != environment.get(name):
            earlier = Label(file.place(("env", name), "key"), f"the recipe says `{below.value}`")
            message = f"node `{of.name}` changes `{name}` of the recipe to `{environment.get(name)}`"
            help = "remove one of the two, or keep both if the node really differs"
            found.append(finding("RCC402", message, cluster.place(path, "key"), labels=[earlier], help=help))
    return found


def profile_origin(cluster: ClusterFile, *path: str) -> Origin:
    """The origin of what the hardware profile says, which has a place where it is one of the cluster file's own."""
    name = cluster.cluster.hardware or "cpu"
    own = name in cluster.cluster.profiles
    return Origin(
        f"hardware profile `{name}`", partial(cluster.place, ("hardware", name, *path), "key") if own else lambda: None
    )


def lay_rank(
    environment: Environment, engine: Engine, rank: int, nnodes: int, cluster: ClusterFile, of: tuple[int, Node]
) -> None:
    """The highest layer: what the compiler sets per rank, the GID index apart."""
    index, node = of
    environment.lay_plain({"NODE_RANK": str(rank), "NNODES": str(nnodes)}, "the compiler, for each rank")
    address = node.meeting_address
    if nnodes > 1 and engine.address_variable and address:
        origin = _node_origin(cluster, index, node, "fabric" if node.fabric else "host")
        environment.lay(engine.address_variable, address, None, origin)


def lay_gid(environment: Environment, gid_index: str | int, cluster: ClusterFile, of: tuple[int, Node]) -> None:
    """The GID index: a number that the cluster file states; one that is found at start must find its place empty."""
    if gid_index == "auto":
        environment.values.pop(GID_VARIABLE, None)
    elif gid_index != "nccl":
        environment.lay(GID_VARIABLE, str(gid_index), None, _node_origin(cluster, *of, "gid_index"))


def _node_origin(cluster: ClusterFile, index: int, node: Node, key: str) -> Origin:
    return Origin(f"`{key}` of node `{node.name}`", partial(cluster.place, ("nodes", index, key), "key"))


def choose_gid(node: Node, hardware: Hardware, nnodes: int, hca: str) -> str | int | None:
    """`auto`, `nccl` or a number; None where `auto` is stated and no HCA list says where to look."""
    if isinstance(node.gid_index, int):
        return node.gid_index
    if nnodes == 1 or node.gid_index == "nccl":
        return "nccl"
    if node.gid_index == "auto":
        return "auto" if hca else None
    return "auto" if hardware.rdma and hca else "nccl"


def set_by_compiler(file: RecipeFile, address_variable: str | None, gid_of_all: tuple[str | int, ...]) -> list[Finding]:
    """A recipe that sets what the compiler sets per rank: the two would disagree on all ranks but one."""
    own = _own(address_variable, file.recipe.required_nodes, any(index != "nccl" for index in gid_of_all))
    places = {name: file.place(("secrets", index)) for index, name in enumerate(file.recipe.secrets) if name in own}
    places |= {name: file.place(("env", name), "key") for name in file.recipe.env if name in own}
    return [
        finding("RCC401", f"`{name}` is not the recipe's to set", place, notes=[own[name]], help="remove it")
        for name, place in places.items()
    ]


def set_in_vain(
    cluster: ClusterFile, topology: str | None, engine: Engine, ranks: Sequence[ResolvedRank]
) -> Iterator[Finding]:
    """A cluster file that sets what the compiler sets per rank: it is overridden, and nothing else would say so."""
    of_nodes = [(("nodes", cluster.cluster.nodes.index(rank.node), "env"), rank.node.env, [rank]) for rank in ranks]
    of_profile = [(("nccl", topology), cluster.cluster.nccl[topology], ranks)] if topology is not None else []
    for path, table, reached in (*of_profile, *of_nodes):
        own = _own(engine.address_variable, len(ranks), all(rank.gid_index != "nccl" for rank in reached))
        for name in table:
            if name in own:
                message, place = f"`{name}` has no effect here", cluster.place((*path, name), "key")
                notes, severity = [own[name]], Severity.WARNING
                yield finding("RCC401", message, place, notes=notes, help="remove it", severity=severity)


def _own(address_variable: str | None, nnodes: int, has_gid: bool) -> dict[str, str]:
    """The variables that the compiler sets per rank, each with why."""
    own = {"NODE_RANK": "the compiler sets it for each rank", "NNODES": "the compiler sets it from `required_nodes`"}
    if address_variable and nnodes > 1:
        own[address_variable] = "the compiler sets it from each node's `fabric`"
    if has_gid:
        own[GID_VARIABLE] = "each node has its own: `gid_index` in the cluster file decides it"
    return own


def pinned_by_files(
    file: RecipeFile, cluster: ClusterFile, topology: str | None, ranks: Sequence[ResolvedRank]
) -> list[Finding]:
    """A GID index that the recipe, or the profile, states for all nodes, which leave it to NCCL."""
    if any(rank.gid_index != "nccl" for rank in ranks):
        return []
    if GID_VARIABLE in file.recipe.env:
        place: Place | None = file.place(("env", GID_VARIABLE))
    elif topology is not None and GID_VARIABLE in cluster.cluster.nccl[topology]:
        place = cluster.place(("nccl", topology, GID_VARIABLE))
    else:
        return []
    text = next(one.value for one in ranks[0].env if one.name == GID_VARIABLE)
    searched = not text or text.startswith("-")  # NCCL's own way to say that it looks for one
    return [] if searched else [pinned_index(GID_VARIABLE, text, place)]
