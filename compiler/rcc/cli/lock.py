"""`rcc lock`: the one command that asks the network."""

from __future__ import annotations

import os
from typing import Any

import click

from rcc.cli.discover import recipe_path
from rcc.cli.jobs import jobs_of_settings
from rcc.cli.locking import Asked, Outcome, lock_recipe
from rcc.cli.options import cluster_option, json_option
from rcc.cli.outcome import exit_code, print_json, say, tell
from rcc.cli.path_type import PATH
from rcc.cli.render.as_json import records
from rcc.cli.render.harmless import harmless
from rcc.diagnostic import Findings, has_errors
from rcc.fetch.update import Upgrade


def _image_source(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value in (None, "daemon") or (value and value.startswith("oci:") and value != "oci:"):
        return value
    raise click.BadParameter("it is `oci:DIR` or `daemon`")


def _model_source(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value is None or (value.startswith("cache:") and value != "cache:"):
        return value
    raise click.BadParameter("it is `cache:DIR`")


@click.command()
@click.argument("recipe", type=PATH, required=False)
@click.option("--check", is_flag=True, help="Only compare lock and recipe: offline, nothing is written.")
@click.option("--upgrade", is_flag=True, help="Resolve everything again, also what the lock answers.")
@click.option("--upgrade-image", is_flag=True, help="Resolve the images again.")
@click.option("--upgrade-model", multiple=True, metavar="ID", help="Resolve a model again; `model` is the main one.")
@click.option("--upgrade-staging", is_flag=True, help="Read the staged layouts again.")
@click.option("--dry-run", is_flag=True, help="Say what would change, and write nothing.")
@click.option(
    "--verify", "verify_", is_flag=True, help="Ask whether all that is locked is there and tags still name it."
)
@click.option(
    "--image-from",
    metavar="SOURCE",
    callback=_image_source,
    help="Take images from an OCI layout (oci:DIR) or from docker or podman (daemon), not from a registry.",
)
@click.option(
    "--model-from",
    metavar="SOURCE",
    callback=_model_source,
    help="Take models from a local Hugging Face cache (cache:DIR), not from the Hub.",
)
@click.option("--hash", "rehash", is_flag=True, help="With cache:DIR: compare every file there with its hash.")
@click.option("--insecure", is_flag=True, help="Ask over plain http where https is not spoken, also beyond loopback.")
@cluster_option
@json_option
def command(
    recipe: str | None, check: bool, upgrade: bool, upgrade_image: bool, upgrade_model: tuple[str, ...],
    upgrade_staging: bool, dry_run: bool, verify_: bool, image_from: str | None, model_from: str | None, rehash: bool,
    insecure: bool, cluster: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Pin the images, models, staged rows and carried files of RECIPE in its lock.

    What the lock answers is kept, the rest is resolved. Without RECIPE it locks the [[build]] entries of rcc.toml. The
    lock does not depend on the cluster.
    """
    chosen = Upgrade(upgrade, upgrade_image, frozenset(upgrade_model), upgrade_staging)
    if (check or verify_) and (dry_run or chosen != Upgrade() or (check and verify_)):
        raise click.UsageError("`--check` and `--verify` only look: they go with no other action.")
    if rehash and not model_from:
        raise click.UsageError("`--hash` compares the files of a cache: name it with `--model-from cache:DIR`.")
    asked = Asked(check, verify_, dry_run, rehash, chosen, image_from, model_from, insecure)
    recipes, found = _recipes(recipe)
    if has_errors(found):
        return tell(found)
    outcomes = [lock_recipe(path, asked) for path in recipes]
    if as_json:
        print_json({"version": 1, "locks": [_record(one) for one in outcomes]})
        return max(exit_code(one.findings) for one in outcomes)
    return max(_tell(one, asked) for one in outcomes)


def _recipes(recipe: str | None) -> tuple[tuple[str, ...], Findings]:
    if recipe is not None:
        return (recipe_path(recipe),), ()
    jobs, found = jobs_of_settings()
    return tuple(dict.fromkeys(recipe_path(job.recipe) for job in jobs)), found


def _tell(one: Outcome, asked: Asked) -> int:
    code = tell(one.findings)
    for change in one.changes:
        click.echo("\n".join(harmless(line) for line in str(change).split("\n")))
    if code != 0:
        if not asked.check and not asked.verify:
            say(f"{one.lock} is as it was" if os.path.lexists(one.lock) else "no lock was written")
    elif one.written:
        say(f"wrote {one.lock}")
    elif asked.verify:
        say(f"{one.lock}: all of it is there")
    elif one.changes:
        say(f"{one.lock} is as it was (--dry-run)")
    else:
        say(f"{one.lock} is up to date")
    return code


def _record(one: Outcome) -> dict[str, Any]:
    changes = [{"section": x.section, "key": x.key, "old": x.old, "new": x.new} for x in one.changes]
    return {
        "recipe": one.recipe,
        "lock": one.lock,
        "written": one.written,
        "changes": changes,
        "findings": records(one.findings),
    }
