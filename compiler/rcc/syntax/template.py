"""Templates in strings: `{{ expression }}` and `<<name>>`; all other text stands for itself.

A plain name and a plain quoted string are read here; whatever is more goes to expression.py, with lark and jinja2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from rcc.quick import dataclass

MAX_BYTES = 64 * 1024
"""How long a string with templates, and what it renders to, may be."""

_PART = r"[A-Za-z0-9_]+(?:-+[A-Za-z0-9_]+)*"
_NAME = rf"(?![0-9]){_PART}(?:\.{_PART})*"
_ANGLES = re.compile(rf"<<({_NAME})>>")
_OPENING = re.compile(rf"\{{\{{|<<{_NAME}>>")
_PLAIN = re.compile(rf"\{{\{{\s*+(?:({_NAME})|'([^'\\]*)'|\"([^\"\\]*)\")\s*+\}}\}}")
_BRACES = re.compile(r"\{\{((?:'(?:[^'\\]++|\\.)*'|\"(?:[^\"\\]++|\\.)*\"|(?!\}\})[^'\"])*)\}\}", re.DOTALL)
_LITERAL_HELP = "for a literal `{{` write `{{ '{{' }}`"
_JSON_KEY = re.compile(r"""\{\{\s*+("[^"]*"|'[^']*')\s*+:""")
_DOUBLED_HELP = "doubled braces are how other tools escape them: write `{` and `}`, which rcc takes as they are"
DOUBLED = "the braces of this JSON are doubled"


@dataclass(frozen=True, slots=True)
class Literal:
    """Text that stands for itself."""

    text: str


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter and the strings that it is given."""

    name: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expression:
    """What stands at `start` to `end` of the string, marks included: a dotted name or, where it is None, a text."""

    source: str
    start: int
    end: int
    name: str | None
    text: str = ""
    filters: tuple[Filter, ...] = ()


@dataclass(frozen=True, slots=True)
class TemplateError:
    """What is wrong at `start` to `end` of the string."""

    message: str
    start: int
    end: int
    help: str


MOST_PROBLEMS = 20
"""How many problems of one string are told: it has room for ten thousand, and each is searched for from its start."""


class TooLongError(Exception):
    """A string renders to more than `MAX_BYTES`."""


@dataclass(frozen=True, slots=True)
class Template:
    """A string's literal text and expressions, in order."""

    parts: tuple[Literal | Expression, ...]

    @property
    def expressions(self) -> Iterator[Expression]:
        """The expressions, in order."""
        return (part for part in self.parts if isinstance(part, Expression))

    def render(self, lookup: Callable[[str], str]) -> str:
        """The string with each name's value in its place; what `lookup` gives is never a template again.

        Raises TooLongError.
        """
        rendered = "".join(part.text if isinstance(part, Literal) else _evaluate(part, lookup) for part in self.parts)
        if len(rendered.encode("utf-8", "surrogatepass")) > MAX_BYTES:
            raise TooLongError(f"more than {MAX_BYTES} bytes")
        return rendered


def has_template(text: str) -> bool:
    """Whether anything in the text is more than literal."""
    return "{{" in text or ("<<" in text and _ANGLES.search(text) is not None)


@lru_cache(4096)
def parse_template(text: str) -> tuple[Template | None, tuple[TemplateError, ...]]:
    """The template that a string holds, or the first of what is wrong with it; offsets count its characters."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        message = f"a value with templates is longer than {MAX_BYTES} bytes"
        return None, (TemplateError(message, 0, len(text), "move the text into a file that is mounted"),)
    parts: list[Literal | Expression] = []
    errors: list[TemplateError] = []
    position = 0
    for start, end in _found(text):
        if start > position:
            parts.append(Literal(text[position:start]))
        found = _read(text, start, end)
        if isinstance(found, Expression):
            parts.append(found)
        else:
            errors.append(found)
            if len(errors) == MOST_PROBLEMS:
                break
        position = end
    if position < len(text):
        parts.append(Literal(text[position:]))
    if errors:
        return None, _doubled_braces(text) or tuple(errors)
    return Template(tuple(parts)), ()


def _doubled_braces(text: str) -> tuple[TemplateError, ...]:
    """The one thing that is wrong with JSON, maybe behind `--flag=`, that holds doubled braces and no template."""
    first = text.find("{{")
    if (
        first < 0
        or _PLAIN.search(text)
        or not any(_is_json(undoubled(one)) for one in (text, text[text.find("=", 0, first) + 1 :]))
    ):
        return ()
    return (TemplateError(DOUBLED, first, first + 2, _DOUBLED_HELP),)


def undoubled(text: str) -> str:
    """The text with single braces for double ones."""
    return text.replace("{{", "{").replace("}}", "}")


def _is_json(text: str) -> bool:
    import json

    try:
        value = json.loads(text.strip("' "))
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict | list) and bool(value)


def _found(text: str) -> Iterator[tuple[int, int]]:
    """Where templates begin and end; one that does not end is only its `{{`, and the last."""
    position, quotes_close = 0, True
    while opening := _OPENING.search(text, position):
        start, position = opening.span()
        if opening[0] == "{{":
            whole = _BRACES.match(text, start) if quotes_close else None
            quotes_close = whole is not None  # else no later one could be told from what the open quote holds
            position = whole.end() if whole else text.find("}}", position) + 2
        if position < start + 4:
            yield start, start + 2
            return
        yield start, position


def _read(text: str, start: int, end: int) -> Expression | TemplateError:
    """What stands at `start` to `end`, marks included."""
    plain = _ANGLES.match(text, start) or _PLAIN.match(text, start)
    if plain:
        name, *quoted = plain.groups("")
        return Expression(plain[0], start, end, name or None, "".join(quoted))
    if end - start < 4:
        help = _DOUBLED_HELP if _JSON_KEY.match(text, start) else f"end it with `}}}}`; {_LITERAL_HELP}"
        return TemplateError("`{{` is never closed", start, end, help)
    from rcc.syntax.expression import read_expression  # imports lark

    return read_expression(text, start, end, _DOUBLED_HELP if _JSON_KEY.match(text, start) else _LITERAL_HELP)


def _evaluate(expression: Expression, lookup: Callable[[str], str]) -> str:
    value = expression.text if expression.name is None else lookup(expression.name)
    if not expression.filters:
        return value
    from rcc.syntax.expression import apply_filters  # imports jinja2

    return apply_filters(value, expression.filters)
