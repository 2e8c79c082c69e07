"""The recipe language: every key, and the shape of its value."""

from __future__ import annotations

import math
import re
from typing import Any

from rcc.recipe.identity import ID, ID_IN_WORDS
from rcc.recipe.model import (
    MAIN_MODEL,
    AssertBlock,
    ExtraMount,
    FurtherModel,
    HealthcheckKeys,
    Raw,
    Recipe,
    StagingBlock,
)
from rcc.recipe.shape import (
    LARGEST,
    Language,
    Problem,
    Problems,
    Shape,
    array,
    boolean,
    choice,
    dotted,
    either,
    free,
    integer,
    kind_of,
    known,
    mapping,
    record,
    shown,
    string,
)
from rcc.recipe.size import MAX_DURATION, SECOND, SIZE, nanoseconds, parse_duration, parse_size
from rcc.source import Path

ENV_NAME = r"[^=\x00-\x1f\x7f]+"
REPO = r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*"
ABSOLUTE = r"/(?!/)(?!(.*/)?\.\.(/|$))[^\0\n]*"
DEVICE = r"(/(?!\.{1,2}(/|:|$))[^/\0:\n]+)+"
_OF_EVERY_SYSTEM = "bin boot dev etc home lib lib64 proc root run sbin sys tmp usr var"
SYSTEM_FOLDERS = frozenset(("/", "~", *(f"/{name}" for name in _OF_EVERY_SYSTEM.split())))
"""Folders that are a node's own: none of them is to be filled, swept or handed to another user."""
REVISION = r"[A-Za-z0-9](?!.*\.\.)[A-Za-z0-9._/-]*"

text = string()


def raw(value: Any, path: Path, problems: Problems) -> Any:
    """A string that may hold templates."""
    if type(value) is not str or "\0" in value:
        text(value, path, problems)
    return Raw(value, path)


def raws(value: Any, path: Path, problems: Problems) -> Any:
    """An array of such strings."""
    if type(value) is list and all(type(one) is str and "\0" not in one for one in value):
        return tuple([Raw(one, (*path, index)) for index, one in enumerate(value)])
    return _raws(value, path, problems)


def variables(value: Any, path: Path, problems: Problems) -> Any:
    """A table of such strings, by the names of environment variables."""
    # As nearly all are: a recipe has a hundred of these strings, and thousands of recipes are read in one run.
    plain = type(value) is dict and all(name.isidentifier() for name in value)
    if plain and all(type(one) is str and "\0" not in one for one in value.values()):
        return {name: Raw(one, (*path, name)) for name, one in value.items()}
    return _variables(value, path, problems)


_raws = array(raw)


def size_of(least: int) -> Shape:
    """A size in bytes, so many at least: `32gb`, `512 MiB`, or a number of bytes."""

    def shape(value: Any, path: Path, problems: Problems) -> Any:
        if type(value) is int:
            return integer(least)(value, path, problems)
        size = parse_size(value) if type(value) is str else None
        if size is None:
            if _size_text(value, path, problems):
                bounds = f"at most {LARGEST} bytes"
                problems.append(Problem(path, "RCC203", f"`{dotted(path)}` must be {bounds}, not `{shown(value)}`"))
        elif size < least:
            message = f"`{dotted(path)}` must be at least {least} byte, not `{shown(value)}`"
            problems.append(Problem(path, "RCC203", message, "write a size, or remove it for none"))
        return size

    return shape


def _size_text(value: Any, path: Path, problems: Problems) -> bool:
    before = len(problems)
    string(SIZE, "a size such as `32gb`", hint="units are k, m, g and t, powers of 1024")(value, path, problems)
    return len(problems) == before


def duration_of(least: int) -> Shape:
    """A duration in whole seconds, so many at least: `90s`, `45m`, `1h30m`, `2000ms`."""

    def shape(value: Any, path: Path, problems: Problems) -> Any:
        seconds = parse_duration(value) if type(value) is str else None
        if seconds is None or seconds < least:
            problems.append(_no_duration(value, path, least))
        return seconds

    return shape


def _no_duration(value: Any, path: Path, least: int) -> Problem:
    key, units = f"`{dotted(path)}`", "units are h, m, s, ms, us and ns, as in `1h30m`"
    if type(value) is not str:
        help = f'write it with its unit, in quotes: `"{value}s"`' if type(value) is int and value >= least else units
        return Problem(path, "RCC202", f"{key} must be a string, not {kind_of(value)}", help)
    total = nanoseconds(value)
    if total is None:
        help = f"did you mean `{value}s`?" if re.fullmatch("[0-9]{1,9}", value) else units
        message = f"{key} must be a duration such as `90s` or `45m`, not `{shown(value)}`"
        return Problem(path, "RCC205", message, help)
    if total // SECOND >= MAX_DURATION:
        return Problem(path, "RCC203", f"{key} must be at most {MAX_DURATION} seconds, not `{shown(value)}`")
    whole = max(-(-total // SECOND), least)
    if total // SECOND < least:
        return Problem(path, "RCC203", f"{key} must be at least {least}s, not `{shown(value)}`", f"write `{whole}s`")
    message = f"{key} must be whole seconds, not `{shown(value)}`"
    return Problem(path, "RCC205", message, f"did you mean `{whole}s`?")


def pair(soft: int, hard: int) -> tuple[int, int]:
    """A ulimit with two values."""
    return (soft, hard)


def further_id(value: Any, path: Path, problems: Problems) -> Any:
    """The id of a further model."""
    if value == MAIN_MODEL:
        message = f"`{MAIN_MODEL}` is the id of the recipe's own `model` already"
        problems.append(Problem(path, "RCC206", message, "give it another, such as `draft`"))
    return identifier(value, path, problems)


size, some = size_of(0), size_of(1)
identifier = string(ID, ID_IN_WORDS, "RCC207", hint="choose another: an id is never altered")
absolute = string(ABSOLUTE, "an absolute path without `..`", like="/mnt/nas/huggingface")
model = string(
    f"{REPO}|{ABSOLUTE}",
    "a Hugging Face repo id (`org/name`) or an absolute path without `..`",
    like="Qwen/Qwen3-8B",
)
revision = string(REVISION, "a branch, a tag or a commit", like="main")
sha256 = string(
    r"[0-9a-f]{64}", "64 hexadecimal digits in lower case", hint="write what `sha256sum` prints of the file"
)
port = integer(1, 65535)
_one_limit = either(integer(-1), record(pair, {"soft": integer(-1), "hard": integer(-1)}, ("soft", "hard")), (int,))


def _limit(value: Any, path: Path, problems: Problems) -> Any:
    """One number, or two of which the soft one is not above the hard one; -1 is above all."""
    before = len(problems)
    made = _one_limit(value, path, problems)
    if len(problems) == before and isinstance(made, tuple):
        soft, hard = (one if one >= 0 else math.inf for one in made)
        if soft > hard:
            message = f"`{dotted(path)}` has a soft limit above its hard one"
            problems.append(Problem((*path, "soft"), "RCC203", message, "write the hard one, or a lower one"))
    return made


env_name = string(ENV_NAME, "a name without `=` and control characters", hint="use letters, digits and `_`")
_variables = mapping(raw, env_name)
device = string(
    rf"{DEVICE}(:{DEVICE}(:[rwm]+)?)?",
    "a device such as `/dev/fuse`",
    hint="write its path from `/` on, without `.`, `..`, doubled or trailing slashes",
)
_CAPABILITIES = """
ALL AUDIT_CONTROL AUDIT_READ AUDIT_WRITE BLOCK_SUSPEND BPF CHECKPOINT_RESTORE CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER
FSETID IPC_LOCK IPC_OWNER KILL LEASE LINUX_IMMUTABLE MAC_ADMIN MAC_OVERRIDE MKNOD NET_ADMIN NET_BIND_SERVICE
NET_BROADCAST NET_RAW PERFMON SETFCAP SETGID SETPCAP SETUID SYSLOG SYS_ADMIN SYS_BOOT SYS_CHROOT SYS_MODULE SYS_NICE
SYS_PACCT SYS_PTRACE SYS_RAWIO SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG WAKE_ALARM
"""
_LIMITS = "core cpu data fsize locks memlock msgqueue nice nofile nproc rss rtprio rttime sigpending stack"
CAPABILITIES, LIMITS = tuple(_CAPABILITIES.split()), tuple(_LIMITS.split())
"""What Linux has, and docker takes: others fail only on the node."""
capability = known(
    CAPABILITIES, "a capability such as `IPC_LOCK`", "write its name as Linux has it, without `CAP_`", "CAP_"
)
limits = record(dict, dict.fromkeys(LIMITS, _limit))
_user = string(r"[0-9]{1,10}(:[0-9]{1,10})?", "`uid` or `uid:gid`, in numbers", like="1000:1000")


def user(value: Any, path: Path, problems: Problems) -> Any:
    """Numbers for `uid` and `gid`, none larger than docker and Kubernetes take."""
    before = len(problems)
    _user(value, path, problems)
    if len(problems) == before and any(int(one) > LARGEST_ID for one in value.split(":")):
        message = f"`{dotted(path)}` must be of numbers up to {LARGEST_ID}, not `{shown(value)}`"
        problems.append(Problem(path, "RCC203", message))
    return value


LARGEST_ID = 2**31 - 1

MODELS = {"id": further_id, "model": model, "revision": revision}
EXTRA_MOUNTS = {"host": raw, "container": raw, "read_only": boolean, "sha256": sha256}
STAGING = {
    "kind": choice("sparse-rows", "snapshot"),
    "format": choice("sparse-copy"),
    "id": identifier,
    "src": raw,
    "dst": raw,
    "tensors": string(r"[\s\S]+", "a glob such as `layers.*.embed.*`", hint="remove it for the default"),
    "manifest": string(r"(?![.-])[A-Za-z0-9._-]+", "a plain file name", like="rows.json"),
    "tiling": choice("base-rem", "floor"),
    "serve": boolean,
    "include": array(text),
    "exclude": array(text),
    "min_free": size,
    "rate_limit": some,
}
HEALTHCHECK = {
    "path": string(r"/[!-~]*", "a path that starts with `/`", like="/health"),
    "interval": duration_of(1),
    "timeout": duration_of(1),
    "retries": integer(1),
    "start_period": duration_of(0),
}
ASSERT = {"path": raw, "contains": raw}
RECIPE = {
    "engine": string(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", "an engine's name", like="sglang"),
    "name": text,
    "id": identifier,
    "requires_rcc": text,
    "description": text,
    "docker_image": text,
    "model": model,
    "revision": revision,
    "parent_model": text,
    "models": array(record(FurtherModel, MODELS, ("id", "model"))),
    "port": port,
    "listen": string(r"[0-9A-Za-z:]([0-9A-Za-z.:_-]*[0-9A-Za-z:])?", "an address", like="127.0.0.1"),
    "rendezvous_port": port,
    "required_nodes": integer(1),
    "tensor_parallel_size": integer(1),
    "pipeline_parallel_size": integer(1),
    "data_parallel_size": integer(1),
    "distributed_backend": choice("mp", "ray"),
    "topology": text,
    "shm_size": some,
    "memory": some,
    "ipc": choice("host", "private"),
    "devices": array(device),
    "cap_add": array(capability),
    "ulimits": limits,
    "stop_grace": duration_of(0),
    "user": user,
    "entrypoint": array(raw, least=1),
    "args": raws,
    "extends": either(array(text, least=1), text, (list,)),
    "unset": array(string(r"[^.]+(\.[^.]+)*", "a dotted key", like="env.NCCL_DEBUG")),
    "secrets": array(string(r"[A-Za-z_][A-Za-z0-9_]*", "an environment variable's name", like="HF_TOKEN")),
    "env": variables,
    "extra_mounts": array(record(ExtraMount, EXTRA_MOUNTS, ("host", "container"))),
    "staging": array(record(StagingBlock, STAGING, ("kind", "id", "src", "dst"))),
    "staging_image": text,
    "healthcheck": record(HealthcheckKeys, HEALTHCHECK),
    "assert": array(record(AssertBlock, ASSERT, ("path", "contains"))),
    "measured": mapping(free),
}
"""Every top-level key; those that merge recipes (`extends`, `unset`) are spent before the model is made."""

LANGUAGE = Language(
    "recipe",
    RECIPE,
    {
        "models": MODELS,
        "extra_mounts": EXTRA_MOUNTS,
        "staging": STAGING,
        "healthcheck": HEALTHCHECK,
        "assert": ASSERT,
    },
    (("env",), ("measured",)),
)


def _make(**values: Any) -> Recipe:
    values.pop("extends", None)
    values.pop("unset", None)
    if "assert" in values:
        values["asserts"] = values.pop("assert")
    return Recipe(**values)


RECIPE_SHAPE = record(_make, RECIPE, ("engine", "docker_image"))
