"""Arguments that hold several words of a command line, as they would stand in a shell."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator

from rcc.diagnostic import Edit, Finding, Fix, finding
from rcc.engines.flags import FlagTable, Occurrence
from rcc.lint.context import Context
from rcc.recipe.shape import shown
from rcc.source import Place, Span
from rcc.syntax.edit import write_string

_FLAG = re.compile(r"--[A-Za-z][\w.-]*")
_TEMPLATE = re.compile(r"\{\{.*?\}\}|<<[A-Za-z][\w.-]*>>")
_MOST_SHOWN = 8


def joined_words(context: Context, table: FlagTable) -> frozenset[int]:
    """The arguments that hold a flag and more; what the engine makes of one is of no interest then."""
    takers = {value.index: one for one in context.flags if not one.joined for value in one.values}
    return frozenset(
        index
        for index, raw in enumerate(context.recipe.args)
        if " " in raw.text and raw.text[:1] == "-" and _holds_flag(table, raw.text, takers.get(index))
    )


def _holds_flag(table: FlagTable, text: str, taker: Occurrence | None) -> bool:
    head, *rest = text.split()
    flag = table.parse([head])[0].flag
    if "=" in head:
        return flag is not None and any(table.find(word.partition("=")[0]) for word in rest)
    # Such a value may be meant; as a word that no flag takes it is none.
    nobodys = taker is None or not taker.spelled
    return flag is not None or (nobodys and _FLAG.fullmatch(head) is not None)


def check_joined_words(context: Context, table: FlagTable, indices: frozenset[int]) -> Iterator[Finding]:
    """RCC510; RCC501 in its place where the compiler sets one of the flags."""
    for index in sorted(indices):
        text = context.recipe.args[index].text
        words = _words(table, text)
        read = table.parse(words or text.split())
        owned = [one for one in read if one.flag and not context.owned.keys().isdisjoint(one.flag.spellings)]
        if owned:
            yield from (_owned(context, index, one) for one in owned)
            continue
        place = context.inside(("args", index), 0, len(text))
        message = f"one string holds the flag `{read[0].spelled}` and {_more(read, text)}"
        few = words and len(words) <= _MOST_SHOWN
        help = ", ".join(f"`{write_string(shown(word))}`" for word in words) if words and few else ""
        help = f"write {help}" if help else "write each word as a string of its own"
        yield finding("RCC510", message, place, help=help, fix=_fix(context, place, words))


def _more(read: tuple[Occurrence, ...], text: str) -> str:
    if len(text.split()) == 1:
        return "a blank"
    return "its value" if len(read) == 1 and len(read[0].values) == 1 else "further words"


def _owned(context: Context, index: int, one: Occurrence) -> Finding:
    from rcc.resolve.checks import owned_flag

    assert one.flag
    owner = next(key for flag, key in context.owned.items() if flag in one.flag.spellings)
    start = context.recipe.args[index].text.index(one.spelled)
    return owned_flag(one.spelled, owner, context.inside(("args", index), start, start + len(one.spelled)))


def _words(table: FlagTable, text: str) -> tuple[str, ...] | None:
    """The words as the engine should get them; None where that is not sure."""
    head, _, rest = text.strip().partition(" ")
    rest = rest.strip()
    if not rest or _is_json(rest):
        return (head, rest) if rest else (head,)
    if not re.search(r"(?:^|[ =])[\[{](?!\{)", rest):
        words = _shell_words(text)
        if words and _is_whole(table.parse(words)):
            return words
    flag = table.parse([head])[0].flag
    alone = flag and flag.arity in "1?" and "=" not in head
    return (head, rest) if alone and not re.search(r"(?:^| )-", rest) else None


def _is_json(text: str) -> bool:
    try:
        return text[0] in "{[" and isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False


def _shell_words(text: str) -> tuple[str, ...] | None:
    """What a shell makes of the text; a template is one word whatever it holds."""
    templates: list[str] = []

    def hide(match: re.Match[str]) -> str:
        templates.append(match[0])
        return f"\0{len(templates) - 1}\0"

    try:
        words = shlex.split(_TEMPLATE.sub(hide, text))
    except ValueError:
        return None
    return tuple(re.sub(r"\0(\d+)\0", lambda match: templates[int(match[1])], word) for word in words)


def _is_whole(read: tuple[Occurrence, ...]) -> bool:
    """Whether every word is a flag or the value of one that takes it."""
    return all(
        one.spelled and not one.candidates and (one.flag is None or bool(one.values) or one.flag.arity not in "1+")
        for one in read
    )


def _fix(context: Context, place: Place, words: tuple[str, ...] | None) -> Fix | None:
    """The words as strings of their own, quoted as the author quotes, where the source is as plain as the value."""
    text, span = place.source.text, place.span
    quote = text[span.start - 1]
    plain = quote in "\"'" and text[span.end : span.end + 1] == quote and text[span.start - 2] != quote
    if (
        not words
        or not plain
        or "\\" in text[span.start : span.end]
        or place.source is not context.file.layers.top.source
    ):
        return None
    strings = (
        f"{quote}{word}{quote}" if quote not in word and "\\" not in word else write_string(word) for word in words
    )
    return Fix((Edit(Span(span.start - 1, span.end + 1), ", ".join(strings)),))
