"""Encoders of compose files: YAML that every reader reads alike, and no text that compose would fill in."""

from __future__ import annotations

from collections.abc import Iterable

from rcc_targets.common.encode import yaml, yaml_key
from rcc_targets.common.render import Encoded


def value(given: object) -> Encoded:
    """A value. Every dollar is doubled: compose replaces `$NAME` in values, whatever their quotes."""
    return yaml(given.replace("$", "$$")) if isinstance(given, str) else yaml(given)


def key(name: str) -> Encoded:
    """A key. Compose replaces nothing there."""
    return yaml_key(name)


def values(given: Iterable[object]) -> Encoded:
    """A list on one line."""
    return Encoded("[" + ", ".join(value(one) for one in given) + "]")
