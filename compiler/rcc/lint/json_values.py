"""JSON that stands in arguments."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rcc.diagnostic import Finding, finding
from rcc.engines.flags import Value
from rcc.lint.context import Context


def check_json(context: Context, value: Value) -> Iterator[Finding]:
    """RCC508 and RCC509: no JSON, or JSON in quotes that no shell is there to remove."""
    text = value.text
    if text[:1] in "'\"" and text[-1:] == text[:1] and len(text) > 1:
        inner = _unquoted(text)
        if inner is not None:
            place = context.inside(("args", value.index), value.offset, value.offset + 1)
            message = "the quotes are part of the value, so the engine gets a string and no JSON"
            yield finding("RCC509", message, place, help=f"no shell reads this: write `{inner[:60]}` itself")
            return
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        start = value.offset + min(error.pos, max(len(text) - 1, 0))
        place = context.inside(("args", value.index), start, start + 1)
        message = f"the value is no JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        yield finding("RCC508", message, place, help=_help(text))
    except (RecursionError, ValueError):
        place = context.inside(("args", value.index), value.offset, value.offset + 1)
        yield finding("RCC508", "the value is no JSON that a parser takes", place)


def _unquoted(text: str) -> str | None:
    """What stands in the quotes, where it is JSON."""
    inner = text[1:-1]
    if text[0] == '"':
        decoded = _parsed(text)
        inner = decoded if isinstance(decoded, str) else inner
    return inner if isinstance(_parsed(inner), dict | list) else None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _help(text: str) -> str | None:
    if "'" in text and '"' not in text:
        return "JSON puts names and texts in double quotes; in TOML, put the whole value in single quotes"
    if any(word in text for word in ("True", "False", "None")):
        return "JSON writes `true`, `false` and `null`"
    return None
