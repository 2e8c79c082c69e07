"""What the pages say is so: generated ones are up to date, links lead somewhere, command lines are known."""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from rcc.cli import command_line
from tests.support.cli import call_rcc
from tests.support.paths import RECIPES, ROOT
from tools.docs import generated, stale

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "compiler/rcc").rglob("*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
TYPED = re.compile(r"^ *(?:\$ )?rcc ([^|>#&\n]+)", re.MULTILINE)
QUOTED = re.compile(r"`rcc ([^`\n]+)`")
MAKE = re.compile(r"(?:^|`)make ([a-z]+)", re.MULTILINE)
TOP = click.Context(command_line, info_name="rcc")
assert PAGES


def shown(page: Path) -> Iterator[list[str]]:
    """The words behind `rcc` of every command line on a page."""
    text = page.read_text("utf-8")
    blocks = "\n".join(BLOCK.findall(text))
    for line in (*TYPED.findall(blocks), *QUOTED.findall(BLOCK.sub("", text))):
        yield shlex.split(line)


def unknown(words: list[str]) -> list[str]:
    """Those that are neither a command nor an option of it."""
    command = command_line if words[0].startswith("-") else command_line.get_command(TOP, words[0])
    if command is None:
        return words[:1]
    options = {option for one in command.get_params(TOP) for option in (*one.opts, *one.secondary_opts)}
    stated = [word.rstrip(",.:;").partition("=")[0] for word in words if re.match(r"--?[a-z]", word)]
    return [word for word in stated if word not in options]


def test_generated_pages_are_up_to_date() -> None:
    assert generated()
    assert stale() == [], "run `make docs`"


def test_links_lead_to_what_is_there() -> None:
    links = [(page, link) for page in PAGES for link in LINK.findall(page.read_text("utf-8")) if "://" not in link]

    assert len(links) > 100
    assert [(page, link) for page, link in links if not (page.parent / link.partition("#")[0]).exists()] == []


def test_commands_are_known_with_their_options() -> None:
    lines = [(page, words) for page in PAGES for words in shown(page)]

    assert len(lines) > 50
    assert {(str(page.relative_to(ROOT)), *words) for page, words in lines if unknown(words)} == set()


@pytest.mark.parametrize("name", ["README.md", "docs/tutorial/README.md"])
def test_a_build_says_what_the_page_shows(name: str, tmp_path: Path) -> None:
    shutil.copytree(RECIPES, tmp_path / "recipes")
    sample = re.search(
        r"^\$ rcc (build .*)\n(built (?:.+\n)+?)(?:\n|```)", (ROOT / name).read_text("utf-8"), re.MULTILINE
    )
    assert sample

    ran = call_rcc(*sample[1].split(), cwd=tmp_path)

    assert ran.code == 0, ran.text
    assert re.sub(r"sha256:[0-9a-f]+", "sha256:…", ran.out) == sample[2]


def test_what_is_made_is_in_the_makefile() -> None:
    made = {name for page in PAGES for name in MAKE.findall(page.read_text("utf-8"))}

    assert {"demo", "test"} <= made
    assert made <= set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
