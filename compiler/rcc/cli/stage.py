"""`rcc stage`: what the node's part of a result does, from a recipe and its lock."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from rcc.cli.compiling import Compiled, compile_recipe, locate
from rcc.cli.options import cluster_option, from_chosen, json_option, plan_options, recipe_argument
from rcc.cli.outcome import OK, USAGE, print_json, refuse, say, tell

TARGET = "shell"
"""The target whose artifacts hold the node's part and its `stage.json`."""


@click.command()
@recipe_argument
@cluster_option
@click.option("--rank", type=int, required=True, help="The rank whose node this machine is.")
@click.option("--full", is_flag=True, help="Check every byte of what is there.")
@click.option("--repair", is_flag=True, help="Check every byte, and pack again what is wrong.")
@click.option("--adopt", is_flag=True, help="Take over another tool's copy, compared with the source.")
@click.option("--no-wait", is_flag=True, help="Fail where another process packs.")
@plan_options
@json_option
def command(
    recipe: str, cluster: str | None, rank: int, full: bool, repair: bool, adopt: bool, no_wait: bool,
    as_json: bool, **chosen: Any,
) -> int:  # fmt: skip
    """Put what RECIPE stages for a rank on this machine's own disk."""
    compiled, found = compile_recipe(locate(recipe, cluster), from_chosen(chosen), (TARGET,))
    if compiled is None:
        return refuse(found, as_json)
    tell(found)
    if rank not in range(compiled.planned.plan.group.size):
        raise click.UsageError(f"There is no rank {rank}: the recipe has 0 to {compiled.planned.plan.group.size - 1}.")
    if not compiled.planned.plan.ranks[rank].staging:
        if as_json:
            print_json({"version": 1, "command": "stage", "status": OK, "blocks": []})
        say("the recipe stages nothing")
        return OK
    flags = {"--full": full, "--repair": repair, "--adopt": adopt, "--no-wait": no_wait, "--json": as_json}
    return _run(compiled, rank, [flag for flag, on in flags.items() if on])


def _run(compiled: Compiled, rank: int, flags: list[str]) -> int:
    node = compiled.planned.plan.ranks[rank].node
    files = {file.path: file.data for file in compiled.bundle.files}
    with tempfile.TemporaryDirectory(prefix="rcc-") as scratch:
        for name in ("rcc-node.pyz", "stage.json"):
            Path(scratch, name).write_bytes(files[f"{TARGET}/{node}/files/{name}"])
        program = [sys.executable, "-I", f"{scratch}/rcc-node.pyz", "stage", "--plan", f"{scratch}/stage.json"]
        status = subprocess.call([*program, "--rank", str(rank), *flags])  # noqa: S603 - our own node part
    return status if status >= 0 else USAGE
