"""`rcc build` as a user meets it: what it writes, refuses, compares and says."""

import json
import shutil
import stat
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rcc_schema import load
from tests.support.cli import Ran, call_rcc, clean_env, run_rcc
from tests.support.paths import RECIPES
from tests.support.plugin import add_plugin, target_code
from tests.support.skips import needs, needs_root

FOUR_NODES = RECIPES / "dsv41-flash-wrapper"


@pytest.fixture
def hello(tmp_path: Path) -> Path:
    """A folder with the smallest recipe."""
    shutil.copytree(RECIPES / "hello", tmp_path / "hello")
    return tmp_path / "hello"


def build(folder: Path, *arguments: str) -> Ran:
    return call_rcc("build", ".", "-t", "shell", *arguments, cwd=folder)


def built(folder: Path, *arguments: str) -> Ran:
    ran = build(folder, *arguments)
    assert ran.code == 0, ran.text
    return ran


def manifest(folder: Path) -> Any:
    return json.loads((folder / "result/manifest.json").read_text())


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def everything(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    """Every file and link below a folder, with its mode; the caches of a home folder apart."""
    return {
        str(path.relative_to(folder)): (
            stat.S_IMODE(path.lstat().st_mode),
            str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else "",
        )
        for path in sorted(folder.rglob("*"))
        if ".cache" not in path.parts
    }


@pytest.mark.parametrize("recipe", [RECIPES / "hello", FOUR_NODES], ids=lambda path: path.name)
def test_the_manifest_is_as_its_schema_says_and_true_of_every_file(recipe: Path, tmp_path: Path) -> None:
    assert call_rcc("build", recipe, "-t", "shell,compose", cwd=tmp_path).code == 0

    made, result = manifest(tmp_path), tmp_path / "result"
    jsonschema.validate(made, load("manifest"))
    outputs = {one["path"]: one for one in made["outputs"]}
    files = {str(path.relative_to(result)): path for path in result.rglob("*") if path.is_file()}
    assert outputs.keys() == files.keys() - {"manifest.json"}
    for path, one in outputs.items():
        assert one["sha256"] == sha256(files[path].read_bytes()).hexdigest()
        assert int(one["mode"], 8) == stat.S_IMODE(files[path].stat().st_mode)
        assert path.startswith(one["target"] + "/")
    canonical = json.dumps(made["outputs"], sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert made["build"] == "sha256:" + sha256(canonical).hexdigest()
    assert made["inputs"]["recipe"] == sha256((recipe / "recipe.toml").read_bytes()).hexdigest()


def test_a_comment_changes_the_manifest_and_no_artifact(hello: Path) -> None:
    built(hello)
    before, link = manifest(hello), (hello / "result").readlink()
    change(hello / "recipe.toml", 'id = "hello"', 'id = "hello"  # quite so')
    built(hello)
    after = manifest(hello)

    assert before["inputs"].pop("recipe") != after["inputs"].pop("recipe")
    assert before == after
    assert (hello / "result").readlink() != link


def test_bases_and_carried_files_are_inputs(hello: Path) -> None:
    base, carried = hello.parent / "base.toml", hello / "serve.sh"
    base.write_text('description = "text"\n')
    change(hello / "recipe.toml", 'id = "hello"', 'id = "hello"\nextends = "../base.toml"')
    built(hello)

    inputs = json.loads((hello / "result/manifest.json").read_text())["inputs"]
    assert inputs["bases"] == [sha256(base.read_bytes()).hexdigest()]
    assert inputs["files"] == {"serve.sh": sha256(carried.read_bytes()).hexdigest()}


def test_it_says_where_what_is_granted_what_is_not_pinned_and_what_to_type(tmp_path: Path) -> None:
    ran = call_rcc("build", FOUR_NODES, "-t", "shell", "-o", "out/now", cwd=tmp_path)

    assert ran.code == 0, ran.text
    assert "in out/now" in ran.out
    assert "host network" in ran.out
    assert "devices /dev/infiniband" in ran.out
    assert "capabilities IPC_LOCK" in ran.out
    assert "/mnt/nas/ai/huggingface/hub as /rcc/hf/hub\n" in ran.out
    assert "as /rcc/cache, writable" in ran.out
    assert "not pinned  image engine: " in ran.out
    assert "next        out/now/shell/cluster.sh up\n" in ran.out
    assert (tmp_path / "out/now/shell/cluster.sh").stat().st_mode & 0o100


@pytest.mark.parametrize(
    ("recipe", "target", "command"),
    [
        ("hello", "shell", "result/shell/localhost/run.sh up"),
        ("hello", "compose", "docker compose -f result/compose/localhost/compose.yaml up -d"),
        ("hello", "systemd", "sudo result/systemd/localhost/install.sh"),
        ("hello", "k8s", "kubectl apply --server-side -k result/k8s"),
        ("qwen3-8b-cuda", "shell", "result/shell/cluster.sh up"),
        ("qwen3-8b-cuda", "compose", "on each node, in its folder of result/compose: docker compose up -d"),
        ("qwen3-8b-cuda", "systemd", "on each node, in its folder of result/systemd: sudo ./install.sh"),
    ],
)
def test_what_to_type_next_is_for_the_machine_that_it_is_typed_on(
    recipe: str, target: str, command: str, tmp_path: Path
) -> None:
    ran = call_rcc("build", RECIPES / recipe, "-t", target, cwd=tmp_path)

    assert f"  next        {command}\n" in ran.out


def test_programs_get_the_same_as_json(tmp_path: Path) -> None:
    told = call_rcc("build", FOUR_NODES, "-t", "shell", "--json", cwd=tmp_path).json()

    one = told["builds"][0]
    assert (told["version"], one["out"], one["changed"]) == (1, "result", True)
    assert one["build"] == manifest(tmp_path)["build"]
    assert one["granted"]["devices"] == ["/dev/infiniband"]
    assert {"source", "target", "read_only"} == set(one["granted"]["mounts"][0])
    assert [entry["kind"] for entry in one["unpinned"]] == ["image", "staging"]
    assert one["next"] == "result/shell/cluster.sh up"


def test_options_reach_the_plan_and_stand_in_the_manifest(tmp_path: Path) -> None:
    options = ["--nodes", "spark4,spark3,spark2,spark1", "--hf-cache", "/mnt/other", "--id", "other"]
    ran = call_rcc("build", FOUR_NODES, "-t", "shell", *options, cwd=tmp_path)

    assert ran.code == 0, ran.text
    made = manifest(tmp_path)
    assert made["inputs"]["options"] == {
        "hf_cache": "/mnt/other",
        "id": "other",
        "k8s_workload": "lws",
        "nodes": ["spark4", "spark3", "spark2", "spark1"],
        "targets": ["shell"],
        "topology": None,
    }
    assert {(one["node"], one["rank"]) for one in made["outputs"] if one["node"]} == {
        ("spark4", 0),
        ("spark3", 1),
        ("spark2", 2),
        ("spark1", 3),
    }
    assert "/mnt/other/hub" in (tmp_path / "result/shell/spark4/run.sh").read_text()


BAD = {
    "syntax": ('id = "hello"', 'id = "hello'),
    "type": ("port = 8642", 'port = "8642"'),
    "typo": ("docker_image", "docker_imgae"),
    "template": ("{{ port }}", "{{ prot }}"),
    "mount out of the folder": ('host = "serve.sh"', 'host = "../../.ssh/id_rsa"'),
    "no cluster": ("port = 8642", "port = 8642\nrequired_nodes = 4"),
    "size": ("port = 8642", 'port = 8642\nshm_size = "55GBs"'),
    "id": ('id = "hello"', f'id = "{"h" * 80}"'),
    "NUL": ("Hello from", "Hello\\u0000 from"),
}


@pytest.mark.parametrize("fault", BAD)
def test_a_build_that_fails_leaves_everything_as_it_was(fault: str, hello: Path) -> None:
    built(hello)
    change(hello / "recipe.toml", *BAD[fault])
    before = everything(hello)
    ran = build(hello)

    assert ran.code == 1, ran.text
    assert "recipe.toml:" in ran.err
    assert ran.out == ""
    assert everything(hello) == before


def test_a_target_that_refuses_leaves_no_half_written_result(hello: Path, tmp_path: Path) -> None:
    code = target_code("never", "from rcc.diagnostic import finding; return Emitted((), (finding('RCC1001', 'no'),))")
    plugins = add_plugin(tmp_path / "site", "rcc-never", "never", code)
    before = everything(hello)
    ran = run_rcc("build", ".", "-t", "shell,never", cwd=hello, env={"PYTHONPATH": str(plugins)})

    assert ran.code == 1
    assert everything(hello) == before


def test_what_is_not_ours_is_refused_by_the_command(hello: Path) -> None:
    (hello / "mine").mkdir()
    ran = build(hello, "-o", "mine")

    assert ran.code == 1
    assert "RCC1101" in ran.err
    assert not (hello / ".rcc").exists()


def test_words_of_the_command_line_that_are_no_text_are_refused_where_a_file_would_state_them(hello: Path) -> None:
    before = everything(hello)
    for words, code in ((("-o", "b\udcff"), "RCC1101"), (("--hf-cache", "/b\udcff"), "RCC306")):
        ran = build(hello, *words)
        assert ran.code == 1
        assert code in ran.err
        assert "UTF-8" in ran.err
        assert everything(hello) == before


def test_check_says_what_is_stale_missing_extra_or_has_another_mode_and_writes_nothing(hello: Path) -> None:
    built(hello, "--copy")
    change(hello / "recipe.toml", "Hello from", "Howdy from")
    (hello / "result/shell/cluster.sh").unlink()
    (hello / "result/shell/old.sh").write_text("")
    (hello / "result/shell/localhost/files/stage.json").chmod(0o755)
    before = everything(hello)
    ran = build(hello, "--check", "--json")

    assert ran.code == 1
    named = {(one["name"], one["file"]) for one in ran.json()["builds"][0]["findings"]}
    assert named >= {
        ("stale-artifact", "result/shell/localhost/run.sh"),
        ("missing-artifact", "result/shell/cluster.sh"),
        ("extra-file", "result/shell/old.sh"),
        ("changed-mode", "result/shell/localhost/files/stage.json"),
    }
    assert everything(hello) == before
    assert "to bring it up to date: rcc build ." in build(hello, "--check").err


def test_check_says_which_command_brings_that_very_result_up_to_date(hello: Path) -> None:
    options = ("-t", "shell", "-o", "a result", "--id", "other")
    assert call_rcc("build", ".", *options, cwd=hello).code == 0
    change(hello / "recipe.toml", "port = 8642", "port = 8643")
    err = call_rcc("build", ".", *options, "--check", cwd=hello).err

    assert err.splitlines()[-1] == "to bring it up to date: rcc build . -t shell -o 'a result' --id other"


def test_check_of_some_targets_of_a_result_says_what_the_result_holds(hello: Path) -> None:
    assert call_rcc("build", ".", cwd=hello).code == 0
    ran = build(hello, "--check")

    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "error[RCC1107]: `result` holds `compose`, `k8s` and `systemd` besides\n"
        " --> result\n"
        "  = help: name the targets that it was built of: `-t compose,k8s,shell,systemd`\n\n"
        "1 error\n"
        "to check all that it was built of: rcc build . --check\n"
    )
    assert call_rcc("build", ".", "--check", cwd=hello).code == 0


def test_check_of_targets_that_a_result_does_not_hold_says_what_it_holds(hello: Path) -> None:
    built(hello)
    ran = call_rcc("build", ".", "-t", "compose,shell", "--check", cwd=hello)

    assert ran.code == 1
    assert "error[RCC1106]: `result` does not hold `compose`\n" in ran.err
    assert "  = help: name the targets that it was built of: `-t shell`\n\n1 error\n" in ran.err
    assert ran.err.endswith("to bring it up to date: rcc build . -t compose -t shell\n")


def test_check_still_names_what_is_wrong_in_the_targets_that_are_meant(hello: Path) -> None:
    assert call_rcc("build", ".", "--copy", cwd=hello).code == 0
    (hello / "result/shell/old.sh").write_text("")
    (hello / "result/shell/cluster.sh").unlink()
    found = build(hello, "--check", "--json").json()["builds"][0]["findings"]

    assert [(one["code"], one["file"]) for one in found] == [
        ("RCC1107", "result"),
        ("RCC1106", "result/shell/cluster.sh"),
        ("RCC1107", "result/shell/old.sh"),
    ]


@pytest.mark.parametrize("command", [["build"], ["freeze", "--label", "x"]])
@pytest.mark.parametrize("option", ["", ",", " , "])
def test_an_option_that_names_no_target_is_no_way_to_name_all(command: list[str], option: str, hello: Path) -> None:
    ran = call_rcc(command[0], ".", *command[1:], "-t", option, cwd=hello)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.endswith("Error: `-t` names no target.\n")
    assert not (hello / "result").exists()


def test_what_could_be_mended_names_the_command_that_does(hello: Path) -> None:
    path = hello / "recipe.toml"
    path.write_text("\ufeff" + path.read_text())

    assert "(1 fixable with `rcc lint --fix`)\n" in build(hello).err
    assert call_rcc("lint", "--fix", "recipe.toml", cwd=hello).code == 0
    assert "fixable" not in build(hello).err


def test_check_of_a_result_from_other_texts_is_a_note(hello: Path) -> None:
    built(hello)
    change(hello / "recipe.toml", 'id = "hello"', 'id = "hello"  # quite so')
    ran = build(hello, "--check")

    assert ran.code == 0, ran.text
    assert "info[RCC1110]" in ran.err


def test_check_is_content_with_what_git_makes_of_a_committed_result(hello: Path) -> None:
    built(hello, "--copy")
    for path in (hello / "result").rglob("*"):
        path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)

    assert build(hello, "--check").out == "result is up to date\n"


def test_check_where_nothing_was_built_says_so(hello: Path) -> None:
    before = everything(hello)
    ran = build(hello, "--check")

    assert ran.code == 1
    assert "RCC1103" in ran.err
    assert everything(hello) == before


def test_rebuild_finds_a_target_that_looks_at_its_surroundings(hello: Path, tmp_path: Path) -> None:
    body = "return Emitted((Artifact('odd/x', os.environ.get('TZ', 'none').encode() + b'\\n', 'file'),))"
    plugins = add_plugin(tmp_path / "site", "rcc-odd", "odd", target_code("odd", body))
    env = {"PYTHONPATH": str(plugins)}

    ran = run_rcc("build", ".", "-t", "odd", "--rebuild", cwd=hello, env=env)
    assert ran.code == 1
    assert "`odd/x` comes out differently" in ran.err
    assert "line 1: none" in ran.err
    assert not (hello / "result").exists()


def test_rebuild_of_an_honest_build_finds_nothing_also_with_bases_elsewhere(hello: Path) -> None:
    (hello.parent / "common").mkdir()
    (hello / "recipe.toml").rename(hello.parent / "common/base.toml")
    (hello / "serve.sh").rename(hello.parent / "common/serve.sh")
    (hello / "recipe.toml").write_text('id = "hello"\nextends = "../common/base.toml"\n')
    ran = build(hello, "--rebuild")

    assert ran.code == 0, ran.text
    assert ran.out == ". is reproducible\n"


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """A locked recipe for four nodes with staged rows."""
    shutil.copytree(RECIPES / "tables-by-lock", tmp_path / "tables")
    return tmp_path / "tables"


def test_frozen_takes_the_lock_as_it_is(tables: Path) -> None:
    locked = call_rcc("plan", ".", "--json", cwd=tables).json()
    change(tables / "recipe.toml", 'model = "acme/tables"', 'model = "acme/others"')
    change(tables / "recipe.toml", "sglang-rows:1", "others:2")
    assert call_rcc("plan", ".", cwd=tables).code == 1

    frozen = call_rcc("plan", ".", "--frozen", "--json", cwd=tables).json()
    assert frozen["models"] == locked["models"]
    assert frozen["ranks"][0]["staging"] == locked["ranks"][0]["staging"]
    assert frozen["ranks"][0]["container"]["image"].split("@") == [
        "registry.example.com/llm/sglang-rows",
        frozen["image"]["digest"],
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("_nodes = 4", "_nodes = 2", "the lock has the rows of `engram` for 4 ranks, and the recipe runs on 2"),
        ("_nodes = 4", "_nodes = 5", "the lock has the rows of `engram` for 4 ranks, and the recipe runs on 5"),
        ('"sparse-rows"', '"snapshot"', "the lock has `engram` as `sparse-rows`, and the recipe as `snapshot`"),
    ],
)
def test_frozen_rows_of_other_ranks_are_refused(old: str, new: str, said: str, tables: Path) -> None:
    change(tables / "recipe.toml", old, new)
    change(tables / "recipe.toml", "parallel_size = 4", f"parallel_size = {new[-1] if new[-1].isdigit() else 4}")
    more = '[[nodes]]\nname = "spark5"\nhost = "10.0.0.15"\nfabric = "192.168.200.15"\n\n[nccl'
    change(tables / "cluster.toml", "[nccl", more)
    ran = call_rcc("build", ".", "-t", "shell", "--frozen", cwd=tables)

    assert ran.code == 1, ran.text
    assert said in ran.err
    assert not (tables / "result").exists()


def test_locked_refuses_what_is_not_pinned(hello: Path) -> None:
    ran = build(hello, "--locked")

    assert ran.code == 1
    assert "`engine` is not pinned" in ran.err
    assert not (hello / "result").exists()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with an rcc.toml that builds two recipes."""
    shutil.copytree(RECIPES / "hello", tmp_path / "recipes/hello")
    shutil.copytree(RECIPES / "qwen3-8b-cuda", tmp_path / "recipes/qwen")
    (tmp_path / "rcc.toml").write_text(
        '[[build]]\nrecipe = "recipes/hello"\ntargets = ["shell"]\nout = "deploy/hello"\n\n'
        '[[build]]\nrecipe = "recipes/qwen/recipe.toml"\ncluster = "recipes/qwen/cluster.toml"\n'
        'targets = ["compose", "shell"]\nout = "deploy/qwen"\n'
    )
    return tmp_path


def test_without_a_recipe_all_builds_of_the_settings_are_done_from_any_folder_below(project: Path) -> None:
    ran = call_rcc("build", cwd=project / "recipes")

    assert ran.code == 0, ran.text
    assert (project / "deploy/hello/shell/localhost/run.sh").is_file()
    assert (project / "deploy/qwen/compose/desk/compose.yaml").is_file()
    assert call_rcc("build", "--check", cwd=project).code == 0
    change(project / "recipes/hello/recipe.toml", "Hello from", "Howdy from")
    ran = call_rcc("build", "--check", cwd=project)
    assert ran.code == 1
    assert "deploy/hello/shell/localhost/run.sh" in ran.err
    assert "deploy/qwen is up to date" in ran.out


def test_settings_may_stand_in_pyproject(project: Path) -> None:
    text = (project / "rcc.toml").read_text().replace("[[build]]", "[[tool.rcc.build]]")
    (project / "rcc.toml").unlink()
    (project / "pyproject.toml").write_text('[project]\nname = "x"\n' + text)

    assert call_rcc("build", cwd=project).code == 0
    assert (project / "deploy/hello").is_symlink()


def test_one_build_that_fails_does_not_keep_the_others_from_being_done(project: Path) -> None:
    change(project / "recipes/hello/recipe.toml", "port = 8642", 'port = "8642"')
    ran = call_rcc("build", cwd=project)

    assert ran.code == 1
    assert not (project / "deploy/hello").exists()
    assert (project / "deploy/qwen").is_symlink()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("deploy/qwen", "deploy/hello", "two builds go to `deploy/hello`"),
        ("cluster =", "clutser =", "did you mean `cluster`?"),
        ('["shell"]', '"shell"', "`build[0].targets` must be an array"),
        ('recipe = "recipes/hello"\n', "", "has no `recipe`"),
        ("[[build]]", "[[build", "rcc.toml:1"),
    ],
)
def test_what_is_wrong_in_the_settings_is_shown_there(project: Path, old: str, new: str, said: str) -> None:
    change(project / "rcc.toml", old, new)
    ran = call_rcc("build", cwd=project)

    assert ran.code == 1, ran.text
    assert said in ran.err
    assert "rcc.toml:" in ran.err


def test_rollback_and_gc_by_command(hello: Path) -> None:
    for greeting in ("One", "Two"):
        change(hello / "recipe.toml", "GREETING = ", f'GREETING_{greeting} = "x"\nGREETING = ')
        built(hello)
    assert "GREETING_Two" in (hello / "result/shell/localhost/run.sh").read_text()

    assert call_rcc("rollback", cwd=hello).code == 0
    assert "GREETING_Two" not in (hello / "result/shell/localhost/run.sh").read_text()
    assert call_rcc("rollback", cwd=hello).code == 1
    assert call_rcc("gc", "--json", cwd=hello).json()["removed"] == []
    assert call_rcc("rollback", "-o", "nothing", cwd=hello).code == 1


@pytest.mark.parametrize("part", [".rcc", ".rcc/links.json", ".rcc/lock", ".rcc/store"])
def test_something_else_in_the_place_of_the_store_is_told_of(hello: Path, part: str) -> None:
    place = hello / part
    if part.endswith(("lock", "json")):
        place.mkdir(parents=True)
    else:
        place.parent.mkdir(exist_ok=True)
        place.touch()
    ran = build(hello)

    assert ran.code == 1, ran.text
    assert "error[RCC1102]" in ran.err
    assert "help: something else is in the place of `.rcc`, or of a part of it: move it away" in ran.err
    assert not (hello / "result").is_symlink()


@needs("unshare", "mount")
@needs_root
@pytest.mark.parametrize(("options", "said"), [("size=48k", "no space left"), ("ro", "read-only file system")])
def test_a_disk_that_is_full_or_read_only_is_a_finding(hello: Path, options: str, said: str) -> None:
    (hello / "disk").mkdir()
    script = f'mount -t tmpfs -o {options} none disk && "$@"; code=$?; find disk -type f -size +0 >&2; exit $code'
    ran = in_a_mount_namespace(script, "build", ".", "-t", "shell", "-o", "disk/result", cwd=hello)

    assert ran.code == 1, ran.text
    assert "RCC1102" in ran.err
    assert said in ran.err
    assert "manifest.json" not in ran.err


def in_a_mount_namespace(script: str, *arguments: str, cwd: Path) -> Ran:
    """`rcc ARGUMENTS` as "$@" of a script whose mounts nobody else sees."""
    rcc = [sys.executable, str(Path(sys.executable).with_name("rcc")), *arguments]
    command = ["unshare", "-m", "sh", "-c", script, "sh", *rcc]
    done = subprocess.run(command, cwd=cwd, env=clean_env(cwd), capture_output=True, text=True, check=False)
    return Ran(done.returncode, done.stdout, done.stderr)
