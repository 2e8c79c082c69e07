"""Encoders of the formats that several targets write. Each has one style, whatever the value looks like."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rcc_targets.common.render import Encoded

SHORT_NUMBER = 10
_PLAIN_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_REFERENCE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|\$[A-Za-z_][A-Za-z0-9_]*|\$\{[A-Za-z_][A-Za-z0-9_]*-\}")
_WORDS_OF_YAML = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_YAML_SPECIAL = re.compile(r"[^ !#-\[\]-~]")
_YAML_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def sh(value: object) -> Encoded:
    """One word of a POSIX shell, in single quotes."""
    return Encoded("'" + str(value).replace("'", "'\\''") + "'")


def sh_words(values: Iterable[object]) -> Encoded:
    """Several words in one, with blanks between: for a shell's `for`."""
    return sh(" ".join(map(str, values)))


def identifier(text: str) -> Encoded:
    """A variable's name, or a reference to it, where a shell takes no quotes."""
    if not _REFERENCE.fullmatch(text):
        raise ValueError(f"`{text}` is no name that a shell knows")
    return Encoded(text)


def comment(value: object) -> Encoded:
    """A text in a comment of one line: what is not printable ASCII is a question mark."""
    return Encoded(re.sub(r"[^ -~]", "?", str(value)))


def csv_field(value: str) -> str:
    """A field of docker's `--mount`, which reads one CSV record."""
    return '"' + value.replace('"', '""') + '"' if re.search(r'[",\r\n]', value) else value


def yaml(value: object) -> Encoded:
    """A YAML scalar that every reader reads alike: double-quoted ASCII on one line, a short number, a boolean."""
    if isinstance(value, bool):
        return Encoded("true" if value else "false")
    if isinstance(value, int) and len(str(abs(value))) <= SHORT_NUMBER:
        return Encoded(str(value))
    return Encoded('"' + _YAML_SPECIAL.sub(lambda found: _yaml_character(found[0]), str(value)) + '"')


def yaml_key(value: str) -> Encoded:
    """A YAML key: a plain word as it is, all else double-quoted."""
    if _PLAIN_KEY.fullmatch(value) and value.lower() not in _WORDS_OF_YAML:
        return Encoded(value)
    return yaml(value)


def _yaml_character(character: str) -> str:
    code = ord(character)
    if character in _YAML_ESCAPES:
        return _YAML_ESCAPES[character]
    if code < 0x100:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"
