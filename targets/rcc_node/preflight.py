"""What must be true before an engine starts: a list of small checks, each of which answers in one line."""

from __future__ import annotations

import errno
import hashlib
import socket
import subprocess
from collections.abc import Callable, Iterator, Set
from typing import Any

from rcc_node import containers, gid, staged
from rcc_node.console import Console
from rcc_node.errors import NodeError
from rcc_node.evict import evict
from rcc_node.plan import Plan
from rcc_node.quick import as_dict, dataclass
from rcc_node.source import READ_LIMIT, Source, opened
from rcc_node.units import size


@dataclass(frozen=True, slots=True)
class Answer:
    """One check's answer; `help` says what to do where it is not `ok`."""

    check: str
    ok: bool
    message: str
    help: str = ""

    def document(self) -> dict[str, Any]:
        return as_dict(self)

    def sentence(self) -> str:
        return f"ok    {self.check}: {self.message}" if self.ok else f"FAIL  {self.check}: {self.message}; {self.help}"


@dataclass(frozen=True, slots=True)
class Question:
    """What the checks know. `own_ports` count as free: a build that is replaced holds them."""

    plan: Plan
    own_ports: Set[int]


def preflight(plan: Plan, skip: Set[str], own_ports: Set[int], console: Console) -> list[Answer]:
    """Asks all checks but those to `skip`, says each answer as it comes, and gives them all."""
    for name in sorted(skip - set(CHECKS)):
        raise NodeError("check-unknown", f"there is no check `{name}`", "use " + ", ".join(sorted(CHECKS)), 2)
    answers = []
    for name, check in CHECKS.items():
        if name in skip:
            continue
        for answer in _answers(name, check, Question(plan, own_ports)):
            console.say(answer.sentence())
            answers.append(answer)
    return answers


def _answers(name: str, check: Check, question: Question) -> Iterator[Answer]:
    try:
        yield from check(question)
    except NodeError as error:
        yield Answer(name, False, " / ".join(error.message.splitlines()), error.help)


def _paths(question: Question) -> Iterator[Answer]:
    for path in question.plan.preflight.paths:
        with opened(path) as source:
            source.alive(path)
        yield Answer("paths", True, f"`{path}` answers")


def _files(question: Question) -> Iterator[Answer]:
    for path, expected in question.plan.preflight.files:
        with opened(path) as source:
            found = _sha256(source, path)
        if found == expected.removeprefix("sha256:"):
            yield Answer("files", True, f"`{path}` is the pinned file")
        else:
            yield Answer(
                "files", False, f"`{path}` has sha256 {found}, {expected} is pinned", "restore it or lock again"
            )


def _sha256(source: Source, path: str) -> str:
    digest, length = hashlib.sha256(), source.stat(path).size
    for offset in range(0, length, READ_LIMIT):
        digest.update(source.read(0, path, offset, min(READ_LIMIT, length - offset)))
    return digest.hexdigest()


def _image(question: Question) -> Iterator[Answer]:
    wanted = question.plan.preflight
    if wanted.image is None:
        return
    answer = containers.ask("image", "inspect", "--format", "{{json .RepoDigests}}", wanted.image)
    if answer is None:
        pull = f"pull it: `{containers.program()} pull {wanted.image}`"
        yield Answer("image", False, f"`{wanted.image}` is not on this node", pull)
    elif wanted.digest is not None and wanted.digest not in answer:
        yield Answer(
            "image", False, f"`{wanted.image}` is here with another digest than {wanted.digest}", "pull it again"
        )
    else:
        yield Answer("image", True, f"`{wanted.image}` is here")


def _rows(question: Question) -> Iterator[Answer]:
    for result in staged.verify(question.plan, False, Console(quiet=True)):
        yield Answer("rows", True, result.sentence())


def _ports(question: Question) -> Iterator[Answer]:
    for port in question.plan.preflight.ports:
        if port in question.own_ports or _free(port):
            yield Answer("ports", True, f"port {port} is free")
        else:
            yield Answer("ports", False, f"port {port} is taken", f"find who listens with `ss -ltnp sport = :{port}`")


def _free(port: int) -> bool:
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):  # noqa: S104
        try:
            with socket.socket(family) as probe:
                # Connections that linger from an engine that has just stopped do not hinder the next one.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                probe.bind((address, port))
        except PermissionError:
            continue  # a port below 1024: only root can ask
        except OSError as error:
            if error.errno == errno.EADDRINUSE:  # else the node lacks the family, which takes no port
                return False
    return True


def _gpu(question: Question) -> Iterator[Answer]:
    if not question.plan.preflight.gpu:
        return
    try:
        done = subprocess.run(
            ["nvidia-smi", "--query-compute-apps=pid,process_name", "--format=csv,noheader"],  # noqa: S607
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        yield Answer("gpu", False, f"nvidia-smi does not answer: {error}", "check the driver on this node")
        return
    found = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    if found:
        yield Answer("gpu", False, f"other processes use the GPU: {'; '.join(found)}", "stop them")
    else:
        yield Answer("gpu", True, "no other process uses the GPU")


def _gid(question: Question) -> Iterator[Answer]:
    wanted = question.plan.preflight.gid
    if wanted is None:
        return
    try:
        index = gid.run(wanted.hca, wanted.fabric)
    except gid.DifferentGidsError as error:
        if wanted.needed:
            raise
        index = f"left to NCCL: {error.message.splitlines()[0]}"
    yield Answer("gid", True, f"the RoCE v2 GID index is {index}")


def _memory(question: Question) -> Iterator[Answer]:
    wanted = question.plan.preflight
    if wanted.memory is None:
        return
    if wanted.unified_memory:
        evict(question.plan)
    # What the page cache holds counts as available, but a unified-memory GPU cannot have it.
    kind = "MemFree" if wanted.unified_memory else "MemAvailable"
    free = _meminfo(kind)
    text = f"{size(free)} of memory are free ({kind}), {size(wanted.memory)} are needed"
    yield Answer("memory", free >= wanted.memory, text, "stop what holds memory, or lower what the engine takes")


def _meminfo(key: str) -> int:
    with open("/proc/meminfo", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key + ":"))


Check = Callable[[Question], Iterator[Answer]]

CHECKS: dict[str, Check] = {
    "paths": _paths,
    "files": _files,
    "image": _image,
    "rows": _rows,
    "ports": _ports,
    "gpu": _gpu,
    "gid": _gid,
    "memory": _memory,
}
