"""What NCCL makes of the text of a variable."""

from __future__ import annotations

import os
import re
from functools import cache

PREFIX = "NCCL_"
_DATA = os.path.join(os.path.dirname(__file__), "data", "nccl.variables")
_NUMBER = r"\s*([+-]?)(?:0[xX]([0-9a-fA-F]+)|0([0-7]*)|([1-9][0-9]*))"
_PLAIN = r"-?(?:0|[1-9][0-9]*|0[xX][0-9a-fA-F]+)"
_LARGEST = 2**63 - 1
_DIGITS = 18
_ENOUGH = 30


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
    return re.fullmatch(_PLAIN, text.strip()) is not None and abs(_number(text)) <= _LARGEST


def read_number(text: str) -> int:
    """What `strtoll(text, 0, 0)` reads: as far as the text is a number, else 0; `0…` is octal, too much the largest."""
    return max(-_LARGEST - 1, min(_number(text), _LARGEST))


def _number(text: str) -> int:
    """The same of any size, of which the first digits are enough to know that it is too much."""
    match = re.match(_NUMBER, text)
    if match is None:
        return 0
    sign, hexadecimal, octal, decimal = match.groups()
    digits, base = (hexadecimal, 16) if hexadecimal else (octal, 8) if octal is not None else (decimal, 10)
    number = int(digits.lstrip("0")[:_ENOUGH] or "0", base)
    return -number if sign == "-" else number


def number_of(text: str | None) -> int | None:
    """The number that NCCL reads; None where the variable is not set, empty or not known."""
    return read_number(text) if text else None
