"""Sizes and durations as docker reads them."""

from __future__ import annotations

import re
from functools import lru_cache

from rcc.recipe.shape import LARGEST

SIZE = r"[0-9]+(\.[0-9]+)? ?([kKmMgGtT][iI]?)?[bB]?"
DURATION = r"([0-9]+(\.[0-9]+)?(h|ms|m|s|us|µs|μs|ns))+"
MAX_DURATION = 2**31 - 1
"""Seconds that everybody who is handed a duration can count."""

_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
SECOND = 10**9
_NANOSECONDS = {
    "h": 3600 * SECOND, "m": 60 * SECOND, "s": SECOND, "ms": 10**6, "us": 1000, "µs": 1000, "μs": 1000, "ns": 1,
}  # fmt: skip
_LONGEST = 100
"""Characters of a text that is still worth counting."""
_REMEMBERED = 256
"""How many texts' meanings are kept: recipes say the same few again and again."""


@lru_cache(_REMEMBERED)
def parse_size(text: str) -> int | None:
    """Bytes, in powers of 1024; a bare number is bytes. None where the text is no size, or more than `LARGEST`."""
    if len(text) > _LONGEST or not re.fullmatch(SIZE, text):
        return None
    number = re.match(r"[0-9]+(\.[0-9]+)?", text)
    assert number
    unit = text[number.end() :].strip().lower().removesuffix("b").removesuffix("i")
    whole, _, fraction = number[0].partition(".")
    size = (int(whole + fraction) << 10 * _UNITS[unit]) // 10 ** len(fraction)
    return size if size <= LARGEST else None


@lru_cache(_REMEMBERED)
def nanoseconds(text: str) -> int | None:
    """A duration such as `90s`, `1h30m` or `1500ms`, read as docker does. None for anything else."""
    if len(text) > _LONGEST or not re.fullmatch(DURATION, text):
        return None
    total = 0
    for whole, fraction, unit in re.findall(r"([0-9]+)(?:\.([0-9]+))?([a-zµμ]+)", text):
        total += int(whole + fraction) * _NANOSECONDS[unit] // 10 ** len(fraction)
    return total


def parse_duration(text: str) -> int | None:
    """Whole seconds. None for what is no duration, has a part of a second, or is more than `MAX_DURATION`."""
    total = nanoseconds(text)
    return None if total is None or total % SECOND or total // SECOND > MAX_DURATION else total // SECOND


def shown_size(size: int) -> str:
    """A size for people, in the largest unit that keeps two decimals or fewer: `47.2 GiB`."""
    for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        if size >= 1024**power:
            return f"{size / 1024**power:.1f}".removesuffix(".0") + f" {unit}"
    return f"{size} B"
