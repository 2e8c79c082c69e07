"""Text as unit files take it.

systemd joins lines, splits and unquotes words, fills `%` specifiers, and replaces `$` variables when it starts the
program; so quotes protect neither `%` nor `$` (systemd.syntax(7), systemd.service(5); version 252 was tried).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from posixpath import dirname

from rcc_targets.common.encode import csv_field
from rcc_targets.common.render import Encoded

HOME = "%h"
"""The specifier for the home of who runs the manager: of root, for units of the system."""

# Control characters, and what Unicode calls no character, which systemd refuses to read.
_NO_CHARACTERS = "\ufdd0-\ufdef" + "".join(
    chr(plane + last) for plane in range(0, 0x110000, 0x10000) for last in (0xFFFE, 0xFFFF)
)
_UNSAYABLE = re.compile(f"[\x00-\x1f\x7f{_NO_CHARACTERS}]")
_SPECIAL = re.compile(f'[\x00-\x1f\x7f"\\\\%${_NO_CHARACTERS}]')
_SHORT = {"\\": "\\\\", '"': '\\"', "%": "%%", "$": "$$", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def word(text: str) -> Encoded:
    """A word of an Exec line."""
    return Encoded(f'"{_escaped(text)}"')


def all_words(texts: Iterable[str]) -> Encoded:
    """Words of an Exec line."""
    return Encoded(" ".join(map(word, texts)))


def home_word(path: str) -> Encoded:
    """A path as such a word; `~/` is the home of who runs the manager."""
    return Encoded(f'"{HOME}{_escaped(path[1:])}"') if path.startswith("~/") else word(path)


def mount_word(source: str, target: str, read_only: bool) -> Encoded:
    """A bind mount as docker's `--mount` reads it: one CSV record. The source may start with `~/` or a specifier."""
    end = "," + csv_field(f"target={target}") + (",readonly" if read_only else "")
    known, _, rest = source.partition("/")
    if known in ("~", "%t"):
        # What the specifier stands for is not known here, so that its field is quoted whatever it holds.
        before, after = 'type=bind,"source=', rest.replace('"', '""') + '"' + end
        folder = HOME if known == "~" else known
        return Encoded(f'"{_escaped(before)}{folder}/{_escaped(after)}"')
    return word("type=bind," + csv_field(f"source={source}") + end)


def path_word(path: str) -> Encoded:
    """A path among the words of RequiresMountsFor=, which knows no variables and no escape but the backslash's own.

    A path that cannot be said there gives way to the nearest folder above it that can.
    """
    while _UNSAYABLE.search(path):
        path = dirname(path)
    start, rest = (HOME, path[1:]) if path.startswith("~/") else ("", path)
    return Encoded('"' + start + rest.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%") + '"')


def line(value: object) -> Encoded:
    """The rest of a line that knows no quotes, as of Description=; what it cannot say becomes a blank."""
    kept = _UNSAYABLE.sub(" ", str(value))
    return Encoded(" ".join(kept.split()).rstrip("\\").replace("%", "%%"))


def list_of_units(names: Iterable[str]) -> Encoded:
    """Names of units, which need no quotes: they hold an id and what we call them."""
    return line(" ".join(names))


def fits_line(text: str) -> bool:
    """Whether `line` says the text as it is."""
    return line(text).replace("%%", "%") == text


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda found: _SHORT.get(found[0]) or _hex(found[0]), text)


def _hex(character: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in character.encode())
