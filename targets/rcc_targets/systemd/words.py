"""Text as unit files take it.

systemd joins lines, splits and unquotes words, fills `%` specifiers, and replaces `$` variables when it starts the
program; so quotes protect neither `%` nor `$` (systemd.syntax(7), systemd.service(5); version 252 was tried).
"""

from __future__ import annotations

import re

_SHORT = {"\\": "\\\\", '"': '\\"', "%": "%%", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def word(text: str) -> str:
    """A word of an Exec line."""
    return _quoted(text, dollar="$$")


def path_word(text: str) -> str:
    """A word of a line that knows no variables, as RequiresMountsFor= and LoadCredential=."""
    return _quoted(text, dollar="$")


def line(text: str) -> str:
    """The rest of a line as it stands, as Description= and AssertPathExists= take it; see `fits_line`."""
    return text.replace("%", "%%")


def fits_line(text: str) -> bool:
    """Whether a line that knows no quotes can hold the text."""
    return text == text.strip() and not text.endswith("\\") and not any(map(_escaped, text))


def _quoted(text: str, dollar: str) -> str:
    return '"' + "".join(_piece(character, dollar) for character in text) + '"'


def _piece(character: str, dollar: str) -> str:
    if character == "$":
        return dollar
    if character in _SHORT:
        return _SHORT[character]
    return "".join(f"\\x{byte:02x}" for byte in character.encode()) if _escaped(character) else character


def _escaped(character: str) -> bool:
    """Control characters, and what Unicode calls no character, which systemd refuses to read."""
    return character < " " or character == "\x7f" or _is_no_character(ord(character))


def _is_no_character(code: int) -> bool:
    return 0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE
