"""What is wrong with a text that the grammar does not take, in words that its author can use."""

from __future__ import annotations

import re

from rcc.quick import dataclass
from rcc.source import Span
from rcc.syntax.errors import TomlError
from rcc.syntax.explain_values import explain_string, explain_value
from rcc.syntax.scan import open_brackets

_NOTHING = re.compile(r"[ \t]*(?:#|\r?\n|\Z)")
_WORD = re.compile(r"[^\s,\[\]{}#=.\"']+|.")
_STATEMENT = re.compile(r"[\w\"'.-]+[ \t]*=|\[\[?[ \t]*[A-Za-z_\"'][\w\"'.-]*[ \t]*\]\]?[ \t]*(?:#|\r?\n|\Z)")
_CONFLICT = tuple(re.compile(rf"^{mark}{{7}}(?=[ \r\n]|\Z)", re.MULTILINE) for mark in "<=>")
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff]|\r(?!\n)")
_CLOSING = {"[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class _Failure:
    """Where the parser stopped: `brackets` are the open ones, the innermost last, `line` begins there."""

    text: str
    offset: int
    expected: frozenset[str]
    brackets: list[int]
    line: int

    @property
    def before(self) -> str:
        """The line up to the place."""
        return self.text[self.line : self.offset].strip(" \t\ufeff")

    @property
    def rest(self) -> str:
        """The line from the place on."""
        return self.text[self.offset :].partition("\n")[0].partition("#")[0].strip()

    @property
    def at_end(self) -> bool:
        """Whether nothing more stands in the line."""
        return _NOTHING.match(self.text, self.offset) is not None

    @property
    def found(self) -> str:
        """The character at the place; empty at the end of the file."""
        return self.text[self.offset : self.offset + 1]

    @property
    def word(self) -> Span:
        """The run of characters that stands at the place; where none does, the end of what stands before."""
        match = None if self.at_end else _WORD.match(self.text, self.offset)
        if match:
            return Span(match.start(), match.end())
        end = len(self.text[: self.offset].rstrip())
        return Span(max(end - 1, 0), end)

    def here(self, message: str, help: str, label: str | None = None) -> TomlError:
        """An error at the place."""
        return TomlError(message, self.word, help=help, label=label)


def explain(text: str, offset: int, expected: frozenset[str]) -> TomlError:
    """The error for a text that goes wrong at `offset`, where one of the terminals `expected` may stand."""
    conflict = _conflict(text)
    if conflict:
        return conflict
    if _FORBIDDEN.match(text, offset):
        return _forbidden(text, offset)
    if text[offset : offset + 1] in ('"', "'") and expected & {"SCALAR", "PART"}:
        return explain_string(text, offset, key="PART" in expected)
    brackets, offset = _before_header(text, open_brackets(text, offset), offset)
    failure = _Failure(text, offset, expected, brackets, text.rfind("\n", 0, offset) + 1)
    if _in_header(failure):
        return _header(failure)
    if failure.brackets and _next_statement(failure):
        return _unclosed(failure)
    if "SCALAR" in expected:
        return _value(failure)
    if "EQUALS" in expected:
        return _equals(failure)
    if "PART" in expected:
        return _key(failure)
    return _after(failure)


def _before_header(text: str, brackets: list[int], offset: int) -> tuple[list[int], int]:
    """The open brackets and the place, before what looks like a header where it could only be an array in an array."""
    for size in (2, 1):
        start = brackets[-size] if len(brackets) > size else None
        if start is not None and text[start - 1] == "\n" and _STATEMENT.match(text, start):
            return brackets[:-size], start
    return brackets, offset


def _conflict(text: str) -> TomlError | None:
    """The error for a file in which a merge left `<<<<<<<`, `=======` and `>>>>>>>`, each after the one before."""
    marks: list[Span] = []
    for mark in _CONFLICT:
        match = mark.search(text, marks[-1].end if marks else 0)
        if match is None:
            return None
        marks.append(Span(match.start(), match.end()))
    return TomlError(
        "the file holds both sides of a merge conflict",
        marks[0],
        label="one side begins here",
        help="keep what is right and delete the lines that begin with `<<<<<<<`, `=======` and `>>>>>>>`",
        first=marks[-1],
        first_label="the other side ends here",
    )


def _forbidden(text: str, offset: int) -> TomlError:
    character, span = text[offset], Span(offset, offset + 1)
    if character == "\r":
        return TomlError("a carriage return stands without a line feed", span, help="end lines with LF or CR LF")
    if character == "\ufeff":
        return TomlError("a byte order mark stands inside the file", span, help="delete it")
    message = f"the control character U+{ord(character):04X} stands in the file"
    return TomlError(message, span, help="delete it; in a string between double quotes, write it as an escape")


def _in_header(failure: _Failure) -> bool:
    """Whether the outermost open bracket is a header's: nothing stands before it in its line."""
    if not failure.brackets:
        return False
    start = failure.text.rfind("\n", 0, failure.brackets[0]) + 1
    return not failure.text[start : failure.brackets[0]].strip(" \t\ufeff")


def _header(failure: _Failure) -> TomlError:
    closing = "]" * len(failure.brackets)
    if "PART" in failure.expected:
        message = "a part of the header's name is missing" if "." in failure.before else "the header has no name"
        return failure.here(message, "name the table, as in `[env]` or `[[extra_mounts]]`", "expected a name")
    if failure.at_end or failure.found == "]":
        return failure.here("the header is not closed", f"end it with `{closing}`", f"expected `{closing}` after this")
    quoting = "put a name with other characters than letters, digits, `-` and `_` in quotes"
    return failure.here(f"`{_show(failure)}` stands in a header's name", quoting, f"expected `.` or `{closing}`")


def _next_statement(failure: _Failure) -> bool:
    """Whether what should be inside a bracket looks like what comes after it: a new statement, or nothing at all."""
    if failure.offset == len(failure.text):
        return True
    return not failure.before and _STATEMENT.match(failure.text, failure.offset) is not None


def _unclosed(failure: _Failure) -> TomlError:
    bracket = failure.brackets[-1]
    opening = failure.text[bracket]
    what = "array" if opening == "[" else "inline table"
    found = failure.word
    return TomlError(
        f"the {what} is not closed",
        Span(bracket, bracket + 1),
        label=f"this `{opening}` is never closed",
        help=f"add `{_CLOSING[opening]}` after its last element",
        first=found,
        first_label=f"expected `,` or `{_CLOSING[opening]}` here",
    )


def _value(failure: _Failure) -> TomlError:
    if failure.before.endswith("=") and (failure.at_end or failure.found in (",", "]", "}")):
        key = _last_key(failure.before[:-1])
        return failure.here(
            f"`{key}` has no value", 'write one after the `=`; an empty text is `""`', "nothing follows"
        )
    if failure.found == ",":
        return failure.here("an element is missing before `,`", "remove the comma", "expected a value")
    if failure.found in ("]", "}"):
        return _wrong_bracket(failure)
    return explain_value(failure.text, failure.offset, alone=not failure.brackets)


def _equals(failure: _Failure) -> TomlError:
    key = _last_key(failure.before)
    if failure.at_end or failure.found in (",", "]", "}"):
        end = len(failure.text[: failure.offset].rstrip())
        message = f"`{key}` has neither `=` nor a value"
        return TomlError(message, Span(end - len(key), end), help=f"write `{key} = …`", label="expected `=` after this")
    found = _show(failure)
    if found == ":":
        return failure.here(f"`:` stands after the key `{key}`", "TOML puts `=` between key and value", "expected `=`")
    quoting = "put a key with other characters than letters, digits, `-` and `_` in quotes"
    if failure.before and failure.text[failure.offset - 1] not in " \t":
        return failure.here(f"`{found}` stands in a key", quoting, "expected `=` or `.`")
    rest = failure.rest
    help = quoting if "=" in rest else f"write `{key} = {rest}`"
    return failure.here(f"`=` is missing after the key `{key}`", help, "expected `=`")


def _key(failure: _Failure) -> TomlError:
    found = _show(failure)
    if failure.before.endswith("."):
        return failure.here("a part of a dotted key is missing", "write a key after the `.`", "expected a key")
    if found == "=":
        return failure.here(
            "the key is missing before `=`", "write the key, in quotes if it is empty", "expected a key"
        )
    if failure.brackets and found in ("]", ","):
        return (
            _wrong_bracket(failure)
            if found == "]"
            else failure.here("a pair is missing before `,`", "remove the comma")
        )
    if found == "{" and failure.before.endswith("{"):
        return explain_value(failure.text, failure.offset - 1, alone=len(failure.brackets) < 2)
    quoting = "a key is made of letters, digits, `-` and `_`; put any other in quotes"
    return failure.here(f"`{found}` cannot begin a key", quoting, "expected a key or a header")


def _after(failure: _Failure) -> TomlError:
    """Something stands where a value or a header has ended."""
    if failure.found in ("]", "}"):
        return _wrong_bracket(failure)
    if failure.brackets:
        what = "elements" if failure.text[failure.brackets[-1]] == "[" else "pairs"
        return failure.here(
            f"`,` is missing between two {what}", "put a comma between them", "expected `,` before this"
        )
    what = "header" if failure.before.startswith("[") else "value"
    help = "write each key on a line of its own; a comment begins with `#`"
    if failure.before.endswith('"'):
        help = 'a `"` inside the string is written `\\"`; each key stands on a line of its own'
    return failure.here(f"`{_show(failure)}` stands after the {what}", help, "expected the end of the line")


def _wrong_bracket(failure: _Failure) -> TomlError:
    found = failure.found
    if not failure.brackets:
        return failure.here(f"`{found}` closes nothing", "remove it", "nothing is open here")
    bracket = failure.brackets[-1]
    closing = _CLOSING[failure.text[bracket]]
    error = failure.here(
        f"`{found}` closes what `{failure.text[bracket]}` opened", f"write `{closing}`", f"expected `{closing}`"
    )
    error.first, error.first_label = Span(bracket, bracket + 1), "opened here"
    return error


def _show(failure: _Failure) -> str:
    return failure.text[failure.word.start : failure.word.end]


def _last_key(before: str) -> str:
    return re.split(r"[,{]", before)[-1].strip()
