"""`rcc verify`: a result, and the node that it is on, against the manifest."""

from __future__ import annotations

from pathlib import Path

import click

from rcc.cli.options import json_option
from rcc.cli.outcome import USAGE, exit_code, print_json, show, tell
from rcc.cli.path_type import PATH
from rcc.cli.render.as_json import records
from rcc.cli.settings import DEFAULT_OUT
from rcc.diagnostic import has_errors
from rcc.emit.verify import verify


@click.command()
@click.argument("folder", type=PATH, default=DEFAULT_OUT)
@click.option("--rank", type=int, help="This machine is this rank's node; default: told by its name, if it is one.")
@click.option("--hf-cache", metavar="DIR", help="The Hugging Face root here, in place of the result's.")
@click.option("--full", is_flag=True, help="Hash all files of snapshots and all staged rows.")
@json_option
def command(folder: str, rank: int | None, hf_cache: str | None, full: bool, as_json: bool) -> int:
    """Compare FOLDER (default: result) with its manifest.

    On one of its nodes also the image (by its repository digests), snapshots and staged rows.
    """
    manifest, found = verify(Path(folder))
    if manifest is not None and not has_errors(found):
        from rcc.cli.node import node_findings, ranks_of, this_rank

        if rank is not None and rank not in ranks_of(manifest):
            raise click.UsageError(f"There is no rank {rank} in {folder}.")
        rank = this_rank(manifest) if rank is None else rank
        found = found if rank is None else (*found, *node_findings(Path(folder), manifest, rank, hf_cache, full))
    code = USAGE if manifest is None else exit_code(found)
    if as_json:
        build = manifest.build if manifest else None
        told = {"folder": folder, "build": build, "rank": rank, "verified": code == 0}
        print_json({"version": 1, **told, "findings": records(found)})
        return code
    tell(found)
    if code == 0 and manifest is not None:
        where = "" if rank is None else f", and so is the node of rank {rank}"
        show([f"{folder} is {manifest.build}{where}"])
    return code
