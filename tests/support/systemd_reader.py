"""What systemd makes of a unit file: joined lines, split and unquoted words, specifiers, then variables.

The order is systemd's own, which is why quotes protect neither `%` nor `$`. What systemd would only warn about, or
would fill from a table (specifiers, variables), is a failure here.
"""

import re
from dataclasses import dataclass

from tests.support.strict_yaml import UnfaithfulError

ESCAPES = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92, '"': 34, "'": 39, "s": 32}
LONGEST_LINE = 1 << 20
BLANK = " \t\n\r"


@dataclass(frozen=True, slots=True)
class Unit:
    """(section, key, value as written) in the order of the file."""

    lines: tuple[tuple[str, str, str], ...]

    def values(self, section: str, key: str) -> list[str]:
        """Every value of a key; an empty one takes back those before it."""
        found: list[str] = []
        for at, name, value in self.lines:
            if (at, name) == (section, key):
                found = [*found, value] if value else []
        return found

    def value(self, section: str, key: str) -> str:
        (value,) = self.values(section, key)
        return value


def read_unit(text: str) -> Unit:
    """The assignments of a unit file."""
    section, lines = "", []
    for line in _logical_lines(text):
        if header := re.fullmatch(r"\[([^\[\]]+)\]", line):
            section = header[1]
            continue
        key, equals, value = line.partition("=")
        if not section or not equals or not re.fullmatch(r"[A-Za-z0-9-]+", key.rstrip()):
            raise UnfaithfulError(f"no assignment: {line[:200]!r}")
        lines.append((section, key.rstrip(), value.strip(" \t")))
    return Unit(tuple(lines))


def _logical_lines(text: str) -> list[str]:
    """Lines with continuations joined by a blank; comments, also amid a continuation, and empty lines left out."""
    if "\r" in text or "\0" in text or not text.endswith("\n"):
        raise UnfaithfulError("a carriage return, a NUL or no newline at the end")
    lines, open_line = [], ""
    for physical in text.split("\n"):
        if physical.lstrip(" \t").startswith(("#", ";")):
            continue
        whole = open_line + physical
        # An odd number of backslashes at the end: the last one joins.
        if (len(physical) - len(physical.rstrip("\\"))) % 2:
            open_line = whole[:-1] + " "
            continue
        lines.append(whole.strip(" \t"))
        open_line = ""
    if open_line or any(len(line.encode()) > LONGEST_LINE for line in lines):
        raise UnfaithfulError("the last line goes on, or a line is longer than systemd takes")
    return [line for line in lines if line]


def exec_argv(value: str) -> list[str]:
    """The argv that a value of ExecStart= and its kin starts. A prefix of `:` switches variables off."""
    prefix = re.match(r"[@:+!|-]*", value)
    assert prefix
    if set(prefix[0]) - set(":-+"):
        raise UnfaithfulError(f"a prefix that changes what is started: {prefix[0]!r}")
    words = [_specifiers(word) for word in split_words(value[prefix.end() :], lone_semicolon=False)]
    return words if ":" in prefix[0] else [words[0], *map(_variables, words[1:])]


def environment(values: list[str]) -> dict[str, str]:
    """Environment= lines: the same words and specifiers, but a dollar is only a dollar."""
    found: dict[str, str] = {}
    for word in (_specifiers(word) for value in values for word in split_words(value)):
        name, equals, text = word.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or name in found:
            raise UnfaithfulError(f"systemd would drop or overwrite {word[:200]!r}")
        found[name] = text
    return found


def split_words(text: str, *, lone_semicolon: bool = True) -> list[str]:
    """Words, unquoted and unescaped; quotes may begin and end anywhere in a word."""
    words: list[str] = []
    at = 0
    while at < len(text):
        if text[at] in BLANK:
            at += 1
            continue
        if not lone_semicolon and re.match(r";([ \t]|$)", text[at:]):
            raise UnfaithfulError("a lone semicolon ends the command")
        word, at = _word(text, at)
        words.append(word)
    return words


def _word(text: str, at: int) -> tuple[str, int]:
    word, quote = bytearray(), ""
    if re.match(r"\\;([ \t]|$)", text[at : at + 3]):
        return ";", at + 2
    while at < len(text) and (quote or text[at] not in BLANK):
        character = text[at]
        if character == "\\":
            piece, at = _escape(text, at + 1)
            word += piece
            continue
        at += 1
        if character == quote:
            quote = ""
        elif not quote and character in "\"'":
            quote = character
        else:
            word += character.encode()
    if quote:
        raise UnfaithfulError(f"an open quote in {text[:200]!r}")
    return _utf8(bytes(word)), at


def _escape(text: str, at: int) -> tuple[bytes, int]:
    if (letter := text[at : at + 1]) in ESCAPES and letter:
        return bytes([ESCAPES[letter]]), at + 1
    if number := re.compile(r"x([0-9A-Fa-f]{2})").match(text, at):
        code, encoded = int(number[1], 16), bytes([int(number[1], 16)])
    elif number := re.compile(r"u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})").match(text, at):
        code = int(number[1] or number[2], 16)
        encoded = chr(code).encode()
    else:
        raise UnfaithfulError(f"an unknown escape: \\{text[at : at + 9]!r}")
    if not code:
        raise UnfaithfulError("an escaped NUL")
    return encoded, number.end()


def _utf8(word: bytes) -> str:
    try:
        return word.decode()
    except UnicodeDecodeError as error:
        raise UnfaithfulError(f"bytes that are no UTF-8: {word[:200]!r}") from error


def _specifiers(word: str) -> str:
    if re.search(r"%(?=[A-Za-z0-9])", word.replace("%%", "")):
        raise UnfaithfulError(f"a specifier in {word[:200]!r}")
    return word.replace("%%", "%")


def _variables(word: str) -> str:
    """A word that begins with a dollar is replaced as a whole, `${X}` anywhere in one."""
    plain = word.replace("$$", "")
    if re.match(r"\$(?!\$|\{)", word) or re.search(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}", plain):
        raise UnfaithfulError(f"a variable in {word[:200]!r}")
    return word.replace("$$", "$")
