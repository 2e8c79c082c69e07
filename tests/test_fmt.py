"""`rcc fmt`: the canonical order, comments where they belong, and no value changed."""

from pathlib import Path
from typing import Any

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from rcc.lint.layout import laid_out
from rcc.syntax.document import read_document
from tests.support.cli import call_rcc
from tests.support.paths import CASES, RECIPES, SHARED, needs_shared

CANONICAL = sorted([*CASES.glob("ok-*.toml"), *RECIPES.glob("*/*.toml")])
VALID = sorted((SHARED / "toml-test" / "valid").rglob("*.toml"))
assert CANONICAL


def formatted(text: str) -> str:
    document, found = read_document("x.toml", text.encode())
    assert document, found
    return laid_out(document)


@pytest.mark.parametrize("path", CANONICAL, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_projects_own_files_are_canonical(path: Path) -> None:
    assert formatted(path.read_text()) == path.read_text()


@needs_shared
def test_the_seed_is_canonical() -> None:
    seeds = sorted((SHARED / "seed").glob("*.toml"))
    assert seeds
    assert all(formatted(path.read_text()) == path.read_text() for path in seeds)


MIXED = """\
# head, without a blank line below
args = ["--a"] # trailing

# about the engine
engine = "x"
# below the engine, and nothing follows

# free block

[env]
A = "1"

# about the mounts
[[extra_mounts]]
host = "/a"

[healthcheck]
path = "/"
[[extra_mounts]]
host = "/b"
"""
ORDERED = """\
# head, without a blank line below
# about the engine
engine = "x"
# below the engine, and nothing follows

args = ["--a"] # trailing

# free block

# about the mounts
[[extra_mounts]]
host = "/a"

[[extra_mounts]]
host = "/b"

[healthcheck]
path = "/"
[env]
A = "1"
"""


def test_order_and_comments() -> None:
    assert formatted(MIXED) == ORDERED
    assert formatted(ORDERED) == ORDERED


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_line_ends_stay_and_a_byte_order_mark_goes(newline: str, mark: str, end: str) -> None:
    text = mark + MIXED.rstrip("\n").replace("\n", newline) + end.replace("\n", newline)
    expected = ORDERED.rstrip("\n").replace("\n", newline) + end.replace("\n", newline)

    assert formatted(text) == expected


@pytest.mark.parametrize("args", [(), ("--check",)])
def test_a_first_statement_that_moves_leaves_the_mark_behind(args: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "x.recipe.toml").write_bytes(b'\xef\xbb\xbfargs = ["a"]\r\nengine = "custom"\r\n')
    ran = call_rcc("fmt", *args, "x.recipe.toml", cwd=tmp_path)

    assert ran.code == len(args), ran.text
    if not args:
        assert (tmp_path / "x.recipe.toml").read_bytes() == b'engine = "custom"\r\nargs = ["a"]\r\n'


def test_a_comment_below_a_table_does_not_end_up_on_another() -> None:
    text = (
        'port = 1\n\n# about env\n[env]\nA = "1"\n# about the mount\n[[extra_mounts]]\nhost = "/a"\n# still the mount\n'
    )
    once = formatted(text)

    assert once.endswith('host = "/a"\n# still the mount\n\n# about env\n[env]\nA = "1"\n')
    assert formatted(once) == once


@needs_shared
def test_every_valid_file_of_the_suite_keeps_its_values_and_its_lines() -> None:
    assert VALID
    for path in VALID:
        text = path.read_bytes().decode()
        document, _ = read_document(path.name, path.read_bytes())
        if document is None:
            continue
        once = laid_out(document)
        assert formatted(once) == once, path
        assert written(once) == written(text.removeprefix("\ufeff")), path


def written(text: str) -> list[str]:
    """The lines of a text in which something stands; layout may put empty ones between."""
    return sorted(filter(str.strip, text.replace("\r\n", "\n").split("\n")))


KEYS = st.sampled_from(["a", "b", "c", "env", "x", '"q r"', "a.b", "env.c"])
SCALARS = st.sampled_from(["1", '"s"', "'#'", "true", "[1, 2]", "[\n  1, # in\n  2,\n]", "{ k = 1 }", '"""\n[no]\n"""'])
LINES = st.one_of(
    st.builds(lambda key, value: f"{key} = {value}", KEYS, SCALARS),
    st.builds(lambda key: f"[{key}]", KEYS),
    st.builds(lambda key: f"[[{key}]]", KEYS),
    st.sampled_from(["", "# comment", "  # indented", "#"]),
)


@given(st.lists(LINES, max_size=14), st.booleans(), st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "\ufeff"]))
def test_no_value_changes_no_line_is_lost_and_twice_is_once(
    lines: list[str], final: bool, newline: str, mark: str
) -> None:
    text = "\n".join(lines) + ("\n" if final else "")
    try:
        values: dict[str, Any] = tomli.loads(text)
    except tomli.TOMLDecodeError:
        return
    once = formatted(mark + text.replace("\n", newline))

    assert tomli.loads(once) == values
    assert formatted(once) == once
    assert written(once) == written(text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('args = []\nport = 1\r\nengine = "custom"', 'port = 1\r\nengine = "custom"\nargs = []'),
        ("args = []\r\nport = 1", "port = 1\r\nargs = []"),
        ('# head\n\n[env]\nA = "1"\r\n[measured]\nx = 1', '# head\n\n[measured]\nx = 1\n[env]\nA = "1"'),
        ('args = []\r\n[env]\nA = "1"\n[measured]\nx = 1', 'args = []\r\n[measured]\nx = 1\r\n[env]\nA = "1"'),
    ],
)
def test_a_last_line_without_an_end_among_lines_that_end_differently(before: str, after: str) -> None:
    assert formatted(before) == after
    assert formatted(after) == after


def test_check_tells_and_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.recipe.toml").write_text(MIXED)
    (tmp_path / "y.recipe.toml").write_text(ORDERED)
    ran = call_rcc("fmt", "--check", cwd=tmp_path)

    assert ran.code == 1
    assert "x.recipe.toml" in ran.err
    assert "y.recipe.toml" not in ran.err
    assert (tmp_path / "x.recipe.toml").read_text() == MIXED


def test_it_writes_shows_and_filters(tmp_path: Path) -> None:
    (tmp_path / "x.recipe.toml").write_text(MIXED)
    assert call_rcc("fmt", "-", cwd=tmp_path, stdin=MIXED.encode()).out == ORDERED
    diff = call_rcc("fmt", "--diff", "x.recipe.toml", cwd=tmp_path)
    assert (diff.code, diff.out.startswith("--- x.recipe.toml")) == (1, True)

    assert call_rcc("fmt", "x.recipe.toml", cwd=tmp_path).code == 0
    assert (tmp_path / "x.recipe.toml").read_text() == ORDERED
    assert call_rcc("fmt", "--check", cwd=tmp_path).code == 0


def test_what_is_no_toml_is_told_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "x.recipe.toml").write_text("a = \n")
    (tmp_path / "y.recipe.toml").write_text(MIXED)
    ran = call_rcc("fmt", "x.recipe.toml", "y.recipe.toml", "z.recipe.toml", cwd=tmp_path)

    assert ran.code == 2
    assert "RCC003" in ran.err
    assert "RCC007" in ran.err
    assert (tmp_path / "x.recipe.toml").read_text() == "a = \n"
    assert (tmp_path / "y.recipe.toml").read_text() == ORDERED
