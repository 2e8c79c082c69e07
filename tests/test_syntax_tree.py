"""The syntax tree: values as tomli's, a place for every path, statements that together are the file."""

import contextlib
import random
from collections.abc import Callable
from typing import Any

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from rcc.source import Path, Span
from rcc.syntax.errors import DuplicateKeyError, TomlError
from rcc.syntax.nodes import Assignment, Blank, Comment, Header
from rcc.syntax.scan import comments
from rcc.syntax.tree import Part, Tree, parse
from tests.support.steps import steps_of

RECIPE = """\
# Head comment.

name = "a" # the name
a.b.c = 1

# What follows needs it.
[[mounts]]
host = "/a"
[mounts.more]
x = {y.z = 1, w = [10, {v = "in"}]}

[[mounts]]
host = '/b'
[env]
"A B" = '''
one
two'''
"""

VALUES = [
    "a = 0x1F\nb = 0o17\nc = 0b11\nd = +1_000\ne = -0",
    "a = 1.5\nb = 1e3\nc = -inf\nd = +nan\ne = 6.02_2E+2_3",
    "a = true\nb = false",
    "a = 1979-05-27\nb = 07:32\nc = 07:32:01.1234567\nd = 1979-05-27 07:32:00Z\ne = 1979-05-27t07:32-07:30",
    'a = "\\b\\t\\n\\f\\r\\e\\"\\\\\\x41\\u00e9\\U0001f600"\nb = \'\\x\'\n"q.r".\'s\' = ""',
    'a = """\nx\\\n   \n  y ""quotes"" """""\nb = \'\'\'\nl\\\'\'\'\'\'',
    "a = [1, # one\n 2,\n\n 3, ]\nb = {\n c = 1, # see\n d = [{}, []],\n}",
    "[a.b]\nx = 1\n[a]\ny = 2\n[[a.c]]\n[[a.c]]\n[a.c.d]\nz = 3",
    "a = '''x\r\ny'''\r\n# c\r\nb = \"\"\"\r\nx\\\r\n  y\"\"\"\r\n",
    "\ufeffa = 1",
    "",
    "\n \t\n# only a comment",
]

REDEFINED = {
    "a = 1\na = 2": ("a", "a"),
    "[a]\n[b]\n[a]": ("a", "a"),
    "a.b = 1\na.b = 2": ("b", "b"),
    "a = {}\n[a.b]": ("a", "a"),
    "a = {b = 1, b = 2}": ("b", "b"),
    "a = [{b = 1, b.c = 2}]": ("b", "b"),
    "a = []\n[[a]]": ("a", "a"),
    "[[a]]\n[a]": ("a", "a"),
    "a.b = 1\n[a]": ("a", "a"),
    "[a.b]\n[a]\nb.c = 1": ("b", "b"),
    "[x]\na.b = 1\n[x.a.c]\n[x.a]": ("a", "a"),
    "a = 1\n[[a.b]]": ("a", "a"),
    "'k' = 1\n\"\\x6b\" = 2": ('"\\x6b"', "'k'"),
}


def text_at(tree: Tree, path: Path, part: Part = "value") -> str | None:
    span = tree.span(path, part)
    return None if span is None else tree.text[span.start : span.end]


@pytest.mark.parametrize("text", [RECIPE, *VALUES])
def test_values_are_those_of_tomli(text: str) -> None:
    assert repr(parse(text).values()) == repr(tomli.loads(text.removeprefix("\ufeff")))


@pytest.mark.parametrize(
    ("path", "value", "key", "header"),
    [
        (("name",), '"a"', "name", None),
        (("a", "b", "c"), "1", "c", None),
        (("a", "b"), "a.b.c = 1", "b", None),
        (("mounts",), "[[mounts]]", "mounts", "[[mounts]]"),
        (("mounts", 0, "host"), '"/a"', "host", "[[mounts]]"),
        (("mounts", 0, "more"), "[mounts.more]", "more", "[mounts.more]"),
        (("mounts", 0, "more", "x", "y", "z"), "1", "z", "[mounts.more]"),
        (("mounts", 0, "more", "x", "w", 0), "10", None, "[mounts.more]"),
        (("mounts", 0, "more", "x", "w", 1, "v"), '"in"', "v", "[mounts.more]"),
        (("mounts", 1, "host"), "'/b'", "host", "[[mounts]]"),
        (("env", "A B"), "'''\none\ntwo'''", '"A B"', "[env]"),
        (("env", "none"), None, None, None),
        (("mounts", 2), None, None, None),
        (("name", "a"), None, None, None),
        ((), None, None, None),
    ],
)
def test_places(path: Path, value: str | None, key: str | None, header: str | None) -> None:
    tree = parse(RECIPE)
    assert (text_at(tree, path), text_at(tree, path, "key"), text_at(tree, path, "header")) == (value, key, header)


def test_a_table_stands_where_its_own_header_does() -> None:
    tree = parse("[a.b]\n[a]\n")
    assert tree.span(("a",)) == Span(6, 9)
    assert tree.span(("a", "b")) == Span(0, 5)


def test_statements_tell_lines_blocks_and_paths() -> None:
    tree = parse(RECIPE)
    assert [type(one).__name__[0] for one in tree.statements] == list("CBAABCHAHABHAHA")
    headers = [one for one in tree.statements if isinstance(one, Header)]
    assert [one.path for one in headers] == [("mounts", 0), ("mounts", 0, "more"), ("mounts", 1), ("env",)]
    assert [one.array for one in headers] == [True, False, True, False]
    block = tree.text[headers[0].block.start : headers[0].block.end]
    assert block == "# What follows needs it.\n[[mounts]]\n"
    last = tree.statements[-1]
    assert isinstance(last, Assignment)
    assert (last.path, last.header) == (("env", "A B"), headers[-1])
    assert tree.text[last.line.start : last.line.end] == "\"A B\" = '''\none\ntwo'''\n"
    assert tree.text[last.value.start : last.value.end] == "'''\none\ntwo'''"
    first = tree.statements[2]
    assert isinstance(first, Assignment)
    assert tree.text[first.line.start : first.line.end] == 'name = "a" # the name\n'


def test_comments_are_found_wherever_they_stand() -> None:
    text = "# a\nx = [ # b\n '# no', # c\n]\ny = \"# no\" # d\r\n"
    assert [text[span.start : span.end] for span in comments(text)] == ["# a", "# b", "# c", "# d"]
    assert [type(one) for one in parse(text).statements] == [Comment, Assignment, Assignment]


@pytest.mark.parametrize(
    ("source", "value", "start", "end", "expected"),
    [
        ('"abc"', "abc", 1, 2, "b"),
        ('"a\\u00e9\\tc"', "aé\tc", 1, 3, "\\u00e9\\t"),
        ("'a\\tc'", "a\\tc", 1, 3, "\\t"),
        ('"""\nab\\\n   cd"""', "abcd", 1, 3, "b\\\n   c"),
        ('"""\r\na\r\nb"""', "a\nb", 1, 2, "\r\n"),
        ("'''\na'b'''", "a'b", 1, 2, "'"),
        ('""', "", 0, 0, ""),
        ('"ab"', "ab", 2, 2, ""),
    ],
)
def test_a_part_of_a_string_stands_where_its_source_is(
    source: str, value: str, start: int, end: int, expected: str
) -> None:
    tree = parse(f"t.k = [{source}]\n")
    path = ("t", "k", 0)
    assert tree.values() == {"t": {"k": [value]}}
    span = tree.string_span(path, start, end)
    assert span is not None
    assert tree.text[span.start : span.end] == expected
    assert tree.string_span(("t", "k"), 0, 1) is None


@pytest.mark.parametrize("text", REDEFINED)
def test_a_redefinition_names_both_places(text: str) -> None:
    with pytest.raises(tomli.TOMLDecodeError):
        tomli.loads(text)
    with pytest.raises(DuplicateKeyError) as caught:
        parse(text)
    error = caught.value
    assert error.first is not None
    assert error.first.end <= error.span.start
    again, first = REDEFINED[text]
    assert text[error.span.start : error.span.end] == again
    assert text[error.first.start : error.first.end] == first


def test_a_date_of_no_calendar_is_refused_with_its_place() -> None:
    with pytest.raises(TomlError) as caught:
        parse("a = [2023-02-29]").values()
    assert caught.value.span == Span(5, 15)


PIECES = [
    *"[]{}=.,\"'#\n \t-_:\\",
    *("a", "b", "a.b", "= ", "=1", "1", "0", "1.5", "true", "1979-05-27", "07:32", "\r\n", "\r", "é", "\ufeff", "\x01"),
    *('"""', "'''", "\\n", "\\u00e9", "\\\n", "\n", "# c\n"),
    *("[a]\n", "[[a]]\n", "[a.b]\n", "[[a.b]]\n", "[a.b.c]\n", "[b]\n", "a={}\n", "a=[]\n", "a.b=1\n", "b=1\n"),
    *("a={b=1}\n", "a=[{}]\n", "b.c=1\n", "b={a.c=1, a.d=2}\n", "c = [1, {d = 2}] # c\n", "a.b.c=1\n"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join))
def test_any_text_is_judged_as_tomli_judges_it(text: str) -> None:
    try:
        expected: Any = tomli.loads(text.removeprefix("\ufeff"))
    except tomli.TOMLDecodeError:
        with pytest.raises(TomlError) as caught:
            parse(text).values()
        assert 0 <= caught.value.span.start <= caught.value.span.end <= len(text)
        return
    tree = parse(text)
    assert repr(tree.values()) == repr(expected)
    assert "".join(text[one.line.start : one.line.end] for one in tree.statements) == text


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_string_comes_back_from_every_way_to_write_it(value: str) -> None:
    escaped = "".join(f"\\U{ord(character):08x}" for character in value)
    assert parse(f'a = "{escaped}"').values() == {"a": value}
    assert parse(f'a = """\n{escaped}"""').values() == {"a": value}


LINES = [
    "",
    "# c",
    "  # indented",
    "\t",
    "k{} = 1",
    "k{} = [\n  1, # one\n]",
    "[t{}]",
    "[[a]]",
    "k{} = '''\nx\n'''  # c",
]


@given(st.lists(st.sampled_from(LINES)), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_statements_account_for_every_line(lines: list[str], newline: str, closed: bool) -> None:
    text = "\n".join(line.format(index) for index, line in enumerate(lines)).replace("\n", newline)
    text += newline if closed else ""
    statements = parse(text).statements
    assert "".join(text[one.line.start : one.line.end] for one in statements) == text
    for one in statements:
        line = text[one.line.start : one.line.end]
        if isinstance(one, Blank):
            assert not line.strip()
        elif isinstance(one, Comment):
            assert line.strip() == text[one.span.start : one.span.end]
        else:
            assert one.block.end == one.line.end
            above = text[one.block.start : one.line.start]
            assert all(row.strip().startswith("#") for row in above.splitlines())


SHAPES: dict[str, Callable[[int], str]] = {
    "integers": lambda size: "a = [" + "1," * (size // 2) + "]",
    "strings": lambda size: "a = [" + '"",' * (size // 3) + "]",
    "tables": lambda size: "".join(f"[t{i}]\n" for i in range(size // 10)),
    "arrays of tables": lambda size: "[[a]]\n" * (size // 6),
    "inline tables": lambda size: "a = [" + "{a=1}," * (size // 6) + "]",
    "keys": lambda size: "".join(f"k{i} = 1\n" for i in range(size // 12)),
    "dotted keys": lambda size: "".join(f"{'a.' * 62}k{i} = 1\n" for i in range(size // 140)),
    "escapes": lambda size: 'a = "' + "\\n" * (size // 2) + '"',
    "blank lines": lambda size: "\n" * size,
    "comments": lambda size: "#\n" * (size // 2),
    "nested": lambda size: "".join(f"a{i} = {'[' * 90}{']' * 90}\n" for i in range(size // 200)),
    "unclosed": lambda size: "a = [" + "1," * (size // 2),
    "half a conflict": lambda size: "<<<<<<< a\n" * (size // 10),
}


def read_all(text: str) -> None:
    """Parses a text and takes its values, if it has any."""
    with contextlib.suppress(TomlError):
        parse(text).values()


@pytest.mark.parametrize("shape", SHAPES)
def test_work_grows_no_faster_than_the_file(shape: str) -> None:
    steps_of(read_all, SHAPES[shape](2_000))  # the lexer's regular expressions are made when they are first asked for
    small, large = (steps_of(read_all, SHAPES[shape](size)) for size in (2_000, 4_000))
    assert large < 2.2 * small + 500


@pytest.mark.parametrize("shape", ["arrays of tables", "escapes"])
def test_the_largest_file_is_read(shape: str) -> None:
    text = SHAPES[shape](128_000)
    assert parse(text).values() == tomli.loads(text)


def test_places_are_looked_up_not_searched() -> None:
    text = "".join(f"k{i} = [{i}]\n" for i in range(1_000))
    tree = parse(text)
    for number in random.Random(1).sample(range(1_000), 200):
        assert text_at(tree, (f"k{number}", 0)) == str(number)
