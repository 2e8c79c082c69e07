"""Findings as text, a module a format; each has `render(findings, color) -> str`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import import_module

from rcc.diagnostic import Finding, Findings, in_order
from rcc.quick import replace

FORMATS = {"full": "full", "concise": "concise", "json": "as_json", "sarif": "sarif", "github": "github"}
"""The formats that `--format` knows, and the module of each."""


def render(findings: Iterable[Finding], form: str = "full", *, color: bool = False) -> str:
    """The findings in output order, each once, without secrets; ends with a newline unless there is nothing to say."""
    module = import_module(f"rcc.cli.render.{FORMATS[form]}")
    text: str = module.render(presentable(in_order(findings)), color)
    return text


def presentable(findings: Findings) -> Findings:
    """The findings as any output may hold them, with no secret anywhere."""
    if not findings:
        return ()
    from rcc.cli.render.masked import masked  # nothing to say needs nothing masked

    return tuple(map(_short, masked(findings)))


_LONG = re.compile(r"`([^`]{200})[^`]+`")
_QUOTED = re.compile(r"`[^`]*`")


def _short(one: Finding) -> Finding:
    """The finding with each value that it quotes on one line, and no more of it than one can take in."""
    message = _QUOTED.sub(lambda quoted: quoted[0].replace("\n", "\\n"), one.message)
    texts = (message, one.help or "", *one.notes)
    if message == one.message and not any(map(_LONG.search, texts)):
        return one
    message, help, *notes = (_LONG.sub(r"`\1...`", text) for text in texts)
    return replace(one, message=message, help=help or None, notes=tuple(notes))
