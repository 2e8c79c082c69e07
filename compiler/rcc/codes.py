"""The table of codes. A code is never used again for something else."""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """A code's kebab-case name, its usual severity and what it is about in one line."""

    name: str
    severity: str
    title: str


_TABLE = """
RCC001 not-utf8 error the file is not UTF-8 text
RCC002 byte-order-mark warning the file starts with a byte order mark
RCC003 invalid-toml error the file is not valid TOML
RCC004 duplicate-key error a key is defined twice
RCC005 file-too-large error the file is larger than rcc reads
RCC006 nesting-too-deep error arrays, tables or a dotted key are nested too deep
RCC007 unreadable-file error the file cannot be read
"""


def _parse(table: str) -> dict[str, Code]:
    codes = {}
    for line in table.strip().splitlines():
        code, name, severity, title = line.split(" ", 3)
        codes[code] = Code(name, severity, title)
    return codes


CODES = _parse(_TABLE)
