"""Reads a cluster file to a typed, checked model."""

from __future__ import annotations

from collections.abc import Iterator

from rcc.cluster.keys import CLUSTER_SHAPE, LANGUAGE
from rcc.cluster.model import Cluster, ClusterFile, Node
from rcc.diagnostic import MOST, Finding, Findings, Label, finding, first_ones, has_errors, in_order
from rcc.recipe.refusal import outside, refused
from rcc.recipe.shape import Problems, shown
from rcc.source import Path
from rcc.syntax.document import Document, read_document


def read_cluster(name: str, data: bytes) -> tuple[ClusterFile | None, Findings]:
    """Reads a cluster file from its bytes; `name` is what messages call it."""
    document, found = read_document(name, data)
    if document is None:
        return None, found
    file, more = cluster_of(document)
    found = in_order((*found, *more))
    return (None if has_errors(found) else file), found


def cluster_of(document: Document) -> tuple[ClusterFile | None, Findings]:
    """The typed cluster of a file, once it is read; with errors what is left of it for a linter."""
    problems: Problems = []
    cluster, lost = CLUSTER_SHAPE(document.values, (), problems), frozenset[str]()
    problems = outside(document.torn, problems) if document.torn else problems
    found = refused(document, problems, LANGUAGE) if problems else ()
    if not isinstance(cluster, Cluster) and len(problems) <= MOST:
        from rcc.recipe.rest import StandIns, rest_of

        cluster, lost = rest_of(document.values, CLUSTER_SHAPE, StandIns({}, {"nodes": {"name": "*"}}))
    if not isinstance(cluster, Cluster):
        return None, found
    return ClusterFile(cluster, document, lost | document.torn), (*found, *first_ones(_duplicates(document, cluster)))


def localhost() -> ClusterFile:
    """The cluster of a recipe that needs one node and no file: this machine, without a GPU."""
    return ClusterFile(Cluster((Node("localhost", host="127.0.0.1"),), name="localhost", hardware="cpu"), None)


def _duplicates(document: Document, cluster: Cluster) -> Iterator[Finding]:
    """Two nodes of one name or one address, under whichever keys: one of them would never be reached."""
    first: dict[tuple[str, str], tuple[str | int, Path]] = {}
    for node, what, value, path in _called(cluster):
        other, earlier = first.setdefault((what, value), (node, path))
        if other != node:
            label = Label(document.place(earlier), "first used here")
            message = f"two nodes have the {what} `{shown(value)}`"
            yield finding("RCC901", message, document.place(path), labels=[label], help="give each node its own")


def _called(cluster: Cluster) -> Iterator[tuple[str | int, str, str, Path]]:
    """What tells machines apart: the node, what it is, its value in the one form that is compared, and where."""
    for index, node in enumerate(cluster.nodes):
        yield index, "name", node.name, ("nodes", index, "name")
        for key in ("host", "fabric", "ssh"):
            address: str | None = getattr(node, key)
            if address is not None:
                yield index, "address", _canonical(address), ("nodes", index, key)
    for name, node_name in cluster.k8s.node_names.items():
        yield name, "name in Kubernetes", node_name, ("k8s", "node_names", name)


def _canonical(address: str) -> str:
    """An address in the form that all ways to write it share, without ssh's user and usual port."""
    address = address.rpartition("@")[2].lower()
    if address.count(":") < 2:
        return address.removesuffix(":22")
    from ipaddress import ip_address

    try:
        return str(ip_address(address))
    except ValueError:
        return address
