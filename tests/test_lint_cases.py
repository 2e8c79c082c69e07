"""Whole files: those without a slip give no finding, those with slips exactly the findings that they announce."""

import re
from pathlib import Path

import pytest

from tests.support.cli import call_rcc
from tests.support.paths import CASES, RECIPES, SHARED, needs_shared

GOOD, BAD = sorted(CASES.glob("ok-*.toml")), sorted(CASES.glob("err-*.toml"))
SEEDS = sorted((SHARED / "seed").glob("*.toml"))
MARK = "#! "
assert GOOD
assert BAD


def announced(text: str) -> list[tuple[int, str, str]]:
    """Line, code and underlined text of every `#! CODE text` at the end of a line."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if MARK in line and not line.startswith("#"):
            code, underlined = line.split(MARK, 1)[1].split(" ", 1)
            found.append((number, code, underlined))
    return found


def found(path: Path, *options: str) -> list[tuple[int, str, str]]:
    """The same of what lint finds, in the order of its output."""
    lines = path.read_text().splitlines()
    ran = call_rcc("lint", "--format", "json", *options, path.name, cwd=path.parent)
    findings = ran.json()["findings"]
    assert all(one["line"] == one["end_line"] for one in findings)
    return [
        (one["line"], one["code"], lines[one["line"] - 1][one["column"] - 1 : one["end_column"] - 1])
        for one in findings
    ]


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_files_without_a_slip_give_nothing(path: Path) -> None:
    ran = call_rcc("lint", path.name, cwd=path.parent)

    assert (ran.code, ran.text) == (0, "")


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_files_with_slips_give_what_they_announce(path: Path) -> None:
    assert found(path) == announced(path.read_text())


def test_thirty_slips_are_of_all_families() -> None:
    codes = [code for _, code, _ in announced((CASES / "err-thirty-slips.toml").read_text())]

    assert len(codes) == len(set(codes)) == 30
    assert {code[3] for code in codes} >= set("012345678")


@needs_shared
def test_the_seed_has_no_error_and_warnings_worth_having() -> None:
    assert SEEDS
    for path in SEEDS:
        ran = call_rcc("lint", "--format", "json", path.name, cwd=path.parent)

        assert ran.code == 0, ran.text
        told = {one["code"] for one in ran.json()["findings"] if one["severity"] == "warning"}
        # The image has a tag and no digest; the wrapper lies on the nodes, and nothing says what is in it.
        assert told == {"RCC602", "RCC605"}


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*/recipe.toml")), ids=lambda path: path.parent.name)
def test_example_recipes_have_no_error(path: Path) -> None:
    cluster = path.with_name("cluster.toml")
    options = ["-c", "cluster.toml"] if cluster.exists() else []
    ran = call_rcc("lint", "--format", "json", *options, path.name, cwd=path.parent)

    assert ran.code == 0, ran.text
    told = {one["code"] for one in ran.json()["findings"] if one["severity"] == "warning"}
    assert told <= {"RCC602", "RCC603", "RCC611"}, "nothing but what `rcc lock` answers"


def test_every_file_tells_its_own(tmp_path: Path) -> None:
    for path in (*GOOD, *BAD):
        (tmp_path / path.name).write_text(path.read_text())
    (tmp_path / "broken.recipe.toml").write_text("engine = ")

    names = [path.name for path in (*BAD, *GOOD)]
    ran = call_rcc("lint", "--format", "json", "broken.recipe.toml", *names, cwd=tmp_path)

    by_file: dict[str, int] = {}
    for one in ran.json()["findings"]:
        by_file[one["file"]] = by_file.get(one["file"], 0) + 1
    assert by_file.pop("broken.recipe.toml") == 1
    assert by_file == {path.name: len(announced(path.read_text())) for path in BAD}


def test_an_underlined_text_is_what_the_message_is_about() -> None:
    text = (CASES / "err-thirty-slips.toml").read_text()

    assert all(re.fullmatch(r"RCC\d{3}", code) and underlined for _, code, underlined in announced(text))
