"""Text as unit files take it.

systemd joins lines, splits and unquotes words, fills `%` specifiers, and replaces `$` variables when it starts the
program; so quotes protect neither `%` nor `$` (systemd.syntax(7), systemd.service(5); version 252 was tried).
"""

from __future__ import annotations

from posixpath import dirname

_SHORT = {"\\": "\\\\", '"': '\\"', "%": "%%", "$": "$$", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def word(text: str) -> str:
    """A word of an Exec line."""
    return '"' + "".join(_SHORT.get(one) or _raw_or_hex(one) for one in text) + '"'


def path_word(path: str) -> str:
    """A path among the words of RequiresMountsFor=, which knows no variables and no escape but the backslash's own.

    A path that cannot be said there gives way to the nearest folder above it that can.
    """
    while not _sayable(path):
        path = dirname(path)
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%") + '"'


def line(text: str) -> str:
    """The rest of a line that knows no quotes, as of Description=; what it cannot say becomes a blank."""
    return " ".join("".join(one if _sayable(one) else " " for one in text).split()).rstrip("\\").replace("%", "%%")


def fits_line(text: str) -> bool:
    """Whether `line` says the text as it is."""
    return line(text).replace("%%", "%") == text


def _sayable(text: str) -> bool:
    return not any(_raw_or_hex(one) != one for one in text)


def _raw_or_hex(character: str) -> str:
    """Control characters, and what Unicode calls no character, as bytes: systemd refuses to read them."""
    code = ord(character)
    if code < 0x20 or code == 0x7F or 0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE:
        return "".join(f"\\x{byte:02x}" for byte in character.encode())
    return character
