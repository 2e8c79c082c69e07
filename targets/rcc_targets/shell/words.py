"""The words of `docker run` for one container, in groups that a reader can follow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rcc.plan.model import Container, FileRef, Mount, Plan, Rank
from rcc.quick import dataclass
from rcc_targets.common.encode import csv_field, sh
from rcc_targets.common.files import carried_path
from rcc_targets.common.health import health_command
from rcc_targets.common.render import Encoded
from rcc_targets.common.where import ENTER, ENTER_FILE

LOG_SIZE = "10m"
LOG_FILES = "5"


@dataclass(frozen=True, slots=True)
class Option:
    """An option and its value, or words without an option."""

    name: str | None
    value: str | Mount | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Options that belong together, and what they are."""

    title: str
    options: tuple[Option, ...]


def groups(plan: Plan, rank: Rank, target: str = "shell") -> tuple[Group, ...]:
    """Every word after `docker run --detach`, once, in this order; a label says which target's container it is."""
    container = rank.container
    found = (
        Group("what it is", tuple(_identity(container))),
        Group("how it is told apart from others", tuple(_labels(plan, rank, target))),
        Group("what it may use", tuple(_resources(container))),
        Group("what it sees of the node", tuple(_mounts(container))),
        Group("its environment", tuple(_environment(container))),
        Group("its health", tuple(_health(container))),
        Group("the image and the process", tuple(_process(container))),
    )
    return tuple(group for group in found if group.options)


def options(found: Iterable[Option]) -> Encoded:
    """Options as lines that continue a command."""
    return Encoded("".join(f" \\\n        {_option(one)}" for one in found))


def inline(found: Iterable[Option]) -> Encoded:
    """Options within a line."""
    return Encoded("".join(f" {_option(one)}" for one in found))


def home(path: str) -> Encoded:
    """A path of the node as a word; `~/` is the home of whoever runs the script."""
    return Encoded('"$HOME"' + sh(path[1:])) if path.startswith("~/") else sh(path)


def _option(one: Option) -> str:
    value = _mount_word(one.value) if isinstance(one.value, Mount) else None if one.value is None else sh(one.value)
    return " ".join(word for word in (one.name, value) if word is not None)


def _identity(container: Container) -> Iterator[Option]:
    yield Option("--name", container.name)
    yield from platform(container)
    yield Option("--pull", "never")
    yield Option("--restart", container.restart)
    yield Option("--stop-timeout", str(container.stop_grace))
    yield Option("--log-driver", "json-file")
    yield Option("--log-opt", f"max-size={LOG_SIZE}")
    yield Option("--log-opt", f"max-file={LOG_FILES}")


def platform(container: Container) -> Iterator[Option]:
    """The platform, where the plan knows one."""
    if container.platform is not None:
        yield Option("--platform", container.platform)


def _labels(plan: Plan, rank: Rank, target: str) -> Iterator[Option]:
    own = {
        "dev.rcc.plan": plan.plan,
        "dev.rcc.ports": " ".join(map(str, rank.ports)),
        "dev.rcc.target": target,
    }
    for key, value in sorted({**rank.container.labels, **own}.items()):
        yield Option("--label", f"{key}={value}")


def _resources(container: Container) -> Iterator[Option]:
    yield Option("--network", container.network)
    yield Option("--ipc", container.ipc)
    for name, value in (("--shm-size", container.shm_size), ("--memory", container.memory), ("--gpus", container.gpus)):
        if value is not None:
            yield Option(name, str(value))
    yield from (Option("--device", device) for device in container.devices)
    yield from (Option("--cap-add", capability) for capability in container.cap_add)
    for name, limit in sorted(container.ulimits.items()):
        soft, hard = (limit, limit) if isinstance(limit, int) else limit
        yield Option("--ulimit", f"{name}={soft}:{hard}")
    if container.oom_score_adj is not None:
        yield Option("--oom-score-adj", str(container.oom_score_adj))
    if container.user is not None:
        yield Option("--user", container.user)


def _mounts(container: Container) -> Iterator[Option]:
    yield from (Option("--mount", mount) for mount in container.mounts)
    if container.enter is not None:
        yield Option("--mount", Mount(FileRef(ENTER_FILE, ""), ENTER, True, "file"))


def _environment(container: Container) -> Iterator[Option]:
    yield from (Option("--env", f"{name}={value}") for name, value in sorted(container.env.items()))
    yield from (Option("--env", name) for name in sorted(container.secrets))


def _health(container: Container) -> Iterator[Option]:
    check = container.healthcheck
    if check is None:
        yield Option("--no-healthcheck")
        return
    yield Option("--health-cmd", health_command(check))
    yield Option("--health-interval", f"{check.interval}s")
    yield Option("--health-timeout", f"{check.timeout}s")
    yield Option("--health-retries", str(check.retries))
    yield Option("--health-start-period", f"{check.start_period}s")


def _process(container: Container) -> Iterator[Option]:
    """Docker takes the first word apart from the others; without one the image's own entrypoint gets the arguments."""
    before = (*(container.enter or ()), *container.entrypoint)
    yield from (Option("--entrypoint", program) for program in before[:1])
    yield Option(None, container.image)
    yield from (Option(None, word) for word in (*before[1:], *container.command))


def _mount_word(mount: Mount) -> Encoded:
    """One CSV record for `--mount`. What only the node knows stands in a quoted field, whatever it holds."""
    target = csv_field(f"target={mount.target}")
    end = f",{target},readonly" if mount.read_only else f",{target}"
    if isinstance(mount.source, FileRef):
        return _field("$here", "/files/" + _below_files(mount), end)
    if mount.source.startswith("~/"):
        return _field("$HOME", mount.source[1:], end)
    return sh(f"type=bind,{csv_field(f'source={mount.source}')}{end}")


def _field(variable: str, path: str, end: str) -> Encoded:
    start = 'type=bind,"source='
    return Encoded(sh(start) + f'"{variable}"' + sh(re.sub('"', '""', path) + '"' + end))


def _below_files(mount: Mount) -> str:
    assert isinstance(mount.source, FileRef)
    return ENTER_FILE if mount.target == ENTER else carried_path(mount.source)
