"""A resolved recipe to a plan: one container per rank, whole command lines, every mount."""

from __future__ import annotations

from rcc.engines.model import World
from rcc.plan.canonical import digest
from rcc.plan.model import (
    Assert,
    CarriedFile,
    Container,
    Gid,
    Group,
    GroupHealth,
    Healthcheck,
    Image,
    K8s,
    Model,
    Plan,
    Rank,
)
from rcc.plan.mounts import mounts_of
from rcc.plan.unpinned import unpinned_of
from rcc.quick import replace
from rcc.recipe.gid_index import GID_VARIABLE
from rcc.resolve.model import Resolved, ResolvedFile, ResolvedImage, ResolvedRank
from rcc.resolve.models import host_path, model_paths
from rcc.resolve.pins import architecture

ENTER = ("sh", "/rcc/enter")
LABEL = "dev.rcc"
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - compared with, never bound


def lower(resolved: Resolved) -> Plan:
    """The plan of a resolved recipe."""
    plan = Plan(
        id=resolved.id,
        name=resolved.name,
        plan="",
        locked=resolved.locked,
        unpinned=unpinned_of(resolved),
        image=_image(resolved.image),
        staging_image=_image(resolved.staging_image) if resolved.staging_image else None,
        models=_models(resolved),
        group=_group(resolved),
        files=_files(resolved),
        k8s=_k8s(resolved),
        ranks=tuple(_rank(resolved, rank) for rank in resolved.ranks),
    )
    return replace(plan, plan=digest(plan))


def _image(image: ResolvedImage) -> Image:
    return Image(image.asked, image.digest)


def _models(resolved: Resolved) -> tuple[Model, ...]:
    head = resolved.ranks[0]
    paths = model_paths(resolved.models, head.staging)
    return tuple(
        Model(one.id, one.repo, one.commit, one.tree, paths.get(one.id), host_path(one, head.hf_cache))
        for one in resolved.models
    )


def _files(resolved: Resolved) -> tuple[CarriedFile, ...]:
    files = {
        mount.source.file: CarriedFile(
            mount.source.file, mount.source.sha256, mount.source.executable, mount.source.data
        )
        for rank in resolved.ranks
        for mount in rank.mounts
        if isinstance(mount.source, ResolvedFile)
    }
    return tuple(files[name] for name in sorted(files))


def _group(resolved: Resolved) -> Group:
    """Workers before the head: the head answers for all, so it comes when they are there."""
    size = len(resolved.ranks)
    check = _healthcheck(resolved)
    host = resolved.ranks[0].node.host
    if resolved.recipe.listen not in (*EVERYWHERE, host):
        host = None  # an address that perhaps nobody but the head reaches
    health = GroupHealth(0, host, check) if check else None
    return Group(size, tuple(reversed(range(size))), health, "group" if size > 1 else "self")


def _healthcheck(resolved: Resolved) -> Healthcheck | None:
    own = resolved.health
    if own is None or resolved.port is None:
        return None
    address = "127.0.0.1" if resolved.recipe.listen in EVERYWHERE else resolved.recipe.listen
    return Healthcheck(resolved.port, own.path, own.interval, own.timeout, own.retries, own.start_period, address)


def _k8s(resolved: Resolved) -> K8s:
    keys = resolved.k8s
    used = {rank.node.name for rank in resolved.ranks}
    return K8s(
        namespace=keys.namespace,
        storage_class=keys.storage_class,
        runtime_class=keys.runtime_class,
        rdma_resource=keys.rdma_resource,
        image_pull_secrets=keys.image_pull_secrets,
        tolerations=keys.tolerations,
        node_names={node: name for node, name in keys.node_names.items() if node in used},
        hf_claim=keys.hf_claim,
        workload=resolved.k8s_workload,
    )


def _rank(resolved: Resolved, rank: ResolvedRank) -> Rank:
    node, hardware = rank.node, resolved.hardware
    gpus = hardware.gpus if node.gpus is None else node.gpus
    return Rank(
        rank=rank.rank,
        node=node.name,
        host=node.host,
        fabric=node.meeting_address,
        head=rank.rank == 0,
        ssh=rank.ssh,
        install_dir=rank.install_dir,
        arch=architecture(node, hardware),
        gpus=gpus,
        unified_memory=hardware.unified_memory,
        hf_cache=rank.hf_cache,
        cache_dir=rank.cache_dir,
        ports=_ports(resolved, rank.rank),
        gid=Gid(rank.hca, str(node.meeting_address)) if rank.gid_index == "auto" else None,
        asserts=tuple(Assert(path, contains) for path, contains in rank.asserts),
        container=_container(resolved, rank, gpus),
        staging=rank.staging,
    )


def _ports(resolved: Resolved, rank: int) -> tuple[int, ...]:
    """What a rank listens on: the API, and where the others come to it."""
    engine, is_head = resolved.engine, rank == 0
    serves = is_head or not engine.only_head_serves
    meets = len(resolved.ranks) > 1 and is_head is not engine.workers_lend
    ports = (resolved.port if serves else None, resolved.rendezvous_port if meets else None)
    return tuple(port for port in ports if port)


def _container(resolved: Resolved, rank: ResolvedRank, gpus: int) -> Container:
    recipe, hardware = resolved.recipe, resolved.hardware
    arch = architecture(rank.node, hardware)
    late = {one.name: one.late for one in rank.env if one.late is not None}
    process = resolved.engine.process(_world(resolved, rank))
    return Container(
        name=f"{resolved.id}-rank{rank.rank}",
        image=resolved.image.reference,
        platform=f"linux/{arch}" if arch else None,
        enter=ENTER if rank.is_entered(recipe.secrets) else None,
        entrypoint=process.entrypoint,
        command=process.command,
        env={one.name: one.value for one in rank.env if one.late is None},
        late_env=late,
        secrets=recipe.secrets,
        user=recipe.user,
        mounts=mounts_of(resolved, rank),
        shm_size=recipe.shm_size,
        memory=recipe.memory,
        network="host",
        ipc=resolved.ipc,
        gpus="all" if gpus else None,
        devices=resolved.devices,
        cap_add=resolved.cap_add,
        ulimits=resolved.ulimits,
        oom_score_adj=hardware.oom_score_adj,
        stop_grace=resolved.stop_grace,
        restart="no" if len(resolved.ranks) > 1 else "unless-stopped",
        healthcheck=_healthcheck(resolved) if rank.rank == 0 else None,
        labels=_labels(resolved, rank),
    )


def _world(resolved: Resolved, rank: ResolvedRank) -> World:
    recipe = resolved.recipe
    main = resolved.main_model
    paths = model_paths(resolved.models, rank.staging)
    return World(
        rank=rank.rank,
        addresses=tuple(one.node.meeting_address for one in resolved.ranks),
        model=paths.get(main.id, main.repo) if main else None,
        listen=recipe.listen,
        port=resolved.port,
        rendezvous_port=resolved.rendezvous_port,
        tensor=recipe.tensor_parallel_size,
        pipeline=recipe.pipeline_parallel_size,
        data=recipe.data_parallel_size,
        backend=recipe.distributed_backend,
        entrypoint=resolved.engine.command if rank.entrypoint is None else rank.entrypoint,
        wrapped=rank.entrypoint is not None,
        args=rank.args,
        differing=_differing(resolved) if recipe.distributed_backend == "ray" else (),
    )


def _differing(resolved: Resolved) -> tuple[str, ...]:
    """Variables that not every rank has with the same value, those among them that are found on the node."""
    found = {(one.name, one.value) for one in resolved.ranks[0].env}
    others = [{(one.name, one.value) for one in rank.env} for rank in resolved.ranks[1:]]
    names = {name for other in others for name, _ in found ^ other}
    names |= {one.name for rank in resolved.ranks for one in rank.env if one.late is not None}
    if any(rank.gid_index == "auto" for rank in resolved.ranks):
        names.add(GID_VARIABLE)
    return tuple(sorted(names))


def _labels(resolved: Resolved, rank: ResolvedRank) -> dict[str, str]:
    labels = {
        f"{LABEL}.id": resolved.id,
        f"{LABEL}.image": resolved.image.asked,
        f"{LABEL}.rank": str(rank.rank),
    }
    for model in resolved.models:
        if model.commit:
            labels[f"{LABEL}.model.{model.id}"] = f"{model.repo}@{model.commit}"
    for block in rank.staging:
        if block.layout:
            labels[f"{LABEL}.layout.{block.id}"] = block.layout
    return labels
