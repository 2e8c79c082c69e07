"""Checks cluster files and locks on their own."""

from __future__ import annotations

from collections.abc import Iterator

from rcc.cluster.keys import LANGUAGE
from rcc.cluster.model import ClusterFile
from rcc.cluster.read import cluster_of
from rcc.diagnostic import Finding, Findings, enough, first_ones
from rcc.lint import cluster_templates, environment, nccl, order, secrets
from rcc.lint.cluster import check_fabric, chosen_topology, profiles
from rcc.lint.report import sure
from rcc.lint.variables import Variables
from rcc.resolve.nodes import choose_hardware, unknown_topology
from rcc.syntax.document import Document, read_with_duplicates


def check_cluster(name: str, data: bytes) -> tuple[Document | None, Findings]:
    """Everything about a cluster file without a recipe."""
    document, found = read_with_duplicates(name, data)
    if document is None:
        return None, found
    file, more = cluster_of(document)
    found = (*found, *more)
    if file is not None:
        found = (*found, *sure((*check_names(file), *_check_range(file)), found, file.lost))
    lost = file.lost if file else frozenset[str]()
    found = (*found, *sure(first_ones(cluster_templates.check(document)), found, lost))
    for family in (
        order.check(document, LANGUAGE),
        secrets.check_secret_in_clear(document),
        _check_profiles(document),
    ):
        found = (*found, *first_ones(family))
    return document, found


def _check_profiles(document: Document) -> Iterator[Finding]:
    """The rules for environments, also where something else in the file is refused."""
    all_of_them = tuple(profiles(document))
    yield from enough(environment.check_misspelt_variable(*all_of_them))
    for variables in all_of_them:
        yield from environment.check_values(variables)
        yield from nccl.check(variables)


def _check_range(file: ClusterFile) -> Iterator[Finding]:
    topology = chosen_topology(file.cluster)
    document = file.document
    if topology is not None and document is not None:
        variables = Variables(file.cluster.nccl[topology], lambda _: document)
        yield from check_fabric(file, variables, len(file.cluster.nodes))


def check_names(file: ClusterFile) -> Iterator[Finding]:
    """RCC904 and RCC907, the resolver's own findings: the topology and the hardware that the file itself names."""
    topology = file.cluster.topology
    if topology is not None and topology not in file.cluster.nccl:
        yield unknown_topology(topology, file, file.place(("topology",)))
    yield from choose_hardware(file)[1]
