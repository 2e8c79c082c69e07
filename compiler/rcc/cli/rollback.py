"""`rcc rollback`: the link goes back to the former build."""

from __future__ import annotations

from pathlib import Path

import click

from rcc.cli.options import json_option, out_option
from rcc.cli.outcome import exit_code, print_json, say, show, tell
from rcc.cli.render.as_json import records
from rcc.cli.settings import DEFAULT_OUT
from rcc.emit.rollback import roll_back


@click.command()
@out_option
@json_option
def command(out: str | None, as_json: bool) -> int:
    """Move the link back onto the former build of the same id."""
    link = Path(out or DEFAULT_OUT)
    name, found = roll_back(link, lambda: say(f"waiting for another build in {link.parent}"))
    if as_json:
        print_json({"version": 1, "out": str(link), "result": name, "findings": records(found)})
        return exit_code(found)
    if name is not None:
        show([f"{link} is {name} again"])
    return tell(found)
