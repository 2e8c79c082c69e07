"""Makes the fixes of `rcc lint`, or shows what they would change."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from rcc.cli.rewriting import difference, rewrite
from rcc.cli.stdin import STDIN, read_input
from rcc.diagnostic import Finding
from rcc.lint.mend import mended

if TYPE_CHECKING:
    from rcc.cli.lint import _Run as Run


def mend(run: Run, names: tuple[str, ...], *, unsafe: bool, dry: bool) -> tuple[bool, list[Finding]]:
    """Whether anything would change where nothing is written, and what is found in the files as they then are."""
    left: list[Finding] = list(run.found)
    changed = False
    for name in run.files(names):
        before = _read(name)
        own = run.stdin_name if name == STDIN else name
        text = None if before is None else _decoded(before)
        if text is None:
            left += run.lint_one(own, before)
            continue
        after, findings = mended(own, text, partial(_lint, run, own), unsafe=unsafe)
        changed |= after != text
        if dry:
            click.echo(difference(own, text, after), nl=False)
            findings = tuple(run.lint_one(own, before))
        elif name == STDIN:
            click.echo(after.encode(), nl=False)
        elif before is not None and after != text:
            findings = rewrite(name, before, after) or findings
        left += findings
    return dry and changed, left


def _lint(run: Run, name: str, text: str) -> tuple[Finding, ...]:
    return tuple(run.lint_one(name, text.encode()))


def _read(name: str) -> bytes | None:
    try:
        return read_input(name)
    except OSError:
        return None


def _decoded(data: bytes) -> str | None:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
