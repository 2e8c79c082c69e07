"""How a command tells its findings and ends."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable
from typing import Any, TextIO

import click

from rcc.cli.render import render
from rcc.diagnostic import Finding, finding, has_errors, in_order, reason
from rcc.source import whole

OK, MENDABLE, USAGE, INTERRUPTED = 0, 1, 2, 130
UNREADABLE = "RCC007"


def exit_code(findings: Iterable[Finding]) -> int:
    """0 without errors; 2 where a file is missing or cannot be read; else 1."""
    found = tuple(findings)
    if not has_errors(found):
        return OK
    return USAGE if any(one.code == UNREADABLE for one in found) else MENDABLE


def tell(findings: Iterable[Finding]) -> int:
    """Shows the findings in full on stderr, and gives the exit code that they ask for."""
    found = tuple(findings)
    click.echo(render(found, "full", color=wants_color(sys.stderr)), err=True, nl=False)
    return exit_code(found)


def refuse(findings: Iterable[Finding], as_json: bool) -> int:
    """The same for a command that can give nothing else: for programs the findings stand on stdout."""
    if not as_json:
        return tell(findings)
    from rcc.cli.render.as_json import records

    found = in_order(findings)
    print_json({"version": 1, "findings": records(found)})
    return exit_code(found)


def unreadable(error: OSError) -> Finding:
    """The finding about a file that cannot be read or written."""
    nameless = "the working folder" if error.errno == errno.ENOENT else "the disk"
    name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else nameless
    return finding(UNREADABLE, f"cannot use `{name}`: {reason(error)}", whole(name))


def unwritten(error: OSError) -> Finding:
    """The finding about output that stdout does not take."""
    return finding(UNREADABLE, f"cannot write to stdout: {reason(error)}")


def say(text: str) -> None:
    """A remark for people, on stderr, so that stdout stays what was asked for. Safe for a terminal."""
    from rcc.cli.render.harmless import harmless  # a clean lint has nothing to say

    click.echo("\n".join(map(harmless, text.split("\n"))), err=True)


def show(lines: Iterable[str]) -> None:
    """What was asked for, in lines for people, on stdout. Safe for a terminal."""
    from rcc.cli.render.harmless import harmless

    click.echo("".join(f"{harmless(line)}\n" for line in lines), nl=False)


def print_json(value: Any) -> None:
    """A value for programs, on stdout: ASCII, indented, keys in the order that they have."""
    import json

    click.echo(json.dumps(value, indent=2))


def wants_color(stream: TextIO) -> bool:
    """Colour is for terminals, unless NO_COLOR is set or the terminal knows none."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
