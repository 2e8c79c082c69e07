"""What the units of one rank say."""

from __future__ import annotations

from collections.abc import Iterator

from rcc.plan.model import FileRef, Mount, Plan, Rank
from rcc.quick import dataclass, replace
from rcc_targets.common.files import carried_path
from rcc_targets.common.render import Encoded
from rcc_targets.common.where import ENTER, ENTER_FILE, SECRETS
from rcc_targets.shell.words import Group, Option, groups
from rcc_targets.systemd.words import fits_line, mount_word, word

LIBRARY = "/usr/local/lib/rcc"
"""Where `install.sh` puts what root runs: a folder that only root writes."""


@dataclass(frozen=True, slots=True)
class Units:
    """A rank as the templates see it. Paths may start with `~/`: root's home, as root's manager starts the units."""

    plan: Plan
    rank: Rank
    prefix: str
    files: str
    exists: tuple[str, ...]
    caches: tuple[str, ...]
    run: Encoded

    @property
    def names(self) -> tuple[str, ...]:
        """The units in the order in which they start."""
        steps = ("pull", "stage", "engine") if self.rank.staging else ("pull", "engine")
        return (*(f"{self.prefix}-{step}.service" for step in steps), f"{self.prefix}.target")

    @property
    def mounted(self) -> tuple[str, ...]:
        """Paths whose file systems the engine needs."""
        mounts = self.rank.container.mounts
        return tuple(dict.fromkeys(mount.source for mount in mounts if isinstance(mount.source, str)))

    @property
    def staged(self) -> tuple[str, ...]:
        """Paths whose file systems staging needs."""
        return tuple(dict.fromkeys(path for block in self.rank.staging for path in (block.src, block.dst)))

    @property
    def wanted(self) -> tuple[str, ...]:
        """What the engine is started with, if it is there at all."""
        gpu = ("nvidia-persistenced.service",) if self.rank.container.gpus is not None else ()
        return ("docker.service", "network-online.target", *gpu)

    @property
    def ordered(self) -> tuple[str, ...]:
        """What the engine waits for."""
        return (*self.wanted, "remote-fs.target", *self.required)

    @property
    def required(self) -> tuple[str, ...]:
        """What must have succeeded before the engine."""
        return self.names[:-2]


def units_of(plan: Plan, rank: Rank) -> Units:
    """What the units of a rank are filled with."""
    files = f"{LIBRARY}/{plan.id}/current/files"
    return Units(
        plan=plan,
        rank=rank,
        prefix=f"rcc-{plan.id}",
        files=files,
        exists=tuple(_must_exist(rank)),
        caches=tuple(str(mount.source) for mount in rank.container.mounts if mount.kind == "cache"),
        run=command(_run(plan, rank), files),
    )


def _must_exist(rank: Rank) -> Iterator[str]:
    """Local paths only: systemd itself looks at these, and would hang on a NAS that is gone."""
    found = [device.partition(":")[0] for device in rank.container.devices]
    found += [f"{block.dst}/.rcc/stamp" for block in rank.staging]
    yield from (path for path in found if fits_line(path))


def _run(plan: Plan, rank: Rank) -> tuple[Group, ...]:
    """The words of `docker run`; systemd alone restarts, and secrets come as files."""
    container = replace(rank.container, restart="no", secrets=())
    found = groups(plan, replace(rank, container=container), "systemd")
    if not rank.container.secrets:
        return found
    secrets = Group("its secrets", (Option("--mount", Mount(f"%t/rcc-{plan.id}/secrets", SECRETS, True, "bind")),))
    return (*found[:-1], secrets, found[-1])


def make_folder(user: str | None) -> Encoded:
    """The words that make a folder which the container's user may write, where the plan knows who that is."""
    if user is None:
        return Encoded("/usr/bin/mkdir -p")
    owner, _, group = user.partition(":")
    return Encoded(f"/usr/bin/install -d -o {owner}" + (f" -g {group}" if group else ""))


def command(found: tuple[Group, ...], files: str) -> Encoded:
    """Groups as the lines of one command, each under a comment; systemd skips comments between such lines."""
    blocks = (f"# {group.title}\n" + " \\\n".join(_option(one, files) for one in group.options) for group in found)
    return Encoded(" \\\n".join(blocks))


def _option(one: Option, files: str) -> str:
    value = _mount(one.value, files) if isinstance(one.value, Mount) else None if one.value is None else word(one.value)
    return "    " + " ".join(part for part in (one.name, value) if part is not None)


def _mount(mount: Mount, files: str) -> Encoded:
    if isinstance(mount.source, FileRef):
        below = ENTER_FILE if mount.target == ENTER else carried_path(mount.source)
        return mount_word(f"{files}/{below}", mount.target, mount.read_only)
    return mount_word(mount.source, mount.target, mount.read_only)
