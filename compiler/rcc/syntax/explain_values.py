"""What is wrong with a value: a string that does not end, a word without quotes, a number that is none."""

from __future__ import annotations

import re

from rcc.source import Span
from rcc.syntax.errors import TomlError

_ESCAPE = re.compile(r"\\(?:[btnfre\"\\]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})")
_CONTINUED = re.compile(r"\\[ \t]*\r?\n")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)")
_BARE = re.compile(r"[^\s,\]}#]+")
_ELEMENT = re.compile(r"[^,\]}#\r\n]+")
_LINE = re.compile(r"[^#\r\n]+")
_NUMBER = re.compile(r"[+-]?[0-9._]")
_OTHER_WORDS = {
    "yes": "write `true`",
    "on": "write `true`",
    "no": "write `false`",
    "off": "write `false`",
    "null": "leave the key out",
    "none": "leave the key out",
    "nil": "leave the key out",
}


def explain_string(text: str, offset: int, *, key: bool) -> TomlError:
    """The error for a string at `offset` that is none; `key` tells that it stands in a key's place."""
    quote = text[offset]
    if text.startswith(quote * 3, offset):
        if key:
            message = "a key cannot be a string of several lines"
            return TomlError(message, Span(offset, offset + 3), help=f"put one `{quote}` on each side of it")
        return _explain_body(text, offset, quote * 3)
    return _explain_body(text, offset, quote)


def _explain_body(text: str, offset: int, quotes: str) -> TomlError:
    position = offset + len(quotes)
    while position < len(text) and not text.startswith(quotes, position):
        character = text[position]
        if character == "\n" and len(quotes) == 1:
            break
        if _CONTROL.match(text, position):
            return _control(text, position)
        if character == "\\" and quotes[0] == '"':
            escape = _ESCAPE.match(text, position) or (_CONTINUED.match(text, position) if len(quotes) == 3 else None)
            if escape is None or not _is_character(escape[0]):
                return _bad_escape(text, position)
            position = escape.end()
        else:
            position += 1
    return _unclosed(text, offset, quotes)


def _control(text: str, position: int) -> TomlError:
    number = ord(text[position])
    message = f"the control character U+{number:04X} stands in a string"
    return TomlError(
        message, Span(position, position + 1), help=f"between double quotes, write it as `\\u{number:04X}`"
    )


def _is_character(escape: str) -> bool:
    if escape[1] not in "uU":
        return True
    number = int(escape[2:], 16)
    return number < 0xD800 or 0xDFFF < number < 0x110000


def _bad_escape(text: str, position: int) -> TomlError:
    match = re.compile(r"\\(?:x[0-9A-Fa-f]{0,2}|u[0-9A-Fa-f]{0,4}|U[0-9A-Fa-f]{0,8}|[^\r\n])?").match(text, position)
    assert match is not None
    span = Span(position, match.end())
    kind = match[0][1:2]
    if kind in ("x", "u", "U"):
        digits = {"x": 2, "u": 4, "U": 8}[kind]
        help = f"`\\{kind}` takes {digits} hexadecimal digits that name a character; a backslash itself is `\\\\`"
    else:
        help = "write `\\\\` for a backslash, or put the string between single quotes, where it has no meaning"
    return TomlError(f"`{match[0]}` is no escape of TOML", span, help=help)


def _unclosed(text: str, offset: int, quotes: str) -> TomlError:
    if len(quotes) == 3:
        help = f"end it with `{quotes}`"
        return TomlError("the string is not closed", Span(offset, offset + 3), label="it begins here", help=help)
    line = re.compile(r"[^\r\n]*").match(text, offset)
    assert line is not None
    help = f"end it with `{quotes}`; a text of several lines stands between `{quotes * 3}`"
    return TomlError("the string is not closed", Span(offset, line.end()), label=f"expected `{quotes}`", help=help)


def explain_value(text: str, offset: int, *, alone: bool) -> TomlError:
    """The error for something at `offset` that is no value; `alone` where it is in no array or inline table."""
    match = _BARE.match(text, offset)
    if match is None:
        return TomlError("a value is missing", Span(offset, offset + 1), label="expected a value", help="write one")
    word, span = match[0], Span(match.start(), match.end())
    if word.lower() in ("true", "false"):
        return TomlError(f"`{word}` is no TOML value", span, help=f"write `{word.lower()}`")
    if word.lower() in _OTHER_WORDS:
        return TomlError(
            f"`{word}` is no TOML value", span, help=f"{_OTHER_WORDS[word.lower()]}; a text stands in quotes"
        )
    if _NUMBER.match(word):
        return _explain_number(word, span)
    line = (_LINE if alone else _ELEMENT).match(text, offset)
    assert line is not None
    if word[0] == "=":
        return TomlError("`=` stands twice", Span(offset, offset + 1), help="write one `=`")
    whole = line[0].rstrip()
    quoted = whole.replace("\\", "\\\\").replace('"', '\\"')
    return TomlError(
        f"`{whole}` is no TOML value",
        Span(offset, offset + len(whole)),
        label="expected a string, a number, `true`, `false`, an array or an inline table",
        help=f'a text stands in quotes: `"{quoted}"`',
    )


def _explain_number(word: str, span: Span) -> TomlError:
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*", word):
        return TomlError(
            f"`{word}` is no date or time", span, help="write dates as `2026-01-31` or `2026-01-31T12:00:00Z`"
        )
    if re.fullmatch(r"[+-]?0[0-9_]+", word):
        bare = word.lstrip("+-").lstrip("0_") or "0"
        return TomlError(
            f"`{word}` begins with a zero", span, help=f'write the number as `{bare}`, a text as `"{word}"`'
        )
    if re.fullmatch(r"[+-]?[0-9_.eE+-]+", word):
        help = "digits stand on both sides of a `.` and of each `_`; put anything else in quotes"
        return TomlError(f"`{word}` is no number", span, help=help)
    return TomlError(f"`{word}` is no TOML value", span, help=f'a text stands in quotes: `"{word}"`')
