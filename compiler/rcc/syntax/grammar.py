"""Grammars as parsers. Their tables are kept in the user's own cache folder, and nowhere that others can write."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import Any

import lark

from rcc.syntax.lexer import ContextualLexer, UnexpectedError, accepted


def load(name: str, start: str, actions: object) -> lark.Lark:
    """The parser of `<name>.lark`; a method of `actions` is called for each rule, with all of its parts."""
    text = Path(__file__).with_name(f"{name}.lark").read_text("utf-8")
    options: dict[str, Any] = {
        "parser": "lalr",
        "lexer": ContextualLexer,
        "start": start,
        "keep_all_tokens": True,
        "maybe_placeholders": False,
        "transformer": actions,
    }
    folder = _cache_folder()
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


def _cache_folder() -> Path | None:
    """`$XDG_CACHE_HOME/rcc` or `~/.cache/rcc`, made where missing; None unless it is the user's alone to write to.

    The tables are pickled: who can write them runs code here.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    folder = Path(base if os.path.isabs(base) else os.path.expanduser("~/.cache")) / "rcc"
    if not folder.is_absolute():
        return None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return None
    safe = folder.is_dir() and not folder.is_symlink() and status.st_uid == os.geteuid() and not status.st_mode & 0o022
    return folder if safe else None
