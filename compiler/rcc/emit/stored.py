"""JSON that rcc has written and reads again: as strictly as any other file, for hands and disks change it."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from rcc.recipe.shape import Problems, Shape


def parse_stored(data: bytes) -> tuple[Any, str | None]:
    """The values of a JSON text, or why it holds none."""
    try:
        values = json.loads(data, parse_constant=_refuse)
        json.dumps(values, ensure_ascii=False).encode()  # half of a surrogate pair can be neither hashed nor shown
        return values, None
    except (ValueError, RecursionError) as error:
        return None, f"it is no JSON ({type(error).__name__})"


def typed(values: Any, shape: Shape) -> tuple[Any, str | None]:
    """What the shape makes of the values, or the first thing that does not fit."""
    problems: Problems = []
    value = shape(values, (), problems)
    return (None, problems[0].message) if problems else (value, None)


def read_stored(data: bytes, shape: Shape) -> tuple[Any, str | None]:
    """Both: a typed value, or why there is none."""
    values, why = parse_stored(data)
    return (None, why) if why else typed(values, shape)


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")
