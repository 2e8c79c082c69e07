"""Recipes and cluster files that stand in a test: files without a disk."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rcc.diagnostic import Findings
from rcc.pipeline import CarriedError, CarriedSource, Inputs, Loaded, Options, load, make_plan
from rcc.plan.canonical import plain
from rcc.plan.model import Plan

ONE_NODE = """\
hf_cache = "/mnt/nas/hf"

[[nodes]]
name = "desk"
host = "10.0.0.21"
"""

FOUR_NODES = (
    """\
hf_cache = "/mnt/nas/hf"
hardware = "dgx-spark"
ssh_user = "spark"
topology = "switch"
"""
    + "".join(
        f"""
[[nodes]]
name = "spark{n}"
host = "10.0.0.1{n}"
fabric = "192.168.200.1{n}"
"""
        for n in (1, 2, 3, 4)
    )
    + """
[nccl.switch]
NCCL_IB_HCA = "rocep1s0f0"
NCCL_NET = "IB"
"""
)

CUSTOM = """\
id = "thing"
engine = "custom"
docker_image = "localhost/thing:1"
"""

FOUR_RANKS = """\
id = "big"
engine = "sglang"
docker_image = "registry.example.com/sglang:1"
model = "org/big"
required_nodes = 4
tensor_parallel_size = 4
"""


@dataclass(frozen=True, slots=True)
class Texts:
    """Files by path; those of a recipe's folder can be carried."""

    files: Mapping[str, str]

    def read(self, path: str) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(2, "No such file or directory", path)
        return self.files[path].encode()

    def carried(self, folder: str, relative: str) -> CarriedSource:
        path = f"{folder}/{relative}".removeprefix("/")
        if ".." in relative or path not in self.files:
            raise CarriedError("there is no such file")
        return CarriedSource(self.files[path].encode(), relative.endswith(".sh"))


def load_texts(
    recipe: str, cluster: str | None = None, options: Options | None = None, **files: str
) -> tuple[Loaded | None, Findings]:
    """Loads a recipe and a cluster file from their texts; other files by keyword, `_` for `.` in their names."""
    texts = {"recipe.toml": recipe, **{name.replace("_", "."): text for name, text in files.items()}}
    if cluster is not None:
        texts["cluster.toml"] = cluster
    inputs = Inputs("recipe.toml", None if cluster is None else "cluster.toml")
    return load(inputs, options or Options(), Texts(texts))


def plan_texts(
    recipe: str, cluster: str | None = None, options: Options | None = None, **files: str
) -> tuple[Plan | None, Findings]:
    """The plan of a recipe and a cluster file, from their texts."""
    loaded, found = load_texts(recipe, cluster, options, **files)
    return (None, found) if loaded is None else make_plan(loaded, options or Options())


def planned(recipe: str, cluster: str | None = None, options: Options | None = None, **files: str) -> dict[str, Any]:
    """The plan as `rcc plan --json` prints it, of files that give one."""
    plan, found = plan_texts(recipe, cluster, options, **files)
    assert plan is not None, [(one.code, one.message) for one in found]
    data = plain(plan)
    assert isinstance(data, dict)
    return data


def refused(recipe: str, cluster: str | None = None, options: Options | None = None, **files: str) -> list[str]:
    """What stands against a plan, one line each: code, line and column, message."""
    plan, found = plan_texts(recipe, cluster, options, **files)
    assert plan is None
    lines = []
    for one in found:
        line, column = one.place.line_column if one.place else (0, 0)
        lines.append(f"{one.code} {line}:{column} {one.message}")
    return lines
