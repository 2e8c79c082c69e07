"""Text of unknown origin made fit for a terminal: it shows what is there and does nothing."""

from __future__ import annotations

import unicodedata

TAB = 4


def _stand_ins() -> dict[int, str]:
    # C0 and DEL have pictures of their own; C1, which terminals obey as well, and what turns the direction of
    # reading or breaks lines is shown as the replacement character.
    pictures = {code: chr(0x2400 + code) for code in range(0x20)}
    silenced = [*range(0x80, 0xA0), 0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF]
    return {**pictures, 0x7F: "\u2421", **dict.fromkeys(silenced, "\ufffd")}


_STAND_INS = _stand_ins()


def harmless(text: str) -> str:
    """One line of text without control characters."""
    return text.translate(_STAND_INS)


def cells(text: str) -> int:
    """How many columns a line takes: wide characters two, combining ones none, a tab `TAB`."""
    return sum(_width(character) for character in text)


def shown(line: str) -> str:
    """A source line as it is shown: tabs as blanks, nothing else that a terminal acts on."""
    return harmless(line.replace("\t", " " * TAB))


def _width(character: str) -> int:
    if character == "\t":
        return TAB
    if ord(character) in _STAND_INS:
        return 1
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
