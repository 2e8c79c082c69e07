"""Whether manifests are a plan: what each rank's engine gets, after controllers, kubelet and a real shell."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from rcc.plan.model import Container, FileRef, Plan, Rank
from tests.support.cli import PATH
from tests.support.k8s_pods import Manifests, Mounted, Seen
from tests.support.skips import find

ENTER = "/rcc/enter"
GID = "3"
_DUMP = """
import os, sys
out = [*sys.argv[1:], "", *(name + "=" + value for name, value in os.environ.items())]
sys.stdout.buffer.write(b"\\0".join(map(os.fsencode, [str(len(sys.argv) - 1), *out])))
"""
_OF_A_SHELL = frozenset({"PWD", "OLDPWD", "SHLVL", "_", "PATH", "LC_CTYPE"})
_OF_KUBERNETES = frozenset({"RCC_RANK", "LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"})


def differences(plan: Plan, files: Mapping[str, str], work: Path) -> list[str]:
    """What is not as in the plan. `work` gets scripts, a made-up sysfs and stamps."""
    manifests = Manifests({path: text for path, text in files.items() if not path.endswith("kustomization.yaml")})
    assert manifests.size == len(plan.ranks)
    found = []
    for rank in plan.ranks:
        secrets = {name: f"secret {name}".encode() for name in rank.container.secrets}
        seen = manifests.container(rank.rank, secrets)
        argv, env = _started(seen, rank, plan, work)
        wanted_env = {name: text.encode() for name, text in rank.container.env.items()} | secrets
        if rank.gid:
            wanted_env |= dict.fromkeys((*rank.container.late_env, "NCCL_IB_GID_INDEX"), GID.encode())
        pairs = {
            "argv": (argv, [word.encode() for word in (*rank.container.entrypoint, *rank.container.command)]),
            "env": ({name: env[name] for name in env if name not in _OF_KUBERNETES}, wanted_env),
            "image": (seen.container["image"], rank.container.image),
            "node": (seen.node, None if rank.node == "localhost" else plan.k8s.node_names.get(rank.node, rank.node)),
            "fields": (_fields(seen), _wanted(plan, rank)),
        }
        found += [f"rank {rank.rank}, {what}: {a!r} is not {b!r}" for what, (a, b) in pairs.items() if a != b]
        found += [f"rank {rank.rank}: {text}" for text in _mounts_wrong(plan, rank.container, seen)]
    return found


def _started(seen: Seen, rank: Rank, plan: Plan, work: Path) -> tuple[list[bytes], dict[str, bytes]]:
    """argv and environment of the engine, past a script that stands before it."""
    if seen.argv[:2] != (b"sh", ENTER.encode()):
        return list(seen.argv), dict(seen.env)
    script = seen.mounts[ENTER].content
    assert script
    text = script.decode()
    assert text.endswith('\nexec "$@"\n')
    dump = work / "dump.py"
    dump.write_text(_DUMP)
    text = text.removesuffix('exec "$@"\n') + f'exec "{sys.executable}" "{dump}" "$@"\n'
    text = text.replace("' /sys/", f"' {_sysfs(work, rank)}/")
    for number, one in enumerate(rank.asserts):
        held = work / f"asserted{number}"
        held.write_text(one.contains)
        text = text.replace(f"asserted '{one.path}'", f"asserted '{held}'")
    for block in rank.staging:
        inside = next(mount.target for mount in rank.container.mounts if mount.source == block.dst)
        text = text.replace(f"stamped '{inside}'", f"stamped '{_stamp(work, rank, plan, block.id)}'")
    (work / "script").write_text(text)
    shell = find("dash")
    assert shell
    done = subprocess.run(
        [shell, work / "script", *seen.argv[2:]],
        env={b"PATH": PATH.encode(), **{name.encode(): value for name, value in seen.env.items()}},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    count, *rest = done.stdout.split(b"\0")
    argv = rest[: int(count)]
    pairs = (entry.partition(b"=") for entry in rest[int(count) + 1 :])
    return argv, {name.decode(): value for name, _, value in pairs if name.decode() not in _OF_A_SHELL}


def _sysfs(work: Path, rank: Rank) -> Path:
    folder = work / f"sysfs{rank.rank}"
    for hca in rank.gid.hca.split(",") if rank.gid else ():
        port = folder / "class/infiniband" / hca / "ports/1"
        for name in ("gids", "gid_attrs/types"):
            (port / name).mkdir(parents=True, exist_ok=True)
        (port / "state").write_text("4: ACTIVE\n")
        a, b, c, d = (int(part) for part in rank.gid.fabric.split(".")) if rank.gid else (0, 0, 0, 0)
        (port / "gids" / GID).write_text(f"0000:0000:0000:0000:0000:ffff:{a:02x}{b:02x}:{c:02x}{d:02x}\n")
        (port / "gid_attrs/types" / GID).write_text("RoCE v2\n")
    return folder


def _stamp(work: Path, rank: Rank, plan: Plan, block: str) -> Path:
    (staged,) = (one for one in rank.staging if one.id == block)
    folder = work / f"staged{rank.rank}"
    (folder / ".rcc").mkdir(parents=True, exist_ok=True)
    rows = ",".join(f"{layer}:{low}:{high}" for layer, (low, high) in (staged.rows or {}).items())
    (folder / ".rcc/stamp").write_text(f"{staged.layout} {plan.group.size} {rank.rank} {rows}\n")
    return folder


def _fields(seen: Seen) -> dict[str, object]:
    security = seen.container.get("securityContext", {})
    limits = seen.container.get("resources", {}).get("limits", {})
    shm = [one["emptyDir"].get("sizeLimit") for one in seen.spec.get("volumes", []) if one["name"] == "shm"]
    user, group = security.get("runAsUser"), security.get("runAsGroup")
    return {
        "ipc": "host" if seen.spec.get("hostIPC") else "private",
        "network": "host" if seen.spec["hostNetwork"] else None,
        "stop_grace": seen.spec["terminationGracePeriodSeconds"],
        "cap_add": tuple(security.get("capabilities", {}).get("add", ())),
        "user": None if user is None else f"{user}:{group}" if group is not None else str(user),
        "memory": limits.get("memory"),
        "gpus": limits.get("nvidia.com/gpu"),
        "shm_size": shm[0] if shm else None,
        "arch": seen.spec.get("nodeSelector", {}).get("kubernetes.io/arch"),
    }


def _wanted(plan: Plan, rank: Rank) -> dict[str, object]:
    container = rank.container
    gpus = rank.gpus if container.gpus == "all" else container.gpus
    numbers = {"memory": container.memory, "gpus": gpus, "shm_size": container.shm_size}
    return {
        "ipc": container.ipc,
        "network": container.network,
        "stop_grace": container.stop_grace,
        "cap_add": container.cap_add,
        "user": container.user,
        **{name: None if number is None else str(number) for name, number in numbers.items()},
        "arch": container.platform.partition("/")[2] if container.platform else None,
    }


def _mounts_wrong(plan: Plan, container: Container, seen: Seen) -> list[str]:
    wanted = {mount.target: mount for mount in container.mounts}
    known = {ENTER, "/dev/shm", "/rcc/node", *(device.split(":")[0] for device in container.devices)}
    found = [f"an unknown mount at {path}" for path in seen.mounts if path not in {*wanted, *known}]
    for path, mount in wanted.items():
        got = seen.mounts.get(path)
        if got is None:
            found.append(f"no mount at {path}")
        elif isinstance(mount.source, FileRef):
            (file,) = (one for one in plan.files if one.file == mount.source.file)
            if (got.content, got.mode) != (file.data, 0o755 if file.executable else 0o644):
                found.append(f"another file at {path}")
        elif got.read_only != mount.read_only or not _same_source(plan, got, mount.source, mount.kind):
            found.append(f"{got} is not {mount}")
    return found


def _same_source(plan: Plan, got: Mounted, source: str, kind: str) -> bool:
    if kind == "cache" and source.startswith("~/"):
        return got.kind == "emptyDir"
    if kind == "hub" and plan.k8s.hf_claim:
        return (got.kind, got.source) == ("persistentVolumeClaim", plan.k8s.hf_claim)
    return got.source == source
