"""Templates that cannot say a value by accident: what is rendered must come out of an encoding filter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket

from rcc.own_cache import own_cache


class Encoded(str):
    """A text as its format writes it. Only encoders make one."""

    __slots__ = ()


Encoder = Callable[..., Encoded]


class BareValueError(Exception):
    """A template renders a value that no encoder has seen: a bug in the template."""


class _Compiled(FileSystemBytecodeCache):
    """Compiled templates in the user's own cache; where they cannot be kept, they are compiled each time."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().dump_bytecode(bucket)


def environment(folder: Path, encoders: Mapping[str, Encoder]) -> Environment:
    """A Jinja environment for the templates in `folder`, with the encoders of their format as filters.

    The filter `encoded` is for what code has encoded already.
    """
    cache = own_cache()
    made = Environment(
        bytecode_cache=_Compiled(str(cache)) if cache else None,
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        finalize=_encoded,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - the formats are shell, YAML and unit files; `finalize` holds the line
    )
    made.filters.update(encoders, encoded=_encoded)
    return made


def _encoded(value: Any) -> Encoded:
    if not isinstance(value, Encoded):
        raise BareValueError(f"a template renders {type(value).__name__} without an encoding filter")
    return value
