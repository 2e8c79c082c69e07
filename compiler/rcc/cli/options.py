"""Options that several commands have, each with one wording."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from rcc.cli.path_type import PATH
from rcc.emit.registry import BUILT_IN
from rcc.recipe.identity import ID, ID_IN_WORDS
from rcc.resolve.model import Options

F = TypeVar("F", bound=Callable[..., Any])

recipe_argument = click.argument("recipe", type=PATH)
cluster_option = click.option(
    "-c", "--cluster", type=PATH, metavar="FILE",
    help="The cluster file; else RCC_CLUSTER, else a cluster.toml beside or above.",
)  # fmt: skip
json_option = click.option("--json", "as_json", is_flag=True, help="For programs.")
target_option = click.option(
    "-t", "--target", multiple=True, metavar="NAME",
    help=f"A target, repeated or with commas; default: {','.join(BUILT_IN)}.",
    shell_complete=lambda context, parameter, begun: [name for name in BUILT_IN if name.startswith(begun)],
)  # fmt: skip
out_option = click.option(
    "-o", "--out", type=PATH, metavar="PATH",
    help="The link, or folder, of the result (from the working folder; default: result).",
)  # fmt: skip


def _id(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value is None or re.fullmatch(ID, value):
        return value
    raise click.BadParameter(f"it is {ID_IN_WORDS}")


_PLAN_OPTIONS = (
    click.option("--nodes", metavar="A,B,...", help="The nodes to use, in rank order; else the cluster's first ones."),
    click.option("--topology", metavar="NAME", help="The NCCL profile, in place of the recipe's or the cluster's."),
    click.option("--hf-cache", metavar="DIR", help="The Hugging Face root on the nodes, in place of the cluster's."),
    click.option(
        "--k8s-workload", type=click.Choice(["lws", "statefulset"]), default="lws", show_default=True,
        help="What holds the ranks on Kubernetes.",
    ),
    click.option(
        "--id", "id", metavar="ID", callback=_id, help="What things are called, in place of the recipe's id."
    ),
    click.option("--locked", is_flag=True, help="Refuse anything that is not pinned."),
    click.option("--frozen", is_flag=True, help="Take the lock as it is, uncompared."),
)  # fmt: skip


def plan_options(command: F) -> F:
    """The options that a plan depends on; the command gets them as `**chosen`, see `from_chosen`."""
    for option in reversed(_PLAN_OPTIONS):
        command = option(command)
    return command


def from_chosen(chosen: dict[str, Any]) -> Options:
    """Options as the passes want them."""
    if chosen["locked"] and chosen["frozen"]:
        raise click.UsageError("`--locked` and `--frozen` exclude each other.")
    return Options(**{**chosen, "nodes": names(chosen["nodes"])})


def as_arguments(options: Options) -> list[str]:
    """The words of a command line that give these options, where they are not what one gets anyway."""
    values = {
        "--nodes": None if options.nodes is None else ",".join(options.nodes),
        "--topology": options.topology,
        "--hf-cache": options.hf_cache,
        "--k8s-workload": None if options.k8s_workload == Options().k8s_workload else options.k8s_workload,
        "--id": options.id,
    }
    flags = [flag for flag, on in (("--locked", options.locked), ("--frozen", options.frozen)) if on]
    return [word for name, value in values.items() if value is not None for word in (name, value)] + flags


def target_names(given: tuple[str, ...]) -> tuple[str, ...]:
    """The targets that are named; none at all where the option is not given."""
    found = names(",".join(given)) or ()
    if given and not found:
        raise click.UsageError("`-t` names no target.")
    return found


def names(text: str | None) -> tuple[str, ...] | None:
    """A list with commas as its parts."""
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())
