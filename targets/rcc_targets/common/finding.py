"""What no target can say, or what a container would not get as the plan has it: findings, and no artifact."""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import normpath

from rcc.diagnostic import Finding, Findings, finding, in_order
from rcc.plan.model import Plan, Rank
from rcc.source import Path
from rcc_targets.common.about import of_container, of_longest, of_rank, texts_of

LONGEST_WORD = 131071
"""Bytes of one argument or one `NAME=VALUE`: Linux gives a process no longer one."""

LONGEST_TOTAL = 2_000_000
"""Bytes of all arguments and variables together; Linux's limit is 2 MiB with the usual stack."""

FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_NO_CHARACTER = re.compile("[\ud800-\udfff]")

OF_THE_SHELL = re.compile(
    r"_|rcc_.*|BASH.*|COMP_.*|DIRSTACK|EPOCH.*|E?UID|FUNCNAME|GROUPS|HISTCMD|IFS|LINENO|OLDPWD|OPTERR|OPTIND"
    r"|PIPESTATUS|POSIXLY_CORRECT|PPID|PS[124]|PWD|S?RANDOM|SECONDS|SHELLOPTS|SHLVL"
)


def refused(plan: Plan) -> Findings:
    """What stands against any target; a target adds what stands against its own format."""
    return in_order(one for rank in plan.ranks for one in _of_rank(rank))


def _of_rank(rank: Rank) -> Iterator[Finding]:
    yield from _texts_refused(rank)
    yield from _program_refused(rank)
    yield from _argv_refused(rank)
    yield from _env_refused(rank)
    yield from _paths_refused(rank)
    yield from _names_refused(rank)


def texts(rank: Rank) -> Iterator[tuple[str, str, str, Path]]:
    """Every text of a rank that an artifact carries: what it is (a format), its name, the text, and its path."""
    container = rank.container
    for number, (word, path) in enumerate(texts_of(container, "entrypoint", "command")):
        yield "argument {}", str(number), word, of_container(rank, *path)
    for name, value in container.env.items():
        yield "the variable `{}`", name, f"{name}={value}", of_container(rank, "env", name)
    for name, path in texts_of(container, "late_env", "secrets"):
        yield "the variable `{}`", name, name, of_container(rank, *path)
    for key, value in container.labels.items():
        yield "the label `{}`", key, f"{key}={value}", of_container(rank, "labels", key)
    for number, mount in enumerate(container.mounts):
        source = mount.source if isinstance(mount.source, str) else mount.source.file
        yield "the mount `{}`", mount.target, source + mount.target, of_container(rank, "mounts", number)
    for number, check in enumerate(rank.asserts):
        yield "the assert of `{}`", check.path, check.path + check.contains, of_rank(rank, "asserts", number)
    for number, block in enumerate(rank.staging):
        yield "staging `{}`", block.id, block.src + block.dst, of_rank(rank, "staging", number)
    yield "the image `{}`", container.image, container.image, of_container(rank, "image")
    yield "`install_dir`", "", rank.install_dir, of_rank(rank, "install_dir")
    yield "`user`", "", container.user or "", of_container(rank, "user")
    for number, device in enumerate(container.devices):
        yield "the device `{}`", device, device, of_container(rank, "devices", number)


def shown(text: str) -> str:
    """A text in a message: short, and without what a terminal would take as a command."""
    printable = "".join(character if character.isprintable() else "?" for character in text)
    return printable if len(printable) <= 60 else printable[:57] + "..."


def _texts_refused(rank: Rank) -> Iterator[Finding]:
    for what, name, text, about in texts(rank):
        if "\0" in text:
            yield finding(
                "RCC1001",
                f"{what.format(shown(name))} holds a NUL character",
                help="remove it: no process can be given one",
                about=about,
            )
        if _NO_CHARACTER.search(text):
            yield finding(
                "RCC1002",
                f"{what.format(shown(name))} holds bytes that are not UTF-8",
                help="write it as UTF-8: container engines replace other bytes without a word",
                about=about,
            )


def _program_refused(rank: Rank) -> Iterator[Finding]:
    """Without an entrypoint the image's own command runs, unless something stands before it and has to know it."""
    container, about = rank.container, of_container(rank, "entrypoint", 0)
    program = container.entrypoint[0] if container.entrypoint else None
    if program == "" or (program is None and container.enter):
        yield finding("RCC1004", "the first argument is empty", help="begin `entrypoint` with a program", about=about)
    elif program and program.startswith("["):
        yield finding(
            "RCC1004",
            f"the program `{shown(program)}` begins with `[`",
            help="call it by a path: podman reads such an entrypoint as a list, docker does not",
            about=about,
        )
    elif program and container.enter and program.startswith("-"):
        yield finding(
            "RCC1004",
            f"the program `{shown(program)}` begins with `-`",
            help="call it by a path: shells read it as an option of `exec`",
            about=about,
        )


def _argv_refused(rank: Rank) -> Iterator[Finding]:
    words = [*rank.container.entrypoint, *rank.container.command]
    words += [f"{name}={value}" for name, value in rank.container.env.items()]
    sizes = [len(word.encode("utf-8", "surrogatepass")) for word in words]
    if max(sizes, default=0) > LONGEST_WORD:
        longest = words[sizes.index(max(sizes))]
        yield finding(
            "RCC1003",
            f"`{shown(longest)}` is {max(sizes)} bytes long, more than the {LONGEST_WORD} that a process can be given",
            help="put it into a file and mount that",
            about=of_longest(rank),
        )
    if sum(sizes) + 9 * len(sizes) > LONGEST_TOTAL:
        yield finding(
            "RCC1003",
            f"arguments and environment are {sum(sizes)} bytes long together, more than a process can be given",
            help="put long values into files and mount those",
            about=of_longest(rank),
        )


def _env_refused(rank: Rank) -> Iterator[Finding]:
    for name, path in texts_of(rank.container, "env", "late_env", "secrets"):
        about = of_container(rank, *path)
        if not name or "=" in name:
            help = "use a name without `=`"
            yield finding("RCC1006", f"`{shown(name)}` is no name of a variable", help=help, about=about)
        elif rank.container.enter is not None:
            yield from _shell_refused(name, about)


def _shell_refused(name: str, about: Path) -> Iterator[Finding]:
    if not IDENTIFIER.fullmatch(name):
        yield finding(
            "RCC1006",
            f"the variable `{shown(name)}` does not survive a shell, and `sh` stands before this engine",
            help="use a name of letters, digits and `_`, or set it in a wrapper script",
            about=about,
        )
    if OF_THE_SHELL.fullmatch(name):
        yield finding(
            "RCC1006",
            f"the variable `{name}` belongs to the shell, and `sh` stands before this engine",
            help="set it in a wrapper script, just before the engine",
            about=about,
        )


def _paths_refused(rank: Rank) -> Iterator[Finding]:
    for number, mount in enumerate(rank.container.mounts):
        about = of_container(rank, "mounts", number)
        if isinstance(mount.source, str):
            yield from _path_refused("mount source", mount.source, (*about, "source"), home=True)
        yield from _path_refused("mount target", mount.target, (*about, "target"))
    for name, path in (("install_dir", rank.install_dir), ("cache_dir", rank.cache_dir)):
        yield from _path_refused(f"`{name}`", path, of_rank(rank, name), home=True)
    for number, block in enumerate(rank.staging):
        yield from _path_refused(
            f"`dst` of staging `{shown(block.id)}`", block.dst, of_rank(rank, "staging", number, "dst")
        )


def _path_refused(what: str, path: str, about: Path, *, home: bool = False) -> Iterator[Finding]:
    absolute = "/" + path[2:] if home and path.startswith("~/") else path
    if not absolute.startswith("/") or absolute.startswith("//") or normpath(absolute) != absolute:
        yield finding(
            "RCC1005",
            f"{what} `{shown(path)}` is not a normalised absolute path",
            help="write it from `/` on, without `.`, `..`, doubled or trailing slashes",
            about=about,
        )
    if path != path.strip() or "\r\n" in path:
        yield finding(
            "RCC1005",
            f"{what} `{shown(path)}` has a blank at an end, or a line end of two characters",
            help="rename it: versions of docker read such a path differently",
            about=about,
        )


def _names_refused(rank: Rank) -> Iterator[Finding]:
    names = (("node", rank.node, of_rank(rank, "node")), ("container", rank.container.name, of_container(rank, "name")))
    for what, name, about in names:
        if not FILE_NAME.fullmatch(name):
            yield finding(
                "RCC1007",
                f"the {what}'s name `{shown(name)}` cannot be part of a file's name",
                help="use letters, digits, `.`, `_` and `-`, a letter or digit first",
                about=about,
            )
