"""`rcc diff`: what changed in meaning between results, locks and recipes."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Ran, call_rcc
from tests.support.paths import RECIPES

WRAPPER = RECIPES / "dsv41-flash-wrapper"
LOCKED = RECIPES / "tables-by-lock"


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders with the same four-node recipe."""
    for name in ("a", "b"):
        shutil.copytree(WRAPPER, tmp_path / name)
    return tmp_path / "a", tmp_path / "b"


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def diff(folder: Path, *arguments: str) -> Ran:
    return call_rcc("diff", "a", "b", *arguments, cwd=folder)


def changes(folder: Path, *arguments: str) -> list[tuple[str, Any, Any, list[int]]]:
    told = diff(folder, *arguments, "--json").json()
    return [(one["where"], one["old"], one["new"], one["ranks"]) for one in told["changes"]]


def test_the_same_is_0_whatever_the_comments_and_the_order_of_keys(pair: tuple[Path, Path]) -> None:
    change(pair[1] / "recipe.toml", "port = 30000\n", "")
    change(pair[1] / "recipe.toml", 'id = "dsv41', '# moved\nport = 30000\nid = "dsv41')
    ran = diff(pair[0].parent)

    assert ran.code == 0, ran.text
    assert ran.out == ""


def test_changed_flags_and_variables_are_told_by_name_once_for_all_ranks(pair: tuple[Path, Path]) -> None:
    recipe = pair[1] / "recipe.toml"
    change(recipe, '"--context-length", "524288"', '"--context-length", "262144", "--random-seed", "0"')
    change(recipe, 'SPARK_ROCE_AR = "1"', 'SPARK_ROCE_AR = "0"')
    ran = diff(pair[0].parent)

    assert ran.code == 1
    assert ran.out.splitlines() == [
        "~ env.SPARK_ROCE_AR (rank 0, 1, 2, 3): 1 → 0",
        "~ flags.--context-length (rank 0, 1, 2, 3): 524288 → 262144",
        "+ flags.--random-seed (rank 0, 1, 2, 3): 0",
    ]


def test_what_changed_on_one_rank_alone_says_which(pair: tuple[Path, Path]) -> None:
    change(pair[1] / "cluster.toml", '"192.168.200.13"', '"192.168.200.33"')
    found = changes(pair[0].parent)

    assert ("fabric", "192.168.200.13", "192.168.200.33", [2]) in found
    assert ("env.SGLANG_HOST_IP", "192.168.200.13", "192.168.200.33", [2]) in found


def test_another_order_of_the_same_flags_is_a_change(pair: tuple[Path, Path]) -> None:
    change(
        pair[1] / "recipe.toml",
        '"--trust-remote-code",\n    "--served-model-name", "deepseek-v4.1-flash",',
        '"--served-model-name", "deepseek-v4.1-flash",\n    "--trust-remote-code",',
    )
    found = changes(pair[0].parent)

    assert [(one[0], one[3]) for one in found] == [("order of flags", [0, 1, 2, 3])]


def test_mounts_are_matched_by_where_they_go(pair: tuple[Path, Path]) -> None:
    change(pair[1] / "recipe.toml", 'container = "/engram-rows.sh"\nread_only = true', 'container = "/engram-rows.sh"')

    assert changes(pair[0].parent) == [("mounts./engram-rows.sh.read_only", True, False, [0, 1, 2, 3])]


def build_both(pair: tuple[Path, Path]) -> None:
    for folder in pair:
        assert call_rcc("build", ".", "-t", "shell", cwd=folder).code == 0


def compare_results(pair: tuple[Path, Path], *arguments: str) -> Ran:
    return call_rcc("diff", "a/result", "b/result", *arguments, cwd=pair[0].parent)


def test_results_are_compared_by_their_plans_and_name_the_artifacts(pair: tuple[Path, Path]) -> None:
    change(pair[1] / "recipe.toml", 'SPARK_ROCE_AR = "1"', 'SPARK_ROCE_AR = "0"')
    build_both(pair)
    ran = compare_results(pair)

    assert ran.code == 1
    assert ran.out.splitlines()[0] == "~ env.SPARK_ROCE_AR (rank 0, 1, 2, 3): 1 → 0"
    assert "~ shell/spark1/run.sh" in ran.out.splitlines()
    assert "not kept" not in ran.err
    by_manifest = call_rcc("diff", "a/result/manifest.json", "b/result/manifest.json", cwd=pair[0].parent)
    assert by_manifest.out == ran.out


def test_results_from_other_texts_with_the_same_artifacts_are_the_same(pair: tuple[Path, Path]) -> None:
    change(pair[1] / "recipe.toml", 'id = "dsv41', '# a comment\nid = "dsv41')
    build_both(pair)

    assert compare_results(pair).code == 0


def test_without_the_plans_manifests_still_tell_digests_and_layouts(tmp_path: Path) -> None:
    for name in ("a", "b"):
        shutil.copytree(LOCKED, tmp_path / name)
        lock = tmp_path / name / "recipe.lock"
        if name == "b":
            digest = json.loads(lock.read_text())["images"]["engine"]["locked"]["digest"]
            lock.write_text(lock.read_text().replace(digest, "sha256:" + "5" * 64))
        assert call_rcc("build", ".", "-t", "shell", cwd=tmp_path / name).code == 0
        shutil.rmtree(tmp_path / name / ".rcc/plans")
    ran = call_rcc("diff", "a/result", "b/result", cwd=tmp_path)

    assert ran.code == 1
    assert f"~ closure.images.engine.digest: {digest} → sha256:{'5' * 64}" in ran.out
    assert "the plan of `a/result` and `b/result` is not kept there" in ran.err


def test_locks_are_compared_entry_by_entry(tmp_path: Path) -> None:
    for name in ("a.lock", "b.lock"):
        shutil.copy(LOCKED / "recipe.lock", tmp_path / name)
    assert call_rcc("diff", "a.lock", "b.lock", cwd=tmp_path).code == 0
    change(tmp_path / "b.lock", "llm/sglang-rows:1", "llm/sglang-rows:2")
    ran = call_rcc("diff", "a.lock", "b.lock", cwd=tmp_path)

    assert ran.code == 1
    assert "~ images.engine.original.reference: registry.example.com/llm/sglang-rows:1 → " in ran.out


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ("recipe.toml", "nowhere.toml", "RCC007"),
        ("recipe.toml", "recipe.lock", "is a recipe and `recipe.lock` is a lock"),
        ("no-result", "no-result", "RCC1103"),
        ("recipe.lock", "nowhere.lock", "RCC007"),
    ],
)
def test_trouble_is_2(a: str, b: str, said: str, tmp_path: Path) -> None:
    shutil.copytree(LOCKED, tmp_path / "x")
    (tmp_path / "x/no-result").mkdir()
    ran = call_rcc("diff", a, b, cwd=tmp_path / "x")

    assert ran.code == 2, ran.text
    assert said in ran.err


def test_what_is_wrong_with_a_file_of_both_is_said_once(pair: tuple[Path, Path]) -> None:
    a, b = pair
    for one in pair:
        (one / "recipe.toml").write_text('id = "x"\nextends = "../base.toml"\n')
    (a.parent / "base.toml").write_text("prot = 1\n")
    ran = call_rcc("diff", a, b, cwd=a.parent)

    assert ran.code == 2
    assert ran.err.count("unknown key `prot`") == 1


def test_a_recipe_with_an_error_is_trouble_not_a_difference(pair: tuple[Path, Path]) -> None:
    change(pair[1] / "recipe.toml", "port = 30000", 'port = "30000"')

    assert diff(pair[0].parent).code == 2
