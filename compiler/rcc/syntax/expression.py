"""Template expressions that are more than a name: strings with escapes, and filters."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from rcc.nearest import nearest_name
from rcc.syntax.grammar import load, run
from rcc.syntax.lexer import Token, UnexpectedError, end_of, text_of
from rcc.syntax.template import MAX_BYTES, Expression, Filter, TemplateError, TooLongError

if TYPE_CHECKING:
    import lark
    from jinja2.environment import TemplateExpression

MAX_FILTERS = 16
MAX_SHOWN = 60
"""How many characters of a broken expression a message repeats."""
_ESCAPES = {"n": "\n", "t": "\t"}


def _replace(value: str, old: str, new: str) -> str:
    if len(value) + value.count(old) * (len(new) - len(old)) > MAX_BYTES:
        raise TooLongError(f"more than {MAX_BYTES} bytes")
    return value.replace(old, new)


def _json(value: str) -> str:
    if len(value) > MAX_BYTES:
        raise TooLongError(f"more than {MAX_BYTES} bytes")
    return json.dumps(value, ensure_ascii=False)


FILTERS: dict[str, tuple[int, Callable[..., str]]] = {
    "basename": (0, posixpath.basename),
    "json": (0, _json),
    "lower": (0, str.lower),
    "replace": (2, _replace),
    "upper": (0, str.upper),
}
"""Each filter's number of arguments and what it does."""


class _Actions:
    """What the parser makes of the rules of expression.lark."""

    def expression(self, parts: list[Any]) -> list[Any]:
        if len(parts) == 1:
            return [parts[0]]
        chain: list[Any] = parts[0]
        chain.append(parts[2])
        return chain

    def filter(self, parts: list[Any]) -> list[Token]:
        return [parts[0], *(parts[2] if len(parts) > 1 else [])]

    def arguments(self, parts: list[Any]) -> list[Token]:
        return [parts[0]] if len(parts) == 1 else [*parts[0], parts[2]]


@cache
def _parser() -> lark.Lark:
    return load("expression", "expression", _Actions())


def read_expression(text: str, start: int, end: int, literal_help: str) -> Expression | TemplateError:
    """The expression at `start` to `end` of a string, braces included."""
    inner = text[start + 2 : end - 2]
    try:
        subject, *chain = run(_parser(), inner)
    except UnexpectedError as error:
        return _explain(inner, start + 2, error, literal_help)
    if len(chain) > MAX_FILTERS:
        return TemplateError(f"more than {MAX_FILTERS} filters stand in a row", start, end, "write the value out")
    for name, *arguments in chain:
        problem = _check_filter(text_of(name), len(arguments))
        if problem:
            at = start + 2
            return TemplateError(problem[0], at + name.start(), at + end_of(name), problem[1])
    filters = tuple(Filter(text_of(name), tuple(_unquote(one) for one in arguments)) for name, *arguments in chain)
    source = text[start:end]
    if subject.lastgroup == "NAME":
        return Expression(source, start, end, text_of(subject), filters=filters)
    return Expression(source, start, end, None, _unquote(subject), filters)


def apply_filters(value: str, filters: tuple[Filter, ...]) -> str:
    """The value after the filters, as jinja2 evaluates them; raises TooLongError."""
    names = iter(range(sum(len(one.arguments) for one in filters)))
    chain = "".join(f"|{one.name}({','.join(f'a{next(names)}' for _ in one.arguments)})" for one in filters)
    arguments = (argument for one in filters for argument in one.arguments)
    given = {f"a{index}": argument for index, argument in enumerate(arguments)}
    return str(_compile(f"value{chain}")(value=value, **given))


@cache
def _compile(expression: str) -> TemplateExpression:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined)
    environment.globals.clear()
    environment.tests.clear()
    environment.filters = {name: function for name, (_, function) in FILTERS.items()}
    return environment.compile_expression(expression, undefined_to_none=False)


def _check_filter(name: str, count: int) -> tuple[str, str] | None:
    """What is wrong with a filter that is given so many arguments, and what to do."""
    if name not in FILTERS:
        near = nearest_name(name, FILTERS)
        help = f"did you mean `{near}`?" if near else f"the filters are {', '.join(f'`{one}`' for one in FILTERS)}"
        return f"there is no filter `{name}`", help
    takes = FILTERS[name][0]
    if count == takes:
        return None
    if takes:
        return (
            f"filter `{name}` takes two quoted strings",
            "write what to look for and what to put there: `replace('a', 'b')`",
        )
    return f"filter `{name}` takes no arguments", f"write `|{name}`"


def _explain(inner: str, start: int, error: UnexpectedError, literal_help: str) -> TemplateError:
    shown = inner.strip()
    if len(shown) > MAX_SHOWN:
        shown = f"{shown[:MAX_SHOWN]}…"
    at = start + min(error.offset, len(inner.rstrip()))
    if not shown:
        return TemplateError("a template is empty", start - 2, start + len(inner) + 2, f"write a name; {literal_help}")
    found = re.compile(r"[\w.-]+|\S").match(inner, error.offset)
    if found is None:
        return TemplateError(f"`{shown}` ends too early", start - 2, start + len(inner) + 2, literal_help)
    help = f"{literal_help}; a template is a name or a quoted string, then filters, as in `{{{{ model.repo|lower }}}}`"
    return TemplateError(f"`{shown}` is no template expression", at, at + len(found[0]), help)


def _unquote(token: Token) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text_of(token)[1:-1])
