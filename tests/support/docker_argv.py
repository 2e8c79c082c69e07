"""What `docker run` makes of its argv. An option that this table does not know is a failure."""

import csv
from dataclasses import dataclass
from io import StringIO

from tests.support.strict_yaml import UnfaithfulError

SHORT = {
    "-d": "--detach",
    "-e": "--env",
    "-h": "--hostname",
    "-i": "--interactive",
    "-l": "--label",
    "-m": "--memory",
    "-p": "--publish",
    "-u": "--user",
    "-w": "--workdir",
}
SWITCHES = frozenset({"--detach", "--init", "--interactive", "--no-healthcheck", "--privileged", "--read-only", "--rm"})
MANY = frozenset({
    "--add-host", "--cap-add", "--cap-drop", "--device", "--env", "--env-file", "--group-add", "--label", "--log-opt",
    "--mount", "--publish", "--security-opt", "--tmpfs", "--ulimit",
})  # fmt: skip
ONCE = frozenset({
    "--cgroupns", "--cidfile", "--cpus", "--entrypoint", "--gpus", "--health-cmd", "--health-interval",
    "--health-retries", "--health-start-period", "--health-timeout", "--hostname", "--ipc", "--log-driver", "--memory",
    "--name", "--network", "--oom-score-adj", "--pid", "--pids-limit", "--platform", "--pull", "--restart", "--runtime",
    "--shm-size", "--stop-signal", "--stop-timeout", "--user", "--userns", "--uts", "--workdir",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class DockerRun:
    """A container to be: what it runs, and the options as (long name, value), a switch with an empty value."""

    image: str
    arguments: tuple[str, ...]
    options: tuple[tuple[str, str], ...]

    def all(self, option: str) -> list[str]:
        return [value for name, value in self.options if name == option]

    def one(self, option: str) -> str | None:
        return next(iter(self.all(option)), None)

    @property
    def argv(self) -> list[str]:
        """What the container's first process gets, where the entrypoint is given."""
        entrypoint = self.one("--entrypoint")
        # Podman reads a list out of such a text, docker does not.
        if not entrypoint or entrypoint.startswith("["):
            raise UnfaithfulError(f"the image's entrypoint, or one that tools read differently: {entrypoint!r}")
        return [entrypoint, *self.arguments]

    @property
    def env(self) -> dict[str, str | None]:
        """Environment; None for a name passed through from the caller."""
        found: dict[str, str | None] = {}
        for text in self.all("--env"):
            name, equals, value = text.partition("=")
            if not name or name in found:
                raise UnfaithfulError(f"an empty name or one that stands twice: {text[:200]!r}")
            found[name] = value if equals else None
        return found

    @property
    def labels(self) -> dict[str, str]:
        pairs = [text.partition("=") for text in self.all("--label")]
        return {key: value for key, _, value in pairs}

    @property
    def mounts(self) -> list[dict[str, str]]:
        return [_mount(text) for text in self.all("--mount")]


def docker_run(argv: list[str]) -> DockerRun:
    """Reads the words after `docker`: `run` or `create`, options, image, arguments."""
    if argv[:1] not in (["run"], ["create"]):
        raise UnfaithfulError(f"neither run nor create: {argv[:3]}")
    options: list[tuple[str, str]] = []
    at = 1
    while at < len(argv) and argv[at].startswith("-"):
        option, at = _option(argv, at)
        if option[0] not in MANY and option[0] in dict(options):
            raise UnfaithfulError(f"{option[0]} stands twice")
        options.append(option)
    if at == len(argv) or not argv[at]:
        raise UnfaithfulError("no image")
    return DockerRun(argv[at], tuple(argv[at + 1 :]), tuple(options))


def _option(argv: list[str], at: int) -> tuple[tuple[str, str], int]:
    word, equals, value = argv[at].partition("=") if argv[at].startswith("--") else (argv[at], "", "")
    name = SHORT.get(word, word)
    if name in SWITCHES and not equals:
        return (name, ""), at + 1
    if name not in MANY | ONCE:
        raise UnfaithfulError(f"an option that this reader does not know: {argv[at][:200]!r}")
    if equals:
        return (name, value), at + 1
    if at + 1 == len(argv):
        raise UnfaithfulError(f"{name} has no value")
    return (name, argv[at + 1]), at + 2


def _mount(text: str) -> dict[str, str]:
    """One CSV record of key=value fields, under the names `type`, `source`, `target`, `readonly` and as written."""
    (fields,) = csv.reader(StringIO(text, newline=""), strict=True)
    found: dict[str, str] = {}
    for field in fields:
        key, _, value = field.partition("=")
        name = {"src": "source", "dst": "target", "destination": "target", "ro": "readonly"}.get(key, key)
        if name in found or value != value.strip() or "\r\n" in value:
            raise UnfaithfulError(f"a field twice, or one that newer versions refuse: {field!r}")
        found[name] = value
    return found
