"""What NCCL makes of the text of a variable."""

from __future__ import annotations

import os
import re
from functools import cache

PREFIX = "NCCL_"
_DATA = os.path.join(os.path.dirname(__file__), "data", "nccl.variables")
_NUMBER = r"\s*([+-]?)(?:0[xX]([0-9a-fA-F]+)|0([0-7]*)|([1-9][0-9]*))"
_PLAIN = r"-?(?:0|[1-9][0-9]*|0[xX][0-9a-fA-F]+)"
_BITS = 63
_DIGITS = 18


@cache
def nccl_variables() -> dict[str, tuple[str, ...]]:
    """What NCCL reads, by name: `("number",)`, `("text",)`, or `("of", …)` and `("level", …)` with what it knows."""
    with open(_DATA, encoding="utf-8") as file:
        lines = file.read().splitlines()[1:]
    return {PREFIX + name: tuple(kind) for name, *kind in (line.split() for line in lines)}


def is_number(text: str) -> bool:
    """Whether a text is a number to people and to NCCL alike."""
    if text.isascii() and text.isdigit() and (text[0] != "0" or text == "0") and len(text) < _DIGITS:
        return True
    return re.fullmatch(_PLAIN, text.strip()) is not None and abs(read_number(text)) >> _BITS == 0


def read_number(text: str) -> int:
    """The number that `strtoll(text, 0, 0)` reads: as far as the text is one, else 0; `0…` is octal."""
    match = re.match(_NUMBER, text)
    if match is None:
        return 0
    sign, hexadecimal, octal, decimal = match.groups()
    number = int(hexadecimal, 16) if hexadecimal else int(octal or "0", 8) if octal is not None else int(decimal)
    return -number if sign == "-" else number


def number_of(text: str | None) -> int | None:
    """The number that NCCL reads; None where the variable is not set, empty or not known."""
    return read_number(text) if text else None
