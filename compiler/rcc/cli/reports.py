"""`rcc reports`: what was frozen."""

from __future__ import annotations

from pathlib import Path

import click

from rcc.cli.frozen.record import NAME, Record, read_record
from rcc.cli.options import json_option
from rcc.cli.outcome import USAGE, exit_code, print_json, say, show, tell
from rcc.cli.path_type import PATH
from rcc.cli.render.as_json import records
from rcc.cli.settings import REPORTS
from rcc.plan.canonical import plain

SHORT = len("sha256:") + 12


@click.command()
@click.argument("folder", type=PATH, default=REPORTS)
@json_option
def command(folder: str, as_json: bool) -> int:
    """List the reports in FOLDER (default: reports), oldest first."""
    if not Path(folder).is_dir():
        say(f"there is no folder `{folder}`")
        return USAGE
    read = [(path.parent, *read_record(path.parent)) for path in sorted(Path(folder).glob(f"*/{NAME}"))]
    found = tuple(one for _, _, more in read for one in more)
    reports = [(place, record) for place, record, _ in read if record is not None]
    if as_json:
        listed = [{"report": str(place), **plain(record)} for place, record in reports]
        print_json({"version": 1, "reports": listed, "findings": records(found)})
        return exit_code(found)
    show(_line(place, record) for place, record in reports)
    return tell(found)


def _line(place: Path, record: Record) -> str:
    figures = "".join(f"  {name}={value}" for name, value in sorted((record.bench or {}).items()) if _is_figure(value))
    return f"{place}  {record.id}  {record.build[:SHORT]}  rcc {record.rcc}{figures}"


def _is_figure(value: object) -> bool:
    return isinstance(value, int | float | str) and not isinstance(value, bool)
