"""One rank's environment: six layers, the higher one wins, and every value knows what it overrode."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from rcc.cluster.model import ClusterFile, Hardware, Node
from rcc.diagnostic import Finding, Label, Severity, finding
from rcc.engines.model import Engine
from rcc.recipe.gid_index import GID_VARIABLE, pinned_index
from rcc.recipe.model import Raw, RecipeFile
from rcc.resolve.fill import Filler
from rcc.resolve.model import EnvValue, Origin, ResolvedRank
from rcc.source import Path, Place
from rcc.syntax.template import has_template

Layer = Sequence[tuple[EnvValue, Raw | None]]
"""What one table sets: each variable with the value that it has on every rank, or else the text that a rank fills."""


class Environment:
    """The layers of one rank, laid one over the other in the order of the calls."""

    def __init__(self) -> None:
        self.values: dict[str, EnvValue] = {}

    def lay(self, value: EnvValue) -> EnvValue | None:
        """Sets a variable; answers what it overrode."""
        below = self.values.get(value.name)
        if below is not None:
            overrode = (*below.overrode, (below.value, below.origin))
            value = EnvValue(value.name, value.value, value.late, value.origin, overrode)
        self.values[value.name] = value
        return below

    def lay_all(self, layer: Layer, filler: Filler) -> None:
        """Lays a table's variables, those with templates as the rank fills them."""
        for value, raw in layer:
            self.lay(value if raw is None else _filled(value, raw, filler))

    def lay_plain(self, values: Mapping[str, str], what: str) -> None:
        """Lays a layer that stands in no file of the user's."""
        for name, value in values.items():
            self.lay(EnvValue(name, value, None, Origin(what)))

    def get(self, name: str) -> str:
        """A variable's value, empty where it is not set."""
        return self.values[name].value if name in self.values else ""

    def in_order(self) -> tuple[EnvValue, ...]:
        """All variables, by name."""
        return tuple(self.values[name] for name in sorted(self.values))


def layers_of_all(
    file: RecipeFile, cluster: ClusterFile, hardware: Hardware, profile: tuple[str | None, Mapping[str, Raw]]
) -> tuple[Layer, Layer, Layer]:
    """The layers that the ranks have in common, made once for all of them: hardware, NCCL profile, recipe."""
    topology, variables = profile
    what = f'[nccl."{topology}"] of the cluster file'
    return (
        [(EnvValue(name, one, None, profile_origin(cluster, "env", name)), None) for name, one in hardware.env.items()],
        _layer(variables, what, partial(cluster.place, part="key")),
        _layer(file.recipe.env, "[env] of the recipe", partial(file.place, part="key")),
    )


def _layer(raws: Mapping[str, Raw], what: str, place: Callable[[Path], Place | None]) -> Layer:
    return [
        (
            EnvValue(name, raw.text, None, Origin(what, partial(place, raw.path))),
            raw if has_template(raw.text) else None,
        )
        for name, raw in raws.items()
    ]


def _filled(value: EnvValue, raw: Raw, filler: Filler) -> EnvValue:
    late = filler.late_name(raw)
    return EnvValue(value.name, "" if late else filler.fill(raw), late, value.origin)


def lay_node(
    environment: Environment, file: RecipeFile, cluster: ClusterFile, node: Node, filler: Filler
) -> list[Finding]:
    """The layer of a node's own variables."""
    found = []
    for value, raw in _layer(node.env, f"env of node `{node.name}`", partial(cluster.place, part="key")):
        below = environment.lay(value if raw is None else _filled(value, raw, filler))
        name, text = value.name, environment.get(value.name)
        if below is not None and name in file.recipe.env and below.value != text:
            earlier = Label(file.place(("env", name), "key"), f"the recipe says `{below.value}`")
            message = f"node `{node.name}` changes `{name}` of the recipe to `{text}`"
            help = "remove one of the two, or keep both if the node really differs"
            found.append(finding("RCC402", message, value.origin.find(), labels=[earlier], help=help))
    return found


def profile_origin(cluster: ClusterFile, *path: str) -> Origin:
    """The origin of what the hardware profile says, which has a place where it is one of the cluster file's own."""
    name = cluster.cluster.hardware or "cpu"
    own = name in cluster.cluster.profiles
    return Origin(
        f"hardware profile `{name}`", partial(cluster.place, ("hardware", name, *path), "key") if own else lambda: None
    )


def lay_rank(
    environment: Environment, engine: Engine, rank: int, nnodes: int, cluster: ClusterFile, node: Node
) -> None:
    """The highest layer: what the compiler sets per rank, the GID index apart."""
    environment.lay_plain({"NODE_RANK": str(rank), "NNODES": str(nnodes)}, "the compiler, for each rank")
    address = node.meeting_address
    if nnodes > 1 and engine.address_variable and address:
        origin = _node_origin(cluster, node, "fabric" if node.fabric else "host")
        environment.lay(EnvValue(engine.address_variable, address, None, origin))


def lay_gid(environment: Environment, gid_index: str | int, cluster: ClusterFile, node: Node) -> None:
    """The GID index: a number that the cluster file states; one that is found at start must find its place empty."""
    if gid_index == "auto":
        environment.values.pop(GID_VARIABLE, None)
    elif gid_index != "nccl":
        environment.lay(EnvValue(GID_VARIABLE, str(gid_index), None, _node_origin(cluster, node, "gid_index")))


def _node_origin(cluster: ClusterFile, node: Node, key: str) -> Origin:
    return Origin(f"`{key}` of node `{node.name}`", partial(cluster.node_place, node, key, part="key"))


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
    of_nodes = [(("nodes", rank.node.index, "env"), rank.node.env, [rank]) for rank in ranks]
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
