"""What lint says with a lock beside the recipe, and of locks themselves."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import call_rcc
from tests.support.paths import RECIPES

NAME = "tables-by-lock"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(RECIPES / NAME, tmp_path / NAME)
    return tmp_path / NAME


def codes(folder: Path, *options: str, name: str = "recipe.toml") -> list[str]:
    """Codes of warnings and errors."""
    found = call_rcc("lint", "--format", "json", *options, name, cwd=folder).json()["findings"]
    return [one["code"] for one in found if one["severity"] != "info"]


def change(folder: Path, old: str, new: str) -> None:
    text = (folder / "recipe.toml").read_text()
    assert old in text
    (folder / "recipe.toml").write_text(text.replace(old, new, 1))


def change_lock(folder: Path, edit: Callable[[Any], None]) -> None:
    values = json.loads((folder / "recipe.lock").read_text())
    edit(values)
    (folder / "recipe.lock").write_text(json.dumps(values, indent=2, sort_keys=True) + "\n")


def test_with_its_lock_everything_is_pinned(folder: Path) -> None:
    assert codes(folder) == []
    assert codes(folder, "-c", "cluster.toml") == []
    assert codes(folder, name="recipe.lock") == []


def test_without_it_tags_are_open_and_rows_are_missing(folder: Path) -> None:
    (folder / "recipe.lock").unlink()

    assert codes(folder) == ["RCC602", "RCC611"]
    with_cluster = codes(folder, "-c", "cluster.toml")
    assert "RCC304" in with_cluster
    assert "RCC611" not in with_cluster, "said once"


def test_what_the_lock_does_not_answer_is_stale(folder: Path) -> None:
    change(folder, "sglang-rows:1", "sglang-rows:2")
    change(folder, "required_nodes = 4", "required_nodes = 2")
    change(folder, "tensor_parallel_size = 4", "tensor_parallel_size = 2")

    assert codes(folder) == ["RCC610", "RCC610"]
    assert set(codes(folder, "-c", "cluster.toml")) >= {"RCC610"}


def test_a_lock_of_other_ranges_is_found_before_anything_is_packed(folder: Path) -> None:
    def double_a_row(values: Any) -> None:
        rank = values["staging"]["engram"]["locked"]["ranks"][1]
        layer = sorted(rank)[0]
        rank[layer][0] -= 1

    change_lock(folder, double_a_row)

    assert "RCC801" in codes(folder)
    assert "RCC615" in codes(folder, name="recipe.lock")


@pytest.mark.parametrize("name", ["embed.weight", "layers.1.experts.2.weight", f"layers.{'9' * 5000}.weight"])
def test_a_lock_of_tables_without_a_layer_is_told_of(folder: Path, name: str) -> None:
    def rename(values: Any) -> None:
        tensors = values["staging"]["engram"]["locked"]["tensors"]
        tensors[name] = tensors.pop(sorted(tensors)[0])

    change_lock(folder, rename)
    change(folder, 'dst = "{{ vars.nvme }}/engram"\n', 'dst = "{{ vars.nvme }}/engram"\nmin_free = "1k"\n')

    assert "RCC802" not in codes(folder)
    assert "RCC615" in codes(folder, name="recipe.lock")


def test_a_lock_of_tables_without_rows_is_told_of(folder: Path) -> None:
    def flatten(values: Any) -> None:
        for tensor in values["staging"]["engram"]["locked"]["tensors"].values():
            tensor["shape"] = []

    change_lock(folder, flatten)

    assert "RCC801" in codes(folder)
    assert "RCC615" in codes(folder, name="recipe.lock")


def test_too_little_space_is_asked_for(folder: Path) -> None:
    change(folder, 'dst = "{{ vars.nvme }}/engram"\n', 'dst = "{{ vars.nvme }}/engram"\nmin_free = "1k"\n')

    assert codes(folder) == ["RCC802"]


def test_an_image_for_other_machines(folder: Path) -> None:
    def only_amd64(values: Any) -> None:
        del values["images"]["engine"]["locked"]["platforms"]["linux/arm64"]

    change_lock(folder, only_amd64)

    assert codes(folder, "-c", "cluster.toml") == ["RCC608"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "RCC612"),
        ("{", "RCC612"),
        ('{"version": 99, "revision": 1}\n', "RCC614"),
        ("<<<<<<< ours\n{}\n=======\n{}\n>>>>>>> theirs\n", "RCC613"),
        ("[" * 50_000, "RCC612"),
        (None, "RCC615"),
    ],
)
def test_a_broken_lock_hides_nothing_of_the_recipe_and_is_not_missing_too(
    folder: Path, text: str | None, code: str
) -> None:
    lock = folder / "recipe.lock"
    edited = re.sub(r'("tree": "sha256:)(.)', lambda one: one[1] + ("0" if one[2] != "0" else "1"), lock.read_text())
    lock.write_text(edited if text is None else text)
    change(folder, '"--load-format", "safetensors"', '"--load-format", "safetensor"')

    assert codes(folder) == [code, "RCC507"]
    assert code in codes(folder, name="recipe.lock")
    assert set(codes(folder, "-c", "cluster.toml")) == {code, "RCC507"}


@pytest.mark.parametrize(
    ("value", "column"),
    [('""', 16), ('"example.org/a b"', 29), ('"""example.org/a b"""', 31), (r'"\u0065xample.org/a b"', 34)],
)
def test_a_reference_that_is_none_is_told_once_where_it_stands(value: str, column: int, folder: Path) -> None:
    text = re.sub(r"(?m)^docker_image = .*", lambda _: f"docker_image = {value}", (folder / "recipe.toml").read_text())
    (folder / "recipe.toml").write_text(text)

    for command in (["lint", "--format", "json", "recipe.toml"], ["build", ".", "--json"]):
        values = call_rcc(*command, cwd=folder).json()
        found = [one for each in values.get("builds", [values]) for one in each["findings"]]
        assert [one["column"] for one in found if one["code"] == "RCC205"] == [column]
