"""`rcc gc`: results that nothing names any more."""

from __future__ import annotations

from pathlib import Path

import click

from rcc.cli.options import json_option, out_option
from rcc.cli.outcome import exit_code, print_json, say, show, tell
from rcc.cli.render.as_json import records
from rcc.cli.settings import DEFAULT_OUT
from rcc.emit.gc import collect
from rcc.plan.canonical import plain


@click.command()
@out_option
@json_option
def command(out: str | None, as_json: bool) -> int:
    """Remove the results beside the link that neither a link nor the last three builds name."""
    beside = Path(out or DEFAULT_OUT).parent
    collected, found = collect(beside, lambda: say(f"waiting for another build in {beside}"))
    if as_json:
        print_json({"version": 1, **(plain(collected) if collected else {}), "findings": records(found)})
        return exit_code(found)
    if collected is not None:
        total = f"{len(collected.removed)} removed ({collected.freed} bytes), {len(collected.kept)} kept"
        show([*(f"removed {name}" for name in collected.removed), total])
    return tell(found)
