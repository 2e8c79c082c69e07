"""What a pod mounts: volumes that all ranks have alike, and claims on folders that are each node's own."""

from __future__ import annotations

from dataclasses import dataclass, field
from posixpath import dirname
from typing import Any

from rcc.plan.model import FileRef, Mount, Plan, Rank, Staging
from rcc_targets.k8s.config import file_map
from rcc_targets.k8s.crew import is_group

PIN = "node"
PIN_FOLDER = "/var/lib/rcc"
INFINIBAND = "/dev/infiniband"
_TYPES = {
    "hub": "Directory", "model": "Directory", "cache": "DirectoryOrCreate", "staged": "DirectoryOrCreate", "bind": "",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Claim:
    """A folder of each rank's own node: what ties the rank to it. `capacity` in bytes, which nothing measures."""

    name: str
    paths: tuple[str, ...]
    type: str
    capacity: int = 1 << 30


@dataclass(slots=True)
class Storage:
    """Volumes by name, claims, and the engine's mounts.

    `unknown` are host paths that may be a file or a folder, so that Kubernetes cannot be told to refuse a missing
    one; container engines then make an empty folder. `beside` are volumes of the folders that they lie in, to look.
    """

    volumes: dict[str, dict[str, Any]] = field(default_factory=dict)
    claims: dict[str, Claim] = field(default_factory=dict)
    mounts: list[dict[str, Any]] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    beside: dict[str, str] = field(default_factory=dict)

    def host_path(self, name: str, path: str, type_: str) -> None:
        """Adds a volume that is a path of the node; without a type it may be a file or a folder."""
        self.volumes[name] = {"hostPath": {"path": path, "type": type_}}
        if not type_ and path != "/":
            self.unknown.append(path)

    def mount(self, name: str, path: str, read_only: bool, **more: str) -> None:
        """Adds a mount of the engine's, with `more` fields of Kubernetes."""
        self.mounts.append({"name": name, "mountPath": path, **({"readOnly": True} if read_only else {}), **more})

    def pod_volumes(self) -> list[dict[str, Any]]:
        """As a pod lists them; claims come from the workload's templates."""
        return [{"name": name, **source} for name, source in self.volumes.items()]


def storage(plan: Plan) -> Storage:
    """What every pod of the plan mounts."""
    made = Storage()
    for block in plan.ranks[0].staging:
        _staging(plan, made, block)
    for number, mount in enumerate(plan.ranks[0].container.mounts):
        _mount(plan, made, number, mount)
    _devices(plan, made)
    if (size := plan.ranks[0].container.shm_size) is not None:
        made.volumes["shm"] = {"emptyDir": {"medium": "Memory", "sizeLimit": str(size)}}
        made.mount("shm", "/dev/shm", False)  # noqa: S108 - where the engine looks for shared memory
    if is_group(plan) and not made.claims:
        folder = f"{PIN_FOLDER}/{plan.id}"
        made.claims[PIN] = Claim(PIN, tuple(folder for _ in plan.ranks), "DirectoryOrCreate")
        made.mount(PIN, "/rcc/node", True)
    _beside(made)
    return made


def _beside(made: Storage) -> None:
    for number, folder in enumerate(sorted({dirname(path) for path in made.unknown})):
        made.beside[f"beside-{number}"] = folder
        made.host_path(f"beside-{number}", folder, "Directory")


def staged_name(block: str) -> str:
    """The volume of a staging block's `dst`."""
    return f"staged-{block}"


def source_volume(rank: Rank, block: Staging) -> tuple[str, str]:
    """The volume that a block is staged from, and the node's folder in it: files of a snapshot are links within it."""
    hub = f"{rank.hf_cache}/hub"
    if (block.src + "/").startswith(hub + "/"):
        return "hub", hub
    return f"source-{block.id}", block.src


def _staging(plan: Plan, made: Storage, block: Staging) -> None:
    peers = [one for rank in plan.ranks for one in rank.staging if one.id == block.id]
    _folder(plan, made, staged_name(block.id), tuple(one.dst for one in peers), "staged", block.min_free)
    name, _ = source_volume(plan.ranks[0], block)
    folders = (source_volume(rank, one)[1] for rank, one in zip(plan.ranks, peers, strict=True))
    _hub(plan, made) if name == "hub" else _folder(plan, made, name, tuple(folders), "model", None)


def _hub(plan: Plan, made: Storage) -> None:
    if plan.k8s.hf_claim:
        made.volumes["hub"] = {"persistentVolumeClaim": {"claimName": plan.k8s.hf_claim, "readOnly": True}}
    else:
        _folder(plan, made, "hub", tuple(f"{rank.hf_cache}/hub" for rank in plan.ranks), "hub", None)


def _mount(plan: Plan, made: Storage, number: int, mount: Mount) -> None:
    if isinstance(mount.source, FileRef):
        name, key = file_map(plan, mount.source)
        made.volumes[f"file-{number}"] = {"configMap": {"name": name, "defaultMode": _mode(plan, mount.source)}}
        made.mount(f"file-{number}", mount.target, True, subPath=key)
        return
    sources = tuple(str(rank.container.mounts[number].source) for rank in plan.ranks)
    if mount.kind == "hub":
        _hub(plan, made)
        made.mount("hub", mount.target, True, **({"subPath": "hub"} if plan.k8s.hf_claim else {}))
        return
    name = _name(plan, number, mount)
    if mount.kind == "cache" and any(source.startswith("~/") for source in sources):
        made.volumes[name] = {"emptyDir": {}}
    else:
        _folder(plan, made, name, sources, mount.kind, None, file=mount.sha256 is not None)
    made.mount(name, mount.target, mount.read_only)


def _name(plan: Plan, number: int, mount: Mount) -> str:
    """Mounts of one staged folder share its volume; other names say what the volume is."""
    for block in plan.ranks[0].staging:
        if mount.source == block.dst:
            return staged_name(block.id)
    return mount.kind if mount.kind == "cache" else f"{mount.kind}-{number}"


def _folder(
    plan: Plan, made: Storage, name: str, paths: tuple[str, ...], kind: str, size: int | None, *, file: bool = False
) -> None:
    """Rows, and what differs between nodes, by claims; all else is a host path of every node."""
    if name in made.volumes or name in made.claims:
        return
    alike = len(set(paths)) == 1
    if is_group(plan) and (kind == "staged" or not alike):
        made.claims[name] = Claim(name, paths, "File" if file else _TYPES[kind] or "Directory", size or 1 << 30)
    else:
        made.host_path(name, paths[0], "File" if file else _TYPES[kind])


def _mode(plan: Plan, reference: FileRef) -> int:
    executable = any(file.executable for file in plan.files if file.file == reference.file)
    return 0o755 if executable else 0o644


def _devices(plan: Plan, made: Storage) -> None:
    """Devices, where no device plug-in hands them out."""
    for number, device in enumerate(plan.ranks[0].container.devices):
        source, _, inside = device.partition(":")
        if plan.k8s.rdma_resource and source.startswith(INFINIBAND):
            continue
        made.host_path(f"device-{number}", source, "Directory" if source == INFINIBAND else "")
        made.mount(f"device-{number}", inside.partition(":")[0] or source, False)
