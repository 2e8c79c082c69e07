"""The JSON Schemas of everything that rcc reads and writes, in the vocabulary of draft 7."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent


def names() -> list[str]:
    """The formats that have a schema."""
    return sorted(path.name.removesuffix(".schema.json") for path in _FOLDER.glob("*.schema.json"))


def text(name: str) -> str:
    """A format's schema as it is published."""
    return (_FOLDER / f"{name}.schema.json").read_text("utf-8")


def load(name: str) -> dict[str, Any]:
    """A format's schema; KeyError where there is none of that name."""
    if name not in names():
        raise KeyError(name)
    schema: dict[str, Any] = json.loads(text(name))
    return schema
