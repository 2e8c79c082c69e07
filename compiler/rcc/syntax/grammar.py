"""Grammars as parsers. Their tables are kept in the user's own cache folder, and nowhere that others can write."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import lark

from rcc.own_cache import own_cache
from rcc.syntax.lexer import ParsingLexer, UnexpectedError, accepted


def load(name: str, start: str, actions: object) -> lark.Lark:
    """The parser of `<name>.lark`; a method of `actions` is called for each rule, with all of its parts."""
    text = Path(__file__).with_name(f"{name}.lark").read_text("utf-8")
    options: dict[str, Any] = {
        "parser": "lalr",
        "lexer": ParsingLexer,
        "start": start,
        "keep_all_tokens": True,
        "maybe_placeholders": False,
        "transformer": actions,
    }
    folder = own_cache()
    if folder is not None:
        key = hashlib.sha256(f"{text}\0{lark.__version__}\0{sys.version}".encode()).hexdigest()[:32]
        options["cache"] = str(folder / f"{name}-{key}.tables")  # unreadable tables are built and written again
    return lark.Lark(text, **options)


def run(parser: lark.Lark, text: str) -> Any:
    """What the actions make of the text; raises `UnexpectedError`."""
    try:
        return parser.parse(text)
    except lark.exceptions.UnexpectedToken as error:
        offset = len(text) if error.token.type == "$END" else error.token.start_pos
        raise UnexpectedError(offset or 0, accepted(error.state)) from None
