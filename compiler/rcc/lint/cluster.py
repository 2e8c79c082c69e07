"""A recipe and its cluster together, and a cluster file on its own."""

from __future__ import annotations

from collections.abc import Iterator

from rcc.cluster.model import Cluster, ClusterFile
from rcc.diagnostic import Finding, Label, Severity, finding
from rcc.lint.context import Context
from rcc.lint.nccl import dead_variables
from rcc.lint.nccl_table import number_of
from rcc.lint.variables import Variables
from rcc.recipe.model import Raw
from rcc.recipe.size import shown_size
from rcc.syntax.document import Document

_NODE_PORTS = range(30000, 32768)


def check(context: Context) -> Iterator[Finding]:
    """What only a recipe with a cluster shows."""
    assert context.cluster is not None
    yield from check_profile(context)
    yield from check_node_port_range(context)
    yield from check_memory_over_node(context)
    yield from check_fabric(context.cluster, context.variables, context.recipe.required_nodes)


def check_profile(context: Context) -> Iterator[Finding]:
    """RCC403 and RCC404: the recipe's environment against the cluster's profile."""
    own = Variables(context.recipe.env, context.file.layers.origin)
    for name, text in own.known():
        below = context.profile.text(name)
        if below is None:
            continue
        label = Label(context.profile.place(name, "key"), "the profile's value")
        place = own.place(name, "key")
        if below == text:
            message = f"`{name}` repeats the cluster's profile"
            yield finding("RCC404", message, place, labels=[label], help="remove it, unless other clusters need it")
        else:
            message = f"`{name}` is `{text}` here and `{below}` in the cluster's profile: the recipe wins"
            yield finding("RCC403", message, place, labels=[label])


def check_node_port_range(context: Context) -> Iterator[Finding]:
    """RCC914: containers have the host's network, so a service of Kubernetes and the API may want one port."""
    assert context.cluster is not None
    port = context.recipe.port
    if port in _NODE_PORTS:
        on_k8s = context.cluster.document is not None and "k8s" in context.cluster.document.values
        message = f"port {port} is one that Kubernetes gives to services of type NodePort"
        help = "choose one outside 30000 to 32767 where the nodes are a Kubernetes cluster's too"
        severity = Severity.WARNING if on_k8s else Severity.INFO
        yield finding("RCC914", message, context.place("port"), help=help, severity=severity)


def check_memory_over_node(context: Context) -> Iterator[Finding]:
    """RCC916: a limit that no process reaches limits nothing, and shared memory is a part of it."""
    assert context.cluster is not None
    from rcc.resolve.nodes import choose_hardware

    hardware, _ = choose_hardware(context.cluster)
    for key in ("memory", "shm_size"):
        wanted: int | None = getattr(context.recipe, key)
        for node in context.cluster.cluster.nodes[: context.recipe.required_nodes]:
            has = node.memory or (hardware.memory if hardware else None)
            if wanted and has and wanted > has:
                message = f"node `{node.name}` has {shown_size(has)}, and `{key}` is {shown_size(wanted)}"
                yield finding("RCC916", message, context.place(key), help="stay under what the node has")
                break


def check_fabric(cluster: ClusterFile, variables: Variables, required: int) -> Iterator[Finding]:
    """RCC912 and RCC913: fabric addresses, the range that NCCL searches, and the length of its subnets."""
    text = variables.text("NCCL_IB_ADDR_RANGE")
    if not text or "/" not in text:
        return
    from ipaddress import ip_address, ip_network  # too slow for every run

    try:
        network = ip_network(text, strict=False)
    except ValueError:
        return
    dead = "NCCL_IB_SUBNET_PREFIX_LEN" in dead_variables(variables)
    length = None if dead else number_of(variables.text("NCCL_IB_SUBNET_PREFIX_LEN"))
    if length is not None and 1 <= length <= 32 and length < network.prefixlen:
        label = Label(variables.place("NCCL_IB_ADDR_RANGE"), "the range")
        message = f"subnets of {length} bits are larger than the range `{text}`"
        place = variables.place("NCCL_IB_SUBNET_PREFIX_LEN")
        yield finding("RCC913", message, place, labels=[label], help=f"write {network.prefixlen}")
    for index, node in enumerate(cluster.cluster.nodes[:required]):
        try:
            outside = node.fabric is not None and ip_address(node.fabric) not in network
        except ValueError:
            continue
        if outside:
            label = Label(variables.place("NCCL_IB_ADDR_RANGE"), "the range that NCCL searches")
            message = f"the fabric address of `{node.name}` is not in `{text}`"
            help = "correct one of the two: NCCL finds no address of this node"
            yield finding("RCC912", message, cluster.place(("nodes", index, "fabric")), labels=[label], help=help)


def profiles(document: Document) -> Iterator[Variables]:
    """Every profile of a cluster file, as far as it is one."""
    tables = document.values.get("nccl")
    for name, table in tables.items() if isinstance(tables, dict) else ():
        if isinstance(table, dict):
            raws = {key: Raw(one, ("nccl", name, key)) for key, one in table.items() if isinstance(one, str)}
            yield Variables(raws, lambda _: document)


def chosen_topology(cluster: Cluster, stated: str | None = None) -> str | None:
    """The profile that applies where the recipe states the given one, or none; None where there is no such profile."""
    name = stated or cluster.topology or (next(iter(cluster.nccl)) if len(cluster.nccl) == 1 else None)
    return name if name in cluster.nccl else None
