"""Keys of a recipe that must go together: ports, environment, engine, and what the compiler decides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rcc.diagnostic import Finding, Findings, Label, Severity, enough, finding
from rcc.engines.flags import engine_data
from rcc.lint.context import Context, is_plain
from rcc.recipe.model import RecipeFile

if TYPE_CHECKING:
    from rcc.resolve.blocks import Carried

_ENGINES = ("custom", "llama-cpp", "sglang", "trtllm", "vllm")
_TAKE_ALL = ("custom", "sglang")
"""Built-in engines that object to no recipe."""
_DP_ATTENTION_PORTS = 6
_CACHES = frozenset(
    ("HF_HOME", "HF_HUB_CACHE", "HF_MODULES_CACHE", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_CACHE", "XDG_CACHE_HOME")
)
_LOCKED = re.compile(r"(?:\{\{\s*|<<)(staging\.[a-z0-9-]+\.(?:rows|layout))\b")


def check(context: Context) -> Iterator[Finding]:
    """All checks of this family."""
    yield from check_unknown_engine(context)
    yield from check_ports(context)
    yield from check_ipc_host_with_user(context)
    if context.recipe.env:
        yield from check_moved_cache(context)
    if context.recipe.env or context.recipe.secrets:
        yield from check_set_by_compiler(context)
    if context.lock is None and context.recipe.staging and context.holds("staging."):
        yield from check_lock_missing(context)
    yield from check_compiler_owned_flag(context)
    if context.recipe.staging or context.recipe.asserts:
        yield from check_paths(context)


def check_unknown_engine(context: Context) -> Iterator[Finding]:
    """RCC502, as a warning: a plug-in may have it, and linting loads none."""
    from rcc.nearest import nearest_name

    engine = context.recipe.engine
    if engine not in _ENGINES:
        near = nearest_name(engine, _ENGINES)
        help = f"did you mean `{near}`?" if near else "a plug-in may add it; its flags are not checked here"
        message = f"engine `{engine}` is not built in"
        yield finding("RCC502", message, context.place("engine"), help=help, severity=Severity.WARNING)


def check_ports(context: Context) -> Iterator[Finding]:
    """RCC908 and RCC915: which ports of the head are whose."""
    recipe, data = context.recipe, engine_data(context.recipe.engine)
    port = recipe.port or data.get("port")
    meeting = recipe.rendezvous_port or data.get("rendezvous_port")
    if recipe.required_nodes < 2 or not port or not meeting or data.get("workers_lend"):
        return
    key = "rendezvous_port" if recipe.rendezvous_port else "port"
    if port == meeting:
        message = f"the API and the rendezvous of the ranks both use port {port} of the head"
        help = "give one of `port` and `rendezvous_port` another value"
        yield finding("RCC908", message, context.place(key), help=help)
    elif meeting < port <= meeting + _DP_ATTENTION_PORTS and _has_flag(context, "--enable-dp-attention"):
        message = f"with data-parallel attention the ranks use the {_DP_ATTENTION_PORTS} ports above {meeting} as well"
        yield finding("RCC915", message, context.place(key), help=f"keep `port` away from {meeting + 1} and up")


def _has_flag(context: Context, name: str) -> bool:
    return any(one.flag and name in one.flag.spellings for one in context.flags)


def check_ipc_host_with_user(context: Context) -> Iterator[Finding]:
    """RCC210: when a user of the host logs out, logind removes that user's semaphores, the container's among them."""
    recipe = context.recipe
    if recipe.ipc == "host" and recipe.user and recipe.user.split(":")[0] != "0":
        label = Label(context.place("user"), "the user")
        message = 'with `ipc = "host"` the node removes the semaphores of this user at logout, and the engine fails'
        help = 'write `ipc = "private"` and a `shm_size`'
        yield finding("RCC210", message, context.place("ipc"), labels=[label], help=help)


def check_moved_cache(context: Context) -> Iterator[Finding]:
    """RCC420: rcc mounts a folder for each cache and says so in these variables."""
    engine = engine_data(context.recipe.engine).get("caches", {})
    for name, raw in context.recipe.env.items():
        if (name in _CACHES or name in engine) and not raw.text.startswith("/rcc/cache"):
            message = f"`{name}` leads away from the folder that rcc mounts for this cache"
            help = "remove it, or mount a folder there that only this node writes to"
            yield finding("RCC420", message, context.file.place(("env", name), "key"), help=help)


def check_set_by_compiler(context: Context) -> Iterator[Finding]:
    """RCC401: the resolver's own finding, wherever a name of its list stands."""
    address_variable = engine_data(context.recipe.engine).get("address_variable")
    if {"NODE_RANK", "NNODES", address_variable}.isdisjoint((*context.recipe.env, *context.recipe.secrets)):
        return
    from rcc.resolve.environment import set_by_compiler

    yield from set_by_compiler(context.file, address_variable, ())


def check_compiler_owned_flag(context: Context) -> Iterator[Finding]:
    """RCC501: the resolver's own finding, where a look at the flags shows that there is one."""
    without_table = context.recipe.args and context.owned and not context.flags
    if not context.owned_flags and not without_table:
        return
    from rcc.resolve.checks import check_flags

    yield from enough(check_flags(context.file, context.owned))


def check_paths(context: Context) -> Iterator[Finding]:
    """RCC306: the resolver's own finding, where no template is to be filled first."""
    from rcc.recipe.paths import not_absolute

    staged = (raw for block in context.recipe.staging for raw in (block.src, block.dst))
    for raw in (*staged, *(one.path for one in context.recipe.asserts)):
        problem = not_absolute(raw.text) if is_plain(raw.text) else None
        if problem:
            from rcc.resolve.blocks import no_path

            yield no_path(context.file, raw, raw.text, problem)


def check_keys(file: RecipeFile, carried: Carried) -> Findings:
    """The resolver's own findings about keys and files beside the recipe, where a look shows that there may be one."""
    recipe = file.recipe
    pinned = any(mount.sha256 for mount in recipe.extra_mounts if mount.carried)
    unheard = recipe.healthcheck and not (recipe.port or engine_data(recipe.engine).get("port"))
    entered = (
        recipe.engine == "custom" and not recipe.entrypoint and (recipe.secrets or recipe.asserts or recipe.staging)
    )
    other = recipe.distributed_backend != "mp" or recipe.engine not in _TAKE_ALL
    if not (unheard or other or pinned or entered):
        return ()
    from rcc.engines.registry import BUILT_IN, find_engine
    from rcc.resolve.keys import check_keys as of_keys

    return tuple(of_keys(file, find_engine(recipe.engine), carried)) if recipe.engine in BUILT_IN else ()


def check_lock_missing(context: Context) -> Iterator[Finding]:
    """RCC611, as a warning: linting needs no lock, and a build will."""
    from rcc.lint.templates import raws

    for raw in raws(context):
        match = None if is_plain(raw.text) else _LOCKED.search(raw.text)
        if match:
            message = f"`{match[1]}` needs a lock, and there is none"
            place = context.inside(raw.path, match.start(1), match.end(1))
            yield finding("RCC611", message, place, help="run `rcc lock`", severity=Severity.WARNING)
            return
