"""Keys of a recipe that only make sense together, with its engine and with the files beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rcc.diagnostic import Finding, Severity, finding
from rcc.engines.model import Engine
from rcc.engines.registry import EngineError
from rcc.recipe.model import RecipeFile
from rcc.resolve.checks import ports

if TYPE_CHECKING:  # a clean lint must not import what reads locks
    from rcc.resolve.blocks import Carried


def check_keys(file: RecipeFile, engine: Engine, carried: Carried) -> list[Finding]:
    """Everything that can be said of the recipe without a node."""
    entered = bool(file.recipe.secrets or file.recipe.asserts or file.recipe.staging)
    found = [*_backend(file, engine), *_objections(file, engine), *_healthcheck(file, engine)]
    return [*found, *check_rows(file), *_hashes(file, carried), *unknown_command(file, engine, entered)]


def unknown_command(file: RecipeFile, engine: Engine, entered: bool) -> Iterator[Finding]:
    """What must happen in the container before the engine needs to know what the engine's command is."""
    if entered and not file.recipe.entrypoint and not engine.command:
        message = "the image's own entrypoint is not known, and something must happen in the container before it runs"
        why = "secrets, asserts, staged data and late-bound values are seen to by a script that then runs the command"
        help = "write the image's command as `entrypoint`"
        yield finding("RCC204", message, file.place(("docker_image",)), notes=[why], help=help)


def _backend(file: RecipeFile, engine: Engine) -> Iterator[Finding]:
    """RCC205 and RCC517: how the engine spans nodes, where there are several."""
    backend, path = file.recipe.distributed_backend, ("distributed_backend",)
    if file.recipe.required_nodes == 1:
        if backend != "mp":
            message, help = "`distributed_backend` has no effect on one node", "remove it, or set `required_nodes`"
            yield finding("RCC517", message, file.place(path), help=help, severity=Severity.WARNING)
    elif engine.name != "custom" and not engine.backends:
        message = f"engine `{engine.name}` runs on one node here"
        help = 'write `required_nodes = 1`, or the whole command with `engine = "custom"`'
        yield finding("RCC517", message, file.place(("required_nodes",)), help=help)
    elif engine.name != "custom" and backend not in engine.backends:
        listed = " or ".join(f"`{one}`" for one in engine.backends)
        message = f"engine `{engine.name}` does not span nodes by `{backend}`"
        yield finding("RCC205", message, file.place(path), help=f"it does by {listed}")


def _objections(file: RecipeFile, engine: Engine) -> Iterator[Finding]:
    """RCC517: what the engine itself cannot do."""
    for key in engine.unused:
        if file.has(key) and getattr(file.recipe, key) != 1:
            message = f"engine `{engine.name}` has no use for `{key}`"
            yield finding("RCC517", message, file.place((key,)), help="remove it")
    try:
        for one in engine.objections(file.recipe):
            yield finding("RCC517", one.message, file.place(one.path), help=one.help)
    except EngineError as error:
        yield finding(error.code, str(error), file.place(("engine",)), help=error.help)


def _healthcheck(file: RecipeFile, engine: Engine) -> Iterator[Finding]:
    if file.recipe.healthcheck is not None and ports(file, engine)[0] is None:
        message = "`[healthcheck]` asks a port, and the recipe has none"
        yield finding("RCC204", message, file.place(("healthcheck",)), help="add `port = …`")


def check_rows(file: RecipeFile) -> Iterator[Finding]:
    """RCC807: rows are split over all ranks, so every rank must have a part of every layer."""
    recipe = file.recipe
    split = recipe.pipeline_parallel_size > 1 or recipe.data_parallel_size > 1
    for index, block in enumerate(recipe.staging):
        if split and block.kind == "sparse-rows":
            message = f"`{block.id}` splits tables over all ranks, which pipeline and data parallelism do not"
            help = "use tensor parallelism over all GPUs, or stage the whole snapshot"
            yield finding("RCC807", message, file.place(("staging", index, "kind")), help=help)


def _hashes(file: RecipeFile, carried: Carried) -> Iterator[Finding]:
    """A hash that the recipe states of a file beside it."""
    for index, mount in enumerate(file.recipe.extra_mounts):
        source = carried.get(mount.host.text)
        if source is not None and mount.sha256 not in (None, source.sha256):
            message = f"`{source.file}` is not the file that `sha256` pins: its hash is `{source.sha256}`"
            help = "restore the file, or correct the hash; a carried file needs none"
            yield finding("RCC701", message, file.place(("extra_mounts", index, "sha256")), help=help)
