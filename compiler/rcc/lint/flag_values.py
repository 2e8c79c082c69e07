"""Values of engine flags."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from rcc.diagnostic import Finding, finding
from rcc.engines.flags import Flag, Occurrence, Value
from rcc.lint.context import Context, is_plain
from rcc.recipe.shape import shown
from rcc.source import Place

_COUNT = r"[0-9]+(?:[KMGT]|(?:\.[0-9]+)?[kmgt])"
_JSON_STARTS = ('{"', "{'", "[{", "'{", '"{')


def flag_place(context: Context, one: Occurrence) -> Place:
    """Where a flag's name stands, with the keys that it sets inside a JSON value."""
    length = len(one.spelled) + (1 + len(one.keys) if one.keys else 0)
    return context.inside(("args", one.index), 0, max(length, 1))


def value_place(context: Context, value: Value) -> Place:
    """Where a flag's value stands."""
    return context.inside(("args", value.index), value.offset, value.offset + max(len(value.text), 1))


def check_values(context: Context, one: Occurrence, apart: frozenset[int]) -> Iterator[Finding]:
    """RCC506 and further: what the values are, but for the arguments of which something else is said."""
    assert one.flag
    if one.flag.arity == "0" and one.values:
        message = f"`{one.spelled}` takes no value"
        help = "write the flag alone, or leave it out"
        yield finding("RCC506", message, value_place(context, one.values[0]), help=help)
        return
    for value in one.values:
        if (
            value.index in apart
            or one.keys
            or not is_plain(value.text)
            or (one.flag.nullable and value.text in ("", "None"))
        ):
            continue
        if one.flag.kind in _KINDS:
            yield from check_wrong_flag_value(context, one, value)
        if one.flag.choices:
            yield from check_unknown_flag_choice(context, one, value)
        if one.flag.kind == "json" or value.text[:2] in _JSON_STARTS:
            from rcc.lint.json_values import check_json

            yield from check_json(context, value)


def check_wrong_flag_value(context: Context, one: Occurrence, value: Value) -> Iterator[Finding]:
    """RCC506: the parser's own converter refuses it."""
    assert one.flag
    convert, what = _KINDS[one.flag.kind]
    try:
        convert(value.text)
    except ValueError:
        message = f"`{one.spelled}` takes {what}, not `{shown(value.text)}`"
        yield finding("RCC506", message, value_place(context, value))


def _count(text: str) -> None:
    """Both engines take fractions of thousands, as in `1.5k`; `K` and the like are powers of 1024, and whole."""
    if not re.fullmatch(_COUNT, text.strip()):
        int(text)


def _count_or_auto(text: str) -> None:
    if text.strip().lower() != "auto":
        _count(text)


_KINDS: dict[str, tuple[Callable[[str], object], str]] = {
    "int": (int, "an integer"),
    "float": (float, "a number"),
    "count": (_count, "a count such as `128k`"),
    "count-or-auto": (_count_or_auto, "a count such as `128k`, or `auto`"),
}


def check_unknown_flag_choice(context: Context, one: Occurrence, value: Value) -> Iterator[Finding]:
    """RCC507: a newer or patched engine may know more, so this is a warning."""
    assert one.flag
    if _is_choice(one.flag, value.text):
        return
    near = context.nearest(value.text, one.flag.choices)
    choices = [f"`{choice}`" for choice in one.flag.choices]
    listed = ", ".join(choices[:8]) + (f" and {len(choices) - 8} more" if len(choices) > 8 else "")
    help = f"did you mean `{near}`?" if near else f"{context.recipe.engine} knows {listed}"
    message = f"`{one.spelled}` has no choice `{shown(value.text)}`"
    yield finding("RCC507", message, value_place(context, value), help=help)


def _is_choice(flag: Flag, text: str) -> bool:
    if flag.kind == "word":
        return text.lower().replace("-", "_") in {choice.lower().replace("-", "_") for choice in flag.choices}
    return text in flag.choices or (flag.kind == "int" and text.strip().lstrip("+") in flag.choices)
