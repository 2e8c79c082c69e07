"""From a recipe's name to a plan and a bundle: what most commands begin with."""

from __future__ import annotations

from rcc import __version__
from rcc.cli.discover import cluster_path, present_lock, recipe_path
from rcc.cli.files import Disk
from rcc.cli.outcome import say
from rcc.diagnostic import Findings, has_errors
from rcc.emit import manifest
from rcc.emit.bundle import Bundle, bundle, emit_all
from rcc.emit.registry import BUILT_IN, choose
from rcc.pipeline import Inputs, Loaded, load, make_plan, placed
from rcc.plan.model import Plan
from rcc.quick import dataclass
from rcc.resolve.model import Options


@dataclass(frozen=True, slots=True)
class Planned:
    """What was read, and the plan that it makes."""

    inputs: Inputs
    loaded: Loaded
    plan: Plan


@dataclass(frozen=True, slots=True)
class Compiled:
    """A plan, and all files of its result, by the targets that were asked for."""

    planned: Planned
    targets: tuple[str, ...]
    bundle: Bundle


def locate(recipe: str, cluster: str | None) -> Inputs:
    """The files that a recipe's name stands for; says on stderr which cluster file it is."""
    path = recipe_path(recipe)
    found = cluster_path(path, cluster)
    if found is not None:
        say(f"cluster: {found}")
    return Inputs(path, found, present_lock(path))


def plan_of(inputs: Inputs, options: Options) -> tuple[Planned | None, Findings]:
    """Reads and plans; None where a finding is an error."""
    loaded, found = load(inputs, options, Disk())
    if loaded is None:
        return None, found
    plan, more = make_plan(loaded, options)
    found = (*found, *more)
    return (None if plan is None or has_errors(found) else Planned(inputs, loaded, plan)), found


def compile_recipe(inputs: Inputs, options: Options, targets: tuple[str, ...]) -> tuple[Compiled | None, Findings]:
    """Reads, plans and emits; no target named is all built-in ones. Nothing is written."""
    planned, found = plan_of(inputs, options)
    chosen, more = choose(targets or BUILT_IN)
    found = (*found, *more)
    if planned is None or has_errors(found):
        return None, found
    artifacts, more = emit_all(planned.plan, chosen)
    found = (*found, *placed(more, planned.plan, planned.loaded, options))
    if artifacts is None:
        return None, found
    names = tuple(one.name for one in chosen)
    inputs_of = recorded(planned, options, names)
    made = bundle(planned.plan, artifacts, inputs_of, __version__, planned.loaded.lock)
    return Compiled(planned, names, made), found


def recorded(planned: Planned, options: Options, targets: tuple[str, ...]) -> manifest.Inputs:
    """The hashes of what was read, and the options that artifacts depend on, as the manifest keeps them."""
    inputs, loaded = planned.inputs, planned.loaded
    return manifest.Inputs(
        recipe=loaded.read[inputs.recipe],
        bases=tuple(loaded.read[base.source.name] for base in loaded.recipe.layers.documents[:-1]),
        cluster=loaded.read[inputs.cluster] if inputs.cluster is not None else None,
        lock=loaded.read[inputs.lock] if inputs.lock is not None else None,
        files={one.file: one.sha256 for one in loaded.carried.values()},
        options={
            "hf_cache": options.hf_cache,
            "id": options.id,
            "k8s_workload": options.k8s_workload,
            "nodes": options.nodes,
            "targets": targets,
            "topology": options.topology,
        },
    )
