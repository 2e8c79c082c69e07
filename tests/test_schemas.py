"""Reader and schema are related: what the schema refuses the reader refuses."""

import copy
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path as File
from typing import Any

import pytest
import tomli
from jsonschema import Draft7Validator

from rcc.cluster.keys import CLUSTER, CLUSTER_SHAPE
from rcc.recipe.keys import RECIPE, RECIPE_SHAPE
from rcc.recipe.shape import Problems, Shape
from rcc.source import Path
from rcc_schema import load, names
from tests.support.paths import RECIPES, ROOT, SHARED, needs_shared

FULL_RECIPE = """\
id = "full"
engine = "sglang"
name = "Full"
requires_rcc = ">=0.1"
description = "text"
docker_image = "registry.example.com/a/b:1"
model = "org/big"
revision = "main"
parent_model = "org/small"
port = 30000
listen = "0.0.0.0"
rendezvous_port = 25000
required_nodes = 2
tensor_parallel_size = 2
pipeline_parallel_size = 1
data_parallel_size = 1
distributed_backend = "mp"
topology = "switch"
shm_size = "32gb"
memory = 1
ipc = "private"
devices = ["/dev/fuse"]
cap_add = ["SYS_NICE"]
ulimits = { nofile = 1024, core = { soft = 1, hard = 2 } }
stop_grace = "90s"
user = "1000:1000"
entrypoint = ["sh"]
args = ["{{ rank }}"]
extends = ["base.toml"]
unset = ["env.X"]
secrets = ["HF_TOKEN"]
staging_image = "python:3.12"
models = [{ id = "draft", model = "org/draft", revision = "main" }]
env = { A = "b" }
extra_mounts = [{ host = "/a", container = "/b", read_only = true, sha256 = "HASH" }]
healthcheck = { path = "/health", interval = "30s", timeout = "20s", retries = 3, start_period = "20m" }
assert = [{ path = "/opt/v", contains = "1" }]
measured = { tokens = 1.5 }

[[staging]]
kind = "sparse-rows"
format = "sparse-copy"
id = "rows"
src = "/src"
dst = "/dst"
tensors = "*"
manifest = "m.json"
tiling = "floor"
serve = false
include = ["*"]
exclude = ["*"]
min_free = "55G"
rate_limit = 1
""".replace("HASH", "0" * 64)

FULL_CLUSTER = """\
name = "lab"
hf_cache = "/mnt/hf"
topology = "switch"
ssh_user = "spark"
nccl = { switch = { NCCL_IB_HCA = "mlx5_0" } }
vars = { home = "/home/spark" }

[hardware]
default = "own"

[hardware.own]
arch = "arm64"
gpus = 1
memory = "128g"
unified_memory = true
rdma = true
devices = ["/dev/infiniband"]
cap_add = ["IPC_LOCK"]
ulimits = { memlock = -1 }
ipc = "host"
oom_score_adj = 500
env = { A = "1" }

[[nodes]]
name = "spark1"
host = "10.0.0.11"
fabric = "192.168.200.11"
ssh = "spark@10.0.0.11:22"
install_dir = "~/rcc"
cache_dir = "/srv/cache"
arch = "arm64"
gpus = 1
memory = "128g"
hf_cache = "/mnt/hf"
hca = "mlx5_0"
ifname = "eth0"
gid_index = "auto"
vars = { a = "b" }
env = { A = "b" }

[k8s]
namespace = "llm"
storage_class = "local"
runtime_class = "nvidia"
rdma_resource = "rdma/a"
image_pull_secrets = ["pull"]
tolerations = [{ key = "gpu", operator = "Exists", tolerationSeconds = 5 }]
node_names = { spark1 = "n1" }
hf_claim = "hf"
"""

VALUES: list[Any] = [
    *(
        "",
        " ",
        "x",
        "X",
        "a\nb",
        "a\0b",
        "../x",
        "/x",
        "~/x",
        "-x",
        "a" * 64,
        "1g",
        "1s",
        "10:0",
        "a/b",
        "{{ id }}",
        "é",
    ),
    *(
        -2,
        -1,
        0,
        1,
        2**63,
        1.5,
        True,
        [],
        {},
        [1],
        ["x"],
        [["x"]],
        [{}],
        {"a": 1},
        {"a": "b"},
        {"": ""},
        {"a": {"b": 1}},
    ),
]
NAMES = ("", "a=b", "a\0b", "A", "unknown", "$(x)")


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def changed(whole: Any) -> Iterator[Any]:
    """The whole with another value, another name or nothing in each of its places."""
    yield whole
    for path in filter(None, places(whole)):
        copied = copy.deepcopy(whole)
        inner = copied
        for key in path[:-1]:
            inner = inner[key]
        own = inner[path[-1]]
        for value in VALUES:
            inner[path[-1]] = value
            yield copied
        del inner[path[-1]]
        yield copied
        for name in NAMES if isinstance(inner, dict) else ():
            inner[name] = own
            yield copied
            del inner[name]


@pytest.mark.parametrize(
    ("name", "shape", "text", "keys"),
    [("recipe", RECIPE_SHAPE, FULL_RECIPE, RECIPE), ("cluster", CLUSTER_SHAPE, FULL_CLUSTER, CLUSTER)],
)
def test_what_the_schema_refuses_the_reader_refuses(
    name: str, shape: Shape, text: str, keys: dict[str, Callable[..., Any]]
) -> None:
    whole = tomli.loads(text)
    assert set(whole) == set(keys), "every key has a case"
    validator = Draft7Validator(load(name))
    accepted = 0
    for values in changed(whole):
        problems: Problems = []
        shape(values, (), problems)
        accepted += not problems
        assert problems or validator.is_valid(values), next(validator.iter_errors(values)).message

    assert accepted > 100


@pytest.mark.parametrize("kind", ["recipe", "cluster"])
def test_files_that_compile_are_as_their_schema_says(kind: str) -> None:
    files = sorted(RECIPES.glob(f"*/{kind}.toml"))
    assert files
    for file in files:
        Draft7Validator(load(kind)).validate(tomli.loads(file.read_text()))


@pytest.mark.parametrize("kind", ["recipe", "cluster"])
def test_taplo_reads_the_schemas(kind: str, tmp_path: File) -> None:
    schema = ROOT / f"schema/rcc_schema/{kind}.schema.json"
    good = [str(file) for file in sorted(RECIPES.glob(f"*/{kind}.toml"))]
    bad = tmp_path / f"{kind}.toml"
    bad.write_text(f"#:schema {schema}\nprot = 1\n")
    taplo = File(sys.executable).with_name("taplo")

    assert subprocess.run([taplo, "lint", "--schema", schema.as_uri(), *good], check=False).returncode == 0
    refused = subprocess.run([taplo, "lint", bad], capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "prot" in refused.stderr


@needs_shared
def test_the_seed_is_as_its_schema_says() -> None:
    (file,) = File(SHARED / "seed").glob("*.recipe.toml")
    Draft7Validator(load("recipe")).validate(tomli.loads(file.read_text()))


@pytest.mark.parametrize("name", names())
def test_every_property_of_a_schema_is_described(name: str) -> None:
    def undescribed(schema: Any, path: Path) -> Iterator[Path]:
        if isinstance(schema, list):
            for index, one in enumerate(schema):
                yield from undescribed(one, (*path, index))
        elif isinstance(schema, dict):
            for key, value in schema.get("properties", {}).items():
                if "description" not in value:
                    yield (*path, key)
            for key, value in schema.items():
                if key != "if":  # a condition has no properties of its own
                    yield from undescribed(value, (*path, key))

    assert list(undescribed(load(name), ())) == []
