"""Reads a cluster file to a typed, checked model."""

from __future__ import annotations

from collections.abc import Iterator

from rcc.cluster.keys import CLUSTER_SHAPE, LANGUAGE
from rcc.cluster.model import Cluster, ClusterFile, Node
from rcc.diagnostic import MOST, Finding, Findings, Label, finding, first_ones, has_errors, in_order
from rcc.recipe.refusal import outside, refused
from rcc.recipe.shape import Problems
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
    """Two nodes of one name or one address: one of them would never be reached."""
    for key in ("name", "host", "fabric"):
        first: dict[str, int] = {}
        for index, node in enumerate(cluster.nodes):
            value = getattr(node, key)
            if value is None:
                continue
            if value in first:
                earlier = Label(document.place(("nodes", first[value], key)), "first used here")
                message = f"two nodes have the {_WORDS[key]} `{value}`"
                place = document.place(("nodes", index, key))
                yield finding("RCC901", message, place, labels=[earlier], help="give each node its own")
            first.setdefault(value, index)


_WORDS = {"name": "name", "host": "address", "fabric": "fabric address"}
