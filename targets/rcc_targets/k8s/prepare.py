"""What runs before the engine: containers that check, and that stage. They try again by themselves.

An init container that ends badly is started anew, and a LeaderWorkerSet takes that for a reason to make the whole
group anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import dirname, join, relpath
from typing import Any

from rcc.plan.model import Container, Plan, Rank, Staging
from rcc.quick import dataclass, replace
from rcc_targets.common.encode import sh
from rcc_targets.common.enter import pinned_mounts, prepare_script
from rcc_targets.common.files import stage_document
from rcc_targets.common.images import staging_image
from rcc_targets.common.where import NODE_PART, PREPARE, PREPARE_FILE, PYZ, STAGE
from rcc_targets.k8s.block import literal
from rcc_targets.k8s.crew import Crew
from rcc_targets.k8s.own import index_variable, own_file
from rcc_targets.k8s.process import INTERPRETER
from rcc_targets.k8s.storage import Storage, source_volume, staged_name

TOOLS = "tools"
"""The volume of `rcc-node.pyz`."""

STAGE_PREFIX = "stage"
STAGED = "/rcc/staged"
SOURCE = "/rcc/source"
BESIDE = "/rcc/beside"

_AGAIN = 'until "$@"; do echo "rcc: trying again in 30 seconds" >&2; sleep 30; done'

_PRESENT = """\
# Paths of the node: a container engine would make an empty folder of one that is missing.
present() {
    [ -e "$1" ] || [ -L "$1" ] || { printf 'rcc: %s is not on this node\\n' "$2" >&2; exit 78; }
}
"""


@dataclass(frozen=True, slots=True)
class Init:
    """A container that runs before the engine."""

    name: str
    image: str
    command: tuple[str, ...]
    env: list[dict[str, Any]]
    user: int | None
    mounts: list[dict[str, Any]]


def init_containers(plan: Plan, crew: Crew, kept: Storage) -> Iterator[Init]:
    """Checks, then staging, where there is any: what is cheap comes first."""
    yield _prepare(crew, kept)
    if plan.ranks[0].staging:
        yield _stage(plan, crew, kept)


def _prepare(crew: Crew, kept: Storage) -> Init:
    container = crew.ranks[0].container
    seen = {mount.target for mount in (*pinned_mounts(crew.ranks[0]), *_caches(container))}
    beside = [_mount(name, f"{BESIDE}/{number}", True) for number, name in enumerate(kept.beside)]
    return Init(
        name="prepare",
        image=container.image,
        command=_again("sh", PREPARE),
        env=index_variable(crew),
        user=0 if container.user is not None else None,
        mounts=[
            own_file(crew, PREPARE_FILE, PREPARE),
            *(mount for mount in kept.mounts if mount["mountPath"] in seen),
            *beside,
        ],
    )


def _stage(plan: Plan, crew: Crew, kept: Storage) -> Init:
    first = crew.ranks[0]
    sources = {name: mount for block in first.staging for name, mount in (_source_mount(first, kept, block),)}
    return Init(
        name="stage",
        image=staging_image(plan, first),
        command=_again("python3", "-I", PYZ, "stage", "--plan", STAGE),
        env=index_variable(crew),
        user=0,
        mounts=[
            {"name": TOOLS, "mountPath": PYZ, "readOnly": True, "subPath": NODE_PART},
            own_file(crew, STAGE_PREFIX, STAGE),
            *(mount for _, mount in sorted(sources.items())),
            *(_mount(staged_name(block.id), f"{STAGED}/{block.id}", False) for block in first.staging),
        ],
    )


def own_files(plan: Plan, rank: Rank, kept: Storage) -> dict[str, bytes]:
    """What these containers find in the map of the ranks for one rank."""
    checks = _present(kept) + prepare_script(rank, plan).removeprefix(INTERPRETER)
    files = {f"{PREPARE_FILE}-{rank.rank}": (INTERPRETER + checks).encode()}
    if rank.staging:
        blocks = tuple(replace(block, src=_inside(rank, block), dst=f"{STAGED}/{block.id}") for block in rank.staging)
        moved = replace(rank, staging=blocks, hf_cache=SOURCE)
        files[f"{STAGE_PREFIX}-{rank.rank}"] = stage_document(plan, moved)
    return files


def _present(kept: Storage) -> str:
    if not kept.unknown:
        return ""
    folders = list(kept.beside.values())
    lines = [
        f"present {sh(join(f'{BESIDE}/{folders.index(dirname(path))}', path.rpartition('/')[2]))} {sh(path)}"
        for path in kept.unknown
    ]
    return _PRESENT + "\n".join(lines) + "\n\n"


def _source_mount(rank: Rank, kept: Storage, block: Staging) -> tuple[str, dict[str, Any]]:
    name, _ = source_volume(rank, block)
    claimed = {"subPath": "hub"} if "persistentVolumeClaim" in kept.volumes.get(name, {}) else {}
    return name, {**_mount(name, f"{SOURCE}/{name}", True), **claimed}


def _inside(rank: Rank, block: Staging) -> str:
    name, folder = source_volume(rank, block)
    return join(SOURCE, name, relpath(block.src, folder)).removesuffix("/.")


def _caches(container: Container) -> Iterator[Any]:
    yield from (mount for mount in container.mounts if mount.kind == "cache")


def _mount(name: str, path: str, read_only: bool) -> dict[str, Any]:
    return {"name": name, "mountPath": path, **({"readOnly": True} if read_only else {})}


def _again(*words: str) -> tuple[str, ...]:
    return tuple(literal(word) for word in ("sh", "-c", _AGAIN, "rcc", *words))
