"""`rcc targets`: what recipes can be compiled to."""

from __future__ import annotations

import click

from rcc.cli.outcome import exit_code, print_json, show, tell
from rcc.cli.render.as_json import records


@click.command()
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def command(as_json: bool) -> int:
    """List the targets that `rcc build -t` knows, built in and from plug-ins."""
    from rcc.emit.registry import installed

    targets, found = installed()
    if as_json:
        listed = [{"name": one.name, "summary": one.target.summary, "from": one.distribution} for one in targets]
        print_json({"version": 1, "targets": listed, "findings": records(found)})
        return exit_code(found)
    width = max((len(one.name) for one in targets), default=0)
    for one in targets:
        origin = "" if one.distribution == "rcc" else f"  (from {one.distribution})"
        show([f"{one.name:<{width}}  {one.target.summary}{origin}"])
    return tell(found)
