"""The reference of the command line, made from the commands themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from rcc.cli import command_line

PATH = "docs/reference/cli.md"


def pages() -> dict[str, str]:
    """The page by its path from the repository's root."""
    return {PATH: "\n".join(_lines()).rstrip() + "\n"}


def _lines() -> Iterator[str]:
    yield from ("# rcc", "", _text(command_line), "")
    yield from ("<!-- Made by `make docs` from the commands; do not edit. -->", "")
    with click.Context(command_line, info_name="rcc") as top:
        for name in command_line.list_commands(top):
            command = command_line.get_command(top, name)
            assert command
            with click.Context(command, info_name=name, parent=top) as ctx:
                yield from _command(command, ctx)


def _command(command: click.Command, ctx: click.Context) -> Iterator[str]:
    usage = " ".join([ctx.command_path, *command.collect_usage_pieces(ctx)])
    yield from (f"## {ctx.command_path}", "", f"`{usage}`", "", _text(command), "")
    stated = [one for one in command.params if isinstance(one, click.Option)]
    options = [record for one in stated if (record := one.get_help_record(ctx))]
    if not options:
        return
    yield from ("| option | meaning |", "| --- | --- |")
    yield from (f"| `{_cell(names)}` | {_cell(meaning)} |" for names, meaning in options)
    yield ""


def _text(command: click.Command) -> str:
    return inspect.cleandoc(command.help or "").replace("<", "\\<")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
