"""The reference pages of the file formats, made from their JSON Schemas: one table of keys a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import rcc_schema

Schema = dict[str, Any]

FORMATS = ("cluster", "manifest", "plan", "recipe")
"""Those that people look up key by key; the lock's page tells its shape in words."""


def pages() -> dict[str, str]:
    """The pages by their path from the repository's root."""
    return {f"docs/reference/{name}.md": page(rcc_schema.load(name)) for name in FORMATS}


def page(schema: Schema) -> str:
    """One format's page."""
    lines = [f"# {schema['title']}", "", schema["description"], ""]
    lines += ["<!-- Made by `make docs` from the JSON Schema; do not edit. -->", ""]
    lines += _table("", schema, schema.get("definitions", {}))
    return "\n".join(lines).rstrip() + "\n"


def _table(path: str, schema: Schema, definitions: Schema) -> Iterator[str]:
    """The keys of a table, then each table below it."""
    required = schema.get("required", [])
    in_the_end = schema.get("then", {}).get("required", [])
    properties = schema.get("properties", {})
    if path and properties:
        yield from (f"## `{path}`", "")
    if properties:
        yield from ("| key | type | meaning |", "| --- | --- | --- |")
    below: list[tuple[str, Schema]] = []
    for name, one in properties.items():
        kind, inner = _kind(one, definitions)
        default = f" Default: `{_shown(one['default'])}`." if "default" in one else ""
        needed = ", required" if name in required else ", required here or in a base" if name in in_the_end else ""
        text = one.get("description", "").replace("|", "\\|").replace("\n", " ")
        yield f"| `{name}` | {kind}{needed} | {text}{default} |"
        if inner:
            below.append((f"{path}.{name}" if path else name, inner))
    if properties:
        yield ""
    _, named = _kind(schema.get("additionalProperties") or {}, definitions)
    if named:
        below.append((f"{path}.<name>", named))
    for where, inner in below:
        yield from _table(where, inner, definitions)


_FEW = 10
"""So many values are told one by one."""


def _kind(schema: Schema, definitions: Schema) -> tuple[str, Schema | None]:
    """What a value is, in words, and the table of keys inside it, if it has one."""
    schema = _resolved(schema, definitions)
    if "enum" in schema:
        if len(schema["enum"]) > _FEW:
            return "string", None  # a reader knows, or asks an editor
        return " or ".join(f"`{_shown(one)}`" for one in schema["enum"]), None
    choices: list[Schema] = schema.get("anyOf") or schema.get("oneOf") or []
    if choices:
        kinds = [_kind(one, definitions) for one in choices]
        return " or ".join(dict.fromkeys(kind for kind, _ in kinds)), next((one for _, one in kinds if one), None)
    if schema.get("type") == "array":
        kind, inner = _kind(schema.get("items", {}), definitions)
        return ("array of tables" if inner else f"array of {kind}"), inner
    if schema.get("type") == "object":
        if schema.get("properties"):
            return "table", schema
        kind, inner = _kind(schema.get("additionalProperties") or {}, definitions)
        return f"table of {kind}", schema if inner else None
    return _plain(schema.get("type")), None


def _plain(kind: Any) -> str:
    if isinstance(kind, list):
        return " or ".join("null" if one == "null" else str(one) for one in kind)
    return str(kind or "any")


def _resolved(schema: Schema, definitions: Schema) -> Schema:
    """The schema that a reference names."""
    parts = schema.get("allOf", [schema])
    if len(parts) == 1 and "$ref" in parts[0]:
        return _resolved(definitions[parts[0]["$ref"].rpartition("/")[2]], definitions)
    return schema


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
