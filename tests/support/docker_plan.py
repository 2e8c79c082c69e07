"""Whether a `docker run` is the container of a plan: every field that it can say, and nothing else."""

from rcc.plan.model import Container, Mount
from tests.support.docker_argv import DockerRun


def differences(run: DockerRun, container: Container, files: str, home: str) -> list[str]:
    """What is not as in the plan. `files` is the folder of carried files, `home` stands for `~`."""
    process = [*(container.enter or ()), *container.entrypoint, *container.command]
    pairs = {
        "image": (run.image, container.image),
        "argv": (run.argv, process),
        "env": (run.env, dict(container.env)),
        "mounts": (_read(run), [_said(mount, files, home) for mount in container.mounts]),
        "labels": ({key: run.labels.get(key) for key in container.labels}, dict(container.labels)),
        "ulimits": (sorted(run.all("--ulimit")), sorted(_limit(*one) for one in container.ulimits.items())),
        "devices": (run.all("--device"), list(container.devices)),
        "capabilities": (run.all("--cap-add"), list(container.cap_add)),
        **{option: (run.one(option), said) for option, said in _single(container).items()},
    }
    return [f"{what}: {found!r} is not {wanted!r}" for what, (found, wanted) in pairs.items() if found != wanted]


def _single(container: Container) -> dict[str, str | None]:
    values = {
        "--name": container.name,
        "--platform": container.platform,
        "--network": container.network,
        "--ipc": container.ipc,
        "--shm-size": container.shm_size,
        "--memory": container.memory,
        "--gpus": container.gpus,
        "--oom-score-adj": container.oom_score_adj,
        "--user": container.user,
        "--stop-timeout": container.stop_grace,
    }
    return {option: None if value is None else str(value) for option, value in values.items()}


def _limit(name: str, limit: int | tuple[int, int]) -> str:
    soft, hard = (limit, limit) if isinstance(limit, int) else limit
    return f"{name}={soft}:{hard}"


def _said(mount: Mount, files: str, home: str) -> dict[str, str]:
    source = mount.source if isinstance(mount.source, str) else f"{files}/carried/{mount.source.file}"
    place = home + source[1:] if source.startswith("~/") else source
    return {"type": "bind", "source": place, "target": mount.target, **({"readonly": ""} if mount.read_only else {})}


def _read(run: DockerRun) -> list[dict[str, str]]:
    """The mounts but those below /rcc that the target adds by itself."""
    own = ("/rcc/enter", "/rcc/secrets")
    return [mount for mount in run.mounts if mount["target"] not in own]
