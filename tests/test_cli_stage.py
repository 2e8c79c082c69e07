"""`rcc stage`: the node's part, from a recipe and its lock."""

import shutil
from pathlib import Path

import pytest

from tests.support import checkpoint
from tests.support.cli import Ran, call_rcc, run_rcc
from tests.support.paths import RECIPES


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A folder with a locked recipe that stages rows, and a cluster file that keeps them below that folder."""
    shutil.copytree(RECIPES / "tables-by-lock", tmp_path / "recipe")
    cluster = tmp_path / "recipe/cluster.toml"
    made = checkpoint.make(tmp_path)
    text = cluster.read_text().replace("/mnt/nas/ai/huggingface", str(made.cache))
    cluster.write_text(text.replace("/home/spark", str(tmp_path / "nvme")))
    (tmp_path / "nvme").mkdir()
    return tmp_path


def stage(folder: Path, rank: int, *arguments: str) -> Ran:
    return run_rcc("stage", "recipe", "--rank", str(rank), *arguments, cwd=folder)


def test_it_packs_what_the_lock_says_for_the_rank_and_then_finds_it_there(lab: Path) -> None:
    first = stage(lab, 2, "--json")
    assert first.code == 0, first.text
    (block,) = first.json()["blocks"]
    assert (block["state"], block["rank"], block["locked"]) == ("packed", 2, True)
    again = stage(lab, 2, "--full", "--json")

    assert again.code == 0, again.text
    assert again.json()["blocks"][0]["state"] == "verified"


def test_what_the_node_refuses_is_said_in_its_words_with_its_status(lab: Path) -> None:
    (lab / "nvme/engram").mkdir()
    (lab / "nvme/engram/letter").write_text("dear")
    ran = stage(lab, 0)

    assert ran.code == 1
    assert "holds something else" in ran.err


def test_a_rank_that_is_not_there_is_usage(lab: Path) -> None:
    ran = call_rcc("stage", "recipe", "--rank", "4", cwd=lab)

    assert ran.code == 2
    assert "0 to 3" in ran.err


def test_a_recipe_that_stages_nothing_says_so(tmp_path: Path) -> None:
    ran = call_rcc("stage", RECIPES / "hello", "--rank", "0", cwd=tmp_path)

    assert ran.code == 0
    assert "stages nothing" in ran.err
