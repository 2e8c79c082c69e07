"""Templates, checked without a cluster: syntax, names, where a late-bound name may stand, what rcc does not expand."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Protocol

from rcc.diagnostic import Finding, finding
from rcc.lint.context import Context
from rcc.recipe.model import Raw
from rcc.recipe.shape import dotted, shown
from rcc.source import Path, Place, Source

_SIMPLE = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*\}\}|<<([A-Za-z_][A-Za-z0-9_.-]*)>>")
_SHELL = r"\$\{[A-Za-z_][A-Za-z0-9_]*(?:[-:=+?#%/^,@[](?:[^{}]|\{[^{}]*\})*)?\}|\$[A-Z_][A-Z0-9_]*\b|\$\([a-z][^()]*\)?"
_SHELLS = ("ash", "bash", "busybox", "dash", "fish", "ksh", "mksh", "sh", "zsh")
LATE_NAME = "node.gid_index"
OF_CLUSTER = r"vars\.[^.]+"
"""Names that the cluster file decides, as a regular expression."""
NAMES = frozenset(
    (
        *("hf", "id", "rank", "nnodes", "port", "topology", "recipe.name", "cluster.name", "head.host", "head.fabric"),
        *("node.name", "node.host", "node.fabric", "node.arch", "node.hca", "node.ifname", "node.gid_index"),
    )
)
OF_MODEL = ("repo", "commit", "path", "host_path")
_PLAIN_KEYS = ("name", "description", "parent_model", "listen", "topology", "user")
_PINNED_KEYS = ("revision", "model")


class Strings(Protocol):
    """The strings of a file, and what may be said of them."""

    @property
    def own(self) -> Source:
        """The file that fixes may change."""

    def inside(self, path: Path, start: int, end: int) -> Place:
        """Where a part of a string stands."""

    def meant(self, name: str, known: Collection[str]) -> str | None:
        """The known name that an unknown one may stand for."""


def check(context: Context) -> Iterator[Finding]:
    """All checks of this family."""
    names = _names(context)
    script = _first_of_script(context) if any("$" in raw.text for raw in context.recipe.args) else 0
    for raw in raws(context):
        if "{{" in raw.text or "<<" in raw.text:
            yield from check_names(context, raw, names, OF_CLUSTER)
        if "$" in raw.text:
            yield from check_shell_variable(context, raw, script)
    yield from check_template_as_text(context)


def raws(context: Context) -> Iterator[Raw]:
    """Every string of the recipe that may hold templates."""
    recipe = context.recipe
    yield from recipe.args
    yield from recipe.entrypoint or ()
    yield from recipe.env.values()
    for mount in recipe.extra_mounts:
        yield from (mount.host, mount.container)
    for block in recipe.staging:
        yield from (block.src, block.dst)
    for one in recipe.asserts:
        yield from (one.path, one.contains)


def _names(context: Context) -> frozenset[str]:
    recipe = context.recipe
    own = {f"models.{one.id}.{key}" for one in recipe.models for key in OF_MODEL}
    if recipe.model is not None:
        own |= {f"model.{key}" for key in OF_MODEL}
    own |= {f"staging.{one.id}.{key}" for one in recipe.staging for key in ("dst", "rows", "layout")}
    return NAMES | own


def takes_late_name(path: Path) -> bool:
    """Whether a value is a variable of the recipe's, a profile's or a node's environment."""
    return path[0] in ("env", "nccl") or (path[0] == "nodes" and path[2:3] == ("env",))


def check_names(context: Strings, raw: Raw, names: frozenset[str], foreign: str) -> Iterator[Finding]:
    """RCC301, RCC302 and RCC303, where a look at the text finds more than plain, known names.

    `foreign` is a regular expression for names that another file decides.
    """
    rest = _SIMPLE.sub("", raw.text)
    used = {match[1] or match[2] for match in _SIMPLE.finditer(raw.text)}
    known = all(name in names or re.fullmatch(foreign, name) for name in used)
    late = LATE_NAME in used and not (takes_late_name(raw.path) and rest == "")
    if late or not known or "{{" in rest or "<<" in rest:
        from rcc.lint.template_errors import check as check_closely

        yield from check_closely(context, raw, names, foreign)


def check_shell_variable(context: Context, raw: Raw, script: int) -> Iterator[Finding]:
    """RCC308: no shell reads these strings, unless the recipe starts one."""
    is_script = raw.path[0] == "args" and int(raw.path[1]) >= script
    if raw.path[0] in ("entrypoint", "assert") or is_script:
        return
    yield from check_shell_syntax(context, raw)


def check_shell_syntax(context: Strings, raw: Raw) -> Iterator[Finding]:
    """RCC308 for a string that goes where it is meant to as it is."""
    for match in re.finditer(_SHELL, raw.text):
        place = context.inside(raw.path, match.start(), match.end())
        message = f"nothing expands `{shown(match[0])}` here: the text arrives as it is"
        help = "use a template such as `{{ node.host }}`, name a secret in `secrets`, or start a shell in `entrypoint`"
        yield finding("RCC308", message, place, help=help)


def _first_of_script(context: Context) -> int:
    """From which argument on a shell is told to run them: `bash -lc …`, in `entrypoint` or in `args`."""
    entrypoint = context.recipe.entrypoint or ()
    shell = False
    for number, raw in enumerate((*entrypoint, *context.recipe.args), 1):
        shell = shell or raw.text.rpartition("/")[2] in _SHELLS
        if raw.text == "-c" or (shell and re.fullmatch(r"-[A-Za-z]*c[A-Za-z]*", raw.text)):
            return number - len(entrypoint)
    return len(context.recipe.args)


def check_template_as_text(context: Context) -> Iterator[Finding]:
    """RCC307: the lock must not depend on the cluster, so some keys take no template."""
    for path, text in _plain_values(context):
        yield from check_plain(context, path, text)


def check_plain(context: Strings, path: Path, text: str) -> Iterator[Finding]:
    """RCC307 for a string that is taken as it is."""
    match = _SIMPLE.search(text) if "{{" in text or "<<" in text else None
    if match:
        place = context.inside(path, match.start(), match.end())
        message = f"`{dotted(path)}` takes no template: `{match[0]}` stays as it is"
        yield finding("RCC307", message, place, help="write the value itself")


def _plain_values(context: Context) -> Iterator[tuple[Path, str]]:
    for key in (*_PLAIN_KEYS, *_PINNED_KEYS):
        value = getattr(context.recipe, key)
        if value:
            yield (key,), value
    for index, one in enumerate(context.recipe.models):
        yield ("models", index, "model"), one.model
