"""Encoders of manifests: what the kubelet expands, and nested values as indented lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rcc_targets.common.encode import yaml, yaml_key
from rcc_targets.common.render import Encoded


def literal(text: str) -> str:
    """A text that the kubelet's `$(NAME)` expansion gives back as it is: it halves every doubled dollar."""
    return text.replace("$", "$$")


def block(value: Any, indent: int) -> Encoded:
    """A mapping or list as YAML lines, each `indent` blanks in; scalars as `yaml` writes them."""
    return Encoded("\n".join(" " * indent + line for line in _lines(value)))


def _lines(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _entry(f"{yaml_key(key)}:", item)
    else:
        for item in value:
            yield from _item(item)


def _entry(key: str, value: Any) -> Iterator[str]:
    if not _nested(value):
        yield f"{key} {yaml(value)}"
    elif not value:
        yield f"{key} {'{}' if isinstance(value, Mapping) else '[]'}"
    else:
        yield key
        yield from (f"  {line}" for line in _lines(value))


def _item(value: Any) -> Iterator[str]:
    if not _nested(value):
        yield f"- {yaml(value)}"
        return
    for number, line in enumerate(_lines(value)):
        yield f"{'  ' if number else '- '}{line}"


def _nested(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, Sequence) and not isinstance(value, str))
