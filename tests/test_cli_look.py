"""Commands that look: plan, explain, grade, schema; and init, which starts."""

import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rcc_schema import load, names
from tests.support.cli import call_rcc
from tests.support.mounts import tmpfs
from tests.support.paths import RECIPES
from tests.support.skips import needs, needs_root
from tests.support.texts import FOUR_NODES, FOUR_RANKS

FOLDERS = sorted(path.parent for path in RECIPES.glob("*/recipe.toml"))
WRAPPER = RECIPES / "dsv41-flash-wrapper"
EVERYTHING = """\
id = "all"
engine = "custom"
description = "..."
docker_image = "localhost/x:1"
entrypoint = ["sh", "/serve.sh"]
user = "1000:1000"
port = 8080
listen = "127.0.0.1"

[[models]]
id = "draft"
model = "/srv/draft"

[[extra_mounts]]
host = "serve.sh"
container = "/serve.sh"

[env]
A = "b"
"""
OWN_HARDWARE = """\
topology = "switch"
hf_cache = "/mnt/nas/hf"
[hardware.own]
gpus = 1
cap_add = ["IPC_LOCK"]
devices = ["/dev/infiniband"]
env = { A = "1", B = "1" }
[[nodes]]
name = "a"
host = "10.0.0.1"
[[nodes]]
name = "b"
host = "10.0.0.2"
gid_index = 4
[nccl.switch]
NCCL_NET = "IB"
[nccl.other]
NCCL_NET = "Socket"
"""
assert FOLDERS


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_a_plan_is_as_its_schema_says(folder: Path, tmp_path: Path) -> None:
    jsonschema.validate(call_rcc("plan", folder, "--json", cwd=tmp_path).json(), load("plan"))


def test_a_plan_for_people_has_argv_environment_and_mounts_of_every_rank(tmp_path: Path) -> None:
    out = call_rcc("plan", WRAPPER, cwd=tmp_path).out

    assert out.count("\nrank ") == 4
    assert "--node-rank 3 --dist-init-addr 192.168.200.11:25000" in out
    assert "env    B12X_ROCE_GID_INDEX from node.gid_index, on the node" in out
    assert "mount  engram-rows.sh, carried as /engram-rows.sh" in out


@pytest.mark.parametrize(
    ("show", "key"), [("document", "docker_image"), ("recipe", "docker_image"), ("resolved", "ranks")]
)
def test_earlier_passes_can_be_looked_into(show: str, key: str, tmp_path: Path) -> None:
    assert key in call_rcc("plan", WRAPPER, "--show", show, cwd=tmp_path).json()


def test_what_was_measured_is_json_whatever_it_is(tmp_path: Path) -> None:
    measured = "[measured]\na = nan\nb = -inf\nc = 2026-01-31\nd = 1.5\n"
    (tmp_path / "recipe.toml").write_text(f'id = "x"\nengine = "custom"\ndocker_image = "x:1"\n{measured}')
    out = call_rcc("plan", ".", "--show", "document", cwd=tmp_path).out

    values = json.loads(out, parse_constant=pytest.fail)
    assert values["measured"] == {"a": "nan", "b": "-inf", "c": "2026-01-31", "d": 1.5}


def test_a_recipe_can_be_looked_into_without_its_cluster(tmp_path: Path) -> None:
    shutil.copy(WRAPPER / "recipe.toml", tmp_path)

    assert call_rcc("plan", ".", "--show", "recipe", cwd=tmp_path).json()["required_nodes"] == 4
    ran = call_rcc("plan", ".", "--show", "resolved", cwd=tmp_path)
    assert (ran.code, ran.out) == (1, "")


def explained(key: str, cwd: Path) -> Any:
    ran = call_rcc("explain", WRAPPER, key, "--json", cwd=cwd)
    assert ran.code == 0, ran.text
    return ran.json()


def test_a_value_comes_from_a_line_and_reaches_the_artifacts_that_change_with_it(tmp_path: Path) -> None:
    told = explained("SPARK_ROCE_AR", tmp_path)

    (one,) = told["values"]
    line = next(
        n for n, text in enumerate((WRAPPER / "recipe.toml").read_text().splitlines(), 1) if "SPARK_ROCE_AR " in text
    )
    assert (one["key"], one["value"], one["ranks"]) == ("env.SPARK_ROCE_AR", "1", [0, 1, 2, 3])
    assert (one["origin"]["file"], one["origin"]["line"]) == (str(WRAPPER / "recipe.toml"), line)
    assert "shell/spark1/run.sh" in told["reaches"]
    assert "compose/spark4/compose.yaml" in told["reaches"]
    assert "shell/cluster.sh" not in told["reaches"]


def test_values_that_the_recipe_does_not_have_are_told_with_their_place(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text(FOUR_RANKS.replace("4", "2") + 'devices = ["/dev/fuse"]\n[env]\nB = "2"\n')
    (tmp_path / "cluster.toml").write_text(OWN_HARDWARE)

    def told(*options: str) -> dict[tuple[str, str], tuple[str, int | None]]:
        values = call_rcc("explain", ".", "--json", *options, cwd=tmp_path).json()["values"]
        return {(one["key"], str(one["value"])): (one["origin"]["what"], one["origin"]["line"]) for one in values}

    found = told()

    assert found["topology", "switch"] == ("the cluster file", 1)
    assert found["ipc", "private"] == ("hardware profile `own`", 3)
    assert found["cap_add", "['IPC_LOCK']"] == ("hardware profile `own`", 5)
    assert found["devices", "['/dev/infiniband', '/dev/fuse']"] == ("hardware profile `own`, and the recipe", 7)
    assert found["stop_grace", "120"] == ("rcc's default", None)
    assert found["env.A", "1"] == ("hardware profile `own`", 7)
    assert found["env.NCCL_IB_GID_INDEX", "4"] == ("`gid_index` of node `b`", 14)
    assert found["env.SGLANG_HOST_IP", "10.0.0.1"] == ("`host` of node `a`", 10)
    (of_b,) = call_rcc("explain", ".", "B", "--json", cwd=tmp_path).json()["values"]
    assert [(one["value"], one["line"]) for one in of_b["overrode"]] == [("1", 7)]
    found = told("--topology", "other", "--id", "thing")
    assert found["topology", "other"] == ("the option `--topology`", None)
    assert found["id", "thing"] == ("the option `--id`", None)
    one_profile = OWN_HARDWARE.partition("[nccl.other]")[0].replace('topology = "switch"\n', "")
    (tmp_path / "cluster.toml").write_text(one_profile)
    assert told()["topology", "switch"] == ("the only profile of the cluster file", 14)


def test_a_commit_that_a_staging_block_names_comes_from_there(tmp_path: Path) -> None:
    source = f"/mnt/nas/hf/hub/models--org--big/snapshots/{'0' * 40}"
    block = f'[[staging]]\nkind = "sparse-rows"\nid = "e"\nsrc = "{source}"\ndst = "/d"\n'
    (tmp_path / "recipe.toml").write_text(FOUR_RANKS + block)
    (tmp_path / "cluster.toml").write_text(FOUR_NODES)
    (one,) = call_rcc("explain", ".", "revision", "--json", cwd=tmp_path).json()["values"]

    assert (one["value"], one["origin"]["what"]) == ("0" * 40, "the staging block's `src`")
    assert (one["origin"]["file"], one["origin"]["line"]) == ("recipe.toml", 10)


def test_a_value_has_its_own_type(tmp_path: Path) -> None:
    (tmp_path / "serve.sh").touch()
    (tmp_path / "recipe.toml").write_text(EVERYTHING + "\n[healthcheck]\npath = '/up'\n")
    values = {one["key"]: one["value"] for one in call_rcc("explain", ".", "--json", cwd=tmp_path).json()["values"]}

    assert (values["required_nodes"], values["port"]) == (1, 8080)
    assert values["healthcheck"]["path"] == "/up"
    assert isinstance(values["extra_mounts"], list)
    assert isinstance(values["env.A"], str)
    assert "healthcheck = path /up, interval 30, " in call_rcc("explain", ".", cwd=tmp_path).out


def test_what_was_overridden_is_told_with_its_place(tmp_path: Path) -> None:
    shutil.copytree(WRAPPER, tmp_path / "r")
    recipe = tmp_path / "r/recipe.toml"
    recipe.write_text(recipe.read_text().replace("[env]\n", '[env]\nNCCL_NET = "Socket"\n'))
    ran = call_rcc("explain", "r", "env.NCCL_NET", cwd=tmp_path)

    assert ran.code == 0, ran.text
    assert "env.NCCL_NET = Socket\n" in ran.out
    assert "overrode  IB, from " in ran.out
    assert "cluster.toml:" in ran.out


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("env", "nothing has the key `env`: name one below it, "),
        ("prot", "nothing has the key `prot`; did you mean `port`?"),
        ("no such key", "nothing has the key `no such key`; to see all keys: rcc explain 'my hello'"),
    ],
)
def test_a_key_that_nothing_has_is_told_with_what_to_ask_for(key: str, said: str, tmp_path: Path) -> None:
    shutil.copytree(RECIPES / "hello", tmp_path / "my hello")
    ran = call_rcc("explain", "my hello", key, cwd=tmp_path)

    assert ran.code == 2
    assert said in ran.err
    assert ("`env.GREETING`" in ran.err) == (key == "env")


def test_the_port_reaches_also_what_asks_for_health(tmp_path: Path) -> None:
    assert "shell/cluster.sh" in explained("port", tmp_path)["reaches"]


def test_whatever_is_explained_reaches_what_it_can_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "serve.sh").touch()
    (tmp_path / "recipe.toml").write_text(EVERYTHING)
    keys = [one["key"] for one in call_rcc("explain", ".", "--json", cwd=tmp_path).json()["values"]]
    reaches = {key: call_rcc("explain", ".", key, "--json", cwd=tmp_path).json()["reaches"] for key in keys}

    assert {"user", "extra_mounts", "models", "env.A"} <= set(keys)
    assert reaches["description"] == []
    assert reaches["user"]
    assert "shell/localhost/files/carried/serve.sh" in reaches["extra_mounts"]
    assert "shell/localhost/files/carried/serve.sh" not in reaches["models"]
    assert not [key for key, paths in reaches.items() if "shell/localhost/files/rcc-node.pyz" in paths]


def test_a_target_that_refuses_a_value_hides_nothing_of_the_others(tmp_path: Path) -> None:
    (tmp_path / "serve.sh").touch()
    (tmp_path / "recipe.toml").write_text(EVERYTHING.replace("A =", '"A:B" ='))  # nothing for Kubernetes
    ran = call_rcc("explain", ".", "port", "--json", cwd=tmp_path)

    assert "shell/localhost/run.sh" in ran.json()["reaches"]


def test_what_a_recipe_unset_does_not_come_from_its_base(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(EVERYTHING)
    (tmp_path / "recipe.toml").write_text('extends = "base.toml"\nunset = ["listen", "extra_mounts"]\n')
    (value,) = call_rcc("explain", ".", "listen", "--json", cwd=tmp_path).json()["values"]

    assert value["origin"] == {"what": "rcc's default", "file": None, "line": None, "column": None}


def test_a_key_that_nothing_has_is_named_with_the_nearest(tmp_path: Path) -> None:
    ran = call_rcc("explain", WRAPPER, "prot", cwd=tmp_path)

    assert ran.code == 2
    assert "did you mean `port`?" in ran.err


def grade(folder: Path, cwd: Path) -> Any:
    ran = call_rcc("grade", folder, "--json", "--badge", "badge.svg", cwd=cwd)
    assert ran.code == 0, ran.text
    return ran.json()


@pytest.mark.parametrize(
    ("name", "old", "new", "letter"),
    [
        ("tables-by-lock", "", "", "A"),
        ("tables-by-lock", "[[staging]]", '[[extra_mounts]]\nhost = "/etc/x"\ncontainer = "/x"\n\n[[staging]]', "B"),
        ("dsv41-flash-wrapper", ":1.6", ":1.6@sha256:" + "5" * 64, "C"),
        ("dsv41-flash-wrapper", "", "", "D"),
        ("dsv41-flash-wrapper", ":1.6", ":latest", "F"),
        ("dsv41-flash-wrapper", ":1.6", "", "F"),
    ],
)
def test_the_grade_is_the_worst_of_what_is_open(name: str, old: str, new: str, letter: str, tmp_path: Path) -> None:
    shutil.copytree(RECIPES / name, tmp_path / "r")
    recipe = tmp_path / "r/recipe.toml"
    recipe.write_text(recipe.read_text().replace(old, new, 1))
    told = grade(tmp_path / "r", tmp_path)

    assert told["letter"] == letter
    assert all(step["help"] for step in told["steps"])
    assert bool(told["steps"]) == (letter != "A")
    badge = ET.parse(tmp_path / "badge.svg").getroot()
    assert letter in [text.text for text in badge.iter("{http://www.w3.org/2000/svg}text")]


def test_every_format_has_a_schema_that_is_one(tmp_path: Path) -> None:
    listed = call_rcc("schema", cwd=tmp_path).out.split()

    assert listed == names() == ["cluster", "lock", "manifest", "plan", "recipe"]
    for name in listed:
        schema = json.loads(call_rcc("schema", name, cwd=tmp_path).out)
        jsonschema.Draft7Validator.check_schema(schema)


@needs("git")
def test_init_keeps_what_gitattributes_holds_whatever_it_is(tmp_path: Path) -> None:
    (tmp_path / ".gitattributes").write_bytes(b"\xff text")
    assert call_rcc("init", cwd=tmp_path).code == 0
    first, *others = (tmp_path / ".gitattributes").read_bytes().split(b"\n")

    assert first == b"\xff text"
    assert len(others) == 3


def test_each_step_is_one_that_pins_the_thing(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "r/recipe.toml").write_text(
        'id = "r"\nengine = "sglang"\ndocker_image = "serve:1"\nmodel = "/srv/models/m"\n'
        '[[models]]\nid = "draft"\nmodel = "acme/draft"\n'
        '[[staging]]\nid = "snap"\nkind = "snapshot"\nsrc = "/srv/models/m"\ndst = "/nvme/snap"\n'
    )
    shutil.copy(RECIPES / "tables-by-lock/cluster.toml", tmp_path / "r")
    steps = {one["id"]: one for one in call_rcc("grade", "r", "--json", cwd=tmp_path).json()["steps"]}

    assert steps["model"]["help"] == "name it as a Hugging Face repository, `org/name`"
    assert steps["draft"]["help"] == "run `rcc lock r/recipe.toml`"
    assert "rows" not in steps["snap"]["why"]
    assert steps["snap"]["help"] == "name a snapshot of the Hugging Face cache as its `src`"


def test_a_badge_never_takes_the_place_of_a_recipe(tmp_path: Path) -> None:
    shutil.copytree(RECIPES / "hello", tmp_path / "hello")
    before = (tmp_path / "hello/recipe.toml").read_bytes()
    ran = call_rcc("grade", "hello", "--badge", "hello/recipe.toml", cwd=tmp_path)

    assert ran.code == 2
    assert "it ends in `.svg`" in ran.err
    assert (tmp_path / "hello/recipe.toml").read_bytes() == before


@needs_root
def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with tmpfs(tmp_path / "disk", "8k") as disk:
        (disk / "fill").write_bytes(b"x" * 8192)
        ran = call_rcc("grade", RECIPES / "hello", "--badge", "badge.svg", cwd=disk)

        assert ran.code == 2
        assert f"cannot use `{disk}/badge.svg`: no space left on device" in ran.err
        assert not (disk / "badge.svg").exists()


def test_init_writes_nothing_where_it_cannot_write_all(tmp_path: Path) -> None:
    (tmp_path / ".gitattributes").mkdir()
    assert call_rcc("init", cwd=tmp_path).code == 2
    assert [path.name for path in tmp_path.iterdir()] == [".gitattributes"]


def test_commands_to_type_are_safe_to_type(tmp_path: Path) -> None:
    folder = "x $(touch pwned)"
    said = [
        call_rcc("init", folder, cwd=tmp_path).out,
        call_rcc("build", folder, "-t", "shell", cwd=tmp_path).out,
        call_rcc("grade", folder, cwd=tmp_path).out,
        call_rcc("lock", folder, "--check", cwd=tmp_path).err,
    ]
    recipe = tmp_path / folder / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("port = 30000", "port = 30001"))
    said.append(call_rcc("build", folder, "-t", "shell", "--check", cwd=tmp_path).err)

    for text in said:
        assert re.search(r"rcc (?:lint|build|lock) 'x \$\(touch pwned\)", text), text
        assert not re.search(r"rcc (?:lint|build|lock) x ", text)


def test_init_writes_files_that_compile_and_keeps_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new/.gitattributes").write_text("*.png binary")
    ran = call_rcc("init", "new", cwd=tmp_path)

    assert ran.code == 0, ran.text
    assert call_rcc("build", "new", "-t", "compose,shell", cwd=tmp_path).code == 0
    assert call_rcc("lint", "new/recipe.toml", "new/cluster.toml", cwd=tmp_path).code == 0
    lines = (tmp_path / "new/.gitattributes").read_text().splitlines()
    assert lines[0] == "*.png binary"
    subprocess.run(["git", "init", "-q", "new"], cwd=tmp_path, check=True)
    asked = ["git", "-C", "new", "check-attr", "merge", "recipe.lock", "a.recipe.lock"]
    told = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert told.count("merge: binary") == 2
    before = {path: path.read_bytes() for path in (tmp_path / "new").glob("*.toml")}
    assert call_rcc("init", "new", cwd=tmp_path).code == 1
    assert {path: path.read_bytes() for path in (tmp_path / "new").glob("*.toml")} == before
