"""Recipe, cluster and lock to a recipe on its nodes."""

from __future__ import annotations

from collections.abc import Iterable

from rcc.cluster.model import ClusterFile
from rcc.diagnostic import MOST, Finding, Findings, Severity, enough, finding, first_ones, has_errors, in_order
from rcc.engines.model import Health
from rcc.lock.model import Lock
from rcc.recipe.model import RecipeFile
from rcc.resolve.blocks import Carried
from rcc.resolve.checks import check_flags, check_world, ports
from rcc.resolve.chosen import Chosen, choose
from rcc.resolve.collisions import check_collisions
from rcc.resolve.environment import pinned_by_files, set_by_compiler, set_in_vain
from rcc.resolve.keys import check_keys, unknown_command
from rcc.resolve.model import Options, Resolved, ResolvedRank
from rcc.resolve.models import needs_hub
from rcc.resolve.pins import check_architectures, check_staged, resolve_image
from rcc.resolve.rank import resolve_rank


def resolve(
    file: RecipeFile, cluster: ClusterFile, lock: Lock | None, options: Options, carried: Carried
) -> tuple[Resolved | None, Findings]:
    """Fills every template and decides every default, for each rank.

    `carried` holds every file that the recipe mounts by a relative path.
    """
    chosen, found = choose(file, cluster, lock, options, carried)
    if chosen is None:
        return None, in_order(found)
    found += check_world(file, cluster, chosen.nodes, chosen.hardware, chosen.engine)
    found += check_keys(file, chosen.engine, carried)
    found += enough(check_flags(file, chosen.engine.owned))
    found += check_architectures(file, chosen.nodes, chosen.hardware, lock)
    found += check_staged(file, lock)
    ranks = []
    for rank in range(len(chosen.nodes)):
        resolved, of_rank = resolve_rank(chosen, rank)
        ranks.append(resolved)
        found += (*of_rank, *check_collisions(file, chosen.hardware, resolved))
        if len(found) > MOST and has_errors(found):
            return None, in_order(_once_a_place(found))  # what the other ranks have to say is hardly anything else
    found += set_by_compiler(file, chosen.engine.address_variable, tuple(one.gid_index for one in ranks))
    found += set_in_vain(cluster, chosen.topology, chosen.engine, ranks)
    found += pinned_by_files(file, cluster, chosen.topology, ranks)
    found += _check_cache(chosen, ranks)
    found += _check_cache_dirs(chosen, ranks)
    found += unknown_command(file, chosen.engine, any(one.is_entered(file.recipe.secrets) for one in ranks))
    found = _once_a_place(found)
    return None if has_errors(found) else _resolved(chosen, tuple(ranks)), in_order(found)


def _once_a_place(found: Iterable[Finding]) -> list[Finding]:
    """What is wrong on every rank is said for the first, and of what is wrong everywhere the first ones."""
    seen: dict[tuple[str, str], Finding] = {}
    for one in found:
        seen.setdefault((one.code, str(one.place or one.message)), one)
    return list(first_ones(seen.values()))


def _check_cache(chosen: Chosen, ranks: Iterable[ResolvedRank]) -> list[Finding]:
    """A Hub model needs the cache that it lies in."""
    for one in ranks:
        if one.hf_cache is None and needs_hub(chosen.models, one.staging):
            message = f"node `{one.node.name}` has no `hf_cache`, and the recipe serves a model of the Hub"
            help = "add `hf_cache`, the folder that has `hub/` below it, to the cluster file"
            return [finding("RCC911", message, chosen.file.place(("model",)), help=help)]
    return []


def _check_cache_dirs(chosen: Chosen, ranks: Iterable[ResolvedRank]) -> list[Finding]:
    """What one rank writes has no place in the folder that all of them read."""
    found = []
    for one in ranks:
        if one.hf_cache is not None and f"{one.cache_dir}/".startswith(f"{one.hf_cache.rstrip('/')}/"):
            message = f"`cache_dir` of node `{one.node.name}` lies in the model cache `{one.hf_cache}`"
            place = chosen.cluster.node_place(one.node, "cache_dir")
            help = "name a folder on the node's own disk"
            found.append(finding("RCC706", message, place, help=help, severity=Severity.ERROR))
    return found


def _resolved(chosen: Chosen, ranks: tuple[ResolvedRank, ...]) -> Resolved:
    recipe = chosen.file.recipe
    port, rendezvous_port = ports(chosen.file, chosen.engine)
    staging_image = recipe.staging_image
    return Resolved(
        id=chosen.file.id,
        name=chosen.file.name,
        recipe=recipe,
        engine=chosen.engine,
        hardware=chosen.hardware,
        topology=chosen.topology,
        image=resolve_image(recipe.docker_image, "engine", chosen.lock),
        staging_image=resolve_image(staging_image, "staging", chosen.lock) if staging_image is not None else None,
        models=chosen.models,
        port=port,
        rendezvous_port=rendezvous_port,
        health=_health(chosen),
        ranks=ranks,
        k8s=chosen.cluster.cluster.k8s,
        k8s_workload=chosen.options.k8s_workload,
        locked=chosen.lock is not None,
    )


_PLAIN_HEALTH = Health(path="/health", interval=30, timeout=30, retries=5, start_period=2700)
"""Where the engine has no check of its own: a start budget for 500 GB, and time to generate a token."""


def _health(chosen: Chosen) -> Health | None:
    """The engine's health check with what the recipe changes of it."""
    keys, own = chosen.file.recipe.healthcheck, chosen.engine.health
    if keys is None or ports(chosen.file, chosen.engine)[0] is None:
        return own
    base = own or _PLAIN_HEALTH
    return Health(
        keys.path or base.path,
        keys.interval or base.interval,
        keys.timeout or base.timeout,
        keys.retries or base.retries,
        base.start_period if keys.start_period is None else keys.start_period,
    )
