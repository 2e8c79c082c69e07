"""Targets come through one door: built-in ones, somebody else's, broken ones."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rcc.emit.registry import BUILT_IN
from tests.support.cli import Ran, run_rcc
from tests.support.paths import RECIPES, ROOT
from tests.support.plugin import add_plugin, target_code

HELLO = RECIPES / "hello"
GOOD = target_code("mine", "return Emitted((Artifact('mine/x', b'x', 'file'),))")


def rcc(*args: str, cwd: Path, plugins: Path | None = None) -> Ran:
    return run_rcc(*args, cwd=cwd, env={"PYTHONPATH": str(plugins)} if plugins else {})


@pytest.fixture(scope="module")
def nomad(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example plug-in, installed as its author's users do it."""
    folder = tmp_path_factory.mktemp("site")
    source = ROOT / "tests/plugins/rcc-nomad"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", folder, source], check=True)
    return folder


def test_the_built_in_targets_are_listed(tmp_path: Path) -> None:
    ran = rcc("targets", "--json", cwd=tmp_path)

    listed = ran.json()
    assert ran.code == 0
    assert [(one["name"], one["from"]) for one in listed["targets"]] == [(name, "rcc") for name in BUILT_IN]
    assert all(one["summary"] for one in listed["targets"])


def test_somebody_else_s_target_is_listed_with_where_it_comes_from_and_builds(nomad: Path, tmp_path: Path) -> None:
    assert "(from rcc-nomad)" in rcc("targets", cwd=tmp_path, plugins=nomad).out
    ran = rcc("build", str(HELLO), "-t", "nomad", cwd=tmp_path, plugins=nomad)

    assert ran.code == 0, ran.text
    job = json.loads((tmp_path / "result/nomad/localhost/job.json").read_text())
    assert job["Job"]["TaskGroups"][0]["Tasks"][0]["Config"]["image"] == "localhost/rcc-hello:1"


def test_a_build_that_names_no_target_is_the_same_whatever_is_installed(nomad: Path, tmp_path: Path) -> None:
    builds = [rcc("build", str(HELLO), "--json", cwd=tmp_path, plugins=one).json() for one in (None, nomad)]

    assert builds[0]["builds"][0]["build"] == builds[1]["builds"][0]["build"]


def test_what_the_example_cannot_express_is_a_finding_that_shows_the_field(nomad: Path, tmp_path: Path) -> None:
    recipe = (HELLO / "recipe.toml").read_text().replace('id = "hello"', 'id = "hello"\nsecrets = ["HF_TOKEN"]')
    (tmp_path / "recipe.toml").write_text(recipe)
    (tmp_path / "serve.sh").write_text("")
    ran = rcc("build", ".", "-t", "nomad", cwd=tmp_path, plugins=nomad)

    assert ran.code == 1
    assert "`secrets`" in ran.err
    assert '| secrets = ["HF_TOKEN"]\n' in ran.err
    assert not (tmp_path / "result").exists()


def test_an_unknown_target_is_named_with_the_nearest(tmp_path: Path) -> None:
    ran = rcc("build", str(HELLO), "-t", "compos", cwd=tmp_path)

    assert ran.code == 1
    assert "RCC1090" in ran.err
    assert "did you mean `compose`?" in ran.err


BROKEN = {
    "cannot be imported": ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
    "ends the program": ("raise SystemExit(5)", "SystemExit: 5"),
    "is no target": ("target = 7", "is no `rcc.emit.model.Target` of that name"),
    "has another name": (target_code("other", "return Emitted(())"), "is no `rcc.emit.model.Target` of that name"),
    "raises": (target_code("mine", "return plan.nothing"), "AttributeError"),
    "leaves its folder": (
        target_code("mine", "return Emitted((Artifact('mine/../../x', b'', 'file'),))"),
        "outside of its folder: `mine/../../x`",
    ),
    "takes another one's": (
        target_code("mine", "return Emitted((Artifact('shell/x', b'', 'file'),))"),
        "outside of its folder: `shell/x`",
    ),
    "gives a path twice": (
        target_code("mine", "return Emitted((Artifact('mine/x', b'1', 'file'), Artifact('mine/x', b'2', 'file')))"),
        "two files for one path: `mine/x`",
    ),
    "gives a file in a file": (
        target_code("mine", "return Emitted((Artifact('mine/x', b'', 'file'), Artifact('mine/x/y', b'', 'file')))"),
        "two files for one path: `mine/x`",
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_plug_in_is_told_on_and_nothing_is_written(fault: str, tmp_path: Path) -> None:
    code, said = BROKEN[fault]
    plugins = add_plugin(tmp_path / "site", "rcc-mine", "mine", code)
    ran = rcc("build", str(HELLO), "-t", "mine", cwd=tmp_path, plugins=plugins)

    assert ran.code == 1
    assert said in ran.err
    assert "`mine`" in ran.err
    assert not (tmp_path / "result").exists()


def test_a_broken_plug_in_does_not_hide_the_others(tmp_path: Path) -> None:
    plugins = add_plugin(tmp_path / "site", "rcc-bad", "bad", "1/0")
    add_plugin(plugins, "rcc-mine", "mine", GOOD)
    ran = rcc("targets", cwd=tmp_path, plugins=plugins)

    assert ran.code == 1
    assert "ZeroDivisionError" in ran.err
    assert "mine" in ran.out
    assert "shell" in ran.out


def test_two_distributions_with_one_name_are_both_named(tmp_path: Path) -> None:
    plugins = add_plugin(tmp_path / "site", "rcc-one", "mine", GOOD)
    add_plugin(plugins, "rcc-two", "mine", GOOD)
    ran = rcc("build", str(HELLO), "-t", "mine", cwd=tmp_path, plugins=plugins)

    assert ran.code == 1
    assert "`mine` comes from `rcc-one` and `rcc-two`" in ran.err


def test_no_plug_in_is_loaded_that_nobody_asked_for(tmp_path: Path) -> None:
    plugins = add_plugin(tmp_path / "site", "rcc-bad", "bad", "1/0")
    ran = rcc("build", str(HELLO), "-t", "shell", cwd=tmp_path, plugins=plugins)

    assert ran.code == 0, ran.text


def test_what_is_remembered_of_the_installed_targets_is_never_older_than_they_are(tmp_path: Path) -> None:
    """A plug-in comes, calls its target otherwise, and goes; then somebody damages what is kept."""
    site, cache = tmp_path / "site", tmp_path / "cache"
    site.mkdir()

    def listed() -> list[str]:
        ran = run_rcc("targets", "--json", cwd=tmp_path, env={"PYTHONPATH": str(site), "XDG_CACHE_HOME": str(cache)})
        assert ran.code == 0, ran.text
        return [one["name"] for one in ran.json()["targets"] if one["from"] != "rcc"]

    assert (listed(), listed()) == ([], [])
    add_plugin(site, "rcc-mine", "mine", GOOD)
    assert (listed(), listed()) == (["mine"], ["mine"])

    (site / "rcc_mine.py").write_text(target_code("ours", "return Emitted(())"))
    (site / "rcc_mine-1.0.dist-info/entry_points.txt").write_text("[rcc.targets]\nours = rcc_mine:target\n")
    assert (listed(), listed()) == (["ours"], ["ours"])

    (kept,) = (cache / "rcc").glob("targets-*.json")
    kept.write_text('{"state": 1')
    assert listed() == ["ours"]

    shutil.rmtree(site / "rcc_mine-1.0.dist-info")
    assert listed() == []
