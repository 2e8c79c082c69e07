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
RCC101 captured-key error a top-level key stands under a table header, so the table has it
RCC102 misplaced-key error a key of one table stands in another
RCC103 single-brackets error a table header has single brackets where the key is an array of tables
RCC201 unknown-key error nothing reads this key
RCC202 wrong-type error a value has another type than its key takes
RCC203 out-of-range error a number or the length of an array is out of range
RCC204 missing-key error a key that must be there is missing
RCC205 invalid-value error a value is not one that its key takes
RCC206 conflicting-keys error two keys cannot stand together
RCC207 invalid-id error an id that files, units and objects cannot be called by
RCC208 extends-loop error recipes extend each other in a loop
RCC209 requires-rcc error the recipe wants another version of rcc
"""


def _parse(table: str) -> dict[str, Code]:
    codes = {}
    for line in table.strip().splitlines():
        code, name, severity, title = line.split(" ", 3)
        codes[code] = Code(name, severity, title)
    return codes


CODES = _parse(_TABLE)
