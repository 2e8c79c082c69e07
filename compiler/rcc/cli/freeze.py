"""`rcc freeze`: a recipe with all that it was built from, kept as a report."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import click

from rcc import __version__
from rcc.cli.compiling import Compiled, compile_recipe, locate
from rcc.cli.files import Disk
from rcc.cli.frozen import moment
from rcc.cli.frozen.layout import Kept, keep
from rcc.cli.frozen.record import NAME, Record, write_record
from rcc.cli.options import (
    cluster_option,
    from_chosen,
    json_option,
    plan_options,
    recipe_argument,
    target_names,
    target_option,
)
from rcc.cli.outcome import print_json, refuse, show, tell
from rcc.cli.path_type import PATH
from rcc.cli.settings import REPORTS
from rcc.cli.stdin import read_bytes
from rcc.diagnostic import Findings, finding, has_errors, reason
from rcc.emit import manifest
from rcc.resolve.model import Options
from rcc.source import whole

LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
CLUSTER = "cluster.toml"


@click.command()
@recipe_argument
@click.option("--label", required=True, help="What the report is called, after its time.")
@click.option("--bench", type=PATH, metavar="FILE.json", help="What was measured: a JSON object, kept as it is.")
@click.option("--at", metavar="TIME", help="The report's time, as 2026-01-31T12:00:00Z; default: now.")
@click.option(
    "-o", "--out", type=PATH, default=REPORTS, show_default=True, metavar="DIR", help="The folder of all reports."
)
@cluster_option
@target_option
@plan_options
@json_option
def command(
    recipe: str, label: str, bench: str | None, at: str | None, out: str, cluster: str | None,
    target: tuple[str, ...], as_json: bool, **chosen: Any,
) -> int:  # fmt: skip
    """Keep RECIPE with its bases, files, lock, cluster and manifest, so that it can be built again."""
    if not LABEL.fullmatch(label):
        raise click.UsageError("A label is up to 80 letters, digits, dots, dashes and underscores.")
    when = moment.now() if at is None else moment.read_moment(at)
    if when is None:
        raise click.UsageError(f"`{at}` is no time: write it as 2026-01-31T12:00:00Z.")
    figures = _figures(bench)
    options = from_chosen(chosen)
    compiled, found = compile_recipe(locate(recipe, cluster), options, target_names(target))
    if compiled is None:
        return refuse(found, as_json)
    stem = f"{moment.as_name(when)}_{label}"
    record = _record(compiled, options, label, moment.as_text(when), stem, figures)
    found = (*found, *_write(Path(out, stem), (*_files(compiled, stem), Kept(NAME, write_record(record)))))
    if has_errors(found):
        return refuse(found, as_json)
    code = tell(found)
    if as_json:
        print_json({"version": 1, "report": str(Path(out, stem)), "build": record.build, "plan": record.plan})
    else:
        show([f"kept {compiled.planned.plan.id} in {Path(out, stem)}"])
    return code


def _figures(bench: str | None) -> dict[str, Any] | None:
    if bench is None:
        return None
    try:
        figures = json.loads(read_bytes(bench))
        json.dumps(figures, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        raise click.UsageError(f"`{bench}` is no JSON.") from None
    if not isinstance(figures, dict):
        raise click.UsageError(f"`{bench}` holds no JSON object.")
    return figures


def _record(
    compiled: Compiled, options: Options, label: str, time: str, stem: str, bench: dict[str, Any] | None
) -> Record:
    inputs, plan = compiled.planned.inputs, compiled.planned.plan
    kept = {
        "frozen": options.frozen,
        "hf_cache": options.hf_cache,
        "k8s_workload": options.k8s_workload,
        "nodes": options.nodes,
        "targets": compiled.targets,
        "topology": options.topology,
    }
    return Record(
        label=label,
        time=time,
        id=plan.id,
        rcc=__version__,
        build=compiled.bundle.build,
        plan=plan.plan,
        recipe=f"{stem}.recipe.toml",
        cluster=CLUSTER if inputs.cluster is not None else None,
        options=kept,
        bench=bench,
    )


def _files(compiled: Compiled, stem: str) -> tuple[Kept, ...]:
    inputs = compiled.planned.inputs
    files = [*keep(compiled.planned.loaded, stem), Kept(manifest.NAME, compiled.bundle.manifest)]
    if inputs.cluster is not None:
        files.append(Kept(CLUSTER, Disk().read(inputs.cluster)))
    if inputs.lock is not None:
        files.append(Kept(f"{stem}.recipe.lock", Disk().read(inputs.lock)))
    return tuple(files)


def _write(folder: Path, files: tuple[Kept, ...]) -> Findings:
    """The folder whole, or not at all."""
    paths = [one.path for one in files]
    twice = sorted({path for path in paths if paths.count(path) > 1})
    if twice:
        message = f"the recipe has a file `{twice[0]}` of its own, and a report needs that name"
        return (finding("RCC1115", message, whole(str(folder)), help="rename the recipe's file"),)
    if folder.exists():
        return (
            finding("RCC1119", f"there is a report `{folder}` already", whole(str(folder)), help="change the label"),
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".rcc-", dir=folder.parent))
    try:
        for one in files:
            _write_file(scratch / "report" / one.path, one)
        (scratch / "report").rename(folder)
    except OSError as error:
        return (finding("RCC1115", f"the report cannot be written: {reason(error)}", whole(str(folder))),)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return ()


def _write_file(path: Path, one: Kept) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(one.data)
    path.chmod(0o755 if one.executable else 0o644)
