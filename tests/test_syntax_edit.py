"""Edits: nothing else changes, comments go with what they belong to, line ends stay as they are."""

from itertools import pairwise

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from rcc.diagnostic import Edit, Fix
from rcc.source import Span
from rcc.syntax.edit import apply_fixes, move_to_top, move_under, remove, rename_header, write_key, write_string
from rcc.syntax.nodes import Assignment, Header
from rcc.syntax.tree import Tree, parse

CAPTURED = """\
# Head.

name = "x" # kept

# About the mounts.
[[mounts]]
host = "/a"

# About the arguments.
args = [
    "--a", # one
]

[env]
A = "1"
port = 3"""

MOVED = """\
# Head.

name = "x" # kept

# About the arguments.
args = [
    "--a", # one
]
port = 3

# About the mounts.
[[mounts]]
host = "/a"

[env]
A = "1"
"""


def assignment(tree: Tree, *path: str | int) -> Assignment:
    (found,) = (one for one in tree.statements if isinstance(one, Assignment) and one.path == path)
    return found


def header(tree: Tree, *path: str | int) -> Header:
    (found,) = (one for one in tree.statements if isinstance(one, Header) and one.path == path)
    return found


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_captured_keys_move_above_the_first_header(newline: str) -> None:
    text = CAPTURED.replace("\n", newline)
    tree = parse(text)
    fixes = [move_to_top(tree, assignment(tree, *path)) for path in (("mounts", 0, "args"), ("env", "port"))]
    edited, skipped = apply_fixes(text, [fix for fix in fixes if fix])
    assert (edited, skipped) == (MOVED.replace("\n", newline), ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a]\nk = 1\n", "k = 1\n\n[a]\n"),
        ("# Head.\n[a]\nk = 1\n", "# Head.\n\nk = 1\n\n[a]\n"),
        ("# Head.\n\n[a]\nx = 0\n# k\nk = 1\ny = 2\n", "# Head.\n\n# k\nk = 1\n\n[a]\nx = 0\ny = 2\n"),
        ("\ufeff[a]\nk = 1", "\ufeffk = 1\n\n[a]\n"),
    ],
)
def test_a_key_moves_to_the_top_of_a_file_with_none(text: str, expected: str) -> None:
    tree = parse(text)
    fix = move_to_top(tree, assignment(tree, "a", "k"))
    assert fix is not None
    edited, _ = apply_fixes(text, [fix])
    assert edited.replace("\ufeff", "") == expected.replace("\ufeff", "")
    assert tomli.loads(edited.replace("\ufeff", ""))["k"] == 1


def test_a_key_does_not_move_onto_another() -> None:
    tree = parse("k = 1\n[a]\nk = 2\n[b]\nk = 3\n")
    assert move_to_top(tree, assignment(tree, "a", "k")) is None
    assert move_under(tree, [assignment(tree, "a", "k")], header(tree, "b")) is None
    assert move_to_top(parse("k = 1\n"), assignment(parse("k = 1\n"), "k")) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a]\nx = 1\n# k\nk = 2\n[b]\ny = 3", "[a]\nx = 1\n[b]\ny = 3\n# k\nk = 2\n"),
        ("[b]\n\n[a]\nk = 2\n", "[b]\nk = 2\n\n[a]\n"),
        ("[a]\nk = 2\n[b]", "[a]\n[b]\nk = 2\n"),
    ],
)
def test_a_key_moves_under_another_header(text: str, expected: str) -> None:
    tree = parse(text)
    fix = move_under(tree, [assignment(tree, "a", "k")], header(tree, "b"))
    assert fix is not None
    edited, _ = apply_fixes(text, [fix])
    assert edited == expected
    assert tomli.loads(edited)["b"]["k"] == 2


def test_an_assignment_goes_with_its_comments_and_one_empty_line() -> None:
    text = "a = 1\n\n# b\nb = 2\n\nc = 3\n"
    tree = parse(text)
    assert apply_fixes(text, [remove(tree, assignment(tree, "b"))]) == ("a = 1\n\nc = 3\n", ())


def test_a_header_gets_another_name_and_other_brackets() -> None:
    text = "[staging] # c\nid = 1\n"
    opened = header(parse(text), "staging")
    fix = Fix((rename_header(opened, ("a b", "c"), array=True),))
    assert apply_fixes(text, [fix]) == ('[["a b".c]] # c\nid = 1\n', ())
    assert rename_header(opened, ("x",), array=False).text == "[x]"


def test_a_fix_is_made_whole_or_not_at_all() -> None:
    first = Fix((Edit(Span(0, 2), "A"), Edit(Span(4, 4), "B")))
    second = Fix((Edit(Span(1, 3), "C"), Edit(Span(6, 6), "D")))
    inside = Fix((Edit(Span(1, 1), "E"),))
    beside = Fix((Edit(Span(2, 2), "F"), Edit(Span(4, 4), "G")))
    assert apply_fixes("abcdef", [first, second, inside, beside]) == ("AFcdBGef", (second, inside))


@given(st.text(max_size=30), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 4)), max_size=6))
def test_edits_change_only_their_spans(text: str, wanted: list[tuple[int, int]]) -> None:
    spans = [Span(min(at, len(text)), min(at + size, len(text))) for at, size in wanted]
    edits = [Edit(span, f"<{index}>") for index, span in enumerate(spans)]
    edited, skipped = apply_fixes(text, [Fix((edit,)) for edit in edits])
    made = sorted(
        (edit for edit in edits if Fix((edit,)) not in skipped), key=lambda one: (one.span.start, one.span.end)
    )
    expected = text
    for edit in reversed(made):
        expected = expected[: edit.span.start] + edit.text + expected[edit.span.end :]
    assert edited == expected
    assert all(before.span.end <= after.span.start for before, after in pairwise(made))


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_what_is_written_is_what_is_read(value: str) -> None:
    assert tomli.loads(f"{write_key(value)} = {write_string(value)}") == {value: value}
