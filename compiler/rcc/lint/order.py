"""Table order: TOML gives every key to the table opened last, whatever its author had in mind."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from rcc.diagnostic import Finding, Findings, Label, enough, finding
from rcc.quick import replace
from rcc.recipe.refusal import captor_of
from rcc.recipe.shape import Language, dotted
from rcc.source import Path, Place, Span
from rcc.syntax.document import Document

# Top-level keys that nobody takes notes under.
_STRUCTURAL = frozenset(
    (
        *(
            "args",
            "docker_image",
            "engine",
            "model",
            "entrypoint",
            "extends",
            "ipc",
            "port",
            "rendezvous_port",
            "secrets",
        ),
        *("required_nodes", "shm_size", "data_parallel_size", "pipeline_parallel_size", "tensor_parallel_size"),
    )
)
_OF_MOUNTS = frozenset(("container", "dst", "host", "read_only", "src"))


def check(document: Document, language: Language) -> Iterator[Finding]:
    """All checks of this family that a file which can be read needs; the reader has found what it refuses."""
    if _may_be_scattered(document.source.text):
        yield from enough(check_scattered_table(document))
    if language.schema == "cluster":
        yield from check_belongs_to_last(document)
    tables = _free_tables(document.values, language)
    yield from enough(one for path, table in tables for one in check_absorbed_key(document, path, table, language))


def _may_be_scattered(text: str) -> bool:
    """A cheap look at the headers: whether one comes back after another."""
    lines = [line.lstrip(" \t") for line in text.split("\n") if "[" in line]
    roots = [line.lstrip("[ \t").partition("]")[0].partition(".")[0].strip() for line in lines if line[0] == "["]
    changes = sum(1 for before, after in pairwise(roots) if before != after)
    return bool(roots) and changes >= len(set(roots))


def check_scattered_table(document: Document) -> Iterator[Finding]:
    """RCC106: siblings that stand apart are read apart, and the next change is made to one of them."""
    last: dict[str, tuple[int, Span]] = {}
    for index, (root, span) in enumerate(document.tree.headers()):
        before, sibling = last.get(root, (index - 1, span))
        if before != index - 1:
            label = Label(Place(document.source, sibling), "its sibling")
            message = f"`{root}` goes on here, far from its siblings"
            help = "move it to them; `rcc fmt` does so"
            yield finding("RCC106", message, Place(document.source, span), labels=[label], help=help)
        last[root] = (index, span)


def check_belongs_to_last(document: Document) -> Iterator[Finding]:
    """RCC104: `[nodes.env]` is the last node's, not every node's."""
    nodes = document.values.get("nodes")
    if not isinstance(nodes, list) or len(nodes) < 2:
        return
    others = {key for one in nodes[:-1] if isinstance(one, dict) for key in one}
    for key, value in nodes[-1].items() if isinstance(nodes[-1], dict) else ():
        if isinstance(value, dict) and key not in others:
            path = ("nodes", len(nodes) - 1)
            place = document.place((*path, key))
            if not document.source.text.startswith("[", place.span.start):
                continue
            label = Label(document.place(path), "to this node")
            name = nodes[-1].get("name")
            message = f"`[nodes.{key}]` belongs to the last node, `{name}`, alone"
            help = "write it under each node that it is for, or silence this with a comment that says why"
            yield finding("RCC104", message, place, labels=[label], help=help)


def _free_tables(values: dict[str, Any], language: Language) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Tables whose keys the author chooses, so that the reader takes a captured key for one of them."""
    for pattern in language.free:
        yield from _matching(values, pattern, ())
    if language.schema == "recipe":
        yield from _inner(values.get("measured"), ("measured",))
        return
    nodes = values.get("nodes")
    if isinstance(nodes, list) and nodes and isinstance(nodes[-1], dict):
        yield ("nodes", len(nodes) - 1), nodes[-1]


def _matching(value: Any, pattern: tuple[str | None, ...], path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The tables at the paths that a pattern stands for."""
    if not pattern:
        if isinstance(value, dict):
            yield path, value
    elif isinstance(value, list):
        for index, one in enumerate(value if pattern[0] is None else ()):
            yield from _matching(one, pattern[1:], (*path, index))
    elif isinstance(value, dict):
        for name in value if pattern[0] is None else {pattern[0]} & value.keys():
            yield from _matching(value[name], pattern[1:], (*path, name))


def _inner(table: Any, path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The tables in a table, at every depth."""
    for name, value in table.items() if isinstance(table, dict) else ():
        if isinstance(value, dict):
            yield (*path, name), value
            yield from _inner(value, (*path, name))


def check_absorbed_key(document: Document, path: Path, table: dict[str, Any], language: Language) -> Iterator[Finding]:
    """RCC108: nothing is wrong with the key where it stands, except that it means something else there."""
    for name in table:
        if not name.islower():
            continue  # as the names of nearly all variables: no known key is written so
        owner = _meant_owner(document, path, name, language)
        if owner is not None:
            place = document.place((*path, name), "key")
            captor = captor_of(document, (*path, name))
            message = f"`{name}` is taken for a key of `{dotted(path)}`"
            help = f"if it is not meant so, {f'move it under `{owner}`' if owner else captor.help}"
            yield finding("RCC108", message, place, labels=captor.labels, help=help)


def _meant_owner(document: Document, path: Path, name: str, language: Language) -> str | None:
    """Which other table a key may have been meant for: empty for the top level, None where there is no doubt."""
    missing_at_top = name in language.keys and name not in document.values
    if language.schema == "cluster":
        if isinstance(path[-1], int):
            others = document.values["nodes"][:-1]
            alone = others and not any(isinstance(one, dict) and name in one for one in others)
            return "" if missing_at_top and alone and name == "hf_cache" else None
        if missing_at_top and name != "name":
            return ""
        of_node = name in language.tables["nodes"] and (path[0] == "nccl" or path[-1] == "env")
        return "nodes" if of_node and path[0] != "hardware" else None
    if path == ("env",):
        owners = (one for one, keys in language.tables.items() if name in keys and one in document.values)
        return next(owners, "extra_mounts" if name in _OF_MOUNTS else None)
    return "" if missing_at_top and name in _STRUCTURAL else None


def renamed(findings: Findings) -> Findings:
    """Duplicates that are really slips of table order get the code that explains them."""
    return tuple(_renamed(one) if one.code == "RCC004" and one.labels else one for one in findings)


def _renamed(one: Finding) -> Finding:
    assert one.place
    here, there = (_line(place) for place in (one.place, one.labels[0].place))
    code = "RCC004"
    if here.startswith("[[") and there.startswith("[") and not there.startswith("[["):
        code = "RCC105" if "." in there.partition("]")[0] else "RCC103"
    elif here.startswith("[") and not here.startswith("[[") and there.startswith("[["):
        code = "RCC103"
    elif here.startswith("[") != there.startswith("[") and "=" in (here if there.startswith("[") else there):
        with_dots = there if here.startswith("[") else here
        code = "RCC107" if "." in with_dots.partition("=")[0] else "RCC004"
    help = _HELPS.get(code, one.help)
    return replace(one, code=code, help=help)


_HELPS = {
    "RCC103": "write double brackets in both places",
    "RCC105": "move the sub-table below the `[[…]]` header that it belongs to",
    "RCC107": "write the dotted keys under the header, without the table's name",
}


def _line(place: Place) -> str:
    return place.source.line(place.line_column[0]).strip()
