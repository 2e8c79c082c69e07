"""Findings as text, a module a format; each has `render(findings, color) -> str`."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from rcc.diagnostic import Finding, Findings, in_order

FORMATS = {"full": "full", "concise": "concise", "json": "as_json", "sarif": "sarif", "github": "github"}
"""The formats that `--format` knows, and the module of each."""


def render(findings: Iterable[Finding], form: str = "full", *, color: bool = False) -> str:
    """The findings in output order, each once; ends with a newline unless there is nothing to say."""
    module = import_module(f"rcc.cli.render.{FORMATS[form]}")
    ordered: Findings = in_order(findings)
    text: str = module.render(ordered, color)
    return text
