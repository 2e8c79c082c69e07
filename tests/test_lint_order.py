"""Table order: every way in which TOML gives a key to another table than its author meant."""

from pathlib import Path
from typing import Any

import pytest
import tomli

from tests.support.cli import call_rcc
from tests.support.pages import completed

MOUNT = '[[extra_mounts]]\nhost = "/srv/a"\ncontainer = "/a"\n'
ENV = '[env]\nA = "1"\n'
NODE = '[[nodes]]\nname = "a"\nhost = "10.0.0.11"\n'


def told(folder: Path, text: str, name: str = "x.recipe.toml") -> list[dict[str, Any]]:
    """What lint finds, but for what is not pinned."""
    (folder / name).write_text(text)
    ignored = "RCC605,RCC511"
    findings: list[dict[str, Any]] = call_rcc("lint", "--format", "json", "--ignore", ignored, name, cwd=folder).json()[
        "findings"
    ]
    return findings


def underlined(text: str, one: dict[str, Any]) -> str:
    line: str = text.splitlines()[one["line"] - 1]
    return line[one["column"] - 1 : one["end_column"] - 1] if one["line"] == one["end_line"] else line


@pytest.mark.parametrize(
    ("body", "code", "key", "header"),
    [
        (MOUNT + 'args = ["--trust-remote-code"]\n', "RCC101", "args", "[[extra_mounts]]"),
        (ENV + "port = 8000\n", "RCC101", "port", "[env]"),
        (ENV + 'shm_size = "1g"\n', "RCC101", "shm_size", "[env]"),
        ("[healthcheck]\npath = '/'\nrequired_nodes = 1\n", "RCC101", "required_nodes", "[healthcheck]"),
        ('[[models]]\nid = "d"\nmodel = "a/b"\nport = 1\n', "RCC101", "port", "[[models]]"),
        (ENV + "read_only = true\n", "RCC102", "read_only", "[env]"),
        (MOUNT + 'contains = "x"\n', "RCC102", "contains", "[[extra_mounts]]"),
        ("[healthcheck]\npath = '/'\ncontainer = '/x'\n", "RCC102", "container", "[healthcheck]"),
        ("[ulimits]\nnofile = 1\nport = 8000\n", "RCC101", "port", "[ulimits]"),
        ("[measured]\nargs = ['x']\n", "RCC108", "args", "[measured]"),
        (ENV + 'host = "/srv/b"\n', "RCC108", "host", "[env]"),
        ("[ulimits.stack]\nsoft = 1\nhard = 2\nport = 8000\n", "RCC101", "port", "[ulimits.stack]"),
        ("[measured.today]\nargs = ['x']\n", "RCC108", "args", "[measured.today]"),
        ("port = 1\n[healthcheck]\npath = '/'\n" + ENV + "timeout = '9s'\n", "RCC108", "timeout", "[env]"),
    ],
)
def test_a_captured_key_and_the_header_that_has_it(body: str, code: str, key: str, header: str, tmp_path: Path) -> None:
    text = completed(body)
    (one,) = [one for one in told(tmp_path, text) if one["code"].startswith("RCC1")]

    assert (one["code"], underlined(text, one)) == (code, key)
    assert [underlined(text, label) for label in one["labels"]] == [header]


HARDWARE = "[hardware.box]\ngpus = 1\n"


@pytest.mark.parametrize(
    ("table", "line", "code"),
    [
        (HARDWARE, 'hf_cache = "/mnt/hf"', "RCC101"),
        (HARDWARE, 'hca = "mlx5_0"', "RCC102"),
        (HARDWARE + "[hardware.box.ulimits.stack]\nsoft = 1\nhard = 2\n", 'hf_cache = "/mnt/hf"', "RCC101"),
        (HARDWARE + "[hardware.box.ulimits]\n", 'topology = "x"', "RCC101"),
        (HARDWARE + "[hardware.box.env]\n", 'hf_cache = "/mnt/hf"', "RCC108"),
        ("[nodes.env]\n", "gpus = 2", "RCC102"),
        ("[nodes.env]\n", 'gid_index = "auto"', "RCC108"),
        ("[nccl.x]\n", "gid_index = 3", "RCC102"),
        ("[nccl.x]\n", 'hf_cache = "/mnt/hf"', "RCC108"),
        ("[k8s.node_names]\n", 'ssh_user = "spark"', "RCC108"),
    ],
)
def test_a_key_that_an_inner_table_of_a_cluster_captured(table: str, line: str, code: str, tmp_path: Path) -> None:
    text = NODE + table + line + "\n"
    (one,) = told(tmp_path, text, "cluster.toml")

    assert (one["code"], underlined(text, one)) == (code, line.partition(" ")[0])
    header = [one for one in table.splitlines() if one.startswith("[")][-1]
    assert [underlined(text, label) for label in one["labels"]] == [header]


def test_a_captured_key_is_not_put_into_quotes_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").write_text(NODE + "[nodes.env]\nA = '1'\n# as the label says\ngpus = 2\n")
    call_rcc("lint", "--fix", "cluster.toml", cwd=tmp_path)

    assert tomli.loads((tmp_path / "cluster.toml").read_text())["nodes"][0]["gpus"] == 2
    assert call_rcc("lint", "--strict", "cluster.toml", cwd=tmp_path).code == 0


@pytest.mark.parametrize(
    "body",
    [
        '[[models]]\nid = "draft"\nmodel = "a/b"\nrevision = "' + "1" * 40 + '"\n',
        "[measured]\nname = 'x'\nmodel = 'y'\nmemory = '100 GiB'\n",
        "port = 1\n[measured]\nport = 2\n",
        "[env]\nhttp_proxy = 'x'\nlang = 'C'\n",
    ],
)
def test_keys_that_are_meant_where_they_stand(body: str, tmp_path: Path) -> None:
    assert told(tmp_path, completed("") + body) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('[nodes.env]\nA = "1"\n' + NODE, "RCC105"),
        ('[nodes]\nname = "a"\n' + NODE, "RCC103"),
        (NODE + '[nodes]\nname = "b"\n', "RCC103"),
        ('nccl.x.A = "1"\n[nccl.x]\nB = "2"\n' + NODE, "RCC107"),
        ("nodes = []\n" + NODE, "RCC004"),
        ('vars = { a = "1" }\n[vars.b]\nc = "1"\n' + NODE, "RCC004"),
        (NODE + 'name = "b"\n', "RCC004"),
        ('[nodes]\nname = "a"\nhost = "10.0.0.11"\n', "RCC103"),
    ],
)
def test_tables_that_cannot_be_both(text: str, code: str, tmp_path: Path) -> None:
    (one,) = told(tmp_path, text, "cluster.toml")

    assert one["code"] == code
    assert code == "RCC103" or one["labels"], "both places"


def test_a_table_that_is_defined_twice_is_not_told_to_be_far_from_itself(tmp_path: Path) -> None:
    health = "port = 1\n[healthcheck]\npath = '/'\n"
    (one,) = told(tmp_path, completed(health + ENV + "[healthcheck]\nretries = 3\n"))

    assert one["code"] == "RCC004"


def test_a_sub_table_of_the_last_element(tmp_path: Path) -> None:
    two = NODE + NODE.replace('"a"', '"b"').replace("11", "12")
    (one,) = told(tmp_path, two + '[nodes.env]\nA = "1"\n', "cluster.toml")
    assert (one["code"], one["message"]) == ("RCC104", "`[nodes.env]` belongs to the last node, `b`, alone")

    each = NODE + '[nodes.env]\nA = "1"\n' + NODE.replace('"a"', '"b"').replace("11", "12") + '[nodes.env]\nA = "2"\n'
    assert told(tmp_path, each, "cluster.toml") == []
    assert told(tmp_path, NODE + '[nodes.env]\nA = "1"\n', "cluster.toml") == []


def test_the_last_node_alone_has_what_all_should_have(tmp_path: Path) -> None:
    two = NODE + NODE.replace('"a"', '"b"').replace("11", "12") + 'hf_cache = "/mnt/hf"\n'
    (one,) = told(tmp_path, two, "cluster.toml")

    assert one["code"] == "RCC108"
    assert "hf_cache" in one["message"]


def test_siblings_that_stand_apart(tmp_path: Path) -> None:
    text = completed(MOUNT + ENV + MOUNT.replace("/a", "/b").replace("srv", "opt"))
    (one,) = told(tmp_path, text)
    assert (one["code"], underlined(text, one)) == ("RCC106", "[[extra_mounts]]")
    assert one["labels"][0]["line"] == 5

    together = completed(MOUNT + MOUNT.replace("/a", "/b").replace("srv", "opt") + ENV)
    assert told(tmp_path, together) == []


def test_a_dotted_name_in_env_is_a_table(tmp_path: Path) -> None:
    text = completed(ENV + 'A.B = "1"\n')
    codes = [one["code"] for one in told(tmp_path, text)]

    assert codes == ["RCC004"]
    assert [one["code"] for one in told(tmp_path, completed('[env]\nB.C = "1"\n'))] == ["RCC202"]


@pytest.mark.parametrize("count", [1, 3, 30])
def test_every_captured_key_comes_out_in_order(count: int, tmp_path: Path) -> None:
    keys = ["port", "rendezvous_port", "required_nodes", "tensor_parallel_size", "pipeline_parallel_size"]
    keys = keys[: min(count, 5)]
    body = MOUNT + "".join(f"# about {key}\n{key} = 1\n" for key in keys)
    text = completed(body)
    told(tmp_path, text)
    call_rcc("lint", "--fix", "x.recipe.toml", cwd=tmp_path)
    after = (tmp_path / "x.recipe.toml").read_text()

    values = tomli.loads(after)
    assert all(values[key] == 1 for key in keys)
    assert all(f"# about {key}\n{key} = 1\n" in after for key in keys)
    assert [line for line in after.splitlines() if " = 1" in line] == [f"{key} = 1" for key in keys]
